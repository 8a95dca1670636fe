"""What is read of each group and comparison, for a gain that is the approval and for one of probability or score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.budget import default_budget
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.acr import acting
from equieffort.effort.measures.restricted_effort import RestrictedEffort
from equieffort.effort.measures.sample import Sample, sample
from equieffort.notions.base import Audited, Notion, NotionReading
from equieffort.notions.comparing import mean_gap, mean_reading, share_gap, share_reading, side_of
from equieffort.notions.rewards.chance import Moves, RankChance
from equieffort.notions.rewards.gains import Gained
from equieffort.notions.rewards.notions import BOUNDED, BOUNDED_GAP, GAIN, GAIN_GAP, THRESHOLD, THRESHOLD_GAP
from equieffort.notions.rewards.ranks import Rows, turned
from equieffort.recourse.table import RecourseTable


def decision_readings(
    audited: Audited, table: RecourseTable, rows: Rows, note: str, deltas: Sequence[float], budget: float | None,
    ranked: tuple[RankChance, Moves] | None = None,
) -> list[NotionReading]:  # fmt: skip
    """The gain is the approval: every group and comparison of a view; with `ranked` intervals allow for chance in the
    ranks."""
    codes, labels = audited.table.groups.codes[rows], audited.table.groups.labels
    refused = table.is_unfavourable
    readings = []
    for delta in deltas:
        yes, open_ = turned(table, delta)
        for among, name in ((refused, "refused"), (np.ones(len(table), dtype=bool), "everybody")):
            parts = ("decision", name, f"effort at most {delta:g}")
            blank = NotionReading(BOUNDED.name, parts=parts, note=note)
            sides = [among & (codes == code) for code in range(len(labels))]
            readings += [
                share_reading(replace(blank, group=label), yes[side], audited.level, open_[side])
                for label, side in zip(labels, sides, strict=True)
            ]
            for a, b in audited.pairs:
                pair = replace(blank, notion=BOUNDED_GAP.name, group=labels[a], against=labels[b])
                both = (open_[sides[a]], open_[sides[b]])
                readings.append(share_gap(pair, yes[sides[a]], yes[sides[b]], audited.level, both))
    members = [codes == code for code in range(len(labels))]
    without = [int((refused & ~table.has_action)[mine].sum()) for mine in members]
    samples = [sample(table, mine, budget) for mine in members]
    efforts = np.where(refused, np.where(table.has_action, table.effort, np.inf), np.nan)
    spread = _Spread(audited, ranked, members, efforts)
    found = _efforts(audited, ("decision",), samples, without, budget, note, spread)
    return [_told(one, budget) for one in readings] + found


def gain_readings(
    audited: Audited, gained: Gained, rows: Rows, refused: Bools, note: str, budget: float | None
) -> list[NotionReading]:
    """The gain is one of probability or score: every group and comparison of a view, the refused and everybody."""
    codes, labels = audited.table.groups.codes[rows], audited.table.groups.labels
    readings = []
    kind = gained.kind
    for delta, (reached, most) in gained.largest.items():
        for among, name in ((refused, "refused"), (np.ones(len(rows), dtype=bool), "everybody")):
            members = [among & (codes == code) for code in range(len(labels))]
            sides = [_range(reached[mine], most[mine]) for mine in members]
            if gained.chance is not None and delta in gained.margins:
                moves, margin = gained.margins[delta]
                sides = _widened(audited, sides, members, reached, (gained.chance, moves), -margin)
            parts = (kind, name, f"effort at most {delta:g}")
            readings += _means(audited, (GAIN, GAIN_GAP), parts, sides, [0] * len(labels), note)
    found = gained.efforts
    limit = default_budget(found.effort) if budget is None else budget
    for among, name in ((refused, "refused"), (np.ones(len(rows), dtype=bool), "everybody")):
        members = [among & (codes == code) for code in range(len(labels))]
        samples = [found.sample(mine, limit) for mine in members]
        without = [int(np.isnan(found.effort[mine]).sum()) for mine in members]
        efforts = np.where(among, np.where(np.isnan(found.effort), np.inf, found.effort), np.nan)
        ranked = None if gained.chance is None or found.moves is None else (gained.chance, found.moves)
        spread = _Spread(audited, ranked, members, efforts)
        readings += _efforts(audited, (f"{kind} gain of {gained.gain:g}", name), samples, without, limit, note, spread)
    return [_told(one, limit) for one in readings]


def _range(reached: Floats, most: Floats) -> Side:
    """Gains as far as they are reached, and what they cannot exceed."""
    return side_of(reached) if np.array_equal(reached, most) else side_of(reached, reached, most)


@dataclass(frozen=True, eq=False)
class _Spread:
    """What the sides' mean efforts are spread by with the ranks of people."""

    audited: Audited
    ranked: tuple[RankChance, Moves] | None
    members: list[Bools]
    """Of each group, among those read."""
    efforts: Floats
    """Of everybody read: infinite without a route, NaN of whoever is in no mean."""

    def widened(self, sides: list[Side], budget: float | None = None) -> list[Side]:
        """The sides of those with a route, or of all at most at a budget."""
        if self.ranked is None:
            return sides
        values = self.efforts if budget is None else np.minimum(self.efforts, budget)
        # Whoever counts at the budget pays no more however they are ranked.
        worth = (values == self.efforts).astype(np.float64)
        return _widened(self.audited, sides, self.members, values, self.ranked, worth)


