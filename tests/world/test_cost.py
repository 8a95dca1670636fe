"""Costs against hand computation and brute-force counts."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from equieffort import MAD, Own, Percentile, Range, Separable, Std, WeightedL1
from equieffort.errors import CostError, ParameterError

REFERENCE = np.array([[20.0, 1.0], [30.0, 2.0], [40.0, 2.0], [70.0, 9.0]])
NAMES = ["age", "debt"]
ONES = np.ones((2, 2))


def cost_of(bound, fact, value):
    """The cost of one person's change of one feature, or of several."""
    fact, value = np.atleast_2d(np.asarray(fact, dtype=float)), np.atleast_2d(np.asarray(value, dtype=float))
    return float(bound.evaluate(fact, value)[0])


def test_weighted_l1_by_hand():
    weights = np.array([[1.0, 2.0], [3.0, 0.5]])  # (up, down) a feature
    bound = WeightedL1().bind(NAMES, REFERENCE, weights)
    # Ranges are 50 and 8.
    assert cost_of(bound, [30, 2], [35, 2]) == pytest.approx(5 / 50)
    assert cost_of(bound, [30, 2], [25, 2]) == pytest.approx(2 * 5 / 50)
    assert cost_of(bound, [30, 2], [30, 4]) == pytest.approx(3 * 2 / 8)
    assert cost_of(bound, [30, 2], [20, 1]) == pytest.approx(2 * 10 / 50 + 0.5 * 1 / 8)
    assert cost_of(bound, [30, 2], [30, 2]) == 0.0
    parts = bound.parts(np.array([[30.0, 2.0]] * 2), np.array([[40.0, 1.0], [30.0, 10.0]]))
    np.testing.assert_allclose(parts, [[10 / 50, 0.5 / 8], [0.0, 3.0]])


@pytest.mark.parametrize(
    ("scale", "sizes"),
    [
        (Range(), (50.0, 8.0)),
        (Range(quantiles=(0.0, 0.5)), (15.0, 1.0)),
        (
            Std(),
            (math.sqrt(350.0), math.sqrt(10.25)),
        ),  # squared deviations 400+100+0+900 and 6.25+2.25+2.25+30.25, over 4
        (MAD(), (10.0, 0.5)),
        ({"age": Std(), "debt": Range()}, (math.sqrt(350.0), 8.0)),
        ({"age": MAD(), "debt": Std()}, (10.0, math.sqrt(10.25))),
    ],
    ids=str,
)
def test_each_scale_divides(scale, sizes):
    bound = WeightedL1(scale=scale).bind(NAMES, REFERENCE, ONES)
    assert cost_of(bound, [30, 2], [37, 2]) == pytest.approx(7 / sizes[0])
    assert cost_of(bound, [30, 2], [30, 1.5]) == pytest.approx(0.5 / sizes[1])


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        (WeightedL1(scale={"age": Std()}), ["No scale is given for 'debt'"]),
        (WeightedL1(scale={"age": Std(), "debt": Std(), "job": Std()}), ["a scale for 'job'"]),
        (Separable({"age": abs}), ["No cost function is given for 'debt'"]),
        (Separable({"age": abs, "debt": abs, "dept": abs}), ["a function for 'dept'", "Did you mean 'debt'?"]),
        (Separable({"age": abs, "debt": abs, "job": abs}), ["a function for 'job'", "no numeric actionable feature"]),
    ],
    ids=str,
)
def test_every_name_counts_and_none_is_forgotten(cost, says):
    """What is given for no feature would be ignored, and what is left out would be at a scale that nobody chose."""
    with pytest.raises(CostError) as caught:
        cost.bind(NAMES, REFERENCE, ONES)
    assert caught.value.code == "COST_INVALID"
    assert [words for words in says if words not in caught.value.what] == []


