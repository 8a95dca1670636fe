"""What the arrays of an audit file must hold: a table of arrays with type and shape, and a table of checks.

Every index that a reader or a compiled loop takes from the file is checked here, and what is said twice must agree: a
cost with the sum of its parts, a bound with cost and status, groups with the sensitive columns, the facts with their
hash. A new array gets a line in `ARRAYS`, and a line in `CHECKS` for what it must hold. None of this proves who wrote a
file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import ABSURD, Bools, Encoding, Floats
from equieffort.errors import many
from equieffort.foundations.arguments import as_plain
from equieffort.foundations.tolerances import LARGEST
from equieffort.recourse.status import Ending, Fault, Infeasibility, Reason, Status, Termination, fact_from_dict
from equieffort.recourse.table import split_actions
from equieffort.results.provenance import Provenance
from equieffort.world.groups import Groups
from equieffort.world.schema import Schema

CLOSE = 1e-6
"""Of a sum: how far two ways to add up the same numbers may lie apart."""
NEAR = 1e-2
"""Of a value: how far a change, rounded as a column of few bytes rounds, may lead from the value that was set."""

CODE = "code of the group, a name that no column has \0"
REASONED = (Status.FEASIBLE, Status.INFEASIBLE, Status.UNKNOWN)
"""Of whom a table has a reason."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file says, read but not yet believed."""

    manifest: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    schema: Schema
    encoding: Encoding
    provenance: Provenance

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    @cached_property
    def groups(self) -> Groups:
        """The groups and everybody's."""
        return Groups.from_dict(self.manifest["groups"], self["codes"], self.schema.sensitive_columns)

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self["status"])

    @cached_property
    def acts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Columns that can be set: numbers, categories."""
        return split_actions(self.schema, self.encoding)

    def width(self, of: str) -> int:
        """How many columns an array has."""
        numeric, categorical = map(len, self.acts)
        sizes = {"columns": len(self.encoding.columns), "numbers": numeric, "categories": categorical}
        return sizes[of] if of in sizes else numeric + categorical

    def has(self, *wanted: Status) -> Bools:
        """Who has one of these statuses."""
        return np.isin(self["status"], wanted)

    @cached_property
    def acting(self) -> Bools:
        """Who has an action."""
        return self.has(Status.OPTIMAL, Status.FEASIBLE)

    @cached_property
    def picked(self) -> Bools:
        """Which columns are set for whom."""
        bits = np.arange(self.width("acts"))
        return ((self["intervention_mask"][:, None] >> bits) & 1).astype(bool) & self.acting[:, None]

    @cached_property
    def lacks(self) -> Bools:
        """Who has a missing value."""
        return np.isnan(self["facts"]).any(axis=1)

    @cached_property
    def reasons(self) -> dict[int, Reason]:
        """What stands in people's way, or why nothing better is known of them."""
        given = self.manifest["reasons"].values()
        return dict(zip(self.rows("reasons"), map(fact_from_dict, given), strict=True))

    def rows(self, name: str) -> list[int]:
        """The rows that a field names; -1 for what is none."""
        return [int(key) if key.isascii() and key.isdigit() and len(key) < 16 else -1 for key in self.manifest[name]]


@dataclass(frozen=True)
class Array:
    """The type of an array, and what its columns stand for; a single column if nothing."""

    types: str
    columns: str = ""
    about: str = ""


ARRAYS: dict[str, Array] = {
    "status": Array("i1", about="what is known of each person"),
    "cost": Array("f8"),
    "bound": Array("f8"),
    "intervention_mask": Array("i1 i2 i4 i8", about="which features are set, as bits"),
    "delta": Array("f8", "numbers"),
    "level": Array("i2", "categories"),
    "vanishing": Array("b1"),
    "codes": Array("i2", about="each person's group"),
    "facts": Array("f8", "columns"),
    "moved": Array("f8", "columns"),
    "outside": Array("b1", about="who starts outside the limits"),
    "values": Array("f8", "acts"),
    "costs": Array("f8", "acts", about="the parts of the cost"),
}


