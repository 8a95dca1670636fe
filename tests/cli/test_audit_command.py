"""`equieffort audit`: exit codes, files, and nothing lost or half done when something goes wrong."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import CODES

COMMAND = [sys.executable, "-c", "from equieffort.cli import main; main()"]
ALL = {"out.audit", "out.html", "out.json", "out.csv", "out.measures.csv", "out.md", "out.surrogate.skops"}


def fresh(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"loans.csv", "loans.yaml"}


def edit(folder: Path, old: str, new: str) -> None:
    text = (folder / "loans.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "loans.yaml").write_text(text.replace(old, new), encoding="utf-8")


def test_an_audit_writes_its_five_files_and_says_unequal(folder, call):
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 1, done.output
    assert fresh(folder) == ALL
    assert done.stdout.startswith("UNEQUAL: ")
    assert "smiths: People with job = 'smith'" in done.stdout
    assert "Wrote out.audit, out.html" in done.stdout
    assert "solving ..." in done.stderr
    made = ee.load("out.audit")
    assert made.verdict.outcome == "unequal"
    summary = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert summary["verdict"]["outcome"] == "unequal"
    assert set(summary["subgroups"]) == {"smiths"}
    table = pd.read_csv(folder / "out.csv", dtype={"applicant": str})
    assert table["applicant"][0] == "00000"
    assert len(table) == 160
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "<b>of</b>" not in page
    assert "&lt;b&gt;of" in page


def test_the_audit_says_where_it_came_from(folder, call):
    call("audit", "loans.yaml", "-o", "out")
    made = ee.load("out.audit").provenance
    import hashlib

    digest = hashlib.sha256((folder / "loans.csv").read_bytes()).hexdigest()
    assert (made.data.path, made.data.sha256, made.data.rows) == ("loans.csv", digest, 160)
    assert made.spec == (folder / "loans.yaml").read_text(encoding="utf-8")
    assert made.surrogate.kind == "logistic"
    assert made.surrogate.required == 0.9
    assert set(made.surrogate.by_group) == {"female", "male"}
    assert made.command.startswith("equieffort")


def test_wide_thresholds_give_zero(folder, call):
    edit(folder, "tau: 1.25, epsilon: 0.05", "tau: 100, epsilon: 1.0, certified: false")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("EQUAL")


def test_too_few_people_give_four(folder, call):
    edit(folder, "min_people: 5", "min_people: 5000")
    assert call("audit", "loans.yaml", "-o", "out").exit_code == 4


def test_json_is_all_that_is_printed(folder, call):
    done = call("audit", "loans.yaml", "-o", "out", "--json")
    assert json.loads(done.stdout) == json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert "..." not in done.stderr


def test_quiet_says_nothing(folder, call):
    done = call("audit", "loans.yaml", "-o", "out", "-q")
    assert done.exit_code == 1
    assert done.output == ""
    assert fresh(folder) == ALL


def test_formats_for_build_servers(folder, call):
    call("audit", "loans.yaml", "-o", "out", "--format", "sarif", "--format", "junit")
    assert fresh(folder) == ALL | {"out.sarif", "out.junit.xml"}
    log = json.loads((folder / "out.sarif").read_text(encoding="utf-8"))
    assert log["runs"][0]["results"][0]["level"] == "error"
    assert ElementTree.parse(folder / "out.junit.xml").getroot().get("failures") != "0"


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_column_that_a_subgroup_names_is_used(folder, call, options):
    table = pd.read_csv("loans.csv", dtype={"applicant": str})
    table.assign(region=["north", "south"] * 80, note="x").to_csv("loans.csv", index=False)
    edit(folder, "subgroups: {", "subgroups: {northerners: \"region = 'north' and income < 90\", ")
    done = call("audit", "loans.yaml", "-o", "out", *options)
    assert done.exit_code == (0 if options else 1), done.output
    told = [line for line in done.stderr.splitlines() if "DATA_EXTRA_COLUMNS" in line]
    assert len(told) == 1
    assert "'note'" in told[0]
    assert "region" not in told[0]
    if not options:
        made = ee.load("out.audit")
        assert [w.what for w in made.warnings if w.code == "DATA_EXTRA_COLUMNS"] == [told[0][9:].rsplit(" (", 1)[0]]
        assert "northerners: People with region = 'north'" in done.stdout
        assert str(made.subgroup("region = 'north' and income < 90").verdict) in done.stdout
    table.assign(region=["north", "south"] * 80).to_csv("loans.csv", index=False)
    assert "DATA_EXTRA_COLUMNS" not in call("audit", "loans.yaml", "-o", "out", *options).stderr


def test_a_dry_run_counts_and_writes_nothing(folder, call):
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 0, done.output
    assert fresh(folder) == set()
    refused = (pd.read_csv("loans.csv")["decision"] == "refused").sum()
    assert "160 people" in done.stdout
    counted = json.loads(call("audit", "loans.yaml", "-o", "out", "--dry-run", "--json").stdout)
    assert counted["audited"] == 160
    assert abs(sum(counted["unfavourable"].values()) - refused) <= 5
    assert counted["intervention_sets"] >= 1


def test_a_dry_run_finds_what_an_audit_would_refuse(folder, call):
    edit(folder, "[[income, savings]]", "[[income, savings], [savings, income]]")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 2
    assert "GRAPH_CYCLE" in done.stderr


def test_a_name_with_its_ending_is_understood(folder, call):
    call("audit", "loans.yaml", "-o", "out.audit", "-q")
    assert fresh(folder) == ALL


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "code", "says"),
    [
        ("title: Loans", "tilte: Loans", "SPEC_KEY", "title"),
        ("column: sex", "column: gender", "SCHEMA_SENSITIVE_MISSING", "gender"),
        ("path: loans.csv", "path: lones.csv", "", "lones.csv"),
        ("favourable: approved", "favourable: aproved", "MODEL_LABELS", "aproved"),
        ("smiths: \"job = 'smith'\"", 'smiths: "trade = 3"', "RULE_NAME", "trade"),
        ("train: logistic", "path: model.pkl", "MODEL", "model.pkl"),
    ],
)
def test_bad_input_is_told_with_its_code(folder, call, old, new, code, says):
    edit(folder, old, new)
    (folder / "model.pkl").write_bytes(b"\x80\x04.")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert says in done.stderr
    told = done.stderr.split("Code: ")[1].split()[0]
    assert told in CODES
    assert told.startswith(code)
    assert "How to fix it" in done.stderr
    assert not any(name.startswith("out.") for name in fresh(folder))


def test_a_missing_decision_column_is_named(folder, call):
    edit(folder, "column: decision", "column: decison")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "Did you mean 'decision'?" in done.stderr


def test_open_questions_are_listed_by_line(folder, call):
    edit(folder, "protected: female", "protected: FILL_IN")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "line 5 (sensitive)" in done.stderr
    assert "SPEC_UNFILLED" in done.stderr


def test_a_missing_spec_is_named(call, tmp_path):
    done = call("audit", tmp_path / "no.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "no.yaml" in done.stderr


# -- outputs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def never(monkeypatch):
    """Fails the test when any work is begun."""
    import equieffort.spec.runs

    monkeypatch.setattr(equieffort.spec.runs, "prepare", lambda *_, **__: pytest.fail("work was begun"))


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("taken", "'taken.html' is a folder"),
        ("loans", "would overwrite an input"),
        ("loans.csv/out", "'loans.csv' is no folder"),
    ],
)
def test_outputs_are_looked_at_before_any_work(folder, call, out, says):
    (folder / "taken.html").mkdir()
    before = (folder / "loans.csv").read_bytes()
    done = call("audit", "loans.yaml", "-o", out)
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert "Code: OUTPUT" in done.stderr
    assert (folder / "loans.csv").read_bytes() == before


@pytest.mark.usefixtures("never")
def test_a_folder_that_cannot_be_written_to_is_found_before_any_work(folder, call, monkeypatch):
    def refused(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", refused)
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "cannot be written to: Permission denied." in done.stderr


def test_a_full_disk_ends_with_three_and_leaves_no_half_file(folder, call, monkeypatch):
    write = Path.write_text

    def full(self, *arguments, **options):
        write(self, "half", encoding="utf-8")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 3, done.output
    assert "No space left on device" in done.stderr
    assert "RUN_WRITE" in done.stderr
    assert fresh(folder) == {"out.audit"}


def test_data_that_change_during_the_run_end_with_three(folder, call, monkeypatch):
    import equieffort.spec.runs

    solve = equieffort.spec.runs.audit

    def meanwhile(*arguments, **options):
        with (folder / "loans.csv").open("a", encoding="utf-8") as file:
            file.write("99999,male,50,20,cook,approved\n")
        return solve(*arguments, **options)

    monkeypatch.setattr(equieffort.spec.runs, "audit", meanwhile)
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 3
    assert "RUN_CHANGED" in done.stderr
    assert fresh(folder) == set()


# -- interruptions and faults -----------------------------------------------------------------------------------------


def raising(error: BaseException):
    def prepare(*_, **__):
        raise error

    return prepare


def test_an_interrupt_ends_with_130(folder, call, monkeypatch):
    monkeypatch.setattr("equieffort.spec.runs.prepare", raising(KeyboardInterrupt()))
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 130
    assert "Interrupted" in done.stderr


def test_a_fault_of_ours_has_no_traceback(folder, call, monkeypatch):
    monkeypatch.setattr("equieffort.spec.runs.prepare", raising(ZeroDivisionError("a bug")))
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 3
    assert "ZeroDivisionError: a bug." in done.stderr
    assert "--debug" in done.stderr


def test_out_of_memory_ends_with_three(folder, call, monkeypatch):
    monkeypatch.setattr("equieffort.spec.runs.prepare", raising(MemoryError()))
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 3
    assert "Out of memory" in done.stderr


@pytest.mark.parametrize("where", ["before", "after"])
def test_debug_shows_the_traceback(folder, call, monkeypatch, where):
    monkeypatch.setattr("equieffort.spec.runs.prepare", raising(ZeroDivisionError("a bug")))
    arguments = ["audit", "loans.yaml", "-o", "out"]
    done = call("--debug", *arguments) if where == "before" else call(*arguments, "--debug")
    assert done.exit_code == 3
    assert "Traceback" in done.stderr


def test_as_a_program(folder):
    done = subprocess.run([*COMMAND, "audit", "loans.yaml", "-o", "out"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("UNEQUAL")
    edit(folder, "title: Loans", "tilte: Loans")
    done = subprocess.run([*COMMAND, "audit", "loans.yaml", "-o", "out"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


SLOW = [
    sys.executable,
    "-c",
    "import time; import equieffort.spec.runs as runs; runs.read_table = lambda data: time.sleep(60); "
    "from equieffort.cli import main; main()",
]
"""A program that takes a minute to read its table."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_stops_the_program(folder):
    with subprocess.Popen([*SLOW, "audit", "loans.yaml", "-o", "out"], stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        assert "reading" in program.stderr.readline()
        # Well inside the reading, not on the way there.
        time.sleep(1.0)
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=600)
    assert program.returncode == 130
    assert "Interrupted" in told
    assert "Traceback" not in told
    assert fresh(folder) == set()