def test_weights_of_cost_and_schema_multiply():
    bound = WeightedL1(weights={"debt": 4.0}).bind(NAMES, REFERENCE, np.array([[1.0, 1.0], [3.0, 0.5]]))
    assert cost_of(bound, [30, 2], [30, 3]) == pytest.approx(4 * 3 / 8)
    assert cost_of(bound, [30, 2], [30, 1]) == pytest.approx(4 * 0.5 / 8)
    assert cost_of(bound, [30, 2], [31, 2]) == pytest.approx(1 / 50)


def test_own_is_relative_to_the_person():
    bound = WeightedL1(scale=Own()).bind(NAMES, REFERENCE, np.array([[1.0, 2.0], [1.0, 1.0]]))
    facts = np.array([[20.0, 2.0], [40.0, -2.0], [-10.0, 8.0]])
    values = np.array([[22.0, 2.0], [38.0, -3.0], [-5.0, 8.0]])
    np.testing.assert_allclose(bound.evaluate(facts, values), [0.1, 2 * 0.05 + 0.5, 0.5])
    with pytest.raises(CostError, match="'debt'") as caught:
        bound.evaluate(np.array([[20.0, 0.0]]), np.array([[20.0, 1.0]]))
    assert caught.value.code == "COST_ZERO_SCALE"


@pytest.mark.parametrize(
    ("cost", "error"),
    [
        (WeightedL1(scale={"age": Own(), "debt": Std()}), ParameterError),
        (WeightedL1(scale={"age": Own(), "debt": Range()}), ParameterError),
        (WeightedL1(weights={"dept": 2.0}), CostError),
        (WeightedL1(scale={"dept": Std()}), CostError),
        (WeightedL1(weights={"debt": 0.0}), CostError),
        (WeightedL1(weights={"debt": -1.0}), CostError),
        (WeightedL1(weights={"debt": math.nan}), CostError),
        (WeightedL1(weights={"debt": math.inf}), CostError),
        (Separable({"age": abs}), CostError),
    ],
    ids=str,
)
def test_what_cannot_be_bound(cost, error):
    with pytest.raises(error):
        cost.bind(NAMES, REFERENCE, ONES)


def test_a_cost_that_pays_is_refused_before_anything_is_solved():
    """Seen from the lowest knot only the tail falls, which no knot shows."""
    with pytest.raises(CostError, match=r"'x' says -\d.* for a change from") as caught:
        separable(lambda fact, values: values - fact).bind(["x"], np.linspace(0, 9, 10)[:, None], np.ones((1, 2)))
    assert "at least 0 for every change" in str(caught.value)


@pytest.mark.parametrize(
    "cost",
    [
        WeightedL1(),
        Percentile(),
        Separable({}),
    ],
    ids=str,
)
def test_nothing_numeric_to_change(cost):
    """All that is actionable may be categories."""
    bound = cost.bind([], np.empty((4, 0)), np.empty((0, 2)))
    np.testing.assert_array_equal(bound.evaluate(np.empty((3, 0)), np.empty((3, 0))), np.zeros(3))


SAMPLES = hnp.arrays(float, st.integers(2, 25), elements=st.integers(-6, 6)).filter(lambda v: len(set(v)) > 1)
WEIGHTS = st.tuples(st.floats(0.1, 5), st.floats(0.1, 5))


def percentile(sample, weight=(1.0, 1.0), knots=None):
    return Percentile(knots=knots).bind(["x"], sample[:, None], np.array([weight]))


@given(SAMPLES, WEIGHTS, st.data())
def test_percentile_counts_the_people_overtaken(sample, weight, data):
    fact, value = (data.draw(st.sampled_from(sample.tolist())) for _ in range(2))
    low, high = min(fact, value), max(fact, value)
    overtaken = sum(low < other <= high for other in sample.tolist()) / len(sample)
    expected = overtaken * (weight[0] if value > fact else weight[1])
    assert cost_of(percentile(sample, weight), [fact], [value]) == pytest.approx(expected, abs=1e-12)


