"""Tables from files: cells as they are written, and errors with their line."""

from __future__ import annotations

import builtins
import os
import socket
import sys
import unicodedata
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.oracles_cells import parse_cells

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.data.inputs import read_table, warn_similar_labels
from equieffort.errors import DataError, EquieffortError, EquieffortWarning
from equieffort.spec import DataSource


@pytest.fixture
def table(tmp_path):
    """Write bytes or text into a file and read it as a table."""

    def read(content: str | bytes, *, name: str = "people.csv", **options) -> pd.DataFrame:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return read_table(DataSource(path, **options))

    return read


@pytest.fixture
def refused(table):
    def read(content: str | bytes, code: str, **options) -> EquieffortError:
        with pytest.raises(EquieffortError) as caught:
            table(content, **options)
        assert caught.value.code == code
        assert caught.value.fix
        assert caught.value.what.endswith((".", "?"))
        return caught.value

    return read


# -- cells -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-2", "0"], "int64", [1, -2, 0]),
        ([" 1", "2 "], "int64", [1, 2]),
        (["9007199254740992"], "int64", [2**53]),
        (["1", ""], "Int64", [1, None]),
        (["5.0", "", "-2.0"], "Int64", [5, None, -2]),
        (["5.5", "", "2"], "float64", [5.5, np.nan, 2.0]),
        (["5.0", "2.0"], "float64", [5.0, 2.0]),
        (["0.5", "2"], "float64", [0.5, 2.0]),
        (["1e3", "-.5", "5."], "float64", [1000.0, -0.5, 5.0]),
        (["1.5", "inf", "-inf"], "float64", [1.5, np.inf, -np.inf]),
        (["", ""], "float64", [np.nan, np.nan]),
        (["+5", "-5", "0"], "int64", [5, -5, 0]),
        (["\u22125", "\u20135", "5"], "int64", [-5, -5, 5]),
        (["1 000", "2", "1\u00a0234\u00a0567"], "int64", [1000, 2, 1_234_567]),
        (["1'000", "-12\u2019345.5"], "float64", [1000.0, -12345.5]),
        (["\u00a05\u00a0", "\u202f6"], "int64", [5, 6]),
    ],
)
def test_numbers(cells, kind, values):
    column = parse_cells(cells)
    assert column.dtype == kind
    np.testing.assert_array_equal(column.to_numpy(dtype=float, na_value=np.nan), np.array(values, dtype=float))


@pytest.mark.parametrize(
    "cells",
    [
        ["NA", "None"],
        ["null", "nan", "NaN", "N/A", "#N/A", "-"],
        ["00123", "00007"],
        ["9007199254740993"],
        ["-9007199254740993"],
        ["123456789012345678901234567890", "1.5"],
        ["1,000", "2,000"],
        ["+4915112345678", "+4930123456"],
        ["12", "twelve"],
        ["2026-01-01", "2026-01-02"],
        ["True", "False", "0"],
        ["yes", "no"],
        ["0x10", "1_000"],
        ["nan", "1"],
        [" ", "1"],
        ["12 34", "2"],
        ["12 %", "$5", "(5)", "5 kg", "1,5"],
        ["٣", "٤"],
        ["é", "𝒳"],
    ],
)
def test_everything_else_stays_text_as_written(cells):
    assert parse_cells(cells).tolist() == cells


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["True", "False"], "bool", [True, False]),
        (["TRUE", "false", "False"], "bool", [True, False, False]),
        (["True", "", "False"], "object", [True, None, False]),
    ],
)
def test_flags_as_pandas_and_r_write_them(table, cells, kind, values):
    read = table("\n".join(["a,b", *(f"{cell},1" for cell in cells)]))["a"]
    assert (str(read.dtype), read.tolist()) == (kind, values)


def test_flags_stay_words_where_somebody_quotes_them_and_in_an_id(table):
    content = "a,b\nTrue,true\nFalse,false\n"
    assert table(content, spelled=frozenset(["b"]))["b"].tolist() == ["true", "false"]
    assert table(content, id="a").index.tolist() == ["True", "False"]


