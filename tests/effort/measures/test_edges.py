"""What cannot be estimated is missing, with a note, and numpy has nothing to warn about."""

from __future__ import annotations

import warnings
from math import inf, isnan, log, nan

import numpy as np
import pytest
from tests.samples import people

from equieffort.effort.inference import Zone
from equieffort.effort.measures import MEASURES, NOTES, Measure, Pair, Sample, read

ZONE = Zone(-log(1.25), log(1.25))
OF_REFUSED = ("acr", "rd", "restricted_effort", "needs_more", "difference", "median_effort")


def readings(mine: Sample, theirs: Sample) -> dict[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {name: read(measure, Pair(mine, theirs), 0.95, ZONE) for name, measure in MEASURES.items()}
    for reading in found.values():
        assert all(code in NOTES for code in reading.note.split())
        if isnan(reading.estimate):
            assert reading.note
            assert isnan(reading.low)
            assert isnan(reading.p)
    return found


def group(*costs: float, stuck: int = 0, fine: int = 0, budget: float | None = 5.0) -> Sample:
    return people(costs, infeasible=stuck, fine=fine, budget=budget)


SOME = group(1, 2, 2.5, 4, stuck=1, fine=5)


@pytest.mark.parametrize("swapped", [False, True])
def test_nobody_refused(swapped):
    pair = (SOME, group(fine=9)) if swapped else (group(fine=9), SOME)
    found = readings(*pair)
    assert {found[name].note for name in OF_REFUSED} == {"NO_REFUSED"}
    assert not isnan(found["impact_ratio"].estimate)


def test_nobody_at_all():
    found = readings(group(), SOME)
    assert {found[name].note for name in (*OF_REFUSED, "burden", "impact_ratio")} == {"NO_PEOPLE"}


def test_nobody_with_recourse_in_one_group():
    found = readings(group(stuck=9, fine=3), SOME)
    assert {found[name].note for name in ("acr", "difference", "acr_always_min")} == {"NO_RECOURSE"}
    for name in ("rd", "restricted_effort", "needs_more", "burden"):
        assert not isnan(found[name].estimate)
        assert found[name].low <= found[name].estimate <= found[name].high
    assert (found["median_effort"].estimate, found["median_effort"].note) == (inf, "MEDIAN_INFINITE")
    assert readings(SOME, group(stuck=9))["median_effort"].estimate == 0


def test_nobody_with_recourse_in_either():
    found = readings(group(stuck=8), group(stuck=9))
    assert (found["rd"].estimate, found["restricted_effort"].estimate, found["needs_more"].estimate) == (0, 1, 0.5)
    assert found["restricted_effort"].note == "NO_SPREAD"
    # Newcombe's fifth method, as tried with 8 against 9.
    assert (found["needs_more"].low, found["needs_more"].high) == pytest.approx((0.26, 0.74), abs=0.005)
    assert found["median_effort"].note == "MEDIAN_INFINITE"
    assert isnan(found["median_effort"].estimate)


def test_no_budget():
    found = readings(group(stuck=3, budget=None), group(stuck=4, budget=None))
    assert {found[name].note for name in ("restricted_effort", "burden")} == {"NO_BUDGET"}


def test_one_person_a_side():
    found = readings(group(2.0), group(1.0))
    assert (found["acr"].estimate, found["acr"].note) == (2.0, "TOO_FEW")
    for name in ("acr", "difference", "restricted_effort", "needs_more", "burden"):
        assert isnan(found[name].low)
        assert isnan(found[name].p)


def test_two_people_a_side():
    found = readings(group(1, 2), group(1, 3))["acr"]
    assert (found.estimate, found.low, found.high) == pytest.approx((0.75, 0.038, 14.9), rel=0.01)


def test_all_efforts_equal():
    found = readings(group(*[2.0] * 9), group(*[1.0] * 9))
    assert (found["acr"].estimate, found["acr"].note) == (2.0, "NO_SPREAD")
    assert isnan(found["acr"].p)
    assert isnan(found["acr"].low)
    # Everybody counts at most at the budget, so that what nobody saw is bounded.
    restricted = found["restricted_effort"]
    unseen = 1 - 0.025 ** (1 / 9)
    low, high = (1 - unseen) * 2 / ((1 - unseen) + unseen * 5), ((1 - unseen) * 2 + unseen * 5) / (1 - unseen)
    assert (restricted.low, restricted.high) == pytest.approx((low, high))
    assert isnan(restricted.p_beyond)


def test_rounding_is_no_spread():
    # A tenth squared is no double, and the sum of nine squares is off by a little.
    found = readings(group(*[0.1] * 9), group(*[0.3] * 9))["acr"]
    assert found.note == "NO_SPREAD"


def test_no_spread_on_one_side():
    found = readings(group(*[2.0] * 9), group(1, 2, 3))["acr"]
    assert found.low < 1 < found.high


def test_no_effort():
    for pair in ((group(0, 0, 0), SOME), (SOME, group(0, 0, 0))):
        found = readings(*pair)
        for name in ("acr", "restricted_effort", "burden", "acr_always_min", "acr_always_max", "median_effort"):
            assert (isnan(found[name].estimate), found[name].note) == (True, "ZERO_EFFORT"), name
    # The approved have no effort; where nobody is refused nobody has any.
    assert readings(group(fine=9), SOME)["burden"].note == readings(SOME, group(fine=9))["burden"].note == "ZERO_EFFORT"
    assert found["difference"].estimate > 0
    assert not isnan(found["needs_more"].low)


MIRRORED = {"acr_always_min": "acr_always_max", "acr_always_max": "acr_always_min"}
EDGES = (
    group(), group(fine=9), group(0, 0, 0), group(0, 0, 3), group(2), group(2, 2, 2), group(stuck=4),
    group(1, stuck=3, fine=2), SOME,
)  # fmt: skip


@pytest.mark.parametrize("mine", EDGES)
@pytest.mark.parametrize("theirs", EDGES)
def test_swapping_the_groups_mirrors_at_every_edge(mine, theirs):
    here, there = readings(mine, theirs), readings(theirs, mine)
    for name, one in here.items():
        other, scale = there[MIRRORED.get(name, name)], MEASURES[name].scale
        assert one.note == other.note
        for end, opposite in (("estimate", "estimate"), ("low", "high"), ("high", "low")):
            value, back = getattr(one, end), getattr(other, opposite)
            if scale.name == "log":
                back = nan if isnan(back) else inf if back == 0 else 1 / back
            else:
                back = 1 - back if scale.name == "logit" else -back
            assert value == pytest.approx(back, rel=1e-9, abs=1e-12, nan_ok=True), (name, end)


def test_a_bound_has_an_interval_and_no_p_value():
    found = readings(group(2, 3, 4, 6, stuck=4), group(1, 2, 2.5, 4, 5))
    for name in ("acr_always_min", "acr_always_max"):
        assert found[name].low < found[name].estimate < found[name].high
        assert isnan(found[name].p)
        assert "BOUND" in found[name].note.split()
    assert not isnan(found["acr"].p)


def test_separated_groups():
    found = readings(group(7, 8, 9, 10, 11, 12), group(1, 2, 3, 4, 5, 6))["needs_more"]
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.69, abs=0.005)


