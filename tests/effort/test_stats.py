"""Exact sums against fractions, merging against the whole, and certified intervals against every completion."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equieffort.effort.budget import default_budget
from equieffort.effort.measures import Sample
from equieffort.effort.stats import EffortStats, ExactSum, exact_sum, limbs
from equieffort.recourse.solvers import Status

LARGEST = Fraction(np.finfo(np.float64).max)
SMALLEST = 5e-324
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SPREAD = st.builds(math.ldexp, st.floats(-1, 1), st.integers(-1074, 1000))
"""Every exponent is as likely as any other, subnormal ones included."""


def exactly(total: ExactSum) -> Fraction:
    return Fraction(total.units) * Fraction(2) ** total.exponent


# -- exact sums --------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(FINITE | SPREAD, max_size=12))
def test_exact_sum_is_the_sum_of_fractions(values):
    truth = sum(map(Fraction, values), Fraction(0))
    total = exact_sum(np.array(values, dtype=np.float64))
    assert exactly(total) == truth
    if abs(truth) <= LARGEST:
        assert total.value == float(truth)
        assert total.over(7) == float(truth / 7)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.0, -0.0],
        [SMALLEST],
        [SMALLEST, SMALLEST, -SMALLEST],
        [2.2250738585072014e-308, SMALLEST],
        [1.7976931348623157e308, SMALLEST, -1.7976931348623157e308],
        [1e16, 1.0, -1e16],
        [-1.5, -2.25],
        [2.0**31, 2.0**32, 2.0**63, 2.0**64, 2.0**-32],
        # Every bit set, at every place within a digit: carries cross two digit borders.
        *([math.ldexp(2**53 - 1, k), -1.0, math.ldexp(1, -100)] for k in range(33)),
    ],
)
def test_exact_sum_at_the_edges(values):
    assert exactly(exact_sum(np.array(values, dtype=np.float64))) == sum(map(Fraction, values), Fraction(0))


@settings(deadline=None)
@given(st.lists(SPREAD, min_size=1, max_size=10))
def test_limbs_stand_for_their_values(values):
    digits, lowest = limbs(np.array(values))
    for value, row in zip(values, digits.tolist(), strict=True):
        assert sum(Fraction(d) * Fraction(2) ** (32 * k + lowest) for k, d in enumerate(row)) == Fraction(value)


@settings(deadline=None)
@given(st.lists(SPREAD, max_size=6), st.lists(SPREAD, max_size=6))
def test_sums_add_compare_and_hash_by_value(left, right):
    a, b = exact_sum(np.array(left, dtype=np.float64)), exact_sum(np.array(right, dtype=np.float64))
    assert exactly(a + b) == exactly(a) + exactly(b)
    assert (a == b) == (exactly(a) == exactly(b))
    # The same number written with another exponent is still the same number.
    other = ExactSum(a.units * 8, a.exponent - 3)
    assert other == a
    assert hash(other) == hash(a)
    assert a != float(a.value)


def test_many_small_terms_do_not_drown():
    values = np.full(100_000, 0.1)
    assert exact_sum(values).value == float(100_000 * Fraction(0.1))
    assert exact_sum(values).value != float(np.cumsum(values)[-1])


# -- merging -----------------------------------------------------------------------------------------------------------

COSTS = st.floats(0, 1e100) | st.sampled_from([0.0, 0.1, SMALLEST, 3.0])
PERSON = st.tuples(st.sampled_from(list(Status)), COSTS, st.floats(0, 1))
PEOPLE = st.lists(PERSON, max_size=14)


def stats(people) -> EffortStats:
    """Statistics of (status, cost, share of the cost that is proven) triples."""
    status = np.array([int(s) for s, _, _ in people], dtype=np.int8)
    acting = np.isin(status, [Status.OPTIMAL, Status.FEASIBLE])
    cost = np.array([c for _, c, _ in people], dtype=np.float64)
    bound = cost * np.array([share for _, _, share in people], dtype=np.float64)
    return EffortStats.of(status, np.where(acting, cost, np.nan), bound)


@settings(deadline=None)
@given(PEOPLE, PEOPLE, PEOPLE)
def test_merging_is_a_commutative_monoid(x, y, z):
    a, b, c = stats(x), stats(y), stats(z)
    assert a + EffortStats() == a == EffortStats() + a
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + b == stats(x + y)


@settings(deadline=None)
@given(PEOPLE, st.data())
def test_any_split_in_any_order_gives_the_whole(people, data):
    order = data.draw(st.permutations(range(len(people))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(people)), max_size=4)))
    shuffled = [people[k] for k in order]
    parts = [shuffled[a:b] for a, b in itertools.pairwise([0, *cuts, len(people)])]
    merged = sum(map(stats, parts), EffortStats())
    whole = stats(people)
    assert merged == whole
    assert repr((merged.phi, merged.rho)) == repr((whole.phi, whole.rho))
    assert repr((merged.phi_certified, merged.rho_certified)) == repr((whole.phi_certified, whole.rho_certified))


CAPPED = st.none() | st.sampled_from([0.1, 3.0, 1e6])
RECORDED = st.lists(st.tuples(PERSON, st.booleans()), max_size=14)
"""People, each with whether the recorded decision approves."""


def people_of(people, budget, recorded: bool = True) -> Sample:
    """The sample of (status, cost, share proven), and the record of each."""
    rows = [row for row, _ in people]
    status = np.array([int(s) for s, _, _ in rows], dtype=np.int8)
    acting = np.isin(status, [Status.OPTIMAL, Status.FEASIBLE])
    cost = np.array([c for _, c, _ in rows], dtype=np.float64)
    bound = cost * np.array([share for _, _, share in rows], dtype=np.float64)
    bound[status == Status.INFEASIBLE] = np.inf
    counts = (len(people), sum(approves for _, approves in people)) if recorded else None
    return Sample.of(status, np.where(acting, cost, np.nan), bound, budget=budget, recorded=counts)


def bits(sample: Sample) -> tuple:
    """All of it, arrays to the bit."""
    return sample.stats, sample.stats.budget, sample.efforts.tobytes(), sample.bounds.tobytes(), sample.recorded


@settings(deadline=None)
@given(*[st.tuples(RECORDED, st.booleans())] * 3, CAPPED)
def test_merging_samples_is_a_commutative_monoid(x, y, z, budget):
    """Also where of some people no decision was recorded."""
    a, b, c = (people_of(people, budget, recorded) for people, recorded in (x, y, z))
    assert bits(a + Sample()) == bits(Sample() + a) == bits(a)
    assert bits(a + b) == bits(b + a)
    assert bits((a + b) + c) == bits(a + (b + c))


def test_nobody_takes_no_record_away_and_somebody_without_one_does():
    known, unknown = people_of([((Status.OPTIMAL, 2.0, 1.0), True)], None), people_of([], None, recorded=False)
    assert (known + unknown).recorded == (Sample() + known).recorded == (1, 1)
    unknown = people_of([((Status.OPTIMAL, 2.0, 1.0), True)], None, recorded=False)
    assert (known + unknown).recorded is None
    assert (known + Sample() + unknown).recorded is (unknown + known).recorded is None


@settings(deadline=None)
@given(RECORDED, st.data())
def test_samples_of_any_split_in_any_order_are_the_whole_its_budget_included(people, data):
    """The budget is that of all finite costs together, from the sorted costs of the parts as of the whole."""
    order = data.draw(st.permutations(range(len(people))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(people)), max_size=4)))
    shuffled = [people[k] for k in order]
    parts = [shuffled[a:b] for a, b in itertools.pairwise([0, *cuts, len(people)])]
    uncapped = sum((people_of(part, None) for part in parts), Sample())
    budget = default_budget(uncapped.efforts)
    acting = sorted(c for (s, c, _), _ in people if s in (Status.OPTIMAL, Status.FEASIBLE))
    assert budget == default_budget(np.array(acting, dtype=float))
    merged = sum((people_of(part, budget) for part in parts), Sample())
    assert bits(merged) == bits(people_of(people, budget))
    # By hand: every refused person's cost, sorted, endless without an action.
    costs = [math.inf] * sum(s in (Status.INFEASIBLE, Status.UNKNOWN) for (s, _, _), _ in people)
    assert merged.efforts.tolist() == acting + costs
    assert merged.recorded == (len(people), sum(approves for _, approves in people))


@settings(deadline=None)
@given(PEOPLE)
def test_counts_phi_and_rho_are_those_of_plain_fractions(people):
    found = stats(people)
    acting = [Fraction(c) for s, c, _ in people if s in (Status.OPTIMAL, Status.FEASIBLE)]
    refused = [s for s, _, _ in people if s != Status.NOT_NEEDED]
    assert found.n == len(people)
    assert found.n_unfavourable == len(refused)
    assert found.n_acting == len(acting)
    assert found.n_unknown == refused.count(Status.UNKNOWN)
    assert {s: found.count(s) for s in Status} == {s: [p[0] for p in people].count(s) for s in Status}
    assert repr(found.phi) == repr(float(sum(acting) / len(acting)) if acting else math.nan)
    assert repr(found.rho) == repr(float(Fraction(len(acting), len(refused))) if refused else math.nan)
    assert exactly(found.costs.total) == sum(acting)
    assert exactly(found.costs.square) == sum(Fraction(float(c) * float(c)) for c in acting)


# -- certified intervals -----------------------------------------------------------------------------------------------

GRID = st.integers(0, 12)
"""Whole numbers, so that every sum here is exact and rounding cannot hide a wrong end."""
KNOWN = st.lists(GRID, max_size=3)
GAPPED = st.lists(st.tuples(GRID, GRID).map(sorted), max_size=2)
"""(bound, cost) of people with an action that is not proven best."""
OPEN = st.lists(GRID, max_size=3)
"""Bounds of people of whom nothing more is known."""


def incomplete(optimal, gapped, infeasible, unknown) -> EffortStats:
    status = [Status.OPTIMAL] * len(optimal) + [Status.FEASIBLE] * len(gapped)
    status += [Status.INFEASIBLE] * infeasible + [Status.UNKNOWN] * len(unknown)
    cost = [*optimal, *(c for _, c in gapped), *[math.nan] * (infeasible + len(unknown))]
    bound = [*optimal, *(b for b, _ in gapped), *[math.inf] * infeasible, *unknown]
    return EffortStats.of(np.array(status, dtype=np.int8), np.array(cost, dtype=float), np.array(bound, dtype=float))


def completions(optimal, gapped, infeasible, unknown):
    """Every way it can turn out, on a grid: (costs of those with an action, number of unfavourable people)."""
    n = len(optimal) + len(gapped) + infeasible + len(unknown)
    choices = [[Fraction(b), Fraction(b + c, 2), Fraction(c)] for b, c in gapped]
    choices += [[None, Fraction(b), Fraction(b + 1), Fraction(b + 1000)] for b in unknown]
    for picked in itertools.product(*choices):
        yield [*map(Fraction, optimal), *(c for c in picked if c is not None)], n


@settings(deadline=None)
@given(KNOWN, GAPPED, st.integers(0, 2), OPEN)
def test_certified_intervals_hold_in_every_completion(optimal, gapped, infeasible, unknown):
    found = incomplete(optimal, gapped, infeasible, unknown)
    (low, high), (least, most) = found.phi_certified, found.rho_certified
    shares = set()
    for costs, n in completions(optimal, gapped, infeasible, unknown):
        if costs:
            phi = float(sum(costs) / len(costs))
            assert low <= phi <= high
        if n:
            assert least <= float(Fraction(len(costs), n)) <= most
            shares.add(float(Fraction(len(costs), n)))
    if shares:
        # These ends are reached, so the interval of rho is as narrow as it can be.
        assert (least, most) == (min(shares), max(shares))
    else:
        assert math.isnan(least)
        assert math.isnan(most)


@settings(deadline=None)
@given(KNOWN, GAPPED, st.integers(0, 2), OPEN)
def test_phi_certified_follows_the_formula(optimal, gapped, infeasible, unknown):
    found = incomplete(optimal, gapped, infeasible, unknown)
    proven = [Fraction(b) for b in (*optimal, *(b for b, _ in gapped))]
    f, u = len(proven), len(unknown)
    if f + u == 0:
        assert all(map(math.isnan, found.phi_certified))
        return
    means = [(sum(proven) + m * min(unknown, default=0)) / Fraction(f + m) for m in {0, u} if f + m]
    costs = [Fraction(c) for c in (*optimal, *(c for _, c in gapped))]
    assert found.phi_certified == (float(min(means)), math.inf if u else float(sum(costs) / Fraction(f)))


def test_an_optimal_row_counts_with_its_cost_and_a_feasible_one_with_its_bound():
    status = np.array([Status.OPTIMAL, Status.FEASIBLE], dtype=np.int8)
    found = EffortStats.of(status, np.array([2.0, 6.0]), np.array([1.999999999, 4.0]))
    assert found.phi_certified == (3.0, 4.0)
    assert found.phi == 4.0
