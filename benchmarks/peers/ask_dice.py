"""DiCE: four counterfactuals a person, of which the cheapest counts. `python ask_dice.py PROBLEM METHOD`."""

from __future__ import annotations

import sys
import warnings

import dice_ml
import numpy as np
import pandas as pd
from shared import Problem, answer

warnings.simplefilter("ignore")


def setup(problem: Problem) -> tuple:
    """An explainer over the training data."""
    table = problem.train.assign(decision=problem.y)
    data = dice_ml.Data(dataframe=table, continuous_features=problem.features, outcome_name="decision",
                        continuous_features_precision=dict.fromkeys(problem.features, 4))  # fmt: skip
    model = dice_ml.Model(model=problem.model, backend="sklearn")
    return problem, dice_ml.Dice(data, model, method=sys.argv[2])


def ask(made: tuple, person: pd.DataFrame) -> np.ndarray | None:
    """The cheapest by range-normalised change."""
    problem, explainer = made
    limits = {name: [problem.lower[name], problem.upper[name]] for name in problem.actionable}
    drawn = {"random_seed": 0} if sys.argv[2] == "random" else {}
    found = explainer.generate_counterfactuals(
        person, total_CFs=4, desired_class=1, features_to_vary=problem.actionable, permitted_range=limits,
        verbose=False, **drawn,
    )  # fmt: skip
    points = found.cf_examples_list[0].final_cfs_df
    if points is None or not len(points):
        return None
    values = points[problem.features].to_numpy(dtype=float)
    apart = np.abs(values - person.to_numpy(dtype=float)) / problem.scale
    return values[apart.sum(axis=1).argmin()]


answer(ask, setup)
