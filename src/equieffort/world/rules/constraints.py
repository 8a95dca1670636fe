"""Rules between features: what must hold together in every counterfactual.

>>> print(Implies("employed = false", "tenure = 0"))
if employed = false then tenure = 0
>>> print(Sum({"rent": 1, "food": 1, "income": -0.5}, upper=0))
rent + food - 0.5 income <= 0
>>> print(Monotone("education", "age", per_unit=1))
each unit that education rises, age rises by at least 1
>>> print(Forbidden("job", [("retired", "student"), (None, "apprentice")]))
job must not change from 'retired' to 'student' nor to 'apprentice'
>>> print(read_constraint("if hours > 40 then overtime = true"))
if hours > 40 then overtime = true
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Any, ClassVar

from equieffort.data.frames import number
from equieffort.errors import RuleError, Setting
from equieffort.foundations.arguments import check_instance, check_mapping, check_number, is_number
from equieffort.foundations.saved import as_data
from equieffort.world.rules.parser import keyword_at, parse_rule
from equieffort.world.rules.rule import Rule

_bad_link = partial(RuleError, "RULE_LINK")

Move = tuple[Any, Any]


class Constraint(ABC):
    """Something that must hold between features in every counterfactual."""

    saved: ClassVar[Mapping[str, str]]
    """What a file calls its fields: key -> field."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns it speaks of."""

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        return {key: as_data(vars(self)[name]) for key, name in self.saved.items()}

    @staticmethod
    def from_dict(saved: Mapping[str, Any]) -> Constraint:
        """The rule that `to_dict` described."""
        for kind in (Always, Implies, Sum, Forbidden, Monotone):
            if kind.saved.keys() == saved.keys():
                return kind(**{name: saved[key] for key, name in kind.saved.items()})
        raise ValueError("a rule between features is none that is known")


@dataclass(frozen=True)
class Always(Constraint):
    """A rule that must hold: ``Always("hours <= 80 or contract = 'night'")``."""

    saved: ClassVar[Mapping[str, str]] = {"always": "rule"}
    rule: str

    def __post_init__(self) -> None:
        parse_rule(self.rule)

    @property
    def parsed(self) -> Rule:
        """The rule, read."""
        return parse_rule(self.rule)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the rule."""
        return self.parsed.names

    def __str__(self) -> str:
        return str(self.parsed)


@dataclass(frozen=True)
class Implies(Constraint):
    """If the first rule holds, the second must: ``Implies("employed = 0", "tenure = 0")``."""

    saved: ClassVar[Mapping[str, str]] = {"if": "given", "then": "then"}
    given: str
    then: str

    def __post_init__(self) -> None:
        for text in (self.given, self.then):
            parse_rule(text)

    @property
    def parsed(self) -> tuple[Rule, Rule]:
        """Both rules, read."""
        return parse_rule(self.given), parse_rule(self.then)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of both rules."""
        given, then = self.parsed
        return tuple(dict.fromkeys((*given.names, *then.names)))

    def __str__(self) -> str:
        given, then = self.parsed
        return f"if {given} then {then}"


@dataclass(frozen=True)
class Monotone(Constraint):
    """When one feature rises, another must not fall, and must rise by at least `per_unit` for each unit."""

    saved: ClassVar[Mapping[str, str]] = {"cause": "cause", "effect": "effect", "per_unit": "per_unit"}
    cause: str
    effect: str
    per_unit: float = 0.0

    def __post_init__(self) -> None:
        _check_name("cause", self.cause)
        _check_name("effect", self.effect)
        check_number(
            "per_unit", self.per_unit, "a number, 0 or more", lambda value: value >= 0,
            fix="Give a rise for each unit.", error=RuleError, code="RULE_LINK",
        )  # fmt: skip
        if self.cause == self.effect or not self.effect:
            whom = "itself" if self.effect else "nothing"
            raise _bad_link(f"{self.cause!r} is linked with {whom}.", fix="Name two features.")

    @property
    def names(self) -> tuple[str, ...]:
        """Both features."""
        return self.cause, self.effect

    def __str__(self) -> str:
        if self.per_unit:
            return f"each unit that {self.cause} rises, {self.effect} rises by at least {number(self.per_unit)}"
        return f"when {self.cause} rises, {self.effect} does not fall"


