"""SavedParts: a table whose rows are in Parquet parts, as an audit file refers to them.

The file says where the folder of the parts is, seen from itself, and gives the hash of each part: one that is missing
or was changed is refused by its name. Statuses, costs, bounds and groups are checked and counted in one pass, some
people at a time; the sorted efforts of the refused stay in memory, and all else is read from the parts when it is asked
for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
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
from equieffort.recourse.part_source import Counting, Outcomes, PartsSource
from equieffort.recourse.saved_table import EFFORT_CHECKS, NUMBERS, groups_wrong, roles_wrong
from equieffort.recourse.status import ACTING, UNSETTLED, Status, Termination
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
    """None: everybody is in the parts."""

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
    def read(cls, said: Any, place: Path, counting: Callable[[int], Counting]) -> RecourseTable:
        """The table, if what the file says fits together and the parts are what was written.

        `counting` says how people of so many groups are counted.
        """
        found: SavedParts = from_fields(cls, said, arrays={})
        folder = (place.parent / found.folder).resolve()
        files = found._files(folder)
        nobody = Groups.from_dict(found.groups, np.zeros(0, dtype=np.int16), found.schema.sensitive_columns)
        source = PartsSource(
            found.schema, Encoding(found.columns), found.dtypes, folder, files, found.room, found.id,
            labels=nobody.labels,
        )  # fmt: skip
        ceilings = {row: float(most) for row, most in found.ceilings.items()}
        tally = found._counted(source, nobody, counting(len(nobody.labels)))
        return replace(source, tally=tally).table(nobody, found.facts, ceilings, found.audience)

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

    def _counted(self, source: PartsSource, groups: Groups, counting: Counting) -> Any:
        """What everybody adds up to; what does not fit together is refused."""
        check_kinds(self.schema, Encoding(self.columns))
        grouped = _Grouped(self.schema, groups)
        if groups_wrong(grouped):
            raise ValueError("the roles of the groups do not fit together")
        if roles_wrong(grouped):
            raise ValueError("the protected groups are not those of the schema")
        told = [_Told("reasons", self.notes, UNSETTLED)]
        told += [_Told("limits of costs", self.ceilings, (Status.UNKNOWN,))]
        if any(one.strangers(self.n) for one in told) or any(not most >= 0 for most in self.ceilings.values()):
            raise ValueError("reasons or limits of costs are given for people who have none")
        tallies = []
        for start, people in source.outcomes({row: float(most) for row, most in self.ceilings.items()}):
            for sentence, broken in EFFORT_CHECKS:
                if np.any(broken(_Some(people))):
                    raise ValueError(sentence)
            for one in told:
                one.check(start, people)
            tallies.append(counting.of(people))
        return counting.merged(tallies)

    @property
    def n(self) -> int:
        """The number of people."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def facts(self) -> dict[int, Termination]:
        """Why nothing better is known of people."""
        return {row: Termination.from_dict(fact) for row, fact in self.notes.items()}


@dataclass(frozen=True)
class _Grouped:
    """What checks of the groups ask."""

    schema: Schema
    grouped: Groups


@dataclass(frozen=True, eq=False)
class _Some:
    """What checks of efforts ask, of some people."""

    people: Outcomes

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = getattr(self.people, name)
        return found

    def has(self, *wanted: Status) -> Bools:
        """Who has one of these statuses."""
        return np.isin(self.people.status, wanted)

    @property
    def acting(self) -> Bools:
        """Who has an action."""
        return self.has(*ACTING)


class _Told:
    """What is told of single people, who must be of a status that has it."""

    def __init__(self, what: str, about: Mapping[int, Any], may: tuple[Status, ...]) -> None:
        self.what, self.may, self.rows = what, may, np.array(sorted(about), dtype=np.int64)

    def strangers(self, n: int) -> bool:
        """Whether it is told of somebody who is not there."""
        return bool(((self.rows < 0) | (self.rows >= n)).any())

    def check(self, start: int, people: Outcomes) -> None:
        """Refuse it of others among some people."""
        mine = self.rows[slice(*np.searchsorted(self.rows, (start, start + len(people.status))))] - start
        if not np.isin(people.status[mine], self.may).all():
            raise ValueError(f"{self.what} are given for people who have none")


def _seen_from(target: Path, folder: Path) -> str:
    """The folder as seen from the folder of a file; as it is where no way leads there."""
    try:
        return Path(os.path.relpath(folder.resolve(), target.resolve().parent)).as_posix()
    except ValueError:  # another drive on Windows
        return folder.resolve().as_posix()
