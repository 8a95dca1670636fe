"""Solvers, what one of your own is made of, and what they answer; see `docs/solvers.md` and `docs/extending.md`.

>>> import equieffort as ee
>>> ee.solvers.Milp(time_limit=10) == ee.Milp(time_limit=10)
True
"""

from equieffort.recourse.solvers import (
    FOUND,
    HOLDS,
    LABEL_STAYS,
    LIMIT,
    NONE,
    WRONG,
    Auto,
    Batch,
    Blocking,
    BranchAndBound,
    Choice,
    Ending,
    Ground,
    Grounds,
    Infeasibility,
    LimitKind,
    LinearExact,
    LinearSearch,
    Milp,
    Obstacle,
    PreparedSolver,
    Proposal,
    Refusal,
    Search,
    Solver,
    SpatialBranchAndBound,
    Status,
    Takes,
    Termination,
    Unfit,
    Why,
    step_over,
)
from equieffort.recourse.table import RecourseTable

__all__ = [
    "Auto", "Batch", "Blocking", "BranchAndBound", "Choice", "Ending", "FOUND", "Ground", "Grounds", "HOLDS",
    "Infeasibility", "LABEL_STAYS", "LIMIT", "LimitKind", "LinearExact", "LinearSearch", "Milp", "NONE", "Obstacle",
    "PreparedSolver", "Proposal", "RecourseTable", "Refusal", "Search", "Solver", "SpatialBranchAndBound", "Status",
    "Takes", "Termination", "Unfit", "WRONG", "Why", "step_over",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
