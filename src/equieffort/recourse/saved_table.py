"""SavedTable: a RecourseTable as plain data and arrays, checked whole before anything in it is believed.

Every index that a reader or a compiled loop takes from a file is checked here, and what is said twice must agree: a
cost with the sum of its parts, a bound with cost and status, groups with the sensitive columns, the facts with their
hash. A new array gets a line in `ARRAYS`, and a line in `CHECKS` for what it must hold. None of this proves who wrote a
file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.archive import PLAIN
from equieffort.data.frames import ABSURD, Bools, Column, Encoding, Floats
from equieffort.errors import AuditFileError, label, many
from equieffort.foundations.arguments import as_plain
from equieffort.foundations.saved import APART, from_fields, is_scalar
from equieffort.foundations.tolerances import LARGEST, REPLAYED
from equieffort.recourse.status import (
    LACKS,
    Fault,
    Infeasibility,
    Obstacle,
    Reason,
    Status,
    Termination,
    fact_from_dict,
)
from equieffort.recourse.table import STORED, Audience, RecourseTable, Rows, TableSource, split_actions
from equieffort.world.groups import UNKNOWN, Groups
from equieffort.world.labels import BETWEEN
from equieffort.world.opponents import AllPairs, Rest
from equieffort.world.schema import Schema, check_kinds

SCALARS = ("string", "integer", "floating", "mixed-integer-float", "boolean", "empty")
"""What pandas calls columns of values that JSON gives back as they were."""
NUMBERS = {np.dtype(kind).name for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")}
NEAR = 1e-2
"""Of a value: how far a change, rounded as a column of few bytes rounds, may lead from the value that was set."""
CHUNK = 65_536
"""People at a time."""
CODE = "code of the group, a name that no column has \0"
REASONED = (Status.FEASIBLE, Status.INFEASIBLE, Status.UNKNOWN)
"""Of whom a table has a reason."""


@dataclass(frozen=True, eq=False)
class FileSource(TableSource):
    """Read from a file: everything a reader may ask was computed when it was saved."""

    schema: Schema
    encoding: Encoding
    data: pd.DataFrame
    arrays: Mapping[str, npt.NDArray[Any]]
    kept: Mapping[int, Reason]

    def facts(self, rows: Rows) -> Floats:
        """Factual people, encoded."""
        return self.arrays["facts"][rows]

    def interventions(self, table: RecourseTable, rows: Rows) -> tuple[Bools, Floats]:
        """Which actionable features are set for whom, and to which values."""
        return table.intervention_mask[rows], self.arrays["values"][rows]

    def moved(self, table: RecourseTable, rows: Rows) -> Floats:
        """Counterfactual people, encoded."""
        return self.arrays["moved"][rows]

    def costs(self, table: RecourseTable, rows: Rows) -> Floats:
        """What each actionable feature contributes to the cost."""
        return self.arrays["costs"][rows]

    def outside(self, rows: Rows = slice(None)) -> Bools:
        """Who starts outside the declared limits."""
        return self.arrays["outside"][rows]

    def reasons(self, table: RecourseTable, rows: Sequence[int]) -> list[Reason | None]:
        """As they were when saved."""
        return [self.kept.get(row) for row in rows]


@dataclass(frozen=True)
class Unused:
    """A column that nothing uses: the levels whose codes are stored, or None where its values are."""

    name: str
    levels: tuple[Any, ...] | None

    def __post_init__(self) -> None:
        if not all(map(is_scalar, self.levels or ())):
            raise ValueError(f"the levels of {self.name!r} are not values")


@dataclass(frozen=True, eq=False)
class SavedTable:
    """What a file says of a table, read but not yet believed; `table()` believes it, or refuses it with why."""

    schema: Schema
    columns: tuple[Column, ...]
    dtypes: Mapping[str, str]
    """The types of columns of numbers that are not read back in another one."""
    rest: tuple[Unused, ...]
    order: tuple[str, ...]
    groups: Mapping[str, Any]
    index: tuple[str, ...] | None
    """Labels that are text; others are an array."""
    index_name: str | None
    reasons: Mapping[int, Any]
    audience: Audience
    ceilings: Mapping[int, float]
    data_sha256: str
    arrays: Mapping[str, npt.NDArray[Any]] = field(metadata=APART)

    @classmethod
    def of(cls, table: RecourseTable) -> SavedTable:
        """Everything that a reader may ask is computed."""
        source, data, index = table.source, table.data, _labels(table)
        arrays = all_arrays(table)
        facts, outside = arrays.pop("facts"), arrays.pop("outside")
        arrays |= {"codes": table.groups.codes, "facts": facts, "outside": outside}
        rest: list[Unused] = []
        for name in (name for name in data.columns if name not in source.encoding.names):
            levels, arrays[f"rest{len(rest)}"] = _unused(data[name])
            rest.append(Unused(name, levels))
        if isinstance(index, np.ndarray):
            arrays["index"] = index
        kinds = {name: data.dtypes[name] for name in source.encoding.names}
        ceilings = {
            row: most for row, most in table.ceilings.items()
            if np.isfinite(most) and table.status[row] == Status.UNKNOWN
        }  # fmt: skip
        return cls(
            schema=source.schema,
            columns=source.encoding.columns,
            dtypes={name: str(kind) for name, kind in kinds.items() if str(kind) in NUMBERS},
            rest=tuple(rest),
            order=tuple(data.columns),
            groups=table.groups.to_dict(),
            index=None if isinstance(index, np.ndarray) else index,
            index_name=None if data.index.name is None else str(data.index.name),
            reasons={row: fact for row, fact in enumerate(table.reasons()) if fact is not None},
            audience=table.audience,
            ceilings=ceilings,
            data_sha256=_hash(facts),
            arrays=arrays,
        )

    @classmethod
    def read(cls, said: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> SavedTable:
        """From plain data, each part of its type, and arrays."""
        return from_fields(cls, said, arrays=arrays)

    def with_actions(self, arrays: Mapping[str, npt.NDArray[Any]]) -> SavedTable:
        """The same people with other actions, of which nothing is told but what they are."""
        return replace(self, arrays={**self.arrays, **arrays}, reasons={}, ceilings={})

    def table(self) -> RecourseTable:
        """The table, if what the file says fits together."""
        check_kinds(self.schema, self.encoding)
        self._check_layout()
        for sentence, broken in CHECKS:
            found = np.atleast_1d(broken(self))
            if found.any():
                who = f", first for person {int(found.argmax())} of {many(self.n, 'person', 'people')}"
                raise ValueError(sentence + (who if found.size > 1 or self.n == 1 else ""))
        data = self._data()
        self._check_groups(data)
        stored: dict[str, Any] = {name: self[name] for name in STORED}
        return RecourseTable(
            FileSource(self.schema, self.encoding, data, self.arrays, self.facts),
            self.grouped,
            **stored,
            ceilings={row: float(most) for row, most in self.ceilings.items()},
            audience=self.audience,
        )

    def _data(self) -> pd.DataFrame:
        """The people as they were audited, their columns in the order of X."""
        found: dict[str, Any] = {}
        for k, column in enumerate(self.columns):
            codes = self["facts"][:, k]
            if (
                column.is_category
                and all(isinstance(level, str) for level in column.levels)
                and not np.isnan(codes).any()
            ):
                # Only levels become texts of pandas, and people take theirs of them.
                found[column.name] = pd.Series(list(column.levels)).array.take(codes.astype(np.intp))
                continue
            values = column.decode(codes)
            found[column.name] = values.astype(self.dtypes.get(column.name, values.dtype))
        for k, rest in enumerate(self.rest):
            values = self[f"rest{k}"]
            found[rest.name] = values if rest.levels is None else np.array([*rest.levels, None], dtype=object)[values]
        index = pd.Index(self["index"] if self.index is None else self.index, name=self.index_name)
        return pd.DataFrame({name: found[name] for name in self.order}, index=index)

    def _check_layout(self) -> None:
        """Refuse arrays that are missing, unknown, or of another type or shape."""
        expected = dict(ARRAYS) | {
            f"rest{k}": ("" if one.levels is None else "i4", "") for k, one in enumerate(self.rest)
        }
        if self.index is None:
            expected["index"] = ("", "")
        if absent := sorted(expected.keys() - self.arrays.keys()):
            raise ValueError(f"it lacks {absent[0]!r}")
        if unknown := sorted(self.arrays.keys() - expected.keys()):
            raise ValueError(f"it holds {unknown[0]!r}, which no audit file has")
        if self.n == 0:
            raise ValueError("it holds nobody")
        for name, (types, columns) in expected.items():
            array, shape = self[name], (self.n, self.width(columns)) if columns else (self.n,)
            if (types and array.dtype not in [np.dtype(kind) for kind in types.split()]) or array.shape != shape:
                raise ValueError(
                    f"{name!r} has type {array.dtype} and shape {array.shape}, "
                    f"not {types.replace(' ', ' or ') or array.dtype} and {shape}"
                )

    def _check_groups(self, data: pd.DataFrame) -> None:
        """Refuse group codes that are not what the sensitive columns say."""
        pairs = data[list(self.schema.sensitive_columns)].assign(**{CODE: self["codes"]}).drop_duplicates()
        for *values, code in pairs.itertuples(index=False):
            parts = [UNKNOWN if pd.isna(value) else str(as_plain(value)) for value in values]
            name, group = BETWEEN.join(parts), self.grouped.labels[code]
            if not _same_group(parts, group) or (UNKNOWN in parts) != (code in self.grouped.unknown):
                raise ValueError(f"somebody of the group {name!r} is counted among {group!r}")

    # -- what checks ask ----------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    @cached_property
    def encoding(self) -> Encoding:
        """The columns that matter."""
        return Encoding(self.columns)

    @cached_property
    def grouped(self) -> Groups:
        """The groups and everybody's."""
        return Groups.from_dict(self.groups, self["codes"], self.schema.sensitive_columns)

    @cached_property
    def facts(self) -> dict[int, Reason]:
        """What stands in people's way, or why nothing better is known of them."""
        return {row: fact_from_dict(fact) for row, fact in self.reasons.items()}

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
        sizes = {"columns": len(self.columns), "numbers": numeric, "categories": categorical}
        return sizes.get(of, numeric + categorical)

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
        return self["intervention_mask"] & self.acting[:, None]

    @cached_property
    def lacks(self) -> Bools:
        """Who has a missing value that recourse may depend on; a group may be unknown."""
        return np.isnan(self["facts"][:, self._needed]).any(axis=1)

    @cached_property
    def lacks_start(self) -> Bools:
        """Who lacks a value that an action starts from, or that a rule asks for."""
        needed = [self.encoding.position(name) for name in (*self.schema.actionable, *self.schema.rule_columns)]
        return np.isnan(self["facts"][:, needed]).any(axis=1)

    @cached_property
    def _needed(self) -> list[int]:
        names, sensitive = self.encoding.names, self.schema.sensitive_columns
        return [k for k, name in enumerate(names) if name not in sensitive]


