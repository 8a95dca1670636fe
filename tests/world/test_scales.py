"""Scales against numpy's and scipy's own formulas."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from equieffort import MAD, Own, Range, Std, WeightedL1
from equieffort.errors import CostError, EquieffortWarning, ParameterError

VALUES = hnp.arrays(float, st.integers(2, 40), elements=st.floats(-1e6, 1e6))


@given(VALUES)
def test_against_the_formulas(values):
    assume(np.ptp(values) > 0)
    assert Range().of("x", values) == np.ptp(values)
    if np.std(values) > 0:
        assert Std().of("x", values) == pytest.approx(scipy.stats.tstd(values, ddof=0), rel=1e-12)
    mad = scipy.stats.median_abs_deviation(values)
    if mad > 0:
        assert MAD().of("x", values) == pytest.approx(mad, rel=1e-12)
    else:
        with pytest.raises(CostError):
            MAD().of("x", values)


@given(VALUES, st.floats(0, 0.45), st.floats(0.55, 1))
@settings(max_examples=60)
def test_range_between_quantiles(values, low, high):
    expected = np.quantile(values, high) - np.quantile(values, low)
    if expected > 0:
        assert Range(quantiles=(low, high)).of("x", values) == expected
    else:
        with pytest.raises(CostError):
            Range(quantiles=(low, high)).of("x", values)


def test_known_numbers():
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    assert Range().of("x", values) == 9.0
    assert Std().of("x", values) == pytest.approx(np.sqrt(10.0))  # squared deviations 9 + 4 + 1 + 0 + 36, over 5
    assert MAD().of("x", values) == 1.0
    assert Range(quantiles=(0.25, 0.75)).of("x", values) == 2.0
    assert Own().of("x", values) == 1.0


@pytest.mark.parametrize("scale", [Range(), Range(quantiles=(0.1, 0.9)), Std(), MAD()], ids=repr)
def test_zero_scale_names_feature_and_alternatives(scale):
    with pytest.raises(CostError, match="'income'") as caught:
        scale.of("income", np.full(20, 3.5))
    assert caught.value.code == "COST_ZERO_SCALE"
    for alternative in ("Range", "Std", "MAD", "Own"):
        assert alternative in caught.value.fix


def test_equal_values_have_no_spread_whatever_the_rounding():
    with pytest.raises(CostError) as caught:
        Std().of("income", np.full(20, 3.7))
    assert caught.value.code == "COST_ZERO_SCALE"


def test_mad_is_zero_when_half_the_values_are_equal():
    with pytest.raises(CostError) as caught:
        MAD().of("x", np.array([0.0, 0.0, 0.0, 5.0, 9.0]))
    assert caught.value.code == "COST_ZERO_SCALE"


@pytest.mark.parametrize("extreme", [1e4, -1e4])
def test_one_extreme_value_is_warned_about(extreme):
    values = np.append(np.linspace(0, 10, 99), extreme)
    with pytest.warns(EquieffortWarning, match="'income'") as caught:
        bound = WeightedL1().bind(["income"], values[:, None], np.ones((1, 2)))
    assert [entry.message.code for entry in caught] == ["COST_OUTLIER"]
    assert bound.up[0] == 1 / np.ptp(values)
    # The quantiles leave it out, and the others are not about the extremes.
    for scale in (Range(quantiles=(0.02, 0.98)), Std(), MAD(), Own()):
        WeightedL1(scale=scale).bind(["income"], values[:, None], np.ones((1, 2)))


@pytest.mark.parametrize(
    "values",
    [np.linspace(0, 10, 200), np.random.default_rng(0).normal(size=2000), np.repeat([0.0, 1.0], [900, 100])],
    ids=["even", "normal", "two values"],
)
def test_ordinary_values_are_not_warned_about(values):
    assert WeightedL1().bind(["x"], values[:, None], np.ones((1, 2))).up[0] == 1 / np.ptp(values)


@pytest.mark.parametrize("quantiles", [(0.5, 0.5), (0.9, 0.1), (-0.1, 1.0), (0.0, 1.1), (float("nan"), 1.0)], ids=str)
def test_quantiles_must_be_in_order(quantiles):
    with pytest.raises(ParameterError) as caught:
        Range(quantiles=quantiles)
    assert caught.value.code == "PARAMETER"


def test_scales_are_values():
    assert Range() == Range(quantiles=(0.0, 1.0))
    assert Range() != Range(quantiles=(0.1, 0.9))
    assert len({Std(), Std(), MAD(), Own()}) == 3
