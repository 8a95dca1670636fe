"""Feature and Schema: roles, limits, defaults, and what they refuse."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from equieffort import CausalGraph, Feature, Schema
from equieffort.data.frames import Encoding
from equieffort.errors import DataError, EquieffortError, EquieffortWarning, SchemaError
from equieffort.world.schema import check_kinds


def schema(**given):
    return Schema(**{"sensitive": "sex", "protected": "f", "favourable": 1} | given)


def test_defaults():
    feature = Feature("actionable")
    assert (feature.kind, feature.direction, feature.weights) == (None, "both", (1.0, 1.0))
    assert (feature.lower, feature.upper, feature.max_increase, feature.max_decrease) == (None,) * 4
    assert feature.plausible is None
    assert not feature.has_limits
    assert Feature("actionable", weight=(2.0, 0.5)).weights == (2.0, 0.5)


def test_nothing_sensitive_has_a_default():
    needed = {"sensitive": "sex", "protected": "f", "favourable": 1}
    for name in needed:
        with pytest.raises(TypeError, match=name):
            Schema(**{key: value for key, value in needed.items() if key != name})


@pytest.mark.parametrize(
    "limit",
    [{"lower": 0}, {"upper": 0}, {"max_increase": 0}, {"max_decrease": 0}, {"direction": "up"}, {"direction": "down"}],
    ids=str,
)
def test_limits_belong_to_actionable_features(limit):
    assert Feature("actionable", **limit).has_limits
    for role in ("mutable", "immutable"):
        with pytest.raises(SchemaError) as caught:
            Feature(role, **limit)
        assert caught.value.code == "SCHEMA_LIMITS"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"role": "actionble"}, "SCHEMA_ROLE"),
        ({"role": "sensitive"}, "SCHEMA_ROLE"),
        ({"kind": "ordinal"}, "SCHEMA_KIND"),
        ({"direction": "left"}, "SCHEMA_ROLE"),
        ({"lower": 3, "upper": 2}, "SCHEMA_LIMITS"),
        ({"lower": float("nan")}, "SCHEMA_LIMITS"),
        ({"upper": float("nan")}, "SCHEMA_LIMITS"),
        ({"max_increase": -1}, "SCHEMA_LIMITS"),
        ({"max_decrease": -0.5}, "SCHEMA_LIMITS"),
        ({"plausible": (5, 4)}, "SCHEMA_LIMITS"),
        ({"plausible": (1, 2, 3)}, "SCHEMA_LIMITS"),
        ({"weight": 0}, "SCHEMA_WEIGHT"),
        ({"weight": -1}, "SCHEMA_WEIGHT"),
        ({"weight": float("inf")}, "SCHEMA_WEIGHT"),
        ({"weight": float("nan")}, "SCHEMA_WEIGHT"),
        ({"weight": "heavy"}, "SCHEMA_WEIGHT"),
        ({"weight": (1.0, 0.0)}, "SCHEMA_WEIGHT"),
        ({"weight": (1.0, 2.0, 3.0)}, "SCHEMA_WEIGHT"),
    ],
    ids=str,
)
def test_contradictions_are_refused(given, code):
    with pytest.raises(SchemaError) as caught:
        Feature(**{"role": "actionable"} | given)
    assert caught.value.code == code


@pytest.mark.parametrize("ends", [(float("nan"), None), (None, float("nan"))], ids=str)
def test_nan_is_no_end_of_a_plausible_range(ends):
    with pytest.raises(SchemaError):
        Feature("mutable", plausible=ends)


def test_equal_limits_are_a_point_not_a_contradiction():
    assert Feature("actionable", lower=2, upper=2).has_limits
    assert Feature("mutable", plausible=(1, 1)).plausible == (1, 1)
    assert Feature("mutable", plausible=(None, 1)).plausible == (None, 1)


def test_a_feature_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Feature("actionable").upper = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema().protected = "m"


def test_roles():
    one = schema(
        also_protected=["race"],
        features={
            "age": "actionable",
            "debt": Feature("actionable", direction="down"),
            "job": "mutable",
            "id": "immutable",
        },
    )
    roles = {name: one.role(name) for name in ("sex", "race", "age", "debt", "job", "id", "unlisted")}
    assert roles == {
        "sex": "sensitive",
        "race": "sensitive",
        "age": "actionable",
        "debt": "actionable",
        "job": "mutable",
        "id": "immutable",
        "unlisted": "mutable",
    }
    # Whatever protects a column, nothing may move it.
    assert {one.feature(name).role for name in ("sex", "race", "id")} == {"immutable"}
    assert one.actionable == ("age", "debt")
    assert one.feature("debt").direction == "down"


def test_columns_and_kinds():
    one = schema(sensitive=["sex", "race"], protected=("f", "b"), also_protected="religion", features={})
    assert one.sensitive_columns == ("sex", "race")
    assert one.protected_columns == ("sex", "race", "religion")
    assert schema(also_protected=["sex", "race"]).protected_columns == ("sex", "race")
    two = schema(
        features={"a": Feature("mutable", kind="integer"), "b": "mutable", "c": Feature("actionable", kind="binary")}
    )
    assert two.kinds == {"a": "integer", "c": "binary"}


@pytest.mark.parametrize("role", ["actionable", "mutable"])
@pytest.mark.parametrize(
    "where", [{}, {"sensitive": ["race", "sex"]}, {"sensitive": "race", "also_protected": ["sex"]}]
)
def test_protected_columns_never_move(role, where):
    with pytest.raises(SchemaError) as caught:
        schema(**where, features={"sex": role})
    assert caught.value.code == "SCHEMA_SENSITIVE_ACTIONABLE"
    assert schema(**where, features={"sex": "immutable"}).role("sex") == "sensitive"


def frame(**more):
    return pd.DataFrame({"sex": ["f", "m"] * 3, "age": range(20, 26), "debt": [1.0, 5, 2, 7, 3, 4]} | more)


GRAPH = CausalGraph.of([("sex", "debt"), ("age", "debt")])
FULL = {"age": "actionable", "debt": "mutable"}


def test_check_is_silent_when_all_fits():
    schema(features=FULL).check(frame(), GRAPH, ["age", "debt"])
    schema(features=FULL).check(frame(), CausalGraph.of([]), ["age", "debt"])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schema": {"sensitive": "gender"}}, "SCHEMA_SENSITIVE_MISSING"),
        ({"schema": {"also_protected": ["race"]}}, "SCHEMA_SENSITIVE_MISSING"),
        ({"schema": {"features": FULL | {"amount": "mutable"}}}, "DATA_MISSING_COLUMN"),
        ({"model": ["age", "dept"]}, "DATA_MISSING_COLUMN"),
        ({"graph": [("sex", "dept")]}, "GRAPH_UNKNOWN_NODE"),
        ({"schema": {"features": {"debt": "mutable", "age": "immutable"}}}, "PROBLEM_NOTHING_ACTIONABLE"),
    ],
    ids=str,
)
def test_check_refuses(changes, code):
    one = schema(**{"features": FULL} | changes.get("schema", {}))
    graph = CausalGraph.of(changes["graph"]) if "graph" in changes else GRAPH
    with pytest.raises(EquieffortError) as caught:
        one.check(frame(), graph, changes.get("model", ["age", "debt"]))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("changes", "code", "names"),
    [
        ({"frame": {"note": 1}}, "DATA_EXTRA_COLUMNS", "'note'"),
        ({"graph": [("sex", "debt")]}, "GRAPH_ROOTS_ASSUMED", "'age'"),
        ({"graph": [("sex", "debt"), ("age", "sex")]}, "GRAPH_INTO_SENSITIVE", "'sex', from 'age'"),
        ({"schema": {"features": {"age": "actionable"}}}, "SCHEMA_ROLE_ASSUMED", "'debt'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_check_warns(changes, code, names):
    one = schema(**{"features": FULL} | changes.get("schema", {}))
    graph = CausalGraph.of(changes["graph"]) if "graph" in changes else GRAPH
    with pytest.warns(EquieffortWarning, match=names) as caught:
        one.check(frame(**changes.get("frame", {})), graph, ["age", "debt"])
    assert [entry.message.code for entry in caught] == [code]


def test_columns_of_one_category_must_not_act_apart():
    parts = {"job_a": [1, 0, 0, 1, 0, 0], "job_b": [0, 1, 0, 0, 1, 0], "job_c": [0, 0, 1, 0, 0, 1]}
    names = ["age", "debt", *parts]
    acting = schema(features=FULL | {"job_a": "actionable", "job_b": "immutable", "job_c": "immutable"})
    with pytest.raises(SchemaError) as caught:
        acting.check(frame(**parts), CausalGraph.of([]), names)
    assert caught.value.code == "SCHEMA_ONE_HOT"
    # Not acted on, or not exclusive: nothing to object to.
    still = schema(features=FULL | dict.fromkeys(parts, "immutable"))
    still.check(frame(**parts), CausalGraph.of([]), names)
    acting.check(frame(**parts | {"job_b": [1, 1, 0, 1, 1, 0]}), CausalGraph.of([]), names)


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ({"upper": 1}, "SCHEMA_LEVELS"),
        ({"direction": "up"}, "SCHEMA_LEVELS"),
        ({"weight": (1, 2)}, "SCHEMA_LEVELS"),
        ({"plausible": (0, 1)}, "SCHEMA_KIND"),
        ({"max_increase": 1}, "SCHEMA_KIND"),
    ],
    ids=str,
)
def test_categories_have_no_amounts_and_no_order_until_one_is_declared(extra, code):
    encoding = Encoding.of(frame(job=["a", "b", "c"] * 2, flag=[True, False] * 3), ["job", "flag"])
    for name in ("job", "flag"):
        check_kinds(schema(features={name: Feature("actionable", weight=3)}), encoding)
        with pytest.raises(SchemaError) as caught:
            check_kinds(schema(features={name: Feature("actionable", **extra)}), encoding)
        assert caught.value.code == code


def test_to_dict_is_json():
    one = schema(
        sensitive=["sex", "race"],
        protected=[("f", "b"), ("f", "w")],
        reference=("m", "w"),
        favourable=True,
        also_protected=["religion"],
        features={
            "age": Feature(
                "actionable", direction="up", lower=18, upper=75.5, max_increase=np.float64(3), weight=(1, 2)
            ),
            "debt": Feature("mutable", kind="continuous", plausible=(None, 10)),
            "id": "immutable",
        },
    )
    held = json.loads(json.dumps(one.to_dict()))
    assert held["sensitive"] == ["sex", "race"]
    assert held["protected"] == [["f", "b"], ["f", "w"]]
    assert held["reference"] == ["m", "w"]
    assert held["favourable"] is True
    assert held["also_protected"] == ["religion"]
    assert set(held["features"]) == {"age", "debt", "id"}
    age = {"role": "actionable", "direction": "up", "lower": 18, "upper": 75.5, "max_increase": 3.0, "weight": [1, 2]}
    assert age.items() <= held["features"]["age"].items()
    assert held["features"]["debt"]["plausible"] == [None, 10]
    assert held["features"]["id"]["role"] == "immutable"


@pytest.mark.parametrize(
    "given",
    [
        {"protected": {"f", "x"}},
        {"protected": np.int64(1)},
        {"protected": [np.str_("f"), np.int64(1)]},
        {"reference": np.int64(0)},
        {"favourable": np.int64(1)},
        {"favourable": np.bool_(True)},
        {"features": {"age": Feature("actionable", upper=np.int64(75))}},
        {"features": {"age": Feature("actionable", weight=np.float32(2))}},
        {"protected": np.array(["f", "x"])},
    ],
    ids=["set", "integer", "list", "reference", "favourable", "flag", "limit", "weight", "array"],
)
def test_to_dict_is_json_for_values_out_of_arrays(given):
    json.dumps(schema(**given).to_dict())


def test_to_dict_puts_sets_in_order():
    assert schema(protected={"x", "f", "a"}).to_dict()["protected"] == ["a", "f", "x"]


def test_missing_sensitive_column_suggests_the_closest():
    with pytest.raises(DataError, match="Did you mean 'sex'"):
        schema(sensitive="sexx").check(frame(), GRAPH, ["age"])
