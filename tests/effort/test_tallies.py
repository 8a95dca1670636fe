"""Tallies of any split of the people, in any order, are the tally of all of them: through to every measure."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equieffort.effort.budget import default_budget
from equieffort.effort.measures import MEASURES, Pair, Sample, read
from equieffort.effort.tallies import TOGETHER, GroupTally, Merging, Tally, Tallying
from equieffort.recourse.part_source import Outcomes
from equieffort.recourse.status import ACTING, Status

GROUPS = 3
COSTS = st.floats(1e-60, 1e60) | st.sampled_from([0.0, 0.1, 3.0])
PERSON = st.tuples(
    st.sampled_from(list(Status)), COSTS, st.floats(0, 1), st.integers(0, GROUPS - 1), st.none() | COSTS, st.booleans()
)
"""Status, cost, share of it that is proven, group, the most that an unknown one can cost, whether effort vanishes."""
PEOPLE = st.lists(PERSON, max_size=16)
BUDGET = st.none() | st.sampled_from([0.1, 3.0, 1e6])


def outcomes(people) -> Outcomes:
    status = np.array([one[0] for one in people], dtype=np.int8)
    cost = np.array([one[1] for one in people], dtype=np.float64)
    bound = cost * np.array([one[2] for one in people], dtype=np.float64)
    bound[status == Status.OPTIMAL] = cost[status == Status.OPTIMAL]
    bound[status == Status.INFEASIBLE] = np.inf
    bound[status == Status.NOT_NEEDED] = np.nan
    vanishing = np.array([one[5] and one[0] == Status.OPTIMAL for one in people], dtype=bool)
    bound[vanishing] = 0.0
    ceilings = {k: one[4] for k, one in enumerate(people) if one[0] == Status.UNKNOWN and one[4] is not None}
    codes = np.array([one[3] for one in people], dtype=np.int16)
    return Outcomes(status, np.where(np.isin(status, ACTING), cost, np.nan), bound, vanishing, codes, ceilings)


def whole(people, budget: float | None) -> list[Sample]:
    """As of a table in memory, group by group."""
    found = []
    for code in range(GROUPS):
        mine = outcomes([one for one in people if one[3] == code])
        found.append(Sample.of(mine.status, mine.effort, mine.bound, mine.ceiling, budget))
    return found


def bits(samples: list[Sample]) -> list:
    return [
        (one.stats, one.stats.budget, np.asarray(one.efforts).tobytes(), np.asarray(one.bounds).tobytes())
        for one in samples
    ]


def readings(samples: list[Sample]) -> list[str]:
    """Every measure of every two groups, with intervals and tests, digit by digit."""
    pairs = [Pair(a, b) for a, b in itertools.combinations(samples, 2)]
    return [repr(read(measure, pair, 0.95)) for measure in MEASURES.values() for pair in pairs]


def tally_bits(tally: Tally) -> list:
    return [
        (one.stats, *([] if one.efforts is None else [one.known.tobytes(), one.least().tobytes()]))
        for one in tally.groups
    ]


def nobody_again() -> Tally:
    raise AssertionError("efforts were there")


@settings(deadline=None)
@given(PEOPLE, PEOPLE, PEOPLE, BUDGET, st.booleans())
def test_tallies_are_a_commutative_monoid(x, y, z, budget, keep):
    counting = Tallying(GROUPS, budget, keep)
    a, b, c = (counting.of(outcomes(people)) for people in (x, y, z))
    assert tally_bits(counting.merged([a])) == tally_bits(a + counting.nobody) == tally_bits(counting.nobody + a)
    assert tally_bits(a + b) == tally_bits(b + a)
    assert tally_bits((a + b) + c) == tally_bits(a + (b + c)) == tally_bits(counting.merged([c, a, b]))


@settings(deadline=None, max_examples=30)
@given(PEOPLE, BUDGET, BUDGET, st.booleans(), st.data())
def test_measures_of_any_split_in_any_order_are_those_of_the_whole(people, declared, asked, keep, data):
    """Also at another budget than people were counted at, and where efforts are only counted when a measure asks."""
    order = data.draw(st.permutations(range(len(people))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(people)), max_size=4)))
    shuffled = [people[k] for k in order]
    parts = [outcomes(shuffled[a:b]) for a, b in itertools.pairwise([0, *cuts, len(people)])]
    # Workers send them.
    sent = [pickle.loads(pickle.dumps(Tallying(GROUPS, declared, keep).of(part))) for part in parts]
    merged = Tallying(GROUPS, declared, keep).merged(sent)
    counted = []

    def again() -> Tally:
        counted.append(1)
        return Tallying(GROUPS).merged([Tallying(GROUPS).of(part) for part in parts])

    found, expected = merged.samples(asked, again), whole(people, asked)
    assert readings(found) == readings(expected)
    assert bits(found) == bits(expected)
    assert len(counted) <= (not keep)
    costs = [0.0 if one[5] and one[0] == Status.OPTIMAL else one[1] for one in people if one[0] in ACTING]
    pooled = merged if merged.is_sorted else again()
    assert pooled.default_budget() == default_budget(np.array(costs))
    assert merged.counts == tuple(sum(one[0] == status for one in people) for status in Status)


def test_sums_and_restricted_effort_are_those_of_fractions():
    """By hand: two groups in four parts, a budget of 2."""
    group, other = [1.5, 4.0, 0.25, math.inf], [1.0, 0.5, math.inf, math.inf, 2.5]

    def part(efforts: list[float], code: int) -> Outcomes:
        stuck = np.isinf(efforts)
        status = np.where(stuck, Status.INFEASIBLE, Status.OPTIMAL).astype(np.int8)
        cost = np.where(stuck, np.nan, efforts)
        return Outcomes(
            status, cost, np.array(efforts), np.zeros(len(efforts), dtype=bool), np.full(len(efforts), code, dtype="i2")
        )

    parts = [part(*one) for one in [(group[:1], 0), (other[:2], 1), (group[1:], 0), (other[2:], 1)]]
    for keep in (True, False):
        counting = Tallying(2, 2.0, keep)
        tally = counting.merged(list(map(counting.of, parts)))
        pair = Pair(*tally.samples(2.0, lambda: Tallying(2).merged(list(map(Tallying(2).of, parts)))))
        mine, theirs = Fraction(3, 2) + 2 + Fraction(1, 4) + 2, 1 + Fraction(1, 2) + 2 + 2 + 2
        assert MEASURES["restricted_effort"].estimate(pair) == float(mine / 4) / float(theirs / 5)
        assert MEASURES["acr"].estimate(pair) == (5.75 / 3) / (4 / 3)
        assert MEASURES["rd"].estimate(pair) == float(Fraction(3, 5) - Fraction(3, 4))
        # The third of four sorted efforts lies between 1.5 and 4, the third of five is 2.5.
        assert MEASURES["median_effort"].estimate(pair) == pytest.approx(((1.5 + 4.0) / 2) / 2.5)


@pytest.mark.parametrize("keep", [False, True])
def test_only_efforts_that_are_asked_for_grow_with_people(keep):
    """A number for each refused person with a way where efforts are kept, and else nothing."""
    rng = np.random.default_rng(0)

    def size(n: int) -> int:
        status = rng.choice([Status.NOT_NEEDED, Status.OPTIMAL, Status.INFEASIBLE], n).astype(np.int8)
        cost = np.where(status == Status.OPTIMAL, rng.random(n), np.nan)
        bound = np.where(status == Status.INFEASIBLE, np.inf, cost)
        people = Outcomes(status, cost, bound, np.zeros(n, dtype=bool), rng.integers(0, 2, n).astype(np.int16))
        kept = 8 * int((status == Status.OPTIMAL).sum()) if keep else 0
        return len(pickle.dumps(Tallying(2, 1.0, keep).of(people))) - kept

    # Counts and exact sums of more people have some more digits.
    assert abs(size(200_000) - size(200)) < 200


def test_the_efforts_of_parts_are_counted_once_for_all_measures():
    people = outcomes([(Status.OPTIMAL, 1.0 + k, 1.0, k % 2, None, False) for k in range(9)])
    tally, asked = Tallying(2, 5.0, False).of(people), []
    samples = tally.samples(5.0, lambda: (asked.append(1), Tallying(2).of(people))[1])
    assert [one.stats.phi for one in samples] == [5.0, 5.0]
    assert MEASURES["restricted_effort"].estimate(Pair(*samples)) > 0
    assert not asked
    assert readings(samples) == readings(Tallying(2).of(people).samples(5.0, nobody_again))
    assert asked == [1]


def test_nobody_of_a_group_takes_no_efforts_away():
    """A part in which a group has nobody says nothing about whether efforts are kept."""
    kept = Tallying(1).of(outcomes([(Status.OPTIMAL, 2.0, 1.0, 0, None, False)]))
    assert GroupTally.merged([kept.groups[0], GroupTally(efforts=None)]).known.tolist() == [2.0]


@pytest.mark.parametrize("n", [1, TOGETHER - 1, TOGETHER, 5 * TOGETHER + 3, TOGETHER**2 + 1])
def test_however_many_come_in_few_stay_and_nobody_is_lost(n):
    rng, counting = np.random.default_rng(n), Tallying(2)
    merging, efforts = Merging(counting), rng.random(n).tolist()
    for effort in efforts:
        merging.take(counting.of(outcomes([(Status.OPTIMAL, effort, 1.0, 1, None, False)])))
        assert sum(map(len, merging.levels)) <= TOGETHER * len(merging.levels) <= TOGETHER * 3
    assert merging.whole().groups[1].known.tolist() == sorted(efforts)
    assert merging.whole().counts == (0, n, 0, 0, 0)