def _hash(facts: Floats) -> str:
    found = hashlib.sha256()
    for start in range(0, len(facts), CHUNK):
        found.update(np.ascontiguousarray(facts[start : start + CHUNK]).data)
    return found.hexdigest()


def _unused(column: pd.Series) -> tuple[tuple[Any, ...] | None, npt.NDArray[Any]]:
    """A column that nothing uses: its values as they are, or codes of levels; what JSON cannot hold becomes text."""
    values = column.to_numpy()
    if values.dtype.kind in PLAIN:
        return None, values
    if pd.api.types.infer_dtype(values, skipna=True) not in SCALARS:
        missing = column.isna().tolist()
        texts = [None if gone else str(value) for value, gone in zip(values, missing, strict=True)]
        values = np.array(texts, dtype=object)
    codes, levels = pd.factorize(values)
    return tuple(levels.tolist()), codes.astype(np.int32)


def _labels(table: RecourseTable) -> npt.NDArray[Any] | tuple[str, ...]:
    """The index of X, also when positions stand for it, as an array or as text."""
    for index in (table.data.index, table.index):
        if not isinstance(index, pd.MultiIndex):
            values = pd.Index(index.to_numpy()).infer_objects().to_numpy()
            if values.dtype.kind in PLAIN:
                return values
            if all(isinstance(value, str) for value in values):
                return tuple(values.tolist())
    raise AuditFileError(
        "AUDIT_FILE",
        f"A file holds labels that are all numbers, all text or all dates without time zone, but the index of X has "
        f"{label(table.index[0])} and others.",
        fix="Audit X.reset_index(): its labels become a column, and people are named by position.",
    )


