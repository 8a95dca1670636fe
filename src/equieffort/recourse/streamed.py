"""People who do not fit into memory: solved where their row groups are, their actions written as Parquet parts.

A part has at most `PART_ROWS` people of one row group. Whoever solves is sent a piece of a part: all of it, or fewer
people where that is better for the pace, or where somebody among them ends every worker. Pieces are joined as soon as
all of a part are there, so that parts are the same bytes whatever the pieces were.

Whoever solves a piece counts its people: sums by group and, where they are asked for, sorted efforts, which add to the
same bits however people were split. That is what is sent back; everything about single people is in the parts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.parquet import ParquetTable, Reader, RowGroup, file_hash
from equieffort.data.regular import settle, written_aside
from equieffort.errors import RunError
from equieffort.foundations.dealing import Span
from equieffort.foundations.saved import as_data, read_json
from equieffort.foundations.workers import Job, Ready
from equieffort.recourse.checkpoints import OTHER_HASH, sealed, unsealed, warn_of_damage
from equieffort.recourse.part_source import OUTCOMES, Counting, Outcomes, fact_columns
from equieffort.recourse.parts import PartSolver, SolvedPart, SolveJob, check_efforts
from equieffort.recourse.status import Status, Termination
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups

PART_ROWS = 65_536
"""People of a part, at most."""
SAID = "_parts.json"
"""Says what the parts of a run that is not finished belong to."""
ROOM = "Make room, or choose another folder, and run again."


@dataclass(frozen=True, eq=False)
class SolvedPiece:
    """What is told of a piece whose people are solved and written."""

    start: int
    rows: int
    tally: Any
    """What they add up to."""
    outside: npt.NDArray[np.int64]
    """By group, how many start outside the declared limits."""
    notes: Mapping[int, Termination]
    """Why those who are not solved to the end are not; rows count from the first of the piece."""
    ceilings: Mapping[int, float]
    sha256: str = ""
    """Of the file in which the rest is."""


@dataclass(frozen=True)
class Keys:
    """How people are told apart by their sensitive columns; fixed once, from people of every group."""

    columns: tuple[str, ...]
    index: pd.Index

    @classmethod
    def of(cls, frame: pd.DataFrame, groups: Groups) -> tuple[Keys, npt.NDArray[np.int16]]:
        """The values of each group, and its code."""
        held = frame[list(groups.columns)].assign(code=groups.codes).drop_duplicates(list(groups.columns))
        return cls(groups.columns, _index(held[list(groups.columns)])), held["code"].to_numpy(dtype=np.int16)

    def of_people(self, frame: pd.DataFrame, codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """Everybody's code."""
        at = self.index.get_indexer(_index(frame[list(self.columns)]))
        # All combinations were seen in the first pass.
        assert (at >= 0).all()
        return codes[at]


def _index(frame: pd.DataFrame) -> pd.Index:
    return pd.Index(frame.iloc[:, 0]) if frame.shape[1] == 1 else pd.MultiIndex.from_frame(frame)


@dataclass(frozen=True, eq=False)
class StreamJob(Job):
    """The problem, and how people are read and their parts written."""

    solve: SolveJob
    columns: tuple[str, ...]
    dtypes: dict[str, Any]
    keys: Keys
    codes: npt.NDArray[np.int16]
    labels: tuple[str, ...]
    folder: str
    size: int
    """People solved at once."""
    counting: Counting
    """How people are counted."""
    belongs: str
    """What a part belongs to, by hash."""
    id: str | None = None
    """A column that names people."""
    more: tuple[str, ...] = ()
    """Columns that nobody is solved by, kept in the parts since rules name them."""

    def ready(self) -> PieceSolver:
        """Prepared once a thread."""
        return PieceSolver.of(self, self.solve.ready())

    def parts(self) -> dict[str, Any]:
        """By the names that a reader knows."""
        return self.solve.parts()

    def without_people(self) -> StreamJob:
        """As it travels."""
        return replace(self, solve=self.solve.without_people())


