"""Search: what it finds works, costs little more than the cheapest, and nothing is claimed that is not proven."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from tests.limits import unlimited
from tests.oracles import FAMILIES, persons, problem_of, random_case, replay_fault, rng_of, scm_of

import equieffort as ee
from equieffort.errors import EquieffortWarning, ModelError, ParameterError
from equieffort.recourse.solvers import Batch
from equieffort.recourse.solvers.base import FOUND, LIMIT
from equieffort.testing import cheapest, check_solver, make_case

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


class Rule:
    """A classifier of which nothing is known but its answers; counts how often it is asked, and about how many."""

    def __init__(self, rule, names):
        self.rule, self.feature_names_in_ = rule, np.array(names)
        self.calls = self.rows = 0

    def predict(self, X):
        assert list(X.columns) == list(self.feature_names_in_)
        self.calls, self.rows = self.calls + 1, self.rows + len(X)
        return np.asarray(self.rule(X))


def people(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": np.array(["f", "m"])[np.arange(n) % 2],
            "income": rng.normal(10, 3, n),
            "debt": rng.integers(0, 9, n),
            "job": rng.choice(["clerk", "cook", "none"], n),
        }
    )


def make(rule, frame, features, names=("income", "debt", "job"), edges=(), **options):
    schema = {key: options.pop(key) for key in ("rules",) if key in options}
    scm = ee.StructuralCausalModel(list(edges), mechanisms=options.pop("mechanisms", None)).fit(frame)
    return ee.RecourseProblem.of(
        rule if hasattr(rule, "predict") else Rule(rule, names),
        frame,
        schema=ee.Schema(
            sensitive="sex", protected="f", favourable=True, features=unlimited(features, frame), **schema
        ),
        scm=scm,
        **options,
    )


def ring(X):
    """Yes inside a ring that a linear score cannot describe, and for cooks a little outside."""
    away = np.hypot(X["income"] - 15, 2.0 * (X["debt"] - 2))
    return (away > 1) & (away < np.where(X["job"] == "cook", 4.0, 3.0))


FREE = {"income": "actionable", "debt": "actionable", "job": "actionable"}


# -- what it finds --


@pytest.mark.parametrize("family", FAMILIES)
def test_in_linear_worlds_it_comes_close_to_the_proven_optimum(family):
    """Four random worlds a family: each action replays by hand, none costs less than proven, nearly all are found."""
    ratios, has, found = [], 0, 0
    for seed in range(4):
        case = random_case(rng_of(family, 9000 + seed), family)
        problem = problem_of(case)
        exact = ee.solve(problem, case.people, solver=ee.LinearExact())
        told = ee.solve(problem, case.people, solver=ee.Search(800))
        frame, scm = told.frame(), scm_of(case)
        for row, person in enumerate(persons(case)):
            assert replay_fault(case, scm, person, frame.iloc[row]) == ""
        solved = exact.status == ee.Status.OPTIMAL
        assert not (told.has_action & (exact.status == ee.Status.INFEASIBLE)).any()
        assert not (solved & (told.status == ee.Status.INFEASIBLE)).any()
        both = solved & told.has_action
        assert (told.cost[both] >= exact.bound[both] * (1 - 1e-7) - 1e-9).all()
        assert (told.bound[both] == 0).all()
        has, found = has + solved.sum(), found + both.sum()
        ratios += (told.cost[both] / np.maximum(exact.cost[both], 1e-9)).tolist()
    assert has >= 3
    assert found >= 0.95 * has
    assert np.median(ratios) < 1.001
    assert np.quantile(ratios, 0.8) < 1.05


def cheapest_in_cells(forest, person, prices):
    """Trees only see on which side of each threshold a value lies, so the nearest value of each cell is enough."""
    values = []
    for k, name in enumerate(prices):
        cuts = {t for tree in forest.estimators_ for t in tree.tree_.threshold[tree.tree_.feature == k].tolist()}
        # Trees read single precision and send what equals a threshold to the left.
        ends = [np.nextafter(np.float32(t), np.float32(side)) for t in cuts for side in (-np.inf, np.inf)]
        values.append([person[name], *(float(end) for end in ends if 0 <= end <= 1)])
    tried = pd.DataFrame(list(product(*values)), columns=list(prices))
    cost = sum(price * (tried[name] - person[name]).abs() for name, price in prices.items())
    return cost[forest.predict(tried)].min()


def test_with_a_forest_it_comes_close_to_trying_every_cell():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": ["f", "m"] * 150, "x": rng.uniform(0, 1, 300), "y": rng.uniform(0, 1, 300)})
    truth = np.sin(9 * frame["x"]) + np.cos(7 * frame["y"]) + 0.3 * rng.normal(size=300) > 0.6
    forest = RandomForestClassifier(8, max_depth=5, random_state=0).fit(frame[["x", "y"]], truth)
    limits = ee.Feature("actionable", lower=0, upper=1)
    problem = make(forest, frame, {"x": limits, "y": limits})
    told = ee.solve(problem, frame.iloc[:80], solver=ee.Search())
    refused = np.flatnonzero(told.is_unfavourable)
    assert len(refused) > 30
    assert told.has_action[refused].all()
    prices = {name: 1 / np.ptp(frame[name]) for name in ("x", "y")}
    least = np.array([cheapest_in_cells(forest, frame.iloc[row], prices) for row in refused])
    ratio = told.cost[refused] / least
    # The nearest value in single precision is a hair further away than a double has to go.
    assert (told.cost[refused] > least - 1e-6).all()
    assert np.median(ratio) < 1.001
    assert ratio.mean() < 1.05


@pytest.mark.parametrize("kind", [{}, {"rules": True}, {"bent": True}], ids=["plain", "rules", "bent equations"])
def test_with_a_black_box_it_comes_close_to_trying_everything(kind):
    has = found = 0
    ratios = []
    for seed in range(3):
        case = make_case("black box", 300 + seed, **kind)
        told = ee.solve(case.problem, case.people, solver=ee.Search(800))
        for row, best in enumerate(cheapest(case)):
            if told.status[row] == ee.Status.NOT_NEEDED:
                continue
            assert told.status[row] in (ee.Status.FEASIBLE, ee.Status.UNKNOWN)
            if np.isfinite(best.cost):
                has, found = has + 1, found + told.has_action[row]
                ratios += [told.cost[row] / best.cost] if told.has_action[row] else []
            else:
                assert not told.has_action[row]
    assert has > 20
    assert found >= 0.95 * has
    assert min(ratios) > 1 - 1e-9
    assert np.median(ratios) == pytest.approx(1)
    assert np.mean(ratios) < 1.05


def test_it_passes_the_conformance_suite():
    report = check_solver(ee.Search(100), families=["black box"], cases=5, random_state=50)
    assert report.passed, report
    assert report.statuses["feasible"] > 20
    assert not {"optimal", "infeasible"} & set(report.statuses)


# -- what is allowed --


def test_limits_levels_and_whole_numbers_are_respected():
    frame = people(60)
    features = {
        "income": ee.Feature("actionable", direction="up", max_increase=4),
        "debt": ee.Feature("actionable", lower=1, max_decrease=3),
        "job": "actionable",
    }
    problem = make(ring, frame, features, rules=[ee.Forbidden("job", [("none", "cook")])])
    told = ee.solve(problem, frame, solver=ee.Search(500))
    acting = told.has_action
    assert acting.sum() > 10
    before, after = frame[acting], told.counterfactuals()[acting]
    assert ring(after).all()
    rise, fall = after["income"] - before["income"], before["debt"] - after["debt"]
    assert ((rise >= 0) & (rise <= 4 + 1e-9)).all()
    assert (fall <= 3).all()
    assert (after["debt"] >= np.minimum(before["debt"], 1)).all()
    assert (after["debt"] == after["debt"].round()).all()
    assert after["job"].isin(["clerk", "cook", "none"]).all()
    assert not ((before["job"] == "none") & (after["job"] == "cook")).any()
    assert (after["job"] != before["job"]).any()


def test_rules_that_need_two_features_at_once_are_kept():
    """Hours add up to ten, so more of one is less of the other; whoever works has a tenure above nothing."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": ["f", "m"] * 15, "study": rng.integers(0, 8, 30), "tenure": rng.uniform(1, 5, 30)})
    frame["work"] = 10 - frame["study"]
    frame["works"] = rng.choice(["yes", "no"], 30)
    frame.loc[frame["works"] == "no", "tenure"] = 0.0
    rules = [ee.Sum({"study": 1, "work": 1}, lower=10, upper=10), "if works = 'no' then tenure = 0"]
    roles = dict.fromkeys(("study", "work", "tenure", "works"), "actionable")
    problem = make(
        lambda X: (X["study"] >= 6) & (X["works"] == "no"), frame, roles, ("study", "work", "tenure", "works"),
        rules=rules,
    )  # fmt: skip
    told = ee.solve(problem, frame, solver=ee.Search(1500))
    after = told.counterfactuals()[told.is_unfavourable]
    assert told.has_action.sum() == told.is_unfavourable.sum() > 15
    assert (after["study"] + after["work"] == 10).all()
    assert (after.loc[after["works"] == "no", "tenure"].abs() < 1e-8).all()
    short = 6 - frame["study"].clip(upper=6)
    quits = frame["works"] == "yes"
    least = short / np.ptp(frame["study"]) + short / np.ptp(frame["work"]) + quits
    least += quits * frame["tenure"] / np.ptp(frame["tenure"])
    acting = told.has_action
    np.testing.assert_allclose(told.cost[acting], least[acting], rtol=1e-6)


