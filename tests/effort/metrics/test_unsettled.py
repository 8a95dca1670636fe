"""Rows that are not solved to the end: certain intervals, verdicts they could overturn, and solving them further."""

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from tests.limits import unlimited
from tests.own_solver import OwnSolver, refusal

import equieffort as ee
from equieffort.effort.measures import Pair, Sample
from equieffort.effort.metrics import Comparison
from equieffort.effort.stats import EffortStats
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.recourse.solvers import LinearExact, Proposal, Status
from equieffort.recourse.solvers.base import LIMIT
from equieffort.recourse.status import Ending, Termination
from equieffort.words.reasons import told

POINT = ee.Criteria(level=None)
"""The estimate itself is judged, so that few people suffice to see what unsolved rows do to a verdict."""

PERSON = st.one_of(
    st.tuples(st.just(Status.OPTIMAL), st.integers(1, 8)),
    st.tuples(st.just(Status.FEASIBLE), st.integers(1, 8), st.integers(0, 4)),
    st.tuples(st.just(Status.UNKNOWN), st.integers(0, 4), st.integers(0, 6)),
    st.tuples(st.just(Status.INFEASIBLE)),
)


def arrays(people):
    """Status, cost, bound and ceiling of people written as above, in quarters."""
    rows = []
    for status, *rest in people:
        low = rest[0] / 4 if rest else np.nan
        if status == Status.OPTIMAL:
            rows.append((status, low, low, np.nan))
        elif status == Status.FEASIBLE:
            rows.append((status, low + rest[1] / 4, low, np.nan))
        elif status == Status.UNKNOWN:
            rows.append((status, np.nan, low, low + rest[1] / 4))
        else:
            rows.append((status, np.nan, np.inf, np.nan))
    table = np.array(rows, dtype=float)
    return table[:, 0].astype(np.int8), table[:, 1], table[:, 2], table[:, 3]


def completions(people):
    """Every way in which the rows may turn out to be, at the ends of what is known: costs, None for no action."""
    choices = []
    for status, cost, bound, ceiling in zip(*arrays(people), strict=True):
        choices.append(
            {Status.OPTIMAL: [cost], Status.FEASIBLE: [bound, cost], Status.INFEASIBLE: [None]}.get(
                Status(int(status)), [None, bound, ceiling]
            )
        )
    return product(*choices)


@given(st.lists(PERSON, min_size=1, max_size=5), st.lists(PERSON, min_size=1, max_size=3))
@settings(max_examples=80, deadline=None)
def test_every_completion_lies_in_the_intervals(mine, theirs):
    samples = [Sample.of(*arrays(people)) for people in (mine, theirs)]
    stats = [sample.stats for sample in samples]
    compared = Comparison("a", "b", "protected", Pair(*samples))
    for one, other in product(completions(mine), completions(theirs)):
        phis, rhos = [], []
        for costs, found in ((one, stats[0]), (other, stats[1])):
            acting = [cost for cost in costs if cost is not None]
            rhos.append(len(acting) / len(costs))
            assert found.rho_certified[0] - 1e-12 <= rhos[-1] <= found.rho_certified[1] + 1e-12
            if acting:
                phis.append(np.mean(acting))
                low, high = found.phi_certified
                assert low - 1e-12 <= phis[-1] <= high + 1e-12
        low, high = compared.rd_range
        assert low - 1e-12 <= rhos[1] - rhos[0] <= high + 1e-12
        # An average of nothing has no ratio, on either side.
        if len(phis) == 2 and min(phis) > 0:
            low, high = compared.acr_range
            assert low - 1e-12 <= phis[0] / phis[1] <= high + 1e-12


def test_a_limit_on_what_an_action_can_cost_limits_phi():
    status = np.array([Status.OPTIMAL, Status.UNKNOWN], dtype=np.int8)
    cost, bound = np.array([1.0, np.nan]), np.array([1.0, 0.0])
    assert EffortStats.of(status, cost, bound, np.array([np.nan, 4.0])).phi_certified == (0.5, 2.5)
    assert EffortStats.of(status, cost, bound, np.array([np.nan, np.inf])).phi_certified == (0.5, np.inf)
    assert EffortStats.of(status, cost, bound).phi_certified == (0.5, np.inf)


