"""One algorithm a file: what is proven of a person's recourse."""

from equieffort.solvers.auto import Auto, Choice
from equieffort.solvers.base import Proposal, Solver, Status
from equieffort.solvers.linear import LinearExact

__all__ = ["Auto", "Choice", "LinearExact", "Proposal", "Solver", "Status"]