def test_what_follows_an_action_stays_plausible_and_immutable_things_stay():
    """Effort raises skill and stress; stress has an end, and sleep, which stress would cost, must not move."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "effort": rng.uniform(0, 1, 40)})
    frame["stress"] = frame["effort"] ** 2 + 0.2 * rng.uniform(size=40)
    frame["calm"] = rng.uniform(size=40)
    frame["skill"] = frame["effort"] + frame["calm"]
    mechanisms = {
        "stress": ee.Function(lambda causes: causes["effort"] ** 2),
        "skill": ee.Linear({"effort": 1.0, "calm": 1.0}, intercept=0.0),
    }
    edges = [("effort", "stress"), ("effort", "skill"), ("calm", "skill")]
    features = {
        "effort": ee.Feature("actionable", upper=2),
        "calm": "actionable",
        "stress": ee.Feature("mutable", plausible=(None, 1.5)),
        "skill": "mutable",
    }
    model = Rule(lambda X: X["skill"] > 2.2, ("skill", "stress"))
    problem = make(model, frame, features, edges=edges, mechanisms=mechanisms)
    told = ee.solve(problem, frame, solver=ee.Search(600))
    after = told.counterfactuals()
    assert told.has_action.sum() == told.is_unfavourable.sum() > 20
    assert (after["stress"] <= np.maximum(1.5, frame["stress"]) + 1e-8).all()
    np.testing.assert_allclose(
        after["stress"] - frame["stress"], after["effort"] ** 2 - frame["effort"] ** 2, atol=1e-12
    )
    # Both ways gain alike, so the cheaper one is taken as far as stress allows.
    need = 2.2 - frame["skill"]
    most = np.sqrt(1.5 - frame["stress"] + frame["effort"] ** 2) - frame["effort"]
    prices = 1 / np.ptp(frame["effort"]), 1 / np.ptp(frame["calm"])
    by_effort = np.minimum(need, most) if prices[0] < prices[1] else 0 * need
    least = prices[0] * by_effort + prices[1] * (need - by_effort)
    acting = told.has_action
    assert (told.cost[acting] >= least[acting] * (1 - 1e-6)).all()
    assert np.median(told.cost[acting] / least[acting]) < 1.001
    # An immutable follower leaves only what does not move it.
    still = make(model, frame, features | {"stress": "immutable"}, edges=edges, mechanisms=mechanisms)
    told = ee.solve(still, frame, solver=ee.Search(600))
    assert told.has_action.any()
    np.testing.assert_allclose(told.counterfactuals()["effort"], frame["effort"], atol=1e-6)


def test_holding_a_feature_against_its_cause_is_found():
    """b follows a and undoes what a gains, so b must be held at its own value, which is free."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": ["f", "m"] * 10, "a": rng.uniform(0, 1, 20)})
    frame["b"] = frame["a"] + rng.uniform(0, 1, 20)
    problem = make(
        Rule(lambda X: X["a"] - X["b"] > 1, ("a", "b")), frame, {"a": "actionable", "b": ee.Feature("actionable")},
        edges=[("a", "b")], mechanisms={"b": ee.Linear({"a": 1.0}, intercept=0.0)},
    )  # fmt: skip
    told = ee.solve(problem, frame, solver=ee.Search(500))
    need = 1 - (frame["a"] - frame["b"])
    least = need * min(1 / np.ptp(frame["a"]), 1 / np.ptp(frame["b"]))
    np.testing.assert_allclose(told.cost, least, rtol=0.01)
    assert (told.cost >= least * (1 - 1e-9)).all()