@dataclass(frozen=True)
class Piece:
    """People of one part who are solved together: what a worker is sent."""

    number: int
    part: RowGroup
    people: RowGroup

    @property
    def is_whole(self) -> bool:
        """Whether these are all of the part."""
        return self.people.rows == self.part.rows

    def path(self, folder: Path) -> Path:
        """Where the rows are written: in the part itself, or beside it until all of it is there."""
        if self.is_whole:
            return part_path(folder, self.number)
        start, stop = self.people.start, self.people.start + self.people.rows
        return folder / f"_rows-{start:012}-{stop:012}.arrow"

    def beside(self, folder: Path) -> Path:
        """The file that says what is not in the columns."""
        path = self.path(folder)
        # Whoever reads the folder as a table passes over names that begin so.
        return path.with_name(f"_{path.stem.removeprefix('_')}.json")


@dataclass(frozen=True, eq=False)
class PieceSolver(Ready):
    """Solves pieces and writes them."""

    job: StreamJob
    solver: PartSolver
    reader: Reader

    @classmethod
    def of(cls, job: StreamJob, solver: PartSolver) -> PieceSolver:
        """Prepared for one thread."""
        named = () if job.id is None else (job.id,)
        return cls(job, solver, Reader((*job.columns, *job.more, *named), job.size, job.dtypes))

    def do(self, task: Piece) -> SolvedPiece:
        """Its people's rows, written aside and renamed."""
        found, rows = self._solved(task.people)
        return write_piece(task, Path(self.job.folder), rows, found, self.job.belongs)

    def _solved(self, people: RowGroup) -> tuple[SolvedPiece, list[Any]]:
        job, kept, rows = self.job, _Kept(len(self.job.labels), self.job.counting), []
        try:
            for start, read in self.reader.batches(people):
                mine = read[list(job.columns)]
                part, table = self.solver.solve(mine)
                check_efforts(table, slice(None))
                codes = job.keys.of_people(mine, job.codes)
                kept.add(part, codes)
                named = read[[] if job.id is None else [job.id]]
                more = fact_columns(table, part, read, job.more)
                rows.append(part_columns(table, part, start, codes, job.labels, named, more))
        except BaseException:
            # Where it stands in the file is not known any more.
            self.reader.close()
            raise
        return kept.piece(people.start), rows


# -- files of pieces ---------------------------------------------------------------------------------------------------


def write_piece(piece: Piece, folder: Path, rows: Sequence[Any], solved: SolvedPiece, belongs: str) -> SolvedPiece:
    """Write the rows of a piece, and beside them what a run needs to go on from there; returns it with its hash."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # One table of whole columns: however it was put together, the same bytes are written.
    whole = pa.concat_tables(rows).combine_chunks()
    with written_aside(piece.path(folder), ROOM, RunError) as partial:
        if piece.is_whole:
            pq.write_table(whole, partial, row_group_size=max(1, len(whole)))
        else:
            # Kept as it is in memory, types of codes included, which Parquet would not.
            with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, whole.schema) as writer:
                writer.write_table(whole)
        settle(partial)
    digest = file_hash(piece.path(folder))
    said = {
        "belongs": belongs,
        "sha256": digest,
        "outside": solved.outside.tolist(),
        "notes": {row: as_data(note) for row, note in solved.notes.items()},
        "ceilings": {row: None if np.isinf(most) else float(most) for row, most in solved.ceilings.items()},
    }
    with written_aside(piece.beside(folder), ROOM, RunError) as partial:
        partial.write_bytes(sealed(json.dumps(said).encode(errors="surrogatepass")))
        settle(partial)
    return replace(solved, sha256=digest)


def read_piece(
    piece: Piece, folder: Path, belongs: str, labels: Sequence[str], counting: Counting
) -> SolvedPiece | None:
    """A piece that this run finished before it was broken off, its people counted again; None where there is none, or
    a damaged one."""
    path = piece.path(folder)
    if not piece.beside(folder).exists():
        return None
    try:
        said = read_json(unsealed(piece.beside(folder).read_bytes()))
        if said["belongs"] != belongs or said["sha256"] != file_hash(path):
            raise ValueError(OTHER_HASH)
        ceilings = {int(row): np.inf if most is None else most for row, most in said["ceilings"].items()}
        people = Outcomes.read(_rows_of(piece, folder, list(OUTCOMES)).to_pandas(), labels, ceilings)
        return SolvedPiece(
            piece.people.start,
            len(people.status),
            counting.of(people),
            np.array(said["outside"], dtype=np.int64),
            {int(row): Termination.from_dict(note) for row, note in said["notes"].items()},
            ceilings,
            said["sha256"],
        )
    except Exception as error:
        # Damage can show as anything.
        warn_of_damage(path, error, piece.people.rows)
        return None


def _rows_of(piece: Piece, folder: Path, columns: list[str] | None = None) -> Any:
    """The rows of a piece as an Arrow table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = piece.path(folder)
    if piece.is_whole:
        return pq.read_table(path, columns=columns)
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_file(file) as reader:
        whole = reader.read_all()
    return whole if columns is None else whole.select(columns)