def test_heavy_tails_are_noted():
    rng = np.random.default_rng(0)
    heavy = Sample.solved(np.append(np.ones(14), 60.0))
    assert "SKEWED" in read(MEASURES["acr"], Pair(heavy, heavy), 0.95).note
    even = Sample.solved(rng.uniform(1, 2, 40))
    assert read(MEASURES["acr"], Pair(even, even), 0.95).note == ""


# -- people not solved to the end --------------------------------------------------------------------------------------


def test_ranges_hold_every_completion():
    """Whatever the unsolved turn out to be: the estimate lies in the range, and the interval holds its interval."""
    rng = np.random.default_rng(8)
    names = ("acr", "rd", "restricted_effort", "needs_more", "median_effort", "burden", "difference")
    inside = asked = 0
    for _ in range(60):
        open_ones, done = [], []
        for shift in (1.3, 1.0):
            truth = shift * rng.gamma(3, 0.5, 15)
            gapped = [(c * rng.uniform(0.7, 1), c * rng.uniform(1, 1.3)) for c in truth[:4]]
            stuck, unknown = 2, truth[4:5] * 0.8
            open_ones.append(people(truth[5:], infeasible=stuck, unknown=unknown, gapped=gapped, budget=3.0))
            turned = truth[4:5] if rng.random() < 0.5 else []
            done.append(people([*truth[5:], *truth[:4], *turned], infeasible=stuck + 1 - len(turned), budget=3.0))
        for name in names:
            wide = read(MEASURES[name], Pair(*open_ones), 0.95)
            true = read(MEASURES[name], Pair(*done), 0.95)
            assert wide.least - 1e-12 <= true.estimate <= wide.most + 1e-12, name
            if not isnan(true.low):
                asked += 1
                inside += wide.low <= true.low + 1e-12 and true.high <= wide.high + 1e-12
    assert inside / asked > 0.97


def test_an_unknown_without_ceiling_has_no_upper_end():
    found = read(MEASURES["acr"], Pair(people([1, 2, 3], unknown=[0.5]), people([1, 2, 3])), 0.95, ZONE)
    assert found.most == inf
    assert found.high == inf
    assert found.p_within == 1


# -- the registry ------------------------------------------------------------------------------------------------------


def test_the_measures_there_are():
    assert set(MEASURES) == {
        "acr", "rd", "difference", "restricted_effort", "needs_more", "acr_always_min", "acr_always_max",
        "median_effort", "burden", "impact_ratio", "impact_ratio_recorded",
    }  # fmt: skip
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert isinstance(measure, Measure)
        assert hash(measure) == hash(type(measure)())
        assert measure.title
        assert measure.equation
        assert measure.reference
        assert "'a'" in measure.words("'a'", "'b'", "1")
