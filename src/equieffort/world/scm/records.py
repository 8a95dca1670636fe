"""Structural equations as data: which node, from which causes, by which kind of mechanism, with which numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equieffort.data.frames import Encoding
from equieffort.foundations.packed import packed
from equieffort.foundations.saved import as_data
from equieffort.world.scm.binding import Asked, AskedLevels
from equieffort.world.scm.design import design_columns
from equieffort.world.scm.discrete import CumulativeLogit
from equieffort.world.scm.mechanisms import Fitted, Linear
from equieffort.world.scm.ratios import Ratio
from equieffort.world.scm.terms import Curves, Product, Terms

PARTS: dict[type, tuple[str, ...]] = {
    Linear: ("intercept", "coef"),
    Terms: ("intercept", "terms", "about"),
    Curves: ("intercept", "curves", "levels"),
    Ratio: ("numerator", "denominator", "scale"),
    Product: ("causes", "scale"),
    CumulativeLogit: ("coef", "cuts", "order"),
}
"""By kind of mechanism: what of it is numbers and names. Of code, an own function or class, only the text is kept."""


@dataclass(frozen=True)
class EquationRecord:
    """One structural equation as data."""

    node: str
    causes: tuple[str, ...]
    kind: str | None
    """The class of the mechanism; None where there is no equation."""
    parts: Mapping[str, Any]
    """Its numbers and names, enough to evaluate it without our code (`equieffort.replay`); empty where it is code."""
    text: str
    """What people read."""


def record_of(node: str, causes: Encoding, mechanism: Any) -> EquationRecord:
    """One equation as data, with the text that people read; a node without one has no kind.

    >>> from equieffort.data.frames import Column
    >>> record_of("debt", Encoding((Column("age", "continuous"),)), Linear({"age": 0.3}, intercept=4.0)).parts
    {'intercept': 4.0, 'coef': {'age': 0.3}}
    """
    if mechanism is None:
        return EquationRecord(node, causes.names, None, {}, f"{node}: no equation")
    asked = isinstance(mechanism, Asked | AskedLevels)
    own = mechanism.mechanism if asked else mechanism
    # What is only asked may follow its causes otherwise than its numbers say.
    parts = {} if asked else {name: as_data(getattr(own, name)) for name in PARTS.get(type(own), ())}
    if type(own) is Fitted and not asked:
        parts = _tree_parts(own, causes)
    return EquationRecord(node, causes.names, type(own).__name__, parts, mechanism.equation(node))


def _tree_parts(fitted: Fitted, causes: Encoding) -> dict[str, Any]:
    """The trees of a regressor as arrays; nothing of one that is not made of trees."""
    from equieffort.world.scm.trees import Trees, read_trees

    trees = read_trees(fitted.estimator)
    if not isinstance(trees, Trees):
        return {}
    nodes = trees.nodes
    arrays = {name: packed(getattr(nodes, name)) for name in ("feature", "threshold", "left", "right", "roots")}
    return {
        "columns": [[name, as_data(level)] for _, _, (name, level) in design_columns(causes)],
        "constant": float(trees.constant),
        "single": bool(trees.single),
        "exponential": trees.inverse_link is not None,
        "values": packed(nodes.values[:, 0]),
    } | arrays
