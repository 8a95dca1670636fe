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

import numpy as np
import pandas as pd
from scipy.stats import norm

import equieffort as ee

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


def rewards(n: int, seed: int, known: pd.DataFrame | None) -> Iterator[tuple[str, float, float, float]]:
    """What was read, its interval, and the truth."""
    X = normal_people(n, seed)
    schema = ee.Schema(sensitive="woman", protected=1, favourable=True, features={"x": ACTING})
    audit = ee.audit(
        ee.LinearScore({"x": 1.0}, threshold=CUT), X, schema=schema, reference=known,
        scm=ee.StructuralCausalModel([], nodes=["x"]).fit(X), cost=ee.Percentile(knots=41, within="group"),
    )  # fmt: skip
    found = audit.effort_rewards([0.25]).frame().set_index(["notion", "variant"])
    women, men = norm.cdf(CUT - SHIFT), norm.cdf(CUT)
    truth = {
        ("bounded_reward_gap", "decision, refused, effort at most 0.25"): 0.25 / women - 0.25 / men,
        ("bounded_reward_gap", "decision, everybody, effort at most 0.25"): 0.0,
        ("threshold_reward_gap", "decision, with a route"): (women - men) / 2,
    }
    for key, value in truth.items():
        row = found.loc[key]
        yield f"{key[0]}, {key[1]}", float(row["low"]), float(row["high"]), float(value)


def situations(n: int, seed: int, tau: float) -> Iterator[tuple[str, float, float, float]]:
    """Of the refused women and their difference to men."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"woman": np.repeat([1.0, 0.0], n // 2), "x": rng.random(n // 2 * 2)})
    schema = ee.Schema(sensitive="woman", protected=1, favourable=True, features={"x": ACTING})
    audit = ee.audit(
        ee.LinearScore({"x": 1.0, "woman": -0.1}, threshold=0.5), X, schema=schema,
        scm=ee.StructuralCausalModel([], nodes=["x"]).fit(X),
    )  # fmt: skip
    found = audit.situation_testing(k=5, tau=tau).frame()
    women = found[(found["notion"] == "situation_discriminated") & (found["group"] == "1.0")]
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
