"""How often intervals of rewards by rank, and of situation testing, hold the truth: `python benchmarks/rewards.py`.

Rewards: x is normal in two groups, women shifted by `SHIFT`, and approved from `CUT` on. By rank within the own group
the effort of a refused person is uniform between 0 and F(CUT) of their group, so that the share turned by at most delta
is min(1, delta / F(CUT)), and the mean effort F(CUT) / 2. Ranks are known, or those of the same people.

Situation testing: x is uniform, and women are approved from 0.6 on, men from 0.5 on: a sixth of all refused women, and
nobody else, are discriminated.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import norm

import equieffort as ee
from equieffort.notions import Audited
from equieffort.notions.rewards.readings import decision_readings
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
    found = decision_readings(made, made.table, np.arange(len(X)), "", [0.25], None)
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


def main() -> None:
    """Shares of intervals that hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--only", help="one part: ranks known, ranks of the same people, situation testing")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    known = known_ranks()
    makers = {
        "ranks known": lambda seed: rewards(given.people, seed, known),
        "ranks of the same people": lambda seed: rewards(given.people, seed, None),
        "situation testing": lambda seed: situations(2 * given.people, seed, 0.5),
    }
    for name, make in makers.items():
        if given.only not in (None, name):
            continue
        held: dict[str, list[bool]] = {}
        for seed in range(given.runs):
            for what, low, high, truth in make(seed):
                held.setdefault(what, []).append(low <= truth <= high)
        for what, yes in held.items():
            print(f"{name}; {what}: {np.mean(yes):.3f} of {len(yes):,} intervals of 95 % hold the truth", flush=True)


if __name__ == "__main__":
    main()
