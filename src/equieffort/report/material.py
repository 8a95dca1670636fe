"""What several sections need, computed once: counterfactuals, statistics by group and neighbourhoods."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.effort.metrics import PAPER_QUANTILES, Curve, group_stats, individual_ratios
from equieffort.effort.neighbours import Nearest, NearestK, Sweep, Unsaved
from equieffort.effort.stats import EffortStats
from equieffort.effort.verdict import Assessment
from equieffort.errors import EquieffortError, EquieffortWarning, collecting
from equieffort.recourse.status import Reason
from equieffort.recourse.table import RecourseTable
from equieffort.report.svg import Look
from equieffort.report.words import Guard, Name, Phrase, Words, is_turned
from equieffort.world.distances import Distance, Manhattan

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

DEFAULT_QUANTILE = 0.2
LONGEST_NAME = 24
MOST_DRAWN = 4
"""Groups, and comparisons, that one picture shows at most; the table behind it has all of them."""


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
    def order(self) -> tuple[int, ...]:
        """Group codes as they are listed and coloured: those compared first, then the reference."""
        return (*self.table.groups.compared, self.table.groups.reference)

    @cached_property
    def judged(self) -> frozenset[str]:
        """The groups that the verdict compares with the reference."""
        return frozenset(finding.comparison.group for finding in self.audit.verdict.findings)

    @cached_property
    def drawn(self) -> tuple[int, ...]:
        """Group codes that pictures show: all if they are few, otherwise those judged and the reference."""
        if len(self.order) <= MOST_DRAWN:
            return self.order
        return tuple(
            code for code in self.order if self.labels[code] in self.judged or code == self.table.groups.reference
        )

    def name(self, label: str) -> str:
        """A group as a reader sees it in a picture; without its column where that would take too much room."""
        named = self.table.groups.name
        is_long = any(len(named(other)) > LONGEST_NAME for other in self.labels)
        return label if is_long else named(label)

    @cached_property
    def column(self) -> str:
        """What the groups are values of: the head of a column of groups."""
        return " & ".join(self.table.groups.columns) or "group"

    def look(self, code: int) -> Look:
        """How a group is drawn: judged groups, the reference and all others have a colour each."""
        if code == self.table.groups.reference:
            return Look("reference")
        judged = [c for c in self.order if self.labels[c] in self.judged]
        if code in judged:
            return Look("group", judged.index(code))
        return Look("other", [c for c in self.order if c not in judged].index(code))

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

    @cached_property
    def effort_curve(self) -> pd.DataFrame:
        """The share of each group's refused whom an effort turns."""
        return self.audit.effort_curve()

    def members(self, code: int) -> Bools:
        """Who belongs to a group."""
        return np.asarray(self.table.groups.codes == code)

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
            with self._quiet():
                # Bound anew, so that a loaded audit warns about the same things as a live one.
                self.distance.bind(source.data, source.encoding, source.schema)
            with _Quiet([]):
                # The audit keeps it, so that page and model card read the same sums.
                asked = tuple(dict.fromkeys((*PAPER_QUANTILES, self.quantile)))
                found = self.audit.curve_of(asked, self.distance)
        except EquieffortError as error:
            return error
        drawn = len(found.sweep.centres) < int(self.table.is_unfavourable.sum())
        return Near(found, found.sweep.at([asked.index(self.quantile)]), drawn)

    def ratios(self, a: int, b: int) -> tuple[Floats, Floats]:
        """Centres of group a (positions), and their individual ACR against group b."""
        if isinstance(self.near, EquieffortError):
            return np.empty(0, dtype=np.intp), np.empty(0)
        sweep = self.near.sweep
        own = self.table.groups.codes[sweep.centres] == a
        return sweep.centres[own], individual_ratios(sweep, a, b)[own, 0]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Who is compared with whom around individuals."""
        groups = self.table.groups
        return [(code, groups.reference) for code in groups.compared] + [
            (groups.reference, code) for code in groups.compared
        ]

    def is_judged(self, a: int, b: int) -> bool:
        """Whether the verdict judges these two groups against each other."""
        return bool({self.labels[a], self.labels[b]} & self.judged)

    @cached_property
    def drawn_pairs(self) -> list[tuple[int, int]]:
        """The pairs that pictures show: the judged groups against the reference, in this one direction."""
        return [(a, b) for a, b in self.pairs if b == self.table.groups.reference and self.is_judged(a, b)]

    def tells_record(self, label: str) -> bool:
        """Whether no small count shows between a group's recorded decisions and those of the stand-in."""
        known = self.audit.recorded
        if known is None:
            return False
        mine = self.members(self.labels.index(label)) & known.is_known
        before, now = mine & ~known.is_favourable, mine & self.table.is_unfavourable
        return not self.guard.hides(
            *(int(part.sum()) for part in (before & now, before & ~now, mine & ~before & now, mine & ~before & ~now))
        )

    @cached_property
    def subgroups(self) -> list[tuple[str, Assessment]]:
        """The subgroups that were asked for."""
        with self._quiet():
            return [(name, self.audit.subgroup(rule)) for name, rule in self.audit.declared.items()]

    def _quiet(self) -> _Quiet:
        return _Quiet(self.extra)


def not_drawn(material: Material) -> str:
    """That a picture leaves groups out."""
    if len(material.drawn) == len(material.order):
        return ""
    return " The picture shows the groups that are judged; the numbers behind it are about every group."


class _Quiet:
    """Warnings go into the report, not to the screen."""

    def __init__(self, into: list[EquieffortWarning]) -> None:
        self.into = into

    def __enter__(self) -> None:
        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("ignore", EquieffortWarning)
        self.collector = collecting()
        self.kept = self.collector.__enter__()

    def __exit__(self, *error: object) -> None:
        self.collector.__exit__(None, None, None)
        self.caught.__exit__(None, None, None)
        self.into += self.kept
