"""How often intervals of rewards by rank, and of situation testing, hold the truth: `python benchmarks/rewards.py`.

Rewards: x is normal in two groups, women shifted by `SHIFT`, and approved from `CUT` on. By rank within the own group
the effort of a refused person is uniform between 0 and F(CUT) of their group, so that the share turned by at most delta
is min(1, delta / F(CUT)), and the mean effort F(CUT) / 2. Ranks are known, or those of the same people.

The paper's world: whole audits of `ee.datasets.paper_synthetic(1)`, X2 can be raised, and everybody is approved from
X2 + X3 = 3.5 on, with true values by integrals over X2 and X3.

Gains: x is made of two uniform pieces, women have 0.8 x - 0.3, and the score is 1.5 (x - 0.9), logistic for
probabilities. Percentiles are then straight lines with one bend, and beyond all people they go on as the audit's own
do, so that the gain that an effort of 0.25 brings, and the effort for a gain, have formulas, and their true means are
integrals over one uniform variable. Every 500th run also goes through the whole audit and its solver, which must
give the same gains, efforts and intervals.

Situation testing: x is uniform, and women are approved from 0.6 on, men from 0.5 on: a sixth of all refused women, and
nobody else, are discriminated. In the paper's world people with S = 0 are approved from X2 = 3.5 on, the others from
2.9 on; those between are discriminated.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from math import inf

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.notions import Audited, NotionReading
from equieffort.notions.rewards.chance import Moves, RankChance
from equieffort.notions.rewards.family import Rewards
from equieffort.notions.rewards.gains import Benefit, Efforts, Gained
from equieffort.notions.rewards.readings import decision_readings, gain_readings
from equieffort.notions.situation_testing import SituationTestingFamily
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups

SHIFT, CUT = -0.5, 0.3
ACTING = ee.Feature("actionable", lower=-9, upper=9)


def normal_people(n: int, seed: int) -> pd.DataFrame:
    """As many of either group."""
    rng = np.random.default_rng(seed)
    women = np.repeat([1, 0], n // 2)
    return pd.DataFrame({"woman": women, "x": rng.normal(size=len(women)) + SHIFT * women})


def known_ranks() -> pd.DataFrame:
    """People at the true quantiles of their group."""
    at = norm.ppf((np.arange(400) + 0.5) / 400)
    return pd.concat([pd.DataFrame({"woman": w, "x": at + SHIFT * w}) for w in (1, 0)], ignore_index=True)


ALPHA = 1.0
NEED = 3 + ALPHA / 2


@cache
def papers_refused(s: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Of the refused of a group S, over a grid of X2 and X3: their efforts, their weights, and everybody's weight."""
    z = np.linspace(-8, 8, 2001)
    weight, mean = np.outer(norm.pdf(z), norm.pdf(z)), 3 + ALPHA * s
    x2, x3 = np.meshgrid(z + mean, z, indexing="ij")
    refused = x2 + x3 < NEED
    effort = norm.cdf(NEED - x3 - mean) - norm.cdf(x2 - mean)
    return effort[refused], weight[refused], float(weight.sum())


@cache
def papers_truth(budget: float) -> dict[tuple[str, str], float]:
    """The groups' differences in what an effort of 0.25 turns, and in what the refused need, also at most a budget."""
    found: dict[str, dict[int, float]] = {"refused": {}, "everybody": {}, "effort": {}, "budget": {}}
    for s in (0, 1):
        effort, weight, everybody = papers_refused(s)
        turned = float(weight[effort <= 0.25].sum())
        found["refused"][s] = turned / float(weight.sum())
        found["everybody"][s] = turned / everybody
        found["effort"][s] = float(np.average(effort, weights=weight))
        found["budget"][s] = float(np.average(np.minimum(effort, budget), weights=weight))
    gap = {name: one[0] - one[1] for name, one in found.items()}
    return {
        ("bounded_reward_gap", "decision, refused, effort at most 0.25"): gap["refused"],
        ("bounded_reward_gap", "decision, everybody, effort at most 0.25"): gap["everybody"],
        ("threshold_reward_gap", "decision, with a route"): gap["effort"],
        ("threshold_reward_gap", "decision, at most the budget"): gap["budget"],
    }


