"""Closed forms: intervals of every measure, and verdicts, of efforts that are drawn and not solved."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import isnan

import numpy as np

from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import judge_family, with_readings
from equieffort.effort.measures import MEASURES
from equieffort.effort.metrics import Comparison
from rates.cells import Cell, Found, Part, add, share, show_error, table
from rates.worlds import ALPHAS, COVERED, LIMITS, OTHERS, SIZES, Group, World, half_normal, paper, scaled

SIDES = {"unequal": ("ratio and gap on their thresholds", 0.85), "equal": ("ratio on its threshold, gap 0", 0.90)}
"""By the verdict that is wrong there: the world, and the share with recourse in the group."""


def simulate(world: World, n: int, repetitions: int, seed: int, criteria: Criteria) -> Counter[str]:
    """Draw people again and again; does each interval hold the truth, and what is the verdict?"""
    rng, budget = np.random.default_rng([13, seed, n]), world.budget()
    truth, found = world.truth(budget), Counter[str]()
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
                goal = measure.scale.to(truth[name])
                # Truths come from a fine grid, and an exact 0 may lie on an end.
                add(found, name, low - 1e-9 <= goal <= high + 1e-9)
        compared = with_readings(Comparison("a", "b", "protected", pair), criteria, judged)
        found[judge_family([compared], criteria, criteria.min_people)[0][0]] += 1
    return found


@cache
def world_of(kind: str, which: float, limit: float = np.inf) -> World:
    """The paper's world with an alpha, or one of the others by its number."""
    return paper(which, limit) if kind == "paper" else OTHERS[int(which)]


def _count(cell: Cell, begin: int, end: int) -> Counter[str]:
    kind, which, limit, n = cell
    # One generator serves a cell.
    seed = LIMITS.index(limit) * len(ALPHAS) + ALPHAS.index(which) if kind == "paper" else which
    return simulate(world_of(kind, which, limit), n, end, seed, Criteria())


def _show(found: Found, repetitions: int) -> None:
    head = ["world", "n", *COVERED, "unequal", "equal", "true acr", "true rd"]
    rows = []
    for (*which, n), counted in found.items():
        world = world_of(*which)
        truth = world.truth(world.budget())
        rows.append(
            [world.name, f"{n:,}", *(share(counted, name, repetitions) for name in COVERED),
             *(f"{100 * counted[name] / repetitions:.1f}" for name in ("unequal", "equal")),
             f"{truth['acr']:.3f}", f"{truth['rd']:.3f}"]
        )  # fmt: skip
    print(f"\nCoverage of 95 % intervals and share of verdicts, in % ({repetitions:,} repetitions a cell)")
    table(head, rows)
    show_error(0.95, repetitions)


def on_thresholds(wrong: str) -> World:
    """Everybody is refused, so that the numbers of refused people are those asked for, on average."""
    name, recourse = SIDES[wrong]
    return World(
        name,
        Group(0.5, 1 - 1e-12, scaled(half_normal, 1.25, recourse)),
        Group(0.5, 1 - 1e-12, scaled(half_normal, 1.0, 0.90)),
    )


def _count_boundary(cell: Cell, begin: int, end: int) -> Counter[str]:
    refused, wrong = cell
    return simulate(on_thresholds(wrong), 2 * refused, end, refused, Criteria())


def _show_boundary(found: Found, repetitions: int) -> None:
    print(f"\nWrong verdicts at the boundary, in % ({repetitions:,} repetitions a cell)")
    rows = [
        [SIDES[wrong][0], f"{refused:,}", wrong, f"{100 * counted[wrong] / repetitions:.1f}"]
        for (refused, wrong), counted in found.items()
    ]
    table(["world", "refused a group", "wrong is", "share"], rows)
    show_error(0.05, repetitions)


PARTS = (
    Part(
        "coverage", [("paper", alpha, limit, n) for limit in LIMITS for alpha in ALPHAS for n in SIZES],
        _count, _show, 4_000,
    ),
    Part("boundary", [(refused, wrong) for refused in (30, 100, 300, 1_000) for wrong in SIDES],
         _count_boundary, _show_boundary, 4_000),
    Part("others", [("others", which, np.inf, n) for which in range(len(OTHERS)) for n in SIZES[1:]],
         _count, _show, 4_000),
)  # fmt: skip
