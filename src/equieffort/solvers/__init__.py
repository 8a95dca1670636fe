"""One algorithm a file: what is proven of a person's recourse."""

from equieffort.solvers.auto import Auto, Choice
from equieffort.solvers.base import Proposal, Solver
from equieffort.solvers.branch_and_bound import BranchAndBound
from equieffort.solvers.curved import Curved
from equieffort.solvers.linear import LinearExact
from equieffort.solvers.milp import Milp
from equieffort.solvers.search import Search
from equieffort.status import Status

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
