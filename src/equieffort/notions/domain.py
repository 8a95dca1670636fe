"""Inputs drawn from the schema's domain, whoever has them: levels and numbers uniformly, within rules."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
import pandas as pd

from equieffort.data.frames import Column, Floats
from equieffort.notions.twins import Codes, Levels
from equieffort.recourse.problem import RecourseProblem

MOST_TRIES = 100
"""So many times as many inputs are drawn at most as are asked for, where rules refuse most of them."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Inputs, and the level of the sensitive columns of each."""

    frame: pd.DataFrame
    level: Codes


def draw_inputs(
    problem: RecourseProblem, data: pd.DataFrame, levels: Levels, draws: int, rng: np.random.Generator
) -> Drawn:
    """Inputs drawn independently, column by column; those that break a rule between features are drawn again.

    May be fewer than asked for where rules refuse nearly everything.
    """
    kept: list[Floats] = []
    codes: list[Codes] = []
    have = tried = 0
    while have < draws and tried < MOST_TRIES * draws:
        matrix, level = _candidates(problem, data, levels, draws, rng)
        fine = ~problem.rules.broken(matrix)
        kept.append(matrix[fine][: draws - have])
        codes.append(level[fine][: draws - have])
        have, tried = have + len(kept[-1]), tried + draws
    return Drawn(problem.encoding.decode(np.concatenate(kept)), np.concatenate(codes))


def _candidates(
    problem: RecourseProblem, data: pd.DataFrame, levels: Levels, n: int, rng: np.random.Generator
) -> tuple[Floats, Codes]:
    matrix = np.empty((n, len(problem.encoding.columns)))
    for k, column in enumerate(problem.encoding.columns):
        if column.is_category:
            matrix[:, k] = rng.integers(len(column.levels), size=n)
        else:
            low, high = domain_of(problem, column, data[column.name])
            whole = column.is_whole
            matrix[:, k] = rng.integers(int(low), int(high) + 1, size=n) if whole else rng.uniform(low, high, n)
    level = np.array(levels.codes, dtype=np.intp)[rng.integers(len(levels.codes), size=n)]
    for j, k in enumerate(levels.positions):
        matrix[:, k] = levels.values[level, j]
    return matrix, level


def domain_of(problem: RecourseProblem, column: Column, values: pd.Series) -> tuple[float, float]:
    """The range of a number: where it may plausibly be, else what an action may set, else what people have.

    Ends that are not declared, or are declared infinite, are those of the audited people.
    """
    if column.kind == "binary":
        return 0.0, 1.0
    feature = problem.schema.feature(column.name)
    amounts = column.encode(values)
    found = []
    for k, (end, seen) in enumerate(((feature.ends[0], np.nanmin), (feature.ends[1], np.nanmax))):
        declared = (feature.plausible or (None, None))[k]
        declared = end if declared is None or not isfinite(declared) else declared
        found.append(float(seen(amounts)) if declared is None or not isfinite(declared) else float(declared))
    low, high = (np.ceil(found[0]), np.floor(found[1])) if column.is_whole else found
    # A declared end beyond what anybody has leaves one value.
    return float(low), float(max(low, high))
