"""How often intervals of neighbouring notions hold the truth: `python benchmarks/notion_intervals.py [--runs 500]`.

People are drawn from `ee.datasets.fair_recourse("CAU linear")`, where a group A starts behind. The model and the
equations are known: it approves where X1 - X2 + X3 + A/4 is positive. X1 and X3 can be raised by 2, X2 lowered by 0.8,
at prices of 1, 0.5 and 2 a unit, so that X3, which is named as no cause of the outcome, is what gaming pays for. Beside
the group everything then hangs on how much the score lacks, which is normal, so that the true values are integrals over
one normal density, worked out here by hand and without a solver; only the share of pairs is drawn (from 4 million).

Each run draws people anew. `held`: runs whose 95 % interval holds the truth, of those with an interval. The budget of
social burden and of FACTS is 2; FACTS is micro, each person with their own action. Huang's AED sets X1 from -5 to 5 in
steps of 0.1, read between them as straight, gamma from 0.3 to 0.7. Causal discrimination is also asked over a domain
that is declared, 1,000 inputs a run (`--only domain`). FACTS with one action for all, the
ratio with learned equations, and rewards by rank with situation testing have benchmarks of their own
(facts_intervals.py, twins.py, rewards.py); equality_of_effort.py has another world for AED. With `--few`
only how often few people name a side by a mean where the groups are equal.
"""

from __future__ import annotations

import argparse
import time
import warnings
from datetime import UTC, datetime
from math import inf, sqrt

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.data.frames import Bools, Floats
from equieffort.notions.base import NotionReading
from equieffort.notions.comparing import mean_gap, side_of
from equieffort.world.scales import Scale

READS_A = 0.25
PRICE = {"X1": 1.0, "X2": 2.0, "X3": 0.5}
MOST = {"X1": 2.0, "X2": 0.8, "X3": 2.0}
"""By how much each can be changed, X2 downwards."""
BUDGET, LIPSCHITZ, PAIRS = 2.0, 0.2, 4_000_000
WORLD = ee.datasets.fair_recourse("CAU linear")
SPREAD = sqrt(1.5**2 * 2 + 1)
"""Of the score within a group: 1.5 U1 - 1.5 U2 + U3."""
SHIFT = 0.5 + 0.75 + READS_A
"""The score's mean is SHIFT times A."""
EFFORTS = np.linspace(0.0, 10.0, 1_000_001)
"""Where the shares turned are compared; beyond the last nobody has a route."""
CFR = "counterfactual_fairness_ratio"
Key = tuple[str, str, str]
"""Notion, group, variant."""


class Unit(Scale):
    """Features in their own units, which do not depend on who was drawn."""

    def of(self, name: str, values: Floats) -> float:
        """One, whoever was drawn."""
        return 1.0


def lacks(gap: Floats, *, improve: bool = False) -> Floats:
    """The least cost of `gap` more score; infinite where nothing gives that much. Where X3 is left to follow, X1 and X2
    move it too and are worth 1.5 a unit; where it is set each feature is worth 1."""
    least = _filled(gap, ("X1", "X2"), 1.5)
    return least if improve else np.minimum(least, _filled(gap, ("X3", "X1", "X2"), 1.0))


def _filled(gap: Floats, cheapest_first: tuple[str, ...], worth: float) -> Floats:
    cost, left = np.zeros_like(gap), gap.copy()
    for name in cheapest_first:
        step = np.minimum(left / worth, MOST[name])
        cost, left = cost + PRICE[name] * step, left - worth * step
    return np.where(left > 1e-12, inf, cost)


