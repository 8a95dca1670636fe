"""Kernels of the linear search by themselves, interpreted: what they bound is tried point by point, and what they solve
is solved by scipy's programs."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from equieffort.foundations.tolerances import FORGIVEN_UNIT, TOLERANCE
from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED
from equieffort.recourse.solvers.linear_search import (
    arrays,
    bound_kernels,
    leaf_kernels,
    row_kernels,
    row_search_kernels,
    search_kernels,
)
from equieffort.recourse.solvers.linear_search.arrays import (
    BEST,
    CUTOFF,
    FLOOR,
    FOLLOW,
    FORGIVEN,
    LAMBDA,
    OPEN,
    PRICE,
    ROOT,
    ROUNDING,
    SET,
)

INF = math.inf
SEEDS = range(25)
NEAR = 1e-9


@pytest.fixture(autouse=True)
def as_numba_divides():
    """Interpreted kernels divide by zero as compiled ones do, without a word."""
    with np.errstate(all="ignore"):
        yield


class Node:
    """A random node of a random problem, and all that its kernels work on.

    What an action carries, what levels push, boxes with and without zero, actions set, left and open; further tracks
    have ends that some points keep.
    """

    def __init__(self, seed, tracks=1, *, decided=False, whole=False):
        rng = self.rng = np.random.default_rng([seed, tracks])
        k = self.count = int(rng.integers(1, 7))
        self.carries = np.triu(rng.normal(size=(k, k)) * (rng.random((k, k)) < 0.6), 1)
        self.tracks = rng.normal(size=(tracks, k)) * (rng.random((tracks, k)) < 0.8)
        may_follow = self.carries.any(axis=0)
        self.whole = rng.random(k) < (0.5 if whole else 0.0)
        edges = [np.flatnonzero(row) for row in self.carries]
        child = np.concatenate(edges).astype(np.int64)
        self.problem = arrays.CompiledProblem(
            np.cumsum([0, *map(len, edges)]), child,
            self.carries[np.repeat(np.arange(k), [len(edge) for edge in edges]), child], self.tracks, may_follow,
            self.whole, np.zeros((1, 0), dtype=np.int64), np.zeros((0, 1, k)), np.zeros((0, 1, tracks)),
            1.0 / np.maximum((self.tracks**2).sum(axis=1), 1e-12), np.zeros(1, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
        )  # fmt: skip
        work = self.work = arrays.make_work(k, tracks, 0, np.zeros(5))
        kinds = [SET, FOLLOW] if decided else [SET, FOLLOW, OPEN]
        work.status[:] = np.where(may_follow, rng.choice(kinds, k), SET)
        work.trial[:] = work.status
        work.up[:], work.down[:] = rng.uniform(0.3, 3.0, (2, k))
        work.base[:] = np.where(may_follow & (rng.random(k) < 0.3), rng.normal(size=k), 0.0)
        work.low[:], work.high[:] = -rng.exponential(size=k), rng.exponential(size=k)
        moved = (rng.random(k) < 0.2) & (work.status == SET)
        work.low[moved], work.high[moved] = 0.5 * work.high[moved], work.high[moved]
        work.low[self.whole], work.high[self.whole] = -2.0, 3.0
        work.own_low[:], work.own_high[:] = work.low, work.high
        work.least[:], work.most[:] = -5.0, 5.0
        work.scalar[[BEST, FLOOR, CUTOFF]] = INF
        self._sample()

    def _sample(self):
        """Points of the node: how far each action moves, what that costs, and how far each track moves."""
        rng, work, many = self.rng, self.work, 400
        follows = (work.status == FOLLOW) | ((work.status == OPEN) & (rng.random((many, self.count)) < 0.5))
        share = rng.choice([0.0, 1.0, *rng.random(3)], size=(many, self.count))
        value = work.low + share * (work.high - work.low)
        value = np.where((rng.random((many, self.count)) < 0.3) & (work.low <= 0) & (work.high >= 0), 0.0, value)
        value = np.where(self.whole, np.round(value), value)
        self.move, self.inflow = np.zeros((2, many, self.count))
        for q in range(self.count):
            self.inflow[:, q] = work.base[q] + self.move @ self.carries[:, q]
            self.move[:, q] = np.where(follows[:, q], self.inflow[:, q], value[:, q])
        stays = (~follows | ((self.move >= work.least) & (self.move <= work.most))).all(axis=1)
        self.follows, self.move, self.inflow = follows[stays], self.move[stays], self.inflow[stays]
        self.cost = np.where(self.follows, 0.0, np.maximum(self.move * work.up, -self.move * work.down)).sum(axis=1)
        self.moved = self.move @ self.tracks.T

    def ask(self, share=0.6):
        """Ends of the tracks, that of the score among them, which some of the points keep; returns which."""
        work, kept = self.work, np.ones(len(self.cost), dtype=bool)
        for t in range(len(self.tracks)):
            low, high = np.quantile(self.moved[kept, t], [1 - share, share]) if t else (0.0, 0.0)
            work.ends[t] = (low, high) if t % 2 else (low, INF)
            if t == 0:
                work.needs[:] = work.ends[0, 0] = np.quantile(self.moved[:, 0], share)
            kept &= (self.moved[:, t] >= work.ends[t, 0]) & (self.moved[:, t] <= work.ends[t, 1])
        work.ends[0, 1] = INF
        bound_kernels.spread_inflow(self.problem, work)
        return kept

    def program(self, need):
        """The least cost of a decided node by scipy: columns are moves up and down of what is set."""
        work = self.work
        through, gains = self.linear()
        rises = np.flatnonzero(work.status != FOLLOW)
        rows, ends = [-gains[0, rises]], [through[0] - need]
        for t in range(1, len(self.tracks)):
            rows += [gains[t, rises], -gains[t, rises]]
            ends += [work.ends[t, 1] - through[t], through[t] - work.ends[t, 0]]
        rows, ends = np.array(rows), np.array(ends)
        rows, ends = rows[np.isfinite(ends)], ends[np.isfinite(ends)]
        # t = rise - fall, each at its own price; at most one is used since prices are positive.
        near = np.clip(0.0, work.low, work.high)[rises]
        low, high = work.low[rises] - near, work.high[rises] - near
        paid = np.maximum(near * work.up[rises], -near * work.down[rises]).sum()
        price = np.concatenate([work.up[rises], work.down[rises]])
        price[: len(rises)][near < 0], price[len(rises) :][near > 0] = 0.0, 0.0
        bounds = [*zip(np.zeros(len(rises)), high, strict=True), *zip(np.zeros(len(rises)), -low, strict=True)]
        # Boxes without zero: towards zero there is no room, so neither free price is ever used.
        assert ((near == 0) | (high * low == 0)).all()
        if not len(rises):
            return 0.0 if (ends >= -NEAR).all() else INF
        told = linprog(price, A_ub=np.hstack([rows, -rows]), b_ub=ends - rows @ near, bounds=bounds)
        return paid + told.fun if told.status == 0 else INF

    def linear(self):
        """By track, what levels move through what follows, and what a unit of each set action moves."""
        into = np.eye(self.count)
        through, gains = np.zeros(len(self.tracks)), np.zeros((len(self.tracks), self.count))
        for at in [None, *range(self.count)]:
            move = np.zeros(self.count)
            for q in range(self.count):
                follows = self.work.status[q] == FOLLOW
                pushed = self.work.base[q] if at is None else 0.0
                move[q] = pushed + move @ self.carries[:, q] if follows else 0.0 if at is None else into[at, q]
            if at is None:
                through = self.tracks @ move
            elif self.work.status[at] != FOLLOW:
                gains[:, at] = self.tracks @ move
        return through, gains


# Bounds of a node.


@pytest.mark.parametrize("seed", SEEDS)
def test_no_more_comes_in_at_what_follows_than_is_said(seed):
    node = Node(seed)
    bound_kernels.spread_inflow(node.problem, node.work)
    rise, fall = node.work.inflow
    inside = ~node.follows | ((node.inflow <= rise + NEAR) & (node.inflow >= -fall - NEAR))
    assert inside.all()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_point_of_a_node_is_cheaper_than_its_bound_at_any_price_of_score(seed):
    node = Node(seed)
    kept = node.ask()
    least = node.cost[kept].min()
    for price in [0.0, *node.rng.exponential(size=8), 1e3]:
        value, slope = bound_kernels.value_at(node.problem, node.work, price)
        assert value <= least + NEAR * (1 + price)
        assert np.isfinite(slope) or value == -INF
    bound, price = bound_kernels.climb(node.problem, node.work, 1.0, 12)
    assert bound_kernels.forced(node.work) - NEAR <= bound <= least + NEAR
    assert price >= 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_how_a_bound_grows_with_the_price_is_its_derivative(seed):
    node = Node(seed)
    node.ask()
    for price in node.rng.exponential(size=6):
        value, slope = bound_kernels.value_at(node.problem, node.work, price)
        after, same = bound_kernels.value_at(node.problem, node.work, price + 1e-7)
        # Between two kinks, which are few.
        assert slope != pytest.approx(same, rel=1e-4) or (after - value) / 1e-7 == pytest.approx(slope, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_some_point_reaches_is_not_called_out_of_reach(seed):
    node = Node(seed)
    bound_kernels.spread_inflow(node.problem, node.work)
    node.work.needs[0] = node.moved[:, 0].max() - 1e-12
    assert bound_kernels.reaches(node.problem, node.work)
    node.work.needs[0] = 1e6
    assert not bound_kernels.reaches(node.problem, node.work)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_all_is_decided_bound_and_fill_are_the_program(seed):
    """One track and nothing open: the fill in order of gain a price is scipy's optimum; at its price so is a bound."""
    node = Node(seed, decided=True)
    node.ask()
    need = node.work.needs[0]
    told = node.program(need)
    through, gains = node.linear()
    found_through, _, _ = leaf_kernels.gains(node.problem, node.work)
    set_ = node.work.status != FOLLOW
    assert found_through == pytest.approx(through[0], abs=NEAR)
    np.testing.assert_allclose(node.work.worth[0][set_], gains[0][set_], atol=1e-12)
    cost, part, left = leaf_kernels.fill(node.work, need - found_through)
    assert left <= NEAR
    assert cost == pytest.approx(told, rel=1e-7, abs=NEAR)
    assert leaf_kernels.cost_of(node.work) == pytest.approx(cost, rel=1e-9, abs=NEAR)
    point = node.work.point
    assert ((point >= node.work.low - NEAR) & (point <= node.work.high + NEAR))[set_].all()
    assert through[0] + gains[0] @ np.where(set_, point, 0.0) >= need - NEAR
    assert part < 0 or node.work.low[part] < point[part] < node.work.high[part]
    price = max(node.work.scalar[LAMBDA], 0.0) if part >= 0 else 1.0
    value, _ = bound_kernels.value_at(node.problem, node.work, price)
    assert value <= cost + NEAR
    # At the price of what is filled last the bound is the cost.
    assert part < 0 or value == pytest.approx(cost, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("is_free", [False, True])
def test_an_action_earns_the_most_at_an_end_of_its_box_or_next_to_zero(is_free):
    rng = np.random.default_rng(int(is_free))
    for _ in range(200):
        node = Node(0)
        work, (a, b) = node.work, np.sort(rng.normal(size=2))
        work.low[0], work.high[0] = a, b
        up, down = rng.normal(size=2) * 2
        up_price, down_price = (0.0, 0.0) if is_free else (work.up[0], work.down[0])
        earned = bound_kernels.earn_alone(work, 0, up, down, is_free)
        values = np.concatenate([np.linspace(a, b, 101), [np.clip(0.0, a, b)]])
        worth = np.where(values > 0, values * (up - up_price), -values * (down - down_price))
        assert earned == pytest.approx(worth.max(), abs=1e-12)
        at = work.at[0]
        assert a <= at <= b
        assert earned == pytest.approx(at * (up - up_price) if at > 0 else -at * (down - down_price), abs=1e-12)


def test_a_node_is_dropped_where_rounding_of_the_score_alone_keeps_it_open():
    work = Node(0).work
    work.scalar[CUTOFF], work.scalar[ROUNDING], work.scalar[FORGIVEN] = 10.0, 1e-3, 1e-2
    assert bound_kernels.is_dropped(work, 10.0, 0.0)
    assert not bound_kernels.is_dropped(work, 9.999, 0.0)
    assert bound_kernels.is_dropped(work, 9.999, 0.6)
    # However dear score is, no more is forgiven than may be.
    assert not bound_kernels.is_dropped(work, 9.98, 1e6)


# What is set and what follows.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_a_unit_moves_a_track_at_most(seed, sign):
    """Over all ways to decide what is open, point by point; exact where nothing is."""
    node = Node(seed, 3)
    work = node.work
    for t in range(3):
        through = row_kernels.effects(node.problem, work, work.status, t, sign)
        set_ = np.where(node.follows, 0.0, node.move)
        most = through + np.where(set_ > 0, set_ * work.worth[0], -set_ * work.worth[1]).sum(axis=1)
        assert (sign * node.moved[:, t] <= most + NEAR).all()
        if not (work.status == OPEN).any():
            np.testing.assert_allclose(sign * node.moved[:, t], most, atol=NEAR)


@pytest.mark.parametrize("seed", SEEDS)
def test_moves_are_spread_as_equations_say(seed):
    node = Node(seed, 2, decided=True)
    for i in range(5):
        node.work.point[:] = np.where(node.follows[i], 7.0, node.move[i])
        row_kernels.spread_moves(node.problem, node.work, node.work.status)
        np.testing.assert_allclose(node.work.kept[2], node.move[i], atol=1e-12)
        for t in range(2):
            assert row_kernels.move_of(node.problem, node.work, t) == pytest.approx(node.moved[i, t], abs=1e-12)


def test_useful_amounts_and_whole_numbers_among_what_is_set():
    node = Node(3)
    work, problem = node.work, node.problem._replace(whole=np.zeros(node.count, dtype=bool))
    work.trial[:], work.worth[0], work.own_low[:], work.own_high[:] = SET, 1.0, 0.0, 1.0
    assert leaf_kernels.has_useful_amounts(problem, work)
    assert not leaf_kernels.has_whole(problem, work)
    work.worth[0] = 0.0
    assert not leaf_kernels.has_useful_amounts(problem, work)
    work.worth[0], problem.whole[:] = 1.0, True
    assert not leaf_kernels.has_useful_amounts(problem, work)
    assert leaf_kernels.has_whole(problem, work)
    work.trial[:] = FOLLOW
    assert not leaf_kernels.has_whole(problem, work)


def test_a_refused_set_of_interventions_is_that_of_its_person_and_root_alone():
    work = Node(3).work
    k = len(work.trial)
    work.trial[:], work.scalar[ROOT] = SET, 2.0
    people = SimpleNamespace(excluded=np.array([[1.0, 2.0, *[SET] * k], [0.0, 2.0, *[SET] * (k - 1), FOLLOW]]))
    assert leaf_kernels.is_excluded(people, work, 1)
    assert not leaf_kernels.is_excluded(people, work, 0)
    work.scalar[ROOT] = 1.0
    assert not leaf_kernels.is_excluded(people, work, 1)


def test_from_the_best_cost_on_nodes_are_dropped_levels_not_counted():
    work = Node(3).work
    options = arrays.Options(0.01, 1, INF, False)
    least = min(work.up.min(), work.down.min())
    leaf_kernels.set_cutoff(work, options)
    assert work.scalar[CUTOFF] == INF
    work.scalar[BEST] = 100.0
    leaf_kernels.set_cutoff(work, options)
    assert work.scalar[CUTOFF] == pytest.approx(99.0)
    assert work.scalar[FORGIVEN] == pytest.approx(8.0 + FORGIVEN_UNIT * least, rel=1e-15)
    work.scalar[PRICE] = 5.0
    leaf_kernels.set_cutoff(work, options)
    assert (work.scalar[CUTOFF], work.scalar[FORGIVEN]) == pytest.approx((94.0, 8.0))


# Several tracks.


@pytest.mark.parametrize("seed", SEEDS)
def test_no_point_within_all_ends_is_cheaper_than_the_bound_at_any_prices(seed):
    node, work = (made := Node(seed, 4)), made.work
    kept = node.ask(0.8)
    least = node.cost[kept].min() if kept.any() else INF
    for _ in range(8):
        work.prices[:] = node.rng.normal(size=4) * node.rng.choice([0.0, 1.0, 1.0], 4)
        work.prices[0] = abs(work.prices[0])
        assert row_kernels.value_of(node.problem, work) <= least + NEAR
    for passes in (1, 2, 20):
        assert row_kernels.climb_rows(node.problem, work, passes) <= least + NEAR


@pytest.mark.parametrize("seed", SEEDS)
def test_climbing_ends_at_the_best_prices_that_it_saw(seed):
    node = Node(seed, 4)
    node.ask(0.8)
    node.work.prices[:] = [1.0, 0.0, 0.0, 0.0]
    first = row_kernels.value_of(node.problem, node.work)
    bound = row_kernels.climb_rows(node.problem, node.work, 15)
    assert bound >= first
    left = row_kernels.value_of(node.problem, node.work)
    assert max(left, bound_kernels.forced(node.work)) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_program_of_a_node_bounds_its_points_and_its_multipliers_do(seed):
    node, work = (made := Node(seed, 4)), made.work
    kept = node.ask(0.8)
    least = node.cost[kept].min() if kept.any() else INF
    state, value = row_kernels.solve_rows(node.problem, work, work.status, work.needs[0])
    if kept.any():
        assert state != EMPTY
    assert value <= least + NEAR
    row_kernels.take_multipliers(node.problem, work)
    assert work.prices[0] >= 0.0
    assert state == EMPTY or row_kernels.value_of(node.problem, work) <= least + NEAR


def test_where_all_is_decided_the_program_is_exact():
    solved = empty = 0
    for seed in range(80):
        node, work = (made := Node(seed, 4, decided=True)), made.work
        node.ask(0.8)
        for need in (work.needs[0], work.needs[0] + 0.5, work.needs[0] + 3.0):
            told = node.program(need)
            state, value = row_kernels.solve_rows(node.problem, work, work.status, need)
            if told == INF:
                empty += 1
                assert state == EMPTY, seed
                continue
            solved += 1
            assert state == SOLVED, seed
            assert value == pytest.approx(told, rel=1e-7, abs=1e-7), seed
            row_kernels.spread_moves(node.problem, work, work.status)
            assert row_kernels.move_of(node.problem, work, 0) >= need - 1e-7
            for t in range(1, 4):
                assert work.ends[t, 0] - 1e-7 <= row_kernels.move_of(node.problem, work, t) <= work.ends[t, 1] + 1e-7
            assert leaf_kernels.cost_of(work) == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert solved > 60
    assert empty > 20


def with_clauses(node, atoms, clauses):
    """The node with rules: atoms (track, low, high, forgiven), and where each clause begins."""
    problem = node.problem._replace(
        clause_start=np.array(clauses, dtype=np.int64), atom_track=np.array([a[0] for a in atoms], dtype=np.int64)
    )
    work = node.work._replace(atoms=np.array([a[1:] for a in atoms], dtype=float))
    return problem, work


def test_a_clause_is_broken_where_no_atom_holds():
    """One action, which two tracks follow, moves by 2; the second as far, the third the other way."""
    node = Node(0, 3)
    node.work.kept[2] = 0.0
    node.work.kept[2, 0] = 2.0
    tracks = np.zeros((3, node.count))
    tracks[:, 0] = 1.0, 1.0, -1.0
    node.work.ends[:] = -INF, INF
    atoms = [(1, 0.0, 1.0, 0.0), (2, -2.5, INF, 0.0), (1, 2.1, 9.0, 0.0), (2, -INF, -2.2, 0.0)]
    problem, work = with_clauses(node, atoms, [0, 2, 4])
    problem = problem._replace(tracks=tracks)
    # The first clause holds by its second atom; of the second none holds.
    assert row_kernels.broken_clause(problem, work) == 1
    work.atoms[2, 2] = 0.2
    assert row_kernels.broken_clause(problem, work) == -1
    work.atoms[2, 2] = 0.0
    work.ends[2] = -9.0, -2.2
    # What the program was told to keep it keeps, whatever its rounding shows.
    assert row_kernels.broken_clause(problem, work) == -1
    work.atoms[1, 0] = -1.9
    assert row_kernels.broken_clause(problem, work) == 0


def test_the_most_fractional_number_stands_in_the_way_and_others_are_made_whole():
    node = next(made for seed in SEEDS if (made := Node(seed, 2, decided=True)).count >= 4)
    work = node.work
    work.trial[:] = SET
    problem = node.problem._replace(whole=np.arange(node.count) < 3)
    work.point[:] = 0.3
    work.point[:3] = 1.2, 2.6, 3.0 + 0.5 * TOLERANCE
    assert row_search_kernels.obstacle(problem, work) == (row_search_kernels.FRACTION, 1)
    assert work.point[2] == 3.0
    work.point[:3] = 1.0, 2.0 - 0.9 * TOLERANCE, 3.0
    assert row_search_kernels.obstacle(problem, work) == (row_search_kernels.DONE_LEAF, -1)
    assert (work.point[:3] == [1.0, 2.0, 3.0]).all()
    work.trial[0], work.point[0] = FOLLOW, 1.5
    assert row_search_kernels.obstacle(problem, work)[0] == row_search_kernels.DONE_LEAF


@pytest.mark.parametrize("seed", SEEDS)
def test_halves_of_a_number_hold_every_whole_number_and_not_the_point(seed):
    node = Node(seed, 2, whole=True)
    work = node.work
    for j in np.flatnonzero(node.whole & (work.status != FOLLOW)).tolist():
        at = node.rng.integers(-2, 3) + node.rng.uniform(0.01, 0.99)
        assert row_search_kernels.split_fraction(node.problem, work, 0, j, at, 1.5) == 2
        boxes = [(work.stack[n, 1, j], work.stack[n, 2, j]) for n in range(2)]
        for whole in range(-2, 4):
            assert sum(low <= whole <= high for low, high in boxes) == 1
        assert not any(low <= at <= high for low, high in boxes)
        # What must move is set; the nearer half is looked at first, so it lies on top.
        for n, (low, high) in enumerate(boxes):
            assert work.stack[n, 0, j] == (SET if low > 0 or high < 0 else work.status[j])
            assert work.value[n, 0] == 1.5
        assert (boxes[1][0] > at) == (at - math.floor(at) > 0.5)
        assert (work.low[j], work.high[j]) == (-2.0, 3.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_children_of_a_clause_hold_every_point_that_keeps_it(seed, monkeypatch):
    # As the search is linked.
    monkeypatch.setattr(search_kernels, "push_tracks", row_search_kernels.push_tracks_of_rows)
    node = Node(seed, 3)
    node.ask(0.9)
    cuts = np.quantile(node.moved, [0.3, 0.6], axis=0)
    atoms = [(1, -INF, cuts[0, 1], 1e-12), (2, cuts[1, 2], INF, 1e-12), (1, 1e6, INF, 1e-12)]
    problem, work = with_clauses(node, atoms, [0, 3])
    before = work.ends.copy()
    top = row_search_kernels.split_clause(problem, work, 0, 0, 2.5)
    np.testing.assert_array_equal(work.ends, before)
    ends = work.stack_tracks[:top, :, :2]
    inside = (node.moved >= before[:, 0]) & (node.moved <= before[:, 1])
    keeps = inside.all(axis=1) & ((node.moved[:, 1] <= cuts[0, 1]) | (node.moved[:, 2] >= cuts[1, 2]))
    held = ((node.moved[:, None] >= ends[None, ..., 0]) & (node.moved[:, None] <= ends[None, ..., 1])).all(axis=2)
    assert (held.any(axis=1) >= keeps).all()
    assert (work.value[:top, 0] == 2.5).all()
    assert top <= 2, "an atom that cannot hold makes no child"


def test_ends_that_cross_by_more_than_rounding_leave_nothing():
    work = Node(0, 3).work
    work.ends[:], work.roundings[:] = (-1.0, 1.0), 1e-3
    assert row_search_kernels.has_ends(work)
    work.ends[2] = 1.0, 0.9985
    assert row_search_kernels.has_ends(work)
    work.ends[2] = 1.0, 0.9975
    assert not row_search_kernels.has_ends(work)


def test_levels_move_ends_and_a_clause_of_one_atom_is_an_end():
    """One category, whose level 1 moves the second track by 3 from level 0, the person's own, and the third by -1."""
    node = Node(0, 3)
    problem, work = with_clauses(node, [(1, -1.0, 4.0, 1e-4), (2, 0.0, 9.0, 1e-3), (1, 0.0, 9.0, 1e-3)], [0, 1, 3])
    problem = problem._replace(levels=np.array([[-1], [1]]), shifted=np.array([[[0.0, 0.5, 1.0], [9.0, 3.5, 0.0]]]))
    people = SimpleNamespace(
        level=np.array([[0]]), ends=np.array([[[-INF, INF], [0.0, 6.0], [-2.0, INF]]]),
        roundings=np.array([[1e-9, 1e-2, 1e-2]]), atoms=work.atoms[None].copy(),
    )  # fmt: skip
    work.needs[0] = 5.0
    for root, shifts in ((0, (0.0, 0.0)), (1, (3.0, -1.0))):
        work.scalar[ROOT] = root
        assert [row_search_kernels.level_shift(problem, people, work, 0, t) for t in (1, 2)] == list(shifts)
        row_search_kernels.begin_tracks_of_rows(problem, people, work, 0)
        np.testing.assert_array_equal(work.stack_tracks[0, 0], [5.0, INF, 0.0])
        np.testing.assert_array_equal(work.stack_tracks[0, 1, :2], [0.0 - shifts[0], 4.0 - shifts[0]])
        np.testing.assert_array_equal(work.stack_tracks[0, 2, :2], [-2.0 - shifts[1], INF])
        np.testing.assert_array_equal(work.atoms[1], [0.0 - shifts[1], 9.0 - shifts[1], 1e-3])
        np.testing.assert_array_equal(work.roundings, [1e-9, 1e-4, 1e-2])
    assert row_search_kernels.has_parts(problem)
    assert not row_search_kernels.has_parts(node.problem)