@given(SAMPLES, st.floats(-30, 30), st.floats(-30, 30))
def test_percentile_is_linear_between_reference_values(sample, fact, value):
    """Against the percentile written down directly: interpolated shares, and one over the range outside."""
    known = np.unique(sample)
    shares = [(sample <= one).mean() for one in known]

    def rank(x):
        beyond = min(x - known[0], 0) + max(x - known[-1], 0)
        return np.interp(x, known, shares) + beyond / np.ptp(known)

    assert cost_of(percentile(sample), [fact], [value]) == pytest.approx(abs(rank(value) - rank(fact)), abs=1e-9)


@given(
    SAMPLES, WEIGHTS, st.floats(-20, 20), st.lists(st.floats(0, 30), min_size=2, max_size=6), st.sampled_from([-1, 1])
)
def test_percentile_grows_with_the_change(sample, weight, fact, steps, side):
    bound = percentile(sample, weight)
    costs = [cost_of(bound, [fact], [fact + side * step]) for step in sorted(steps)]
    assert all(after >= before - 1e-12 for before, after in pairwise(costs))
    assert cost_of(bound, [fact], [fact]) == 0.0
    # No value is reached for nothing, inside the data or outside.
    for step, cost in zip(sorted(steps), costs, strict=True):
        if step > 1e-3:
            assert cost > 0


@given(SAMPLES, WEIGHTS, st.floats(0.1, 50), st.floats(0.1, 50))
def test_percentile_outside_the_data_costs_the_range_slope(sample, weight, first, second):
    bound, span = percentile(sample, weight), np.ptp(sample)
    top, bottom = sample.max(), sample.min()
    assert cost_of(bound, [top], [top + first]) == pytest.approx(weight[0] * first / span)
    assert cost_of(bound, [bottom], [bottom - first]) == pytest.approx(weight[1] * first / span)
    # Also for somebody who starts out there.
    assert cost_of(bound, [top + first], [top + first + second]) == pytest.approx(weight[0] * second / span)
    assert cost_of(bound, [top + first], [top]) == pytest.approx(weight[1] * first / span)
    assert cost_of(bound, [bottom - first], [bottom]) == pytest.approx(weight[0] * first / span)


def test_percentile_of_one_value_is_refused():
    with pytest.raises(CostError, match="'x'") as caught:
        percentile(np.full(5, 2.0))
    assert caught.value.code == "COST_ZERO_SCALE"


def test_percentile_with_fewer_knots():
    sample = np.random.default_rng(0).normal(size=500)
    full, few = percentile(sample), percentile(sample, knots=21)
    facts = np.random.default_rng(1).choice(sample, size=(40, 1))
    values = np.random.default_rng(2).choice(sample, size=(40, 1))
    # 21 knots among 500 distinct values: two ranks are each off by less than one gap, a twentieth.
    assert np.abs(full.evaluate(facts, values) - few.evaluate(facts, values)).max() < 2 / 20
    ends = cost_of(few, [sample.min()], [sample.max()])
    assert ends == pytest.approx(cost_of(full, [sample.min()], [sample.max()]))


@pytest.mark.parametrize("knots", [-1, 0, 1, True, 2.5, "3"])
@pytest.mark.parametrize("make", [lambda k: Percentile(knots=k), lambda k: Separable({"x": steps}, knots=k)], ids="PS")
def test_fewer_than_two_knots_are_refused(make, knots):
    with pytest.raises(ParameterError, match="knots") as caught:
        make(knots)
    assert caught.value.code == "PARAMETER"


def steps(fact, values):
    return np.abs(values - fact)


def squares(fact, values):
    return (values - fact) ** 2


def separable(f, sample=None, weight=(1.0, 1.0), knots=33):
    sample = np.linspace(0, 10, 50) if sample is None else sample
    return Separable({"x": f}, knots=knots).bind(["x"], sample[:, None], np.array([weight]))


@given(st.floats(0, 10), st.floats(0, 10), WEIGHTS)
def test_separable_is_your_function_where_it_is_linear(fact, value, weight):
    expected = abs(value - fact) * (weight[0] if value > fact else weight[1])
    assert cost_of(separable(steps, weight=weight), [fact], [value]) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0, 10), st.integers(0, 32))
