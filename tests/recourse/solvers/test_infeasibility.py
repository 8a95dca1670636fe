"""What solvers name as standing in the way, held against trying everything: lifting it must give an action."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.limits import unlimited

import equieffort as ee
from equieffort.recourse.solvers.infeasibility import MOST_ALONE
from equieffort.recourse.status import Blocking, LimitKind

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

GRID = range(-20, 21)
"""Whole numbers that x and y may become: whatever is asked for can be had inside."""


def keeps(kind: LimitKind, side: int, feature: ee.Feature, fact: int, value: int) -> bool:
    """Whether a value keeps one limit of a feature; a fact beyond it may stay."""
    if side * (value - fact) <= 0:
        return True
    ends = {
        (LimitKind.LOWER, -1): feature.lower, (LimitKind.UPPER, 1): feature.upper,
        (LimitKind.MAX_DECREASE, -1): None if feature.max_decrease is None else fact - feature.max_decrease,
        (LimitKind.MAX_INCREASE, 1): None if feature.max_increase is None else fact + feature.max_increase,
    }  # fmt: skip
    end = ends.get((kind, side))
    return end is None or side * (value - end) <= 0


LIMITS = [(LimitKind.LOWER, -1), (LimitKind.MAX_DECREASE, -1), (LimitKind.UPPER, 1), (LimitKind.MAX_INCREASE, 1)]


def has_action(good, features, person, rule, lifted) -> bool:
    """By trying every favourable pair of values with the limits that are left."""
    for x, y in good:
        fits = all(
            (name, kind, side) in lifted or keeps(kind, side, features[name], person[name], value)
            for name, value in (("x", x), ("y", y))
            for kind, side in LIMITS
        )
        kept = rule is None or "rule" in lifted or x + y <= rule or x + y <= person["x"] + person["y"]
        if fits and kept:
            return True
    return False


def world(seed: int, kind: str):
    """Two whole numbers with limits of every kind, a rule between them, and a model that asks for a corner."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.integers(-2, 3, 12), "y": rng.integers(-2, 3, 12), "sex": ["f", "m"] * 6})
    points = pd.DataFrame(list(itertools.product(GRID, GRID)), columns=["x", "y"])
    if kind == "linear":
        a, b = rng.integers(1, 3, 2)
        model = ee.LinearScore({"x": float(a), "y": float(b)}, threshold=float(rng.integers(6, 9)) + 0.5)
    else:
        wanted = (points["x"] >= rng.integers(2, 5)) & (points["y"] >= rng.integers(1, 4))
        model = DecisionTreeClassifier(random_state=0).fit(points, wanted)
    features = {}
    for name in "xy":
        chosen = {
            "lower": int(rng.integers(-6, -2)), "upper": int(rng.integers(1, 5)),
            "max_increase": int(rng.integers(0, 4)), "max_decrease": int(rng.integers(0, 4)),
        }  # fmt: skip
        features[name] = ee.Feature("actionable", **{key: v for key, v in chosen.items() if rng.random() < 0.7})
    rule = int(rng.integers(1, 6)) if rng.random() < 0.5 else None
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features=unlimited(features, frame),
        rules=[] if rule is None else [ee.Sum({"x": 1, "y": 1}, upper=rule)],
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    good = points[np.asarray(model.predict(points), dtype=bool)].itertuples(index=False, name=None)
    return list(good), features, rule, frame, ee.RecourseProblem.of(model, frame, schema=schema, scm=scm)


def lifted_by(obstacle):
    return "rule" if obstacle.rule else (obstacle.feature, obstacle.limit, obstacle.side)


@pytest.mark.parametrize(
    ("solver", "kind"),
    [
        (ee.Milp(), "linear"), (ee.Milp(), "tree"), (ee.BranchAndBound(time_limit=None), "tree"),
        (ee.SpatialBranchAndBound(), "tree"),
    ],
    ids=["programs of a linear score", "programs of a tree", "a tree", "boxes"],
)  # fmt: skip
def test_what_is_named_is_what_stands_in_the_way(solver, kind):
    seen = set()
    for seed in range(4):
        good, features, rule, frame, problem = world(seed, kind)
        table = ee.solve(problem, frame, solver=solver)
        for row in np.flatnonzero(table.status == ee.Status.INFEASIBLE)[:4].tolist():
            person, said = frame.iloc[row], table.reasons()[row]
            named = [lifted_by(one) for one in said.obstacles]
            seen.add(said.blocking)
            assert not has_action(good, features, person, rule, ())
            if said.blocking == Blocking.EACH:
                every = [(name, *limit) for name in "xy" for limit in LIMITS] + ["rule"]
                truth = {one for one in every if has_action(good, features, person, rule, [one])}
                assert set(named) == truth, (seed, row, said)
            elif said.blocking == Blocking.TOGETHER:
                assert has_action(good, features, person, rule, named), (seed, row, said)
                for one in named:
                    fewer = [other for other in named if other != one]
                    assert not has_action(good, features, person, rule, fewer), (seed, row, said)
    assert Blocking.EACH in seen
    assert Blocking.TOGETHER in seen


def test_a_program_with_many_limits_names_few():
    """Sixteen features with two ends each are more limits than are left out one by one; x0 alone moves the score."""
    names = [f"x{k}" for k in range(16)]
    frame = pd.DataFrame(np.outer([0.0, 0.1, 0.2, 0.3], np.ones(16)), columns=names).assign(sex=["f", "m"] * 2)
    features = {name: ee.Feature("actionable", lower=-1, upper=1) for name in names}
    assert 2 * len(features) > MOST_ALONE
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features=features, rules=[ee.Sum({"x1": 1, "x2": 1}, upper=5)]
    )
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    problem = ee.RecourseProblem.of(ee.LinearScore({"x0": 1.0}, threshold=3.0), frame, schema=schema, scm=scm)
    said = ee.solve(problem, frame.iloc[:2], solver=ee.Milp()).reasons()[0]
    assert said.blocking == Blocking.EACH
    assert [lifted_by(one) for one in said.obstacles] == [("x0", LimitKind.UPPER, 1)]
    wider = replace(schema, features=features | {"x0": replace(features["x0"], upper=9)})
    free = ee.RecourseProblem.of(ee.LinearScore({"x0": 1.0}, threshold=3.0), frame, schema=wider, scm=scm)
    assert ee.solve(free, frame.iloc[:2], solver=ee.Milp()).has_action.all()
