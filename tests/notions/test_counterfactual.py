"""Counterfactual fairness: against cases worked by hand, the paper's closed form, and what cannot be known."""

from __future__ import annotations

from dataclasses import replace
from math import erf, isnan, sqrt

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from tests.limits import unlimited
from tests.notions.worlds import SHIFT, of_three

import equieffort as ee
from equieffort.effort.measures import Spread
from equieffort.errors import ParameterError
from equieffort.notions import NotApplicable
from equieffort.notions.base import Audited
from equieffort.notions.counterfactual import CounterfactualFairness, CounterfactualFamily, ratios_of
from equieffort.notions.discrimination import CausalDiscrimination
from equieffort.notions.shares import Share
from equieffort.recourse.people import People
from equieffort.recourse.status import Status

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
PEOPLE = {"a": [-2.0, -0.5, 0.2], "b": [-0.3, 0.7, 2.0], "c": [-1.0, -0.4, 1.4]}
"""Their noises are -2, -.5, .2; -1.3, -.3, 1; -.5, .1, 1.9: approved in a from 0 on, in b from -1, in c from .5."""


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return of_three(PEOPLE)


@pytest.fixture(scope="module")
def found(audit) -> CounterfactualFairness:
    return audit.counterfactual_fairness()


def test_who_is_treated_unfairly_and_by_which_level(found):
    people = found.people
    assert people["turned_by"].to_dict() == {"p1": "b", "p2": "c", "p4": "a; c", "p6": "b", "p7": "a; b"}
    assert people["decision"].to_dict() == {
        "p1": "refused", "p2": "approved", "p4": "approved", "p6": "refused", "p7": "refused"
    }  # fmt: skip
    assert people.loc["p7", ["at_a", "at_b", "at_c"]].tolist() == ["approved", "approved", "refused"]
    assert people.loc["p4", ["group", "status"]].tolist() == ["b", "not_needed"]
    assert isnan(people.loc["p4", "effort"])


def test_ratios_by_group_and_level(found):
    rows = found.frame().set_index(["decided", "group", "level"])
    by_hand = {
        ("refused", "", ""): (2, 5), ("refused", "a", ""): (1, 2), ("refused", "b", ""): (1, 1),
        ("refused", "c", ""): (0, 2), ("everybody", "", ""): (4, 9), ("everybody", "a", ""): (1, 3),
        ("everybody", "b", ""): (2, 3), ("everybody", "c", ""): (1, 3), ("refused", "c", "a"): (1, 2),
        ("refused", "c", "b"): (0, 2), ("refused", "", "b"): (1, 4), ("everybody", "", "c"): (4, 6),
    }  # fmt: skip
    for key, (k, n) in by_hand.items():
        assert (rows.loc[key, "n_stays"], rows.loc[key, "n"], rows.loc[key, "estimate"]) == (k, n, k / n), key
    # A group is no level of its own.
    assert ("refused", "a", "a") not in rows.index
    assert len(rows) == 2 * (4 + 3 * 3)


def test_the_interval_is_wilsons(found):
    row = found.frame().set_index(["decided", "group", "level"]).loc[("everybody", "", "")]
    z, p, n = 1.959963984540054, 4 / 9, 9
    middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert row["low"] == pytest.approx((middle - half) / (1 + z * z / n), rel=1e-12)
    assert row["high"] == pytest.approx((middle + half) / (1 + z * z / n), rel=1e-12)


def test_efforts_are_split_by_it(audit, found):
    rows = found.efforts.set_index(["group", "treated"])
    efforts = audit.recourse.effort
    assert rows.loc[("a", "stays"), ["n", "n_recourse", "median", "mean"]].tolist() == [1, 1, efforts[0], efforts[0]]
    assert rows.loc[("c", "turns"), "mean"] == pytest.approx((efforts[6] + efforts[7]) / 2, rel=1e-15)
    assert rows.loc[("c", "turns"), "median"] == pytest.approx((efforts[6] + efforts[7]) / 2, rel=1e-15)
    assert rows.loc[("b", "turns"), "n"] == 0
    assert isnan(rows.loc[("b", "turns"), "mean"])


