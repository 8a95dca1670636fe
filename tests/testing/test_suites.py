"""The conformance suites pass what is right and catch what is wrong."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from tests.own_solver import OwnSolver, proposed, refusal

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.recourse.solvers import LinearExact
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE
from equieffort.recourse.status import Infeasibility
from equieffort.testing import cheapest, check_mechanism, check_solver, make_case
from equieffort.world.scm import Mechanism
from equieffort.world.scm.equations import Additive


def test_the_linear_solver_keeps_its_promises():
    report = check_solver(LinearExact(), families=["linear"], cases=5)
    assert report.passed, str(report)
    assert {"optimal", "infeasible", "not_needed"} <= set(report.statuses)
    # Rules and bent equations are refused with a reason.
    assert sorted(report.refused.values()) == [1, 1]


@dataclass(frozen=True)
class Broken(OwnSolver):
    """The linear solver with one promise broken."""

    how: str = ""
    gap: float = field(default=1e-9)

    def refuses(self, problem):
        return refusal(LinearExact(), problem)

    def attempt(self, problem, matrix, attempt):
        proposal = LinearExact().prepare(problem).attempt(matrix, attempt)
        acting = proposal.code == FOUND
        if self.how == "dear":
            # Each person's last category, at the price of a detour.
            far = proposed(LinearExact(), problem.with_margin(0.5), matrix)
            both = acting & (far.code == FOUND)
            proposal.cost[both], proposal.delta[both], proposal.level[both] = (
                far.cost[both],
                far.delta[both],
                far.level[both],
            )
            proposal.intervention_mask[both], proposal.bound[both] = far.intervention_mask[both], far.cost[both]
        if self.how == "blind":
            proposal.code[acting] = NONE
        if self.how == "high bound":
            proposal.code[acting] = LIMIT
            proposal.bound[acting] = proposal.cost[acting] + 0.1
        if self.how == "batch":
            proposal.code[0] = LIMIT
            proposal.bound[0] = 0.0
        return proposal

    def why(self, problem, person):
        return None if self.how == "silent" else Infeasibility()


WORDS = {
    "dear": "it is called optimal at",
    "blind": "it is called infeasible, but an action of cost",
    "high bound": "its bound is",
    "batch": "asked about some of the people only",
    "silent": "without a reason",
}


@pytest.mark.parametrize("how", WORDS)
def test_a_broken_promise_is_found(how):
    report = check_solver(Broken(how), families=["linear"], cases=2)
    assert not report.passed
    assert any(WORDS[how] in str(fault) for fault in report.faults), str(report)
    assert WORDS[how] in str(report)


def test_a_solver_that_refuses_everything_has_not_passed():
    report = check_solver(LinearExact(), families=["tree"], cases=1)
    assert not report.faults
    assert not report.passed


def test_an_unknown_family():
    with pytest.raises(ParameterError, match="'shrub' is no family"):
        check_solver(LinearExact(), families=["shrub"])


def test_trying_everything_by_hand():
    """One person of one case, once more with loops and the public counterfactual."""
    case = make_case("linear", 3)
    row = int(np.flatnonzero(~case.problem.decision.is_favourable(case.people))[0])
    person = case.people.iloc[[row]]
    fact = person.iloc[0]
    schema, best = case.problem.schema, np.inf
    for a in case.values["a"]:
        if schema.feature("a").direction == "up" and a < fact["a"]:
            continue
        for b in [None, *case.values["b"]]:
            for c in case.values["c"]:
                do = {"a": a, "c": c} | ({} if b is None else {"b": b})
                after = case.problem.scm.counterfactual(person, do)
                low, high = schema.feature("d").plausible
                inside = min(low, fact["d"]) - 1e-9 <= after["d"].iloc[0] <= max(high, fact["d"]) + 1e-9
                if inside and case.problem.decision.is_favourable(after)[0]:
                    cost = abs(a - fact["a"]) / 4 + schema.feature("c").weights[0] * (c != fact["c"])
                    if b is not None:
                        cost += (1.0 if b > fact["b"] else 0.5) * abs(b - fact["b"]) / 4
                    best = min(best, cost)
    assert cheapest(case)[row].cost == pytest.approx(best)


def world(n=60):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=n), rng.choice(["k", "l"], n)
    return pd.DataFrame({"x": x, "z": z, "y": x**2 + (z == "k") + rng.normal(size=n)})


@pytest.mark.parametrize("mechanism", [None, ee.Polynomial(3), ee.Spline()], ids=str)
def test_equations_of_ours_pass(mechanism):
    X = world()
    given = {} if mechanism is None else {"y": mechanism}
    scm = ee.StructuralCausalModel([("x", "y"), ("z", "y")], mechanisms=given).fit(X)
    assert check_mechanism(scm, X, "y") == []


@dataclass(frozen=True)
class Wrong(Mechanism):
    """y = x squared, with something wrong about it."""

    how: str

    def bind(self, node, causes):
        return _WrongEquation(causes, self.how)

    def equation(self, node):
        return f"{node} = x^2 + noise"


class _WrongEquation(Additive):
    def __init__(self, causes, how):
        super().__init__(causes, lambda parents: parents[:, 0] ** 2, "")
        self.how = how

    def abduct(self, values, parents):
        return values if self.how == "noise" else super().abduct(values, parents)

    def counterfactual(self, values, before, after):
        moved = super().counterfactual(values, before, after)
        return moved + 1 if self.how == "moves" else moved

    def _range(self, low, high):
        ends = np.stack([low[:, 0] ** 2, high[:, 0] ** 2])
        if self.how == "narrow":
            return ends.min(axis=0), ends.max(axis=0)
        return np.where(low[:, 0] * high[:, 0] < 0, 0.0, ends.min(axis=0)), ends.max(axis=0)


WRONG = {"noise": "do not give the value back", "moves": "Unchanged causes", "narrow": "outside the bounds"}


@pytest.mark.parametrize("how", [*WRONG, "right"])
def test_a_wrong_equation_is_found(how):
    X = world()
    scm = ee.StructuralCausalModel([("x", "y")], nodes=["z"], mechanisms={"y": Wrong(how)}).fit(X)
    found = check_mechanism(scm, X, "y")
    assert found == [] if how == "right" else any(WRONG[how] in text for text in found)
