"""The random cases of the oracles in other units: what is decided, allowed and asked for stays the same.

A number x becomes factor * x + shift. People, limits, equations, models and rules are all written in the new units, so
that only the package sees them: the oracles go on reckoning in the plain ones.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from tests import oracles, oracles_networks, oracles_trees

from equieffort.models.classifiers import LinearScore, ReLUNetwork

INF = float("inf")


@dataclass(frozen=True)
class Units:
    """New units of columns; those not named keep theirs."""

    factors: dict[str, float]
    shifts: dict[str, float]

    @classmethod
    def drawn(cls, rng: np.random.Generator, names: list[str], most: int = 12) -> Units:
        """A power of ten for each column."""
        return cls({name: 10.0 ** int(rng.integers(-most, most + 1)) for name in names}, {})

    @classmethod
    def far(cls, rng: np.random.Generator, names: list[str]) -> Units:
        """Far from zero: values of up to 1e9 with the spread they had."""
        return cls({}, {name: float(rng.choice([1e6, 1e8, 1e9])) for name in names})

    def f(self, name: str) -> float:
        return self.factors.get(name, 1.0)

    def o(self, name: str) -> float:
        return self.shifts.get(name, 0.0)

    def new(self, name: str, value: Any) -> Any:
        return value if name not in self.factors and name not in self.shifts else value * self.f(name) + self.o(name)

    def plain(self, name: str, value: Any) -> Any:
        return value if name not in self.factors and name not in self.shifts else (value - self.o(name)) / self.f(name)

    def rounding_error(self, name: str, value: float) -> float:
        """How far apart doubles lie here, in plain units."""
        return float(np.spacing(abs(self.new(name, value)))) / self.f(name)

    def frame(self, people: pd.DataFrame) -> pd.DataFrame:
        return people.assign(**{n: self.new(n, people[n]) for n in people if n in {*self.factors, *self.shifts}})

    def limits(self, name: str, limits: dict[str, Any]) -> dict[str, Any]:
        found = dict(limits)
        for side in ("lower", "upper"):
            if limits.get(side) is not None:
                found[side] = self.new(name, limits[side])
        for side in ("max_increase", "max_decrease"):
            if limits.get(side) is not None:
                found[side] = limits[side] * self.f(name)
        if limits.get("plausible") is not None:
            found["plausible"] = tuple(None if end is None else self.new(name, end) for end in limits["plausible"])
        return found

    def causes(self, causes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Equations: a unit of the cause is another, and so is one of the effect. Shifts do not matter to changes."""
        found: dict[str, dict[str, Any]] = {}
        for name, own in causes.items():
            found[name] = {}
            for cause, weight in own.items():
                if isinstance(weight, dict):
                    found[name][cause] = {level: w * self.f(name) for level, w in weight.items()}
                else:
                    found[name][cause] = weight * (self.f(name) / self.f(cause))
        return found

    def functions(self, functions: dict[str, Callable[[float, Any], Any]]) -> dict[str, Callable[[float, Any], Any]]:
        return {name: self._function(name, function) for name, function in functions.items()}

    def _function(self, name: str, function: Callable[[float, Any], Any]) -> Callable[[float, Any], Any]:
        return lambda fact, values: function(self.plain(name, fact), self.plain(name, values))

    def rule(self, rule: tuple[Any, ...], scale: float = 1.0) -> tuple[Any, ...]:
        """A rule between features; a sum may be written in any unit, so it gets one of its own."""
        kind, *parts = rule
        if kind == "sum":
            weights, low, high = parts
            new = {name: scale * w / self.f(name) for name, w in weights.items()}
            moved = scale * sum(w * self.o(name) / self.f(name) for name, w in weights.items())
            return kind, new, scale * low + moved, scale * high + moved
        if kind == "implies" and not isinstance(parts[1], tuple):
            a, most, b, then = parts
            return kind, a, self.new(a, most), b, self.new(b, then)
        if kind == "implies":
            a, given, b, then = parts
            return kind, a, self._ends(a, given), b, self._ends(b, then)
        if kind == "level":
            name, some, a, then = parts
            return kind, name, some, a, self._ends(a, then)
        if kind == "monotone":
            cause, effect, rate = parts
            return kind, cause, effect, rate * self.f(effect) / self.f(cause)
        return rule

    def _ends(self, name: str, ends: tuple[float, float]) -> tuple[float, float]:
        return self.new(name, ends[0]), self.new(name, ends[1])


