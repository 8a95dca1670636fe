"""Counterfactual fairness of the decision itself: would it stay if the person belonged to the other group?

CFR is the share of a group's unfavourably decided people whose decision stays unfavourable when the sensitive attribute
is set to another value and the change is propagated through the structural equations (Kusner et al., 2017; Chockler and
Halpern, 2022). 1 means that the attribute alone turns nobody's decision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.data.frames import Bools
from equieffort.recourse.counterfactuals import propagate_as_stored, with_columns
from equieffort.recourse.problem import RecourseProblem


def decision_stays(problem: RecourseProblem, X: Any, to: Any) -> Bools:
    """For each person whether the decision is the same after do(sensitive = to), everything downstream following."""
    name = problem.schema.sensitive_columns[0]
    facts = problem.encoding.encode(X)
    k = problem.encoding.position(name)
    picked = np.zeros(facts.shape, dtype=bool)
    picked[:, k] = True
    values = facts.copy()
    values[:, k] = problem.encoding.columns[k].encode(X[name].where(X[name].isna(), to).astype(X[name].dtype))
    moved, _ = propagate_as_stored(problem, facts, picked, values)
    changed = {
        column.name: column.decode(moved[:, j])
        for j, column in enumerate(problem.encoding.columns)
        if not np.array_equal(moved[:, j], facts[:, j])
    }
    after = problem.decision.is_favourable(with_columns(X, changed))
    return after == problem.decision.is_favourable(X)
