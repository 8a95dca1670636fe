"""Rows of CSV by pyarrow are, to the byte, those of Python's writer."""

from __future__ import annotations

import csv
import importlib.util
import io
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from equieffort.data.lines import Different, as_list, joined

pytest.importorskip("pyarrow")

FLOATS = st.floats(width=64) | st.integers(-(2**60), 2**60).map(float) | st.decimals(-9999, 9999, places=3).map(float)
TEXTS = (
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(['a"b', "x,y", "\r"])
)


def written(columns) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows(zip(*map(as_list, columns), strict=True))
    return buffer.getvalue()


@given(st.lists(st.tuples(FLOATS, st.integers(-(2**63), 2**63 - 1), st.booleans(), TEXTS), max_size=12))
@example([(value, 0, True, "=") for value in (0.0, -0.0, 1e-4, 9.9e-5, 1e15, 1e16, 1e17, 5e-324, math.inf, -math.inf)])
@example(
    [(value, 0, True, None) for value in (999999999999999.9, 123456789012345.6, 1e22, 0.1 + 0.2, 1e-5, 2**53 + 0.0)]
)
@example([])
def test_as_pythons_writer(rows):
    floats, whole, flags, texts = zip(*rows, strict=True) if rows else ((), (), (), ())
    different = [*dict.fromkeys(text for text in texts if text is not None), None]
    codes = np.array([-1 if text is None else different.index(text) for text in texts], dtype=np.intp)
    columns = [
        np.array(floats, dtype=np.float64), np.array(whole, dtype=np.int64), np.array(flags, dtype=bool), list(texts),
        Different(codes, different),
    ]  # fmt: skip
    assert joined(columns) == written(columns)


@given(st.lists(FLOATS, min_size=1, max_size=30))
def test_numbers_are_read_back_as_they_were(values):
    found = [line.split(",")[0] for line in joined([np.array(values), [None] * len(values)]).split("\r\n")[:-1]]
    assert found == ["" if math.isnan(value) else repr(value) for value in values]


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param([[1, 2], ["a", "b"]], id="numbers in a list"),
        pytest.param([["\ud83e", "b"], ["a", "b"]], id="half a character"),
        pytest.param([[None, None]], id="a single column"),
    ],
)
def test_what_is_left_to_pythons_writer(columns):
    assert joined(columns) is None


def test_without_pyarrow_all_is_left_to_pythons_writer(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyarrow" else real(name, *rest)
    )
    assert joined([np.array([1.5]), ["a"]]) is None