def check_layout(contents: Contents) -> None:
    """Refuse arrays that are missing, unknown, or of another type or shape."""
    expected = {name: (one.types, (one.columns,) if one.columns else ()) for name, one in ARRAYS.items()}
    for k, rest in enumerate(contents.manifest["rest"]):
        expected[f"rest{k}"] = ("i4" if rest["levels"] is not None else "", ())
    if contents.manifest["index"] is None:
        expected["index"] = ("", ())
    if absent := sorted(expected.keys() - contents.arrays.keys()):
        raise ValueError(f"it lacks {absent[0]!r}")
    if unknown := sorted(contents.arrays.keys() - expected.keys()):
        raise ValueError(f"it holds {unknown[0]!r}, which no audit file has")
    if contents.n == 0:
        raise ValueError("it holds nobody")
    for name, (types, columns) in expected.items():
        array, shape = contents[name], (contents.n, *map(contents.width, columns))
        if (types and array.dtype not in [np.dtype(kind) for kind in types.split()]) or array.shape != shape:
            raise ValueError(
                f"{name!r} has type {array.dtype} and shape {array.shape}, "
                f"not {types.replace(' ', ' or ') or array.dtype} and {shape}"
            )


# -- what must not be ------------------------------------------------------------------------------------------------

Broken = Any
"""For each person, or for the file as a whole: whether it is so."""


def _coded_wrongly(contents: Contents, name: str, levels: list[int | None]) -> Bools:
    """Values that are none of their column's codes, and infinite numbers; missing values are another check's."""
    values, wrong = contents[name], np.zeros(contents[name].shape, dtype=bool)
    for k, count in enumerate(levels):
        column = values[:, k]
        known = ~np.isnan(column)
        if count is None:
            wrong[:, k] = known & ~(np.abs(column) < np.inf)
        else:
            wrong[:, k] = known & ~((column >= 0) & (column < count) & (column == np.floor(column)))
    return wrong


def _levels(contents: Contents, positions: Any) -> list[int | None]:
    columns = [contents.encoding.columns[k] for k in positions]
    return [len(column.levels) if column.is_category else None for column in columns]


def _columns_wrong(contents: Contents) -> bool:
    columns = contents.encoding.columns
    names = [*contents.encoding.names, *(rest["name"] for rest in contents.manifest["rest"])]
    empty = any(column.is_category != bool(column.levels) for column in columns)
    return empty or sorted(names) != sorted(contents.manifest["order"])


def _facts_wrong(contents: Contents) -> Bools:
    facts = contents["facts"]
    wrong = _coded_wrongly(contents, "facts", _levels(contents, range(facts.shape[1])))
    whole = np.array([column.kind == "integer" for column in contents.encoding.columns])
    with np.errstate(invalid="ignore"):
        fractions = whole & ~np.isnan(facts) & (facts != np.rint(facts))
        return (wrong | fractions | (np.abs(facts) > ABSURD)).any(axis=1)


def _moved_wrong(contents: Contents) -> Bools:
    moved = contents["moved"]
    wrong = _coded_wrongly(contents, "moved", _levels(contents, range(moved.shape[1]))).any(axis=1)
    # What is missing spreads to what follows, so that only of complete people everything is known.
    return wrong | (np.isnan(moved).any(axis=1) & ~contents.lacks)


def _values_wrong(contents: Contents) -> Bools:
    acts = [*contents.acts[0], *contents.acts[1]]
    set_to, ends_at = contents["values"], contents["moved"][:, acts]
    with np.errstate(invalid="ignore"):
        apart = ~(np.abs(set_to - ends_at) <= CLOSE * np.maximum(np.abs(set_to), np.abs(ends_at)))
    return (contents.picked & (apart | _coded_wrongly(contents, "values", _levels(contents, acts)))).any(axis=1)


