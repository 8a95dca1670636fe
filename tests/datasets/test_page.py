"""The examples of docs/datasets.md run, and every function of the package stands there."""

import re
from pathlib import Path

from equieffort import datasets

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_the_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 3
    exec(compile("\n".join(blocks), "docs/datasets.md", "exec"), {})
    assert re.search(r"^(EQUAL|UNEQUAL|INCONCLUSIVE)", capsys.readouterr().out, re.MULTILINE | re.IGNORECASE)


def test_every_name_is_on_the_page():
    assert [name for name in datasets.__all__ if f"{name}" not in PAGE] == []
