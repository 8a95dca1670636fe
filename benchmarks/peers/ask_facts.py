"""AIF360's FACTS: actions mined for subgroups.

Each person is given the cheapest of those made for a subgroup that the person belongs to which turns the person's own
decision. Numbers are cut into fifths, as FACTS wants categories.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
from shared import Problem, answer

warnings.simplefilter("ignore")

PARTS = 5
OWN, AGE = "number_", "age"
"""Before each name but one: FACTS asks for a column called age, which holds intervals."""


class OnFeatures:
    """The model, which does not see the group."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The label."""
        inner = {n: [v.mid for v in X[AGE]] if n == AGE else X[OWN + n].to_numpy() for n in self.problem.features}
        return self.problem.model.predict(pd.DataFrame(inner).to_numpy(dtype=float))


def setup(problem: Problem) -> tuple:
    """Mine actions on the training data, each number as the fifth that it lies in; its middle stands for it."""
    from aif360.sklearn.detectors.facts import FACTS

    edges = {n: np.unique(np.quantile(problem.train[n], np.linspace(0, 1, PARTS + 1))) for n in problem.features}
    table = binned(problem.train, edges).assign(group=problem.group)
    detector = FACTS(
        OnFeatures(problem), "group", categorical_features=["group", AGE], freq_itemset_min_supp=0.05,
        feats_allowed_to_change=[OWN + name for name in problem.actionable],
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        detector.fit(table, verbose=False)
    rules = [
        (dict(zip(when.features, when.values, strict=True)), dict(zip(then.features, then.values, strict=True)))
        for when, by_group in detector.rules_by_if.items()
        for _, thens in by_group.values()
        for then, *_ in thens
    ]
    return problem, edges, rules


def binned(table: pd.DataFrame, edges: dict) -> pd.DataFrame:
    """Numbers as the middle of the part that they lie in."""
    found = {}
    for name, points in edges.items():
        place = np.clip(np.searchsorted(points, table[name], side="left") - 1, 0, len(points) - 2)
        if name == AGE:
            parts = [pd.Interval(*ends) for ends in pairwise(points)]
            found[name] = pd.Series([parts[k] for k in place], index=table.index, dtype=object).to_numpy()
        else:
            found[OWN + name] = ((points[:-1] + points[1:]) / 2)[place].round(6)
    return pd.DataFrame(found, index=table.index)


def ask(made: tuple, person: pd.DataFrame) -> np.ndarray | None:
    """The cheapest mined action that works."""
    problem, edges, rules = made
    here, x = binned(person, edges).iloc[0], person.to_numpy(dtype=float)[0]
    points = []
    for when, then in rules:
        if all(here[name] == value for name, value in when.items()):
            point = x.copy()
            for name, value in then.items():
                if value == here[name]:
                    continue
                point[problem.features.index(name.removeprefix(OWN))] = value
            points.append(point)
    if not points:
        return None
    points = np.unique(np.array(points), axis=0)
    points = points[problem.model.predict(points) == 1]
    if not len(points):
        return None
    return points[(np.abs(points - x) / problem.scale).sum(axis=1).argmin()]


answer(ask, setup)
