"""`--dask` at the command line, on real clusters of two local workers. What breaks is really broken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from equieffort.foundations import cluster, dealing
from equieffort.recourse import checkpoints

from .breaking import AUDIT, broken_off, change_after_a_part, check_told, fill, full_after, outputs, parts, run_in
from .conftest import SPEC

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals"),
    # What clusters leave open when parts of them are killed is theirs.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed"),
]
CLUSTER = """
import distributed, sys
if __name__ == "__main__":
    made = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
    print(made.scheduler_address, flush=True)
    sys.stdin.read()
"""
MOST_SECONDS = 8.0
"""Ctrl-C should take two; a busy machine may take longer, and an end that is only waited for takes ten."""


class Cluster:
    """A scheduler and two workers, in processes of their own."""

    def __init__(self, folder: Path) -> None:
        (folder / "cluster.py").write_text(CLUSTER, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, str(folder / "cluster.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, env=os.environ | {"NUMBA_NUM_THREADS": "1"}, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("tcp://")

    def kill(self) -> None:
        """The scheduler and all its workers at once, as when a machine goes."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """Of a cluster that nobody kills."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made.address
    made.kill()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return fill(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """The files of a run in one process that nothing happened to."""
    folder = fill(tmp_path_factory.mktemp("whole"))
    with pytest.MonkeyPatch.context() as patch:
        assert run_in(folder, patch) == 1
    return outputs(folder)


@pytest.fixture
def audit(call, monkeypatch):
    """The audit with more words, which reports that come of it do not show; in small parts."""
    monkeypatch.setattr(sys, "argv", ["equieffort", *AUDIT])
    monkeypatch.setattr(dealing, "FIRST", 128)
    monkeypatch.setattr(dealing, "MOST", 128)
    return lambda *words: call(*AUDIT, *words)


@pytest.fixture
def half(folder, address, audit, monkeypatch) -> Path:
    """The checkpoint of a run whose disk was full after three parts."""
    with full_after(3, monkeypatch):
        done = audit("--dask", address)
    check_told(done, folder, 3)
    return folder


def test_a_cluster_of_this_machine_writes_the_same_files(folder, whole, audit):
    assert audit("--dask", "local:2").exit_code == 1
    assert outputs(folder) == whole
    assert not (folder / "kept").exists()


def test_ctrl_c_ends_caller_and_workers_soon_and_prints_how_to_go_on(folder, whole, audit):
    """As from a keyboard: every process of the terminal gets it."""
    words = (*AUDIT, "--dask", "local:2")
    code, said, seconds = broken_off(folder, signal.SIGINT, lambda: len(parts(folder)) >= 2, words, all_of_them=True)
    assert code == 130, said
    assert "Interrupted: the run is not finished. What is finished is kept in kept." in said
    assert f"To go on: equieffort {' '.join(words)} --resume" in said
    assert "Traceback" not in said
    assert seconds < MOST_SECONDS
    assert audit("--resume").exit_code == 1
    assert outputs(folder) == whole


def test_kill_9_of_the_caller_loses_nothing_that_was_finished(folder, whole, address, audit, monkeypatch):
    words = (*AUDIT, "--dask", address)
    code, _, _ = broken_off(folder, signal.SIGKILL, lambda: len(parts(folder)) >= 3, words)
    assert code == -signal.SIGKILL
    assert outputs(folder) == {}
    done = sum(int(path.stem[18:30]) - int(path.stem[5:17]) for path in parts(folder))
    assert 0 < done < 1500
    solved = []
    monkeypatch.setattr(dealing.Dealing, "_pace", lambda self, rows, seconds: solved.append(rows))
    assert audit("--dask", address, "--resume").exit_code == 1
    assert sum(solved) == 1500 - done
    assert outputs(folder) == whole


def test_a_full_disk_keeps_what_is_finished_and_a_damaged_part_is_solved_again(half, whole, address, audit):
    content = bytearray(parts(half)[1].read_bytes())
    content[len(content) // 2] ^= 0xFF
    parts(half)[1].write_bytes(content)
    done = audit("--dask", address, "--resume")
    assert done.exit_code == 1
    assert done.stderr.count("RUN_CHECKPOINT_DAMAGED") == 1
    assert outputs(half) == whole


def test_a_checkpoint_of_another_run_is_refused_and_left_alone(half, address, audit):
    kept = [path.read_bytes() for path in parts(half)]
    table = (half / "loans.csv").read_text(encoding="utf-8")
    (half / "loans.csv").write_text(table.replace("cook", "baker", 1), encoding="utf-8")
    changed = audit("--dask", address, "--resume")
    (half / "loans.csv").write_text(table, encoding="utf-8")
    (half / "loans.yaml").write_text(SPEC.replace("upper: 90", "upper: 89"), encoding="utf-8")
    other = audit("--dask", address, "--resume")
    for done, what in ((changed, "'the data'"), (other, "'the spec'")):
        assert done.exit_code == 2
        assert "belongs to another run: by hash it differs in" in done.stderr
        assert what in done.stderr
    assert [path.read_bytes() for path in parts(half)] == kept


def test_data_that_change_while_a_cluster_works_end_the_run(folder, address, audit, monkeypatch):
    change_after_a_part(folder, monkeypatch)
    found = audit("--dask", address)
    assert found.exit_code == 3
    assert "changed while it was being audited" in found.stderr
    assert audit("--dask", address, "--resume").exit_code == 2


def test_where_the_scheduler_is_killed_this_machine_goes_on(folder, whole, audit, monkeypatch):
    doomed = Cluster(folder)
    try:
        monkeypatch.setattr(cluster, "SECONDS", 3)
        monkeypatch.setattr(dealing, "cores", lambda: 1)
        keep, kept = checkpoints.OpenCheckpoint.keep, []

        def until(self, start, part):
            keep(self, start, part)
            kept.append(start)
            if len(kept) == 2:
                doomed.kill()

        monkeypatch.setattr(checkpoints.OpenCheckpoint, "keep", until)
        done = audit("--dask", doomed.address)
    finally:
        doomed.kill()
    assert done.exit_code == 1, done.output
    assert "RUN_EXECUTOR_LOST" in done.stderr
    assert outputs(folder) == whole
