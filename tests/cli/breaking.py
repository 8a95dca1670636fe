"""Runs that are really broken off: a table, a spec, and a caller who is slow enough for somebody to pull the plug."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equieffort.cli import app
from equieffort.foundations import dealing
from equieffort.recourse import checkpoints

from .conftest import SPEC, loans

# Small parts, and a moment between them.
SLOW = """
import time
from equieffort.foundations import dealing
from equieffort.recourse import checkpoints
dealing.FIRST = dealing.MOST = 64
keep = checkpoints.OpenCheckpoint.keep
def slowly(self, start, part):
    keep(self, start, part)
    time.sleep(0.4)
checkpoints.OpenCheckpoint.keep = slowly
from equieffort.cli import main
main()
"""
AUDIT = ("audit", "loans.yaml", "-o", "out", "--checkpoint", "kept")
PATIENCE = 120.0


def fill(folder: Path) -> Path:
    """A table and a spec."""
    loans(1500).to_csv(folder / "loans.csv", index=False)
    (folder / "loans.yaml").write_text(SPEC, encoding="utf-8")
    return folder


def outputs(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith("out.") and path.is_file()
    }


def parts(folder: Path) -> list[Path]:
    return sorted((folder / "kept").glob("rows-*.part"))


def run_in(folder: Path, patch: pytest.MonkeyPatch) -> int:
    """Audit in a folder; the exit code."""
    patch.chdir(folder)
    patch.setattr(sys, "argv", ["equieffort", *AUDIT])
    return CliRunner().invoke(app, AUDIT).exit_code


def broken_off(
    folder: Path, number: int, ready: Callable[[], bool], words: tuple[str, ...] = AUDIT, *, program: str = SLOW,
    all_of_them: bool = False,
) -> tuple[int, str, float]:  # fmt: skip
    """A run that gets a signal as soon as it has come so far: its exit code, what it said, and how long it took to end.

    The signal is for the caller alone or, as from a keyboard, for all processes that it started too.
    """
    told = folder / "told"
    with told.open("wb") as file:
        caller = subprocess.Popen(
            [sys.executable, "-c", program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=file,
            env=os.environ | {"NUMBA_NUM_THREADS": "1"}, start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + PATIENCE
        while not ready():
            assert caller.poll() is None, told.read_text(encoding="utf-8")
            assert time.monotonic() < end, told.read_text(encoding="utf-8")
            time.sleep(0.02)
        sent = time.monotonic()
        if all_of_them:
            os.killpg(caller.pid, number)
        else:
            caller.send_signal(number)
        code = caller.wait(timeout=PATIENCE)
        return code, told.read_text(encoding="utf-8"), time.monotonic() - sent
    finally:
        if caller.poll() is None:
            caller.kill()
            caller.wait()


@contextlib.contextmanager
def full_after(most: int, monkeypatch: pytest.MonkeyPatch):
    """The system writes no further part than so many, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    write, begun = checkpoints.write_part, []

    def short(path, part):
        begun.append(path)
        if len(begun) > most:
            resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
        try:
            write(path, part)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_part", short)
        yield


def check_told(done, folder, count: int) -> None:
    """The run ended as incomplete, said so, and kept what was finished."""
    assert done.exit_code == 3
    assert "could not be written" in done.stderr
    assert "What is finished is kept in kept. To go on: equieffort" in done.stderr
    assert len(parts(folder)) == count
    assert list((folder / "kept").glob("*.partial")) == []


def change_after_a_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person more in the table as soon as the first part is done."""
    keep, done = dealing.Dealing._pace, []

    def changing(self, rows, seconds):
        keep(self, rows, seconds)
        if not done:
            with (folder / "loans.csv").open("a", encoding="utf-8") as file:
                file.write("99999,female,40,20.5,cook,refused\n")
        done.append(rows)

    monkeypatch.setattr(dealing.Dealing, "_pace", changing)