def truths() -> dict[Key, float]:
    """What every notion is in the whole population, by integrals over the score in each group."""
    found: dict[Key, float] = {}
    effort, compared, twin_gap, turned, halfway = {}, {}, {}, {}, {}
    score = np.linspace(-8 * SPREAD, 8 * SPREAD, 2_000_001)
    for sign, group in ((-1, "-1"), (1, "1")):
        at = score + SHIFT * sign
        weight = norm.pdf(score / SPREAD)
        everybody = np.ones(len(at), dtype=bool)
        refused, gap = at <= 0, np.maximum(-at, 0.0)
        least, improving = lacks(gap), lacks(gap, improve=True)
        twin = at - 2 * SHIFT * sign
        twin_least = lacks(np.maximum(-twin, 0.0))

        def mean(values: Floats, of: Bools, weight: Floats = weight) -> float:
            return float((values[of] * weight[of]).sum() / weight[of].sum())

        has = refused & np.isfinite(least)
        effort[group] = mean(least, has)
        # Efforts grow with what is lacking, so that shares turned are running sums from the boundary on.
        near = np.argsort(gap[refused], kind="stable")
        growing, share = least[refused][near], np.cumsum(weight[refused][near]) / weight[refused].sum()
        halfway[group] = float(growing[np.searchsorted(share, 0.5)])
        turned[group] = np.interp(EFFORTS, growing[np.isfinite(growing)], share[np.isfinite(growing)], left=0.0)
        for how, is_so in (("stays", twin <= 0), ("turns", twin > 0)):
            if (has & is_so).any():
                found["effort_by_counterfactual_fairness", group, how] = mean(least, has & is_so)
        both = has & (twin <= 0) & np.isfinite(twin_least)
        compared[group] = float(weight[both].sum())
        twin_gap[group] = mean(np.abs(least - np.where(both, twin_least, 0.0)), both)
        deserving = weight * expit(2 * (at - READS_A * sign))
        found |= {
            (CFR, group, "refused"): mean((twin <= 0).astype(float), refused),
            (CFR, group, "everybody"): mean(((at <= 0) == (twin <= 0)).astype(float), everybody),
            ("causal_discrimination", group, "people"): mean(
                ((at <= 0) != (at - 2 * READS_A * sign <= 0)).astype(float), everybody
            ),
            ("boundary_distance", group, ""): mean(gap, refused) / sqrt(3 + READS_A**2),
            ("social_burden", group, ""): mean(np.minimum(least, BUDGET), everybody, deserving),
            ("preclusion", group, ""): mean((~np.isfinite(least)).astype(float), refused),
            ("improvement_extra", group, ""): mean(improving - np.where(has, least, 0.0), has & np.isfinite(improving)),
            ("improvement_lost", group, ""): mean((~np.isfinite(improving)).astype(float), has),
            ("individual_recourse_gap", group, "mean"): twin_gap[group],
        }
        for name, worth in (("X1", 1.5), ("X2", 1.5), ("X3", 1.0)):
            found["responsiveness", group, name] = mean(np.maximum(1 - gap / (worth * MOST[name]), 0.0), refused)
    for notion, gap_of in GAPS.items():
        for variant in ("X1", "X2", "X3") if notion == "responsiveness" else ("",):
            found[gap_of, "-1", variant] = found[notion, "-1", variant] - found[notion, "1", variant]
    stays = [found[CFR, group, "refused"] for group in ("-1", "1")]
    found["counterfactual_fairness_gap", "-1", "refused"] = stays[1] - stays[0]
    found["boundary_gap", "-1", ""] = abs(found["boundary_distance", "-1", ""] - found["boundary_distance", "1", ""])
    found["group_recourse_gap", "-1", ""] = abs(effort["-1"] - effort["1"])
    apart = turned["1"] - turned["-1"]
    found |= {
        ("facts_effectiveness", "-1", ""): found["preclusion_gap", "-1", ""],
        ("facts_effectiveness_within_budget", "-1", ""): float(np.interp(BUDGET, EFFORTS, apart)),
        ("facts_cost_of_effectiveness", "-1", ""): halfway["-1"] - halfway["1"],
        ("facts_mean_recourse", "-1", ""): effort["-1"] - effort["1"],
        ("facts_trade_off", "-1", ""): float(np.abs(apart).max()),
        # Where X1 is set the score is 1.5 X1 and what is left: 0.75 A on average.
        **{("aed", "-1", how): 2 * (SHIFT - 0.75) / 1.5 for how in AED_BY},
    }
    # Over the domain A alone turns whoever is within READS_A of the boundary, and X1 - X2 + X3 is a sum of three
    # uniform numbers: near its middle the density of their sum in units of 2 END is 3/4 - t^2.
    near = READS_A / (2 * END)
    found["causal_discrimination", "", "domain"] = 2 * (0.75 * near - near**3 / 3)
    whole = sum(compared.values())
    found["individual_recourse_gap", "", "mean"] = sum(twin_gap[g] * compared[g] / whole for g in compared)
    return found | _of_pairs()


