"""The micro notions: readings of the recourse table, each person taking their own cheapest action."""

from __future__ import annotations

from dataclasses import replace
from math import hypot, inf, isinf, isnan, nan

import numpy as np
from scipy.special import ndtri

from equieffort.data.frames import Floats
from equieffort.effort.inference import Law, Ranged
from equieffort.effort.inference.orders import half_width_of_difference, quantile_limits, shares_at
from equieffort.effort.inference.shares import difference
from equieffort.effort.measures import EffortDifference, Pair, RecourseDiscrepancy, Sample, read
from equieffort.notions.base import NotionReading
from equieffort.notions.facts import curves
from equieffort.notions.facts.notions import (
    COST_OF_EFFECTIVENESS,
    EFFECTIVENESS,
    MEAN_RECOURSE,
    TRADE_OFF,
    WITHIN_BUDGET,
)


def micro_readings(
    group: str, against: str, mine: Sample, theirs: Sample, level: float, phi: float, budget: float | None
) -> list[NotionReading]:
    """Five notions of a comparison; equal choice needs actions that people share, so it has no micro form.

    >>> mine, theirs = Sample.solved(np.array([1.0, 3.0, inf])), Sample.solved(np.array([1.0, 1.0, 2.0]))
    >>> found = micro_readings("a", "b", mine, theirs, 0.95, phi=0.5, budget=2.0)
    >>> {one.notion.removeprefix("facts_"): round(one.estimate, 3) for one in found}
    {'effectiveness': 0.333, 'effectiveness_within_budget': 0.667, 'cost_of_effectiveness': 2.0,
     'mean_recourse': 0.667, 'trade_off': 0.667}
    """
    a, b = len(mine.efforts), len(theirs.efforts)
    blank = NotionReading("", group, against, n=a, n_against=b)
    whole = _measured(replace(blank, notion=EFFECTIVENESS.name), RecourseDiscrepancy(), mine, theirs, level)
    mean = _measured(replace(blank, notion=MEAN_RECOURSE.name), EffortDifference(), mine, theirs, level)
    mean = replace(mean, n_undefined=a + b - mine.stats.n_acting - theirs.stats.n_acting)
    capped = replace(blank, notion=WITHIN_BUDGET.name)
    cost = replace(blank, notion=COST_OF_EFFECTIVENESS.name, parts=(f"phi = {phi:g}",))
    gap = replace(blank, notion=TRADE_OFF.name)
    if not a or not b:
        missing = "NO_PEOPLE" if not mine.stats.n or not theirs.stats.n else "NO_REFUSED"
        capped, cost, gap = (replace(one, note=missing) for one in (capped, cost, gap))
    else:
        capped = _within_budget(capped, mine, theirs, level, budget)
        cost = _cost_of_effectiveness(cost, mine, theirs, level, phi)
        gap = _trade_off(gap, mine, theirs, level)
    found = [whole, capped, cost, mean, gap]
    if mine.is_open or theirs.is_open:
        found = [replace(one, note=f"{one.note} UNCERTIFIED".strip()) for one in found]
    return found


def _measured(
    blank: NotionReading, measure: RecourseDiscrepancy | EffortDifference, mine: Sample, theirs: Sample, level: float
) -> NotionReading:
    """A notion that is a measure of the audit."""
    one = read(measure, Pair(mine, theirs), level)
    return replace(
        blank, estimate=one.estimate, low=one.low, high=one.high, least=one.least, most=one.most, n=one.n,
        n_against=one.n_against, note=one.note,
    )  # fmt: skip


def _within_budget(
    blank: NotionReading, mine: Sample, theirs: Sample, level: float, budget: float | None
) -> NotionReading:
    """Newcombe's difference of two counts, between the least and the most that open people allow."""
    if budget is None:
        return replace(blank, note="NO_BUDGET")
    a, b = len(mine.efforts), len(theirs.efforts)

    def count(efforts: Floats) -> int:
        return round(float(shares_at(efforts, np.array([budget]))[0]) * len(efforts))

    law: Law = difference((count(mine.efforts), a), (count(theirs.efforts), b))
    if mine.is_open or theirs.is_open:
        below = difference((count(mine.bounds), a), (count(theirs.efforts), b))
        above = difference((count(mine.efforts), a), (count(theirs.bounds), b))
        law = Ranged(law.estimate, (below,), (above,))
    found = replace(blank, parts=(f"c = {budget:g}",), estimate=law.estimate, least=law.least, most=law.most)
    if min(a, b) < 2:
        return replace(found, note="TOO_FEW")
    low, high = law.limits(level)
    return replace(found, low=low, high=high)


