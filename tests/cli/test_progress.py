"""Progress in plain lines: few, with speed and time left."""

from __future__ import annotations

import sys

import pytest

from equieffort.cli.progress import reporter
from equieffort.foundations.progress import Lines, pace


@pytest.fixture
def lines():
    told: list[str] = []
    now = [0.0]
    return told, now, Lines(told.append, lambda: now[0])


def test_a_stage_is_announced_once(lines):
    told, _, tell = lines
    tell("reading", 0, 1)
    tell("reading", 1, 1)
    assert told == ["reading ..."]


def test_long_work_is_told_every_few_seconds(lines):
    told, now, tell = lines
    for second in range(13):
        now[0] = float(second)
        tell("solving", second * 100, 2000, f"{second} infeasible so far")
    assert told == [
        "solving ...",
        "solving: 500 of 2,000, 100 a second, 15 s left, 5 infeasible so far",
        "solving: 1,000 of 2,000, 100 a second, 10 s left, 10 infeasible so far",
    ]


def test_the_end_is_told(lines):
    told, now, tell = lines
    tell("solving", 0, 10)
    now[0] = 2.0
    tell("solving", 10, 10)
    assert told[-1] == "solving: 10 of 10, 5 a second"


def test_pace_before_anything_is_done():
    assert pace(0, 10, 3.0) == "0 of 10"


def test_quiet_says_nothing(capsys):
    with reporter(quiet=True) as tell:
        tell("solving", 1, 2, "x")
    assert capsys.readouterr().err == ""


def test_bars_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with reporter() as tell:
        tell("solving [rows]", 0, 10)
        tell("solving [rows]", 10, 10, "3 infeasible so far")
    shown = capsys.readouterr().err
    assert "solving [rows]" in shown
    assert "3 infeasible so far" in shown


def test_an_audit_tells_each_stage_as_it_begins(folder, call):
    """Saving, the report and writing take longest where there are many people: none of them works in silence."""
    done = call("audit", "loans.yaml", "-o", "out", "--alternatives", "2", "--notions")
    told = [line.removesuffix(" ...") for line in done.stderr.splitlines() if line.endswith(" ...")]
    stages = ["finding alternatives", "saving the audit", "reading notions", "making the report", "writing"]
    assert told == ["reading the data", "training the surrogate", "solving", *stages]
