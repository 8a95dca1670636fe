"""The small dual simplex against scipy's HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

from equieffort.foundations.jit import linked
from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED, dual_simplex, make_program

SOLVE = linked(dual_simplex, is_large=True)


def program(matrix, price, width, low, high, tolerance):
    """The program of these arrays, solved: (how it ended, lower bound, what it left)."""
    rows, columns = matrix.shape
    made = make_program(rows, columns)
    for place, given in zip(made, (matrix, price, price, width, low, high, tolerance), strict=False):
        place[:] = given
    ended, value = SOLVE(made, rows, columns)
    return ended, value, made


@pytest.mark.parametrize("block", range(4))
def test_it_agrees_with_another_program(block):
    rng = np.random.default_rng(block)
    counts = {"solved": 0, "empty": 0}
    for _ in range(60):
        rows, columns = int(rng.integers(1, 6)), int(rng.integers(1, 9))
        matrix = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
        price = rng.uniform(0.1, 2.0, columns) * 10.0 ** rng.integers(-3, 3, columns)
        width = np.where(rng.random(columns) < 0.3, np.inf, rng.uniform(0.0, 3.0, columns))
        middle = rng.normal(size=rows)
        low = np.where(rng.random(rows) < 0.3, -np.inf, middle - rng.uniform(0.0, 1.0, rows) * rng.integers(0, 2, rows))
        high = np.where(rng.random(rows) < 0.3, np.inf, np.maximum(middle, low))
        ended, value, left = program(matrix, price, width, low, high, np.full(rows, 1e-10))
        t = left.t
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
    far = np.array([[1e-14, 1.0]])
    ended, value, _ = program(far, np.ones(2), np.array([np.inf, 1.0]), np.array([2.0]), np.array([3.0]), np.zeros(1))
    assert ended != EMPTY
    assert value <= 2.0e14


def test_rows_that_hold_an_endless_column_in_place_leave_nothing_to_gain_by_it():
    """A number without limits that may not move anything else: what cancels but for rounding is no way out."""
    ways = np.array([1.0, -1.0])
    matrix = np.array([-1.8069365265757682 * ways, -0.44767753980713565 * ways, 2.8860661844935978 * ways])
    low, high = np.array([14.317572549179275, 0.0, 0.0]), np.array([np.inf, 0.0, 0.0])
    ended, value, _ = program(matrix, np.array([0.36, 1.89]), np.full(2, np.inf), low, high, np.full(3, 1e-10))
    assert (ended, value) == (EMPTY, np.inf)


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


@pytest.mark.parametrize("programs", [2000, pytest.param(20_000, marks=pytest.mark.verify)])
@pytest.mark.parametrize("forgiven", [1e-13, 1e-10, 1e-9])
def test_rows_that_are_nearly_the_same_prove_nothing_wrong(forgiven, programs):
    """The table's own value was above what a point costs in one program of some thousand of these."""
    rng, proven = np.random.default_rng(0), 0
    for _ in range(programs):
        matrix, price, width, low, high, cost = nearly_parallel(rng)
        tolerance = forgiven + 1e-13 * (np.abs(matrix) @ np.minimum(width, 3.0))
        ended, value, _ = program(matrix, price, width, low, high, tolerance)
        assert ended != EMPTY
        assert value <= cost * (1 + 1e-9) + 1e-12
        proven += value > 0.5 * cost > 0
    assert proven > programs // 12


def test_the_multipliers_that_are_left_prove_the_value():
    """Tightening by reduced costs leans on both: the least of cost - y . rows, and what y makes of their ends."""
    rng, proven, nothing = np.random.default_rng(1), 0, 0
    for _ in range(2000):
        matrix, price, width, low, high, _ = nearly_parallel(rng)
        tolerance = np.full(len(low), 1e-10)
        ended, value, made = program(matrix, price, width, low, high, tolerance)
        if ended == EMPTY:
            continue
        rest = price - made.y @ matrix
        ends = np.where(made.y > 0, low - tolerance, high + tolerance)
        shown = sum(y * end for y, end in zip(made.y, ends, strict=True) if y != 0)
        shown += sum(left * w for left, w in zip(rest, width, strict=True) if left < 0 and w < np.inf)
        assert value <= shown + 1e-12 * (1 + abs(shown)), "and where nothing is proven no multiplier is left"
        proven += value > 0
        nothing += value == 0
    assert min(proven, nothing) > 50
