"""Our own solvers through the suite that any solver can be run through."""

import pytest

import equieffort as ee
from equieffort.testing import check_solver

RUNS = {
    "trees": (ee.BranchAndBound(time_limit=None), ["tree", "forest", "boosted"], 4),
    "networks": (ee.BranchAndBound(time_limit=None), ["network"], 3),
    "programs": (ee.Milp(), ["linear", "tree"], 3),
    "bent": (ee.Curved(), ["linear", "forest"], 4),
    "search": (ee.Search(budget=300), ["black box", "forest"], 4),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_keeps_its_promises(name):
    solver, families, cases = RUNS[name]
    report = check_solver(solver, families=families, cases=cases, random_state=100)
    assert report.passed, str(report)
    wanted = {"feasible"} if name == "search" else {"optimal", "infeasible"}
    assert wanted <= set(report.statuses), str(report)
