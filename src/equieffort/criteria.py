"""What counts as equal effort: thresholds on the ratio and on the difference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from equieffort.arguments import check_flag, check_instance, check_number
from equieffort.errors import AuditFileError


class Rule(ABC):
    """How a ratio of efforts is compared with tau."""

    @abstractmethod
    def ends(self, tau: float) -> tuple[float, float]:
        """The range of ratios that count as equal."""


@dataclass(frozen=True)
class TwoSided(Rule):
    """Equal when neither group needs more than tau times the other's effort."""

    def ends(self, tau: float) -> tuple[float, float]:
        """[1 / tau, tau]."""
        return 1 / tau, tau


@dataclass(frozen=True)
class Literal(Rule):
    """The paper's line 19 as printed: equal when the ratio is at most tau, however small it is."""

    def ends(self, tau: float) -> tuple[float, float]:
        """[0, tau]."""
        return 0.0, tau


RULES: dict[str, type[Rule]] = {"two-sided": TwoSided, "literal": Literal}
"""Name in a file -> rule."""


@dataclass(frozen=True)
class Criteria:
    """What counts as equal effort.

    Parameters
    ----------
    tau
        The largest ratio of average efforts that counts as equal (equal to tau still does).
    epsilon
        The smallest difference in possible recourse that counts as unequal.
    rule
        `TwoSided()`, or `Literal()` for the paper's one-sided test.
    min_people
        Groups with fewer unfavourably decided people get no verdict (system and subgroup level).
    certified
        Judge only what no unsolved row can overturn; False judges the estimate and says so.
    """

    tau: float = 1.25
    epsilon: float = 0.05
    rule: Rule = field(default_factory=TwoSided)
    min_people: int = 10
    certified: bool = True

    def __post_init__(self) -> None:
        code = "CRITERIA_INVALID"
        check_number("tau", self.tau, "a ratio, 1 or more", lambda tau: tau >= 1, code=code)
        check_number("epsilon", self.epsilon, "a share above 0 and at most 1", lambda share: 0 < share <= 1, code=code)
        check_instance("rule", self.rule, Rule, "TwoSided() or Literal()", code=code)
        check_number(
            "min_people", self.min_people, "a number of people, 1 or more", lambda least: least >= 1, code=code
        )
        check_flag("certified", self.certified)

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        rule = next((name for name, kind in RULES.items() if type(self.rule) is kind), None)
        if rule is None:
            raise AuditFileError(
                "AUDIT_FILE",
                f"The rule {type(self.rule).__name__} is not part of equieffort, so no file can hold it.",
                fix="Save dataclasses.replace(audit, criteria=Criteria(...)) with TwoSided() or Literal().",
            )
        return {
            "tau": self.tau,
            "epsilon": self.epsilon,
            "rule": rule,
            "min_people": self.min_people,
            "certified": self.certified,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Criteria:
        """From the saved form."""
        return cls(saved["tau"], saved["epsilon"], RULES[saved["rule"]](), saved["min_people"], saved["certified"])