def test_those_without_recourse_and_the_unknown_are_in_no_quartile(audit, found):
    table = audit.recourse
    status, bound = table.status.copy(), table.bound.copy()
    status[6], bound[6] = Status.UNKNOWN, 0.0
    status[7], bound[7] = Status.INFEASIBLE, np.inf
    status[1], bound[1] = Status.FEASIBLE, 0.1
    other = replace(found, audited=replace(found.audited, table=replace(table, status=status, bound=bound)))
    rows = other.efforts.set_index(["group", "treated"])
    assert rows.loc[("c", "turns"), ["n", "n_recourse", "n_infeasible", "n_unknown"]].tolist() == [2, 0, 1, 1]
    assert rows.loc[("c", "turns"), ["least", "q1", "median", "q3", "most", "mean"]].isna().all()
    assert rows.loc[("a", "turns"), "n_unproven"] == 1
    # Whether recourse exists changes nothing in the decisions.
    assert other.frame().equals(found.frame())


def test_twins_keep_their_noise(audit, found):
    data, shift = audit.recourse.data, pd.Series(SHIFT)
    for level in "abc":
        twins = found.twins(level)
        assert (twins["s"] == level).all()
        own = shift[data["s"]].to_numpy()
        np.testing.assert_allclose(twins["x"], data["x"] - own + SHIFT[level], atol=1e-12)
        assert twins["z"].equals(data["z"])
        assert twins.index.equals(data.index)


def test_a_level_that_is_none_is_refused(found):
    with pytest.raises(ParameterError, match=r"level is 'd', which is none") as caught:
        found.twins("d")
    assert caught.value.code == "PARAMETER"


def test_several_sensitive_columns_are_set_together():
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({"s": rng.integers(0, 2, n), "t": rng.choice(["u", "v"], n)})
    # Nobody has s = 1 and t = v: that is no level.
    X.loc[(X["s"] == 1) & (X["t"] == "v"), "t"] = "u"
    X["x"] = rng.normal(size=n) + 0.7 * X["s"]
    X["w"] = rng.normal(size=n) - 0.9 * (X["t"] == "v")
    known = X.assign(x=0.7 * X["s"], w=-0.9 * (X["t"] == "v"))
    scm = ee.StructuralCausalModel([("s", "x"), ("t", "w")]).fit(known)
    schema = ee.Schema(
        sensitive=["s", "t"], protected=[(0, "v")], reference=(1, "u"), favourable=True,
        features=unlimited({"x": "actionable", "w": "actionable"}),
    )  # fmt: skip
    found = ee.audit(ee.LinearScore({"x": 1.0, "w": 1.0}), X, schema=schema, scm=scm).counterfactual_fairness()
    u = X["x"] - 0.7 * X["s"] + X["w"] + 0.9 * (X["t"] == "v")
    means = {"0 & u": 0.0, "0 & v": -0.9, "1 & u": 0.7}
    decided = np.column_stack([u + means[label] >= 0 for label in found.groups.labels])
    assert list(found.groups.labels) == list(means)
    assert np.array_equal(found.stays, decided.all(axis=1) | ~decided.any(axis=1))
    assert found.twins("0 & v")[["s", "t"]].drop_duplicates().to_numpy().tolist() == [[0, "v"]]


@pytest.mark.parametrize("dtype", ["float32", "Float64", "float64[pyarrow]"])
def test_a_twin_is_decided_as_the_table_stores_it(dtype):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"s": pd.Categorical(rng.choice(["a", "b"], 80)), "x": rng.normal(size=80)})
    X["x"] = X["x"].astype(dtype)
    scm = ee.StructuralCausalModel([("s", "x")]).fit(X)
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    found = ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm).counterfactual_fairness()
    twins = found.twins("a")
    assert twins.dtypes.equals(X.dtypes)
    gap = X["x"].astype(float)[X["s"] == "b"].mean() - X["x"].astype(float)[X["s"] == "a"].mean()
    moved = X["x"].astype(float) - gap * (X["s"] == "b")
    np.testing.assert_allclose(twins["x"].astype(float), moved, atol=1e-6)


def test_an_equation_without_an_answer_leaves_it_undefined():
    X = pd.DataFrame({"s": ["a", "b"] * 10, "c": ["k", "k", "m", "m", "k"] * 4, "x": np.linspace(-1, 1, 20)})
    # Nothing says how c follows s, and the model reads x alone; whoever is moved has no known twin.
    scm = ee.StructuralCausalModel([("s", "c")], nodes=["x"]).fit(X)
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    audit = ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm)
    found = audit.counterfactual_fairness()
    row = found.frame().set_index(["decided", "group", "level"]).loc[("refused", "a", "")]
    assert (row["n"], row["n_undefined"], row["least"], row["most"]) == (0, 5, 0.0, 1.0)
    assert isnan(row["estimate"])
    assert len(found.twins("b")) == 10
    assert found.people.empty
    assert set(found.efforts["treated"]) == {"stays", "turns", "undefined"}
    assert "of 5 more it is not known" in str(found)
    readings = CounterfactualFamily().readings(audit._audited())
    assert {one.note for one in readings if one.variant == "refused"} == {"NO_TWIN"}


