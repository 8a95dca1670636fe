"""The one way to HiGHS, by highspy and by scipy: what it says, what is changed in place, what else a process holds."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests import oracles_trees
from tests.oracles import Tally

from equieffort.recourse.solvers import highs
from equieffort.recourse.solvers.highs import Answer, Matrix, OwnHighs, ProgramStatus, ScipyHighs
from equieffort.recourse.solvers.milp.search import Search
from equieffort.recourse.solvers.rule_table import RuleTable

ENGINES = [OwnHighs, ScipyHighs]
INF = np.inf


def build(engine, price, rows, low, high, lower, upper, whole=()):
    columns = len(price)
    dense = np.asarray(rows, dtype=float).reshape(len(low), columns)
    ends = (np.asarray(end, dtype=float) for end in (low, high, lower, upper))
    return engine(
        np.asarray(price, dtype=float), Matrix.of(dense), *ends, np.isin(np.arange(columns), np.asarray(whole))
    )


def random_program(rng, whole_share=0.5):
    """Rows through a point that is allowed, or shifted so that perhaps none is; columns with one, two or no ends."""
    columns, rows = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    dense = np.where(
        rng.random((rows, columns)) < 0.7, rng.choice([1.0, -1.0, 2.0, 0.5, rng.normal()], (rows, columns)), 0
    )
    lower = rng.choice([0.0, -2.0, -1.0], columns)
    upper = lower + rng.choice([1.0, 2.0, 4.0, 5.5], columns)
    inside = dense @ rng.uniform(lower, upper) + rng.choice([0.0, 0.0, 2.0], rows)
    low = np.where(rng.random(rows) < 0.6, inside - rng.choice([0.0, 0.3, 1.0], rows), -INF)
    high = np.where(rng.random(rows) < 0.4, inside + rng.choice([0.3, 1.0], rows), INF)
    price = rng.choice([0.0, 1.0, 3.0, -1.0, rng.uniform(0.1, 5)], columns)
    whole = np.flatnonzero(rng.random(columns) < whole_share)
    return price, dense, low, high, lower, upper, whole


@pytest.mark.parametrize("engine", ENGINES)
class TestStatuses:
    def test_a_linear_optimum(self, engine):
        """2 x + 3 y with x + y >= 4 and x <= 3: x = 3, y = 1."""
        answer = build(engine, [2, 3], [[1, 1]], [4], [INF], [0, 0], [3, INF]).confirmed()
        assert answer.status == ProgramStatus.OPTIMAL
        assert answer.point.tolist() == [3.0, 1.0]
        assert (answer.cost, answer.bound) == (pytest.approx(9.0), pytest.approx(9.0))

    def test_a_whole_optimum(self, engine):
        """Least x + y with 2 x + 3 y >= 7: halves would do with 7/3, whole numbers need 3."""
        answer = build(engine, [1, 1], [[2, 3]], [7], [INF], [0, 0], [9, 9], [0, 1]).confirmed()
        assert answer.status == ProgramStatus.OPTIMAL
        assert (answer.cost, answer.bound) == (pytest.approx(3.0), pytest.approx(3.0))

    @pytest.mark.parametrize("whole", [[], [0]])
    def test_no_point(self, engine, whole):
        answer = build(engine, [1, 1], [[1, 1]], [4], [INF], [0, 0], [1, 1], whole).confirmed()
        assert (answer.status, answer.bound, answer.point) == (ProgramStatus.INFEASIBLE, INF, None)

    def test_whole_numbers_in_between_which_there_are_none(self, engine):
        answer = build(engine, [1], [[1]], [0.2], [0.8], [0], [1], [0]).confirmed()
        assert answer.status == ProgramStatus.INFEASIBLE

    @pytest.mark.parametrize("whole", [[], [0]])
    def test_no_end(self, engine, whole):
        answer = build(engine, [-1, 1], [[1, -1]], [0], [INF], [0, 0], [INF, INF], whole).confirmed()
        assert answer.status in (ProgramStatus.UNBOUNDED, ProgramStatus.UNKNOWN)
        assert answer.bound == -INF

    @pytest.mark.parametrize("whole", [[], [0, 1]])
    def test_without_rows_and_without_prices(self, engine, whole):
        answer = build(engine, [1, 0], np.zeros((0, 2)), [], [], [0.0, 2.0], [5.0, 3.0], whole).confirmed()
        assert (answer.status, answer.cost, answer.point[0]) == (ProgramStatus.OPTIMAL, 0.0, 0.0)

    @pytest.mark.parametrize("whole", [[], [0]])
    def test_what_highs_refuses_proves_nothing(self, engine, whole):
        """Scipy calls a program with such an entry infeasible; and what is refused must not leave what was before."""
        answer = build(engine, [1, 1], [[1e300, 1]], [1], [INF], [0, 0], [1, 1], whole).confirmed()
        assert (answer.status, answer.bound) == (ProgramStatus.UNKNOWN, -INF)
        program = build(engine, [1, 1], [[1, 1]], [1], [INF], [0, 0], [1, 1], whole)
        for end in (INF, np.nan, 1e30):
            program.set_rows(np.array([end]), np.array([INF]))
            assert program.confirmed().status == ProgramStatus.UNKNOWN
        program.set_rows(np.array([1.0]), np.array([INF]))
        for start, end in ((INF, INF), (np.nan, 1.0), (0.0, -INF)):
            program.set_columns(np.array([0.0, start]), np.array([1.0, end]))
            assert program.confirmed().status == ProgramStatus.UNKNOWN
        program.set_columns(np.zeros(2), np.ones(2))
        program.set_prices(np.array([1.0, np.nan]))
        assert program.confirmed().status == ProgramStatus.UNKNOWN
        program.set_prices(np.ones(2))
        assert program.confirmed().cost == pytest.approx(1.0)

    @pytest.mark.parametrize("whole", [[], [0]])
    def test_ends_that_cross(self, engine, whole):
        """By more than rounding: nothing lies between them."""
        program = build(engine, [1, 1], [[1, 1]], [1], [INF], [0, 0], [1, 1], whole)
        program.set_rows(np.array([1.5]), np.array([1.0]))
        assert program.confirmed().status == ProgramStatus.INFEASIBLE
        program.set_rows(np.array([1.0]), np.array([1.0 - 1e-13]))
        assert program.confirmed().status == ProgramStatus.OPTIMAL
        program.set_columns(np.array([0.0, 2.0]), np.array([1.0, 1.0]))
        assert program.confirmed().status == ProgramStatus.INFEASIBLE

    def test_time_that_is_up(self, engine):
        program = build(engine, [1], [[1]], [1], [INF], [0], [9], [0])
        assert (program.solve(0.0).status, program.solve(-1.0).bound) == (ProgramStatus.TIME, -INF)

    def test_a_long_search_ends_in_time_with_a_bound(self, engine):
        rng = np.random.default_rng(1)
        dense = np.rint(rng.uniform(1, 1000, (5, 60)))
        half = np.rint(dense.sum(axis=1) / 2)
        program = build(engine, np.ones(60), dense, half, half, np.zeros(60), np.ones(60), range(60))
        for _ in range(3):
            # The limit is each solve's own, not that of all together.
            start = time.monotonic()
            answer = program.solve(0.5)
            assert answer.status == ProgramStatus.TIME
            assert 0.3 < time.monotonic() - start < 30
            assert answer.bound <= 60

    def test_the_same_question_has_the_same_answer(self, engine):
        for seed in range(20):
            asked = random_program(np.random.default_rng(seed))
            first, second = (build(engine, *asked).confirmed() for _ in range(2))
            assert first.status == second.status
            np.testing.assert_array_equal(first.point, second.point)

    def test_nothing_is_printed(self, engine, capfd):
        for seed in range(20):
            build(engine, *random_program(np.random.default_rng(seed))).confirmed()
        assert capfd.readouterr().out == ""


def least_by_trying(price, dense, low, high, lower, upper, whole):
    """Every whole point."""
    ranges = [np.arange(np.ceil(a), np.floor(b) + 1) for a, b in zip(lower, upper, strict=True)]
    points = np.array(list(itertools.product(*ranges))).reshape(-1, len(price))
    sums = points @ dense.T
    good = ((sums >= low - 1e-9) & (sums <= high + 1e-9)).all(axis=1)
    return (points[good] @ price).min(initial=INF)


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_points_agree_with_trying_all(engine):
    """Some bounds are halves, with which HiGHS 1.12 and 1.15.1 lose optima when they do not presolve."""
    seen = {ProgramStatus.OPTIMAL: 0, ProgramStatus.INFEASIBLE: 0}
    for seed in range(60):
        asked = random_program(np.random.default_rng(seed), whole_share=1.1)
        answer, least = build(engine, *asked).confirmed(), least_by_trying(*asked)
        assert build(engine, *asked).solve().bound == pytest.approx(least, abs=1e-6), seed
        assert answer.bound == pytest.approx(least, abs=1e-6), seed
        assert answer.status == (ProgramStatus.OPTIMAL if least < INF else ProgramStatus.INFEASIBLE), seed
        seen[answer.status] += 1
    assert min(seen.values()) > 10


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("whole_share", [0.0, 0.4])
def test_what_is_changed_in_place_is_as_if_built_anew(engine, whole_share):
    """The other engine is asked about each state afresh."""
    other = ScipyHighs if engine is OwnHighs else OwnHighs
    seen = set()
    for seed in range(25):
        rng = np.random.default_rng([7, seed])
        price, dense, low, high, lower, upper, whole = random_program(rng, whole_share)
        program = build(engine, price, dense, low, high, lower, upper, whole)
        for _ in range(6):
            answer = program.confirmed()
            anew = build(other, price, dense, low, high, lower, upper, whole).confirmed()
            assert answer.status == anew.status, seed
            assert answer.bound == pytest.approx(anew.bound, abs=1e-6), seed
            seen.add(answer.status)
            what = rng.integers(3)
            if what == 0:
                shift = rng.choice([-1.0, -0.1, 0.1, 1.0], len(low))
                low, high = low + shift, high + shift
                program.set_rows(low, high)
            elif what == 1:
                upper = lower + rng.choice([0.0, 1.0, 3.0], len(lower))
                program.set_columns(lower, upper)
            else:
                price = rng.permutation(price)
                program.set_prices(price)
    assert seen >= {ProgramStatus.OPTIMAL, ProgramStatus.INFEASIBLE}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("liar", [False, True])
def test_an_infeasible_linear_program_is_believed_when_both_ways_say_so(monkeypatch, engine, liar):
    run = engine._run

    def lies(self, seconds, presolve, afresh):
        return Answer(ProgramStatus.INFEASIBLE, INF) if presolve is liar else run(self, seconds, presolve, afresh)

    def asked(top):
        return build(engine, [1, 1], [[1, 1]], [4], [INF], [0, 0], [top, top]).confirmed()

    monkeypatch.setattr(engine, "_run", lies)
    # That there is an optimum the other way shows by itself.
    assert asked(5.0).status == (ProgramStatus.OPTIMAL if liar else ProgramStatus.UNKNOWN)
    assert asked(5.0).bound == pytest.approx(4.0)
    assert asked(1.0).status == ProgramStatus.INFEASIBLE


@pytest.mark.parametrize("engine", ENGINES)
def test_a_last_basis_that_leads_nowhere_is_left(monkeypatch, engine):
    run = engine._run

    def stuck(self, seconds, presolve, afresh):
        return run(self, seconds, presolve, afresh) if afresh else Answer(ProgramStatus.UNKNOWN)

    monkeypatch.setattr(engine, "_run", stuck)
    assert build(engine, [1, 1], [[1, 1]], [4], [INF], [0, 0], [5, 5]).confirmed().status == ProgramStatus.OPTIMAL


def test_entries_that_highs_takes_for_zero_are_noticed_where_they_matter():
    matrix = Matrix.of(np.array([[1.0, 1e-10, 0.0]]))
    assert not matrix.loses(np.array([INF, 1.0, INF]))
    assert matrix.loses(np.array([1.0, 1e3, 1.0]))


BESIDE = """
import sys
import numpy as np
from equieffort.recourse.solvers import highs
from equieffort.recourse.solvers.highs import Matrix, OwnHighs, ScipyHighs, ProgramStatus