def _cost_of_effectiveness(
    blank: NotionReading, mine: Sample, theirs: Sample, level: float, phi: float
) -> NotionReading:
    """A difference of two order statistics; each has limits between two others, and both are put together by MOVER."""

    def gap(a: Floats, b: Floats) -> float:
        return subtracted(curves.cost_of_effectiveness(a, phi), curves.cost_of_effectiveness(b, phi))

    found = replace(
        blank, estimate=gap(mine.efforts, theirs.efforts), least=gap(mine.bounds, theirs.efforts),
        most=gap(mine.efforts, theirs.bounds),
    )  # fmt: skip
    if isnan(found.estimate) or isinf(found.estimate):
        return replace(found, note="UNREACHED")
    if min(len(mine.efforts), len(theirs.efforts)) < 2:
        return replace(found, note="TOO_FEW")
    z = float(ndtri((1 + level) / 2))
    low = _mover(mine.bounds, theirs.efforts, phi, z)[0]
    high = _mover(mine.efforts, theirs.bounds, phi, z)[1]
    return replace(found, low=low, high=high)


def _mover(mine: Floats, theirs: Floats, phi: float, z: float) -> tuple[float, float]:
    a, b = curves.cost_of_effectiveness(mine, phi), curves.cost_of_effectiveness(theirs, phi)
    (l_a, u_a), (l_b, u_b) = quantile_limits(mine, phi, z), quantile_limits(theirs, phi, z)
    if isinf(a) or isinf(b):
        return (nan, nan) if isinf(a) and isinf(b) else (-inf, inf)
    return a - b - hypot(a - l_a, u_b - b), a - b + hypot(u_a - a, b - l_b)


def subtracted(mine: float, theirs: float) -> float:
    """A difference of efforts; infinite where one side is never reached, NaN where neither is."""
    return nan if isinf(mine) and isinf(theirs) else mine - theirs


def _trade_off(blank: NotionReading, mine: Sample, theirs: Sample, level: float) -> NotionReading:
    """The largest gap, within the width of the band that holds for all efforts at once."""
    size, at = curves.largest_gap(mine.efforts, theirs.efforts)
    estimate = least = most = abs(size)
    if mine.is_open or theirs.is_open:
        least = _surely_apart(mine, theirs)
        most = max(
            estimate,
            *(abs(curves.largest_gap(a, b)[0]) for a in (mine.efforts, mine.bounds)
              for b in (theirs.efforts, theirs.bounds)),
        )  # fmt: skip
    found = replace(
        blank, parts=(gap_place(blank.group, blank.against, size, at),), estimate=estimate, least=least,
        most=most,
    )  # fmt: skip
    if min(len(mine.efforts), len(theirs.efforts)) < 2:
        return replace(found, note="TOO_FEW")
    half = half_width_of_difference(len(mine.efforts), len(theirs.efforts), level)
    return replace(found, low=max(0.0, least - half), high=min(1.0, most + half))


def gap_place(group: str, against: str, size: float, at: float) -> str:
    """Where the largest gap is, and whose curve is lower there."""
    return "" if size == 0 or isnan(at) else f"{group if size > 0 else against} lower at effort {at:.3g}"


def _surely_apart(mine: Sample, theirs: Sample) -> float:
    """The largest gap that open people cannot close: the lower end of one curve above the upper end of the other."""
    at = np.unique(np.concatenate([one for side in (mine, theirs) for one in (side.efforts, side.bounds)]))
    at = at[np.isfinite(at)]
    theirs_above = shares_at(theirs.efforts, at) - shares_at(mine.bounds, at)
    mine_above = shares_at(mine.efforts, at) - shares_at(theirs.bounds, at)
    return float(max(theirs_above.max(initial=0.0), mine_above.max(initial=0.0)))
