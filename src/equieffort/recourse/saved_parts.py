"""SavedParts: a table whose rows are in Parquet parts, as an audit file refers to them.

The file says where the folder of the parts is, seen from itself, and gives the hash of each part: one that is missing
or was changed is refused by its name. Statuses, costs, bounds and groups are read into memory; the rest is read from
the parts when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Column, Encoding
from equieffort.data.parquet import ParquetTable, file_hash
from equieffort.errors import AuditFileError
from equieffort.foundations.saved import APART, from_fields
from equieffort.recourse.part_source import Elsewhere, PartsSource
from equieffort.recourse.saved_table import EFFORT_CHECKS, NUMBERS, groups_wrong, roles_wrong
from equieffort.recourse.status import Status, Termination
from equieffort.recourse.table import Audience, RecourseTable
from equieffort.world.groups import Groups
from equieffort.world.schema import Schema, check_kinds


@dataclass(frozen=True)
class SavedPart:
    """One file of people."""

    name: str
    rows: int
    sha256: str

    def __post_init__(self) -> None:
        # A name that leads elsewhere is none of ours.
        if PurePath(self.name).name != self.name or self.rows < 1:
            raise ValueError("a part of the audit is none")


@dataclass(frozen=True, eq=False)
class SavedParts:
    """What a file says of a table in parts, read but not yet believed."""

    schema: Schema
    columns: tuple[Column, ...]
    dtypes: Mapping[str, str]
    groups: Mapping[str, Any]
    audience: Audience
    folder: str
    """Of the parts, as seen from the folder of the audit file."""
    parts: tuple[SavedPart, ...]
    room: int
    """Bytes that columns of everybody may take."""
    id: str | None
    """The column of the parts that names people."""
    notes: Mapping[int, Any]
    ceilings: Mapping[int, float]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict, metadata=APART)
    """Read from the parts."""

    @classmethod
    def of(cls, table: RecourseTable, source: PartsSource, target: Path) -> SavedParts:
        """As a file at `target` refers to it."""
        source.check()
        files = source.parts
        named = [Path(group.path) for group in files.groups]
        return cls(
            schema=source.schema,
            columns=source.encoding.columns,
            dtypes={name: kind for name, kind in source.dtypes.items() if kind in NUMBERS},
            groups=table.groups.to_dict(),
            audience=table.audience,
            folder=_seen_from(target, source.folder),
            parts=tuple(
                SavedPart(path.name, group.rows, files.digests[path])
                for path, group in zip(named, files.groups, strict=True)
            ),
            room=source.room,
            id=source.id,
            notes=dict(table.notes),
            ceilings={row: most for row, most in table.ceilings.items() if np.isfinite(most)},
        )

    @classmethod
    def read(cls, said: Any, place: Path) -> RecourseTable:
        """The table, if what the file says fits together and the parts are what was written."""
        found: SavedParts = from_fields(cls, said, arrays={})
        folder = (place.parent / found.folder).resolve()
        files = found._files(folder)
        columns = {name: files.column(name).to_numpy() for name in ("cost", "bound", "vanishing")}
        texts = {name: files.column(name) for name in ("status", "group")}
        object.__setattr__(found, "arrays", {
            "status": _codes(texts["status"], [status.text for status in Status], np.int8),
            "codes": _codes(texts["group"], list(found.groups["labels"]), np.int16),
            **columns,
        })  # fmt: skip
        found._check()
        source = PartsSource(found.schema, Encoding(found.columns), found.dtypes, folder, files, found.room, found.id)
        elsewhere: Any = Elsewhere(found.n, folder)
        return RecourseTable(
            source, found.grouped, **{name: found[name] for name in ("status", "cost", "bound", "vanishing")},
            intervention_mask=elsewhere, delta=elsewhere, level=elsewhere, notes=found.facts,
            ceilings={row: float(most) for row, most in found.ceilings.items()}, audience=found.audience,
        )  # fmt: skip

    def _files(self, folder: Path) -> ParquetTable:
        """The parts, each of which is what was written."""
        if not self.parts:
            raise ValueError("it holds nobody")
        fix = "Keep the folder of the parts as it was written, and beside the audit file as it was; or audit again."
        paths = [folder / part.name for part in self.parts]
        for path, part in zip(paths, self.parts, strict=True):
            if not path.is_file():
                what = f"The part {part.name!r} of this audit is not in the folder {str(folder)!r}."
                raise AuditFileError("AUDIT_FILE", what, fix=fix)
            if file_hash(path) != part.sha256:
                what = f"The part {part.name!r} in {str(folder)!r} is not what this audit wrote: its hash differs."
                raise AuditFileError("AUDIT_FILE", what, fix=fix)
        files = ParquetTable.of(paths)
        if self.id is not None and self.id not in files.columns:
            raise ValueError("the parts lack the column that names people")
        if [group.rows for group in files.groups] != [part.rows for part in self.parts]:
            raise ValueError("the parts have other numbers of people than it says")
        digests = {path.resolve(): part.sha256 for path, part in zip(paths, self.parts, strict=True)}
        return replace(files, digests=digests)

    def _check(self) -> None:
        check_kinds(self.schema, Encoding(self.columns))
        whole = [("the roles of the groups do not fit together", groups_wrong)]
        whole += [("the protected groups are not those of the schema", roles_wrong)]
        for sentence, broken in (*whole, *EFFORT_CHECKS):
            if np.atleast_1d(broken(self)).any():
                raise ValueError(sentence)
        unsettled = self.has(Status.FEASIBLE, Status.UNKNOWN)
        if any(not (0 <= row < self.n and unsettled[row]) for row in self.notes):
            raise ValueError("reasons are given for people who have none")
        unknown = self.has(Status.UNKNOWN)
        if any(not (0 <= row < self.n and unknown[row] and most >= 0) for row, most in self.ceilings.items()):
            raise ValueError("limits of costs are given for people who have none")

    # -- what checks ask ----------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    @property
    def n(self) -> int:
        """The number of people."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def grouped(self) -> Groups:
        """The groups and everybody's."""
        return Groups.from_dict(self.groups, self["codes"], self.schema.sensitive_columns)

    @cached_property
    def facts(self) -> dict[int, Termination]:
        """Why nothing better is known of people."""
        return {row: Termination.from_dict(fact) for row, fact in self.notes.items()}

    def has(self, *wanted: Status) -> Bools:
        """Who has one of these statuses."""
        return np.isin(self["status"], wanted)

    @cached_property
    def acting(self) -> Bools:
        """Who has an action."""
        return self.has(Status.OPTIMAL, Status.FEASIBLE)


def _codes(texts: Any, known: list[str], dtype: Any) -> npt.NDArray[Any]:
    """Codes of texts; one that is not known is refused."""
    codes = texts.astype("category").cat.set_categories(known).cat.codes.to_numpy()
    if (codes < 0).any():
        raise ValueError("a status is none of those there are, or a group none of its own")
    return codes.astype(dtype)


def _seen_from(target: Path, folder: Path) -> str:
    """The folder as seen from the folder of a file; as it is where no way leads there."""
    try:
        return Path(os.path.relpath(folder.resolve(), target.resolve().parent)).as_posix()
    except ValueError:  # another drive on Windows
        return folder.resolve().as_posix()
