"""All conjunctions counted: against masks made one by one, compiled as interpreted, with any number of threads."""

from __future__ import annotations

from itertools import combinations, product
from math import fsum

import numba
import numpy as np
import pandas as pd
import pytest

from equieffort.effort.search import ALIKE, code_features, find_subgroups, kernels, subgroups_formed
from equieffort.effort.search.counted import KEYS, SIZE, Counted
from equieffort.effort.search.kernels import TABULATE
from equieffort.world.rules import parse_rule


def people(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, n)
    data = pd.DataFrame(
        {
            "x": x,
            "twin": np.array(["u", "v", "w"])[x],
            "nearly": np.where(rng.random(n) < 0.997, x, 0),
            "y": rng.normal(size=n),
            "z": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 9, n)),
        }
    )
    return data, rng.integers(0, 3, n), rng.exponential(1, n)


def by_masks(data, coded, group, counted, pair, conditions, fewest):
    """Conjunction -> people, sums of both sides and whether it says anything new; all by pandas' own rows."""
    columns = {name: data[name].to_numpy() for name in data.columns}
    items = [[*one.levels, *(union[2] for union in one.unions)] for one in coded.features]
    masks = {rule: parse_rule(rule).evaluate(columns) for rules in items for rule in rules}

    def sides(rules):
        who = np.logical_and.reduce([counted.who, *(masks[rule] for rule in rules)])
        return [np.flatnonzero(who & (group == side)) for side in pair]

    found, formed = {}, 0
    for order in range(1, conditions + 1):
        for chosen in combinations(range(len(items)), order):
            for rules in product(*(items[f] for f in chosen)):
                formed += 1
                both = sides(rules)
                sizes = [counted.values[rows, SIZE].sum() for rows in both]
                if min(sizes) < fewest:
                    continue
                shorter = [sides([rule for rule in rules if rule != gone]) for gone in rules]
                same = any(
                    all(
                        size >= ALIKE * counted.values[wide, SIZE].sum()
                        for size, wide in zip(sizes, wider, strict=True)
                    )
                    for wider in shorter
                )
                sums = [[fsum(counted.values[rows, k]) for k in range(7)] for rows in both]
                found[" and ".join(rules)] = (frozenset(np.concatenate(both).tolist()), sums, same, order)
    return found, formed


@pytest.mark.parametrize(("conditions", "cuts", "width"), [(3, False, 5), (2, True, 5), (3, True, 3), (1, True, 1)])
def test_every_conjunction_as_by_masks(conditions, cuts, width):
    data, group, cost = people(700, 11)
    data = data.iloc[:, :width]
    coded = code_features(data, 4, cuts=cuts)
    counted = Counted.of(np.random.default_rng(1).random(700) < 0.9, cost)
    codes = np.where(counted.who & (group < 2), group, -1)
    for pair in ((1, 0), (0, 1)):
        found = find_subgroups(
            coded.features, coded.codes, codes, counted.values, [pair], conditions=conditions, fewest=12
        )
        expected, formed = by_masks(data, coded, group, counted, pair, conditions, 12)
        assert found.formed == formed == subgroups_formed(coded.features, conditions)
        assert found.too_small == formed - len(expected)
        new = {rule: one for rule, one in expected.items() if not one[2]}
        rules = found.rules(coded.features, np.arange(len(found.pair)))
        assert set(rules) <= set(new)
        # Of those that hold the same people one is left, with as few conditions as any.
        members = [new[rule][0] for rule in rules]
        assert len(set(members)) == len(members)
        assert set(members) == {one[0] for one in new.values()}
        shortest: dict[frozenset[int], int] = {}
        for who, _, _, order in new.values():
            shortest[who] = min(shortest.get(who, 9), order)
        assert [new[rule][3] for rule in rules] == [shortest[who] for who in members]
        assert found.merged == len(expected) - len(rules)
        for k, rule in enumerate(rules):
            for mine, theirs in zip((found.mine[k], found.theirs[k]), new[rule][1], strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-12)
            np.testing.assert_array_equal(found.mine[k, KEYS], new[rule][1][0][KEYS])
    if width == 5:
        assert found.merged > 0


def test_the_shortest_rule_is_kept():
    data, group, cost = people(700, 12)
    data["first"] = np.where(data["x"] == 0, "in", "out")
    coded = code_features(data, 4)
    found = find_subgroups(coded.features, coded.codes, group, Counted.of(np.ones(700, bool), cost).values, [(1, 0)])
    rules = found.rules(coded.features, np.arange(len(found.pair)))
    assert "x = 0" in rules
    assert not any("twin" in rule or "first = 'in'" in rule for rule in rules)


