"""What is flagged and certified: adjusted for all that was searched, seldom wrong, and finding what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from equieffort.effort.inference import Holm
from equieffort.effort.inference.guarded import benjamini_hochberg
from equieffort.effort.search import Asked, Coded, CodedFeature, Counted, law_of, search

LEVELS = 4


def features(count):
    return tuple(CodedFeature(f"f{k}", tuple(f"f{k} = {j}" for j in range(LEVELS))) for k in range(count))


def world(rng, n, count=6, planted=1.0, share=0.5):
    """Group shares hang on one feature, costs on another; one pair of levels may be planted."""
    codes = rng.integers(0, LEVELS, (count, n)).astype(np.uint8)
    group = (rng.random(n) < share * (0.7 + 0.2 * codes[0])).astype(np.int64)
    cost = rng.gamma(2, 1, n) * (1 + 0.3 * codes[1])
    cost = np.where((group == 1) & (codes[2] == 0) & (codes[3] == 0), planted * cost, cost)
    return Coded(features(count), codes, {}), group, Counted.of(np.ones(n, dtype=bool), cost)


@pytest.mark.parametrize("share", [0.5, 0.15])
def test_where_nothing_is_unequal_hardly_any_run_flags_anything(share):
    rng, flags, broken = np.random.default_rng(1), 0, 0
    for _ in range(60):
        found = search(*world(rng, 5000, share=share), [(1, 0)], Asked())
        flags += bool(found.flagged.any())
        broken += bool((found.bound < 1).any())
    # More than eight of sixty runs have a chance below 1 % at a rate of 5 %.
    assert flags <= 8
    assert broken <= 8
    assert found.searched > 100


def test_what_is_planted_is_found_and_comes_first():
    rng = np.random.default_rng(2)
    for adjust in ("holm", "bh"):
        for planted in (1.6, 1 / 1.6):
            coded, group, counted = world(rng, 20_000, planted=planted)
            found = search(coded, group, counted, [(1, 0)], Asked(adjust=adjust))
            rules = found.subgroups.rules(coded.features, found.order)
            flagged = {rule for rule, is_it in zip(rules, found.flagged, strict=True) if is_it}
            assert "f2 = 0 and f3 = 0" in flagged
            assert rules[int(np.argmin(found.p))] == "f2 = 0 and f3 = 0"
            # Nothing that leaves the planted people out is touched.
            assert not any("f2 = 1" in rule for rule in flagged)
    one_sided = search(coded, group, counted, [(1, 0)], Asked(two_sided=False))
    assert not one_sided.flagged.any()


def test_everything_is_adjusted_for_all_comparisons_together():
    rng = np.random.default_rng(3)
    coded, group, counted = world(rng, 6000)
    group = np.where(rng.random(6000) < 0.3, 2, group)
    asked = Asked(fewest_certified=150)
    both = search(coded, group, counted, [(1, 0), (2, 0)], asked)
    single = [search(coded, group, counted, [pair], asked) for pair in ((1, 0), (2, 0))]
    assert both.searched == sum(one.searched for one in single)
    assert sorted(both.p) == sorted(np.concatenate([one.p for one in single]))
    assert both.p_adjusted.tolist() == Holm().adjust(both.p.tolist())
    law = law_of("acr", both.subgroups.mine, both.subgroups.theirs)
    bounds = law.limits(0.05 / (2 * both.searched))[1][both.order]
    known = ~np.isnan(both.bound)
    np.testing.assert_array_equal(known, np.minimum(both.n, both.n_against) >= 150)
    np.testing.assert_allclose(both.bound[known], bounds[known], rtol=1e-12)
    assert known.any()
    assert not known.all()
    by_share = search(coded, group, counted, [(1, 0), (2, 0)], Asked(adjust="bh"))
    np.testing.assert_array_equal(by_share.p_adjusted, benjamini_hochberg(by_share.p))


def test_order_is_flagged_first_then_far_from_equal():
    found = search(*world(np.random.default_rng(4), 20_000, planted=1.6), [(1, 0)], Asked())
    k = int(found.flagged.sum())
    assert 0 < k < len(found.p)
    assert found.flagged[:k].all()
    for part in (found.estimate[:k], found.estimate[k:]):
        away = np.abs(np.log(part))
        assert (np.diff(away) <= 0).all()


def test_a_tolerance_asks_for_more():
    people = world(np.random.default_rng(5), 40_000, planted=1.6)
    p = {tau: search(*people, [(1, 0)], Asked(tau=tau)) for tau in (1.0, 1.25, 2.0)}
    assert p[1.0].flagged.sum() > p[1.25].flagged.sum() > 0
    assert not p[2.0].flagged.any()


def test_what_has_no_spread_is_undefined_and_counted():
    coded, group, _ = world(np.random.default_rng(6), 4000)
    cost = np.where(coded.codes[4] == 0, 0.0, np.where(coded.codes[4] == 1, 0.5, 1.0 + coded.codes[5]))
    found = search(coded, group, Counted.of(np.ones(4000, dtype=bool), cost), [(1, 0)], Asked())
    rules = found.subgroups.rules(coded.features, found.order)
    notes = dict(zip(rules, found.note, strict=True))
    assert notes["f4 = 0"] == "ZERO_EFFORT"
    assert notes["f4 = 1"] == "NO_SPREAD"
    assert found.undefined == sum(1 for note in found.note if note) > 0
    assert found.searched + found.undefined == len(rules)
    for name in ("p", "p_adjusted", "bound", "low", "high"):
        assert np.isnan(getattr(found, name)[found.searched :]).all()
    none = search(coded, group, Counted.of(np.ones(4000, dtype=bool), np.full(4000, np.nan)), [(1, 0)], Asked())
    assert none.searched == 0
    assert set(none.note) == {"NO_BUDGET"}


def test_people_not_solved_to_the_end_bound_and_flag_nothing():
    rng = np.random.default_rng(7)
    coded, group, counted = world(rng, 20_000, planted=2.0)
    unsolved = (coded.codes[2] == 0) & (rng.random(20_000) < 0.01)
    gaps = Counted.of(counted.who, counted.values[:, 1], unsolved=unsolved)
    found = search(coded, group, gaps, [(1, 0)], Asked())
    uncertain = found.note == "UNCERTIFIED"
    assert uncertain.any()
    assert not uncertain.all()
    assert not found.flagged[uncertain].any()
    assert np.isnan(found.bound[uncertain]).all()
    closed = search(coded, group, counted, [(1, 0)], Asked())
    np.testing.assert_array_equal(np.sort(found.p), np.sort(closed.p))
    assert search(coded, group, gaps, [(1, 0)], Asked(certified=False)).flagged.sum() == closed.flagged.sum()
    withheld = search(coded, group, counted, [(1, 0)], Asked(), flags=False)
    assert not withheld.flagged.any()
    assert np.isnan(withheld.bound).all()


def test_a_subgroup_in_which_nobody_of_one_side_is_approved():
    rng = np.random.default_rng(8)
    codes, group = rng.integers(0, 2, (1, 1000)).astype(np.uint8), rng.integers(0, 2, 1000)
    approved = (rng.random(1000) < 0.4) & ~((group == 1) & (codes[0] == 0))
    coded = Coded((CodedFeature("f0", ("f0 = 0", "f0 = 1")),), codes, {})
    counted = Counted.of(np.ones(1000, dtype=bool), approved.astype(float))
    found = search(coded, group.astype(np.int64), counted, [(1, 0)], Asked(measure="impact_ratio"))
    # A ratio of 0 is the farthest of all from equal, and flagged.
    assert found.estimate[0] == 0
    assert found.flagged.tolist() == [True, False]
    assert found.bound[0] == 0