def test_twins_that_are_known_at_some_levels_only_are_in_no_denominator(found):
    """Nobody knows who the people of a would be in c; of p1 it is known that b would turn the decision.

    Of a they would all be said to be treated unfairly, were p1 counted for being turned and p0 left out for not.
    """
    decided = found.decisions.decided.copy()
    decided[:3, 2] = -1
    some = replace(found, decisions=replace(found.decisions, decided=decided))
    refused = some.ratio("a")
    assert (refused.k, refused.n, refused.n_undefined) == (0, 0, 2)
    assert refused.certain == (0.0, 0.5)
    assert isnan(refused.estimate)
    whole = some.ratio("", "everybody")
    # p0 and p2 may stay or turn, p1 turns; of the six others three stay.
    assert (whole.k, whole.n, whole.n_undefined) == (3, 6, 3)
    assert whole.certain == (3 / 9, 5 / 9)
    assert "0 of 0; of 2 more it is not known, though a level is known to turn 1 of them" in str(some)
    # Who is treated unfairly is listed all the same, and the level that is known keeps its own count.
    assert "p1" in some.people.index
    assert (some.shares["refused", "a", "b"].k, some.shares["refused", "a", "b"].n) == (1, 2)
    tested = CausalDiscrimination(some.audited, some.decisions, None, some.decisions, 1)
    turned = tested.shares["people", "a", ""]
    assert (turned.k, turned.n, turned.certain) == (0, 0, (1 / 3, 1.0))


def test_nobody_refused():
    found = of_three({"a": [3.0], "b": [4.0], "c": [5.0]}).counterfactual_fairness()
    assert isnan(found.ratio("a").estimate)
    assert found.ratio("a", "everybody").estimate == 1.0
    assert (found.efforts["n"] == 0).all()
    readings = CounterfactualFamily().readings(found.audited)
    assert {one.note for one in readings if one.variant == "refused"} == {"NO_REFUSED"}
    assert "0 of 0" in str(found)
    assert "<table" in found._repr_html_()


def test_readings_have_every_group_and_population(audit):
    readings = CounterfactualFamily().readings(audit._audited())
    ratios = {(one.variant, one.group): (one.estimate, one.n) for one in readings if "ratio" in one.notion}
    assert ratios["refused", "a"] == (0.5, 2)
    assert ratios["everybody", ""] == (4 / 9, 9)
    gaps = {(one.group, one.against): one for one in readings if "gap" in one.notion}
    assert set(gaps) == {("a", "b"), ("c", "b")}
    assert (gaps["c", "b"].estimate, gaps["c", "b"].n, gaps["c", "b"].n_against) == (1.0, 2, 1)
    # Newcombe: Wilson's limits of 0 of 2 end at z^2 / (2 + z^2), those of 1 of 1 begin at 1 / (1 + z^2).
    z = 1.959963984540054**2
    assert gaps["c", "b"].low == pytest.approx(1 - sqrt((z / (2 + z)) ** 2 + (z / (1 + z)) ** 2), rel=1e-12)
    efforts = {(one.group, one.variant): one for one in readings if "effort" in one.notion}
    assert efforts["c", "turns"].n == 2
    assert efforts["b", "turns"].note == "NOTHING_DEFINED"


def test_an_audit_from_a_file_says_what_it_lacks(audit, tmp_path):
    audit.save(tmp_path / "one.audit")
    loaded = ee.load(tmp_path / "one.audit")
    with pytest.raises(ParameterError, match="counterfactual_fairness") as caught:
        loaded.counterfactual_fairness()
    assert caught.value.code == "AUDIT_LOADED"
    assert all(isinstance(one, NotApplicable) for one in CounterfactualFamily().readings(loaded._audited()))


