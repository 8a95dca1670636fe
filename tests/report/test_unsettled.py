"""The report where not everything is known: people without an answer, missing values; and where there are many."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited
from tests.report.test_report import SECTIONS, Page, cells, laid_out
from tests.report.worlds import gaps, plain, unsettled, world

import equieffort as ee
from equieffort.recourse.solvers import Status
from equieffort.report import model_card, render
from equieffort.report.page import outline

MANY = 1300


@pytest.fixture(scope="module")
def audits() -> dict[str, ee.Audit]:
    many = world(n=MANY, subgroups={"cooks": "job = 'cook'"})
    few = plain()
    return {
        "unsettled": unsettled(few),
        "hardly anything known": unsettled(few, every=1),
        "gaps": gaps(),
        "many": many,
        "many unsettled": unsettled(many, every=3),
    }


@pytest.fixture(scope="module")
def rendered(audits):
    """Each report, made once and without a warning."""

    @cache
    def make(name: str, k: int = 0) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return render(audits[name], suppress_below=k)

    return make


@pytest.fixture(scope="module")
def texts(audits, rendered) -> dict[str, str]:
    """What a reader sees of each report."""
    return {name: Page(rendered(name)).text for name in audits}


NAMES = ["unsettled", "hardly anything known", "gaps", "many", "many unsettled"]


def stated(made: ee.Audit, status: Status) -> str:
    """The counts by group as the verdict writes them, those compared first."""
    counts = made.system.groups[f"n_{status.text}"]
    groups = made.recourse.groups
    order = [groups.labels[code] for code in (*groups.compared, groups.reference)]
    return ", ".join(f"{group} {counts[group]:,}" for group in order)


@pytest.mark.parametrize("k", [0, 10])
@pytest.mark.parametrize("name", NAMES)
def test_no_number_that_is_none_is_written(audits, rendered, name, k):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        card = model_card(audits[name], suppress_below=k)
    page = Page(rendered(name, k))
    assert [i for i in page.ids if i in SECTIONS] == [s for s in SECTIONS if s != "levels" or name != "gaps"]
    for text in (page.text, card, " ".join(value for _, _, value in page.attributes)):
        assert not re.search(r"\b(nan|NaN|NaT|None|inf|Infinity)\b|\de\+\d", text)


@pytest.mark.parametrize("name", ["unsettled", "hardly anything known", "gaps", "many unsettled"])
def test_people_of_whom_nothing_is_known_are_counted_by_group(audits, texts, name):
    made = audits[name]
    total = int((made.recourse.status == Status.UNKNOWN).sum())
    assert total > 0
    sentence = (
        f"Of {total:,} refused people ({stated(made, Status.UNKNOWN)}) it is not known whether they have an action"
    )
    assert sentence in texts[name]
    assert sentence in model_card(made).replace("\\", "")
    sections = laid_out(made)
    counts = made.by_group["n_unknown"]
    people = {row[0]: row[8] for row in cells(sections, "people", "Everybody")}
    assert people == {group: f"{n:,}" for group, n in counts.items()}
    head, *reasons = cells(sections, "no-recourse", "Refused people of whom nothing is known")
    order = [row[0] for row in cells(sections, "people", "Everybody")]
    assert head[1:] == [people[group] for group in order]
    by_reason = np.array([[int(cell.replace(",", "")) for cell in row[1:]] for row in reasons])
    assert by_reason.sum(axis=0).tolist() == [counts[group] for group in order]
    assert len(reasons) <= 13


def test_proofs_and_what_is_not_known_are_kept_apart(audits):
    made = audits["unsettled"]
    rows = cells(laid_out(made), "no-recourse", "Refused people without")
    counts = made.system.groups["n_infeasible"]
    assert rows[0] == ["all without a route", *(str(counts[group]) for group in ("ash", "cedar", "birch"))]
    assert not any("not known" in row[0] or "Time ran out" in row[0] for row in rows)
    assert "58 other reasons" in [row[0] for row in cells(laid_out(made), "no-recourse", "Refused people of whom")]


def test_nothing_is_called_proven_where_nothing_is(audits):
    made = audits["unsettled"]
    table = made.recourse
    infeasible = table.status == Status.INFEASIBLE
    status = np.where(infeasible, Status.UNKNOWN, table.status).astype(np.int8)
    table = replace(table, status=status, bound=np.where(infeasible, 0.0, table.bound))
    text = Page(render(replace(made, recourse=table))).text
    assert "proven, not merely not found" not in text
    assert "Of 82 refused people" in text


def test_actions_that_may_not_be_the_cheapest_are_counted(audits, texts):
    for name in ("unsettled", "many unsettled"):
        made = audits[name]
        total = int((made.recourse.status == Status.FEASIBLE).sum())
        expected = f"Of {total:,} refused people ({stated(made, Status.FEASIBLE)}) an action is known that may not be"
        assert expected in texts[name]
    assert "Of 1 refused person (ash 0, cedar 1, birch 0)" in texts["hardly anything known"]
    assert "may not be the cheapest" not in texts["many"]


def test_shares_speak_of_known_actions_where_some_are_not(audits, texts):
    ash = audits["unsettled"].system.groups.loc["ash"]
    said = f"A route is known for 74.0 % ({ash['n_unknown']} unknown) of refused people with group = ash"
    assert said in texts["unsettled"]
    assert ash["n_unfavourable"] * 0.74 == pytest.approx(ash["n_optimal"] + ash["n_feasible"])
    row = audits["many"].by_group.loc["ash"]
    assert f"A route exists for {100 * row['rho']:.1f} % of refused people with group = ash" in texts["many"]


def test_small_counts_of_the_unknown_are_kept_back(audits):
    k = 20
    text = Page(render(audits["gaps"], suppress_below=k)).text
    assert f"Of some refused people (f <{k}, m 21) it is not known" in text
    assert "39 refused people" not in text
    rows = cells(outline(audits["gaps"], k), "no-recourse", "Refused people of whom nothing is known")
    assert rows == [["all of whom it is not known", f"<{k}", "21"]]
    # Few whose action is proven the cheapest are not told by how many are not.
    text = Page(render(audits["unsettled"], suppress_below=7)).text
    assert "cedar hidden" in text


def test_loaded_audits_give_the_same_report(audits, rendered, tmp_path):
    for name in ("unsettled", "gaps"):
        audits[name].save(tmp_path / "x.audit")
        assert render(ee.load(tmp_path / "x.audit")) == rendered(name)


def test_missing_values_are_no_neighbours_and_no_range(audits, texts):
    made = audits["gaps"]
    assert made.recourse.data["income"].isna().any()
    assert "Around individuals nothing can be computed" not in texts["gaps"]
    assert "have missing values and are left out of the distance: people are compared by" in texts["gaps"]
    ranges = {row[0]: row[1] for row in cells(laid_out(made), "appendix", "Actions that leave")}
    low, high = made.recourse.data["debt"].min(), made.recourse.data["debt"].max()
    assert ranges["debt"] == f"{low:,.6g} to {high:,.6g}"
    reasons = cells(laid_out(made), "no-recourse", "Refused people of whom nothing is known")[1:]
    assert [row[0] for row in reasons] == [
        "The value of 'debt' is missing, and what follows from an action depends on it.",
        "The value of 'income' is missing, and an action may set it: what that costs is not known.",
    ]
    assert [sum(int(row[k]) for row in reasons) for k in (1, 2)] == [18, 21]


def test_many_people(audits, rendered):
    made, page = audits["many"], rendered("many")
    assert f"{MANY:,} people were audited" in Page(page).text
    assert len(page) < 200_000
    sections = laid_out(made)
    people = cells(sections, "people", "Everybody")
    assert sum(int(row[2].replace(",", "")) for row in people) == MANY
    assert len(cells(sections, "appendix", "The 10 highest")) == 10
    curve = cells(sections, "curve", "Ratio of mean efforts")
    refused = {row[0]: int(row[3].replace(",", "")) for row in people}
    assert all(int(row[5].replace(",", "")) + int(row[6].replace(",", "")) == refused[row[0]] for row in curve)


def test_large_amounts_are_written_out():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"sex": ["f", "m"] * 40, "income": rng.normal(40_000, 9_000, 80).round()})
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited({"income": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["sex", "income"]).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ee.audit(ee.LinearScore({"income": 1.0}, threshold=90_000.0), X, schema=schema, scm=scm)
    change = made.recourse.frame()["delta_income"]
    expected = f"{change[X['sex'] == 'f'].median():+,.0f}"
    assert len(expected) == 7
    assert cells(outline(made), "actions", "Cheapest")[0][4] == expected
