"""What the documents say is what the code does."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from tests.samples import compared

import equieffort as ee
from equieffort.paper.extras import german_audit
from equieffort.plots import REPORT

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def test_the_readme_example_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    code = compile("\n".join(blocks), "README.md", "exec")
    with pytest.warns(ee.errors.EquieffortWarning, match=r"explains 0\.9 % of its variance"):
        exec(code, names)
    printed = capsys.readouterr().out
    assert "Person 1 (female)" in printed
    assert (tmp_path / "german.audit").is_file()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_the_page_of_results_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|text)\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    printed, checked = "", 0
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, "results.md", "exec"), names)
            printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.rstrip().split("\n"))
        else:
            assert printed == block.rstrip()
            checked += 1
    assert checked >= 6
    assert {path.name for path in tmp_path.iterdir()} == {
        "german.json", "german.html", "card.md", "german.audit", "measures.svg",
    }  # fmt: skip


def test_the_page_of_results_lists_what_is_shown_and_every_picture():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name in {*ee.__all__, *REPORT.values()} - {"__version__"}:
        assert re.search(rf"`(ee\.)?{name}(\(.*?\))?`", page), name


def test_the_picture_caption_states_what_the_example_finds():
    caption = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"over everybody ([\d.]+) times", caption)
    assert said is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        audit = german_audit(labels=ee.Labels(groups={"female": "women", "male": "men"}))
    row = compared(audit).loc["female"]
    assert f"{row['acr']:.2f}" == said.group(1)
    assert row["rd"] > 0
    # What it concludes is quoted word for word.
    refused = audit.by_group["n_unfavourable"]
    assert f"only {refused['female']} women and {refused['male']} men are refused" in " ".join(caption.split())
    assert f"the verdict is {audit.verdict.outcome}" in caption
    assert " ".join(str(audit.verdict).split()) in " ".join(caption.split())
    near = audit.curve(quantiles=[0.05, 0.1, 0.15, 0.2]).query("group == 'female'")
    assert near["acr"].between(1.5, 2.6).all()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What `equieffort demo german` prints, and the folder it wrote into, made on the way."""
    folder = tmp_path_factory.mktemp("demo") / "made"
    command = [sys.executable, "-c", "from equieffort.cli import main; main()", "demo", "german"]
    done = subprocess.run([*command, "-o", str(folder / "german")], capture_output=True, text=True, check=True)
    return done, folder


def test_the_page_of_all_notions_shows_the_numbers_of_german_credit(demo):
    audit, tool = ee.load(demo[1] / "german.audit"), runpy.run_path(str(ROOT / "tools" / "side_by_side.py"))
    found = audit.provenance.notions
    assert len(found.readings) > 40
    shown = tool["part"]("German credit", found, tool["lines_of"](audit, found))
    page = (ROOT / "docs" / "notions" / "side-by-side.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"^## German credit\n.*?(?=^## )", page, re.DOTALL | re.MULTILINE)
    assert said.strip().split("\n") == shown.strip().split("\n")


def test_the_demo_prints_a_verdict_and_saves(demo):
    done, folder = demo
    assert re.search(r"^(EQUAL|UNEQUAL|INCONCLUSIVE): ", done.stdout, re.MULTILINE)
    assert "women against men, among" in done.stdout
    assert len(re.findall(r"^\s*0\.05 ", done.stdout, re.MULTILINE)) == 1, "one direction is enough"
    assert ee.load(folder / "german.audit").verdict.outcome.upper() in done.stdout
    assert (folder / "german.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_every_code_is_listed():
    page = runpy.run_path(str(ROOT / "tools" / "error_codes.py"))["page"]()
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == page


def test_every_code_is_used():
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    unused = [code for code in ee.errors.CODES if source.count(f'"{code}"') < 2]
    assert unused == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), target
