"""Tables of every kind become checked columns, and columns become numbers and come back."""

import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.data.frames import (
    Column,
    Encoding,
    find_levels,
    infer_kind,
    join_sensitive,
    number,
    read_frame,
    require_columns,
    screen,
)
from equieffort.errors import DataError, EquieffortWarning, SchemaError

PEOPLE = {
    "age": [30, 41, 52],
    "income": [1.5, 2.25, -3.0],
    "purpose": ["car", "tv", "car"],
    "owner": [True, False, True],
}
KINDS = {"age": "integer", "income": "continuous", "purpose": "categorical", "owner": "binary"}
TABLES = {
    "pandas": pd.DataFrame(PEOPLE),
    "polars": pl.DataFrame(PEOPLE),
    "pyarrow": pa.table(PEOPLE),
    "dict of lists": PEOPLE,
    "dict of arrays": {name: np.array(column) for name, column in PEOPLE.items()},
    "dict of series": {name: pd.Series(column) for name, column in PEOPLE.items()},
    "pandas numpy_nullable": pd.DataFrame(PEOPLE).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas pyarrow": pd.DataFrame(PEOPLE).convert_dtypes(dtype_backend="pyarrow"),
    "pandas object": pd.DataFrame(PEOPLE).astype({"age": object, "income": object, "purpose": object}),
    "polars categorical": pl.DataFrame(PEOPLE).with_columns(pl.col("purpose").cast(pl.Categorical)),
    "pyarrow dictionary": pa.table(PEOPLE | {"purpose": pa.array(PEOPLE["purpose"]).dictionary_encode()}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_holds_the_same_people(table):
    frame = read_frame(table)
    assert list(frame.columns) == list(PEOPLE)
    encoding = Encoding.of(frame, PEOPLE)
    assert {column.name: column.kind for column in encoding.columns} == KINDS
    matrix = encoding.encode(frame)
    np.testing.assert_array_equal(matrix, [[30, 1.5, 0, 1], [41, 2.25, 1, 0], [52, -3, 0, 1]])
    assert encoding.decode(matrix).to_dict("list") == PEOPLE


def test_numpy_needs_names():
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    frame = read_frame(array, names=["a", "b"])
    assert frame.to_dict("list") == {"a": [1.0, 3.0], "b": [2.0, 4.0]}
    for names in (None, ["a"], ["a", "b", "c"]):
        with pytest.raises(DataError) as caught:
            read_frame(array, names=names)
        assert caught.value.code == "DATA_NO_NAMES"
    with pytest.raises(DataError) as caught:
        read_frame(array[0], names=["a", "b"])
    assert caught.value.code == "DATA_NO_NAMES"


@pytest.mark.parametrize("named", [[0, 1, 2], [("a", "sex"), ("a", "x"), ("a", "y")]])
def test_names_that_are_no_text_are_refused_with_a_way_that_works(named):
    people = pd.DataFrame({"sex": [0, 1] * 10, "x": np.arange(20.0), "y": np.arange(20.0) % 7})
    model = LogisticRegression().fit(people[["x", "y"]].to_numpy(), people["x"] > 12)
    people.columns = pd.Index(named, tupleize_cols=False)
    sex, x, _ = named
    given = {"sensitive": [sex], "protected": 1, "favourable": True}
    with pytest.raises(SchemaError, match=r"X\.columns = X\.columns\.map\(str\)"):
        ee.Schema(**given, features={})
    with pytest.raises(SchemaError, match=r"X\.columns = X\.columns\.map\(str\)"):
        ee.Schema(**given | {"sensitive": "sex"}, features={x: "actionable"})
    text = [str(name) for name in named]
    schema = ee.Schema(**given | {"sensitive": text[0]}, features={text[1]: "actionable", text[2]: "mutable"})
    with pytest.raises(DataError, match=r"X\.columns = X\.columns\.map\(str\)"):
        ee.audit(model, people, schema=schema, scm=[], model_features=text[1:])
    people.columns = people.columns.map(str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        told = ee.audit(model, people, schema=schema, scm=[], model_features=text[1:]).recourse.frame()
    assert (told["status"] == "optimal").any()


def test_what_is_no_table_is_refused():
    cases = [
        (pl.DataFrame(PEOPLE).lazy(), "DATA_TYPE", "collect"),
        ([1, 2], "DATA_TYPE", "pandas"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DATA_DUPLICATE_COLUMNS", "'a'"),
        (pd.DataFrame({"a": []}), "DATA_EMPTY", "X has no rows"),
        (pd.DataFrame([[1, 2]]), "DATA_NO_NAMES", "2 columns of X are not named by text, such as 0"),
        (pd.DataFrame([[1, 2]], columns=["a", 5]), "DATA_NO_NAMES", "1 column of X is not .* such as 5"),
    ]
    for table, code, words in cases:
        with pytest.raises(DataError, match=words) as caught:
            read_frame(table)
        assert caught.value.code == code


def test_the_callers_frame_is_used_as_it_is_and_not_modified():
    frame = pd.DataFrame(PEOPLE, index=["x", "y", "z"])
    before = frame.copy(deep=True)
    assert read_frame(frame) is frame
    encoding = Encoding.of(frame, PEOPLE)
    matrix = encoding.encode(frame)
    matrix[:] = -1
    decoded = encoding.decode(np.zeros_like(matrix))
    decoded["age"] = 7
    screen(frame, PEOPLE, "error")
    join_sensitive(frame, ["f", "m", "f"], ["sex"])
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("how", ["numpy", "polars", "pyarrow"])
def test_numbers_are_not_copied(how):
    values = np.arange(6.0)
    table = {
        "numpy": lambda: values.reshape(3, 2),
        "polars": lambda: pl.DataFrame({"a": values}),
        "pyarrow": lambda: pa.table({"a": pa.array(values)}),
    }[how]()
    source = {
        "numpy": lambda: table,
        "polars": lambda: table["a"].to_numpy(),
        "pyarrow": lambda: table["a"].chunk(0).to_numpy(),
    }[how]()
    frame = read_frame(table, names=["a", "b"])
    assert np.shares_memory(frame["a"].to_numpy(), source)
    encoding = Encoding.of(frame, frame.columns)
    encoding.encode(frame)[:] = 99.0
    np.testing.assert_array_equal(values, np.arange(6.0))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Series([1, 2], dtype="int8"), "integer"),
        (pd.Series([1, 2], dtype="uint64"), "integer"),
        (pd.Series([1, None], dtype="Int64"), "integer"),
        (pd.Series([1, None], dtype="int64[pyarrow]"), "integer"),
        (pd.Series([1, 2], dtype=object), "integer"),
        (pd.Series([1.0, 2.0], dtype="float32"), "continuous"),
        (pd.Series([1.0, None], dtype="Float64"), "continuous"),
        (pd.Series([1, 2.5], dtype=object), "continuous"),
        (pd.Series([decimal.Decimal("1.5")]), "continuous"),
        (pd.Series([True, False]), "binary"),
        (pd.Series([True, None], dtype="boolean"), "binary"),
        (pd.Series([True, None], dtype="bool[pyarrow]"), "binary"),
        (pd.Series([True, False], dtype=object), "binary"),
        (pd.Series(["a", "b"]), "categorical"),
        (pd.Series(["1", "2"]), "categorical"),
        (pd.Series(["a", None], dtype=object), "categorical"),
        (pd.Series(["a", None], dtype="string"), "categorical"),
        (pd.Series(["a", "b"], dtype=pd.ArrowDtype(pa.string())), "categorical"),
        (pd.Series([1, 2], dtype="category"), "categorical"),
        (pd.Series(["a", 1], dtype=object), "categorical"),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, pd.Series) else value,
)
def test_kinds_are_inferred(values, kind):
    assert infer_kind(values) == kind


def test_kinds_that_cannot_be():
    for values in (pd.Series(pd.to_datetime(["2020-01-01"])), pd.Series([1j]), pd.Series(pd.to_timedelta([1], "D"))):
        with pytest.raises(DataError) as caught:
            infer_kind(values.rename("x"))
        assert caught.value.code == "DATA_TYPE"
    with pytest.raises(SchemaError) as caught:
        Column.of(pd.Series(["a", "b", "c"], name="x"), "binary")
    assert caught.value.code == "SCHEMA_KIND"


def test_levels():
    assert find_levels(pd.Series(["b", "a", None, "b"])) == ("a", "b")
    assert find_levels(pd.Series([3, 1, 2])) == (1, 2, 3)
    # The order a person declared is theirs, also for levels nobody has.
    assert find_levels(pd.Series(pd.Categorical(["lo"], categories=["mid", "lo", "hi"]))) == ("mid", "lo", "hi")
    # Text and numbers have no order of their own, but a fixed one is needed.
    assert find_levels(pd.Series(["a", 1, 2], dtype=object)) == (1, 2, "a")


# Text without surrogates, which no table library stores; quotes, blanks, line ends and the empty text are welcome.
TEXT = st.text(max_size=6)
SIZE = 1_000_000


def columns(n):
    """Columns of n values: (pandas series, expected kind, expected plain values)."""

    def made(elements, kind, *dtypes):
        return st.lists(elements, min_size=n, max_size=n).flatmap(
            lambda values: st.sampled_from(dtypes).map(lambda dtype: (pd.Series(values, dtype=dtype), kind, values))
        )

    whole = st.integers(-SIZE, SIZE)
    text = st.lists(TEXT, min_size=1, max_size=4, unique=True).flatmap(st.sampled_from)

    def category(levels):
        return st.tuples(st.permutations(levels), st.lists(st.sampled_from(levels), min_size=n, max_size=n)).map(
            lambda drawn: (pd.Series(pd.Categorical(drawn[1], categories=list(drawn[0]))), "categorical", drawn[1])
        )

    return st.one_of(
        made(st.floats(-1e12, 1e12), "continuous", "float64", "Float64", "double[pyarrow]"),
        made(whole, "integer", "int64", "Int64", "int32", "int64[pyarrow]", object),
        made(st.booleans(), "binary", "bool", "boolean", "bool[pyarrow]"),
        made(text, "categorical", "str", "string", "string[pyarrow]", object),
        st.lists(st.one_of(TEXT), min_size=1, max_size=4, unique=True).flatmap(category),
        st.lists(whole, min_size=1, max_size=4, unique=True).flatmap(category),
    )


@st.composite
def frames(draw):
    n = draw(st.integers(1, 6))
    drawn = draw(st.lists(columns(n), min_size=1, max_size=4))
    names = draw(st.lists(TEXT, min_size=len(drawn), max_size=len(drawn), unique=True))
    frame = pd.DataFrame({name: series for name, (series, _, _) in zip(names, drawn, strict=True)})
    frame.index = draw(st.permutations([f"p{k}" for k in range(n)]))
    return frame, {name: (kind, values) for name, (_, kind, values) in zip(names, drawn, strict=True)}


@given(frames())
@settings(max_examples=150, deadline=None)
def test_encode_and_decode_round_trip(drawn):
    frame, expected = drawn
    encoding = Encoding.of(frame, expected)
    matrix = encoding.encode(frame)
    assert matrix.dtype == np.float64
    back = encoding.decode(matrix, frame.index)
    assert back.index.equals(frame.index)
    for k, (name, (kind, values)) in enumerate(expected.items()):
        column = encoding[name]
        if kind in ("integer", "continuous") and set(values) == {0, 1}:
            kind, values = "binary", [int(value) for value in values]
        assert column.kind == kind
        assert encoding.position(name) == k
        assert back[name].tolist() == values
        assert [type(value) for value in back[name].tolist()] == [type(value) for value in values]
        if column.is_category:
            assert [column.levels[int(code)] for code in matrix[:, k]] == values
        else:
            np.testing.assert_array_equal(matrix[:, k], np.array(values, dtype=float))
    np.testing.assert_array_equal(encoding.encode(back), matrix)


@given(st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1).filter(lambda v: any(x is not None for x in v)))
def test_missing_becomes_nan_in_every_kind(values):
    absent = [value is None for value in values]
    text = [None if value is None else f"t{value}" for value in values]
    flags = [None if value is None else value > 0 for value in values]
    frame = pd.DataFrame(
        {
            "int": pd.array(values, dtype="Int64"),
            "float": pd.array(values, dtype="Float64"),
            "plain": np.array([np.nan if value is None else value for value in values], dtype=float),
            "text": pd.array(text, dtype="string"),
            "object": pd.Series(text, dtype=object),
            "category": pd.Categorical(text),
            "flag": pd.array(flags, dtype="boolean"),
        }
    )
    matrix = Encoding.of(frame, frame.columns).encode(frame)
    for k in range(matrix.shape[1]):
        assert np.isnan(matrix[:, k]).tolist() == absent


