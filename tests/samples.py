"""People as a measure sees them, made by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

import equieffort as ee
from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import with_readings
from equieffort.effort.measures import Pair, Sample
from equieffort.effort.metrics import Comparison
from equieffort.recourse.solvers import Status


def people(optimal=(), *, fine=0, infeasible=0, unknown=(), gapped=(), budget=None) -> Sample:
    """From costs, (bound, cost) pairs, counts, and bounds of the unknown."""
    status = [Status.OPTIMAL] * len(optimal) + [Status.FEASIBLE] * len(gapped) + [Status.NOT_NEEDED] * fine
    status += [Status.INFEASIBLE] * infeasible + [Status.UNKNOWN] * len(unknown)
    cost = [*optimal, *(c for _, c in gapped), *[math.nan] * (fine + infeasible + len(unknown))]
    bound = [*optimal, *(b for b, _ in gapped), *[math.nan] * fine, *[math.inf] * infeasible, *unknown]
    arrays = np.array(status, dtype=np.int8), np.array(cost, dtype=float), np.array(bound, dtype=float)
    return Sample.of(*arrays, budget=budget)


def against(
    mine: Sample, theirs: Sample, role="protected", group="women", other="men", criteria: Criteria | None = None
) -> Comparison:
    """A comparison with every measure read."""
    return with_readings(Comparison(group, other, role, Pair(mine, theirs)), criteria or Criteria())


def two_group_audit(n: int = 120) -> ee.Audit:
    """People of two groups, a linear score of two actions, one following the other."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, n)
    income = rng.normal(3 + group, 1, n)
    table = pd.DataFrame(
        {"group": np.where(group, "b", "a"), "income": income, "savings": rng.normal(0, 1, n) + income}
    )
    score = ee.LinearScore({"income": 1.0, "savings": 0.5}, threshold=6.0)
    schema = ee.Schema(
        sensitive="group", protected="a", favourable=True,
        features={"income": ee.Feature("actionable", upper=7), "savings": "actionable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([("group", "income"), ("income", "savings")]).fit(table)
    return ee.audit(score, table, schema=schema, scm=scm)


def compared(found: ee.Audit | ee.measures.Assessment) -> pd.DataFrame:
    """What is counted of each group beside its comparisons: a row a group and opponent, indexed by group."""
    part = found.system if isinstance(found, ee.Audit) else found
    rows = part.measures[part.measures["measure"].isin(["acr", "rd", "difference"])]
    rows = rows[rows["chance"] == "people"]
    wide = rows.pivot(
        index=["group", "against"], columns="measure", values=["estimate", "low", "high", "least", "most"]
    )
    wide.columns = [name if what == "estimate" else f"{name}_{what}" for what, name in wide.columns]
    return part.groups.join(wide.astype(float).reset_index("against"))