@dataclass(frozen=True)
class Sum(Constraint):
    """A weighted sum of features stays within limits: ``Sum({"rent": 1, "income": -0.5}, upper=0)``."""

    saved: ClassVar[Mapping[str, str]] = {"sum": "weights", "lower": "lower", "upper": "upper"}
    weights: Mapping[str, float]
    lower: float | None = field(default=None, kw_only=True)
    upper: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_mapping("weights", self.weights, 'a mapping such as {"rent": 1}', error=RuleError, code="RULE_LINK")
        numbers = [*self.weights.values(), *(end for end in (self.lower, self.upper) if end is not None)]
        if not self.weights or not all(is_number(value) and isfinite(value) for value in numbers):
            raise _bad_link("A sum needs features, each with a number as its weight.", fix='As in {"rent": 1}.')
        if self.lower is None and self.upper is None:
            raise _bad_link("The sum has no limit.", fix="Give lower, upper or both.")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            what = f"The lower limit {self.lower:g} is above the upper limit {self.upper:g}."
            raise _bad_link(what, fix="Swap them.")

    @property
    def names(self) -> tuple[str, ...]:
        """The features that are summed."""
        return tuple(self.weights)

    def __hash__(self) -> int:
        return hash((tuple(self.weights.items()), self.lower, self.upper))

    def __str__(self) -> str:
        text = ""
        for name, weight in self.weights.items():
            size = "" if abs(weight) == 1 else f"{number(abs(weight))} "
            sign = ("- " if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
            text += f"{sign}{size}{name}"
        if self.upper is None:
            return f"{text} >= {number(self.lower or 0.0)}"
        if self.lower == self.upper:
            return f"{text} = {number(self.upper)}"
        low = "" if self.lower is None else f"{number(self.lower)} <= "
        return f"{low}{text} <= {number(self.upper)}"


@dataclass(frozen=True)
class Forbidden(Constraint):
    """Changes of a category that are not possible: pairs (from, to), None for any level."""

    saved: ClassVar[Mapping[str, str]] = {"feature": "feature", "forbidden": "moves"}
    feature: str
    moves: Sequence[Move]

    def __post_init__(self) -> None:
        _check_name("feature", self.feature)
        try:
            moves = tuple((start, end) for start, end in self.moves)
        except (TypeError, ValueError):
            moves = ()
        if not moves or isinstance(self.moves, str):
            raise _bad_link(
                f"The forbidden changes of {self.feature!r} are not pairs (from, to).", fix=Setting("forbidden")
            )
        object.__setattr__(self, "moves", moves)

    @property
    def names(self) -> tuple[str, ...]:
        """The category."""
        return (self.feature,)

    def __str__(self) -> str:
        parts = []
        for start, end in self.moves:
            parts.append(" ".join(f"{w} {level!r}" for w, level in (("from", start), ("to", end)) if level is not None))
        return f"{self.feature} must not change {' nor '.join(parts)}".rstrip()


def read_constraint(text: str) -> Constraint:
    """A rule between features from text: ``if ... then ...``, or a rule that always holds."""
    if isinstance(text, str) and text.lower().lstrip().startswith("if "):
        start = text.lower().index("if ") + 3
        at = keyword_at(text, "then", start)
        if at is None:
            raise RuleError(
                "RULE_SYNTAX",
                f"The rule {text!r} begins with 'if' but has no 'then'.",
                fix="Write: if employed = 0 then tenure = 0.",
            )
        return Implies(text[start:at].strip(), text[at + 4 :].strip())
    return Always(text)


def _check_name(argument: str, value: Any) -> None:
    check_instance(argument, value, str, "the name of a column", error=RuleError, code="RULE_LINK")
