"""NotionDetails: what asking the model gave beside one number a comparison, kept for whoever reads the file.

FACTS' macro tables, how everybody's twin is decided, the routes of groups, and Huang's notion treatment by treatment,
with its repair and its subgroups. An audit file holds no model, so that none of it could be read from the file anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isnan
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats, row_dicts
from equieffort.errors import EquieffortError, ParameterError
from equieffort.notions.base import Audited
from equieffort.notions.counterfactual import CounterfactualFairness
from equieffort.notions.facts import FactsTable, facts_table
from equieffort.notions.facts.family import Mined
from equieffort.notions.facts.macro import Asked
from equieffort.notions.facts.notions import BY_NAME
from equieffort.notions.facts.table import Subgroup
from equieffort.notions.group_routes import GroupRoutes, find_group_routes
from equieffort.notions.group_routes.policies import Policy
from equieffort.notions.huang import EqualityOfEffort, Treatment, equality_of_effort, minimum_effort
from equieffort.notions.huang.study import Direction
from equieffort.notions.twins import ABSENT, Levels, TwinDecisions, own_groups
from equieffort.recourse.table import RecourseTable

FEWEST = 5
"""Subgroups of FACTS' tables are kept from so many refused people a side; whoever prints them may ask for more."""
Row = Mapping[str, str | int | float]


@dataclass(frozen=True)
class KeptFacts:
    """A macro table of FACTS, but for the groups, which the people have."""

    notion: str
    asked: Asked
    subgroups: tuple[Subgroup, ...]
    n_actions: int
    n_left_out: int

    def __post_init__(self) -> None:
        if self.notion not in BY_NAME:
            raise ValueError("there is a table of a notion that FACTS does not have")

    @classmethod
    def of(cls, found: FactsTable, name: str) -> KeptFacts:
        """What a file keeps of a table."""
        return cls(name, found.asked, found.subgroups, found.n_actions, found.n_left_out)

    def table(self, people: RecourseTable, fewest: int) -> FactsTable:
        """The table of subgroups with so many refused people a side; everybody is always in it."""
        shown = tuple(
            one for one in self.subgroups if one.rule == "everybody" or min(one.group.n, one.against.n) >= fewest
        )
        return FactsTable(
            BY_NAME[self.notion], "macro", self.asked, shown, self.n_actions, self.n_left_out, fewest, people.groups
        )


@dataclass(frozen=True)
class KeptTwins:
    """How everybody is decided at every level of the sensitive columns: rows of people, level by level."""

    levels: tuple[str, ...]
    approved: tuple[tuple[int, ...], ...]
    absent: tuple[tuple[int, ...], ...]
    """Of whom the equations do not say who they would be there."""

    def __post_init__(self) -> None:
        if not len(self.levels) == len(self.approved) == len(self.absent):
            raise ValueError("twins are not given for every level")

    @classmethod
    def of(cls, found: TwinDecisions) -> KeptTwins:
        """What a file keeps."""
        approved, absent = (
            tuple(tuple(np.flatnonzero(found.decided[:, k] == code).tolist()) for k in range(len(found.levels.codes)))
            for code in (1, ABSENT)
        )
        return cls(tuple(found.levels.names), approved, absent)

    def check(self, table: RecourseTable) -> None:
        """Refuse what these people cannot have: levels that are none, and other decisions at their own level."""
        rows = (one for each in (*self.approved, *self.absent) for one in each)
        if not all(map(range(len(table)).__contains__, rows)):
            raise ValueError("twins are given for people who are not there")
        found = self._decisions(table)
        for column, code in enumerate(found.levels.codes):
            here = found.own == code
            if not np.array_equal(found.decided[here, column], found.approved[here].astype(np.int8)):
                raise ValueError("twins at people's own level are not decided as they are")

    def _decisions(self, table: RecourseTable) -> TwinDecisions:
        groups = own_groups(table)
        if strange := [name for name in self.levels if name not in groups.labels]:
            raise ValueError(f"there are twins at a level that is none: {strange[0]!r}")
        codes = tuple(groups.labels.index(name) for name in self.levels)
        decided = np.zeros((len(table), len(codes)), dtype=np.int8)
        for column in range(len(codes)):
            decided[list(self.approved[column]), column] = 1
            decided[list(self.absent[column]), column] = ABSENT
        levels = Levels(groups, codes, (), np.empty((len(groups.labels), 0)))
        return TwinDecisions(table.groups, levels, groups.codes, ~table.is_unfavourable, decided)

    def fairness(self, audited: Audited) -> CounterfactualFairness:
        """As it was read; who the twins are in full is not kept."""
        return CounterfactualFairness(audited, None, self._decisions(audited.table))