def normal(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_in_the_papers_world_it_is_within_its_interval_at_the_stated_rate(alpha):
    z = alpha / (2 * sqrt(2))
    truth = normal(-z) / normal(z)
    features = unlimited({"X2": "actionable", "X3": "actionable"})
    schema = ee.Schema(sensitive="S", protected=0, favourable=True, features=features)
    mechanisms = {"X2": ee.Linear({"S": alpha}, intercept=3)}
    rule = ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3 + alpha / 2)
    runs, each = 400, 120
    X, _ = ee.datasets.paper_synthetic(alpha, runs * each, 1)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms=mechanisms).fit(X)
    problem = ee.RecourseProblem.of(rule, X, schema=schema, scm=scm)
    found = CounterfactualFairness.of(Audited(ee.solve(problem, X), 0.95, None, problem), problem)
    asked = found.audited.table.is_unfavourable & (X["S"] == 0).to_numpy()
    assert found.ratio("0").estimate == found.stays[asked].mean() == pytest.approx(truth, abs=0.01)
    held = 0
    for start in range(0, len(X), each):
        part = asked[start : start + each]
        stays = found.stays[start : start + each] & part
        low, high = Share(int(stays.sum()), int(part.sum())).limits(0.95)
        held += low <= truth <= high
    # Three standard errors of 400 runs at 95 %.
    assert abs(held / runs - 0.95) < 3 * sqrt(0.95 * 0.05 / runs)


def test_the_picture_has_the_efforts(audit, found):
    axes = audit.plot.counterfactual_fairness().plot().figure_.axes[0]
    medians = [line.get_ydata()[0] for line in axes.lines if line.get_linewidth() == 2]
    assert medians == found.efforts["median"].dropna().tolist()
    ticks = [text.get_text() for text in axes.get_xticklabels()]
    assert ticks[0] == "refused in\nevery group\nn = 1"
    assert {text.get_text() for text in axes.texts} == {"s = a", "s = b", "s = c"}


def test_one_person_has_no_interval_of_an_average(found):
    row = next(one for one in CounterfactualFamily().readings(found.audited) if one.n == 1 and "effort" in one.notion)
    assert (isnan(row.low), isnan(row.high), row.estimate > 0) == (True, True, True)
    assert row.note == "TOO_FEW"


def test_levels_do_not_depend_on_how_groups_are_compared(found):
    """Against everybody else, and with every pair, the same people are treated unfairly by the same levels."""
    for reference in (ee.Rest(), ee.AllPairs()):
        audit = of_three(PEOPLE, reference=reference)
        other = audit.counterfactual_fairness()
        assert other.people.drop(columns="effort").equals(found.people.drop(columns="effort"))
        rows = audit.notions(only=["counterfactual", "fair_causal_recourse", "discrimination"]).frame()
        ratio = rows[(rows["notion"] == "counterfactual_fairness_ratio") & (rows["variant"] == "refused")]
        assert ratio.set_index("group")["estimate"].to_dict() == {"": 2 / 5, "a": 1 / 2, "b": 1.0, "c": 0.0}
        gap = rows[rows["notion"] == "counterfactual_fairness_gap"].set_index(["group", "against"])["estimate"]
        if isinstance(reference, ee.Rest):
            # b and c: 1 of 3 stay; a and b: 2 of 3; a and c: 1 of 4.
            assert gap.to_numpy() == pytest.approx([1 / 3 - 1 / 2, 1 / 4 - 1.0, 2 / 3])
        else:
            assert sorted(gap.index) == [("a", "b"), ("a", "c"), ("b", "c")]
        largest = rows[rows["variant"] == "largest"]
        # Efforts 2, .5; .3; 1, .4 over the range of the known x.
        assert largest["estimate"].tolist() == pytest.approx([(1.25 - 0.3) / 1.5])


