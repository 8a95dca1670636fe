"""Small mixed-integer programs: near misses of whole numbers, and runs that lie."""

from __future__ import annotations

import numpy as np
import pytest

from equieffort.recourse.solvers import highs
from equieffort.recourse.solvers.base import FOUND, LIMIT
from equieffort.recourse.solvers.highs import Answer, OwnHighs, ProgramStatus, ScipyHighs
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


@pytest.fixture(params=[OwnHighs, ScipyHighs])
def engine(request, monkeypatch):
    """Each HiGHS that there may be."""
    if request.param is ScipyHighs:
        monkeypatch.setattr(highs, "_highspy", lambda: None)
    return request.param


@pytest.mark.parametrize("liar", [False, True], ids=["without presolve", "with presolve"])
def test_one_run_that_loses_the_optimum_proves_nothing(monkeypatch, engine, liar):
    """One of the two runs answers a harder question and calls the outcome optimal."""
    run, whom = engine._run, []

    def lies(self, seconds, presolve, afresh):
        if presolve is not liar:
            return run(self, seconds, presolve, afresh)
        low = self.low
        self.set_rows(np.where(low > 0, 5 / 3 * low, low), self.high)
        answer = run(self, seconds, presolve, afresh)
        self.set_rows(low, self.high)
        whom.append(answer)
        return answer

    monkeypatch.setattr(engine, "_run", lies)
    _, cost, bound, delta = _cheapest_of_two().solve(3.0, 0.0, 1e-9)
    assert (cost, delta.tolist()) == (7.0, [2.0, 1.0])
    assert bound == pytest.approx(7.0)
    assert any(answer.status == ProgramStatus.OPTIMAL for answer in whom)


@pytest.mark.parametrize("liar", [False, True], ids=["without presolve", "with presolve"])
def test_one_run_that_finds_nothing_proves_nothing(monkeypatch, engine, liar):
    run = engine._run

    def lies(self, seconds, presolve, afresh):
        return Answer(ProgramStatus.INFEASIBLE, np.inf) if presolve is liar else run(self, seconds, presolve, afresh)

    monkeypatch.setattr(engine, "_run", lies)
    assert _cheapest_of_two().solve(3.0, 0.0, 1e-9)[0] == LIMIT


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e10, 1e13])
def test_gains_that_are_small_in_their_unit_are_gains(engine, unit):
    """Two features in some unit, of which the cheap one may lead by half a unit: 3/4 and 1/4, for 3/4 + 2/4."""
    sides = [Side(0, 1.0, [(np.inf, 1 / unit)]), Side(1, 1.0, [(np.inf, 2 / unit)])]
    rows, low, high = np.array([[1.0, -1.0]]), np.array([-unit]), np.array([0.5 * unit])
    program = Program(sides, np.full(2, 1 / unit), np.array([False, False]), rows, low, high)
    code, cost, bound, delta = program.solve(1.0, 0.0, 1e-12)
    assert code == FOUND
    assert (delta / unit).tolist() == pytest.approx([0.75, 0.25])
    assert (cost, bound) == (pytest.approx(1.25), pytest.approx(1.25))


def test_what_would_be_left_out_of_the_program_leaves_it_open(engine):
    """Beside a gain of 1 HiGHS takes one of 1e-10 for nothing, though it may go on without end and be the cheapest."""
    sides = [Side(0, 1.0, [(10.0, 1.0)]), Side(1, 1.0, [(np.inf, 1e-12)])]
    rows, end = np.array([[1.0, 1.0]]), np.array([np.inf])
    program = Program(sides, np.array([1.0, 1e-10]), np.array([False, False]), rows, -end, end)
    assert program.solve(2.0, 0.0, 1e-12)[0] == LIMIT
    # What rounding leaves of a gain that cancels is none.
    program = Program(sides, np.array([1.0, 1e-17]), np.array([False, False]), rows, -end, end)
    assert program.solve(2.0, 0.0, 1e-12)[:2] == (FOUND, 2.0)
