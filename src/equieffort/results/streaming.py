"""Audits of Parquet files that are larger than memory: a first pass fixes the problem, a second one solves.

The first pass sees everybody: who lacks a value, the least and largest value of each column, every level and every
group. With these people, and others evenly spaced, the problem is made as it is of a table in memory: what needs more
than ends, levels and groups (equations that are learned here, quantiles) rests on this sample, and that is said.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.data.parquet import Parquet, ParquetTable, bytes_in
from equieffort.effort.criteria import Criteria
from equieffort.effort.measures import MEASURES, Measure
from equieffort.effort.metrics import Centres
from equieffort.effort.tallies import Merging, Tallying
from equieffort.errors import ParameterError, RunError, Setting, many, sentence, warn
from equieffort.foundations.arguments import check_flag, check_instance, check_path, check_whole
from equieffort.foundations.dealing import Dealing
from equieffort.foundations.log import stage
from equieffort.foundations.progress import Progress
from equieffort.foundations.workers import Crew, Shared, crew
from equieffort.models.classifiers import known_features
from equieffort.recourse.checkpoints import check_belongs, identity, say_belongs
from equieffort.recourse.lacking import Lacking
from equieffort.recourse.part_source import PART_COLUMNS, PREFIXES, PartsSource
from equieffort.recourse.parts import PartSolver, SolveJob, needed_columns
from equieffort.recourse.saved_table import NUMBERS
from equieffort.recourse.solving import warn_of_table
from equieffort.recourse.status import Status
from equieffort.recourse.streamed import (
    PART_ROWS,
    SAID,
    Gathering,
    Keys,
    PieceSolver,
    SolvedPiece,
    StreamJob,
    forget_pieces,
)  # fmt: skip
from equieffort.recourse.table import RecourseTable
from equieffort.results.inputs import AuditInputs, Declared
from equieffort.world.cost import WeightedL1
from equieffort.world.distances import BoundDistance, Distance, Normalised
from equieffort.world.groups import Groups
from equieffort.world.rules import parse_rule
from equieffort.world.scales import Range
from equieffort.world.schema import Schema
from equieffort.world.scm.edges_alone import is_edges

EFFORT_BYTES = 32
"""Of a person, in memory: a sorted effort, if all are refused and have a way, and the copies that measures make."""
ASKED_BYTES = 60
"""Of a person whom questions are about that need everybody: status, cost, bound, group, and what is made of them."""
BASE_BYTES = 450 << 20
"""What Python, its libraries and compiled loops take before anybody is read."""
COLUMN_BYTES, CURVE_BYTES = 40, 520
"""Of a person and a column that a distance compares, and of a person beside, while a curve is computed from columns in
memory: values, their copies in the kernel's order, codes; sums for the bands. A million people took 0.6 GiB."""
PASSING_CENTRES = 50
"""Centres a group that a curve has by default where columns are read again for every block of them."""
OURS = re.compile(r"part-\d{6}\.parquet|_part-\d{6}\.json|_rows-\d{12}-\d{12}\.(arrow|json)|_parts\.json|\..*\.partial")
"""Names of files that earlier runs leave in the folder of the parts."""
MOST_ROWS, LEAST_ROWS = 65_536, 1_024


@dataclass(frozen=True)
class Streaming:
    """How people in Parquet files are streamed: in how much memory, and into which folder their actions are written.

    `memory` is for all processes on this machine together; `sample` is how many people what is read from a sample rests
    on (equations that are learned, quantiles).
    """

    folder: str | PathLike[str]
    memory: str | int = "2GiB"
    sample: int = 100_000
    resume: bool = False
    """Go on from the parts that a run of the same people, model and question has finished; others are refused."""
    id: str | None = None
    """A column that names people: it stands in the parts beside their numbers."""

    def __post_init__(self) -> None:
        check_path("folder", self.folder, "the path of a folder")
        bytes_in(self.memory)
        check_whole("sample", self.sample, 1000)
        check_flag("resume", self.resume)
        if self.id is not None:
            check_instance("id", self.id, str, "the name of a column")

    def rows_at_once(self, people: int, columns: int, workers: int) -> int:
        """How many people are solved together, so that all stays within the memory."""
        left = bytes_in(self.memory) - people * EFFORT_BYTES - self.sample * 8 * columns * 4 - BASE_BYTES * workers
        # A matrix of everybody's columns is there in some dozen forms while they are solved and written.
        rows = left // (workers * 8 * columns * 40)
        if rows < LEAST_ROWS:
            least = (
                people * EFFORT_BYTES
                + self.sample * 8 * columns * 4
                + (BASE_BYTES + 2 * LEAST_ROWS * 320 * columns) * workers
            )
            raise ParameterError(
                "PARAMETER",
                f"{self.memory} are too little for {many(people, 'person', 'people')} and "
                f"{many(workers, 'process', 'processes')}.",
                fix=f"Give at least {least / 2**30:.1f} GiB, or fewer workers.",
            )
        return min(MOST_ROWS, rows)


