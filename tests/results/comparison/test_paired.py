"""Intervals of a change against drawing people again, and how often they hold the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import t as student
from tests.chance import fewest, most
from tests.results.comparison.worlds import costing, made, needing, people, row

import equieffort as ee
from equieffort.results.comparison import compare_audits
from equieffort.results.comparison.gaps import Gaps
from equieffort.results.comparison.noise import Change, change, gap_change, joined, log_ratio_values
from equieffort.world.groups import Groups


def estimates(frame, labels) -> tuple[float, float]:
    """log ACR and RD of some rows of a recourse table, by pandas."""
    part = frame.loc[labels]
    part = part[part["status"] != "not_needed"]
    mean, share = part.groupby("group")["cost"].mean(), part["cost"].notna().groupby(part["group"]).mean()
    return float(np.log(mean["ash"] / mean["birch"])), float(share["birch"] - share["ash"])


def drawn_again(one: ee.Audit, two: ee.Audit, draws: int) -> np.ndarray:
    """Changes of (log ACR, RD) over draws of whole people, wherever they were audited, each group by itself."""
    rng = np.random.default_rng(99)
    frames = [one.recourse.frame(), two.recourse.frame()]
    either = frames[0]["group"].combine_first(frames[1]["group"])
    # Everybody of either audit, group by group, as each audit has them: refused or not, and the cost.
    tables = [[frame.reindex(labels) for labels in either.groupby(either).groups.values()] for frame in frames]
    refused = [[(part["status"].notna() & (part["status"] != "not_needed")).to_numpy() for part in t] for t in tables]
    cost = [[part["cost"].to_numpy() for part in table] for table in tables]
    found = []
    for _ in range(draws):
        picked = [rng.integers(0, len(part), len(part)) for part in tables[0]]
        values = []
        for was_refused, costs in zip(refused, cost, strict=True):
            asked = [c[who][r[who]] for who, r, c in zip(picked, was_refused, costs, strict=True)]
            mean, share = ([f(side) for side in asked] for f in (np.nanmean, lambda side: 1 - np.isnan(side).mean()))
            values.append((np.log(mean[0] / mean[1]), share[1] - share[0]))
        found.append(np.subtract(values[1], values[0]))
    return np.array(found)


def others(n: int, kept: int, seed: int = 7):
    """As many people, of whom so many are those of `people(n)`."""
    fresh = people(n, seed).set_axis([f"q{k:03d}" for k in range(n)])
    fresh.iloc[:kept] = people(n).iloc[:kept]
    return fresh.set_axis([*people(n).index[:kept], *fresh.index[kept:]]).rename_axis("person")


@pytest.mark.parametrize("kept", [160, 80, 0])
def test_standard_errors_are_those_of_drawing_people_again(kept):
    """The same people, half of them, and nobody in both audits."""
    one, two = made(people(160)), made(others(160, kept), weights={"income": 1.1, "savings": 0.4}, threshold=6.5)
    found = compare_audits(one, two)
    assert found.matched == kept
    direct = drawn_again(one, two, 400)
    for k, name in enumerate(("acr", "rd")):
        line = row(found, name)
        low, high = (np.log(line[end]) if name == "acr" else line[end] for end in ("low", "high"))
        middle = np.log(line["change"]) if name == "acr" else line["change"]
        se = (high - low) / 2 / student.ppf(0.975, line["df"] if name == "acr" else np.inf)
        assert (high + low) / 2 == pytest.approx(middle, abs=1e-9 if name == "acr" else 0.02)
        # 400 draws know a standard deviation to 3.5 %; that of RD allows for changes that nobody drawn shows.
        assert 0.85 < se / direct[:, k].std() < (1.15 if name == "acr" else 1.45)


def test_the_change_is_a_factor_of_acr_and_a_difference_of_rd():
    one, two = made(), made(threshold=7.0)
    found = compare_audits(one, two)
    before, after = (estimates(audit.recourse.frame(), audit.recourse.index) for audit in (one, two))
    assert row(found, "acr")["change"] == pytest.approx(np.exp(after[0] - before[0]))
    assert row(found, "rd")["change"] == pytest.approx(after[1] - before[1])
    assert row(found, "acr")["low"] < row(found, "acr")["change"] < row(found, "acr")["high"]


def test_exchanging_the_audits_or_the_groups_mirrors_the_interval():
    one, two = made(), made(threshold=7.0)
    forth, back = compare_audits(one, two), compare_audits(two, one)
    swapped = compare_audits(made(protected="birch"), made(protected="birch", threshold=7.0))
    for other in (back, swapped):
        for end, opposite in (("low", "high"), ("high", "low"), ("change", "change")):
            assert row(forth, "acr")[end] == pytest.approx(1 / row(other, "acr")[opposite])
            assert row(forth, "rd")[end] == pytest.approx(-row(other, "rd")[opposite])


def test_values_by_hand():
    """Two who act on one side, three on the other: psi and its variance with plain numbers."""

    one = Table([1.0, 3.0, 2.0, 2.0, 5.0, np.inf, np.inf], [0, 0, 1, 1, 1, 0, 1])
    values = log_ratio_values(one, "a", "b")
    assert values == pytest.approx(
        np.array([-1 / 4, 1 / 4, 1 / 9, 1 / 9, -2 / 9, 0, 0]) * np.sqrt([2, 2, 1.5, 1.5, 1.5, 1, 1])
    )
    # The squares add up to s^2 / (k Phi^2), with the sample's variance s^2 of each side.
    assert (values**2).sum() == pytest.approx(2 / (2 * 4) + 3 / (3 * 9))


def test_people_in_both_cancel_and_the_others_add():
    pairs = np.array([[0, 2], [2, 0]])
    both = joined(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 11.0]), pairs)
    assert sorted(both.tolist()) == [-2.0, 2.0, 7.0, 10.0]


def test_degrees_of_freedom_fall_when_few_people_carry_the_change():
    alone = np.array([[k, k] for k in range(0)], dtype=np.intp).reshape(0, 2)
    even, steep = np.ones(50) / 50, np.append(np.ones(49) / 500, 1.0)
    zero = np.zeros(50)
    flat = change(0.1, zero, even * np.tile([1, -1], 25), alone, 100)
    assert flat.df == pytest.approx(2 * 0.02**2 / (50 / 50**4 - 0.02**2 / 100))
    assert change(0.1, zero, steep, alone, 100).df < 3
    assert change(0.1, zero, even, alone, 50).df == np.inf
    low, high = flat.limits
    assert high - low == pytest.approx(2 * student.ppf(0.975, flat.df) * np.sqrt(0.02))


def test_edges_have_a_note_and_no_interval():
    one = made()
    itself = compare_audits(one, one)
    assert row(itself, "acr")["change"] == 1
    assert row(itself, "rd")["change"] == 0
    assert itself.noise[["low", "high", "df"]].isna().all(axis=None)
    assert (itself.noise["note"] == "the same for everybody, so that chance has no part in it").all()
    assert str(itself).count(" after, unchanged; the same for everybody, so that chance has no part in it.") == 2
    doubled = compare_audits(needing(ash=1.5), costing(needing(ash=1.5), ash=2.0))
    assert row(doubled, "acr")["change"] == pytest.approx(2)
    assert np.isnan(row(doubled, "acr")["low"])
    assert "the same for everybody, so that chance has no part in it, farther from equality" in str(doubled)
    few = compare_audits(needing(), needing(ash=3.0, stuck=(99, 0)))
    assert row(few, "acr")["note"] == "too few people for an interval"
    assert row(few, "rd")["beyond_noise"]
    assert Change(np.nan).limits == pytest.approx((np.nan, np.nan), nan_ok=True)


def test_few_people_are_named():
    one, two = needing(ash=1.5, stuck=(96, 0)), needing(ash=3.0, stuck=(96, 0), seed=4)
    assert 1 <= row(compare_audits(one, two), "acr")["df"] < 30
    assert f"; it rests on about {row(compare_audits(one, two), 'acr')['df']:.0f} people." in str(
        compare_audits(one, two)
    )


# -- coverage ---------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """As much of a recourse table as the formulas read: NaN was approved, infinite has no action."""

    cost: list[float] | np.ndarray
    code: list[int] | np.ndarray

    def __post_init__(self) -> None:
        cost = np.asarray(self.cost)
        self.has_action, self.is_unfavourable = np.isfinite(cost), ~np.isnan(cost)
        self.effort = np.where(self.has_action, cost, np.nan)
        self.groups = Groups(("a", "b"), np.asarray(self.code, dtype=np.int16), (0,), 1)

    def __len__(self) -> int:
        return len(self.effort)


def world(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Who they are: group and what their lack is made of, by two models that refuse mostly the same people."""
    code = (rng.random(n) < 0.6).astype(int)
    common = rng.normal(0.8 - 0.5 * code, 1.0)
    return code, np.column_stack(
        [common + rng.normal(0, 0.3, n), 1.1 * common + 0.2 - 0.1 * code + rng.normal(0, 0.3, n)]
    )


