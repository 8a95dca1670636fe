"""actionable-recourse: an integer program on a grid.

Its cost is a change of percentiles; on evenly spread values that is a change over the range, which all are asked to
keep small.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from shared import Problem, answer

from recourse import ActionSet, RecourseBuilder

POINTS = 101


def setup(problem: Problem) -> tuple:
    """Actions on a grid of each actionable feature."""
    even = pd.DataFrame({n: np.linspace(problem.lower[n], problem.upper[n], POINTS) for n in problem.features})
    limits = {n: (problem.lower[n], problem.upper[n], "absolute") for n in problem.features}
    actions = ActionSet(X=even, custom_bounds=limits)
    for name in problem.features:
        actions[name].actionable = name in problem.actionable
    actions.set_alignment(coefficients=problem.model.coef_[0], intercept=float(problem.model.intercept_[0]))
    return problem, actions


def ask(made: tuple, person: pd.DataFrame) -> np.ndarray | None:
    """The person with the cheapest action."""
    problem, actions = made
    x = person.to_numpy(dtype=float)[0]
    builder = RecourseBuilder(
        action_set=actions, x=x, coefficients=problem.model.coef_[0], intercept=float(problem.model.intercept_[0]),
        solver="python-mip", mip_cost_type="total", print_flag=False,
    )  # fmt: skip
    found = builder.fit()
    return x + found["actions"] if found["feasible"] else None


answer(ask, setup)
