"""Other prices are refused, or recomputed with bounds that hold."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.results.comparison.worlds import made, people

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.results.comparison import compare_audits
from equieffort.results.comparison.comparable import at_prices_of

DEARER = pd.DataFrame({"income": [0.0, 5.0], "savings": [-4.0, 4.0]})


def test_efforts_at_other_prices_are_not_compared_and_ratios_are():
    one, two = made(), made(reference=DEARER)
    found = compare_audits(one, two)
    assert not found.same_units
    assert found.by_group["phi_change"].isna().all()
    assert not set(found.people["change"]) & {"more effort", "less effort"}
    assert found.noise.set_index("measure").loc["acr", "after"] == pytest.approx(
        two.measures.set_index("measure").loc["acr", "estimate"]
    )
    assert "income: effort a unit 0.1 before, 0.2 after" in str(found)
    assert "efforts themselves are not compared" in str(found)
    assert not [name for name in found.groups if name.startswith("phi")]
    assert "phi_before" not in found._repr_html_()
    rescaled = compare_audits(one, two, rescale=True)
    assert {"phi_before", "phi_after", "phi_change"} <= set(rescaled.groups)
    # The verdict is what the second audit says of itself, whatever its actions cost at other prices.
    assert rescaled.after == two.verdict


@pytest.mark.parametrize("scale", [ee.Std(), ee.Own()])
def test_rescaled_costs_are_the_actions_at_the_first_prices(scale):
    X = people().assign(savings=lambda frame: frame["savings"] + 10)
    two = made(X, threshold=16.5, cost=ee.WeightedL1(scale), reference=None, weight=(2.0, 1.0))
    one = made(X, threshold=16.5)
    found = compare_audits(one, two, rescale=True)
    assert found.rescaled
    frame = two.recourse.frame()
    cost = frame["delta_income"].fillna(0) / 10 + frame["delta_savings"].fillna(0) / 8 + 0.3 * frame["do_job"].notna()
    refused = frame["status"] == "optimal"
    for group in ("ash", "birch"):
        expected = cost[refused & (frame["group"] == group)].mean()
        assert found.by_group.set_index("group").loc[group, "phi_after"] == pytest.approx(expected)
    assert "cheaper ones may exist" in str(found)


def test_rescaled_bounds_hold_the_true_optimum():
    """The same world solved at the first prices lies inside the interval that rescaling certifies."""
    two = made(threshold=6.5, reference=DEARER)
    truth = made(threshold=6.5)
    moved = at_prices_of(made(), two).recourse
    best = truth.recourse.cost
    acting = moved.has_action
    assert (moved.bound[acting] <= best[acting] + 1e-9).all()
    assert (moved.cost[acting] >= best[acting] - 1e-9).all()


def test_one_factor_for_all_prices_keeps_the_proof():
    both = pd.DataFrame({"income": [0.0, 5.0], "savings": [-2.0, 2.0]})
    found = compare_audits(made(job=0.3), made(reference=both, job=0.6), rescale=True)
    assert found.people.empty
    assert found.rescaled


def test_changing_a_category_at_another_price_is_another_scale():
    found = compare_audits(made(), made(job=0.9))
    assert not found.same_units
    assert "job: effort a unit 0.3 before, 0.9 after" in str(found)


def test_only_weighted_l1_can_be_rescaled():
    with pytest.raises(ParameterError, match="Costs of kind Percentile cannot be recomputed") as caught:
        compare_audits(made(), made(cost=ee.Percentile(), reference=None), rescale=True)
    assert caught.value.code == "AUDIT_SCALES"
