"""The walkthrough's shell blocks, run one after the other in an empty folder; and what docs/cli.md names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import equieffort as ee

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("sed") is None, reason="needs bash and sed")
def test_the_walkthrough_runs(tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / "walkthrough.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    # The reader has the environment of this package activated.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed = ""
    for block in blocks:
        done = subprocess.run(
            ["bash", "-uo", "pipefail", "-c", block], cwd=tmp_path, env=os.environ | {"PATH": path},
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        assert "Code: " not in done.stderr, done.stderr
        printed += done.stdout
    found = ee.load(tmp_path / "result.audit").verdict.outcome
    assert f"exit code {({'equal': 0, 'unequal': 1, 'inconclusive': 4})[found]}" in printed
    assert found == "unequal"
    assert "Person A0008 (female): turns" in printed
    assert "people are in both audits" in printed
    for name in ("result.html", "result.md", "result.csv", "result.json", "shared.html"):
        assert (tmp_path / name).stat().st_size > 0


def test_whoever_starts_here_is_told_how_to_install():
    steps = [
        re.findall(r"```shell\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)
        for name in ("walkthrough.md", "../README.md")
    ]
    assert steps[0] == steps[1]
    assert [line.split()[0] for line in steps[0][0].splitlines()] == ["python3", ".", "pip", "equieffort"]
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert readme.index("## Install") < readme.index("equieffort init")


def test_every_format_is_on_the_page():
    from equieffort.cli.audit import Format

    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert all(f"`--format {name}`" in page for name in Format)


def test_every_command_and_option_of_the_page_exists(call_help):
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    sections = re.findall(r"## `equieffort ([\w-]+).*?`\n(.*?)(?=\n## |\Z)", page, re.DOTALL)
    assert {name for name, _ in sections} == call_help.commands
    for name, text in sections:
        known = call_help(name)
        for option in re.findall(r"`(--[a-z-]+)", text):
            assert option in known, f"{name} {option}"


@pytest.fixture
def call_help():
    from typer.testing import CliRunner

    from equieffort.cli import app

    class Help:
        commands = frozenset(
            (command.name or command.callback.__name__).replace("_", "-") for command in app.registered_commands
        )

        def __call__(self, name: str) -> str:
            return CliRunner().invoke(app, [name, "--help"]).stdout

    return Help()
