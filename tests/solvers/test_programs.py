"""Whole numbers that nearly cancel are no solution."""

from __future__ import annotations

import numpy as np
import pytest

from equieffort.solvers.programs import Program, Side


@pytest.mark.parametrize(
    ("effect", "delta", "nearly"),
    [
        ([0.5, -1.0], [2.0, 1.0], False),
        ([0.1, -0.3], [3.0, 1.0], False),  # equal on paper, though not to the last bit
        ([0.37, -0.81], [81.0, 37.0], False),
        ([0.5, -1.0 - 1e-9], [2.0, 1.0], True),
        ([0.5, -1.0 - 1e-7], [2.0, 1.0], True),
    ],
)
def test_a_near_miss_of_whole_numbers_is_seen(effect, delta, nearly):
    sides = [Side(0, 1.0, [(10.0, 1.0)]), Side(1, 1.0, [(10.0, 1.0)])]
    zero = np.zeros(1)
    program = Program(sides, np.ones(2), np.array([True, True]), np.array([effect]), zero, zero)
    assert program._only_nearly(np.array(delta)) is nearly
    mixed = Program(sides, np.ones(2), np.array([True, False]), np.array([effect]), zero, zero)
    assert mixed._only_nearly(np.array(delta)) is False