@dataclass(eq=False)
class Gathering:
    """Pieces as they come in; those of one part are joined once all are there."""

    folder: Path
    parts: tuple[RowGroup, ...]
    belongs: str
    labels: tuple[str, ...]
    counting: Counting
    open: dict[int, dict[Piece, SolvedPiece]] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    """By part that is whole, its hash."""

    def __post_init__(self) -> None:
        self.starts = [part.start for part in self.parts]

    def piece(self, first: int, last: int) -> Piece:
        """Some people, who are all of one part."""
        number = bisect_right(self.starts, first) - 1
        part = self.parts[number]
        return Piece(number, part, part.between(first, last))

    @property
    def spans(self) -> list[Span]:
        """The people of each part."""
        return [(part.start, part.start + part.rows) for part in self.parts]

    def take(self, solved: SolvedPiece) -> None:
        """A piece was written."""
        piece = self.piece(solved.start, solved.start + solved.rows)
        if piece.is_whole:
            self.digests[piece.number] = solved.sha256
            return
        mine = self.open.setdefault(piece.number, {})
        # It was counted where it came in: until its part is whole nothing of that need be kept twice.
        mine[piece] = replace(solved, tally=None)
        if sum(one.people.rows for one in mine) == piece.part.rows:
            self._join(self.open.pop(piece.number), self.piece(*self.spans[piece.number]))

    def _join(self, pieces: dict[Piece, SolvedPiece], whole: Piece) -> None:
        ordered = sorted(pieces, key=lambda one: one.people.start)
        rows = [_rows_of(one, self.folder) for one in ordered]
        told = write_piece(whole, self.folder, rows, _joined([pieces[one] for one in ordered]), self.belongs)
        self.digests[whole.number] = told.sha256
        for one in ordered:
            for path in (one.path(self.folder), one.beside(self.folder)):
                path.unlink(missing_ok=True)

    def written(self) -> ParquetTable:
        """The parts as a table, once all are there."""
        paths = [part_path(self.folder, number) for number in range(len(self.parts))]
        found = ParquetTable.of(paths)
        return replace(found, digests={path.resolve(): self.digests[k] for k, path in enumerate(paths)})

    def restore(self) -> tuple[list[SolvedPiece], list[Span]]:
        """What a run that was broken off had finished, and who is left."""
        found: list[SolvedPiece] = []
        left: list[Span] = []
        pieces = self._written()
        for number, (start, stop) in enumerate(self.spans):
            for first, last in [(start, stop), *pieces.get(number, [])]:
                # Pieces follow one another; one that overlaps was tried again in smaller ones.
                if first < start:
                    continue
                kept = read_piece(self.piece(first, last), self.folder, self.belongs, self.labels, self.counting)
                if kept is None:
                    continue
                left.append((start, first))
                found.append(kept)
                start = last
                if start == stop:
                    break
            left.append((start, stop))
        return found, [span for span in left if span[0] < span[1]]

    def _written(self) -> dict[int, list[Span]]:
        """By part the pieces there are files of."""
        found: dict[int, list[Span]] = {}
        for path in sorted(self.folder.glob("_rows-*.json")):
            name = PIECE.fullmatch(path.name)
            if name is not None and int(name[1]) < int(name[2]) <= self.spans[-1][1]:
                piece = self.piece(int(name[1]), int(name[2]))
                if int(name[2]) <= piece.part.start + piece.part.rows and not piece.is_whole:
                    found.setdefault(piece.number, []).append((int(name[1]), int(name[2])))
        return found


