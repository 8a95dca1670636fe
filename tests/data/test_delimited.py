"""The fast readers of text files give, cell by cell, what a simple reader gives, or leave it to the careful one."""

from __future__ import annotations

import csv
import io
import random

import numpy as np
import pandas as pd
import pytest
from tests.oracles_cells import read_text

from equieffort.data.delimited import Delimited, arrow, read_delimited, rows
from equieffort.data.delimited.blocks import Doubtful, utf8_blocks
from equieffort.data.delimited.carefully import read_carefully
from equieffort.data.inputs import DataSource, read_table
from equieffort.data.text_columns import TextColumn
from equieffort.errors import DataError

WORDS = (
    "", "", "NA", "None", "nan", "inf", "-inf", "null", "true", "a", "Ärger", " x ", "x y", "1,000", "12 %", "$5",
    "00123", "9007199254740993", "-9007199254740992", "9" * 45, "\u22125", "+5", "1 000", "1'000", "1\u202f000", "5.",
    ".5", "-.5", "-0", "-0.0", "0", "1e5", "1e-400", "1e400", "2E+3", "0x1F", "1_000", "\u0661", "+4912345678", "5,5",
    "00", "-", ".", "e5", "\ufeff", " 7", "7 ", " ", "\u00a0", 'say "x"', '"', '""', "a,b", "two\nlines",
    "two\r\nlines", "x\ry",
)  # fmt: skip


def kinds(rng: random.Random, n: int) -> list[str]:
    """A column of some kind, often with a few cells of another."""
    made = {
        "whole": lambda: str(rng.randint(-50, 10**6)),
        "few": lambda: str(rng.randint(0, 3)),
        "numbers": lambda: repr(round(rng.uniform(-9, 9), 4)),
        "long": lambda: repr(rng.uniform(-1, 1) * 10 ** rng.randint(-8, 8)),
        "huge": lambda: str(2**53 + rng.randint(-2, 2)),
        "telephones": lambda: f"+49{rng.randint(10**7, 10**8)}",
        "ids": lambda: f"A{rng.randint(0, 10**6):06d}",
        "words": lambda: rng.choice(WORDS),
        "names": lambda: rng.choice(("Female", "Male", "")),
        "flags": lambda: rng.choice(("True", "False", "True", "False", "TRUE", "false", "")),
        "pandas": lambda: rng.choice(("True", "False")),
        "commas": lambda: repr(round(rng.uniform(-9, 9), 3)).replace(".", ","),
    }
    kind = rng.choice(list(made))
    column = [made[kind]() for _ in range(n)]
    for _ in range(rng.choice((0, 0, 1, 2))):
        column[rng.randrange(n)] = rng.choice(WORDS)
    return column


def written(rng: random.Random, columns: list[list[str]], delimiter: str) -> str:
    """The table as programs write it: with quotes where needed, or everywhere, or line ends of any kind."""
    buffer = io.StringIO(newline="")
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    writer = csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator=rng.choice(("\n", "\r\n", "\r")))
    writer.writerow([f"c{k}" for k in range(len(columns))])
    for row in zip(*columns, strict=True):
        writer.writerow(row)
        if rng.random() < 0.01:
            buffer.write("\n")
    text = buffer.getvalue()
    return text if rng.random() < 0.7 else text.rstrip("\r\n")


def same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    for name in expected:
        if expected[name].dtype.kind == "f":
            assert np.array_equal(np.signbit(found[name]), np.signbit(expected[name])), name


@pytest.fixture(params=["arrow", "rows"])
def engine(request, monkeypatch):
    if request.param == "arrow":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(arrow, "is_there", lambda: request.param == "arrow")
    return {"arrow": arrow, "rows": rows}[request.param]


@pytest.mark.parametrize("seed", range(60))
def test_fuzzed_tables_are_read_as_by_a_simple_reader(engine, tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    monkeypatch.setattr(rows, "ROWS", 7)
    monkeypatch.setattr(rows, "LOOKED_AT", 4)
    monkeypatch.setattr(arrow, "BLOCK", 2048)
    n, delimiter = rng.choice((1, 2, 40, 300)), rng.choice(",;\t|")
    text = written(rng, [kinds(rng, n) for _ in range(rng.randint(1, 6))], delimiter)
    encoding = rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le"))
    how = Delimited(encoding, delimiter, rng.choice(".,"), rng.choice((None, "c0")))
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    try:
        expected = read_text(text.removeprefix("\ufeff"), delimiter, how.decimal, how.id)
    except AssertionError:
        with pytest.raises(DataError):
            read_delimited(path, how, 10**6)
        return
    found, lines = read_delimited(path, how, 10**6)
    same(found, expected)
    assert len(lines()) == len(found)


def damaged(rng: random.Random, text: str) -> str:
    """A few marks changed, put in or taken out."""
    for _ in range(rng.randint(1, 3)):
        at, mark = rng.randrange(len(text)), rng.choice('",\n\r" x\0\t')
        text = text[:at] + rng.choice((mark, "", mark + text[at])) + text[at + 1 :]
    return text


@pytest.mark.parametrize("seed", range(120))
def test_damaged_tables_are_refused_as_the_careful_reader_refuses_them(engine, tmp_path, seed):
    rng = random.Random(seed)
    text = damaged(rng, written(rng, [kinds(rng, 12) for _ in range(rng.randint(1, 4))], ","))
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode())
    try:
        header, people, lines = read_carefully(text.encode(), path.name, "utf-8", ",")
    except DataError as error:
        expected = (error.code, error.what)
    else:
        expected = None
    if expected is not None:
        with pytest.raises(DataError) as caught:
            read_table(DataSource(path))
        assert (caught.value.code, caught.value.what) == expected
        return
    found, told = read_delimited(path, Delimited(), 10**6)
    same(found, read_text(text))
    assert (found.columns.tolist(), len(found), told()) == (header, len(people), lines)


def test_whole_files_are_read_fast_where_nothing_is_odd(engine, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('a,b\n1,"x, ""y"""\n2,z\n', encoding="utf-8")
    with path.open("rb") as file:
        columns = engine.read(utf8_blocks(file, "utf-8", 1000), Delimited(), TextColumn, frozenset())
    assert columns["b"].series().tolist() == ['x, "y"', "z"]


@pytest.mark.parametrize("cell", ['5" pipe', 'a "b" c'])
def test_quotes_inside_cells_without_quotes_are_left_to_the_rows(tmp_path, cell):
    path = tmp_path / "people.csv"
    path.write_text(f"a,b\n1,{cell}\n", encoding="utf-8")
    if arrow.is_there():
        with path.open("rb") as file, pytest.raises(Doubtful):
            arrow.read(utf8_blocks(file, "utf-8", 1000), Delimited(), TextColumn, frozenset())
    assert read_table(DataSource(path))["b"].tolist() == [cell]


def test_a_number_far_down_makes_no_text_and_a_text_far_down_makes_no_number(engine, tmp_path):
    n = 50_000
    path = tmp_path / "people.csv"
    for last, kind in (("7.5", "float64"), ("12 %", "text"), ("", "Int64"), ("8", "int64")):
        path.write_text("a,b\n" + "".join(f"{k},1\n" for k in range(n)) + f"{last},1\n", encoding="utf-8")
        column = read_table(DataSource(path))["a"]
        assert len(column) == n + 1
        assert str(column.dtype) == kind or (kind == "text" and column.tolist()[-2:] == [str(n - 1), last])
