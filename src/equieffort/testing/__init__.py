"""Conformance suites: whatever takes the place of a solver or a mechanism can be run through them.

>>> from equieffort.recourse.solvers import LinearExact
>>> report = check_solver(LinearExact(), families=["linear"], cases=2)
>>> report.faults
()
"""

from equieffort.testing.cases import FAMILIES, Case, make_case
from equieffort.testing.exhaustive import Best, cheapest
from equieffort.testing.mechanisms import check_mechanism
from equieffort.testing.solvers import Fault, SolverReport, check_solver

__all__ = [
    "FAMILIES",
    "Best",
    "Case",
    "Fault",
    "SolverReport",
    "cheapest",
    "check_mechanism",
    "check_solver",
    "make_case",
]
