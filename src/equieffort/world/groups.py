"""Who is compared with whom: the protected groups, their reference, and intersections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Encoding
from equieffort.data.on_file import OnFile
from equieffort.errors import DataError, ParameterError, SchemaError, Setting, closest, label, listed, many
from equieffort.foundations.arguments import as_plain
from equieffort.foundations.saved import APART, as_fields, from_fields
from equieffort.world.labels import BETWEEN, labels_of
from equieffort.world.opponents import EVERYBODY_ELSE, AllPairs, Rest
from equieffort.world.schema import Schema

_bad_groups = partial(SchemaError, "SCHEMA_GROUPS")
MOST_VALUES = 20
"""Numbers of more values than this are taken for amounts, which need bins."""
MOST_GROUPS = 200
EVERYBODY = "everybody"
"""The one group where nobody is compared."""


@dataclass(frozen=True)
class Versus:
    """One comparison by codes: a group, and the group or groups that are the other side together."""

    group: int
    others: tuple[int, ...]
    against: str
    """What the other side is called."""
    role: str
    """What the group is; "other" and "unknown" are not judged."""


@dataclass(frozen=True, eq=False)
class Groups:
    """A group code for each person, the groups' labels, which are protected, and whom each is compared with."""

    labels: tuple[str, ...]
    codes: npt.NDArray[np.int16] = field(metadata=APART)
    protected: tuple[int, ...]
    reference: int | Rest | AllPairs
    """The code of the group that the others are compared with; `Rest()` or `AllPairs()` where there is none."""
    columns: tuple[str, ...] = field(default=(), metadata=APART)
    """The sensitive columns whose values the labels are."""
    unknown: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Groups of people whose own group is not known: code -> the groups that they may belong to."""

    def __post_init__(self) -> None:
        named = len(self.labels)
        declared = [self.reference] if isinstance(self.reference, int) else []
        codes = np.asarray(
            [*self.protected, *declared, *self.unknown, *(k for may in self.unknown.values() for k in may)]
        )
        # Whoever reads codes from files refuses those that are none.
        held = [codes] if isinstance(self.codes, OnFile) else [codes, self.codes]
        if any(((some < 0) | (some >= named)).any() for some in held):
            raise _bad_groups(
                f"A code stands for none of the {many(named, 'group', 'groups')} {listed(self.labels)}.",
                fix="Form groups with Groups.of(frame, schema).",
            )

    def to_dict(self) -> dict[str, Any]:
        """The groups and their roles in a form that JSON can hold, without everybody's code."""
        return as_fields(self)

    @classmethod
    def from_dict(cls, saved: Any, codes: npt.NDArray[np.int16], columns: tuple[str, ...]) -> Groups:
        """From the saved form and everybody's code."""
        return from_fields(cls, saved, "groups", codes=codes, columns=columns)

    @classmethod
    def of(cls, frame: pd.DataFrame, schema: Schema, *, alone: Encoding | None = None) -> Groups:
        """Form the groups that the schema names from the sensitive columns.

        With `alone`, what a problem knows of the columns, people of fewer than two groups will do, and groups that the
        schema names may have nobody here: people have recourse whoever else is there.
        """
        columns = schema.sensitive_columns
        if not columns:
            if alone is None:
                raise _bad_groups(
                    "The schema names no sensitive column, and an audit compares groups.",
                    fix="Give Schema(sensitive=..., protected=...); ee.find_recourse and ee.solve need no groups.",
                )
            return cls((EVERYBODY,), np.zeros(len(frame), dtype=np.int16), (), Rest(), columns)
        for name in columns:
            if name not in frame.columns:
                raise DataError(
                    "SCHEMA_SENSITIVE_MISSING",
                    f"The sensitive column {name!r} is not in the data. {closest(name, frame.columns)}".rstrip(),
                    fix=Setting("sensitive_features"),
                )
            _check_sensitive(frame[name])
        single = len(columns) == 1
        codes, keys = _codes(frame, columns)
        labels = tuple(BETWEEN.join(UNKNOWN if part is None else str(part) for part in key) for key in keys)
        known = [k for k, key in enumerate(keys) if None not in key]
        unknown = {k: _may_be(key, keys, known) for k, key in enumerate(keys) if None in key}
        keys = [key[0] if single else key for key in keys]
        if len(keys) > MOST_GROUPS:
            raise SchemaError(
                "SCHEMA_SENSITIVE_CONTINUOUS",
                f"{listed(columns)} together form {len(keys):,} groups.",
                fix="Use fewer columns, or merge values.",
            )
        if twice := [text for k, text in enumerate(labels) if text in labels[:k]]:
            raise _bad_groups(
                f"Different groups in {listed(columns)} would both be called {listed(dict.fromkeys(twice))}.",
                fix="Rename the values so that each group has a name of its own.",
            )
        if (is_single := len(known) < 2) and alone is None:
            present = f"Only one group is present in {listed(columns)}: {listed(labels[k] for k in known)}."
            raise SchemaError(
                "SCHEMA_ONE_GROUP",
                present if known else f"Of nobody a group is known in {listed(columns)}.",
                fix="Audit data that holds the groups to be compared.",
            )

        def find(value: Any) -> int | None:
            absent = alone is not None and (is_single or _may_be_absent(value, columns, alone))
            return next((k for k in known if _is_key(value, keys[k])), None) if absent else _find(value, keys, columns)

        # A group that is named twice is still one group.
        named = dict.fromkeys(find(value) for value in _values(schema.protected, single))
        protected = [k for k in named if k is not None]
        if isinstance(schema.protected, set | frozenset):
            # A set has another order in each process; the groups' own order is always the same.
            protected.sort()
        if is_single:
            return cls(labels, codes, tuple(protected), Rest(), columns, unknown)
        others = [k for k in known if k not in protected]
        if not others and alone is None and not isinstance(schema.reference, Rest | AllPairs):
            raise _bad_groups(
                f"Every value of {listed(columns)} is declared protected: {listed(labels)}.",
                fix="Leave at least one value as the reference.",
            )
        reference = _reference(schema, labels, protected, others, columns, find)
        if reference in protected:
            raise _bad_groups(
                f"{labels[reference]!r} is declared both protected and the reference.",
                fix="Compare each group with another one.",
            )
        return cls(labels, codes, tuple(protected), reference, columns, unknown)

    def name(self, text: str) -> str:
        """A group's label for a reader; see `group_name`."""
        return group_name(text, self.columns)

    def people(self, text: str) -> str:
        """Its people for a reader; see `people_of`."""
        return people_of(text, self.columns)

    def role(self, code: int) -> str:
        """Protected, reference, other, or unknown: people whose own group is not known."""
        if code in self.unknown:
            return "unknown"
        return "reference" if code == self.reference else "protected" if code in self.protected else "other"

    @property
    def compared(self) -> tuple[int, ...]:
        """All groups that are compared: the protected ones first, people whose group is not known last."""
        listed_before = (*self.protected, self.reference, *self.unknown)
        rest = [k for k in range(len(self.labels)) if k not in listed_before]
        return (*self.protected, *rest, *self.unknown)

    @property
    def listed(self) -> tuple[int, ...]:
        """All groups in the order in which they are listed: those compared, then the reference, if there is one."""
        return (*self.compared, *([self.reference] if isinstance(self.reference, int) else ()))

    @property
    def known(self) -> tuple[int, ...]:
        """The groups that people are known to belong to."""
        return tuple(k for k in range(len(self.labels)) if k not in self.unknown)

    @property
    def pairs(self) -> tuple[Versus, ...]:
        """Who is compared with whom, each comparison once."""
        if isinstance(self.reference, AllPairs):
            return tuple(self._pair(a, b) for a, b in combinations(self.compared, 2))
        return tuple(self._against(code) for code in self.compared)

    def around(self, own: int) -> tuple[Versus, ...]:
        """With whom a person of a group is compared: I+ is their own group, each I- another side.

        A person of the reference is compared with each other group, and so is everybody under `AllPairs`.
        """
        if isinstance(self.reference, AllPairs) or own == self.reference:
            return tuple(self._pair(own, code) for code in self.compared if code != own)
        return (self._against(own),)

    @property
    def centred(self) -> tuple[Versus, ...]:
        """`around` for every group, those of `pairs` first: what is read around individuals."""
        first = self.pairs
        return (*first, *(one for code in range(len(self.labels)) for one in self.around(code) if one not in first))

    def versus(self, group: str | None = None) -> list[Versus]:
        """All comparisons but those of people whose group is not known, or those of one group."""
        pairs = [one for one in self.pairs if one.role != "unknown"]
        if group is None:
            return pairs
        known = list(dict.fromkeys(self.labels[one.group] for one in pairs))
        if group not in known:
            raise ParameterError(
                "PARAMETER",
                f"group is {group!r}, which is not compared with another.",
                fix=f"Choose from {', '.join(map(repr, known))}.",
            )
        return [one for one in pairs if self.labels[one.group] == group]

    def choices(self, versus: Versus) -> dict[tuple[bool, bool, bool], list[int]]:
        """People whose own group is not known: codes by whether they may be on the first side of a comparison, on the
        other, and on neither; without those who can be on neither side only."""
        if versus.role == "unknown":
            return {}
        found: dict[tuple[bool, bool, bool], list[int]] = {}
        for code, may_be in self.unknown.items():
            others = [k for k in may_be if k != versus.group]
            sides = (
                versus.group in may_be,
                any(k in versus.others for k in others),
                any(k not in versus.others for k in others),
            )
            if code not in versus.others and any(sides[:2]):
                found.setdefault(sides, []).append(code)
        return found

    def two(self, compared: Versus) -> Groups:
        """The two sides of a comparison as groups 0 and 1; where there are people on neither side, they are group 2."""
        mine, theirs = self.codes == compared.group, np.isin(self.codes, compared.others)
        codes = np.where(mine, 0, np.where(theirs, 1, 2)).astype(np.int16)
        labels = (self.labels[compared.group], compared.against, NEITHER)
        neither: dict[int, tuple[int, ...]] = {2: ()} if (codes == 2).any() else {}
        return Groups(labels[: 2 + len(neither)], codes, (0,), 1, self.columns, neither)

    def others(self, group: str, against: str) -> tuple[int, ...]:
        """The groups on the other side of a comparison that is named by its labels."""
        if against in self.labels:
            return (self.labels.index(against),)
        return self._against(self.labels.index(group)).others

    def members(self, group: str, against: str) -> tuple[Bools, Bools]:
        """Who is on either side of it."""
        return self.codes == self.labels.index(group), np.isin(self.codes, self.others(group, against))

    def _pair(self, group: int, other: int) -> Versus:
        role = "unknown" if other in self.unknown else self.role(group)
        return Versus(group, (other,), self.labels[other], role)

    def _against(self, code: int) -> Versus:
        if isinstance(self.reference, int):
            return self._pair(code, self.reference)
        # Whoever may belong to the group is not known to be one of the others.
        others = tuple(k for k in range(len(self.labels)) if k != code and code not in self.unknown.get(k, ()))
        return Versus(code, others, EVERYBODY_ELSE, self.role(code))


