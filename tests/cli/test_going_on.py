"""Runs that are really broken off, and go on to the very files of one that never was."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

from equieffort.foundations import dealing

from .breaking import AUDIT, broken_off, change_after_a_part, check_told, fill, full_after, outputs, parts, run_in
from .conftest import SPEC

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return fill(tmp_path)


@pytest.fixture
def typed(call, monkeypatch):
    """Call the command line with the words that the report then shows."""

    def run(*words: str):
        monkeypatch.setattr(sys, "argv", ["equieffort", *words])
        return call(*words)

    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """The files of a run that nothing happened to; they depend on no folder."""
    folder = fill(tmp_path_factory.mktemp("whole"))
    with pytest.MonkeyPatch.context() as patch:
        assert run_in(folder, patch) == 1
    assert not (folder / "kept").exists()
    return outputs(folder)


def test_kill_9_loses_nothing_that_was_finished(folder, whole, typed, monkeypatch):
    code, _, _ = broken_off(folder, signal.SIGKILL, lambda: len(parts(folder)) >= 3)
    assert code == -signal.SIGKILL
    assert outputs(folder) == {}
    done = sum(int(path.stem[18:30]) - int(path.stem[5:17]) for path in parts(folder))
    assert 0 < done < 1500
    solved = []
    monkeypatch.setattr(dealing.Dealing, "_pace", lambda self, rows, seconds: solved.append(rows))
    assert typed(*AUDIT, "--resume").exit_code == 1
    assert sum(solved) == 1500 - done
    assert outputs(folder) == whole
    assert not (folder / "kept").exists()


def test_ctrl_c_keeps_what_is_finished_and_prints_how_to_go_on(folder, whole, typed):
    code, said, _ = broken_off(folder, signal.SIGINT, lambda: len(parts(folder)) >= 2)
    assert code == 130
    assert "Interrupted: the run is not finished. What is finished is kept in kept." in said
    assert f"To go on: equieffort {' '.join(AUDIT)} --resume" in said
    assert "Traceback" not in said
    assert typed(*AUDIT, "--resume").exit_code == 1
    assert outputs(folder) == whole


def test_ctrl_c_ends_the_processes_that_work(folder):
    words = (*AUDIT, "--jobs", "2")
    code, said, _ = broken_off(folder, signal.SIGINT, lambda: len(parts(folder)) >= 1, words)
    assert code == 130
    assert f"To go on: equieffort {' '.join(words)} --resume" in said
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> Path:
    """A folder with the checkpoint of a run that ended in the middle."""
    folder = fill(tmp_path_factory.mktemp("ended"))
    take, count = dealing.Dealing._pace, []

    def pace(self, rows, seconds):
        count.append(rows)
        if len(count) > 5:
            raise KeyboardInterrupt
        take(self, rows, seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "FIRST", 128)
        patch.setattr(dealing, "MOST", 128)
        patch.setattr(dealing.Dealing, "_pace", pace)
        assert run_in(folder, patch) == 130
    assert len(parts(folder)) == 5
    return folder


@pytest.fixture
def half(ended, tmp_path, monkeypatch) -> Path:
    """A copy of it, in which one can go on."""
    monkeypatch.setattr(dealing, "FIRST", 128)
    monkeypatch.setattr(dealing, "MOST", 128)
    folder = shutil.copytree(ended, tmp_path / "half")
    monkeypatch.chdir(folder)
    return folder


def test_a_damaged_part_is_solved_again_and_said(half, whole, typed):
    cut, turned = parts(half)[1], parts(half)[3]
    cut.write_bytes(cut.read_bytes()[:-100])
    content = bytearray(turned.read_bytes())
    content[len(content) // 2] ^= 0xFF
    turned.write_bytes(content)
    done = typed(*AUDIT, "--resume")
    assert done.exit_code == 1
    assert done.stderr.count("RUN_CHECKPOINT_DAMAGED") == 2
    assert outputs(half) == whole


def test_what_a_power_cut_left_aside_is_not_taken_for_a_part(half, whole, typed):
    parts(half)[2].rename(half / "kept" / f".{parts(half)[2].name}.77.partial")
    assert typed(*AUDIT, "--resume").exit_code == 1
    assert outputs(half) == whole
    assert not (half / "kept").exists()


@pytest.mark.parametrize("changed", ["the data", "the spec", "model"])
def test_another_run_is_refused_by_hash(half, typed, changed, monkeypatch):
    if changed == "the data":
        table = (half / "loans.csv").read_text(encoding="utf-8").replace("cook", "baker", 1)
        (half / "loans.csv").write_text(table, encoding="utf-8")
    elif changed == "the spec":
        (half / "loans.yaml").write_text(SPEC.replace("upper: 90", "upper: 89"), encoding="utf-8")
    else:
        (half / "loans.yaml").write_text(SPEC.replace("{train: logistic}", "{train: boosted}"), encoding="utf-8")
    kept = [path.read_bytes() for path in parts(half)]
    done = typed(*AUDIT, "--resume")
    assert done.exit_code == 2
    assert "belongs to another run: by hash it differs in" in done.stderr
    assert f"'{changed}'" in done.stderr
    assert [path.read_bytes() for path in parts(half)] == kept


def test_a_checkpoint_that_says_nothing_is_refused(half, typed):
    (half / "kept" / "checkpoint.json").write_text("{}", encoding="utf-8")
    done = typed(*AUDIT, "--resume")
    assert done.exit_code == 2
    assert "cannot be read" in done.stderr


def test_without_resuming_a_run_starts_anew(half, whole, typed, monkeypatch):
    solved = []
    monkeypatch.setattr(dealing.Dealing, "_pace", lambda self, rows, seconds: solved.append(rows))
    assert typed(*AUDIT).exit_code == 1
    assert sum(solved) == 1500
    assert outputs(half) == whole


def test_a_full_disk_ends_the_run_and_what_was_kept_goes_on(folder, whole, typed, monkeypatch):
    monkeypatch.setattr(dealing, "FIRST", 128)
    monkeypatch.setattr(dealing, "MOST", 128)
    with full_after(3, monkeypatch):
        done = typed(*AUDIT)
    check_told(done, folder, 3)
    assert typed(*AUDIT, "--resume").exit_code == 1
    assert outputs(folder) == whole


def test_data_that_change_meanwhile_end_the_run_and_are_not_gone_on_with(folder, typed, monkeypatch):
    change_after_a_part(folder, monkeypatch)
    found = typed(*AUDIT)
    assert found.exit_code == 3
    assert "changed while it was being audited" in found.stderr
    assert "--resume" not in found.stderr
    assert typed(*AUDIT, "--resume").exit_code == 2


def test_a_folder_that_cannot_be_is_refused_before_any_work(folder, typed, monkeypatch):
    monkeypatch.setattr(dealing.Dealing, "run", lambda *_: pytest.fail("somebody was solved"))
    (folder / "kept").write_text("a file", encoding="utf-8")
    done = typed(*AUDIT)
    assert done.exit_code == 2
    assert "is no folder" in done.stderr
    done = typed("audit", "loans.yaml", "-o", "out", "--checkpoint", "no/such/kept")
    assert done.exit_code == 2
    assert "does not exist" in done.stderr


def test_files_of_others_in_the_folder_are_left_alone(folder, typed):
    (folder / "kept").mkdir()
    (folder / "kept" / "mine.txt").write_text("mine", encoding="utf-8")
    assert typed(*AUDIT).exit_code == 1
    assert [path.name for path in (folder / "kept").iterdir()] == ["mine.txt"]


def test_a_short_run_leaves_no_trace_and_a_long_one_is_kept_beside_its_outputs(folder, typed, monkeypatch):
    from equieffort.recourse import checkpoints

    # The package shows the command by the name of its module.
    audit = sys.modules["equieffort.cli.audit"]

    made = []
    say = checkpoints.say_belongs
    monkeypatch.setattr(checkpoints, "say_belongs", lambda path, to: (made.append(path.parent), say(path, to)))
    words = ("audit", "loans.yaml", "-o", "out", "-q")
    assert typed(*words).exit_code == 1
    assert made == []
    monkeypatch.setattr(audit, "KEEP_AFTER", 0.0)
    assert typed(*words).exit_code == 1
    assert {path.name for path in made} == {"out.checkpoint"}
    assert not (folder / "out.checkpoint").exists()


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jobs", "0"), "--jobs is 0"),
        (("--jobs", "2", "--dask", "local:2"), "--jobs and --dask each say"),
        (("--dask", "here"), "names no Dask cluster"),
        (("--dask", "tcp://127.0.0.1:9"), "does not answer"),
    ],
)
def test_workers_that_cannot_be_are_refused(folder, typed, words, said, monkeypatch):
    from equieffort.foundations import cluster

    monkeypatch.setattr(cluster, "SECONDS", 1)
    done = typed("audit", "loans.yaml", "-o", "out", *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_spec_says_who_works(folder, typed):
    shutil.copy("loans.yaml", "jobs.yaml")
    with Path("jobs.yaml").open("a", encoding="utf-8") as file:
        file.write("work: {jobs: 0}\n")
    done = typed("audit", "jobs.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "line 13, column 14: work.jobs is 0" in done.stderr
