"""A report on a surrogate says what the verdict says, and which group the surrogate fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.report.test_report import Page, cells, laid_out, page_of
from tests.report.worlds import plain as plain_world
from tests.samples import compared

import equieffort as ee
from equieffort.exports import summary
from equieffort.models.fidelity import RecordedDecisions, Surrogate
from equieffort.report import model_card, render


def with_surrogate(audit: ee.Audit, required: float, **by_group: float) -> ee.Audit:
    return audit.with_provenance(surrogate=Surrogate("logistic", 0.93, by_group, required))


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return plain_world()


@pytest.fixture(scope="module")
def failing(audit) -> ee.Audit:
    """Good enough over all, not for the protected group; cedar is not judged."""
    return with_surrogate(audit, 0.9, ash=0.88, birch=0.96, cedar=0.5)


def plain(card: str) -> str:
    return card.replace("\\", "").replace("&lt;", "<")


def test_page_card_and_json_say_what_the_verdict_says(audit, failing):
    for made in (audit, failing, with_surrogate(audit, 0.8, ash=0.88, birch=0.96)):
        verdict = made.verdict
        assert summary(made)["verdict"]["headline"] == verdict.headline
        for text in (Page(page_of(made)).text, plain(model_card(made))):
            assert verdict.headline in text
            for finding in verdict.findings:
                assert finding.sentence in text
            if verdict.surrogate is not None:
                assert str(verdict.surrogate) in text


def test_the_group_that_falls_short_is_named(failing):
    for text in (Page(page_of(failing)).text, plain(model_card(failing))):
        assert "less than the 90.0 % of decisions asked for (group = ash)" in text
        assert "50.0 %" not in text  # of nobody who is judged


def test_nothing_is_concluded_at_any_level_of_a_failing_surrogate(failing):
    outcomes = {row[-1] for row in cells(laid_out(failing), "levels", "Everybody and subgroups")}
    assert outcomes == {"not concluded"}
    assert {f["outcome"] for f in summary(failing)["verdict"]["findings"]} == {"inconclusive"}


def test_small_groups_of_a_surrogate_are_kept_back(audit):
    n = int(audit.by_group.loc["cedar", "n"])
    protected = replace(audit, recourse=replace(audit.recourse, groups=_protecting(audit, "cedar")))
    made = with_surrogate(protected, 0.9, ash=0.93, birch=0.93, cedar=1 - 2 / n)
    for text in (Page(render(made)).text, plain(model_card(made))):
        assert f"group = cedar: {100 * (1 - 2 / n):.1f} %" in text
    for k in (10, n + 1):
        for text in (Page(render(made, suppress_below=k)).text, plain(model_card(made, suppress_below=k))):
            assert f"{100 * (1 - 2 / n):.1f} %" not in text
            assert "ash: 93.0 %" not in text
            assert "cedar" in text


def _protecting(audit, label):
    groups = audit.recourse.groups
    return replace(groups, protected=(*groups.protected, groups.labels.index(label)))


def test_recorded_decisions_are_shown_beside_those_of_the_surrogate(audit):
    table = audit.recourse
    refused, codes = table.is_unfavourable, table.groups.codes
    differs = np.flatnonzero(np.arange(len(table)) % 9 == 0)
    recorded = refused.copy()
    recorded[differs] = ~recorded[differs]
    made = with_surrogate(audit, 0.8, ash=0.9, birch=0.9).with_provenance(
        recorded=RecordedDecisions(tuple(differs.tolist()), ())
    )
    rows = cells(laid_out(made), "people", "Recorded decisions")
    assert [row[0] for row in rows] == ["ash", "cedar", "birch"]
    for row in rows:
        mine = codes == table.groups.labels.index(row[0])
        parts = (recorded, refused, recorded & ~refused, refused & ~recorded)
        assert [row[2], *row[4:]] == [str(int((mine & part).sum())) for part in parts]
        assert [row[1], row[3]] == [f"{100 * part[mine].mean():.1f} %" for part in (recorded, refused)]
    share = max(recorded.mean(), 1 - recorded.mean())
    word = "Refusing" if recorded.mean() >= 0.5 else "Approving"
    said = f"{word} everybody would agree with {100 * share:.1f} % of the decisions."
    assert said in Page(render(made)).text
    assert said in plain(model_card(made))
    hidden = {row[0]: row[1:] for row in cells(laid_out(made, 30), "people", "Recorded decisions")}
    assert set(hidden["cedar"]) <= {"<30", "hidden", "0"}
    assert cells(laid_out(audit), "people", "Everybody")
    assert "Recorded decisions" not in page_of(audit)


def test_kept_back_findings_say_on_which_side_they_lie(audit):
    decided = replace(audit, criteria=ee.Criteria(tau=1.05))
    acr = compared(decided).iloc[0]
    assert acr["acr_low"] > 1.05
    for made in (Page(render(decided, suppress_below=5)).text, plain(model_card(decided, suppress_below=5))):
        assert "the ratio of average efforts lies above 1.05." in made
        assert f"(95 % interval {acr['acr_low']:.2f} to {acr['acr_high']:.2f})" in made
        assert "beyond the threshold." not in made