def test_an_empty_cell_among_text_is_missing_and_nothing_else_is():
    column = parse_cells(["NA", "", "None", "x"])
    assert column.isna().tolist() == [False, True, False, False]


def test_a_decimal_comma():
    assert parse_cells(["0,5", "-2"], ",").tolist() == [0.5, -2.0]
    assert parse_cells(["1.000"], ",").tolist() == ["1.000"]
    assert parse_cells(["1.000,5"], ",").tolist() == ["1.000,5"]


def test_whole_numbers_are_read_exactly_as_python_does():
    rng = np.random.default_rng(0)
    numbers = rng.integers(-(2**53), 2**53, 500).tolist()
    assert parse_cells([str(number) for number in numbers]).tolist() == numbers
    floats = rng.normal(size=500).tolist()
    assert parse_cells([repr(number) for number in floats]).tolist() == floats


# -- CSV ---------------------------------------------------------------------------------------------------------------


def test_a_table_with_ids(table):
    frame = table("id,sex,age\n00123,NA,30\n9007199254740993,None,40\n", id="id")
    assert frame.index.tolist() == ["00123", "9007199254740993"]
    assert frame.index.name == "id"
    assert frame["sex"].tolist() == ["NA", "None"]
    assert frame["age"].tolist() == [30, 40]
    assert table("id,age\n1,2\n2,3\n", id="id").index.tolist() == ["1", "2"]
    assert table("id,age\n1,2\n2,3\n").index.tolist() == [0, 1]


def test_quotes_line_ends_marks_and_blank_lines(table):
    frame = table('\ufeffname,"a, b"\r\n"x ""y""",1\r\n\r\n"two\r\nlines",2\r\n\r\n')
    assert frame.columns.tolist() == ["name", "a, b"]
    assert frame["name"].tolist() == ['x "y"', "two\r\nlines"]
    assert table("a,b\r1,2\r3,4\r")["b"].tolist() == [2, 4]


def test_other_delimiters_and_encodings(table):
    assert table("a;b\n0,5;x\n", delimiter=";", decimal=",")["a"].tolist() == [0.5]
    assert table("a\tb\n1\t2\n", name="people.tsv", delimiter="\t")["b"].tolist() == [2]
    assert table("ort,n\nMünchen,1\n".encode("cp1252"), encoding="cp1252")["ort"].tolist() == ["München"]
    assert table("ort,n\nMünchen,1\n".encode("utf-16"), encoding="utf-16")["ort"].tolist() == ["München"]


