"""Solvers as somebody else might write them: an honest one passes, and each kind of lie is caught with its reason."""

import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from tests.own_solver import OwnPrepared, OwnSolver

from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.recourse.solvers import Proposal, Refusal
from equieffort.recourse.solvers.base import FOUND, HOLDS, LIMIT, NONE
from equieffort.recourse.solving import solve
from equieffort.recourse.status import Blocking, Infeasibility, LimitKind, Obstacle, Status
from equieffort.testing import check_solver
from equieffort.testing.cases import make_case

SEED = 2
"""A case of trees in which some people have recourse and some have none."""


@dataclass(frozen=True)
class TriesEverything(OwnSolver):
    """Whole numbers only: every combination is tried, and the cheapest that works is proposed."""

    ignores: str = ""
    gap: float = 1e-9

    def refuses(self, problem):
        return "" if problem.is_integer.all() else "Only whole numbers can be tried one by one."

    def attempt(self, problem, matrix, attempt):
        cost, works, chosen, delta, level = self.everything(problem, matrix)
        cost = np.where(works, cost, np.inf)
        return take(problem, cost, cost.argmin(axis=1), chosen, delta, level)

    def everything(self, problem, matrix):
        """For each person and each combination what it costs, whether it works, and how it is written down."""
        a, b, c = (problem.encoding.position(name) for name in "abc")
        tries = np.array(list(product([-9, *range(5)], [-9, *range(5)], [-9, 0, 1, 2])))
        n, m = len(matrix), len(tries)
        start, tried = np.repeat(matrix, m, axis=0), np.tile(tries, (n, 1))
        picked, values = np.zeros(start.shape, dtype=bool), start.copy()
        for j, k in enumerate((a, b, c)):
            picked[:, k] = tried[:, j] != -9
            values[:, k] = np.where(picked[:, k], tried[:, j], start[:, k])
        cost = problem.cost.parts(start[:, [a, b]], values[:, [a, b]]).sum(axis=1)
        cost += problem.level_prices[0].between(start[:, c], values[:, c])
        nodes = len(problem.scm.graph.nodes)
        moved = values.copy()
        moved[:, :nodes], _ = problem.scm.propagate(start[:, :nodes], picked[:, :nodes], values[:, :nodes])
        works = np.ones(len(start), dtype=bool)
        if self.ignores != "limits":
            for k in (a, b):
                feature, fact, value = problem.feature(k), start[:, k], values[:, k]
                works &= (value >= np.minimum(feature.lower, fact)) & (value <= np.maximum(feature.upper, fact))
                if feature.max_increase is not None:
                    works &= (value - fact <= feature.max_increase) & (fact - value <= feature.max_decrease)
        if self.ignores != "directions" and problem.schema.feature("a").direction == "up":
            works &= values[:, a] >= start[:, a]
        if self.ignores != "plausible":
            d = problem.encoding.position("d")
            low, high = problem.plausible(start, d)
            works &= (moved[:, d] >= low) & (moved[:, d] <= high)
        if self.ignores != "rules":
            for broken, _ in problem.rules.faults(start, moved):
                works &= ~broken
        works &= problem.decision.is_favourable(problem.encoding.decode(moved))
        chosen = picked[:, [a, b, c]]
        delta = np.where(picked, values - start, 0.0)[:, [a, b]]
        level = tried[:, 2:].clip(-1).astype(np.int16)
        shaped = (array.reshape(n, m, *array.shape[1:]) for array in (cost, works, chosen, delta, level))
        return tuple(shaped)


def take(problem, cost, which, chosen, delta, level):
    """The proposal of one combination a person; infinite costs stand for people who have none."""
    rows, proposal = np.arange(len(cost)), Proposal.empty(problem, len(cost))
    proposal.cost[:] = proposal.bound[:] = cost[rows, which]
    proposal.code[:] = np.where(np.isfinite(proposal.cost), FOUND, NONE)
    proposal.intervention_mask[:], proposal.delta[:], proposal.level[:] = (
        part[rows, which] for part in (chosen, delta, level)
    )
    return proposal


