"""The pages of notions: their examples run and print what the page says; no page is left out of the list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equieffort.notions import FAMILIES

PAGES = Path(__file__).parents[2] / "docs" / "notions"
NAMES = sorted(path.stem for path in PAGES.glob("*.md") if path.stem not in ("README", "side-by-side"))


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_example_prints_what_the_page_says(name, tmp_path, monkeypatch, capsys):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (said,) = re.findall(r"prints\n\n```\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{name}.md", "exec"), {})
    printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    assert printed == [line.rstrip() for line in said.strip().splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_a_picture_and_says_when_to_use_it(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert "## When to use it, and when not" in text
    (picture,) = re.findall(r"!\[.+\]\((.+\.png)\)", text)
    assert (PAGES / picture).is_file()


def test_every_page_and_every_family_is_in_the_list():
    text = (PAGES / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.md)" in text for name in [*NAMES, "side-by-side"])
    doors = set(re.findall(r"`audit\.(\w+)\(", text))
    named = "equality_of_effort counterfactual_fairness fair_causal_recourse causal_discrimination boundary_distance"
    named += " social_burden fairness_through_awareness responsiveness improvement_only facts"
    assert set(named.split()) <= doors
    assert len(FAMILIES) <= len(re.findall(r"^\| \[", text, re.MULTILINE))
