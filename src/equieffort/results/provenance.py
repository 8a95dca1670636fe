"""Provenance: how an audit was made, from what, and by what; part of its file, its JSON and its report."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib.metadata import version
from math import isfinite
from typing import Any, Literal

import pandas as pd

from equieffort.effort.matching import Matching
from equieffort.errors import listed
from equieffort.foundations.arguments import is_number
from equieffort.foundations.saved import as_data, as_fields, from_data, from_fields
from equieffort.foundations.shown import Shown, Told
from equieffort.foundations.version import __version__
from equieffort.models.classifiers.naming import model_name
from equieffort.models.fidelity import RecordedDecisions, Surrogate
from equieffort.notions.collection import Notions
from equieffort.recourse.solvers import Solver
from equieffort.recourse.status import Grounds
from equieffort.recourse.table import RecourseTable
from equieffort.results.notion_details import NotionDetails
from equieffort.results.resampling import Resampled
from equieffort.words.choices import choice_text
from equieffort.words.told import provenance_told
from equieffort.world.graph import CausalGraph
from equieffort.world.scm.diagnostics import Fit
from equieffort.world.scm.records import EquationRecord


@dataclass(frozen=True)
class SolverUsed:
    """What solved everybody, and why that."""

    name: str = ""
    """As it is written in Python, with its limits."""
    grounds: Grounds | None = None
    """Why this one; None where it was not recorded."""
    random_state: int | None = None
    """Its own seed; None where it draws nothing at random."""
    certifies: bool = True
    """Whether it can prove anything."""
    kind: str = ""
    """The name of its class."""
    settings: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)
    """Its fields that are plain values, for whoever tells of it in words."""
    audience: Literal["python", "spec"] = "python"
    """Who chose it, or let it be chosen: a caller of Python, or the author of a spec."""

    @property
    def reason(self) -> str:
        """Why this one, as a sentence; empty where it was not recorded."""
        return "" if self.grounds is None else choice_text(self.grounds, self.audience)

    @classmethod
    def of(
        cls, solver: Solver, grounds: Grounds | None = None, audience: Literal["python", "spec"] = "python"
    ) -> SolverUsed:
        """What was chosen."""
        seed: Any = getattr(solver, "random_state", None)
        drawn = int(seed) if is_number(seed, whole=True) else None
        kind = type(solver).__name__
        return cls(repr(solver), grounds, drawn, bool(solver.certifies), kind, _plain_settings(solver), audience)


def _plain_settings(solver: object) -> dict[str, bool | int | float | str | None]:
    """Fields of a solver that JSON can hold as they are; one of another form may have none."""
    names = [one.name for one in fields(solver)] if is_dataclass(solver) else []
    values = {name: getattr(solver, name) for name in names}
    plain = {
        name: as_data(value)
        for name, value in values.items()
        if value is None or isinstance(value, bool | str) or is_number(value)
    }
    return {name: value for name, value in plain.items() if not isinstance(value, float) or isfinite(value)}


@dataclass(frozen=True)
class CostRecord:
    """The numbers that a cost was fixed to."""

    kind: str = ""
    """The name of its class; empty where no cost was recorded."""
    own: bool = False
    """Whether prices are relative to the person's own value."""
    prices: Mapping[str, tuple[float, float]] | None = None
    """Of weighted L1 costs: what a unit up and a unit down costs, by feature."""
    percentiles: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] | None = None
    """Of percentile costs: values and the share of people at each, by feature."""
    by_group: Mapping[str, Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]] | None = None
    """Of percentile costs within groups: the same for each group, by its label."""
    columns: tuple[str, ...] = ()
    """Of costs by group: the sensitive columns whose values the labels are."""
    rest: Mapping[str, Any] = field(default_factory=dict)
    """What another cost says of itself."""

    def __post_init__(self) -> None:
        prices = (self.prices or {}).values()
        if not all(any(pair) and all(isfinite(price) and price >= 0 for price in pair) for pair in prices):
            raise ValueError("prices are negative, infinite or all zero")
        curves = [self.percentiles or {}, *(self.by_group or {}).values()]
        for values, shares in (curve for of in curves for curve in of.values()):
            if len(values) != len(shares) or not values or not all(map(isfinite, (*values, *shares))):
                raise ValueError("percentiles are no values with a share each")

    @classmethod
    def of(cls, kind: str, said: Mapping[str, Any]) -> CostRecord:
        """From what a bound cost says of itself; that of somebody else may use our names for other things."""
        known = {name: said[name] for name in ("own", "prices", "percentiles", "columns") if name in said}
        groups = said.get("by_group")
        if isinstance(groups, Mapping) and all(set(one) == {"percentiles"} for one in groups.values()):
            known["by_group"] = {label: one["percentiles"] for label, one in groups.items()}
        rest = {name: value for name, value in said.items() if name not in known}
        try:
            return from_data(cls, as_data(cls(kind)) | as_data(known) | {"rest": as_data(rest)})
        except ValueError:
            return cls(kind, rest=as_data(said))


@dataclass(frozen=True)
class DataFile:
    """The table that a spec names."""

    path: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class ModelFile:
    """The file that the audited model was read from, or that a surrogate was kept in."""

    path: str
    sha256: str
    trusted: tuple[str, ...] = ()
    """Types in it that whoever reads it must vouch for."""


@dataclass(frozen=True)
class LetterTexts:
    """What the organisation says in letters to the people it refused; what is empty has a neutral default."""

    sender: str = ""
    """Who writes, in one or several lines."""
    review: str = ""
    """How to ask for a review; empty lines part paragraphs."""


MOST_LEFT = 10_000
"""So many of those who left are kept by name."""


