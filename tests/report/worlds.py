"""Audits to report on: names that try to break out, several groups, categories, people without a way."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from tests.limits import unlimited

import equieffort as ee
from equieffort.models.fidelity import Surrogate
from equieffort.recourse.status import Ending, Status, Termination
from equieffort.results.provenance import DataFile

HOSTILE = {
    "group": 'group of "people"',
    "script": "<script>alert(1)</script>",
    "hebrew": "שלום עולם",
    "fox": "🦊 savings 'left'",
    "long": "a_really_long_feature_name_without_any_space_in_it_at_all",
    "marks": "e & f; (g) {{ 7 * 7 }} | `x` \x07",
    "job": "job",
    "fixed": "</title><img src=x onerror=alert(2)>",
}
PLAIN = {key: key for key in HOSTILE}
GROUPS = ("<b>ash</b>", '"birch" عربي', "cedar | `x`")
SUBGROUPS = {"<i>low</i>": "job = 'cook'"}


def world(names=PLAIN, groups=("ash", "birch", "cedar"), n=400, **provenance) -> ee.Audit:
    """An audit with a category, followers, a small third group and people without a way."""
    rng = np.random.default_rng(1)
    s, a, b, c, d, e, job, k = (names[x] for x in ("group", "script", "hebrew", "fox", "long", "marks", "job", "fixed"))
    X = pd.DataFrame({s: rng.choice(groups, n, p=[0.4, 0.55, 0.05])})
    X[a] = rng.normal(size=n) - (X[s] == groups[0])
    X[b] = X[a] * 0.5 + rng.normal(size=n)
    X[c] = rng.normal(size=n) + X[b]
    X[d] = rng.integers(0, 10, n)
    X[e] = X[a] + X[c] + rng.normal(size=n)
    X[job] = rng.choice(["cook", "smith"], n)
    X[k] = rng.normal(size=n)
    y = X[a] + X[c] + 0.2 * X[d] + 0.3 * X[e] + (X[job] == "smith") + X[k] > 2.5
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    clf = make_pipeline(
        make_column_transformer((OneHotEncoder(drop="if_binary"), [job]), remainder="passthrough"), LogisticRegression()
    ).fit(X[[a, c, d, e, job, k]], y)
    schema = ee.Schema(
        sensitive=s,
        protected=groups[0],
        reference=groups[1],
        favourable=True,
        features=unlimited(
            {
                a: ee.Feature("actionable", max_increase=1),
                b: ee.Feature("mutable", plausible=(-3, 3)),
                c: ee.Feature("actionable", upper=2.0, direction="up", weight=(1.0, 2.0)),
                d: ee.Feature("actionable", max_increase=3),
                e: "mutable",
                job: "actionable",
                k: "immutable",
            }
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = [(s, a), (a, b), (b, c), (a, e), (c, e), (s, e)]
        scm = ee.StructuralCausalModel(edges, nodes=[d, job, k]).fit(X)
        audit = ee.audit(clf, X, schema=schema, scm=scm, neighbourhood=ee.Nearest(0.3))
    return audit.with_provenance(**provenance)


def hostile() -> ee.Audit:
    """Everything that comes from outside is hostile."""
    return world(
        HOSTILE, GROUPS,
        subgroups=SUBGROUPS, command='equieffort audit "<x>.yaml" && rm', spec="title: <script>alert(3)</script>\n",
        surrogate=Surrogate("logistic", 0.93, dict.fromkeys(GROUPS, 0.9), required=0.9),
        data=DataFile("<u>people</u>.csv", "ab" * 32, 400), random_state=7,
    )  # fmt: skip


def unsettled(audit: ee.Audit, every: int = 4) -> ee.Audit:
    """The audit as it would be had the solver given up early: some actions not proven cheapest, some never found."""
    table = audit.recourse
    acting = np.flatnonzero(table.has_action)
    worse, lost = acting[::every], acting[1::every]
    arrays = {
        name: getattr(table, name).copy() for name in ("status", "cost", "bound", "intervention_mask", "delta", "level")
    }
    arrays["status"][worse], arrays["status"][lost] = Status.FEASIBLE, Status.UNKNOWN
    arrays["bound"][worse] *= 0.5
    arrays["bound"][lost] *= 0.25
    arrays["cost"][lost], arrays["intervention_mask"][lost], arrays["delta"][lost], arrays["level"][lost] = (
        np.nan,
        0,
        0.0,
        -1,
    )
    notes = table.notes | dict.fromkeys(worse.tolist(), Termination(Ending.TOLERANCE, found=True))
    notes |= {row: Termination(Ending.TIME, argument="time_limit", limit=k + 1) for k, row in enumerate(lost.tolist())}
    return replace(audit, recourse=replace(table, **arrays, notes=notes))


def gaps(n: int = 240) -> ee.Audit:
    """People of whom something is missing; the model decides on them, and refuses."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "job": rng.choice(["cook", "smith"], n)})
    X["income"] = rng.normal(20, 5, n) - 2 * (X["sex"] == "f")
    X["debt"] = 0.5 * X["income"] + rng.normal(size=n)
    complete = X.copy()
    X.loc[rng.random(n) < 0.1, "debt"] = np.nan
    X.loc[rng.random(n) < 0.05, "income"] = np.nan
    schema = ee.Schema(
        sensitive="sex",
        protected="f",
        favourable=True,
        features=unlimited({"income": ee.Feature("actionable", max_increase=6), "debt": "mutable", "job": "immutable"}),
    )
    rule = ee.LinearScore({"income": 1.0, "debt": -0.4}, threshold=18.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = ee.StructuralCausalModel([("sex", "income"), ("income", "debt")], nodes=["job"]).fit(complete)
        return ee.audit(rule, X, schema=schema, scm=scm, missing="model")
