"""Structural equations as data: which node, from which causes, by which kind of mechanism, with which numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equieffort.foundations.saved import as_data
from equieffort.world.scm.binding import Asked, AskedLevels
from equieffort.world.scm.discrete import CumulativeLogit
from equieffort.world.scm.mechanisms import Linear
from equieffort.world.scm.ratios import Ratio
from equieffort.world.scm.terms import Curves, Product, Terms

PARTS: dict[type, tuple[str, ...]] = {
    Linear: ("intercept", "coef"),
    Terms: ("intercept", "terms", "about"),
    Curves: ("intercept", "levels"),
    Ratio: ("numerator", "denominator", "scale"),
    Product: ("causes", "scale"),
    CumulativeLogit: ("coef", "cuts", "order"),
}
"""By kind of mechanism: what of it is numbers and names; of other kinds only the text is kept."""


@dataclass(frozen=True)
class EquationRecord:
    """One structural equation as data."""

    node: str
    causes: tuple[str, ...]
    kind: str | None
    """The class of the mechanism; None where there is no equation."""
    parts: Mapping[str, Any]
    """Its numbers and names."""
    text: str
    """What people read."""


def record_of(node: str, causes: tuple[str, ...], mechanism: Any) -> EquationRecord:
    """One equation as data, with the text that people read; a node without one has no kind.

    >>> record_of("debt", ("age",), Linear({"age": 0.3}, intercept=4.0)).parts
    {'intercept': 4.0, 'coef': {'age': 0.3}}
    """
    if mechanism is None:
        return EquationRecord(node, causes, None, {}, f"{node}: no equation")
    own = mechanism.mechanism if isinstance(mechanism, Asked | AskedLevels) else mechanism
    parts = {name: as_data(getattr(own, name)) for name in PARTS.get(type(own), ())}
    return EquationRecord(node, causes, type(own).__name__, parts, mechanism.equation(node))
