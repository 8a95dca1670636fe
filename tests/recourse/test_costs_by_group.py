"""Ranks within one's own group: every solver against an exhaustive grid, and who cannot be ranked."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import equieffort as ee
from equieffort.errors import CostError
from equieffort.recourse.solvers import Status

LEVELS = np.arange(9)
FEATURES = {
    "income": ee.Feature("actionable", kind="integer", lower=0, upper=8, weight=(1.0, 2.0)),
    "debt": ee.Feature("actionable", kind="integer", lower=0, upper=8, weight=(0.5, 1.5)),
    "savings": "mutable",
}


def people(n=24, groups=("f", "m"), seed=3):
    """Groups that earn differently; savings follow income, and debt stands apart."""
    rng = np.random.default_rng(seed)
    group = np.resize(np.array(groups), n)
    shift = np.array([2 * list(groups).index(name) for name in group.tolist()])
    income = np.clip(rng.integers(0, 6, n) + shift, 0, 8)
    noise = rng.normal(0, 1, n)
    return pd.DataFrame(
        {"sex": group, "income": income, "debt": rng.integers(0, 9, n), "savings": 0.5 * income + noise}
    )


def world(frame, **more):
    equations = {"savings": ee.Linear({"income": 0.5})}
    scm = ee.StructuralCausalModel([("income", "savings")], nodes=["debt"], mechanisms=equations).fit(frame)
    groups = sorted(frame["sex"].dropna().unique().tolist())
    schema = ee.Schema(
        sensitive="sex", protected=groups[0], reference=groups[-1], favourable=True, features=FEATURES
    )  # fmt: skip
    return {"schema": schema, "scm": scm, "cost": ee.Percentile(within="group"), **more}


def rank(values, at):
    """The share of values at or below, linear between them, one over the range beyond."""
    known = np.unique(values)
    shares = np.array([np.mean(values <= one) for one in known])
    span = known[-1] - known[0]
    return np.interp(at, known, shares) + (min(at - known[0], 0) + max(at - known[-1], 0)) / span


def exhaustive(frame, model):
    """For each refused person the cheapest of all 81 values of income and debt, ranked among their own group."""
    found = np.full(len(frame), np.nan)
    refused = ~np.asarray(model.predict(frame[["income", "debt", "savings"]]), dtype=bool)
    for i in np.flatnonzero(refused).tolist():
        one = frame.iloc[i]
        own = frame[frame["sex"] == one["sex"]]
        grid = pd.DataFrame(list(product(LEVELS, LEVELS)), columns=["income", "debt"])
        grid["savings"] = one["savings"] + 0.5 * (grid["income"] - one["income"])
        cost = np.zeros(len(grid))
        for name, (up, down) in {"income": (1.0, 2.0), "debt": (0.5, 1.5)}.items():
            at = {level: rank(own[name].to_numpy(), level) for level in LEVELS.tolist()}
            shift = np.array([at[level] for level in grid[name]]) - rank(own[name].to_numpy(), one[name])
            cost += np.where(shift > 0, up, down) * np.abs(shift)
        approved = np.asarray(model.predict(grid[["income", "debt", "savings"]]), dtype=bool)
        found[i] = cost[approved].min() if approved.any() else np.inf
    return found


def tree(frame):
    label = frame["income"] + frame["savings"] - frame["debt"] > 4
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[["income", "debt", "savings"]], label)


LINE = ee.LinearScore({"income": 1.0, "savings": 1.0, "debt": -1.0}, threshold=6.25)
SOLVERS = {
    "linear": (lambda frame: LINE, ee.LinearExact(), ("f", "m")),
    "linear, groups are numbers": (lambda frame: LINE, ee.LinearExact(), (-3.5, 6.5)),
    "milp": (lambda frame: LINE, ee.Milp(), ("f", "m")),
    "branch and bound": (tree, ee.BranchAndBound(), ("f", "m")),
    "spatial": (lambda frame: LINE, ee.SpatialBranchAndBound(), ("f", "m")),
}


@pytest.mark.parametrize(("model", "solver", "groups"), SOLVERS.values(), ids=SOLVERS)
def test_every_solver_finds_what_the_grid_finds(model, solver, groups):
    frame = people(groups=groups)
    fitted = model(frame)
    audit = ee.audit(fitted, frame, solver=solver, **world(frame))
    expected = exhaustive(frame, fitted)
    refused = ~np.isnan(expected)
    assert (audit.recourse.is_unfavourable == refused).all()
    assert refused.sum() >= 8
    stuck = np.isinf(expected)
    assert (audit.recourse.status[refused & stuck] == Status.INFEASIBLE).all()
    acting = refused & ~stuck
    assert (audit.recourse.status[acting] == Status.OPTIMAL).all()
    np.testing.assert_allclose(audit.recourse.cost[acting], expected[acting], rtol=1e-4, atol=1e-9)
    assert (audit.recourse.bound[acting] <= expected[acting] + 1e-9).all()


def test_the_same_change_overtakes_more_of_ones_own():
    """From 0 to 2 she passes two of three women, who earn 0, 1, 2; he a fifth of one of three men at 0, 10, 20."""
    frame = pd.DataFrame({"sex": list("fffmmm"), "income": [0.0, 1.0, 2.0, 0.0, 10.0, 20.0]})
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"income": "actionable"})
    scm = ee.StructuralCausalModel([]).fit(frame)
    found = {}
    for within in ("everybody", "group"):
        audit = ee.audit(
            ee.LinearScore({"income": 1.0}, threshold=2.0), frame, schema=schema, scm=scm,
            cost=ee.Percentile(within=within),
        )  # fmt: skip
        found[within] = audit.recourse.cost[[0, 3]]
    np.testing.assert_allclose(found["group"], [2 / 3, 0.2 / 3], atol=1e-9)
    np.testing.assert_allclose(found["everybody"], [2 / 6, 2 / 6], atol=1e-9)


def test_groups_are_those_of_all_sensitive_columns_together():
    frame = pd.DataFrame(
        {"sex": list("ffmm") * 4, "old": [0, 1] * 8, "income": [float(k) for k in range(16)]},
    )
    schema = ee.Schema(
        sensitive=["sex", "old"], protected=[("f", 0)], reference=("m", 1), favourable=True,
        features={"income": "actionable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([]).fit(frame)
    audit = ee.audit(
        ee.LinearScore({"income": 1.0}, threshold=12.0), frame, schema=schema, scm=scm,
        cost=ee.Percentile(within="group"),
    )  # fmt: skip
    for row in np.flatnonzero(audit.recourse.has_action).tolist():
        own = frame[(frame["sex"] == frame["sex"][row]) & (frame["old"] == frame["old"][row])]["income"].to_numpy()
        expected = rank(own, 12.0) - rank(own, frame["income"][row])
        assert audit.recourse.cost[row] == pytest.approx(expected, abs=1e-9)


def test_whose_group_is_not_known_is_unknown_not_infeasible():
    frame = people().astype({"sex": object})
    frame.loc[0, ["sex", "income", "debt"]] = [None, 0, 8]
    with pytest.warns(ee.errors.EquieffortWarning):
        audit = ee.audit(LINE, frame, **world(frame))
    assert audit.recourse.status[0] == Status.UNKNOWN
    assert (audit.recourse.status[1:] != Status.UNKNOWN).all()


def test_it_is_saved_explained_and_solved_further(tmp_path):
    frame = people()
    audit = ee.audit(LINE, frame, **world(frame))
    path = tmp_path / "one.audit"
    audit.save(path)
    again = ee.Audit.load(path)
    pd.testing.assert_frame_equal(again.by_group, audit.by_group)
    kept = again.provenance.cost
    assert (kept.kind, kept.columns) == ("Percentile", ("sex",))
    incomes = frame[frame["sex"] == "f"]["income"]
    values, shares = kept.by_group["f"]["income"]
    assert list(values) == sorted(incomes.unique())
    assert shares[0] == pytest.approx((incomes == incomes.min()).mean())
    row = int(np.flatnonzero(audit.recourse.has_action)[0])
    parts = audit.recourse.source.costs(audit.recourse, np.array([row]))
    assert parts.sum() == pytest.approx(audit.recourse.cost[row])
    further = audit.solve_further([frame.index[row]])
    assert further.recourse.cost[row] == audit.recourse.cost[row]


def test_a_feature_without_spread_in_a_group_is_refused_by_name():
    frame = people().assign(debt=lambda table: np.where(table["sex"] == "f", 4, table["debt"]))
    with pytest.raises(CostError) as caught:
        ee.audit(LINE, frame, **world(frame))
    assert caught.value.code == "COST_ZERO_SCALE"
    assert "'debt' has the single value 4 among the reference people with sex = f" in caught.value.what


def test_people_of_a_group_without_reference_people_are_refused():
    frame = people(groups=(1, 2))
    problem = ee.RecourseProblem.of(LINE, frame, **world(frame))
    others = people(groups=(1, 2, 3))
    with pytest.raises(CostError) as caught:
        ee.solve(problem, others)
    assert caught.value.code == "COST_GROUP"


def test_within_is_one_of_two():
    with pytest.raises(ee.errors.ParameterError, match="within"):
        ee.Percentile(within="sex")
