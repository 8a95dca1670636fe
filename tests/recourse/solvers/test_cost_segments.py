"""What a change costs part by part, by hand and beside the cost itself."""

from __future__ import annotations

import numpy as np
import pytest

import equieffort as ee
from equieffort.recourse.solvers.cost_segments import paid_by, segments

REFERENCE = np.array([[0.0, 0.0], [10.0, 1.0], [20.0, 4.0], [40.0, 8.0]])
WEIGHTS = np.array([[1.0, 2.0], [1.0, 1.0]])


def test_a_straight_cost_has_one_segment_each_way():
    cost = ee.WeightedL1().bind(["a", "b"], REFERENCE, WEIGHTS)
    facts = np.array([10.0, 1.0])
    assert segments(cost, 0, facts, 1.0, 8.0) == [(8.0, 1 / 40)]
    assert segments(cost, 0, facts, -1.0, np.inf) == [(np.inf, 2 / 40)]
    assert segments(cost, 0, facts, -1.0, 0.0) == []


def test_a_curve_has_one_segment_for_each_of_its_parts():
    """A quarter of the people are passed between two neighbours; beyond the data 1 over the range of 40 is paid."""
    cost = ee.Percentile().bind(["a", "b"], REFERENCE, WEIGHTS)
    facts = np.array([10.0, 1.0])
    assert segments(cost, 0, facts, 1.0, np.inf) == [(10.0, 0.025), (20.0, 0.0125), (np.inf, 0.025)]
    assert segments(cost, 0, facts, -1.0, 4.0) == [(4.0, 0.05)]


@pytest.mark.parametrize("cost", [ee.WeightedL1(), ee.Percentile()], ids=repr)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_budget_reaches_where_the_cost_says_it_is_spent(cost, sign):
    bound = cost.bind(["a", "b"], REFERENCE, WEIGHTS)
    facts = np.array([10.0, 1.0])
    for budget in (0.0, 0.1, 0.25, 0.4, 3.0):
        reach = paid_by(segments(bound, 0, facts, sign, np.inf), budget)
        value = facts + np.array([sign * reach, 0.0])
        assert bound.evaluate(facts[None], value[None])[0] == pytest.approx(budget, abs=1e-12)
