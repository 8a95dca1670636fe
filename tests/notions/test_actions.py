"""Actions for many: what each turns and costs, person by person and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.notions.route_worlds import cost_by_hand, refused_rows, world

from equieffort.notions.actions import Action, Part, turned_costs, undominated

ACTIONS = [
    Action((Part("savings", "at_least", 5),)),
    Action((Part("savings", "at_least", 9),)),
    Action((Part("savings", "change", 2),)),
    Action((Part("savings", "change", 3),)),
    Action((Part("savings", "change", 4),)),
    Action((Part("savings", "change", 1.5),)),
    Action((Part("savings", "at_most", 1),)),
    Action((Part("housing", "set", "own"),)),
    Action((Part("savings", "at_least", 4), Part("housing", "set", "own"))),
    Action((Part("savings", "change", 3), Part("housing", "set", "free"))),
]


def test_costs_are_those_by_hand():
    audit, classifier = world()
    X = audit.recourse.data
    rows = refused_rows(classifier, X)
    assert rows == np.flatnonzero(audit.recourse.is_unfavourable).tolist()
    found = turned_costs(audit.inputs.problem, X.iloc[rows], ACTIONS)
    by_hand = np.array([[cost_by_hand(classifier, X, row, action) for action in ACTIONS] for row in rows])
    assert np.array_equal(np.isfinite(found), np.isfinite(by_hand))
    turned = np.isfinite(by_hand)
    assert found[turned] == pytest.approx(by_hand[turned])
    # Some turn many, and what no limit allows turns nobody.
    assert turned[:, 3].any()
    assert not turned[:, [4, 5, 6]].any()
    assert 0 < turned[:, 2].sum() < turned[:, 3].sum()


def test_no_action_is_cheaper_than_a_proven_optimum():
    audit, _ = world()
    rows = audit.recourse.is_unfavourable
    found = turned_costs(audit.inputs.problem, audit.recourse.data[rows], ACTIONS)
    bound = audit.recourse.bound[rows]
    assert (found >= bound[:, None] - 1e-9).all()


def test_held_features_do_not_follow():
    from tests.samples import two_group_audit

    audit = two_group_audit()
    rows = audit.recourse.is_unfavourable
    X, problem = audit.recourse.data[rows], audit.inputs.problem
    free = Action((Part("income", "change", 1.0),))
    held = Action((Part("income", "change", 1.0), Part("savings", "keep")))
    found = turned_costs(problem, X, [free, held])
    score = X["income"] + 0.5 * X["savings"] - 6
    allowed = (X["income"] + 1 <= 7).to_numpy()
    assert np.array_equal(np.isfinite(found[:, 1]), allowed & (score + 1 >= 0).to_numpy())
    # Savings grow with income, so leaving them turns more.
    assert np.isfinite(found[:, 0]).sum() > np.isfinite(found[:, 1]).sum()


def test_missing_values_are_unknown_not_refused():
    audit, _ = world()
    X = audit.recourse.data[audit.recourse.is_unfavourable].astype({"savings": float})
    X.iloc[3, X.columns.get_loc("savings")] = math.nan
    found = turned_costs(audit.inputs.problem, X, ACTIONS[:2])
    assert np.isnan(found[3]).all()
    assert not np.isnan(np.delete(found, 3, axis=0)).any()


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_does_as_well_for_everybody(seed):
    rng = np.random.default_rng(seed)
    costs = np.where(rng.random((9, 14)) < 0.5, rng.integers(1, 4, (9, 14)).astype(float), np.inf)
    kept = undominated(costs)
    assert np.array_equal(costs[:, kept].min(axis=1), costs.min(axis=1))
    for a in kept:
        assert not any((costs[:, b] <= costs[:, a]).all() for b in kept if b != a)
    for a in set(range(14)) - set(kept):
        replaced = any((costs[:, b] <= costs[:, a]).all() for b in kept)
        assert replaced or np.isinf(costs[:, a]).all()


def test_words():
    assert str(Part("amount", "change", -1500)) == "cut amount by 1,500"
    assert str(Action((Part("savings", "at_least", 500.0),))) == "Raise savings to at least 500"
    assert str(Action((Part("x", "keep"), Part("y", "at_most", 3)))) == "Keep x as it is and cut y to at most 3"
