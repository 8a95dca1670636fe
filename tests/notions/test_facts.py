"""FACTS' six: macro against direct enumeration, micro against direct counts in the recourse table, intervals drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.chance import fewest
from tests.limits import unlimited
from tests.notions.route_worlds import cost_by_hand, refused_rows, world
from tests.samples import people as sampled

import equieffort as ee
from equieffort.effort.inference.orders import quantile_limits
from equieffort.effort.measures import Sample
from equieffort.errors import ParameterError
from equieffort.notions import Audited
from equieffort.notions.facts import Facts, FactsMacro
from equieffort.notions.facts.family import Mined
from equieffort.notions.facts.macro import Asked, macro_readings
from equieffort.notions.facts.micro import micro_readings
from equieffort.paper.extras import german_audit

SIX = (
    "effectiveness", "choice", "effectiveness_within_budget", "cost_of_effectiveness", "mean_recourse", "trade_off",
)  # fmt: skip


def audited(audit: ee.Audit) -> Audited:
    return audit._audited()


def enumerated(costs: list[list[float]], phi: float, c: float) -> dict[str, object]:
    """One side by the definitions, counting people one by one; efforts asked are all that occur."""
    n, m = len(costs), len(costs[0])

    def eff(a: int, most: float) -> Fraction:
        return Fraction(sum(1 for i in range(n) if costs[i][a] <= most and costs[i][a] < math.inf), n)

    def of(most: float) -> Fraction:
        return max(eff(a, most) for a in range(m))

    every = sorted({cost for row in costs for cost in row if cost < math.inf})
    steps, before = [], Fraction(0)
    for at in every:
        steps += [(of(at) - before, at)] if of(at) > before else []
        before = of(at)
    total = sum(gain for gain, _ in steps)
    return {
        "effectiveness": of(math.inf),
        "choice": sum(1 for a in range(m) if eff(a, math.inf) >= Fraction(str(phi))),
        "effectiveness_within_budget": of(c),
        "cost_of_effectiveness": next((at for at in every if of(at) >= Fraction(str(phi))), math.inf),
        "mean_recourse": sum(float(gain) * at for gain, at in steps) / float(total) if total else math.nan,
        "trade_off": of,
    }


@pytest.mark.parametrize(("phi", "budget"), [(0.3, 0.4), (0.7, 0.2)])
def test_macro_notions_are_those_of_a_direct_enumeration(phi, budget):
    audit, classifier = world(160)
    X, rows = audit.recourse.data, refused_rows(classifier, audit.recourse.data)
    actions = Mined.of(audited(audit)).actions
    assert len(actions) > 10
    found = {
        (one.notion, one.group): one for one in FactsMacro(phi=phi, budget=budget).readings(audited(audit))
    }  # fmt: skip
    sides = {}
    for group in "abc":
        mine = [row for row in rows if X["group"].iloc[row] == group]
        costs = [[cost_by_hand(classifier, X, row, action) for action in actions] for row in mine]
        sides[group] = (enumerated(costs, phi, budget), costs)
    b, costs_b = sides["b"]
    for group in "ac":
        a, costs_a = sides[group]
        for name in ("effectiveness", "choice", "effectiveness_within_budget"):
            expected = float(b[name] - a[name])
            assert found[f"facts_macro_{name}", group].estimate == pytest.approx(expected, abs=1e-12)
        for name in ("cost_of_effectiveness", "mean_recourse"):
            reading = found[f"facts_macro_{name}", group]
            if math.isinf(a[name]) and math.isinf(b[name]):
                assert math.isnan(reading.estimate)
                assert "UNREACHED" in reading.note
            else:
                assert reading.estimate == pytest.approx(a[name] - b[name], abs=1e-12)
        places = {cost for row in (*costs_a, *costs_b) for cost in row if cost < math.inf}
        gap = max(abs(b["trade_off"](at) - a["trade_off"](at)) for at in places)
        assert found["facts_macro_trade_off", group].estimate == pytest.approx(float(gap), abs=1e-12)
        one = found["facts_macro_effectiveness", group]
        assert (one.n, one.n_against) == (len(costs_a), len(costs_b))
        assert one.low <= one.estimate <= one.high


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_micro_notions_on_german_credit_are_direct_counts_in_the_table():
    audit = german_audit()
    frame = audit.recourse.frame()
    c = 0.15
    found = {one.notion.removeprefix("facts_"): one for one in Facts(phi=0.6, budget=c).readings(audited(audit))}
    assert set(found) == set(SIX) - {"choice"}
    efforts = {}
    for group in ("female", "male"):
        refused = frame[(frame["group"] == group) & (frame["status"] != "not_needed")]
        efforts[group] = [math.inf if status == "infeasible" else cost for status, cost in
                          zip(refused["status"], refused["cost"], strict=True)]  # fmt: skip
    a, b = efforts["female"], efforts["male"]
    assert (len(a), len(b)) == (31, 33)

    def share(side: list[float], most: float) -> Fraction:
        return Fraction(sum(1 for one in side if one <= most and one < math.inf), len(side))

    def turned(side: list[float]) -> list[float]:
        return [one for one in side if one < math.inf]

    def least(side: list[float]) -> float:
        return min(one for one in side if share(side, one) >= Fraction("0.6"))

    assert found["effectiveness"].estimate == pytest.approx(float(share(b, math.inf) - share(a, math.inf)))
    assert found["effectiveness_within_budget"].estimate == pytest.approx(float(share(b, c) - share(a, c)))
    assert found["cost_of_effectiveness"].estimate == pytest.approx(least(a) - least(b))
    means = [sum(turned(side)) / len(turned(side)) for side in (a, b)]
    assert found["mean_recourse"].estimate == pytest.approx(means[0] - means[1])
    assert (found["mean_recourse"].n, found["mean_recourse"].n_against) == (25, 30)
    gap = max(abs(share(b, at) - share(a, at)) for at in turned(a) + turned(b))
    assert found["trade_off"].estimate == pytest.approx(float(gap))
    assert found["trade_off"].variant.startswith("female lower at effort")
    assert found["effectiveness"].estimate == pytest.approx(
        audit.measures.query("measure == 'rd' and group == 'female'")["estimate"].item()
    )
    for one in found.values():
        assert one.low <= one.estimate <= one.high
        assert one.least == one.estimate == one.most


def test_people_not_solved_to_the_end_leave_a_certain_range():
    mine = sampled([1.0, 2.0], unknown=[0.5], gapped=[(1.5, 4.0)], infeasible=1)
    theirs = sampled([1.0, 1.0, 3.0], infeasible=1)
    found = {one.notion: one for one in micro_readings("a", "b", mine, theirs, 0.95, 0.6, 2.0)}
    assert all("UNCERTIFIED" in one.note.split() for one in found.values())
    capped = found["facts_effectiveness_within_budget"]
    # Within 2: found 2 of 5, at most 4 of 5 (the unknown, and the one whose bound is 1.5).
    assert [capped.estimate, capped.least, capped.most] == pytest.approx([0.5 - 0.4, 0.5 - 0.8, 0.5 - 0.4])
    cost = found["facts_cost_of_effectiveness"]
    # Three of five: 4 as found, 1.5 at least; theirs is the third of four.
    assert [cost.estimate, cost.least, cost.most] == [4.0 - 3.0, 1.5 - 3.0, 4.0 - 3.0]
    gap = found["facts_trade_off"]
    assert gap.least <= gap.estimate <= gap.most
    # As found 2/5 against 3/4 at effort 3. At effort 1 it is 2/5 at most against 2/4, whatever is open.
    assert gap.estimate == pytest.approx(0.35)
    assert gap.least == pytest.approx(0.1)
    settled = micro_readings("a", "b", theirs, theirs, 0.95, 0.6, 2.0)
    assert all("UNCERTIFIED" not in one.note for one in settled)


def test_the_certain_range_of_the_largest_gap_holds_whatever_is_open():
    rng = np.random.default_rng(4)
    for _ in range(30):
        bound, cost = rng.integers(0, 5, 4).astype(float), rng.integers(5, 9, 4).astype(float)
        known = rng.integers(1, 9, 5).astype(float)
        other = Sample.solved(rng.integers(1, 9, 6).astype(float))
        one = sampled(known, gapped=list(zip(bound, cost, strict=True)))
        gap = micro_readings("a", "b", one, other, 0.95, 0.5, 2.0)[-1]
        for _ in range(20):
            true = Sample.solved(
                np.concatenate([known, [rng.uniform(low, high) for low, high in zip(bound, cost, strict=True)]])
            )
            exact = micro_readings("a", "b", true, other, 0.95, 0.5, 2.0)[-1].estimate
            assert gap.least - 1e-12 <= exact <= gap.most + 1e-12


def test_edges_of_the_micro_notions():
    nobody, stuck, some = sampled(fine=3), sampled(infeasible=4), sampled([1.0, 2.0, 4.0])
    for one in micro_readings("a", "b", nobody, some, 0.95, 0.5, 1.0):
        assert math.isnan(one.estimate)
        assert one.note == "NO_REFUSED"
    found = {one.notion.removeprefix("facts_"): one for one in micro_readings("a", "b", stuck, some, 0.95, 0.5, 1.0)}
    assert found["effectiveness"].estimate == 1.0
    assert found["cost_of_effectiveness"].estimate == math.inf
    assert found["cost_of_effectiveness"].note == "UNREACHED"
    assert math.isnan(found["mean_recourse"].estimate)
    assert found["mean_recourse"].note == "NO_RECOURSE"
    assert found["trade_off"].estimate == 1.0
    both = {one.notion.removeprefix("facts_"): one for one in micro_readings("a", "b", stuck, stuck, 0.95, 0.5, None)}
    assert math.isnan(both["cost_of_effectiveness"].estimate)
    assert both["effectiveness_within_budget"].note == "NO_BUDGET"
    assert both["trade_off"].estimate == 0.0
    assert found["mean_recourse"].n_undefined == 4  # who has no route is in no mean, and counted
    alone = micro_readings("a", "b", sampled([1.0]), some, 0.95, 0.5, 1.0)
    assert all(math.isnan(one.low) and "TOO_FEW" in one.note for one in alone)


def test_edges_of_the_macro_notions():
    inf = math.inf
    costs = np.array([[1.0, inf], [2.0, inf], [inf, inf], [inf, inf], [math.nan, math.nan]])
    mine, theirs = np.array([1, 1, 0, 0, 1], dtype=bool), np.array([0, 0, 1, 1, 0], dtype=bool)
    found = {one.notion: one for one in macro_readings("a", "b", costs, mine, theirs, 0.95, Asked(0.5, None))}
    one = found["facts_macro_effectiveness"]
    assert (one.estimate, one.n, one.n_against, one.n_undefined) == (-1.0, 2, 2, 1)
    assert found["facts_macro_cost_of_effectiveness"].estimate == -inf
    assert found["facts_macro_mean_recourse"].note == "NO_RECOURSE"
    assert (found["facts_macro_mean_recourse"].n, found["facts_macro_mean_recourse"].n_undefined) == (2, 3)
    assert found["facts_macro_effectiveness_within_budget"].note == "NO_BUDGET"
    for one in macro_readings("a", "b", costs[:, :0], mine, theirs, 0.95, Asked(0.5, 1.0)):
        assert math.isnan(one.estimate)
        assert one.note == "NO_ACTIONS"
    for one in macro_readings("a", "b", costs, mine, theirs & False, 0.95, Asked(0.5, 1.0)):
        assert math.isnan(one.estimate)
        assert one.note == "NO_REFUSED"


def test_limits_of_a_quantile_hold_their_level():
    rng = np.random.default_rng(0)
    for n, share in ((12, 0.5), (40, 0.7), (25, 0.2)):
        draws = np.sort(rng.exponential(size=(4000, n)), axis=1)
        true = -math.log(1 - share)
        limits = np.array([quantile_limits(one, share, 1.959964) for one in draws])
        for misses in ((limits[:, 0] > true).mean(), (limits[:, 1] < true).mean()):
            assert misses <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 4000)
    assert quantile_limits(np.array([1.0, 2.0]), 0.5, 1.96) == (0.0, math.inf)


def test_intervals_of_cost_and_gap_hold_their_level():
    rng = np.random.default_rng(1)
    runs, kept = 400, {"facts_cost_of_effectiveness": 0, "facts_trade_off": 0}
    # Exponential efforts with means 1 and 1.5, a fifth and a tenth without a route.
    at = np.linspace(0, 12, 4001)
    true_gap = float(np.abs(0.9 * (1 - np.exp(-at)) - 0.8 * (1 - np.exp(-at / 1.5))).max())
    true_cost = -1.5 * math.log(1 - 0.5 / 0.8) + math.log(1 - 0.5 / 0.9)
    for _ in range(runs):
        mine = np.where(rng.random(60) < 0.2, math.inf, rng.exponential(1.5, 60))
        theirs = np.where(rng.random(80) < 0.1, math.inf, rng.exponential(1.0, 80))
        found = micro_readings("a", "b", Sample.solved(mine), Sample.solved(theirs), 0.95, 0.5, 1.0)
        for one in found:
            if one.notion in kept:
                true = true_gap if one.notion == "facts_trade_off" else true_cost
                kept[one.notion] += one.low <= true <= one.high
    for covered in kept.values():
        assert covered / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("runs", [20, pytest.param(60, marks=pytest.mark.verify)])
def test_macro_intervals_hold_about_their_level(runs):
    # Larger runs, more worlds: benchmarks/facts_intervals.py.
    rng = np.random.default_rng(2)
    kept = {"facts_macro_effectiveness": 0, "facts_macro_mean_recourse": 0, "facts_macro_trade_off": 0}
    p, q, price = np.array([0.2, 0.45, 0.75]), np.array([0.35, 0.6, 0.9]), np.array([0.1, 0.5, 1.0])
    means = [float((np.diff(one, prepend=0) * price).sum() / one[-1]) for one in (p, q)]
    truth = dict(zip(kept, (0.15, means[0] - means[1], 0.15), strict=True))
    side = np.arange(180) < 100
    for _ in range(runs):
        turned = np.where(side[:, None], rng.random((180, 3)) < p, rng.random((180, 3)) < q)
        for one in macro_readings("a", "b", np.where(turned, price, np.inf), side, ~side, 0.95, Asked(0.5, 0.5)):
            if one.notion in kept:
                kept[one.notion] += one.low <= truth[one.notion] <= one.high
    for covered in kept.values():
        assert covered >= fewest(runs)


def test_macro_intervals_of_few_people_say_that_they_are_short():
    rng = np.random.default_rng(3)
    for n, note in ((99, "FEW_DRAWN"), (100, "")):
        turned, side = rng.random((n + 120, 3)) < [0.2, 0.45, 0.75], np.arange(n + 120) < n
        readings = macro_readings("a", "b", np.where(turned, 1.0, np.inf), side, ~side, 0.95, Asked(0.5, 1.0))
        told = {one.notion: one.note for one in readings if not math.isnan(one.low)}
        assert told.pop("facts_macro_trade_off") == ""
        assert set(told.values()) == {note}


def test_the_trade_off_of_groups_that_are_alike_holds_its_level():
    """Both groups have one law, and few people (benchmarks/facts_intervals.py alike)."""
    rng, law, price = np.random.default_rng(4), [0.1, 0.3, 0.45, 0.6, 0.9], [0.1, 0.3, 0.45, 0.8, 1.2]
    side, held = np.arange(80) < 20, 0
    for _ in range(100):
        costs = np.where(rng.random((80, 5)) < law, price, np.inf)
        held += macro_readings("a", "b", costs, side, ~side, 0.95, Asked(0.4, 0.5))[-1].low == 0.0
    assert held >= 95 - 3 * math.sqrt(95 * 0.05)


def test_macro_intervals_need_ten_people_a_side():
    """All three of a group are often turned by some action: its spread is then none, and a side was named by chance."""
    rng = np.random.default_rng(3)
    for n, has_interval in ((3, False), (9, False), (10, True)):
        side = np.arange(n + 60) < n
        costs = np.where(rng.random((n + 60, 5)) < 0.5, 1.0, np.inf)
        readings = macro_readings("a", "b", costs, side, ~side, 0.95, Asked(0.4, 1.0))
        for one in readings:
            assert not math.isnan(one.estimate)
            assert has_interval or (math.isnan(one.low) and one.note == "TOO_FEW")
        assert any(not math.isnan(one.low) for one in readings) == has_interval


def test_where_all_of_few_people_are_turned_the_others_spread_is_not_all():
    """10 of 10 are turned, and 54 of 60: Newcombe's limits by hand, which hold 0."""
    side = np.arange(70) < 10
    costs = np.where(np.arange(70) % 70 < 64, 1.0, np.inf)[:, None]
    one = macro_readings("a", "b", costs, side, ~side, 0.95, Asked(0.5, 1.0))[0]
    z2 = 1.959963984540054**2
    lower_a = 10 / (10 + z2)
    centre, half = (54 + z2 / 2) / (60 + z2), math.sqrt(z2 * (54 * 6 / 60 + z2 / 4)) / (60 + z2)
    assert one.estimate == pytest.approx(-0.1)
    assert one.low == pytest.approx(-0.1 - math.hypot(0.9 - (centre - half), 0.0), abs=0.02)
    assert one.high == pytest.approx(-0.1 + math.hypot(centre + half - 0.9, 1 - lower_a), abs=1e-9)
    assert one.high > 0