# -- what is claimed --


def test_finding_nothing_proves_nothing():
    frame = people()
    hidden = make(lambda X: (X["income"] > 1e9) & (X["debt"] == 77), frame, FREE)
    told = ee.solve(hidden, frame, solver=ee.Search(200))
    assert (told.status == ee.Status.UNKNOWN).all()
    assert (told.bound == 0).all()
    for reason in told.frame()["reason"]:
        assert reason.startswith("No favourable action was found among ")
        assert reason.endswith(" tried.")


def test_an_action_is_feasible_with_a_note_and_never_optimal():
    frame = people()
    told = ee.solve(make(ring, frame, FREE), frame, solver=ee.Search(300))
    acting = told.has_action
    assert acting.any()
    assert (told.status[acting] == ee.Status.FEASIBLE).all()
    assert (told.bound[acting] == 0).all()
    assert told.frame().loc[acting, "reason"].str.contains("a cheaper one may exist").all()


def test_whoever_may_change_nothing_has_provably_no_recourse():
    frame = people().assign(job="none")
    frame.loc[0, "income"], frame.loc[1, "income"] = 12.0, 12.5
    told = ee.solve(
        make(lambda X: X["income"] > 13, frame, {"income": ee.Feature("actionable", direction="up", upper=12)}),
        frame, solver=ee.Search(100),
    )  # fmt: skip
    stuck = ((frame["income"] >= 12) & (frame["income"] <= 13)).to_numpy()
    assert stuck.sum() >= 2
    assert (told.status[stuck] == ee.Status.INFEASIBLE).all()
    assert (told.status[told.is_unfavourable & ~stuck] == ee.Status.UNKNOWN).all()
    reason = told.frame().loc[0, "reason"]
    assert reason == "Without this limit there would be a route to approval: income (upper limit 12; now 12)."


