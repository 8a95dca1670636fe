"""Every key of the table: what it accepts, what it refuses, and where it ends up; page and schema agree with it."""

from __future__ import annotations

import copy
import json
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import equieffort as ee
from equieffort.data.inputs import DataSource
from equieffort.effort.inference import Holm, Unadjusted
from equieffort.effort.measures import JUDGED, MEASURES
from equieffort.models.surrogate import SURROGATES
from equieffort.results.provenance import LetterTexts
from equieffort.spec import SpecError, json_schema, parse_spec
from equieffort.spec.docs_table import Row, rows
from equieffort.spec.keys import SPEC
from equieffort.spec.kinds import Either, End, Flag, Number, OrNone, Text, Value
from equieffort.spec.sections import ByKind, MapOf, Section
from equieffort.world.labels import Labels

ROOT = Path(__file__).parents[2]
ROWS = {f"{row.path} [{row.forms[0]}]" if row.forms else row.path: row for row in rows()}
"""By path; a key that only some kinds have, with the first of them."""
BASE: dict[str, Any] = {
    "data": {"path": "people.csv"},
    "model": {"train": "logistic"},
    "outcome": {"column": "decision", "favourable": "approved"},
    "sensitive": {"column": "sex", "protected": "female"},
    "graph": [["income", "debt"]],
    "features": {"income": {"role": "actionable"}, "debt": "mutable"},
}


NEEDED: dict[str, dict[str, Any]] = {
    "terms": {"terms": [{"coef": 1, "powers": {"income": 2}}]},
    "ratio": {"numerator": "income", "denominator": "income"},
    "product": {"causes": ["income"]},
    "cumulative_logit": {"coef": {"income": 1}, "cuts": [1]},
}
"""What a kind does not go without."""
WITH = {"gammas": {"low": 0.25, "high": 0.75}, "grid": {"low": 0, "high": 3, "step": 1.5}}
"""What else must stand in a table."""


def named(path: str) -> str:
    """The path of a key in the base: `*` is the income, of equations the debt, which has a cause."""
    return path.split(" [")[0].replace("equations.*", "equations.debt").replace("*", "income")


def changed(path: str, value: object, base: dict[str, Any] = BASE) -> dict[str, Any]:
    """The base with one key set."""
    spec = copy.deepcopy(base)
    *above, last = named(path).split(".")
    if path.startswith(("graph.default", "graph.equations", "graph.data")):
        spec["graph"] = {"edges": [["income", "debt"]]}
    inner = spec
    for key in above:
        if not isinstance(inner.get(key), dict):
            inner[key] = {}
        inner = inner[key]
    if " [" in path:
        kind = path.split(" [")[1].rstrip("]")
        inner |= {"kind": kind} | NEEDED.get(kind, {})
    inner |= WITH.get(above[-1] if above else "", {})
    inner[last] = value
    return spec


def debt(spec):
    return spec.mechanisms["debt"]


def read(spec: dict[str, Any]) -> ee.spec.Spec:
    # JSON is YAML, so what is written here needs no quoting rules.
    return parse_spec(json.dumps(spec), folder="there")


def income(spec):
    return spec.schema.features["income"]


def treatment(spec):
    return spec.treatments[0]


