"""Facts about one person's recourse: what is known of it, what stands in its way, why a solver stopped before it knew;
and about solvers: why one does not fit, why another was chosen.

Our solvers give these and no sentences; `equieffort.words` makes sentences of them, once for each audience. In words of
their own speak only `Refusal.detail` (what reads models, equations, a solver of another author) and what is raised. All
values are in the users' own units. Each fact writes itself as plain data (`to_dict`) and reads itself back, refusing
whatever it could not have written (`fact_from_dict`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, fields
from enum import IntEnum, StrEnum
from functools import cache
from numbers import Real
from typing import Any, Self, cast

from equieffort.errors import ParameterError
from equieffort.foundations.saved import as_fields


class Status(IntEnum):
    """What is known of a person's recourse."""

    NOT_NEEDED = 0
    """The decision is favourable already."""
    OPTIMAL = 1
    """An action, and a proof that none is cheaper."""
    FEASIBLE = 2
    """An action, and a lower bound on what any action costs."""
    INFEASIBLE = 3
    """Proven: no allowed action leads to the favourable decision."""
    UNKNOWN = 4
    """Nothing found and nothing proven."""

    @property
    def text(self) -> str:
        """Lower-case name, as in tables."""
        return self.name.lower()


ACTING = (Status.OPTIMAL, Status.FEASIBLE)
"""Who has an action."""
UNSETTLED = (Status.FEASIBLE, Status.UNKNOWN)
"""Who has an action that may not be the cheapest, or nothing known at all."""


class LimitKind(StrEnum):
    """What kind of limit stops an action; the first four are keys of a `Feature`."""

    LOWER = "lower"
    UPPER = "upper"
    MAX_DECREASE = "max_decrease"
    MAX_INCREASE = "max_increase"
    DIRECTION = "direction"
    PLAUSIBLE = "plausible"
    """An end of the range in which a value is plausible, of the feature itself or of a column that follows it."""
    OBSERVED = "observed"
    """The least or largest value seen, where nobody declared a limit."""
    ZERO_ONE = "zero_one"
    """It is 0 or 1."""
    FIXED = "fixed"
    """A column that would follow must not move."""
    LEVEL = "level"
    """A category has no other level that may be set."""
    RULE = "rule"
    """A rule between features."""
    MAX_ACTIONS = "max_actions"
    """At most so many features may be changed at once."""


class Blocking(StrEnum):
    """How the obstacles of somebody without recourse stand in the way."""

    EACH = "each"
    """Without any one of them there is an action."""
    TOGETHER = "together"
    """Without all of them there is an action, without fewer of them there is none."""
    ALL = "all"
    """Without all of them there is an action; whether fewer would do is not known."""
    CLOSEST = "closest"
    """They stop the set of interventions that comes closest to the favourable decision."""
    HELD = "held"
    """They keep every actionable feature where it is."""
    BEYOND = "beyond"
    """No limit is in the way: nothing that the actionable features could become changes the decision."""
    UNEXPLAINED = "unexplained"
    """That there is no action is proven; what stands in the way was not found."""


class Ending(StrEnum):
    """Why it is not known better what a person's recourse is."""

    WORK = "work"
    """The limit of boxes, nodes or candidates."""
    TIME = "time"
    """The limit of time, counted in seconds of CPU."""
    WALL_TIME = "wall_time"
    """A limit of time on the wall clock: of programs, and the ceiling of searches that count seconds of CPU."""
    UNLIMITED = "unlimited"
    """Some actions have no limits, so that no search covers them all."""
    PRECISION = "precision"
    """A part of the boundary is too thin for floating point."""
    ROUNDING = "rounding"
    """The model's own rounding leaves room between cost and bound."""
    TOLERANCE = "tolerance"
    """The tolerances of a solver leave room between cost and bound, or a program that is empty only just."""
    HEURISTIC = "heuristic"
    """A search that proves nothing."""
    DISAGREEMENT = "disagreement"
    """Two ways to solve the same program contradict each other."""
    GAVE_UP = "gave_up"
    """The solver stopped and gave no reason."""
    NOT_REPLAYED = "not_replayed"
    """An action was proposed that does not hold; `fault` says why."""
    LABEL_STAYS = "label_stays"
    """The model's own label does not follow its score near the boundary."""
    TIE = "tie"
    """The best score is the threshold itself, and no answer there holds."""
    MISSING_ACTION = "missing_action"
    """The value of a feature that may be set is missing: what setting it costs is not known. `subject` names it."""
    MISSING_CAUSE = "missing_cause"
    """The value of a column that equations or rules need is missing; `subject` names it."""
    MISSING_READ = "missing_read"
    """What the model makes of a missing value could not be read; `subject` names the column."""
    UNDEFINED = "undefined"
    """The equation of `subject` divides by 0 for this person, so that no counterfactual can be computed."""