@dataclass(frozen=True)
class LeftOut:
    """Who of the table left the audit, and why."""

    count: int = 0
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of which the first of them lack a value, by their label."""
    undecided: tuple[str, ...] = ()
    """The labels of the first of them who have no recorded decision."""

    def __post_init__(self) -> None:
        if self.count < len({*self.lacking, *self.undecided}):
            raise ValueError("more people are named than left the audit")

    @classmethod
    def of(cls, lacking: pd.DataFrame) -> LeftOut:
        """As many by name as are kept, from whether people lack a value, by column."""
        first, names = lacking.iloc[:MOST_LEFT], lacking.columns.to_numpy()
        rows = zip(first.index, first.to_numpy(dtype=bool), strict=True)
        return cls(len(lacking), {str(who): tuple(map(str, names[row])) for who, row in rows})

    def beside(self, undecided: pd.Index) -> LeftOut:
        """With people of whom no decision is recorded."""
        first = tuple(map(str, undecided[: max(MOST_LEFT - len(self.lacking), 0)]))
        return replace(self, count=self.count + len(undecided), undecided=first)

    def why(self, who: str) -> str:
        """Why somebody left, as a sentence; empty of anybody else."""
        if who in self.lacking:
            return f"{who!r} left the audit: no value of {listed(self.lacking[who])} is known."
        return f"{who!r} left the audit: no decision is recorded." if who in self.undecided else ""


@dataclass(frozen=True)
class EndedByClock:
    """Whose search a limit of seconds ended: another run may find something else of them."""

    count: int = 0
    first: tuple[str, ...] = ()
    """The labels of the first of them."""

    def __post_init__(self) -> None:
        if self.count < len(self.first):
            raise ValueError("more people are named than were ended by the clock")

    @classmethod
    def of(cls, table: RecourseTable) -> EndedByClock:
        """Those of a table."""
        rows = table.ended_by_clock
        return cls(len(rows), tuple(str(table.index[row]) for row in rows[:NAMED]))


NAMED = 20
"""So many people are named where all are counted."""


@dataclass(frozen=True, repr=False)
class Provenance(Shown):
    """How an audit was made, as typed data; what is empty was not recorded."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the packages that computed it, by name."""
    classifier: str = ""
    """The name of its class; of a pipeline also that of the model it ends in."""
    solver: SolverUsed = SolverUsed()
    graph: CausalGraph = field(default_factory=lambda: CausalGraph(()))
    equations: tuple[EquationRecord, ...] = ()
    edges_only: bool = False
    """Whether nothing but the graph was given, so that linear equations were fitted to the people audited."""
    learned_by: Mapping[str, str] = field(default_factory=dict)
    """What learned each equation that was not given, by node."""
    fit: tuple[Fit, ...] = ()
    """How well these equations fit."""
    cost: CostRecord = CostRecord()
    outliers: tuple[str, ...] = ()
    """Features of which one absurd value decides the scale, or how far actions may go."""
    missing: str = ""
    """What was done with people who lack a value: "error", "drop" or "model"."""
    margin: float = 0.0
    budget: float | None = None
    """The default effort at which people without recourse are counted; None where nobody has any."""
    ended_by_clock: EndedByClock = EndedByClock()
    """Who is not reproducible; everybody else is, to the bit, whoever did the work."""
    left: LeftOut = LeftOut()
    """Who of the table is not in the audit."""
    subgroups: Mapping[str, str] = field(default_factory=dict)
    """Names and rules of the subgroups that were declared."""
    title: str = ""
    command: str = ""
    """How to do it again at the command line."""
    spec: str = ""
    """The text of the spec."""
    letters: LetterTexts = LetterTexts()
    """What a spec wants letters to say."""
    suppress_below: int = 0
    """Counts below it are kept back in reports."""
    random_state: int | None = None
    """The seed of a spec."""
    data: DataFile | None = None
    learned_from: Mapping[str, DataFile] = field(default_factory=dict)
    """Tables of their own that equations and a surrogate were learned from, by their key in the spec."""
    model: ModelFile | None = None
    """Where the model can be read again; None where it came from memory and was not kept."""
    surrogate: Surrogate | None = None
    recorded: RecordedDecisions | None = None
    """Beside a surrogate: for whom it decides otherwise than the data."""
    resampled: Resampled | None = None
    matching: Matching | None = None
    """How a spec or the caller wants people matched; reports show it."""
    notions: Notions | None = None
    """Neighbouring notions as they were read while the model was at hand."""
    details: NotionDetails | None = None
    """What asking the model gave beside them, where notions were read."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Remarks of the caller's own, such as a date, shown with the evidence."""

    def _told(self) -> Told:
        return provenance_told(self)

    def __post_init__(self) -> None:
        if not isfinite(self.margin) or not (self.budget is None or (isfinite(self.budget) and self.budget > 0)):
            raise ValueError("the margin or the budget is no number that it could be")

    @property
    def guessed(self) -> tuple[str, ...]:
        """The features whose equations nobody chose: linear since only edges were given."""
        return tuple(self.learned_by) if self.edges_only else ()

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        return as_fields(self)

    @classmethod
    def from_dict(cls, saved: Any) -> Provenance:
        """From the saved form, which is refused where it holds anything else."""
        return from_fields(cls, saved, "provenance")


@cache
def versions() -> dict[str, str]:
    """What computes audits here. Read from files, once a process."""
    parts = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas", "numba")}
    return {"equieffort": __version__, "python": platform.python_version(), **parts}


def kind_of(classifier: Any) -> str:
    """The name of the classifier's class; of a pipeline also that of the model it ends in."""
    name, steps = model_name(classifier), getattr(classifier, "steps", None)
    return f"{name} ending in {type(steps[-1][1]).__name__}" if isinstance(steps, list) and steps else name
