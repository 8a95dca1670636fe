"""Equations of known terms: polynomials of the causes, with and without products, and sums of curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equieffort.data.frames import Column, Encoding, Floats, number
from equieffort.errors import CausalModelError, Setting
from equieffort.foundations.arguments import check_mapping, is_number, items_in
from equieffort.world.scm.curves import Curve
from equieffort.world.scm.design import check_causes, level_code
from equieffort.world.scm.equations import EPS, MECHANISM, Additive, Affine, Mechanism, bad_equation
from equieffort.world.scm.mechanisms import TabledEquation, check_finite, in_words, level_table, signed
from equieffort.world.scm.products import ProductEquation

HIGHEST = 9
"""The highest power of one cause: beyond, doubles cannot tell such terms apart."""

Term = tuple[float, Mapping[str, int], Mapping[str, Any]]
"""A coefficient, the powers of numeric causes, the levels of categorical ones."""


@dataclass(frozen=True)
class Terms(Mechanism):
    """x = intercept + sum of coefficient * product of powers of causes + noise.

    A term is a coefficient and the powers of its causes; a third part names levels of categories that must be met.
    `about` moves the origin of a number: its powers are then those of (cause - origin), which keeps high powers exact
    far from zero.

    >>> terms = [(-0.05, {"X1": 1}), (-0.25, {"X2": 2}), (2.0, {"X1": 1}, {"sex": "male"})]
    >>> Terms(terms, intercept=1.0).equation("X3")
    'X3 = 1 - 0.05*X1 - 0.25*X2^2 + 2*X1*[sex=male]'
    """

    terms: Iterable[Any]
    intercept: float = 0.0
    about: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        takes = "a list of terms (coefficient, powers)"
        given = items_in("terms", self.terms, takes, **MECHANISM)
        object.__setattr__(self, "terms", tuple(map(_term, given)))
        check_mapping("about", self.about, "a mapping from cause to origin", error=CausalModelError)
        for name, value in (("intercept", self.intercept), *self.about.items()):
            check_finite(name, value)

    def bind(self, node: str, causes: Encoding) -> Additive:
        """The equation over the encoded causes."""
        terms: tuple[Term, ...] = tuple(self.terms)
        check_causes(node, [*(name for _, powers, at in terms for name in (*powers, *at)), *self.about], causes)
        about = np.array([float(self.about.get(name, 0.0)) for name in causes.names])
        powers = np.zeros((len(terms), len(causes.columns)), dtype=np.intp)
        levels: list[dict[int, int]] = []
        for row, (_, numbers, at) in enumerate(terms):
            for name, given in numbers.items():
                powers[row, causes.position(name)] = _power(node, causes[name], given)
            levels.append(
                {causes.position(name): level_code(node, _category(node, causes[name]), at[name]) for name in at}
            )
        coefs = np.array([coef for coef, _, _ in terms], dtype=np.float64)
        if all(np.count_nonzero(p) + len(at) <= 1 for p, at in zip(powers, levels, strict=True)):
            return _separate(causes, coefs, powers, levels, about, float(self.intercept))
        return ProductEquation(causes, coefs, powers, levels, about, float(self.intercept))

    def equation(self, node: str) -> str:
        """The equation in words."""
        text = f"{node} = {number(self.intercept)}"
        for coef, powers, levels in self.terms:
            text += f" {signed(coef)}"
            text += "".join(f"*{self._factor(name, power)}" for name, power in powers.items())
            text += "".join(f"*[{name}={level}]" for name, level in levels.items())
        return text

    def _factor(self, name: str, power: int) -> str:
        origin = self.about.get(name, 0.0)
        base = name if origin == 0 else f"({name} {signed(-origin)})"
        return base if power == 1 else f"{base}^{power}"


@dataclass(frozen=True)
class Product(Mechanism):
    """x = scale * cause * cause * ... + noise; a cause that is named twice is squared.

    >>> Product(["hours", "wage"], scale=4.3).equation("income")
    'income = 4.3 * hours * wage'
    """

    causes: Iterable[str]
    scale: float = 1.0

    def __post_init__(self) -> None:
        named = items_in("causes", self.causes, "a list of causes", **MECHANISM)
        if not named or not all(isinstance(name, str) for name in named):
            raise bad_equation("A product names no cause.", fix='Name some, such as Product(["hours", "wage"]).')
        object.__setattr__(self, "causes", tuple(named))
        check_finite("scale", self.scale)

    def bind(self, node: str, causes: Encoding) -> Additive:
        """The equation over the encoded causes."""
        return Terms([(self.scale, dict(Counter(self.causes)))]).bind(node, causes)

    def equation(self, node: str) -> str:
        """The equation in words."""
        scale = [] if self.scale == 1 else [number(self.scale)]
        return f"{node} = {' * '.join([*scale, *self.causes])}"


def _term(given: Any) -> Term:
    parts = tuple(given) if isinstance(given, tuple | list) else ()
    if len(parts) in (2, 3) and np.ndim(parts[0]) == 0 and all(isinstance(part, Mapping) for part in parts[1:]):
        check_finite("The coefficient of a term", parts[0])
        return float(parts[0]), dict(parts[1]), dict(parts[2]) if len(parts) == 3 else {}
    raise bad_equation(
        f"{given!r} is not a term.",
        fix='A term is (coefficient, powers) or (coefficient, powers, levels): (2.0, {"age": 2}, {"sex": "male"}).',
    )


def _category(node: str, column: Column) -> Column:
    if column.is_category:
        return column
    raise bad_equation(
        f"The equation of {node!r} names a level of {column.name!r}, which is numeric.",
        fix=("Give its power, or ", Setting("categorical", of=column.name), "."),
    )


def _power(node: str, column: Column, given: Any) -> int:
    if column.is_category or not is_number(given, whole=True) or not 1 <= given <= HIGHEST:
        raise bad_equation(
            f"The equation of {node!r} has the power {given!r} of {column.name!r}, which is {column.kind}.",
            fix=(f"Powers are whole numbers from 1 to {HIGHEST} of numeric causes; ", Setting("levels of a term"), "."),
        )
    return int(given)


@dataclass(frozen=True)
class Curves(Mechanism):
    """x = intercept + sum of curves of numeric causes + values of levels + noise; what `Spline` learns."""

    curves: Mapping[str, Curve]
    levels: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)
    intercept: float = 0.0

    def bind(self, node: str, causes: Encoding) -> Additive:
        """The equation over the encoded causes."""
        check_causes(node, [*self.curves, *self.levels], causes)
        curves: dict[int, Curve] = {}
        tables: dict[int, Floats] = {}
        for k, column in enumerate(causes.columns):
            if column.is_category:
                if column.name in self.curves:
                    raise bad_equation(
                        f"The equation of {node!r} has a curve of {column.name!r}, which is a category.",
                        fix="Give its levels values: levels={...}.",
                    )
                tables[k] = level_table(node, column, self.levels.get(column.name, {}))
            elif column.name in self.curves:
                curves[k] = self.curves[column.name]
        return SeparableEquation(causes, curves, tables, float(self.intercept))

    def equation(self, node: str) -> str:
        """The equation in words."""
        curves = "".join(f" + curve({name})" for name in self.curves)
        levels = "".join(in_words(name, values) for name, values in self.levels.items())
        return f"{node} = {number(self.intercept)}{curves}{levels}"


def _separate(
    causes: Encoding, coefs: Floats, powers: Any, levels: list[dict[int, int]], about: Floats, intercept: float
) -> Additive:
    """Terms of one cause each, gathered into one polynomial a number and one table a category."""
    rows: dict[int, Floats] = {}
    tables = {k: np.zeros(len(column.levels)) for k, column in enumerate(causes.columns) if column.is_category}
    for coef, power, at in zip(coefs, powers, levels, strict=True):
        if at:
            ((k, code),) = at.items()
            tables[k][code] += coef
        elif power.any():
            k = int(power.argmax())
            rows.setdefault(k, np.zeros(int(powers[:, k].max()) + 1))[power[k]] += coef
        else:
            intercept += float(coef)
    curves = {k: Curve((), (float(about[k]),), (tuple(row.tolist()),)) for k, row in rows.items()}
    return SeparableEquation(causes, curves, tables, intercept)


class SeparableEquation(TabledEquation):
    """A sum of a curve of each numeric cause and a value of each level, over encoded causes."""

    def __init__(self, causes: Encoding, curves: dict[int, Curve], tables: dict[int, Floats], intercept: float) -> None:
        super().__init__(causes, tables, intercept)
        self.curves = curves

    def _numeric(self, parents: Floats) -> Iterator[Floats]:
        return (curve(parents[:, k]) for k, curve in self.curves.items())

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the most of f over each box, rounded outwards."""
        low, high = self._box(low, high)
        return self._sum(low, high, np.zeros(low.shape))

    def _planes(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        slopes = np.zeros(low.shape)
        for k, curve in self.curves.items():
            slopes[:, k] = curve.secant(low[:, k], high[:, k])
        least, most = self._sum(low, high, slopes)
        return Affine(slopes, least), Affine(slopes, most)

    def _sum(self, low: Floats, high: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """The range of f minus the slopes times the causes. Each side has its own margin: one may have no end."""
        least, most = self._over_levels(low, high)
        size_least = size_most = np.full(len(low), self._fixed)
        for k, curve in self.curves.items():
            slope = slopes[:, k]
            lowest, highest = curve.bounds(low[:, k], high[:, k], slope if slope.any() else None)
            least, most = least + lowest, most + highest
            far = np.where(slope == 0, 0.0, np.maximum(np.abs(low[:, k]), np.abs(high[:, k])))
            tilt = 2 * np.abs(slope) * far
            size_least, size_most = size_least + np.abs(lowest) + tilt, size_most + np.abs(highest) + tilt
        unit = EPS * (8 + 4 * len(self.causes.columns))
        return least - unit * size_least, most + unit * size_most
