"""Group routes: the best of all menus and trees by brute force, and what they do measured by hand."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.limits import unlimited
from tests.notions.route_worlds import cost_by_hand, refused_rows, world

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.notions.actions import Action, Part
from equieffort.notions.group_routes import choosing
from equieffort.notions.group_routes.candidates import own_actions
from equieffort.notions.group_routes.choosing import best_menus, cover, greedy
from equieffort.notions.group_routes.policies import Measured, without_unused
from equieffort.notions.group_routes.trees import best_tree

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def drawn(seed: int, n: int = 14, m: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, m)) < 0.35, rng.integers(1, 9, (n, m)) / 4, np.inf)


def outcome(price: np.ndarray, routes: tuple[int, ...]) -> tuple[int, float]:
    """People turned, and their mean price, one by one."""
    paid = [min(price[i, a] for a in routes) for i in range(len(price))]
    turned = [one for one in paid if one < math.inf]
    return len(turned), sum(turned) / len(turned) if turned else math.nan


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_menus_are_the_whole_front_of_all_sets(seed, k):
    price = drawn(seed)
    every = [outcome(price, routes) for routes in combinations(range(7), k)]
    front = {
        (n, round(mean, 9)) for n, mean in every
        if n and not any((a >= n and b < mean - 1e-12) or (a > n and b <= mean + 1e-12) for a, b in every)
    }  # fmt: skip
    found = best_menus(price, k)
    assert {(menu.n_turned, round(menu.price, 9)) for menu in found} == front
    for menu in found:
        assert outcome(price, menu.routes) == pytest.approx((menu.n_turned, menu.price))
        assert menu.most == max(n for n, _ in every)
        assert outcome(price, without_unused(menu, price).routes) == pytest.approx((menu.n_turned, menu.price))
    assert found[0].n_turned == found[0].most


@pytest.mark.parametrize("seed", range(6))
def test_programs_prove_the_same_cover_as_all_sets(seed, monkeypatch):
    covers = np.isfinite(drawn(seed, 30, 9))
    for k in (1, 2, 3):
        most = max(int(covers[:, list(routes)].any(axis=1).sum()) for routes in combinations(range(9), k))
        routes, bound, how = cover(covers, k)
        assert len(routes) <= k
        assert int(covers[:, list(routes)].any(axis=1).sum()) == bound == most
        assert how == "proven"
        reached = int(covers[:, list(greedy(covers, k))].any(axis=1).sum())
        assert reached >= (1 - 1 / math.e) * most
    monkeypatch.setattr(choosing, "MOST_TRIED", 0)
    price = drawn(seed, 30, 9)
    found = best_menus(price, 2)
    assert found[0].n_turned == max(outcome(price, routes)[0] for routes in combinations(range(9), 2))
    assert {menu.most for menu in found} == {found[0].n_turned}
    for menu in found:
        # A menu found under a limit of price counts only whom it turns within it.
        assert outcome(price, menu.routes)[0] >= menu.n_turned


def test_without_time_the_greedy_choice_stands_and_says_so():
    covers = np.zeros((6, 3), dtype=bool)
    # Greedy takes the middle column and then covers 5 of 6; the other two cover all.
    covers[[1, 2, 3, 4], 1] = covers[[0, 1, 2], 0] = covers[[3, 4, 5], 2] = True
    assert greedy(covers, 2)[0] == 1
    routes, most, how = cover(covers, 2, seconds=0.0)
    assert (len(routes), most, how) == (2, 6, "greedy or better")
    assert cover(covers, 2)[1:] == (6, "proven")
    assert set(cover(covers, 2)[0]) == {0, 2}


def brute_tree(gain: np.ndarray, splits: list[np.ndarray], leaves: int, least: int) -> float:
    """The best sum over all trees of depth two, written out."""
    n, m = gain.shape

    def of(people: list[int]) -> float:
        return max(sum(gain[i, a] for i in people) for a in range(m))

    def parted(people: list[int], s: int) -> tuple[list[int], list[int]] | None:
        yes, no = [i for i in people if splits[s][i]], [i for i in people if not splits[s][i]]
        return (yes, no) if min(len(yes), len(no)) >= least else None

    best = of(list(range(n)))
    for s in range(len(splits)):
        sides = parted(list(range(n)), s)
        if sides is None or leaves < 2:
            continue
        options = []
        for side in sides:
            ways = [(1, of(side))]
            for t in range(len(splits)):
                again = parted(side, t)
                if again is not None:
                    ways.append((2, of(again[0]) + of(again[1])))
            options.append(ways)
        best = max(best, *(x + y for (a, x), (b, y) in product(*options) if a + b <= leaves))
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("leaves", [1, 2, 3, 4])
def test_trees_are_the_best_of_all(seed, leaves):
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random((18, 5)) < 0.4, rng.random((18, 5)), 0.0)
    splits = [rng.random(18) < share for share in (0.3, 0.5, 0.5, 0.7)]
    for least in (1, 4):
        found = best_tree(gain, splits, leaves, least)
        assert found.gain == pytest.approx(brute_tree(gain, splits, leaves, least))
        members = [leaf.members(splits, 18) for leaf in found.leaves]
        assert len(members) <= leaves
        assert np.sum(members, axis=0).tolist() == [1] * 18
        told = sum(gain[inside, leaf.route].sum() for leaf, inside in zip(found.leaves, members, strict=True))
        assert told == pytest.approx(found.gain)


def test_candidates_are_as_large_as_people_need():
    audit, _ = world()
    table = audit.recourse
    rows = np.flatnonzero(table.is_unfavourable)
    actions = own_actions(audit.inputs.problem, table, rows)
    frame = table.frame()
    alone = frame[frame["do_savings"].notna() & frame["do_housing"].isna()]
    assert Action((Part("savings", "change", alone["delta_savings"].max()),)) in actions
    assert Action((Part("savings", "at_least", alone["do_savings"].max()),)) in actions
    middle = sorted(alone["delta_savings"])[math.ceil(0.5 * len(alone)) - 1]
    assert Action((Part("savings", "change", middle),)) in actions
    both = frame[frame["do_housing"].notna()]
    assert len(both)
    levels = {part.value for action in actions for part in action.parts if part.feature == "housing"}
    assert levels == set(both["do_housing"])
    assert len(actions) == len(set(actions))


def test_what_is_measured_is_what_happens_by_hand():
    audit, classifier = world(400)
    X, rows = audit.recourse.data, refused_rows(classifier, audit.recourse.data)
    table = audit.recourse.frame()
    found = audit.group_routes(max_routes=3, holdout=0)
    assert set(found.same_people) == {"a", "b", "c"}
    seen = 0
    price = cache(lambda row, action: cost_by_hand(classifier, X, row, action))
    members = cache(audit.members)
    for policy in found.policies:
        for one in policy.measured:
            mine = [row for row in rows if X["group"].iloc[row] == one.group]
            paid = []
            for row in mine:
                if policy.assignment == "menu":
                    told = policy.routes
                else:
                    told = [route for route in policy.routes if not route.rule or members(route.rule)[row]]
                    assert len(told) == 1
                paid.append(min(price(row, route.action) for route in told))
            turned = [(cost, row) for cost, row in zip(paid, mine, strict=True) if cost < math.inf]
            assert (one.n, one.n_turned) == (len(mine), len(turned))
            seen += len(turned)
            if turned:
                assert one.mean_cost == pytest.approx(sum(cost for cost, _ in turned) / len(turned))
                extra = [cost - table["cost"].iloc[row] for cost, row in turned]
                assert min(extra) >= -1e-9
                assert one.mean_extra == pytest.approx(sum(extra) / len(extra))
                assert_students(one, extra)
                assert one.n_extra_unknown == 0
        # Without holding out, what it was chosen by is what is measured.
        total = sum(one.n_turned for one in policy.measured)
        assert (policy.n_turned_chosen, policy.n_chosen_on) == (total, sum(one.n for one in policy.measured))
    assert seen > 0


def assert_students(one: Measured, extra: list[float]) -> None:
    """The limits of the mean extra effort are those that scipy gives, cut at zero."""
    low, high = one.extra_limits(0.9)
    if len(extra) < 2 or np.std(extra) == 0:
        assert math.isnan(low)
        assert math.isnan(high)
        return
    limits = ttest_1samp(extra, 0.0).confidence_interval(0.9)
    assert low == pytest.approx(max(limits.low, 0.0), abs=1e-12)
    assert high == pytest.approx(limits.high)


def test_more_routes_turn_no_fewer_and_no_policy_turns_whom_nothing_can():
    audit, _ = world(400)
    found = audit.group_routes(max_routes=4, holdout=0)
    for name in ("a", "b", "c", "everybody"):
        for kind in ("menu", "tree"):
            counts = [policy.n_turned_chosen for policy in found.best(name, kind)]
            assert len(counts) == 4
            assert counts == sorted(counts)
        menus, trees = found.best(name), found.best(name, "tree")
        assert all(m.n_turned_chosen >= t.n_turned_chosen for m, t in zip(menus, trees, strict=True))
        assert menus[0].n_turned_chosen == trees[0].n_turned_chosen
        few = found.fewest(name)
        assert few.n_turned_chosen >= 0.9 * menus[-1].n_turned_chosen
        assert all(one.n_turned_chosen < 0.9 * menus[-1].n_turned_chosen for one in menus[: few.n_routes - 1])
    rho = audit.by_group["rho"]
    front = found.front
    assert (front["effectiveness"] <= front["group"].map(rho) + 1e-12).all()
    best = front[front["is_best"]]
    assert (best["n_turned_chosen"] == best["most_chosen"]).all()


def test_the_front_holds_what_nothing_beats():
    audit, _ = world(300)
    front = audit.group_routes(max_routes=3).front.drop_duplicates(["chosen_for", "assignment", "n_routes", "routes"])
    for _, part in front.groupby(["chosen_for", "assignment"]):
        points = part[["n_routes", "n_turned_chosen", "extra_chosen"]].to_numpy()
        for point, is_pareto in zip(points, part["is_pareto"], strict=True):
            beaten = any(
                o[0] <= point[0] and o[1] >= point[1] and o[2] <= point[2] and tuple(o) != tuple(point) for o in points
            )
            assert is_pareto == (not beaten)
        assert part["is_pareto"].any()


def test_routes_are_chosen_on_some_and_measured_on_others():
    audit, _ = world(400)
    refused = audit.by_group["n_unfavourable"]
    found = audit.group_routes(max_routes=1, holdout=0.25)
    front = found.front.query("assignment == 'menu' and is_best and chosen_for == group").set_index("group")
    for group in ("a", "b"):
        assert front.loc[group, "n"] == round(0.25 * refused[group])
        assert front.loc[group, "n"] + front.loc[group, "n_chosen_on"] == refused[group]
        assert front.loc[group, "note"] == ""
    assert audit.group_routes(max_routes=1, holdout=0.25).front.equals(found.front)
    other = audit.group_routes(max_routes=1, holdout=0.25, random_state=1).front
    assert not other.equals(found.front)


def test_choosing_and_measuring_on_the_same_people_flatters():
    # Nothing about a person says which of many levels helps: what looks good where it was chosen is chance.
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(40):
        price = np.where(rng.random((60, 30)) < 0.3, 1.0, np.inf)
        chosen, held = price[:30], price[30:]
        menu = best_menus(chosen, 1)[0]
        gaps.append(menu.n_turned / 30 - np.isfinite(held[:, menu.routes[0]]).mean())
    assert np.mean(gaps) > 0.1


def test_words_and_tables():
    audit, _ = world(400)
    found = audit.group_routes()
    text = str(found)
    assert "Refused people with group = a" in text
    assert "The same routes for everybody" in text
    assert "more than their own cheapest action" in text
    assert "chosen on some refused people and measured on others" in text
    routes = found.routes
    assert (routes.query("assignment == 'menu'")["rule"] == "").all()
    told = routes[routes["n"] > 0]
    assert (told["low"] <= told["effectiveness"]).all()
    assert (told["effectiveness"] <= told["high"]).all()
    assert routes.loc[routes["n"] == 0, "effectiveness"].isna().all()
    assert set(routes["chosen_for"]) == {"a", "b", "c", "everybody"}
    # Protected attributes tell nobody apart.
    assert not routes["rule"].str.contains("group").any()


def test_people_whose_optimum_is_not_proven_are_not_in_extra_effort():
    audit, _ = world(120, solver=ee.Search())
    assert not (audit.recourse.status == ee.Status.OPTIMAL).any()
    front = audit.group_routes(max_routes=1, holdout=0).front
    turned = front[front["n_turned"] > 0]
    assert len(turned)
    assert turned["mean_extra"].isna().all()
    assert (turned["n_extra_unknown"] == turned["n_turned"]).all()
    assert turned["note"].str.contains("UNCERTIFIED").all()


def small(values: list[float], **limits: float) -> ee.Audit:
    X = pd.DataFrame({"s": ["a"] * (len(values) - 3) + ["b"] * 3, "x": values})
    features = {"x": ee.Feature("actionable", **limits)} if limits else unlimited({"x": "actionable"})
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    return ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm)


def test_edges_nobody_refused_nobody_approved_nobody_with_recourse_one_person():
    assert small([1.0, 2, 3, 1, 2, 3]).group_routes().policies == ()
    assert "0 candidate actions" in str(small([-1.0, -2, -3, -1, -2, -3], upper=-0.5).group_routes())
    stuck = small([-1.0, -2, -3, 1, 2, 3], max_increase=0.5).group_routes()
    assert stuck.front.empty
    assert stuck.own == {"a": (3, 0)}
    one = small([-1.0, 2, 3, 1, 2, 3]).group_routes(max_routes=2)
    row = one.front.query("chosen_for == 'a' and is_best").iloc[0]
    assert (row["n"], row["n_turned"], row["note"]) == (1, 1, "SAME_PEOPLE")
    assert 0 <= row["mean_extra"] < 0.1


def test_a_loaded_audit_and_wrong_numbers_are_refused(tmp_path):
    audit, _ = world(80)
    audit.save(tmp_path / "a.audit")
    with pytest.raises(ParameterError) as raised:
        ee.load(tmp_path / "a.audit").group_routes()
    assert raised.value.code == "AUDIT_LOADED"
    for wrong in ({"max_routes": 0}, {"max_routes": 5}, {"holdout": 1}, {"holdout": -0.1}, {"min_support": 0},
                  {"max_features": 0}, {"min_leaf": 0}, {"random_state": -1}):  # fmt: skip
        with pytest.raises(ParameterError) as refused:
            audit.group_routes(**wrong)
        assert refused.value.code == "PARAMETER"


def test_people_who_lack_a_value_are_counted_apart_and_not_called_unturned():
    """A model with an imputer decides on them; what an action for many does to them is not asked."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {"group": rng.choice(["a", "b"], 200), "income": rng.normal(5, 2, 200), "age": rng.normal(0, 1, 200)}
    )
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X[["income", "age"]], X["income"] > 5)
    schema = ee.Schema(
        sensitive="group", protected="a", favourable=True,
        features={"income": ee.Feature("actionable", direction="up", max_increase=3), "age": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["income", "age"])
    whole = ee.audit(model, X, schema=schema, scm=scm, missing="model").group_routes(holdout=0)
    assert not whole.unknown
    X.loc[X.index[::9], "age"] = np.nan
    audit = ee.audit(model, X, schema=schema, scm=scm, missing="model")
    found = audit.group_routes(holdout=0)
    lacks = X["age"].isna().to_numpy() & audit.recourse.is_unfavourable
    for name, front in found.front.groupby("group"):
        mine = (X["group"] == name).to_numpy()
        assert set(front["n_unknown"]) == {int((lacks & mine).sum())}
        assert set(front["n"]) == {int((audit.recourse.is_unfavourable & ~lacks & mine).sum())}
    assert f"In no number: {lacks.sum()} refused people who lack a value." in str(found)