def asked(kind):
    ends = np.array([7.0]), np.array([np.inf]), np.zeros(2), np.full(2, 9.0)
    answer = kind(np.ones(2), Matrix.of(np.array([[2.0, 3.0]])), *ends, np.ones(2, dtype=bool)).confirmed()
    assert answer.status == ProgramStatus.OPTIMAL and abs(answer.cost - 3.0) < 1e-9, answer
"""
BOTH = "for kind in ({first}, {second}, {first}): asked(kind)"
THREADS = """
import highspy
other = highspy.Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 3)
x = other.addIntegral(0, 9)
other.minimize(x)
asked(OwnHighs)
"""
ABSENT = """
sys.modules["highspy"] = None
ends = np.zeros(1), np.ones(1), np.zeros(1), np.ones(1)
made = highs.program(np.ones(1), Matrix.of(np.ones((1, 1))), *ends, np.zeros(1, dtype=bool))
assert isinstance(made, ScipyHighs) and made.confirmed().status == ProgramStatus.OPTIMAL
"""
CTRL_C = """
rng = np.random.default_rng(1)
dense = np.rint(rng.uniform(1, 1000, (5, 60)))
half = np.rint(dense.sum(axis=1) / 2)
for _ in range(3):
    long = OwnHighs(np.ones(60), Matrix.of(dense), half, half, np.zeros(60), np.ones(60), np.ones(60, dtype=bool))
    try:
        print("ready", flush=True)
        long.solve(300.0)
    except KeyboardInterrupt:
        print("heard", flush=True)
        asked(OwnHighs)
    else:
        raise SystemExit("nobody was heard")
