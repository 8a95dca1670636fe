"""The verdict of a surrogate model says so first, and concludes nothing when it repeats too few decisions."""

from __future__ import annotations

import dataclasses

import pytest

import equieffort as ee
from equieffort.models.fidelity import Surrogate
from equieffort.paper.extras import german_audit

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

NOTE = Surrogate("logistic", 0.93, {"female": 0.91, "male": 0.94}, required=0.9)


def with_note(audit, **changes):
    return audit.with_provenance(surrogate=dataclasses.replace(NOTE, **changes))


@pytest.fixture(scope="module")
def audit():
    # The estimate is judged, and is unequal: chance must not hide what little agreement takes away.
    return dataclasses.replace(german_audit(), criteria=ee.Criteria(level=None))


def test_the_first_sentence_says_so(audit):
    noted = with_note(audit)
    first = str(noted.verdict).split(": ", 1)[1]
    assert first.startswith("This audits a logistic model trained on the decisions, not the system that made them")
    assert "93.0 %" in first
    assert "sex = female: 91.0 %" in first
    assert noted.verdict.outcome == audit.verdict.outcome
    assert "SURROGATE" not in noted.verdict.codes


@pytest.mark.parametrize("changes", [{"agreement": 0.89}, {"by_group": {"female": 0.89, "male": 0.99}}])
def test_too_little_agreement_concludes_nothing(audit, changes):
    assert audit.verdict.outcome == "unequal"
    noted = with_note(audit, **changes)
    assert noted.verdict.outcome == "inconclusive"
    assert noted.verdict.codes[0] == "SURROGATE"
    assert "less than the 90.0 % of decisions asked for" in str(noted.verdict)
    # It says where, and calls nothing equal or unequal beside it.
    assert ("asked for (overall)" if "agreement" in changes else "asked for (sex = female)") in str(noted.verdict)
    for finding in noted.verdict.findings:
        assert finding.outcome == "inconclusive"
        assert finding.sentence.startswith("This concerns the surrogate model only: ")


def test_a_group_that_is_not_judged_does_not_decide(audit):
    noted = with_note(audit, by_group=NOTE.by_group | {"bystanders": 0.1})
    assert noted.verdict.outcome == audit.verdict.outcome
    assert "bystanders" not in str(noted.verdict)


def test_it_holds_at_every_level_and_after_saving(audit, tmp_path):
    noted = with_note(audit, agreement=0.5)
    noted.save(tmp_path / "noted.audit")
    loaded = ee.load(tmp_path / "noted.audit")
    for reading in (loaded.verdict, loaded.subgroup("age < 30").verdict, loaded.individual(1, quantile=0.2).verdict):
        assert reading.outcome == "inconclusive"
        assert "SURROGATE" in reading.codes