PIECE = re.compile(r"_rows-(\d{12})-(\d{12})\.json")


def _joined(parts: Sequence[SolvedPiece]) -> SolvedPiece:
    """Of people who follow one another, without what they add up to."""
    start = parts[0].start
    return SolvedPiece(
        start,
        sum(part.rows for part in parts),
        None,
        outside=np.sum([part.outside for part in parts], axis=0),
        notes={part.start - start + row: note for part in parts for row, note in part.notes.items()},
        ceilings={part.start - start + row: most for part in parts for row, most in part.ceilings.items()},
    )


def forget_pieces(folder: Path) -> None:
    """All parts are there: nobody need go on."""
    for path in [*folder.glob("_part-*.json"), *folder.glob("_rows-*"), folder / SAID]:
        with suppress(OSError):
            path.unlink(missing_ok=True)


class _Kept:
    """What stays of one batch after the other."""

    def __init__(self, groups: int, counting: Counting) -> None:
        self.counting, self.outside = counting, np.zeros(groups, dtype=np.int64)
        self.notes: dict[int, Termination] = {}
        self.ceilings: dict[int, float] = {}
        self.tallies: list[Any] = []
        self.n = 0

    def add(self, part: SolvedPart, codes: npt.NDArray[np.int16]) -> None:
        people = Outcomes(part.status, part.cost, part.bound, part.vanishing, codes, part.ceilings)
        self.tallies.append(self.counting.of(people))
        self.outside += np.bincount(codes[part.outside], minlength=len(self.outside))
        self.notes |= {self.n + row: note for row, note in part.notes.items()}
        self.ceilings |= {self.n + row: most for row, most in part.ceilings.items()}
        self.n += len(part)

    def piece(self, start: int) -> SolvedPiece:
        whole = self.counting.merged(self.tallies)
        return SolvedPiece(start, self.n, whole, self.outside, self.notes, self.ceilings)


def part_path(folder: Path, number: int) -> Path:
    """The file of a part's people."""
    return folder / f"part-{number:06}.parquet"


def part_columns(
    table: RecourseTable, part: SolvedPart, start: int, codes: npt.NDArray[np.int16], labels: Sequence[str],
    named: pd.DataFrame, more: Mapping[str, Any],
) -> Any:  # fmt: skip
    """The recourse of some people as an Arrow table: row, who they are where a column says so, group, status, cost,
    bound, do_*, delta_*, outside_limits, and more."""
    import pyarrow as pa

    rows = np.arange(start, start + len(part), dtype=np.int64)
    frame = table.frame(reasons=False).drop(columns=["group"])
    texts = {
        "group": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(labels), pa.string())),
        "status": pa.DictionaryArray.from_arrays(
            pa.array(part.status), pa.array([status.text for status in Status], pa.string())
        ),
    }
    names = {str(name): pa.array(named[name], from_pandas=True) for name in named.columns}
    columns: dict[str, Any] = {"row": pa.array(rows)} | names | texts
    for name in frame.columns:
        if name == "status":
            continue
        values = frame[name]
        # A category that nobody is set to must not change the type of its column from part to part.
        columns[name] = pa.array(
            values, pa.string() if values.dtype.kind == "O" else None, from_pandas=values.dtype.kind == "O"
        )
    columns["vanishing"] = pa.array(part.vanishing)
    return pa.table(columns | dict(more))
