"""Social burden: by hand, against the measure burden, with people who are not solved, and its interval's coverage."""

from math import isnan, nan

import numpy as np
import pytest
from scipy.stats import t
from tests.notions.made import audited_of, world

from equieffort.effort.stats import Sums
from equieffort.notions import NotApplicable
from equieffort.notions.social_burden import SocialBurden
from equieffort.notions.sparse_means import sparse_limits

FAMILY = SocialBurden()


def by_hand(**changes):
    """a: deserving ones need 0.2, 0 (approved), budget (no way); b: 0.4 and 3 (above the budget of 1)."""
    given = {
        "groups": "aaaabbb", "statuses": "onioooo", "costs": [0.2, nan, nan, 0.9, 0.4, 3.0, 0.7],
        "labels": [1, 1, 1, 0, 1, 1, 0],
    }  # fmt: skip
    return audited_of(**given | changes)


def test_by_hand():
    first, second, gap = FAMILY.readings(by_hand())
    assert (first.group, first.variant, first.n) == ("b", "worst group", 2)
    assert first.estimate == pytest.approx((0.4 + 1.0) / 2)
    assert (second.group, second.variant, second.n) == ("a", "", 3)
    assert second.estimate == pytest.approx((0.2 + 0 + 1) / 3)
    assert (gap.group, gap.against, gap.n, gap.n_against) == ("a", "b", 3, 2)
    assert gap.estimate == pytest.approx(0.4 - 0.7)
    # Of a two carry something, of b two: one degree of freedom each, on the log scale, at most the budget of 1.
    ends = []
    for values in ([0.2, 0, 1], [0.4, 1]):
        mean, half = np.mean(values), t.ppf(0.975, 1) * np.std(values, ddof=1) / len(values) ** 0.5 / np.mean(values)
        ends.append((mean, mean * np.exp(-half), min(mean * np.exp(half), 1.0)))
    assert (second.low, second.high) == pytest.approx(ends[0][1:])
    assert (first.low, first.high) == pytest.approx(ends[1][1:])
    (a, la, ua), (b, lb, ub) = ends
    assert gap.low == pytest.approx(a - b - np.hypot(a - la, ub - b))
    assert gap.high == pytest.approx(a - b + np.hypot(ua - a, b - lb))


def test_with_everybody_deserving_it_is_the_burden_of_the_measure():
    table = by_hand(labels=[1] * 7)
    found = {one.group: one.estimate for one in FAMILY.readings(table)[:2]}
    assert found["a"] == pytest.approx((0.2 + 0 + 1 + 0.9) / 4)
    assert found["b"] == pytest.approx((0.4 + 1 + 0.7) / 3)


def test_people_not_solved_to_the_end_leave_a_range():
    # The unknown person of a may need nothing or all of the budget; the other's bound is 0.1.
    found = by_hand(statuses="fnuoooo", bounds=[0.1, nan, 0.0, 0.9, 0.4, 3.0, 0.7])
    mine = next(one for one in FAMILY.readings(found) if one.group == "a" and not one.against)
    assert mine.least == pytest.approx(0.1 / 3)
    assert mine.most == pytest.approx(1.2 / 3)
    assert "UNCERTIFIED" in mine.note
    gap = FAMILY.readings(found)[-1]
    assert gap.least == pytest.approx(0.1 / 3 - 0.7)
    assert gap.most == pytest.approx(1.2 / 3 - 0.7)
    assert gap.low < gap.least
    assert gap.high > gap.most


def test_without_labels_it_says_what_to_give():
    found = FAMILY.readings(by_hand(labels=None))
    assert [type(one) for one in found] == [NotApplicable, NotApplicable]
    assert "labels" in found[0].why


def test_a_group_without_deserving_people_is_undefined_and_last():
    rows = FAMILY.readings(by_hand(labels=[0, 0, 0, 0, 1, 1, 1]))
    assert [one.group for one in rows[:2]] == ["b", "a"]
    assert isnan(rows[1].estimate)
    assert rows[1].note == "NO_LABELLED"
    assert isnan(rows[-1].estimate)