def test_a_missing_cause_leaves_its_effects_unknown():
    """s causes x and x causes v: without x nobody knows v in another group. w is missing, and is no effect of s."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": np.repeat(["a", "b"], 100), "x": rng.normal(size=200), "w": rng.normal(size=200)})
    X["v"] = 0.5 * X["x"] + rng.normal(size=200)
    scm = ee.StructuralCausalModel([("s", "x"), ("x", "v")], nodes=["w"]).fit(X)
    y = X["x"] + X["v"] + X["w"] > 0
    model = HistGradientBoostingClassifier(max_iter=5).fit(X[["x", "v", "w"]], y)
    X.loc[:9, "x"], X.loc[20:29, "w"] = np.nan, np.nan
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features={"x": "actionable"})
    audit = ee.audit(model, X[["x", "v", "w"]], schema=schema, scm=scm, missing="model", sensitive_features=X["s"])
    found = audit.counterfactual_fairness()
    assert found.decisions.is_undefined.tolist() == [True] * 10 + [False] * 190
    assert found.ratio("", "everybody").n_undefined == 10
    twins = found.twins("b")
    assert twins.index.tolist() == list(range(10, 200))
    assert twins.loc[20:29, "w"].isna().all()
    refused = audit.recourse.is_unfavourable
    recourse = audit.fair_causal_recourse()
    assert recourse.counts()["no twin"] == int(refused[:10].sum())
    # Recourse of the others who lack a value is unknown, so that nothing is compared unless the twin is approved.
    lacking = recourse.people.loc[recourse.people.index.isin(range(20, 30)), "outcome"]
    assert set(lacking) <= {"unknown", "twin approved"}


# -- learned again ----------------------------------------------------------------------------------------------------


def trained(n: int = 150, seed: int = 2) -> tuple[ee.Audit, ee.Procedure]:
    """The paper's world, with model and equation learned from few people."""
    X, y = ee.datasets.paper_synthetic(2.0, n, seed)
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=1, features=unlimited({"X2": "actionable", "X3": "actionable"})
    )
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X)
    model = LogisticRegression().fit(X[["X2", "X3"]], y)
    return ee.audit(model, X, schema=schema, scm=scm), ee.Procedure(X[["X2", "X3"]], y, replicates=20)


def test_people_whom_nobody_solved_have_the_same_ratios(audit, found):
    unsure = audit.recourse.data.assign(s=["a", None, *audit.recourse.data["s"][2:]])
    problem = audit.inputs.problem
    solved = CounterfactualFairness.of(Audited(ee.solve(problem, unsure), 0.95, None, problem), problem)
    for data, one in ((audit.recourse.data, found), (unsure, solved)):
        assert ratios_of(People.of(problem, data)) == one.shares
    assert solved.ratio("", "everybody").n_undefined == 1


def test_a_model_that_is_trained_again_widens_the_interval():
    made, how = trained()
    people, procedure = made.counterfactual_fairness(), made.counterfactual_fairness(resample=how)
    same = made.counterfactual_fairness(resample=how)
    assert procedure.frame().equals(same.frame())
    one, other = (found.frame().set_index(["decided", "group", "level"]) for found in (people, procedure))
    assert one["estimate"].equals(other["estimate"])
    assert (one["chance"].unique().tolist(), other["chance"].unique().tolist()) == (["people"], ["procedure"])
    asked = ("everybody", "", "")
    assert other.loc[asked, "low"] < one.loc[asked, "low"] - 0.02
    assert other.loc[asked, "high"] > one.loc[asked, "high"] + 0.02
    # Where every replicate has a ratio of 1, what so few people can show is Wilson's.
    assert other.loc[("refused", "1", ""), "high"] == one.loc[("refused", "1", ""), "high"] == 1
    assert "the model and the equations are taken as they are" in str(people).lower()
    assert "how the model was trained" in str(procedure)
    assert "taken as they are" not in str(procedure)
    assert "how the model was trained" in procedure._repr_html_()


def test_given_equations_and_the_same_model_add_no_chance():
    X, _ = ee.datasets.paper_synthetic(2.0, 400, 3)
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=True, features=unlimited({"X2": "actionable", "X3": "actionable"})
    )
    scm = ee.StructuralCausalModel(
        [("S", "X2")], nodes=["X3"], mechanisms={"X2": ee.Linear({"S": 2.0}, intercept=3)}
    ).fit(X)
    made = ee.audit(ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=4.0), X, schema=schema, scm=scm)
    closed = made.counterfactual_fairness().ratio("0")
    drawn = made.counterfactual_fairness(resample=ee.Equations(60)).ratio("0")
    # The spread of an arcsine of a share of n people is 1 / (2 sqrt n); 60 replicates know it to about 10 %.
    assert drawn.spread.sd == pytest.approx(0.5 / sqrt(closed.n), rel=0.3)


def test_replicates_that_do_not_know_a_ratio_leave_no_interval():
    one = Share(3, 4, spread=Spread.of([0.5] * 10 + [float("nan")]))
    assert all(map(isnan, one.limits(0.95)))
    assert "no interval" in one.text(0.95)


def test_what_learns_nothing_again_is_refused(tmp_path):
    made, how = trained()
    with pytest.raises(ParameterError, match="resample"):
        made.counterfactual_fairness(resample=ee.Bootstrap())
    made.save(tmp_path / "a.audit")
    with pytest.raises(ParameterError) as caught:
        ee.load(tmp_path / "a.audit").counterfactual_fairness(resample=how)
    assert caught.value.code == "AUDIT_LOADED"
