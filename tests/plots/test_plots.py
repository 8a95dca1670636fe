"""The picture shows the numbers of the curve, and says so."""

from __future__ import annotations

import dataclasses
import io
import sys

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import ParameterError

QUANTILES = (0.3, 0.6, 1.0)


def world(labels: dict[str, str]) -> ee.Audit:
    rng = np.random.default_rng(2)
    names = rng.choice(list("abc"[: len(labels)]), 150)
    X = pd.DataFrame({"s": [labels[name] for name in names], "x": rng.normal(size=150) - (names == "a")})
    schema = ee.Schema(
        sensitive="s",
        protected=labels["a"],
        reference=labels["b"],
        favourable=True,
        features=unlimited({"x": "actionable"}),
    )
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    return ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm, criteria=ee.Criteria(tau=1.5))


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return world({"a": "ash", "b": "birch", "c": "cedar"})


def test_lines_and_bands_are_the_curve(audit):
    axes = audit.plot.acr(QUANTILES).plot().figure_.axes[0]
    curve = audit.curve(QUANTILES)
    lines = {line.get_label(): line.get_xydata() for line in axes.lines if " against " in str(line.get_label())}
    bands = [b for b in axes.collections if hasattr(b, "get_paths")]
    parts = list(curve.groupby(["group", "against"], sort=False))
    assert len(lines) == len(parts) == len(bands) == 4
    for ((group, against), part), drawn in zip(parts, bands, strict=True):
        assert np.array_equal(lines[f"s = {group} against s = {against}"], part[["quantile", "acr"]].to_numpy())
        heights = drawn.get_paths()[0].vertices[:, 1]
        assert {part["acr_low"].min(), part["acr_high"].max()} == {heights.min(), heights.max()}


def test_words_around_the_picture(audit):
    axes = audit.plot.acr(QUANTILES).plot().figure_.axes[0]
    assert "ACR" in axes.get_ylabel()
    assert "neighbours" in axes.get_xlabel()
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == [
        "s = ash against s = birch",
        "s = cedar against s = birch",
        "s = birch against s = ash",
        "s = birch against s = cedar",
        "equal within tau = 1.5",
    ]


def test_lines_differ_in_more_than_colour(audit):
    lines = [
        line for line in audit.plot.acr(QUANTILES).plot().figure_.axes[0].lines if " against " in str(line.get_label())
    ]
    assert len({line.get_linestyle() for line in lines}) == len(lines) == len({line.get_color() for line in lines})


def test_a_figure_can_be_written_and_leaves_no_global_state(audit):
    before = "matplotlib.pyplot" in sys.modules
    buffer = io.BytesIO()
    audit.plot.acr(QUANTILES).plot().figure_.savefig(buffer, format="png")
    assert buffer.getvalue().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_a_loaded_audit_draws_the_same(audit, tmp_path):
    audit.save(tmp_path / "x.audit")
    again = ee.load(tmp_path / "x.audit").plot.acr(QUANTILES).plot().figure_.axes[0]
    for a, b in zip(audit.plot.acr(QUANTILES).plot().figure_.axes[0].lines, again.lines, strict=True):
        assert np.array_equal(a.get_xydata(), b.get_xydata())


def test_without_matplotlib_the_extra_is_named(audit, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ParameterError, match=r"equieffort\[plot\]") as caught:
        audit.plot.acr(QUANTILES).plot()
    assert caught.value.code == "OPTIONAL_DEPENDENCY"


@pytest.mark.parametrize("name", ["_hidden", "$x^$", "_$x^$", "a\\$b"])
def test_names_of_groups_are_shown_as_they_are(name):
    figure = world({"a": name, "b": "birch"}).plot.acr(QUANTILES).plot().figure_
    texts = figure.axes[0].get_legend().get_texts()
    assert [text.get_text() for text in texts[:2]] == [
        f"s = {name} against s = birch",
        f"s = birch against s = {name}",
    ]
    figure.savefig(io.BytesIO())


@pytest.mark.parametrize(("rule", "ends"), [(ee.TwoSided(), (0.5, 2.0)), (ee.OneSided(), (0.0, 2.0))])
def test_the_grey_band_is_what_the_rule_calls_equal(audit, rule, ends):
    judged = dataclasses.replace(audit, criteria=ee.Criteria(tau=2.0, rule=rule))
    axes = judged.plot.acr(QUANTILES).plot().figure_.axes[0]
    (band,) = (patch for patch in axes.patches if "tau" in patch.get_label())
    assert (band.get_y(), band.get_y() + band.get_height()) == ends


