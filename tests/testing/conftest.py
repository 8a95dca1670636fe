"""The suites draw the same cases for every solver that is tried: here each is drawn, and tried out, once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from equieffort.testing import solvers


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solvers, "make_case", cache(solvers.make_case))
        patch.setattr(solvers, "cheapest", cache(solvers.cheapest))
        yield
