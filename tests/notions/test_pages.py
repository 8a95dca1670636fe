"""The examples on the pages of notions run."""

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "notions"
MINE = ("social-burden", "responsiveness", "improvement", "awareness", "boundary")


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("name", MINE)
def test_the_example_of_a_page_runs(name):
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    exec(compile("\n".join(blocks), name, "exec"), names)
    assert len(names["found"].frame())
