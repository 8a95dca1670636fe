"""The solver that a spec names: the same answers as in Python, its limits, and what is told when it does not fit."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

import equieffort as ee
from equieffort.errors import EquieffortError, ParameterError
from equieffort.results.provenance import Provenance, SolverUsed
from equieffort.spec import Spec, parse_spec, read_spec
from equieffort.spec.estimates import estimate
from equieffort.spec.runs import prepare, run_spec
from equieffort.spec.solving import solver_words

pytestmark = pytest.mark.usefixtures("quiet")

SPEC = """\
data: {path: town.csv, id: who}
model: {path: model.skops}
outcome: {favourable: granted}
sensitive: {column: sex, protected: female, reference: male}
graph: [[income, savings]]
features:
  income: {role: actionable, direction: up, max_increase: 30}
  savings: mutable
  debt: {role: actionable, direction: down, max_decrease: 20}
criteria: {min_people: 3, level: null}
solver: auto
random_state: 5
"""
SEEN = ["income", "savings", "debt"]


def town(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    sex = np.array(["female", "male"])[np.arange(n) % 2]
    income = (40 + rng.normal(0, 8, n) - 6 * (sex == "female")).round(1)
    savings, debt = (0.5 * income + rng.normal(0, 5, n)).round(1), rng.uniform(0, 30, n).round(1)
    table = pd.DataFrame({"who": [f"p{k}" for k in range(n)], "sex": sex, "income": income, "savings": savings})
    return table.assign(debt=debt)


def decided(table: pd.DataFrame) -> pd.Series:
    return pd.Series(np.where(table["income"] + table["savings"] - table["debt"] > 50, "granted", "denied"))


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(5, max_depth=3, random_state=0).fit(town()[SEEN], decided(town()))


@pytest.fixture(scope="module")
def saved(forest):
    """Models as files, each written once: a file that was read before is not tried in a child process again."""
    nearest = KNeighborsClassifier(3).fit(town()[SEEN], decided(town()))
    network = MLPClassifier((3,), max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(town()[SEEN], decided(town()))
    models = {"forest": forest, "nearest": nearest, "network": network}
    return {name: skops.io.dumps(model) for name, model in models.items()}


@pytest.fixture
def made(tmp_path, saved):
    """The spec with another solver."""

    def make(solver: str, model: str = "forest") -> Spec:
        town().to_csv(tmp_path / "town.csv", index=False)
        (tmp_path / "model.skops").write_bytes(saved[model])
        trusted = skops.io.get_untrusted_types(data=saved[model])
        text = SPEC.replace("model.skops", f"model.skops, trusted: [{', '.join(trusted)}]")
        (tmp_path / "town.yaml").write_text(text.replace("solver: auto", solver), encoding="utf-8")
        return read_spec(tmp_path / "town.yaml")

    return make


def by_hand(solver, model) -> ee.Audit:
    people = town().set_index("who")
    features = {
        "income": ee.Feature("actionable", direction="up", max_increase=30), "savings": "mutable",
        "debt": ee.Feature("actionable", direction="down", max_decrease=20),
    }  # fmt: skip
    schema = ee.Schema(sensitive="sex", protected="female", reference="male", favourable="granted", features=features)
    scm = ee.StructuralCausalModel([("income", "savings")]).fit(people)
    return ee.audit(
        model, people, schema=schema, scm=scm, solver=solver, criteria=ee.Criteria(min_people=3, level=None)
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("title: nothing", ee.Auto(random_state=5)),
        ("solver: auto", ee.Auto(random_state=5)),
        ("solver: {kind: auto, gap: 0.01}", ee.Auto(gap=0.01, random_state=5)),
        (
            "solver: {kind: auto, time_limit: 5, node_limit: 1000, budget: 30}",
            ee.Auto(time_limit=5.0, node_limit=1000, budget=30, random_state=5),
        ),
        ("solver: linear_exact", ee.LinearExact()),
        ("solver: {kind: linear_exact, gap: 1e-6}", ee.LinearExact(1e-6)),
        ("solver: branch_and_bound", ee.BranchAndBound()),
        (
            "solver: {kind: branch_and_bound, gap: 0, node_limit: 7, time_limit: null}",
            ee.BranchAndBound(0.0, None, 7),
        ),
        ("solver: {kind: branch_and_bound, node_limit: null}", ee.BranchAndBound(node_limit=None)),
        ("solver: milp", ee.Milp()),
        ("solver: {kind: linear_search, gap: 1e-7, node_limit: 9, time_limit: null}", ee.LinearSearch(1e-7, None, 9)),
        ("solver: {kind: milp, gap: 1e-4, time_limit: 3}", ee.Milp(1e-4, 3.0)),
        ("solver: spatial_branch_and_bound", ee.SpatialBranchAndBound()),
        ("solver: {kind: spatial_branch_and_bound, gap: 0.001, node_limit: 50}", ee.SpatialBranchAndBound(0.001, 50)),
        ("solver: search", ee.Search(random_state=5)),
        ("solver: {kind: search, budget: 100}", ee.Search(100, random_state=5)),
        ("solver: {kind: search, time_limit: 3}", ee.Search(random_state=5, time_limit=3.0)),
    ],
)
def test_the_solver_is_that_of_python(line, expected):
    found = parse_spec(SPEC.replace("solver: auto", line)).solver
    assert found == expected
    # A whole number of seconds would make compiled code anew.
    assert not any(isinstance(getattr(found, name, None), int) for name in ("gap", "time_limit"))


@pytest.mark.parametrize(
    ("line", "solver"),
    [
        ("solver: auto", ee.BranchAndBound()),
        ("solver: {kind: auto, node_limit: 4}", ee.BranchAndBound(node_limit=4)),
        ("solver: {kind: branch_and_bound, node_limit: 4}", ee.BranchAndBound(node_limit=4)),
        ("solver: {kind: milp, gap: 0.001}", ee.Milp(gap=0.001)),
        ("solver: {kind: spatial_branch_and_bound, gap: 0.01}", ee.SpatialBranchAndBound(gap=0.01)),
        ("solver: {kind: search, budget: 60}", ee.Search(60, random_state=5)),
    ],
)
def test_an_audit_by_the_declared_solver_is_that_of_python(made, forest, line, solver):
    found, expected = run_spec(made(line)), by_hand(solver, forest)
    ours, theirs = (audit.recourse.frame().drop(columns="reason") for audit in (found, expected))
    pd.testing.assert_frame_equal(ours, theirs)
    assert found.provenance.solver.name == expected.provenance.solver.name == repr(solver)
    assert found.verdict.outcome == expected.verdict.outcome
    reason = "Chosen in the spec." if "auto" not in line else "a sum of 5 trees"
    assert reason in found.provenance.solver.reason


@pytest.mark.parametrize(
    ("line", "raises"),
    [
        ("solver: {kind: auto, node_limit: 2}", "raise node_limit (it was 2) under solver in the spec and audit again"),
        (
            "solver: {kind: branch_and_bound, node_limit: 2, time_limit: null}",
            "raise node_limit (it was 2) under solver in the spec and audit again",
        ),
        ("solver: {kind: spatial_branch_and_bound, node_limit: 2}", "raise node_limit (it was 2) under solver"),
    ],
)
def test_people_who_are_not_settled_are_told_by_the_key_to_raise(made, line, raises, tmp_path):
    audit = run_spec(made(line))
    assert audit.recourse.is_unsettled.any()
    assert audit.verdict.outcome == "inconclusive"
    assert raises in str(audit.verdict)
    assert "solve_further" not in str(audit.verdict)
    reasons = audit.unsettled["reason"]
    assert reasons.str.contains("raise node_limit under solver in the spec.", regex=False).any()
    for warning in audit.warnings:
        assert "recourse.frame()" not in warning.fix
    audit.save(tmp_path / "a.audit")
    assert str(ee.load(tmp_path / "a.audit").verdict) == str(audit.verdict)


@pytest.mark.parametrize("level", [None, 0.95])
def test_in_python_the_advice_stays_a_call(forest, level):
    audit = by_hand(ee.BranchAndBound(node_limit=2), forest)
    # Nobody's route is known: whatever chance may do, it is the solver that left the question open.
    audit = replace(audit, criteria=replace(audit.criteria, level=level))
    assert audit.verdict.codes == ("UNCERTIFIED",)
    assert "audit.solve_further()" in str(audit.verdict)
    assert "spec" not in str(audit.verdict)
    # The call must be worth its advice.
    assert len(audit.solve_further().unsettled) < len(audit.unsettled)
    assert ee.BranchAndBound(0.5, None, 30).harder() == ee.BranchAndBound(0.5, None, 300)
    assert ee.BranchAndBound(0.5, 3.0, None).harder() == ee.BranchAndBound(0.5, 30.0, None)


def test_a_search_is_told_by_the_key_that_judges_it(made):
    audit = run_spec(made("solver: {kind: search, budget: 40}"))
    assert "criteria: {certified: false} in the spec judges the estimate" in str(audit.verdict)
    (heuristic,) = [warning for warning in audit.warnings if warning.code == "SOLVER_HEURISTIC"]
    assert "solver: {kind: search, budget: ...}" in heuristic.fix
    assert "Criteria(" not in heuristic.fix


def test_the_estimate_shows_the_solver_with_its_limits_and_the_equations(made):
    work = estimate(prepare(made("solver: {kind: auto, node_limit: 9}")))
    assert work.solver == ee.BranchAndBound(node_limit=9)
    assert "\nSolver: branch_and_bound (gap 1e-06, time_limit 10, node_limit 9). " in str(work)
    assert work.to_dict()["solver"] == "BranchAndBound(gap=1e-06, time_limit=10.0, node_limit=9)"
    assert len(work.equations) == 1
    assert work.equations[0].startswith("savings = ")
    assert f"Structural equations:\n  {work.equations[0]}" in str(work)
    work = estimate(prepare(made("solver: spatial_branch_and_bound")))
    assert (work.solver, work.reason) == (ee.SpatialBranchAndBound(), "Chosen in the spec.")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "at", "says"),
    [
        ("solver: Auto", "SPEC_VALUE", (11, 9), "solver is 'Auto'. Did you mean 'auto'?"),
        ("solver: 5", "SPEC_VALUE", (11, 9), "solver is the number 5, but must be"),
        ("solver: {node_limit: 5}", "SPEC_KEY", (11, 9), "solver lacks the key 'kind'."),
        ("solver: {kind: branch_and_bond}", "SPEC_VALUE", (11, 16), "Did you mean 'branch_and_bound'?"),
        ("solver: {kind: milp, node_limit: 5}", "SPEC_KEY", (11, 22), "solver.node_limit has no effect under kind"),
        (
            "solver: {kind: search, node_limit: 5}",
            "SPEC_KEY",
            (11, 24),
            "it belongs to 'auto', 'linear_search', 'branch_and_bound' and",
        ),
        ("solver: {kind: spatial_branch_and_bound, nodelimit: 5}", "SPEC_KEY", (11, 42), "Did you mean 'node_limit'?"),
        ("solver: {kind: spatial_branch_and_bound, gap: 0}", "SPEC_VALUE", (11, 47), "must be a number above 0."),
        ("solver: {kind: milp, gap: 0}", "SPEC_VALUE", (11, 27), "must be a number above 0."),
        ("solver: {kind: milp, time_limit: null}", "SPEC_VALUE", (11, 34), "solver.time_limit is empty"),
        ("solver: {kind: branch_and_bound, gap: -1}", "SPEC_VALUE", (11, 39), "must be a number, 0 or more."),
        ("solver: {kind: branch_and_bound, node_limit: 0}", "SPEC_VALUE", (11, 46), "a whole number, 1 or more"),
        ("solver: {kind: branch_and_bound, node_limit: many}", "SPEC_VALUE", (11, 46), "the text 'many'"),
        ("solver: {kind: search, budget: 1.5}", "SPEC_VALUE", (11, 32), "a whole number, 1 or more."),
        ("solvr: milp", "SPEC_KEY", (11, 1), "Did you mean 'solver'?"),
    ],
)
def test_wrong_solvers_have_a_place(made, line, code, at, says):
    with pytest.raises(EquieffortError) as caught:
        made(line)
    assert caught.value.code == code
    assert caught.value.what.startswith(f"town.yaml, line {at[0]}, column {at[1]}: "), caught.value.what
    assert says in caught.value.what


@pytest.mark.parametrize("how", [lambda spec: estimate(prepare(spec)), run_spec], ids=["dry run", "audit"])
@pytest.mark.parametrize(
    ("solver", "model", "says"),
    [
        (
            "linear_exact",
            "forest",
            "The solver linear_exact cannot solve this. The classifier's decision is no single linear score.",
        ),
        (
            "milp",
            "nearest",
            "The solver milp cannot solve this. The classifier cannot be written as a program",
        ),
        (
            "spatial_branch_and_bound",
            "nearest",
            "The solver spatial_branch_and_bound cannot solve this. The classifier cannot be read",
        ),
        (
            "{kind: branch_and_bound, gap: 0}",
            "network",
            "The solver branch_and_bound cannot solve this. gap: 0 cannot be proven for a network with hidden layers",
        ),
    ],
)
def test_a_solver_that_does_not_fit_is_refused_where_it_is_named(made, how, solver, model, says):
    spec = made(f"solver: {solver}", model)
    with pytest.raises(EquieffortError) as caught:
        how(spec)
    error = caught.value
    assert error.code == "MODEL_NOT_LINEAR"
    assert error.what.startswith(f"town.yaml, line 11, column 9: solver: {says}"), error.what
    assert error.fix == "Write solver: auto, or leave it out."


def test_too_many_ways_to_act_for_the_declared_solver(tmp_path):
    names = [f"a{k}" for k in range(14)]
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": ["female", "male"] * 30, **{name: rng.normal(size=60) for name in names}})
    model = LogisticRegression().fit(table[names], np.where(table[names].sum(axis=1) > 2, "granted", "denied"))
    skops.io.dump(model, tmp_path / "model.skops")
    table.to_csv(tmp_path / "town.csv", index=False)
    head, _ = SPEC.replace(", id: who", "").split("graph: ")
    edges = ", ".join(f"[{cause}, {effect}]" for cause, effect in pairwise(names))
    features = "".join(f"  {name}: actionable\n" for name in names)
    text = f"{head}graph: [{edges}]\nfeatures:\n{features}solver: linear_exact\n"
    for how in (lambda spec: estimate(prepare(spec)), run_spec):
        with pytest.raises(EquieffortError) as caught:
            how(parse_spec(text, folder=tmp_path))
        assert caught.value.code == "PROBLEM_TOO_MANY_INTERVENTIONS"
        assert caught.value.what.startswith("line 21, column 9: solver: There are 8,192 ways")
        assert "solver: auto" in caught.value.fix
    auto = parse_spec(text.replace("solver: linear_exact", "solver: {kind: auto, time_limit: 7}"), folder=tmp_path)
    assert estimate(prepare(auto)).solver == ee.LinearSearch(time_limit=7.0)


# -- limits for whichever solver is chosen -----------------------------------------------------------------------------


def test_limits_go_to_the_solver_that_is_chosen(forest):
    problem = by_hand(ee.BranchAndBound(), forest).recourse.source.problem
    choice = ee.Auto(gap=0.01, time_limit=3.0, node_limit=50).select(problem)
    assert choice.solver == ee.BranchAndBound(0.01, 3.0, 50)
    assert choice.reason == ee.Auto().select(problem).reason
    choice = ee.Auto(budget=9, node_limit=50).select(problem)
    assert choice.solver == ee.BranchAndBound(node_limit=50)
    assert choice.reason.endswith("It has no budget, so that limits nothing.")
    nearest = by_hand(ee.Search(), KNeighborsClassifier(3).fit(town()[SEEN], decided(town())))
    choice = ee.Auto(gap=0.01, budget=9, random_state=4).select(nearest.recourse.source.problem)
    assert choice.solver == ee.Search(9, 4)
    assert choice.reason.endswith("It has no gap, so that limits nothing.")


@pytest.mark.parametrize("limit", [{"gap": 0.0}, {"time_limit": 0}, {"node_limit": 0}, {"budget": 0.5}])
def test_limits_that_make_no_sense_are_refused_at_once(limit):
    with pytest.raises(ParameterError) as caught:
        ee.Auto(**limit)
    assert next(iter(limit)) in caught.value.what


class Somebodys(ee.Search):
    """A solver that no spec can name."""


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (ee.BranchAndBound(time_limit=None, node_limit=4), "branch_and_bound (gap 1e-06, no time_limit, node_limit 4)"),
        (ee.Milp(gap=np.float64(0.5), time_limit=3), "milp (gap 0.5, time_limit 3)"),
        (ee.Search(60, random_state=5), "search (budget 60, time_limit 10)"),
        (Somebodys(), "Somebodys"),
    ],
    ids=repr,
)
def test_a_solver_is_told_by_what_a_spec_calls_it_also_when_it_was_saved(solver, words):
    used = SolverUsed.of(solver, ee.solvers.Grounds("caller"))
    saved = json.loads(json.dumps(Provenance(solver=used).to_dict()))
    assert solver_words(used) == solver_words(Provenance.from_dict(saved).solver) == words


def test_of_a_solver_that_was_not_recorded_in_parts_its_name_is_told():
    assert solver_words(SolverUsed("Mine(patience=3)")) == "Mine(patience=3)"
