"""The change of RD with few people, or where everybody has a route: formulas of the books, and exact coverage."""

from __future__ import annotations

from itertools import product
from math import comb, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from tests.results.comparison.worlds import made, people, row

from equieffort.effort.inference.twice import Twice, gap
from equieffort.results.comparison import compare_audits
from equieffort.results.comparison.gaps import Gaps, counted_twice
from equieffort.results.comparison.result import noise_cells, noise_words

Z = float(ndtri(0.975))


def paired(always: int, lost: int, won: int, never: int) -> Twice:
    """The same people asked twice."""
    n = always + lost + won + never
    return Twice((n, n), (always + lost, always + won), n, (always + lost, always + won), always)


def apart(k: int, n: int, j: int, m: int) -> Twice:
    """Others each time."""
    return Twice((n, m), (k, j), 0, (0, 0), 0)


def few_and_many(worse: float = 0.0):
    """Eight refused people of ash, who all have a route, and 200 of birch; `worse` is lost by every other of these."""
    many = people(400)
    X = pd.concat([many[many["group"] == "ash"].head(8), many[many["group"] == "birch"]]).assign(savings=0.0)
    income = np.where(X["group"] == "ash", 5.0, np.random.default_rng(2).uniform(1.5, 5.0, len(X)))
    income = income - worse * ((X["group"] == "birch") & (np.arange(len(X)) % 3 == 0))
    return made(X.assign(income=income))


def test_eight_of_eight_are_no_certainty():
    """The change lies with birch alone; whether ash stays at 100 % is known to a third of the way only."""
    found = compare_audits(few_and_many(), few_and_many(1.0))
    rd = row(found, "rd")
    assert rd["change"] < -0.02
    assert rd["low"] < 0 < rd["high"]
    assert not rd["beyond_noise"]
    assert rd["distance"] == "within noise"
    assert "the smallest side has 8 refused people" in str(found)
    # Of nobody's route in ash less is known than of one audit alone: eight of eight may be 68 %.
    assert rd["high"] - rd["change"] > 0.3


@pytest.mark.parametrize("n", [5, 8, 30, 100])
def test_without_a_change_the_width_is_tangos(n):
    """Closed form: the score test of a paired difference without any discordant pair."""
    for twice in (paired(n, 0, 0, 0), paired(0, 0, 0, n)):
        assert twice.change().limits(0.95) == pytest.approx((-Z * Z / (n + Z * Z), Z * Z / (n + Z * Z)))


def by_the_book(a: int, b: int, c: int, d: int) -> tuple[float, float]:
    """Newcombe's method 10 as printed, of second minus first: a yes-yes, b yes-no, c no-yes, d no-no."""
    n = a + b + c + d
    ends = []
    for k in (a + c, a + b):
        roots = np.roots([1 + Z * Z / n, -(2 * k / n + Z * Z / n), (k / n) ** 2])
        ends.append((k / n, float(roots.real.min()), float(roots.real.max())))
    (q, low2, high2), (p, low1, high1) = ends
    product_of_margins = (a + b) * (c + d) * (a + c) * (b + d)
    top = a * d - b * c
    phi = (max(top - n / 2, 0) if top > 0 else top) / sqrt(product_of_margins) if product_of_margins else 0.0

    def reach(x: float, y: float) -> float:
        return sqrt(x * x - 2 * phi * x * y + y * y)

    return q - p - reach(q - low2, high1 - p), q - p + reach(high2 - q, p - low1)


@pytest.mark.parametrize("cells", [(20, 12, 2, 16), (36, 2, 12, 0), (8, 0, 0, 0), (0, 3, 5, 0), (6, 1, 0, 1)])
def test_pairs_are_newcombes_method_10(cells):
    assert paired(*cells).change().limits(0.95) == pytest.approx(by_the_book(*cells), abs=1e-9)


def test_other_people_are_newcombes_published_example():
    """56 of 70 against 48 of 80: 0.2 (0.0524 to 0.3339), Newcombe 1998, method 10 of independent samples."""
    assert apart(48, 80, 56, 70).change().limits(0.95) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_a_sum_mirrors_a_difference():
    """Yes and no exchanged the first time: p becomes 1 - p, and the sum of shares a difference plus one."""
    for a, b, c, d in ((20, 12, 2, 16), (3, 9, 8, 1), (8, 0, 0, 0), (5, 0, 3, 2)):
        low, high = paired(c, d, a, b).change().limits(0.95)
        assert paired(a, b, c, d).total().limits(0.95) == pytest.approx((low + 1, high + 1))


def exact(n: int, joint: tuple[float, float, float, float]) -> float:
    """How often the interval of a group's change holds it, summed over every table there can be."""
    truth, held = joint[2] - joint[1], 0.0
    for a, b, c in product(range(n + 1), repeat=3):
        if a + b + c > n:
            continue
        d = n - a - b - c
        low, high = paired(a, b, c, d).change().limits(0.95)
        if low - 1e-12 <= truth <= high + 1e-12:
            ways = comb(n, a) * comb(n - a, b) * comb(n - a - b, c)
            held += ways * joint[0] ** a * joint[1] ** b * joint[2] ** c * joint[3] ** d
    return held


