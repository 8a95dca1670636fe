"""Feature and Schema: what each column is, who may change it, how far, and who is protected.

>>> schema = Schema(
...     sensitive="sex", protected="female", favourable="good",
...     features={"age": Feature("actionable", direction="up", upper=75), "duration": "mutable"})
>>> schema.role("sex"), schema.role("age"), schema.role("duration")
('sensitive', 'actionable', 'mutable')
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import pandas as pd

from equieffort.data.frames import KINDS, Column, Encoding, Kind, may_be_whole, number, read_frame, require_columns
from equieffort.data.one_hot import OneHot, alike_families
from equieffort.errors import DataError, SchemaError, Setting, capital, closest, label, listed, warn
from equieffort.foundations.arguments import (
    check_flag,
    check_mapping,
    check_number,
    is_number,
    items_in,
    names_in,
    shown,
)
from equieffort.foundations.saved import APART, as_fields, from_hints
from equieffort.world.graph import CausalGraph
from equieffort.world.labels import Labels, SensitiveColumns, told_constraint
from equieffort.world.opponents import read_reference
from equieffort.world.ordered import check_known, check_order, read_order, read_prices, without_forbidden
from equieffort.world.rules import Constraint, Forbidden, read_constraint

_bad_limits = partial(SchemaError, "SCHEMA_LIMITS")

Role = Literal["actionable", "mutable", "immutable"]
Direction = Literal["both", "up", "down"]
Range = tuple[float | None, float | None]
if TYPE_CHECKING:
    Prices = Mapping[tuple[Any, Any], float] | Mapping[Any, Mapping[Any, float]] | pd.DataFrame
else:
    # What a feature holds once they are read, and what is saved.
    Prices = Mapping[tuple[Any, Any], float]


@dataclass(frozen=True)
class Feature:
    """What may happen to one feature.

    Parameters
    ----------
    role
        "actionable": a person may set it. "mutable": it only follows its causes. "immutable": it must not move.
    kind
        "continuous", "integer", "binary" or "categorical"; None infers it from the column: float is continuous, int
        integer, bool binary, text categorical, and a column of the numbers 0 and 1 is binary, whatever its type.
        So whole numbers that pandas holds as floats, as it does beside missing values, are continuous; where some are
        missing a warning says so. Say "integer", or store them as Int64.
    direction
        "both", "up" or "down": where an intervention may move the value: of a number, of a binary feature (up is from 0
        to 1, from False to True), or of a category whose levels have an order.
    lower, upper
        The range of values an intervention may set; of a category with an order its lowest and highest level. A side of
        a number that nothing declares stays within the values observed in the reference data; an infinity
        (`float("inf")`) says that there is no limit.
    max_increase, max_decrease
        The same relative to the person's own value, for numbers. They declare their side, as `direction` does.
    plausible
        (low, high): the range of values in the counterfactual, however they came about; None leaves an end open. An
        end that is given declares its side of what may be set too. For numbers.
    weight
        How much a unit of scaled change costs, and any change of a category; a pair (up, down) when they differ.
    order
        The levels of a category from the lowest to the highest. None takes the order of the column, if its type
        declares one (a `pd.Categorical` with ordered=True, an Enum of polars).
    steps
        Whether a change of a category costs by the steps it goes: from the lowest level of the order to the highest it
        costs the weight, and a single step of k levels weight / (k - 1). Without, any change costs the weight.
    prices
        What changes from one level of a category to another cost, where that is not what `weight` and `steps` say:
        {("rent", "own"): 2.0}, {"rent": {"own": 2.0}}, or a pandas table with a row for each level people have and a
        column for each they may take. A pair that is not there keeps its price; an infinite price, or an empty cell of
        the table, says that nobody can make that change, and becomes a `Forbidden` of the schema.
    observed
        (least, largest) observed value where that is the limit, because nothing was declared; of a binary number
        (0, 1). `RecourseProblem.of` fills it in from the reference data, whatever stood there.
    """

    role: Role
    kind: Kind | None = field(default=None, kw_only=True)
    direction: Direction = field(default="both", kw_only=True)
    lower: float | str | None = field(default=None, kw_only=True)
    upper: float | str | None = field(default=None, kw_only=True)
    max_increase: float | None = field(default=None, kw_only=True)
    max_decrease: float | None = field(default=None, kw_only=True)
    plausible: Range | None = field(default=None, kw_only=True)
    weight: float | tuple[float, float] = field(default=1.0, kw_only=True)
    order: tuple[Any, ...] | None = field(default=None, kw_only=True)
    steps: bool = field(default=False, kw_only=True)
    prices: Prices | None = field(default=None, kw_only=True)
    observed: Range | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or self.role not in get_args(Role):
            raise SchemaError(
                "SCHEMA_ROLE",
                f"{capital(shown(self.role))} is not a role. {closest(self.role, get_args(Role))}".rstrip(),
                fix=('A role is "actionable", "mutable" or "immutable"; ', Setting("protected"), "."),
            )
        if self.kind is not None and not (isinstance(self.kind, str) and self.kind in KINDS):
            raise SchemaError(
                "SCHEMA_KIND",
                f"{capital(shown(self.kind))} is not a kind. {closest(self.kind, KINDS)}".rstrip(),
                fix=f"A kind is one of {listed(KINDS)}.",
            )
        if not isinstance(self.direction, str) or self.direction not in get_args(Direction):
            raise SchemaError(
                "SCHEMA_ROLE",
                f"{capital(shown(self.direction))} is not a direction. "
                f"{closest(self.direction, get_args(Direction))}".rstrip(),
                fix='Use "both", "up" or "down".',
            )
        self._read_levels()
        self._check_limits()
        self._check_weight()

    def __hash__(self) -> int:
        return hash((self.role, self.kind, self.direction, self.lower, self.upper, self.order))

    def _read_levels(self) -> None:
        """What is said of the levels of a category, in one form."""
        check_flag("steps", self.steps)
        if self.order is not None:
            object.__setattr__(self, "order", read_order(self.order))
        if self.prices is not None:
            object.__setattr__(self, "prices", read_prices(self.prices))
        for name in ("lower", "upper"):
            value = getattr(self, name)
            if not isinstance(value, str) or self.kind in ("continuous", "integer"):
                _check_number(name, value)
            if self.order is not None and not _is_open(value):
                check_known(name, [value], self.order)

    def _check_limits(self) -> None:
        for name in ("max_increase", "max_decrease"):
            value = getattr(self, name)
            _check_number(name, value)
            if value is not None and name.startswith("max_") and value < 0:
                raise _bad_limits(f"{name} is {value}, below zero.", fix="Give the largest change as a size.")
        if self.lower == math.inf or self.upper == -math.inf:
            key, free = ("lower", "minus infinity") if self.lower == math.inf else ("upper", "infinity")
            raise _bad_limits(
                f"{key} is {number(getattr(self, key))}, which no value reaches.",
                fix=("Give a number, or ", Setting("no limit", free), " for no limit on that side."),
            )
        if self.order is not None or (is_number(self.lower) and is_number(self.upper)):
            low, high = self.ends
            if low is not None and high is not None and not low <= high:
                raise _bad_limits(
                    f"The lower limit {self.lower} is above the upper limit {self.upper}.", fix="Swap or correct them."
                )
        _check_pair("plausible", self.plausible, "The plausible minimum", "the plausible maximum", "Give (low, high).")
        _check_pair("observed", self.observed, "The least observed value", "the largest", "Leave it out.")
        if any(end is not None and math.isinf(end) for end in self.observed or ()):
            raise _bad_limits(f"observed is {self.observed!r}.", fix="Leave it out.")
        if self.role != "actionable" and (self.steps or self.priced):
            raise _bad_limits(
                f"A feature that is {self.role} has prices for interventions, which it never gets.",
                fix="Remove them, or make it actionable.",
            )
        if self.role != "actionable" and self.has_limits:
            raise _bad_limits(
                f"A feature that is {self.role} has limits for interventions, which it never gets.",
                fix=("Use ", Setting("plausible"), " to limit where its value may go, or make it actionable."),
            )

    def _check_weight(self) -> None:
        for weight in self.weights:
            if not (is_number(weight) and math.isfinite(weight) and weight > 0):
                raise SchemaError(
                    "SCHEMA_WEIGHT",
                    f"The weight {label(self.weight)[:80]} is not a positive number.",
                    fix='Give a positive weight, or make the feature "mutable" if it must not be acted on.',
                )

    @property
    def has_limits(self) -> bool:
        """Whether anything limits the values an intervention may set; an infinity does not."""
        limits = (*self.limits, self.max_increase, self.max_decrease)
        return self.direction != "both" or not all(map(_is_open, limits))

    @property
    def ends(self) -> Range:
        """Lower and upper as numbers; of a category with an order the places of these levels in it."""
        low, high = (
            end if self.order is None or _is_open(end) else float(self.order.index(end)) for end in self.limits
        )
        assert not isinstance(low, str)
        assert not isinstance(high, str)
        return low, high

    @property
    def limits(self) -> tuple[float | str | None, float | str | None]:
        """Lower and upper."""
        return self.lower, self.upper

    @property
    def needs_order(self) -> bool:
        """Whether it says something of a category that only levels with an order have."""
        up, down = self.weights
        return self.steps or up != down or self.direction != "both" or not all(map(_is_open, self.limits))

    @property
    def declares_lower(self) -> bool:
        """Whether anything says how low an intervention may go, if only that there is no limit."""
        ends = (self.lower, self.max_decrease, (self.plausible or (None, None))[0])
        return self.direction == "up" or any(end is not None for end in ends)

    @property
    def declares_upper(self) -> bool:
        """Whether anything says how high an intervention may go, if only that there is no limit."""
        ends = (self.upper, self.max_increase, (self.plausible or (None, None))[1])
        return self.direction == "down" or any(end is not None for end in ends)

    @property
    def priced(self) -> dict[tuple[Any, Any], float]:
        """The prices that were declared, by pair of levels."""
        return {} if self.prices is None else dict(cast("Mapping[tuple[Any, Any], float]", self.prices))

    @property
    def weights(self) -> tuple[float, float]:
        """The weights (up, down)."""
        if isinstance(self.weight, tuple | list):
            if len(self.weight) != 2:
                raise SchemaError("SCHEMA_WEIGHT", f"{self.weight!r} is not a pair.", fix="Give (up, down).")
            return self.weight[0], self.weight[1]
        return self.weight, self.weight


def _is_open(end: float | str | None) -> bool:
    """Whether an end limits nothing: it was not declared, or is an infinity."""
    return end is None or (not isinstance(end, str) and math.isinf(end))


def _check_number(name: str, value: Any) -> None:
    if value is not None and not is_number(value):
        raise _bad_limits(f"{name} is {shown(value)}, not a number.", fix="Give a number, or leave it out.")


def _check_range(low_name: str, low: float | None, high_name: str, high: float | None) -> None:
    if low is not None and high is not None and not low <= high:
        raise _bad_limits(f"{low_name} {low} is above {high_name} {high}.", fix="Swap or correct them.")


def _check_pair(name: str, pair: Any, low_name: str, high_name: str, fix: str) -> None:
    if pair is None:
        return
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise _bad_limits(f"{name} is {pair!r}, not a pair.", fix=fix)
    for end in pair:
        _check_number(f"an end of {name}", end)
    _check_range(low_name, pair[0], high_name, pair[1])


@dataclass(frozen=True)
class AssumedLimit:
    """An end of what may be set that nobody declared: the least or largest value observed in the reference data."""

    feature: str
    key: Literal["lower", "upper"]
    """What to declare instead."""
    value: float


MUTABLE = Feature("mutable")
IMMUTABLE = Feature("immutable")
UNLIMITED = Feature("actionable", lower=-math.inf, upper=math.inf)
"""A number that may be set to anything, as in the paper."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Roles of all columns, the protected groups and the favourable outcome. Nothing sensitive has a default.

    Parameters
    ----------
    sensitive
        The sensitive column, or several whose values together form the groups. None, and `protected` None, where nobody
        is compared: for `find_recourse` and `solve`; an audit refuses it.
    protected
        The protected value (a tuple of values when `sensitive` is several columns), or a list of them: who is judged.
    reference
        Whom they are compared with: a value, `Rest()` for everybody else, or `AllPairs()` for every pair of groups;
        needed once more than one other value remains.
    favourable
        The label people want, or a list of labels when the model chooses between more than two.
    threshold
        If declared, the decision is favourable when the model's probability of the favourable labels is at least
        this, whatever `predict` says; by default the model's own label decides.
    also_protected
        Further columns that no action may change.
    features
        Column -> `Feature`, or just its role. A feature that is not listed only follows its causes.
    rules
        What must hold between features in every counterfactual: `Implies`, `Monotone`, `Sum`, `Forbidden`, `Always`,
        or text such as "if employed = 0 then tenure = 0".
    max_actions
        At most so many features may be changed by one person at once; None sets no limit. What follows an action, and
        a feature that is held at its own value, is not counted.
    labels
        What people call groups, features and levels in everything they read:
        ``{"groups": {"0": "women"}, "features": {"ltv": "loan to value"}, "levels": {"job": {"A171": "unskilled"}}}``.
        Tables, JSON and CSV keep the names of the data.
    one_hot
        Categories that the table holds as columns of 0 and 1, and that the model gets so: category -> its columns, or
        category -> {level: column}, in which None is the level that has no column (as after `drop="first"`). Each is
        one category everywhere: in `features`, rules, the graph, costs and results.
    unused
        Columns of the table that are known to play no part: nobody is warned of them.
    """

    sensitive: str | Sequence[str] | None
    protected: Any
    reference: Any = None
    favourable: Any
    threshold: float | None = None
    also_protected: Sequence[str] = ()
    features: Mapping[str, Feature | Role] = field(default_factory=dict)
    rules: Sequence[Constraint | str] = ()
    max_actions: int | None = None
    labels: Labels | Mapping[str, Any] = field(default_factory=Labels)
    one_hot: Mapping[str, Sequence[str] | Mapping[str, str | None]] = field(default_factory=dict)
    unused: Sequence[str] = field(default=(), metadata=APART)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", Labels.of(self.labels))
        takes = "a column name or a list of them"
        if self.sensitive is None:
            self._check_without_groups()
        elif not names_in("sensitive", self.sensitive, takes, error=SchemaError):
            raise SchemaError("PARAMETER", "sensitive names no column.", fix="Name the column with the groups.")
        others = names_in("also_protected", self.also_protected, takes, error=SchemaError)
        object.__setattr__(self, "also_protected", others)
        object.__setattr__(self, "unused", names_in("unused", self.unused, takes, error=SchemaError))
        check_mapping("features", self.features, 'a mapping such as {"age": "actionable"}', error=SchemaError)
        features = {
            name: feature if isinstance(feature, Feature) else Feature(feature)
            for name, feature in self.features.items()
        }
        forbidden: list[Constraint] = []
        for name, feature in features.items():
            finite, never = without_forbidden(feature.priced)
            if never:
                features[name] = replace(feature, prices=finite or None)
                forbidden.append(Forbidden(name, never))
        object.__setattr__(self, "features", features)
        object.__setattr__(
            self, "one_hot", {name: dict(one) for name, one in OneHot.of(self.one_hot).categories.items()}
        )
        self._check_spread()
        self._check_outcome()
        given = [self.rules] if isinstance(self.rules, str | Constraint) else self.rules
        given = items_in("rules", given, "a list of rules between features", error=SchemaError)
        rules = tuple(rule if isinstance(rule, Constraint) else read_constraint(rule) for rule in given)
        object.__setattr__(self, "rules", (*rules, *(rule for rule in forbidden if rule not in rules)))
        check_number(
            "max_actions", self.max_actions, "a whole number, 1 or more, or None for no limit", lambda most: most >= 1,
            whole=True, optional=True, error=SchemaError,
        )  # fmt: skip
        for name in (*self.sensitive_columns, *self.also_protected):
            if name in features and features[name].role != "immutable":
                raise SchemaError(
                    "SCHEMA_SENSITIVE_ACTIONABLE",
                    f"The protected column {name!r} is declared {features[name].role}.",
                    fix="Leave it out of `features`: protected columns never change.",
                )

    def _check_without_groups(self) -> None:
        """Refuse groups of a column that is not named."""
        for key in ("protected", "reference"):
            if getattr(self, key) is not None:
                raise SchemaError(
                    "SCHEMA_GROUPS",
                    f"{key} names a group, and sensitive is None: no column says who is in it.",
                    fix=f"Name the column as sensitive, or give {key}=None too where nobody is compared.",
                )

    def _check_spread(self) -> None:
        """Refuse what names a column of a category instead of the category."""
        named = (*self.sensitive_columns, *self.also_protected, *self.features)
        for name in named:
            if (category := self.spread.category_of(name)) != name:
                raise SchemaError(
                    "SCHEMA_ONE_HOT",
                    f"{name!r} is declared apart, but is a column of the category {category!r}.",
                    fix=f"Declare {category!r} in its place.",
                )

    @property
    def spread(self) -> OneHot:
        """The categories that the table holds as columns of 0 and 1."""
        return OneHot.of(self.one_hot)

    def join(self, X: Any) -> pd.DataFrame:
        """The table with one column for each category of `one_hot`: what a causal model is fitted on.

        >>> schema = Schema(sensitive="sex", protected="f", favourable=1, one_hot={"home": ["home_own", "home_rent"]})
        >>> schema.join(pd.DataFrame({"sex": ["f", "m"], "home_own": [1, 0], "home_rent": [0, 1]}))
          sex  home
        0   f   own
        1   m  rent
        """
        return self.spread.join(read_frame(X))

    def _check_outcome(self) -> None:
        if isinstance(self.favourable, list | tuple | set | frozenset) and not self.favourable:
            raise SchemaError(
                "MODEL_LABELS", "The list of favourable labels is empty.", fix="Name at least one label people want."
            )
        if self.threshold is None:
            return
        _check_number("threshold", self.threshold)
        if not 0 < self.threshold < 1:
            raise SchemaError(
                "SCHEMA_THRESHOLD",
                f"The threshold {self.threshold:g} is not a probability between 0 and 1.",
                fix=(
                    "Give the least probability of the favourable label that is approved, as in ",
                    Setting("threshold", 0.62),
                    ".",
                ),
            )

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The sensitive columns as a tuple, which knows what their groups are called."""
        return SensitiveColumns(() if self.sensitive is None else names_in("sensitive", self.sensitive), self.names)

    @property
    def names(self) -> Labels:
        """What people call groups, features and levels."""
        return Labels.of(self.labels)

    @property
    def told_rules(self) -> dict[str, str]:
        """Each rule between features, as it is written, and how readers are told of it."""
        return {str(link): told_constraint(link, self.names) for link in self.constraints}

    @property
    def protected_columns(self) -> tuple[str, ...]:
        """All columns that no action may change because they are protected."""
        return tuple(dict.fromkeys((*self.sensitive_columns, *self.also_protected)))

    def feature(self, name: str) -> Feature:
        """What may happen to a column; protected columns are immutable, unlisted ones mutable."""
        if name in self.protected_columns:
            return IMMUTABLE
        feature = self.features.get(name, MUTABLE)
        return feature if isinstance(feature, Feature) else Feature(feature)

    def role(self, name: str) -> str:
        """The role of a column in words."""
        return "sensitive" if name in self.protected_columns else self.feature(name).role

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The rules between features."""
        return tuple(rule for rule in self.rules if isinstance(rule, Constraint))

    @property
    def rule_columns(self) -> tuple[str, ...]:
        """The columns that rules between features speak of."""
        return tuple(dict.fromkeys(name for link in self.constraints for name in link.names))

    @property
    def actionable(self) -> tuple[str, ...]:
        """The actionable features, in the order they were declared."""
        return tuple(name for name in self.features if self.feature(name).role == "actionable")

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds that were declared."""
        return {name: kind for name in self.features if (kind := self.feature(name).kind) is not None}

    @property
    def assumed(self) -> tuple[AssumedLimit, ...]:
        """The limits that nobody declared; known once a problem was made with the schema."""
        found = []
        for name in self.actionable:
            feature = self.feature(name)
            low, high = (feature.kind != "binary" and feature.observed) or (None, None)
            if low is not None and not feature.declares_lower:
                found.append(AssumedLimit(name, "lower", low))
            if high is not None and not feature.declares_upper:
                found.append(AssumedLimit(name, "upper", high))
        return tuple(found)

    @property
    def zero_one(self) -> tuple[str, ...]:
        """The actionable features that are set to 0 or 1; known once a problem was made with the schema."""
        return tuple(n for n in self.actionable if self.feature(n).kind == "binary" and self.feature(n).observed)

    def check(self, frame: pd.DataFrame, graph: CausalGraph, model_features: Iterable[str]) -> None:
        """Compare the schema with the data, the graph and the model; raise or warn where they disagree."""
        model_features = list(model_features)
        for name in self.protected_columns:
            if name not in frame.columns:
                raise DataError(
                    "SCHEMA_SENSITIVE_MISSING",
                    f"The protected column {name!r} is not in the data. {closest(name, frame.columns)}".rstrip(),
                    fix=Setting("sensitive_features"),
                )
        table = Setting("the table")
        require_columns(frame, self.features, ("A feature is declared in ", Setting("the schema"), ", but ", table))
        require_columns(frame, model_features, ("The model uses a feature, but ", table))
        require_columns(frame, self.rule_columns, ("A rule between features names a column, but ", table))
        self._check_graph(frame, graph, model_features)
        used = {
            *self.features,
            *self.protected_columns,
            *graph.nodes,
            *model_features,
            *self.rule_columns,
            *self.unused,
        }
        extra = [name for name in frame.columns if name not in used]
        if extra:
            warn(
                "DATA_EXTRA_COLUMNS",
                (Setting("unused columns"), f": {listed(extra)}."),
                fix=Setting("without unused columns"),
            )
        if not self.actionable:
            raise SchemaError(
                "PROBLEM_NOTHING_ACTIONABLE",
                "No feature is declared actionable.",
                fix='Give at least one feature the role "actionable".',
            )
        self._check_one_hot(frame)

    def warn_of_fractions(self, frame: pd.DataFrame) -> None:
        """Warn of numbers that are all whole, in a type of fractions only because some are missing perhaps."""
        moving = {name: f for name in self.features if (f := self.feature(name)).role != "immutable"}
        found = [n for n, f in moving.items() if f.kind is None and n in frame.columns and may_be_whole(frame[n])]
        if found:
            warn(
                "SCHEMA_KIND_ASSUMED",
                f"{listed(found)} {'holds' if len(found) == 1 else 'hold'} nothing but whole numbers, as floats beside "
                "missing values: taken as continuous, so that fractions may be proposed.",
                fix=(
                    "Declare ", Setting("kind of feature", "integer"), " if only whole numbers make sense, ",
                    Setting("kind of feature", "continuous"), " if not.",
                ),
            )  # fmt: skip

    def _check_graph(self, frame: pd.DataFrame, graph: CausalGraph, model_features: list[str]) -> None:
        graph.require(frame.columns)
        lonely = [name for name in model_features if name not in graph.nodes]
        if lonely and graph.edges:
            warn(
                "GRAPH_ROOTS_ASSUMED",
                f"No edge of the graph mentions {listed(lonely)}: taken to have no cause and no effect.",
                fix=("Name them in ", Setting("nodes"), " to say that this is meant."),
            )
        for name in self.protected_columns:
            if name in graph.nodes and graph.parents(name):
                warn(
                    "GRAPH_INTO_SENSITIVE",
                    f"The graph has an edge into the protected column {name!r}, from {listed(graph.parents(name))}.",
                    fix="Turn the edge round if it is a slip; actions that would move it are not feasible.",
                )
        followers = graph.descendants(*(name for name in self.actionable if name in graph.nodes))
        assumed = [n for n in followers if n not in self.features and n not in self.protected_columns]
        if assumed:
            warn(
                "SCHEMA_ROLE_ASSUMED",
                f"No role is declared for {listed(assumed)}, which would follow an action: taken as mutable.",
                fix=('Declare them "mutable" or "immutable" in ', Setting("the schema"), "."),
            )

    def _check_one_hot(self, frame: pd.DataFrame) -> None:
        """Refuse actions on columns of one category that were encoded apart."""
        for stem, members in alike_families(frame).items():
            acting = [name for name in members if name in self.actionable]
            if acting:
                raise SchemaError(
                    "SCHEMA_ONE_HOT",
                    f"{listed(members)} look like one category {stem!r} spread over columns, and "
                    f"{listed(acting)} would be changed apart.",
                    fix=("Say so: ", Setting("one_hot", members, of=stem), "."),
                )

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        return as_fields(self) | {"sensitive": list(self.sensitive_columns)}

    @classmethod
    def from_dict(cls, saved: Any) -> Schema:
        """From the saved form."""
        said = from_hints(SAVED, saved, "schema")
        sensitive, protected = said["sensitive"], said["protected"]
        if len(sensitive) > 1 and isinstance(protected, list) and not any(isinstance(key, list) for key in protected):
            # One group of several columns; in a list of groups each would be a list.
            protected = tuple(protected)
        given = {"sensitive": sensitive[0] if len(sensitive) == 1 else sensitive or None, "protected": protected}
        return cls(**said | given | {"reference": read_reference(said["reference"])})


