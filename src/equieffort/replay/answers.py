"""What a check of a saved audit answers: things that do not hold, and what another solver says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["confirmed", "unsettled", "contradicted"]


@dataclass(frozen=True)
class Failure:
    """One thing that does not hold."""

    person: Any
    """Their label."""
    status: str
    check: str
    """One of `equieffort.replay.actions.Check`."""
    subject: str
    """The feature or the rule; empty where it is the action as a whole."""
    said: float | None = None
    """What the audit says, in encoded numbers, where that is one."""
    found: float | None = None
    way: int = 1
    """1 for the cheapest way, 2 for the next that the audit keeps, ..."""


@dataclass(frozen=True)
class Opinion:
    """What the audit and the other solver say of one person."""

    person: Any
    status: str
    cost: float
    bound: float
    other_status: str
    other_cost: float
    other_bound: float
    outcome: Outcome
    """"confirmed": the other solver proved the same bound, or that nothing leads there. "contradicted": it found an
    action below the audit's bound, or proved that there is none as cheap as the audit's. Else "unsettled"."""


@dataclass(frozen=True)
class Opinions:
    """What another solver says of a sample."""

    solver: str
    audited_by: str
    of: tuple[Opinion, ...]

    @property
    def contradicted(self) -> tuple[Opinion, ...]:
        """Those in which the two disagree beyond their gaps."""
        return tuple(one for one in self.of if one.outcome == "contradicted")
