"""A small world to monitor: efforts that can be computed by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import EquieffortWarning

NEEDED = 6.0
"""Whose income is below this is refused; an action costs what is missing, divided by the range of 10."""
LIMIT = 4.0
"""Whose income is farther below has no recourse."""


def people(
    n: int = 80, seed: int = 0, *, behind: float = 0.0, labels: tuple[str, ...] = ("ash", "birch")
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(labels, n)
    income = rng.normal(5.5, 2, n) - behind * (group == labels[0])
    index = pd.Index([f"s{seed}p{k}" for k in range(n)], name="person")
    return pd.DataFrame({"group": group, "income": income.round(3)}, index=index)


REFERENCE = pd.DataFrame({"group": ["ash", "birch"] * 6, "income": np.linspace(0.0, 10.0, 12)})


def monitor(
    *, reference: pd.DataFrame = REFERENCE, needed: float = NEEDED, schema: Any = None, **options: Any
) -> ee.Monitor:
    told = {"sensitive": "group", "protected": "ash", "reference": "birch", "favourable": True} | (schema or {})
    features = unlimited({"income": ee.Feature("actionable", max_increase=LIMIT)})
    scm = ee.StructuralCausalModel([], nodes=["group", "income"]).fit(reference)
    score = options.pop("score", None) or ee.LinearScore({"income": 1.0}, threshold=needed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.Monitor(score, reference, schema=ee.Schema(**told, features=features), scm=scm, **options)


def update(watching: ee.Monitor, batch: pd.DataFrame, **options: Any) -> ee.MonitorState:
    """Count a batch without being told that everybody in it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return watching.update(batch, **{"date": "2026-01-31"} | options)


def effort(batch: pd.DataFrame, budget: float, needed: float = NEEDED) -> np.ndarray:
    """R by hand: NaN for the approved."""
    lack = needed - batch["income"].to_numpy()
    capped = np.where(lack > LIMIT, 1.0, np.minimum(lack / 10, budget) / budget)
    return np.where(lack > 0, capped, np.nan)
