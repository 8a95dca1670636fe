"""What a change of a category costs and who may make it: closed forms, where orders come from, and the replay."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.own_solver import OwnSolver

import equieffort as ee
from equieffort.errors import EquieffortError, EquieffortWarning
from equieffort.recourse.level_prices import LevelPrices
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Proposal
from equieffort.recourse.solvers.base import FOUND
from equieffort.recourse.solving import solve
from equieffort.recourse.status import Ending, Fault

ORDER = ("none", "school", "degree", "master", "phd")
inf = float("inf")


def prices(levels=("none", "school", "degree"), **said):
    return LevelPrices.of(ee.Feature("actionable", **said), levels)


def test_steps_are_a_share_of_the_whole_order_whoever_has_its_levels():
    table = prices(order=ORDER, steps=True, weight=(2.0, 1.0)).table
    assert table is not None
    np.testing.assert_allclose(table, [[0, 0.5, 1.0], [0.25, 0, 0.5], [0.5, 0.25, 0]])


def test_a_ladder_costs_what_the_same_ladder_costs_as_a_number():
    """Coded 0 to 4, a number costs its share of the range."""
    table = prices(ORDER, order=ORDER, steps=True, weight=3.0).table
    number = ee.WeightedL1().bind(["n"], np.arange(5.0)[:, None], np.full((1, 2), 3.0))
    each = np.arange(5.0)
    expected = [[number.evaluate(np.array([[a]]), np.array([[b]]))[0] for b in each] for a in each]
    np.testing.assert_allclose(table, expected)


def test_prices_come_before_steps_and_limits_before_prices():
    own = {("none", "school"): 7.0, ("degree", "none"): 1.0}
    table = prices(order=ORDER, steps=True, direction="up", upper="school", prices=own).table
    # Down is not allowed, nor beyond the upper level; who is beyond it may not come nearer either, as that is down.
    np.testing.assert_allclose(table, [[0, 7.0, inf], [inf, 0, inf], [inf, inf, 0]])


def test_who_is_beyond_a_limit_may_come_nearer():
    table = prices(order=ORDER, upper="none").table
    np.testing.assert_allclose(table, [[0, inf, inf], [1, 0, inf], [1, 1, 0]])


def test_without_order_and_prices_there_is_no_table():
    plain = prices(order=ORDER, weight=0.5)
    assert plain.table is None
    np.testing.assert_array_equal(plain.between(np.array([0.0, 1.0, np.nan]), np.array([0.0, 2.0, 1.0])), [0, 0.5, 0])
    np.testing.assert_array_equal(plain.each(np.array([1.0])), [[0.5, 0, 0.5]])


PEOPLE = pd.DataFrame(
    {
        "edu": ["none", "school", "degree", "none"] * 5, "owns": [False, True] * 10, "flag": [0, 1] * 10,
        "sex": ["f", "m"] * 10,
    }
)  # fmt: skip


class Everybody:
    """Says yes to who has a degree or owns."""

    classes_ = np.array([0, 1])
    feature_names_in_ = np.array(["edu", "owns", "flag"], dtype=object)

    def predict(self, X):
        return ((X["edu"] == "degree") & X["owns"].astype(bool)).to_numpy().astype(int)


def made(features, people=PEOPLE, **said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return RecourseProblem.of(
            Everybody(), people, scm=ee.StructuralCausalModel([], nodes=["edu", "owns", "flag"]).fit(people),
            schema=ee.Schema(sensitive="sex", protected="f", favourable=1, features=features), **said,
        )  # fmt: skip


def test_an_order_comes_from_the_type_of_the_column_where_nobody_declares_one():
    ordered = PEOPLE.assign(edu=pd.Categorical(PEOPLE["edu"], ["none", "school", "degree", "phd"], ordered=True))
    up = ee.Feature("actionable", direction="up", steps=True)
    assert made({"edu": up}, ordered).schema.feature("edu").order == ("none", "school", "degree", "phd")
    # Declared, it wins; where nothing needs one, none is taken.
    other = ee.Feature("actionable", direction="up", order=["phd", "degree", "school", "none"])
    assert made({"edu": other}, ordered).schema.feature("edu").order == ("phd", "degree", "school", "none")
    assert made({"edu": "actionable"}, ordered).schema.feature("edu").order is None
    with pytest.raises(EquieffortError, match="nothing says in which order") as caught:
        made({"edu": up})
    assert caught.value.code == "SCHEMA_LEVELS"
    with pytest.raises(EquieffortError, match="Upper of 'edu' names 'master'") as caught:
        made({"edu": ee.Feature("actionable", upper="master")}, ordered)
    assert caught.value.code == "SCHEMA_LEVELS"


@pytest.mark.parametrize(("direction", "moves"), [("up", [False, True]), ("down", [True, False])])
def test_flags_and_zero_and_one_have_a_direction(direction, moves):
    problem = made({name: ee.Feature("actionable", direction=direction) for name in ("owns", "flag")})
    start, end = map(float, moves)
    assert problem.level_prices[0].between(np.array([start]), np.array([end])) == 1.0
    assert problem.level_prices[0].between(np.array([end]), np.array([start])) == inf
    facts = problem.encoding.encode(PEOPLE)
    low, high = problem.action_box(facts)
    k = problem.encoding.position("flag")
    assert ((low[:, 0] == 0) & (high[:, 0] == facts[:, k]) if direction == "down" else low[:, 0] == facts[:, k]).all()


def test_two_texts_have_no_order_until_it_is_declared():
    people = PEOPLE.assign(owns=np.where(PEOPLE["owns"], "yes", "no"))
    feature = ee.Feature("actionable", kind="binary", direction="up")
    with pytest.raises(EquieffortError, match="nothing says in which order"):
        made({"owns": feature}, people)
    problem = made({"owns": ee.Feature("actionable", kind="binary", direction="up", order=["no", "yes"])}, people)
    np.testing.assert_array_equal(problem.level_prices[0].table, [[0, 1], [inf, 0]])


class Proposes(OwnSolver):
    """Sets the level of everybody to degree, whatever that costs, at a price it makes up."""

    gap = 1e-9

    def refuses(self, problem):
        return ""

    def attempt(self, problem, matrix, attempt):
        proposal = Proposal.empty(problem, len(matrix))
        proposal.code[:], proposal.cost[:], proposal.bound[:] = FOUND, 0.5, 0.5
        proposal.intervention_mask[:] = True
        proposal.level[:] = [problem.encoding["edu"].levels.index("degree"), 1]
        return proposal


def test_a_level_that_may_not_be_set_is_not_believed():
    """Its cost is infinite, which no finite cost may agree with."""
    feature = ee.Feature("actionable", order=["degree", "school", "none"], direction="up")
    problem = made({"edu": feature, "owns": "actionable"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        table = solve(problem, PEOPLE[PEOPLE["edu"] != "degree"], solver=Proposes())
    assert (table.status == ee.Status.UNKNOWN).all()
    assert {(note.kind, note.fault, note.subject) for note in table.notes.values()} == {
        (Ending.NOT_REPLAYED, Fault.VALUE, "edu")
    }


def test_whole_numbers_as_weights_cut_no_price_and_allow_no_change_that_is_forbidden():
    table = prices(order=ORDER, weight=2, direction="up", prices={("none", "degree"): 0.25}).table
    assert table is not None
    np.testing.assert_allclose(table, [[0, 2, 0.25], [inf, 0, 2], [inf, inf, 0]])
    table = prices(weight=1, prices={("none", "school"): 2.5}).table
    assert table is not None
    np.testing.assert_allclose(table, [[0, 2.5, 1], [1, 0, 1], [1, 1, 0]])
