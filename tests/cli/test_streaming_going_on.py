"""Streamed audits that are really broken off, in processes of their own: parts and outputs are those of a whole run.

Nothing here knows how people are dealt out: only that parts are files which appear one after the other.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from equieffort.models.files.skops_writer import skops_bytes

from .breaking import PATIENCE, broken_off
from .conftest import SPEC, loans

pytest.importorskip("pyarrow")
pytest.importorskip("skops")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs POSIX signals and /proc")

STREAMED = SPEC.replace("{path: loans.csv, id: applicant}", "people").replace("{train: logistic}", "model.skops")
AUDIT = ("audit", "streamed.yaml", "-o", "out", "--memory", "2GiB")
PEOPLE, GROUP = 1200, 60
# A moment after each part that appears; with a number in DISK, files can be no larger after so many parts.
SLOW = """
import os, time
replace, seen = os.replace, []
def slowly(source, target):
    replace(source, target)
    if os.path.basename(target).startswith("part-"):
        seen.append(target)
        time.sleep(0.2)
        if str(len(seen)) == os.environ.get("DISK"):
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
os.replace = slowly
from equieffort.cli import main
main()
"""
PLAIN = "from equieffort.cli import main\nmain()\n"


def fill(folder: Path) -> Path:
    """Two Parquet files of many row groups, a saved model, a spec."""
    from sklearn.linear_model import LogisticRegression

    table = loans(PEOPLE).drop(columns="applicant")
    model = LogisticRegression(max_iter=1000).fit(table[["income", "savings"]], table["decision"])
    (folder / "model.skops").write_bytes(skops_bytes(model)[0])
    (folder / "people").mkdir()
    for k in range(2):
        half = table.iloc[k * PEOPLE // 2 : (k + 1) * PEOPLE // 2]
        half.to_parquet(folder / "people" / f"{k}.parquet", row_group_size=GROUP, index=False)
    (folder / "streamed.yaml").write_text(STREAMED, encoding="utf-8")
    return folder


def run(folder: Path, *more: str, program: str = PLAIN, disk: str = "") -> tuple[int, str]:
    """A process of its own: its exit code, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", program, *AUDIT, *more], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"NUMBA_NUM_THREADS": "1", "DISK": disk}, timeout=PATIENCE,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def parts(folder: Path) -> dict[str, bytes]:
    """The parts as they are, and whatever else is in their folder."""
    return {path.name: path.read_bytes() for path in sorted((folder / "out.parts").glob("*")) if path.is_file()}


def finished(folder: Path) -> list[Path]:
    return sorted((folder / "out.parts").glob("part-*.parquet"))


def measures(folder: Path) -> bytes:
    return (folder / "out.measures.csv").read_bytes()


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    return fill(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def whole(world, tmp_path_factory) -> Path:
    """A run that nothing happens to."""
    folder = shutil.copytree(world, tmp_path_factory.mktemp("whole") / "whole", copy_function=shutil.copy2)
    code, said = run(folder)
    assert code == 1, said
    assert sum(len(pd.read_parquet(path)) for path in finished(folder)) == PEOPLE
    return folder


@pytest.fixture
def folder(world, tmp_path) -> Path:
    """The same people in files of the same age."""
    return shutil.copytree(world, tmp_path / "run", copy_function=shutil.copy2)


@pytest.fixture(scope="module")
def broken(world, tmp_path_factory) -> Path:
    """A run that was killed in the middle."""
    folder = shutil.copytree(world, tmp_path_factory.mktemp("broken") / "run", copy_function=shutil.copy2)
    code, said, _ = broken_off(
        folder, signal.SIGKILL, lambda: len(finished(folder)) >= 3, AUDIT, program=SLOW, all_of_them=True
    )
    assert code == -signal.SIGKILL, said
    assert 3 <= len(finished(folder)) < PEOPLE // GROUP
    assert not (folder / "out.json").exists()
    return folder


@pytest.fixture
def killed(broken, tmp_path) -> Path:
    """A copy of it, in which one can go on."""
    return shutil.copytree(broken, tmp_path / "run", copy_function=shutil.copy2)


def test_kill_9_loses_no_part_and_the_parts_are_those_of_a_whole_run(killed, whole):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in finished(killed)[:2]}
    code, said = run(killed, "--resume")
    assert code == 1, said
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    assert parts(killed) == parts(whole)
    assert measures(killed) == measures(whole)


def test_people_who_changed_before_going_on_are_refused(killed):
    last = killed / "people" / "1.parquet"
    table = pd.read_parquet(last)
    table.loc[table.index[-1], "income"] += 1
    table.to_parquet(last, row_group_size=GROUP, index=False)
    before = parts(killed)
    code, said = run(killed, "--resume")
    assert code == 2, said
    assert "belongs to another run: by hash it differs in" in said
    assert parts(killed) == before


def test_a_full_disk_keeps_the_parts_there_are_and_room_lets_it_go_on(folder, whole):
    code, said = run(folder, program=SLOW, disk="3")
    assert code == 3, said
    assert "could not be written" in said
    assert "To go on: equieffort" in said
    assert not [name for name in parts(folder) if name.endswith(".partial")]
    assert 0 < len(finished(folder)) < PEOPLE // GROUP
    code, said = run(folder, "--resume")
    assert code == 1, said
    assert parts(folder) == parts(whole)
    assert measures(folder) == measures(whole)


def workers_of(caller: int) -> list[int]:
    """Processes that it started to work: theirs is a line of loky's."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            line = (path / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == caller and b"loky" in line and b"resource_tracker" not in line:
            found.append(int(path.name))
    return found


def test_a_worker_that_is_killed_is_replaced_and_nobody_is_lost(folder, whole):
    """Killed as soon as it is there, while it is being given its work."""
    caller = subprocess.Popen(
        [sys.executable, "-c", PLAIN, *AUDIT, "--jobs", "2"], cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, env=os.environ | {"NUMBA_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        end = time.monotonic() + PATIENCE
        while not (workers := workers_of(caller.pid)):
            assert caller.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        os.kill(workers[0], signal.SIGKILL)
        _, said = caller.communicate(timeout=PATIENCE)
    finally:
        if caller.poll() is None:
            caller.kill()
            caller.wait()
    assert caller.returncode == 1, said
    assert "RUN_WORKER_DIED" in said
    assert "Traceback" not in said
    assert parts(folder) == parts(whole)
    assert measures(folder) == measures(whole)
