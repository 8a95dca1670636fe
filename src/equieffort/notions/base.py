"""Notion, Family, NotionReading: what a neighbouring notion is, what is read of it, and what it is read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isinf, isnan, nan
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from equieffort.data.frames import Bools, digits
from equieffort.effort.criteria import Criteria
from equieffort.errors import ParameterError
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Choice
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import NEITHER, Groups, Versus
from equieffort.world.opponents import EVERYBODY_ELSE, Rest

if TYPE_CHECKING:
    from equieffort.notions.huang.treatments import Treatment

DIGITS = "digits"
"""How a value is written where nothing else is said: three of them, from 1,000 on to the unit."""


@dataclass(frozen=True)
class Notion:
    """What a notion is: facts that tables, the report and the docs are made from."""

    name: str
    title: str
    """What it is called in a table."""
    equation: str
    reference: str
    adds: str
    """A sentence on what it tells beside equality of effort."""
    neutral: float = 0.0
    """Its value where the groups are equal; NaN where it has none, such as a rate of one group."""
    orientation: int = 1
    """+1 if more means that the group is worse off, -1 if less does, 0 if it takes no side."""
    form: str = DIGITS
    """How a value is written, as `str.format` takes it; or "points" for differences of shares, "share" for shares."""

    counts: str = ""
    """What its denominator counts, where that is not people."""
    unassigned: str = ""
    """Why nothing bounds what people whose group is not known could make of it; empty where that is bounded."""

    @property
    def unit(self) -> str:
        """What `show` puts behind a value."""
        return {"points": " points", "share": " %"}.get(self.form, "")

    def show(self, value: float) -> str:
        """A value as text."""
        if isnan(value):
            return "-"
        if isinf(value):
            return "unlimited" if value > 0 else "unlimited below"
        if self.form == "points":
            return f"{value * 100:.1f}{self.unit}"
        if self.form == "share":
            # A small share is not none.
            return f"{value * 100:.1g}{self.unit}" if 0 < value < 5e-4 else f"{value * 100:.1f}{self.unit}"
        return digits(value) if self.form == DIGITS else self.form.format(value)


@dataclass(frozen=True)
class NotionReading:
    """One notion of one group, perhaps against another: a row of `Audit.notions().frame()`."""

    notion: str
    group: str = ""
    against: str = ""
    """Empty where the notion is of one group alone."""
    parts: tuple[str, ...] = ()
    """Which of several forms, part by part, such as "refused" or "everybody", an action, a threshold."""
    estimate: float = nan
    low: float = nan
    high: float = nan
    least: float = nan
    """What is certain given people who are not solved to the end; NaN where that does not apply."""
    most: float = nan
    assigned_least: float = nan
    """Over all assignments of people whose group is not known; NaN without such people, or where nothing bounds it."""
    assigned_most: float = nan
    n: int = 0
    """Its denominator."""
    n_against: int = 0
    n_undefined: int = 0
    """People for whom it is undefined, who are in no denominator."""
    note: str = ""

    @property
    def variant(self) -> str:
        """The form as a text."""
        return ", ".join(filter(None, self.parts))

    @property
    def row(self) -> dict[str, Any]:
        """A row of a table."""
        shown = vars(self) | {"parts": self.variant}
        return {"variant" if name == "parts" else name: value for name, value in shown.items()}

    @classmethod
    def columns(cls) -> list[str]:
        """The columns of such rows."""
        return list(cls("").row)


@dataclass(frozen=True)
class NotApplicable:
    """A notion that cannot be read here, and why."""

    notion: str
    why: str


@dataclass(frozen=True, eq=False)
class Audited:
    """What notions read of an audit."""

    table: RecourseTable
    level: float
    """Of intervals."""
    budget: float | None
    """At which people without recourse are counted."""
    problem: RecourseProblem | None = None
    """None in an audit that was read from a file or streamed: the model is not in it."""
    choice: Choice | None = None
    """The solver of the audit, where there is a problem."""
    labels: Bools | None = None
    """Who has the favourable label in truth, where that was observed."""
    causes: tuple[str, ...] | None = None
    """Features that are causes of the true label, where that was said."""
    treatments: tuple[Treatment, ...] | None = None
    """What Huang's notion sets, where that was said."""
    random_state: int = 0
    min_people: int = Criteria.min_people
    """With fewer in a denominator a comparison names no side."""
    reference: Any = None
    """The data that scales come from, as they were given; None where nobody gave any."""
    whole: tuple[Groups, Versus] | None = None
    """Of a view of two groups: all groups, and which comparison it is."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Codes of who is compared with whom, people of unknown groups apart; see `views`."""
        return [(one.group, one.others[0]) for one in self.table.groups.pairs if one.role != "unknown"]

    @property
    def views(self) -> list[Audited]:
        """What families are asked with, in turn: against everybody else each comparison is two groups of its own."""
        groups = self.table.groups
        if not isinstance(groups.reference, Rest):
            return [self]
        return [
            replace(self, table=replace(self.table, groups=groups.two(one)), whole=(groups, one))
            for one in groups.pairs
        ]

    @property
    def unplaced(self) -> Bools:
        """People whose group is not known."""
        groups = self.table.groups if self.whole is None else self.whole[0]
        return np.isin(groups.codes, list(groups.unknown))

    def pools(self, group: str, against: str) -> list[tuple[tuple[bool, bool, bool], Bools]]:
        """People whose group is not known, by whether they may be in a group, in the other side (if there is one), and
        in neither."""
        groups = self.table.groups
        if self.whole is not None:
            groups, versus = self.whole
        else:
            code = groups.labels.index(group)
            others = groups.others(group, against) if against else ()
            versus = Versus(code, others, against, "unknown" if code in groups.unknown else groups.role(code))
        if not against:
            versus = replace(versus, others=())
        return [(sides, np.isin(groups.codes, codes)) for sides, codes in groups.choices(versus).items()]


