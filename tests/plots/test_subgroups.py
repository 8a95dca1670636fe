"""The picture of a search shows its numbers."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.plots.subgroups import _label

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    rng, n = np.random.default_rng(1), 3000
    people = pd.DataFrame(
        {"S": rng.choice(["a", "b", "c"], n), "x": rng.normal(0, 1, n), "$job_": rng.choice(["$u", "v"], n)}
    )
    people["age"] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(18, 80, n))
    people.loc[(people["S"] == "a") & (people["$job_"] == "$u"), "x"] -= 1.5
    x = ee.Feature("actionable", lower=-np.inf, upper=np.inf)
    schema = ee.Schema(sensitive="S", protected="a", reference="b", favourable=True, features={"x": x})
    scm = ee.StructuralCausalModel([], nodes=["x"]).fit(people)
    with pytest.warns(ee.errors.EquieffortWarning):
        return ee.audit(ee.LinearScore({"x": 1.0}, threshold=0.5), people, schema=schema, scm=scm)


@pytest.mark.parametrize("measure", ["acr", "rd", "impact_ratio"])
def test_marks_and_intervals_are_the_table(audit, measure):
    found = audit.search_subgroups(measure, group="a")
    figure = found.plot(5).plot().figure_
    frame = found.frame()
    frame = frame[frame["p"].notna() & np.isfinite(frame["estimate"])]
    left, right = figure.axes
    marks = {part.get_gid(): part.get_offsets() for part in left.collections}
    flagged = frame[frame["flagged"]]
    assert len(marks["flagged"]) == len(flagged)
    assert len(marks["others"]) == len(frame) - len(flagged)
    np.testing.assert_allclose(np.asarray(marks["others"])[:, 1], frame.loc[~frame["flagged"], "estimate"])
    lines = [line for line in right.lines if (line.get_gid() or "").startswith("interval")]
    assert len(lines) == min(5, len(frame))
    low, high = right.get_xlim()
    for line, row in zip(lines, frame.to_dict("records"), strict=False):
        assert line.get_xdata() == pytest.approx([max(row["low"], low), min(row["high"], high)])
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_words_of_the_picture(audit):
    figure = audit.search_subgroups("acr").plot(30).plot().figure_
    labels = [text.get_text().replace("\n", " ") for text in figure.axes[1].get_yticklabels()]
    assert labels[0].startswith("1  a against b: ")
    assert any("age is missing" in label for label in labels)
    assert "2 comparisons" in figure.get_suptitle()
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_nobody_searched_is_still_a_picture(audit):
    figure = audit.search_subgroups("acr", fewest=5000, fewest_certified=5000).plot().plot().figure_
    assert "None of 0 subgroups flagged" in figure.get_suptitle()
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    with pytest.raises(ParameterError):
        audit.search_subgroups("acr").plot(0)


def test_lines_break_between_conditions_and_never_inside_a_level():
    rule = "music = 'rock and roll and whatever else there is to it' and age > 30 and age <= 40"
    label = _label({"group": "a", "against": "b", "rule": rule, "note": ""}, several=False)
    assert label.split("\n") == ["music = 'rock and roll and whatever else there is …", "and 30 < age <= 40"]
