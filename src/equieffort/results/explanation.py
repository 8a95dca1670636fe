"""What one person can do: which steps, what follows from them, and what it costs, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats, number, reads_as_number
from equieffort.foundations.arguments import as_plain
from equieffort.foundations.shown import Shown, Told
from equieffort.models.fidelity import RecordedDecisions
from equieffort.recourse.limits import limits
from equieffort.recourse.solvers import Status
from equieffort.recourse.status import ACTING
from equieffort.recourse.table import RecourseTable, SolvedSource
from equieffort.words.recourse import NOT_A_REASON
from equieffort.words.ways import ENDINGS, Further, assumed_linear, at_most, way_heading
from equieffort.world.labels import BETWEEN, NO_LABELS, Labels
from equieffort.world.schema import AssumedLimit

LOOKED_AT = 1000
ASSUMED = (
    "Assumed limits: nobody declared how far these may be set, so actions stay within the observed values. "
    "Declare lower and upper, or an infinity for no limit."
)
"""From so many people it is read how finely a feature is measured."""


@dataclass(frozen=True)
class Step:
    """One feature of the counterfactual: set, held, or following."""

    feature: str
    kind: str
    """"set", "hold" or "follows"."""
    before: Any
    after: Any
    cost: float
    places: int | None = None
    """Decimals worth showing: one more than the data have."""
    least: float = float("-inf")
    most: float = float("inf")
    """Where the person may set it; what is shown stays inside."""
    labels: Labels = NO_LABELS
    """What readers call features and levels."""
    is_zero_one: bool = False
    """Whether people have 0 or 1; an equation may still lead in between, which is then an average."""

    @property
    def name(self) -> str:
        """The feature for a reader."""
        return self.labels.feature(self.feature)

    def told(self, value: Any) -> str:
        """A value for a reader: a level by its label."""
        return self.labels.level(self.feature, value) or written(value)

    @property
    def shown(self) -> Any:
        """The value as it is shown: one that is set is rounded away from the fact, so that doing it is enough."""
        if isinstance(self.after, str | bool | int):
            return self.after
        if self.kind != "set":
            # What only follows is an estimate, and nobody has to reach it: the change to three digits will do.
            places = change_places(self.before, self.after)
            return round(self.after, places if self.places is None else min(self.places, places))
        coarse = round_away(self.before, self.after, places=self.places)
        return coarse if self.least <= coarse <= self.most else round_away(self.before, self.after)

    @property
    def reached(self) -> str:
        """The value as it is shown, for a reader; one that no single person has is said to be an average."""
        told = self.told(self.shown)
        return f"{told} on average" if self.is_zero_one and self.shown not in (0, 1) else told

    @property
    def is_seen(self) -> bool:
        """Whether it can be seen at the decimals that are shown: less than that is not worth a reader's line."""
        return self.kind != "follows" or self.told(self.before) != self.told(self.shown)

    def __str__(self) -> str:
        before, after = self.told(self.before), self.reached
        if self.kind == "hold":
            return f"keep {self.name} at {before} although its causes change"
        is_named = isinstance(self.before, str | bool) or before != written(self.before)
        moved = "" if is_named else f" ({_signed(self.shown - self.before)})"
        verb = "set" if self.kind == "set" else "then follows"
        if self.kind == "set":
            return f"{verb} {self.name} from {before} to {after}{moved}, cost {self.cost:.4g}"
        return f"{self.name} {verb} from {before} to {after}{moved}"


def _signed(value: float) -> str:
    return number(value) if value < 0 else f"+{number(value)}"


def change_places(before: float, after: float) -> int:
    """The decimals that show a change to three digits.

    >>> change_places(8.4, 12.6879), change_places(8.4, 8.40123), change_places(10, 5210.37)
    (2, 5, 0)
    """
    change = abs(after - before)
    return 0 if not np.isfinite(change) or change == 0 else max(0, 2 - int(np.floor(np.log10(change))))


def round_away(fact: float, value: float, digits: int = 6, places: int | None = None) -> float:
    """The value with a few digits, rounded away from the fact: the last step over a boundary is not rounded off.

    >>> round_away(30, 40.5000000001), round_away(30, 12.3456789), round_away(30, 40.5)
    (40.5001, 12.3456, 40.5)
    >>> round_away(30, 40.51, places=1), round_away(50, 40.51, places=1)
    (40.6, 40.5)
    """
    if value in (0.0, fact) or not np.isfinite(value):
        return value
    most = digits - 1 - int(np.floor(np.log10(abs(value))))
    places = most if places is None else min(places, most)
    near = round(value, places)
    if (near - value) * (value - fact) >= 0:
        return near
    return round(near + float(np.copysign(10.0**-places, value - fact)), places)


