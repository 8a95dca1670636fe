"""Why somebody has no recourse: the facts name the limit that really binds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.limits import unlimited

from equieffort import Feature, Linear, LinearExact, LinearScore, RecourseProblem, Schema, StructuralCausalModel, solve
from equieffort.recourse.status import Blocking, Infeasibility, LimitKind
from equieffort.words.limits import obstacle_text

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def table_of(person, features, score, threshold, *, edges=(), equations=None, margin=0.0, solver=None):
    """The table of one refused person; another, far away, only gives the data two groups and a range."""
    other = {
        name: value if isinstance(value, str | bool) else type(value)(value + 10_000) for name, value in person.items()
    }
    levels = {name: {"low": "high", "high": "low"}.get(value, value) for name, value in other.items()}
    frame = pd.DataFrame([person, levels]).assign(sex=["f", "m"])
    schema = Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(features, frame))
    scm = StructuralCausalModel(list(edges), nodes=[*person, "sex"], mechanisms=equations)
    clf = LinearScore(score, threshold=threshold)
    return solve(RecourseProblem.of(clf, frame, schema=schema, scm=scm, margin=margin), frame, solver=solver)


def row_of(*args, **more):
    return table_of(*args, **more).frame().iloc[0]


def reason(*args, **more):
    row = row_of(*args, **more)
    assert row["status"] == "infeasible", row
    return row["reason"]


def fact(*args, **more):
    """What the solver says, as data."""
    said = table_of(*args, **more).reasons()[0]
    assert isinstance(said, Infeasibility)
    return said


def limited(**limits):
    return {"x": Feature("actionable", **limits)}


UP, DOWN = {"x": 1.0}, {"x": -1.0}


@pytest.mark.parametrize(
    ("start", "score", "limits", "stops_at", "binds"),
    [
        (5.0, UP, {"upper": 20, "max_increase": 30, "plausible": (0, 40)}, "20", "upper limit 20"),
        (5.0, UP, {"upper": 40, "max_increase": 30, "plausible": (0, 60)}, "35", "largest increase 30"),
        (5.0, UP, {"upper": 40, "max_increase": 30, "plausible": (0, 12.5)}, "12.5", "plausible maximum 12.5"),
        (95.0, DOWN, {"lower": 60, "max_decrease": 45, "plausible": (10, 99)}, "60", "lower limit 60"),
        (95.0, DOWN, {"lower": 30, "max_decrease": 20, "plausible": (10, 99)}, "75", "largest decrease 20"),
        (95.0, DOWN, {"lower": 30, "max_decrease": 45, "plausible": (80, 99)}, "80", "plausible minimum 80"),
        # A limit on the other side has no say.
        (5.0, UP, {"lower": 4, "max_decrease": 0, "upper": 9}, "9", "upper limit 9"),
        # Whole numbers stop at the last one inside.
        (5, UP, {"upper": 20.7}, "20", "upper limit 20.7"),
        (95, DOWN, {"max_decrease": 10.5}, "85", "largest decrease 10.5"),
    ],
)
def test_the_limit_that_binds_is_named(start, score, limits, stops_at, binds):
    threshold = 1000.0 if score is UP else 0.0
    table = table_of({"x": start}, limited(**limits), score, threshold)
    said = table.reasons()[0]
    # No other limit is blamed.
    (stop,) = said.obstacles
    assert (stop.feature, stop.fact, stop.stops_at, obstacle_text(stop)) == ("x", start, float(stops_at), binds)
    gained, needed = abs(float(stops_at) - start), threshold - score["x"] * start
    assert said.blocking == Blocking.CLOSEST
    assert (said.reachable, said.needed) == pytest.approx((gained, needed))
    share = f"{int(100 * gained / needed)} %" if gained / needed >= 0.01 else "less than 1 %"
    sentence = f"The best allowed changes cover {share} of the distance to approval: x stops at {stops_at} ({binds})."
    assert table.frame()["reason"].iloc[0] == sentence


@pytest.mark.parametrize(
    ("start", "score", "limits", "way", "binds"),
    [
        (50.0, UP, {"direction": "down", "upper": 80}, "up", "may only go down"),
        (50.0, DOWN, {"direction": "up", "lower": 20}, "down", "may only go up"),
        (50.0, UP, {"max_increase": 0}, "up", "largest increase 0"),
        (50.0, UP, {"upper": 50}, "up", "upper limit 50"),
        # Already outside: it may come back, never go further.
        (50.0, UP, {"upper": 40}, "up", "upper limit 40"),
        (50.0, DOWN, {"lower": 60}, "down", "lower limit 60"),
    ],
)
def test_no_way_to_go(start, score, limits, way, binds):
    said = reason({"x": start}, limited(**limits), score, 1000.0 if score is UP else 0.0)
    assert said == f"No allowed change brings approval closer: x cannot go {way} from 50 ({binds})."


LIMITS = st.fixed_dictionaries(
    {
        "upper": st.floats(11, 60),
        "max_increase": st.floats(1, 60),
        "most": st.floats(11, 60),
        "lower": st.floats(-60, 9),
        "max_decrease": st.floats(1, 60),
        "least": st.floats(-60, 9),
    }
)


def binding(limits, way, start=10.0):
    """The nearest limit on the way, by hand: how far it lets one go, and its kind, or kinds where several do."""
    if way > 0:
        ends = [(limits["upper"] - start, "upper"), (limits["max_increase"], "max_increase")]
        ends.append((limits["most"] - start, "plausible"))
    else:
        ends = [(start - limits["lower"], "lower"), (limits["max_decrease"], "max_decrease")]
        ends.append((start - limits["least"], "plausible"))
    room = min(ends)[0]
    return room, [kind for end, kind in ends if end <= room + 1e-9]


@given(LIMITS, LIMITS, st.floats(0.5, 3), st.floats(0.5, 3), st.sampled_from([-1, 1]), st.sampled_from([-1, 1]))
@settings(max_examples=40, deadline=None)
def test_two_features_each_with_its_own_limit(first, second, a, b, way_a, way_b):
    features = {
        name: Feature(
            "actionable",
            lower=limits["lower"],
            upper=limits["upper"],
            max_increase=limits["max_increase"],
            max_decrease=limits["max_decrease"],
            plausible=(limits["least"], limits["most"]),
        )
        for name, limits in (("x", first), ("y", second))
    }
    said = fact({"x": 10.0, "y": 10.0}, features, {"x": way_a * a, "y": way_b * b}, 1000.0)
    stops = {stop.feature: stop for stop in said.obstacles}
    gained = 0.0
    for name, limits, weight, way in (("x", first, a, way_a), ("y", second, b, way_b)):
        room, kinds = binding(limits, way)
        assert (stops[name].limit, stops[name].side) in [(kind, way) for kind in kinds]
        assert stops[name].stops_at == pytest.approx(10 + way * room)
        gained += weight * room
    assert said.reachable == pytest.approx(gained)


def test_only_features_that_matter_are_blamed():
    features = {"x": Feature("actionable", upper=20), "idle": Feature("actionable", upper=3)}
    said = reason({"x": 5.0, "idle": 1.0}, features, UP, 1000.0)
    assert "x stops at 20" in said
    assert "idle" not in said


def test_nothing_moves_the_score():
    said = fact({"x": 5.0, "y": 1.0}, limited(), {"y": 1.0}, 50.0)
    assert said == Infeasibility(blocking=Blocking.BEYOND)


CHAIN = {"edges": [("x", "y")]}


@pytest.mark.parametrize(
    ("effect", "plausible", "stops_at"), [(2.0, (-99, 11), 10), (-2.0, (-9, 99), 10), (0.5, (None, 3), 9)]
)
def test_the_plausible_range_of_a_follower(effect, plausible, stops_at):
    """y starts at 1, so it has 10, 10 or 2 to go, at 2, 2 or a half a unit of x."""
    features = {"x": Feature("actionable", upper=400), "y": Feature("mutable", plausible=plausible)}
    said = reason({"x": 5.0, "y": 1.0}, features, UP, 1000.0, equations={"y": Linear({"x": effect})}, **CHAIN)
    assert f"x stops at {stops_at} (plausible range of 'y')" in said
    assert "upper limit" not in said


def test_a_follower_that_must_not_move():
    features = limited(upper=400) | {"y": "immutable"}
    said = reason({"x": 5.0, "y": 1.0}, features, UP, 1000.0, equations={"y": Linear({"x": 2.0})}, **CHAIN)
    assert said == "No allowed change brings approval closer: x cannot go up from 5 ('y' must not move)."


def test_a_nearer_limit_hides_the_follower():
    features = limited(direction="down") | {"y": "immutable"}
    said = reason({"x": 5.0, "y": 1.0}, features, UP, 1000.0, equations={"y": Linear({"x": 2.0})}, **CHAIN)
    assert "may only go down" in said
    assert "must not move" not in said


def test_the_follower_that_stops_first():
    """y allows 20 more, z 4 more."""
    features = limited() | {"y": Feature("mutable", plausible=(None, 21)), "z": Feature("mutable", plausible=(None, 5))}
    equations = {"y": Linear({"x": 1.0}), "z": Linear({"y": 1.0})}
    said = reason(
        {"x": 5.0, "y": 1.0, "z": 1.0}, features, UP, 1000.0, edges=[("x", "y"), ("y", "z")], equations=equations
    )
    assert "x stops at 9 (plausible range of 'z')" in said
    assert "'y'" not in said


def test_the_way_that_comes_closest_is_explained():
    """y may be set, up to 3, or left to follow x, which reaches 10: 2 * 5 = 10 more against 2 more."""
    features = {"x": Feature("actionable", upper=10), "y": Feature("actionable", upper=3)}
    said = fact({"x": 5.0, "y": 1.0}, features, {"y": 1.0}, 1000.0, equations={"y": Linear({"x": 2.0})}, **CHAIN)
    assert said.reachable == pytest.approx(10)
    (stop,) = said.obstacles
    assert (stop.feature, stop.limit, stop.value, stop.stops_at) == ("x", LimitKind.UPPER, 10.0, 10.0)


def test_a_margin_is_part_of_the_need():
    said = fact({"x": 5.0}, limited(upper=20), UP, 18.0, margin=4.0)
    assert (said.needed, said.reachable) == pytest.approx((17.0, 15.0))


def test_a_category_that_is_not_enough():
    said = reason(
        {"c": "low", "x": 5.0},
        {"c": "actionable", "x": "mutable"},
        UP,
        1000.0,
        edges=[("c", "x")],
        equations={"x": Linear({"c": {"low": 3.0}})},
    )
    assert said == "No allowed change brings approval closer."
    said = fact(
        {"c": "low", "x": 5.0},
        {"c": "actionable", "x": "mutable"},
        UP,
        1000.0,
        edges=[("c", "x")],
        equations={"x": Linear({"c": {"high": 3.0}})},
    )
    assert (said.needed, said.reachable) == pytest.approx((995.0, 3.0))


@pytest.mark.parametrize(
    "follower", ["immutable", Feature("mutable", plausible=(0, 30))], ids=["immutable", "plausible"]
)
def test_a_follower_that_stops_a_category_is_named(follower):
    said = reason(
        {"c": "low", "x": 5.0},
        {"c": "actionable", "x": follower},
        UP,
        1000.0,
        edges=[("c", "x")],
        equations={"x": Linear({"c": {"high": 3000.0}})},
    )
    assert "'x'" in said


SHARED = {
    "edges": [("a", "c"), ("b", "c")],
    "equations": {"c": Linear({"a": 1.0, "b": 1.0})},
}


@pytest.mark.parametrize("box", [{}, {"upper": 200}], ids=["open", "boxed"])
def test_a_follower_that_two_actions_share(box):
    """a and b together may move c by 10, and the score gains exactly what c gains."""
    features = {
        "a": Feature("actionable", **box),
        "b": Feature("actionable", **box),
        "c": Feature("mutable", plausible=(None, 10)),
    }
    best = linprog([-1, -1], A_ub=[[1, 1]], b_ub=[10], bounds=[(None, 200 - 5), (None, 200)])
    assert -best.fun == pytest.approx(10)
    said = fact({"a": 5.0, "b": 0.0, "c": 0.0}, features, {"a": 1.0, "b": 1.0}, 50.0, solver=LinearExact(), **SHARED)
    # Whatever is said, it must not promise as much as is needed.
    assert 0 < said.reachable < 45
    assert "c" in said.named


def test_shared_follower_is_named():
    features = {
        "a": Feature("actionable", upper=20),
        "b": Feature("actionable", upper=20),
        "c": Feature("mutable", plausible=(None, 10)),
    }
    table = table_of(
        {"a": 5.0, "b": 0.0, "c": 0.0}, features, {"a": 1.0, "b": 1.0}, 50.0, solver=LinearExact(), **SHARED
    )
    assert table.reasons()[0].needed == pytest.approx(45)
    assert table.frame()["reason"].iloc[0].endswith("; the plausible range of 'c'.")


def test_rows_with_an_action_have_no_reason():
    row = row_of({"x": 5.0}, limited(upper=2000), UP, 1000.0)
    assert row["status"] == "optimal"
    assert row["reason"] == ""
    assert row["do_x"] == pytest.approx(1000.0)


def test_lifting_the_named_limit_is_what_helps():
    """The proof that it binds: without it there is recourse, without the others there is none."""
    limits = {"upper": 20, "max_increase": 300, "plausible": (0, 400)}
    assert "upper limit 20" in reason({"x": 5.0}, limited(**limits), UP, 100.0)
    assert row_of({"x": 5.0}, limited(**limits | {"upper": None}), UP, 100.0)["status"] == "optimal"
    for other in ("max_increase", "plausible"):
        assert "upper limit 20" in reason({"x": 5.0}, limited(**limits | {other: None}), UP, 100.0)


def test_integers_reach_what_they_can():
    """Half-unit effects on a follower let a whole number go only in whole steps."""
    features = {"x": Feature("actionable"), "y": Feature("mutable", plausible=(None, 4.2))}
    said = reason({"x": 5, "y": 1.0}, features, UP, 1000.0, equations={"y": Linear({"x": 0.5})}, **CHAIN)
    assert "x stops at 11 (plausible range of 'y')" in said  # 3.2 / 0.5 = 6.4, so six steps
    assert np.floor(3.2 / 0.5) == 6


def test_the_solver_is_asked_once_for_everybody(monkeypatch):
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0], "sex": ["f", "m", "f", "m"]})
    schema = Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(limited(upper=3)))
    scm = StructuralCausalModel([], nodes=["x", "sex"])
    table = solve(RecourseProblem.of(LinearScore(UP, threshold=5.0), frame, schema=schema, scm=scm), frame)
    asked = []
    monkeypatch.setattr(
        type(table.source.prepared),
        "infeasibility",
        lambda self, people: asked.extend(people[:, 0] * self.problem.units[0]) or [Infeasibility()] * len(people),
    )
    for _ in range(2):
        assert table.reasons() == [Infeasibility()] * 3 + [None]
        assert [bool(text) for text in table.frame()["reason"]] == [True, True, True, False]
    assert asked == [0.0, 1.0, 2.0]


def test_everybody_is_told_what_they_would_be_told_alone():
    """Patterns, limits that bind, shared columns and categories differ between the people of one batch."""
    rng = np.random.default_rng(11)
    n = 60
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 20, n),
            "z": rng.uniform(-3, 3, n),
            "y": rng.uniform(0, 8, n),
            "v": rng.uniform(0, 8, n),
            "w": rng.uniform(0, 10, n),
            "job": rng.choice(["low", "mid", "high"], n),
            "sex": ["f", "m"] * (n // 2),
        }
    )
    features = {
        "x": Feature("actionable", upper=15, max_increase=4),
        "z": Feature("actionable", max_decrease=1.0, lower=-2.0),
        "y": Feature("mutable", plausible=(None, 9.0)),
        "v": "mutable",
        "w": "immutable",
        "job": "actionable",
    }
    schema = Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(features, frame))
    scm = StructuralCausalModel(
        [("x", "y"), ("z", "y"), ("job", "v"), ("job", "w")],
        nodes=list(frame),
        mechanisms={
            "y": Linear({"x": 0.5, "z": -1.0}),
            "v": Linear({"job": {"mid": 1.0, "high": 5.0}}),
            "w": Linear({"job": {"high": 1.0}}),
        },
    )
    clf = LinearScore({"x": 1.0, "z": -2.0, "v": 1.0}, threshold=100.0)
    problem = RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    table = solve(problem, frame, solver=LinearExact())
    told = table.reasons()
    people = problem.scaled.encoding.encode(frame)
    alone = [table.source.prepared.infeasibility(people[i : i + 1]) for i in range(n)]
    assert [[one] for one in told] == alone
    obstacles = {one for reason in told for one in reason.obstacles}
    kinds = {(one.feature, one.limit, one.value) for one in obstacles if not one.column}
    assert kinds == {("x", "upper", 15.0), ("x", "max_increase", 4.0), ("z", "max_decrease", 1.0), ("z", "lower", -2.0)}
    assert {(one.feature, one.limit, one.column) for one in obstacles if one.column} >= {
        ("", "plausible", "y"), ("job", "fixed", "w"),
    }  # fmt: skip
    # Who stands beyond the limit already cannot go further up.
    assert {(one.fact, one.stops_at) for one in obstacles if one.feature == "x" and one.fact == 17.0} == {(17.0, 17.0)}
