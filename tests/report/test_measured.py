"""The measures on the page: the picture shows them where they are, the tables say them in words, few stay hid."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, log, nan
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited
from tests.report.test_report import Page, cells, charts_of, laid_out, page_of, tables_of
from tests.report.worlds import plain as plain_world
from tests.report.worlds import unsettled, world
from tests.samples import compared

import equieffort as ee
from equieffort.effort.measures import JUDGED, MEASURES, NOTES
from equieffort.recourse.solvers import Status
from equieffort.report import model_card, render
from equieffort.report.forest import Panel, Point, forest_chart
from equieffort.report.front import careful, tiles
from equieffort.report.material import Material
from equieffort.report.words import plain
from equieffort.words.shown import caveats


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return plain_world()


def drawing(panels, **given) -> ElementTree.Element:
    return ElementTree.fromstring(forest_chart("x", "title", "words", panels, interval="95 %", **given))


def ends(row: ElementTree.Element) -> list[float]:
    """Where the interval begins, the estimate stands and the interval ends."""
    line = row.find("line")
    mark = row.find("*[@class='estimate']")
    middle = float(mark.get("cx")) if mark.get("cx") else float(mark.get("x")) + float(mark.get("width")) / 2
    return [float(line.get("x1")), middle, float(line.get("x2"))]


# -- picture ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_ratio", "values"), [(True, (0.5, 1.0, 4.0)), (False, (-0.1, 0.05, 0.3))])
def test_a_row_shows_its_numbers_where_they_are(is_ratio, values):
    low, estimate, high = values
    zone = (0.8, 1.25) if is_ratio else (-0.05, 0.05)
    point = Point("", estimate, low, high, "text")
    root = drawing([Panel("t", "r", [point], 1.0 if is_ratio else 0.0, is_ratio, zone=zone)])
    at = ends(root.find("g"))
    box = root.find("rect[@class='zone']")
    at += [float(box.get("x")), float(box.get("x")) + float(box.get("width"))]
    scaled = [log(v) if is_ratio else v for v in (*values, *zone)]
    # All of them lie on one axis: places are the values, scaled and shifted.
    slope = (at[2] - at[0]) / (scaled[2] - scaled[0])
    assert slope > 0
    for place, value in zip(at, scaled, strict=True):
        assert place == pytest.approx(at[0] + slope * (value - scaled[0]), abs=0.2)
    marks = [(float(t.get("x")), float(t.text)) for t in root.iter("text") if t.get("font-size") == "11"]
    assert len(marks) >= 2
    for place, shown in marks:
        value = log(shown) if is_ratio else shown / 100
        assert place == pytest.approx(at[0] + slope * (value - scaled[0]), abs=0.5 if is_ratio else 0.2)


def test_ratios_share_an_axis_and_others_have_their_own():
    def panel(low, high, **more):
        return Panel("t", "r", [Point("", (low * high) ** 0.5, low, high, "")], 1.0, True, **more)

    share = Panel("t", "r", [Point("", 0.6, 0.5, 0.7, "")], 0.5, is_share=True, is_judged=False)
    root = drawing([panel(0.5, 2.0), share, panel(0.5, 4.0, is_judged=False)])
    first, middle, last = (ends(row) for row in root.iter("g"))
    assert first[0] == last[0] < first[2] < last[2]
    assert middle[2] == last[2] > first[2]


def test_intervals_without_end_are_arrows_and_missing_ones_are_not_drawn():
    points = [
        Point("a", 1.0, 0.0, inf, "no end"), Point("b", 2.0, nan, nan, "no interval"),
        Point("c", nan, nan, nan, "none"), Point("d", inf, nan, nan, "unlimited"),
    ]  # fmt: skip
    root = drawing([Panel("t", "r", points, 1.0, True, zone=(0.0, 1.25))])
    rows = list(root.iter("g"))
    assert [len(row.findall("path[@class='arrow']")) for row in rows] == [2, 0, 0]
    assert [len(row.findall("*[@class='estimate']")) for row in rows] == [1, 1, 0]
    assert {"no end", "no interval", "none", "unlimited"} <= {t.text for t in root.iter("text")}
    assert not re.search("nan|inf", ElementTree.tostring(root, encoding="unicode"))


def test_a_share_has_its_unit_behind_every_number():
    """Not "19 (no interval) %"."""
    X = pd.DataFrame({"sex": list("fm") * 8, "pay": [1.0, 2.0] + [9.0] * 14})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"pay": ee.Feature("actionable", upper=9)}
    )
    scm = ee.StructuralCausalModel([], nodes=["pay"]).fit(X)
    few = ee.audit(ee.LinearScore({"pay": 1.0}, threshold=4.0), X, schema=schema, scm=scm)
    (chart,) = charts_of(laid_out(few)[0])
    shown = {panel.title: panel.points[0].text for panel in chart.given["panels"]}
    # One woman and one man are refused, and she needs more.
    assert shown["Probability of needing more effort"] == "100 % (no interval)"


def test_the_first_page_has_the_judged_measures_then_two_more(audit):
    (chart,) = charts_of(laid_out(audit)[0])
    panels = chart.given["panels"]
    names = ["acr", "rd", "restricted_effort", "needs_more"]
    assert [panel.title for panel in panels] == [MEASURES[name].title for name in names]
    assert [panel.is_judged for panel in panels] == [True, True, False, False]
    assert [panel.remark for panel in panels[2:]] == ["not judged", "not judged"]
    assert panels[0].zone == pytest.approx((0.8, 1.25))
    assert panels[1].zone == pytest.approx((-0.05, 0.05))
    assert panels[2].zone is panels[3].zone is None
    frame = audit.measures.query("level == 'system' and group == 'ash'").set_index("measure")
    for name, panel in zip(names, panels, strict=True):
        (point,) = panel.points
        assert [point.estimate, point.low, point.high] == frame.loc[name, ["estimate", "low", "high"]].tolist()
        if name != "needs_more":
            assert panel.points[0].text.startswith(re.sub(" points", "", MEASURES[name].show(point.estimate)))


def test_any_measure_can_be_judged_and_drawn(audit):
    every = replace(audit, criteria=ee.Criteria(judged=JUDGED, tau=2.0))
    (chart,) = charts_of(laid_out(every)[0])
    assert [panel.title for panel in chart.given["panels"]] == [
        MEASURES[name].title for name in (*JUDGED, "needs_more")
    ]
    zones = {panel.title: panel.zone for panel in chart.given["panels"]}
    assert zones["Impact ratio"] == pytest.approx((0.5, 2.0))
    text = Page(render(every)).text
    assert "lower is worse" in text
    one_sided = replace(audit, criteria=ee.Criteria(rule=ee.OneSided()))
    assert "equal: up to 1.25" in render(one_sided)


def test_the_table_behind_it_holds_the_adjusted_p_values(audit):
    rows = {row[0]: row for row in cells(laid_out(audit), "verdict", "The judged measures")}
    frame = audit.measures.query("level == 'system' and group == 'ash'").set_index("measure")
    for name in ("acr", "rd"):
        assert rows[MEASURES[name].title][-1] == f"{frame.loc[name, 'p_adjusted']:.2g}"
    assert rows[MEASURES["needs_more"].title][-1] == ""
    assert rows[MEASURES["acr"].title][5:7] == ["142", "124"]


def several() -> ee.Audit:
    """Four groups against a fifth, all judged; one of them far worse off."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"group": np.array(list("abcde"))[np.arange(1500) % 5], "pay": rng.normal(20, 5, 1500).round(1)})
    X["pay"] -= 6.0 * (X["group"] == "c")
    schema = ee.Schema(
        sensitive="group", protected=list("abcd"), reference="e", favourable=True,
        features=unlimited({"pay": "actionable"}),
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["group", "pay"]).fit(X)
    return ee.audit(ee.LinearScore({"pay": 1.0}, threshold=22.0), X, schema=schema, scm=scm)


