"""Learners of bent equations with known terms: `Polynomial` and `Spline`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Column, Encoding, Floats
from equieffort.foundations.arguments import check_choice, check_flag, check_number
from equieffort.world.scm.curves import Curve
from equieffort.world.scm.design import check_rows, design_columns, scaled_fit, stacked
from equieffort.world.scm.equations import Learner
from equieffort.world.scm.terms import HIGHEST, Curves, Terms

Beyond = Literal["linear", "constant"]


def _check_whole(name: str, value: Any, low: int, high: int) -> None:
    takes = f"a whole number from {low} to {high}"
    check_number(name, value, takes, lambda given: low <= given <= high, whole=True)


@dataclass(frozen=True)
class Polynomial(Learner):
    """Learns `Terms` by least squares: powers of each numeric cause up to `degree`, indicators of each category.

    With `interactions` all products of causes up to that total degree as well, numbers with indicators included
    (scikit-learn's PolynomialFeatures). Powers are of the distance from a cause's mean. Beyond the data a polynomial
    goes on as it is, and a high one soon goes far.
    """

    degree: int = 2
    interactions: bool = False

    def __post_init__(self) -> None:
        _check_whole("degree", self.degree, 1, HIGHEST)
        check_flag("interactions", self.interactions)

    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Terms:
        """Fit the node's values to its encoded causes."""
        about = {c.name: float(parents[:, k].mean()) for k, c in enumerate(causes.columns) if not c.is_category}
        shapes = self._shapes(causes)
        design = stacked(len(parents), [_column(causes, parents, about, shape) for shape in shapes])
        check_rows(node, design.shape[1], len(values))
        slopes, intercept = scaled_fit(design, values)
        return Terms([(slope, *shape) for slope, shape in zip(slopes.tolist(), shapes, strict=True)], intercept, about)

    def _shapes(self, causes: Encoding) -> list[Shape]:
        """The powers and levels of every term."""
        units = [owner for _, _, owner in design_columns(causes)]
        shapes: list[Shape] = []
        for total in range(1, self.degree + 1):
            for drawn in combinations_with_replacement(units, total):
                shape = _merged(drawn)
                if shape is not None and (self.interactions or len(shape[0]) + len(shape[1]) == 1):
                    shapes.append(shape)
        return shapes


Shape = tuple[dict[str, int], dict[str, Any]]


def _merged(drawn: tuple[tuple[str, Any], ...]) -> Shape | None:
    """Units multiplied: powers of numbers add; a level is met once, and two levels of one cause never."""
    powers: dict[str, int] = {}
    levels: dict[str, Any] = {}
    for name, level in drawn:
        if level is None:
            powers[name] = powers.get(name, 0) + 1
        elif name in levels:
            return None
        else:
            levels[name] = level
    return powers, levels


def _column(causes: Encoding, parents: Floats, about: dict[str, float], shape: Shape) -> Floats:
    column = np.ones(len(parents))
    for name, power in shape[0].items():
        column = column * (parents[:, causes.position(name)] - about[name]) ** power
    for name, level in shape[1].items():
        column = column * (parents[:, causes.position(name)] == causes[name].levels.index(level))
    return column


@dataclass(frozen=True)
class Spline(Learner):
    """Learns `Curves` by least squares: a smooth curve of each numeric cause, a value for each level.

    A curve is a spline of this degree (1 to 3) with its knots at `knots` evenly spaced quantiles of the cause, the
    ends included; fewer where a cause has few values. Beyond the data a curve goes on straight, or stays at its last
    value with beyond="constant".
    """

    knots: int = 5
    degree: int = 3
    beyond: Beyond = "linear"

    def __post_init__(self) -> None:
        _check_whole("knots", self.knots, 2, 100)
        _check_whole("degree", self.degree, 1, 3)
        check_choice("beyond", self.beyond, get_args(Beyond))

    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Curves:
        """Fit the node's values to its encoded causes."""
        from scipy.interpolate import BSpline

        blocks: list[tuple[Column, tuple[Floats, int] | None, npt.NDArray[Any]]] = []
        for column, cause in zip(causes.columns, parents.T, strict=True):
            if column.is_category:
                blocks.append((column, None, cause[:, None] == np.arange(1, len(column.levels))))
                continue
            sites, degree = self._sites(cause)
            if degree:
                # The basis adds up to one everywhere, which the intercept already says.
                basis = BSpline.design_matrix(cause, sites, degree).toarray()[:, 1:]
                blocks.append((column, (sites, degree), basis))
        design = stacked(len(parents), [block for _, _, block in blocks])
        check_rows(node, design.shape[1], len(values))
        slopes, intercept = scaled_fit(design, values)
        curves: dict[str, Curve] = {}
        levels: dict[str, dict[Any, float]] = {}
        own = np.split(slopes, np.cumsum([block.shape[1] for _, _, block in blocks])) if blocks else []
        for (column, spline, _), part in zip(blocks, own, strict=False):
            if spline is None:
                levels[column.name] = dict(zip(column.levels[1:], part.tolist(), strict=True))
            else:
                curves[column.name] = _curve(spline[0], np.concatenate([[0.0], part]), spline[1], self.beyond)
        return Curves(curves, levels, intercept)

    def _sites(self, values: Floats) -> tuple[Floats, int]:
        """The knots with the ends repeated, and the degree that the distinct values can carry."""
        distinct = np.unique(values)
        degree = min(self.degree, len(distinct) - 1)
        if degree == 0:
            return distinct, 0
        most = len(distinct) - degree + 1
        inner = np.unique(np.quantile(values, np.linspace(0, 1, min(self.knots, most))))
        return np.concatenate([np.repeat(inner[0], degree), inner, np.repeat(inner[-1], degree)]), degree


def _curve(sites: Floats, weights: Floats, degree: int, beyond: Beyond) -> Curve:
    """A spline as polynomial pieces, continued beyond its ends."""
    from scipy.interpolate import BSpline, PPoly

    pieces = PPoly.from_spline(BSpline(sites, weights, degree))
    real = np.flatnonzero(np.diff(pieces.x) > 0)
    coefs = pieces.c[::-1, real].T
    origins = pieces.x[real]
    first, last = float(pieces.x[0]), float(pieces.x[-1])
    width = last - origins[-1]
    height = float(sum(c * width**k for k, c in enumerate(coefs[-1])))
    slope = float(sum(k * c * width ** (k - 1) for k, c in enumerate(coefs[-1]) if k))
    keep = 1.0 if beyond == "linear" else 0.0
    pad = [0.0] * (degree - 1)
    rows = [[float(coefs[0, 0]), keep * float(coefs[0, 1]), *pad], *coefs.tolist(), [height, keep * slope, *pad]]
    breaks = [*origins.tolist(), last]
    return Curve(tuple(breaks), (first, *origins.tolist(), last), tuple(tuple(row) for row in rows))