@pytest.mark.parametrize("content", ["", "\n\n", "   \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_empty_files(refused, content):
    assert "people.csv" in refused(content, "DATA_EMPTY").what


def test_a_header_without_rows(refused):
    assert refused("a,b\n", "DATA_EMPTY").what == "'people.csv' has a header but no rows."


def test_files_that_are_not_there(tmp_path):
    for path in (tmp_path / "no.csv", tmp_path / "no.parquet"):
        with pytest.raises(DataError, match=r"cannot be read: No such file or directory\.") as caught:
            read_table(DataSource(path))
        assert caught.value.code == "DATA_FILE"
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="is a folder, not a file"):
        read_table(DataSource(tmp_path / "folder.csv"))


@pytest.mark.parametrize("name", ["people.xlsx", "people", "people.pkl", "people.csv.gz"])
def test_other_kinds_of_file(refused, name):
    assert repr(name) in refused("a,b\n1,2\n", "DATA_FILE", name=name).what


@pytest.mark.parametrize(("start", "kind"), [(b"PAR1", "Parquet"), (b"PK\x03\x04", "Excel"), (b"\x1f\x8b", "gzip")])
def test_other_files_under_the_name_of_csv(refused, start, kind):
    assert kind in refused(start + b"\x00" * 20, "DATA_FILE").what


def test_not_utf_8(refused):
    error = refused(b"ort,n\nBerlin,1\nM\xfcnchen,2\n", "DATA_ENCODING")
    assert error.what == "'people.csv' is not utf-8: line 3 has the byte 0xfc at offset 16."
    assert "encoding" in error.fix
    assert "cp1252" in error.fix
    assert "utf-16" in refused("ort,n\nBerlin,1\n".encode("utf-16"), "DATA_ENCODING").fix
    assert "zero byte in line 1" in refused("ort,n\nBerlin,1\n".encode("utf-16-le"), "DATA_ENCODING").what
    assert "cannot be read as nonesuch" in refused("a,b\n1,2\n", "DATA_ENCODING", encoding="nonesuch").what
    assert "cannot be read as hex" in refused("a,b\n1,2\n", "DATA_ENCODING", encoding="hex").what


def test_ragged_rows(refused):
    error = refused("a,b\n1,2\n3\n4,5\n6,7,8\n", "DATA_RAGGED")
    assert error.what == ("Line 3 of 'people.csv' has 1 cell, but the header has 2; the same holds for line 5.")
    assert refused("a,b\n1,2,3\n", "DATA_RAGGED").what == "Line 2 of 'people.csv' has 3 cells, but the header has 2."
    many = refused("a,b\n" + "1\n" * 12, "DATA_RAGGED").what
    assert "lines 3, 4, 5, 6 and 7 more" in many


def test_lines_are_counted_through_cells_of_several_lines_and_blank_ones(refused):
    assert refused('a,b\n"x\ny\nz",1\n\n2\n', "DATA_RAGGED").what.startswith("Line 6 of")


@pytest.mark.parametrize("quote", ['"', ""])
def test_a_cell_of_megabytes_is_called_that(refused, quote):
    content = f"a,b\n1,2\n{quote}{'x' * 2_000_000}{quote},3\n"
    error = refused(content, "DATA_FILE")
    assert "starts in line 3" in error.what
    assert "more than 131,072 characters" in error.what


def test_a_table_of_very_many_columns_is_refused_before_it_is_read(refused):
    header = ",".join(f"c{k}" for k in range(200_000))
    error = refused(f"{header}\n{','.join('1' * 200_000)}\n", "DATA_FILE")
    assert "200,000 columns, and at most 10,000 are read" in error.what


def test_a_line_without_end_is_refused(refused):
    assert "at most 20,000,000 are read" in refused(b"," * 20_000_001, "DATA_FILE").what


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs POSIX devices")
@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "socket", "sparse"])
@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_what_is_no_file_with_an_end_is_refused(tmp_path, kind, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        bound = socket.socket(socket.AF_UNIX)
        bound.bind(name)
    else:
        path.touch()
        os.truncate(path, 10**11)
    with pytest.raises(DataError) as caught:
        read_table(DataSource(path))
    if kind == "socket":
        bound.close()
    assert caught.value.code == "DATA_FILE"
    assert "100,000,000,000 bytes, and at most 2,000,000,000" in caught.value.what or kind != "sparse"


def test_a_parquet_file_is_looked_at_before_it_is_unpacked(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    wide, tall, long = (tmp_path / f"{name}.parquet" for name in ("wide", "tall", "long"))
    pq.write_table(pa.table({f"c{k}": [1] for k in range(10_001)}), wide)
    pq.write_table(pa.table({f"c{k}": pa.nulls(1_000_000) for k in range(501)}), tall)
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(30_000, dtype=np.int32)), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"a": text}), long, store_schema=False)
    for path, says in ((wide, "at most 10,000"), (tall, "at most 500,000,000 cells"), (long, "3,000,000,000 bytes")):
        with pytest.raises(DataError) as caught:
            read_table(DataSource(path))
        assert caught.value.code == "DATA_FILE"
        assert says in caught.value.what


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ('a,b\n1,2\n"x,3\n4,5\n', 3, "a quote is opened and never closed"),
        ('a,b\n"x"y,3\n', 2, "something follows a closing quote"),
    ],
)
def test_broken_quotes(refused, content, line, says):
    error = refused(content, "DATA_RAGGED")
    assert f"starts in line {line} " in error.what
    assert says in error.what


