"""Hostile families against their oracles: some of each here, a thousand of each in `make verify`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.hostile.families import FAMILIES, run

BLOCK = 25
CASES = 1000
FIRST_SEED = 100_000
"""Beyond the seeds of the everyday tests."""
EVERYDAY = 3


@pytest.mark.parametrize("family", FAMILIES)
def test_some_cases_of_each_family_agree_with_the_oracle(family: str) -> None:
    tally = run(family, range(EVERYDAY))
    assert not tally.disagreements, "\n".join(tally.disagreements)
    # Most people must be settled, or little was compared.
    assert tally.people >= EVERYDAY // 2


ONCE = {
    "far from zero": (100_033, 100_350, 100_563, 100_749, 100_788),
    "units, spatial": (100_457,),
    "rules broken already": (100_360, 100_366),
    "costs below the gap": (100_542,),
    "whole audits": (100_856,),
    "tables' own types": (100_602,),
    "outliers in the reference": (100_950,),
}
"""Cases of the long run in which package and oracle disagreed, by the fault of either."""


@pytest.mark.parametrize(("family", "seed"), [(family, seed) for family, seeds in ONCE.items() for seed in seeds])
def test_what_once_disagreed_agrees(family: str, seed: int) -> None:
    tally = run(family, range(seed, seed + 1))
    assert tally.people
    assert not tally.disagreements, "\n".join(tally.disagreements)


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