@pytest.mark.parametrize("missing", [[], [None]], ids=["complete", "with a missing value"])
@pytest.mark.parametrize("how", ["object", "dict", "polars", "pyarrow"])
def test_flags_that_arrive_as_objects(how, missing):
    flags = [True, False, *missing]
    if how in ("polars", "pyarrow") and not missing:
        flags.append(None)  # only a missing value makes these arrive as objects
    table = {
        "object": lambda: pd.DataFrame({"f": pd.Series(flags, dtype=object)}),
        "dict": lambda: {"f": np.array(flags, dtype=object)},
        "polars": lambda: pl.DataFrame({"f": flags}),
        "pyarrow": lambda: pa.table({"f": flags}),
    }[how]()
    frame = read_frame(table)
    encoding = Encoding.of(frame, ["f"])
    matrix = encoding.encode(frame)
    np.testing.assert_array_equal(matrix[:2, 0], [1.0, 0.0])
    # What is decoded goes back to the model, which may have been trained on flags and not on numbers.
    assert list(map(str, encoding.decode(matrix)["f"].tolist()[:2])) == ["True", "False"]


def test_declared_binary_keeps_values():
    """The numbers 0 and 1 stay numbers, so that they have a direction; all else has two levels."""
    for values, levels in (([1, 0, 1], ()), ([1.0, 1.0], ()), ([2, 1, 2], (1, 2)), (["y", "n"], ("n", "y"))):
        series = pd.Series(values, name="x")
        column = Column.of(series, "binary")
        assert column.levels == levels
        assert column.decode(column.encode(series)).tolist() == values


