"""Small mixed-integer programs: near misses of whole numbers, and runs that lie."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import milp

from equieffort.recourse.solvers.base import FOUND, LIMIT
from equieffort.recourse.solvers.linear.programs import Program, Side


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


def _cheapest_of_two():
    """Whole steps of two features whose sum must reach 3 and whose difference may not pass 1: 1 of the dear, 2 of the
    cheap, for 2 x 1 + 1 x 5 = 7."""
    sides = [Side(0, 1.0, [(10.0, 1.0)]), Side(1, 1.0, [(10.0, 5.0)])]
    rows, low, high = np.array([[1.0, -1.0]]), np.array([-1.0]), np.array([1.0])
    return Program(sides, np.ones(2), np.array([True, True]), rows, low, high)


def test_the_cheapest_whole_steps():
    code, cost, bound, delta = _cheapest_of_two().solve(3.0, 0.0, 1e-9)
    assert code == FOUND
    assert delta.tolist() == [2.0, 1.0]
    assert cost == 7.0
    assert bound == pytest.approx(7.0)


@pytest.mark.parametrize("liar", [False, True], ids=["without presolve", "with presolve"])
def test_one_run_that_loses_the_optimum_proves_nothing(monkeypatch, liar):
    """One of the two runs answers a harder question and calls the outcome optimal."""

    def lies(price, *, options, constraints, **rest):
        if options["presolve"] is liar:
            constraints.lb = np.where(constraints.lb > 0, 5 / 3 * constraints.lb, constraints.lb)
        return milp(price, options=options, constraints=constraints, **rest)

    monkeypatch.setattr("scipy.optimize.milp", lies)
    _, cost, bound, delta = _cheapest_of_two().solve(3.0, 0.0, 1e-9)
    assert (cost, delta.tolist()) == (7.0, [2.0, 1.0])
    assert bound == pytest.approx(7.0)


@pytest.mark.parametrize("liar", [False, True], ids=["without presolve", "with presolve"])
def test_one_run_that_finds_nothing_proves_nothing(monkeypatch, liar):
    def lies(price, *, options, **rest):
        answer = milp(price, options=options, **rest)
        if options["presolve"] is liar:
            answer.x, answer.fun, answer.status = None, None, 2
        return answer

    monkeypatch.setattr("scipy.optimize.milp", lies)
    assert _cheapest_of_two().solve(3.0, 0.0, 1e-9)[0] == LIMIT
