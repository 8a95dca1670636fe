"""What a monitor remembers: what the first batch fixed, the evidence, and one line a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from equieffort.foundations.shown import Shown, Told
from equieffort.monitor.evidence import COUNT, GROUP, REFERENCE, Evidence, Peak
from equieffort.monitor.words import guarantee_lines, state_lines
from equieffort.world.groups import group_name, people_of

if TYPE_CHECKING:
    from equieffort.monitor.batches import Solved
    from equieffort.plots.evidence import MonitorPlots

MEASURES = ("restricted_effort", "burden")
"""What can be watched: the effort of refused people, and that of everybody, who is approved with none."""


@dataclass(frozen=True)
class Fixed:
    """What the first batch fixed."""

    model: str
    """Hashes of the model, of the rules of action, and of what makes costs comparable."""
    spec: str
    scales: str
    compared: tuple[tuple[str, str], ...]
    """Each protected group and whom it is compared with: another group, or everybody else."""
    labels: tuple[str, ...]
    """All groups that are known."""
    sensitive: tuple[str, ...]
    """The columns whose values name them."""
    measures: tuple[str, ...]
    tau: float
    level: float
    budget: float

    @property
    def pairs(self) -> list[tuple[str, str, str]]:
        """The comparisons: measure, group and against."""
        return [(measure, *pair) for measure in self.measures for pair in self.compared]

    def people(self, group: str) -> str:
        """The people of a group for a reader."""
        return people_of(group, self.sensitive)

    def title(self, group: str, against: str) -> str:
        """Who is compared with whom, for a reader."""
        return f"{group_name(group, self.sensitive)} against {group_name(against, self.sensitive)}"

    def sides(self, group: str, against: str) -> tuple[str, tuple[str, ...]]:
        """A group, and those on the other side of a comparison."""
        return group, (against,) if against in self.labels else tuple(k for k in self.labels if k != group)

    @property
    def alarm_at(self) -> float:
        """The evidence that raises an alarm: each comparison has its share of the chance of a false one."""
        return len(self.pairs) / (1 - self.level)


@dataclass(frozen=True)
class Reading:
    """One comparison after a batch."""

    log_e: float
    peak: float
    """The largest log evidence since the batch before: evidence may be looked at after every person."""
    side: int
    """Who needed more at that time: 0 the group, 1 the other side."""
    estimate: float
    low: float
    high: float
    least: float
    most: float
    n: int
    n_against: int


@dataclass(frozen=True)
class Batch:
    """One batch in the history."""

    name: str
    date: str
    digest: str
    ordered: bool
    people: int
    refused: int
    unsettled: int
    """Refused people who are not solved to the end."""
    readings: tuple[Reading, ...]


@dataclass(frozen=True, eq=False, repr=False)
class MonitorState(Shown):
    """The evidence so far; print it, or read `evidence`, `history` and `alarm`."""

    fixed: Fixed
    gathered: tuple[Evidence, ...] = ()
    batches: tuple[Batch, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Remarks for the reader, which no file keeps."""

    @classmethod
    def start(cls, fixed: Fixed) -> MonitorState:
        """Before the first batch."""
        return cls(fixed, tuple(Evidence.none() for _ in fixed.pairs))

    def after(self, solved: Solved, *, name: str, date: str, digest: str, ordered: bool) -> MonitorState:
        """The state after one more batch."""
        gathered, readings = [], []
        for (measure, *pair), evidence in zip(self.fixed.pairs, self.gathered, strict=True):
            people = solved.arrivals(measure, *self.fixed.sides(*pair), self.fixed.budget)
            now, peak = evidence.after(people, self.fixed.tau, self.fixed.level, ordered=ordered)
            gathered.append(now)
            readings.append(reading(now, peak))
        batch = Batch(
            name, date, digest, ordered, solved.people, solved.refused, solved.unsettled, tuple(readings)
        )  # fmt: skip
        return replace(self, gathered=tuple(gathered), batches=(*self.batches, batch))

    @property
    def alarms(self) -> dict[tuple[str, str, str], Batch]:
        """By measure, group and against: the first batch in which the evidence reached `alarm_at`."""
        limit = math.log(self.fixed.alarm_at)
        found = {}
        for k, pair in enumerate(self.fixed.pairs):
            first = next((batch for batch in self.batches if batch.readings[k].peak >= limit), None)
            if first is not None:
                found[pair] = first
        return found

    @property
    def alarm(self) -> str | None:
        """The date of the first batch that raised an alarm; None without one. An alarm stays."""
        raised = {id(batch) for batch in self.alarms.values()}
        return next((batch.date for batch in self.batches if id(batch) in raised), None)

    @property
    def evidence(self) -> pd.DataFrame:
        """A row a comparison: where it stands after the last batch."""
        alarms = self.alarms
        rows = []
        for k, (measure, group, against) in enumerate(self.fixed.pairs):
            raised = alarms.get((measure, group, against))
            row = self._row(k, self.batches[-1]) if self.batches else {}
            rows.append(
                {"measure": measure, "group": group, "against": against}
                | row
                | {"alarm_at": self.fixed.alarm_at, "alarm": None if raised is None else raised.date}
            )
        return pd.DataFrame(rows)

    @property
    def history(self) -> pd.DataFrame:
        """A row a batch and comparison."""
        rows = []
        for number, batch in enumerate(self.batches, start=1):
            about = {"batch": number, "name": batch.name, "date": batch.date, "people": batch.people}
            about |= {"refused": batch.refused, "unsettled": batch.unsettled}
            for k, (measure, group, against) in enumerate(self.fixed.pairs):
                rows.append(about | {"measure": measure, "group": group, "against": against})
                rows[-1] |= self._row(k, batch) | {"alarm_at": self.fixed.alarm_at}
        return pd.DataFrame(rows)

    @staticmethod
    def _row(k: int, batch: Batch) -> dict[str, Any]:
        one = batch.readings[k]
        row = {name: getattr(one, name) for name in ("estimate", "low", "high", "least", "most")}
        # Evidence beyond what a float can hold is still evidence: its logarithm is kept beside it.
        e = math.exp(one.log_e) if one.log_e < 700 else math.inf
        return row | {"e": e, "log_e": one.log_e, "peak": one.peak, "n": one.n, "n_against": one.n_against}

    @property
    def plot(self) -> MonitorPlots:
        """Pictures: `state.plot.evidence()`."""
        from equieffort.plots.evidence import MonitorPlots

        return MonitorPlots(self)

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold, through `exports.plain`."""
        return {
            "alarm": self.alarm,
            "batches": len(self.batches),
            "tau": self.fixed.tau,
            "level": self.fixed.level,
            "budget": self.fixed.budget,
            "alarm_at": self.fixed.alarm_at,
            "evidence": self.evidence.to_dict("records"),
            "last": self.history.to_dict("records")[-len(self.fixed.pairs) :],
        }

    def __str__(self) -> str:
        return "\n".join([*state_lines(self), *guarantee_lines(self), *self.notes])

    def _told(self) -> Told:
        first, *lines = state_lines(self)
        care = [*self.notes, *guarantee_lines(self)]
        tables = {"Evidence": self.evidence} if self.batches else {}
        return Told(first, lines, tables, care, "print(...), .evidence, .history, .plot.evidence()")


def reading(evidence: Evidence, peak: Peak) -> Reading:
    """What is shown of the evidence."""
    counts = evidence.seen[:, COUNT]
    return Reading(
        evidence.log_e,
        peak.log_e,
        peak.side,
        evidence.ratio[0],
        *evidence.interval,
        *evidence.ratio[1:],
        int(counts[GROUP]),
        int(counts[REFERENCE]),
    )