def action_arrays(table: RecourseTable) -> dict[str, npt.NDArray[Any]]:
    """What a table says of people's actions, and what these lead to."""
    return {name: array for name, array in all_arrays(table).items() if name not in ("facts", "outside")}


def all_arrays(table: RecourseTable) -> dict[str, npt.NDArray[Any]]:
    """The same, the people themselves, and who starts outside the limits."""
    source, n = table.source, len(table)
    if isinstance(source, FileSource):
        led = source.led(table, slice(None))._asdict()
    else:
        # Some people at a time: what is computed on the way would be larger than all that is kept. By column, as files
        # hold it.
        led = {}
        for start in range(0, max(n, 1), CHUNK):
            rows = slice(start, min(start + CHUNK, n))
            for name, part in source.led(table, rows)._asdict().items():
                if start == 0:
                    led[name] = np.empty((n, *part.shape[1:]), dtype=part.dtype, order="F")
                led[name][rows] = part
    return {name: getattr(table, name) for name in STORED} | led


ARRAYS = {
    "status": ("i1", ""),
    "cost": ("f8", ""),
    "bound": ("f8", ""),
    "intervention_mask": ("b1", "acts"),
    "delta": ("f8", "numbers"),
    "level": ("i2", "categories"),
    "vanishing": ("b1", ""),
    "codes": ("i2", ""),
    "facts": ("f8", "columns"),
    "moved": ("f8", "columns"),
    "outside": ("b1", ""),
    "values": ("f8", "acts"),
    "costs": ("f8", "acts"),
}
"""Array -> its types, and what its columns stand for; a single column if nothing."""
ACTIONS = (*STORED, "moved", "values", "costs")
"""Those that another way of the same people has of its own."""


