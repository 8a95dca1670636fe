"""Every picture of the report is a display: an SVG and its numbers without matplotlib, a figure with it."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from tests.results.test_faces import NAMES, made, people

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.plots import REPORT, AuditPlots, Display
from equieffort.report.blocks import Chart
from equieffort.report.page import outline

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return made()


@pytest.fixture(scope="module")
def displays(audit) -> dict[str, Display]:
    found = {name: getattr(audit.plot, name)() for name in REPORT.values()}
    found["effort differences"] = audit.plot.effort_curve(difference=True)
    found["facts"] = audit.plot.facts()
    found["counterfactual"] = audit.plot.counterfactual_fairness()
    found["twins"] = audit.plot.fair_causal_recourse(audit.fair_causal_recourse(most_people=20))
    found["discrimination"] = audit.plot.causal_discrimination(audit.causal_discrimination(draws=200))
    found["routes"] = audit.plot.group_routes(audit.group_routes(max_routes=2))
    found["huang"] = audit.plot.equality_of_effort("x")
    found["subgroups"] = audit.search_subgroups(conditions=1, fewest=5, fewest_certified=5).plot(4)
    found["power"] = ee.power(audit).plot()
    return found


def words(svg: str) -> str:
    return " ".join("".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text"))


def test_every_picture_of_the_report_has_its_method(audit):
    charts = {block.name for section in outline(audit) for block in section.walk() if isinstance(block, Chart)}
    assert charts == set(REPORT)
    assert all(hasattr(AuditPlots, name) for name in REPORT.values())


def test_a_display_has_svg_and_numbers_without_matplotlib(audit, displays, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for name, one in displays.items():
        root = ElementTree.fromstring(one.svg)
        assert root.tag == f"{SVG}svg", name
        assert one._repr_svg_() == one.svg
        assert "<figure" in one._repr_html_()
        assert "nothing to draw" not in words(one.svg), name
        frame = one.frame()
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) > 0 or name == "graph", name  # of a world without edges
        assert not hasattr(one, "figure_"), name
        assert len(repr(one)) < 400
        with pytest.raises(ParameterError, match=r"equieffort\[plot\]"):
            one.plot()


def test_plot_leaves_figure_and_axes(displays):
    for name, one in displays.items():
        assert one.plot() is one
        assert isinstance(one.figure_, Figure), name
        axes = np.ravel(one.ax_).tolist()
        assert all(ax.figure is one.figure_ for ax in axes), name
        one.figure_.savefig(sys.modules["io"].BytesIO(), format="png", dpi=30)


def test_plot_draws_on_axes_of_the_caller(displays):
    for name, one in displays.items():
        figure = Figure(figsize=(12, 4))
        left, right = figure.subplots(1, 2)
        one.plot(ax=left)
        assert one.figure_ is figure, name
        parts = np.ravel(one.ax_).tolist()
        assert right not in parts
        assert any(part.has_data() or part.texts for part in parts), name
        assert not right.has_data()
    many = displays["measures"].plot()
    given = Figure().subplots(len(many.ax_), 1)
    assert list(displays["measures"].plot(ax=given).ax_) == list(given)
    for bad in ("axes", [1, 2], Figure().subplots(1, 2)):
        with pytest.raises(ParameterError, match="ax is not"):
            displays["measures"].plot(ax=bad)
    with pytest.raises(ParameterError, match="cannot be divided"):
        displays["measures"].plot(ax=Figure().add_axes((0, 0, 1, 1)))


def test_numbers_are_those_of_the_audit(audit, displays):
    pd.testing.assert_frame_equal(displays["acr"].frame(), audit.curve())
    pd.testing.assert_frame_equal(displays["effort_curve"].frame(), audit.effort_curve())
    rates = displays["rates"].frame()["favourable_rate"]
    for group in NAMES:
        assert f"{100 * rates[group]:.1f} %" in words(displays["rates"].svg)
    rows = displays["measures"].frame()
    assert rows["measure"].tolist() == ["acr", "rd", "restricted_effort", "needs_more"]
    assert f"{rows['estimate'][0]:.2f} (" in words(displays["measures"].svg)
    shown = displays["actions"].frame().set_index(["feature", "group"])["share"]
    table = audit.recourse.frame()
    for group in NAMES:
        mine = table[(table["group"] == group) & (table["status"] == "optimal")]
        assert shown["x", f"s = {group}"] == pytest.approx((mine["delta_x"].abs() > 0).mean())
    counts = displays["limits"].frame().groupby("group")["people"].max()
    infeasible = table[table["status"] == "infeasible"].groupby("group").size()
    assert {name.removeprefix("s = "): n for name, n in counts.items()} == infeasible.to_dict()
    around = displays["individual_acr"].frame()
    assert len(around) == int(audit.recourse.is_unfavourable.sum())
    assert displays["graph"].frame().columns.tolist() == ["cause", "effect"]


def test_a_picture_that_an_audit_has_not_says_so(tmp_path):
    easy = people()
    audit = made(easy.assign(x=easy["x"] + 9))
    one = audit.plot.limits()
    assert "Nobody is without a route to approval." in words(one.svg)
    assert one.frame().empty
    assert one.plot().ax_ is not None
    for name in REPORT.values():
        ElementTree.fromstring(getattr(audit.plot, name)().svg)


def test_names_are_text_in_every_picture(displays):
    for name in ("rates", "acr", "measures", "subgroups", "twins"):
        assert "<b>" not in displays[name].svg.replace("&lt;b&gt;", "")
        ElementTree.fromstring(displays[name].svg)


def test_files_by_their_ending(displays, tmp_path, monkeypatch):
    assert displays["rates"].save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert displays["rates"].save(tmp_path / "b.tmp", kind=".pdf").read_bytes().startswith(b"%PDF")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert displays["rates"].save(tmp_path / "a.svg").read_text(encoding="utf-8") == displays["rates"].svg


def test_a_kind_of_picture_that_is_not_known_is_refused_with_those_that_are(displays, tmp_path):
    with pytest.raises(ParameterError) as caught:
        displays["power"].save(tmp_path / "x.svgg")
    assert "which is no kind of picture. Did you mean 'svg'?" in caught.value.what
    assert "'png'" in caught.value.fix
    assert not list(tmp_path.iterdir())