def test_numbers_declared_categorical():
    series = pd.Series([20, 10, 30, 10], name="code")
    column = Column.of(series, "categorical")
    np.testing.assert_array_equal(column.encode(series), [1, 0, 2, 0])
    # The same codes may come back as floats, after a missing value somewhere made them so.
    np.testing.assert_array_equal(column.encode(pd.Series([10.0, 30.0], name="code")), [0, 2])


def test_numbers_written_as_text():
    column = Column("x", "continuous")
    np.testing.assert_array_equal(column.encode(pd.Series(["1.5", "2"])), [1.5, 2.0])
    np.testing.assert_array_equal(column.encode(pd.Series([decimal.Decimal("1.5"), decimal.Decimal(2)])), [1.5, 2.0])
    with pytest.raises(DataError, match="'many'") as caught:
        column.encode(pd.Series(["1.5", "many"]))
    assert caught.value.code == "DATA_NOT_NUMERIC"


def test_intervals_are_levels_like_others():
    frame = pd.DataFrame({"band": pd.cut(pd.Series([1, 2, 30]), [0, 5, 50])})
    encoding = Encoding.of(frame, ["band"])
    matrix = encoding.encode(frame)
    np.testing.assert_array_equal(matrix[:, 0], [0, 0, 1])
    assert encoding.decode(matrix)["band"].tolist() == frame["band"].tolist()


