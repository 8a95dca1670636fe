"""A column in files does what an array does, and says what it has read."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from equieffort.data.on_file import OnFile

VALUES = np.arange(100, dtype=np.int16) ** 2


def whole() -> np.ndarray:
    return VALUES.copy()


def column() -> OnFile:
    return OnFile(100, VALUES.dtype, whole, partial(np.take, VALUES))


@pytest.mark.parametrize(
    "rows", [3, -1, np.int64(7), np.array([4, 4, -2]), np.array([], dtype=int), np.array([99, 0], dtype=np.uint8)]
)
def test_single_values_are_read_alone(rows):
    asked = column()
    found = asked[rows]
    assert np.array_equal(found, VALUES[rows])
    assert not asked.is_read


@pytest.mark.parametrize("rows", [slice(3, 50), VALUES > 40, np.arange(80), [1, 2]])
def test_for_many_everything_is_read_once(rows):
    asked = column()
    assert np.array_equal(asked[rows], VALUES[rows])
    assert asked.is_read
    assert asked.whole() is asked.whole()


def test_it_computes_as_an_array_does():
    assert np.array_equal((column() > 30) & (column() < 90), (VALUES > 30) & (VALUES < 90))
    assert np.array_equal(1 + column(), 1 + VALUES)
    assert np.array_equal(np.where(column() > 5, column(), -1), np.where(VALUES > 5, VALUES, -1))
    assert (column().sum(), column().tobytes(), len(column())) == (VALUES.sum(), VALUES.tobytes(), 100)
    assert column().shape == (100,)
    assert np.asarray(column(), dtype=float).dtype == float
    assert list(column()) == VALUES.tolist()
    assert np.concatenate([column(), VALUES]).dtype == np.int16
    assert np.array_equal(pickle.loads(pickle.dumps(column())), VALUES)


@pytest.mark.parametrize("rows", [100, -101, np.array([5, 100]), np.array([-101])])
def test_who_is_not_there_is_an_error_as_of_an_array(rows):
    with pytest.raises(IndexError):
        column()[rows]
