"""What several sections need, computed once: counterfactuals, statistics by group and neighbourhoods."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.effort.metrics import PAPER_QUANTILES, Comparison, Curve
from equieffort.effort.neighbours import Nearest, NearestK, Sweep, Unsaved
from equieffort.effort.stats import EffortStats
from equieffort.effort.verdict import Assessment
from equieffort.errors import EquieffortError, EquieffortWarning, collecting
from equieffort.recourse.status import Reason
from equieffort.recourse.table import RecourseTable
from equieffort.report.svg import Look, Role
from equieffort.report.words import Guard, Name, Phrase, Seen, Words, is_turned
from equieffort.results.kept_curve import is_drawn, shown_curve, shown_quantile, shown_quantiles
from equieffort.world.distances import Distance, Manhattan
from equieffort.world.groups import Versus
from equieffort.world.labels import Labels
from equieffort.world.opponents import EVERYBODY_ELSE, AllPairs, Rest

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

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
        """Whether the verdict is about it."""
        return self.look.role == "group"


@dataclass(frozen=True, eq=False)
class Around:
    """A group and whom it is compared with around individuals."""

    mine: Group
    theirs: Group
    slots: tuple[int, int]
    """Where the sums of both stand in a sweep."""
    is_shown: bool
    """Whether pictures show it: a judged comparison, in the direction in which it is judged."""


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
        """The groups that the verdict is about."""
        return frozenset(finding.comparison.group for finding in self.audit.verdict.findings)

    @cached_property
    def judged_pairs(self) -> frozenset[tuple[str, str]]:
        """The comparisons that the verdict is about."""
        found = (finding.comparison for finding in self.audit.verdict.findings)
        return frozenset((c.group, c.against) for c in found)

    @cached_property
    def groups(self) -> list[Group]:
        """All groups as they are listed: those compared first, the reference last, if there is one.

        Pictures show all of them if they are few, otherwise those judged and the reference.
        """
        table = self.table.groups
        order, drawn = table.listed, Counter[str]()
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

    def against(self, group: Group) -> Group | None:
        """Whom a group is compared with; None of the reference itself, and where it is compared with several."""
        table = self.table.groups
        if isinstance(table.reference, AllPairs) or group.code == table.reference:
            return None
        return self._other(table.around(group.code)[0])

    def _other(self, compared: Versus) -> Group:
        """The other side of a comparison: a group, or all others together."""
        by_code = {group.code: group for group in self.groups}
        if len(compared.others) == 1 and compared.against != EVERYBODY_ELSE:
            return by_code[compared.others[0]]
        label = compared.against
        members = np.isin(self.table.groups.codes, compared.others)
        stats = reduce(add, (by_code[code].stats for code in compared.others))
        return Group(-1, label, self.name(label), members, stats, self._seen_together(), Look("reference"), False)

    def _seen_together(self) -> Seen:
        """Of people who are counted together nothing shows unless every group may: what is left would show too."""
        every = [group.seen for group in self.groups]
        return Seen(all(s.rate for s in every), all(s.parts for s in every), all(s.effort for s in every))

    def seen_sides(self, c: Comparison, part: Assessment | None = None) -> tuple[Seen, Seen]:
        """What may be shown of both sides of a comparison, over everybody or in a subgroup."""
        whole = {} if part is None else self.stats
        mine = self.guard.seen(c.mine, whole.get(c.group))
        if c.against in self.stats:
            return mine, self.guard.seen(c.theirs, whole.get(c.against))
        if part is None:
            return mine, self._seen_together()
        every = [self.guard.seen(one.mine, whole.get(one.group)) for one in part.comparisons]
        return mine, Seen(all(s.rate for s in every), all(s.parts for s in every), all(s.effort for s in every))

    def told_pair(self, c: Comparison) -> str:
        """Which comparison: by its group, and by both sides where groups are compared with several others."""
        mine, theirs = (self.short(side) for side in (c.group, c.against))
        return mine if self.against_name else f"{mine} / {theirs}"

    @property
    def against_name(self) -> str:
        """Whom all judged groups are compared with, as a picture names it; empty where they are several."""
        names = {c.comparison.against for c in self.audit.verdict.findings}
        return self.name(names.pop()) if len(names) == 1 else ""

    def name(self, label: str) -> str:
        """A group as a reader sees it in a picture; without its column where that would take too much room."""
        named = self.table.groups.name
        is_long = any(len(named(other)) > LONGEST_NAME for other in self.labels)
        return self.short(label) if is_long else named(label)

    def short(self, label: str) -> str:
        """A group under the head of its column: its label for readers, or its value."""
        return self.names.group(label) or label

    @property
    def names(self) -> Labels:
        """What readers call groups, features and levels."""
        return self.table.source.schema.names

    def group(self, label: str) -> Name:
        """A group in a cell."""
        return Name(self.short(label))

    def feature(self, name: str) -> Name:
        """A feature, as readers call it."""
        return Name(self.names.feature(name))

    def level(self, feature: str, value: Any) -> Name:
        """A level of a feature, as readers call it."""
        return Name(self.names.level(feature, value) or str(value))

    @cached_property
    def column(self) -> str:
        """What the groups are values of: the head of a column of groups."""
        return " & ".join(map(self.names.feature, self.table.groups.columns)) or "group"

    @property
    def labels(self) -> tuple[str, ...]:
        """Group labels by code."""
        return self.table.groups.labels

    @cached_property
    def stats(self) -> dict[str, EffortStats]:
        """Statistics by group over everybody."""
        return {label: one.stats for label, one in self.audit.samples.items()}

    @cached_property
    def facts(self) -> Any:
        """Everybody as they are, column by column."""
        return self.table.source.by_column(self.table, "facts")

    @cached_property
    def moved(self) -> Any:
        """Everybody after their action, column by column."""
        return self.table.source.by_column(self.table, "moved")

    @cached_property
    def is_set(self) -> Any:
        """Which actionable feature each person sets or holds, column by column."""
        return self.table.source.by_column(self.table, "is_set")

    @cached_property
    def costs(self) -> Any:
        """What each actionable feature adds to the cost, column by column."""
        return self.table.source.by_column(self.table, "costs")

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
        """A text that was put together elsewhere: quoted columns by their labels, and names written from right to left
        taken out of it."""
        text = re.sub(r"'([^']+)'", lambda quoted: self.names.features.get(quoted[1], quoted[0]), text)
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
        return shown_quantile(self.audit)

    @cached_property
    def extra(self) -> list[EquieffortWarning]:
        """What was warned about while the report was made."""
        return []

    @cached_property
    def near(self) -> Near | EquieffortError:
        """Neighbourhoods of everybody who was refused, or why there are none."""
        if isinstance(self.audit.neighbourhood, Unsaved):
            return self.audit.neighbourhood.refusal()
        try:
            with _quiet(self.extra):
                # Bound anew, so that a loaded audit warns about the same things as a live one.
                self.audit.distance(self.distance, anew=True)
            with _quiet([]):
                # The audit keeps it, so that page and model card read the same sums.
                found = shown_curve(self.audit)
        except EquieffortError as error:
            return error
        at = shown_quantiles(self.audit).index(self.quantile)
        return Near(found, found.sweep.at([at]), is_drawn(found))

    @cached_property
    def pairs(self) -> list[Around]:
        """Who is compared with whom around individuals; pictures show judged comparisons in their direction alone."""
        table = self.table.groups
        by_code, found = {group.code: group for group in self.groups}, []
        for one in table.centred:
            mine, theirs = by_code[one.group], self._other(one)
            slots = (0, 1) if isinstance(table.reference, Rest) else (one.group, one.others[0])
            is_shown = (mine.label, one.against) in self.judged_pairs
            found.append(Around(mine, theirs, slots, is_shown))
        return found

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
        if label not in self.labels:
            return all(self.tells_record(one) for one in self.labels)
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
