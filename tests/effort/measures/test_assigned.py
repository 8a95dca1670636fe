"""The least and the most over all assignments of people whose group is not known, against trying every assignment."""

import itertools
import math
from functools import cache
from math import isnan

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equieffort.effort.measures import MEASURES, Measure, Pair, Sample, assigned
from equieffort.effort.measures.assigned import Unplaced
from equieffort.effort.measures.base import Reading

BUDGET = 4.0
EXACT = ["acr", "rd", "restricted_effort", "needs_more", "difference", "median_effort", "burden", "impact_ratio"]
EVERY = [*EXACT, "acr_always_min", "acr_always_max"]
CHOICES = [(True, True, False), (True, True, True), (True, False, True), (False, True, True), (True, False, False)]

# -1 was approved, infinite has no route.
person = st.sampled_from([-1.0, 0.5, 1.0, 1.0, 2.0, 3.5, 5.0, float("inf")])
with_zero = st.sampled_from([-1.0, 0.0, 0.0, 1.0, 2.0, float("inf")])


def sample(people):
    return sample_of(tuple(people))


@cache
def sample_of(people):
    """Made once: assignments have the same few people again and again."""
    people = np.asarray(people, dtype=float)
    return Sample.solved(people[people >= 0], int((people < 0).sum()), BUDGET)


def unplaced(people, choices):
    people = np.asarray(people, dtype=float)
    return Unplaced(*choices, people[people >= 0], int((people < 0).sum()))


def tried(measure, mine, theirs, parts):
    """All values over all assignments, NaN where undefined: brute force, with people of equal efforts tried once."""
    everybody = [(person, part) for people, part in parts for person in people]
    tried = set()
    for choice in itertools.product(*([k for k in range(3) if part[k]] for _, part in everybody)):
        sides = [
            [*known, *(one for (one, _), k in zip(everybody, choice, strict=True) if k == side)]
            for side, known in enumerate((mine, theirs))
        ]
        tried.add((tuple(sorted(sides[0])), tuple(sorted(sides[1]))))
    return np.array([measure.estimate(Pair(sample(own), sample(other))) for own, other in tried])


