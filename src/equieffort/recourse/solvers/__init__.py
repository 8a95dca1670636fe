"""One algorithm a file: what is proven of a person's recourse."""

from equieffort.recourse.solvers.auto import Auto, Choice
from equieffort.recourse.solvers.base import Proposal, Solver
from equieffort.recourse.solvers.branch_and_bound.solver import BranchAndBound
from equieffort.recourse.solvers.heuristic.solver import Search
from equieffort.recourse.solvers.linear.solver import LinearExact
from equieffort.recourse.solvers.milp.solver import Milp
from equieffort.recourse.solvers.spatial.solver import Curved
from equieffort.recourse.status import Status

__all__ = [
    "Auto",
    "BranchAndBound",
    "Choice",
    "Curved",
    "LinearExact",
    "Milp",
    "Proposal",
    "Search",
    "Solver",
    "Status",
]
