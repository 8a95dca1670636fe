"""How far a surrogate repeats the decisions it was trained on, where it counts: among the refusals.

>>> some = Refusals(n=1450, recorded=103, by_surrogate=22, by_both=13)
>>> f"{percent(some.agreement)} {percent(some.constant.agreement)} {percent(some.recall)} {percent(some.precision)}"
'93.2 % 92.9 % 12.6 % 59.1 %'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

from equieffort.data.frames import percent
from equieffort.foundations.saved import APART
from equieffort.foundations.shown import Number, aligned
from equieffort.world.groups import group_name

MOST_TOLD = 3
"""Groups whose shares are told in the sentence; a table has those of more."""


@dataclass(frozen=True)
class Refusals:
    """Held-out people: how many were refused according to the record, by the surrogate, and by both."""

    n: int
    recorded: int
    by_surrogate: int
    by_both: int

    def __post_init__(self) -> None:
        least = max(0, self.recorded + self.by_surrogate - self.n)
        if not least <= self.by_both <= min(self.recorded, self.by_surrogate) <= self.n:
            raise ValueError(f"{self} does not add up")

    @property
    def agreement(self) -> float:
        """The share of people about whom both decide alike."""
        return 1 - (self.recorded + self.by_surrogate - 2 * self.by_both) / self.n if self.n else nan

    @property
    def recall(self) -> float:
        """The share of the recorded refusals that the surrogate finds."""
        return self.by_both / self.recorded if self.recorded else nan

    @property
    def precision(self) -> float:
        """The share of the surrogate's refusals that are recorded."""
        return self.by_both / self.by_surrogate if self.by_surrogate else nan

    @property
    def constant(self) -> Refusals:
        """The same answer for everybody that agrees best: all approved, or all refused."""
        everybody = self.n if 2 * self.recorded > self.n else 0
        return Refusals(self.n, self.recorded, everybody, min(self.recorded, everybody))