@pytest.mark.parametrize("n", [5, 8, 14])
@pytest.mark.parametrize(
    "joint", [(0.99, 0.005, 0.005, 0.0), (0.9, 0.08, 0.0, 0.02), (0.0, 0.0, 0.03, 0.97), (0.6, 0.3, 0.05, 0.05)]
)
def test_a_groups_change_is_held_as_often_as_is_said(n, joint):
    assert exact(n, joint) > 0.94


def test_with_many_people_the_variance_is_that_of_the_linear_terms():
    """Who is asked once or twice adds (yes - share) / asked of the second time minus that of the first."""
    times = 400
    # Asked and answered, the first time and the second: -1 was not asked.
    people = {(1, 1): 30, (1, 0): 5, (0, 1): 9, (0, 0): 6, (1, -1): 12, (0, -1): 3, (-1, 1): 4, (-1, 0): 11}
    asked = [sum(count for key, count in people.items() if key[k] >= 0) for k in (0, 1)]
    yes = [sum(count for key, count in people.items() if key[k] == 1) for k in (0, 1)]
    variance = sum(
        count
        * sum(sign * (key[k] - yes[k] / asked[k]) / asked[k] for k, sign in enumerate((-1, 1)) if key[k] >= 0) ** 2
        for key, count in people.items()
    )
    found = Twice(
        *(tuple(times * one for one in given) for given in (asked, yes)),
        50 * times,
        (35 * times, 39 * times),
        30 * times,
    )
    low, high = found.change().limits(0.95)
    assert (high - low) / (2 * Z) == pytest.approx(sqrt(variance / times), rel=0.01)


def test_gaps_of_groups_add_squares():
    mine, theirs = paired(8, 0, 0, 0).change(), paired(150, 30, 5, 15).change()
    (low, high), (low_other, high_other) = mine.limits(0.95), theirs.limits(0.95)
    found = gap(mine, theirs)
    assert found.estimate == pytest.approx(-25 / 200)
    below, above = found.limits(0.95)
    assert below == pytest.approx(-0.125 - np.hypot(-0.125 - low_other, high))
    assert above == pytest.approx(-0.125 + np.hypot(high_other + 0.125, -low))


class Audited:
    """As much of a recourse table as counting reads."""

    def __init__(self, refused: str, acts: str) -> None:
        self.is_unfavourable = np.array([letter == "x" for letter in refused])
        self.has_action = np.array([letter == "x" for letter in acts])


def test_people_are_counted_by_who_is_in_both():
    first, second = Audited("xxxx.x", "xx.x.."), Audited("xx.xxx", ".x.xx.")
    pairs = np.array([[0, 1], [1, 0], [2, 2], [3, 3], [5, 4]])
    everybody = np.ones(6, dtype=bool)
    found = counted_twice(first, second, pairs, everybody, everybody)
    # Pairs refused in both: 0-1 (yes, yes), 1-0 (yes, no), 3-3 (yes, yes), 5-4 (no, yes).
    assert found == Twice(asked=(5, 5), yes=(3, 3), both=4, yes_of_both=(3, 3), always=2)
    without = counted_twice(first, second, pairs, everybody, np.arange(6) != 4)
    assert without == Twice(asked=(5, 4), yes=(3, 2), both=3, yes_of_both=(3, 2), always=2)


def test_what_is_said_of_distance_agrees_with_the_interval():
    """Over many pairs of counts: farther or closer only where the interval of the change leaves 0 out."""
    seen = set()
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(2, 60))
        counts = [rng.multinomial(n, rng.dirichlet(np.full(4, 0.5))) for _ in range(2)]
        gaps = Gaps(paired(*counts[0].tolist()), paired(*counts[1].tolist()))
        low, high = gaps.change().limits(0.95)
        found = gaps.distance()
        seen.add(found["distance"])
        if found["distance"] in ("farther", "closer"):
            assert low > 0 or high < 0
            rd = [gaps.theirs.yes[k] / n - gaps.mine.yes[k] / n for k in (0, 1)]
            assert (abs(rd[1]) > abs(rd[0])) == (found["distance"] == "farther")
    assert seen == {"farther", "closer", "within noise"}


def told(**given) -> dict:
    """A row of the table of noise, of a change beyond noise without a clear change of the distance."""
    answer = {"measure": "acr", "before": 0.9, "after": 1.035, "change": 1.15, "low": 1.0004, "high": 1.31, "df": 80.0}
    answer |= {"group": "ash", "against": "birch", "behind_before": "ash", "behind_after": "ash", "undefined": ""}
    answer |= {"note": "", "beyond_noise": True, "distance": "within noise", "turned": False, "fewest": 90}
    return answer | {"turned_beyond_noise": False} | given


def test_an_end_near_no_change_does_not_look_like_it():
    assert "(95 % interval 1.0004 to 1.31), beyond noise" in noise_words(told())
    assert noise_cells(told())["95 % interval"] == "1.0004 to 1.31"
    gap_row = told(measure="rd", change=-0.126, low=-0.257, high=-0.0002)
    assert noise_cells(gap_row)["95 % interval"] == "-25.7 to -0.02"
    assert noise_cells(told(low=0.9996, beyond_noise=False))["95 % interval"] == "0.9996 to 1.31"


def test_a_row_says_whether_it_is_beyond_noise():
    assert noise_cells(told())["shown"] == "beyond noise, neither closer nor farther for sure"
    assert noise_cells(told(distance="farther"))["shown"] == "beyond noise, farther from equality"
    assert noise_cells(told(low=0.9, beyond_noise=False))["shown"] == "within noise"
