"""How often intervals hold and verdicts are wrong, by simulation: `python benchmarks/error_rates.py [PART ...]`.

Parts: `coverage` (95 % intervals of every measure, and the verdicts of the same draws, in the paper's synthetic world),
`boundary` (groups whose measures lie exactly on their thresholds), `others` (two worlds that the formulas were not
chosen on), `audit` (the paper's world through `ee.audit` itself). Each table ends with its Monte Carlo error: one
standard error of a rate of 95 or 5 % with so many repetitions. `--repetitions N` changes how many a cell has.

What varies is who was drawn; decisions and prices stay as they are. The truth of each measure is that of an endless
sample, from 400,000 equally likely people a group.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

import equieffort as ee
from equieffort.effort.budget import default_budget
from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import judge_family, with_readings
from equieffort.effort.measures import MEASURES, Pair, Sample
from equieffort.effort.metrics import Comparison

GRID = 400_000
SIZES = (60, 200, 500, 2_000, 10_000)
ALPHAS = (0, 1, 2, 4)
COVERED = (
    "acr", "difference", "rd", "restricted_effort", "needs_more", "median_effort", "burden", "impact_ratio",
    "acr_always_min", "acr_always_max",
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """A share of all people, a rate of refusal, and the efforts of the refused by quantile (infinite: no recourse)."""

    share: float
    refused: float
    effort: Callable[[np.ndarray], np.ndarray]

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
        """Efforts of the refused among n people, and how many are approved."""
        refused = int(rng.binomial(n, self.refused))
        return self.effort(rng.random(refused)), n - refused

    def endless(self) -> tuple[np.ndarray, int]:
        """Equally likely people."""
        efforts = self.effort((np.arange(GRID) + 0.5) / GRID)
        return efforts, round(GRID * (1 - self.refused) / self.refused)


@dataclass(frozen=True)
class World:
    """A group against its reference."""

    name: str
    mine: Group
    theirs: Group

    def pair(self, rng: np.random.Generator, n: int, budget: float) -> Pair:
        """n people, drawn."""
        a = int(rng.binomial(n, self.mine.share / (self.mine.share + self.theirs.share)))
        return _pair(self.mine.draw(rng, a), self.theirs.draw(rng, n - a), budget)

    def budget(self) -> float:
        """The default budget of an endless sample."""
        efforts = [group.endless()[0] for group in (self.mine, self.theirs)]
        weights = [group.share * group.refused for group in (self.mine, self.theirs)]
        keep = [int(GRID * w / max(weights)) for w in weights]
        rng = np.random.default_rng(0)
        return default_budget(
            np.concatenate([rng.choice(e, k, replace=False) for e, k in zip(efforts, keep, strict=True)])
        )

    def truth(self, budget: float) -> dict[str, float]:
        """Every measure of an endless sample."""
        pair = _pair(self.mine.endless(), self.theirs.endless(), budget)
        return {name: MEASURES[name].estimate(pair) for name in COVERED}


def _pair(mine: tuple[np.ndarray, int], theirs: tuple[np.ndarray, int], budget: float) -> Pair:
    return Pair(Sample.solved(mine[0], mine[1], budget), Sample.solved(theirs[0], theirs[1], budget))


def paper(alpha: float, limit: float) -> World:
    """The paper's world: the deficit to the mean is normal with deviation sqrt 2, and is the effort."""

    def group(shift: float) -> Group:
        start = float(ndtr(-shift / sqrt(2)))

        def effort(u: np.ndarray) -> np.ndarray:
            deficit = shift + sqrt(2) * ndtri(start + u * (1 - start))
            return np.where(deficit > limit, np.inf, np.maximum(deficit, 1e-12))

        return Group(0.5, 1 - start, effort)

    name = f"alpha {alpha:g}, " + ("no limit" if limit == np.inf else f"limit {limit:g}")
    return World(name, group(alpha / 2), group(-alpha / 2))


def scaled(quantile: Callable[[np.ndarray], np.ndarray], factor: float, recourse: float) -> Callable[..., np.ndarray]:
    """Efforts by quantile; who has no recourse is independent of the effort it would take."""

    def effort(u: np.ndarray) -> np.ndarray:
        # One draw serves twice: whether there is recourse, and which effort.
        return np.where(u < recourse, factor * quantile(np.minimum(u / recourse, 1 - 1e-12)), np.inf)

    return effort