def test_the_table_of_subgroups_is_that_of_direct_counts():
    audit, classifier = world(300)
    X, rows = audit.recourse.data, refused_rows(classifier, audit.recourse.data)
    table = audit.facts("effectiveness", min_people=8, min_support=0.05)
    frame = table.frame()
    assert len(frame) == 2 * len(table.subgroups) > 10
    actions = Mined.of(audited(audit), 0.05).actions
    by_hand = {row: [cost_by_hand(classifier, X, row, action) for action in actions] for row in rows}
    texts = [str(action) for action in actions]
    for one in table.subgroups:
        members = np.ones(len(X), dtype=bool) if one.rule == "everybody" else audit.members(one.rule)
        effs = []
        for side in (one.group, one.against):
            mine = [row for row in rows if members[row] and X["group"].iloc[row] == side.group]
            shares = [sum(by_hand[row][a] < math.inf for row in mine) / len(mine) for a in range(len(actions))]
            effs.append(max(shares))
            assert side.n == len(mine) >= 8
            assert side.value == side.effectiveness == pytest.approx(max(shares))
            a = texts.index(str(side.action))
            assert shares[a] == max(shares)
            paid = [by_hand[row][a] for row in mine if by_hand[row][a] < math.inf]
            assert side.cost == pytest.approx(sum(paid) / len(paid))
        assert one.score == pytest.approx(effs[1] - effs[0], abs=1e-12)
    sizes = [abs(one.score) for one in table.subgroups]
    assert sizes == sorted(sizes, reverse=True)
    keys = {one.rule for one in table.subgroups if one.against.group == "b" and one.group.group == "a"}
    assert "everybody" in keys
    assert len(keys) > 5


