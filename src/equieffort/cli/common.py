"""What all commands share: exit codes, how errors are told, and outputs that are checked before any work."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from equieffort.data.regular import written_aside
from equieffort.errors import AuditFileError, EquieffortError, EquieffortWarning, ParameterError, sentence
from equieffort.words.problems import reworded, spec_text

EQUAL, UNEQUAL, BAD_INPUT, INCOMPLETE, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 4, 130
EXIT = {"equal": EQUAL, "unequal": UNEQUAL, "inconclusive": INCONCLUSIVE}
"""The exit code of each outcome of a verdict."""

BROKEN_OFF = frozenset({"RUN_CHANGED", "RUN_WRITE", "RUN_WORKERS", "RUN_MEMORY"})
"""Codes of errors that are not the input's fault: the run is incomplete."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""What the system says when nothing more can be written: a full disk, a limit on files, a quota."""

Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback when something goes wrong.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
UnsafePickle = Annotated[
    bool, typer.Option("--unsafe-load-pickle", help="Load a pickled model: it can run any program on your machine.")
]

ELSEWHERE = "Make room or choose another folder with -o, and run again."
SETTINGS = {"debug": False}
"""What the options before the command say; set anew by each call."""
KEPT: dict[str, Path] = {}
"""The folder of the checkpoint that the command keeps, if it does; set anew by each call."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Tell errors of a command in a few lines and end with the right exit code; a traceback only with --debug."""

    @wraps(command)
    def run(**options: Any) -> None:
        settings: dict[str, Any] = {
            "debug": bool(SETTINGS["debug"] or options.get("debug")),
            "quiet": bool(options.get("quiet")),
        }
        KEPT.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("always", EquieffortWarning)
            warnings.showwarning = lambda message, *_, **__: tell_warning(message, settings)
            try:
                command(**options)
            except (typer.Exit, typer.Abort):
                raise
            except (Exception, KeyboardInterrupt) as error:
                if settings["debug"]:
                    tell(traceback.format_exc())
                code, text = _explained(error)
                tell(text)
                raise typer.Exit(code) from error

    return run


def _explained(error: BaseException) -> tuple[int, str]:
    """The exit code and the words for what went wrong."""
    if isinstance(error, EquieffortError):
        broken_off = error.code in BROKEN_OFF
        hint = f"\n  {_to_go_on()}" if broken_off and error.code != "RUN_CHANGED" and _is_kept() else ""
        return INCOMPLETE if broken_off else BAD_INPUT, str(reworded(error)) + hint
    if isinstance(error, KeyboardInterrupt):
        again = _to_go_on() if _is_kept() else f"To start it again: {command_line()}"
        return INTERRUPTED, f"\nInterrupted: the run is not finished. {again}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return INCOMPLETE, str(_lost("A file that the run needs on the way", error))
    if isinstance(error, MemoryError):
        return INCOMPLETE, "Out of memory: the run is not finished. Audit fewer rows, or use a larger machine."
    return INCOMPLETE, (
        f"The run broke off: {type(error).__name__}: {sentence(error)}\n"
        "  How to fix it: This looks like a fault of equieffort; run again with --debug and report it."
    )


def _is_kept() -> bool:
    """Whether parts of the run are in a checkpoint."""
    from equieffort.data.regular import is_file

    return any(is_file(folder / "checkpoint.json") or any(folder.glob("_part-*.json")) for folder in KEPT.values())


def _to_go_on() -> str:
    folder = next(iter(KEPT.values()))
    return f"What is finished is kept in {folder}. To go on: {command_line(resume=True)}"


def tell(text: str) -> None:
    """A line for the person at the terminal, apart from the results."""
    typer.echo(text, err=True)