# -- measures ---------------------------------------------------------------------------------------------------------


def test_a_row_of_the_forest_is_the_measure(audit):
    every = dataclasses.replace(audit, criteria=ee.Criteria(judged=("acr", "rd", "burden"), tau=1.5))
    figure = every.plot.measures().plot().figure_
    names = ["acr", "rd", "burden", "restricted_effort", "needs_more"]
    assert len(figure.axes) == len(names)
    frame = every.measures.query("group == 'ash'").set_index("measure")
    for name, axes in zip(names, figure.axes, strict=True):
        found = {line.get_gid(): line.get_xdata() for line in axes.lines if line.get_gid()}
        row = frame.loc[name]
        assert found["estimate ash"].tolist() == [row["estimate"]]
        assert list(found["interval ash"]) == [row["low"], row["high"]]
        bands = [patch for patch in axes.patches if patch.get_label() == "counts as equal"]
        assert len(bands) == (name in every.criteria.judged)
        assert ("(not judged)" in axes.get_title(loc="left")) == (name not in every.criteria.judged)
        assert axes.get_xscale() == ("linear" if name in ("rd", "needs_more") else "log")
    (band,) = (patch for patch in figure.axes[0].patches if patch.get_label() == "counts as equal")
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / 1.5, 1.5))
    # Only what is judged is drawn.
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["s = ash"]


@pytest.mark.parametrize("name", ["_hidden", "$x^$"])
def test_measures_of_few_or_nobody_are_drawn_as_far_as_they_go(name):
    made = world({"a": name, "b": "birch"})
    none = dataclasses.replace(made, criteria=ee.Criteria(level=None, min_people=1))
    table = made.recourse
    nobody = dataclasses.replace(table, status=np.zeros_like(table.status))
    for one in (made, none, dataclasses.replace(made, recourse=nobody)):
        figure = one.plot.measures().plot().figure_
        assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [f"s = {name}"]
        figure.savefig(io.BytesIO())


# -- effort curves ----------------------------------------------------------------------------------------------------


def test_steps_and_bands_are_the_effort_curve(audit):
    axes = audit.plot.effort_curve().plot().figure_.axes[0]
    curve = audit.effort_curve()
    lines = {line.get_gid(): line for line in axes.lines}
    assert set(lines) == {"curve ash", "curve birch", "curve cedar"}
    for group, part in curve.groupby("group"):
        line = lines[f"curve {group}"]
        assert line.get_drawstyle() == "steps-post"
        assert np.array_equal(line.get_xydata()[:-1], part[["effort", "share"]].to_numpy())
        assert line.get_ydata()[-1] == part["share"].iloc[-1]
    heights = [band.get_paths()[0].vertices[:, 1] for band in axes.collections]
    expected = [(part["low"].min(), part["high"].max()) for _, part in curve.groupby("group", sort=False)]
    assert [(h.min(), h.max()) for h in heights] == expected
    assert [text.get_text().strip() for text in axes.texts] == ["s = ash", "s = birch", "s = cedar"]
    assert len({line.get_linestyle() for line in axes.lines}) == 3


def test_differences_of_effort_curves(audit):
    axes = audit.plot.effort_curve(difference=True).plot().figure_.axes[0]
    found = audit.effort_curve(difference=True)
    lines = {line.get_gid(): line for line in axes.lines if str(line.get_gid()).startswith("curve")}
    for group, part in found.groupby("group"):
        assert np.array_equal(lines[f"curve {group}"].get_ydata()[:-1], part["difference"].to_numpy())
    assert [text.get_text().strip() for text in axes.texts] == [
        "s = ash minus s = birch",
        "s = cedar minus s = birch",
    ]


def test_effort_curves_of_nobody_and_of_odd_names():
    made = world({"a": "$x^$", "b": "birch"})
    made.plot.effort_curve().plot().figure_.savefig(io.BytesIO())
    table = made.recourse
    nobody = dataclasses.replace(made, recourse=dataclasses.replace(table, status=np.zeros_like(table.status)))
    for difference in (False, True):
        figure = nobody.plot.effort_curve(difference=difference).plot().figure_
        assert [line for line in figure.axes[0].lines if str(line.get_gid()).startswith("curve")] == []
        figure.savefig(io.BytesIO())
