"""One algorithm a package: what is proven of a person's recourse, and the facts in which a solver says it."""

from equieffort.recourse.solvers.auto import Auto, Choice
from equieffort.recourse.solvers.base import (
    FOUND,
    HOLDS,
    LABEL_STAYS,
    LIMIT,
    NONE,
    WRONG,
    Batch,
    PreparedSolver,
    Proposal,
    Solver,
)
from equieffort.recourse.solvers.branch_and_bound.solver import BranchAndBound
from equieffort.recourse.solvers.heuristic.solver import Search
from equieffort.recourse.solvers.linear.solver import LinearExact
from equieffort.recourse.solvers.linear_search.solver import LinearSearch
from equieffort.recourse.solvers.milp.solver import Milp
from equieffort.recourse.solvers.spatial.solver import SpatialBranchAndBound
from equieffort.recourse.solvers.stepping import step_over
from equieffort.recourse.status import (
    Blocking,
    Ending,
    Ground,
    Grounds,
    Infeasibility,
    LimitKind,
    Obstacle,
    Refusal,
    Status,
    Takes,
    Termination,
    Unfit,
    Why,
)

__all__ = [
    "FOUND",
    "HOLDS",
    "LABEL_STAYS",
    "LIMIT",
    "NONE",
    "WRONG",
    "Auto",
    "Batch",
    "Blocking",
    "BranchAndBound",
    "Choice",
    "Ending",
    "Ground",
    "Grounds",
    "Infeasibility",
    "LimitKind",
    "LinearExact",
    "LinearSearch",
    "Milp",
    "Obstacle",
    "PreparedSolver",
    "Proposal",
    "Refusal",
    "Search",
    "Solver",
    "SpatialBranchAndBound",
    "Status",
    "Takes",
    "Termination",
    "Unfit",
    "Why",
    "step_over",
]