def audited(code: np.ndarray, lack: np.ndarray) -> Table:
    cost = np.where(lack > 2.2, np.inf, lack)
    return Table(np.where(lack > 0, cost, np.nan), code)


@cache
def truth() -> np.ndarray:
    code, lack = world(np.random.default_rng(1), 2_000_000)
    return np.subtract(*(values(audited(code, lack[:, k])) for k in (1, 0)))


def values(table: Table) -> tuple[float, float]:
    mean, share = [], []
    for code in (0, 1):
        mine = table.groups.codes == code
        mean.append(np.nanmean(table.effort[mine]))
        share.append(table.has_action[mine].sum() / table.is_unfavourable[mine].sum())
    return float(np.log(mean[0] / mean[1])), float(share[1] - share[0])


@pytest.mark.parametrize("repetitions", [200, pytest.param(1000, marks=pytest.mark.verify)])
@pytest.mark.parametrize("kept", [1.0, 0.5, 0.0])
def test_the_intervals_hold_the_truth_in_95_percent(kept, repetitions):
    """The same people, half of them and others, audited with two models; 1,000 repetitions know it to 0.7 points."""
    rng, n = np.random.default_rng([5, int(10 * kept)]), 300
    true, held, paired_is_narrower = truth(), np.zeros(2), 0
    for _ in range(repetitions):
        (code, lack), (other_code, other_lack) = world(rng, n), world(rng, n)
        same = int(kept * n)
        code2 = np.append(code[:same], other_code[same:])
        first, second = audited(code, lack[:, 0]), audited(code2, np.append(lack[:same, 1], other_lack[same:, 1]))
        pairs = np.column_stack([np.arange(same), np.arange(same)])
        moved = np.subtract(values(second), values(first))
        psi = [log_ratio_values(table, "a", "b") for table in (first, second)]
        ratios = [change(moved[0], *psi, shared, 2 * n - same) for shared in (pairs, pairs[:0])]
        gaps = [gap_change(Gaps.of(first, second, shared, "a", "b")) for shared in (pairs, pairs[:0])]
        assert gaps[0].estimate == pytest.approx(moved[1])
        for k, (found, apart) in enumerate((ratios, gaps)):
            held[k] += found.limits[0] <= true[k] <= found.limits[1]
            paired_is_narrower += np.subtract(*found.limits) > 0.8 * np.subtract(*apart.limits)
    low, high = (930, 985) if repetitions == 1000 else (fewest(repetitions), most(repetitions, 0.95))
    assert ((low <= held) & (held <= high)).all()
    assert (paired_is_narrower / (2 * repetitions) > 0.9) == (kept == 1.0)