UNKNOWN = "unknown"
"""What stands for a missing value in a label."""
NEITHER = "neither"
"""What people on neither side of a comparison are called where it is looked at alone."""


def group_name(text: str, columns: Sequence[str] = ()) -> str:
    """A group as a reader sees it in a table or a picture: without its column "1" says nothing, so it is named.

    >>> group_name("female", ["sex"]), group_name("female & 1", ["sex", "young"]), group_name("female")
    ('sex = female', 'sex = female and young = 1', 'female')

    Where the groups have labels these are all that is said.
    """
    names = labels_of(columns)
    if (label := names.group(text)) is not None:
        return label
    parts = text.split(BETWEEN) if len(columns) > 1 else [text]
    if not columns or text == EVERYBODY_ELSE:
        return _printed(text)
    if len(parts) != len(columns):
        # A value holds the sign itself: which part belongs to which column cannot be said.
        return f"{BETWEEN.join(map(_printed, columns))} = {_printed(text)}"
    told = ((names.feature(c), names.level(c, part) or part) for c, part in zip(columns, parts, strict=True))
    return " and ".join(f"{_printed(c)} = {_printed(part)}" for c, part in told)


def people_of(text: str, columns: Sequence[str] = ()) -> str:
    """The people of a group in a sentence; "refused" may stand before it.

    >>> people_of("female", ["sex"]), people_of("a")
    ('people with sex = female', 'people in group a')
    """
    if text == EVERYBODY_ELSE:
        return "people of all other groups"
    if (label := labels_of(columns).group(text)) is not None:
        return label
    return f"people {'with' if columns else 'in group'} {group_name(text, columns)}"


