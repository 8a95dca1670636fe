"""LinearSearch against every set of interventions, filled one by one; its kernels interpreted and compiled."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from tests import oracles_linear, oracles_ways
from tests.limits import unlimited
from tests.oracles import run

import equieffort as ee
from equieffort.recourse.solvers import in_parts
from equieffort.recourse.solvers.kernels.cost_curves import Curves, straight
from equieffort.recourse.solvers.linear_batch import LinearBatch
from equieffort.recourse.solvers.linear_search import arrays, batch, curve_kernels, row_search_kernels, search_kernels

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

SHAPES = {"chain": 0.0, "tree": 0.0, "parents": 0.3, "dense": 0.7}


def carries_of(rng, shape, k):
    """(cause, effect): a chain, a tree, a few or many causes each."""
    carries = np.zeros((k, k))
    for q in range(1, k):
        causes = [q - 1] if shape == "chain" else [int(rng.integers(q))]
        causes += np.flatnonzero(rng.random(q) < SHAPES[shape]).tolist()
        carries[causes, q] = rng.normal(size=len(causes))
    return carries


class Made:
    """Random people of a random world, as the kernels take them."""

    def __init__(self, seed, shape, k, *, limited=True, whole=False, people=4):
        rng = np.random.default_rng(seed)
        self.carries, self.gain = carries_of(rng, shape, k), rng.normal(size=k)
        self.whole = rng.random(k) < (0.5 if whole else 0.0)
        edges = [np.flatnonzero(row) for row in self.carries]
        start = np.cumsum([0, *map(len, edges)])
        child = np.concatenate(edges).astype(np.int64)
        effect = self.carries[np.repeat(np.arange(k), np.diff(start)), child]
        self.problem = arrays.CompiledProblem(
            start, child, effect, self.gain[None].copy(), self.carries.any(axis=0), self.whole,
            np.zeros((1, 0), dtype=np.int64), np.zeros((0, 1, k)), np.zeros((0, 1, 1)), np.ones(1),
            np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64),
        )  # fmt: skip
        self.high = rng.uniform(0.2, 2.0, (people, k)) if limited else np.full((people, k), np.inf)
        self.low = -rng.uniform(0.2, 2.0, (people, k)) if limited else np.full((people, k), -np.inf)
        self.high[:, self.whole], self.low[:, self.whole] = 2.0, -1.0
        self.up, self.down = rng.uniform(0.5, 2.0, (2, people, k))
        self.need = rng.uniform(0.2, 1.6, people) * np.minimum(np.abs(self.gain) * self.high, 2.0).sum(axis=1)
        needs = np.column_stack([self.need, self.need, self.need, np.zeros(people)])
        ends = np.full((people, k), np.inf)
        self.people = arrays.CompiledBatch(
            needs, self.low, self.high, self.up, self.down, np.zeros((people, 0, 1)),
            np.zeros((people, 0), dtype=np.int64), -ends, ends, np.zeros((people, 1, 2)), np.zeros((people, 1)),
            np.zeros((people, 0, 3)), np.zeros((0, 2 + k)), straight(), np.zeros(1),
        )  # fmt: skip

    def least(self, i):
        """The least cost of person i over all ways to set or leave."""
        k, best = len(self.gain), np.inf
        free = np.flatnonzero(self.carries.any(axis=0))
        for left in product((False, True), repeat=len(free)):
            follows = np.zeros(k, dtype=bool)
            follows[free] = left
            best = min(best, self._filled(i, follows))
        return best

    def _filled(self, i, follows):
        gain = np.zeros(len(self.gain))
        for j in reversed(range(len(gain))):
            gain[j] = self.gain[j] + self.carries[j] @ (gain * follows)
        rises = gain > 0
        width, price = np.where(rises, self.high[i], -self.low[i]), np.where(rises, self.up[i], self.down[i])
        items = [(abs(gain[j]), price[j], width[j], self.whole[j]) for j in np.flatnonzero(~follows & (gain != 0))]
        wholes = [item for item in items if item[3]]
        amounts = sorted((item for item in items if not item[3]), key=lambda item: item[1] / item[0])
        best = np.inf
        for counts in product(*(range(int(item[2]) + 1) for item in wholes)):
            need = self.need[i] - sum(n * item[0] for n, item in zip(counts, wholes, strict=True))
            cost = sum(n * item[1] for n, item in zip(counts, wholes, strict=True))
            for worth, per_unit, room, _ in amounts:
                take = min(room, max(need, 0.0) / worth)
                need, cost = need - take * worth, cost + take * per_unit
            best = min(best, cost) if need <= 1e-12 else best
        return best

    def answers(self, search=search_kernels.search_people, *, nodes=10**9):
        made = arrays.make_answers(*self.low.shape)
        work = arrays.make_work(self.low.shape[1], 1, 0, np.zeros(5))
        search(self.problem, self.people, work, arrays.Options(1e-11, nodes, np.inf, False), made, 0, len(self.low))
        return made


class Bent(Made):
    """The same with costs that bend: rising from the fact, neither convex nor concave, some of them flat in places."""

    def __init__(self, seed, shape, k, *, whole=False, people=3):
        super().__init__(seed, shape, k, whole=whole, people=people)
        rng, self.curves = np.random.default_rng([seed, 7]), {}
        places, points = np.zeros((people, k, 3), dtype=np.int64), []
        tails = rng.uniform(0.2, 1.0, (k, 2))
        for i, j in np.ndindex(people, k):
            below, above = np.sort(-rng.uniform(0.05, 1.5, 3)), np.sort(rng.uniform(0.05, 1.5, 3))
            rises = rng.exponential(1.0, 6) * (rng.random(6) < 0.8)
            costs = np.concatenate([np.cumsum(rises[:3])[::-1], [0.0], np.cumsum(rises[3:])])
            self.curves[i, j] = knots, heights, _ = np.concatenate([below, [0.0], above]), costs, tails[j]
            places[i, j] = len(points), len(points) + 6, len(points) + 3
            points += list(zip(knots, heights, strict=True))
        self.people = self.people._replace(curves=Curves(True, np.array(points), places, tails))

    def cost(self, i, j, change):
        knots, heights, (down, up) = self.curves[i, j]
        beyond = down * np.maximum(knots[0] - change, 0) + up * np.maximum(change - knots[-1], 0)
        return np.interp(change, knots, heights) + beyond

    def _filled(self, i, follows):
        """With one constraint all but one action lie at a knot or an end: all of these are tried."""
        gain = np.zeros(len(self.gain))
        for j in reversed(range(len(gain))):
            gain[j] = self.gain[j] + self.carries[j] @ (gain * follows)
        free = np.flatnonzero(~follows & (np.abs(gain) > 1e-14))
        corners = []
        for j in free:
            low, high = self.low[i, j], self.high[i, j]
            inner = np.arange(low, high + 0.5) if self.whole[j] else np.append(self.curves[i, j][0], [low, high])
            corners.append(inner[(inner >= low) & (inner <= high)])
        best = np.inf
        for last in (None, *(a for a, j in enumerate(free) if not self.whole[j])):
            grids = np.meshgrid(*(np.zeros(1) if a == last else corner for a, corner in enumerate(corners)))
            changes = [grid.reshape(-1) for grid in grids]
            gained = sum((gain[j] * change for j, change in zip(free, changes, strict=True)), np.zeros(1))
            costs = sum((self.cost(i, j, change) for j, change in zip(free, changes, strict=True)), np.zeros(1))
            lacks = self.need[i] - gained
            if last is None:
                costs = np.where(lacks <= 1e-12, costs, np.inf)
            else:
                j = free[last]
                change = np.maximum(lacks, 0.0) / gain[j]
                fits = (change >= self.low[i, j] - 1e-12) & (change <= self.high[i, j] + 1e-12)
                costs = np.where(fits, costs + self.cost(i, j, change), np.inf)
            best = min(best, costs.min())
        return best

    def answers(self, search=curve_kernels.search_people_with_curves, *, nodes=10**9):
        made = arrays.make_answers(*self.low.shape)
        work = arrays.make_work(self.low.shape[1], 1, 0, np.zeros(5), self.people.curves)
        search(self.problem, self.people, work, arrays.Options(1e-11, nodes, np.inf, False), made, 0, len(self.low))
        return made


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("whole", [False, True])
def test_bent_costs_are_least_over_all_sets_and_all_corners(shape, whole):
    stuck = 0
    for seed in range(4):
        made = Bent(seed, shape, 3 + seed % 2, whole=whole)
        answers = made.answers()
        for i in range(len(made.need)):
            least = made.least(i)
            stuck += least == np.inf
            assert answers.bound[i, 0] == pytest.approx(least, rel=1e-9, abs=1e-12), (seed, i)
            assert answers.cost[i].min() == pytest.approx(least, rel=1e-9, abs=1e-12), (seed, i)
    assert 0 < stuck < 25


@pytest.mark.parametrize("whole", [False, True])
def test_bent_costs_interpreted_and_compiled_agree_to_the_bit(whole):
    for seed, shape in enumerate(SHAPES):
        made = Bent(seed, shape, 7, whole=whole)
        one, other = made.answers(), made.answers(curve_kernels.search_people_with_curves.interpreted)
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def equal(seed, shape, k, unit, prices):
    """Only whole numbers, effects and gains of one, prices that share a unit: many ways tie."""
    made, rng = Made(seed, shape, k, whole=True), np.random.default_rng([seed, 3])
    made.whole[:], made.carries, made.gain = True, np.sign(made.carries), np.sign(made.gain)
    made.low, made.high = np.full(made.low.shape, -1.0), np.full(made.low.shape, 2.0)
    made.up, made.down = rng.choice(prices, (2, *made.low.shape))
    made.need = rng.integers(1, 2 * k, len(made.low)) - 0.5
    made.problem = made.problem._replace(effect=np.sign(made.problem.effect), tracks=made.gain[None].copy())
    made.people = made.people._replace(
        need=np.column_stack([*[made.need] * 3, np.zeros(len(made.low))]), low=made.low, high=made.high, up=made.up,
        down=made.down, unit=np.array([unit]),
    )  # fmt: skip
    return made


@pytest.mark.parametrize("prices", [(0.7,), (0.75, 0.25), (3.0, 2.0)])
def test_where_prices_share_a_unit_bounds_are_carried_up_to_it_and_costs_stay_the_least(prices):
    unit = min(prices) if len(prices) < 2 or prices[1] < 1.0 else 1.0
    for seed in range(6):
        made = equal(seed, "parents", 5, unit, prices)
        answers = made.answers()
        for i in range(len(made.need)):
            assert answers.bound[i, 0] == pytest.approx(made.least(i), rel=1e-12), (seed, i)
    looked = [equal(1, "dense", 14, size, prices).answers().looked.sum() for size in (unit, 0.0)]
    assert looked[0] < looked[1]


def test_the_unit_of_prices_is_what_all_of_them_are_multiples_of_exactly():
    def unit(weights, **more):
        frame = pd.DataFrame({"a": [0, 4, 1, 2], "b": [1, 3, 0, 4], "sex": ["f", "m", "f", "m"]})
        kinds = {n: ee.Feature("actionable", weight=w) for n, w in zip("ab", weights, strict=True)}
        schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(kinds))
        scm = ee.StructuralCausalModel([], nodes=["a", "b", "sex"]).fit(frame.assign(**more))
        model = ee.LinearScore({"a": 1.0, "b": 1.0}, threshold=9.0)
        problem = ee.RecourseProblem.of(model, frame.assign(**more), schema=schema, scm=scm)
        prepared = ee.LinearSearch().prepare(problem.scaled)
        return batch._unit_of(prepared.reduced) * problem.scaled.cost_unit

    # A range of 4: a unit costs a quarter of the weight.
    assert unit([1.0, 1.0]) == 0.25
    assert unit([(2.0, 3.0), 1.5]) == 0.125
    # Doubles next to a tenth and to a third share only the spacing of the finer one.
    assert unit([0.1, 1 / 3]) < 1e-15
    assert unit([1.0, 1.0], b=[1.0, 3.0, 0.5, 4.0]) == 0.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("whole", [False, True])
def test_it_finds_the_least_over_all_sets_of_interventions(shape, whole):
    stuck = 0
    for seed in range(5):
        made = Made(seed, shape, 4 + seed % 3, limited=whole or seed % 3 > 0, whole=whole)
        answers = made.answers()
        for i in range(len(made.need)):
            least = made.least(i)
            stuck += least == np.inf
            assert answers.bound[i, 0] == pytest.approx(least, rel=1e-9), (seed, i)
            # With whole numbers the very need may be met but for the last bit.
            assert answers.cost[i].min() == pytest.approx(least, rel=1e-9), (seed, i)
    assert 0 < stuck < 40


@pytest.mark.parametrize("whole", [False, True])
def test_interpreted_and_compiled_agree_to_the_bit(whole):
    for seed, shape in enumerate(SHAPES):
        made = Made(seed, shape, 8, whole=whole)
        one, other = made.answers(), made.answers(search_kernels.search_people.interpreted)
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_at_a_limit_of_nodes_the_least_bound_that_waits_is_the_bound():
    ended = 0
    for seed in range(6):
        made = Made(seed, "dense", 12)
        full, cut = made.answers(), made.answers(nodes=2)
        ended += int((cut.ended > 0).sum())
        assert (cut.bound[:, 0] <= full.bound[:, 0] * (1 + 1e-9)).all()
        acts = cut.root[:, 0] >= 0
        assert (cut.cost[acts, 0] >= full.bound[acts, 0] * (1 - 1e-9)).all()
        assert (np.isfinite(cut.bound[:, 0]) | (cut.ended == 0)).all()
    assert ended > 3


@pytest.mark.parametrize("family", ["continuous", "integer", "wide integer", "categorical", "mixed", "piecewise"])
def test_it_agrees_with_brute_force_over_whole_problems(family):
    tally = run(family, range(6), ee.LinearSearch(time_limit=None))
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal + tally.feasible + tally.infeasible == tally.people > 10


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        # Only categories can be set.
        ("categorical", 100016),
        ("mixed", 100008),
        # A bound of minus infinity, where nothing ends what follows.
        ("categorical", 100083),
        # A number without limits that moves what must stay.
        ("mixed", 100019),
    ],
)
def test_worlds_that_were_answered_wrongly_once(family, seed):
    tally = run(family, range(seed, seed + 1), ee.LinearSearch(time_limit=None))
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal + tally.infeasible == tally.people > 0


@pytest.mark.parametrize("family", ["long rows", "long rules", "long rules whole"])
def test_ranges_and_rules_agree_with_a_program_for_every_set_and_every_way_to_keep_them(family):
    tally = oracles_linear.run(family, range(2), ee.LinearSearch(time_limit=None))
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal + tally.infeasible == tally.people == 4


def test_ranges_and_rules_interpreted_and_compiled_agree_to_the_bit():
    problem, frame = oracles_linear.problem_of(oracles_linear.random_case("long rules whole", 1))
    prepared = ee.LinearSearch(time_limit=None).prepare(problem.scaled)
    facts = problem.scaled.encoding.encode(frame)
    many = batch.people_of(
        prepared.reduced, LinearBatch.of(problem.scaled, facts, 0), np.zeros((0, 2 + len(prepared.reduced.order)))
    )
    found = []
    for search in (row_search_kernels.search_people_with_rows, row_search_kernels.search_people_with_rows.interpreted):
        made = arrays.make_answers(*many.low.shape)
        tracks = prepared.reduced.tracks.shape[0]
        work = arrays.make_work(many.low.shape[1], tracks, many.atoms.shape[1], np.zeros(5))
        search(prepared.compiled, many, work, arrays.Options(1e-10, 10**6, np.inf, False), made, 0, len(facts))
        found.append(made)
    assert np.isfinite(found[0].cost).any()
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_auto_searches_where_rules_or_shared_ranges_bind_and_agrees_with_programs():
    case = oracles_linear.random_case("long rules", 2)
    problem, frame = oracles_linear.problem_of(case)
    choice = ee.Auto().select(problem)
    assert choice.solver == ee.LinearSearch()
    assert "rules" in choice.reason
    searched, programs = ee.solve(problem, frame), ee.solve(problem, frame, solver=ee.Milp())
    np.testing.assert_array_equal(searched.status, programs.status)
    np.testing.assert_allclose(searched.cost, programs.cost, rtol=1e-6)
    shared, _ = oracles_linear.problem_of(oracles_linear.random_case("long rows", 0))
    assert isinstance(ee.Auto().select(shared).solver, ee.LinearSearch)


def test_what_is_open_is_decided_although_no_bound_is_known():
    """Somebody may go as far as they like, up and down, and something immutable must stay: before the first action is
    found no way to decide has a bound, and what is open was taken for decided. Brute force finds no action."""
    drawn = oracles_ways.draw(100856)
    assert min(oracles_ways.subsets(drawn, drawn.people.iloc[0].to_dict()).values()) == np.inf
    assert drawn.people["x4"].nunique() == 1
    assert drawn.problem.schema.feature("x4").role == "immutable"
    table = ee.solve(drawn.problem, drawn.people, solver=ee.LinearSearch())
    assert table.frame()["status"].tolist() == ["infeasible"]


def chain(k, *, threshold=2.0, closed=True, n=60, seed=0, features=None, rules=(), cost=None):
    """A chain of actions, each of which counts; effects of 1, so that scores are sums of few terms."""
    rng = np.random.default_rng(seed)
    names = [f"v{j}" for j in range(k)]
    frame = pd.DataFrame(rng.integers(-8, 1, size=(n, k)) / 4, columns=names).assign(sex=["f", "m"] * (n // 2))
    kinds = {name: ee.Feature("actionable", lower=-4.0, upper=2.0) for name in names}
    scm = ee.StructuralCausalModel(
        list(pairwise(names)), nodes=["sex"], mechanisms={b: ee.Linear({a: 0.5}) for a, b in pairwise(names)}
    ).fit(frame)
    kinds |= features or {}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(kinds), rules=list(rules))
    model = ee.LinearScore({names[0]: 0.25, names[-1]: 1.0}, threshold=threshold, closed=closed)
    return ee.RecourseProblem.of(model, frame, schema=schema, scm=scm, cost=cost), frame


@pytest.mark.parametrize("closed", [True, False])
def test_a_long_chain_is_solved_and_agrees_with_listing_and_with_programs(closed):
    problem, frame = chain(9, closed=closed)
    listed = ee.solve(problem, frame, solver=ee.LinearExact())
    searched = ee.solve(problem, frame, solver=ee.LinearSearch())
    np.testing.assert_array_equal(listed.status, searched.status)
    acts = listed.has_action
    assert acts.sum() > 20
    np.testing.assert_allclose(searched.cost[acts], listed.cost[acts], rtol=1e-9)
    programs = ee.solve(problem, frame.iloc[:4], solver=ee.Milp())
    np.testing.assert_allclose(programs.cost, searched.cost[:4], rtol=1e-6)


@pytest.mark.parametrize("threshold", [2.5, 2.5 + 1e-9])
@pytest.mark.parametrize("closed", [True, False])
def test_a_best_score_equal_to_the_threshold_is_decided_by_the_models_own_label(threshold, closed):
    """All set to their upper ends give exactly 2.5."""
    problem, frame = chain(6, threshold=threshold, closed=closed, n=10)
    table = ee.solve(problem, frame, solver=ee.LinearSearch())
    listed = ee.solve(problem, frame, solver=ee.LinearExact())
    np.testing.assert_array_equal(table.status, listed.status)
    wanted = "optimal" if closed and threshold == 2.5 else "infeasible"
    assert set(table.frame()["status"]) == {wanted}
    np.testing.assert_allclose(table.cost, listed.cost, rtol=1e-12)


def test_auto_searches_where_there_are_many_ways_and_lists_where_there_are_few():
    problem, _ = chain(12)
    choice = ee.Auto(node_limit=5).select(problem)
    assert choice.solver == ee.LinearSearch(node_limit=5)
    assert "2,048 ways" in choice.reason
    assert isinstance(ee.Auto().select(chain(6)[0]).solver, ee.LinearExact)


def bent_chain(k, rules=()):
    return chain(k, n=40, rules=rules, cost=ee.costs.Percentile(knots=5))


def test_bent_costs_are_searched_beyond_a_few_sets_and_agree_with_listing():
    problem, frame = bent_chain(6)
    choice = ee.Auto().select(problem)
    assert choice.solver == ee.LinearSearch()
    assert "32 ways" in choice.reason
    assert isinstance(ee.Auto().select(bent_chain(3)[0]).solver, ee.LinearExact)
    searched, listed = (ee.solve(problem, frame, solver=solver) for solver in (ee.Auto(), ee.LinearExact()))
    np.testing.assert_array_equal(searched.status, listed.status)
    np.testing.assert_allclose(searched.cost, listed.cost, rtol=1e-9)
    assert searched.has_action.sum() > 20


def test_bent_costs_with_rules_agree_with_programs():
    rules = [ee.rules.Sum({"v2": 1.0, "v3": 1.0}, upper=1.5), ee.rules.Implies("v3 > 1.0", "v1 >= 0.5")]
    problem, frame = bent_chain(4, rules)
    assert ee.Auto().select(problem).solver == ee.LinearSearch()
    frame = frame.iloc[:6]
    free, searched, programs = (
        ee.solve(one, frame, solver=solver)
        for one, solver in ((bent_chain(4)[0], ee.Auto()), (problem, ee.Auto()), (problem, ee.Milp()))
    )
    np.testing.assert_array_equal(searched.status, programs.status)
    np.testing.assert_allclose(searched.cost, programs.cost, rtol=1e-6)
    # The rules bind.
    assert (searched.cost > free.cost * 1.001).sum() > 2


def test_bent_costs_are_solved_a_part_of_the_people_at_once(monkeypatch):
    problem, frame = bent_chain(5)
    together = ee.solve(problem, frame, solver=ee.LinearSearch())
    monkeypatch.setattr(in_parts, "MOST_KNOTS", 100)
    apart = ee.solve(problem, frame, solver=ee.LinearSearch())
    np.testing.assert_array_equal(together.cost, apart.cost)
    np.testing.assert_array_equal(together.status, apart.status)


def test_a_limit_of_nodes_leaves_people_feasible_or_unknown_and_says_so():
    problem, frame = chain(
        16, threshold=1.9, features={f"v{j}": ee.Feature("actionable", upper=1.0) for j in range(16)}
    )
    table = ee.solve(problem, frame, solver=ee.LinearSearch(node_limit=1, time_limit=None))
    full = ee.solve(problem, frame, solver=ee.LinearSearch())
    assert (full.status != ee.Status.FEASIBLE).all()
    assert (table.bound <= full.bound + 1e-9).all()


def test_its_people_are_told_which_limits_stand_in_the_way():
    problem, frame = chain(10, threshold=9.0)
    table = ee.solve(problem, frame.iloc[:2], solver=ee.LinearSearch())
    assert set(table.frame()["status"]) == {"infeasible"}
    assert all("upper" in reason for reason in table.frame()["reason"])


def test_limits_that_make_no_sense_are_refused():
    for bad in ({"gap": -1.0}, {"time_limit": 0.0}, {"node_limit": 0}):
        with pytest.raises(ee.errors.ParameterError):
            ee.LinearSearch(**bad)
    assert ee.LinearSearch().harder() == ee.LinearSearch(time_limit=100.0, node_limit=2_000_000)
