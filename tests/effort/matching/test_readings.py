"""What matched people compare: by hand, against plain sums, and against people drawn again."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equieffort as ee
from equieffort.effort.matching import Efforts, Pairs, Strata, matched_readings

INF = math.inf


def efforts(values: list[float], least: list[float] | None = None, unknown: tuple[int, ...] = ()) -> Efforts:
    """From efforts, NaN without an action."""
    found = np.array(values, dtype=float)
    ends = np.where(np.isnan(found), INF, found)
    is_unknown = np.isin(np.arange(len(found)), unknown)
    low = np.where(is_unknown, 0.0, ends) if least is None else np.array(least, dtype=float)
    is_open = is_unknown | (low < ends)
    return Efforts(found, low, np.where(is_unknown, INF, ends), is_unknown, is_open)


def pairs(*rows: tuple[int, int]) -> Pairs:
    mine, theirs = (np.array([row[side] for row in rows], dtype=np.intp) for side in (0, 1))
    return Pairs(mine, theirs, np.zeros(len(rows)))


def by_name(sets, known, budget=10.0):
    return {one.measure: one for one in matched_readings(sets, known, budget, 0.95)}


def test_pairs_by_hand():
    nan = math.nan
    found = by_name(pairs((0, 4), (1, 5), (2, 6), (3, 7)), efforts([2, 4, 6, nan, 1, 2, nan, 5]))
    # Both sides have recourse in the first two pairs alone.
    assert found["acr"].estimate == pytest.approx(2.0)
    assert (found["acr"].n, found["acr"].n_against) == (2, 2)
    assert found["rd"].estimate == pytest.approx(0.0)
    assert found["restricted_effort"].estimate == pytest.approx((2 + 4 + 6 + 10) / (1 + 2 + 10 + 5))


def test_the_spread_of_pairs_is_that_of_their_differences():
    rng = np.random.default_rng(1)
    a, b = rng.gamma(3, 1, 50), rng.gamma(2, 1, 50)
    found = by_name(pairs(*((k, 50 + k) for k in range(50))), efforts([*a, *b]))["acr"]
    psi = a / a.mean() - b / b.mean()
    se = psi.std(ddof=1) / math.sqrt(50)
    assert found.estimate == pytest.approx(a.mean() / b.mean())
    nu = 2 * (psi**2).sum() ** 2 / ((psi**4).sum() - (psi**2).sum() ** 2 / 50)
    from scipy.stats import t

    half = t.ppf(0.975, min(nu, 49)) * se
    assert (math.log(found.low), math.log(found.high)) == pytest.approx(
        (math.log(found.estimate) - half, math.log(found.estimate) + half)
    )


def test_people_used_again_and_again_count_once():
    # Everybody is paired with the same two people: as pairs of their own the others would seem to be many.
    rng = np.random.default_rng(2)
    a = rng.gamma(3, 1, 40)
    known = efforts([*a, 1.0, 3.0])
    shared = by_name(pairs(*((k, 40 + k % 2) for k in range(40))), known)["acr"]
    apart = by_name(pairs(*((k, 40 + k) for k in range(40))), efforts([*a, *[1.0, 3.0] * 20]))["acr"]
    assert shared.estimate == pytest.approx(apart.estimate)
    assert math.log(shared.high / shared.low) > 3 * math.log(apart.high / apart.low)


def test_strata_weigh_the_others_to_be_like_the_group():
    rows = np.arange(7)
    sets = Strata(rows, np.array([0, 0, 0, 1, 0, 1, 1]), np.array([True] * 4 + [False] * 3))
    found = by_name(sets, efforts([2, 4, 6, 8, 3, 1, 3]))
    assert found["acr"].estimate == pytest.approx(np.mean([2, 4, 6, 8]) / (0.75 * 3 + 0.25 * 2))
    weights = sets.weights()
    assert weights[0].tolist() == [0.25] * 4
    assert weights[1].tolist() == [0.75, 0.125, 0.125]


def test_strata_vary_as_people_drawn_again_within_them():
    rng = np.random.default_rng(3)
    stratum = np.repeat(np.arange(6), 60)
    is_mine = np.tile(np.arange(60) < 25, 6)
    values = rng.gamma(2, 1, 360) * (1 + stratum / 4)
    sets = Strata(np.arange(360), stratum, is_mine)
    found = by_name(sets, efforts(values.tolist()))["acr"]
    logs = []
    for _ in range(2000):
        drawn = values.copy()
        rows = np.concatenate(
            [rng.choice(w, len(w)) for s in range(6) for side in (True, False)
             for w in [np.flatnonzero((stratum == s) & (is_mine == side))]]
        )  # fmt: skip
        order = np.concatenate(
            [np.flatnonzero((stratum == s) & (is_mine == side)) for s in range(6) for side in (True, False)]
        )
        drawn[order] = values[rows]
        middle = np.bincount(stratum[~is_mine], drawn[~is_mine]) / 35
        logs.append(math.log(drawn[is_mine].mean() / middle.mean()))
    half = math.log(found.high / found.low) / 2
    # Drawn within strata alone; the interval also lets the strata of the group's people vary.
    assert 0.95 < half / (1.97 * np.std(logs)) < 1.25


def test_what_is_unsettled_opens_the_ends():
    nan = math.nan
    sets = pairs((0, 2), (1, 3))
    known = efforts([4, nan, 2, 2], [3, 1, 2, 1.5], unknown=(1,))
    found = by_name(sets, known)
    assert (found["acr"].least, found["acr"].most) == (0, INF)
    assert (found["rd"].least, found["rd"].estimate, found["rd"].most) == (0.0, 0.5, 0.5)
    assert found["restricted_effort"].least == pytest.approx((3 + 1) / (2 + 2))
    assert found["restricted_effort"].most == pytest.approx((4 + 10) / (2 + 1.5))
    assert all("UNCERTIFIED" in found[name].note for name in ("restricted_effort", "rd"))
    settled = by_name(pairs((0, 2)), known)["acr"]
    assert (settled.least, settled.most) == (pytest.approx(1.5), pytest.approx(2.0))


def test_where_there_is_nothing_there_is_no_number():
    nan = math.nan
    empty = by_name(pairs(), efforts([1.0]))
    assert all(math.isnan(one.estimate) and one.note == "NO_MATCH" for one in empty.values())
    stuck = by_name(pairs((0, 2), (1, 3)), efforts([nan, nan, 1, 2]))
    assert (math.isnan(stuck["acr"].estimate), stuck["acr"].note) == (True, "NO_RECOURSE")
    assert stuck["rd"].estimate == 1.0
    assert stuck["rd"].low < 1.0
    free = by_name(pairs((0, 2), (1, 3)), efforts([0, 0, 1, 2]))
    assert free["acr"].note == "ZERO_EFFORT"
    assert by_name(pairs((0, 1)), efforts([1, 2]), None)["restricted_effort"].note == "NO_BUDGET"
    alone = by_name(pairs((0, 1)), efforts([1, 2]))["acr"]
    assert (alone.estimate, alone.note, math.isnan(alone.low)) == (0.5, "TOO_FEW", True)


def test_methods_are_saved_with_an_audit():
    for method in (
        ee.NearestNeighbour(k=2),
        ee.OptimalPairs(0.3),
        ee.ExactMatching(),
        ee.CoarsenedExact(4, {"x": (1,)}),
    ):
        assert type(method).from_dict(method.to_dict()) == method