def papers_world(n: int, seed: int, *, ranks_known: bool) -> Iterator[tuple[str, float, float, float]]:
    """The same of the paper's world, through the whole audit."""
    X, _ = ee.datasets.paper_synthetic(ALPHA, n, seed)
    at = norm.ppf((np.arange(1000) + 0.5) / 1000)
    known = pd.concat([pd.DataFrame({"S": s, "X2": at + 3 + ALPHA * s, "X3": at}) for s in (0, 1)], ignore_index=True)
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=True,
        features={"X2": ee.Feature("actionable", upper=inf), "X3": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms={"X2": ee.Linear({"S": ALPHA}, 3)}).fit(X)
    made = ee.audit(
        ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=NEED), X, schema=schema, scm=scm,
        cost=ee.Percentile(within="group"), reference=known.astype({"S": X["S"].dtype}) if ranks_known else None,
    )  # fmt: skip
    # The budget is that of the people at hand, and so is the truth beside it.
    budget = made.provenance.budget
    truth, named = papers_truth(budget), f"at most {budget:g}"
    for row in made.effort_rewards([0.25]).frame().to_dict("records"):
        key = str(row["notion"]), str(row["variant"]).replace(named, "at most the budget")
        if key in truth:
            yield ", ".join(key), float(row["low"]), float(row["high"]), truth[key]


KNOWN, SAME, GIVEN = "ranks known", "ranks of the same people", "ranks of the same people, taken as known"
SLOPE, LIMIT, DELTA, AT_MOST = 1.5, 0.9, 0.25, 0.15
WANTED: dict[Benefit, float] = {"score": 0.5, "probability": 0.1}
"""The gain whose least effort is read."""


def two_pieces(u: np.ndarray, woman: np.ndarray | int) -> np.ndarray:
    """x of people at these shares of their group."""
    x = np.where(u < 0.6, u / 0.6, 1 + 5 * (u - 0.6))
    return np.where(woman, 0.8 * x - 0.3, x)


class Ranks:
    """The share of reference people that a value overtakes, and the value that overtakes a share."""

    def __init__(self, values: np.ndarray) -> None:
        values, span = np.sort(values), np.ptp(values)
        shares = np.arange(1, len(values) + 1) / len(values)
        self.values = np.concatenate([[values[0] - 5 * span], values, [values[-1] + 5 * span]])
        self.shares = np.concatenate([[shares[0] - 5], shares, [shares[-1] + 5]])

    def share(self, values: np.ndarray) -> np.ndarray:
        """That these values overtake."""
        return np.interp(values, self.values, self.shares)

    def value(self, shares: np.ndarray) -> np.ndarray:
        """That overtake these shares."""
        return np.interp(shares, self.shares, self.values)


def gain_and_effort(x: np.ndarray, ranks: Ranks, benefit: Benefit) -> tuple[np.ndarray, np.ndarray]:
    """What an effort of DELTA brings people, and the least effort for the gain that is WANTED."""
    score, moved = SLOPE * (x - LIMIT), SLOPE * (ranks.value(ranks.share(x) + DELTA) - LIMIT)
    if benefit == "score":
        return moved - score, ranks.share(x + WANTED["score"] / SLOPE) - ranks.share(x)
    p = expit(score) + WANTED["probability"]
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(p < 1, logit(np.minimum(p, 1)) - score, np.inf) / SLOPE
    effort = np.where(np.isfinite(needed), ranks.share(x + np.where(np.isfinite(needed), needed, 0)), np.inf)
    return expit(moved) - expit(score), effort - ranks.share(x)