VALID: dict[str, list[tuple[Any, Any, Any]]] = {
    "title": [("Loans", "title", "Loans"), ("", "title", "")],
    "data": [
        ({"path": "a.parquet"}, "data.path", Path("there/a.parquet")),
        ("d.csv", "data.path", Path("there/d.csv")),
    ],
    "data.path": [("b.csv", "data.path", Path("there/b.csv")), ("/c.csv", "data.path", Path("/c.csv"))],
    "data.id": [("applicant", "data.id", "applicant")],
    "data.encoding": [("cp1252", "data.encoding", "cp1252")],
    "data.delimiter": [(";", "data.delimiter", ";"), ("\t", "data.delimiter", "\t"), ("|", "data.delimiter", "|")],
    "data.decimal": [(".", "data.decimal", ".")],
    "data.missing": [(choice, "data.missing", choice) for choice in ("error", "drop", "model")],
    "model": [
        ({"path": "m.skops"}, "model.path", Path("there/m.skops")),
        ("m.onnx", "model.path", Path("there/m.onnx")),
    ],
    "model.path": [],
    # They stand beside `path`; tests/spec/test_saved_models.py tries them.
    "model.features": [],
    "model.trusted": [],
    "model.data": [("old.csv", "model.data", DataSource(Path("there/old.csv")))],
    "model.data.path": [("old.csv", "model.data.path", Path("there/old.csv"))],
    "model.data.encoding": [],
    "model.data.delimiter": [],
    "model.data.decimal": [],
    "model.label": [],
    "model.train": [(choice, "model.train", choice) for choice in SURROGATES],
    "outcome": [({"column": "y", "favourable": 1}, "schema.favourable", 1)],
    "outcome.column": [("y", "label", "y")],
    "outcome.favourable": [(v, "schema.favourable", v) for v in ("NO", "1", 1, 2.5, True, "2026-01-01", ["a", "b"])],
    "outcome.threshold": [(0.62, "schema.threshold", 0.62)],
    "outcome.truth": [("repaid", "truth", "repaid")],
    "outcome.causes": [(["income"], "causes", ("income",))],
    "sensitive": [({"column": "race", "protected": "None"}, "schema.protected", "None")],
    "sensitive.column": [("race", "schema.sensitive", "race"), (["race"], "schema.sensitive", "race")],
    "sensitive.protected": [
        ("other", "schema.protected", "other"),
        (0, "schema.protected", 0),
        (["a", "b"], "schema.protected", ["a", "b"]),
    ],
    "sensitive.reference": [("male", "schema.reference", "male"), (1, "schema.reference", 1)],
    "sensitive.reference.rest": [(True, "schema.reference", ee.Rest())],
    "sensitive.reference.all_pairs": [(True, "schema.reference", ee.AllPairs())],
    "also_protected": [(["age"], "schema.also_protected", ("age",))],
    "use_sensitive": [
        (True, "features", ["sex", "income", "debt"]),
        (False, "features", ["income", "debt"]),
    ],
    "graph": [([], "edges", []), ({"edges": [["a", "b"]]}, "edges", [("a", "b")])],
    "graph.edges": [([["a", "b"], ["b", "c"]], "edges", [("a", "b"), ("b", "c")])],
    "graph.path": [],
    "graph.nodes": [],
    "graph.data": [],
    "graph.data.path": [],
    "graph.data.encoding": [],
    "graph.data.delimiter": [],
    "graph.data.decimal": [],
    "graph.default": [("spline", "default", ee.Spline()), ({"kind": "linear"}, "default", ee.LeastSquares())],
    "graph.equations": [({}, "mechanisms", {}), ({"debt": "spline"}, "mechanisms", {"debt": ee.Spline()})],
    "graph.equations.*.kind": [("polynomial", debt, ee.Polynomial()), ("ordinal", debt, ee.Ordinal())],
    "graph.equations.*.coef [linear]": [({"income": 2}, debt, ee.Linear({"income": 2}))],
    "graph.equations.*.intercept [linear]": [(False, debt, ee.LeastSquares(False)), (True, debt, ee.LeastSquares())],
    "graph.equations.*.degree [polynomial]": [(3, debt, ee.Polynomial(3)), (9.0, debt, ee.Polynomial(9))],
    "graph.equations.*.interactions [polynomial]": [(True, debt, ee.Polynomial(interactions=True))],
    "graph.equations.*.knots [spline]": [(2, debt, ee.Spline(2))],
    "graph.equations.*.degree [spline]": [(1, debt, ee.Spline(degree=1))],
    "graph.equations.*.beyond [spline]": [("constant", debt, ee.Spline(beyond="constant"))],
    "graph.equations.*.max_depth [tree]": [(4, lambda spec: debt(spec).estimator.max_depth, 4)],
    "graph.equations.*.min_samples_leaf [tree]": [(4, lambda spec: debt(spec).estimator.min_samples_leaf, 4)],
    "graph.equations.*.n_estimators [forest]": [(4, lambda spec: debt(spec).estimator.n_estimators, 4)],
    "graph.equations.*.learning_rate [boosted]": [(0.4, lambda spec: debt(spec).estimator.learning_rate, 0.4)],
    "graph.equations.*.max_depth [boosted]": [(4, lambda spec: debt(spec).estimator.max_depth, 4)],
    "graph.equations.*.max_iter [hist_boosted]": [(4, lambda spec: debt(spec).estimator.max_iter, 4)],
    "graph.equations.*.min_samples_leaf [hist_boosted]": [(4, lambda spec: debt(spec).estimator.min_samples_leaf, 4)],
    "graph.equations.*.terms [terms]": [([{"coef": 2}], debt, ee.Terms([(2, {})]))],
    "graph.equations.*.intercept [terms]": [(2, debt, ee.Terms([(1, {"income": 2})], 2))],
    "graph.equations.*.numerator [ratio]": [({"income": 2}, debt, ee.Ratio({"income": 2}, "income"))],
    "graph.equations.*.denominator [ratio]": [
        (["income"], debt, ee.Ratio("income", "income")),
        ({"income": 3}, debt, ee.Ratio("income", {"income": 3})),
    ],
    "graph.equations.*.scale [ratio]": [(100, debt, ee.Ratio("income", "income", 100))],
    "graph.equations.*.causes [product]": [(["income", "income"], debt, ee.Product(["income", "income"]))],
    "graph.equations.*.scale [product]": [(2, debt, ee.Product(["income"], 2))],
    "graph.equations.*.about [terms]": [({"income": 5}, debt, ee.Terms([(1, {"income": 2})], about={"income": 5}))],
    "graph.equations.*.order [ordinal]": [([0, 5, 9], debt, ee.Ordinal([0, 5, 9]))],
    "graph.equations.*.penalty [ordinal]": [(2, debt, ee.Ordinal(penalty=2))],
    "graph.equations.*.coef [cumulative_logit]": [({"income": 3}, debt, ee.CumulativeLogit({"income": 3}, [1]))],
    "graph.equations.*.cuts [cumulative_logit]": [([1, 2], debt, ee.CumulativeLogit({"income": 1}, [1, 2]))],
    "features": [({"income": "actionable"}, "features", ["income"])],
    "features.*.role": [("actionable", lambda spec: income(spec).role, "actionable")],
    "features.*.kind": [("integer", lambda spec: income(spec).kind, "integer")],
    "features.*.direction": [("up", lambda spec: income(spec).direction, "up")],
    "features.*.lower": [(-1.5, lambda spec: income(spec).lower, -1.5), ("low", lambda s: income(s).lower, "low")],
    "features.*.upper": [(10, lambda spec: income(spec).upper, 10), ("high", lambda s: income(s).upper, "high")],
    "features.*.max_increase": [(0, lambda spec: income(spec).max_increase, 0)],
    "features.*.max_decrease": [(5, lambda spec: income(spec).max_decrease, 5)],
    "features.*.plausible": [
        ([0, 9], lambda spec: income(spec).plausible, (0, 9)),
        ([0, None], lambda spec: income(spec).plausible, (0, None)),
    ],
    "features.*.weight": [
        (2, lambda spec: income(spec).weight, 2),
        ([2, 0.5], lambda spec: income(spec).weights, (2, 0.5)),
    ],
    "features.*.order": [(["low", "high"], lambda spec: income(spec).order, ("low", "high"))],
    "features.*.steps": [(True, lambda spec: income(spec).steps, True)],
    "features.*.prices": [
        ([["low", "high", 2]], lambda spec: income(spec).prices, {("low", "high"): 2.0}),
        ([[1, 2, 0.5], [True, "x", 3]], lambda spec: income(spec).prices, {(1, 2): 0.5, (True, "x"): 3.0}),
    ],
    "cost": [({}, "cost", ee.WeightedL1()), ({"kind": "percentile"}, "cost", ee.Percentile())],
    "cost.kind": [("l1", "cost", ee.WeightedL1()), ("percentile", "cost", ee.Percentile())],
    "cost.scale": [
        ("range", "cost", ee.WeightedL1(ee.Range())),
        ("std", "cost", ee.WeightedL1(ee.Std())),
        ("mad", "cost", ee.WeightedL1(ee.MAD())),
        ("own", "cost", ee.WeightedL1(ee.Own())),
    ],
    "cost.quantiles": [([0.01, 0.99], "cost", ee.WeightedL1(ee.Range((0.01, 0.99))))],
    "cost.knots": [],
    "cost.within": [],
    "neighbourhood": [({"k": 5}, "neighbourhood", ee.NearestK(5))],
    "neighbourhood.quantile": [(0.2, "neighbourhood", ee.Nearest(0.2)), (1, "neighbourhood", ee.Nearest(1))],
    "neighbourhood.k": [(50, "neighbourhood", ee.NearestK(50)), (50.0, "neighbourhood", ee.NearestK(50))],
    "neighbourhood.distance": [],
    "neighbourhood.features": [],
    "one_hot": [
        (
            {"home": {"own": "home_own", "rent": "home_rent"}},
            "schema.one_hot",
            {"home": {"own": "home_own", "rent": "home_rent"}},
        ),
    ],
    "alternatives": [(2, "alternatives", 2), (1, "alternatives", 1)],
    "max_actions": [(2, "schema.max_actions", 2), (1, "schema.max_actions", 1)],
    "rules": [
        (["if income < 3 then debt = 0"], "schema.constraints", (ee.Implies("income < 3", "debt = 0"),)),
        (["income >= debt"], "schema.constraints", (ee.Always("income >= debt"),)),
        (
            [{"sum": {"income": 1, "debt": -2}, "lower": 0}],
            "schema.constraints",
            (ee.Sum({"income": 1, "debt": -2}, lower=0),),
        ),
        ([{"cause": "income", "effect": "debt"}], "schema.constraints", (ee.Monotone("income", "debt"),)),
        (
            [{"feature": "job", "forbidden": [["retired", None]]}],
            "schema.constraints",
            (ee.Forbidden("job", [("retired", None)]),),
        ),
    ],
    "subgroups": [({"young": "age < 25"}, "subgroups", {"young": "age < 25"}), ({}, "subgroups", {})],
    "criteria": [({}, "criteria", ee.Criteria())],
    "criteria.tau": [(2, "criteria", ee.Criteria(tau=2)), (1, "criteria", ee.Criteria(tau=1))],
    "criteria.epsilon": [(0.1, "criteria", ee.Criteria(epsilon=0.1))],
    "criteria.rule": [
        ("one-sided", "criteria", ee.Criteria(rule=ee.OneSided())),
        ("two-sided", "criteria", ee.Criteria(rule=ee.TwoSided())),
    ],
    "criteria.min_people": [(3, "criteria", ee.Criteria(min_people=3))],
    "criteria.certified": [(False, "criteria", ee.Criteria(certified=False))],
    "criteria.level": [(0.9, "criteria", ee.Criteria(level=0.9)), (None, "criteria", ee.Criteria(level=None))],
    "criteria.judged": [
        (["burden", "rd"], "criteria", ee.Criteria(judged=("burden", "rd"))),
        *([[name], "criteria", ee.Criteria(judged=(name,))] for name in JUDGED),
    ],
    "criteria.budget": [(2.5, "criteria", ee.Criteria(budget=2.5))],
    "criteria.adjust": [
        ("holm", "criteria", ee.Criteria(adjust=Holm())),
        ("none", "criteria", ee.Criteria(adjust=Unadjusted())),
    ],
    "surrogate": [({}, "min_agreement", 0.9)],
    "surrogate.min_agreement": [(0.75, "min_agreement", 0.75)],
    "surrogate.min_refusal_recall": [(0.25, "min_refusal_recall", 0.25)],
    "matching": [
        ("optimal", "matching", ee.Matching(ee.OptimalPairs())),
        ("exact", "matching", ee.Matching(ee.ExactMatching())),
        ({"kind": "nearest", "distance": "l2"}, "matching", ee.Matching(distance=ee.Euclidean())),
    ],
    "matching.kind": [("nearest", "matching", ee.Matching())],
    "matching.k [nearest]": [(3, "matching", ee.Matching(ee.NearestNeighbour(k=3)))],
    "matching.replace [nearest]": [(False, "matching", ee.Matching(ee.NearestNeighbour(replace=False)))],
    "matching.caliper [nearest]": [(0, "matching", ee.Matching(ee.NearestNeighbour(caliper=0)))],
    "matching.distance [nearest]": [("l1", "matching", ee.Matching())],
    "matching.features [nearest]": [(["age"], "matching", ee.Matching(features=["age"]))],
    "matching.bins [coarsened]": [(3, "matching", ee.Matching(ee.CoarsenedExact(3)))],
    "matching.cuts [coarsened]": [
        ({"age": [30, 50]}, "matching", ee.Matching(ee.CoarsenedExact(cuts={"age": (30.0, 50.0)})))
    ],
    # tests/spec/test_solver.py tries the limits of every kind.
    "solver": [("auto", "solver", ee.Auto(random_state=0)), ({"kind": "milp"}, "solver", ee.Milp())],
    "solver.kind": [("spatial_branch_and_bound", "solver", ee.SpatialBranchAndBound())],
    "solver.gap [auto]": [(0.5, "solver", ee.Auto(gap=0.5, random_state=0))],
    "solver.time_limit [auto]": [(5, "solver", ee.Auto(time_limit=5.0, random_state=0))],
    "solver.node_limit [auto]": [(5, "solver", ee.Auto(node_limit=5, random_state=0))],
    "solver.budget [auto]": [(5, "solver", ee.Auto(budget=5, random_state=0))],
    "solver.gap [linear_exact]": [(0, "solver", ee.LinearExact(0.0))],
    "solver.time_limit [linear_search]": [(None, "solver", ee.LinearSearch(time_limit=None))],
    "solver.node_limit [linear_search]": [(None, "solver", ee.LinearSearch(node_limit=None))],
    "solver.gap [branch_and_bound]": [(0, "solver", ee.BranchAndBound(0.0))],
    "solver.gap [milp]": [(1e-3, "solver", ee.Milp(1e-3))],
    "solver.time_limit [milp]": [(9, "solver", ee.Milp(time_limit=9.0))],
    "solver.gap [spatial_branch_and_bound]": [(1e-3, "solver", ee.SpatialBranchAndBound(1e-3))],
    "solver.node_limit [spatial_branch_and_bound]": [(9, "solver", ee.SpatialBranchAndBound(node_limit=9))],
    "solver.time_limit [spatial_branch_and_bound]": [
        (None, "solver", ee.SpatialBranchAndBound(time_limit=None)),
        (3, "solver", ee.SpatialBranchAndBound(time_limit=3.0)),
    ],
    "solver.budget [search]": [(9, "solver", ee.Search(9))],
    "labels": [({"groups": {"0": "women"}}, lambda spec: spec.schema.names, Labels(groups={"0": "women"}))],
    "labels.groups": [({"0": "women"}, lambda spec: spec.schema.names.groups, {"0": "women"})],
    "labels.features": [({"income": "pay"}, lambda spec: spec.schema.names.features, {"income": "pay"})],
    "labels.levels": [({"job": {"1": "a"}}, lambda spec: spec.schema.names.levels, {"job": {"1": "a"}})],
    "work": [({}, "jobs", None), ({"jobs": 3}, "jobs", 3)],
    "work.jobs": [(-1, "jobs", -1), (4, "jobs", 4)],
    "work.dask": [("local:2", "dask", "local:2")],
    "notions": [({}, "treatments", None)],
    "notions.equality_of_effort": [
        ({"income": {}, "debt": {}}, "treatments", (ee.Treatment("income"), ee.Treatment("debt"))),
    ],
    "notions.equality_of_effort.*.gammas": [
        (0.5, treatment, ee.Treatment("income", 0.5)),
        ([0.8, 0.5], treatment, ee.Treatment("income", [0.5, 0.8])),
        ({"low": 0, "high": 1}, treatment, ee.Treatment("income", ee.GammaRange(0, 1))),
    ],
    "notions.equality_of_effort.*.gammas.low": [(0.5, treatment, ee.Treatment("income", ee.GammaRange(0.5, 0.75)))],
    "notions.equality_of_effort.*.gammas.high": [(0.5, treatment, ee.Treatment("income", ee.GammaRange(0.25, 0.5)))],
    "notions.equality_of_effort.*.grid": [([0, 2, 5.5], treatment, ee.Treatment("income", grid=[0, 2, 5.5]))],
    "notions.equality_of_effort.*.grid.low": [(-1, treatment, ee.Treatment("income", grid=[-1, 0.5, 2]))],
    "notions.equality_of_effort.*.grid.high": [(5, treatment, ee.Treatment("income", grid=[0, 1.5, 3, 4.5]))],
    "notions.equality_of_effort.*.grid.step": [(1, treatment, ee.Treatment("income", grid=[0, 1, 2, 3]))],
    "notions.equality_of_effort.*.direction": [("down", treatment, ee.Treatment("income", direction="down"))],
    "notions.equality_of_effort.*.by": [("scm", treatment, ee.Treatment("income", by=ee.BySCM()))],
    "notions.equality_of_effort.*.by.kind": [("weighting", treatment, ee.Treatment("income", by=ee.ByWeighting()))],
    "notions.equality_of_effort.*.by.degree [regression]": [
        (2, treatment, ee.Treatment("income", by=ee.ByRegression(2)))
    ],
    "notions.equality_of_effort.*.by.adjust [regression]": [
        (["debt"], treatment, ee.Treatment("income", by=ee.ByRegression(adjust=("debt",))))
    ],
    "notions.equality_of_effort.*.outcome": [
        ("decision", treatment, ee.Treatment("income")),
        ("probability", treatment, ee.Treatment("income", outcome="probability")),
    ],
    "notions.equality_of_effort.*.interpolate": [(True, treatment, ee.Treatment("income", interpolate=True))],
    "report": [({}, "suppress_below", 0)],
    "report.suppress_below": [(10, "suppress_below", 10)],
    "letters": [({}, "letters", LetterTexts())],
    "letters.sender": [("Town bank", "letters", LetterTexts(sender="Town bank"))],
    "letters.review": [("Ring us.", "letters", LetterTexts(review="Ring us."))],
    "random_state": [(7, "random_state", 7), (2**32 - 1, "random_state", 2**32 - 1)],
}
TOGETHER: list[tuple[dict[str, Any], Any, Any]] = [
    (
        BASE | {"model": {"train": "ridge", "data": {"path": "old.csv", "delimiter": ";"}, "label": "y"}},
        lambda spec: (spec.model.data, spec.model.label),
        (DataSource(Path("there/old.csv"), delimiter=";"), "y"),
    ),
    (
        BASE
        | {"data": {"path": "a.csv", "id": "who", "decimal": ",", "delimiter": ";", "missing": "drop"}}
        | {"graph": {"edges": [], "data": {"path": "b.csv", "encoding": "cp1252"}}},
        "equations_data",
        DataSource(Path("there/b.csv"), encoding="cp1252", delimiter=";", decimal=",", missing="drop"),
    ),
    (BASE | {"graph": {"edges": [["a", "b"]], "nodes": ["c"]}}, "nodes", ["c"]),
    (
        BASE
        | {"outcome": {"column": "decision", "favourable": "approved", "truth": "repaid"}}
        | {"notions": {"equality_of_effort": {"debt": {"outcome": "truth", "by": "weighting"}}}},
        treatment,
        ee.Treatment("debt", by=ee.ByWeighting(), outcome="observed"),
    ),
    (BASE | {"data": {"path": "a", "decimal": ",", "delimiter": ";"}}, "data.decimal", ","),
    (BASE | {"cost": {"kind": "percentile", "knots": 9}}, "cost", ee.Percentile(9)),
    (BASE | {"cost": {"kind": "percentile", "within": "everybody"}}, "cost", ee.Percentile()),
    (BASE | {"cost": {"kind": "percentile", "within": "group"}}, "cost", ee.Percentile(within="group")),
    (
        BASE | {"neighbourhood": {"k": 2, "distance": "l2", "features": ["age"]}},
        "neighbourhood",
        ee.NearestK(2, ee.Euclidean(["age"])),
    ),
    (
        BASE | {"sensitive": {"column": ["sex", "race"], "protected": ["f", "x"], "reference": ["m", "y"]}},
        lambda spec: (spec.schema.sensitive, spec.schema.protected, spec.schema.reference),
        (("sex", "race"), ("f", "x"), ("m", "y")),
    ),
    (
        BASE | {"sensitive": {"column": ["sex", "race"], "protected": [["f", "x"], ["f", "y"]]}},
        "schema.protected",
        [("f", "x"), ("f", "y")],
    ),
]


