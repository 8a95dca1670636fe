"""What counts as equal effort: which measures are judged, against which thresholds, at which level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from equieffort.effort.inference import ADJUSTMENTS, Adjustment, Holm, Zone
from equieffort.effort.measures import JUDGED, MEASURES, Measure
from equieffort.errors import AuditFileError, ParameterError, Setting
from equieffort.foundations.arguments import check_flag, check_instance, check_number, names_in
from equieffort.foundations.saved import as_fields
from equieffort.foundations.tolerances import LARGEST


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
class OneSided(Rule):
    """The paper's line 19 as printed: equal when the ratio is at most tau, however small it is."""

    def ends(self, tau: float) -> tuple[float, float]:
        """[0, tau]."""
        return 0.0, tau


RULES: dict[str, type[Rule]] = {"two-sided": TwoSided, "one-sided": OneSided}
"""Name in a file -> rule."""


@dataclass(frozen=True)
class Criteria:
    """What counts as equal effort, and how sure a verdict must be.

    Parameters
    ----------
    tau
        The largest ratio that counts as equal (equal to tau still does).
    epsilon
        The smallest difference in possible recourse that counts as unequal.
    rule
        `TwoSided()`, or `OneSided()` for the paper's one-sided test.
    min_people
        A measure of a group with fewer people is not judged: people with recourse for "acr", all people for
        "impact_ratio", refused people for the others. A person's neighbourhood is judged from five a side on.
    certified
        Judge only what no unsolved row can overturn; False judges what was found and says so.
    level
        How sure a verdict must be: *unequal* is wrongly said of groups that are equal within the thresholds with a
        chance of at most 1 - level, and so is *equal*. None judges the point estimate, as the paper does.
    judged
        The measures a verdict rests on: "acr", "rd", "restricted_effort", "burden", "median_effort", "impact_ratio".
    budget
        The effort at which people without recourse are counted, and nobody above; by default the 95 % point of all
        known efforts, rounded up to two digits.
    adjust
        How several questions asked at once are adjusted: `Holm()`, or `Unadjusted()`.
    """

    tau: float = 1.25
    epsilon: float = 0.05
    rule: Rule = field(default_factory=TwoSided)
    min_people: int = 5
    certified: bool = True
    level: float | None = 0.95
    judged: Sequence[str] = ("acr", "rd")
    budget: float | None = None
    adjust: Adjustment = field(default_factory=Holm)

    def __post_init__(self) -> None:
        code = "CRITERIA_INVALID"
        check_number("tau", self.tau, "a ratio, 1 or more", lambda tau: tau >= 1, code=code)
        check_number("epsilon", self.epsilon, "a share above 0 and at most 1", lambda share: 0 < share <= 1, code=code)
        check_instance("rule", self.rule, Rule, "TwoSided() or OneSided()", code=code)
        takes = "a number of people, 1 or more"
        check_number("min_people", self.min_people, takes, lambda least: least >= 1, code=code)
        check_flag("certified", self.certified)
        takes = "a share between 0.5 and 1, such as 0.95"
        check_number("level", self.level, takes, lambda level: 0.5 < level < 1, optional=True, code=code)
        takes = f"an effort above 0, at most {LARGEST:g}"
        check_number("budget", self.budget, takes, lambda budget: 0 < budget <= LARGEST, optional=True, code=code)
        check_instance("adjust", self.adjust, Adjustment, "Holm() or Unadjusted()", code=code)
        object.__setattr__(self, "judged", _judged(self.judged))

    def zone(self, measure: Measure) -> Zone | None:
        """The values of a measure that count as equal, on its scale; None of one that cannot be judged."""
        if measure.threshold == "epsilon":
            return Zone(-self.epsilon, self.epsilon)
        if measure.threshold is None:
            return None
        low, high = self.rule.ends(self.tau)
        if measure.orientation < 0:
            low, high = 1 / high, 1 / low if low > 0 else inf
        return Zone(measure.scale.to(low), measure.scale.to(high))

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        rule = next((name for name, kind in RULES.items() if type(self.rule) is kind), None)
        adjust = next((name for name, kind in ADJUSTMENTS.items() if type(self.adjust) is kind), None)
        if rule is None or adjust is None:
            own = self.rule if rule is None else self.adjust
            raise AuditFileError(
                "AUDIT_FILE",
                f"{type(own).__name__} is not part of equieffort, so no file can hold it.",
                fix="Save dataclasses.replace(audit, criteria=Criteria(...)) with TwoSided() or OneSided(), and Holm() "
                "or Unadjusted().",
            )
        return as_fields(self) | {"rule": rule, "adjust": adjust}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Criteria:
        """From the saved form."""
        parts = {**saved, "rule": RULES[saved["rule"]](), "adjust": ADJUSTMENTS[saved["adjust"]]()}
        return cls(**parts)


def _judged(given: Any) -> tuple[str, ...]:
    names = names_in("judged", given, "a list of measures", code="CRITERIA_INVALID")
    for name in names:
        if name not in JUDGED:
            what = "cannot be judged: no threshold is defined for it" if name in MEASURES else "is no measure"
            raise ParameterError(
                "CRITERIA_INVALID", f"judged: {name!r} {what}.", fix=f"Choose from {', '.join(JUDGED)}."
            )
    if not names or len(set(names)) < len(names):
        raise ParameterError(
            "CRITERIA_INVALID",
            f"judged is {list(names)}: each measure once, and at least one.",
            fix=("Give measures such as ", Setting("judged"), "."),
        )
    return tuple(names)