def test_an_honest_one_passes():
    report = check_solver(TriesEverything(), families=["tree", "linear"], cases=5)
    assert report.passed, str(report)
    assert report.refused == {"Only whole numbers can be tried one by one.": 2}
    assert {"optimal", "infeasible"} <= set(report.statuses)


IGNORED = {
    "limits": ("leaves its range", "upper limit 3", "largest increase 2"),
    "directions": ("leaves its range", "may only go up"),
    "plausible": ("'d' leaves its plausible range",),
    "rules": ("breaks the rule that",),
}


@pytest.mark.parametrize("what", IGNORED)
def test_ignoring_what_the_schema_says_is_caught(what):
    report = check_solver(TriesEverything(ignores=what), families=["tree"], cases=5)
    assert not report.passed
    for words in IGNORED[what]:
        assert any(words in fault.what for fault in report.faults), str(report)
    # Only what is ignored is reproached: costs and labels are right.
    assert not any("cost is said" in fault.what or "label" in fault.what for fault in report.faults), str(report)


@dataclass(frozen=True)
class Lies(TriesEverything):
    """The honest solver, with one lie told about what it found."""

    lie: str = ""

    def prepare(self, problem):
        prepared = super().prepare(problem)
        return prepared if isinstance(prepared, Refusal) else LiesAtOnce(self, problem)

    def lies(self, problem, matrix):
        honest = self.attempt(problem, matrix, 0)
        return getattr(self, self.lie)(problem, matrix, honest, honest.code == FOUND)

    def stale_cost(self, problem, matrix, honest, found):
        """Another action, at the price of the first."""
        cost, works, chosen, delta, level = self.everything(problem, matrix)
        dearest = np.where(works, cost, -np.inf).argmax(axis=1)
        other = take(problem, np.where(works, cost, np.inf), dearest, chosen, delta, level)
        return replace(other, cost=honest.cost, bound=honest.bound)

    def half_cost(self, problem, matrix, honest, found):
        return replace(honest, cost=honest.cost / 2, bound=honest.bound / 2)

    def nan_cost(self, problem, matrix, honest, found):
        return replace(honest, cost=np.where(found, np.nan, honest.cost))

    def nan_bound(self, problem, matrix, honest, found):
        return replace(honest, bound=np.where(found, np.nan, honest.bound))

    def nan_bound_given_up(self, problem, matrix, honest, found):
        honest.code[found] = LIMIT
        return replace(honest, bound=np.where(found, np.nan, honest.bound))

    def nan_value(self, problem, matrix, honest, found):
        honest.intervention_mask[:, 0] = True
        honest.delta[:, 0] = np.nan
        return honest

    def never_flips(self, problem, matrix, honest, found):
        cost, _, chosen, delta, level = self.everything(problem, matrix)
        nothing = np.zeros(len(matrix), dtype=int)
        return take(problem, cost, nothing, chosen, delta, level)

    def wrong_optimal(self, problem, matrix, honest, found):
        cost, works, chosen, delta, level = self.everything(problem, matrix)
        dearest = np.where(works, cost, -np.inf).argmax(axis=1)
        return take(problem, np.where(works, cost, np.inf), dearest, chosen, delta, level)

    def wrong_infeasible(self, problem, matrix, honest, found):
        honest.code[:] = NONE
        return honest

    def high_bound_given_up(self, problem, matrix, honest, found):
        honest.code[found] = LIMIT
        return replace(honest, bound=honest.bound + 0.1)

    def high_bound(self, problem, matrix, honest, found):
        return replace(honest, bound=honest.bound * 1.2)

    def half_a_unit(self, problem, matrix, honest, found):
        honest.intervention_mask[:, 0] = True
        honest.delta[:, 0] = 0.5
        return honest

    def no_such_level(self, problem, matrix, honest, found):
        honest.intervention_mask[:, 2] = True
        honest.level[:] = 7
        return honest

    def no_such_feature(self, problem, matrix, honest, found):
        fourth = np.ones((len(matrix), 1), dtype=bool)
        return replace(honest, intervention_mask=np.column_stack([honest.intervention_mask, fourth]))

    def bits(self, problem, matrix, honest, found):
        """A set as the bits of a number."""
        return replace(honest, intervention_mask=honest.intervention_mask @ [1, 2, 4])

    def counts(self, problem, matrix, honest, found):
        return replace(honest, intervention_mask=honest.intervention_mask.astype(np.int64))

    def raises(self, problem, matrix, honest, found):
        raise ValueError("the matrix is singular")

    def refuses_late(self, problem, matrix, honest, found):
        raise ParameterError("PARAMETER", "Not today.", fix="Tomorrow.")

    def short(self, problem, matrix, honest, found):
        return replace(honest, cost=honest.cost[:1])

    def flat(self, problem, matrix, honest, found):
        return replace(honest, delta=honest.delta.ravel())

    def whole_costs(self, problem, matrix, honest, found):
        return replace(honest, cost=np.where(found, honest.cost, 0).astype(np.int64))

    def lists(self, problem, matrix, honest, found):
        return replace(honest, code=honest.code.tolist())

    def forgets_to_return(self, problem, matrix, honest, found):
        return None

    def strange_code(self, problem, matrix, honest, found):
        honest.code[found] = 7
        return honest

    def rewrites_people(self, problem, matrix, honest, found):
        matrix[:, problem.encoding.position("a")] = 4
        return honest


