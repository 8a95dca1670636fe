"""How many people would decide a comparison, from what an audit found."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan, nan

from equieffort.effort.criteria import Criteria
from equieffort.effort.inference.laws import Student
from equieffort.effort.inference.planning import Shares, gap_beyond, gap_inside, people_beyond, people_inside
from equieffort.effort.measures import MEASURES
from equieffort.effort.metrics import Comparison

POWER = 0.8


def people_to_decide(
    comparison: Comparison, criteria: Criteria, judged: Sequence[str], groups: int = 1, power: float = POWER
) -> tuple[float, float]:
    """People of both groups needed if all is as estimated, and if the groups are truly equal; infinite if never."""
    asked, inside = questions(criteria, len(judged) * groups, power)
    beyond, within, equal = [], [], []
    for name in judged:
        if name == "rd":
            shares = _shares(comparison)
            if shares is None:
                continue
            beyond.append(gap_beyond(shares[0], shares[1], criteria.epsilon, **asked))
            within.append(gap_inside(shares[0], shares[1], criteria.epsilon, **inside))
            middle = _pooled(comparison)
            alike = (Shares(one.refused, middle) for one in shares)
            equal.append(gap_inside(next(alike), next(alike), criteria.epsilon, **inside))
        else:
            worth, ratio, share = worth_of(comparison, name)
            zone = criteria.zone(MEASURES[name])
            if isnan(worth) or not 0 < ratio < inf or zone is None:
                continue
            beyond.append(people_beyond(ratio, zone, worth, share=share, **asked))
            within.append(people_inside(ratio, zone, worth, share=share, **inside))
            equal.append(people_inside(1.0, zone, worth, share=share, **inside))
    # One measure beyond decides; equal needs all of them.
    as_estimated = min(beyond, default=inf)
    if as_estimated == inf:
        as_estimated = max(within, default=inf)
    return as_estimated, max(equal, default=inf)


def questions(criteria: Criteria, asked: int, power: float) -> tuple[dict[str, float], dict[str, float]]:
    """Chance of a wrong answer and power of the tests *beyond*, of which so many are asked at once, and *within*."""
    wrong, small = 1 - (criteria.level or 0.95), 1e-6
    # Of the smallest of several p-values the adjustment makes so many times as much.
    times = criteria.adjust.adjust([small, *[1.0] * (asked - 1)])[0] / small
    return {"alpha": wrong / times, "power": power}, {"alpha": wrong, "power": power}


def _people(comparison: Comparison) -> int:
    return comparison.mine.n + comparison.theirs.n


def _shares(comparison: Comparison) -> tuple[Shares, Shares] | None:
    n = _people(comparison)
    both = comparison.mine, comparison.theirs
    if not all(s.n_unfavourable for s in both):
        return None
    mine, theirs = (Shares(s.n_unfavourable / n, s.rho) for s in both)
    return mine, theirs


def _pooled(comparison: Comparison) -> float:
    mine, theirs = comparison.mine, comparison.theirs
    return (mine.n_acting + theirs.n_acting) / (mine.n_unfavourable + theirs.n_unfavourable)


def worth_of(comparison: Comparison, name: str) -> tuple[float, float, float]:
    """n times the squared standard error of the log ratio, the ratio, and the share of people the smaller side rests
    on."""
    measure, pair = MEASURES[name], comparison.pair.as_found
    law, n = measure.law(pair, 0.95), _people(comparison)
    if law is None:
        return nan, nan, nan
    if isinstance(law, Student):
        se = law.se
    else:
        low, high = law.limits(0.95)
        se = (high - low) / (2 * 1.959964)
    least = min(measure.count(pair.mine), measure.count(pair.theirs))
    return (n * se * se if 0 < se < inf else nan), measure.scale.back(law.estimate), max(least, 1) / n