CLOCKS = (Ending.TIME, Ending.WALL_TIME)
"""What a limit of seconds ended: another run may end elsewhere."""
LACKS = (Ending.MISSING_ACTION, Ending.MISSING_CAUSE, Ending.MISSING_READ)
"""What is only said of whoever lacks a value."""


class Unfit(StrEnum):
    """What of a problem a solver does not fit."""

    MODEL = "model"
    EQUATIONS = "equations"
    COST = "cost"
    RULES = "rules"
    ACTIONS = "actions"
    """There are too many of them, or of ways to combine them."""
    SETTING = "setting"
    """A setting of the solver itself."""


class Why(StrEnum):
    """Why a solver does not fit."""

    CLOSED = "closed"
    """The model can only be asked; `detail` says what of it could not be read, in the words of what reads models."""
    OTHER_MODEL = "other_model"
    """The model is read, and is none of what the solver takes; `subject` is the class of its view."""
    NOT_FINITE = "not_finite"
    """The model's numbers are not all finite."""
    LABELS_ONLY = "labels_only"
    """A margin, `value`, is asked of a model of which only labels are known."""
    COST_NOT_LINEAR = "cost_not_linear"
    COST_NOT_PIECEWISE = "cost_not_piecewise"
    """It is neither linear nor piecewise linear in each change."""
    COST_ENDS = "cost_ends"
    """It does not grow beyond its last knot, so that no budget limits an action."""
    RULES = "rules"
    """Rules between features are not reckoned with."""
    BENT = "bent"
    """The equation of `subject` is not linear, and an action can move it."""
    SET_AND_FOLLOWS = "set_and_follows"
    """`subject` is a category that can be set and also follows an action by its equation."""
    NOT_ENCLOSED = "not_enclosed"
    """The equation of `subject` cannot be enclosed; `detail` says why, in the equation's own words."""
    MANY_WAYS = "many_ways"
    """There are `count` ways to set or leave `among` actionable features, and at most `most` are tried."""
    MANY_LEVELS = "many_levels"
    """There are `count` ways to combine the levels of `among` actionable categories, and at most `most` are tried."""
    GAP = "gap"
    """`value` of `argument` cannot be proven for a network with hidden layers."""
    OTHER = "other"
    """What no other kind says; `detail` is a sentence of the solver's author."""


REFUSED_WITH = {
    Why.CLOSED: ("detail",), Why.OTHER_MODEL: ("subject",), Why.LABELS_ONLY: ("value",), Why.BENT: ("subject",),
    Why.SET_AND_FOLLOWS: ("subject",), Why.NOT_ENCLOSED: ("subject", "detail"), Why.OTHER: ("detail",),
    Why.MANY_WAYS: ("count", "among", "most"), Why.MANY_LEVELS: ("count", "among", "most"),
    Why.GAP: ("argument", "value"),
}  # fmt: skip
"""What must be told with a kind."""


class Takes(StrEnum):
    """Which models a solver takes."""

    SCORE = "score"
    """A single linear score."""
    TREES_OR_LAYERS = "trees_or_layers"
    """Sums of trees, and networks."""
    PROGRAM = "program"
    """Whatever can be written as a mixed-integer program."""
    READABLE = "readable"
    """Whatever can be read."""