def half_normal(u: np.ndarray) -> np.ndarray:
    """|N(0, 1)|."""
    return ndtri((1 + u) / 2)


OTHERS = (
    # Chosen before any of their rates were looked at; neither was used to choose the formulas.
    World(
        "Weibull 1.3, 30 against 70 % of people",
        Group(0.3, 0.40, scaled(lambda u: (-np.log1p(-u)) ** (1 / 1.3), 1.4, 0.80)),
        Group(0.7, 0.25, scaled(lambda u: (-np.log1p(-u)) ** (1 / 1.3), 1.0, 0.92)),
    ),
    World(
        "half steps of one, half uniform up to 3; 20 against 80 % of people",
        Group(0.2, 0.50, scaled(lambda u: np.where(u < 0.5, 1.0 + np.floor(4 * u), 6 * (u - 0.5)), 1.0, 0.85)),
        Group(0.8, 0.50, scaled(lambda u: np.where(u < 0.6, 1.0 + np.floor(3 * u), 7.5 * (u - 0.6)), 1.0, 0.85)),
    ),
)


@dataclass
class Rates:
    """Counts of one cell."""

    held: Counter[str]
    asked: Counter[str]
    outcomes: Counter[str]
    repetitions: int

    def coverage(self, name: str) -> str:
        """In %, of the draws in which there was an interval; a dash where these are too few to tell."""
        if self.asked[name] < self.repetitions / 2:
            return "-"
        return f"{100 * self.held[name] / self.asked[name]:.1f}"

    def outcome(self, name: str) -> str:
        """In %."""
        return f"{100 * self.outcomes[name] / self.repetitions:.1f}"


def simulate(world: World, n: int, repetitions: int, seed: int, criteria: Criteria) -> Rates:
    """Draw people again and again; does each interval hold the truth, and what is the verdict?"""
    rng, budget = np.random.default_rng([13, seed, n]), world.budget()
    truth, rates = world.truth(budget), Rates(Counter(), Counter(), Counter(), repetitions)
    judged = [MEASURES[name] for name in criteria.judged]
    for _ in range(repetitions):
        pair = world.pair(rng, n, budget)
        for name in COVERED:
            measure = MEASURES[name]
            if isnan(measure.estimate(pair)) or min(measure.count(pair.mine), measure.count(pair.theirs)) < 2:
                continue
            law = measure.law(pair, 0.95)
            low, high = law.limits(0.95) if law is not None else (np.nan, np.nan)
            if not isnan(low) and not isnan(high):
                rates.asked[name] += 1
                goal = measure.scale.to(truth[name])
                # Truths come from a fine grid, and an exact 0 may lie on an end.
                rates.held[name] += bool(low - 1e-9 <= goal <= high + 1e-9)
        compared = with_readings(Comparison("a", "b", "protected", pair), criteria, judged)
        rates.outcomes[judge_family([compared], criteria, criteria.min_people)[0][0]] += 1
    return rates


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )


def error(rate: float, repetitions: int) -> str:
    """Monte Carlo error of a rate, in points."""
    return f"{100 * sqrt(rate * (1 - rate) / repetitions):.2f}"


def coverage(repetitions: int, worlds: Sequence[World] = (), sizes: Sequence[int] = SIZES) -> None:
    """Coverage and verdicts by world and number of people."""
    chosen = worlds or [paper(alpha, limit) for limit in (np.inf, 2.0) for alpha in ALPHAS]
    head = ["world", "n", *COVERED, "unequal", "equal", "true acr", "true rd"]
    rows = []
    for k, world in enumerate(chosen):
        truth = world.truth(world.budget())
        for n in sizes:
            found = simulate(world, n, repetitions, k, Criteria())
            rows.append(
                [world.name, f"{n:,}", *map(found.coverage, COVERED), found.outcome("unequal"), found.outcome("equal"),
                 f"{truth['acr']:.3f}", f"{truth['rd']:.3f}"]
            )  # fmt: skip
    print(f"\nCoverage of 95 % intervals and share of verdicts, in % ({repetitions:,} repetitions a cell)")
    table(head, rows)
    print(f"Monte Carlo error: {error(0.95, repetitions)} points at 95 %")