@cache
def gains_truth(benefit: Benefit, ranks_known: bool) -> dict[tuple[str, str], float]:
    """The groups' differences, by integrals over the share of one's group."""
    sides: dict[tuple[str, str], list[float]] = {}
    u = (np.arange(400_000) + 0.5) / 400_000
    wanted = f"{benefit} gain of {WANTED[benefit]:g}"
    for woman in (1, 0):
        at = (np.arange(400) + 0.5) / 400 if ranks_known else np.linspace(0, 1, 100_001)
        x = two_pieces(u, woman)
        gain, effort = gain_and_effort(x, Ranks(two_pieces(at, woman)), benefit)
        for name, among in (("refused", x < LIMIT), ("everybody", x == x)):
            route = among & np.isfinite(effort)
            for key, value in (
                (("bounded_gain_gap", f"{benefit}, {name}, effort at most {DELTA:g}"), gain[among].mean()),
                (("threshold_reward_gap", f"{wanted}, {name}, with a route"), effort[route].mean()),
                (("threshold_reward_gap", f"{wanted}, {name}, at most {AT_MOST:g}"),
                 np.minimum(effort, AT_MOST)[among].mean()),
            ):  # fmt: skip
                sides.setdefault(key, []).append(float(value))
    return {key: mine - theirs for key, (mine, theirs) in sides.items()}


