"""What several sections need, computed once: counterfactuals, statistics by group and neighbourhoods."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.effort.metrics import PAPER_QUANTILES, Curve, group_stats
from equieffort.effort.neighbours import Nearest, NearestK, Sweep, Unsaved
from equieffort.effort.stats import EffortStats
from equieffort.effort.verdict import Assessment
from equieffort.errors import EquieffortError, EquieffortWarning, collecting
from equieffort.recourse.status import Reason
from equieffort.recourse.table import RecourseTable
from equieffort.report.svg import Look, Role
from equieffort.report.words import Guard, Name, Phrase, Seen, Words, is_turned
from equieffort.world.distances import Distance, Manhattan

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

DEFAULT_QUANTILE = 0.2
LONGEST_NAME = 24
MOST_DRAWN = 4
"""Groups, and comparisons, that one picture shows at most; the table behind it has all of them."""


@dataclass(frozen=True, eq=False)
class Group:
    """A group as the sections list it: its numbers, what of them may be shown, and how it is drawn."""

    code: int
    label: str
    name: str
    """As a picture names it."""
    members: Bools
    stats: EffortStats
    seen: Seen
    look: Look
    is_drawn: bool

    @property
    def is_judged(self) -> bool:
        """Whether the verdict compares it with the reference."""
        return self.look.role == "group"


@dataclass(frozen=True)
class Near:
    """The effort around each centre, and each centre's own ratios."""

    found: Curve
    sweep: Sweep
    """At the one quantile that individuals are judged at."""
    drawn: bool
    """Whether only a sample of the refused people are centres."""

    @cached_property
    def curve(self) -> pd.DataFrame:
        """At the paper's quantiles; the model card shows none, and need not wait for its bands."""
        return self.found.frame(slice(len(PAPER_QUANTILES)))


