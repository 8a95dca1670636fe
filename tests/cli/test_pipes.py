"""Readers that go away: the work is finished, files are written, and the exit code is that of the work.

The streams are real: pipes whose reading end is closed, terminals that are gone, a device that is always full.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import SPEC, loans

from equieffort.cli.common import BAD_INPUT, EQUAL, INCOMPLETE, UNEQUAL

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the devices of Linux")

MAIN = "from equieffort.cli import main; main()"
# One process runs all commands, each with streams of its own, as `main` finds them in a process of its own.
DRIVER = """
import json, os, sys
from equieffort.cli import main

def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return writing

def western():
    return os.open("western.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

def closed_terminal():
    ours, theirs = os.openpty()
    os.close(ours)
    return theirs

KINDS = {
    "gone": closed_pipe,
    "terminal": closed_terminal,
    "full": lambda: os.open("/dev/full", os.O_WRONLY),
    "western": western,
    "kept": lambda: os.open("kept.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
}
codes = []
for arguments, out, err in json.load(open("cases.json")):
    for number, kind in ((1, out), (2, err)):
        made = KINDS[kind]()
        os.dup2(made, number)
        os.close(made)
    sys.argv = ["equieffort", *arguments]
    sys.stdout = os.fdopen(1, "w", encoding="latin-1" if out == "western" else None, closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    try:
        main()
    except SystemExit as end:
        codes.append(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.stdout = sys.stderr = None
json.dump(codes, open("codes.json", "w"))
"""

EQUAL_BY_FAR = ["--tau", "100", "--epsilon", "1"]
FIGURE = "fig-ratio-cost-german-credit"
CASES: dict[str, tuple[list[str], int, list[str]]] = {
    "init": (["init", "loans.csv", "-o", "new.yaml", "--force"], EQUAL, ["new.yaml"]),
    "audit": (["audit", "equal.yaml", "-o", "even"], EQUAL, ["even.audit", "even.html", "even.json", "even.csv"]),
    "audit --json": (["audit", "equal.yaml", "-o", "json", "--json"], EQUAL, ["json.audit", "json.html"]),
    "audit --dry-run": (["audit", "loans.yaml", "-o", "dry", "--dry-run"], EQUAL, []),
    "letters": (["audit", "letters.yaml", "-o", "west"], EQUAL, []),
    "unequal audit": (["audit", "loans.yaml", "-o", "odd"], UNEQUAL, ["odd.audit", "odd.html", "odd.json", "odd.csv"]),
    "bad audit": (["audit", "none.yaml", "-o", "none"], BAD_INPUT, []),
    "check": (["check", "odd.audit", *EQUAL_BY_FAR], EQUAL, []),
    "unequal check": (["check", "odd.audit", "--format", "sarif"], UNEQUAL, []),
    "report": (["report", "odd.audit", "-o", "page.html"], EQUAL, ["page.html"]),
    "explain": (["explain", "odd.audit", "--row", "00002"], EQUAL, []),
    "diff": (["diff", "odd.audit", "odd.audit"], EQUAL, []),
    "demo": (["demo", "synthetic", "-o", "shown"], EQUAL, ["shown.audit", "shown.html"]),
    "paper": (["paper", "--out", "figures", "--figure", FIGURE], EQUAL, ["figures/comparison.csv"]),
    "schema": (["schema"], EQUAL, []),
    "--help": (["--help"], EQUAL, []),
    "audit --help": (["audit", "--help"], EQUAL, []),
    "--version": (["--version"], EQUAL, []),
    "no command": ([], BAD_INPUT, []),
}
LONG = {"demo", "paper", "letters"}


def table(folder: Path) -> None:
    loans().to_csv(folder / "loans.csv", index=False)
    loans().replace({"sex": {"female": "žena"}}).to_csv(folder / "letters.csv", index=False)
    (folder / "loans.yaml").write_text(SPEC, encoding="utf-8")
    far = SPEC.replace("tau: 1.25, epsilon: 0.05", "tau: 100, epsilon: 1")
    (folder / "equal.yaml").write_text(far, encoding="utf-8")
    other = far.replace("protected: female", 'protected: "žena"').replace("loans.csv", "letters.csv")
    (folder / "letters.yaml").write_text(other, encoding="utf-8")


class Ran:
    """The codes with which the cases ended, and the files they left."""

    def __init__(self, folder: Path, cases: list[tuple[str, str, str]]) -> None:
        self.folder = folder
        table(folder)
        called = [(CASES[name][0], out, err) for name, out, err in cases]
        (folder / "cases.json").write_text(json.dumps(called), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", DRIVER], cwd=folder, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0
        codes = json.loads((folder / "codes.json").read_text(encoding="utf-8"))
        self.codes = dict(zip(cases, codes, strict=True))


@pytest.fixture(scope="module")
def gone(tmp_path_factory) -> Ran:
    return Ran(tmp_path_factory.mktemp("gone"), [(name, "gone", "gone") for name in CASES if name != "letters"])


@pytest.fixture(scope="module")
def others(tmp_path_factory) -> Ran:
    cases = [("unequal audit", "kept", "kept")]
    cases += [(name, "full", "kept") for name in CASES if name not in LONG]
    cases += [(name, "kept", "full") for name in ("unequal audit", "audit", "check", "bad audit")]
    cases += [("letters", "western", "kept")]
    cases += [("audit", "gone", "kept"), ("audit", "kept", "gone"), ("audit", "terminal", "terminal")]
    return Ran(tmp_path_factory.mktemp("others"), cases)


@pytest.mark.parametrize("name", [name for name in CASES if name != "letters"])
def test_readers_that_go_away_change_neither_code_nor_files(gone, name):
    _, code, files = CASES[name]
    assert gone.codes[name, "gone", "gone"] == code
    assert [file for file in files if not (gone.folder / file).stat().st_size] == []


@pytest.mark.parametrize("name", [name for name in CASES if name not in LONG])
def test_what_is_printed_onto_a_full_disk_is_lost_and_the_run_incomplete(others, name):
    _, code, files = CASES[name]
    prints = name not in ("bad audit", "no command")
    assert others.codes[name, "full", "kept"] == (INCOMPLETE if prints else code)
    assert [file for file in files if not (others.folder / file).stat().st_size] == []


def test_lost_messages_do_not_change_the_code(others):
    for name in ("unequal audit", "audit", "check", "bad audit"):
        assert others.codes[name, "kept", "full"] == CASES[name][1]


@pytest.mark.parametrize("streams", [("gone", "kept"), ("kept", "gone"), ("terminal", "terminal")])
def test_each_stream_for_itself(others, streams):
    assert others.codes["audit", *streams] == EQUAL


def shell(folder: Path, line: str) -> list[str]:
    """What bash prints after running a line in which `EE` is the program."""
    command = f'EE() {{ "{sys.executable}" -c "{MAIN}" "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_the_issues_own_lines_in_a_shell(tmp_path):
    table(tmp_path)
    said = shell(tmp_path, 'EE audit equal.yaml -o x 2>&1 | head -1; echo "${PIPESTATUS[0]}"')
    assert said == ["reading the data ...", "0"]
    assert {path.suffix for path in tmp_path.glob("x.*")} == {".audit", ".html", ".json", ".csv", ".md", ".skops"}
    assert shell(tmp_path, "set -o pipefail; EE check x.audit --tau 1 --epsilon 0.05 | true; echo $?") == ["1"]


def test_closed_streams_are_not_taken_by_files(tmp_path):
    """With 1 and 2 closed the first files opened would get these numbers, and whatever is printed."""
    table(tmp_path)
    assert shell(tmp_path, 'EE audit equal.yaml -o x >&- 2>&-; code=$?; echo "$code"') == ["0"]
    assert (tmp_path / "x.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_pipe_that_does_not_wait_gets_everything(tmp_path):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    program = subprocess.Popen([sys.executable, "-c", MAIN, "schema"], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        said = file.read()
    assert program.communicate()[1] == b""
    assert program.returncode == 0
    assert json.loads(said)["type"] == "object"


def test_what_a_stream_cannot_show_does_not_end_the_run(others):
    assert others.codes["letters", "western", "kept"] == EQUAL
    assert b"\\u017eena" in (others.folder / "western.txt").read_bytes()
