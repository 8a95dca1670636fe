"""Structural equations in a line each, for those who read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from equieffort.data.frames import number
from equieffort.world.labels import NO_LABELS, Labels
from equieffort.world.scm.discrete import CumulativeLogit
from equieffort.world.scm.ratios import Ratio
from equieffort.world.scm.records import EquationRecord
from equieffort.world.scm.terms import Curves, Product, Terms

FOLDED, LONGEST = 2, 220
"""Levels of a category that an equation shows one by one; and letters that one line may have."""


def one_line(equation: EquationRecord, names: Labels = NO_LABELS) -> str:
    """An equation in one line: the many levels of a category are one term, a long one ends early.

    >>> coef = {"age": 0.31234567, "job": {"a": -1.0, "b": 0.5, "c": 2.0}}
    >>> one_line(EquationRecord("debt", ("age", "job"), "Linear", {"intercept": 4.0, "coef": coef}, ""))
    'debt = 4 + 0.3123*age + job (3 levels, -1 to 2)'
    """
    text = _linear(equation, names) if equation.kind == "Linear" else _labelled(equation, names)
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …"


def _linear(equation: EquationRecord, names: Labels) -> str:
    parts = equation.parts
    text = f"{names.feature(equation.node)} = {_short(parts['intercept'])}"
    return text + "".join(_term(name, value, names) for name, value in parts["coef"].items())


def _labelled(equation: EquationRecord, names: Labels) -> str:
    """The equation's own words with labels for names; of code only the node has a name in it."""
    node, parts = names.feature(equation.node), equation.parts
    again = LABELLED.get(equation.kind or "") if parts else None
    if again is None:
        return f"{node}{equation.text.removeprefix(equation.node)}"
    return str(again(parts, names, equation.node).equation(node))


def _ratio(parts: Mapping[str, Any], names: Labels, _: str) -> Ratio:
    return Ratio(_named(parts["numerator"], names), _named(parts["denominator"], names), parts["scale"])


def _product(parts: Mapping[str, Any], names: Labels, _: str) -> Product:
    return Product([names.feature(name) for name in parts["causes"]], parts["scale"])


def _terms(parts: Mapping[str, Any], names: Labels, _: str) -> Terms:
    terms = [
        (coef, _named(powers, names), {names.feature(name): _level(names, name, level) for name, level in at.items()})
        for coef, powers, at in parts["terms"]
    ]
    return Terms(terms, parts["intercept"], _named(parts["about"], names))


def _curves(parts: Mapping[str, Any], names: Labels, _: str) -> Curves:
    return Curves(_named(parts["curves"], names), _leveled(parts["levels"], names), parts["intercept"])


def _logit(parts: Mapping[str, Any], names: Labels, node: str) -> CumulativeLogit:
    order = parts["order"] and [_level(names, node, level) for level in parts["order"]]
    return CumulativeLogit(_leveled(parts["coef"], names), parts["cuts"], order)


LABELLED: Mapping[str, Callable[[Mapping[str, Any], Labels, str], Any]] = {
    "Ratio": _ratio, "Product": _product, "Terms": _terms, "Curves": _curves, "CumulativeLogit": _logit,
}  # fmt: skip
"""By kind of mechanism: the same one with labels for names."""


def _named(values: Mapping[str, Any], names: Labels) -> dict[str, Any]:
    return {names.feature(name): value for name, value in values.items()}


def _leveled(values: Mapping[str, Any], names: Labels) -> dict[str, Any]:
    """Values of features, some of them by level."""
    return {
        names.feature(name): {_level(names, name, level): value for level, value in given.items()}
        if isinstance(given, Mapping)
        else given
        for name, given in values.items()
    }


def _level(names: Labels, name: str, level: Any) -> Any:
    return names.level(name, level) or level


def _term(name: str, value: Any, names: Labels) -> str:
    told = names.feature(name)
    if not isinstance(value, dict):
        return f" {'-' if value < 0 else '+'} {_short(abs(value))}*{told}"
    if len(value) > FOLDED:
        low, high = _short(min(value.values())), _short(max(value.values()))
        return f" + {told} ({len(value)} levels, {low} to {high})"
    return "".join(
        _term(f"[{told}={_level(names, name, level)}]", effect, NO_LABELS) for level, effect in value.items()
    )


def _short(value: float) -> str:
    return number(float(f"{value:.4g}"))
