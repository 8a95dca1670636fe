"""The fill of the linear solver, beside a linear program of scipy's."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from equieffort.foundations.jit import compile_at_once
from equieffort.recourse.solvers.linear import fill_kernels
from equieffort.recourse.solvers.linear.fill_kernels import (
    FEW,
    FOUND,
    NONE,
    TIE,
    Answers,
    Asked,
    fill_batch,
    fill_people,
    make_room,
)


def filled(need, gain, price, high):
    """One person, all features continuous and only upwards: (code, cost, change)."""
    n = len(gain)
    code, cost, bound, delta = np.empty(1, dtype=np.int8), np.empty(1), np.empty(1), np.empty((1, n))
    asked = Asked(
        np.array([need]), np.zeros(1), np.full(1, 1e-12), gain, price[None], price[None], np.zeros((1, n)), high[None],
        np.zeros(n, dtype=bool), False,
    )  # fmt: skip
    fill_batch(asked, Answers(cost, bound, delta, code))
    return code[0], cost[0], delta[0]


@pytest.mark.parametrize("count", [1, 5, 62, 63, 64, 80, 130])
def test_it_is_the_optimum_of_the_program(count):
    rng = np.random.default_rng(count)
    gain, price, high = rng.uniform(0.1, 2, count), rng.uniform(0.1, 2, count), rng.uniform(0.5, 1.5, count)
    for share in (0.2, 0.7, 0.99, 1.2):
        need = share * float(gain @ high)
        code, cost, delta = filled(need, gain, price, high)
        told = linprog(price, A_ub=-gain[None], b_ub=[-need], bounds=list(zip(np.zeros(count), high, strict=True)))
        assert (code == NONE) == (told.status == 2)
        if told.status == 0:
            assert code == FOUND
            assert cost == pytest.approx(told.fun, rel=1e-9)
            assert gain @ delta >= need * (1 - 1e-12)
            assert (delta <= high).all()


@pytest.mark.parametrize("any_whole", [False, True])
def test_compiled_and_interpreted_fills_agree_to_the_last_bit(any_whole):
    rng, people, count = np.random.default_rng(int(any_whole)), 300, 4
    gain, price = rng.normal(size=count), rng.uniform(0.1, 2.0, (2, people, count))
    gain[1] = 0.0
    low, high = -rng.exponential(2.0, (people, count)), rng.exponential(2.0, (people, count))
    low[rng.random((people, count)) < 0.2], high[rng.random((people, count)) < 0.1] = 0.0, np.inf
    whole = rng.random(count) < 0.5 if any_whole else np.zeros(count, dtype=bool)
    most = np.where(gain > 0, gain * np.minimum(high, 5.0), gain * low).sum(axis=1)
    # Some cannot reach it, some reach it but for rounding.
    need = most * rng.choice([0.1, 0.6, 1.0, 1.3], people)
    given = need, rng.choice([-1e-9, 0.0, 1e-9], people), np.full(people, 1e-9), gain, *price, low, high, whole
    told = []
    for fill in (fill_people, fill_people.interpreted):
        answers = Answers(*np.full((2, people), np.nan), np.zeros((people, count)), np.zeros(people, dtype=np.int8))
        with np.errstate(all="ignore"):
            fill(Asked(*given, any_whole), answers, make_room(count, any_whole), 0, people)
        told.append(answers)
    for compiled, interpreted in zip(*told, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)
    assert {FOUND, TIE, NONE} <= set(told[0].code.tolist())


def test_everybody_is_filled_alike_on_one_thread_and_on_many():
    """More people than one thread takes, beside each of them alone."""
    rng, people = np.random.default_rng(0), FEW + 500
    need, gain, price = rng.exponential(size=people), np.array([1.2, -0.7]), np.array([[0.1, 0.12]])
    high = rng.exponential(2.0, (people, 2))
    batch = np.zeros(people), np.zeros(people), np.zeros((people, 2)), np.zeros(people, dtype=np.int8)
    none, whole = np.full(people, 1e-12), np.zeros(2, dtype=bool)
    fill_batch(Asked(need, none, none, gain, price, price, -high, high, whole, False), Answers(*batch))
    for i in rng.choice(people, 50, replace=False):
        own, here = [np.zeros_like(part[:1]) for part in batch], slice(i, i + 1)
        one = Asked(need[here], none[:1], none[:1], gain, price, price, -high[here], high[here], whole, False)
        fill_batch(one, Answers(*own))
        for one, all_ in zip(own, batch, strict=True):
            np.testing.assert_array_equal(one[0], all_[i])
    assert {FOUND, NONE} <= set(batch[3].tolist())


@pytest.mark.parametrize("worth", [0.0, 1e-9, math.inf])
def test_people_filled_one_by_one_and_the_rest_compiled_are_filled_as_all_compiled(worth, monkeypatch):
    """Compiled from the first person on, from the second, or not at all."""
    rng, people = np.random.default_rng(3), 40
    need, gain, price = rng.exponential(size=people), np.array([1.2, -0.7]), np.array([[0.1, 0.12]])
    high, none, whole = rng.exponential(2.0, (people, 2)), np.full(people, 1e-12), np.zeros(2, dtype=bool)
    told, calls, compiled = [], [], fill_people.compiled

    def filled_batch():
        told.append((np.zeros(people), np.zeros(people), np.zeros((people, 2)), np.zeros(people, dtype=np.int8)))
        fill_batch(Asked(need, none, none, gain, price, price, -high, high, whole, False), Answers(*told[-1]))

    with compile_at_once():
        filled_batch()
    monkeypatch.setattr(fill_people, "compiled", lambda *given: (calls.append(given[-2:]), compiled(*given)))
    # The first question is whether to interpret; whoever goes on compiled asks again.
    ready = iter([worth == 0.0])
    monkeypatch.setattr(fill_people, "is_sooner_compiled", lambda *_: next(ready, True))
    monkeypatch.setattr(fill_people, "worth", worth)
    filled_batch()
    assert calls == {0.0: [(0, people)], 1e-9: [(1, people)], math.inf: []}[worth]
    for one, other in zip(*told, strict=True):
        np.testing.assert_array_equal(one, other)


# Parts of the fill by themselves, interpreted.


def room_of(gain, price, limit, *, any_whole=False):
    """Room for a person whose features, turned upwards, are these."""
    room = make_room(len(gain), any_whole)
    room.rate[:], room.price[:], room.limit[:] = gain, price, limit
    return room


@pytest.mark.parametrize("seed", range(20))
def test_a_fill_of_any_box_is_the_optimum_of_its_program(seed):
    """From low ends that cost something themselves, as in nodes of the search for whole numbers."""
    rng, n = np.random.default_rng(seed), 5
    gain, price = rng.uniform(0.1, 2, (2, n))
    low, high = np.sort(rng.uniform(0.0, 3.0, (2, n)), axis=0)
    high[0] = low[0]
    room, out = room_of(gain, price, high), np.empty(n)
    for share in (0.0, 0.3, 0.8, 1.1):
        need = float(gain @ (low + share * (high - low)))
        cost, part, left = fill_kernels._fill(need, room, low, high, out)
        told = linprog(price, A_ub=-gain[None], b_ub=[-need], bounds=list(zip(low, high, strict=True)))
        assert (left > 0) == (told.status == 2) == (share > 1)
        if told.status == 0:
            assert cost == pytest.approx(told.fun, rel=1e-9)
            assert cost == pytest.approx(price @ out, rel=1e-12)
            assert part < 0 or low[part] <= out[part] < high[part]
        else:
            assert left == pytest.approx(need - gain @ high, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_whole_numbers_are_found_as_by_trying_all(seed):
    rng, n = np.random.default_rng(seed), 4
    gain, price, limit = *rng.uniform(0.1, 2, (2, n)), rng.integers(0, 4, n).astype(float)
    whole = np.array([True, True, True, False])
    room = room_of(gain, price, limit, any_whole=True)
    need = float(rng.uniform(0.1, 1.1) * gain @ limit)
    best = math.inf
    for counts in itertools.product(*(range(int(limit[j]) + 1) for j in range(3))):
        left = max(need - gain[:3] @ counts, 0.0) / gain[3]
        if left <= limit[3]:
            best = min(best, price[:3] @ counts + left * price[3])
    cost, is_proven = fill_kernels._branch(need, whole, room)
    assert is_proven
    assert cost == pytest.approx(best, rel=1e-9)
    if best < math.inf:
        assert gain @ room.out >= need - 1e-9
        assert price @ room.out == pytest.approx(cost)
        assert (room.out[:3] == np.rint(room.out[:3])).all()


def test_a_search_that_is_given_up_says_so(monkeypatch):
    """Gains that are all alike and a need between two sums of them: nothing is excluded before everything is tried."""
    n = 12
    room = room_of(np.ones(n), np.ones(n), np.full(n, 1.0), any_whole=True)
    monkeypatch.setattr(fill_kernels, "MOST_NODES", 20)
    assert not fill_kernels._branch(5.5, np.ones(n, dtype=bool), room)[1]


def asked_of(gain, up, down, low, high, whole, need=0.0, slack=0.0, tolerance=1e-9):
    one = [np.array([x]) for x in (need, slack, tolerance)]
    rows = [np.array([x], dtype=float) for x in (up, down, low, high)]
    whole = np.array(whole)
    return Asked(*one, np.array(gain, dtype=float), *rows, whole, bool(whole.any()))


def test_features_are_turned_so_that_each_gains_upwards():
    asked = asked_of([2.0, -3.0, 0.0, 1.0], [1, 2, 3, 4], [5, 6, 7, 8], [-1, -2, -9, -9], [3, 9, 9, 0], [False] * 4)
    room = make_room(4, False)
    assert fill_kernels._turn_upwards(asked, room, 0) == 2.0 * 3 + 3.0 * 2
    assert room.rate.tolist() == [2.0, 3.0, 0.0, 1.0]
    assert room.limit.tolist() == [3.0, 2.0, 0.0, 0.0]
    assert room.price[[0, 1, 3]].tolist() == [1.0, 6.0, 4.0]


def test_people_are_filled_one_by_one_as_by_hand():
    """A gain of 2 at 1 a unit up to 3, and one of 1 at 1 a unit down to -4."""
    asked = asked_of([2.0, -1.0], [1, 1], [1, 1], [0, -4], [3, 0], [False, False])
    for need, slack, told in (
        (4.0, 0.0, (FOUND, 2.0, 2.0, [2.0, 0.0])),
        (7.0, 0.0, (FOUND, 4.0, 4.0, [3.0, -1.0])),
        (7.0, 1.0, (FOUND, 5.0, 4.0, [3.0, -2.0])),
        (10.0, 0.5, (TIE, 7.0, 7.0, [3.0, -4.0])),
        (10.1, 0.0, (NONE, math.inf, math.inf, None)),
    ):
        answers = Answers(np.empty(1), np.empty(1), np.zeros((1, 2)), np.zeros(1, dtype=np.int8))
        given = asked._replace(need=np.array([need]), slack=np.array([slack]))
        fill_kernels._fill_people(given, answers, make_room(2, False), 0, 1)
        assert (answers.code[0], answers.cost[0], answers.bound[0]) == told[:3]
        assert told[3] is None or answers.delta[0].tolist() == told[3]


def test_whole_numbers_bound_at_the_need_that_the_model_has_not_refused():
    """Steps of 1 that gain 1 each, and a need of 2: two steps reach the threshold itself. At first that is tried, with
    rounding forgiven; once the model has refused it, a third step is the least that is certain."""
    asked = asked_of([1.0], [1], [1], [0], [5], [True], need=2.0, tolerance=1e-6)
    for slack, code, cost, bound in ((-1e-6, FOUND, 2.0, 2.0), (1e-3, FOUND, 3.0, 3.0)):
        answers = Answers(np.empty(1), np.empty(1), np.zeros((1, 1)), np.zeros(1, dtype=np.int8))
        given = asked._replace(slack=np.array([slack]))
        fill_kernels._fill_people(given, answers, make_room(1, True), 0, 1)
        assert (answers.code[0], answers.cost[0], answers.bound[0], answers.delta[0, 0]) == (code, cost, bound, cost)


@pytest.mark.parametrize("seed", range(10))
def test_a_lower_hull_is_convex_below_every_point_and_goes_through_its_own(seed):
    rng, n = np.random.default_rng(seed), int(np.random.default_rng(seed).integers(1, 30))
    x, y, keep = np.sort(rng.normal(size=n)), rng.normal(size=n), np.empty(n, dtype=np.int64)
    size = fill_kernels._lower_hull(x, y, keep)
    at = keep[:size]
    assert {0, n - 1} <= set(at.tolist())
    assert (np.interp(x, x[at], y[at]) <= y + 1e-12).all()
    assert (np.diff(np.diff(y[at]) / np.diff(x[at])) > 0).all()