def as_json_text(value: Any) -> str:
    """JSON for people and programs to read."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def tell_warning(message: Warning | str, settings: dict[str, Any]) -> None:
    """A warning in one line and in the words of the spec, each once."""
    if settings.get("quiet"):
        return
    if isinstance(message, EquieffortWarning):
        text = f"{spec_text(message.what_parts)} ({message.code})"
    else:
        text = sentence(message)
    told = settings.setdefault("told", set())
    if text not in told:
        told.add(text)
        tell(f"Warning: {text}")


class Outputs:
    """Files to be written, checked before any work: nothing is in the way, no input is overwritten.

    A folder that is not there is made, unless `look` says to look only: then it is seen whether it could be.
    """

    def __init__(
        self, out: Path, suffixes: Iterable[str], *, inputs: Iterable[Path | None] = (), look: bool = False
    ) -> None:
        stem = out.with_suffix("") if out.suffix in (".audit", ".html") else out
        self.paths = {suffix: stem.with_name(stem.name + suffix) for suffix in suffixes}
        taken = {path.resolve() for path in inputs if path is not None}
        for path in self.paths.values():
            if path.resolve() in taken:
                raise ParameterError(
                    "OUTPUT",
                    f"The output {str(path)!r} would overwrite an input.",
                    fix="Give another name with -o.",
                )
            check_writable(path, make=True)
        if not look:
            make_folder(out.parent)

    def __getitem__(self, suffix: str) -> Path:
        return self.paths[suffix]

    def __contains__(self, suffix: str) -> bool:
        return suffix in self.paths


def make_folder(folder: Path) -> None:
    """Make a folder that is not there, and those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            "OUTPUT",
            f"The folder {str(folder)!r} cannot be made: {sentence(error.strerror or error)}",
            fix="Write elsewhere with -o.",
        ) from error


def check_writable(path: Path, *, make: bool = False) -> None:
    """Refuse a file that cannot be written, before anything is computed; with `make` its folder may be made later."""
    folder = path.parent
    if make:
        folder = next(one for one in (folder, *folder.parents) if one.exists())
    if folder.exists() and not folder.is_dir():
        raise ParameterError("OUTPUT", f"{str(folder)!r} is no folder.", fix="Write elsewhere with -o.")
    if not folder.is_dir():
        raise ParameterError(
            "OUTPUT", f"The folder {str(folder)!r} does not exist.", fix="Create it, or write elsewhere with -o."
        )
    if path.is_dir():
        raise ParameterError("OUTPUT", f"{str(path)!r} is a folder.", fix="Give the name of a file with -o.")
    if path.exists() and not os.access(path, os.W_OK):
        raise ParameterError("OUTPUT", f"{str(path)!r} is read-only.", fix="Give another name with -o.")
    probe = folder / f".{path.name}.{os.getpid()}.partial"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ParameterError(
            "OUTPUT",
            f"The folder {str(folder)!r} cannot be written to: {sentence(error.strerror or error)}",
            fix="Write elsewhere with -o.",
        ) from error


def check_folder(path: Path, *, make: bool = False) -> None:
    """Refuse a folder that cannot be made or written into, before anything is computed.

    With `make` the folder above it may be made later too.
    """
    if path.exists() and not path.is_dir():
        raise ParameterError("OUTPUT", f"{str(path)!r} is no folder.", fix="Give another folder with --checkpoint.")
    check_writable((path if path.is_dir() else path.parent) / f"{path.name}.probe", make=make)


def aside(path: Path) -> AbstractContextManager[Path]:
    """Where to write a file so that it appears whole or not at all."""
    return written_aside(path, ELSEWHERE, AuditFileError)


def _lost(what: str, error: OSError) -> AuditFileError:
    return AuditFileError(
        "RUN_WRITE",
        f"{what} could not be written: {sentence(error.strerror or error)}",
        fix=ELSEWHERE,
    )


def write(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    with aside(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def command_line(*, resume: bool = False) -> str:
    """The command as it was typed, for the report; a run that goes on has the same report as one that need not."""
    import shlex

    words = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["equieffort", *words, *(["--resume"] if resume else [])])
