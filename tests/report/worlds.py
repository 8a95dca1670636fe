"""Audits to report on: names that try to break out, several groups, categories, people without a way."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.models.fidelity import Refusals, Surrogate
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


@cache
def plain() -> ee.Audit:
    """The world of most tests, made once for all of them: an audit does not change."""
    return world(subgroups={"cooks": "job = 'cook'"})


@cache
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


@cache
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


LABELS = {
    "groups": {"black": "Black applicants", "hispan": "Hispanic applicants", "white": "white applicants"},
    "features": {
        "debt": "share of the monthly income that goes to debts of all kinds, in percent",
        "loan": "loan in thousands",
        "ratio": "loan-to-value ratio of the property that is bought",
    },
}


@cache
def loans(n: int = 900) -> ee.Audit:
    """A surrogate that repeats too little, two groups against a third, long names for readers, many plain features."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"race": rng.choice(["black", "hispan", "white"], n, p=[0.3, 0.2, 0.5])})
    X["loan"] = rng.integers(20, 300, n)
    X["ratio"] = X["loan"] / 200 + rng.normal(0, 0.1, n)
    X["debt"] = rng.normal(33, 8, n) + 4 * (X["race"] != "white")
    X["income"] = rng.normal(50, 10, n)
    still = [f"further_feature_{k}" for k in range(14)]
    for name in still:
        X[name] = rng.normal(size=n)
    features = {
        "loan": ee.Feature("actionable", max_decrease=60),
        "debt": ee.Feature("actionable", direction="down", max_decrease=6),
        "income": ee.Feature("actionable", direction="up", max_increase=3),
        "ratio": "mutable",
        **dict.fromkeys(still, "immutable"),
    }
    schema = ee.Schema(
        sensitive="race", protected=["black", "hispan"], reference="white", favourable=True, labels=LABELS,
        features=unlimited(features),
    )  # fmt: skip
    rule = ee.LinearScore({"ratio": -4.0, "debt": -0.1, "income": 0.02, **dict.fromkeys(still, 0.1)}, threshold=-6.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = ee.StructuralCausalModel([("loan", "ratio")], nodes=["debt", "income", *still]).fit(X)
        audit = ee.audit(rule, X, schema=schema, scm=scm)
    counts = {label: Refusals(100, 30, 20, 9) for label in LABELS["groups"]}
    surrogate = Surrogate(
        "logistic", 0.78, dict.fromkeys(counts, 0.78), 0.9, Refusals(300, 90, 60, 27), counts, 0.5, ("race",)
    )
    told = [("GRAPH_ROOTS_ASSUMED", still), ("DATA_EXTRA_COLUMNS", still[:6]), ("DATA_MISSING_VALUES", still[:2])]
    warned = tuple(EquieffortWarning(code, f"Something about {', '.join(names)}.") for code, names in told)
    return replace(audit.with_provenance(surrogate=surrogate), warnings=type(audit.warnings)(warned))


def two(labels: dict[str, dict[str, str]], n: int = 300) -> ee.Audit:
    """Two groups, whose names stand where their lines end."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"group": np.array(["ash", "birch"])[np.arange(n) % 2], "pay": rng.normal(20, 5, n)})
    X["pay"] -= 2.0 * (X["group"] == "ash")
    schema = ee.Schema(
        sensitive="group", protected="ash", favourable=True, labels=labels,
        features=unlimited({"pay": ee.Feature("actionable", max_increase=8)}),
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["pay"]).fit(X)
    return ee.audit(ee.LinearScore({"pay": 1.0}, threshold=22.0), X, schema=schema, scm=scm)