# -- what must not be ------------------------------------------------------------------------------------------------


def _coded_wrongly(saved: SavedTable, name: str, columns: Iterable[int]) -> Bools:
    """Values that are none of their column's codes, and infinite numbers; missing values are another check's."""
    wrong = np.zeros(saved[name].shape, dtype=bool)
    for k, column in enumerate(saved.columns[position] for position in columns):
        values = saved[name][:, k]
        if column.is_category:
            wrong[:, k] = ~((values >= 0) & (values < len(column.levels)) & (values == np.floor(values)))
        else:
            wrong[:, k] = np.isinf(values)
    return wrong & ~np.isnan(saved[name])


def _columns_wrong(saved: SavedTable) -> bool:
    names = [*saved.encoding.names, *(rest.name for rest in saved.rest)]
    fit = all(column.is_category == bool(column.levels) for column in saved.columns)
    once = len(set(names)) == len(names) and sorted(names) == sorted(saved.order)
    return not (saved.columns and fit and once and NUMBERS.issuperset(saved.dtypes.values()))


def _facts_wrong(saved: SavedTable) -> Any:
    facts = saved["facts"]
    whole = np.array([column.kind == "integer" for column in saved.columns])
    with np.errstate(invalid="ignore"):
        fractions = whole & ~np.isnan(facts) & (facts != np.rint(facts))
    wrong = _coded_wrongly(saved, "facts", range(facts.shape[1]))
    return (wrong | fractions | (np.abs(facts) > ABSURD)).any(axis=1)


def _moved_wrong(saved: SavedTable) -> Any:
    moved = saved["moved"]
    # What is missing spreads to what follows, so that only of complete people everything is known.
    gone = np.isnan(moved[:, saved._needed]).any(axis=1) & ~saved.lacks
    return _coded_wrongly(saved, "moved", range(moved.shape[1])).any(axis=1) | gone


def _values_wrong(saved: SavedTable) -> Any:
    acts = [*saved.acts[0], *saved.acts[1]]
    set_to, ends_at = saved["values"], saved["moved"][:, acts]
    apart = _apart(set_to, ends_at, REPLAYED * np.maximum(np.abs(set_to), np.abs(ends_at)))
    return (saved.picked & (apart | _coded_wrongly(saved, "values", acts))).any(axis=1)


def _changes_wrong(saved: SavedTable) -> Any:
    numeric = list(saved.acts[0])
    facts, set_to, change = saved["facts"][:, numeric], saved["values"][:, : len(numeric)], saved["delta"]
    apart = _apart(facts + change, set_to, NEAR * np.maximum(np.abs(facts), np.abs(set_to)))
    return ~np.isfinite(change).all(axis=1) | (saved.picked[:, : len(numeric)] & apart).any(axis=1)


