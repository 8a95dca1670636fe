"""Notions read together: with the model at hand, from a file, and in words."""

import warnings
from math import nan

import numpy as np
import pandas as pd
import pytest
from tests.samples import two_group_audit

import equieffort as ee
from equieffort import notions
from equieffort.notions import Family, NotApplicable, Notion, NotionReading
from equieffort.notions.collection import side_of
from equieffort.notions.comparing import SHARE, mean_reading
from equieffort.notions.comparing import side_of as side_of_values
from equieffort.plots.notions import lines_of
from equieffort.words.notions import disagreements, people_text

GAP = Notion("gap", "Gap", "a - b", "nobody", "What a test needs.", form="points")
RATIO = Notion("rate", "Rate", "a / b", "nobody", "What a test needs.", neutral=1.0, orientation=-1)
ASKED = Notion("asked", "Asked", "h", "nobody", "What a test needs.", neutral=nan)


class FromTable(Family):
    name, title, notions = "from_table", "From the table", (GAP, RATIO)

    def readings(self, audited):
        labels = audited.table.groups.labels
        (a, b), *_ = audited.pairs
        return [
            NotionReading("gap", labels[a], labels[b], estimate=0.1, low=0.05, high=0.15, n=10, n_against=20),
            NotionReading("rate", labels[a], labels[b], estimate=2.0, low=1.5, high=2.5, n=10, n_against=20),
        ]


class FromModel(Family):
    name, title, notions, needs_model = "from_model", "From the model", (ASKED,), True

    def readings(self, audited):
        if audited.labels is None:
            return [NotApplicable("asked", "Labels are not given")]
        return [NotionReading("asked", estimate=float(audited.labels.mean()), n=len(audited.labels))]


@pytest.fixture
def families(monkeypatch):
    monkeypatch.setattr(notions, "FAMILIES", (FromTable(), FromModel()))


@pytest.mark.usefixtures("families")
def test_what_needs_the_model_is_kept_in_the_file(tmp_path):
    audit = two_group_audit()
    labels = [True, False] * (len(audit.recourse) // 2) + [True] * (len(audit.recourse) % 2)
    kept = audit.with_notions(labels=labels)
    kept.save(tmp_path / "kept.audit")
    audit.save(tmp_path / "without.audit")
    again = ee.load(tmp_path / "kept.audit")
    assert again.notions().frame().equals(audit.notions(labels=labels).frame())
    without = ee.load(tmp_path / "without.audit").notions()
    assert [one.notion for one in without.missing] == ["asked"]
    assert "does not hold" in without.missing[0].why
    assert len(without.readings) == 2


@pytest.mark.usefixtures("families")
def test_words_say_where_notions_disagree_and_what_is_missing():
    found = two_group_audit().notions()
    text = str(found)
    assert "worse off by gap. Better off by rate" in text
    assert "Labels are not given. Notion: Asked." in text
    assert "10.0 points" in text
    assert "the model and the equations are taken as they are" in text
    assert "<td>" in found._repr_html_()


def test_a_notion_whose_forms_disagree_is_named_by_them(monkeypatch):
    class Torn(Family):
        name, title, notions = "torn", "Torn", (GAP, RATIO)

        def readings(self, audited):
            rows = (("gap", "refused", 0.1), ("gap", "everybody", -0.1), ("gap", "both", 0.1), ("rate", "all", 0.5))
            return [
                NotionReading(name, "F", "M", (form,), estimate=value, low=value - 0.01, high=value + 0.01)
                for name, form, value in rows
            ]

    monkeypatch.setattr(notions, "FAMILIES", (Torn(),))
    (line,) = disagreements(two_group_audit().notions())
    assert "worse off by gap (refused); gap (both); rate. Better off by gap (everybody)." in line


@pytest.mark.usefixtures("families")
def test_an_unknown_family_is_refused_by_name():
    with pytest.raises(ee.errors.ParameterError, match="'nothing'"):
        two_group_audit().notions(only=["nothing"])


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "side"),
    [
        (0.1, 0.2, nan, nan, "worse"),
        (-0.2, -0.1, nan, nan, "better"),
        (-0.1, 0.1, nan, nan, "open"),
        (nan, nan, nan, nan, "no interval"),
        (0.1, 0.2, -0.3, 0.2, "open"),
    ],
)
def test_a_side_is_named_only_where_interval_and_certain_range_lie_on_it(low, high, least, most, side):
    assert side_of(GAP, NotionReading("gap", "a", "b")) == "undefined"
    assert (
        side_of(GAP, NotionReading("gap", "a", "b", estimate=0.1, low=low, high=high, least=least, most=most)) == side
    )
    assert side_of(ASKED, NotionReading("asked", "a", "b", low=low, high=high)) == ""