"""


@pytest.mark.parametrize(
    "script",
    [
        BOTH.format(first="OwnHighs", second="ScipyHighs"),
        BOTH.format(first="ScipyHighs", second="OwnHighs"),
        THREADS,
        ABSENT,
    ],
    ids=["own first", "scipy's first", "other threads", "without highspy"],
)
def test_what_else_is_in_the_process_changes_nothing(script):
    done = subprocess.run([sys.executable, "-c", BESIDE + script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there a signal cannot be sent to one process")
def test_ctrl_c_is_heard_while_whole_numbers_are_searched():
    started = subprocess.Popen([sys.executable, "-c", BESIDE + CTRL_C], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(3):
            assert started.stdout.readline() == "ready\n"
            time.sleep(0.3)
            started.send_signal(signal.SIGINT)
            assert started.stdout.readline() == "heard\n"
        assert started.wait(60) == 0
    finally:
        started.kill()
        started.stdout.close()


def by_scip(price, dense, low, high, lower, upper, whole):
    """The least cost that SCIP finds; infinite if it says that there is no point."""
    scip = pytest.importorskip("pyscipopt", reason="a second opinion for those who have SCIP")
    model = scip.Model()
    model.hideOutput()
    model.setParam("numerics/feastol", 1e-9)
    columns = [
        model.addVar(vtype="I" if v in whole else "C", lb=end, ub=None if upper[v] == INF else upper[v])
        for v, end in enumerate(lower)
    ]
    for row, least, most in zip(dense, low, high, strict=True):
        total = scip.quicksum(float(w) * x for w, x in zip(row, columns, strict=True))
        if least > -INF:
            model.addCons(total >= least)
        if most < INF:
            model.addCons(total <= most)
    model.setObjective(scip.quicksum(float(p) * x for p, x in zip(price, columns, strict=True)))
    model.optimize()
    assert model.getStatus() in ("optimal", "infeasible")
    return model.getObjVal() if model.getStatus() == "optimal" else INF


@pytest.mark.verify
@pytest.mark.parametrize("block", range(10))
def test_scip_agrees(block, record_property):
    tally = Tally()
    for seed in range(50):
        asked = random_program(np.random.default_rng([11, block, seed]))
        least, answer = by_scip(*asked), build(OwnHighs, *asked).confirmed()
        tally += Tally(cases=1, people=1, optimal=int(least < INF), infeasible=int(least == INF))
        assert answer.status == (ProgramStatus.OPTIMAL if least < INF else ProgramStatus.INFEASIBLE), seed
        assert answer.bound == pytest.approx(least, rel=1e-6, abs=1e-6), seed
    record_property("verify", {"family": "programs, SCIP", **tally.counts})


def losing_program(monkeypatch):
    """The program of a person in a world of the trees' oracle, as HiGHS gets it, and what that person must pay."""
    case = oracles_trees.random_case(oracles_trees.rng_of("category", 423), "category")
    problem, made = oracles_trees.problem_of(case), []
    person = problem.encoding.encode(case.people.iloc[:1])
    model = Search(problem, RuleTable.of(problem), person, 1e-6, 60.0, 0)._model()
    with monkeypatch.context() as patch:
        patch.setattr(highs, "program", lambda *parts: made.append(parts) or OwnHighs(*parts))
        model.program.run(60.0)
    return made[0], oracles_trees.least_cost(case, case.people.iloc[0].to_dict())


@pytest.mark.parametrize("engine", ENGINES)
def test_an_instance_on_which_presolving_loses_the_optimum(monkeypatch, engine):
    """HiGHS 1.12 to 1.15 with presolve call 3.1675 optimal; changing the category alone does, for 2.46."""
    parts, least = losing_program(monkeypatch)
    assert engine(*parts).solve().cost == pytest.approx(least) == 2.46
    answer = engine(*parts).confirmed()
    assert (answer.cost, answer.bound) == (pytest.approx(least), pytest.approx(least))


@pytest.mark.verify
def test_scip_keeps_the_optimum_that_presolving_loses(monkeypatch):
    (price, (start, index, value), low, high, lower, upper, whole), least = losing_program(monkeypatch)
    dense = np.zeros((len(low), len(lower)))
    dense[np.repeat(np.arange(len(low)), np.diff(start)), index] = value
    assert by_scip(price, dense, low, high, lower, upper, np.flatnonzero(whole)) == pytest.approx(least)