@pytest.mark.parametrize("notion", SIX)
def test_every_notion_has_a_table_with_words(notion):
    audit, _ = world()
    table = audit.facts(notion, min_people=8, phi=0.4)
    everybody = next(one for one in table.subgroups if one.rule == "everybody" and one.group.group == "a")
    reading = next(
        one for one in FactsMacro(phi=0.4).readings(audited(audit))
        if one.notion == f"facts_macro_{notion}" and one.group == "a"
    )  # fmt: skip
    size = abs(everybody.score) if notion == "trade_off" else everybody.score
    assert size == pytest.approx(reading.estimate, nan_ok=True)
    text = str(table)
    assert text.startswith(table.notion.title)
    assert "worse for group = " in text
    assert "the worst of all subgroups" in text


def test_the_micro_table_reads_the_recourse_table_and_needs_no_model(tmp_path):
    audit, _ = world()
    table = audit.facts("mean_recourse", viewpoint="micro", min_people=8)
    frame = audit.recourse.frame()
    for one in table.subgroups:
        members = np.ones(len(frame), dtype=bool) if one.rule == "everybody" else audit.members(one.rule)
        means = [
            frame.loc[members & (frame["group"] == side.group), "cost"].mean() for side in (one.group, one.against)
        ]
        assert one.score == pytest.approx(means[0] - means[1], nan_ok=True)
    audit.save(tmp_path / "a.audit")
    loaded = ee.load(tmp_path / "a.audit")
    again = loaded.facts("mean_recourse", viewpoint="micro", min_people=8)
    assert again.frame().equals(table.frame())
    with pytest.raises(ParameterError, match="read from a file") as raised:
        loaded.facts()
    assert raised.value.code == "AUDIT_LOADED"
    assert len(Facts().readings(audited(loaded))) == 10
    assert {type(one).__name__ for one in FactsMacro().readings(audited(loaded))} == {"NotApplicable"}


