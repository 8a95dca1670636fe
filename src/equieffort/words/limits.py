"""To whom a sentence speaks, and limits in its words: what was declared, what was observed, what must not move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from equieffort.data.frames import number
from equieffort.errors import many
from equieffort.recourse.limits import Limit
from equieffort.recourse.status import LimitKind, Obstacle
from equieffort.world.labels import NO_LABELS, Labels


@dataclass(frozen=True)
class Audience:
    """The words that differ between those who read about the same fact."""

    raise_it: str = ""
    """How to raise a limit of the solver, with {} for its argument; empty where readers can do nothing about it."""
    declare: str = ""
    """How to declare a limit that nobody declared, with {feature} and {key}; empty likewise."""
    person: bool = True
    """Whether to tell the person's own numbers."""
    labels: Labels = NO_LABELS
    """What readers call the features."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """By a rule as it is written: how readers are told of it."""

    def name(self, feature: str) -> str:
        """A feature in a sentence."""
        return self.labels.feature(feature)

    def rule(self, written: str) -> str:
        """A rule between features in a sentence."""
        return self.rules.get(written, written)

    def value(self, feature: str, value: float | str) -> str:
        """A number as people read it, or a level as it is called."""
        return self.labels.level(feature, value) or (value if isinstance(value, str) else number(value))

    def quoted(self, feature: str) -> str:
        """A column in a sentence: by its label, or as its name in quotes."""
        return self.labels.features.get(feature) or repr(feature)


PYTHON = Audience("raise {}", "declare {key} to allow {way}")
SPEC = Audience("raise {} under solver in the spec", "write features.{feature}.{key} in the spec to allow {way}")
REPORT = Audience(person=False)
LETTER = Audience()
"""The person: their own numbers, and no advice to an auditor."""


NAMES = {
    LimitKind.LOWER: "lower limit {}",
    LimitKind.UPPER: "upper limit {}",
    LimitKind.MAX_DECREASE: "largest decrease {}",
    LimitKind.MAX_INCREASE: "largest increase {}",
    LimitKind.ZERO_ONE: "it is 0 or 1",
    LimitKind.LEVEL: "no other level may be set",
}
SIDED = {
    (LimitKind.DIRECTION, -1): "may only go up",
    (LimitKind.DIRECTION, 1): "may only go down",
    (LimitKind.PLAUSIBLE, -1): "plausible minimum {}",
    (LimitKind.PLAUSIBLE, 1): "plausible maximum {}",
    (LimitKind.OBSERVED, -1): "smallest observed value {}",
    (LimitKind.OBSERVED, 1): "largest observed value {}",
}


def limit_text(limit: Limit, feature: str, audience: Audience = PYTHON) -> str:
    """A limit of a feature, in its own unit; of a category the level.

    >>> limit_text(Limit(LimitKind.MAX_DECREASE, -1, -500.0, True), "debt")
    'largest decrease 500'
    >>> limit_text(Limit(LimitKind.UPPER, 1, 2.0, False, "degree"), "education")
    'upper limit degree'
    """
    return _text(limit.kind, limit.side, limit.level or limit.value, feature, audience)


def _text(kind: LimitKind, side: int, value: float | str | None, feature: str, audience: Audience) -> str:
    """A limit that nobody declared is told with how to declare it, where readers can."""
    relative = kind in (LimitKind.MAX_DECREASE, LimitKind.MAX_INCREASE)
    size = abs(value) if relative and not isinstance(value, str | None) else value
    shown = "" if size is None else audience.value(feature, size)
    text = NAMES.get(kind) or SIDED.get((kind, side)) or kind.value.replace("_", " ")
    text = text.format(shown).rstrip()
    if kind == LimitKind.OBSERVED and audience.declare:
        key, way = ("lower", "less") if side < 0 else ("upper", "more")
        text += "; " + audience.declare.format(feature=feature, key=key, way=way)
    return text


def obstacle_text(obstacle: Obstacle, audience: Audience = REPORT) -> str:
    """What stops the feature, without the feature's own name.

    >>> obstacle_text(Obstacle("pay", LimitKind.FIXED, column="rent"))
    "'rent' must not move"
    >>> obstacle_text(Obstacle("", LimitKind.RULE, rule="a <= b"))
    'the rule that a <= b'
    >>> obstacle_text(Obstacle("pay", LimitKind.OBSERVED, 1, 12.0), PYTHON)
    'largest observed value 12; declare upper to allow more'
    """
    if obstacle.limit == LimitKind.MAX_ACTIONS and obstacle.value is not None:
        return f"at most {many(int(obstacle.value), 'feature', 'features')} changed at once"
    name = audience.quoted
    if obstacle.rule:
        return f"the rule that {audience.rule(obstacle.rule)}"
    if not obstacle.column:
        return _text(obstacle.limit, obstacle.side, obstacle.value, obstacle.feature, audience)
    if obstacle.guards:
        return f"{name(obstacle.guards)} must not move, and no equation says how it follows {name(obstacle.column)}"
    if obstacle.limit == LimitKind.FIXED:
        return f"{name(obstacle.column)} must not move"
    return f"{'' if obstacle.feature else 'the '}plausible range of {name(obstacle.column)}"
