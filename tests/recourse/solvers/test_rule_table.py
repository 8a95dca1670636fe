"""The table of rules says of every action what the replay says, though it was made once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort import Forbidden, Monotone, Sum
from equieffort.recourse.solvers.rule_table import RuleTable, allowed_levels

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

RULES = [
    [Sum({"x": 1, "y": -2}, upper=1)],
    ["if job = 'c' then x >= 2"],
    ["job in ('a', 'b') or x < 1 or y > 2"],
    [Monotone("x", "y"), "not (job = 'b' and x = y)"],
]


def problem(rules):
    grid = list(product("abc", range(4), range(4)))
    frame = pd.DataFrame(grid, columns=["job", "x", "y"]).assign(sex=["f", "m"] * 24)
    features = {"job": "actionable", **{name: ee.Feature("actionable", lower=0, upper=3) for name in "xy"}}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features, rules=rules)
    scm = ee.StructuralCausalModel([], nodes=["job", "x", "y"]).fit(frame)
    clf = ee.LinearScore({"x": 1.0}, threshold=2.5)
    made = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    return made, made.encoding.encode(frame)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_an_action_keeps_the_rules_where_each_clause_has_an_atom_that_holds(rules):
    made, people = problem(rules)
    table = RuleTable.of(made)
    pairs = np.array(list(product(range(len(people)), repeat=2)))
    facts, after = people[pairs[:, 0]], people[pairs[:, 1]]
    ends, now = table.ends(facts), made.rules.extend(after)[:, table.track]
    holds = (now >= ends.low - ends.tolerance) & (now <= ends.high + ends.tolerance)
    keeps = np.logical_and.reduceat(
        np.logical_or.reduceat(holds, table.clause_start[:-1], axis=1), [0], axis=1
    )[:, 0]  # fmt: skip
    broken = np.any([who for who, _ in made.rules.faults(facts, after)], axis=0)
    assert broken.any()
    assert not broken.all()
    np.testing.assert_array_equal(keeps, ~broken)


def test_sums_of_changes_that_cancel_do_not_move():
    made, _ = problem([Sum({"x": 0.1, "y": -0.3}, upper=1)])
    table = RuleTable.of(made)
    x, y = (made.encoding.position(name) for name in "xy")
    changes = np.zeros((len(made.names), 2))
    changes[x], changes[y] = [0.3, 1.0], [0.1, 1.0]
    moved = table.extended(changes)
    assert moved[len(made.names), 0] == 0
    assert moved[len(made.names), 1] != 0
    assert table.columns == {x, y}


def test_levels_that_may_be_set():
    """From a only b is open, to c nobody may go; everybody may stay."""
    made, people = problem([Forbidden("job", [("a", "c"), (None, "c")])])
    rows = people[[0, 16, 32]]
    assert allowed_levels(made, rows)[0].tolist() == [[True, True, False], [True, True, False], [True, True, True]]
