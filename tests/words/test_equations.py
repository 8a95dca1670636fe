"""Equations of every kind in the words of whoever reads them."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import equieffort as ee
from equieffort.words.equations import one_line
from equieffort.world.labels import Labels
from equieffort.world.scm.records import EquationRecord

NAMES = Labels(
    features={"kids": "children", "hours": "weekly hours", "job": "work", "dti": "debt burden"},
    levels={"job": {"a": "unskilled", "b": "skilled"}},
)


def told(kind: str, parts: dict, node: str = "dti", text: str = "") -> str:
    # As an audit file gives it back.
    parts = json.loads(json.dumps(parts))
    return one_line(EquationRecord(node, ("kids", "hours", "job"), kind, parts, text), NAMES)


@pytest.mark.parametrize(
    ("kind", "parts", "expected"),
    [
        ("Ratio", {"numerator": {"kids": 1.0}, "denominator": {"hours": 1.0}, "scale": 1.0}, "children / weekly hours"),
        ("Product", {"causes": ["kids", "hours"], "scale": 4.0}, "4 * children * weekly hours"),
        (
            "Terms",
            {"terms": [[2.0, {"kids": 2}, {"job": "a"}]], "intercept": 1.0, "about": {"kids": 3.0}},
            "1 + 2*(children - 3)^2*[work=unskilled]",
        ),
        (
            "Curves",
            {"curves": {"hours": [[1.0], [2.0]]}, "levels": {"job": {"b": 2.0}}, "intercept": 0.0},
            "0 + curve(weekly hours) + 2*[work=skilled]",
        ),
    ],
)
def test_every_kind_of_equation_uses_labels(kind, parts, expected):
    assert told(kind, parts) == f"debt burden = {expected}"


def test_levels_that_follow_use_their_labels():
    parts = {"coef": {"kids": 0.5, "job": {"a": 1.0}}, "cuts": [0.0], "order": ["a", "b"]}
    said = told("CumulativeLogit", parts, node="job")
    assert said.startswith("work = unskilled if 0 + 0.5*children + 1*[work=unskilled] + logistic noise <= 0")
    assert said.endswith("else skilled")


def test_of_code_the_node_has_its_label():
    assert told("Function", {}, text="dti = f(causes)") == "debt burden = f(causes)"
    assert told("Function", {}, text="dti: no equation") == "debt burden: no equation"


def test_a_ratio_of_a_real_model_is_told_in_labels():
    X = pd.DataFrame({"kids": [1.0, 2.0, 3.0], "hours": [4.0, 5.0, 6.0], "dti": [0.25, 0.4, 0.5]})
    scm = ee.StructuralCausalModel(
        [("kids", "dti"), ("hours", "dti")], mechanisms={"dti": ee.scm.Ratio("kids", "hours")}
    ).fit(X)
    (record,) = [one for one in scm.equation_records() if one.node == "dti"]
    assert one_line(record, NAMES) == "debt burden = children / weekly hours"
    assert one_line(record) == "dti = kids / hours"
