"""Equations learned again and a model trained again, through `audit.resample`.

The truth is that of an endless sample of the whole procedure: learned equations and trained models have reached their
limits there, and the measures follow in closed form (a fine grid). One large audit, its equations or its model learned
from all of its people, checks the limits; its standard error of log acr is printed beside it.

procedure   The paper's world, labels drawn. A logistic regression of the labels on X2 and X3 is of the right form: its
            limit refuses below the mean of X2 + X3, and the effort is the deficit in X2.
equations   The linear world of von Kuegelgen et al. (2022): X1 = A/2 + U1, X2 = U2, X3 = (A + X1 - X2)/2 + U3. A fixed
            score X1 - X2 + X3 refuses below 0; X1 may be raised by at most 2, X3 follows, by least squares on its three
            causes. In the limit a raise of 1 gains 1.5, and a deficit above 3 has no recourse.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.effort.criteria import Criteria
from rates.audits import UNIT
from rates.cells import Cell, Found, Part, add, share, show_error, table
from rates.worlds import World, normal_group, paper

REPLICATES = 20
LARGE = 400_000
SHOWN = ("acr", "rd", "restricted_effort", "needs_more", "burden")
FEATURES = ["X2", "X3"]
FOUR = pd.DataFrame({"A": [-1, 1], "X1": [0.0, 1.0], "X2": [0.0, 1.0], "X3": [0.0, 1.0]})

LINEAR = World(
    "CAU linear", normal_group(1.25, sqrt(5.5), 3.0, 1 / 1.5), normal_group(-1.25, sqrt(5.5), 3.0, 1 / 1.5)
)  # fmt: skip


@cache
def _truth(world: Cell) -> tuple[str, float, dict[str, float]]:
    here = paper(*world[1:]) if world[0] == "procedure" else LINEAR
    return here.name, here.budget(), here.truth(here.budget())


def procedure(rng: Any, n: int, alpha: float, limit: float) -> tuple[ee.Audit, Any]:
    """An audit of a model that was trained on the audited people, and what trains it again."""
    people, labels = ee.datasets.paper_synthetic(alpha, n, rng)
    feature = ee.Feature("actionable", lower=-np.inf, upper=np.inf, max_increase=None if limit == np.inf else limit)
    schema = ee.Schema(sensitive="S", protected=0, favourable=1, features={"X2": feature, "X3": "immutable"})
    model = LogisticRegression().fit(people[FEATURES], labels)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(people)
    budget = _truth(("procedure", alpha, limit))[1]
    made = ee.audit(model, people, schema=schema, scm=scm, reference=UNIT, criteria=Criteria(budget=budget))
    return made, ee.Procedure(people[FEATURES], labels, replicates=REPLICATES)


def equations(rng: Any, n: int) -> tuple[ee.Audit, Any]:
    """An audit whose equations were learned from the audited people, and what learns them again."""
    world = ee.datasets.fair_recourse("CAU linear")
    people, _ = world.sample(n, rng)
    feature = ee.Feature("actionable", lower=-np.inf, upper=np.inf, max_increase=2.0)
    schema = ee.Schema(
        sensitive="A", protected=-1, favourable=True, features={"X1": feature, "X2": "immutable", "X3": "mutable"}
    )
    classifier = ee.LinearScore({"X1": 1.0, "X2": -1.0, "X3": 1.0}, threshold=0.0)
    scm = ee.StructuralCausalModel(world.graph).fit(people)
    budget = _truth(("equations",))[1]
    made = ee.audit(classifier, people, schema=schema, scm=scm, reference=FOUR, criteria=Criteria(budget=budget))
    return made, ee.Equations(REPLICATES)


def _made(rng: Any, n: int, world: Cell) -> tuple[ee.Audit, Any]:
    return procedure(rng, n, *world[1:]) if world[0] == "procedure" else equations(rng, n)


def _count(cell: Cell, begin: int, end: int) -> Counter[str]:
    *world, n = cell
    truth, found = _truth(tuple(world))[2], Counter[str]()
    for seed in range(begin, end):
        where = [int(x) if np.isfinite(x) else 0 for x in world[1:]]
        made, how = _made(np.random.default_rng([9, len(world), *where, n, seed]), n, tuple(world))
        rows = made.resample(how).measures.set_index(["chance", "measure"])
        for chance in ("people", world[0]):
            for name in SHOWN:
                low, high = rows.loc[(chance, name), ["low", "high"]]
                if not isnan(low) and not isnan(high):
                    add(found, f"{chance} {name}", low - 1e-9 <= truth[name] <= high + 1e-9)
    return found


def _show(found: Found, repetitions: int) -> None:
    chance = next(iter(found))[0]
    print(
        f"\nCoverage of 95 % intervals under the chance of {chance}, in % ({repetitions:,} repetitions a cell, "
        f"{REPLICATES} replicates each)"
    )
    rows = []
    for (*world, n), counted in found.items():
        for kind in (chance, "people"):
            shares = [share(counted, f"{kind} {name}", repetitions) for name in SHOWN]
            rows.append([_truth(tuple(world))[0], f"{n:,}", kind, *shares])
    table(["world", "n", "interval", *SHOWN], rows)
    show_error(0.95, repetitions)
    print(f"\nThe truth, and one audit of {LARGE:,} people")
    rows = []
    for world in dict.fromkeys(cell[:-1] for cell in found):
        name, _, truth = _truth(world)
        rows.append([name, "truth", *(f"{truth[name]:.4f}" for name in SHOWN), ""])
        one = _made(np.random.default_rng(1), LARGE, world)[0].measures.set_index("measure")
        log = np.log(one.loc["acr", "high"] / one.loc["acr", "low"]) / 3.92
        rows.append([name, "audit", *(f"{one.loc[name, 'estimate']:.4f}" for name in SHOWN), f"{log:.4f}"])
    table(["world", "", *SHOWN, "error of log acr"], rows)


PARTS = (
    Part("equations", [("equations", n) for n in (500, 2_000)], _count, _show, 1_000, piece=50),
    Part(
        "procedure", [("procedure", alpha, np.inf, n) for alpha in (2,) for n in (500, 2_000)], _count, _show, 1_000,
        piece=50,
    ),
)  # fmt: skip