def test_where_no_limit_helps_all_that_hold_are_named():
    frame = people().assign(job="none")
    frame.loc[0, "income"] = 12.0
    features = {"income": ee.Feature("actionable", direction="up", upper=12)}
    told = ee.solve(make(lambda X: X["debt"] > 1e9, frame, features), frame, solver=ee.Search(100))
    assert told.status[0] == ee.Status.INFEASIBLE
    reason = told.frame().loc[0, "reason"]
    assert reason == "Nothing may change: income stays at 12 (upper limit 12; may only go up)."


def test_an_action_that_costs_nothing_is_the_cheapest():
    """A change of up to one unit is free here, and effort is never negative."""
    frame = people()
    free = ee.Separable({"income": lambda fact, values: np.maximum(np.abs(values - fact) - 1, 0)}, knots=200)
    problem = make(lambda X: X["income"] > 10, frame, {"income": "actionable"}, cost=free)
    told = ee.solve(problem, frame, solver=ee.Search(400))
    near = (told.is_unfavourable & (frame["income"] > 9.2)).to_numpy()
    far = (frame["income"] < 8.5).to_numpy()
    assert near.any()
    assert far.any()
    assert (told.status[near] == ee.Status.OPTIMAL).all()
    assert (told.cost[near] == 0).all()
    assert (told.status[far] == ee.Status.FEASIBLE).all()


