"""What is saved comes back by its types, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

from equieffort.foundations.saved import APART, as_data, as_kind, from_data, from_kind


@dataclass(frozen=True)
class Leaf:
    colour: Literal["green", "red"]
    size: float
    hidden: int = field(default=0, metadata=APART)


@dataclass(frozen=True)
class Twig:
    leaves: tuple[Leaf, ...] = ()
    by_place: Mapping[tuple[str, int], Leaf] = field(default_factory=dict)
    names: Sequence[str] | None = None
    weight: float | tuple[float, float] = 1.0
    first: Leaf | None = None
    anything: Any = None


class Bud(Leaf):
    """Another class, whatever it extends."""


LEAF = Leaf("green", 2.5)
TWIGS = [
    Twig((LEAF, Leaf("red", 3)), {("north", 1): LEAF}, ("a", "b"), (1.0, 2.0), LEAF, {"x": [1, None]}),
    Twig(by_place={("north", 1): LEAF}),
]


@pytest.mark.parametrize("twig", TWIGS)
def test_there_and_back_through_json(twig):
    assert from_data(Twig, json.loads(json.dumps(as_data(twig)))) == twig


def test_what_is_kept_apart_is_not_saved():
    assert as_data(Leaf("red", 1.0, hidden=7)) == {"colour": "red", "size": 1.0}


def test_values_of_other_libraries_become_plain():
    given = {"a": np.arange(2), "b": np.bool_(True), "c": pd.Index(["x"]), "d": {3, 1}, "e": np.float64(0.5), "f": int}
    assert as_data(given) == {"a": [0, 1], "b": True, "c": ["x"], "d": [1, 3], "e": 0.5, "f": "<class 'int'>"}
    assert {type(value) for value in as_data([np.float32(1), np.int8(1)])} == {float, int}


WRONG = {"colour": "blue", "size": "3", "hidden": 1}


@pytest.mark.parametrize("name", WRONG)
def test_another_value_or_field_is_refused(name):
    with pytest.raises(ValueError, match="does not hold what it should"):
        from_data(Leaf, as_data(LEAF) | {name: WRONG[name]})


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (int, True), (int, 1.0), (int, 2**60), (float, "1"), (float, True), (bool, 1), (str, None), (str | None, 5),
        (tuple[str, ...], "ab"), (tuple[str, str], ["a"]), (dict[str, int], [["a", 1]]), (Leaf, []),
        (float | tuple[float, float], [1.0]), (Mapping[tuple[str, int], int], {"a": 1}), (int | None, "x"),
    ],
)  # fmt: skip
def test_what_a_type_does_not_hold_is_refused(kind, data):
    with pytest.raises(ValueError, match="'place' does not hold what it should"):
        from_data(kind, data, "place")


def test_the_place_of_what_is_wrong_is_named():
    wrong = as_data(TWIGS[0])
    wrong["first"]["size"] = None
    with pytest.raises(ValueError, match=r"'twig\.first\.size' does"):
        from_data(Twig, wrong, "twig")


def test_one_of_several_classes_is_known_by_its_kind_and_only_itself():
    kinds = {"leaf": Leaf, "twig": Twig}
    assert from_kind(kinds, as_kind(LEAF, kinds)) == LEAF
    assert as_kind(Bud("green", 1.0), kinds) is None
    for wrong in ({"kind": "root"}, {"colour": "red"}, [], {"kind": ["leaf"]}):
        with pytest.raises(ValueError, match="does not hold"):
            from_kind(kinds, wrong)