def _widened(
    audited: Audited, sides: list[Side], members: list[Bools], values: Floats, ranked: tuple[RankChance, Moves],
    worth: Floats,
) -> list[Side]:  # fmt: skip
    (chance, moves), codes = ranked, audited.table.groups.codes
    return [
        chance.widened(side, codes == code, members[code] & np.isfinite(values), values, moves, worth)
        for code, side in enumerate(sides)
    ]


def _efforts(
    audited: Audited, parts: tuple[str, ...], samples: list[Sample], without: list[int], budget: float | None,
    note: str, spread: _Spread,
) -> list[NotionReading]:  # fmt: skip
    """Least efforts of those who have a route, and of all, at most at the budget."""
    limit = "budget" if budget is None else f"{budget:g}"
    both = (THRESHOLD, THRESHOLD_GAP)
    known, capped = [acting(one) for one in samples], [RestrictedEffort().side(one) for one in samples]
    known = spread.widened(known)
    if budget is not None:
        capped = spread.widened(capped, budget)
    found = _means(audited, both, (*parts, "with a route"), known, without, note)
    at_most = _means(audited, both, (*parts, f"at most {limit}"), capped, [0] * len(samples), note)
    return [_told(one, budget) for one in found] + [_told(one, budget, capped=True) for one in at_most]


def _means(
    audited: Audited,
    notions: tuple[Notion, Notion],
    parts: tuple[str, ...],
    sides: list[Side],
    without: list[int],
    note: str,
) -> list[NotionReading]:
    labels = audited.table.groups.labels
    blank = NotionReading(notions[0].name, parts=parts, note=note)
    found = [
        mean_reading(replace(blank, group=label, n_undefined=without[code]), sides[code], audited.level)
        for code, label in enumerate(labels)
    ]
    for a, b in audited.pairs:
        pair = replace(blank, notion=notions[1].name, group=labels[a], against=labels[b])
        found.append(mean_gap(replace(pair, n_undefined=without[a] + without[b]), sides[a], sides[b], audited.level))
    return found


def _told(one: NotionReading, budget: float | None, *, capped: bool = False) -> NotionReading:
    """Why there is no value, in the words of the audit."""
    if not isnan(one.estimate):
        return one
    why = "NO_REFUSED" if "NO_PEOPLE" in one.note else "NO_RECOURSE"
    if capped and budget is None:
        why = "NO_BUDGET"
    return replace(one, note=why)