def test_headers(refused):
    assert refused("a,b,a\n1,2,3\n", "DATA_DUPLICATE_COLUMNS").what == (
        "'people.csv' has more than one column named 'a'."
    )
    error = refused(",a\n0,1\n", "DATA_NO_NAMES")
    assert error.what == "Column 1 of 'people.csv' has no name in the header."
    assert "delete the column" in error.fix
    assert "';'" in refused("a;b\n1;2\n", "DATA_FILE").fix
    assert "','" in refused("a,b\n1,2\n", "DATA_FILE", delimiter=";").fix


def test_ids_must_be_there(refused):
    assert "Did you mean 'person'?" in refused("person,a\n1,2\n", "DATA_MISSING_COLUMN", id="persn").what
    assert "1 empty cell, the first in data row 2." in refused("id,a\n1,2\n,3\n", "DATA_MISSING_VALUES", id="id").what


def test_numbers_as_text_are_shown_where_a_number_is_needed(table):
    frame = table('sex,income\nf,"1,000"\nm,"2,000"\n')
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=1, features={"income": ee.Feature("actionable", kind="continuous")}
    )
    with pytest.raises(DataError, match="'1,000'") as caught:
        Encoding.of(frame, ["income"], schema.kinds).encode(frame)
    assert caught.value.code == "DATA_NOT_NUMERIC"


def test_an_id_is_there_once(refused):
    error = refused("id,x\n007,1\n008,2\n\n007,3\n9,4\n9,5\n9,6\n", "DATA_DUPLICATE_INDEX", id="id")
    assert "'007'" in error.what
    assert "lines 2 and 5;" in error.what
    assert "1 other id is there more than once too" in error.what
    refused('id,x\n"a\nb",1\nc,2\nc,3\n', "DATA_DUPLICATE_INDEX", id="id").what.index("lines 4 and 5.")


# -- Parquet -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path):
    def write(frame: pd.DataFrame, **options) -> Path:
        path = tmp_path / "people.parquet"
        frame.to_parquet(path, **options)
        return path

    return write


def test_a_parquet_table(parquet):
    path = parquet(
        pd.DataFrame(
            {
                "id": [7, 2**53 + 1],
                "sex": ["None", None],
                "age": [30, 40],
                "score": [0.5, np.nan],
                "some": pd.array([1, None], dtype="Int64"),
                "level": pd.Categorical(["a", "b"]),
                "when": [date(2026, 1, 1), date(2026, 1, 2)],
                "price": [Decimal("1.50"), Decimal("2.25")],
                "member": [True, False],
                "nothing": [None, None],
            }
        )
    )
    frame = read_table(DataSource(path, id="id"))
    assert frame.index.tolist() == ["7", str(2**53 + 1)]
    assert frame["sex"].tolist()[0] == "None"
    assert frame["sex"].isna().tolist() == [False, True]
    assert {name: str(frame[name].dtype) for name in ("age", "score", "some", "price", "member", "nothing")} == {
        "age": "int64", "score": "float64", "some": "Int64", "price": "float64", "member": "bool",
        "nothing": "float64",
    }  # fmt: skip
    assert frame["level"].tolist() == ["a", "b"]
    assert frame["when"].tolist() == ["2026-01-01", "2026-01-02"]
    assert frame["price"].tolist() == [1.5, 2.25]


def test_ids_in_parquet_are_text(parquet):
    assert read_table(DataSource(parquet(pd.DataFrame({"id": [1.0, 2.0], "a": 0})), id="id")).index.tolist() == [
        "1",
        "2",
    ]
    assert read_table(DataSource(parquet(pd.DataFrame({"id": ["01", "2"], "a": 0})), id="id")).index[0] == "01"


def test_numbers_above_2_to_the_53_in_parquet_stay_exact(parquet):
    path = parquet(pd.DataFrame({"a": [2**60 + 1], "b": [1]}))
    assert read_table(DataSource(path))["a"].tolist() == [str(2**60 + 1)]


def test_an_index_of_pandas_is_no_column(parquet):
    path = parquet(pd.DataFrame({"a": [1, 2]}, index=[5, 9]))
    assert read_table(DataSource(path)).columns.tolist() == ["a"]
    named = parquet(pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="who")))
    assert read_table(DataSource(named, id="who")).index.tolist() == ["x", "y"]


