"""Pictures of neighbouring notions show the numbers they say they show."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest
from tests.notions.made import world

from equieffort.notions.base import NotionReading
from equieffort.notions.collection import Notions
from equieffort.notions.comparing import Found
from equieffort.plots.notions import _variant, lines_of, placed
from equieffort.words.notions import form_of
from equieffort.world.labels import Labels

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def made():
    return world(120)


def test_a_mark_a_refused_person_and_each_groups_mean(made):
    audit, _ = made
    found = audit.boundary_distance()
    axes = audit.plot.boundary_distance(found).plot().ax_
    people = np.concatenate([line.get_xdata() for line in axes.lines if line.get_marker() == "o"])
    assert sorted(people) == sorted(found.people["distance"])
    means = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    by_group = found.people.groupby("group")["distance"].mean()
    assert means == pytest.approx([by_group["-1"], by_group["1"]])


def test_the_area_under_a_curve_is_the_social_burden(made):
    audit, labels = made
    found = audit.social_burden(labels)
    axes = audit.plot.social_burden(found).plot().ax_
    areas = [float((np.diff(line.get_xdata()) * line.get_ydata()[:-1]).sum()) for line in axes.lines]
    assert sorted(areas) == pytest.approx(sorted(found.people.groupby("group")["burden"].mean()))


def test_every_feature_has_its_share_and_preclusion_comes_last(made):
    audit, _ = made
    found = audit.responsiveness()
    axes = audit.plot.responsiveness(found).plot().ax_
    drawn = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    by_group = found.people.groupby("group")[["X1", "X2", "X3"]].mean()
    assert drawn[:6] == pytest.approx(by_group.T.to_numpy().ravel())
    assert axes.get_yticklabels()[-1].get_text().startswith("nothing helps")


def test_efforts_either_way_and_who_has_no_route_but_gaming(made):
    audit, _ = made
    found = audit.improvement_only(["X2"])
    axes = audit.plot.improvement_only(found).plot().ax_
    crosses = sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "x")
    assert crosses == (found.people["lost"] == True).sum()  # noqa: E712
    marks = [line for line in axes.lines if line.get_marker() in ("o", "s")]
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in marks])
    assert sorted(drawn[~np.isnan(drawn)]) == sorted(found.people["improvement"].dropna())


def test_each_persons_share_of_pairs(made):
    audit, _ = made
    found = audit.fairness_through_awareness(0.2)
    axes = audit.plot.fairness_through_awareness(found).plot().ax_
    drawn = np.concatenate([line.get_ydata() for line in axes.lines if line.get_marker() in ("o", "s")])
    assert sorted(drawn) == pytest.approx(sorted(found.people["violations"] / 119))


def test_a_line_a_measure_and_notion_on_its_side(made):
    audit, labels = made
    found = audit.notions(labels=labels, only=["social_burden", "responsiveness", "facts"])
    lines = {(line.name, line.variant): line for line in lines_of(audit, found)}
    for reading in found.readings:
        if reading.against and not np.isnan(reading.low):
            variant = reading.variant if reading.notion == "responsiveness_gap" else ""
            assert lines[reading.notion, variant].side == found.side(reading)
    assert lines["acr", ""].text.startswith(f"{audit.measures.set_index('measure')['estimate']['acr']:.2f}")
    axes = audit.plot.notions(found).plot().ax_
    assert len([line for line in axes.lines if str(line.get_gid()).startswith("estimate")]) == len(lines)


@pytest.mark.parametrize(
    ("values", "neutral", "orientation", "is_ratio", "expected"),
    [
        ((-1.0, 1.0, 4.0), 0.0, 1, False, (-0.25, 0.25, 1.0)),
        ((-1.0, 1.0, 4.0), 0.0, -1, False, (-1.0, -0.25, 0.25)),
        ((0.25, 2.0, 4.0), 1.0, 1, True, (-1.0, 0.5, 1.0)),
        ((0.0, 1.0, inf), 0.0, 1, False, (0.0, 1.0, 1.0)),
        ((nan, 0.0, nan), 0.0, 1, False, (nan, 0.0, nan)),
    ],
)
def test_places_are_shares_of_the_farthest(values, neutral, orientation, is_ratio, expected):
    assert placed(values, neutral, orientation, is_ratio) == pytest.approx(expected, nan_ok=True)


def test_a_group_without_values_leaves_its_row_empty(made):
    audit, _ = made
    nothing = NotionReading("boundary_distance", "-1", note="NOTHING_DEFINED")
    found = Found("Distance to the boundary", (nothing,), audit.boundary_distance().people.iloc[:0])
    axes = audit.plot.boundary_distance(found).plot().ax_
    assert not [line for line in axes.lines if line.get_marker() == "D"]
    assert audit.plot.notions(Notions()).plot().ax_ is not None


def test_every_picture_has_an_svg_of_its_own_and_numbers(made):
    audit, labels = made
    shown = {
        "boundary_distance": audit.plot.boundary_distance(), "responsiveness": audit.plot.responsiveness(),
        "social_burden": audit.plot.social_burden(labels), "improvement_only": audit.plot.improvement_only(["X2"]),
        "fairness_through_awareness": audit.plot.fairness_through_awareness(),
        "notions": audit.plot.notions(audit.notions(only=["facts"])),
    }  # fmt: skip
    for name, one in shown.items():
        assert one.name == name
        assert one.svg.startswith("<svg")
        assert len(one.frame())
    assert "Equal effectiveness" in shown["notions"].svg


def test_a_comma_in_a_name_or_a_form_parts_nothing():
    schema = SimpleNamespace(names=Labels(features={"net": "income, net"}))
    audit = SimpleNamespace(recourse=SimpleNamespace(source=SimpleNamespace(schema=schema)))
    read = NotionReading("responsiveness_gap", "a", "b", ("pay, gross",))
    assert (_variant(read, audit), read.variant) == ("pay, gross", "pay, gross")
    assert _variant(replace(read, parts=("net",)), audit) == "income, net"
    aed = NotionReading("aed", "a", "b", ("net up", "gamma 0.4, 0.999"))
    assert (_variant(aed, audit), form_of(aed, schema.names)) == ("income, net up", "income, net up, gamma 0.4, 0.999")
    reward = NotionReading("bounded_reward_gap", "a", "b", ("decision", "refused", "effort at most 1"))
    assert _variant(reward, audit) == "refused, effort at most 1"