class Fault(StrEnum):
    """What is wrong with an action that does not hold; `subject` names the column or the rule."""

    LABEL = "label"
    VALUE = "value"
    RANGE = "range"
    RULE = "rule"
    EQUATION = "equation"
    COST = "cost"
    ACTIONS = "actions"
    """It changes more features than may be changed at once."""


class _Fact:
    """Writes itself as plain data and reads itself back."""

    _type = ""
    """Its name, where it is written as one of several."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return ({"type": self._type} if self._type else {}) | as_fields(self)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Back from plain data."""
        names = {field.name for field in fields(cast(Any, cls))} | ({"type"} if cls._type else set())
        if not isinstance(data, dict) or data.keys() != names or data.get("type", "") != cls._type:
            raise ParameterError(
                "PARAMETER", f"This is no {cls.__name__}: {str(data)[:80]!r}.", fix="Give what to_dict() returned."
            )
        return cls(**{key: value for key, value in data.items() if key != "type"})


@dataclass(frozen=True)
class Obstacle(_Fact):
    """One limit that stands in a person's way.

    >>> Obstacle("income", LimitKind.UPPER, 1, 90.0, fact=40.0, stops_at=90.0).limit
    <LimitKind.UPPER: 'upper'>
    """

    feature: str
    """The actionable feature that it stops; empty where it concerns several at once, as rules do."""
    limit: LimitKind
    side: int = 0
    """-1 where it stops what goes down, +1 what goes up, 0 where it has no side."""
    value: float | str | None = None
    """The number that was declared or observed: 90 for upper=90, 5 for max_decrease=5; of a category the level."""
    column: str = ""
    """The column that follows and must stay in its range, or must not move at all; empty for the feature's own."""
    guards: str = ""
    """The column for whose sake `column` must not move: it would follow, and no equation says how."""
    rule: str = ""
    """The rule between features, as it was declared."""
    fact: float | str | None = None
    """Where the person is now: a number, or a level."""
    stops_at: float | str | None = None
    """How far the feature may go that way."""

    def __post_init__(self) -> None:
        _check(self, LimitKind, "limit")
        if self.side not in (-1, 0, 1) or isinstance(self.side, bool):
            raise _wrong(self, "side", "-1, 0 or 1")
        if not (self.feature or self.column or self.rule or self.limit == LimitKind.MAX_ACTIONS):
            raise _wrong(self, "feature", "a name, unless a column or a rule is named")

    @property
    def kind(self) -> Obstacle:
        """The same obstacle without what is about one person, so that people can be counted by it."""
        return Obstacle(self.feature, self.limit, self.side, self.value, self.column, self.guards, self.rule)