@dataclass(frozen=True)
class Surrogate:
    """A model trained on the decisions of one that is not at hand: how often it agrees, and which refusals it finds.

    Refusals are what an audit is about, so that agreement alone does not do: where few are refused, approving everybody
    agrees too.
    """

    kind: str
    agreement: float
    """Share of held-out decisions it repeats."""
    by_group: Mapping[str, float]
    required: float
    refusals: Refusals | None = None
    """Of everybody; None where only the agreement is known."""
    refusals_by_group: Mapping[str, Refusals] = field(default_factory=dict)
    min_refusal_recall: float = 0.0
    columns: tuple[str, ...] = field(default=(), metadata=APART)
    """The sensitive columns whose values name the groups, for a reader."""

    def __post_init__(self) -> None:
        shares = (self.agreement, *self.by_group.values(), self.required, self.min_refusal_recall)
        # A group that nobody was held out of has no agreement: NaN is beyond nothing.
        if any(share < 0 or share > 1 for share in shares):
            raise ValueError("a share of a surrogate is not from 0 to 1")

    def name(self, group: str) -> str:
        """A group for a reader."""
        return group_name(group, self.columns)

    @property
    def suffices(self) -> bool:
        """Whether it repeats enough decisions and finds enough refusals, overall and in every group compared."""
        agreed = min((self.agreement, *self.by_group.values())) >= self.required
        # A group without refusals has none to find; a NaN is below nothing.
        return agreed and not any(recall < self.min_refusal_recall for recall in self.recalls.values())

    @property
    def recalls(self) -> dict[str, float]:
        """The share of refusals it finds, overall under the empty name and by group."""
        overall = {} if self.refusals is None else {"": self.refusals.recall}
        return overall | {label: counts.recall for label, counts in self.refusals_by_group.items()}

    def among(self, groups: Iterable[str]) -> Surrogate:
        """The same for some of the groups: a group that nobody judges must not decide."""
        wanted = set(groups)
        return replace(
            self,
            by_group={label: share for label, share in self.by_group.items() if label in wanted},
            refusals_by_group={label: counts for label, counts in self.refusals_by_group.items() if label in wanted},
        )

    @property
    def shortfall(self) -> str:
        """Where it repeats too few decisions or finds too few refusals, in sentences; empty if nowhere."""
        short = ["" for _ in range(self.agreement < self.required)]
        short += [label for label, share in self.by_group.items() if share < self.required]
        missed = [label for label, recall in self.recalls.items() if recall < self.min_refusal_recall]
        parts = []
        if short:
            where = self._where(short, len(self.by_group))
            parts.append(f"repeats less than the {percent(self.required)} of decisions asked for ({where})")
        if missed:
            where = self._where(missed, len(self.refusals_by_group))
            parts.append(f"finds less than the {percent(self.min_refusal_recall)} of refusals asked for ({where})")
        if not parts:
            return ""
        return (
            f"It {' and '.join(parts)}, so nothing is concluded: give it more of what the decisions were made from, "
            "or judge the system's own model."
        )

    def _where(self, labels: Sequence[str], groups: int) -> str:
        """Of whom: everybody is the empty label."""
        named = [self.name(label) for label in labels if label]
        if len(named) == groups > 1:
            named = ["in every group"]
        return " and ".join(["overall"] * ("" in labels) + ([", ".join(named)] if named else []))

    def __str__(self) -> str:
        groups = ", ".join(f"{self.name(label)}: {percent(share)}" for label, share in self.by_group.items())
        if len(self.by_group) > MOST_TOLD:
            low, high = (percent(of(self.by_group.values())) for of in (min, max))
            groups = f"by group {low} to {high}"
        text = (
            f"This audits a {self.kind} model trained on the decisions, not the system that made them; it repeats "
            f"{percent(self.agreement)} of decisions it has not seen ({groups})"
        )
        return f"{text}{self._found()}. {self._constant()} {self.shortfall}".replace("  ", " ").rstrip()

    def _found(self) -> str:
        """How many refusals it finds."""
        if self.refusals is None:
            return ""
        groups = ", ".join(
            f"{self.name(label)}: {c.by_both:,} of {c.recorded:,}" for label, c in self.refusals_by_group.items()
        )
        where = f" ({groups})" if groups and len(self.refusals_by_group) <= MOST_TOLD else ""
        return f" and finds {self.refusals.by_both:,} of their {self.refusals.recorded:,} refusals{where}"

    def _constant(self) -> str:
        """What the best answer that is the same for everybody would do."""
        if self.refusals is None:
            return ""
        best = self.refusals.constant
        if best.by_surrogate:
            return f"Refusing everybody would agree with {percent(best.agreement)}."
        return f"Approving everybody would agree with {percent(best.agreement)} and find no refusal."


@dataclass(frozen=True)
class RecordedDecisions:
    """What was decided according to the data, beside a surrogate that decides anew: positions of people."""

    differs: tuple[int, ...]
    """For whom the surrogate decides otherwise."""
    unknown: tuple[int, ...]
    """Of whom no decision is recorded."""


def refusal_lines(surrogate: Surrogate) -> list[str]:
    """Agreement, recall and precision of refusals by group, beside the best answer that is the same for everybody."""
    counted = {} if surrogate.refusals is None else {"everybody": surrogate.refusals}
    counted |= {surrogate.name(label): counts for label, counts in surrogate.refusals_by_group.items()}
    head = ["", "agreement", "by one answer for all", "refusals found", "recall", "precision"]
    rows = []
    for who, counts in counted.items():
        best = counts.constant
        cells = [
            percent(counts.agreement),
            f"{percent(best.agreement)} ({'refusing' if best.by_surrogate else 'approving'})",
            f"{counts.by_both:,} of {counts.recorded:,}",
            percent(counts.recall) if counts.recorded else "nothing to find",
            f"{percent(counts.precision)} of {counts.by_surrogate:,}" if counts.by_surrogate else "none made",
        ]
        rows.append([who, *map(Number, cells)])
    return ["The surrogate on people it was not trained on:", *aligned([head, *rows]).splitlines()] if rows else []