def test_compiled_interpreted_and_in_numpy_are_the_same_to_the_last_bit():
    rng = np.random.default_rng(2)
    codes = np.vstack([rng.integers(0, 3, (4, 60)), np.zeros((1, 60))]).astype(np.uint8)
    triples = np.array([[0, 1, 2], [1, 2, 3], [3, 4, 4]])
    begin, end = np.zeros((5, 5), dtype=np.int64), np.zeros((5, 5), dtype=np.int64)
    end[:, 3], begin[:4, 4], end[:4, 4] = 3, 1, 3
    arguments = codes, triples, rng.integers(0, 2, 60), rng.exponential(1, (60, 4)), begin, end, 3, 2
    tables = [np.zeros((3, 5**3 * 2, 4)) for _ in range(3)]
    TABULATE(*arguments, tables[0])
    TABULATE.interpreted(*arguments, tables[1])
    TABULATE.in_numpy(*arguments, tables[2])
    assert tables[0].any()
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])


def test_threads_change_no_bit():
    data, group, cost = people(3000, 13)
    coded = code_features(data, 5, cuts=True)
    values = Counted.of(np.ones(3000, bool), cost).values
    found = []
    before = numba.get_num_threads()
    try:
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(threads)
            found.append(find_subgroups(coded.features, coded.codes, group, values, [(1, 0), (2, 0)]))
    finally:
        numba.set_num_threads(before)
    for name in ("pair", "feature", "slot", "mine", "theirs"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
    assert len(found[0].pair) > 100


def test_nobody_and_nothing():
    data, group, cost = people(30, 14)
    coded = code_features(data, 3)
    values = Counted.of(np.ones(30, bool), cost).values
    assert len(find_subgroups(coded.features, coded.codes, group, values, [(1, 0)]).pair) == 0
    nothing = find_subgroups((), coded.codes[:0], group, values, [(1, 0)])
    assert (nothing.formed, len(nothing.pair)) == (0, 0)
    alone = find_subgroups(coded.features, coded.codes, np.full(30, -1), values, [(1, 0)], fewest=2)
    assert (len(alone.pair), alone.too_small) == (0, alone.formed)


def test_one_table_and_what_each_slot_holds_as_by_masks():
    """Three features of four levels; a slot that holds levels 1 and 2, and one that holds all of them."""
    rng, n, levels, slots, groups = np.random.default_rng(5), 200, 4, 6, 2
    codes, group, values = rng.integers(0, levels, (3, n)), rng.integers(0, groups, n), rng.exponential(size=(n, 2))
    begin, end = np.array([0, 1, 2, 3, 1, 0]), np.array([1, 2, 3, 4, 3, 4])
    table = np.zeros((slots**3 * groups, 2))
    kernels.visit(codes, np.array([0, 1, 2]), group, values, slots, groups, table)
    cells = table.reshape(slots, slots, slots, groups, 2)
    np.testing.assert_allclose(cells.sum(axis=(0, 1, 2, 3)), values.sum(axis=0))
    assert not cells[levels:].any()
    one = (codes == np.array([[3], [0], [2]])).all(axis=0) & (group == 1)
    np.testing.assert_allclose(cells[3, 0, 2, 1], values[one].sum(axis=0))
    kernels.add_up(begin, end, 1, slots, slots * slots, levels, groups, table)
    kernels.add_up(begin, end, slots, slots, slots, levels, groups, table)
    kernels.add_up(begin, end, slots * slots, slots, 1, levels, groups, table)
    holds = (np.arange(levels) >= begin[:, None]) & (np.arange(levels) < end[:, None])
    for first, second, third, side in product(range(slots), range(slots), range(slots), range(groups)):
        who = holds[first, codes[0]] & holds[second, codes[1]] & holds[third, codes[2]] & (group == side)
        np.testing.assert_allclose(cells[first, second, third, side], values[who].sum(axis=0), atol=1e-12)


def test_tables_of_several_triples_are_each_their_own():
    rng, n, levels, groups = np.random.default_rng(6), 80, 3, 2
    codes, group, values = rng.integers(0, levels, (4, n)), rng.integers(0, groups, n), rng.exponential(size=(n, 1))
    begin, end = np.tile([0, 1, 2, 0], (4, 1)), np.tile([1, 2, 3, 3], (4, 1))
    triples = np.array([[0, 1, 2], [3, 0, 1]])
    tables = np.zeros((2, 4**3 * groups, 1))
    kernels.tabulate(codes, triples, group, values, begin, end, levels, groups, tables)
    for triple, table in zip(triples, tables.reshape(2, 4, 4, 4, groups), strict=True):
        assert table[3, 3, 3].sum() == pytest.approx(values.sum())
        who = (codes[triple[0]] == 1) & (codes[triple[2]] == 2) & (group == 0)
        assert table[1, 3, 2, 0] == pytest.approx(values[who].sum())
