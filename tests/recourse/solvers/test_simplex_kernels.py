"""The small dual simplex against scipy's HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog


@pytest.mark.parametrize("block", range(4))
def test_it_agrees_with_another_program(block):
    from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED, program

    rng = np.random.default_rng(block)
    counts = {"solved": 0, "empty": 0}
    for _ in range(100):
        rows, columns = int(rng.integers(1, 6)), int(rng.integers(1, 9))
        matrix = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
        price = rng.uniform(0.1, 2.0, columns) * 10.0 ** rng.integers(-3, 3, columns)
        width = np.where(rng.random(columns) < 0.3, np.inf, rng.uniform(0.0, 3.0, columns))
        middle = rng.normal(size=rows)
        low = np.where(rng.random(rows) < 0.3, -np.inf, middle - rng.uniform(0.0, 1.0, rows) * rng.integers(0, 2, rows))
        high = np.where(rng.random(rows) < 0.3, np.inf, np.maximum(middle, low))
        ended, value, t = program(matrix, price, width, low, high, np.full(rows, 1e-10))
        upper, lower = np.isfinite(high), np.isfinite(low)
        other = linprog(
            price,
            A_ub=np.vstack([matrix[upper], -matrix[lower]]),
            b_ub=np.concatenate([high[upper], -low[lower]]),
            bounds=[(0, w) for w in width],
        )
        if other.status == 2:
            assert ended == EMPTY
            counts["empty"] += 1
            continue
        assert other.status == 0
        assert ended == SOLVED
        assert value == pytest.approx(other.fun, rel=1e-6, abs=1e-6)
        assert price @ t == pytest.approx(value, rel=1e-7, abs=1e-9)
        assert ((t >= 0) & (t <= width * (1 + 1e-12))).all()
        assert (matrix @ t >= low - 1e-8).all()
        assert (matrix @ t <= high + 1e-8).all()
        counts["solved"] += 1
    assert min(counts.values()) > 10


def test_a_tiny_effect_over_a_long_way_is_no_proof_that_nothing_helps():
    from equieffort.recourse.solvers.kernels.simplex import EMPTY, program

    far = np.array([[1e-14, 1.0]])
    ended, value, _ = program(far, np.ones(2), np.array([np.inf, 1.0]), np.array([2.0]), np.array([3.0]), np.zeros(1))
    assert ended != EMPTY
    assert value <= 2.0e14


def nearly_parallel(rng):
    """Rows that are the same but for a little, and a point that keeps them: (matrix, price, width, low, high, cost)."""
    rows, columns, little = int(rng.integers(2, 6)), int(rng.integers(2, 9)), 10.0 ** rng.uniform(-13, -3)
    matrix = rng.normal(size=(1, columns)) * rng.choice([1.0, 2.0, -1.0], size=(rows, 1))
    matrix += little * rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.6)
    price = rng.uniform(0.1, 2, columns) * 10.0 ** rng.integers(-2, 3, columns)
    width = rng.uniform(0, 3, columns)
    point = rng.uniform(0, 1, columns) * width * (rng.random(columns) < 0.7)
    kind, value = rng.integers(0, 3, rows), matrix @ point
    room = rng.uniform(0, 1, (2, rows)) * little * (rng.random((2, rows)) < 0.5)
    low, high = np.where(kind == 0, -np.inf, value - room[0]), np.where(kind == 1, np.inf, value + room[1])
    width[rng.random(columns) < 0.1] = np.inf
    return matrix, price, width, low, high, float(price @ point)


@pytest.mark.parametrize("forgiven", [1e-13, 1e-10, 1e-9])
def test_rows_that_are_nearly_the_same_prove_nothing_wrong(forgiven):
    """The table's own value was above what a point costs in one program of some thousand of these."""
    from equieffort.recourse.solvers.kernels.simplex import EMPTY, program

    rng, proven = np.random.default_rng(0), 0
    for _ in range(6000):
        matrix, price, width, low, high, cost = nearly_parallel(rng)
        tolerance = forgiven + 1e-13 * (np.abs(matrix) @ np.minimum(width, 3.0))
        ended, value, _ = program(matrix, price, width, low, high, tolerance)
        assert ended != EMPTY
        assert value <= cost * (1 + 1e-9) + 1e-12
        proven += value > 0.5 * cost > 0
    assert proven > 500
