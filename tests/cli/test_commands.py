"""The command line as a whole: help, the demo, the paper's command, and what it loads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.cli.conftest import SPEC, loans

import equieffort as ee

COMMANDS = ["init", "audit", "check", "report", "explain", "diff", "demo", "schema", "paper"]


def test_help_lists_every_command_and_exit_code(call):
    done = call("--help")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in COMMANDS)
    for words in ("0 effort", "1 unequal", "2 bad", "3 incomplete", "4", "130 interrupted"):
        assert words in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(call, command):
    done = call(command, "--help")
    assert done.exit_code == 0
    assert "Usage" in done.stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nsys.argv = ['equieffort', 'audit', '--help']\nfrom equieffort.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = ('numpy', 'pandas', 'scipy', 'sklearn', 'numba', 'yaml', 'jinja2')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_version(call):
    assert call("--version").stdout == f"equieffort {ee.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["audti"], ["audit"], ["check"], ["demo", "french"], ["check", "x", "--rule", "a"]]
)
def test_a_wrong_call_is_bad_input(call, arguments):
    assert call(*arguments).exit_code == 2


@pytest.mark.parametrize("which", ["german", "synthetic", "adult"])
def test_the_demo_writes_its_audit_and_its_report(call, tmp_path, which, monkeypatch):
    monkeypatch.setattr(sys.modules["equieffort.cli.demo"], "ADULTS", 100)
    monkeypatch.setattr(sys.modules["equieffort.cli.demo"], "TREES", 10)
    done = call("demo", which, "-o", tmp_path / "shown")
    assert done.exit_code == 0, done.output
    made = ee.load(tmp_path / "shown.audit")
    assert str(made.verdict) in done.stdout
    page = (tmp_path / "shown.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")


def test_the_demo_looks_at_its_outputs_first(call, tmp_path):
    (tmp_path / "no").write_text("a file where the folder should be")
    done = call("demo", "-o", tmp_path / "no" / "shown")
    assert done.exit_code == 2
    assert "Code: OUTPUT" in done.stderr


def test_the_papers_command_refuses_an_unknown_preset(call, tmp_path):
    done = call("paper", "--out", tmp_path / "p", "--preset", "publishd")
    assert done.exit_code == 2
    assert "publishd" in done.stderr


def test_explain_says_of_people_who_left_that_they_did_and_why(folder, call):
    people = loans().astype({"income": "float"})
    people.loc[3, "income"], people.loc[5, "decision"] = np.nan, None
    people.to_csv(folder / "loans.csv", index=False)
    (folder / "loans.yaml").write_text(SPEC.replace("id: applicant", "id: applicant, missing: drop"), encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "out", "--quiet").exit_code in (0, 1, 4)
    for who, why in (("00003", "no value of 'income' is known"), ("00005", "no decision is recorded")):
        done = call("explain", "out.audit", "--row", who)
        assert done.exit_code == 2
        assert f"'{who}' left the audit: {why}" in done.stderr
        assert "Did you mean" not in done.stderr
    assert "00004" in call("explain", "out.audit", "--row", "00004").stdout
    assert "Nobody in" in call("explain", "out.audit", "--row", "nobody").stderr
