"""Labels: what people call groups, features and levels, wherever a reader meets them; data keep their own names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from equieffort.data.frames import infer_kind, reads_as_number
from equieffort.errors import SchemaError, closest, listed
from equieffort.foundations.arguments import check_mapping, refused, shown
from equieffort.world.rules import Always, Constraint, Forbidden, Implies, Monotone, Sum, parse_rule
from equieffort.world.rules.tree import Compare, Joined, Literal, Name, Node, Not, Within

BETWEEN = " & "
"""Between the values of several columns in the name of a group."""
PARTS = 'a mapping such as {"groups": {"0": "women"}, "features": {...}, "levels": {"job": {...}}}'


def _texts(name: str, given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise refused(name, given, "a mapping from name to label", error=SchemaError)
    for key, text in given.items():
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise SchemaError(
                "SCHEMA_LABELS",
                f"{name} calls {key!r} {shown(text)}, which is no name that can be read.",
                fix="Give a text of letters that can be printed.",
            )
    return {BETWEEN.join(map(str, key)) if isinstance(key, tuple) else str(key): text for key, text in given.items()}


@dataclass(frozen=True)
class Labels:
    """Names for readers; what has none is shown as it stands in the data.

    Parameters
    ----------
    groups
        Group, as it stands in the data -> its people, fit to follow "refused": ``{"0": "Black applicants"}``. Groups
        of several sensitive columns are called by all their values: ``{"female & 1": "young women"}``.
    features
        Column -> what it is: ``{"ltv": "loan-to-value ratio"}``.
    levels
        Column -> level -> what it means: ``{"job": {"A171": "unskilled"}}``.

    >>> names = Labels(groups={0: "women"}, levels={"job": {1: "cook"}})
    >>> names.group("0"), names.feature("job"), names.level("job", 1), names.level("job", 2)
    ('women', 'job', 'cook', None)
    """

    groups: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("groups", "features"):
            object.__setattr__(self, name, _texts(f"labels.{name}", getattr(self, name)))
        check_mapping("labels.levels", self.levels, "a mapping from column to labels of its levels", error=SchemaError)
        levels = {str(column): _texts(f"labels.levels[{column!r}]", named) for column, named in self.levels.items()}
        object.__setattr__(self, "levels", levels)
        for what, named in (("groups", self.groups), ("features", self.features)):
            texts = list(named.values())
            if twice := [text for k, text in enumerate(texts) if text in texts[:k]]:
                raise SchemaError(
                    "SCHEMA_LABELS",
                    f"Two {what} would both be called {twice[0]!r}.",
                    fix="Give each of them a label of its own.",
                )

    @classmethod
    def of(cls, given: Any) -> Labels:
        """From what a caller gives: `Labels`, or a mapping with its parts."""
        if isinstance(given, Labels):
            return given
        check_mapping("labels", given, PARTS, error=SchemaError)
        known = [one.name for one in fields(cls)]
        if strange := [name for name in given if name not in known]:
            raise SchemaError(
                "SCHEMA_LABELS",
                f"labels has no part {strange[0]!r}. {closest(strange[0], known)}".rstrip(),
                fix=f"Its parts are {listed(known)}, such as labels={{'groups': {{'0': 'women'}}}}.",
            )
        return cls(**given)

    def __bool__(self) -> bool:
        return bool(self.groups or self.features or self.levels)

    def group(self, name: str) -> str | None:
        """The people of a group; None where it has no label. Numbers beside missing values are floats: 1 is 1.0."""
        found = self.groups.get(name)
        return self.groups.get(_shorter(name)) if found is None else found

    def feature(self, name: str) -> str:
        """A feature's label, or its name."""
        return self.features.get(name, name)

    def level(self, feature: str, value: Any) -> str | None:
        """What a value of a feature means; None where it has no label."""
        named = self.levels.get(feature)
        if not named:
            return None
        return next((named[text] for text in _spellings(value) if text in named), None)

    def check(self, columns: Iterable[Any], groups: Iterable[str]) -> None:
        """Refuse labels of what does not exist: a slip there would go unseen."""
        columns, groups = [str(name) for name in columns], list(groups)
        found = {
            "features": (self.features, columns),
            "levels": (self.levels, columns),
            "groups": (self.groups, groups),
        }
        for name in groups:
            if name not in self.groups and _shorter(name) in self.groups and _shorter(name) in groups:
                raise SchemaError(
                    "SCHEMA_LABELS",
                    f"labels.groups names {_shorter(name)!r}, and there is a group {name!r} too.",
                    fix="Name both of them.",
                )
        for part, (named, known) in found.items():
            taken = [name for name in known if name not in named and name in named.values()]
            if taken and part != "levels":
                raise SchemaError(
                    "SCHEMA_LABELS",
                    f"labels.{part} calls something {taken[0]!r}, which is the name of something else.",
                    fix="Choose another label, or name both.",
                )
            spelled = {*known, *(map(_shorter, known) if part == "groups" else ())}
            if strange := [name for name in named if name not in spelled]:
                what = "group" if part == "groups" else "column"
                error = SchemaError(
                    "SCHEMA_LABELS",
                    f"labels.{part} names {strange[0]!r}, which is no {what}. {closest(strange[0], known)}".rstrip(),
                    fix=f"The {what}s are {listed(known, 20)}.",
                )
                error.label = (part, strange[0])
                raise error

    def check_levels(self, frame: pd.DataFrame, known: Mapping[str, Iterable[Any]]) -> None:
        """Refuse labels of levels that a category does not have, in the table or as further `known` ones.

        A number may be set to others than those that somebody has.
        """
        for column, named in self.levels.items():
            if column not in frame.columns:
                continue
            held = [*frame[column].dropna().unique().tolist(), *known.get(column, ())]
            has_levels = infer_kind(frame[column]) == "categorical" or is_bool_dtype(frame[column])
            spelled = {text for level in held for text in _spellings(level)}
            strange = [name for name in named if not (name in spelled if has_levels else reads_as_number(name))]
            if strange:
                levels = dict.fromkeys(map(str, held))
                error = SchemaError(
                    "SCHEMA_LABELS",
                    f"labels.levels names {strange[0]!r}, which is no level of {column!r}. "
                    f"{closest(strange[0], levels)}".rstrip(),
                    fix=f"The levels are {listed(levels, 20)}.",
                )
                error.label = ("levels", strange[0])
                raise error


