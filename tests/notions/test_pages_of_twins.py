"""The pages with an example on German credit: it runs and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "notions"


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize(
    "name",
    [
        "counterfactual-fairness", "fair-causal-recourse", "causal-discrimination", "effort-rewards",
        "situation-testing",
    ],
)  # fmt: skip
def test_the_example_prints_what_the_page_says(name, tmp_path, monkeypatch, capsys):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (said,) = re.findall(r"prints\n\n```\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{name}.md", "exec"), {})
    printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    assert printed == [line.rstrip() for line in said.strip().splitlines()]