@dataclass(frozen=True, eq=False)
class Looked:
    """What the first pass found."""

    files: ParquetTable
    names: list[str]
    """The columns that are read."""
    rows: npt.NDArray[np.int64]
    """Who is in the sample."""
    inputs: AuditInputs
    """What the sample was made into."""
    size: int
    """People solved at once."""


def look(
    classifier: Any,
    source: Parquet,
    how: Streaming,
    workers: Crew | None,
    *,
    subgroups: Mapping[str, str] | None,
    solver: Any,
    watching: Progress | None,
    **declared: Any,
) -> Looked:
    """The first pass over everybody: refuses what is doubtful, and fixes the problem. Nothing is written."""
    schema: Schema = declared["schema"]
    _check(declared)
    whole = source.open().hashed()
    files = whole.joined(schema.spread)
    _check_folder(Path(how.folder), files)
    names = _columns(classifier, declared, subgroups, files)
    n, size = len(files), how.rows_at_once(len(files), len(names), workers.size if workers is not None else 1)
    _check_id(how.id, names, whole)
    with stage(f"Looking at {n:,} people"):
        if watching is not None:
            watching("looking", 0, 1)
        if how.id is not None:
            whole.check_id(how.id, size)
        rows = _sampled(files, names, schema, how.sample, size)
        # The types of columns over which a category is spread are the model's to see.
        spread = files.groups[0].one_hot
        sample = whole.take(rows, [own for name in names for own in spread.columns_of(name)], size)
        if watching is not None:
            watching("looking", 1, 1, f"{n:,} people in {many(len(files.groups), 'row group', 'row groups')}")
    _tell_sample(n, len(rows), declared)
    inputs = AuditInputs.of(classifier, sample, solver=solver, subgroups=subgroups, **cast("Declared", declared))
    return Looked(files, names, rows, inputs, size)


def stream(
    classifier: Any,
    source: Parquet,
    how: Streaming,
    *,
    subgroups: Mapping[str, str] | None,
    solver: Any,
    criteria: Criteria,
    own: Sequence[Measure],
    executor: Executor | None,
    n_jobs: int | None,
    watching: Progress | None,
    **declared: Any,
) -> tuple[AuditInputs, RecourseTable, npt.NDArray[np.int64]]:
    """What a sample of the people was made into, the table of all, and who is in the sample."""
    schema: Schema = declared["schema"]
    workers = crew(executor, n_jobs)
    _check(declared)
    # What cannot be written to is told before everybody is read.
    folder = _folder(how, source.open())
    looked = look(classifier, source, how, workers, subgroups=subgroups, solver=solver, watching=watching, **declared)
    files, inputs, rows, size, n = looked.files, looked.inputs, looked.rows, looked.size, len(looked.files)
    problem, choice, groups = inputs.problem, inputs.choice, inputs.people.groups
    columns = tuple(dict.fromkeys((*needed_columns(problem), *schema.sensitive_columns)))
    more = tuple(name for name in dict.fromkeys((*columns, *looked.names)) if name not in problem.encoding.names)
    keys, codes = Keys.of(inputs.people.frame, groups)
    dtypes = {name: inputs.people.frame[name].dtype for name in dict.fromkeys((*columns, *more))}
    # Why there is no way is kept in the parts, as an audit file keeps it.
    solve = SolveJob(problem, choice.solver, reasons=True)
    belongs = identity(solve.without_people(), inputs.people.frame)
    belongs |= {"files": files.digest, "columns": repr((how.id, more))}
    going_on = how.resume and (folder / SAID).exists()
    if going_on:
        check_belongs(folder / SAID, belongs)
    else:
        _empty(folder)
    token = hashlib.sha256(repr(sorted(belongs.items())).encode()).hexdigest()
    into = str(folder.resolve())
    counting = counting_of(len(groups.labels), criteria, own)
    job = StreamJob(solve, columns, dtypes, keys, codes, groups.labels, into, size, counting, token, how.id, more)
    lacking = Lacking(problem, choice.solver)
    here = PieceSolver.of(job, PartSolver(job.solve, choice.prepared, lacking))
    parts = files.cut(PART_ROWS)
    gathering = Gathering(folder, parts, token, groups.labels, counting)
    filling = _Filling(n, groups, counting, watching)

    def took(_first: int, _last: int, piece: SolvedPiece) -> None:
        filling.take([piece])
        gathering.take(piece)

    with stage(f"Solving {n:,} people"):
        # Whoever is named as a person is one: a dealing is over people, and no piece reaches beyond its part.
        shared = Shared(job.without_people())
        dealing = Dealing(shared, here, workers, gathering.piece, took, _named(files), most=size)
        left = gathering.spans
        say_belongs(folder / SAID, belongs)
        if going_on:
            kept, left = gathering.restore()
            filling.take(kept)
            for piece in kept:
                gathering.take(piece)
        dealing.run(left)
        here.reader.close()
    forget_pieces(folder)
    if files.changed() is not None:
        raise RunError(
            "RUN_CHANGED", "The Parquet files changed while they were audited.", fix="Audit them once nobody writes."
        )
    room = bytes_in(how.memory) - n * ASKED_BYTES - BASE_BYTES
    held = PartsSource(
        problem.schema, problem.encoding, _numbers(dtypes), folder, gathering.written(), room, how.id, files,
        tally=filling.merging.whole(),
    )  # fmt: skip
    table = held.table(groups, filling.notes, filling.ceilings, "python")
    warn_of_table(table, filling.outside)
    return inputs, table, rows