def written(value: Any) -> str:
    """A value as it is shown to people."""
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else number(value)


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """A person's recourse; print it, or take its `frame()`."""

    person: Any
    group: str
    status: str
    cost: float
    bound: float
    steps: tuple[Step, ...]
    reason: str
    surrogate: str = ""
    """The kind of model that stands in for the system, if one does."""
    recorded: str = ""
    """Beside a surrogate what was decided according to the data: "favourable" or "unfavourable"."""
    max_actions: int | None = None
    """How many features may be changed at once, where that is limited."""
    alternatives: tuple[Explanation, ...] = ()
    """The next cheapest ways, each of which leaves a feature of every way before it unchanged."""
    further: Further = ""
    """Whether there is a way beyond these, where fewer were found than asked for: "none" is proven, or "unknown"."""
    called: str = ""
    """What readers call the group: its label, or with its column where it is a number; empty where its name says it."""
    guessed: tuple[str, ...] = ()
    """What follows by a linear equation that nobody declared, where only edges were given."""
    labels: Labels = NO_LABELS
    """What readers call features."""

    @property
    def actions(self) -> tuple[Step, ...]:
        """What the person does: features that are set to another value, or held at their own."""
        return tuple(step for step in self.steps if step.kind != "follows")

    @property
    def follows(self) -> tuple[Step, ...]:
        """What follows from that."""
        return tuple(step for step in self.steps if step.kind == "follows")

    @property
    def changed(self) -> tuple[str, ...]:
        """The features that the person changes."""
        return tuple(step.feature for step in self.steps if step.kind == "set")

    @property
    def ways(self) -> tuple[Explanation, ...]:
        """Every way there is, the cheapest first; empty without one."""
        return (self, *self.alternatives) if self.actions else ()

    def frame(self) -> pd.DataFrame:
        """One row a step or consequence; with alternatives each row says of which way, 1 being the cheapest."""
        columns = ["feature", "kind", "before", "after", "cost"]
        rows = [(n, step) for n, way in enumerate(self.ways, start=1) for step in way.steps]
        found = pd.DataFrame([[getattr(step, name) for name in columns] for _, step in rows], columns=columns)
        if self.alternatives:
            found.insert(0, "way", [n for n, _ in rows])
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain data that JSON can hold; a cost or a bound that is no number is None."""
        said: dict[str, Any] = {
            "person": as_plain(self.person),
            "group": self.group,
            "status": self.status,
            "cost": _finite(self.cost),
            "bound": _finite(self.bound),
            "actions": [_plain_step(step) for step in self.actions],
            "follows": [_plain_step(step) for step in self.follows],
            "reason": self.reason,
        }
        if self.surrogate:
            said |= {"surrogate": self.surrogate, "recorded": self.recorded}
        if self.guessed:
            said["assumed_linear"] = list(self.guessed)
        return said | {
            "max_actions": self.max_actions,
            "alternatives": [
                {key: way[key] for key in ("status", "cost", "bound", "actions", "follows", "reason")}
                for way in (one.to_dict() for one in self.alternatives)
            ],
            "further": self.further,
        }

    def __str__(self) -> str:
        lines = [f"{self._who()}: {self._answer()}", *_numbered(self)]
        for n, way in enumerate(self.alternatives, start=2):
            lines += [way_heading(n, way.cost, way.status, way.bound), *_numbered(way)]
        lines += [ENDINGS[self.further]] if self.further else []
        return "\n".join([*lines, *self._caveats()])

    def _caveats(self) -> list[str]:
        """What else must be known of it."""
        whose = [self._whose()] if self.surrogate else []
        return [*whose, assumed_linear(self.guessed, self.labels)] if self.guessed else whose

    def _who(self) -> str:
        name = "This person" if self.person is None else f"Person {self.person}"
        group = self.called or self.group
        return name + (f" ({group})" if group else "")

    def _answer(self) -> str:
        whose, few = "the surrogate's decision" if self.surrogate else "the decision", at_most(self.max_actions)
        if self.status == "not_needed":
            return f"{whose} is favourable already; nothing is needed."
        if self.status == "infeasible":
            return f"no allowed action{few} turns {whose}. {self.reason}"
        if self.status == "unknown":
            return f"no action{few} was found and none was excluded. {self.reason}"
        sure = f"no cheaper action{few} exists"
        if self.status != "optimal":
            sure = f"no action{few} costs less than {self.bound:.4g}"
        if self.status == "feasible" and self.bound == 0:
            sure = "what the cheapest costs is not known"
        why = f" {self.reason}" if self.reason else ""
        return f"turns {whose} at a cost of {self.cost:.4g}; {sure}.{why}"

    def _whose(self) -> str:
        text = f"This is about a {self.surrogate} model trained on the decisions, not about the system that made them."
        decided = "favourable" if self.status == "not_needed" else "unfavourable"
        if not self.recorded:
            return text
        if self.recorded == decided:
            return f"{text} The recorded decision is {self.recorded} too."
        return (
            f"{text} The recorded decision is {self.recorded}: for this person the surrogate decides otherwise, "
            "and nothing here says how to turn it."
        )

    def _told(self) -> Told:
        first, *lines = str(self).split("\n")
        caveats = self._caveats()
        lines = lines[: len(lines) - len(caveats)]
        care = [*caveats, *([NOT_A_REASON] if self.steps else [])]
        shown = self.frame()
        shown["feature"] = [step.labels.feature(step.feature) for way in self.ways for step in way.steps]
        return Told(
            first,
            lines,
            {"": shown} if self.steps else {},
            care,
            ".frame(), .actions, .alternatives, .to_dict()",
        )


def _numbered(way: Explanation) -> list[str]:
    """What is done and what follows, a line each."""
    lines = [f"  {n}. {step}" for n, step in enumerate(way.actions, start=1)]
    return lines + [f"  -> {step}" for step in way.follows if step.is_seen]


def _plain_step(step: Step) -> dict[str, Any]:
    """A step as plain data; `shown` is rounded so that doing it is enough."""
    return {
        "feature": step.feature, "kind": step.kind, "before": step.before, "after": step.after,
        "shown": as_plain(step.shown), "cost": step.cost,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


@dataclass(frozen=True, eq=False, repr=False)
class Recorded(Shown):
    """What was decided of each person according to the data, beside a surrogate that decides anew."""

    is_known: Bools
    is_favourable: Bools
    """Meaningful where it is known."""

    @classmethod
    def of(cls, table: RecourseTable, kept: RecordedDecisions) -> Recorded:
        """From the people for whom they differ."""
        favourable, known = ~table.is_unfavourable, np.ones(len(table), dtype=bool)
        differs = np.array(kept.differs, dtype=np.intp)
        favourable[differs] = ~favourable[differs]
        known[np.array(kept.unknown, dtype=np.intp)] = False
        return cls(known, favourable)

    def by_group(self, table: RecourseTable) -> dict[str, dict[str, int]]:
        """How many people of each group the record and the surrogate refuse, and about how many they differ."""
        refused = table.is_unfavourable
        parts = {
            "refused_in_record": self.is_known & ~self.is_favourable,
            "refused_by_surrogate": refused,
            "differ": self.is_known & (self.is_favourable == refused),
        }
        return {
            group: {name: int(mask[table.groups.codes == code].sum()) for name, mask in parts.items()}
            for code, group in enumerate(table.groups.labels)
        }

    def _told(self) -> Told:
        lines = [f"{self.n:,} of {len(self.is_known):,} are known, {self.n_favourable:,} of them favourable."]
        care = ["These are decisions of the system; the audit is of a surrogate model that decides anew."]
        return Told("Recorded decisions", lines, care=care, more=".by_group(audit.recourse)")

    @property
    def n(self) -> int:
        """Of how many people it is known."""
        return int(self.is_known.sum())

    @property
    def n_favourable(self) -> int:
        """How many of them were decided favourably."""
        return int((self.is_known & self.is_favourable).sum())

    @cached_property
    def words(self) -> npt.NDArray[np.object_]:
        """The decision of each person in a word; empty if it is not known."""
        words = np.array(["", "unfavourable", "favourable"], dtype=object)
        return words[np.where(self.is_known, 1 + self.is_favourable, 0)]

    def word(self, row: int) -> str:
        """The decision of one person in a word; empty if it is not known."""
        return str(self.words[row])


def explain(
    table: RecourseTable,
    row: int,
    surrogate: str = "",
    decided: Recorded | None = None,
    further: Sequence[tuple[RecourseTable, int]] = (),
    audience: Literal["letter"] | None = None,
) -> Explanation:
    """Explain one row of the table; `surrogate` is the kind of model that stands in for the system, if one does.

    `further` are the person's next ways, as `find_alternatives` gives them: a table and a row each. A letter gives its
    reasons in the person's words.
    """
    status = Status(int(table.status[row]))
    one = np.array([row])
    steps: list[Step] = []
    if status in ACTING:
        steps = _steps(table, one)
    reason = ""
    if status in (Status.FEASIBLE, Status.INFEASIBLE, Status.UNKNOWN):
        (reason,) = table.told(table.source.reasons(table, [row]), audience)
    ways = [explain(one, k, surrogate, audience=audience) for one, k in further if one.has_action[k]]
    ended = [Status(int(one.status[k])) for one, k in further if not one.has_action[k]]
    is_last: Further = "" if not (steps and ended) else "none" if ended[0] == Status.INFEASIBLE else "unknown"
    return Explanation(
        table.index[row],
        table.groups.labels[table.groups.codes[row]],
        status.text,
        float(table.cost[row]),
        float(table.bound[row]),
        tuple(steps),
        reason,
        surrogate,
        decided.word(row) if decided is not None and surrogate else "",
        table.source.schema.max_actions,
        tuple(ways),
        is_last,
        _called(table, table.groups.labels[table.groups.codes[row]]),
        labels=table.source.schema.names,
    )


def _called(table: RecourseTable, group: str) -> str:
    """What readers call a group where its name alone does not say it: "1" may be anything."""
    says_nothing = any(reads_as_number(part) for part in group.split(BETWEEN))
    return table.source.schema.names.group(group) or (table.groups.name(group) if says_nothing else "")


def assumed_spans(limits: Iterable[AssumedLimit]) -> dict[str, str]:
    """By feature how far it may be set, as far as nobody declared it.

    >>> assumed_spans([AssumedLimit("age", "upper", 75.0), AssumedLimit("loan", "lower", 250.0)])
    {'age': 'at most 75', 'loan': 'at least 250'}
    """
    ends: dict[str, dict[str, str]] = {}
    for limit in limits:
        ends.setdefault(limit.feature, {})[limit.key] = number(limit.value)
    found = {}
    for name, known in ends.items():
        low, high = known.get("lower"), known.get("upper")
        found[name] = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return found


def assumed_text(limits: Iterable[AssumedLimit], zero_one: Iterable[str] = (), labels: Labels = NO_LABELS) -> str:
    """The limits that nobody declared, and what is 0 or 1, for a terminal; empty if there are none."""
    spans, binary = assumed_lines(limits, zero_one, labels)
    return "\n".join([*([ASSUMED] if spans else []), *(f"  {span}" for span in spans), *binary])


def assumed_lines(
    limits: Iterable[AssumedLimit], zero_one: Iterable[str] = (), labels: Labels = NO_LABELS
) -> tuple[list[str], list[str]]:
    """A line for each limit that nobody declared, and at most one for all that is set to 0 or 1."""
    binary = ", ".join(map(labels.feature, zero_one))
    spans = [f"{labels.feature(name)}: {span}" for name, span in assumed_spans(limits).items()]
    return spans, [f"Set to 0 or 1 only: {binary}"] if binary else []


def _steps(table: RecourseTable, one: npt.NDArray[np.intp]) -> list[Step]:
    source = table.source
    facts, moved = source.facts(one)[0], source.moved(table, one)[0]
    is_set, _ = source.interventions(table, one)
    costs = source.costs(table, one)[0]
    sample = source.facts(slice(LOOKED_AT))
    if isinstance(source, SolvedSource) and len(table) == 1:
        # How finely a feature is measured cannot be seen in one person.
        sample = source.encoding.encode(source.problem.examples)
    # What is missing and stays so does not change, though no value equals itself where there is none.
    changed = (facts != moved) & ~(np.isnan(facts) & np.isnan(moved))
    steps = []
    for b, k in enumerate(table.acts):
        if is_set[0, b]:
            kind = "set" if changed[k] else "hold"
            steps.append(_step(table, sample, k, kind, facts[k], moved[k], float(costs[b])))
    steps.sort(key=lambda step: step.kind, reverse=True)
    picked = {k for b, k in enumerate(table.acts) if is_set[0, b]}
    for k in range(len(facts)):
        if k not in picked and changed[k]:
            steps.append(_step(table, sample, k, "follows", facts[k], moved[k], 0.0))
    return steps


def _step(table: RecourseTable, sample: Floats, k: int, kind: str, before: float, after: float, cost: float) -> Step:
    column, names = table.source.encoding.columns[k], table.source.schema.names
    values = [column.decode(np.array([value]))[0] for value in (before, after)]
    plain = [as_plain(value) for value in values]
    if column.is_category:
        return Step(column.name, kind, plain[0], plain[1], cost, labels=names)
    fact = np.array([before])
    ends: dict[int, list[float]] = {-1: [-np.inf], 1: [np.inf]}
    for limit in limits(table.source.schema.feature(column.name)):
        ends[limit.side].append(float(limit.at(fact)[0]))
    is_zero_one = column.kind == "binary"
    # Between 0 and 1 the decimals of the data say nothing.
    places = None if is_zero_one else decimals(sample[:, k])
    return Step(
        column.name, kind, plain[0], plain[1], cost, None if places is None else places + 1, max(ends[-1]),
        min(ends[1]), names, is_zero_one,
    )  # fmt: skip


def decimals(values: Floats, most: int = 4) -> int | None:
    """How many decimals the values are given with; None if it is more than the most.

    >>> decimals(np.array([36.0, 12.5])), decimals(np.array([1.0, 2.0])), decimals(np.array([1 / 3]))
    (1, 0, None)
    """
    known = values[np.isfinite(values)]
    for places in range(most + 1):
        if np.allclose(known, known.round(places), rtol=0, atol=1e-9):
            return places
    return None
