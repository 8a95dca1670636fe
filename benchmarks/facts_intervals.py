"""How often intervals of FACTS' notions hold the truth: `python benchmarks/facts_intervals.py`.

With the word `alike`: the macro trade-off where both groups have the same law. With the word `few`: how often macro
intervals of few people name a side between groups with the same law.

Efforts of the refused are exponential (means 1.5 and 1), a fifth and a tenth have no route. Five actions turn a person
with a chance of their own in each group, each at a cost that is the same for everybody; so the true macro curves are
known. In the second world two actions are equally good, where the best of a sample is better than the truth.

Beside the trade-off's band its interval of before is shown, the spread of the largest gap over draws moved out by how
much draws exceed the sample; after the share of intervals that hold the truth comes their mean width. A number is the
runs a cell; with further words only that part: `python benchmarks/facts_intervals.py 400 macro`.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from math import exp, log

import numpy as np

from equieffort.effort.measures import Sample
from equieffort.notions.bootstrap import bootstrap_limits
from equieffort.notions.facts import curves, macro
from equieffort.notions.facts.macro import Asked, macro_readings
from equieffort.notions.facts.micro import micro_readings

PHI, BUDGET, SIZES = 0.4, 0.5, ((40, 40), (100, 80), (400, 300))
COSTS = np.array([0.1, 0.3, 0.45, 0.8, 1.2])
WORLDS = {
    "one best action": (np.array([0.05, 0.2, 0.35, 0.5, 0.75]), np.array([0.1, 0.3, 0.45, 0.6, 0.9])),
    "two equally good": (np.array([0.05, 0.2, 0.45, 0.7, 0.7]), np.array([0.1, 0.3, 0.5, 0.8, 0.8])),
}


def micro_truth() -> dict[str, float]:
    at = np.linspace(0, 15, 30_001)
    a, b = 0.8 * (1 - np.exp(-at / 1.5)), 0.9 * (1 - np.exp(-at))
    return {
        "facts_effectiveness": 0.1,
        "facts_effectiveness_within_budget": 0.9 * (1 - exp(-BUDGET)) - 0.8 * (1 - exp(-BUDGET / 1.5)),
        "facts_cost_of_effectiveness": -1.5 * log(1 - PHI / 0.8) + log(1 - PHI / 0.9),
        "facts_mean_recourse": 0.5,
        "facts_trade_off": float(np.abs(a - b).max()),
    }


def macro_truth(mine: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """Each action costs the same for everybody, so a curve steps where a dearer action is better."""
    curves = [np.maximum.accumulate(side) for side in (mine, theirs)]
    means = [float((np.diff(c, prepend=0) * COSTS).sum() / c[-1]) for c in curves]
    first = [float(COSTS[np.argmax(c >= PHI)]) for c in curves]
    return {
        "facts_macro_effectiveness": float(theirs.max() - mine.max()),
        "facts_macro_effectiveness_within_budget": float(
            curves[1][COSTS <= BUDGET][-1] - curves[0][COSTS <= BUDGET][-1]
        ),
        "facts_macro_choice": float((theirs >= PHI).sum() - (mine >= PHI).sum()),
        "facts_macro_cost_of_effectiveness": first[0] - first[1],
        "facts_macro_mean_recourse": means[0] - means[1],
        "facts_macro_trade_off": float(np.abs(curves[1] - curves[0]).max()),
    }


def before(costs: np.ndarray, side: np.ndarray) -> tuple[float, float]:
    """The macro trade-off's interval as it was until 19 November 2026."""
    seen: list[float] = []

    def largest(rows: np.ndarray) -> float:
        mine, theirs = (curves.macro_curve(costs[rows[side[rows] == which]]) for which in (True, False))
        seen.append(abs(curves.largest_gap(mine, theirs)[0]))
        return seen[-1]

    low, high, _ = bootstrap_limits(largest, side.astype(int), 0.95)
    excess = float(np.mean(seen[1:])) - seen[0]
    return max(0.0, low - max(0.0, excess)), min(1.0, high - min(0.0, excess))


def alike(runs: int = 400) -> None:
    """The macro trade-off's interval and that of before, where both groups have the same law."""
    rng = np.random.default_rng(1)
    print(f"{datetime.now(UTC).date()}, {runs} runs a cell; both groups as the reference of the first world")
    law = WORLDS["one best action"][1]
    for n, m in ((20, 60), *SIZES):
        held = one_for_all(rng, (n, m), (law, law), runs)
        names = ("facts_macro_trade_off", "the same as it was before")
        show(f"{n} and {m} refused", {name: held[name] for name in names}, runs)


