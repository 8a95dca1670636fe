"""OCEAN: constraint programming over a forest, with the least sum of changes.

Features that cannot be changed are held by constraints of our own, since OCEAN has none for that.
"""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from ocean import ConstraintProgrammingExplainer
from ocean.feature import parse_features
from shared import Problem, answer

warnings.simplefilter("ignore")


def setup(problem: Problem) -> tuple:
    """The forest as it was fitted, over features that are scaled already."""
    _, mapper = parse_features(problem.train, scale=False, drop_constant=False)
    forest = pickle.loads(Path(problem.pickle).read_bytes())
    return problem, mapper, ConstraintProgrammingExplainer(forest, mapper=mapper)


def ask(made: tuple, person: pd.DataFrame) -> np.ndarray | None:
    """The nearest point of the other class."""
    problem, _, explainer = made
    x = person.to_numpy(dtype=float)[0]
    held = []
    for k, name in enumerate(problem.features):
        if name not in problem.actionable:
            levels = np.asarray(explainer.mapper[name].levels)
            held.append(explainer.Add(explainer.vget(k) == int(np.searchsorted(levels, x[k], side="left")) - 1))
    found = explainer.explain(x, y=1, norm=1, num_workers=1, max_time=20)
    point = None if found is None else np.asarray(found.x, dtype=float)
    for one in held:
        one.Proto().Clear()
    if point is not None:
        for k, name in enumerate(problem.features):
            if name not in problem.actionable:
                point[k] = x[k]
    return point


answer(ask, setup)
