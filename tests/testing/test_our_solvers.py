"""Our own solvers through the suite that any solver can be run through."""

import pytest

import equieffort as ee
from equieffort.testing import check_solver

RUNS = {
    "trees": (ee.BranchAndBound(time_limit=None), ["tree", "forest", "boosted"], 5, 100),
    "networks": (ee.BranchAndBound(time_limit=None), ["network"], 5, 100),
    "linear search": (ee.LinearSearch(time_limit=None), ["linear"], 12, 100),
    "programs": (ee.Milp(), ["linear", "tree"], 5, 100),
    "bent, linear": (ee.SpatialBranchAndBound(), ["linear"], 4, 0),
    "bent, forest": (ee.SpatialBranchAndBound(), ["forest"], 4, 1010),
    "search": (ee.Search(budget=150), ["forest"], 5, 100),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_keeps_its_promises(name):
    solver, families, cases, seed = RUNS[name]
    report = check_solver(solver, families=families, cases=cases, random_state=seed)
    assert report.passed, str(report)
    assert not (name.startswith("bent") and report.refused)
    wanted = {"feasible"} if name == "search" else {"optimal", "infeasible"}
    assert wanted <= set(report.statuses), str(report)


def test_what_rounding_may_carry_past_a_plausible_end_is_no_fault():
    """Two people of the second case end 1.0e-9 and 1.1e-9 past it, of sizes for which that is within the tolerance."""
    report = check_solver(ee.BranchAndBound(time_limit=None), families=["network"], cases=2, random_state=720)
    assert report.passed, str(report)