def _numbers(dtypes: Mapping[str, Any]) -> dict[str, str]:
    """The types in which columns of numbers are read back."""
    return {name: str(kind) for name, kind in dtypes.items() if str(kind) in NUMBERS}


def _named(files: ParquetTable) -> Any:
    def name(row: int) -> str:
        group = files.groups[int(np.searchsorted(files.starts, row, side="right")) - 1]
        return f"row {row:,} (row group {group.group} of {Path(group.path).name})"

    return name


def _check(declared: Mapping[str, Any]) -> None:
    """Refuse what streaming does not do."""
    if declared.get("missing", "error") != "error":
        raise ParameterError(
            "PARAMETER",
            "Parquet files that are streamed take no missing: everybody must have every value, as it stands.",
            fix="Write the files without these people, or read the table into memory: pandas.read_parquet(...).",
        )


def _check_id(name: str | None, names: list[str], files: ParquetTable) -> None:
    """Refuse a column of names that is none, or that says something else already."""
    if name is None:
        return
    files.require([name])
    if name in names or name in PART_COLUMNS or name.startswith(PREFIXES):
        taken = "the audit uses" if name in names else "the parts have for something else"
        raise ParameterError(
            "PARAMETER",
            f"The column {name!r} is to name people, but it is one that {taken}.",
            fix=("Name another column, or leave ", Setting("id"), " out: people are numbered."),
        )


def _check_folder(folder: Path, files: ParquetTable) -> None:
    """Refuse the folder of the people for the parts."""
    if folder.resolve() in {Path(group.path).parent for group in files.groups}:
        raise ParameterError(
            "OUTPUT",
            f"The folder {str(folder)!r} holds the people themselves.",
            fix="Give the parts a folder of their own: Streaming(folder=...).",
        )


def _folder(how: Streaming, files: ParquetTable) -> Path:
    """The folder of the parts, made before anybody is solved."""
    folder = Path(how.folder)
    _check_folder(folder, files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe.partial"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ParameterError(
            "OUTPUT",
            f"The folder {str(folder)!r} cannot be written to: {sentence(error.strerror or error)}",
            fix="Give another folder: Streaming(folder=...).",
        ) from error
    return folder


def _empty(folder: Path) -> None:
    """Without the parts of another run: whoever reads the folder would take them for people of this one."""
    for path in folder.iterdir():
        if OURS.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _columns(
    classifier: Any, declared: Mapping[str, Any], subgroups: Mapping[str, str] | None, files: ParquetTable
) -> list[str]:
    """What is read: every column that the model, the graph, the schema or a rule names."""
    schema, scm = declared["schema"], declared["scm"]
    edges = scm if isinstance(scm, list | tuple) else None
    nodes = [name for edge in edges for name in edge] if edges is not None else getattr(scm, "graph", scm).nodes
    asked = [name for rule in (subgroups or {}).values() for name in parse_rule(rule).names]
    seen = known_features(classifier, declared.get("model_features"))
    names = (*schema.sensitive_columns, *schema.protected_columns, *seen, *nodes, *schema.features)
    found = list(schema.spread.names((*names, *schema.rule_columns, *asked)))
    files.require(found)
    return found


