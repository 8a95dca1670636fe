"""People solved again with effort as ranks within their own group."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools
from equieffort.errors import CostError, EquieffortWarning
from equieffort.foundations.progress import Progress
from equieffort.notions.base import Audited
from equieffort.notions.rewards.notions import ROUNDING
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve
from equieffort.recourse.table import RecourseTable
from equieffort.world.cost import Cost, Percentile
from equieffort.world.group_cost import GroupCost

Rows = npt.NDArray[np.intp]


def rank_problem(audited: Audited, problem: RecourseProblem, cost: Cost | None) -> RecourseProblem | str:
    """The audit's problem with effort as ranks within groups, or as another cost; or why that cannot be."""
    if cost is None and isinstance(problem.cost, GroupCost):
        return problem
    try:
        chosen = Percentile(within="group") if cost is None else cost
        return problem.with_cost(chosen, audited.table.data, audited.reference)
    except CostError as error:
        return error.what


def drawn(audited: Audited, most_people: int | None) -> tuple[Rows, str]:
    """Rows of the audit's table, and a note where they are not all."""
    n = len(audited.table)
    if most_people is None or n <= most_people:
        return np.arange(n), ""
    return np.sort(np.random.default_rng(audited.random_state).choice(n, most_people, replace=False)), "SAMPLED"


def ranked(audited: Audited, again: RecourseProblem, rows: Rows, progress: Progress | None = None) -> RecourseTable:
    """These people solved again; those of an audit that has the same problem are as they are."""
    table = audited.table
    if again is audited.problem and len(rows) == len(table):
        return table
    people = People(again, table.data.iloc[rows], replace(table.groups, codes=table.groups.codes[rows]))
    with warnings.catch_warnings():
        # The audit has said of these people what there is to say.
        warnings.simplefilter("ignore", EquieffortWarning)
        solver = None if audited.choice is None else audited.choice
        return solve(again, people, solver=solver, progress=progress or False)


def turned(table: RecourseTable, delta: float) -> tuple[Bools, Bools]:
    """Whom an effort of at most delta turns, and of whom that is not known."""
    most = delta * (1 + ROUNDING)
    yes = table.has_action & (table.effort <= most)
    return yes, table.is_unsettled & ~yes & (table.bound <= most)