def test_many_groups_are_told_in_one_line_and_drawn_by_effect():
    made = several()
    outcomes = {f.comparison.group: f.outcome for f in made.verdict.findings}
    assert outcomes["c"] == "unequal"
    front = next(block for block in laid_out(made)[0].blocks if hasattr(block, "said"))
    told = [plain(words) for words in front.said]
    assert told[0] == "Unequal: c."
    assert told[-1].endswith(". Group by group.")
    lines = [line.removesuffix(" Group by group.") for line in told]
    assert sorted(name for line in lines for name in line.split(": ")[1].rstrip(".").split(", ")) == list("abcd")
    (chart,) = charts_of(laid_out(made)[0])
    away = compared(made)["acr"].drop("e").map(np.log).abs().sort_values(ascending=False)
    assert compared(made)["rd"].dropna().abs().max() < 0.01, "so that the ratios alone are the order"
    for panel in chart.given["panels"]:
        assert [point.label for point in panel.points] == [f"group = {label}" for label in away.index]
    assert [row[1] for row in cells(laid_out(made), "levels", "Everybody")] == away.index.tolist()
    # Each of them in words comes later.
    text = Page(render(made)).text
    start = text.index("intervals allow for chance in who", text.index("people were audited"))
    assert all(finding.sentence in text[start:] for finding in made.verdict.findings)
    assert [value for tile in tiles(Material.of(made, 0))[:1] for _, value in tile.lines][-1].endswith("of 300")