def test_notions_of_an_audit_hold_both_families_and_survive_its_file(tmp_path):
    audit, _ = world()
    kept = audit.with_notions()
    frame = kept.notions(only=["facts", "facts_macro"]).frame()
    assert len(frame) == 2 * (5 + 6)
    kept.save(tmp_path / "a.audit")
    again = ee.load(tmp_path / "a.audit").notions(only=["facts", "facts_macro"]).frame()
    assert again.equals(frame)


def test_groups_against_everybody_else_and_in_pairs():
    audit, _ = world(300, reference=ee.Rest())
    table = audit.facts(viewpoint="micro", notion="mean_recourse", min_people=5)
    frame = audit.recourse.frame()
    whole = {one.group.group: one for one in table.subgroups if one.rule == "everybody"}
    assert set(whole) == {"a", "b", "c"}
    for group, one in whole.items():
        assert one.against.group == "everybody else"
        means = [frame.loc[side, "cost"].mean() for side in (frame["group"] == group, frame["group"] != group)]
        assert one.score == pytest.approx(means[0] - means[1])
    assert "everybody else" in str(table)
    macro = audit.notions(only=["facts_macro"]).frame()
    assert set(macro["group"]) == {"a", "b", "c"}
    score = {one.group.group: one.score for one in audit.facts(min_people=5).subgroups if one.rule == "everybody"}
    for row in macro.query("notion == 'facts_macro_effectiveness'").itertuples():
        assert row.estimate == pytest.approx(score[row.group])
    assert set(audit.group_routes(max_routes=1).front["group"]) == {"a", "b", "c"}
    pairs, _ = world(300, reference=ee.AllPairs())
    found = {(one.group.group, one.against.group) for one in pairs.facts(min_people=5).subgroups}
    assert found == {("a", "b"), ("a", "c"), ("b", "c")}
    assert set(pairs.group_routes(max_routes=1).front["group"]) == {"a", "b", "c"}