def _printed(text: str) -> str:
    """As it is; only what cannot be seen is shown as Python writes it."""
    seen = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(text))
    return seen if seen.strip() else repr(seen)


def _reference(
    schema: Schema, labels: tuple[str, ...], protected: list[int], others: list[int], columns: tuple[str, ...],
    find: Callable[[Any], int | None],
) -> int | Rest | AllPairs:  # fmt: skip
    """Whom the protected groups are compared with; each with all others where the reference has nobody here."""
    if isinstance(schema.reference, Rest | AllPairs):
        if isinstance(schema.reference, Rest) and EVERYBODY_ELSE in labels:
            raise _bad_groups(
                f"A group in {listed(columns)} is called {EVERYBODY_ELSE!r}, as all others are in a comparison.",
                fix="Rename the value.",
            )
        return schema.reference
    if schema.reference is not None:
        found = find(schema.reference)
        return Rest() if found is None else found
    if len(others) > 1:
        raise _bad_groups(
            f"With whom is {listed(labels[k] for k in protected)} compared? {len(others)} other values "
            f"remain: {listed(labels[k] for k in others)}.",
            fix=("Name one of them: ", Setting("reference"), "."),
        )
    return others[0] if others else Rest()


def _may_be_absent(value: Any, columns: tuple[str, ...], known: Encoding) -> bool:
    """Whether a group with these values may be among other people; of numbers nobody can say that it is not."""
    parts = tuple(value) if isinstance(value, tuple | list) else (value,)
    met = [known[name] for name in columns]
    return len(parts) == len(met) and all(
        part in [as_plain(level) for level in column.levels] if column.is_category else not isinstance(part, str)
        for part, column in zip(parts, met, strict=True)
    )