def _too_many(saved: SavedTable) -> Any:
    most, facts = saved.schema.max_actions, saved["facts"][:, [*saved.acts[0], *saved.acts[1]]]
    changed = (saved.picked & (saved["values"] != facts)).sum(axis=1)
    return changed > (changed.max(initial=0) if most is None else most)


def _apart(one: Floats, other: Floats, most: Floats) -> Bools:
    """Where two numbers differ by more, or one of them is none."""
    with np.errstate(invalid="ignore"):
        return ~(np.abs(one - other) <= most)


def _parts_wrong(saved: SavedTable) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        total = saved["costs"].sum(axis=1)
    return saved.acting & _apart(total, saved["cost"], REPLAYED * np.abs(saved["cost"]))


def _same_group(parts: list[str], group: str) -> bool:
    """Whether these values are what a group is called."""
    others = group.split(BETWEEN) if len(parts) > 1 else [group]
    if len(others) == len(parts):
        return all(_same_name(a, b) for a, b in zip(parts, others, strict=True))
    return BETWEEN.join(parts) == group


def _same_name(one: str, other: str) -> bool:
    """The number 1 is the same group however it is written."""
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def groups_wrong(saved: Any) -> bool:
    """Whether the groups, what they are called and whom they are compared with contradict each other."""
    groups = saved.grouped
    once = all(len(set(names)) == len(names) for names in (groups.labels, groups.protected))
    apart = groups.reference not in groups.protected
    compared = {*groups.protected, groups.reference}
    # Whoever may belong to a group belongs to a known one.
    placed = all(code not in compared and not groups.unknown.keys() & set(may) for code, may in groups.unknown.items())
    return not (once and groups.protected and apart and placed)


def roles_wrong(saved: Any) -> bool:
    """Whether the schema protects others, or compares with others, than the groups say."""
    groups, schema = saved.grouped, saved.schema
    several = len(schema.sensitive_columns) > 1
    declared = schema.protected if isinstance(schema.protected, list) else [schema.protected]

    def same(values: Sequence[Any], codes: Sequence[int]) -> bool:
        names = [[*map(str, v)] if several and isinstance(v, list | tuple) else [str(v)] for v in values]
        labels = [groups.labels[code] for code in codes]
        return all(any(_same_group(name, label) for label in labels) for name in names) and all(
            any(_same_group(name, label) for name in names) for label in labels
        )

    if not same(declared, groups.protected):
        return True
    if isinstance(groups.reference, int) and not isinstance(schema.reference, Rest | AllPairs):
        return schema.reference is not None and not same([schema.reference], [groups.reference])
    return bool(schema.reference != groups.reference)


def _rest_wrong(saved: SavedTable) -> bool:
    codes = [(saved[f"rest{k}"], len(one.levels)) for k, one in enumerate(saved.rest) if one.levels is not None]
    return any(bool(((values < -1) | (values >= levels)).any()) for values, levels in codes)


def _told_wrong(saved: SavedTable, rows: Iterable[int], *whom: Status) -> bool:
    """Whether rows are named that are not there, or people of another status."""
    may = saved.has(*whom)
    return any(not (row < saved.n and may[row]) for row in rows)


def _reasons_wrong(saved: SavedTable) -> Any:
    """Obstacles stand in the way of whoever is infeasible; for others it says why nothing better is known."""
    found = np.zeros(saved.n, dtype=bool)
    for row, fact in saved.facts.items():
        found[row] = isinstance(fact, Infeasibility) != (saved["status"][row] == Status.INFEASIBLE)
        if isinstance(fact, Termination):
            found[row] |= fact.kind in LACKS and not saved.lacks[row]
    return found


def _strange_reasons(saved: SavedTable) -> Bools:
    columns, rules = set(saved.encoding.names), {str(link) for link in saved.schema.constraints}
    found = np.zeros(saved.n, dtype=bool)
    for row, fact in saved.facts.items():
        if isinstance(fact, Infeasibility):
            found[row] = not columns.issuperset(fact.named)
            found[row] |= not rules.issuperset(one.rule for one in fact.obstacles if one.rule)
            found[row] |= any(_strange_level(saved, one) for one in fact.obstacles)
        elif fact.subject:
            found[row] = fact.subject not in (rules if fact.fault == Fault.RULE else columns)
    return found


