"""How often the interval of AED holds the truth, in a world where the truth is known.

Run with `python benchmarks/equality_of_effort.py`, or with a number for fewer repetitions. Here E[Y(t)] = expit(t - c)
with c = 0.5 in one group and 0 in the other, so delta(gamma) = 0.5 for every gamma, hence AED = 0.5. A confounder x (of
Wang and Louis' bridge distribution, over which a logistic curve averages to a logistic curve) raises both treatment and
outcome. The equations know everybody's own noise; regression and weighting see t, x and y. Each repetition draws 300
people a group and 200 replicates. `step` is that of the grid; "straight" interpolates between its points; "default" are
the gammas that nobody gave. In people with x > 0, and in the 20 of each group nearest to x = 0, the truth is the same.

Then groups of few people against 300, and a grid that begins where some gammas are reached already.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

import equieffort as ee
from equieffort.data.frames import Bools, Floats
from equieffort.notions.bootstrap import REPLICATES
from equieffort.notions.huang.averaged import averaged, common_range
from equieffort.notions.huang.estimators import Counterfactual, Curves, Regressed, Weighted
from equieffort.notions.huang.minimum_effort import Gammas

REPETITIONS, PEOPLE, PHI, TRUTH = 500, 300, 0.8, 0.5
GRID = np.linspace(-3, 3.5, 27)
WIDE = np.linspace(-6, 6.5, 51)
"""Few people's own treatments that suffice lie far apart."""
EVERY = {0.25: 1, 1.0: 4}
GAMMAS: dict[str, Gammas | None] = {
    "0.3 to 0.7": ee.GammaRange(0.3, 0.7), "0.3, 0.4, ..., 0.7": (0.3, 0.4, 0.5, 0.6, 0.7), "default": None,
}  # fmt: skip
NEAREST, FEW = 20, (1, 2, 3, 5, 10, 20, 50)
Row = tuple[str, ...]
Side = tuple[Floats, int]
"""Curves, the first of the people themselves, then one a replicate; and how many people they are of."""
Found = dict[Row, list[tuple[float, float, float]]]


def group(
    rng: np.random.Generator, c: float, people: int = PEOPLE, grid: Floats = GRID
) -> tuple[Floats, dict[str, Curves]]:
    """x of people of one group, and the group as each way of finding E[Y(t)] sees it."""
    u = rng.random(people)
    x = np.log(np.sin(PHI * np.pi * u) / np.sin(PHI * np.pi * (1 - u))) / PHI
    t, noise = 0.5 * x + rng.normal(size=people), rng.logistic(size=people)
    y = ((t - c) / PHI + x + noise >= 0).astype(np.float64)
    outcomes = ((grid - c) / PHI + (x + noise)[:, None] >= 0).astype(np.float64)
    covariates = ((x - x.mean()) / (x.std() or 1.0))[:, None]
    return x, {
        "equations": Counterfactual(grid, outcomes),
        "regression": Regressed(grid, ee.ByRegression(), t, y, covariates),
        "weighting": Weighted(grid, ee.ByWeighting(), t, y, covariates),
    }


def again(rng: np.random.Generator, people: int) -> Floats:
    """How often everybody is drawn: once, and then in each replicate."""
    drawn = rng.multinomial(people, np.full(people, 1 / people), REPLICATES)
    return np.vstack([np.ones(people), drawn])


def compared(
    sides: list[Side], gammas: Gammas | None, grid: Floats = GRID, *, every: int = 1, straight: bool = False,
    start: int = 0,
) -> tuple[float, ...]:  # fmt: skip
    """AED and its limits, as an audit finds them; NaN where the two groups have no gamma in common."""
    curves, drawn = ([one[part, start::every] for one, _ in sides] for part in (0, slice(1, None)))
    asked = common_range(tuple(curves), tuple(drawn)) if gammas is None else gammas
    if asked is None:
        return np.nan, np.nan, np.nan
    whole = averaged(
        tuple(curves), tuple(drawn), (sides[0][1], sides[1][1]), grid[start::every], asked, 0.95,
        interpolate=straight, is_least=False,
    )  # fmt: skip
    return whole.aed, whole.low, whole.high


