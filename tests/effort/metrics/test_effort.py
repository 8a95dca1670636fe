"""Phi, rho, ACR and RD of random tables against plain counting, and their certain ranges against every completion."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import people

from equieffort.effort.measures import Pair, Sample
from equieffort.effort.metrics import (
    SHORT,
    average_cost_ratio,
    comparisons,
    exact_discrepancy,
    group_frame,
    group_stats,
    recourse_discrepancy,
)
from equieffort.effort.metrics.effort import Comparison
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups

LABELS = ("ash", "birch", "cedar")


def table(codes, status, cost, bound=None, labels=LABELS, protected=(1,), reference=0) -> RecourseTable:
    """A recourse table as if it had been solved: metrics read nothing else."""
    n = len(codes)
    groups = Groups(labels, np.array(codes, dtype=np.int16), protected, reference)
    cost = np.array(cost, dtype=np.float64)
    blank = np.zeros((n, 0))
    return RecourseTable(
        None, groups, np.array(status, dtype=np.int8), cost, cost if bound is None else np.array(bound, dtype=float),
        np.zeros(n, dtype=np.int8), blank, blank.astype(np.int16),
    )  # fmt: skip


ROW = st.tuples(st.integers(0, 2), st.sampled_from(list(Status)), st.floats(0.01, 1e6), st.booleans())


@settings(deadline=None)
@given(st.lists(ROW, max_size=25))
def test_group_stats_count_the_unfavourable_members(rows):
    codes, status, cost, member = zip(*rows, strict=True) if rows else ((), (), (), ())
    acting = [s in (Status.OPTIMAL, Status.FEASIBLE) for s in status]
    solved = table(codes, status, [c if a else math.nan for c, a in zip(cost, acting, strict=True)], bound=cost)
    for members in (None, np.array(member, dtype=bool)):
        found = group_stats(solved, members)
        assert tuple(found) == LABELS
        for code, label in enumerate(LABELS):
            mine = [k for k in range(len(rows)) if codes[k] == code and (members is None or member[k])]
            refused = [k for k in mine if status[k] != Status.NOT_NEEDED]
            able = [Fraction(cost[k]) for k in refused if acting[k]]
            assert found[label].n == len(mine)
            assert found[label].n_unfavourable == len(refused)
            assert found[label].rho == pytest.approx(len(able) / len(refused) if refused else math.nan, nan_ok=True)
            assert repr(found[label].phi) == repr(float(sum(able) / len(able)) if able else math.nan)


def test_worse_off_means_above_one_and_above_zero():
    group, reference = people([3.0, 5.0], infeasible=2), people([2.0], infeasible=0)
    assert average_cost_ratio(group.stats, reference.stats) == 2.0
    assert recourse_discrepancy(group.stats, reference.stats) == 0.5
    assert average_cost_ratio(reference.stats, group.stats) == 0.5
    assert recourse_discrepancy(reference.stats, group.stats) == -0.5


def test_a_vanishing_effort_counts_as_zero():
    # A step over an open boundary has a positive cost that can be made as small as one likes: its bound is 0.
    solved = table([0, 1], [Status.OPTIMAL] * 2, [1e-12, 3.0], bound=[0.0, 3.0])
    assert group_stats(solved)["ash"].phi == 1e-12
    # That it vanishes is for the solver to say: a bound of 0 may also mean that nothing is proven.
    solved = replace(solved, vanishing=np.array([True, False]))
    found = group_stats(solved)
    assert found["ash"].phi == 0.0
    assert found["birch"].phi == 3.0
    assert math.isnan(average_cost_ratio(found["birch"], found["ash"]))


@pytest.mark.parametrize(
    ("group", "reference", "acr", "rd"),
    [
        (people(), people([1.0]), math.nan, math.nan),
        (people(fine=4), people([1.0]), math.nan, math.nan),
        (people([1.0]), people(fine=4), math.nan, math.nan),
        (people(infeasible=3), people([1.0]), math.nan, 1.0),
        (people([1.0]), people(infeasible=3), math.nan, -1.0),
        (people(infeasible=1), people(infeasible=3), math.nan, 0.0),
        (people([1.0]), people([0.0]), math.nan, 0.0),
        (people([0.0]), people([0.0]), math.nan, 0.0),
        (people([0.0]), people([2.0]), math.nan, 0.0),
        (people([6.0], fine=9), people([2.0], fine=1), 3.0, 0.0),
    ],
)
def test_what_cannot_be_computed_is_missing_never_infinite(group, reference, acr, rd):
    found = Comparison("a", "b", "protected", Pair(group, reference))
    assert repr((found.acr, found.rd)) == repr((acr, rd))
    assert repr(found.acr_range) == repr((acr, acr))
    assert repr(found.rd_range) == repr((rd, rd))


def test_discrepancies_are_exact_fractions():
    group, reference = people([1.0] * 17, infeasible=3), people([1.0] * 9, infeasible=1)
    assert exact_discrepancy(group.stats, reference.stats) == Fraction(1, 20)
    # In doubles the difference of the shares misses a twentieth.
    assert reference.stats.rho - group.stats.rho != 0.05
    assert exact_discrepancy(group.stats, people(fine=1).stats) is None


def test_the_difference_is_given_where_the_ratio_is_not():
    found = Comparison("a", "b", "protected", Pair(people([3.0]), people([0.0])))
    assert math.isnan(found.acr)
    assert found.difference == 3.0


# -- certain ranges ----------------------------------------------------------------------------------------------------

GRID = st.integers(1, 9)
SIDE = st.tuples(
    st.lists(GRID, max_size=2),
    st.lists(st.tuples(GRID, GRID).map(sorted), max_size=1),
    st.integers(0, 1),
    st.lists(GRID, max_size=2),
)


def completions(side):
    """Every way a group can turn out, on a grid: (costs of those with an action, number of unfavourable people)."""
    optimal, gapped, infeasible, unknown = side
    choices = [[Fraction(b), Fraction(c)] for b, c in gapped]
    choices += [[None, Fraction(b), Fraction(b + 50)] for b in unknown]
    n = len(optimal) + len(gapped) + infeasible + len(unknown)
    for picked in itertools.product(*choices):
        yield [*map(Fraction, optimal), *(c for c in picked if c is not None)], n


def ratios(mine, theirs):
    """Every ACR and RD that can come out."""
    acr, rd = set(), set()
    for (a, n), (b, m) in itertools.product(completions(mine), completions(theirs)):
        if a and b:
            acr.add((sum(a) / len(a)) / (sum(b) / len(b)))
        if n and m:
            rd.add(Fraction(len(b), m) - Fraction(len(a), n))
    return acr, rd


def compare(mine, theirs) -> Comparison:
    sides = [people(o, gapped=g, infeasible=i, unknown=u) for o, g, i, u in (mine, theirs)]
    return Comparison("a", "b", "protected", Pair(*sides))


@settings(deadline=None)
@given(SIDE, SIDE)
def test_ratio_and_difference_stay_inside_their_ranges(mine, theirs):
    found = compare(mine, theirs)
    acr, rd = ratios(mine, theirs)
    low, high = found.acr_range
    # A quotient of two rounded numbers is off by at most a few units in the last place.
    assert all(low * (1 - 1e-15) <= float(value) <= high * (1 + 1e-15) for value in acr)
    if rd:
        assert found.rd_range == (float(min(rd)), float(max(rd)))
    else:
        assert all(map(math.isnan, found.rd_range))


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ((), ([2], [], 0, [])),
        (([], [], 1, []), ([2], [], 0, [1])),
        (([2], [], 0, [1]), ([], [], 1, [])),
        (([2], [], 0, [1]), ([], [], 0, [])),
    ],
)
def test_a_ratio_that_is_never_defined_has_no_range(mine, theirs):
    mine = mine or ([], [], 0, [])
    assert not ratios(mine, theirs)[0]
    assert all(map(math.isnan, compare(mine, theirs).acr_range))


# -- comparisons and the tidy frame ------------------------------------------------------------------------------------


@pytest.fixture
def three() -> tuple[Groups, dict[str, Sample]]:
    groups = Groups(LABELS, np.array([0, 1, 2], dtype=np.int16), (2,), 1)
    return groups, {"ash": people([2.0]), "birch": people([4.0], fine=3), "cedar": people([8.0], infeasible=1)}


def pairs(compared) -> list[tuple[str, str, str]]:
    return [(c.group, c.against, c.role) for c in compared]


def test_each_group_is_compared_with_the_reference_protected_first(three):
    groups, stats = three
    assert pairs(comparisons(groups, stats)) == [("cedar", "birch", "protected"), ("ash", "birch", "other")]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (0, [("ash", "birch", "other")]),
        (1, [("birch", "cedar", "reference"), ("birch", "ash", "reference")]),
        (2, [("cedar", "birch", "protected")]),
    ],
)
def test_a_person_is_compared_from_their_own_side(three, own, expected):
    groups, stats = three
    assert pairs(comparisons(groups, stats, own)) == expected


def test_by_group_is_tidy(three):
    groups, stats = three
    frame = group_frame(groups, stats, 0.95)
    assert frame.index.tolist() == list(LABELS)
    assert frame["role"].tolist() == ["other", "reference", "protected"]
    assert frame["n"].tolist() == [1, 4, 2]
    assert frame["n_unfavourable"].tolist() == [1, 1, 2]
    assert frame["favourable_rate"].tolist() == [0, 0.75, 0]
    assert frame["phi"].tolist() == [2, 4, 8]
    assert frame["rho"].tolist() == [1, 1, 0.5]
    assert set(SHORT) < set(frame.columns), "comparisons are among the measures"
    counts = frame[["n_optimal", "n_feasible", "n_infeasible", "n_unknown"]]
    assert counts.sum(axis=1).tolist() == frame["n_unfavourable"].tolist()


def test_limits_of_a_group_allow_for_people_not_solved_to_the_end():
    groups = Groups(("a", "b"), np.array([0, 1], dtype=np.int16), (0,), 1)
    known = people([1.0, 2.0, 3.0, 4.0], infeasible=2)
    open_ones = people([1.0, 2.0, 3.0], gapped=[(2.0, 4.0)], infeasible=1, unknown=[1.5])
    frames = []
    for mine in (known, open_ones):
        stats = {"a": mine, "b": known}
        frames.append(group_frame(groups, stats, 0.95).loc["a"])
    plain, wide = frames
    assert (plain["rho_high"], plain["phi_high"]) < (wide["rho_high"], wide["phi_high"])
    assert wide["phi_low"] < plain["phi_low"]
    # Nothing limits what the unknown person needs.
    assert wide["phi_high"] == math.inf
    for frame in frames:
        assert frame["phi_low"] <= frame["phi_least"] <= frame["phi_most"] <= frame["phi_high"]
        assert frame["rho_low"] <= frame["rho_least"] <= frame["rho_most"] <= frame["rho_high"]