def _strange_level(saved: SavedTable, one: Obstacle) -> bool:
    """Whether an obstacle stands at a text that is no level of its feature."""
    texts = [value for value in (one.value, one.fact, one.stops_at) if isinstance(value, str)]
    if not texts or one.feature not in saved.encoding.names:
        return False
    order = saved.schema.feature(one.feature).order or ()
    return not {str(level) for level in (*saved.encoding[one.feature].levels, *order)}.issuperset(texts)


def _levels_wrong(saved: SavedTable) -> Any:
    levels = np.array([len(saved.columns[k].levels) for k in saved.acts[1]], dtype=np.int64)
    return ((saved["level"] < -1) | (saved["level"] >= levels)).any(axis=1)


COST_CHECKS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("a cost is negative, too large or missing",
     lambda s: s.acting & ~((s["cost"] >= 0) & (s["cost"] <= LARGEST))),
    ("there is a cost without an action", lambda s: ~s.acting & ~np.isnan(s["cost"])),
)  # fmt: skip
BOUND_CHECKS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("a bound is above its cost", lambda s: s.acting & ~(s["bound"] <= s["cost"] * (1 + REPLAYED))),
    ("somebody infeasible has a finite bound", lambda s: s.has(Status.INFEASIBLE) & (s["bound"] != np.inf)),
    ("an effort vanishes that need not", lambda s: s["vanishing"] & ~(s.has(Status.OPTIMAL) & (s["bound"] <= 0))),
    ("a bound is negative", lambda s: s["bound"] < -REPLAYED),
    ("a bound is missing or infinite", lambda s: s.has(Status.UNKNOWN) & ~np.isfinite(s["bound"])),
    ("there is a bound where nothing is needed", lambda s: s.has(Status.NOT_NEEDED) & ~np.isnan(s["bound"])),
)  # fmt: skip
EFFORT_CHECKS = (*COST_CHECKS, *BOUND_CHECKS)
"""What must not be of statuses, costs and bounds, wherever the rest of a table is."""
CHECKS: tuple[tuple[str, Callable[[SavedTable], Any]], ...] = (
    ("the facts are not those whose hash it gives", lambda s: _hash(s["facts"]) != s.data_sha256),
    ("a status is none of those there are", lambda s: ~s.has(*Status)),
    ("names of columns, their types, levels and order do not fit together", _columns_wrong),
    ("the roles of the groups do not fit together", groups_wrong),
    ("the protected groups are not those of the schema", roles_wrong),
    ("a fact is no value of its column", _facts_wrong),
    ("somebody is solved whose action starts from a missing value",
     lambda s: s.lacks_start & ~s.has(Status.NOT_NEEDED, Status.UNKNOWN)),
    ("a counterfactual is no value of its column", _moved_wrong),
    *COST_CHECKS,
    ("a part of a cost is negative or infinite",
     lambda s: s.acting & ~((s["costs"] >= 0) & (s["costs"] < np.inf)).all(axis=1)),
    ("a cost is not the sum of its parts", _parts_wrong),
    *BOUND_CHECKS,
    ("features are set without an action", lambda s: ~s.acting & s["intervention_mask"].any(axis=1)),
    ("a level is none of its feature's", _levels_wrong),
    ("a value that is set is not where the action leads", _values_wrong),
    ("a change does not lead to the value that is set", _changes_wrong),
    ("more features are changed than may be changed at once", _too_many),
    ("a column that nothing uses has codes without levels", _rest_wrong),
    ("reasons are given for people who have none", lambda s: _told_wrong(s, s.reasons, *REASONED)),
    ("a reason is not one for what is known of the person", _reasons_wrong),
    ("a reason names a column or a rule that is not there", _strange_reasons),
    ("limits of costs are given for people who have none", lambda s: _told_wrong(s, s.ceilings, Status.UNKNOWN)),
    ("a limit of costs is negative or infinite", lambda s: not all(0 <= v < np.inf for v in s.ceilings.values())),
)  # fmt: skip
"""What must not be, and who it is true of: each person, or the file as a whole."""