def one_world(rng: np.random.Generator) -> Iterator[tuple[Row, tuple[float, ...]]]:
    """Every way, grid and set of gammas among 300 people a group; then a part of them."""
    worlds = [group(rng, c) for c in (TRUTH, 0.0)]
    counts = [again(rng, PEOPLE) for _ in worlds]
    whole = np.ones(PEOPLE, dtype=bool)
    for way in worlds[0][1]:
        sides = [_side(ways[way], drawn, whole) for (_, ways), drawn in zip(worlds, counts, strict=True)]
        for step, every in EVERY.items():
            for how in ("steps", "straight"):
                for name, gammas in GAMMAS.items():
                    yield ("everybody", way, f"{step:g}", how, name), compared(
                        sides, gammas, every=every, straight=how == "straight"
                    )  # fmt: skip
        for level in ("x > 0", f"the {NEAREST} nearest"):
            chosen = [x > 0 if level == "x > 0" else _nearest(x) for x, _ in worlds]
            sides = [_side(w[way], d, m) for (_, w), d, m in zip(worlds, counts, chosen, strict=True)]
            for name, gammas in GAMMAS.items():
                yield (level, way, "0.25", "steps", name), compared(sides, gammas)


def _nearest(x: Floats) -> Bools:
    return np.asarray(np.argsort(np.argsort(np.abs(x))) < NEAREST)


def _side(curves: Curves, counts: Floats, members: Bools) -> Side:
    return curves.curves(np.arange(counts.shape[1]), counts, members), int(members.sum())


def few_people(rng: np.random.Generator) -> Iterator[tuple[Row, tuple[float, ...]]]:
    """Few people of one group against 300, or as few, by the equations; and a grid that begins too late."""
    for n in FEW:
        for against in (PEOPLE, n):
            sides = []
            for c, people in ((TRUTH, n), (0.0, against)):
                curves = group(rng, c, people, WIDE)[1]["equations"]
                sides.append(_side(curves, again(rng, people), np.ones(people, dtype=bool)))
            for name in ("default", "0.3 to 0.7"):
                yield (f"{n}", f"{against}", name), compared(sides, GAMMAS[name], WIDE)
    sides = []
    for c in (TRUTH, 0.0):
        curves = group(rng, c)[1]["equations"]
        sides.append(_side(curves, again(rng, PEOPLE), np.ones(PEOPLE, dtype=bool)))
    gammas = tuple(k / 10 for k in range(1, 8))
    yield ("grid from -1", f"{PEOPLE}", "0.1, 0.2, ..., 0.7"), compared(sides, gammas, start=8)


def show(head: str, found: Found) -> None:
    """`held`: of those with an interval; `held, of all`: where there is none it does not hold."""
    columns = f"{head} | mean AED | no interval | held | held, of all"
    print(f"\n| {columns} |\n|{' --- |' * (columns.count('|') + 1)}")
    for row, kept in found.items():
        aed, low, high = np.array(kept).T
        none, inside = np.isnan(low), (low <= TRUTH) & (high >= TRUTH)
        mean = f"{np.nanmean(aed):.3f}" if np.isfinite(aed).any() else "-"
        held = f"{inside[~none].mean() * 100:.1f} %" if not none.all() else "-"
        parts = [*row, mean, f"{none.mean() * 100:.1f} %", held, f"{inside.mean() * 100:.1f} %"]
        print(f"| {' | '.join(parts)} |")


def main(repetitions: int) -> None:
    rng, start = np.random.default_rng(2020), time.process_time()
    found: Found = {}
    small: Found = {}
    for _ in range(repetitions):
        for row, one in one_world(rng):
            found.setdefault(row, []).append(one)
        for row, one in few_people(rng):
            small.setdefault(row, []).append(one)
    print(
        f"{datetime.now(UTC).date()}: {repetitions} repetitions, {REPLICATES} replicates, {PEOPLE} people a group, "
        f"truth {TRUTH}"
    )
    show("who | E[Y(t)] by | step | between points | gammas", found)
    show("people | against | gammas", small)
    print(f"\nMonte Carlo error of a share of 95 %: {np.sqrt(0.95 * 0.05 / repetitions) * 100:.1f} points.", end=" ")
    print(f"{time.process_time() - start:.0f} s of CPU time.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
