"""Real interruptions and full disks: a program that is stopped in the middle leaves nothing half written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import AuditFileError

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs POSIX signals")

# On SIGUSR1 the program writes where it is, at once, also while compiled code runs.
PROGRAM = "import faulthandler, signal; faulthandler.register(signal.SIGUSR1); from equieffort.cli import main; main()"
AUDIT = [sys.executable, "-c", PROGRAM, "audit"]
EARLIER = b"the last good one"
PATIENCE = 120.0


def big(folder: Path, rows: int, features: int) -> None:
    """Whole numbers of which a unit is as good as a unit of any other: long searches for the solver."""
    rng = np.random.default_rng(0)
    tops = rng.integers(5, 40, features)
    values = np.column_stack([rng.integers(0, top + 1, rows) for top in tops])
    table = pd.DataFrame(values, columns=[f"f{j}" for j in range(features)])
    table.insert(0, "sex", np.array(["female", "male"])[np.arange(rows) % 2])
    table["decision"] = np.where((values / tops).sum(axis=1) > 0.62 * features, "yes", "no")
    table.to_csv(folder / "big.csv", index=False)
    roles = "\n".join(f"  f{j}: {{role: actionable, max_increase: {tops[j] // 3}}}" for j in range(features))
    spec = (
        'data: {path: big.csv}\nmodel: {train: logistic}\noutcome: {column: decision, favourable: "yes"}\n'
        f"sensitive: {{column: sex, protected: female, reference: male}}\ngraph: []\nfeatures:\n{roles}\n"
    )
    (folder / "big.yaml").write_text(spec, encoding="utf-8")


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if "out" in path.name}


def earlier(folder: Path) -> dict[str, bytes]:
    """Files of an earlier run, which must not be harmed."""
    for suffix in ("audit", "html", "json", "csv", "md"):
        (folder / f"out.{suffix}").write_bytes(EARLIER)
    return outputs(folder)


class Running:
    """`equieffort audit big.yaml -o out` on one thread, watched from outside."""

    def __init__(self, folder: Path) -> None:
        self.told = folder / "told"
        with self.told.open("wb") as file:
            self.program = subprocess.Popen(
                [*AUDIT, "big.yaml", "-o", "out"],
                cwd=folder,
                env=os.environ | {"NUMBA_NUM_THREADS": "1"},
                stdout=subprocess.DEVNULL,
                stderr=file,
            )

    def says(self) -> str:
        return self.told.read_text(encoding="utf-8")

    def where(self) -> str:
        """The source lines that the program's threads are at."""
        before = len(self.says())
        self.program.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: "most recent call first" in self.says()[before:] and self.says().endswith("\n"))
        frames = [line for line in self.says()[before:].splitlines() if line.startswith("  File ")]
        places = [(frame.split('"')[1], frame.split("line ")[1].split()[0]) for frame in frames]
        # Without those between two lines, or in a file that is gone.
        known = [(Path(path), int(line)) for path, line in places if line.isdigit() and Path(path).is_file()]
        return "\n".join(path.read_text(encoding="utf-8").splitlines()[line - 1] for path, line in known)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert self.program.poll() is None, f"ended too early: {self.says()}"
            assert time.monotonic() < end, self.says()
            time.sleep(0.02)

    def interrupt(self) -> int:
        self.program.send_signal(signal.SIGINT)
        return self.program.wait(timeout=PATIENCE)


@pytest.fixture
def running(tmp_path):
    """Starts the program, and never leaves it behind."""
    started = []

    def start() -> Running:
        started.append(Running(tmp_path))
        return started[0]

    yield start
    for run in started:
        if run.program.poll() is None:
            run.program.kill()
            run.program.wait()


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------


def test_ctrl_c_inside_the_compiled_solver(folder, call, running):
    assert call("audit", "loans.yaml", "-o", "warm", "-q").exit_code == 1  # compiles, so that the program need not
    big(folder, rows=3000, features=20)
    before = earlier(folder)
    run = running()
    run.wait_for(lambda: "solving ..." in run.says())
    run.wait_for(lambda: "fill_people(" in run.where())
    assert run.interrupt() == 130
    assert "Interrupted: the run is not finished." in run.says()
    assert "equieffort audit big.yaml -o out" in run.says()
    assert "Traceback" not in run.says()
    assert outputs(folder) == before


def test_ctrl_c_while_the_report_is_made_keeps_the_audit(folder, running):
    big(folder, rows=4000, features=3)
    before = earlier(folder)
    run = running()
    run.wait_for(lambda: (folder / "out.audit").read_bytes() != EARLIER)
    assert run.interrupt() == 130
    assert "out.audit is complete" in run.says()
    assert "Interrupted: the run is not finished." in run.says()
    after = outputs(folder)
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != EARLIER} == {"out.audit"}
    assert len(ee.load(folder / "out.audit").recourse) == 4000


# -- a full disk ------------------------------------------------------------------------------------------------------


def test_a_limit_on_the_size_of_files(folder, call):
    """The system refuses to write on in the middle of the audit file, as a full disk does."""
    resource = pytest.importorskip("resource")
    assert call("audit", "loans.yaml", "-o", "warm", "-q").exit_code == 1  # what is compiled is kept in a file, too
    before = earlier(folder)
    done = subprocess.run(
        [*AUDIT, "loans.yaml", "-o", "out"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
    )
    assert done.returncode == 3, done.stderr
    assert f"'out.audit' could not be written: {os.strerror(errno.EFBIG)}." in done.stderr
    assert "Code: RUN_WRITE" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert outputs(folder) == before


@pytest.fixture
def full(monkeypatch):
    """Makes what is written aside for a file end on a device that is full."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")

    def prepare(path: Path) -> None:
        path.with_name(f".{path.name}.{os.getpid()}.partial").symlink_to("/dev/full")

    # Whether something can be written is tried with a file of the same name, which would take the link away.
    monkeypatch.setattr("equieffort.cli.common.check_writable", lambda path, **_: None)
    return prepare


@pytest.mark.parametrize("suffix", ["audit", "html", "csv", "parquet"])
def test_a_full_device(folder, call, full, suffix):
    before = earlier(folder)
    full(folder / f"out.{suffix}")
    done = call("audit", "loans.yaml", "-o", "out", "--format", "parquet")
    assert done.exit_code == 3, done.output
    assert f"'out.{suffix}' could not be written: " in done.stderr
    assert os.strerror(errno.ENOSPC) in done.stderr
    assert "How to fix it: Make room" in done.stderr
    assert "Code: RUN_WRITE" in done.stderr
    after = outputs(folder)
    assert not any("partial" in name for name in after)
    assert after.get(f"out.{suffix}") == before.get(f"out.{suffix}")
    assert (after["out.audit"] == EARLIER) == (suffix == "audit")
    assert ("out.audit is complete" in done.stderr) == (suffix != "audit")


def test_no_room_for_a_file_on_the_way(folder, call, monkeypatch):
    """Compiled code is kept in files by numba, which raises the system's own error."""

    def prepare(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("equieffort.spec.runs.prepare", prepare)
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 3
    assert "Code: RUN_WRITE" in done.stderr
    assert "fault of equieffort" not in done.stderr


def test_a_full_device_in_python(tmp_path, audited, full):
    made = ee.load(audited / "made.audit")
    target = tmp_path / "out.audit"
    target.write_bytes(EARLIER)
    full(target)
    with pytest.raises(AuditFileError, match="No space left on device") as caught:
        made.save(target)
    assert caught.value.code == "RUN_WRITE"
    assert isinstance(caught.value.__cause__, OSError)
    assert outputs(tmp_path) == {"out.audit": EARLIER}