def gains(n: int, seed: int, benefit: Benefit, ranks: str) -> Iterator[tuple[str, float, float, float]]:
    """Gains of score or probability, read of what each person gains and needs by the formulas."""
    ranks_known = ranks == KNOWN
    rng = np.random.default_rng(seed)
    woman, at = np.repeat([1, 0], n // 2), (np.arange(400) + 0.5) / 400
    X = pd.DataFrame({"woman": woman, "x": two_pieces(rng.random(len(woman)), woman)})
    known = pd.concat([pd.DataFrame({"woman": w, "x": two_pieces(at, w)}) for w in (1, 0)], ignore_index=True)
    x, reference = X["x"].to_numpy(), known if ranks_known else X
    gain, effort, after, reached, margin = (np.zeros(len(x)) for _ in range(5))
    for w in (1, 0):
        own, mine = Ranks(reference.loc[reference["woman"] == w, "x"].to_numpy()), woman == w
        gain[mine], effort[mine] = gain_and_effort(x[mine], own, benefit)
        reached[mine] = own.value(own.share(x[mine]) + DELTA)
        aside = [x[mine] + times * (reached[mine] - x[mine]) for times in (0.75, 1.25)]
        benefits = [SLOPE * one if benefit == "score" else expit(SLOPE * (one - LIMIT)) for one in aside]
        margin[mine] = (benefits[1] - benefits[0]) / (own.share(aside[1]) - own.share(aside[0]))
        after[mine] = own.value(own.share(x[mine]) + np.where(np.isfinite(effort[mine]), effort[mine], 0))
    has = np.isfinite(effort)
    status = np.where(has, Status.OPTIMAL, Status.INFEASIBLE).astype(np.int8)
    finite, rows = np.where(has, effort, np.nan), np.arange(len(x))
    efforts = Efforts(status, finite, np.where(has, effort, np.inf), np.full(len(x), np.nan))
    moves = Moves(x[:, None], np.where(has, after, x)[:, None], np.where(has, effort, 0.0)[:, None])
    efforts = replace(efforts, moves=moves)
    gained = Gained(benefit, {DELTA: (gain, gain)}, WANTED[benefit], efforts)
    if ranks == SAME:
        ends = Moves(x[:, None], reached[:, None], np.full((len(x), 1), DELTA))
        gained = replace(gained, chance=RankChance(x[:, None], woman, rows), margins={DELTA: (ends, margin)})
    found = gain_readings(audited(X, np.where(x < LIMIT, 1.0, np.nan)), gained, rows, x < LIMIT, "", AT_MOST)
    if seed % 500 == 0 and ranks != GIVEN:
        _checked(whole_audit(X, known if ranks_known else None, benefit), found, gain, effort)
    truth = gains_truth(benefit, ranks_known)
    for one in found:
        if (one.notion, one.variant) in truth:
            yield f"{one.notion}, {one.variant}", one.low, one.high, truth[one.notion, one.variant]


def whole_audit(X: pd.DataFrame, reference: pd.DataFrame | None, benefit: Benefit) -> Rewards:
    """The same through the audit and its solver."""
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array([False, True]), 1
    model.feature_names_in_, model.coef_ = np.array(["x"], dtype=object), np.array([[SLOPE]])
    model.intercept_ = np.array([-SLOPE * LIMIT])
    acting = ee.Feature("actionable", lower=-inf, upper=inf)
    schema = ee.Schema(sensitive="woman", protected=1, favourable=True, features={"x": acting})
    made = ee.audit(
        model, X, schema=schema, scm=ee.StructuralCausalModel([], nodes=["x"]).fit(X),
        cost=ee.Percentile(within="group"), reference=reference,
    )  # fmt: skip
    return made.effort_rewards([DELTA], benefit=benefit, gain=WANTED[benefit], budget=AT_MOST)


def _checked(found: Rewards, read: list[NotionReading], gain: np.ndarray, effort: np.ndarray) -> None:
    """Both ways say the same, person by person and, but for people who are met exactly, interval by interval."""
    columns = found.people.columns[-2:]
    assert np.allclose(found.people[columns[0]], gain, atol=2e-3)
    assert np.allclose(found.people[columns[1]].fillna(np.inf), effort, atol=1e-6)
    told = {(one.notion, one.group, one.variant): one for one in read}
    for one in found.readings:
        if isinstance(one, NotionReading):
            same = told[one.notion, one.group, one.variant]
            assert np.allclose([one.low, one.high], [same.low, same.high], atol=1e-2, equal_nan=True), (one, same)


class Source:
    """A source that knows the people alone."""

    def __init__(self, data: pd.DataFrame) -> None:
        self.data = data


def audited(X: pd.DataFrame, efforts: np.ndarray, problem: ee.RecourseProblem | None = None) -> Audited:
    """What notions read of people whose least efforts are known, NaN for the approved."""
    n, refused = len(X), ~np.isnan(efforts)
    groups = Groups(("0", "1"), X["woman"].to_numpy().astype(np.int16), (1,), 0, ("woman",))
    status = np.where(refused, Status.OPTIMAL, Status.NOT_NEEDED).astype(np.int8)
    table = RecourseTable(
        Source(X), groups, status, efforts, efforts, np.zeros((n, 0), dtype=bool), np.zeros((n, 0)),
        np.zeros((n, 0), dtype=np.int16),
    )  # fmt: skip
    return Audited(table, 0.95, None, problem)


def rewards(n: int, seed: int, known: pd.DataFrame | None) -> Iterator[tuple[str, float, float, float]]:
    """What was read, its interval, and the truth. With one feature the least effort is that of reaching the cut."""
    X = normal_people(n, seed)
    efforts = np.full(len(X), np.nan)
    for woman in (0, 1):
        reference = X if known is None else known
        values = reference["x"][reference["woman"] == woman].to_numpy()
        cost = ee.Percentile().bind(["x"], values[:, None], np.ones((1, 2)))
        rows = np.flatnonzero((X["woman"] == woman) & (X["x"] < CUT))
        facts = X["x"].to_numpy()[rows, None]
        efforts[rows] = cost.evaluate(facts, np.full_like(facts, CUT))
    made = audited(X, efforts)
    ranked, x = None, X["x"].to_numpy()[:, None]
    if known is None:
        refused = ~np.isnan(efforts)[:, None]
        moves = Moves(x, np.where(refused, CUT, x), np.where(refused, efforts[:, None], 0.0))
        ranked = RankChance(x, X["woman"].to_numpy(), np.arange(len(X))), moves
    found = decision_readings(made, made.table, np.arange(len(X)), "", [0.25], None, ranked)
    women, men = norm.cdf(CUT - SHIFT), norm.cdf(CUT)
    truth = {
        ("bounded_reward_gap", "decision, refused, effort at most 0.25"): 0.25 / women - 0.25 / men,
        ("bounded_reward_gap", "decision, everybody, effort at most 0.25"): 0.0,
        ("threshold_reward_gap", "decision, with a route"): (women - men) / 2,
    }
    for one in found:
        if (one.notion, one.variant) in truth:
            yield f"{one.notion}, {one.variant}", one.low, one.high, truth[one.notion, one.variant]


@cache
def unequal_rule() -> ee.RecourseProblem:
    """Women are approved from 0.6 on, men from 0.5 on."""
    X = pd.DataFrame({"woman": [1.0, 0.0] * 50, "x": np.linspace(0, 1, 100)})
    schema = ee.Schema(sensitive="woman", protected=1, favourable=True, features={"x": ACTING})
    scm = ee.StructuralCausalModel([], nodes=["x"]).fit(X)
    return ee.RecourseProblem.of(
        ee.LinearScore({"x": 1.0, "woman": -0.1}, threshold=0.5), X, schema=schema, scm=scm
    )  # fmt: skip


def situations(n: int, seed: int, tau: float) -> Iterator[tuple[str, float, float, float]]:
    """Of the refused women and their difference to men."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"woman": np.repeat([1.0, 0.0], n // 2), "x": rng.random(n // 2 * 2)})
    problem = unequal_rule()
    efforts = np.where(problem.decision.is_favourable(X), np.nan, 1.0)
    found = SituationTestingFamily().read(audited(X, efforts, problem), 5, tau).frame()
    women = found[(found["notion"] == "situation_discriminated") & (found["group"] == "1")]
    gaps = found[found["notion"] == "situation_discriminated_gap"]
    for name, part in (("share of women", women), ("difference", gaps)):
        for (_, row), truth in zip(part.iterrows(), (1 / 6, 0.1), strict=True):
            yield f"{name}, {row['variant']}", float(row["low"]), float(row["high"]), truth


READS_S = 0.6
"""So much more X2 a person with S = 0 must have, in the paper's world."""


def papers_situations(n: int, seed: int, tau: float) -> Iterator[tuple[str, float, float, float]]:
    """Of people with S = 0 and their difference to the others, where X2 and S decide."""
    X, _ = ee.datasets.paper_synthetic(ALPHA, n, seed)
    schema = ee.Schema(sensitive="S", protected=0, favourable=True, features={"X2": ACTING, "X3": "immutable"})
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms={"X2": ee.Linear({"S": ALPHA}, 3)}).fit(X)
    rule = ee.LinearScore({"X2": 1.0, "S": READS_S}, threshold=NEED)
    found = ee.audit(rule, X, schema=schema, scm=scm).situation_testing(5, tau).frame()
    refused, discriminated = norm.cdf(NEED - 3), norm.cdf(NEED - 3) - norm.cdf(NEED - READS_S - 3)
    own = found[(found["notion"] == "situation_discriminated") & (found["group"] == "0")]
    gaps = found[found["notion"] == "situation_discriminated_gap"]
    for name, part in (("share of S = 0", own), ("difference", gaps)):
        for row, truth in zip(part.to_dict("records"), (discriminated / refused, discriminated), strict=True):
            yield f"{name}, {row['variant']}", float(row["low"]), float(row["high"]), float(truth)