GAPS = {
    "social_burden": "social_gap", "preclusion": "preclusion_gap", "improvement_extra": "improvement_extra_gap",
    "improvement_lost": "improvement_lost_gap", "responsiveness": "responsiveness_gap",
}  # fmt: skip


def _of_pairs() -> dict[Key, float]:
    """The share of pairs that are scored too differently, of anybody and of one person of each group."""
    rng, violating, seen = np.random.default_rng(1), np.zeros(2), np.zeros(2)
    for _ in range(4):
        people = [WORLD.sample(PAIRS // 4, rng)[0].to_numpy() for _ in range(2)]
        chance = [expit(2 * (x[:, 1] - x[:, 2] + x[:, 3] + READS_A * x[:, 0])) for x in people]
        far = np.abs(people[0][:, 1:] - people[1][:, 1:]).sum(axis=1)
        broken, across = np.abs(chance[0] - chance[1]) > LIPSCHITZ * far, people[0][:, 0] != people[1][:, 0]
        violating += [broken.sum(), broken[across].sum()]
        seen += [len(broken), across.sum()]
    anybody, across_groups = violating / seen
    return {("awareness_share", "", ""): float(anybody), ("awareness_share", "-1", ""): float(across_groups)}


def known_model() -> LogisticRegression:
    """The decision rule as a model that has been fitted."""
    made = LogisticRegression()
    made.classes_, made.n_features_in_ = np.array([0, 1]), 4
    made.feature_names_in_ = np.array(["A", "X1", "X2", "X3"], dtype=object)
    made.coef_, made.intercept_ = 2 * np.array([[READS_A, 1.0, -1.0, 1.0]]), np.zeros(1)
    return made


SCHEMA = ee.Schema(
    sensitive="A", protected=-1, favourable=1,
    features={
        "X1": ee.Feature("actionable", direction="up", max_increase=MOST["X1"], lower=-inf, upper=inf),
        "X2": ee.Feature("actionable", direction="down", max_decrease=MOST["X2"], lower=-inf, upper=inf),
        "X3": ee.Feature("actionable", direction="up", max_increase=MOST["X3"], lower=-inf, upper=inf),
    },
)  # fmt: skip


END, INPUTS = 5.0, 1_000
"""Of the schema's domain where causal discrimination is asked over it: all three numbers plausibly lie within +-5."""


def over_domain(people: int, seed: int) -> list[NotionReading]:
    """Causal discrimination over so many inputs drawn from a domain that is declared, whoever the people are."""
    X, _ = WORLD.sample(people, seed)
    told = {name: ee.Feature("actionable", plausible=(-END, END)) for name in MOST}
    schema = ee.Schema(sensitive="A", protected=-1, favourable=1, features=told)
    audit = ee.audit(known_model(), X, schema=schema, scm=WORLD.scm)
    found = audit.causal_discrimination(draws=INPUTS, random_state=seed).domain
    return [NotionReading("causal_discrimination", "", parts=("domain",), **found.row(0.95))]


def one_run(people: int, seed: int, only: str = "") -> list[NotionReading]:
    """Every reading of one sample, or those of one family that is read with the others."""
    if only == "domain":
        return over_domain(people, seed)
    X, labels = WORLD.sample(people, seed)
    audit = ee.audit(
        known_model(), X, schema=SCHEMA, scm=WORLD.scm, cost=ee.WeightedL1(Unit(), weights=PRICE),
        criteria=ee.Criteria(budget=BUDGET),
    )  # fmt: skip
    if only == "aed":
        return aed(audit)
    if only:
        return list(audit.notions(labels=labels, only=[only]).readings)
    families = ["counterfactual", "fair_causal_recourse", "discrimination", "boundary", "social_burden", "facts"]
    found = list(audit.notions(labels=labels, only=[*families, "responsiveness"]).readings)
    found += aed(audit)
    far = audit.fairness_through_awareness(LIPSCHITZ, ee.Manhattan(scale=Unit()))
    found += over_domain(people, seed)
    return [*found, *audit.improvement_only(["X1", "X2"]).readings, *far.readings]


def aed(audit: ee.Audit) -> list[NotionReading]:
    """Huang's AED by each way of finding E[Y(t)]."""
    found = []
    for variant, by in AED_BY.items():
        study = audit.equality_of_effort(
            "X1", gammas=ee.GammaRange(0.3, 0.7), grid=np.linspace(-5, 5, 101), interpolate=True, by=by
        )  # fmt: skip
        found += [
            NotionReading("aed", row["group"], row["against"], variant, row["aed"], row["low"], row["high"])
            for row in study.aed.to_dict("records")
        ]
    return found


AED_BY: dict[str, ee.ByRegression | ee.ByWeighting | None] = {
    "": None, "by regression": ee.ByRegression(), "by weighting": ee.ByWeighting(),
}  # fmt: skip


def key_of(reading: NotionReading, truth: dict[Key, float]) -> Key | None:
    """Which true value a reading is of; None if of none."""
    exact = (reading.notion, reading.group, reading.variant)
    bare = (reading.notion, reading.group, "")
    return exact if exact in truth else bare if bare in truth and reading.notion in BARE else None


BARE = (
    "improvement_extra",
    "improvement_extra_gap",
    "improvement_lost",
    "improvement_lost_gap",
    "boundary_distance",
    "boundary_gap",
    "social_burden",
    "awareness_share",
    "facts_effectiveness",
    "facts_effectiveness_within_budget",
    "facts_cost_of_effectiveness",
    "facts_mean_recourse",
    "facts_trade_off",
)
"""Their variants say in which metric, which group is worst, what the causes are, or where the curves are apart."""


def few(draws: int = 1_000) -> None:
    """How often Welch's interval of few people against 300 names a side where efforts of 1, 2 or 3 have one law."""
    rng = np.random.default_rng(1)
    for n in (2, 3, 4, 5, 10, 20, 50):
        named = 0
        for _ in range(draws):
            mine, theirs = (side_of(rng.choice(3, size, p=(0.6, 0.3, 0.1)) + 1.0) for size in (n, 300))
            one = mean_gap(NotionReading("effort", "a", "b"), mine, theirs, 0.95)
            named += one.low > 0 or one.high < 0
        print(f"{n} against 300: {100 * named / draws:.1f} % of {draws:,} draws")


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--people", type=int, default=400)
    parser.add_argument("--only", default="", help="one family, such as social_burden, or aed, or domain")
    parser.add_argument("--few", action="store_true", help="only how often few people name a side")
    asked = parser.parse_args()
    if asked.few:
        few()
        return
    warnings.simplefilter("ignore")
    truth, start = truths(), time.process_time()
    kept: dict[Key, list[tuple[float, float, float]]] = {key: [] for key in truth}
    for seed in range(asked.runs):
        for reading in one_run(asked.people, seed, asked.only):
            key = key_of(reading, truth)
            if key is not None:
                kept[key].append((reading.estimate, reading.low, reading.high))
    print(f"{datetime.now(UTC).date()}, {asked.runs} runs, {asked.people} people")
    print(pd.DataFrame([_row(key, truth[key], kept[key]) for key in truth if kept[key]]).to_string(index=False))
    error = 100 * sqrt(0.95 * 0.05 / asked.runs)
    print(f"Monte Carlo error of a share of 95 %: {error:.1f} points. {time.process_time() - start:.0f} s of CPU time.")


def _row(key: Key, truth: float, kept: list[tuple[float, float, float]]) -> dict[str, str]:
    estimate, low, high = np.array(kept, dtype=float).reshape(-1, 3).T
    none = np.isnan(low) | np.isnan(high)
    held = ((low <= truth) & (truth <= high))[~none]
    return {
        "notion": key[0], "group": f"A = {key[1]}" if key[1] else "everybody", "variant": key[2] or "-",
        "truth": f"{truth:.4f}", "mean estimate": f"{np.nanmean(estimate):.4f}", "runs": str(len(estimate)),
        "held %": f"{100 * held.mean():.1f}" if len(held) else "-", "no interval": str(int(none.sum())),
    }  # fmt: skip


if __name__ == "__main__":
    main()