# -- tables -----------------------------------------------------------------------------------------------------------


def noted(audit) -> dict[str, str]:
    """What is said below the table of measures, by the title of the measure that bears the mark."""
    section = next(s for s in laid_out(audit) if s.name == "measures")
    table = next(t for t in tables_of(section) if plain(t.caption).startswith("Every measure"))
    foot = dict(plain(words).split(" ", 1) for words in table.foot)
    found = {}
    for row in table.rows:
        title, _, mark = plain(row[0]).partition(" [")
        found[title.removesuffix(" (judged)")] = foot[f"[{mark}"] if mark else ""
    assert set(foot.values()) == set(found.values()) - {""}, "every remark is somebody's"
    return found


def test_every_measure_is_in_the_table(audit):
    rows = cells(laid_out(audit), "measures", "Every measure, ash against birch")
    rows = [[row[0].partition(" [")[0], *row[1:]] for row in rows]
    frame = audit.measures.query("level == 'system' and group == 'ash'")
    assert [row[0].removesuffix(" (judged)") for row in rows] == [MEASURES[name].title for name in frame["measure"]]
    assert [row[0].endswith(" (judged)") for row in rows] == [name in ("acr", "rd") for name in frame["measure"]]
    for row, found in zip(rows, frame.itertuples(), strict=True):
        assert row[1] == MEASURES[found.measure].show(found.estimate)
        assert row[2].split(" to ")[1] == MEASURES[found.measure].show(found.high)
        assert row[3:5] == [str(found.n), str(found.n_against)]


def head_of(audit, caption):
    section = next(s for s in laid_out(audit) if s.name == "measures")
    return next([plain(cell) for cell in t.head] for t in tables_of(section) if plain(t.caption).startswith(caption))


def test_certain_ranges_are_shown_where_they_differ(audit):
    assert "certain range" not in head_of(audit, "Every measure, ash")
    some = unsettled(audit)
    assert head_of(some, "Every measure, ash")[3] == "certain range"
    row = cells(laid_out(some), "measures", "Every measure, ash")[1]
    found = some.measures.query("measure == 'rd' and group == 'ash' and level == 'system'").iloc[0]
    assert row[3] == f"{found['least'] * 100:.1f} to {found['most'] * 100:.1f} points"
    acr = cells(laid_out(some), "measures", "Every measure, ash")[0]
    assert acr[3] == acr[2] == "0.00 to unlimited", "nothing is known of somebody, so that the ratio can be anything"


def test_notes_are_in_words(audit):
    table = audit.recourse
    lost = table.has_action & (table.groups.codes == table.groups.labels.index("ash"))
    arrays = {
        name: getattr(table, name).copy() for name in ("status", "cost", "bound", "intervention_mask", "delta", "level")
    }
    for name, value in (
        ("status", Status.INFEASIBLE),
        ("cost", nan),
        ("bound", inf),
        ("intervention_mask", 0),
        ("delta", 0.0),
    ):
        arrays[name][lost] = value
    arrays["level"][lost] = -1
    stuck = replace(audit, recourse=replace(table, **arrays))
    assert set(stuck.recourse.frame().query("group == 'ash'")["status"]) == {"infeasible", "not_needed"}
    rows = noted(stuck)
    assert rows[MEASURES["acr"].title] == NOTES["NO_RECOURSE"]
    assert rows[MEASURES["median_effort"].title] == NOTES["MEDIAN_INFINITE"]
    for text in (Page(render(stuck)).text, model_card(stuck)):
        assert "NO_RECOURSE" not in text
        assert not re.search(r"\b(nan|inf)\b", text)


@dataclass(frozen=True)
class Spread(ee.measures.Measure):
    """A measure of somebody's own."""

    name = "spread"
    title = "Ratio of <spreads>"
    neutral = 1.0

    def estimate(self, pair):
        return float(pair.mine.finite.std() / pair.theirs.finite.std())