def few_against_many(few=4, refused_few=True, **criteria):
    """Everybody in a is too far to get there, everybody in b is near."""
    X = pd.DataFrame({"s": ["a"] * few + ["b"] * 60, "t": [-10.0 if refused_few else 1.0] * few + [-1.0] * 60})
    schema = ee.Schema(
        sensitive="s", protected="a", favourable=True,
        features={"t": ee.Feature("actionable", max_increase=2, lower=-20, upper=20)},
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        scm = ee.StructuralCausalModel([], nodes=["t"]).fit(X)
        return ee.audit(ee.LinearScore({"t": 1.0}), X, schema=schema, scm=scm, criteria=ee.Criteria(**criteria))


@pytest.mark.parametrize(
    ("few", "criteria", "side"), [(4, {}, "open"), (5, {}, "worse"), (4, {"min_people": 4}, "worse")]
)
def test_no_side_is_named_of_fewer_people_than_the_criteria_ask_for(few, criteria, side, tmp_path):
    audit = few_against_many(few, **criteria)
    audit.with_notions().save(tmp_path / "one.audit")
    found = audit.notions()
    for frame in (found.frame(), audit.responsiveness().frame(), ee.load(tmp_path / "one.audit").notions().frame()):
        row = frame[frame["notion"] == "preclusion_gap"].iloc[0]
        # Newcombe's interval lies on one side of 0 in all of them.
        assert row["low"] > 0.3
        assert row["side"] == side
        assert ("TOO_FEW" in row["note"].split()) == (side == "open")
    assert ("worse off by" in " ".join(disagreements(found))) == (side == "worse")
    lines = {line.name: line.side for line in lines_of(audit, found)}
    assert lines["preclusion_gap"] == lines["rd"] == side


def test_nobody_refused_in_a_group_is_told_as_such():
    audit = few_against_many(6, refused_few=False)
    rows = [*audit.responsiveness().readings, *audit.boundary_distance().readings]
    of_a = [one for one in rows if one.group == "a"]
    assert len(of_a) == 6
    assert {one.note for one in of_a} == {"NO_REFUSED"}
    assert all("NO_REFUSED" not in one.note for one in rows if one.group == "b" and not one.against)


def test_labels_are_matched_by_index_and_checked():
    audit = two_group_audit()
    table = audit.recourse
    n = len(table)
    with pytest.raises(ee.errors.DataError, match="labels for"):
        audit.notions(labels=[True] * (n + 1))
    with pytest.raises(ee.errors.DataError, match="No label is"):
        audit.notions(labels=["strange"] * n)


def test_one_family_by_itself_is_told_in_words_and_tells_nothing_of_everybody_else():
    made = ee.datasets.fair_recourse("CAU linear")
    people, truth = made.sample(90, random_state=2)
    people["A"] = np.where(np.arange(90) % 3 == 0, "a", np.where(people["A"] < 0, "b", "c"))
    schema = ee.Schema(
        sensitive="A", protected=["a", "b"], reference=ee.Rest(), favourable=True,
        features=dict.fromkeys(("X1", "X2", "X3"), "actionable"),
    )  # fmt: skip
    model = ee.LinearScore({"X1": 1.0, "X2": -1.0, "X3": 1.0})
    scm = ee.StructuralCausalModel([("X1", "X3"), ("X2", "X3")]).fit(people)
    audit = ee.audit(model, people, schema=schema, scm=scm)
    for found in (audit.responsiveness(), audit.boundary_distance(), audit.social_burden(truth == 1)):
        rows = found.frame()
        assert set(rows["group"]) == {"a", "b", "c"}
        assert not rows.duplicated(["notion", "group", "against", "variant"]).any()
        text = str(found)
        assert text.startswith(found.title)
        assert "everybody else" in text
        assert not any(code in text for code in ("NO_SPREAD", "GRID", "TOO_FEW"))


def test_means_of_what_cannot_be_negative_have_no_negative_limits():
    side = side_of_values(np.array([0.0, 0.0, 0.0, 1.0]))
    plain = mean_reading(NotionReading("burden", "a"), side, 0.95)
    half = 3.1824463052842638 * 0.25
    assert (plain.low, plain.high) == (0.0, pytest.approx(0.25 + half))
    assert mean_reading(NotionReading("share", "a"), side, 0.95, SHARE).high == 1.0


def test_small_shares_are_not_none_and_pairs_are_called_so():
    share = Notion("share", "Share", "", "", "", form="share", counts="pairs")
    size = Notion("size", "Size", "", "", "")
    assert [size.show(value) for value in (1474.2, 0.0123, 25.04)] == ["1,474", "0.0123", "25"]
    assert [share.show(value) for value in (0.0, 0.0002, 0.0006, 0.123)] == ["0.0 %", "0.02 %", "0.1 %", "12.3 %"]
    assert people_text(share, NotionReading("share", "a", "b", n=1200)) == "1,200 pairs"