def test_the_examples_cover_every_key():
    assert set(VALID) == set(ROWS)


@pytest.mark.parametrize(
    ("spec", "where", "expected"),
    [(changed(path, value), where, expected) for path, some in VALID.items() for value, where, expected in some]
    + TOGETHER,
)
def test_valid_values_arrive(spec, where, expected):
    if "neighbourhood" in spec and not {"quantile", "k"} & set(spec["neighbourhood"]):
        spec["neighbourhood"]["quantile"] = 0.2
    if isinstance(spec["data"], dict) and spec["data"].get("missing") == "model":
        spec["model"] = {"path": "m.skops"}
    found = read(spec)
    if callable(where):
        found = where(found)
    else:
        for name in where.split("."):
            found = getattr(found, name)
    assert found == expected
    assert type(found) is type(expected) or where == "data.path"


def wrong(row: Row) -> list[Any]:
    """Values of a kind that does not fit."""
    kind = row.key.kind
    if isinstance(kind, OrNone):
        return [value for value in wrong(replace(row, key=replace(row.key, kind=kind.inner))) if value is not None]
    if isinstance(kind, ByKind):
        return [5, True, ["x"], None, "zzz", "", {"zzz": 1}, {"kind": "zzz"}, {"kind": None}]
    if isinstance(kind, Either):
        has_table = any(isinstance(form, MapOf) for form in kind.forms)
        is_short = any(isinstance(form, Section) and form.short for form in kind.forms)
        kind = kind.forms[0]
        if isinstance(kind, Text):
            return [5, True, {"a": "x"} if has_table else {"a": 1}, None, ""]
        return [{"a": 1}] if isinstance(kind, Value) else [{"zzz": 1}, 5 if is_short else "x", None]
    if isinstance(kind, Text):
        return [5, True, ["x"], {"a": "x"}, None, *(["zzz"] if kind.choices else [] if kind.empty else ["", " "])]
    if isinstance(kind, End):
        return [True, [1], {"a": 1}, None, ""]
    if isinstance(kind, Number):
        limits = [-1] if kind.low >= 0 or kind.above >= 0 else []
        return ["x", True, [1], {"a": 1}, None, "1", *limits, *([1.5] if kind.whole else [])]
    if isinstance(kind, Flag):
        return ["x", 1, 0, [True], None, "true"]
    if isinstance(kind, Value):
        return [None, ["x"], {"a": 1}]
    if isinstance(kind, Section) and kind.short:
        return [5, None, True, {"zzz": 1}, ""]
    return ["x", 5, None, True, {"zzz": 1}] if not isinstance(kind, MapOf) else ["x", 5, None, ["x"], {"a": [{"b": 5}]}]


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, row in ROWS.items() for value in wrong(row)])
def test_wrong_values_are_refused_with_their_place(path, value):
    spec = changed(path, value)
    with pytest.raises(SpecError) as caught:
        read(spec)
    error = caught.value
    assert error.code in ("SPEC_VALUE", "SPEC_KEY", "SPEC_YAML")
    assert error.what.startswith("line 1, column ")
    assert named(path) in error.what or error.code == "SPEC_KEY"
    assert error.what.endswith((".", "?"))
    assert error.fix.endswith((".", '."', "`."))


