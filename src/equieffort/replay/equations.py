"""Structural equations evaluated from the numbers in a file, apart from the code that made and solved them.

An additive equation gives x' = x + f(causes after) - f(causes before); one of levels the level that the person's own
noise, in the middle of what gives their level, picks under the new causes. Each function here returns the value and the
sum of the sizes it was added up from, which says how far rounding may carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Column, Floats
from equieffort.foundations.packed import unpacked
from equieffort.foundations.tolerances import RECOUNTED

Values = Mapping[str, Floats]
"""Encoded causes by name."""
Sized = tuple[Floats, Floats]


@dataclass(frozen=True)
class SavedEquation:
    """One equation as a file has it."""

    node: str
    causes: tuple[str, ...]
    kind: str | None
    parts: Mapping[str, Any]

    @property
    def is_code(self) -> bool:
        """Whether nothing but its text was saved."""
        return self.kind is not None and (self.kind not in (*ADDITIVE, *LEVELS) or not self.parts)

    def reach(self, columns: Mapping[str, Column], own: Floats, before: Values, after: Values) -> tuple[Floats, Floats]:
        """The least and the most that the node may be after an action, rounding allowed for; NaN where undefined."""
        if self.kind in LEVELS:
            return _levels(self, columns, own, before, after)
        f = ADDITIVE[str(self.kind)]
        (then, size_then), (now, size_now) = f(self.parts, columns, before), f(self.parts, columns, after)
        room = RECOUNTED * (size_then + size_now + np.abs(own))
        return own + (now - then) - room, own + (now - then) + room


def code_of(column: Column, level: Any) -> int:
    """The code of a level, which a file names by its text."""
    texts = [str(one) for one in column.levels]
    if str(level) not in texts:
        raise ValueError(f"{level!r} is no level of {column.name!r}")
    return texts.index(str(level))


def _count(values: Values) -> int:
    return len(next(iter(values.values())))


def _sum(pieces: list[Floats], start: float, n: int) -> Sized:
    total, size = np.full(n, float(start)), np.full(n, abs(float(start)))
    for piece in pieces:
        total, size = total + piece, size + np.abs(piece)
    return total, size


def _tabled(column: Column, given: Any, codes: Floats) -> Floats:
    """What each person's level adds; one number is that of the second of two levels."""
    table = np.zeros(len(column.levels))
    if isinstance(given, Mapping):
        for level, value in given.items():
            table[code_of(column, level)] = value
    else:
        table[1:2] = given
    return table[codes.astype(np.intp)]