def test_nobody_refused_in_a_group():
    import pandas as pd

    X = pd.DataFrame({"s": ["a"] * 5 + ["b"] * 5, "x": [-1.0, -2, -3, 1, 2, 3, 1, 2, 4, 5]})
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    audit = ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm)
    for family in (Facts(), FactsMacro()):
        for one in family.readings(audited(audit)):
            assert math.isnan(one.estimate)
            assert one.note == "NO_REFUSED"
    (one,) = audit.facts().subgroups
    assert math.isnan(one.score)
    assert "not defined" in str(audit.facts())


@pytest.mark.parametrize(
    "wrong",
    [
        {"notion": "fairness"}, {"viewpoint": "meso"}, {"phi": 0}, {"phi": 2}, {"min_support": 0}, {"budget": -1},
        {"min_people": 0}, {"max_conditions": 1.5}, {"max_features": 0}, {"notion": "choice", "viewpoint": "micro"},
    ],
)  # fmt: skip
def test_wrong_questions_are_refused(wrong):
    audit, _ = world(80)
    with pytest.raises(ParameterError) as raised:
        audit.facts(**wrong)
    assert raised.value.code == "PARAMETER"


def test_what_a_table_shows_of_each_side():
    audit, _ = world(300)
    table = audit.facts("choice", phi=0.3, min_people=8)
    codes, labels = audit.recourse.groups.codes[audit.recourse.is_unfavourable], audit.recourse.groups.labels
    for one in table.subgroups:
        for side in (one.group, one.against):
            assert side.coverage == pytest.approx(side.n / int((codes == labels.index(side.group)).sum()))
            assert len(side.choices) == side.value == len(set(side.choices))
            assert not side.choices or side.choices[0] == side.action
    assert max(len(one.group.choices) for one in table.subgroups) > 1
    frame, text = table.frame(), str(table)
    first = next(one for one in table.subgroups if one.worse)
    assert frame["choices"].str.count(";").max() > 0
    assert f"{first.group.n} refused, {100 * first.group.coverage:.0f} % of all" in text
    assert "to choose from; most effective: " in text
    assert "     also: " in text


def test_a_table_without_any_difference_says_so_and_lists_no_worst():
    audit, _ = world(300)
    effective = audit.facts("effectiveness", viewpoint="micro", min_people=8)
    equal = replace(effective, subgroups=tuple(replace(one, score=0.0) for one in effective.subgroups))
    text = str(equal)
    assert f"no difference in any of {len(equal.subgroups)} subgroups" in text
    assert "worst" not in text
    # What is not defined is never taken for equal.
    some = replace(equal, subgroups=(*equal.subgroups, replace(equal.subgroups[0], score=math.nan)))
    assert "in 1 of them it is not defined" in str(some)
    # Equal ones stay in the frame, but not among the worst.
    both = replace(effective, subgroups=(effective.subgroups[0], *equal.subgroups))
    shown = str(both)
    assert "1. " in shown
    assert "2. " not in shown
    assert f"{len(equal.subgroups)} more in frame()" in shown
