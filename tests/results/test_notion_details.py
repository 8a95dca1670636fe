"""What asking the model gave for notions comes back from the file as it was, and nothing impossible is read."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.notions.route_worlds import world

import equieffort as ee
from equieffort.errors import AuditFileError, ParameterError
from equieffort.notions.facts.notions import BY_NAME

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


@pytest.fixture(scope="module")
def live() -> ee.Audit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit, _ = world(200, subgroups={"owners": "housing = 'own'"})
    return audit


@pytest.fixture(scope="module")
def kept(live) -> ee.Audit:
    return live.with_notions()


@pytest.fixture(scope="module")
def loaded(kept, tmp_path_factory) -> ee.Audit:
    path = tmp_path_factory.mktemp("kept") / "a.audit"
    kept.save(path)
    return ee.load(path)


def test_macro_tables_are_those_of_the_live_audit(live, loaded):
    for notion in BY_NAME:
        for fewest in (5, 12):
            mine, theirs = (one.facts(notion, min_people=fewest) for one in (loaded, live))
            pd.testing.assert_frame_equal(mine.frame(), theirs.frame())
            assert str(mine) == str(theirs)
    for asked in ({"min_people": 4}, {"phi": 0.4}, {"max_conditions": 1}):
        with pytest.raises(ParameterError, match="holds neither the model"):
            loaded.facts("choice", **asked)


def test_twins_are_those_of_the_live_audit(live, loaded):
    mine, theirs = loaded.counterfactual_fairness(), live.counterfactual_fairness()
    pd.testing.assert_frame_equal(mine.frame(), theirs.frame())
    pd.testing.assert_frame_equal(mine.people, theirs.people)
    pd.testing.assert_frame_equal(mine.efforts, theirs.efforts)
    assert loaded.plot.counterfactual_fairness().svg == live.plot.counterfactual_fairness().svg
    with pytest.raises(ParameterError, match="holds neither the model"):
        mine.twins("b")


def test_routes_are_those_of_the_live_audit(live, loaded):
    pd.testing.assert_frame_equal(loaded.group_routes().front, live.group_routes().front)
    assert str(loaded.group_routes()) == str(live.group_routes())
    with pytest.raises(ParameterError, match="holds neither the model"):
        loaded.group_routes(2)


def test_the_repair_and_single_people_are_those_of_the_live_audit(live, loaded):
    whole, part = loaded.provenance.details.treatments
    assert (whole.treatment, whole.about, part.about) == ("savings", "", "owners")
    found = live.equality_of_effort("savings")
    assert [row["aed"] for row in whole.aed] == found.aed["aed"].tolist()
    inside = live.equality_of_effort("savings", subgroup="housing = 'own'")
    assert [row["aed"] for row in part.aed] == inside.aed["aed"].tolist()
    assert {row["group"] for row in whole.repair} == {"a", "c"}
    for row in whole.repair:
        made = found.repair(row["gamma"], group=row["group"])
        assert (row["at"], row["size"], row["delta_before"]) == (made.at, made.size, made.summary["delta"]["before"])
        # That is what a repair is.
        assert row["delta_after"] == 0
    for at in (0, 7, 31):
        psi = found.individual(position=at).psi
        mine = whole.person(loaded.recourse, at)
        # Of a decision every gamma asks for the same.
        assert mine["now"] == live.recourse.data["savings"].iloc[at]
        np.testing.assert_equal((mine["psi"], mine["effort"]), (psi["psi"].iloc[0], psi["effort"].iloc[0]))


def test_what_is_kept_is_saved_again_byte_by_byte(kept, loaded, tmp_path):
    for name, one in (("a", kept), ("b", loaded)):
        one.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def forged(kept: ee.Audit, **twins: object) -> ee.Audit:
    details = kept.provenance.details
    return kept.with_provenance(details=replace(details, twins=replace(details.twins, **twins)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: {"approved": ((*t.approved[0], 10**6), *t.approved[1:])}, "people who are not there"),
        (lambda t: {"absent": ((-1,), *t.absent[1:])}, "people who are not there"),
        (lambda t: {"levels": ("x", *t.levels[1:])}, "a level that is none: 'x'"),
        (lambda t: {"approved": ((), *t.approved[1:])}, "not decided as they are"),
    ],
)
def test_twins_that_these_people_cannot_have_are_refused(kept, tmp_path, change, told):
    forged(kept, **change(kept.provenance.details.twins)).save(tmp_path / "a.audit")
    with pytest.raises(AuditFileError, match=told):
        ee.load(tmp_path / "a.audit")


def test_the_summary_names_no_single_people(kept):
    assert "details" not in kept.to_dict()["provenance"]
