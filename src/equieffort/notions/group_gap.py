"""How far average efforts of groups are apart, as a size: of a pair, and the largest over any number of groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, isnan, nan

from equieffort.effort.measures import MEASURES, Pair, Reading, Sample, read
from equieffort.effort.metrics import group_samples
from equieffort.notions.base import Audited
from equieffort.world.groups import Groups


@dataclass(frozen=True)
class GroupGap:
    """abs(Phi_a - Phi_b) of two groups, or the largest over all pairs."""

    group: str
    against: str
    estimate: float = nan
    low: float = nan
    high: float = nan
    least: float = nan
    most: float = nan
    n: int = 0
    n_against: int = 0
    note: str = ""


def samples_of(audited: Audited, groups: Groups) -> dict[str, Sample]:
    """What is compared of each group; people whose group is not known form none."""
    found = group_samples(replace(audited.table, groups=groups), None, audited.budget)
    return {groups.labels[code]: found[groups.labels[code]] for code in groups.known}


def _folded(reading: Reading) -> tuple[float, float, float, float]:
    """Limits and certain range of the size of a difference."""
    found = []
    for low, high in ((reading.low, reading.high), (reading.least, reading.most)):
        inside = low <= 0 <= high
        found += [0.0 if inside else min(abs(low), abs(high)), max(abs(low), abs(high))]
    return found[0], found[1], found[2], found[3]


def group_gap(samples: dict[str, Sample], a: str, b: str, level: float) -> GroupGap:
    """Of two groups, with Welch's interval of the difference folded at 0."""
    reading = read(MEASURES["difference"], Pair(samples[a], samples[b]), level)
    if isnan(reading.estimate):
        return GroupGap(a, b, n=reading.n, n_against=reading.n_against, note=reading.note)
    low, high, least, most = _folded(reading)
    return GroupGap(
        a,
        b,
        abs(reading.estimate),
        low,
        high,
        least,
        most,
        reading.n,
        reading.n_against,
        _notes(samples, (a, b), reading),
    )


def _notes(samples: dict[str, Sample], pair: tuple[str, str], reading: Reading) -> str:
    unsure = "UNCERTIFIED" not in reading.note and any(samples[name].is_open for name in pair)
    return f"{reading.note} UNCERTIFIED".strip() if unsure else reading.note


def largest_gap(samples: dict[str, Sample], level: float) -> GroupGap:
    """The largest over all pairs of groups in which both have somebody with recourse.

    Its interval is made of intervals that hold for all pairs at once (Bonferroni): the truth is then at least the
    largest lower limit and at most the largest upper one, whichever pair it is of.
    """
    named = [name for name, one in samples.items() if one.stats.n_acting]
    left = [one for name, one in samples.items() if name not in named]
    notes = ["NO_RECOURSE" if one.stats.n_unfavourable else "NO_REFUSED" for one in left]
    # Somebody unknown in a group without anybody who is known to have recourse: its average could be anything.
    is_open = any(one.stats.n_unknown for one in left)
    notes += ["UNCERTIFIED"] if is_open else []
    pairs = list(combinations(named, 2))
    if not pairs:
        return GroupGap("", "", note=" ".join(dict.fromkeys(notes)))
    found = [group_gap(samples, a, b, 1 - (1 - level) / len(pairs)) for a, b in pairs]
    top = max(found, key=lambda one: one.estimate)
    low = high = nan
    if any(not isnan(one.low) for one in found):
        # A pair without limits could differ by anything.
        low = max(0.0 if isnan(one.low) else one.low for one in found)
        high = max(inf if isnan(one.high) else one.high for one in found)
    least = max(one.least for one in found)
    most = inf if is_open else max(one.most for one in found)
    notes = [*(code for one in found for code in one.note.split()), *notes]
    return GroupGap(
        top.group, top.against, top.estimate, low, high, least, most, top.n, top.n_against,
        " ".join(dict.fromkeys(notes)),
    )  # fmt: skip
