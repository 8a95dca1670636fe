"""The page on causal models does what it says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "causal-models.md"


def test_the_examples_run():
    done = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert done.attempted > 10
    assert done.failed == 0
