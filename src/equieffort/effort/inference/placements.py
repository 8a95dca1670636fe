"""The probability that one of a group needs more than one of another: Brunner and Munzel's variance, on the logit."""

from __future__ import annotations

from math import sqrt

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference.laws import ByLimits, Law, Student
from equieffort.effort.inference.scales import LOGIT

BISECTIONS = 60


def placements(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others that lie below it; ties count half. Both are sorted."""
    below, up_to = np.searchsorted(others, values, "left"), np.searchsorted(others, values, "right")
    return (below + up_to) / (2 * len(others))


def probability(a: Floats, b: Floats) -> float:
    """P(a > b) + P(a = b) / 2 of sorted values."""
    return float(placements(a, b).mean())


def compare_orders(a: Floats, b: Floats) -> Law:
    """The law of P(a > b) + P(a = b) / 2 on the logit scale; at least two on each side."""
    mine, theirs = placements(a, b), placements(b, a)
    theta = float(mine.mean())
    v = [float(one.var(ddof=1)) / len(one) for one in (mine, theirs)]
    if not 0 < theta < 1 or v[0] + v[1] <= 0:
        return ByLimits(LOGIT.to(theta), lambda z: _method_5(theta, len(a), len(b), z))
    scale = (theta * (1 - theta)) ** 2
    v = [one / scale for one in v]
    df = (v[0] + v[1]) ** 2 / (v[0] ** 2 / (len(a) - 1) + v[1] ** 2 / (len(b) - 1))
    return Student(LOGIT.to(theta), sqrt(v[0] + v[1]), df)


def _method_5(theta: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Newcombe's fifth method, for probabilities that show no spread of their own."""
    half = (m + n) / 2 - 1

    def is_inside(t: float) -> bool:
        spread = t * (1 - t) * (1 + half * (1 - t) / (2 - t) + half * t / (1 + t)) / (m * n)
        return abs(theta - t) <= z * sqrt(spread)

    def end(outer: float) -> float:
        inner = theta
        for _ in range(BISECTIONS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if is_inside(middle) else (inner, middle)
        return inner

    return LOGIT.to(end(0.0) if theta > 0 else 0.0), LOGIT.to(end(1.0) if theta < 1 else 1.0)