def _check_sensitive(column: pd.Series) -> None:
    column = column.dropna()
    is_number = pd.api.types.is_numeric_dtype(column.dtype)
    has_fractions = pd.api.types.is_float_dtype(column.dtype) and bool((column % 1 != 0).any())
    if (count := column.nunique()) > (2 if has_fractions else MOST_VALUES if is_number else MOST_GROUPS):
        raise SchemaError(
            "SCHEMA_SENSITIVE_CONTINUOUS",
            f"The sensitive column {column.name!r} has {count:,} different {'numbers' if is_number else 'values'}.",
            fix=Setting("bins", of=str(column.name))
            if is_number
            else "Name the column that holds the groups, not one that names people, or merge values.",
        )


def _codes(frame: pd.DataFrame, columns: tuple[str, ...]) -> tuple[npt.NDArray[np.int16], list[tuple[Any, ...]]]:
    """Everybody's code, and the values of each group in order; None where a value is missing, which comes last."""
    parts, values = [], []
    for name in columns:
        codes, found = pd.factorize(frame[name], sort=True)
        parts.append(np.where(codes < 0, len(found), codes))
        values.append([*_plain_values(found, bool((codes < 0).any())), None])
    # One number for all columns: rows of several are much slower to sort.
    sizes = tuple(len(held) for held in values)
    numbers, codes = np.unique(np.ravel_multi_index(tuple(parts), sizes), return_inverse=True)
    rows = np.column_stack(np.unravel_index(numbers, sizes))
    keys = [tuple(held[k] for held, k in zip(values, row, strict=True)) for row in rows.tolist()]
    return codes.reshape(-1).astype(np.int16), keys


def _plain_values(found: Any, has_missing: bool) -> list[Any]:
    plain = [as_plain(value) for value in found]
    # Beside a missing value whole numbers arrive as fractions.
    is_whole = has_missing and all(isinstance(value, float) and value.is_integer() for value in plain)
    return [int(value) for value in plain] if is_whole else plain


def _may_be(key: tuple[Any, ...], keys: list[tuple[Any, ...]], known: list[int]) -> tuple[int, ...]:
    """The known groups that agree with what is known of a person."""
    return tuple(k for k in known if all(a is None or a == b for a, b in zip(key, keys[k], strict=True)))


def _values(declared: Any, single: bool) -> list[Any]:
    if isinstance(declared, np.ndarray | pd.Index | pd.Series):
        return np.atleast_1d(declared).tolist()
    if isinstance(declared, list | set | frozenset):
        return list(declared)
    if single and isinstance(declared, tuple):
        return list(declared)
    return [declared]


def _is_key(value: Any, key: Any) -> bool:
    """Whether a declared value is that of a group."""
    return bool(key == (tuple(value) if isinstance(value, list) else value))


def _find(value: Any, keys: list[Any], columns: tuple[str, ...]) -> int:
    for k, key in enumerate(keys):
        if _is_key(value, key):
            return k
    raise _bad_groups(
        f"{label(value)} is not a value of {listed(columns)}. {closest(value, keys)}".rstrip(),
        fix=f"The values are {', '.join(map(repr, keys[:20]))}{' and more' if len(keys) > 20 else ''}.",
    )