def main() -> None:
    """Shares of intervals that hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--only", help="parts, by the beginning of the names that they are printed with")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    known = known_ranks()
    makers = {
        KNOWN: lambda seed: rewards(given.people, seed, known),
        SAME: lambda seed: rewards(given.people, seed, None),
        "the paper's world, ranks known": lambda seed: papers_world(2 * given.people, seed, ranks_known=True),
        "the paper's world, ranks of the same people": lambda seed: papers_world(
            2 * given.people, seed, ranks_known=False
        ),
        **{
            f"gains of {benefit}, {ranks}": lambda seed, b=benefit, r=ranks: gains(given.people, seed, b, r)
            for benefit in WANTED
            for ranks in (KNOWN, SAME, GIVEN)
        },
        "situation testing": lambda seed: situations(2 * given.people, seed, 0.5),
        "situation testing, the paper's world": lambda seed: papers_situations(2 * given.people, seed, 0.5),
    }
    for name, make in makers.items():
        if not name.startswith(given.only or ""):
            continue
        held: dict[str, list[bool]] = {}
        start = time.process_time()
        for seed in range(given.runs):
            for what, low, high, truth in make(seed):
                held.setdefault(what, []).append(low <= truth <= high)
        for what, yes in held.items():
            print(f"{name}; {what}: {np.mean(yes):.3f} of {len(yes):,} intervals of 95 % hold the truth", flush=True)
        print(f"{datetime.now(UTC).date()}, {time.process_time() - start:.0f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