@settings(max_examples=60)
def test_separable_is_your_function_at_the_knots(fact, knot):
    value = np.quantile(np.linspace(0, 10, 50), knot / 32)
    assert cost_of(separable(squares), [fact], [value]) == pytest.approx((value - fact) ** 2, abs=1e-9)


@given(st.floats(0, 10), st.floats(0, 10))
@settings(max_examples=60)
def test_separable_between_knots_is_linear(fact, value):
    grid = np.union1d(np.quantile(np.linspace(0, 10, 50), np.linspace(0, 1, 33)), [fact])
    expected = np.interp(value, grid, (grid - fact) ** 2)
    assert cost_of(separable(squares), [fact], [value]) == pytest.approx(expected, abs=1e-9)


@given(st.floats(-20, 30), st.floats(0.01, 50), st.sampled_from([-1, 1]))
def test_separable_is_never_free_outside_the_knots(fact, step, side):
    bound = separable(steps)
    assert cost_of(bound, [fact], [fact + side * step]) > 0


def test_separable_over_one_reference_value_is_not_free():
    with pytest.raises(CostError, match="'x' has a single reference value, 3") as caught:
        separable(steps, np.full(5, 3.0))
    assert caught.value.code == "COST_ZERO_SCALE"


@pytest.mark.parametrize(
    "f",
    [
        lambda fact, values: np.ones_like(values),  # not zero at the fact
        lambda fact, values: values - fact,  # negative downwards
        lambda fact, values: np.abs(np.sin(values - fact)),  # falls again
        lambda fact, values: np.abs(values - fact)[:-1],  # one value short
        lambda fact, values: 0.0,  # no value a person
        lambda fact, values: np.full_like(values, np.nan),
        lambda fact, values: np.where(values == fact, 0.0, np.inf),
    ],
    ids=["not zero", "negative", "falls", "short", "scalar", "nan", "infinite"],
)
def test_separable_checks_your_function(f):
    with pytest.raises(CostError, match="'x'") as caught:
        cost_of(separable(f), [4.0], [7.0])
    assert caught.value.code == "COST_INVALID"


@pytest.mark.parametrize(
    "cost",
    [
        WeightedL1(),
        WeightedL1(scale=Own()),
        Percentile(),
        Percentile(knots=2),
        Separable({"age": steps, "debt": squares}),
    ],
    ids=["range", "own", "percentile", "two knots", "separable"],
)
def test_bound_costs_say_their_numbers_in_json(cost):
    held = json.loads(json.dumps(cost.bind(NAMES, REFERENCE, ONES).to_dict()))
    assert all(name in json.dumps(held) for name in NAMES)


def test_the_numbers_are_fixed_when_bound():
    reference = REFERENCE.copy()
    bounds = [cost.bind(NAMES, reference, ONES) for cost in (WeightedL1(), Percentile())]
    before = [cost_of(bound, [30, 2], [45, 5]) for bound in bounds]
    reference *= 100
    assert [cost_of(bound, [30, 2], [45, 5]) for bound in bounds] == before


@given(
    hnp.arrays(float, (6, 2), elements=st.floats(-100, 100)),
    hnp.arrays(float, (6, 2), elements=st.floats(-100, 100)),
    st.sampled_from([WeightedL1(), WeightedL1(scale=Std()), Percentile(), Separable({"age": steps, "debt": squares})]),
)
@settings(max_examples=40)
def test_costs_are_sums_over_features_and_ignore_the_batch(facts, values, cost):
    assume(np.isfinite(facts).all())
    bound = cost.bind(NAMES, REFERENCE, np.array([[1.0, 2.0], [3.0, 0.5]]))
    together = bound.evaluate(facts, values)
    assert (together >= 0).all()
    for row in range(len(facts)):
        alone = bound.evaluate(facts[row : row + 1], values[row : row + 1])
        assert alone[0] == together[row]
        first = cost_of(bound, facts[row], [values[row, 0], facts[row, 1]])
        second = cost_of(bound, facts[row], [facts[row, 0], values[row, 1]])
        assert together[row] == pytest.approx(first + second)