# -- what newcomers do ------------------------------------------------------------------------------------------------


def test_a_table_instead_of_a_spec_shows_nobody(folder, call):
    done = call("audit", "loans.csv", "-o", "out")
    assert done.exit_code == 2
    assert "'loans.csv' is a table of people, not a spec" in done.stderr
    assert "equieffort init loans.csv" in done.stderr
    assert "00000" not in done.output
    (folder / "renamed.yaml").write_bytes((folder / "loans.csv").read_bytes())
    done = call("audit", "renamed.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "this is not a spec" in done.stderr
    assert "00000" not in done.output
    assert len(done.stderr) < 500


def test_a_duplicated_id_is_refused_before_any_work(folder, call):
    table = pd.read_csv("loans.csv", dtype=str)
    pd.concat([table, table[3:4]]).to_csv("loans.csv", index=False)
    for more in ([], ["--dry-run"], ["--quiet"]):
        done = call("audit", "loans.yaml", "-o", "out", *more)
        assert done.exit_code == 2
        assert "The id '00003' in column 'applicant' of 'loans.csv' names two people, in lines 5 and 162" in done.stderr


def test_a_dry_run_says_what_was_not_checked(folder, call):
    text = (folder / "loans.yaml").read_text(encoding="utf-8")
    (folder / "loans.yaml").write_text(text + "surrogate: {min_agreement: 1}\n", encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 0
    assert "nothing is concluded" in done.stdout
    assert "Not checked: who has an action at all, and the verdict." in done.stdout
    assert (
        json.loads(call("audit", "loans.yaml", "-o", "out", "--dry-run", "--json").stdout)["surrogate"]["required"] == 1
    )


def test_a_rule_that_matches_nobody_is_warned_of_once(folder, call):
    text = (folder / "loans.yaml").read_text(encoding="utf-8")
    (folder / "loans.yaml").write_text(text.replace("'smith'", "'smiht'"), encoding="utf-8")
    for more in ([], ["--dry-run"]):
        done = call("audit", "loans.yaml", "-o", "out", *more)
        assert done.stderr.count("matches nobody") == 1


def test_warnings_do_not_speak_python(folder, call):
    text = (folder / "loans.yaml").read_text(encoding="utf-8")
    (folder / "loans.yaml").write_text(text.replace("  job: {role: immutable}\n", ""), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert "Warning: X " not in done.stderr
