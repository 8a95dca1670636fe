"""docs/matching.md: its example runs and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "matching.md"


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_the_example_prints_what_the_page_says(capsys):
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (said,) = re.findall(r"prints\n\n```\n(.*?)```", text, re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), {})
    assert capsys.readouterr().out.strip() == said.strip()
