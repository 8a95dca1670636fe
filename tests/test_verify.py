"""Ten thousand random cases against brute force: `make verify`, which ends with a table of what was compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests import oracles_linear, oracles_one_hot, oracles_ordered, oracles_trees, oracles_ways
from tests.oracles import FAMILIES, run

from equieffort.recourse.solvers import BranchAndBound, LinearSearch

BLOCK = 50
CASES = {
    "continuous": 4500,
    "integer": 1500,
    "wide integer": 500,
    "categorical": 1500,
    "mixed": 500,
    "piecewise": 1500,
}
TREE_CASES = 1000
"""Of each family of trees, and of levels in an order."""
LINEAR_CASES = 1000
"""Of each family of linear worlds that are searched."""
WAY_CASES = 1000
"""With at most k features changed, and of further ways."""
ONE_HOT_CASES = 1000
FIRST_SEED = 100_000
"""Beyond the seeds of the everyday tests."""


def test_there_are_ten_thousand_cases_and_every_family_has_some():
    assert sum(CASES.values()) == 10_000
    assert tuple(CASES) == FAMILIES
    assert all(count % BLOCK == 0 for count in CASES.values())


@pytest.mark.verify
@pytest.mark.parametrize(
    ("family", "block"), [(family, block) for family, count in CASES.items() for block in range(count // BLOCK)]
)
def test_the_solver_agrees_with_brute_force(
    family: str, block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = run(family, range(start, start + BLOCK))
    record_property("verify", {"family": family, **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize("family", ["continuous", "integer", "wide integer", "categorical", "mixed", "piecewise"])
@pytest.mark.parametrize("block", range(LINEAR_CASES // BLOCK))
def test_the_search_of_linear_worlds_agrees_with_brute_force(
    family: str, block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = run(family, range(start, start + BLOCK), LinearSearch(time_limit=None))
    record_property("verify", {"family": f"searched, {family}", **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize("family", oracles_linear.FAMILIES)
@pytest.mark.parametrize("block", range(LINEAR_CASES // BLOCK))
def test_the_search_of_linear_worlds_agrees_with_a_program_for_every_set(
    family: str, block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = oracles_linear.run(family, range(start, start + BLOCK), LinearSearch(time_limit=None))
    record_property("verify", {"family": family, **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize("family", oracles_trees.FAMILIES)
@pytest.mark.parametrize("block", range(TREE_CASES // BLOCK))
def test_branch_and_bound_agrees_with_trying_every_cell(
    family: str, block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    solver = BranchAndBound(time_limit=None)
    tally = oracles_trees.run(family, range(start, start + BLOCK), solver, people=2)
    record_property("verify", {"family": f"trees {family}", **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize("block", range(ONE_HOT_CASES // BLOCK))
def test_one_hot_tables_agree_with_trying_everything(
    block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = oracles_one_hot.run(range(start, start + BLOCK))
    record_property("verify", {"family": "one-hot tables", **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize("family", oracles_ways.FAMILIES)
@pytest.mark.parametrize("block", range(WAY_CASES // BLOCK))
def test_few_changes_and_further_ways_agree_with_every_subset(
    family: str, block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = oracles_ways.run(family, range(start, start + BLOCK))
    record_property("verify", {"family": family, **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize("block", range(TREE_CASES // BLOCK))
def test_every_solver_agrees_with_trying_every_level_in_an_order(
    block: int, record_property: Callable[[str, object], None]
) -> None:
    start = FIRST_SEED + block * BLOCK
    tally = oracles_ordered.run(range(start, start + BLOCK))
    record_property("verify", {"family": "ordered steps", **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)