def test_a_measure_of_ones_own_is_in_the_table(audit, tmp_path):
    own = replace(audit, own=(Spread(),))
    found = own.measures.query("measure == 'spread' and level == 'system' and group == 'ash'")["estimate"].item()
    row = cells(laid_out(own), "measures", "Every measure, ash")[-1]
    assert row[0].startswith("Ratio of <spreads> [")
    assert row[1:3] == [f"{found:.3g}", "–"]
    assert noted(own)["Ratio of <spreads>"] == NOTES["NO_INTERVAL"]
    assert "Ratio of <spreads>" in Page(render(own)).text
    own.save(tmp_path / "own.audit")
    again = cells(laid_out(ee.load(tmp_path / "own.audit")), "measures", "Every measure, ash")[-1]
    assert again[0].startswith("spread [")
    assert again[1:3] == [f"{found:.3g}", "–"]
    assert str(own).count("Ratio of <spreads>") == 2
    assert "Ratio of &lt;spreads&gt;" in own._repr_html_()


def test_sources_of_chance_stand_beside_each_other(audit):
    again = world(n=160).resample(ee.Equations(replicates=12))
    assert again.verdict.chance == "equations"
    frame = again.measures.query("level == 'system' and group == 'ash'")
    rows = cells(laid_out(again), "measures", "Every measure, ash")
    at = head_of(again, "Every measure, ash").index("chance of")
    assert [row[at] for row in rows] == frame["chance"].tolist()
    assert set(frame["chance"]) == {"people", "equations"}
    judged = [row for row in rows if row[0].endswith("(judged)")]
    assert {row[at] for row in judged} == {"equations"}
    found = frame.query("chance == 'equations'").set_index("measure").loc["acr"]
    (chart,) = charts_of(laid_out(again)[0])
    assert [chart.given["panels"][0].points[0].low] == [found["low"]]
    assert len(chart.given["panels"][0].points) == 1
    for text in (str(again), again._repr_html_(), Page(render(again)).text):
        assert "what the equations learned from them" in text
        assert f"{found['low']:.2f} to {found['high']:.2f}" in text
    axes = again.plot.measures().plot().figure_.axes[0]
    (line,) = (line for line in axes.lines if line.get_gid() == "interval ash")
    assert list(line.get_xdata()) == [found["low"], found["high"]]


def test_only_judged_groups_have_a_star(audit):
    lines = str(audit).splitlines()
    start = lines.index("group = cedar against group = birch")
    assert sum(line.startswith("*  ") for line in lines[:start]) == 2
    assert not any(line.startswith("*  ") for line in lines[start:])


# -- what is kept back ------------------------------------------------------------------------------------------------


def test_hidden_measures_are_not_drawn(audit):
    k = 10  # Eight people in ash and three in birch have no route.
    section = laid_out(audit, k)[0]
    (chart,) = charts_of(section)
    shown = {panel.title: panel.points[0] for panel in chart.given["panels"]}
    for name in ("rd", "restricted_effort", "needs_more"):
        point = shown[MEASURES[name].title]
        assert point.text == "hidden"
        assert all(np.isnan(value) for value in (point.estimate, point.low, point.high))
    assert shown[MEASURES["acr"].title].text != "hidden"
    rows = {row[0]: row for row in cells(laid_out(audit, k), "verdict", "The judged measures")}
    assert rows[MEASURES["rd"].title][2:4] == ["hidden", "hidden"]
    # Both p-values are made of the hidden one too.
    assert rows[MEASURES["acr"].title][-1] == rows[MEASURES["rd"].title][-1] == "hidden"
    assert rows[MEASURES["acr"].title][5:7] == ["hidden", "hidden"]
    found = audit.measures.query("level == 'system' and group == 'ash'").set_index("measure")
    for text in (Page(page_of(audit, k)).text, model_card(audit, suppress_below=k)):
        for name in ("rd", "restricted_effort", "needs_more", "burden"):
            assert MEASURES[name].show(found.loc[name, "high"]) not in text
        assert "142" not in text
        assert "124" not in text


def test_the_first_page_counts_nobody_who_is_kept_back(audit):
    whole = Page(page_of(audit)).text
    assert "(150 against 127 refused people)" in whole
    refused = audit.by_group["n_unfavourable"]
    assert (refused["ash"], refused["birch"]) == (150, 127)
    for text in (Page(page_of(audit, 140)).text, model_card(audit, suppress_below=140)):
        assert "127" not in text
        assert "against 127" not in text
        assert "The data" in text or "Efforts differ" in text
    lines = {tile.title: [value for _, value in tile.lines] for tile in tiles(Material.of(audit, 140))}
    assert lines["Refused"] == ["hidden", "<140", "<140"]
    assert "People to decide it" not in lines
    assert "People to decide it" in [tile.title for tile in tiles(Material.of(audit, 0))]


