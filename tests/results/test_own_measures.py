"""A measure of the caller's own: it is read wherever the others are, and saved as what it said."""

from __future__ import annotations

import json
import math
import zipfile

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.effort.verdict import COLUMNS
from equieffort.errors import AuditFileError, EquieffortError, ParameterError
from equieffort.exports import summary

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


class LargestEffort(ee.measures.Measure):
    """No more than a measure must have."""

    name = "largest_effort"
    title = "Ratio of largest efforts"
    equation = "max(C | refused, recourse, group) / max(C | refused, recourse, reference)"

    def estimate(self, pair):
        if not len(pair.mine.finite) or not len(pair.theirs.finite):
            return math.nan
        return float(pair.mine.finite[-1] / pair.theirs.finite[-1])


class Taken(LargestEffort):
    """Called as one of ours."""

    name = "acr"


class Unnamed(LargestEffort):
    """Called nothing that a column could be called."""

    name = "largest effort"


def world(n: int = 80):
    """Scores along a line, half of them too low; the young in one group only."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "x": rng.uniform(0, 10, n),
            "side": np.where(np.arange(n) % 2, "left", "right"),
            "age": np.where(np.arange(n) % 4 < 2, 20, 60),
        }
    )


def audited(**given):
    people = world()
    features = unlimited({"x": "actionable", "age": "immutable"})
    schema = ee.Schema(sensitive="side", protected="left", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=["x", "side", "age"]).fit(people)
    score = ee.LinearScore({"x": 1.0}, threshold=6.0)
    return ee.audit(score, people, schema=schema, scm=scm, subgroups={"young": "age < 30"}, **given)


def largest(mask=slice(None)) -> float:
    """By hand: how far the last of each group is from the threshold."""
    people = world()[mask]
    gaps = (6.0 - people["x"][people["x"] < 6.0]).groupby(people["side"]).max()
    return gaps["left"] / gaps["right"]


def rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["measure"] == "largest_effort"].reset_index(drop=True)


def test_it_is_read_at_every_level():
    audit = audited(measures=[LargestEffort()])
    assert audit.measures.columns.tolist() == list(COLUMNS)
    found = rows(audit.measures)
    assert found[["level", "about"]].to_numpy().tolist() == [["system", "Everybody"], ["subgroup", "young"]]
    assert found["estimate"].tolist() == pytest.approx([largest(), largest(world()["age"] < 30)])
    assert (found["note"] == "NO_INTERVAL").all()
    assert found[["low", "high", "p", "p_adjusted"]].isna().all(axis=None)
    refused = world()["x"] < 6.0
    counts = world()["side"][refused].value_counts()
    assert found.loc[0, ["n", "n_against"]].tolist() == [counts["left"], counts["right"]]
    # The measures of equieffort are as they would be without it.
    others = audit.measures[audit.measures["measure"] != "largest_effort"].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, audited().measures)
    assert str(audit.verdict) == str(audited().verdict)
    assert "largest_effort" in set(audit.individual(0, quantile=0.5).measures["measure"])


@pytest.mark.parametrize("resampled", [None, ee.Bootstrap(20, random_state=0), ee.Equations(replicates=10)])
def test_rows_stand_where_they_stood_after_loading(tmp_path, resampled):
    audit = audited(measures=[LargestEffort()])
    audit = audit if resampled is None else audit.resample(resampled)
    audit.save(tmp_path / "own.audit")
    order = ["level", "about", "group", "against", "chance", "measure"]
    pd.testing.assert_frame_equal(ee.load(tmp_path / "own.audit").measures[order], audit.measures[order])
    assert audit.measures["measure"].iloc[-1] == "largest_effort"
    assert str(ee.load(tmp_path / "own.audit")).count("largest_effort") == str(audit).count("Ratio of largest efforts")


def test_a_saved_audit_keeps_its_rows(tmp_path):
    audit = audited(measures=[LargestEffort()])
    audit.save(tmp_path / "own.audit")
    loaded = ee.load(tmp_path / "own.audit")
    pd.testing.assert_frame_equal(rows(loaded.measures), rows(audit.measures), check_exact=True)
    # Saved again by somebody who does not have the measure, they are still there.
    loaded.save(tmp_path / "again.audit")
    pd.testing.assert_frame_equal(rows(ee.load(tmp_path / "again.audit").measures), rows(audit.measures))
    audited().save(tmp_path / "without.audit")
    assert rows(ee.load(tmp_path / "without.audit").measures).empty


def test_the_summary_has_it(tmp_path):
    audit = audited(measures=[LargestEffort()])
    audit.save(tmp_path / "own.audit")
    for made in (audit, ee.load(tmp_path / "own.audit")):
        told = json.loads(json.dumps(summary(made), allow_nan=False))
        assert told["version"] == 6
        mine = [row for row in told["measures"] if row["measure"] == "largest_effort"]
        assert [row["estimate"] for row in mine] == pytest.approx([largest(), largest(world()["age"] < 30)])
        assert list(mine[0]) == list(COLUMNS)
        assert mine[0]["low"] is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([Taken()], "'acr'"),
        ([Unnamed()], "'largest effort'"),
        ([LargestEffort(), LargestEffort()], "'largest_effort'"),
        ([LargestEffort], "measures"),
        (["largest_effort"], "measures"),
        ([lambda pair: 1.0], "measures"),
        (LargestEffort(), "measures"),
        (5, "measures"),
    ],
    ids=["taken", "no name", "twice", "a class", "a text", "a function", "alone", "a number"],
)
def test_what_is_no_measure_or_has_no_name_of_its_own_is_refused(given, says):
    with pytest.raises(ParameterError) as caught:
        audited(measures=given)
    assert says in caught.value.what
    assert caught.value.fix


def test_it_cannot_be_judged():
    with pytest.raises(EquieffortError) as caught:
        ee.Criteria(judged=("largest_effort",))
    assert caught.value.code == "CRITERIA_INVALID"
    assert "'largest_effort'" in caught.value.what


def test_a_file_of_the_first_version_is_refused_by_its_number(tmp_path):
    audited().save(tmp_path / "new.audit")
    with zipfile.ZipFile(tmp_path / "new.audit") as new, zipfile.ZipFile(tmp_path / "old.audit", "w") as old:
        for name in new.namelist():
            content = new.read(name)
            if name == "audit.json":
                manifest = json.loads(content)
                assert manifest["version"] == 14
                # As the first version wrote it.
                del manifest["own_measures"]
                for key in ("level", "judged", "budget", "adjust"):
                    del manifest["criteria"][key]
                content = json.dumps(manifest | {"version": 1}).encode()
            old.writestr(name, content)
    with pytest.raises(AuditFileError) as caught:
        ee.load(tmp_path / "old.audit")
    assert caught.value.code == "AUDIT_FILE"
    assert "has file version 1; this equieffort reads version 14" in caught.value.what
    assert "Make the audit again" in caught.value.fix
