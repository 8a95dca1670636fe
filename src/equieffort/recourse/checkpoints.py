"""Checkpoint: finished parts of a run kept in a folder, so that one that is broken off can go on.

Each part is written aside and renamed, so that it is there whole or not at all. The folder says what it belongs to, by
hash: only the same people, asked the same of the same model by the same versions, go on from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import cloudpickle
import joblib
import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.archive import Archive, write_archive
from equieffort.data.regular import settle, written_aside
from equieffort.errors import ParameterError, RunError, listed, many, sentence, warn
from equieffort.foundations.arguments import check_flag, check_path
from equieffort.foundations.dealing import Span
from equieffort.foundations.saved import as_data, other_version, read_json
from equieffort.foundations.version import __version__
from equieffort.models.classifiers.decision import AtOnce
from equieffort.recourse.parts import SolvedPart, SolveJob
from equieffort.recourse.status import Infeasibility, Status, Termination
from equieffort.recourse.table import STORED

FORMAT, VERSION = "equieffort-checkpoint", 1
NAME = "checkpoint.json"
DIGEST = hashlib.sha256().digest_size
PART = re.compile(r"rows-(\d{12})-(\d{12})\.part")
KINDS = {
    "status": "i1", "cost": "f8", "bound": "f8", "intervention_mask": "b1", "delta": "f8", "level": "i2",
    "vanishing": "b1", "outside": "b1",
}  # fmt: skip
OTHER_HASH = "its content is not that whose hash it gives"
ROOM = "Make room, or choose another folder for the checkpoint, and go on from there."
OTHER = "Go on with what the run began with, or start anew without resuming."


@dataclass(frozen=True)
class Checkpoint:
    """Keep finished parts of a run in a folder.

    With `resume` the run goes on from what is there, if it belongs to the same people, model and question; without, it
    starts anew and what is there is removed. Nothing is written before the run has taken `after` seconds.
    """

    folder: str | os.PathLike[str]
    resume: bool = False
    after: float = 0.0
    about: Mapping[str, str] = field(default_factory=dict)
    """What else it belongs to: hashes by name."""

    def __post_init__(self) -> None:
        check_path("folder", self.folder, "the path of a folder")
        check_flag("resume", self.resume)

    def open(self, job: SolveJob, people: pd.DataFrame) -> OpenCheckpoint:
        """The folder, looked at and made ready; refused where it belongs to another run, or cannot be written to."""
        return OpenCheckpoint.of(self, {**identity(job, people), **self.about})

    def remove(self) -> None:
        """What was kept is not needed any more; files of others are left alone."""
        folder = Path(self.folder)
        with suppress(OSError):
            for path in folder.iterdir():
                if PART.fullmatch(path.name) or path.name == NAME or path.name.endswith(".partial"):
                    path.unlink(missing_ok=True)
            folder.rmdir()


def identity(job: SolveJob, people: pd.DataFrame) -> dict[str, str]:
    """What a run belongs to, by hash: the people, the model, the question, the solver and the versions."""
    problem = job.problem
    # How many rows the model is asked about at once is the machine's affair.
    question: Any = replace(problem, decision=replace(problem.decision, classifier=None, at_once=AtOnce()))
    # What of the model can be read follows from the model.
    question = replace(question, view=None)
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "highspy")}
    return {
        "people": hashlib.sha256(problem.encoding.encode(people).tobytes()).hexdigest(),
        "model": _hash(problem.decision.classifier),
        "question": _hash(question),
        "solver": repr(job.solver),
        "versions": " ".join(f"{name} {number}" for name, number in {"equieffort": __version__, **libraries}.items()),
    }


def _hash(value: Any) -> str:
    """Of a value by what it holds; functions without a name of their own by their code."""
    try:
        return str(joblib.hash(value, hash_name="sha1"))
    except Exception:
        return hashlib.sha256(cloudpickle.dumps(value)).hexdigest()


@dataclass(eq=False)
class OpenCheckpoint:
    """A checkpoint in use."""

    folder: Path
    belongs: Mapping[str, str]
    after: float
    began: float = field(default_factory=monotonic)
    waiting: list[tuple[int, SolvedPart]] = field(default_factory=list)
    """Parts of a run that is still so short that nothing is written."""

    @classmethod
    def of(cls, asked: Checkpoint, belongs: Mapping[str, str]) -> OpenCheckpoint:
        """The folder as it was asked for."""
        folder = Path(asked.folder)
        found = cls(folder, belongs, asked.after)
        if (folder / NAME).exists():
            if asked.resume:
                check_belongs(folder / NAME, belongs)
            else:
                asked.remove()
        return found

    def restore(self, n: int, put: Callable[[int, SolvedPart], None]) -> list[Span]:
        """Hand over every part that is kept, and return the rows that are not."""
        left, end = [], 0
        for start, stop, path in self._kept():
            if start < end or stop > n:
                continue
            try:
                part = read_part(path, stop - start)
            except Exception as error:
                # Damage can show as anything: zip, JSON and numpy each have errors of their own.
                warn_of_damage(path, error, stop - start)
                with suppress(OSError):
                    path.unlink()
                continue
            left.append((end, start))
            put(start, part)
            end = stop
        return [*left, (end, n)]

    def _kept(self) -> list[tuple[int, int, Path]]:
        with suppress(OSError):
            found = [(PART.fullmatch(path.name), path) for path in self.folder.iterdir()]
            return sorted((int(name[1]), int(name[2]), path) for name, path in found if name is not None)
        return []

    def keep(self, start: int, part: SolvedPart) -> None:
        """Write a finished part, once the run has taken as long as was asked for."""
        self.waiting.append((start, part))
        if monotonic() - self.began < self.after:
            return
        say_belongs(self.folder / NAME, self.belongs)
        for at, one in self.waiting:
            path = self.folder / f"rows-{at:012}-{at + len(one):012}.part"
            with written_aside(path, ROOM, RunError) as partial:
                write_part(partial, one)
        self.waiting.clear()


# -- whose they are ----------------------------------------------------------------------------------------------------


def say_belongs(path: Path, belongs: Mapping[str, str]) -> None:
    """Say, once, what a folder belongs to."""
    if path.exists():
        return
    text = {"format": FORMAT, "version": VERSION, "belongs": dict(belongs)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            "RUN_WRITE",
            f"The folder {str(path.parent)!r} cannot be made: {sentence(error.strerror or error)}",
            fix=ROOM,
        ) from error
    with written_aside(path, ROOM, RunError) as partial:
        partial.write_text(json.dumps(text, indent=1), encoding="utf-8")
        settle(partial)


def check_belongs(path: Path, belongs: Mapping[str, str]) -> None:
    """Refuse the folder of another run."""
    try:
        said = read_json(path.read_bytes())
        if (other := other_version(said, FORMAT, VERSION)) is not None:
            raise ValueError(f"it has version {other}, and {VERSION} is read")
        kept = said["belongs"]
        differs = sorted(name for name in kept.keys() | belongs.keys() if kept.get(name) != belongs.get(name))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ParameterError(
            "RUN_CHECKPOINT", f"The checkpoint {str(path)!r} cannot be read: {sentence(error)}", fix=OTHER
        ) from error
    if differs:
        raise ParameterError(
            "RUN_CHECKPOINT",
            f"The checkpoint in {str(path.parent)!r} belongs to another run: by hash it differs in {listed(differs)}.",
            fix=OTHER,
        )


def warn_of_damage(path: Path, error: Exception, people: int) -> None:
    """A finished part is not what was written: nothing is believed of it."""
    warn(
        "RUN_CHECKPOINT_DAMAGED",
        f"The part {path.name!r} of the checkpoint is damaged ({sentence(error).rstrip('.')}): "
        f"{many(people, 'person is', 'people are')} solved again.",
        fix="Nothing need be done. If it comes again, look after the disk.",
        keep=False,
    )


# -- files of parts ----------------------------------------------------------------------------------------------------


def write_part(path: Path, part: SolvedPart) -> None:
    """A part as a zip of arrays and facts."""
    facts = {
        "notes": {row: as_data(note) for row, note in part.notes.items()},
        "ceilings": {row: None if np.isinf(most) else float(most) for row, most in part.ceilings.items()},
        "reasons": {row: as_data(fact) for row, fact in part.reasons.items()},
    }
    arrays = {f"{name}.npy": getattr(part, name) for name in (*STORED, "outside")}
    # Parts are gone when the run is done: packing them would take longer than writing them.
    write_archive(path, {"facts.json": json.dumps(facts).encode(errors="surrogatepass")} | arrays, packed=False)
    # A zip checks what its members hold, and not all that stands around them.
    path.write_bytes(sealed(path.read_bytes()))
    settle(path)


def read_part(path: Path, n: int) -> SolvedPart:
    """A part that was written; raises whatever shows that it is damaged."""
    body = unsealed(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(body)) as file:
        archive = Archive(file, len(body))
        facts = read_json(archive.read("facts.json"))
        arrays = {name: archive.array(f"{name}.npy") for name in KINDS}
    for name, kind in KINDS.items():
        if arrays[name].dtype != np.dtype(kind) or len(arrays[name]) != n:
            raise ValueError(f"{name} does not hold {n} values of type {kind}")
    if not np.isin(arrays["status"], list(Status)).all():
        raise ValueError("a status is none of those there are")
    return SolvedPart(
        **_named(arrays),
        notes={int(row): Termination.from_dict(fact) for row, fact in facts["notes"].items()},
        ceilings={int(row): np.inf if most is None else most for row, most in facts["ceilings"].items()},
        reasons={int(row): Infeasibility.from_dict(fact) for row, fact in facts["reasons"].items()},
    )


def sealed(body: bytes) -> bytes:
    """With its hash in front."""
    return hashlib.sha256(body).digest() + body


def unsealed(content: bytes) -> bytes:
    """What was sealed; raises where a byte differs."""
    digest, body = content[:DIGEST], content[DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError(OTHER_HASH)
    return body


def _named(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    return dict(arrays)
