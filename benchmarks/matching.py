"""How often intervals of matched people hold the truth, and what matching takes: `python benchmarks/matching.py`.

The world: two features x1, x2 and a flag, group a shifted by `SHIFT` in x1. Given the features, an effort is
exp(x1 / 2 + flag / 4) times gamma noise, in group a `ratio` times as much; a route exists with probability
.85 - .1 tanh(x1), in group a less by `gap`. So among people who are alike the ratio of efforts is `ratio` and the gap
is `gap`, while those of all refused people are others. Where everybody has a route and the budget is far away, the
ratio of restricted efforts is `ratio` as well; with a budget and no difference it is 1.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np
import pandas as pd

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.effort.matching import Efforts, matched_readings
from equieffort.effort.matching.methods import Matchable

SHIFT = 0.5
METHODS = {
    "nearest": ee.NearestNeighbour(),
    "nearest, 3 each": ee.NearestNeighbour(k=3),
    "nearest, each once": ee.NearestNeighbour(replace=False),
    "optimal pairs": ee.OptimalPairs(),
    "coarsened, 10 parts": ee.CoarsenedExact(10),
}
WORLDS = {"equal": (1.0, 0.0, 3.0), "a needs more": (1.5, 0.1, 3.0), "a needs more, all have a route": (1.5, -1.0, 1e6)}
"""Name -> ratio, gap (-1: everybody has a route), budget."""


def people(n: int, m: int, rng: np.random.Generator) -> pd.DataFrame:
    """n refused people of group a and m of b."""
    a = np.repeat([1, 0], [n, m])
    return pd.DataFrame(
        {
            "a": a, "x1": rng.normal(size=n + m) + SHIFT * a, "x2": rng.normal(size=n + m),
            "flag": rng.integers(0, 2, n + m),
        }
    )  # fmt: skip


def efforts_of(X: pd.DataFrame, ratio: float, gap: float, rng: np.random.Generator) -> Efforts:
    """Least efforts, all known."""
    a, x = X["a"].to_numpy(), X["x1"].to_numpy()
    noise = rng.gamma(4, 0.25, len(X))
    effort = np.exp(x / 2 + X["flag"].to_numpy() / 4) * noise * np.where(a == 1, ratio, 1.0)
    if gap >= 0:
        effort[rng.random(len(X)) >= 0.85 - 0.1 * np.tanh(x) - gap * a] = np.nan
    least = np.where(np.isnan(effort), np.inf, effort)
    nobody = np.zeros(len(X), dtype=bool)
    return Efforts(effort, least, least, unknown=nobody, is_open=nobody)


def matchable(X: pd.DataFrame, n: int) -> Matchable:
    """Both sides of a table."""
    schema = ee.Schema(sensitive="a", protected=1, favourable=1, features={"x1": ee.Feature("immutable")})
    rows = np.arange(len(X))
    return Matchable(X, Encoding.of(X, ["x1", "x2", "flag"]), schema, rows[:n], rows[n:])


def coverage(sizes: list[tuple[int, int]], repetitions: int) -> None:
    """Shares of repetitions in which the 95 % interval holds the truth, and the mean estimate."""
    print(f"{repetitions:,} repetitions; per cent of intervals that hold the truth (mean estimate)")
    print(
        f"{'refused':>11}  {'world':<32}{'matched by':<22}{'ACR':>14}{'RD, points':>16}{'restricted':>15}{'matched':>9}"
    )
    for n, m in sizes:
        for world, (ratio, gap, budget) in WORLDS.items():
            for name, (held, mean, share) in _runs(n, m, ratio, gap, budget, repetitions).items():
                cells = [
                    f"{100 * held[k]:.1f} ({mean[k] * (100 if k == 'rd' else 1):.3g})" if k in held else "-"
                    for k in ("acr", "rd", "restricted_effort")
                ]
                cell = f"{cells[0]:>14}{cells[1]:>16}{cells[2]:>15}"
                print(f"{n:>5} {m:>5}  {world:<32}{name:<22}{cell}{100 * share:>8.0f}%", flush=True)


def _runs(n: int, m: int, ratio: float, gap: float, budget: float, repetitions: int) -> dict[str, tuple]:
    held, values, shares = (defaultdict(lambda: defaultdict(list)) for _ in range(3))
    truth = {"acr": ratio, "rd": max(gap, 0.0)}
    if ratio == 1 or gap < 0:
        truth["restricted_effort"] = ratio
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X = people(n, m, rng)
        efforts, both = efforts_of(X, ratio, gap, rng), matchable(X, n)
        for name, method in METHODS.items():
            sets = ee.Matching(method).match(both).sets
            shares[name]["all"].append(len(sets.mine) / n)
            for one in matched_readings(sets, efforts, budget, 0.95):
                if one.measure in truth and not np.isnan(one.low):
                    held[name][one.measure].append(one.low <= truth[one.measure] <= one.high)
                    values[name][one.measure].append(one.estimate)
    return {
        name: (
            {k: float(np.mean(v)) for k, v in held[name].items()},
            {k: float(np.mean(v)) for k, v in values[name].items()},
            float(np.mean(shares[name]["all"])),
        )
        for name in METHODS
    }  # fmt: skip


def speed(sizes: list[int]) -> None:
    """Seconds of CPU by people a side."""
    print(f"{'refused a side':>15}" + "".join(f"{name:>22}" for name in METHODS) + "   seconds of CPU")
    for n in sizes:
        rng = np.random.default_rng(n)
        both = matchable(people(n, n, rng), n)
        cells = []
        for name, method in METHODS.items():
            if n > 20_000 and name == "optimal pairs":
                cells.append("-")
                continue
            start = time.process_time()
            ee.Matching(method).match(both)
            cells.append(f"{time.process_time() - start:.2f}")
        print(f"{n:>15,}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--sizes", default="60,60 150,300 500,500", help="refused people of both groups")
    parser.add_argument("--speed", default="1000 5000 20000 100000", help="refused people a side; empty for none")
    asked = parser.parse_args()
    coverage([tuple(map(int, pair.split(","))) for pair in asked.sizes.split()], asked.repetitions)
    if asked.speed:
        speed([int(n) for n in asked.speed.split()])