def test_pandas_arrow_dictionary_is_a_category():
    dtype = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    frame = pd.DataFrame({"c": pd.Series(["y", "x", None]).astype(dtype)})
    encoding = Encoding.of(frame, ["c"])
    assert encoding["c"].levels == ("x", "y")
    np.testing.assert_array_equal(encoding.encode(frame)[:, 0], [1.0, 0.0, np.nan])
    ordered = pa.DictionaryArray.from_arrays([1, 0, 2], ["low", "mid", "high"], ordered=True)
    column = pd.Series(pd.array(ordered, dtype=pd.ArrowDtype(ordered.type)), name="c")
    assert Column.of(column).levels == ("low", "mid", "high")


@pytest.mark.parametrize("ordered", [True, False])
def test_a_missing_value_in_an_arrow_dictionary_stays_missing(ordered):
    indices = pa.array([1, 0, None], pa.int32())
    table = pa.table({"c": pa.DictionaryArray.from_arrays(indices, ["low", "mid"], ordered=ordered)})
    frame = read_frame(table)
    assert frame["c"].tolist()[:2] == ["mid", "low"]
    assert frame["c"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("how", ["polars", "dict", "pyarrow"])
def test_a_declared_order_of_levels_is_kept(how):
    order = ["low", "mid", "high"]
    table = {
        "polars": lambda: pl.DataFrame({"c": pl.Series(["mid", "high", "low"], dtype=pl.Enum(order))}),
        "dict": lambda: {"c": pd.Categorical(["mid", "high", "low"], categories=order, ordered=True)},
        "pyarrow": lambda: pa.table({"c": pa.DictionaryArray.from_arrays([1, 2, 0], order, ordered=True)}),
    }[how]()
    frame = read_frame(table)
    assert frame["c"].tolist() == ["mid", "high", "low"]
    assert Encoding.of(frame, ["c"])["c"].levels == tuple(order)


def test_a_level_that_nobody_has_is_no_level():
    declared = pd.Series(pd.Categorical(["hi", "lo"], categories=["mid", "lo", "hi"]), name="c")
    assert Column.of(declared).levels == ("lo", "hi")
    assert Column.of(declared, "binary").levels == ("lo", "hi")
    with pytest.raises(DataError) as caught:
        Column.of(declared).encode(pd.Series(["mid"]))
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


def test_unseen_level_is_named_with_its_row():
    column = Column("purpose", "categorical", ("car", "tv"))
    with pytest.raises(DataError, match=r"'cart' in row 'y'.*Did you mean 'car'") as caught:
        column.encode(pd.Series(["car", "cart"], index=["x", "y"]))
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


def test_fractions_stay_fractions():
    column = Column("n", "integer")
    assert column.decode(np.array([1.0, 2.0])).dtype == np.int64
    np.testing.assert_array_equal(column.decode(np.array([1.0, 2.5])), [1.0, 2.5])
    with pytest.raises(DataError, match=r"'n'.*2\.5 in row 'b'") as caught:
        Encoding((column,)).check_whole(np.array([[1.0], [2.5]]), pd.Index(["a", "b"]))
    assert caught.value.code == "DATA_NOT_INTEGER"
    Encoding((column, Column("x", "continuous"))).check_whole(
        np.array([[1.0, 0.5], [np.nan, 0.5]]), pd.Index(["a", "b"])
    )


def test_screen_names_row_and_column():
    frame = pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": [1, 2, 3], "c": ["x", "y", None]}, index=["p", "q", "r"])
    with pytest.raises(DataError, match="'a' has 2 missing values, the first in row 'q'") as caught:
        screen(frame, ["b", "a"], "error")
    assert caught.value.code == "DATA_MISSING_VALUES"
    with pytest.raises(DataError, match="'c' has 1 missing value, the first in row 'r'"):
        screen(frame, ["c"], "error")
    assert screen(frame, ["b"], "error").tolist() == [True, True, True]
    for missing in ("drop", "model"):
        assert screen(frame, ["a", "c"], missing).tolist() == [True, False, False]
    for value in (np.inf, -np.inf, 1e31):
        with pytest.raises(DataError, match=r"'a' holds .* in row 'q'") as caught:
            screen(frame.assign(a=[1.0, value, 2.0]), ["a"], "model")
        assert caught.value.code == "DATA_NOT_FINITE"
    with pytest.raises(DataError) as caught:
        screen(frame.iloc[1:], ["a"], "drop")
    assert caught.value.code == "DATA_EMPTY"


def test_missing_columns_are_named_with_the_closest():
    with pytest.raises(DataError, match=r"'amont'.*Did you mean 'amount'") as caught:
        require_columns(pd.DataFrame({"amount": [1], "age": [2]}), ["age", "amont"])
    assert caught.value.code == "DATA_MISSING_COLUMN"


SEX = ["f", "m", "f"]


@pytest.mark.parametrize(
    "given",
    [
        SEX,
        tuple(SEX),
        np.array(SEX),
        np.array(SEX)[:, None],
        pd.Series(SEX),
        pd.Series(SEX, dtype="category"),
        pl.Series(SEX),
        {"sex": SEX},
        pd.DataFrame({"sex": SEX}),
        pl.DataFrame({"sex": SEX}),
        pa.table({"sex": SEX}),
    ],
    ids=lambda given: f"{type(given).__module__.split('.')[0]} {type(given).__name__}",
)
def test_sensitive_features_beside_x(given):
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"])
    if isinstance(given, pd.Series | pd.DataFrame):
        given = given.set_axis(frame.index)
    joined = join_sensitive(frame, given, ["sex"])
    assert joined["sex"].tolist() == SEX
    assert joined.index.equals(frame.index)
    assert "sex" not in frame


def test_sensitive_features_that_do_not_fit():
    frame = pd.DataFrame({"a": [1, 2, 3], "sex": SEX})
    assert join_sensitive(frame, None, ["sex"]) is frame
    assert join_sensitive(frame, SEX, ["sex"])["sex"].tolist() == SEX
    for beside, names in (
        (["f"], ["race"]),
        (["f"] * 3, ["race", "sex"]),
        (np.zeros((3, 3)), ["race"]),
        (["m", "m", "f"], ["sex"]),
        # The same labels in another order: by position they would be given to other people.
        (pd.Series(SEX, index=[2, 1, 0]), ["race"]),
    ):
        with pytest.raises(DataError):
            join_sensitive(frame, beside, names)


@given(st.floats(-1e15, 1e15))
def test_numbers_as_people_read_them(value):
    shown = number(value)
    assert float(shown.replace(",", "")) == pytest.approx(value, rel=1e-5, abs=1e-300)
    assert "000000" not in shown.split("e")[0].split(".")[-1] or abs(value) >= 1e6


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1_000_000, "1,000,000"),
        (999_999.6, "1,000,000"),
        (999_999.4, "999,999"),
        (-12_345_678.9, "-12,345,679"),
        (250_000_000_000.0, "250,000,000,000"),
        (np.float64(3e6), "3,000,000"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_large_numbers_are_written_out(value, shown):
    assert number(value) == shown