class LiesAtOnce(OwnPrepared):
    """Tries nothing: what it proposes is its first word."""

    def propose(self, batch):
        return self.solver.lies(self.problem, batch.people)


LIES = {
    "stale_cost": "its cost is said to be",
    "half_cost": "its cost is said to be",
    "nan_cost": "its cost is said to be nan",
    "nan_bound": "its bound is nan",
    "nan_bound_given_up": "its bound is nan",
    "nan_value": "'a' is set to nan",
    "never_flips": "the label stays",
    "wrong_optimal": "it is called optimal at",
    "wrong_infeasible": "it is called infeasible, but an action of cost",
    "high_bound_given_up": "its bound is",
    "high_bound": "lies above its cost",
    "half_a_unit": "'a' is a whole number, but is set to",
    "no_such_level": "'c' is set to level 7, and has 3",
    "no_such_feature": "`intervention_mask` has shape (",
    "bits": "`intervention_mask` has shape (",
    "counts": "`intervention_mask` holds int64, not truth values",
    "raises": "it raised ValueError: the matrix is singular",
    "refuses_late": "it raised PARAMETER on a problem it says it supports: Not today.",
    "short": "`cost` has shape (1,), not (",
    "flat": "`delta` has shape (",
    "whole_costs": "`cost` holds int64, not floating-point numbers",
    "lists": "`code` is a list, not an array",
    "forgets_to_return": "propose gave a NoneType, not a Proposal",
    "strange_code": "code 7 is none of FOUND, NONE and LIMIT",
    "rewrites_people": "it writes into the table of people",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_caught(lie):
    report = check_solver(Lies(lie=lie), families=["tree"], cases=1, random_state=SEED)
    assert not report.passed
    assert any(LIES[lie] in fault.what for fault in report.faults), str(report)


@pytest.mark.parametrize("lie", ["never_flips", "half_cost", "nan_cost"])
def test_a_fault_says_who_and_which_action(lie):
    report = check_solver(Lies(lie=lie), families=["tree"], cases=1, random_state=SEED)
    faults = [fault for fault in report.faults if LIES[lie] in fault.what]
    assert faults
    assert all(fault.case == "tree, number 2" and 0 <= int(fault.person) < 24 for fault in faults)
    assert all("its action {" in fault.what for fault in faults)
    assert len(set(faults)) == len(faults)


@pytest.mark.parametrize("lie", ["raises", "short"])
def test_the_suite_goes_on_after_an_exception(lie):
    report = check_solver(Lies(lie=lie), families=["tree", "linear"], cases=1)
    assert {fault.case for fault in report.faults} == {"tree, number 0", "linear, number 0"}


@dataclass(frozen=True)
class AtSecondAttempt(TriesEverything):
    """Nothing at first, which leaves the label; what works at the next attempt."""

    def attempt(self, problem, matrix, attempt):
        honest = super().attempt(problem, matrix, attempt)
        nothing = Lies().never_flips(problem, matrix, None, None)
        nothing.code[honest.code == NONE] = NONE
        return honest if attempt else nothing


def test_a_label_that_turns_at_a_further_attempt_is_fine():
    report = check_solver(AtSecondAttempt(), families=["tree"], cases=1)
    assert report.passed, str(report)
    assert "optimal" in report.statuses


class Late(TriesEverything):
    """Wrong only where it is asked about fewer people than before."""

    def attempt(self, problem, matrix, attempt):
        if len(matrix) < 8:
            raise ZeroDivisionError("division by zero")
        return super().attempt(problem, matrix, attempt)


class Unpicklable(TriesEverything):
    def __reduce__(self):
        raise TypeError("cannot pickle a socket")


class PrepareRaises(TriesEverything):
    def prepare(self, problem):
        raise KeyError("weights")


class PreparesNothing(TriesEverything):
    def prepare(self, problem):
        return None


class ReasonRaises(TriesEverything):
    def why(self, problem, person):
        raise RuntimeError("no reason kept")


class Sentence(TriesEverything):
    def why(self, problem, person):
        return "None of all combinations works."


class Stranger(TriesEverything):
    def why(self, problem, person):
        return Infeasibility((Obstacle("wealth", LimitKind.UPPER, 1),), Blocking.EACH)


class NamesNone(TriesEverything):
    def why(self, problem, person):
        return Infeasibility(blocking=Blocking.TOGETHER)


class NoGap(TriesEverything):
    def __init__(self):
        super().__init__(gap=float("nan"))


OTHERS = {
    Late: "it raised ZeroDivisionError: division by zero",
    Unpicklable: "it cannot be pickled: TypeError: cannot pickle a socket",
    PrepareRaises: "prepare raised KeyError: 'weights'",
    PreparesNothing: "prepare gave a NoneType",
    ReasonRaises: "infeasibility raised RuntimeError: no reason kept",
    NoGap: "its gap is nan",
    Sentence: "without a reason: a str, not an Infeasibility",
    Stranger: "its reason names 'wealth', which is no column",
    NamesNone: "(together) and names none",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_whatever_is_raised_becomes_a_fault(kind):
    report = check_solver(kind(), families=["tree"], cases=1, random_state=SEED)
    assert not report.passed
    assert any(OTHERS[kind] in fault.what for fault in report.faults), str(report)


class Lazy(TriesEverything):
    def attempt(self, problem, matrix, attempt):
        proposal = Proposal.empty(problem, len(matrix))
        proposal.code[:], proposal.bound[:] = LIMIT, 0.0
        return proposal


def test_a_solver_that_always_gives_up_tells_no_lie_and_has_not_passed():
    report = check_solver(Lazy(), families=["tree"], cases=1)
    assert not report.faults
    assert not report.passed
    assert "nothing was found or proven" in str(report)


def test_what_was_confirmed_and_then_changed_is_replayed_again():
    """A solver that shows one action and proposes another is not believed."""

    class Swaps(OwnPrepared):
        def propose(self, batch):
            proposal = self.solver.attempt(self.problem, batch.people, 0)
            rows = np.flatnonzero(proposal.code == FOUND)
            assert (batch.confirm(rows, proposal.take(rows)) == HOLDS).all()
            proposal.cost /= 2
            proposal.bound /= 2
            return proposal

    class Swindler(TriesEverything):
        def prepare(self, problem):
            return Swaps(self, problem)

    case = make_case("tree", SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        honest = solve(case.problem, case.people, solver=TriesEverything())
        table = solve(case.problem, case.people, solver=Swindler())
    acting = honest.has_action
    assert acting.any()
    assert (table.status[acting] == Status.UNKNOWN).all()
