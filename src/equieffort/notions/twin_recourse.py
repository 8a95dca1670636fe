"""The recourse of people's twins, solved in one batch with the audit's own problem."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, nan, sqrt

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from equieffort.data.frames import Bools, Encoding, Floats
from equieffort.effort.stats import certain_bounds
from equieffort.errors import EquieffortWarning
from equieffort.foundations.progress import Progress
from equieffort.notions.base import Audited
from equieffort.notions.twins import Codes, Levels, twins_at
from equieffort.recourse.counterfactuals import with_columns
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable

OUTCOMES = (
    "compared", "unknown", "twin approved", "own without recourse", "twin without recourse", "both without recourse",
    "no twin",
)  # fmt: skip
"""What became of a person and a twin. Only the first have a gap; "unknown" may have one, and the others have none."""
COMPARED, UNKNOWN, APPROVED, OWN_STUCK, TWIN_STUCK, BOTH_STUCK, NO_TWIN = range(len(OUTCOMES))


@dataclass(frozen=True, eq=False)
class TwinRecourse:
    """Refused people, each beside their twins at every other level: one entry a person and level."""

    person: Codes
    """Rows of the audit's table."""
    level: Codes
    own: RecourseTable
    exists: Bools
    solved: RecourseTable | None
    """Of the twins that exist, in order; None where there are none."""

    def _twins(self, values: npt.NDArray[np.generic], without: float) -> Floats:
        found = np.full(len(self.person), without)
        found[self.exists] = values
        return found

    @cached_property
    def own_status(self) -> npt.NDArray[np.int8]:
        """Of the person."""
        return self.own.status[self.person]

    @cached_property
    def twin_status(self) -> npt.NDArray[np.int8]:
        """Of the twin; -1 where there is none."""
        return self._twins(np.empty(0) if self.solved is None else self.solved.status, -1).astype(np.int8)

    @cached_property
    def twin_effort(self) -> Floats:
        """NaN without an action."""
        return self._twins(np.empty(0) if self.solved is None else self.solved.effort, nan)

    @cached_property
    def outcome(self) -> npt.NDArray[np.int8]:
        """By position in `OUTCOMES`; what excludes a comparison for certain comes before what is not known."""
        mine, theirs = self.own_status, self.twin_status
        stuck = mine == Status.INFEASIBLE, theirs == Status.INFEASIBLE
        conditions = [
            ~self.exists, theirs == Status.NOT_NEEDED, stuck[0] & stuck[1], stuck[0], stuck[1],
            (mine == Status.UNKNOWN) | (theirs == Status.UNKNOWN),
        ]  # fmt: skip
        codes = [NO_TWIN, APPROVED, BOTH_STUCK, OWN_STUCK, TWIN_STUCK, UNKNOWN]
        return np.select(conditions, codes, COMPARED).astype(np.int8)

    @cached_property
    def gap(self) -> Floats:
        """abs(C(x, s) - C(twin)); NaN where they are not compared."""
        apart = np.abs(self.own.effort[self.person] - self.twin_effort)
        return np.where(self.outcome == COMPARED, apart, nan)

    @cached_property
    def certain(self) -> tuple[Floats, Floats]:
        """Between which gaps the true one lies; also of the unknown, if they have one. NaN for all others."""
        low, high = _range(self.own)
        low, high = low[self.person], high[self.person]
        ends = (np.empty(0), np.empty(0)) if self.solved is None else _range(self.solved)
        their_low, their_high = (self._twins(end, nan) for end in ends)
        open_ = self.outcome <= UNKNOWN
        with np.errstate(invalid="ignore"):
            least = np.maximum(0.0, np.maximum(low - their_high, their_low - high))
            most = np.maximum(high - their_low, their_high - low)
        return np.where(open_, least, nan), np.where(open_, most, nan)

    @property
    def is_proven(self) -> bool:
        """Whether everybody who is compared, or could be, is solved to the end."""
        open_ = self.outcome <= UNKNOWN
        unsure = (Status.FEASIBLE, Status.UNKNOWN)
        return not bool((np.isin(self.own_status, unsure) | np.isin(self.twin_status, unsure))[open_].any())


def solve_twins(
    audited: Audited, problem: RecourseProblem, rows: Codes, progress: Progress | None = None
) -> tuple[Levels, TwinRecourse]:
    """Each of these people at every other level, solved with the same limits, prices and solver.

    What is relative to a person's own value (`max_increase`, `direction`, a range that the fact lies outside) is
    relative to the twin's. Whole numbers that people act on must stay whole, so that those of a twin are rounded.
    """
    table = audited.table
    levels = Levels.of(problem, table.data)
    to = np.array(levels.codes, dtype=np.intp)
    person, level = np.repeat(rows, len(to)), np.tile(to, len(rows))
    other = levels.groups.codes[person] != level
    person, level = person[other], level[other]
    if not len(person):
        return levels, TwinRecourse(person, level, table, np.zeros(0, dtype=bool), None)
    data = table.data.iloc[person].set_axis(pd.RangeIndex(len(person)))
    twins = twins_at(problem, data, levels, level)
    if not twins.exists.any():
        return levels, TwinRecourse(person, level, table, twins.exists, None)
    frame, typed = _as_facts(problem, twins.frame[twins.exists])
    groups = replace(levels.groups, codes=level[twins.exists].astype(np.int16))
    with warnings.catch_warnings():
        # What there is to say of twins is counted in the result; the audit has remarked on the people themselves.
        warnings.simplefilter("ignore", EquieffortWarning)
        solved = solve(typed, People(typed, frame, groups), solver=audited.choice, progress=progress or False)
    return levels, TwinRecourse(person, level, table, twins.exists, solved)


