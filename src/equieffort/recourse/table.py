"""RecourseTable: one row a person; everything above produces it, everything below only reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Encoding, Floats
from equieffort.data.on_file import OnFile
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.shown import Shown, Told
from equieffort.recourse.counterfactuals import action_costs, propagate_as_stored, settings, with_columns
from equieffort.recourse.lacking import Lacking
from equieffort.recourse.level_prices import in_places
from equieffort.recourse.limits import Limit, limits
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import PreparedSolver, Solver
from equieffort.recourse.status import CLOCKS, Infeasibility, Reason, Status, Termination
from equieffort.world.groups import Groups
from equieffort.world.schema import Schema

Rows = slice | npt.NDArray[Any]
"""Whatever selects rows of an array."""
Audience = Literal["python", "spec"]
ByColumn = Literal["facts", "moved", "is_set", "costs"]
STORED = ("status", "cost", "bound", "intervention_mask", "delta", "level", "vanishing")
"""The arrays of a table itself; the others are what readers may ask its source for."""


class Led(NamedTuple):
    """What a table can be asked of some people beyond what it stores."""

    facts: Floats
    moved: Floats
    costs: Floats
    values: Floats
    outside: Bools


class TableSource(ABC):
    """What a table can be asked beyond what it stores: computed from the problem, or read from a file."""

    schema: Schema
    encoding: Encoding
    data: pd.DataFrame
    """The audited people, with the caller's index."""

    def columns(self, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """The columns that a rule of a subgroup is asked about; those of `names` at least, as far as there are any."""
        return {str(name): self.data[name].to_numpy() for name in self.data.columns}

    @abstractmethod
    def facts(self, rows: Rows) -> Floats:
        """Factual people, encoded."""

    @abstractmethod
    def interventions(self, table: RecourseTable, rows: Rows) -> tuple[Bools, Floats]:
        """Which columns are set for whom, and the values they are set to."""

    @abstractmethod
    def moved(self, table: RecourseTable, rows: Rows) -> Floats:
        """Counterfactual people, encoded; the facts where there is no action."""

    @abstractmethod
    def costs(self, table: RecourseTable, rows: Rows) -> Floats:
        """What each actionable feature contributes to the cost."""

    def by_column(self, table: RecourseTable, what: ByColumn) -> Any:
        """Of everybody, what is asked for one column after the other: the facts, the counterfactuals, whether an
        actionable feature is set, or what it contributes to the cost. At least `found[:, k]` and `found[rows, k]` can
        be asked."""
        everybody = slice(None)
        if what == "facts":
            return self.facts(everybody)
        if what == "is_set":
            return self.interventions(table, everybody)[0] & table.has_action[:, None]
        return self.moved(table, everybody) if what == "moved" else self.costs(table, everybody)

    def counts(self, table: RecourseTable) -> tuple[int, ...]:
        """How many people have each status."""
        return tuple(np.bincount(table.status, minlength=len(Status)).tolist())

    def having(self, table: RecourseTable, *wanted: Status) -> npt.NDArray[np.intp]:
        """The rows of whoever has one of these statuses."""
        return np.flatnonzero(np.isin(table.status, wanted))

    @abstractmethod
    def outside(self, rows: Rows = slice(None)) -> Bools:
        """Who starts outside the declared limits, which are then widened to the fact."""

    def led(self, table: RecourseTable, rows: Rows) -> Led:
        """All of these of some people, where that is sooner had at once."""
        values = self.interventions(table, rows)[1]
        return Led(self.facts(rows), self.moved(table, rows), self.costs(table, rows), values, self.outside(rows))

    @abstractmethod
    def reasons(self, table: RecourseTable, rows: Sequence[int]) -> list[Reason | None]:
        """For rows without an action what stands in the way, or why nothing is known; otherwise None."""


@dataclass(frozen=True, eq=False, repr=False)
class RecourseTable(Shown):
    """What is known of each person's recourse, in the order of the data.

    Only the set of interventions, the changes, cost, bound and status are stored; the rest is computed when read.
    """

    source: TableSource
    groups: Groups
    status: npt.NDArray[np.int8]
    cost: Floats
    bound: Floats
    intervention_mask: Bools
    """(person, actionable feature): which of acts are set."""
    delta: Floats
    """Change of each numeric actionable feature."""
    level: npt.NDArray[np.int16]
    """Level each actionable category is set to, or -1."""
    notes: dict[int, Termination] = field(default_factory=dict)
    """Why a row is unknown, or not solved to the end."""
    ceilings: dict[int, float] = field(default_factory=dict)
    """By row, where the recourse is unknown: the most that an allowed action can cost, where that has a limit."""
    vanishing: Bools = None  # type: ignore[assignment]
    """Whose effort the solver states to vanish: actions cost as little as one likes (a step over an open boundary)."""
    audience: Audience = "python"
    """Whom sentences about single people speak to: whoever calls Python, or whoever writes a spec."""

    def __post_init__(self) -> None:
        n = len(self.status)
        if self.vanishing is None:
            object.__setattr__(self, "vanishing", np.zeros(n, dtype=bool))
        columns = (self.groups.codes, *(getattr(self, name) for name in STORED))
        known = isinstance(self.status, OnFile) or np.isin(self.status, list(Status)).all()
        if any(len(column) != n for column in columns) or not known:
            raise ParameterError(
                "PARAMETER",
                f"The table of {n:,} people has a column of another length, or a status that is none.",
                fix="Give each person one value in every column, and a Status from 0 to 4.",
            )

    @classmethod
    def blank(cls, source: TableSource, groups: Groups) -> RecourseTable:
        """Nobody needs anything yet."""
        n = len(groups.codes)
        numeric, categorical = split_actions(source.schema, source.encoding)
        return cls(
            source, groups,
            np.zeros(n, dtype=np.int8), np.full(n, np.nan), np.full(n, np.nan),
            np.zeros((n, len(numeric) + len(categorical)), dtype=bool),
            np.zeros((n, len(numeric))), np.full((n, len(categorical)), -1, dtype=np.int16),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.status)

    @property
    def data(self) -> pd.DataFrame:
        """The audited people."""
        return self.source.data

    @property
    def index(self) -> pd.Index:
        """The caller's labels, or positions where those are not unique."""
        return self.data.index if self.data.index.is_unique else pd.RangeIndex(len(self.data))

    @property
    def acts(self) -> tuple[int, ...]:
        """Positions of the actionable features in the encoding: numbers first, then categories."""
        numeric, categorical = split_actions(self.source.schema, self.source.encoding)
        return numeric + categorical

    @property
    def is_unfavourable(self) -> Bools:
        """Who was decided unfavourably."""
        return self.status != Status.NOT_NEEDED

    @property
    def has_action(self) -> Bools:
        """Who has an action."""
        return (self.status == Status.OPTIMAL) | (self.status == Status.FEASIBLE)

    @property
    def effort(self) -> Floats:
        """The cost of each action, NaN without one; 0 where it is proven to vanish (a step over an open boundary)."""
        return known_efforts(self.status, self.cost, self.vanishing)

    @property
    def ceiling(self) -> Floats:
        """The most that an allowed action can cost where the recourse is unknown; infinite where nothing limits it."""
        return open_ceilings(self.status, self.ceilings)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many people have each status."""
        return self.source.counts(self)

    @property
    def ended_by_clock(self) -> list[int]:
        """The rows whose search a limit of seconds ended, so that another run may end elsewhere."""
        return sorted(row for row, note in self.notes.items() if note.kind in CLOCKS)

    @property
    def is_unsettled(self) -> Bools:
        """Who has an action that may not be the cheapest, or nothing known at all."""
        return (self.status == Status.FEASIBLE) | (self.status == Status.UNKNOWN)

    def counterfactuals(self) -> pd.DataFrame:
        """The data as it would be after each person's action; the facts where there is none."""
        encoding = self.source.encoding
        facts, moved = self.source.facts(slice(None)), self.source.moved(self, slice(None))
        changed = {
            column.name: column.decode(moved[:, k])
            for k, column in enumerate(encoding.columns)
            if not np.array_equal(facts[:, k], moved[:, k], equal_nan=True)
        }
        return with_columns(self.data, changed)

    def reasons(self) -> list[Reason | None]:
        """What stands in the way, why nothing is known, or why the search for a cheaper action ended; else None."""
        return self._reasons(slice(None))

    def _reasons(self, rows: slice) -> list[Reason | None]:
        first, last, _ = rows.indices(len(self))
        found: list[Reason | None] = [None] * (last - first)
        whom = (first + np.flatnonzero(self.status[rows] >= Status.FEASIBLE)).tolist()
        for row, fact in zip(whom, self.source.reasons(self, whom), strict=True):
            found[row - first] = fact
        return found

    def told(self, reasons: Sequence[Reason | None], audience: Literal["letter"] | None = None) -> list[str]:
        """Reasons as sentences for those who read the table, or a letter; empty where there is none."""
        from equieffort.words.reasons import told

        schema = self.source.schema
        names, rules = schema.names, schema.told_rules
        return ["" if reason is None else told(reason, audience or self.audience, names, rules) for reason in reasons]

    def _told(self) -> Told:
        from equieffort.words.recourse import table_told

        return table_told(self)

    @overload
    def frame(self, *, output: Pandas = ..., reasons: bool = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other, reasons: bool = ...) -> Any: ...
    def frame(self, *, output: Output = "pandas", reasons: bool = True) -> Any:
        """The table: group, status, cost, bound, do_* (value set), delta_* (change), outside_limits, reason.

        A row without an action has no cost (NaN). The bound of an infeasible row is infinite. `output` is "pandas",
        "polars" or "pyarrow"; the last two have the labels of people as a column. Asking for the reasons of people
        who have no action takes about as long as solving them; without `reasons` they are left out.
        """
        return as_output(self.part(reasons=reasons), output)

    def part(self, rows: slice = slice(None), *, reasons: bool = True) -> pd.DataFrame:
        """Some rows of `frame()`."""
        is_set, values = self.source.interventions(self, rows)
        columns: dict[str, Any] = {
            "group": np.array(self.groups.labels, dtype=object)[self.groups.codes[rows]],
            "status": np.array([status.text for status in Status], dtype=object)[self.status[rows]],
            "cost": self.cost[rows],
            "bound": self.bound[rows],
        }
        acting = self.has_action[rows]
        for b, k in enumerate(self.acts):
            column, picked = self.source.encoding.columns[k], is_set[:, b] & acting
            if column.is_category:
                levels = np.array([None, *column.levels], dtype=object)
                columns[f"do_{column.name}"] = levels[np.where(picked, values[:, b] + 1, 0).astype(np.intp)]
            else:
                columns[f"do_{column.name}"] = np.where(picked, values[:, b], np.nan)
        for j in range(self.delta.shape[1]):
            name = self.source.encoding.columns[self.acts[j]].name
            columns[f"delta_{name}"] = np.where(is_set[:, j] & acting, self.delta[rows, j], np.nan)
        columns["outside_limits"] = self.source.outside(rows)
        if reasons:
            columns["reason"] = self.told(self._reasons(rows))
        return pd.DataFrame(columns, index=self.index[rows])


def known_efforts(status: npt.NDArray[np.int8], cost: Floats, vanishing: Bools) -> Floats:
    """The cost of each action, NaN without one; 0 where it is proven to vanish."""
    acting = (status == Status.OPTIMAL) | (status == Status.FEASIBLE)
    return np.where(acting, np.where(vanishing, 0.0, cost), np.nan)


def open_ceilings(status: npt.NDArray[np.int8], ceilings: Mapping[int, float]) -> Floats:
    """The most that an action can cost where the recourse is unknown; infinite where nothing limits it."""
    found = np.where(status == Status.UNKNOWN, np.inf, np.nan)
    for row, most in ceilings.items():
        found[row] = most
    return found


def split_actions(schema: Schema, encoding: Encoding) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the numeric and of the categorical actionable features."""
    numeric = tuple(encoding.position(n) for n in schema.actionable if not encoding[n].is_category)
    return numeric, tuple(encoding.position(n) for n in schema.actionable if encoding[n].is_category)


@dataclass(frozen=True, eq=False)
class SolvedSource(TableSource):
    """Computed from the problem when asked."""

    problem: RecourseProblem
    solver: Solver
    prepared: PreparedSolver
    """The solver, prepared for the problem in scaled units."""
    data: pd.DataFrame
    lacking: Lacking
    """The problems of people who lack values."""
    known: dict[int, Infeasibility] = field(default_factory=dict)
    """What the solver said of infeasible rows: it takes as long as solving them, and table, file and report ask."""
    further: Solver | None = None
    """The last solver that people were solved further with."""

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """The problem's schema."""
        return self.problem.schema

    @property
    def encoding(self) -> Encoding:  # type: ignore[override]
        """The problem's encoding."""
        return self.problem.encoding

    def facts(self, rows: Rows) -> Floats:
        """Factual people, encoded."""
        return self.problem.encoding.encode(self.data.iloc[rows])

    def interventions(self, table: RecourseTable, rows: Rows) -> tuple[Bools, Floats]:
        """Which actionable features are set for whom, and to which values."""
        acts = list(self.problem.acts)
        picked, values = self._settings(table, rows, self.facts(rows))
        return picked[:, acts], values[:, acts]

    def moved(self, table: RecourseTable, rows: Rows) -> Floats:
        """Counterfactual people by the structural equations."""
        facts = self.facts(rows)
        return propagate_as_stored(self.problem, facts, *self._settings(table, rows, facts))[0]

    def costs(self, table: RecourseTable, rows: Rows) -> Floats:
        """What each actionable feature contributes to the cost."""
        facts = self.facts(rows)
        return action_costs(self.problem, facts, *self._settings(table, rows, facts))

    def outside(self, rows: Rows = slice(None)) -> Bools:
        """Who starts outside the declared limits."""
        return self.problem.outside(self.facts(rows))

    def led(self, table: RecourseTable, rows: Rows) -> Led:
        """People encoded once, and what is set worked out once."""
        problem, facts = self.problem, self.facts(rows)
        picked, values = self._settings(table, rows, facts)
        moved = propagate_as_stored(problem, facts, picked, values)[0]
        costs = action_costs(problem, facts, picked, values)
        return Led(facts, moved, costs, values[:, list(problem.acts)], problem.outside(facts))

    def reasons(self, table: RecourseTable, rows: Sequence[int]) -> list[Reason | None]:
        """Asked of the solver, once, for infeasible rows; noted when solving for others."""
        stuck = {row for row in rows if table.status[row] == Status.INFEASIBLE}
        new = sorted(stuck - self.known.keys())
        if new:
            self._ask(new)
        return [self.known[row] if row in stuck else table.notes.get(row) for row in rows]

    def _ask(self, rows: list[int]) -> None:
        """What stands in the way of infeasible people, asked of the problem that was solved for them."""
        problem, everyone = self.problem.scaled, self.problem.scaled.encoding.encode(self.data.iloc[rows])
        patterns = self.lacking.patterns(everyone)
        gone = {at for mine in patterns.values() for at in mine}
        parts = {(): [at for at in range(len(rows)) if at not in gone]} | patterns
        for pattern, mine in parts.items():
            own = self.lacking.of(pattern, self.data.iloc[[rows[at] for at in mine]]) if pattern else self
            assert not isinstance(own, Termination)
            found = own.prepared.infeasibility(problem.filled(everyone[mine])) if mine else []
            for at, one in zip(mine, found, strict=True):
                _check_reason(problem, self.solver, one)
                self.known[rows[at]] = one

    def _settings(self, table: RecourseTable, rows: Rows, facts: Floats) -> tuple[Bools, Floats]:
        return settings(self.problem, facts, table.intervention_mask[rows], table.delta[rows], table.level[rows])


def _check_reason(problem: RecourseProblem, solver: Solver, reason: Any) -> None:
    """Refuse what is no fact, or a fact about another problem: neither could be counted, saved or told."""
    name, fix = type(solver).__name__, "Return facts: ee.solvers.Infeasibility((Obstacle(...),), ...)."
    check_instance(f"what {name} says of an infeasible person", reason, Infeasibility, "an Infeasibility", fix=fix)
    rules = {str(link) for link in problem.schema.constraints}
    strange = [column for column in reason.named if column not in problem.names]
    strange += [one.rule for one in reason.obstacles if one.rule and one.rule not in rules]
    if strange:
        raise ParameterError(
            "PARAMETER",
            f"What {name} says of an infeasible person names {strange[0]!r}, which is no column and no rule here.",
            fix="Name columns as in problem.names, and rules by their text, str(link).",
        )


def starts_outside(schema: Schema, encoding: Encoding, facts: Floats) -> list[tuple[str, Limit, Bools]]:
    """Feature, limit, and who starts beyond it; limits that nobody is beyond are left out."""
    found = []
    for k, column in enumerate(encoding.columns):
        feature = schema.feature(column.name)
        values = in_places(feature, column, facts[:, k])
        for limit in limits(feature):
            who = values > limit.value if limit.side > 0 else values < limit.value
            if not limit.relative and who.any():
                found.append((column.name, limit, who))
    return found