def test_searching_further_never_makes_an_action_dearer():
    frame = people(60)
    first = ee.audit(
        Rule(ring, ("income", "debt", "job")), frame, scm=ee.StructuralCausalModel([]).fit(frame), solver=ee.Search(60),
        schema=ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(FREE)),
    )  # fmt: skip
    second = first.solve_further()
    was, now = first.recourse, second.recourse
    assert (now.has_action >= was.has_action).all()
    both = was.has_action
    assert (now.cost[both] <= was.cost[both]).all()
    assert (now.cost[both] < was.cost[both]).any()
    assert ee.Search(60).harder() == ee.Search(600, time_limit=100.0)


# -- budget, batches, seeds --


def unfavourable(problem, frame):
    return problem.encoding.encode(frame[~ring(frame)])


@pytest.mark.parametrize("budget", [1, 7, 60, 900])
def test_the_budget_is_never_exceeded(budget):
    frame = people(50)
    problem = make(ring, frame, FREE)
    matrix, model = unfavourable(problem, frame), problem.decision.classifier
    search = ee.Search(budget).prepare(problem)
    search.propose(Batch(matrix[:1]))  # looks at the examples
    model.rows = 0
    proposal = search.propose(Batch(matrix))
    assert 0 < model.rows <= budget * len(matrix)
    assert set(proposal.code.tolist()) <= {FOUND, LIMIT}
    model.rows = 0
    alone = search.propose(Batch(matrix[3:4]))
    assert 0 < model.rows <= budget
    assert alone.notes[0].work == model.rows


def test_the_model_is_asked_about_everybody_at_once():
    frame = people(50)
    problem = make(ring, frame, FREE)
    matrix, model = unfavourable(problem, frame), problem.decision.classifier
    calls, search = [], ee.Search(400).prepare(problem)
    for copies in (1, 8):
        model.calls = 0
        search.propose(Batch(np.tile(matrix, (copies, 1))))
        calls.append(model.calls)
    # The first time the examples are asked about too.
    assert calls[1] == calls[0] - 1
    assert calls[1] < 80


def test_the_same_person_gets_the_same_answer_in_any_company():
    frame = people(60)
    problem = make(ring, frame, FREE, edges=[("sex", "income")])
    search = ee.Search(300, random_state=4)
    everybody = ee.solve(problem, frame, solver=search).frame()
    again = ee.solve(problem, frame, solver=search).frame()
    pd.testing.assert_frame_equal(everybody, again, check_exact=True)
    shuffled = frame.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        ee.solve(problem, shuffled, solver=search).frame().loc[frame.index], everybody, check_exact=True
    )
    for some in (frame.iloc[::7], frame.iloc[[11, 12]]):
        part = ee.solve(problem, some, solver=search).frame()
        pd.testing.assert_frame_equal(part, everybody.loc[some.index], check_exact=True)


def test_blocks_of_people_do_not_matter(monkeypatch):
    frame = people(60)
    problem = make(ring, frame, FREE)
    whole = ee.solve(problem, frame, solver=ee.Search(200)).frame()
    monkeypatch.setattr("equieffort.recourse.solvers.heuristic.solver.BLOCK", 7)
    monkeypatch.setattr("equieffort.recourse.solvers.heuristic.people.ROWS", 50)
    pd.testing.assert_frame_equal(ee.solve(problem, frame, solver=ee.Search(200)).frame(), whole, check_exact=True)