def check(name, mine, theirs, parts, *, exact=True):
    measure = MEASURES[name]
    values = tried(measure, mine, theirs, parts)
    found = measure.assigned(Pair(sample(mine), sample(theirs)), [unplaced(people, part) for people, part in parts])
    defined = values[~np.isnan(values)]
    if not len(defined):
        # Nothing to bound; an outer bound may not know that.
        assert isnan(found.least) or found.is_outer
        return found
    least, most = defined.min(), defined.max()
    if exact and not found.is_outer:
        assert found.least == pytest.approx(least, abs=1e-12)
        assert found.most == pytest.approx(most, abs=1e-12)
    assert found.least <= least + 1e-12
    assert found.most >= most - 1e-12
    return found


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("choices", CHOICES)
@settings(max_examples=40, deadline=None)
@given(
    mine=st.lists(person, max_size=4),
    theirs=st.lists(person, max_size=4),
    people=st.lists(person, min_size=1, max_size=5),
)
@example(mine=[], theirs=[], people=[1.0, 2.0, 3.5, 5.0])
@example(mine=[2.0], theirs=[2.0], people=[2.0, 2.0, 2.0])
@example(mine=[5.0, 5.0], theirs=[0.5], people=[1.0, 2.0, 3.5, float("inf"), -1.0])
@example(mine=[0.5], theirs=[5.0], people=[1.0, 2.0, 2.0, 3.5])
def test_exact_for_people_with_the_same_choices(name, choices, mine, theirs, people):
    found = check(name, mine, theirs, [(people, choices)])
    # A side whose known people need nothing may come to nothing: then a ratio of means has no end.
    assert not found.is_outer or (name == "burden" and not all(max(known, default=0) > 0 for known in (mine, theirs)))


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=40, deadline=None)
@given(
    mine=st.lists(person, max_size=3),
    theirs=st.lists(person, max_size=3),
    parts=st.lists(
        st.tuples(st.lists(person, min_size=1, max_size=2), st.sampled_from(CHOICES)), min_size=2, max_size=3
    ),
)
def test_several_choices_at_once(name, mine, theirs, parts):
    found = check(name, mine, theirs, parts)
    if name in ("acr", "rd", "difference", "restricted_effort", "impact_ratio"):
        assert not found.is_outer


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("choices", CHOICES[:2])
@settings(max_examples=40, deadline=None)
@given(
    mine=st.lists(with_zero, max_size=3), theirs=st.lists(with_zero, max_size=3),
    people=st.lists(with_zero, min_size=1, max_size=4),
)  # fmt: skip
def test_efforts_of_zero(name, choices, mine, theirs, people):
    """Where a side can come to nothing a ratio has an outer bound, never an inner one."""
    check(name, mine, theirs, [(people, choices)])


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=30, deadline=None)
@given(
    mine=st.lists(person, min_size=1, max_size=3),
    theirs=st.lists(person, min_size=1, max_size=3),
    parts=st.lists(
        st.tuples(st.lists(person, min_size=1, max_size=2), st.sampled_from(CHOICES)), min_size=1, max_size=3
    ),
)
def test_the_outer_bounds_of_many_people_hold(name, mine, theirs, parts):
    """The same small cases, as if there were too many to search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assigned, "MOST_COUNTS", 0)
        patch.setattr(assigned, "MOST_TRIED", 0)
        check(name, mine, theirs, parts)


def test_by_hand():
    """Group 2 and 4, other side 3; unknown 1 and 5, who must be one or the other.

    Means: (2, 4, 5) over (3, 1) = (11 / 3) / 2; (2, 4, 1) over (3, 5) = (7 / 3) / 4.
    """
    pair, people = Pair(sample([2.0, 4.0]), sample([3.0])), [unplaced([1.0, 5.0], (True, True, False))]
    found = MEASURES["acr"].assigned(pair, people)
    assert (found.least, found.most) == (pytest.approx(7 / 12), pytest.approx(11 / 6))
    # Where they may be of a third group, the other side alone can take the 1: 5 joins the group.
    free = MEASURES["acr"].assigned(pair, [unplaced([1.0, 5.0], (True, True, True))])
    assert (free.least, free.most) == (pytest.approx(7 / 12), pytest.approx(11 / 6))


def test_many_people_take_little_time():
    rng = np.random.default_rng(0)

    def some(n):
        """Two of ten approved, two without a route."""
        return rng.choice([-1.0, np.inf, *rng.gamma(2, 1, 6)], n)

    pair = Pair(sample(some(3000)), sample(some(3000)))
    for choices in ((True, True, False), (True, True, True)):
        people = [unplaced(some(1500), choices)]
        for name in EXACT:
            found = MEASURES[name].assigned(pair, people)
            assert found.least < MEASURES[name].estimate(pair) < found.most
            assert not found.is_outer


def test_recorded_decisions_are_assigned_too():
    mine, theirs = (Sample.solved(np.array([1.0]), 2, BUDGET) for _ in range(2))
    from dataclasses import replace

    pair = Pair(replace(mine, recorded=(4, 2)), replace(theirs, recorded=(4, 2)))
    people = [Unplaced(True, True, False, np.array([1.0]), 1, recorded=(2, 3))]
    found = MEASURES["impact_ratio_recorded"].assigned(pair, people)
    values = []
    for k in itertools.product((0, 1), repeat=3):
        yes, n = [2, 2], [4, 4]
        for side, good in zip(k, (1, 1, 0), strict=True):
            yes[side] += good
            n[side] += 1
        values.append((yes[0] / n[0]) / (yes[1] / n[1]))
    assert (found.least, found.most) == (pytest.approx(min(values)), pytest.approx(max(values)))


class Range(Measure):
    """Of which nothing is known: the largest effort of the group minus the least of the other."""

    name, title, equation = "range", "Range", "max - min"

    def estimate(self, pair):
        return pair.mine.efforts[-1] - pair.theirs.efforts[0]


def test_a_measure_of_ones_own_is_tried_where_that_is_possible():
    pair, people = Pair(sample([2.0, 4.0]), sample([3.0])), [unplaced([1.0, 5.0], (True, True, False))]
    found = Range().assigned(pair, people)
    assert (found.least, found.most) == (4.0 - 3.0, 5.0 - 1.0)
    assert Range().assigned(pair, [unplaced(np.arange(1.0, 40.0), (True, True, False))]) is None
    assert isnan(Reading("range", 1.0).assigned_least)


# -- what notions read beside the measures -----------------------------------------------------------------------------


def dealt(mine, theirs, parts):
    """Both sides under every assignment, sorted."""
    everybody = [(person, part) for people, part in parts for person in people]
    for choice in itertools.product(*([k for k in range(3) if part[k]] for _, part in everybody)):
        yield tuple(
            np.sort([*known, *(one for (one, _), k in zip(everybody, choice, strict=True) if k == side)])
            for side, known in enumerate((mine, theirs))
        )


effort = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.5, float("inf")])
few_parts = st.lists(
    st.tuples(st.lists(effort, min_size=1, max_size=4), st.sampled_from(CHOICES)), min_size=1, max_size=2
)


@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
@settings(max_examples=60, deadline=None)
@given(mine=st.lists(effort, max_size=4), theirs=st.lists(effort, max_size=4), parts=few_parts)
def test_differences_of_quantiles(share, mine, theirs, parts):
    def rank(n):
        return max(1, math.ceil(share * n - 1e-9)) - 1

    values = []
    for a, b in dealt(mine, theirs, parts):
        if len(a) and len(b) and not (np.isinf(a[rank(len(a))]) and np.isinf(b[rank(len(b))])):
            values.append(a[rank(len(a))] - b[rank(len(b))])
    people = [Unplaced(*part, np.array(some)) for some, part in parts]
    found = assigned.of_orders((np.sort(mine), np.sort(theirs)), people, lambda n: (rank(n),) * 2)
    if not values:
        assert isnan(found.least) or found.is_outer
        return
    assert found.least <= min(values)
    assert found.most >= max(values)
    assert found.is_outer or (found.least, found.most) == (min(values), max(values))
    assert found.is_outer == (len(parts) > 1)


@settings(max_examples=100, deadline=None)
@given(mine=st.lists(effort, min_size=1, max_size=4), theirs=st.lists(effort, min_size=1, max_size=4), parts=few_parts)
def test_the_largest_distance_of_two_curves(mine, theirs, parts):
    at = [0.5, 1.0, 2.0, 3.5]
    values = [
        max(abs(np.mean(a <= one) - np.mean(b <= one)) for one in at) for a, b in dealt(mine, theirs, parts)
    ]  # fmt: skip
    people = [Unplaced(*part, np.array(some)) for some, part in parts]
    found = assigned.of_curves((np.array(mine), np.array(theirs)), people)
    assert found.most == pytest.approx(max(values), abs=1e-12)
    assert found.least <= min(values) + 1e-12


def test_a_curve_of_nobody_is_bounded_by_everything():
    found = assigned.of_curves((np.empty(0), np.ones(2)), [unplaced([1.0], (True, True, False))])
    assert (found.least, found.most) == (0.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(
    mine=st.lists(st.sampled_from([0.0, 1.0]), max_size=3), theirs=st.lists(st.sampled_from([0.0, 1.0]), max_size=3),
    some=st.lists(
        st.tuples(st.sampled_from([(0, 0), (0, 1), (1, 1)]), st.sampled_from(CHOICES)), min_size=1, max_size=3
    ),
)  # fmt: skip
def test_values_that_are_only_known_to_lie_between_two(mine, theirs, some):
    values = []
    for picked in itertools.product(*({*ends} for ends, _ in some)):
        parts = [([float(one)], part) for one, (_, part) in zip(picked, some, strict=True)]
        values += [a.mean() - b.mean() for a, b in dealt(mine, theirs, parts) if len(a) and len(b)]
    people = [(unplaced([], part), np.array([ends[0]]), np.array([ends[1]])) for ends, part in some]
    found = assigned.of_ranges((np.array(mine), np.array(theirs)), people, np.subtract)
    assert found.is_outer or isnan(found.least)
    if values:
        assert found.least <= min(values) + 1e-12
        assert found.most >= max(values) - 1e-12
