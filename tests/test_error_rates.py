"""A small seeded version of `benchmarks/error_rates.py`: intervals hold, and verdicts are seldom wrong."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from equieffort.effort.criteria import Criteria

PATH = Path(__file__).parents[1] / "benchmarks" / "error_rates.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("error_rates", PATH)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["error_rates"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["error_rates"]


@pytest.mark.parametrize(("alpha", "limit", "n"), [(0, np.inf, 100), (2, 2.0, 200), (1, 2.0, 500)])
def test_intervals_hold(bench, alpha, limit, n):
    found = bench.simulate(bench.paper(alpha, limit), n, 400, 0, Criteria())
    for name in bench.COVERED:
        share = found.held[name] / found.asked[name]
        # One standard error is 1.1 points; five of them, and what small groups may lack.
        assert share > 0.89, name
        if name not in ("rd", "acr_always_min", "acr_always_max"):
            assert share < 0.995, name


@pytest.mark.parametrize("limit", [np.inf, 2.0])
@pytest.mark.parametrize("n", [60, 200])
def test_equal_effort_is_seldom_called_unequal(bench, n, limit):
    found = bench.simulate(bench.paper(0, limit), n, 400, 1, Criteria())
    assert found.outcomes["unequal"] <= 0.05 * 400
    # What a point estimate would have said of the same draws.
    naive = bench.simulate(bench.paper(0, limit), n, 100, 1, Criteria(level=None))
    assert naive.outcomes["unequal"] > 0.1 * 100


def test_large_audits_decide(bench):
    assert bench.simulate(bench.paper(0, np.inf), 2000, 30, 2, Criteria()).outcomes["equal"] == 30
    assert bench.simulate(bench.paper(2, np.inf), 2000, 30, 2, Criteria()).outcomes["unequal"] == 30