def test_another_seed_searches_otherwise():
    frame = people(60)
    problem = make(ring, frame, FREE)
    first, second = (ee.solve(problem, frame, solver=ee.Search(60, seed)) for seed in (0, 1))
    assert not np.array_equal(first.cost, second.cost, equal_nan=True)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"budget": 2.5}, "budget is 2.5"),
        ({"budget": True}, "budget is True"),
        ({"random_state": "x"}, "random_state is the text 'x'"),
    ],
)
def test_wrong_parameters_are_refused(wrong, words):
    with pytest.raises(ParameterError, match=words):
        ee.Search(**wrong)


# -- as the last resort --


def world(n=160):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "income": rng.normal(10, 3, n)})
    frame["saved"] = 0.5 * frame["income"] + rng.normal(0, 1, n) - (frame["sex"] == "f")
    scm = ee.StructuralCausalModel([("sex", "saved"), ("income", "saved")]).fit(frame)
    schema = ee.Schema(
        sensitive="sex",
        protected="f",
        favourable=True,
        features=unlimited({"income": "actionable", "saved": "actionable"}),
    )
    return frame, (frame["income"] + frame["saved"] > 15).to_numpy(), scm, schema


@pytest.mark.parametrize("model", [KNeighborsClassifier(5), GaussianNB(), SVC()], ids=lambda m: type(m).__name__)
def test_an_audit_of_a_black_box_is_honest_about_it(model, tmp_path):
    frame, truth, scm, schema = world()
    model.fit(frame[["income", "saved"]], truth)
    problem = ee.RecourseProblem.of(model, frame, schema=schema, scm=scm)
    choice = ee.Auto().select(problem)
    assert choice.solver == ee.Search()
    assert type(model).__name__ in choice.reason
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EquieffortWarning)
        criteria = ee.Criteria(level=None)
        audit = ee.audit(model, frame, schema=schema, scm=scm, solver=ee.Search(300), criteria=criteria)
    assert [str(warning.message).count("SOLVER_HEURISTIC") for warning in caught].count(1) == 1
    assert "SOLVER_HEURISTIC" in {warning.code for warning in audit.warnings}
    assert audit.verdict.outcome == "inconclusive"
    assert "UNCERTIFIED" in audit.verdict.codes
    group = audit.system.groups.loc["f"]
    assert group["n_optimal"] == 0
    assert group["n_feasible"] > 10
    assert group["phi_least"] == 0 < group["phi"] == group["phi_most"]
    # Chance is about the efforts as found, which a search cannot prove to be the least.
    assert group["phi_low"] < group["phi"] < group["phi_high"]
    estimate = ee.audit(
        model, frame, schema=schema, scm=scm, solver=ee.Search(300), criteria=replace(criteria, certified=False)
    ).verdict
    assert estimate.outcome in ("equal", "unequal")
    assert "not certified" in str(estimate)
    audit.save(tmp_path / "black.audit")
    saved = ee.load(tmp_path / "black.audit")
    assert str(saved.verdict) == str(audit.verdict)
    pd.testing.assert_frame_equal(saved.recourse.frame(), audit.recourse.frame())


def test_a_margin_needs_a_score():
    frame, truth, scm, schema = world()
    model = GaussianNB().fit(frame[["income", "saved"]], truth)
    problem = ee.RecourseProblem.of(model, frame, schema=schema, scm=scm, margin=0.5)
    with pytest.raises(ModelError, match="only labels are known") as caught:
        ee.Auto().select(problem)
    assert caught.value.code == "MODEL_NOT_LINEAR"
    with pytest.raises(ParameterError, match="only labels are known"):
        ee.solve(problem, frame, solver=ee.Search())


def test_levels_declared_as_a_category_reach_the_model_as_such():
    frame = people().assign(job=lambda X: X["job"].astype("category"))
    seen = []

    def typed(X):
        seen.append(isinstance(X["job"].dtype, pd.CategoricalDtype))
        return X["job"] == "cook"

    problem = make(typed, frame, {"job": ee.Feature("immutable"), "income": "actionable"}, ("job", "income"))
    ee.solve(problem, frame, solver=ee.Search(20))
    assert all(seen)
