"""The fill of the linear solver, beside a linear program of scipy's."""

import numpy as np
import pytest
from scipy.optimize import linprog

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
    fill_batch(
        np.array([need]), np.zeros(1), np.full(1, 1e-12), gain, price[None], price[None], np.zeros((1, n)), high[None],
        np.zeros(n, dtype=bool), False, cost, bound, delta, code,
    )  # fmt: skip
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
    fill_batch(need, none, none, gain, price, price, -high, high, whole, False, *batch)
    for i in rng.choice(people, 50, replace=False):
        own, here = [np.zeros_like(part[:1]) for part in batch], slice(i, i + 1)
        fill_batch(
            need[here], none[:1], none[:1], gain, price, price, -high[here], high[here], whole, False, *own
        )  # fmt: skip
        for one, all_ in zip(own, batch, strict=True):
            np.testing.assert_array_equal(one[0], all_[i])
    assert {FOUND, NONE} <= set(batch[3].tolist())
