"""The page on levels in an order does what it says."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ordered.md"


@pytest.mark.filterwarnings("ignore:Search found an action")
def test_the_examples_run():
    done = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.attempted >= 10
    assert done.failed == 0
