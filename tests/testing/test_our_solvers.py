"""Our own solvers through the suite that any solver can be run through."""

import pytest

import equieffort as ee
from equieffort.testing import check_solver

RUNS = {
    "trees": (ee.BranchAndBound(time_limit=None), ["tree", "forest", "boosted"], 2, 100),
    "networks": (ee.BranchAndBound(time_limit=None), ["network"], 3, 100),
    "linear search": (ee.LinearSearch(time_limit=None), ["linear"], 5, 100),
    "programs": (ee.Milp(), ["linear", "tree"], 2, 100),
    "bent, linear": (ee.SpatialBranchAndBound(), ["linear"], 2, 0),
    "bent, forest": (ee.SpatialBranchAndBound(), ["forest"], 2, 1010),
    "search": (ee.Search(budget=150), ["forest"], 3, 100),
}
"""A solver, families of problems, how many cases of each every day, and where their seeds begin."""
TIMES = 10
"""So many times the cases in `make verify`."""


@pytest.mark.parametrize("times", [1, pytest.param(TIMES, marks=pytest.mark.verify)])
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_keeps_its_promises(name, times):
    solver, families, cases, seed = RUNS[name]
    report = check_solver(solver, families=families, cases=times * cases, random_state=seed)
    assert report.passed, str(report)
    assert not (name.startswith("bent") and report.refused)
    wanted = {"feasible"} if name == "search" else {"optimal", "infeasible"}
    assert wanted <= set(report.statuses), str(report)


def test_what_rounding_may_carry_past_a_plausible_end_is_no_fault():
    """Two people of the second case end 1.0e-9 and 1.1e-9 past it, of sizes for which that is within the tolerance."""
    report = check_solver(ee.BranchAndBound(time_limit=None), families=["network"], cases=2, random_state=720)
    assert report.passed, str(report)