@pytest.mark.parametrize("column", [[[1, 2]], [{"x": 1}], [b"raw"]])
def test_parquet_columns_that_are_neither_numbers_nor_text(parquet, column):
    path = parquet(pd.DataFrame({"odd": column, "a": [1]}))
    with pytest.raises(
        DataError, match=r"Column 'odd' of 'people\.parquet' holds .*, neither numbers nor text\."
    ) as caught:
        read_table(DataSource(path))
    assert caught.value.code == "DATA_TYPE"


def test_broken_parquet(parquet, tmp_path):
    whole = parquet(pd.DataFrame({"a": np.arange(1000), "b": ["x"] * 1000})).read_bytes()
    path = tmp_path / "broken.parquet"
    for content in (b"PAR1", b"not parquet at all", whole[:-1], whole[: len(whole) // 2], whole[10:]):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            read_table(DataSource(path))
        assert caught.value.code == "DATA_FILE"
        assert "'broken.parquet' is not a complete Parquet file" in caught.value.what
    path.write_bytes(b"")
    with pytest.raises(DataError) as caught:
        read_table(DataSource(path))
    assert caught.value.code == "DATA_EMPTY"


def test_an_id_is_there_once_in_parquet_too(parquet):
    path = parquet(pd.DataFrame({"id": [3, 4, 3], "x": [1, 2, 3]}))
    with pytest.raises(DataError, match="data rows 1 and 3") as caught:
        read_table(DataSource(path, id="id"))
    assert caught.value.code == "DATA_DUPLICATE_INDEX"


def test_parquet_without_rows_or_with_names_twice(parquet, tmp_path):
    with pytest.raises(DataError, match="has no rows") as caught:
        read_table(DataSource(parquet(pd.DataFrame({"a": pd.Series([], dtype="int64")}))))
    assert caught.value.code == "DATA_EMPTY"
    import pyarrow as pa
    import pyarrow.parquet

    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError) as caught:
        read_table(DataSource(tmp_path / "twice.parquet"))
    assert caught.value.code == "DATA_DUPLICATE_COLUMNS"


def test_parquet_needs_its_package(parquet, monkeypatch):
    path = parquet(pd.DataFrame({"a": [1]}))
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EquieffortError) as caught:
        read_table(DataSource(path))
    assert caught.value.code == "OPTIONAL_DEPENDENCY"
    assert "equieffort[parquet]" in caught.value.fix


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        ["Female", "female", "male"],
        ["female", "female ", "male"],
        ["North  East", "north east"],
        ["Zoë", unicodedata.normalize("NFD", "Zoë")],
        ["STRASSE", "straße"],
        ["ab", "a\u200bb"],
        ["１", "1"],
    ],
)
def test_similar_labels_are_listed(labels):
    with pytest.warns(EquieffortWarning, match="Labels of 'sex' differ only by case, spaces or Unicode form") as issued:
        warn_similar_labels(pd.Series(labels, name="sex"))
    assert [warning.message.code for warning in issued] == ["DATA_SIMILAR_LABELS"]
    shown = issued[0].message.what.split(": ", 1)[1]
    assert shown.count("(1 person)") == 2
    assert "'male'" not in shown
    first, second = shown.split(" and ")
    assert first.split(" (")[0] != second.split(" (")[0]
    assert issued[0].filename == __file__


@pytest.mark.parametrize(
    "labels", [["female", "male"], [0, 1], [1.0, 2.0], ["a", None, "b"], ["a", "á"], [True, False]]
)
def test_different_labels_are_no_reason_to_warn(labels):
    warn_similar_labels(pd.Series(labels, name="sex"))


def test_many_similar_labels_are_cut_short():
    with pytest.warns(EquieffortWarning, match="; and 2 more") as issued:
        warn_similar_labels(pd.Series([f"{case}{k}" for k in range(7) for case in "aA"], name="code"))
    assert len(issued) == 1