@pytest.mark.parametrize(
    ("line", "wrong", "says"),
    [
        ("{level: 95}", "95", "criteria.level"),
        ("{level: 1}", "1}", "criteria.level"),
        ("{level: 0.5}", "0.5", "criteria.level"),
        ("{level: none}", "none", "criteria.level"),
        ("{budget: 0}", "0}", "criteria.budget"),
        ("{adjust: bonferroni}", "bonferroni", "criteria.adjust is 'bonferroni'"),
        ("{judged: acr}", "acr", "criteria.judged"),
        ("{judged: []}", "[]", "criteria.judged"),
        ("{judged: [acr, rd, acr]}", "acr]", "criteria.judged, item 3 is the text 'acr' again"),
        ("{judged: [acr, brden]}", "brden", "Did you mean 'burden'?"),
        *(
            (f"{{judged: [rd, {name}]}}", name, f"criteria.judged, item 2 is {name!r}")
            for name in MEASURES
            if name not in JUDGED
        ),
    ],
)
def test_criteria_that_make_no_sense_are_refused_at_their_place(line, wrong, says):
    text = f"{{{json.dumps(BASE)[1:-1]},\n criteria: {line}}}"
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert caught.value.code == "SPEC_VALUE"
    assert says in caught.value.what
    assert caught.value.what.startswith(f"line 2, column {text.splitlines()[1].rindex(wrong) + 1}: ")


