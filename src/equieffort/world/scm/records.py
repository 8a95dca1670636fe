"""Structural equations as data: which node, from which causes, by which kind of mechanism, with which numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equieffort.world.scm.asked import Asked, AskedLevels
from equieffort.world.scm.discrete import CumulativeLogit
from equieffort.world.scm.mechanisms import Linear
from equieffort.world.scm.terms import Curves, Terms

PARTS: dict[type, tuple[str, ...]] = {
    Linear: ("intercept", "coef"),
    Terms: ("intercept", "terms", "about"),
    Curves: ("intercept", "levels"),
    CumulativeLogit: ("coef", "cuts", "order"),
}
"""By kind of mechanism: what of it is numbers and names; of other kinds only the text is kept."""


def record_of(node: str, causes: tuple[str, ...], mechanism: Any) -> dict[str, Any]:
    """One equation as plain data, with the text that people read; a node without one has no kind.

    >>> record_of("debt", ("age",), Linear({"age": 0.3}, intercept=4.0))["parts"]
    {'intercept': 4.0, 'coef': {'age': 0.3}}
    """
    if mechanism is None:
        return {"node": node, "causes": list(causes), "kind": None, "parts": {}, "text": f"{node}: no equation"}
    own = mechanism.mechanism if isinstance(mechanism, Asked | AskedLevels) else mechanism
    parts = {name: _plain(getattr(own, name)) for name in PARTS.get(type(own), ())}
    return {
        "node": node, "causes": list(causes), "kind": type(own).__name__, "parts": parts,
        "text": mechanism.equation(node),
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """What JSON gives back as it was."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, str | int | float) else str(value)