def _as_facts(problem: RecourseProblem, frame: pd.DataFrame) -> tuple[pd.DataFrame, RecourseProblem]:
    """Twins as a problem takes people: whole numbers that are acted on are rounded, others may be fractions."""
    columns, rounded = [], {}
    for column in problem.encoding.columns:
        values = frame[column.name]
        if column.is_whole and (amounts := column.encode(values)).size and np.any(amounts != np.rint(amounts)):
            if column.name in problem.schema.actionable:
                whole = np.rint(amounts)
                rounded[column.name] = np.clip(whole, 0, 1) if column.kind == "binary" else whole
            else:
                column = replace(column, kind="continuous")
        columns.append(column)
    frame = with_columns(frame, rounded)
    if columns != list(problem.encoding.columns):
        problem = replace(problem, encoding=Encoding(tuple(columns)))
    return frame, problem.typed(frame)


def _range(table: RecourseTable) -> tuple[Floats, Floats]:
    """The least and the most that recourse costs, where there is or may be one."""
    acting, unknown = table.has_action, table.status == Status.UNKNOWN
    low, high = np.full(len(table), nan), np.full(len(table), nan)
    low[acting], high[acting] = certain_bounds(table.effort[acting], table.bound[acting]), table.effort[acting]
    low[unknown], high[unknown] = table.bound[unknown], table.ceiling[unknown]
    return low, high


@dataclass(frozen=True)
class Gaps:
    """Mean and maximum of the gaps of some entries, with what is certain of both and the interval of the mean."""

    n: int = 0
    n_people: int = 0
    mean: float = nan
    low: float = nan
    high: float = nan
    mean_least: float = nan
    mean_most: float = nan
    max: float = nan
    max_least: float = nan
    max_most: float = nan
    note: str = ""

    @classmethod
    def of(cls, found: TwinRecourse, members: Bools, level: float) -> Gaps:
        """Of the members: entries of a person count as one draw."""
        compared = members & (found.outcome == COMPARED)
        unknown = members & (found.outcome == UNKNOWN)
        least, most = found.certain
        if not compared.any():
            return cls(note="UNCERTIFIED" if unknown.any() else _why_none(found.outcome[members]))
        gaps = found.gap[compared]
        persons, counts = np.unique(found.person[compared], return_counts=True)
        sums = np.asarray(np.bincount(np.searchsorted(persons, found.person[compared]), weights=gaps), dtype=np.float64)
        mean = float(gaps.mean())
        low, high, note = _mean_limits(sums, counts, mean, level)
        notes = [note] if note else []
        if unknown.any() or (found.certain[0] != found.certain[1])[compared].any():
            notes += [] if found.is_proven else ["UNCERTIFIED"]
        return cls(
            len(gaps), len(persons), mean, low, high,
            _extreme_mean(least[compared], least[unknown], -1), _extreme_mean(most[compared], most[unknown], 1),
            float(gaps.max()), float(least[compared].max()), float(most[compared | unknown].max()), " ".join(notes),
        )  # fmt: skip


def _why_none(outcome: npt.NDArray[np.int8]) -> str:
    """Why nobody is compared: no twins, nobody with a route on both sides, or twins who need none."""
    left = set(outcome.tolist())
    if not left:
        return "NO_REFUSED"
    notes = ["NO_TWIN"] if NO_TWIN in left else []
    notes += ["NO_RECOURSE"] if left & {OWN_STUCK, TWIN_STUCK, BOTH_STUCK} else []
    return " ".join([*notes, "NOTHING_DEFINED"] if APPROVED in left else notes)


def _mean_limits(sums: Floats, counts: npt.NDArray[np.intp], mean: float, level: float) -> tuple[float, float, str]:
    """Of a mean over entries, with people as draws: a ratio of sums, linearised, on the log scale."""
    n = len(sums)
    if n < 2:
        return nan, nan, "TOO_FEW"
    around = sums - mean * counts
    spread = sqrt(n / (n - 1) * float((around**2).sum())) / float(counts.sum())
    if not (spread > 0 and mean > 0):
        return nan, nan, "NO_SPREAD"
    half = float(stdtrit(n - 1, (1 + level) / 2)) * spread / mean
    return mean * exp(-half), mean * exp(half) if half < 700 else inf, ""


def _extreme_mean(sure: Floats, maybe: Floats, side: int) -> float:
    """The least (side -1) or largest (+1) mean of the sure values and any of the others."""
    total, n = float(sure.sum()), len(sure)
    for value in np.sort(maybe)[::-side].tolist():
        if side * (value - total / n) <= 0:
            break
        total, n = total + value, n + 1
    return total / n
