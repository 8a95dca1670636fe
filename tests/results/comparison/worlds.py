"""Small worlds whose audits are compared."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.results.comparison import AuditComparison


def people(n=80, seed=0, labels=("ash", "birch")) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    index = pd.Index([f"p{k:03d}" for k in range(n)], name="person")
    frame = {
        "group": np.array(labels)[np.arange(n) % 2],
        "income": rng.normal(4, 2, n).round(3),
        "savings": rng.normal(0, 1, n).round(3),
        "job": rng.choice(["cook", "smith"], n),
    }
    return pd.DataFrame(frame, index=index)


REFERENCE = pd.DataFrame({"income": [0.0, 10.0], "savings": [-4.0, 4.0]})


def made(X=None, *, threshold=6.0, weights=None, reference=REFERENCE, cost=None, limit=4.0, **schema) -> ee.Audit:
    X = people() if X is None else X
    features = {
        "income": ee.Feature("actionable", max_increase=limit, weight=schema.pop("weight", 1.0)),
        "savings": ee.Feature("actionable", max_increase=1.0),
        "job": ee.Feature("actionable", weight=schema.pop("job", 0.3)),
    }
    told = {"sensitive": "group", "protected": "ash", "favourable": True, "features": unlimited(features)} | schema
    scm = ee.StructuralCausalModel([], nodes=list(X.columns)).fit(X)
    score = ee.LinearScore(weights or {"income": 1.0, "savings": 1.0}, threshold=threshold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(score, X, schema=ee.Schema(**told), scm=scm, cost=cost, reference=reference)


def needing(ash=1.0, birch=1.0, *, stuck=(0, 0), spread=0.1, n=200, seed=3) -> ee.Audit:
    """Everybody is refused; the groups lack these amounts on average, and so many of each lack more than can be had."""
    rng = np.random.default_rng(seed)
    X = people(n).assign(savings=0.0)
    lack = np.where(X["group"] == "ash", ash, birch) * rng.uniform(1 - spread, 1 + spread, n)
    for group, count in zip(("ash", "birch"), stuck, strict=True):
        lack[np.flatnonzero(X["group"] == group)[:count]] = 50.0
    return made(X.assign(income=6.0 - lack))


def costing(audit: ee.Audit, **factors: float) -> ee.Audit:
    """The audit with the efforts of these groups multiplied, as free actions would make them."""
    table = audit.recourse
    groups = np.array(table.groups.labels, dtype=object)[table.groups.codes]
    factor = np.array([factors.get(group, 1.0) for group in groups])
    return replace(audit, recourse=replace(table, cost=table.cost * factor, bound=table.bound * factor))


def row(found: AuditComparison, measure: str) -> pd.Series:
    """The noise of one measure in a comparison of two groups."""
    return found.noise.set_index("measure").loc[measure]