SECTIONS = ["", *(path for path, row in ROWS.items() if isinstance(row.key.kind, Section)), "features.income"]


@pytest.mark.parametrize("path", SECTIONS)
def test_unknown_keys_are_refused_in_every_section(path):
    spec = changed(f"{path}.nonesuch".lstrip("."), 1)
    with pytest.raises(SpecError) as caught:
        read(spec)
    assert caught.value.code == "SPEC_KEY"
    assert f"unknown key 'nonesuch'{f' in {path}' if path else ''}." in caught.value.what
    assert caught.value.fix.startswith("The keys")


@pytest.mark.parametrize("path", [path for path, row in ROWS.items() if row.key.required])
def test_required_keys_are_asked_for_with_an_example(path):
    *above, last = named(path).split(".")
    spec = inner = changed(path, "x")
    for key in above:
        inner = inner[key]
    del inner[last]
    with pytest.raises(SpecError) as caught:
        read(spec)
    error = caught.value
    assert error.code == "SPEC_KEY"
    assert f"{'.'.join(above) or 'the spec'} lacks the key {last!r}." in error.what
    assert f"`{last}: {ROWS[path].key.example}`" in error.fix
    assert ROWS[path].key.example


def test_every_key_is_explained_in_a_sentence():
    for row in ROWS.values():
        assert row.key.about[0].isupper(), row.path
        assert row.key.about.endswith("."), row.path
        assert "|" not in row.key.about + row.kind, row.path