def continuous(case: Any) -> list[str]:
    """The columns whose unit is a matter of taste: neither categories nor counts."""
    kept = {*case.levels, *case.wholes, "s", "sex"}
    return [name for name in case.people if name not in kept]


def _world(case: Any, units: Units) -> dict[str, Any]:
    return {
        "people": units.frame(case.people),
        "causes": units.causes(case.causes),
        "limits": {name: units.limits(name, own) for name, own in case.limits.items()},
        "functions": units.functions(case.functions),
        "reference": None if case.reference is None else units.frame(case.reference),
    }


def linear_in(case: oracles.Case, units: Units) -> oracles.Case:
    """A case with a linear score in new units, with the same kind of classifier."""
    score = {n: w if isinstance(w, dict) else w / units.f(n) for n, w in case.score.items()}
    moved = sum(w * units.o(n) / units.f(n) for n, w in case.score.items() if not isinstance(w, dict))
    model = case.classifier
    sign = _sign(case)
    if isinstance(model, LinearScore):
        coef = {n: sign * (w[True] if isinstance(w, dict) else w) for n, w in score.items()}
        model = LinearScore(coef, threshold=sign * (case.threshold + moved), closed=model.closed)
    else:
        model = deepcopy(model)
        last: LogisticRegression = model.steps[-1][1] if isinstance(model, Pipeline) else model
        plain = [n for n in case.score if not oracles.is_text(case.people[n])]
        size = np.ones(last.coef_.shape[1])
        size[: len(plain)] = [units.f(n) for n in plain]
        last.coef_, last.intercept_ = last.coef_ / size, last.intercept_ - sign * moved
    return replace(case, **_world(case, units), score=score, threshold=case.threshold + moved, classifier=model)


def _sign(case: oracles.Case) -> float:
    if isinstance(case.classifier, LinearScore):
        return 1.0 if case.favourable else -1.0
    return 1.0 if case.favourable == case.classifier.classes_[1] else -1.0


def trees_in(case: oracles_trees.Case, units: Units, scales: Any = None) -> oracles_trees.Case:
    """A sum of trees in new units: their thresholds are other numbers."""

    def grown(tree: Any) -> Any:
        if len(tree) == 1:
            return tree
        column, test, left, right = tree
        new = test if isinstance(test, frozenset) else units.new(column, test)
        return column, new, grown(left), grown(right)

    model = replace(case.model, trees=[grown(tree) for tree in case.model.trees])
    rules = tuple(units.rule(r, s) for r, s in zip(case.rules, scales or [1.0] * len(case.rules), strict=True))
    return replace(case, **_world(case, units), model=model, rules=rules)


def network_in(made: oracles_networks.NetCase, units: Units, scales: Any = None) -> oracles_networks.NetCase:
    """A network in new units: its first layer has other weights."""
    size = np.array([units.f(name) if level is None else 1.0 for name, level in made.inputs])
    start = np.array([units.o(name) if level is None else 0.0 for name, level in made.inputs])
    weights, bias = made.layers[0]
    first = (weights / size, bias - weights @ (start / size))
    rules = tuple(units.rule(r, s) for r, s in zip(made.rules, scales or [1.0] * len(made.rules), strict=True))
    model = made.classifier
    if isinstance(model, ReLUNetwork):
        model = ReLUNetwork(
            [first[0], *model.weights[1:]], [first[1], *model.biases[1:]],
            classes=model.classes_.tolist(), feature_names=list(model.feature_names_in_),
        )  # fmt: skip
    else:
        model = deepcopy(model)
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        last.coefs_[0], last.intercepts_[0] = first[0].T.copy(), first[1].copy()
    case = replace(made.case, **_world(made.case, units))
    return replace(made, case=case, layers=(first, *made.layers[1:]), classifier=model, rules=rules)
