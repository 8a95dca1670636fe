"""Comparing audits: every number recomputed in another way."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from tests.results.comparison.worlds import made

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.exports import plain
from equieffort.results.comparison import CHANGES, compare_audits


def test_an_audit_compared_with_itself_has_not_changed():
    one = made()
    found = compare_audits(one, one)
    assert found.people.empty
    assert found.noise["change"].tolist() == [1.0, 0.0]
    assert not found.noise["beyond_noise"].any()
    assert not found.is_worse
    assert found.counts.set_index("group")["unchanged"].to_dict() == {"ash": 40, "birch": 40}
    assert (found.matched, found.only_before, found.only_after) == (80, 0, 0)


def test_measures_by_group_are_those_of_the_two_tables():
    one, two = made(), made(threshold=7.0)
    found = compare_audits(one, two).by_group.set_index("group")
    for group in ("ash", "birch"):
        for name, audit in (("before", one), ("after", two)):
            frame = audit.recourse.frame().query("group == @group and status != 'not_needed'")
            acting = frame[frame["status"] == "optimal"]
            assert found.loc[group, f"phi_{name}"] == pytest.approx(acting["cost"].mean())
            assert found.loc[group, f"rho_{name}"] == pytest.approx(len(acting) / len(frame))
        change = found.loc[group, "phi_after"] - found.loc[group, "phi_before"]
        assert found.loc[group, "phi_change"] == pytest.approx(change)
    ratio = found.loc["ash", "phi_after"] / found.loc["birch", "phi_after"]
    assert found.loc["ash", "acr_after"] == pytest.approx(ratio)
    assert found.loc["ash", "rd_after"] == pytest.approx(
        found.loc["birch", "rho_after"] - found.loc["ash", "rho_after"]
    )


def test_saved_audits_compare_as_live_ones_do(tmp_path):
    one, two = made(), made(threshold=7.0)
    for name, audit in (("a", one), ("b", two)):
        audit.save(tmp_path / f"{name}.audit")
    live = compare_audits(one, two)
    read = compare_audits(ee.load(tmp_path / "a.audit"), ee.load(tmp_path / "b.audit"))
    pd.testing.assert_frame_equal(live.noise, read.noise)
    pd.testing.assert_frame_equal(live.by_group, read.by_group)
    pd.testing.assert_frame_equal(live.people, read.people, check_index_type=False)
    assert str(live) == str(read)


def test_everything_fits_into_json():
    found = compare_audits(made(), made(threshold=7.0))
    read = json.loads(json.dumps(plain(found.to_dict()), allow_nan=False))
    assert read["matched"] == 80
    assert {row["change"] for row in read["people"]} <= set(CHANGES)
    assert read["people"][0]["label"].startswith("p")


def test_draws_must_be_a_count():
    with pytest.raises(ParameterError, match="draws is 0"):
        compare_audits(made(), made(), draws=0)
