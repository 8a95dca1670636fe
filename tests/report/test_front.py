"""The first page and what it leaves to the others: few words, all groups, even digits, labels."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited
from tests.report.test_report import charts_of, laid_out
from tests.report.worlds import loans, two

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.models.fidelity import Surrogate
from equieffort.report import front
from equieffort.report.blocks import Front, Text
from equieffort.report.material import Material
from equieffort.report.words import plain
from equieffort.words.shown import names_of
from equieffort.world.labels import Labels


@pytest.fixture(scope="module")
def six() -> ee.Audit:
    """Five groups against a sixth; everybody refused has a route."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"group": np.array(list("abcdef"))[np.arange(360) % 6], "pay": rng.normal(20, 6, 360).round(2)})
    X["pay"] -= 3.0 * (X["group"] == "c")
    schema = ee.Schema(
        sensitive="group", protected=list("abcde"), reference="f", favourable=True,
        features=unlimited({"pay": "actionable"}),
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["group", "pay"]).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ee.audit(ee.LinearScore({"pay": 1.0}, threshold=22.0), X, schema=schema, scm=scm)


@pytest.fixture(scope="module")
def surrogate() -> ee.Audit:
    """Two groups with names for readers, and a warning about a column."""
    audit = two({"groups": {"ash": "women", "birch": "men"}, "features": {"pay": "monthly pay"}})
    made = audit.with_provenance(surrogate=Surrogate("logistic", 0.97, {"ash": 0.96, "birch": 0.98}, 0.9))
    warned = EquieffortWarning("GRAPH_ROOTS_ASSUMED", "No edge of the graph mentions 'pay'.")
    return replace(made, warnings=type(audit.warnings)((warned,)))


def first(audit: ee.Audit):
    return laid_out(audit)[0].blocks


def test_a_group_is_never_hidden_to_save_the_line_that_counts_it(six):
    tiles = {tile.title: tile for tile in front.tiles(Material.of(six))}
    assert [plain(name) for name, _ in tiles["Refused"].lines] == [f"group = {label}" for label in "abcdef"]
    assert tiles["Refused"].remark == ""
    assert [(plain(name), value) for name, value in tiles["With a route to approval"].lines] == [
        ("each of 6 groups", "100.0 %")
    ]


def test_rates_of_many_groups_are_titled_by_the_lowest_and_the_highest(six):
    rates = six.system.groups["favourable_rate"]
    (chart,) = [chart for section in laid_out(six) for chart in charts_of(section) if chart.name == "rates"]
    low, high = rates.idxmin(), rates.idxmax()
    assert chart.title == (
        f"Approved: from {100 * rates[low]:.1f} % with group = {low} to {100 * rates[high]:.1f} % with group = {high}"
    )


def test_the_first_page_of_a_surrogate_is_a_badge_a_sentence_and_a_picture(surrogate):
    found = surrogate.verdict.surrogate
    (notice,) = [
        plain(block.words) for block in first(surrogate) if isinstance(block, Text) and block.look == "warning"
    ]
    assert notice == (
        f"This audits a {found.kind} model trained on the decisions, not the system that made them; it repeats "
        f"{100 * found.agreement:.1f} % of decisions it has not seen. Everything below is about this surrogate model. "
        "More."
    )
    (answer,) = [block for block in first(surrogate) if isinstance(block, Front)]
    assert list(answer.said) == []
    sentence = surrogate.verdict.findings[0].sentence
    measures = next(section for section in laid_out(surrogate) if section.name == "measures")
    assert plain(measures.blocks[0].words) == sentence


def test_where_all_bands_count_as_equal_no_title_says_more_effort():
    audit = two({})
    wide = ee.Audit(audit.recourse, ee.Criteria(tau=100.0), audit.neighbourhood, (), audit.provenance)
    (chart,) = [chart for section in laid_out(wide) for chart in charts_of(section) if chart.name == "acr"]
    assert chart.title.endswith(": equal within the thresholds at every size of neighbourhood")


def test_why_nothing_is_concluded_from_a_poor_surrogate_stands_first():
    audit = loans()
    (notice,) = [plain(block.words) for block in first(audit) if isinstance(block, Text) and block.look == "warning"]
    assert "It repeats less than the 90.0 % of decisions asked for" in notice
    assert "Approving everybody" not in notice
    assert len(notice) < len(str(audit.verdict.surrogate)) - 150


def test_efforts_beside_each_other_have_the_same_decimals():
    (chart,) = [chart for section in laid_out(loans()) for chart in charts_of(section) if chart.name == "effort"]
    bars = [bar for _, bars in chart.given["blocks"] for bar in bars if np.isfinite(bar.value)]
    shown = [bar for bar in bars if bar.value > 0 and not bar.text.startswith("<")]
    largest = max(bar.value for bar in bars)
    places = max(0, 2 - int(np.floor(np.log10(largest))))
    assert len(shown) > 1
    assert {len(bar.text.partition(".")[2]) for bar in shown} == {places}
    for bar in shown:
        assert float(bar.text.replace(",", "")) == pytest.approx(bar.value, abs=0.51 * 10.0**-places)


def test_warnings_and_limits_name_features_as_readers_do(surrogate):
    said = " ".join(plain(words) for words in front.careful(Material.of(surrogate)))
    assert "1 warning was raised: No edge of the graph mentions monthly pay." in said
    assert names_of(Labels(features={"pay": "monthly pay"}), ["pay", "age"]) == ["monthly pay", "'age'"]


def test_several_warnings_are_told_apart(surrogate):
    said = [
        EquieffortWarning("GRAPH_ROOTS_ASSUMED", "No edge of the graph mentions 'pay'."),
        EquieffortWarning("SCHEMA_OUT_OF_LIMITS", f"One value is far out: {'very ' * 40}far."),
    ]
    audit = replace(surrogate, warnings=type(surrogate.warnings)(said))
    told = " ".join(plain(words) for words in front.careful(Material.of(audit)))
    assert (
        "2 warnings were raised: (1) No edge of the graph mentions monthly pay. (2) One value is far out: very" in told
    )
    assert "very … More." in told
