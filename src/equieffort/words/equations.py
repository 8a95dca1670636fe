"""Structural equations in a line each, for those who read them."""

from __future__ import annotations

from typing import Any

from equieffort.data.frames import number
from equieffort.world.labels import NO_LABELS, Labels
from equieffort.world.scm.records import EquationRecord

FOLDED, LONGEST = 2, 220
"""Levels of a category that an equation shows one by one; and letters that one line may have."""


def one_line(equation: EquationRecord, names: Labels = NO_LABELS) -> str:
    """An equation in one line: the many levels of a category are one term, a long one ends early.

    >>> coef = {"age": 0.31234567, "job": {"a": -1.0, "b": 0.5, "c": 2.0}}
    >>> one_line(EquationRecord("debt", ("age", "job"), "Linear", {"intercept": 4.0, "coef": coef}, ""))
    'debt = 4 + 0.3123*age + job (3 levels, -1 to 2)'
    """
    text = equation.text
    if equation.kind == "Linear":
        parts = equation.parts
        text = f"{names.feature(equation.node)} = {_short(parts['intercept'])}"
        text += "".join(_term(name, value, names) for name, value in parts["coef"].items())
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …"


def _term(name: str, value: Any, names: Labels) -> str:
    told = names.feature(name)
    if not isinstance(value, dict):
        return f" {'-' if value < 0 else '+'} {_short(abs(value))}*{told}"
    if len(value) > FOLDED:
        low, high = _short(min(value.values())), _short(max(value.values()))
        return f" + {told} ({len(value)} levels, {low} to {high})"
    return "".join(
        _term(f"[{told}={names.level(name, level) or level}]", effect, NO_LABELS) for level, effect in value.items()
    )


def _short(value: float) -> str:
    return number(float(f"{value:.4g}"))
