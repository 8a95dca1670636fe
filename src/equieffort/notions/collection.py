"""Notions: every neighbouring notion of one audit, read together, and what each says of who is worse off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any, Literal, overload

import pandas as pd

from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.errors import EquieffortError, ParameterError, listed
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, few_noted, over_views

Side = Literal["worse", "better", "open", "no interval", "undefined", ""]
"""Who is worse off by a notion: the group, the other one, not decided, not to be decided; "" if it takes no side."""


def side_of(notion: Notion, reading: NotionReading) -> Side:
    """Whether the interval, or a certain range without one, lies wholly on one side of equality.

    Of fewer people than the criteria ask for (TOO_FEW) no side is named, whatever the interval.

    >>> gap = Notion("gap", "Gap", "a - b", "", "", form="points")
    >>> side_of(gap, NotionReading("gap", "a", "b", estimate=0.1, low=0.05, high=0.15))
    'worse'
    >>> side_of(gap, NotionReading("gap", "a", "b", estimate=0.1, low=-0.05, high=0.25))
    'open'
    """
    if notion.orientation == 0 or isnan(notion.neutral) or not reading.against:
        return ""
    if isnan(reading.estimate):
        return "undefined"
    low, high = reading.low, reading.high
    if isnan(low) or isnan(high):
        return "no interval"
    if "TOO_FEW" in reading.note.split():
        return "open"
    least, most = (low if isnan(reading.least) else reading.least), (high if isnan(reading.most) else reading.most)
    below, above = min(low, least), max(high, most)
    if below > notion.neutral:
        return "worse" if notion.orientation > 0 else "better"
    if above < notion.neutral:
        return "better" if notion.orientation > 0 else "worse"
    return "open"


@dataclass(frozen=True, repr=False)
class Notions(Shown):
    """What was read of every notion, and which could not be read and why.

    `frame()` has a row a notion, form and comparison: `estimate`, `low` and `high` (confidence limits), `least` and
    `most` (what is certain given people who are not solved to the end), `assigned_least` and `assigned_most` (over all
    assignments of people whose group is not known; NaN where nothing bounds it), `n` and `n_against` (denominators),
    `n_undefined` (people in no denominator), `note`, and `side`, which says whether the group is shown to be worse off.
    """

    readings: tuple[NotionReading, ...] = ()
    missing: tuple[NotApplicable, ...] = ()
    columns: tuple[str, ...] = ()
    """The sensitive columns whose values name the groups."""
    unplaced: int = 0
    """People whose group is not known: on neither side of a comparison, and within its bounds over assignments."""

    @cached_property
    def known(self) -> dict[str, tuple[Family, Notion]]:
        """Name -> family and notion."""
        from equieffort.notions import FAMILIES

        return {notion.name: (family, notion) for family in FAMILIES for notion in family.notions}

    def notion(self, name: str) -> Notion:
        """What a notion is."""
        return self.known[name][1]

    def side(self, reading: NotionReading) -> Side:
        """Who is worse off by a reading."""
        return side_of(self.notion(reading.notion), reading)

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """One row a notion, form and comparison; `output` is "pandas", "polars" or "pyarrow"."""
        columns = ["family", *NotionReading.columns(), "side"]
        rows = [{"family": self.known[r.notion][0].name, **r.row, "side": self.side(r)} for r in self.readings]
        return as_output(pd.DataFrame(rows, columns=columns), output)

    def __str__(self) -> str:
        from equieffort.words.notions import notions_text

        return notions_text(self)

    def _told(self) -> Told:
        from equieffort.words.notions import notions_told

        return notions_told(self)


NEEDS_MODEL = (
    "It asks the model and the equations, which an audit that was saved or streamed does not hold, and was not read "
    "before saving"
)


def collect(audited: Audited, kept: Notions | None = None, only: Sequence[str] | None = None) -> Notions:
    """Read every family, or those named; what needs the model is taken as it was `kept` where that is not at hand."""
    from equieffort.notions import FAMILIES

    readings: list[NotionReading] = []
    missing: list[NotApplicable] = []
    for family in _named(FAMILIES, only):
        if family.needs_model and audited.problem is None:
            mine = {notion.name for notion in family.notions}
            found: list[NotionReading | NotApplicable] = []
            if kept is not None:
                found += [few_noted(r, audited.min_people) for r in kept.readings if r.notion in mine]
                found += [r for r in kept.missing if r.notion in mine]
            if not found:
                found += [NotApplicable(notion.name, NEEDS_MODEL) for notion in family.notions]
        else:
            found = [other for one in _read(audited, family) for other in _or_kept(one, kept)]
        readings += [one for one in found if isinstance(one, NotionReading)]
        missing += [one for one in found if isinstance(one, NotApplicable)]
    groups, unplaced = audited.table.groups, int(audited.unplaced.sum())
    if unplaced:
        known = {notion.name: notion for family in FAMILIES for notion in family.notions}
        apart = {groups.labels[code] for code in groups.unknown}
        readings = [one if one.group in apart else _assigned_noted(one, known[one.notion]) for one in readings]
    return Notions(tuple(readings), tuple(dict.fromkeys(missing)), groups.columns, unplaced)


def _assigned_noted(one: NotionReading, notion: Notion) -> NotionReading:
    """That nothing bounds what people whose group is not known could change, or that they could change its side.

    >>> gap = Notion("gap", "Gap", "a - b", "", "")
    >>> read = NotionReading("gap", "a", "b", estimate=0.2, assigned_least=-0.1, assigned_most=0.4)
    >>> _assigned_noted(read, gap).note
    'UNKNOWN_GROUP'
    """
    if isnan(one.estimate):
        return one
    codes = []
    if isnan(one.assigned_least):
        codes += ["NOT_ASSIGNED"] if notion.unassigned else []
    elif one.against and notion.orientation != 0:
        ends = (one.estimate, one.assigned_least, one.assigned_most)
        codes += ["UNKNOWN_GROUP"] if min(ends) < notion.neutral < max(ends) else []
    return replace(one, note=" ".join(dict.fromkeys([*one.note.split(), *codes])))


def _read(audited: Audited, family: Family) -> Sequence[NotionReading | NotApplicable]:
    """What a family says; one that is refused takes no other with it."""
    try:
        return over_views(audited, family.readings)
    except EquieffortError as error:
        return [NotApplicable(notion.name, error.what) for notion in family.notions]


def _or_kept(one: NotionReading | NotApplicable, kept: Notions | None) -> list[NotionReading | NotApplicable]:
    """What cannot be read now, such as what needs labels in an audit from a file, was perhaps read before."""
    before = [r for r in kept.readings if r.notion == one.notion] if isinstance(one, NotApplicable) and kept else []
    return [*before] or [one]


def _named(families: Iterable[Family], only: Sequence[str] | None) -> list[Family]:
    every = {family.name: family for family in families}
    if only is None:
        return list(every.values())
    if strange := [name for name in only if name not in every]:
        raise ParameterError(
            "PARAMETER", f"There is no family of notions called {strange[0]!r}.", fix=f"Choose from {listed(every)}."
        )
    return [every[name] for name in dict.fromkeys(only)]