def _spellings(value: Any) -> tuple[str, ...]:
    """How a level may be written as a key: a flag as in Python or in a spec, a whole number with its point or without.

    >>> _spellings(True), _spellings(2.0), _spellings("own")
    (('True', 'true'), ('2.0', '2'), ('own',))
    """
    if isinstance(value, bool | np.bool_):
        return str(value), str(value).lower()
    whole = isinstance(value, float) and value.is_integer()
    return (str(value), str(int(value))) if whole else (str(value),)


def _shorter(group: str) -> str:
    """A group's name with its whole numbers as people write them, without a point.

    >>> _shorter("1.0"), _shorter("female & 2.0"), _shorter("1.5")
    ('1', 'female & 2', '1.5')
    """
    return BETWEEN.join(part.removesuffix(".0") if reads_as_number(part) else part for part in group.split(BETWEEN))


NO_LABELS = Labels()


class SensitiveColumns(tuple[str, ...]):
    """The sensitive columns, and what people call their groups: whoever is handed the columns can name the groups."""

    labels: Labels

    def __new__(cls, names: Iterable[str], labels: Labels = NO_LABELS) -> SensitiveColumns:
        """The names, and the labels beside them."""
        made = super().__new__(cls, names)
        made.labels = labels
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return SensitiveColumns, (tuple(self), self.labels)


def labels_of(columns: Iterable[str]) -> Labels:
    """The labels that come with sensitive columns, if any do."""
    return columns.labels if isinstance(columns, SensitiveColumns) else NO_LABELS


def told_rule(rule: str, names: Labels) -> str:
    """A rule for readers: features and levels by their labels; as it is written where there are none.

    >>> told_rule("income < 45 and job = 'A171'", Labels(features={"income": "yearly income"}))
    "yearly income < 45 and job = 'A171'"
    """
    return _told(parse_rule(rule).tree, names) if names.features or names.levels else rule


def told_constraint(link: Constraint, names: Labels) -> str:
    """A rule between features for readers.

    >>> names = Labels(features={"home": "housing"}, levels={"home": {"own": "a house of one's own"}})
    >>> told_constraint(Forbidden("home", [("own", "rent")]), names)
    "housing must not change from a house of one's own to 'rent'"
    >>> told_constraint(Sum({"home": 1}, upper=2), names)
    'housing <= 2'
    """
    if not (names.features or names.levels):
        return str(link)
    if isinstance(link, Always):
        return _told(link.parsed.tree, names)
    if isinstance(link, Implies):
        given, then = (_told(part.tree, names) for part in link.parsed)
        return f"if {given} then {then}"
    if isinstance(link, Monotone):
        return str(replace(link, cause=names.feature(link.cause), effect=names.feature(link.effect)))
    if isinstance(link, Sum):
        return str(replace(link, weights={names.feature(name): size for name, size in link.weights.items()}))
    if not isinstance(link, Forbidden):
        return str(link)
    parts = []
    for move in link.moves:
        ends = zip(("from", "to"), move, strict=True)
        parts.append(" ".join(f"{w} {names.level(link.feature, v) or repr(v)}" for w, v in ends if v is not None))
    return f"{names.feature(link.feature)} must not change {' nor '.join(parts)}".rstrip()


def _told(node: Node, names: Labels) -> str:
    if isinstance(node, Joined):
        parts = (f"({_told(part, names)})" if isinstance(part, Joined) else _told(part, names) for part in node.parts)
        return f" {node.word} ".join(parts)
    if isinstance(node, Not):
        inner = _told(node.part, names)
        return f"not ({inner})" if isinstance(node.part, Joined) else f"not {inner}"
    column = node.name.name

    def value(one: Literal | Name) -> str:
        if isinstance(one, Name):
            return names.features.get(one.name) or str(one)
        return names.level(column, one.value) or str(one)

    name = names.features.get(column) or str(node.name)
    if isinstance(node, Compare):
        return f"{name} {node.sign} {value(node.other)}"
    if isinstance(node, Within):
        return f"{name} {'not in' if node.negated else 'in'} ({', '.join(map(value, node.values))})"
    return f"{name} between {value(node.low)} and {value(node.high)}"