def _weighted(coef: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> list[Floats]:
    return [
        _tabled(columns[name], given, values[name]) if columns[name].is_category else float(given) * values[name]
        for name, given in coef.items()
    ]


def _linear(parts: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> Sized:
    return _sum(_weighted(parts["coef"], columns, values), parts["intercept"], _count(values))


def _terms(parts: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> Sized:
    n, pieces = _count(values), []
    for coef, powers, levels in parts["terms"]:
        piece = np.full(n, float(coef))
        for name, power in powers.items():
            piece = piece * (values[name] - float(parts["about"].get(name, 0.0))) ** int(power)
        for name, level in levels.items():
            piece = piece * (values[name] == code_of(columns[name], level))
        pieces.append(piece)
    return _sum(pieces, parts["intercept"], n)


def _product(parts: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> Sized:
    total = np.full(_count(values), float(parts["scale"]))
    for name in parts["causes"]:
        total = total * values[name]
    return total, np.abs(total)


def _ratio(parts: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> Sized:
    n = _count(values)
    above, above_size = _sum(_weighted(parts["numerator"], columns, values), 0.0, n)
    below, below_size = _sum(_weighted(parts["denominator"], columns, values), 0.0, n)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        total = float(parts["scale"]) * above / below
        size = np.abs(float(parts["scale"])) * above_size / np.abs(below) * (1 + below_size / np.abs(below))
    return np.where(below == 0, np.nan, total), np.where(below == 0, np.nan, size)


def _curves(parts: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> Sized:
    n = _count(values)
    pieces, sizes = [], np.zeros(n)
    for name, curve in parts["curves"].items():
        piece = np.searchsorted(np.asarray(curve["breaks"], dtype=np.float64), values[name], side="right")
        from_origin = values[name] - np.asarray(curve["origins"], dtype=np.float64)[piece]
        coefs, total = np.asarray(curve["coefs"], dtype=np.float64)[piece], np.zeros(n)
        for power in range(coefs.shape[1]):
            part = coefs[:, power] * from_origin**power
            total, sizes = total + part, sizes + np.abs(part)
        pieces.append(total)
    pieces += [_tabled(columns[name], given, values[name]) for name, given in parts["levels"].items()]
    total, size = _sum(pieces, parts["intercept"], n)
    return total, size + sizes


def _trees(parts: Mapping[str, Any], columns: Mapping[str, Column], values: Values) -> Sized:
    """Every person walks down every tree, step by step."""
    n = _count(values)
    design = np.empty((n, len(parts["columns"])))
    for column, (name, level) in enumerate(parts["columns"]):
        design[:, column] = values[name] if level is None else values[name] == code_of(columns[name], level)
    if parts["single"]:
        with np.errstate(over="ignore"):
            design = design.astype(np.float32).astype(np.float64)
    arrays = {name: unpacked(parts[name]) for name in ("feature", "threshold", "left", "right", "values", "roots")}
    feature, people = arrays["feature"], np.arange(n)
    leaves = []
    for root in arrays["roots"].tolist():
        at: npt.NDArray[Any] = np.full(n, root)
        for _ in range(len(feature)):
            inner = feature[at] >= 0
            if not inner.any():
                break
            left = design[people, np.maximum(feature[at], 0)] <= arrays["threshold"][at]
            at = np.where(inner, np.where(left, arrays["left"][at], arrays["right"][at]), at)
        leaves.append(arrays["values"][at])
    total, size = _sum(leaves, parts["constant"], n)
    return (np.exp(total), np.exp(total) * (1 + size)) if parts["exponential"] else (total, size)


def _levels(
    saved: SavedEquation, columns: Mapping[str, Column], own: Floats, before: Values, after: Values
) -> tuple[Floats, Floats]:
    """The lowest and the highest level, as codes or numbers; the person's own where no cause moved."""
    cuts = np.asarray(saved.parts["cuts"], dtype=np.float64)
    column, order = columns[saved.node], saved.parts["order"]
    if not column.is_category:
        ladder = np.array([float(level) for level in order])
    elif order is None:
        ladder = np.arange(len(cuts) + 1, dtype=np.float64)
    else:
        ladder = np.array([float(code_of(column, level)) for level in order])
    n = len(own)
    (then, size_then), (now, size_now) = (
        _sum(_weighted(saved.parts["coef"], columns, values), 0.0, n) for values in (before, after)
    )
    ranks = np.array([int(np.flatnonzero(ladder == value)[0]) if value in ladder else -1 for value in own.tolist()])
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    low, high = ends[ranks] - then, ends[ranks + 1] - then
    # The middle, by probability, of the noise that gives this level; both tails apart, so that neither is lost.
    noise = np.log(_sigmoid(low) + _sigmoid(high)) - np.log(_sigmoid(-low) + _sigmoid(-high))
    room = RECOUNTED * (size_then + size_now + np.abs(noise) + np.abs(cuts).max())
    least, most = (ladder[(cuts[None, :] < (now + noise + side * room)[:, None]).sum(axis=1)] for side in (-1, 1))
    still: Bools = np.all([before[name] == after[name] for name in saved.causes], axis=0)
    return (
        np.where(ranks < 0, np.nan, np.where(still, own, least)),
        np.where(ranks < 0, np.nan, np.where(still, own, most)),
    )


def _sigmoid(x: Floats) -> Floats:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


ADDITIVE: dict[str, Callable[[Mapping[str, Any], Mapping[str, Column], Values], Sized]] = {
    "Linear": _linear, "Terms": _terms, "Product": _product, "Ratio": _ratio, "Curves": _curves, "Fitted": _trees,
}  # fmt: skip
LEVELS = ("CumulativeLogit",)