def _sampled(files: ParquetTable, names: list[str], schema: Schema, most: int, size: int) -> npt.NDArray[np.int64]:
    """Evenly spaced people, and those who show what must be known of a column; everybody where they are few."""
    witnesses = files.witnesses(names, schema.sensitive_columns, size)
    if len(files) <= most:
        return np.arange(len(files), dtype=np.int64)
    spaced = np.arange(0, len(files), -(-len(files) // most), dtype=np.int64)
    return np.union1d(spaced, witnesses)


def _tell_sample(n: int, sample: int, declared: Mapping[str, Any]) -> None:
    """Say what rests on a sample, if anything does."""
    scm, cost = declared["scm"], declared.get("cost")
    learned = is_edges(scm) or not scm.is_fitted
    plain = cost is None or (isinstance(cost, WeightedL1) and cost.scale == Range())
    if sample < n and (learned or not plain):
        what = " and ".join(["equations"] * learned + ["scales of costs"] * (not plain))
        warn(
            "DATA_SAMPLED",
            f"Learned from {sample:,} of {n:,} people, evenly spaced: {what}.",
            fix="Give equations that are fitted, and reference= data, where that is not enough.",
        )


def counting_of(groups: int, criteria: Criteria, own: Sequence[Measure]) -> Tallying:
    """How workers count people: everybody's effort is kept where the budget, or what is judged, rests on it."""
    judged = (*(MEASURES[name] for name in criteria.judged), *own)
    keep = criteria.budget is None or not all(measure.adds for measure in judged)
    return Tallying(groups, criteria.budget, keep)


class _Filling:
    """What of everybody stays in memory."""

    def __init__(self, n: int, groups: Groups, counting: Tallying, watching: Progress | None) -> None:
        self.n, self.watching, self.done, self.stuck = n, watching, 0, 0
        self.merging = Merging(counting)
        self.outside = np.zeros(len(groups.labels), dtype=np.int64)
        self.notes: dict[int, Any] = {}
        self.ceilings: dict[int, float] = {}

    def take(self, pieces: Sequence[SolvedPiece]) -> None:
        for piece in pieces:
            self.merging.take(piece.tally)
            self.outside += piece.outside
            self.notes |= {piece.start + row: note for row, note in piece.notes.items()}
            self.ceilings |= {piece.start + row: most for row, most in piece.ceilings.items()}
            self.done += piece.rows
            self.stuck += piece.tally.counts[Status.INFEASIBLE]
        if self.watching is not None:
            self.watching("solving", self.done, self.n, f"{self.stuck:,} infeasible so far")


# -- distances ---------------------------------------------------------------------------------------------------------


def bind(distance: Distance, source: PartsSource) -> BoundDistance:
    """A distance over people in files.

    Their columns are read once where there is room for them, which gives what a table in memory gives, to the bit. Else
    a built-in distance reads them again for every block of centres; another one needs everybody at once.
    """
    if isinstance(distance, Normalised):
        names = _compared(distance, source)
        if len(source) * (CURVE_BYTES + COLUMN_BYTES * len(names)) > source.room:
            return PassingDistance.of(distance, source, names)
    return distance.bind(source.data, source.encoding, source.schema)


def tell_drawn(centres: Centres, n: int) -> None:
    """Say that a curve is read around a few people, since each of them takes a pass over everybody."""
    warn(
        "DATA_SAMPLED",
        f"The curve is read around {centres.each:,} people of each group, drawn at random: the columns of {n:,} people "
        "do not fit into the memory. Around each of them all people count.",
        fix="Give more memory, or say how many: curve(centres=ee.Centres(each=500)).",
        keep=False,
    )


def _compared(distance: Normalised, source: PartsSource) -> list[str]:
    wanted = distance.features if distance.features is not None else source.encoding.names
    protected = () if distance.include_protected else source.schema.protected_columns
    return [name for name in wanted if name not in protected]


@dataclass(frozen=True, eq=False)
class PassingDistance(BoundDistance):
    """Distances from some people to everybody, in a pass over the columns for every block of centres."""

    source: PartsSource
    names: tuple[str, ...]
    scales: tuple[float, ...]
    power: int
    block_bytes: int

    @classmethod
    def of(cls, distance: Normalised, source: PartsSource, names: Sequence[str]) -> PassingDistance:
        """A built-in distance over these columns."""
        kept, scales, lacking = [], [], []
        for name in names:
            column = source.encoding[name]
            values = column.encode(source.data[name])
            if np.isnan(values).any():
                lacking.append(name)
            elif np.ptp(values) > 0:
                kept.append(name)
                scales.append(1.0 if column.is_category else float(distance.scale.of(name, values)))
        if lacking:
            distance.refuse_or_tell(lacking, kept)
        # Beside the distances stand as many bytes that they are made from.
        return cls(source, tuple(kept), tuple(scales), distance.power, max(source.room // 4, 8 * len(source)))

    def to_all(self, rows: slice) -> Floats:
        """As of a table in memory."""
        return self.around(np.arange(len(self.source))[rows])

    def around(self, people: npt.NDArray[np.intp]) -> Floats:
        """Each column is read once, however many the centres are."""
        total = np.zeros((len(people), len(self.source)))
        for name, scale in zip(self.names, self.scales, strict=True):
            column = self.source.encoding[name]
            values = column.encode(self.source.data[name])
            for row, centre in enumerate(values[people].tolist()):
                part: Any = centre != values if column.is_category else np.abs(centre - values) / scale
                total[row] += part if self.power == 1 else part * part
        return total if self.power == 1 else np.sqrt(total, out=total)
