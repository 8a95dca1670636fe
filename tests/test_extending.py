"""What docs/extending.md shows works as it stands there, each example a file of its own."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from equieffort.models.classifiers.recognise import READERS
from equieffort.report.page import SECTIONS

TEXT = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n.*?```python\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE))


def test_there_is_an_example_of_everything():
    assert len(EXAMPLES) == TEXT.count("\n## ") == TEXT.count("```python") == 6


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_runs(title, monkeypatch, tmp_path):
    name = f"example_{title.replace(' ', '_').lower()}"
    (tmp_path / f"{name}.py").write_text(EXAMPLES[title], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    kept = [(each, list(each)) for each in (READERS, SECTIONS)]
    try:
        importlib.import_module(name)
    finally:
        sys.modules.pop(name, None)
        for each, before in kept:
            each[:] = before