@dataclass(frozen=True)
class KeptRoutes:
    """Group routes, but for the groups, which the people have."""

    policies: tuple[Policy, ...]
    level: float
    n_candidates: int
    n_left_out: int
    same_people: tuple[str, ...]
    own: Mapping[str, tuple[int, int]]
    unknown: Mapping[str, int]

    @classmethod
    def of(cls, found: GroupRoutes) -> KeptRoutes:
        """What a file keeps."""
        return cls(**{one.name: getattr(found, one.name) for one in fields(cls)})

    def routes(self, table: RecourseTable) -> GroupRoutes:
        """As they were found."""
        return GroupRoutes(groups=table.groups, **{one.name: getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True)
class KeptTreatment:
    """Huang's equality of effort for one treatment, over everybody or in a declared subgroup."""

    treatment: str
    direction: Direction
    about: str
    """The name of a declared subgroup; empty over everybody."""
    lines: tuple[str, ...]
    """What it says."""
    aed: tuple[Row, ...] = ()
    """As `EqualityOfEffort.aed`."""
    delta: tuple[Row, ...] = ()
    """As `EqualityOfEffort.delta`."""
    repair: tuple[Row, ...] = ()
    """A row a comparison, at the middle one of the gammas that both reach."""
    own_gamma: float = float("nan")
    own: tuple[float, ...] = ()
    """The least treatment with which each person's own curve reaches `own_gamma`, NaN without one; empty where only
    groups have a curve."""

    def text(self, table: RecourseTable) -> str:
        """In words."""
        named = table.groups.name
        lines = [f"In {self.about}:" if self.about else "", *self.lines]
        for row in self.repair:
            mine, theirs = (named(str(row[key])) for key in ("group", "against"))
            lines.append(
                f"Repair of {mine} and {theirs} at gamma = {row['gamma']:.3g}: both reach it at {row['at']:g} once "
                f"{100 * float(row['changed']):.1f} % of the outcomes are changed (squares of the changes: "
                f"{row['size']:.4g}). delta {row['delta_before']:.4g} before, {row['delta_after']:.4g} after; AED "
                f"{_shown(row['aed_before'])} before, {_shown(row['aed_after'])} after."
            )
        return "\n".join(line for line in lines if line)

    def person(self, table: RecourseTable, row: int) -> dict[str, Any]:
        """What one person needs of it."""
        psi = self.own[row] if self.own else float("nan")
        t = float(table.source.facts(slice(row, row + 1))[0, table.source.encoding.position(self.treatment)])
        effort = psi - t if self.direction == "up" else t - psi
        return {"treatment": self.treatment, "now": t, "gamma": self.own_gamma, "psi": psi, "effort": effort}

    def person_text(self, table: RecourseTable, row: int) -> str:
        """The same in words."""
        name = table.source.schema.names.feature(self.treatment)
        if not self.own:
            return f"{name}: not known of single people; their groups alone have a curve."
        one = self.person(table, row)
        if isnan(one["psi"]):
            return f"{name}: {one['now']:g} now; no value that was tried suffices."
        if one["effort"] <= 0:
            return f"{name}: {one['now']:g} now, and {one['psi']:g} would suffice."
        way = "more" if self.direction == "up" else "less"
        return f"{name}: {one['now']:g} now, {one['psi']:g} suffices: {one['effort']:g} {way}."


def _shown(value: Any) -> str:
    return "not defined" if isnan(value) else f"{value:.4g}"


@dataclass(frozen=True)
class NotionDetails:
    """What asking the model gave; what could not be read is in `missing`, with the reason."""

    facts: tuple[KeptFacts, ...] = ()
    twins: KeptTwins | None = None
    routes: KeptRoutes | None = None
    treatments: tuple[KeptTreatment, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    def facts_of(self, notion: str) -> KeptFacts | None:
        """The table of one of FACTS' notions."""
        return next((one for one in self.facts if one.notion == notion), None)

    @classmethod
    def read(cls, audited: Audited, declared: Mapping[str, Bools]) -> NotionDetails:
        """Ask the model; `declared` are subgroups by name."""
        assert audited.problem is not None
        missing: dict[str, str] = {}
        parts: dict[str, Any] = {}
        for name, read in (("facts", _facts), ("twins", _twins), ("routes", _routes)):
            try:
                parts[name] = read(audited)
            except EquieffortError as error:
                missing[name] = error.what
        return cls(treatments=_treatments(audited, declared, missing), missing=missing, **parts)


def _facts(audited: Audited) -> tuple[KeptFacts, ...]:
    """All six over the same mined actions; what there is no budget for is left out."""
    mined = Mined.of(audited)
    names = [name for name in BY_NAME if audited.budget is not None or name != "effectiveness_within_budget"]
    return tuple(
        KeptFacts.of(facts_table(audited, name, viewpoint="macro", min_people=FEWEST, mined=mined), name)
        for name in names
    )


def _twins(audited: Audited) -> KeptTwins:
    assert audited.problem is not None
    return KeptTwins.of(CounterfactualFairness.of(audited, audited.problem).decisions)


def _routes(audited: Audited) -> KeptRoutes:
    return KeptRoutes.of(find_group_routes(audited))


def _treatments(audited: Audited, declared: Mapping[str, Bools], missing: dict[str, str]) -> tuple[KeptTreatment, ...]:
    """Of everything that Huang's notion sets among the other notions: over everybody, then in declared subgroups."""
    problem = audited.problem
    assert problem is not None
    asked = audited.treatments
    if asked is None:
        asked = tuple(Treatment(problem.names[k]) for k in problem.numeric)
    found = []
    for one in asked:
        is_observed = one.outcome == "observed"
        where = audited if is_observed else replace(audited, labels=None)
        for about, members in {"": None, **declared}.items():
            try:
                if is_observed and audited.labels is None:
                    raise ParameterError("PARAMETER", "What truly became of people was not given.", fix="Give labels.")
                study = equality_of_effort(
                    where, one.column, gammas=one.gammas, grid=one.grid, direction=one.direction, by=one.by,
                    outcome="label" if is_observed else one.outcome, members=members, interpolate=one.interpolate,
                )  # fmt: skip
                found.append(_treatment(study, about))
            except EquieffortError as error:
                missing[" in ".join(part for part in (f"treatment {one.column}", about) if part)] = error.what
    return tuple(found)


def _treatment(found: EqualityOfEffort, about: str) -> KeptTreatment:
    repairs = []
    for group, part in found.delta.groupby("group", sort=False):
        reached = part.loc[part["delta"].notna(), "gamma"].to_numpy()
        if len(reached):
            repairs.append(_repair(found, str(group), float(reached[len(reached) // 2])))
    gamma = float(repairs[0]["gamma"]) if repairs and not about else float("nan")
    return KeptTreatment(
        found.treatment, found.direction, about, tuple(str(found).split("\n")), tuple(row_dicts(found.aed)),
        tuple(row_dicts(found.delta)), tuple(repairs), gamma, () if isnan(gamma) else _own(found, gamma),
    )  # fmt: skip


def _repair(found: EqualityOfEffort, group: str, gamma: float) -> dict[str, str | int | float]:
    made = found.repair(gamma, group=group)
    row: dict[str, str | int | float] = {"group": made.group, "against": made.against, "gamma": gamma, "at": made.at}
    row |= {"size": made.size, "infimum": made.infimum, "changed": made.changed}
    for when in ("before", "after"):
        row |= {f"{key}_{when}": float(made.summary[key][when]) for key in made.summary.columns}
    return row


def _own(found: EqualityOfEffort, gamma: float) -> tuple[float, ...]:
    """Psi of each person's own curve; empty where only groups have one."""
    study = found.study
    psi = np.full(len(study.values), np.nan)
    for code in range(len(study.audited.table.groups.labels)):
        rows = study.group(code)
        each: Floats | None = study.curves.each(rows)
        if each is None:
            return ()
        if len(rows):
            psi[rows] = study.sign * minimum_effort(each[:, :: study.sign], study.steps, np.array([gamma]))[:, 0]
    return tuple(psi.tolist())