@dataclass(frozen=True)
class Lazy(OwnSolver):
    """Exact but for the first `unknown` people, of whom it says nothing, and the next `loose`, whose bound is zero."""

    unknown: int = 0
    loose: int = 0
    gap: float = field(default=1e-9)
    ending: Termination = field(default=Termination(Ending.GAVE_UP))

    def refuses(self, problem):
        return refusal(LinearExact(), problem)

    def attempt(self, problem, people, attempt):
        proposal: Proposal = LinearExact().prepare(problem).attempt(people, attempt)
        proposal.code[: self.unknown] = LIMIT
        proposal.bound[: self.unknown + self.loose] = 0.0
        proposal.notes.update(dict.fromkeys(range(self.unknown + self.loose), self.ending))
        return proposal

    def harder(self):
        return Lazy(max(self.unknown - 1, 0), 0)


def town(n=60, *, upper=9.0):
    x = np.linspace(0, 4, n)
    people = pd.DataFrame(
        {"x": x, "side": np.where(np.arange(n) % 2, "left", "right")}, index=[f"p{k}" for k in range(n)]
    )
    schema = ee.Schema(
        sensitive="side",
        protected="left",
        favourable=True,
        features=unlimited({"x": ee.Feature("actionable", lower=0, upper=upper)}),
    )
    scm = ee.StructuralCausalModel([], nodes=["x", "side"]).fit(people)
    return ee.LinearScore({"x": 1.0}, threshold=3.0), people, schema, scm


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_an_audit_that_could_be_overturned_says_whom_to_solve_further():
    clf, people, schema, scm = town()
    exact = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT)
    lazy = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT, solver=Lazy(unknown=2, loose=12))
    assert exact.verdict.outcome == "equal"
    assert (lazy.verdict.outcome, lazy.verdict.codes) == ("inconclusive", ("UNCERTIFIED",))
    assert "14 people are not solved to the end (first 'p0', 'p1', 'p2', 'p3', 'p4')" in str(lazy.verdict)
    low, high = lazy.system.comparisons[0].acr_range
    assert low < exact.system.comparisons[0].acr < high < np.inf
    found = lazy.unsettled
    assert found["status"].tolist() == ["unknown"] * 2 + ["feasible"] * 12
    assert found.index[:2].tolist() == ["p0", "p1"]
    # By hand: whatever they do is at most a move to 9, which is more than twice the range away; the scale is 4.
    np.testing.assert_allclose(found["gap"].iloc[:2], [9 / 4, (9 - people["x"].iloc[1]) / 4])
    np.testing.assert_allclose(found["gap"].iloc[2:], (3 - people["x"].iloc[2:14]) / 4)
    assert (found["reason"] == told(Termination(Ending.GAVE_UP))).all()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (Lazy(unknown=2, loose=12), "the column `reason` of the CSV file says why, person by person."),
        (Lazy(14, ending=Termination(Ending.UNLIMITED)), "say under features how far actions may go (lower, upper, "),
        (
            Lazy(14, ending=Termination(Ending.WORK, argument="node_limit", limit=2e3)),
            "raise node_limit (it was 2,000) under solver in the spec and audit again (the column `reason`",
        ),
        (ee.Search(budget=20), "criteria: {certified: false} in the spec judges the estimate."),
    ],
)
def test_who_reads_a_spec_is_told_in_its_words(solver, said, tmp_path):
    clf, people, schema, scm = town()
    made = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT, solver=solver)
    python = str(made.verdict)
    assert "audit.solve_further()" in python or "Criteria(certified=False) judges the estimate." in python
    assert "spec" not in python
    replace(made, recourse=replace(made.recourse, audience="spec")).save(tmp_path / "spec.audit")
    told = str(ee.load(tmp_path / "spec.audit").verdict)
    assert said in told
    assert "audit." not in told
    assert "Criteria(" not in told


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_solving_further():
    clf, people, schema, scm = town()
    exact = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT)
    lazy = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT, solver=Lazy(unknown=2, loose=12))
    once = lazy.solve_further()
    assert once.unsettled["status"].tolist() == ["unknown"]
    some = lazy.solve_further(["p0", "p5"], solver=LinearExact())
    assert set(lazy.unsettled.index) - set(some.unsettled.index) == {"p0", "p5"}
    done = once.solve_further(solver=LinearExact())
    assert done.unsettled.empty
    assert done.verdict.outcome == "equal"
    pd.testing.assert_frame_equal(done.recourse.frame(), exact.recourse.frame())
    # Somebody who is solved already loses nothing when a lazier solver looks again.
    same = exact.solve_further(["p0", "p1", "p2"], solver=Lazy(unknown=1, loose=2))
    pd.testing.assert_frame_equal(same.recourse.frame(), exact.recourse.frame())


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_saved_audit_keeps_its_intervals_and_cannot_be_solved_further(tmp_path):
    clf, people, schema, scm = town()
    lazy = ee.audit(clf, people, schema=schema, scm=scm, solver=Lazy(unknown=2, loose=12))
    lazy.save(tmp_path / "lazy.audit")
    again = ee.load(tmp_path / "lazy.audit")
    assert str(again.verdict) == str(lazy.verdict)
    assert again.system.comparisons[0].acr_range == lazy.system.comparisons[0].acr_range
    pd.testing.assert_frame_equal(again.unsettled, lazy.unsettled, check_index_type=False)
    with pytest.raises(ParameterError, match="neither the model nor the equations"):
        again.solve_further()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_without_a_limit_an_unknown_person_may_need_any_effort():
    clf, people, schema, scm = town(upper=None)
    lazy = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT, solver=Lazy(unknown=1))
    assert lazy.system.groups["phi_most"].max() == np.inf
    # What is certain widens a confidence limit: where nothing limits the one, nothing limits the other.
    assert np.isfinite(lazy.system.groups["phi_high"]).tolist() == np.isfinite(lazy.system.groups["phi_most"]).tolist()
    assert np.isfinite(lazy.system.groups["phi_high"]).any()
    assert lazy.unsettled["gap"].tolist() == [np.inf]
    assert "Person 'p0' is not solved to the end" in str(lazy.verdict)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_an_estimate_may_be_judged_when_that_is_asked_for():
    clf, people, schema, scm = town()
    as_found = ee.Criteria(certified=False, level=None)
    loose = ee.audit(clf, people, schema=schema, scm=scm, solver=Lazy(loose=14), criteria=as_found)
    assert loose.verdict.outcome == "equal"
    assert replace(loose, criteria=POINT).verdict.codes == ("UNCERTIFIED",)
    said = "(Point estimate, chance not considered; as found, not certified; tau = 1.25, epsilon = 0.05)"
    assert str(loose.verdict).splitlines()[0].endswith(said)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_what_many_people_decide_may_still_hang_on_unsolved_rows():
    clf, people, schema, scm = town(600)
    lazy = ee.audit(clf, people, schema=schema, scm=scm, solver=Lazy(unknown=2, loose=120))
    assert lazy.verdict.codes == ("UNCERTIFIED",)
    # Of each batch that it is asked about.
    count = int(lazy.recourse.is_unsettled.sum())
    assert count >= 122
    assert f"{count} people are not solved to the end" in str(lazy.verdict)
    assert lazy.solve_further(solver=LinearExact()).verdict.outcome == "equal"
    assert replace(lazy, criteria=ee.Criteria(certified=False)).verdict.outcome == "equal"
    # With a tenth of the people it is chance that decides nothing, solved or not.
    clf, people, schema, scm = town(60)
    few = ee.audit(clf, people, schema=schema, scm=scm, solver=Lazy(unknown=2, loose=12))
    assert few.verdict.codes == few.solve_further(solver=LinearExact()).verdict.codes == ("NOISE",)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_after_a_search_nobody_is_told_to_search_on():
    clf, people, schema, scm = town()
    searched = ee.audit(clf, people, schema=schema, scm=scm, criteria=POINT, solver=ee.Search(budget=50))
    assert searched.verdict.codes == ("UNCERTIFIED",)
    assert "a search proves nothing, however long it goes on" in str(searched.verdict)
    assert "solve_further" not in str(searched.verdict)


def test_solving_further_again_goes_further_still():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    forest = RandomForestClassifier(12, max_depth=5, random_state=0).fit(people, people.sum(axis=1) > 1)
    people["side"] = np.where(np.arange(120) % 2, "left", "right")
    schema = ee.Schema(
        sensitive="side", protected="left", favourable=True, features=unlimited(dict.fromkeys("abcd", "actionable"))
    )
    scm = ee.StructuralCausalModel([], nodes=list(people)).fit(people)
    solver = ee.BranchAndBound(node_limit=1, time_limit=None)
    problem = ee.RecourseProblem.of(forest, people, schema=schema, scm=scm)
    with pytest.warns(EquieffortWarning):
        audit = ee.audit(forest, people, schema=schema, scm=scm, solver=solver)
    left = [len(audit.unsettled)]
    for _ in range(6):
        audit = audit.solve_further()
        left.append(len(audit.unsettled))
    assert left[0] > left[1] > left[2]
    assert left[-1] == 0
    whole = ee.solve(problem, people)
    assert audit.recourse.cost == pytest.approx(whole.cost, nan_ok=True, abs=1e-5)