def few(runs: int = 100) -> None:
    """How often macro intervals of few people name a side, where both groups have the same law."""
    rng, macro.FEWEST = np.random.default_rng(1), 2
    laws = {name: theirs for name, (_, theirs) in WORLDS.items()} | {"five equally good": np.full(5, 0.5)}
    print(f"\n{runs} runs of each of {len(laws)} laws, the same in both groups; named a side, of those with one")
    for m in (60, 300):
        for n in (3, 5, 10, 20, 30, 50, 100):
            named: dict[str, list[bool]] = {}
            for law in laws.values():
                for _ in range(runs):
                    costs = np.where(rng.random((n + m, 5)) < law, COSTS, np.inf)
                    side = np.arange(n + m) < n
                    for one in macro_readings("a", "b", costs, side, ~side, 0.95, Asked(PHI, BUDGET)):
                        if not np.isnan(one.low) and one.notion != "facts_macro_trade_off":
                            named.setdefault(one.notion, []).append(one.low > 0 or one.high < 0)
            told = (f"{name.removeprefix('facts_macro_')} {np.mean(kept) * 100:.1f} %" for name, kept in named.items())
            print(f"{n} against {m}: {', '.join(told)}", flush=True)


Held = dict[str, list[tuple[bool, float]]]
"""For each notion whether intervals hold the truth, and how wide they are."""


def main(runs: int = 400, only: str = "") -> None:
    rng, start = np.random.default_rng(20261118), time.process_time()
    print(f"{datetime.now(UTC).date()}, {runs} runs a cell, nominal 95 %; of runs without an interval the number")
    for n, m in SIZES:
        if only != "macro":
            show(f"{n} and {m} refused", micro(rng, n, m, runs), runs)
        for world, (p, q) in WORLDS.items() if only != "micro" else ():
            show(f"{n} and {m} refused, {world}", one_for_all(rng, (n, m), (p, q), runs), runs)
    print(f"\nMonte Carlo error of a share of 95 %: {95**0.5 * (5 / runs) ** 0.5:.1f} points.", end=" ")
    print(f"{time.process_time() - start:.0f} s of CPU time.")


def micro(rng: np.random.Generator, n: int, m: int, runs: int) -> Held:
    truth, held = micro_truth(), Held()
    for _ in range(runs):
        a = np.where(rng.random(n) < 0.2, np.inf, rng.exponential(1.5, n))
        b = np.where(rng.random(m) < 0.1, np.inf, rng.exponential(1.0, m))
        for one in micro_readings("a", "b", Sample.solved(a), Sample.solved(b), 0.95, PHI, BUDGET):
            keep(held, one.notion, (one.low, one.high), truth[one.notion])
    return held


def one_for_all(
    rng: np.random.Generator, sizes: tuple[int, int], chances: tuple[np.ndarray, np.ndarray], runs: int
) -> Held:
    truth, held = macro_truth(*chances), Held()
    side = np.arange(sum(sizes)) < sizes[0]
    for _ in range(runs):
        turned = np.concatenate([rng.random((size, 5)) < p for size, p in zip(sizes, chances, strict=True)])
        costs = np.where(turned, COSTS, np.inf)
        for one in macro_readings("a", "b", costs, side, ~side, 0.95, Asked(PHI, BUDGET)):
            keep(held, one.notion, (one.low, one.high), truth[one.notion])
        keep(held, "the same as it was before", before(costs, side), truth["facts_macro_trade_off"])
    return held


def keep(held: Held, name: str, limits: tuple[float, float], truth: float) -> None:
    kept = held.setdefault(name, [])
    if not np.isnan(limits[0]):
        kept.append((limits[0] <= truth <= limits[1], limits[1] - limits[0]))


def show(title: str, held: Held, runs: int) -> None:
    print(f"\n{title}", flush=True)
    for name, found in held.items():
        missing = f" ({runs - len(found)})" if len(found) < runs else ""
        share, width = np.mean(found, axis=0) if found else (np.nan, np.nan)
        print(f"  {name:44} {100 * share:5.1f} %, width {width:.2f}{missing}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["alike"]:
        alike(*map(int, sys.argv[2:]))
    elif sys.argv[1:2] == ["few"]:
        few(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
