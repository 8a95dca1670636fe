"""Polynomials with products of causes, over encoded causes."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np

from equieffort.data.frames import Encoding, Floats
from equieffort.world.scm.curves import reach
from equieffort.world.scm.equations import EPS, Additive, Affine, over_finite, over_levels


class ProductEquation(Additive):
    """A polynomial with products of causes, over encoded causes.

    Over a box it is expanded about the middle: what is linear is kept, powers of one cause are enclosed by their
    turning points, products by the sides of the box. The sum of the terms' own ranges is the other enclosure.
    """

    def __init__(
        self,
        causes: Encoding,
        coefs: Floats,
        powers: Any,
        levels: list[dict[int, int]],
        about: Floats,
        intercept: float,
    ) -> None:
        super().__init__(causes, self._predict, "")
        self.coefs, self.powers, self.levels, self.about, self.intercept = coefs, powers, levels, about, intercept
        self._expand()

    def _expand(self) -> None:
        """For each term the terms of its expansion: (which of `shapes`, binomials, powers of the distance)."""
        shapes: dict[tuple[int, ...], int] = {}
        self._parts: list[list[tuple[int, float, tuple[int, ...]]]] = []
        for power in self.powers.tolist():
            parts = []
            for shape in product(*(range(p + 1) for p in power)):
                ways = float(np.prod([comb(p, s) for p, s in zip(power, shape, strict=True)]))
                rest = tuple(p - s for p, s in zip(power, shape, strict=True))
                parts.append((shapes.setdefault(shape, len(shapes)), ways, rest))
            self._parts.append(parts)
        self._shapes = shapes

    def _active(self, parents: Floats) -> Floats:
        """For each row and term 1 if its levels are met, else 0."""
        active = np.ones((len(parents), len(self.coefs)))
        for row, at in enumerate(self.levels):
            for k, code in at.items():
                active[:, row] *= parents[:, k] == code
        return active

    def _predict(self, parents: Floats) -> Floats:
        total = np.full(len(parents), self.intercept)
        active = self._active(parents)
        for row, coef in enumerate(self.coefs):
            total += coef * active[:, row] * _monomial(parents - self.about, self.powers[row])
        return total

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return over_finite(low, high, self._enclosed)

    def _enclosed(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        _, *planes = self._middle(low, high, flat=True)
        apart, margin = self._terms_apart(low, high), self._margin(low, high)
        return np.maximum(planes[0], apart[0]) - margin, np.minimum(planes[1], apart[1]) + margin

    def _planes(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        least, most = over_levels(self.causes, low, high, self._range)
        slopes = np.zeros(low.shape)
        categories = [k for k, column in enumerate(self.causes.columns) if column.is_category]
        clear = (np.isfinite(low) & np.isfinite(high)).all(axis=1)
        clear &= (low[:, categories] == high[:, categories]).all(axis=1)
        if clear.any():
            left, right = low[clear], high[clear]
            slope, lowest, highest = self._middle(left, right, flat=False)
            tilt = (np.abs(slope) * np.maximum(np.abs(left), np.abs(right))).sum(axis=1)
            margin = self._margin(left, right) + EPS * (8 + 4 * low.shape[1]) * tilt
            slopes[clear], least[clear], most[clear] = slope, lowest - margin, highest + margin
        return Affine(slopes, least), Affine(slopes, most)

    def _middle(self, low: Floats, high: Floats, *, flat: bool) -> tuple[Floats, Floats, Floats]:
        """Slopes (none if flat) and the range of what they leave, from the expansion about the middle."""
        middle = 0.5 * (low + high)
        half = np.maximum(high - middle, middle - low)
        away, active = middle - self.about, self._active(low)
        total = np.zeros((len(low), len(self._shapes)))
        for row, parts in enumerate(self._parts):
            for which, ways, rest in parts:
                total[:, which] += self.coefs[row] * ways * active[:, row] * _monomial(away, rest)
        slope = np.zeros(low.shape)
        least = most = self.intercept + total[:, self._shapes.get((0,) * low.shape[1], 0)]
        curves: dict[int, dict[int, int]] = {}
        for shape, which in self._shapes.items():
            used = [k for k, s in enumerate(shape) if s]
            if len(used) == 1:
                curves.setdefault(used[0], {})[shape[used[0]]] = which
            elif len(used) > 1:
                size = np.abs(total[:, which]) * _monomial(half, shape)
                even = all(s % 2 == 0 for s in shape)
                least = least - np.where(even & (total[:, which] > 0), 0.0, size)
                most = most + np.where(even & (total[:, which] < 0), 0.0, size)
        for k, own in curves.items():
            coefs = np.zeros((len(low), max(own) + 1))
            for power, which in own.items():
                coefs[:, power] = total[:, which]
            if not flat:
                for power in range(1, coefs.shape[1], 2):
                    slope[:, k] += coefs[:, power] * half[:, k] ** (power - 1)
                coefs[:, 1] -= slope[:, k]
            lowest, highest = reach(coefs, -half[:, k], half[:, k])
            least, most = least + lowest, most + highest
        shift = (slope * middle).sum(axis=1)
        return slope, least - shift, most - shift

    def _terms_apart(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The sum of each term's own range."""
        left, right, active = low - self.about, high - self.about, self._active(low)
        least = most = np.full(len(low), self.intercept)
        for row, coef in enumerate(self.coefs):
            term = coef * active[:, row]
            start, end = term, term
            for k in np.flatnonzero(self.powers[row]).tolist():
                power = int(self.powers[row, k])
                a, b = left[:, k] ** power, right[:, k] ** power
                bottom, top = np.minimum(a, b), np.maximum(a, b)
                if power % 2 == 0:
                    bottom = np.where((left[:, k] < 0) & (right[:, k] > 0), 0.0, bottom)
                corners = np.stack([start * bottom, start * top, end * bottom, end * top])
                start, end = corners.min(axis=0), corners.max(axis=0)
            least, most = least + start, most + end
        return least, most

    def _margin(self, low: Floats, high: Floats) -> Floats:
        """More than rounding can do: a multiple of its unit times a sum that no partial sum exceeds."""
        farthest = np.maximum(np.abs(low - self.about), np.abs(high - self.about))
        size = np.full(len(low), abs(self.intercept))
        for row, coef in enumerate(self.coefs):
            size += abs(coef) * _monomial(farthest, self.powers[row])
        degree = int(self.powers.sum(axis=1).max(initial=1))
        return EPS * (64 + 8 * len(self.coefs) + 16 * degree + 2 * len(self._shapes)) * size


def _monomial(base: Floats, powers: Any) -> Floats:
    total = np.ones(len(base))
    for k, power in enumerate(powers):
        if power:
            total = total * base[:, k] ** int(power)
    return total