def _changes_wrong(contents: Contents) -> Bools:
    numeric = list(contents.acts[0])
    facts, set_to, change = contents["facts"][:, numeric], contents["values"][:, : len(numeric)], contents["delta"]
    size = np.maximum(np.abs(facts), np.abs(set_to))
    with np.errstate(invalid="ignore"):
        apart = ~(np.abs(facts + change - set_to) <= NEAR * size)
    return ~np.isfinite(change).all(axis=1) | (contents.picked[:, : len(numeric)] & apart).any(axis=1)


def _parts_wrong(contents: Contents) -> Bools:
    parts, cost = contents["costs"], contents["cost"]
    with np.errstate(invalid="ignore", over="ignore"):
        apart = ~(np.abs(parts.sum(axis=1) - cost) <= CLOSE * np.abs(cost))
    return contents.acting & apart


def _same_name(one: str, other: str) -> bool:
    """The number 1 is the same group however it is written."""
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _groups_wrong(contents: Contents) -> bool:
    groups = contents.groups
    once = all(len(set(names)) == len(names) for names in (groups.labels, groups.protected))
    return not (once and groups.protected and groups.reference not in groups.protected)


def _roles_wrong(contents: Contents) -> bool:
    """Whether the schema protects others, or compares with others, than the groups say."""
    groups, schema = contents.groups, contents.schema
    several = len(schema.sensitive_columns) > 1
    declared = schema.protected if isinstance(schema.protected, list) else [schema.protected]

    def name(value: Any) -> str:
        return " & ".join(map(str, value)) if several and isinstance(value, list | tuple) else str(value)

    def same(values: Sequence[Any], codes: Sequence[int]) -> bool:
        labels = [groups.labels[code] for code in codes]
        return all(any(_same_name(name(value), label) for label in labels) for value in values) and all(
            any(_same_name(name(value), label) for value in values) for label in labels
        )

    if not same(declared, groups.protected):
        return True
    return schema.reference is not None and not same([schema.reference], [groups.reference])


def _rest_wrong(contents: Contents) -> bool:
    wrong = False
    for k, rest in enumerate(contents.manifest["rest"]):
        if rest["levels"] is not None:
            codes = contents[f"rest{k}"]
            wrong |= bool(((codes < -1) | (codes >= len(rest["levels"]))).any())
    return wrong


def _recorded_wrong(contents: Contents) -> bool:
    kept = contents.provenance.recorded
    rows = [] if kept is None else [*kept.differs, *kept.unknown]
    return any(not 0 <= row < contents.n for row in rows)


def _told_wrong(contents: Contents, name: str, *whom: Status) -> bool:
    """Whether a field names rows that are not there, or people of another status."""
    may = contents.has(*whom)
    return any(not (0 <= row < contents.n and may[row]) for row in contents.rows(name))


def _reasons_wrong(contents: Contents) -> Bools:
    """Obstacles stand in the way of whoever is infeasible; for others it says why nothing better is known."""
    found = np.zeros(contents.n, dtype=bool)
    for row, fact in contents.reasons.items():
        is_stuck = contents["status"][row] == Status.INFEASIBLE
        found[row] = isinstance(fact, Infeasibility) != is_stuck
        if isinstance(fact, Termination):
            found[row] |= fact.kind == Ending.MISSING and not contents.lacks[row]
    return found


def _strange_reasons(contents: Contents) -> Bools:
    columns, rules = set(contents.encoding.names), {str(link) for link in contents.schema.constraints}
    found = np.zeros(contents.n, dtype=bool)
    for row, fact in contents.reasons.items():
        if isinstance(fact, Infeasibility):
            found[row] = not columns.issuperset(fact.named)
            found[row] |= not rules.issuperset(one.rule for one in fact.obstacles if one.rule)
        elif fact.subject:
            found[row] = fact.subject not in (rules if fact.fault == Fault.RULE else columns)
    return found


def _hash_wrong(contents: Contents) -> bool:
    found = hashlib.sha256(np.ascontiguousarray(contents["facts"]).tobytes()).hexdigest()
    return found != contents.manifest["data_sha256"]


def _not(condition: Floats | Bools) -> Bools:
    return ~np.asarray(condition, dtype=bool)


