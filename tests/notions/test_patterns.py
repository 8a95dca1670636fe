"""Frequent patterns against brute force, and what becomes of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.notions.route_worlds import people, world

from equieffort.data.frames import Column
from equieffort.notions.patterns import Item, condition_items, frequent_patterns, mined_actions, split_items
from equieffort.world.rules import parse_rule


@pytest.mark.parametrize("seed", range(6))
def test_every_frequent_pattern_is_found_and_no_other(seed):
    rng = np.random.default_rng(seed)
    n, features = 60, ["f", "f", "g", "g", "g", "h", "h", "i"]
    items = [Item(name, f"{name}{k}", rng.random(n) < rng.uniform(0.4, 0.95)) for k, name in enumerate(features)]
    side = rng.random(n) < 0.5
    strata, need = [side, ~side], [5.0, 7.5]
    brute = [
        pattern
        for size in (1, 2, 3)
        for pattern in combinations(range(len(items)), size)
        if len({items[k].feature for k in pattern}) == size
        and all(
            sum(all(items[k].members[i] for k in pattern) for i in range(n) if stratum[i]) >= least
            for stratum, least in zip(strata, need, strict=True)
        )
    ]
    assert sorted(frequent_patterns(items, strata, need, 3)) == sorted(brute)
    assert any(len(pattern) == 2 for pattern in brute)


def test_conditions_are_rules_that_select_the_same_people():
    audit, _ = world()
    X = audit.recourse.data
    columns = [c for c in audit.recourse.source.encoding.columns if c.name != "group"]
    facts = audit.inputs.problem.encoding.encode(X)[
        :, [audit.recourse.source.encoding.position(c.name) for c in columns]
    ]
    items = condition_items(columns, facts, np.ones(len(X), dtype=bool))
    assert {item.feature for item in items} == {"savings", "housing", "debt"}
    for item in items:
        mask = parse_rule(item.text).evaluate({name: X[name].to_numpy() for name in X.columns})
        assert np.array_equal(mask, item.members), item.text
    # The bins of a number split everybody.
    for name in ("savings", "debt", "housing"):
        assert np.sum([item.members for item in items if item.feature == name], axis=0).tolist() == [1] * len(X)


def test_actions_are_frequent_among_the_approved_and_let_nobody_do_what_the_schema_forbids():
    audit, _ = world()
    problem, X = audit.inputs.problem, people()
    approved = ~audit.recourse.is_unfavourable
    facts = problem.encoding.encode(X)
    actions = mined_actions(problem, facts, approved, 0.2, 2)
    assert len(actions) == len(set(actions)) > 5
    shares = []
    for action in actions:
        has = np.ones(len(X), dtype=bool)
        for part in action.parts:
            assert part.kind != "at_most", "savings only go up"
            has &= X[part.feature] == part.value if part.kind == "set" else X[part.feature] >= part.value
        shares.append(has[approved].sum())
    assert min(shares) >= 0.2 * approved.sum()
    assert shares == sorted(shares, reverse=True)
    assert {action.features for action in actions} == {("savings",), ("housing",), ("savings", "housing")}


def test_nobody_approved_leaves_no_actions():
    audit, _ = world(60)
    problem = audit.inputs.problem
    facts = problem.encoding.encode(audit.recourse.data)
    assert mined_actions(problem, facts, np.zeros(len(facts), dtype=bool), 0.1, 2) == []


def test_numbers_are_cut_at_few_digits_that_part_the_same_people():
    values = np.random.default_rng(3).normal(size=60)
    quartiles = np.quantile(values, (0.25, 0.5, 0.75), method="inverted_cdf")
    columns, everybody = [Column("age", "continuous")], np.ones(60, dtype=bool)
    for items in (
        condition_items(columns, values[:, None], everybody),
        split_items(columns, values[:, None], everybody),
    ):
        for item in items:
            digits = [word.lstrip("-0.") for word in item.text.split() if word[-1].isdigit()]
            assert digits
            assert all(len(part) <= 4 for part in digits), item.text
            mask = parse_rule(item.text).evaluate({"age": values})
            assert np.array_equal(mask, item.members)
    parts = np.digitize(values, quartiles, right=True)
    found = condition_items(columns, values[:, None], everybody)
    assert [item.members.tolist() for item in found] == [(parts == k).tolist() for k in range(4)]
    # Whole numbers stay as people have them.
    ages = np.random.default_rng(4).integers(18, 80, 200).astype(float)
    (first, *_) = condition_items([Column("age", "integer")], ages[:, None], np.ones(200, dtype=bool))
    assert first.text == f"age <= {np.quantile(ages, 0.25, method='inverted_cdf'):g}"
