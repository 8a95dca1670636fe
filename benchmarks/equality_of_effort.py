"""How often the interval of AED holds the truth, in a world where the truth is known.

Run with `python benchmarks/equality_of_effort.py`, or with a number for fewer repetitions. Here E[Y(t)] = expit(t - c)
with c = 0.5 in one group and 0 in the other, so delta(gamma) = 0.5 for every gamma, hence AED = 0.5. A confounder x (of
Wang and Louis' bridge distribution, over which a logistic curve averages to a logistic curve) raises both treatment and
outcome. The equations know everybody's own noise; regression and weighting see t, x and y. Each repetition draws 300
people a group and 200 replicates. `step` is that of the grid; "straight" interpolates between its points.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import equieffort as ee
from equieffort.notions.bootstrap import REPLICATES, limits_of
from equieffort.notions.huang.estimators import Counterfactual, Curves, Regressed, Weighted
from equieffort.notions.huang.minimum_effort import Gammas, average_difference

REPETITIONS, PEOPLE, PHI, TRUTH = 500, 300, 0.8, 0.5
GRID = np.linspace(-3, 3.5, 131)
EVERY = {0.05: 1, 0.25: 5, 1.0: 20}
GAMMAS: dict[str, Gammas] = {"0.3 to 0.7": ee.GammaRange(0.3, 0.7), "0.3, 0.4, ..., 0.7": (0.3, 0.4, 0.5, 0.6, 0.7)}


def group(rng: np.random.Generator, c: float) -> dict[str, Curves]:
    """People of one group, as each way of finding E[Y(t)] sees them."""
    u = rng.random(PEOPLE)
    x = np.log(np.sin(PHI * np.pi * u) / np.sin(PHI * np.pi * (1 - u))) / PHI
    t, noise = 0.5 * x + rng.normal(size=PEOPLE), rng.logistic(size=PEOPLE)
    y = ((t - c) / PHI + x + noise >= 0).astype(np.float64)
    outcomes = ((GRID - c) / PHI + (x + noise)[:, None] >= 0).astype(np.float64)
    covariates = ((x - x.mean()) / x.std())[:, None]
    return {
        "equations": Counterfactual(GRID, outcomes),
        "regression": Regressed(GRID, ee.ByRegression(), t, y, covariates),
        "weighting": Weighted(GRID, ee.ByWeighting(), t, y, covariates),
    }


def main(repetitions: int) -> None:
    rng, start = np.random.default_rng(2020), time.process_time()
    rows, everybody = np.arange(PEOPLE), np.ones(PEOPLE, dtype=bool)
    found: dict[tuple[str, float, str, str], list[tuple[float, float, float]]] = {}
    for _ in range(repetitions):
        sides = []
        for c in (TRUTH, 0.0):
            drawn = rng.multinomial(PEOPLE, np.full(PEOPLE, 1 / PEOPLE), REPLICATES)
            counts = np.vstack([np.ones(PEOPLE), drawn])
            sides.append({way: curves.curves(rows, counts, everybody) for way, curves in group(rng, c).items()})
        for way in sides[0]:
            for step, every in EVERY.items():
                mine, theirs = (side[way][:, ::every] for side in sides)
                for how in ("steps", "straight"):
                    for name, gammas in GAMMAS.items():
                        aed = average_difference(mine, theirs, GRID[::every], gammas, interpolate=how == "straight")[0]
                        low, high, _ = limits_of(float(aed[0]), aed[1:], 0.95)
                        found.setdefault((way, step, how, name), []).append((float(aed[0]), low, high))
    print(f"{repetitions} repetitions, {REPLICATES} replicates, {PEOPLE} people a group, truth {TRUTH}")
    print("| E[Y(t)] by | step | between points | gammas | mean AED | held | no interval |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (way, step, how, name), kept in found.items():
        aed, low, high = np.array(kept).T
        none = np.isnan(low)
        held = ((low <= TRUTH) & (high >= TRUTH))[~none]
        share = f"{held.mean() * 100:.1f} %" if len(held) else "-"
        print(f"| {way} | {step:g} | {how} | {name} | {np.nanmean(aed):.3f} | {share} | {int(none.sum())} |")
    print(f"Monte Carlo error of a share of 95 %: {np.sqrt(0.95 * 0.05 / repetitions) * 100:.1f} points.", end=" ")
    print(f"{time.process_time() - start:.0f} s of CPU time.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