@dataclass(frozen=True, eq=False)
class Material:
    """An audit with what is computed from it for a report."""

    audit: Audit
    guard: Guard
    command: str = ""
    """The command that made the audit, where the caller knows it."""

    @classmethod
    def of(cls, audit: Audit, suppress_below: int | None = None, command: str = "") -> Material:
        """The material of a report that keeps back what was asked for, by default what the spec asked for."""
        return cls(audit, Guard(audit.provenance.suppress_below if suppress_below is None else suppress_below), command)

    @property
    def table(self) -> RecourseTable:
        """One row a person."""
        return self.audit.recourse

    @cached_property
    def judged(self) -> frozenset[str]:
        """The groups that the verdict compares with the reference."""
        return frozenset(finding.comparison.group for finding in self.audit.verdict.findings)

    @cached_property
    def groups(self) -> list[Group]:
        """All groups as they are listed: those compared first, the reference last.

        Pictures show all of them if they are few, otherwise those judged and the reference.
        """
        table = self.table.groups
        order, drawn = (*table.compared, table.reference), Counter[str]()
        found = []
        for code in order:
            label, stats = self.labels[code], self.stats[self.labels[code]]
            role: Role = "reference" if code == table.reference else "group" if label in self.judged else "other"
            is_drawn = len(order) <= MOST_DRAWN or role != "other"
            look = Look(role, drawn[role])
            members, seen = table.codes == code, self.guard.seen(stats)
            found.append(Group(code, label, self.name(label), members, stats, seen, look, is_drawn))
            drawn[role] += 1
        return found

    @property
    def reference(self) -> Group:
        """The group that the others are compared with."""
        return self.groups[-1]

    def name(self, label: str) -> str:
        """A group as a reader sees it in a picture; without its column where that would take too much room."""
        named = self.table.groups.name
        is_long = any(len(named(other)) > LONGEST_NAME for other in self.labels)
        return label if is_long else named(label)

    @cached_property
    def column(self) -> str:
        """What the groups are values of: the head of a column of groups."""
        return " & ".join(self.table.groups.columns) or "group"

    @property
    def labels(self) -> tuple[str, ...]:
        """Group labels by code."""
        return self.table.groups.labels

    @cached_property
    def stats(self) -> dict[str, EffortStats]:
        """Statistics by group over everybody."""
        return group_stats(self.table)

    @cached_property
    def facts(self) -> Floats:
        """Everybody as they are."""
        return self.table.source.facts(slice(None))

    @cached_property
    def moved(self) -> Floats:
        """Everybody after their action."""
        return self.table.source.moved(self.table, slice(None))

    @cached_property
    def is_set(self) -> Bools:
        """Which actionable feature each person sets or holds."""
        return self.table.source.interventions(self.table, slice(None))[0] & self.table.has_action[:, None]

    @cached_property
    def costs(self) -> Floats:
        """What each actionable feature adds to the cost."""
        return self.table.source.costs(self.table, slice(None))

    @cached_property
    def reasons(self) -> list[Reason | None]:
        """What stands in the way of each person without an action, or why nothing better is known."""
        return self.table.reasons()

    def efforts(self, group: Group) -> Floats:
        """The efforts of a group's people who have an action."""
        return self.table.effort[group.members & self.table.has_action]

    @cached_property
    def effort_curve(self) -> pd.DataFrame:
        """The share of each group's refused whom an effort turns."""
        return self.audit.effort_curve()

    def told(self, text: str) -> Words:
        """A text that was put together elsewhere; names written from right to left are taken out of it."""
        names = [name for name in (*self.table.source.encoding.names, *self.labels) if is_turned(name)]
        if not names:
            return (Phrase(text),)
        longest = sorted(set(names), key=len, reverse=True)
        pieces = re.split("(" + "|".join(map(re.escape, longest)) + ")", text)
        return tuple(Name(piece) if piece in names else Phrase(piece) for piece in pieces if piece)

    @property
    def distance(self) -> Distance:
        """How likeness is measured."""
        near = self.audit.neighbourhood
        return near.distance if isinstance(near, Nearest | NearestK) else Manhattan()

    @property
    def quantile(self) -> float:
        """The share of people who count as neighbours when individuals are judged."""
        near, n = self.audit.neighbourhood, len(self.table)
        if isinstance(near, Nearest):
            return float(near.quantile)
        if isinstance(near, NearestK):
            # Between the k-th and the next distance: the k nearest and whoever is as near as the last.
            return min(1.0, (near.k - 0.5) / (n - 1)) if near.k < n else 1.0
        return DEFAULT_QUANTILE

    @cached_property
    def extra(self) -> list[EquieffortWarning]:
        """What was warned about while the report was made."""
        return []

    @cached_property
    def near(self) -> Near | EquieffortError:
        """Neighbourhoods of everybody who was refused, or why there are none."""
        if isinstance(self.audit.neighbourhood, Unsaved):
            return self.audit.neighbourhood.refusal()
        source = self.table.source
        try:
            with _quiet(self.extra):
                # Bound anew, so that a loaded audit warns about the same things as a live one.
                self.distance.bind(source.data, source.encoding, source.schema)
            with _quiet([]):
                # The audit keeps it, so that page and model card read the same sums.
                asked = tuple(dict.fromkeys((*PAPER_QUANTILES, self.quantile)))
                found = self.audit.curve_of(asked, self.distance)
        except EquieffortError as error:
            return error
        drawn = len(found.sweep.centres) < int(self.table.is_unfavourable.sum())
        return Near(found, found.sweep.at([asked.index(self.quantile)]), drawn)

    @cached_property
    def pairs(self) -> list[tuple[Group, Group]]:
        """Who is compared with whom around individuals; pictures show the judged against the reference alone."""
        there = [(group, self.reference) for group in self.groups[:-1]]
        return there + [(b, a) for a, b in there]

    def refused_by(self, label: str) -> tuple[int, int, int, int] | None:
        """How many of a group the record and the surrogate refuse: both, one of them only, and neither."""
        known = self.audit.recorded
        if known is None:
            return None
        mine = (self.table.groups.codes == self.labels.index(label)) & known.is_known
        before, now = mine & ~known.is_favourable, mine & self.table.is_unfavourable
        both, record, surrogate = (int(part.sum()) for part in (before & now, before & ~now, now & ~before))
        return both, record, surrogate, int(mine.sum()) - both - record - surrogate

    def tells_record(self, label: str) -> bool:
        """Whether no small count shows between a group's recorded decisions and those of the surrogate."""
        counts = self.refused_by(label)
        return counts is not None and not self.guard.hides(*counts)

    @cached_property
    def subgroups(self) -> list[tuple[str, Assessment]]:
        """The subgroups that were asked for."""
        with _quiet(self.extra):
            return [(name, self.audit.subgroup(rule)) for name, rule in self.audit.declared.items()]


def not_drawn(material: Material) -> str:
    """That a picture leaves groups out."""
    if all(group.is_drawn for group in material.groups):
        return ""
    return " The picture shows the groups that are judged; the numbers behind it are about every group."


@contextmanager
def _quiet(into: list[EquieffortWarning]) -> Iterator[None]:
    """Warnings go into the report, not to the screen."""
    with warnings.catch_warnings(), collecting() as kept:
        warnings.simplefilter("ignore", EquieffortWarning)
        try:
            yield
        finally:
            into += kept