@dataclass(frozen=True)
class Infeasibility(_Fact):
    """Why somebody has no recourse."""

    obstacles: tuple[Obstacle, ...] = ()
    blocking: Blocking = Blocking.UNEXPLAINED
    needed: float | None = None
    """How much more score the decision needs, where there is one score."""
    reachable: float | None = None
    """How much more of it the best allowed changes give."""

    _type = "infeasibility"

    def __post_init__(self) -> None:
        _check(self, Blocking, "blocking")
        if not (isinstance(self.obstacles, tuple) and all(isinstance(one, Obstacle) for one in self.obstacles)):
            raise _wrong(self, "obstacles", "a tuple of Obstacle")

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Back from plain data."""
        if isinstance(data, dict) and isinstance(data.get("obstacles"), list):
            data = data | {"obstacles": tuple(Obstacle.from_dict(one) for one in data["obstacles"])}
        return super().from_dict(data)

    @property
    def named(self) -> list[str]:
        """The columns that it names."""
        found = [name for one in self.obstacles for name in (one.feature, one.column, one.guards) if name]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Termination(_Fact):
    """Why a person's recourse is not known better, and what is known.

    >>> Termination(Ending.WORK, argument="node_limit", limit=1000, bound=0.5).found
    False
    """

    kind: Ending
    found: bool = False
    """Whether an action was found."""
    bound: float | None = None
    """No action costs less; None or 0 where nothing is proven."""
    argument: str = ""
    """The argument of the solver that sets the limit which was reached."""
    limit: float | None = None
    """That limit: boxes, candidates, seconds; for rounding its share of what the model sums."""
    work: int | None = None
    """How many boxes or candidates were looked at."""
    fault: Fault | None = None
    """What was wrong with an action that did not hold."""
    subject: str = ""
    """The column or the rule that `fault` is about; the column without a limit or a value, where one is known."""

    _type = "termination"

    def __post_init__(self) -> None:
        _check(self, Ending, "kind")
        if self.fault is not None:
            _check(self, Fault, "fault")
        if (self.fault is None) == (self.kind is Ending.NOT_REPLAYED):
            raise _wrong(self, "fault", "a Fault exactly where the kind is NOT_REPLAYED")
        if self.bound is not None and self.bound < 0:
            raise _wrong(self, "bound", "a cost of 0 or more")


@dataclass(frozen=True)
class Refusal(_Fact):
    """Why a solver does not fit a problem. A solver of somebody else may say it in a sentence of its own, as `detail`.

    >>> Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE).part
    <Unfit.COST: 'cost'>
    >>> Refusal(Unfit.ACTIONS, detail="No number can be changed.").kind
    <Why.OTHER: 'other'>
    """

    part: Unfit
    kind: Why = Why.OTHER
    subject: str = ""
    """The feature whose equation it is; of a model the class of its view."""
    detail: str = ""
    """What somebody else says of it: a clause of what reads models or of an equation, a sentence of another author."""
    takes: Takes | None = None
    """Which models the solver takes."""
    argument: str = ""
    """The argument of the solver that is in the way."""
    value: float | None = None
    """What it is set to; of a margin how large it is."""
    count: int | None = None
    """How many ways there are to set or leave what can be set."""
    among: int | None = None
    """Of so many actionable features or categories."""
    most: int | None = None
    """The most that are tried."""

    def __post_init__(self) -> None:
        _check(self, Unfit, "part")
        _check(self, Why, "kind")
        if self.takes is not None:
            _check(self, Takes, "takes")
        _check_told(self, REFUSED_WITH.get(self.kind, ()))


class Ground(StrEnum):
    """Why a solver was chosen."""

    CALLER = "caller"
    """Somebody named it."""
    LINEAR = "linear"
    """The score is linear and so is every equation an action can reach."""
    LINEAR_RULES = "linear_rules"
    """So they are, and there are rules between features."""
    LINEAR_WAYS = "linear_ways"
    """So they are, and there are `count` ways to set or leave what can be set: too many to list."""
    LINEAR_RANGES = "linear_ranges"
    """So they are, and several actions move a column that must stay in a range."""
    PROGRAM = "program"
    """Programs reckon with all that kept others from it."""
    TREES = "trees"
    """A sum of `count` trees over linear equations."""
    NETWORK = "network"
    """A ReLU network with `hidden` units over linear equations."""
    SCORES = "scores"
    """`count` linear scores are compared, over linear equations."""
    ENCLOSED = "enclosed"
    """All of it can be enclosed; answers are certified to the gap `value`."""
    SEARCHED = "searched"
    """No solver that proves its answers fits."""


CHOSEN_WITH = {
    Ground.LINEAR_WAYS: ("count",), Ground.TREES: ("count",), Ground.SCORES: ("count",), Ground.NETWORK: ("hidden",),
    Ground.ENCLOSED: ("value",),
}  # fmt: skip
"""What must be told with a ground."""


@dataclass(frozen=True)
class Grounds(_Fact):
    """Why this solver.

    >>> Grounds(Ground.TREES, count=7).count
    7
    """

    kind: Ground
    count: int | None = None
    """Of trees, scores, or ways to set or leave what can be set."""
    hidden: tuple[int, ...] = ()
    """How many units each hidden layer of a network has."""
    value: float | None = None
    """How close costs are certified, where that was a reason."""
    refusals: tuple[Refusal, ...] = ()
    """Why others do not fit, that would have been tried first."""
    without: tuple[str, ...] = ()
    """Limits that were given and that this solver does not have."""

    def __post_init__(self) -> None:
        _check(self, Ground, "kind")
        if not (isinstance(self.hidden, tuple) and all(type(width) is int and width > 0 for width in self.hidden)):
            raise _wrong(self, "hidden", "a tuple of whole numbers above 0")
        if not (isinstance(self.refusals, tuple) and all(isinstance(one, Refusal) for one in self.refusals)):
            raise _wrong(self, "refusals", "a tuple of Refusal")
        if not (isinstance(self.without, tuple) and all(isinstance(one, str) for one in self.without)):
            raise _wrong(self, "without", "a tuple of names")
        _check_told(self, CHOSEN_WITH.get(self.kind, ()))

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Back from plain data."""
        lists = {"hidden", "refusals", "without"}
        if isinstance(data, dict) and all(isinstance(data.get(name), list) for name in lists):
            data = data | {name: tuple(data[name]) for name in lists}
            data["refusals"] = tuple(Refusal.from_dict(one) for one in data["refusals"])
        return super().from_dict(data)


