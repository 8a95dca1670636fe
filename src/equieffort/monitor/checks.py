"""A state must agree with itself: no number in it may be one that no batches could have led to."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date
from itertools import pairwise

import numpy as np

from equieffort.monitor.evidence import COUNT, HIGH, LOW, RATIOS, STAKES, Evidence, Peak
from equieffort.monitor.state import MEASURES, MonitorState, reading

NEAR = 1e-9
_HASH = re.compile(r"[0-9a-f]{64}")


def check_state(state: MonitorState) -> None:
    """Refuse a state that contradicts itself, naming the first contradiction."""
    for sentence, wrong in CHECKS:
        if wrong(state):
            raise ValueError(sentence)


def _fixed_wrong(state: MonitorState) -> bool:
    fixed = state.fixed
    named = {*fixed.groups, fixed.reference}
    in_range = 1 <= fixed.tau < math.inf and 0 < fixed.level < 1 and 0 < fixed.budget < math.inf
    lists = (fixed.groups, fixed.labels, fixed.sensitive, fixed.measures)
    once = all(len(set(names)) == len(names) for names in lists)
    groups = bool(fixed.groups) and fixed.reference not in fixed.groups and named <= set(fixed.labels)
    measures = bool(fixed.measures) and set(fixed.measures) <= set(MEASURES)
    return not (in_range and once and groups and measures)


def _counted_wrong(state: MonitorState) -> bool:
    pairs = len(state.fixed.pairs)
    return len(state.gathered) != pairs or any(len(batch.readings) != pairs for batch in state.batches)


def _wealth_wrong(state: MonitorState) -> bool:
    # A block multiplies a wealth by at least 1 minus the largest stake.
    least = math.log1p(-STAKES[-1]) * sum(batch.people for batch in state.batches) - NEAR
    most = math.log1p(STAKES[-1] * max(1 / RATIOS[0], RATIOS[-1])) * sum(batch.people for batch in state.batches) + NEAR
    arrays = [array for one in state.gathered for array in (one.wealth, one.grid)]
    return any(not ((array >= least) & (array <= most)).all() for array in arrays)


def _tally_wrong(state: MonitorState) -> bool:
    return any(_tallies(one) for one in state.gathered)


def _tallies(one: Evidence) -> bool:
    for tally in (one.waiting, one.seen):
        counts, low, high = tally[:, COUNT], tally[:, LOW], tally[:, HIGH]
        whole = np.isfinite(tally).all() and (counts == np.rint(counts)).all() and (counts >= 0).all()
        if not (whole and (low >= 0).all() and (low <= high + NEAR).all() and (high <= counts + NEAR).all()):
            return True
    both_wait = bool((one.waiting[:, COUNT] > 0).all())
    return both_wait or bool((one.waiting > one.seen + NEAR * (1 + one.seen)).any())


def _readings_wrong(state: MonitorState) -> bool:
    """Whether the last line of the history is not what the evidence says."""
    for one, told in zip(state.gathered, state.batches[-1].readings, strict=True):
        now = reading(one, Peak(told.peak, told.side))
        for name in told.__dataclass_fields__:
            mine, theirs = getattr(now, name), getattr(told, name)
            if not (mine == theirs or (math.isnan(mine) and math.isnan(theirs)) or math.isclose(mine, theirs)):
                return True
    return False


def _history_wrong(state: MonitorState) -> bool:
    for batch in state.batches:
        if not 0 <= batch.unsettled <= batch.refused <= batch.people or batch.people < 1:
            return True
        if any(one.side not in (0, 1) or not one.peak >= one.log_e - NEAR for one in batch.readings):
            return True
    for k in range(len(state.fixed.pairs)):
        counts = [(0, 0), *((b.readings[k].n, b.readings[k].n_against) for b in state.batches)]
        for (old, now), batch in zip(pairwise(counts), state.batches, strict=True):
            more = (now[0] - old[0], now[1] - old[1])
            if min(more) < 0 or sum(more) > batch.people:
                return True
    return False


def _dates_wrong(state: MonitorState) -> bool:
    for batch in state.batches:
        try:
            date.fromisoformat(batch.date)
        except ValueError:
            return True
    return False


def _digests_wrong(state: MonitorState) -> bool:
    digests = [batch.digest for batch in state.batches]
    return len(set(digests)) < len(digests) or not all(map(_HASH.fullmatch, digests))


CHECKS: tuple[tuple[str, Callable[[MonitorState], bool]], ...] = (
    ("what the first batch fixed does not fit together", _fixed_wrong),
    ("it has not one line of evidence for each comparison", _counted_wrong),
    ("a date is none", _dates_wrong),
    ("a batch is counted twice, or has no hash", _digests_wrong),
    ("the numbers of people in its batches do not fit together", _history_wrong),
    ("a wealth is none that these batches could have led to", _wealth_wrong),
    ("the sums of those who wait or were seen do not fit together", _tally_wrong),
    ("its last line is not what the evidence says", _readings_wrong),
)