def over_views(
    audited: Audited, read: Callable[[Audited], Sequence[NotionReading | NotApplicable]]
) -> list[NotionReading | NotApplicable]:
    """Readings of every view; what several views say of one group is told once, and nothing of all others alone.

    People whose group is not known are compared with nobody, as in `Audited.pairs`.
    """
    views = audited.views
    if len(views) == 1 and views[0] is audited:
        return [few_noted(one, audited.min_people) for one in read(audited)]
    told: dict[object, NotionReading | NotApplicable] = {}
    for pair, view in zip(audited.table.groups.pairs, views, strict=True):
        for one in read(view):
            if isinstance(one, NotApplicable):
                told[one] = one
            elif one.group not in (EVERYBODY_ELSE, NEITHER) and not (one.against and pair.role == "unknown"):
                told.setdefault((one.notion, one.group, one.against, one.variant), one)
    return [few_noted(one, audited.min_people) for one in told.values()]


Read = TypeVar("Read", NotionReading, NotionReading | NotApplicable)


def few_noted(one: Read, min_people: int) -> Read:
    """The note TOO_FEW on a comparison with fewer people in a denominator: intervals of so few are often too short.

    >>> few_noted(NotionReading("gap", "a", "b", n=4, n_against=90), 5).note
    'TOO_FEW'
    """
    if isinstance(one, NotApplicable) or not one.against or not 0 < min(one.n, one.n_against) < min_people:
        return one
    return replace(one, note=" ".join(dict.fromkeys([*one.note.split(), "TOO_FEW"])))


def require_model(audited: Audited, call: str) -> RecourseProblem:
    """The problem, with the model; an audit that was read from a file or streamed has none."""
    if audited.problem is None:
        raise ParameterError(
            "AUDIT_LOADED",
            "This audit was read from a file or streamed, and holds neither the model nor its equations.",
            fix=f"Run ee.audit(...) with the model and people in memory (a sample of many), and call .{call} there.",
        )
    return audited.problem


class Family(ABC):
    """Notions that are read together: a file, a page in the docs."""

    name: ClassVar[str]
    title: ClassVar[str]
    notions: ClassVar[tuple[Notion, ...]]
    needs_model: ClassVar[bool] = False
    """Whether it asks the model, the equations or a solver: then a saved audit has it only as it was read before."""

    @abstractmethod
    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """Every notion of the family for every comparison, or why not."""