Reason = Infeasibility | Termination
"""What a table says of somebody who has no action, or none that is proven the cheapest."""


def fact_from_dict(data: Any) -> Reason:
    """The fact that was written.

    >>> fact_from_dict(Termination(Ending.GAVE_UP).to_dict())
    Termination(kind=<Ending.GAVE_UP: 'gave_up'>, found=False, bound=None, argument='', limit=None, work=None, \
fault=None, subject='')
    """
    is_ending = isinstance(data, dict) and data.get("type") == "termination"
    return Termination.from_dict(data) if is_ending else Infeasibility.from_dict(data)


_TEXT = ("feature", "column", "guards", "rule", "argument", "subject", "detail")
_LEVELS = ("value", "fact", "stops_at")
"""What may also be the level of a category, as text."""
_WHOLE = ("work", "count", "among", "most")
_NUMBERS = ("value", "fact", "stops_at", "needed", "reachable", "bound", "limit", *_WHOLE)


def _check(fact: Any, kinds: type[StrEnum], key: str) -> None:
    """Refuse a fact that no file and no report could hold; a kind may be given by its name."""
    try:
        object.__setattr__(fact, key, kinds(getattr(fact, key)))
    except ValueError:
        raise _wrong(fact, key, f"one of {', '.join(kinds)}") from None
    texts, numbers, flags = _asked(cast("Hashable", type(fact)))
    for name in texts:
        if not isinstance(getattr(fact, name), str):
            raise _wrong(fact, name, "text")
    for name in numbers:
        value = getattr(fact, name)
        if name == key or value is None or (name in _LEVELS and isinstance(value, str)):
            continue
        if type(value) is not float or not math.isfinite(value):
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
                raise _wrong(fact, name, "a finite number or None")
        elif name not in _WHOLE:
            continue
        # No number of another library's goes into a file.
        object.__setattr__(fact, name, round(float(value)) if name in _WHOLE else float(value))
    for name in flags:
        if not isinstance(getattr(fact, name), bool):
            raise _wrong(fact, name, "True or False")


@cache
def _asked(kind: Any) -> tuple[tuple[str, ...], ...]:
    """The members of a kind of fact that must be text, numbers and flags: looked up once, since facts are many."""
    names = [field.name for field in fields(kind)]
    return tuple(tuple(name for name in names if name in some) for some in (_TEXT, _NUMBERS, ("found",)))


def _check_told(fact: Refusal | Grounds, needed: tuple[str, ...]) -> None:
    for name in needed:
        if getattr(fact, name) in (None, "", ()):
            raise _wrong(fact, name, f"what {fact.kind.value!r} tells")


def _wrong(fact: _Fact, key: str, takes: str) -> ParameterError:
    name = type(fact).__name__
    return ParameterError(
        "PARAMETER",
        f"{key!r} of {name} takes {takes}, not {getattr(fact, key)!r}.",
        fix=f"See the docstring of ee.solvers.{name}.",
    )
