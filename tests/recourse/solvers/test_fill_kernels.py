"""The fill of the linear solver, beside a linear program of scipy's."""

import numpy as np
import pytest
from scipy.optimize import linprog

from equieffort.recourse.solvers.linear.fill_kernels import FOUND, NONE, fill_batch


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
