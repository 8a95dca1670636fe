"""Who is compared with whom."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equieffort import Schema
from equieffort.data.frames import Column, Encoding
from equieffort.errors import DataError, SchemaError
from equieffort.world.groups import Groups, group_name, people_of
from equieffort.world.opponents import Rest


def groups(frame, **given):
    return Groups.of(pd.DataFrame(frame), Schema(**{"sensitive": "s", "favourable": 1} | given))


def labels_of(found, codes):
    return [found.labels[k] for k in codes]


def test_two_groups():
    found = groups({"s": ["m", "f", "m"]}, protected="f")
    assert labels_of(found, found.codes) == ["m", "f", "m"]
    assert labels_of(found, found.protected) == ["f"]
    assert found.labels[found.reference] == "m"
    assert labels_of(found, found.compared) == ["f"]
    assert {found.labels[k]: found.role(k) for k in range(2)} == {"f": "protected", "m": "reference"}


def test_the_largest_value_is_not_taken_for_privileged():
    for protected, other in (("a", "z"), ("z", "a")):
        found = groups({"s": ["z", "a"]}, protected=protected)
        assert labels_of(found, found.protected) == [protected]
        assert found.labels[found.reference] == other


@pytest.mark.parametrize(
    ("values", "protected", "reference"),
    [
        (["f", "m"], "f", "m"),
        ([1, 0], 1, 0),
        ([1.5, 0.5], 1.5, 0.5),
        ([True, False], True, False),
        (pd.Series(["f", "m"], dtype="category"), "f", "m"),
        (pd.Series(["f", "m"], dtype="string"), "f", "m"),
        (pd.Series(["f", "m"], dtype=object), "f", "m"),
        (pd.Series([1, 0], dtype="Int64"), 1, 0),
        (np.array([1, 0]), np.int64(1), np.int64(0)),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_values_of_any_type(values, protected, reference):
    for given_reference in (None, reference):
        found = groups({"s": values}, protected=protected, reference=given_reference)
        assert found.labels[found.codes[0]] == str(protected)
        assert found.protected == (found.codes[0],)
        assert found.reference == found.codes[1]


@pytest.mark.parametrize(
    "several", [["b", "c"], ("b", "c"), {"b", "c"}, frozenset("bc")], ids=lambda v: type(v).__name__
)
def test_several_protected_values(several):
    found = groups({"s": list("abcbd")}, protected=several, reference="a")
    assert set(labels_of(found, found.protected)) == {"b", "c"}
    assert found.labels[found.reference] == "a"
    # Protected groups first, then the rest; each once, the reference never.
    assert set(labels_of(found, found.compared[:2])) == {"b", "c"}
    assert labels_of(found, found.compared[2:]) == ["d"]
    assert found.role(found.compared[2]) == "other"


def test_the_reference_must_be_said_once_two_others_remain():
    with pytest.raises(SchemaError, match="'b', 'c'") as caught:
        groups({"s": list("abc")}, protected="a")
    assert caught.value.code == "SCHEMA_GROUPS"
    found = groups({"s": list("abc")}, protected=["a", "b"])
    assert found.labels[found.reference] == "c"


@given(
    st.lists(
        st.tuples(st.sampled_from(["f", "m"]), st.sampled_from(["x", "y", "z"]), st.booleans()), min_size=2, max_size=30
    ).filter(lambda rows: len(set(rows)) > 1),
    st.data(),
)
def test_intersections_are_the_combinations_that_occur(rows, data):
    frame = pd.DataFrame(rows, columns=["sex", "race", "old"])
    present = sorted(set(rows))
    reference = data.draw(st.sampled_from(present))
    others = [key for key in present if key != reference]
    protected = data.draw(st.lists(st.sampled_from(others), min_size=1, unique=True))
    found = groups(frame, sensitive=["sex", "race", "old"], protected=protected, reference=reference)
    assert sorted(found.labels) == sorted(" & ".join(map(str, key)) for key in present)
    assert labels_of(found, found.codes) == [" & ".join(map(str, row)) for row in rows]
    assert labels_of(found, found.protected) == [" & ".join(map(str, key)) for key in protected]
    # A set has no order, so the groups come in their own.
    unordered = groups(frame, sensitive=["sex", "race", "old"], protected=set(protected), reference=reference)
    assert unordered.protected == tuple(sorted(found.protected))
    assert found.labels[found.reference] == " & ".join(map(str, reference))
    assert set(found.compared) == set(range(len(present))) - {found.reference}


def test_one_intersection_may_be_written_as_a_tuple():
    rows = list(itertools.product(["f", "m"], ["x", "y"]))
    frame = pd.DataFrame(rows, columns=["sex", "race"])
    for reference in (("m", "y"), ["m", "y"]):
        found = groups(frame, sensitive=("sex", "race"), protected=("f", "x"), reference=reference)
        assert labels_of(found, found.protected) == ["f & x"]
        assert found.labels[found.reference] == "m & y"


@pytest.mark.parametrize(
    ("frame", "given", "code"),
    [
        ({"s": ["f", "m"]}, {"protected": "x"}, "SCHEMA_GROUPS"),
        ({"s": ["f", "m"]}, {"protected": "f", "reference": "x"}, "SCHEMA_GROUPS"),
        ({"s": ["f", "m"]}, {"protected": "f", "reference": "f"}, "SCHEMA_GROUPS"),
        ({"s": ["f", "m"]}, {"protected": ["f", "m"]}, "SCHEMA_GROUPS"),
        ({"s": ["f", "m"], "t": ["x", "y"]}, {"sensitive": ["s", "t"], "protected": "f"}, "SCHEMA_GROUPS"),
        ({"s": ["f", "f"]}, {"protected": "f"}, "SCHEMA_ONE_GROUP"),
        ({"s": np.arange(25.0)}, {"protected": 0.0, "reference": 1.0}, "SCHEMA_SENSITIVE_CONTINUOUS"),
        (
            {"s": [f"p{k}" for k in range(40_000)]},
            {"protected": "p0", "reference": "p1"},
            "SCHEMA_SENSITIVE_CONTINUOUS",
        ),
    ],
    ids=str,
)
def test_refused(frame, given, code):
    with pytest.raises(SchemaError) as caught:
        groups(frame, **given)
    assert caught.value.code == code


def test_data_that_cannot_form_groups():
    with pytest.raises(DataError, match="Did you mean 'sex'") as caught:
        groups({"sex": ["f", "m"]}, sensitive="sexx", protected="f")
    assert caught.value.code == "SCHEMA_SENSITIVE_MISSING"
    for values in (["f", None, "f"], [None, None]):
        with pytest.raises(SchemaError) as caught:
            groups({"s": values}, protected="f")
        assert caught.value.code == "SCHEMA_ONE_GROUP"


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_people_whose_group_is_not_known_are_a_group_of_their_own(missing):
    found = groups({"s": pd.Series(["f", missing, "m", missing], dtype=object)}, protected="f")
    assert labels_of(found, found.codes) == ["f", "unknown", "m", "unknown"]
    assert found.unknown == {2: (0, 1)}
    assert (found.reference, found.known, found.compared) == (1, (0, 1), (0, 2))
    assert [found.role(k) for k in range(3)] == ["protected", "reference", "unknown"]


def test_whole_numbers_beside_missing_values_keep_their_names():
    found = groups({"s": [1.0, np.nan, 0.0]}, protected=1)
    assert found.labels == ("0", "1", "unknown")
    assert groups({"s": [1.5, np.nan, 0.5]}, protected=1.5).labels == ("0.5", "1.5", "unknown")


def test_of_several_columns_what_is_known_limits_the_groups():
    frame = {"s": ["f", "f", "m", "m", None, "f", None], "t": [1, 2, 1, 2, 1, np.nan, np.nan]}
    found = groups(frame, sensitive=["s", "t"], protected=("f", 1), reference=("m", 1))
    may = {found.labels[k]: labels_of(found, codes) for k, codes in found.unknown.items()}
    assert may == {
        "f & unknown": ["f & 1", "f & 2"],
        "unknown & 1": ["f & 1", "m & 1"],
        "unknown & unknown": ["f & 1", "f & 2", "m & 1", "m & 2"],
    }


def test_a_value_named_twice_is_one_group():
    found = groups({"s": ["f", "m"]}, protected=["f", "f"])
    assert found.compared == (found.labels.index("f"),)


@pytest.mark.parametrize("form", [np.array, pd.Index, pd.Series], ids=["array", "index", "series"])
def test_protected_values_may_come_in_an_array(form):
    found = groups({"s": list("abc")}, protected=form(["a", "b"]))
    assert labels_of(found, found.protected) == ["a", "b"]
    one = groups({"s": list("abc")}, protected=np.array("a"), reference="c")
    assert labels_of(one, one.protected) == ["a"]


def test_intersections_may_come_in_an_array():
    frame = pd.DataFrame(itertools.product(["f", "m"], ["x", "y"]), columns=["sex", "race"])
    pairs = [("f", "x"), ("f", "y")]
    for several in (np.array(pairs), pd.MultiIndex.from_tuples(pairs)):
        found = groups(frame, sensitive=["sex", "race"], protected=several, reference=("m", "y"))
        assert labels_of(found, found.protected) == ["f & x", "f & y"]


@pytest.mark.parametrize(
    ("frame", "given"),
    [
        ({"s": ["a & b", "a"], "t": ["c", "b & c"]}, {"sensitive": ["s", "t"], "protected": ("a", "b & c")}),
        ({"s": pd.Series([1, "1"], dtype=object)}, {"protected": "1"}),
    ],
    ids=["intersections", "number and text"],
)
def test_labels_tell_groups_apart(frame, given):
    """Results are kept by label, so two groups of one label are refused."""
    with pytest.raises(SchemaError, match="would both be called") as caught:
        groups(frame, **given)
    assert caught.value.code == "SCHEMA_GROUPS"


def test_a_reader_sees_groups_without_quotes_and_with_their_column() -> None:
    assert group_name("1", ("married",)) == "married = 1"
    assert people_of("female & young", ("sex", "age")) == "people with sex = female and age = young"
    # A value that holds the sign between values cannot be told apart.
    assert group_name("R & D & young", ("job", "age")) == "job & age = R & D & young"
    # What cannot be seen is written out; it must not move a terminal's cursor.
    assert group_name("a\x1b[2Jb\n", ("x",)) == "x = a\\x1b[2Jb\\n"
    assert group_name(" ", ("x",)) == "x = ' '"


def test_people_alone_need_not_be_of_every_group_that_is_named():
    schema = Schema(sensitive="s", favourable=1, protected=["b", "o"], reference="w")
    known = Encoding((Column("s", "categorical", ("b", "o", "w")),))

    def alone(*values, schema=schema, known=known):
        return Groups.of(pd.DataFrame({"s": list(values)}), schema, alone=known)

    found = alone("b", "w", "w")
    assert (labels_of(found, found.protected), found.labels[found.reference]) == (["b"], "w")
    assert alone("o", "b").reference == Rest()
    numbers = Schema(sensitive="s", favourable=1, protected=[1, 2], reference=0)
    assert alone(0, 1, schema=numbers, known=Encoding((Column("s", "integer"),))).protected == (1,)
    # Whoever compares these people still needs everybody, and a value that nobody ever had is a slip.
    with pytest.raises(SchemaError, match="'o' is not a value"):
        Groups.of(pd.DataFrame({"s": ["b", "w"]}), schema)
    with pytest.raises(SchemaError, match="'x' is not a value"):
        alone("b", "w", schema=Schema(sensitive="s", favourable=1, protected="x", reference="w"))