SAVED = {
    "sensitive": tuple[str, ...],
    "protected": Any,
    "reference": Any,
    "favourable": Any,
    "threshold": float | None,
    "also_protected": tuple[str, ...],
    "features": dict[str, Feature],
    "rules": tuple[Constraint, ...],
    "max_actions": int | None,
    "labels": Labels,
    "one_hot": dict[str, dict[str, str | None]],
}
"""What the saved form of a schema holds."""


def check_kinds(schema: Schema, encoding: Encoding) -> None:
    """Refuse what a feature of its kind cannot have."""
    for name in schema.actionable:
        check_kind(name, schema.feature(name), encoding[name])


def check_kind(name: str, feature: Feature, column: Column) -> None:
    """Refuse what a feature cannot have that holds what this column does; the error knows the feature."""
    try:
        if column.is_category:
            _check_category(name, feature, column)
        else:
            _check_amounts(name, feature, column)
    except SchemaError as error:
        error.feature = name
        raise


def _check_amounts(name: str, feature: Feature, column: Column) -> None:
    if feature.order is not None or feature.steps or feature.prices is not None:
        raise SchemaError(
            "SCHEMA_KIND",
            f"The {column.kind} feature {name!r} has an order, steps or prices of levels, which only categories "
            "can have; numbers are ordered by themselves.",
            fix="Remove them, or declare the feature as categorical if its numbers are levels.",
        )
    for key, end in zip(("lower", "upper"), feature.limits, strict=True):
        _check_number(f"{key} of {name!r}", end)


def _check_category(name: str, feature: Feature, column: Column) -> None:
    if feature.plausible or feature.max_increase is not None or feature.max_decrease is not None:
        raise SchemaError(
            "SCHEMA_KIND",
            f"The {column.kind} feature {name!r} has a plausible range or a largest change, which only numbers can "
            "have.",
            fix="Remove them, or declare the feature as integer or continuous.",
        )
    order = feature.order
    if feature.needs_order and order is None:
        raise SchemaError(
            "SCHEMA_LEVELS",
            f"The {column.kind} feature {name!r} has a direction, limits, steps or two weights, but nothing says in "
            f"which order its levels are: {listed(column.levels)}.",
            fix=(
                "Declare it, from the lowest to the highest, as in ",
                Setting("order of levels"),
                Setting("ordered column", of=name),
                ".",
            ),
        )
    if order is not None:
        check_order(name, order, column.levels)
    known = tuple(dict.fromkeys((*(order or ()), *column.levels)))
    check_known(f"prices of {name!r}", (level for pair in feature.priced for level in pair), known)
