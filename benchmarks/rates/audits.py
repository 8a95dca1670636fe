"""The paper's world with everything between data and verdict: `ee.audit` itself, its decisions and prices fixed."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

import equieffort as ee
from equieffort.effort.criteria import Criteria
from rates.cells import Cell, Found, Part, add, share, show_error, table
from rates.worlds import ALPHAS, LIMITS, SIZES, paper

SHOWN = ("acr", "rd", "restricted_effort", "needs_more", "median_effort", "burden", "impact_ratio")

# One unit of effort is one unit of X2, whoever is drawn.
UNIT = pd.DataFrame({"S": [0, 1], "X2": [0.0, 1.0], "X3": [0.0, 1.0]})


def audited(people: pd.DataFrame, alpha: float, limit: float, **more: Any) -> ee.Audit:
    """People of the paper's world, refused below the mean of X2 + X3; nobody may raise X2 by more than a limit."""
    feature = ee.Feature("actionable", lower=-np.inf, upper=np.inf, max_increase=None if limit == np.inf else limit)
    schema = ee.Schema(sensitive="S", protected=0, favourable=True, features={"X2": feature, "X3": "immutable"})
    classifier = ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3 + alpha / 2)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms={"X2": ee.Linear({"S": alpha}, 3.0)})
    return ee.audit(classifier, people, schema=schema, scm=scm, reference=UNIT, **more)


@cache
def _truth(alpha: float, limit: float) -> tuple[float, dict[str, float]]:
    world = paper(alpha, limit)
    return world.budget(), world.truth(world.budget())


def _count(cell: Cell, begin: int, end: int) -> Counter[str]:
    alpha, limit, n = cell
    budget, truth = _truth(alpha, limit)
    found = Counter[str]()
    for seed in range(begin, end):
        people, _ = ee.datasets.paper_synthetic(
            alpha, n, np.random.default_rng([7, int(alpha), limit < np.inf, n, seed])
        )
        made = audited(people, alpha, limit, criteria=Criteria(budget=budget))
        rows = made.measures.set_index("measure")
        for name in SHOWN:
            low, high = rows.loc[name, ["low", "high"]]
            if not isnan(low) and not isnan(high):
                add(found, name, low - 1e-9 <= truth[name] <= high + 1e-9)
        found[made.verdict.outcome] += 1
    return found


def _show(found: Found, repetitions: int) -> None:
    rows = [
        [paper(alpha, limit).name, f"{n:,}", *(share(counted, name, repetitions) for name in SHOWN),
         *(f"{100 * counted[name] / repetitions:.1f}" for name in ("unequal", "equal"))]
        for (alpha, limit, n), counted in found.items()
    ]  # fmt: skip
    print(f"\nThe same through ee.audit, in % ({repetitions:,} repetitions a cell)")
    table(["world", "n", *SHOWN, "unequal", "equal"], rows)
    show_error(0.95, repetitions)


PARTS = (
    Part(
        "audit", [(alpha, limit, n) for limit in LIMITS for alpha in ALPHAS for n in SIZES], _count, _show, 300,
        piece=100,
    ),
)  # fmt: skip