def test_one_deserving_person_has_no_interval():
    rows = FAMILY.readings(by_hand(labels=[1, 0, 0, 0, 1, 1, 0]))
    assert rows[1].estimate == pytest.approx(0.2)
    assert isnan(rows[1].low)
    assert "TOO_FEW" in rows[1].note


def test_nobody_with_recourse_has_no_budget():
    rows = FAMILY.readings(by_hand(statuses="iiiiiii", costs=[nan] * 7, budget=None))
    assert {one.note for one in rows} == {"NO_BUDGET"}


def test_nobody_refused_has_no_burden_and_at_most_that_of_a_rare_refusal():
    rows = FAMILY.readings(by_hand(statuses="nnnnnnn", costs=[nan] * 7))
    assert [one.estimate for one in rows] == [0.0, 0.0, 0.0]
    # Wilson's upper limit of 0 in n people, each asked for the budget of 1 at most.
    z = 1.959963984540054**2
    assert {one.group: one.high for one in rows[:2]} == pytest.approx({"a": z / (3 + z), "b": z / (2 + z)})
    assert [one.low for one in rows[:2]] == [0.0, 0.0]
    assert rows[2].low < 0 < rows[2].high
    assert {one.note for one in rows} == {""}


def test_everybody_refused_at_the_budget_has_no_spread():
    rows = FAMILY.readings(by_hand(statuses="iiiiiii", costs=[nan] * 7))
    assert [one.estimate for one in rows] == [1.0, 1.0, 0.0]
    assert all("NO_SPREAD" in one.note and isnan(one.low) for one in rows)


@pytest.mark.parametrize("n", [60, 250])
def test_few_who_carry_a_burden_leave_the_interval_its_level(n):
    """One in thirty is refused, at efforts between 0 and 1: Student's interval holds in 75 and 91 %."""
    rng, held, of = np.random.default_rng(7), 0, 0
    for _ in range(500):
        values = np.where(rng.random(n) < 1 / 30, rng.random(n), 0.0)
        low, high = sparse_limits(Sums.of(values), int((values > 0).sum()), 1.0, 0.95)
        held, of = held + (low <= 1 / 60 <= high), of + 1
    assert held / of > 0.95 - 3 * (0.95 * 0.05 / of) ** 0.5


def test_several_groups_are_each_compared_with_the_reference():
    rows = FAMILY.readings(audited_of("aabbcc", "oooooo", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], labels=[1] * 6))
    assert [one.group for one in rows] == ["c", "b", "a", "a", "c"]
    assert [one.against for one in rows[3:]] == ["b", "b"]


def test_the_interval_holds_its_level():
    """Gamma efforts, a third approved: the true gap is 2/3 (0.5 - 0.3); 400 audits of 150 deserving people a group."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        costs, approved = rng.gamma(2.0, [[0.25]] * 150 + [[0.15]] * 150).ravel(), rng.random(300) < 1 / 3
        found = audited_of(
            "a" * 150 + "b" * 150, np.where(approved, "n", "o"), np.where(approved, nan, costs), labels=[1] * 300,
            budget=1e6,
        )  # fmt: skip
        gap = FAMILY.readings(found)[-1]
        held += gap.low <= 2 / 3 * 0.2 <= gap.high
    # Four standard errors of the share under 95 %.
    assert held / 400 > 0.95 - 4 * (0.95 * 0.05 / 400) ** 0.5


def test_the_door_of_the_audit():
    audit, labels = world()
    found = audit.social_burden(labels)
    table = audit.recourse
    for group, code in (("-1", 0), ("1", 1)):
        rows = (table.groups.codes == code) & (labels.to_numpy() == 1)
        costs = np.where(table.is_unfavourable, np.minimum(table.effort, audit.budget), 0.0)
        costs = np.where(np.isnan(costs), audit.budget, costs)[rows]
        row = found.frame().set_index(["notion", "group"]).loc[("social_burden", group)]
        assert row["estimate"] == pytest.approx(costs.mean())
        assert row["n"] == rows.sum()
        assert found.people.groupby("group")["burden"].mean()[group] == pytest.approx(costs.mean())
    assert "Difference of social burdens  A = -1  A = 1" in str(found)
    # True and False say the same as the classifier's labels.
    assert audit.social_burden(labels.to_numpy() == 1).readings == found.readings