def boundary(repetitions: int) -> None:
    """Wrong verdicts where every judged measure lies exactly on its threshold, and where only the ratio does."""
    rows = []
    for refused in (30, 100, 300, 1_000):
        for name, recourse, outcome in (
            ("ratio and gap on their thresholds", (0.85, 0.90), "unequal"),
            ("ratio on its threshold, gap 0", (0.90, 0.90), "equal"),
        ):
            # Everybody is refused, so that the numbers of refused people are those asked for, on average.
            world = World(
                name,
                Group(0.5, 1 - 1e-12, scaled(half_normal, 1.25, recourse[0])),
                Group(0.5, 1 - 1e-12, scaled(half_normal, 1.0, recourse[1])),
            )
            found = simulate(world, 2 * refused, repetitions, refused, Criteria())
            rows.append([name, f"{refused:,}", outcome, found.outcome(outcome)])
    print(f"\nWrong verdicts at the boundary, in % ({repetitions:,} repetitions a cell)")
    table(["world", "refused a group", "wrong is", "share"], rows)
    print(f"Monte Carlo error: {error(0.05, repetitions)} points at 5 %")


def through_audit(repetitions: int, sizes: Sequence[int] = (60, 200, 500, 2_000)) -> None:
    """The paper's world with everything between data and verdict: the boundary and the prices are fixed."""
    rows = []
    for limit in (np.inf, 2.0):
        for alpha in ALPHAS:
            world = paper(alpha, limit)
            truth = world.truth(world.budget())
            for n in sizes:
                rows.append([world.name, f"{n:,}", *_audited(alpha, limit, n, repetitions, truth)])
    print(f"\nThe same through ee.audit ({repetitions:,} repetitions a cell)")
    table(["world", "n", "acr", "rd", "restricted_effort", "needs_more", "unequal", "equal"], rows)
    print(f"Monte Carlo error: {error(0.95, repetitions)} points at 95 %")


def _audited(alpha: float, limit: float, n: int, repetitions: int, truth: dict[str, float]) -> list[str]:
    shown = ("acr", "rd", "restricted_effort", "needs_more")
    held, asked, outcomes = Counter[str](), Counter[str](), Counter[str]()
    feature = ee.Feature("actionable", upper=np.inf, max_increase=None if limit == np.inf else limit)
    schema = ee.Schema(sensitive="S", protected=0, favourable=True, features={"X2": feature, "X3": "immutable"})
    classifier = ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3 + alpha / 2)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms={"X2": ee.Linear({"S": alpha}, 3.0)})
    budget = paper(alpha, limit).budget()
    # One unit of effort is one unit of X2, whoever is drawn.
    unit = pd.DataFrame({"S": [0, 1], "X2": [0.0, 1.0], "X3": [0.0, 1.0]})
    for seed in range(repetitions):
        people, _ = ee.datasets.paper_synthetic(alpha, n, seed)
        made = ee.audit(
            classifier, people, schema=schema, scm=scm.fit(people), reference=unit,
            criteria=Criteria(budget=budget),
        )  # fmt: skip
        rows = made.measures.set_index("measure")
        for name in shown:
            row = rows.loc[name]
            if not isnan(row["low"]):
                asked[name] += 1
                held[name] += bool(row["low"] - 1e-9 <= truth[name] <= row["high"] + 1e-9)
        outcomes[made.verdict.outcome] += 1
    rates = Rates(held, asked, outcomes, repetitions)
    return [*map(rates.coverage, shown), rates.outcome("unequal"), rates.outcome("equal")]


PARTS: dict[str, tuple[Callable[[int], Any], int]] = {
    "coverage": (coverage, 4_000),
    "boundary": (boundary, 4_000),
    "others": (lambda repetitions: coverage(repetitions, OTHERS, SIZES[1:]), 4_000),
    "audit": (through_audit, 300),
}


def main() -> None:
    """Run the parts asked for, by default all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--repetitions", type=int)
    given = parser.parse_args()
    print(f"{date.today()}, Python {sys.version.split()[0]}, numpy {np.__version__}, equieffort {ee.__version__}")
    for name in given.parts or list(PARTS):
        part, usual = PARTS[name]
        before = time.process_time()
        part(given.repetitions or usual)
        print(f"{time.process_time() - before:.0f} s of CPU")


if __name__ == "__main__":
    main()
