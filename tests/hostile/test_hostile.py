"""Hostile families against their oracles: some of each here, a thousand of each in `make verify`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.hostile.families import FAMILIES, run

BLOCK = 25
CASES = 1000
FIRST_SEED = 100_000
"""Beyond the seeds of the everyday tests."""
EVERYDAY = 8

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("family", FAMILIES)
def test_some_cases_of_each_family_agree_with_the_oracle(family: str) -> None:
    tally = run(family, range(EVERYDAY))
    assert not tally.disagreements, "\n".join(tally.disagreements)
    # Most people must be settled, or little was compared.
    assert tally.people >= EVERYDAY // 2


@pytest.mark.verify
@pytest.mark.parametrize("block", range(CASES // BLOCK))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_thousand_cases_of_each_family_agree_with_the_oracle(
    family: str, block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = run(family, range(start, start + BLOCK))
    record_property("verify", {"family": family, **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)
