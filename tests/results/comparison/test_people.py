"""Who is in both audits, and what happened to each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.results.comparison.worlds import made, people

from equieffort.errors import EquieffortWarning
from equieffort.results.comparison import CHANGES, compare_audits


def what_happened(before: str, after: str, cost: float, cost_after: float) -> str:
    """One person by plain rules."""
    if before == after and before in ("not_needed", "infeasible"):
        return "unchanged"
    if after == "not_needed":
        return "newly favourable"
    if after == "infeasible":
        return "newly infeasible"
    if before == "not_needed":
        return "newly refused"
    if before == "infeasible":
        return "newly possible"
    if abs(cost - cost_after) <= 1e-6 * max(cost, cost_after):
        return "unchanged"
    return "more effort" if cost_after > cost else "less effort"


def test_what_happened_to_each_person():
    one, two = made(), made(weights={"income": 1.1, "savings": 0.2}, threshold=6.5, limit=4.0)
    found = compare_audits(one, two)
    left, right = one.recourse.frame(), two.recourse.frame()
    expected = {
        label: what_happened(left.status[label], right.status[label], left.cost[label], right.cost[label])
        for label in left.index
    }
    assert set(expected.values()) >= {"more effort", "less effort", "newly infeasible", "unchanged", "newly refused"}
    changed = {label: change for label, change in expected.items() if change != "unchanged"}
    assert found.people["change"].to_dict() == changed
    assert found.people.index.name == "person"
    for row in found.counts.to_dict("records"):
        mine = [change for label, change in expected.items() if left.group[label] == row["group"]]
        assert {change: row[change] for change in CHANGES} == {change: mine.count(change) for change in CHANGES}


def test_people_are_matched_by_label_not_by_place():
    X = people()
    found = compare_audits(made(X), made(X.iloc[::-1]))
    assert found.people.empty
    assert found.matched == 80


def test_people_in_one_audit_only_are_counted():
    X = people(100)
    found = compare_audits(made(X.iloc[:70]), made(X.iloc[30:]))
    assert (found.matched, found.only_before, found.only_after) == (40, 30, 30)


def test_labels_saved_as_numbers_meet_labels_kept_as_text(tmp_path):
    X = people().reset_index(drop=True)
    found = compare_audits(made(X), made(X.set_axis([str(label) for label in X.index])))
    assert found.matched == 80


def test_a_label_in_another_group_is_another_person():
    X = people()
    moved = X.copy()
    moved.loc["p000", "group"], moved.loc["p001", "group"] = "birch", "ash"
    with pytest.warns(EquieffortWarning, match="2 labels are in both audits, but in different groups"):
        found = compare_audits(made(X), made(moved))
    assert (found.matched, found.only_before, found.only_after) == (78, 2, 2)


def test_row_numbers_of_other_data_are_no_names():
    one, two = people().reset_index(drop=True), people(seed=1).reset_index(drop=True)
    with pytest.warns(EquieffortWarning, match="matched by the number of their row") as caught:
        compare_audits(made(one), made(two))
    assert caught[0].message.code == "AUDIT_LABELS"
    compare_audits(made(one), made(one, threshold=7.0))  # one table, two models: row numbers will do


@pytest.mark.parametrize(("factor", "change"), [
    (1 - 1.7e-5, None), (1 + 1.7e-5, None), (1 - 0.9e-4, None), (1.001, "more effort"), (0.999, "less effort"),
])  # fmt: skip
def test_costs_that_lie_within_the_gap_of_a_solver_are_no_change(factor, change):
    """Before and after the least effort is known up to 1e-4 of it: only what does not overlap has changed."""
    audit = made()
    table = audit.recourse
    acting = table.has_action

    def with_gap(times):
        cost = table.cost * times
        bound = table.bound.copy()
        bound[acting] = cost[acting] * (1 - 1e-4)
        return replace(audit, recourse=replace(table, cost=cost, bound=bound))

    found = compare_audits(with_gap(1.0), with_gap(factor))
    moved = acting & (table.cost > 0)
    assert moved.sum() > 20
    expected = {} if change is None else dict.fromkeys(table.index[moved], change)
    assert found.people["change"].to_dict() == expected