CHECKS: tuple[tuple[str, Callable[[Contents], Broken]], ...] = (
    ("the facts are not those whose hash it gives", _hash_wrong),
    ("a status is none of those there are", lambda c: ~c.has(*Status)),
    ("names of columns, their levels and their order do not fit together", _columns_wrong),
    ("the roles of the groups do not fit together", _groups_wrong),
    ("the protected groups are not those of the schema", _roles_wrong),
    ("a fact is no value of its column", _facts_wrong),
    ("somebody with a missing value is solved", lambda c: c.lacks & ~c.has(Status.NOT_NEEDED, Status.UNKNOWN)),
    ("a counterfactual is no value of its column", _moved_wrong),
    ("a cost is negative, too large or missing",
     lambda c: c.acting & _not((c["cost"] >= 0) & (c["cost"] <= LARGEST))),
    ("there is a cost without an action", lambda c: ~c.acting & ~np.isnan(c["cost"])),
    ("a part of a cost is negative or infinite",
     lambda c: c.acting & ~((c["costs"] >= 0) & (c["costs"] < np.inf)).all(axis=1)),
    ("a cost is not the sum of its parts", _parts_wrong),
    ("a bound is above its cost", lambda c: c.acting & _not(c["bound"] <= c["cost"] * (1 + CLOSE))),
    ("somebody infeasible has a finite bound", lambda c: c.has(Status.INFEASIBLE) & (c["bound"] != np.inf)),
    ("an effort vanishes that need not", lambda c: c["vanishing"] & ~(c.has(Status.OPTIMAL) & (c["bound"] <= 0))),
    ("a bound is negative", lambda c: c["bound"] < -CLOSE),
    ("a bound is missing or infinite", lambda c: c.has(Status.UNKNOWN) & ~np.isfinite(c["bound"])),
    ("there is a bound where nothing is needed", lambda c: c.has(Status.NOT_NEEDED) & ~np.isnan(c["bound"])),
    ("features are set that nobody can set", lambda c: c["intervention_mask"] >> c.width("acts") != 0),
    ("features are set without an action", lambda c: ~c.acting & (c["intervention_mask"] != 0)),
    ("a level is none of its feature's",
     lambda c: ((c["level"] < -1) | (c["level"] >= np.array(_levels(c, c.acts[1]), dtype=np.int64))).any(axis=1)),
    ("a value that is set is not where the action leads", _values_wrong),
    ("a change does not lead to the value that is set", _changes_wrong),
    ("a column that nothing uses has codes without levels", _rest_wrong),
    ("reasons are given for people who have none", lambda c: _told_wrong(c, "reasons", *REASONED)),
    ("a reason is not one for what is known of the person", _reasons_wrong),
    ("a reason names a column or a rule that is not there", _strange_reasons),
    ("limits of costs are given for people who have none", lambda c: _told_wrong(c, "ceilings", Status.UNKNOWN)),
    ("a limit of costs is negative", lambda c: any(most < 0 for most in c.manifest["ceilings"].values())),
    ("recorded decisions are given for people who are not there", _recorded_wrong),
)  # fmt: skip
"""What must not be, and who it is true of: each person, or the file as a whole."""


def check_contents(contents: Contents) -> None:
    """Refuse contents that contradict themselves, naming the first person of whom it is true."""
    check_layout(contents)
    for sentence, broken in CHECKS:
        found = np.atleast_1d(broken(contents))
        if found.any():
            who = f", first for person {int(found.argmax())} of {many(contents.n, 'person', 'people')}"
            raise ValueError(sentence + (who if found.size > 1 or contents.n == 1 else ""))


def check_groups(contents: Contents, data: pd.DataFrame) -> None:
    """Refuse group codes that are not what the sensitive columns say."""
    pairs = data[list(contents.schema.sensitive_columns)].assign(**{CODE: contents["codes"]}).drop_duplicates()
    for *values, code in pairs.itertuples(index=False):
        name, label = " & ".join(str(as_plain(value)) for value in values), contents.groups.labels[code]
        if not _same_name(name, label):
            raise ValueError(f"somebody of the group {name!r} is counted among {label!r}")