def test_caveats_under_suppression_have_no_counts():
    small = world(n=120)
    said = {one.code: one for one in caveats(small.verdict, small.recourse, small.provenance.fit)}
    n = small.by_group.loc["birch", "n_unfavourable"]
    assert f"{n} refused people with group = birch" in said["SMALL_GROUPS"].text
    texts = [plain(item) for item in careful(Material.of(small, 10))]
    assert any(text.startswith("Few refused people. With fewer") for text in texts)
    assert f"{n} refused" not in " ".join(texts)


# -- caveats ----------------------------------------------------------------------------------------------------------


def codes(audit: ee.Audit) -> list[str]:
    return [one.code for one in caveats(audit.verdict, audit.recourse, audit.provenance.fit)]


def test_caveats_say_what_weighs_most_first(audit):
    assert codes(audit) == ["CHANCE"]
    assert codes(replace(audit, criteria=ee.Criteria(level=None))) == ["POINT_ESTIMATE"]
    weak = audit.with_provenance(fit=(replace(audit.provenance.fit[0], node="fox", r2=0.001),))
    assert codes(weak) == ["POOR_EQUATIONS", "CHANCE"]
    assert codes(unsettled(audit))[0] == "UNCERTIFIED"
    assert codes(replace(audit, criteria=ee.Criteria(epsilon=0.02))) == ["SELECTION", "CHANCE"]
    assert codes(world(n=60))[0] == "SMALL_GROUPS"
    for made in (audit, weak, unsettled(audit)):
        page, short = page_of(made), made._repr_html_().replace("&#x27;", "'")
        text = Page(page).text
        for one in caveats(made.verdict, made.recourse, made.provenance.fit)[:3]:
            assert one.text in text
            assert f'href="#{one.place}"' in page
            assert one.text in short


def test_assumed_limits_are_a_caveat():
    X = pd.DataFrame({"sex": ["f", "m"] * 40, "pay": np.arange(80.0), "rent": np.arange(80.0)[::-1]})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"pay": "actionable", "rent": "mutable"}
    )
    scm = ee.StructuralCausalModel([], nodes=list(X)).fit(X)
    made = ee.audit(ee.LinearScore({"pay": 1.0}, threshold=60.0), X, schema=schema, scm=scm)
    found = [one for one in caveats(made.verdict, made.recourse, made.provenance.fit) if one.code == "ASSUMED_LIMITS"]
    assert ["'pay'" in one.text for one in found] == [True]
    declared = replace(schema, features=unlimited({"pay": "actionable", "rent": "mutable"}))
    again = ee.audit(ee.LinearScore({"pay": 1.0}, threshold=60.0), X, schema=declared, scm=scm)
    assert "ASSUMED_LIMITS" not in codes(again)


# -- curves -----------------------------------------------------------------------------------------------------------


def test_the_effort_curve_is_drawn_as_it_is(audit):
    section = next(s for s in laid_out(audit) if s.name == "costs")
    (chart,) = charts_of(section)
    curve = audit.effort_curve()
    lines = {line.label: line for line in chart.given["lines"]}
    assert set(lines) == {"group = ash", "group = birch", "group = cedar"}
    for label, line in lines.items():
        rows = curve[curve["group"] == label.removeprefix("group = ")]
        assert list(zip(line.x, line.y, line.low, line.high, strict=True)) == list(
            rows[["effort", "share", "low", "high"]].itertuples(index=False, name=None)
        )


def test_the_effort_curve_of_few_is_coarse_or_hidden(audit):
    coarse = audit.with_provenance(suppress_below=3)
    (chart,) = charts_of(next(s for s in laid_out(coarse) if s.name == "costs"))
    efforts = audit.recourse.frame().query("group == 'ash' and status != 'not_needed'")["cost"].fillna(np.inf)
    line = next(line for line in chart.given["lines"] if line.label == "group = ash")
    assert len(line.x) == 10  # Nine tenths have a route, all do not.
    for x, y in zip(line.x[1:], line.y[1:], strict=True):
        assert (efforts <= x).mean() >= y - 1e-12
        assert (efforts < x).mean() < y
    assert "group = cedar" not in [line.label for line in chart.given["lines"]]  # One person has no route there.
    hidden = next(s for s in laid_out(audit, 10) if s.name == "costs")
    assert charts_of(hidden) == []
