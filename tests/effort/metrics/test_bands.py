"""Bands of the curve: the recipe in plain loops, people really left out, and what has no band."""

from __future__ import annotations

import importlib
import math

import numba
import numpy as np
import pytest
from scipy import stats
from tests.effort.metrics.test_curve import mixed, solved

from equieffort.effort.metrics import Centres, Jackknife, curve, default_centres
from equieffort.effort.metrics.bands import Moments, Spread, half_widths
from equieffort.effort.metrics.without import ON_LOG
from equieffort.errors import ParameterError
from equieffort.recourse.solvers import Status
from equieffort.world.distances import BoundDistance

QUANTILES = (0.05, 0.2, 0.5, 1.0)
LINES = ("acr", "phi_own", "phi_other", "rd", "own_share", "acr_mean_of_ratios")


def world(n, seed=0, groups=2, without=0.2, digits=6):
    """(table, values): two features, group b better off; some have no action, and rows may repeat."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, groups, n)
    values = (rng.normal(size=(n, 2)) + np.c_[0.5 * codes, np.zeros(n)]).round(digits)
    score = values.sum(axis=1)
    refused = score < 0.3
    none = refused & (rng.random(n) < without)
    cost = np.where(refused & ~none, (0.4 - score) * (1.5 - 0.25 * codes) * rng.uniform(0.8, 1.2, n), np.nan)
    status = np.where(~refused, Status.NOT_NEEDED, np.where(none, Status.INFEASIBLE, Status.OPTIMAL))
    return solved(codes, status, cost, tuple("abcd"[:groups]), groups - 1), values


# -- the recipe, person by person --------------------------------------------------------------------------------------


def reading(members, table, a, b):
    """(own effort, other effort, rd, own share) of a neighbourhood; None where there is none."""
    codes, cost = table.groups.codes, table.effort
    sides = [[j for j in members if table.is_unfavourable[j] and codes[j] == g] for g in (a, b)]
    acting = [[cost[j] for j in side if not np.isnan(cost[j])] for side in sides]
    own = other = rd = share = None
    if all(acting) and sum(acting[1]) > 0:
        own, other = (sum(side) / len(side) for side in acting)
    if all(sides):
        rd = len(acting[1]) / len(sides[1]) - len(acting[0]) / len(sides[0])
    if any(sides):
        share = len(sides[0]) / (len(sides[0]) + len(sides[1]))
    return {"own": own, "other": other, "rd": rd, "share": share, "ratio": None if own is None else own / other}


def lines_of(found):
    """The lines of one quantile from the readings of the centres."""
    of = {
        name: [one[name] for one in found if one[name] is not None] for name in ("own", "other", "rd", "share", "ratio")
    }
    mean = {name: math.fsum(values) / len(values) if values else math.nan for name, values in of.items()}
    return {
        "acr": mean["own"] / mean["other"], "phi_own": mean["own"], "phi_other": mean["other"], "rd": mean["rd"],
        "own_share": mean["share"], "acr_mean_of_ratios": mean["ratio"],
    }  # fmt: skip


def moved(name, value):
    return math.log(value) if name in ON_LOG else value


def recipe(table, distances, centres, a, b, q):
    """What each line changes by without each person: delete from the sums, and move thresholds along the slope."""
    n = len(table)
    inside = {
        level: [np.flatnonzero(row <= np.quantile(row, level)).tolist() for row in distances]
        for level in {q, q * 0.8, min(1.2 * q, 1.0)}
    }
    now, low, high = (
        {i: reading(inside[level][i], table, a, b) for i in centres} for level in (q, q * 0.8, min(1.2 * q, 1.0))
    )

    def slope(i, name):
        if q == 1 or low[i][name] is None or high[i][name] is None or now[i][name] is None:
            return 0.0
        return (high[i][name] - low[i][name]) / (min(1.2 * q, 1.0) - q * 0.8)

    before = lines_of(now.values())
    changes = {name: [] for name in LINES}
    for k in range(n):
        left = []
        for i in centres:
            if i == k:
                continue
            holds = k in inside[q][i]
            found = reading([j for j in inside[q][i] if j != k], table, a, b) if holds else now[i]
            left.append(
                {
                    name: None if value is None else value - slope(i, name) * (q - holds) / n
                    for name, value in found.items()
                }
            )
        after = lines_of(left)
        for name in LINES:
            changes[name].append(moved(name, after[name]) - moved(name, before[name]))
    return {name: np.array(values) for name, values in changes.items()}


def student(changes, n):
    psi = (changes - changes.mean()) * math.sqrt((n - 1) / n)
    variance = float((psi**2).sum())
    return variance, 2 * variance**2 / float((psi**4).sum() - variance**2 / n)


@pytest.mark.parametrize(
    ("n", "seed", "groups", "digits", "favourable"),
    [(44, 1, 2, 6, False), (60, 2, 3, 6, False), (48, 3, 2, 0, False), (36, 4, 2, 0, True), (32, 5, 2, 6, True)],
)
def test_bands_are_the_recipe(n, seed, groups, digits, favourable):
    table, values = world(n, seed, groups, digits=digits)
    codes = table.groups.codes
    who = np.arange(n) if favourable else np.flatnonzero(table.is_unfavourable)
    found = curve(table, mixed(values), QUANTILES, who, Jackknife(mean_of_ratios=True))
    frame = found.frame().set_index(["group", "against", "quantile"])
    distances = np.abs(values[:, None] - values[None]).sum(axis=2)
    seen = 0
    for a, b in ((0, groups - 1), (groups - 1, 0)):
        for at, q in enumerate(QUANTILES):
            centres = [int(i) for i in who if codes[i] == a]
            expected = recipe(table, distances, centres, a, b, q)
            for name in LINES:
                spread = found.spreads[(a, b), name]
                if not np.isfinite(expected[name]).all():
                    assert spread.why[at] == "TOO_FEW"
                    continue
                variance, nu = student(expected[name], n)
                seen += 1
                assert spread.variance[at] == pytest.approx(variance, rel=2e-5)
                assert spread.nu[at] == pytest.approx(nu, rel=1e-4)
                row = frame.loc[("abc"[a], "abc"[b], q)]
                half = stats.t.ppf(0.975, nu) * math.sqrt(variance)
                low, high = row[name] - half, row[name] + half
                if name in ON_LOG:
                    low, high = row[name] * math.exp(-half), row[name] * math.exp(half)
                low, high = {"rd": (max(low, -1), min(high, 1)), "own_share": (max(low, 0), min(high, 1))}.get(
                    name, (low, high)
                )
                assert [row[f"{name}_low"], row[f"{name}_high"]] == pytest.approx([low, high], rel=1e-4, abs=1e-6)
    assert seen > 30


def test_leaving_people_out_really():
    """The slope stands for thresholds that jump, so that small neighbourhoods agree less."""
    n, quantiles = 120, (0.2, 0.5, 1.0)
    table, values = world(n, 7)
    codes = table.groups.codes
    found = curve(table, mixed(values), quantiles)
    whole = found.frame()["acr"].to_numpy()[:3]
    changes = []
    for k in range(n):
        rest = np.delete(np.arange(n), k)
        less = solved(codes[rest], table.status[rest], table.cost[rest], ("a", "b"), 1)
        frame = curve(less, mixed(values[rest]), quantiles, None, None).frame()
        changes.append(np.log(frame["acr"].to_numpy()[:3] / whole))
    for at, (change, allowed) in enumerate(zip(np.array(changes).T, (0.15, 0.05, 1e-5), strict=True)):
        variance, _ = student(change, n)
        assert found.spreads[(0, 1), "acr"].variance[at] == pytest.approx(variance, rel=2 * allowed)


def test_for_everybody_it_is_the_groups_ratio_and_its_welch_interval():
    table, values = world(600, 3)
    found = curve(table, mixed(values), [1.0])
    costs = [table.effort[(table.groups.codes == g) & table.has_action] for g in (0, 1)]
    ratio = costs[0].mean() / costs[1].mean()
    frame = found.frame().set_index("group")
    assert frame.loc["a", "acr"] == pytest.approx(ratio, rel=1e-13)
    assert frame.loc["b", "acr"] == pytest.approx(1 / ratio, rel=1e-13)
    welch = sum(np.var(side, ddof=1) / len(side) / side.mean() ** 2 for side in costs)
    assert found.spreads[(0, 1), "acr"].variance[0] == pytest.approx(welch, rel=0.1)
    assert frame.loc["a", "acr_low"] == pytest.approx(1 / frame.loc["b", "acr_high"], rel=1e-4)
    # Centres do not matter at quantile 1, so that the paper's band there has no width; this one has.
    assert frame.loc["a", "acr_high"] / frame.loc["a", "acr_low"] > 1.1


# -- from values to limits ---------------------------------------------------------------------------------------------


def test_simultaneous_limits_are_those_of_the_largest_of_normal_values():
    q = 4
    many = np.full(q, np.inf)
    alike = Spread(np.ones(q), many, np.ones((q, q)), ("",) * q)
    apart = Spread(np.ones(q), many, np.eye(q), ("",) * q)
    bands = Jackknife(draws=200_000)
    at, together = half_widths(alike, bands)
    assert at == pytest.approx(np.full(q, stats.norm.ppf(0.975)), rel=1e-6)
    assert together == pytest.approx(at, rel=0.01)
    # Independent values stay within c with probability (2 Phi(c) - 1)^q. The band is one-sided at Phi(c), twice.
    c = stats.norm.ppf((1 + 0.95 ** (1 / q)) / 2)
    assert half_widths(apart, bands)[1] == pytest.approx(np.full(q, c), rel=0.01)
    assert np.array_equal(half_widths(apart, bands)[1], half_widths(apart, bands)[1])


def spread_of(without):
    """In two parts, as they come."""
    found = Moments(len(without))
    found.add(without[:, :30])
    found.add(without[:, 30:])
    return found.spread()


def test_moments_are_about_the_mean_wherever_it_is():
    without = np.random.default_rng(0).exponential(size=(3, 200)) + np.array([[0.0], [1e6], [-5.0]])
    found = spread_of(without)
    psi = (without - without.mean(axis=1, keepdims=True)) * math.sqrt(199 / 200)
    assert found.variance == pytest.approx((psi**2).sum(axis=1), rel=1e-7)
    assert found.nu == pytest.approx(2 * found.variance**2 / ((psi**4).sum(axis=1) - found.variance**2 / 200), rel=1e-6)
    assert found.correlation == pytest.approx(np.corrcoef(without), abs=1e-7)


def test_few_people_make_wide_bands():
    few, many = np.zeros((1, 100)), np.zeros((1, 100))
    few[0, :4] = [1, -1, 1, -1]
    many[0] = np.tile([0.2, -0.2], 50)
    assert spread_of(few).variance == pytest.approx(spread_of(many).variance)
    assert spread_of(few).nu[0] == pytest.approx(8, rel=0.1)
    assert half_widths(spread_of(few), Jackknife())[0][0] > 1.1 * half_widths(spread_of(many), Jackknife())[0][0]


# -- what has no band --------------------------------------------------------------------------------------------------


def small(cost, codes, status=Status.OPTIMAL):
    status = np.array([status] * len(codes)) if not isinstance(status, list) else np.array(status)
    return solved(np.array(codes), status, np.array(cost, dtype=float), ("a", "b"), 1)


def test_equal_efforts_have_no_band_and_say_so():
    rng = np.random.default_rng(0)
    table = small([0.3] * 20, [0, 1] * 10)
    frame = curve(table, mixed(rng.random((20, 2))), [0.5, 1.0]).frame()
    assert frame["acr"].to_numpy() == pytest.approx(1)
    assert (frame["note"] == "NO_SPREAD RD_NO_SPREAD").all()
    assert frame[["acr_low", "acr_high", "acr_low_all", "phi_own_low", "rd_low", "nu"]].isna().all(axis=None)


def test_a_ratio_that_rests_on_one_person_has_no_band():
    table = small([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 1])
    frame = curve(table, mixed(np.arange(4.0)[:, None]), [1.0]).frame()
    assert frame["note"].tolist() == ["TOO_FEW RD_NO_SPREAD"] * 2
    assert frame["acr_low"].isna().all()


def test_unsettled_people_are_noted_and_nobody_else_is():
    rng = np.random.default_rng(0)
    cost = rng.random(30) + 0.1
    status = [Status.OPTIMAL] * 29 + [Status.FEASIBLE]
    frame = curve(small(cost, [0, 1] * 15, status), mixed(rng.random((30, 2))), [1.0]).frame()
    assert frame["note"].tolist() == ["UNCERTIFIED RD_NO_SPREAD"] * 2
    three = solved(np.array([0, 1, 2] * 10), np.array(status), cost, ("a", "b", "c"), 1)
    frame = curve(three, mixed(rng.random((30, 2))), [1.0]).frame().set_index(["group", "against"])
    assert frame["note"].str.contains("UNCERTIFIED").to_dict() == {
        ("a", "b"): False, ("c", "b"): True, ("b", "a"): False, ("b", "c"): True,
    }  # fmt: skip


def test_every_limit_is_a_confidence_limit():
    table, values = world(80)
    columns = set(curve(table, mixed(values), [0.5, 1.0]).frame().columns)
    limits = {name for name in columns if "_low" in name or "_high" in name}
    lines = ("acr", "phi_own", "phi_other", "rd", "own_share")
    expected = {f"{name}_{end}" for name in lines for end in ("low", "high")}
    assert limits == expected | {f"{name}_{end}_all" for name in ("acr", "rd") for end in ("low", "high")}


@pytest.mark.parametrize("options", [{"level": 1.0}, {"level": "0.95"}, {"draws": 10}, {"random_state": -1}])
def test_bands_that_cannot_be_are_refused(options):
    with pytest.raises(ParameterError):
        Jackknife(**options)


# -- however the work is split -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [6, 0])
def test_order_of_people_does_not_show(digits):
    table, values = world(160, 9, 3, digits=digits)
    order = np.random.default_rng(1).permutation(160)
    other = solved(table.groups.codes[order], table.status[order], table.cost[order], ("a", "b", "c"), 2)
    bands = Jackknife(mean_of_ratios=True)
    before = curve(table, mixed(values), QUANTILES, None, bands).frame()
    after = curve(other, mixed(values[order]), QUANTILES, None, bands).frame()
    assert before.equals(after)


def test_threads_and_parts_do_not_show(monkeypatch):
    table, values = world(700, 9)
    bands = Jackknife(mean_of_ratios=True)
    had = numba.get_num_threads()
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    before = curve(table, mixed(values), QUANTILES, None, bands).frame()
    numba.set_num_threads(1)
    for name in ("effort.neighbours.coded", "effort.metrics.curve"):
        # Centres then come 64 at a time.
        monkeypatch.setattr(importlib.import_module(f"equieffort.{name}"), "PAIRS", 1)
    try:
        after = curve(table, mixed(values), QUANTILES, None, bands).frame()
    finally:
        numba.set_num_threads(had)
    assert before.equals(after)


def test_quantiles_in_any_order_and_twice():
    table, values = world(80)
    asked = (0.5, 0.1, 1.0, 0.1)
    frame = curve(table, mixed(values), asked).frame()
    rising = curve(table, mixed(values), (0.1, 0.5, 1.0)).frame()
    assert frame["quantile"].tolist() == [*asked, *asked]
    for place, q in enumerate(asked):
        same = rising[(rising["quantile"] == q) & (rising["group"] == "a")].iloc[0]
        # The simultaneous band is of the quantiles asked for.
        names = [name for name in frame if not name.endswith("_all")]
        assert frame.loc[place, names].equals(same[names])


class Parsed(BoundDistance):
    def __init__(self, matrix):
        self.matrix = matrix

    def to_all(self, rows):
        return self.matrix[rows]


def test_own_distances_have_the_same_bands():
    table, values = world(90, 4)
    matrix = np.abs(values[:, None] - values[None]).sum(axis=2)
    built_in = curve(table, mixed(values), QUANTILES).frame()
    own = curve(table, Parsed(matrix), QUANTILES).frame()
    numbers = [name for name in own if own[name].dtype.kind == "f"]
    assert own[numbers].to_numpy() == pytest.approx(built_in[numbers].to_numpy(), rel=1e-5, nan_ok=True)


# -- centres -----------------------------------------------------------------------------------------------------------


def test_a_sample_is_by_group_fixed_and_of_the_people_asked_for():
    people = np.arange(0, 1000, 2)
    group = np.r_[np.zeros(480, dtype=int), np.ones(20, dtype=int)]
    drawn = Centres(each=50).draw(people, group)
    assert np.isin(drawn, people).all()
    assert len(np.unique(drawn)) == len(drawn) == 70
    assert np.array_equal(drawn[drawn >= people[480]], people[480:])
    assert np.array_equal(drawn, Centres(each=50).draw(people, group))
    assert not np.array_equal(drawn, Centres(each=50, random_state=1).draw(people, group))
    assert np.array_equal(Centres().draw(people, group), people)


def test_the_default_is_everybody_up_to_so_many_pairs():
    group = np.r_[np.zeros(9_000, dtype=int), np.ones(1_000, dtype=int)]
    people = np.arange(10_000)
    assert default_centres(people, group, 20_000) == Centres()
    # 2e8 pairs allow 5,000 centres among 40,000 people: the small group whole, and what is left of the other.
    assert default_centres(people, group, 40_000) == Centres(4_000)
    assert default_centres(people, group, 10**7) == Centres(500)


@pytest.mark.parametrize(("each", "most"), [(25, 1.6), (100, 1.15)])
def test_bands_hold_what_drawing_centres_adds(each, most):
    """Small samples know neighbours' parts less well, which widens their bands; they are never too narrow."""
    table, values = world(500, 2)
    people = np.flatnonzero(table.is_unfavourable)
    codes = table.groups.codes[people]
    everybody = curve(table, mixed(values), [0.1], people).spreads[(0, 1), "acr"].variance[0]
    estimates, variances = [], []
    for seed in range(24):
        drawn = Centres(each=each, random_state=seed).draw(people, codes)
        found = curve(table, mixed(values), [0.1], drawn)
        estimates.append(math.log(found.frame()["acr"].iloc[0]))
        variances.append(found.spreads[(0, 1), "acr"].variance[0])
    added = float(np.var(estimates, ddof=1))
    assert added > 0.02 * everybody
    assert 0.95 < np.mean(variances) / (everybody + added) < most
