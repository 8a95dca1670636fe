"""`equieffort monitor`: exit codes, words, and every way in which a batch or a state can be wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import SPEC, loans

from equieffort.monitor import Monitor

FILED = SPEC.replace("model: {train: logistic}", "model: {path: model.skops}")


def batch(path: Path, number: int, n: int = 120, gap: float = 6.0) -> Path:
    """Decisions of a month; the people are others each time."""
    drawn = loans(3 * n, gap).sample(n, random_state=number)
    drawn.assign(applicant=[f"{number}-{k}" for k in range(n)]).to_csv(path, index=False)
    return path


@pytest.fixture
def filed(folder) -> Path:
    """A folder whose spec names a saved model, which is much quicker than one that is trained."""
    dump = pytest.importorskip("skops.io").dump
    table = loans()
    dump(LogisticRegression().fit(table[["income", "savings"]], table["decision"]), folder / "model.skops")
    (folder / "loans.yaml").write_text(FILED, encoding="utf-8")
    return folder


@pytest.fixture
def started(filed, call) -> Path:
    """The same with a state after one batch."""
    batch(filed / "b1.csv", 1)
    done = count(call, "b1.csv", "-q", "--date", "2026-01-31")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    return filed


def count(call, name: str = "b2.csv", *options: object):
    return call("monitor", "s.monitor", "--spec", "loans.yaml", "--batch", name, *options)


def refused(done, code: int, words: str, error: str) -> None:
    assert done.exit_code == code, done.output
    assert words in " ".join(done.stderr.split())
    assert f"Code: {error}" in done.stderr
    assert "How to fix it: " in done.stderr
    assert done.stdout == ""


def test_batches_until_the_alarm_and_after_it(filed, call):
    codes, days = [], [f"2026-{month:02d}-28" for month in range(1, 13)]
    for k, day in enumerate(days):
        options = ["--tau", "1"] if k == 0 else []
        done = count(call, batch(filed / "b.csv", k), "--date", day, *options)
        codes.append(done.exit_code)
        if codes[-2:] == [1, 1]:
            break
    first = days[codes.index(1)]
    assert codes[0] == 0
    assert set(codes) == {0, 1}
    assert codes == sorted(codes)
    assert done.stdout.startswith(f"Alarm on {first}: ")
    assert f"Batch {len(codes)} 'b.csv' of {day}: 120 people, " in done.stdout
    assert "the chance that there is ever an alarm, however often somebody looks, is at most 5 %" in done.stdout
    assert "the 2 comparisons share it, and each raises an alarm at evidence 40" in done.stdout
    assert "surrogate" not in done.stdout
    looked = call("monitor", "s.monitor")
    assert looked.exit_code == 1
    assert looked.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_a_surrogate_is_named_and_another_one_refused(folder, call):
    batch(folder / "b1.csv", 1)
    done = count(call, "b1.csv")
    assert done.exit_code == 0
    found = re.search(r"This concerns the surrogate model only, which agrees with (\S+) % of the recorded", done.stdout)
    assert 90 < float(found.group(1)) <= 100
    batch(folder / "b2.csv", 2)
    assert count(call).exit_code == 0
    loans(gap=8.0).to_csv("loans.csv", index=False)
    batch(folder / "b3.csv", 3)
    refused(count(call, "b3.csv"), 2, "The model is not the one", "MONITOR_CHANGED")


def test_json_is_the_state(started, call):
    batch(started / "b2.csv", 2)
    done = count(call, "b2.csv", "--json")
    found = json.loads(done.stdout)
    state = Monitor.look("s.monitor")
    assert found["alarm"] is None
    assert (found["batches"], found["tau"], found["level"]) == (2, 1.25, 0.95)
    assert found["budget"] == state.fixed.budget
    row = found["evidence"][0]
    assert set(row) == {*state.evidence.columns}
    assert {"measure", "group", "against", "estimate", "low", "high", "least", "most", "n", "n_against"} <= set(row)
    assert row["estimate"] == state.evidence["estimate"][0]
    assert found["last"][0]["name"] == "b2.csv"


def test_what_the_first_batch_may_fix(filed, call):
    batch(filed / "b1.csv", 1)
    done = count(
        call, "b1.csv", "--tau", "1.5", "--level", "0.9", "--budget", "0.5", "--measure", "burden", "--unordered"
    )
    assert done.exit_code == 0, done.output
    fixed = Monitor.look("s.monitor").fixed
    assert (fixed.tau, fixed.level, fixed.budget, fixed.measures) == (1.5, 0.9, 0.5, ("burden",))
    assert "taken without an order" in done.stdout
    batch(filed / "b2.csv", 2)
    assert count(call, "b2.csv", "--tau", "1.5").exit_code == 0
    batch(filed / "b3.csv", 3)
    refused(count(call, "b3.csv", "--tau", "1.25"), 2, "tau is 1.25, but the first batch fixed 1.5", "MONITOR_CHANGED")
    assert count(call, "b3.csv").exit_code == 0


def test_a_picture(started, call):
    batch(started / "b2.csv", 2)
    assert count(call, "b2.csv", "--plot", "evidence.png").exit_code == 0
    assert Path("evidence.png").read_bytes().startswith(b"\x89PNG")
    assert call("monitor", "s.monitor", "--plot", "evidence.svg", "-q").exit_code == 0
    assert "<svg" in Path("evidence.svg").read_text(encoding="utf-8")
    refused(call("monitor", "s.monitor", "--plot", "evidence.csv"), 2, "is no picture by its name", "OUTPUT")


def test_small_batches_wait_and_a_missing_group_is_no_error(started, call):
    table = pd.read_csv("loans.csv", dtype={"applicant": str})
    women = table[table["sex"] == "female"].head(3).assign(applicant=["x1", "x2", "x3"])
    women.drop(columns="decision").to_csv("b2.csv", index=False)
    done = count(call)
    assert done.exit_code == 0, done.output
    assert "Batch 2 'b2.csv'" in done.stdout
    assert ": 3 people, " in done.stdout
    before, after = Monitor.look("s.monitor").batches
    assert after.readings[1].n == before.readings[1].n + 3
    assert after.readings[1].n_against == before.readings[1].n_against


# -- batches that are refused -----------------------------------------------------------------------------------------


def changed(**columns):
    return lambda table: table.assign(**columns)


@pytest.mark.parametrize(
    ("spoil", "words", "code"),
    [
        (lambda table: table.drop(columns="income"), "The batch has no column 'income'", "DATA_MISSING_COLUMN"),
        (lambda table: table.drop(columns="sex"), "The batch has no column 'sex'", "DATA_MISSING_COLUMN"),
        (lambda table: table.drop(columns="applicant"), "'applicant'", "DATA_MISSING_COLUMN"),
        (lambda table: table.head(0), "has a header but no rows", "DATA_EMPTY"),
        (changed(sex="women"), "120 people of the batch belong to 'women'", "SCHEMA_GROUPS"),
        (changed(income=""), "'income' has 120 missing values", "DATA_MISSING_VALUES"),
        (changed(income="much"), "'income'", "DATA_NOT_NUMERIC"),
        (changed(job="baker"), "'baker'", "DATA_UNSEEN_CATEGORY"),
        (changed(applicant="same"), "same", "DATA_DUPLICATE_INDEX"),
    ],
)
def test_batches_that_are_refused(started, call, spoil, words, code):
    before = Path("s.monitor").read_bytes()
    table = pd.read_csv(batch(started / "b2.csv", 2), dtype={"applicant": str})
    spoil(table).to_csv("b2.csv", index=False)
    refused(count(call), 2, words, code)
    assert Path("s.monitor").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "DATA_EMPTY"), (b"\xff\xfe\x00", "DATA_ENCODING"), (b"PAR1", "DATA_FILE"), (b"a,b\n1\n", "DATA_RAGGED")],
)
def test_files_that_hold_no_batch(started, call, content, code):
    Path("b2.csv").write_bytes(content)
    refused(count(call), 2, "'b2.csv'", code)
    refused(count(call, "absent.csv"), 2, "absent.csv", "DATA_FILE")
    refused(count(call, "b2.xlsx"), 2, "neither CSV nor Parquet", "DATA_FILE")


def test_a_batch_that_was_counted(started, call):
    before = Path("s.monitor").read_bytes()
    refused(count(call, "b1.csv"), 2, "counted already, as batch 1 ('b1.csv') on 2026-01-31", "MONITOR_BATCH")
    pd.read_csv("b1.csv", dtype={"applicant": str}).iloc[::-1].to_csv("other.csv", index=False)
    refused(count(call, "other.csv"), 2, "counted already, as batch 1", "MONITOR_BATCH")
    assert Path("s.monitor").read_bytes() == before


# -- what must not change ---------------------------------------------------------------------------------------------


def test_another_model(started, call):
    from skops.io import dump

    batch(started / "b2.csv", 2)
    kept, table = Path("model.skops").read_bytes(), loans()
    other = LogisticRegression(C=0.5).fit(table[["income", "savings"]], table["decision"])
    dump(other, started / "model.skops")
    before = Path("s.monitor").read_bytes()
    refused(count(call), 2, "The model is not the one that the first batch fixed.", "MONITOR_CHANGED")
    assert Path("s.monitor").read_bytes() == before
    Path("elsewhere.skops").write_bytes(kept)
    (started / "loans.yaml").write_text(FILED.replace("model.skops", "elsewhere.skops"), encoding="utf-8")
    assert count(call).exit_code == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("max_increase: 20", "max_increase: 25", "The rules"),
        ("tau: 1.25", "tau: 1.5", "The rules"),
        ("protected: female, reference: male", "protected: male, reference: female", "The rules"),
        ("criteria:", "cost: {scale: std}\ncriteria:", "The scales of the cost"),
        ("favourable: approved", "favourable: refused", "The rules"),
    ],
)
def test_another_spec(started, call, old, new, words):
    batch(started / "b2.csv", 2)
    assert old in FILED
    (started / "loans.yaml").write_text(FILED.replace(old, new), encoding="utf-8")
    refused(count(call), 2, words, "MONITOR_CHANGED")


def test_comments_layout_and_what_a_monitor_does_not_use_may_change(started, call):
    batch(started / "b2.csv", 2)
    text = re.sub(r"title: .*", "# nothing\ntitle:   Another", FILED).replace("job = 'smith'", "income < 30")
    (started / "loans.yaml").write_text(text + "report: {suppress_below: 3}\n", encoding="utf-8")
    assert count(call).exit_code == 0


def test_other_reference_data(started, call):
    batch(started / "b2.csv", 2)
    table = loans()
    table.loc[0, "income"] = 300
    table.to_csv("loans.csv", index=False)
    refused(count(call), 2, "that the first batch fixed", "MONITOR_CHANGED")


# -- the state --------------------------------------------------------------------------------------------------------


def test_a_state_that_is_damaged(started, call):
    batch(started / "b2.csv", 2)
    good = Path("s.monitor").read_bytes()
    for raw, words in (
        (good[:5000], "is no complete state of a monitor"),
        (good.replace(b'"tau": 1.25', b'"tau": 9.25'), "its checksum does not fit"),
        (good.replace(b'"version": 3', b'"version": 7'), "has state version 7; this equieffort reads version 3"),
        (b"", "is no complete state of a monitor"),
    ):
        Path("s.monitor").write_bytes(raw)
        refused(count(call), 2, words, "MONITOR_STATE")
        refused(call("monitor", "s.monitor"), 2, words, "MONITOR_STATE")
        assert Path("s.monitor").read_bytes() == raw


def test_a_state_that_cannot_be(filed, call):
    batch(filed / "b1.csv", 1)
    for state, words in (
        ("no/s.monitor", "does not exist"),
        (".", "is a folder"),
        ("b1.csv", "would overwrite an input"),
    ):
        done = call("monitor", state, "--spec", "loans.yaml", "--batch", "b1.csv")
        refused(done, 2, words, "OUTPUT")
    refused(call("monitor", "absent"), 2, "cannot be read", "MONITOR_STATE")
    refused(call("monitor", "s", "--batch", "b1.csv"), 2, "--spec is missing", "PARAMETER")
    refused(call("monitor", "s", "--spec", "loans.yaml"), 2, "--batch is missing", "PARAMETER")
    refused(call("monitor", "s", "--tau", "1"), 2, "--tau is about a batch", "PARAMETER")
    refused(count(call, "b1.csv", "--date", "soon"), 2, "date is the text 'soon'", "PARAMETER")
    refused(count(call, "b1.csv", "--tau", "0.5"), 2, "tau is 0.5", "PARAMETER")
    assert call("monitor", "s", "--measure", "acr").exit_code == 2
    assert not Path("s.monitor").exists()


def test_a_full_disk(started, call, monkeypatch):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    batch(started / "b2.csv", 2)
    before = Path("s.monitor").read_bytes()
    # Whether something can be written is tried with a file of the same name, which would take the link away.
    monkeypatch.setattr(sys.modules["equieffort.cli.monitor"], "check_writable", lambda path: None)
    Path(f".s.monitor.{os.getpid()}.partial").symlink_to("/dev/full")
    refused(count(call), 3, "'s.monitor' could not be written: No space left on device", "RUN_WRITE")
    assert Path("s.monitor").read_bytes() == before
    assert count(call).exit_code == 0


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_keeps_the_state_and_the_batch_can_be_counted_again(started, call):
    before = Path("s.monitor").read_bytes()
    batch(started / "b2.csv", 2)
    # The reading waits in the middle of the solving, so that the signal surely comes there.
    program = (
        "import time, equieffort.monitor.monitor as room\n"
        "def solve(*_, **__):\n    open('waits', 'w').close(); time.sleep(120)\n"
        "room.solve = solve\n"
        "from equieffort.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "monitor", "s.monitor", "--spec", "loans.yaml", "--batch", "b2.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        end = time.monotonic() + 100
        while not Path("waits").exists():
            assert running.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=600)
    assert running.returncode == 130
    assert "Interrupted: the run is not finished." in said[1]
    assert "equieffort monitor s.monitor --spec loans.yaml --batch b2.csv" in said[1]
    assert "Traceback" not in said[1]
    assert said[0] == ""
    assert Path("s.monitor").read_bytes() == before
    assert not [path.name for path in started.iterdir() if "partial" in path.name]
    assert count(call).exit_code == 0


def test_the_order_of_rows_is_the_order_of_arrival(filed, call):
    """Sorted by group, nearly everybody waits in one block; without an order it does not matter at all."""
    table = pd.read_csv(batch(filed / "b1.csv", 1), dtype={"applicant": str})
    table.sort_values("sex").to_csv("sorted.csv", index=False)
    found = {}
    for name in ("b1.csv", "sorted.csv"):
        for options in ([], ["--unordered"]):
            state = f"{name}{len(options)}"
            assert call("monitor", state, "--spec", "loans.yaml", "--batch", name, *options).exit_code == 0
            found[name, len(options)] = Monitor.look(state).evidence["log_e"].to_numpy()
    assert np.allclose(found["b1.csv", 1], found["sorted.csv", 1])
    assert not np.allclose(found["b1.csv", 0], found["sorted.csv", 0])


def test_level_and_budget_may_stand_in_the_spec(filed, call):
    (filed / "loans.yaml").write_text(FILED.replace("tau: 1.25", "tau: 1.5, level: 0.9, budget: 0.4"), encoding="utf-8")
    assert count(call, batch(filed / "b1.csv", 1)).exit_code == 0
    fixed = Monitor.look("s.monitor").fixed
    assert (fixed.tau, fixed.level, fixed.budget) == (1.5, 0.9, 0.4)
    assert count(call, batch(filed / "b2.csv", 2)).exit_code == 0