# -- page and schema ---------------------------------------------------------------------------------------------------

TOOL = runpy.run_path(str(ROOT / "tools" / "spec_keys.py"))


def test_the_page_lists_the_keys_as_they_are():
    text = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    assert TOOL["page"](text) == text
    assert all(f"| `{row.path}` | {row.kind} | {row.default} |" in text for row in ROWS.values())


def test_the_schema_file_is_current():
    assert (ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8") == TOOL["schema"]()


def test_the_page_example_is_a_spec():
    text = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    spec = parse_spec(text.split("```yaml\n")[1].split("```")[0])
    assert spec.schema.actionable == ("income",)


def test_the_schema_agrees_with_the_reader():
    jsonschema.Draft202012Validator.check_schema(json_schema())
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid(BASE)
    for path, some in VALID.items():
        for value, _, _ in some:
            spec = changed(path, value)
            if "neighbourhood" in spec and not {"quantile", "k"} & set(spec["neighbourhood"]):
                spec["neighbourhood"]["quantile"] = 0.2
            assert validator.is_valid(spec), (path, value)
    for path, row in ROWS.items():
        for value in wrong(row):
            # Text of spaces alone is refused by the reader only.
            assert value == " " or not validator.is_valid(changed(path, value)), (path, value)
    for path in SECTIONS:
        assert not validator.is_valid(changed(f"{path}.nonesuch".lstrip("."), 1))
    assert not validator.is_valid(BASE | {"model": {"path": "a", "train": "ridge"}})
    for judged in ([], ["acr", "acr"], ["needs_more"]):
        assert not validator.is_valid(BASE | {"criteria": {"judged": judged}})
    assert SPEC.schema()["required"] == ["data", "model", "outcome", "sensitive", "graph", "features"]
