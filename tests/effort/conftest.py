"""Measures of few people: test workers share the cores, and threads would wait for each other."""

import pytest


@pytest.fixture(autouse=True)
def alone(one_thread: None) -> None:
    """One thread of the compiled loops; what is said of threads is tested where they are."""
