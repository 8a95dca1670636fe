"""The picture of a monitor shows its history."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from tests.monitor.worlds import REFERENCE, monitor, people, update

import equieffort as ee
from equieffort.errors import ParameterError


def state(labels: tuple[str, str, str] = ("ash", "birch", "cedar"), **options) -> ee.MonitorState:
    protected, reference = [labels[0], labels[2]], labels[1]
    watching = monitor(
        reference=REFERENCE.assign(group=list(labels) * 4), budget=0.3,
        schema={"protected": protected, "reference": reference}, **options,
    )  # fmt: skip
    for month in range(1, 6):
        update(watching, people(150, month, behind=2.0, labels=labels), date=f"2026-0{month}-28")
    return watching.state


@pytest.fixture(scope="module")
def watched() -> ee.MonitorState:
    return state(tau=1.1)


def test_lines_and_bands_are_the_history(watched):
    figure = watched.plot.evidence().plot().figure_
    history = watched.history
    for column, measure in enumerate(("restricted_effort", "burden")):
        upper, lower = figure.axes[column], figure.axes[2 + column]
        lines = {line.get_label().strip("\u200b"): line.get_xydata() for line in upper.lines}
        for k, group in enumerate(("ash", "cedar")):
            part = history[(history["measure"] == measure) & (history["group"] == group)]
            drawn = lines[f"group = {group} against group = birch"]
            assert drawn[:, 1] == pytest.approx(part["log_e"].to_numpy() / np.log(10))
            assert lower.lines[k].get_ydata() == pytest.approx(np.log2(part["estimate"].to_numpy()))
            heights = lower.collections[k].get_paths()[0].vertices[:, 1]
            ends = np.log2(np.clip(np.append(part["low"], part["high"]), 0.2, 5))
            assert (heights.min(), heights.max()) == pytest.approx((ends.min(), ends.max()))


def test_the_alarm_is_where_it_was_raised(watched):
    upper = watched.plot.evidence().plot().figure_.axes[1]
    raised = watched.alarms["burden", "ash", "birch"]
    said = [text.get_text() for text in upper.texts]
    assert f"alarm {raised.date}" in said
    limit = next(line for line in upper.lines if str(line.get_label()).startswith("alarm at"))
    assert limit.get_ydata()[0] == pytest.approx(np.log10(4 / 0.05))
    shown = [text.get_text() for text in watched.plot.evidence().plot().figure_.legends[0].get_texts()]
    assert shown == ["group = ash against group = birch", "group = cedar against group = birch", "alarm at 80"]


def test_days_are_below_and_the_zone_is_grey(watched):
    lower = watched.plot.evidence().plot().figure_.axes[2]
    assert [text.get_text() for text in lower.get_xticklabels()] == [f"2026-0{month}-28" for month in range(1, 6)]
    (zone,) = lower.patches
    assert (zone.get_y(), zone.get_y() + zone.get_height()) == pytest.approx((-np.log2(1.1), np.log2(1.1)))


def test_one_measure_and_one_batch(watched):
    alone = monitor(budget=0.3, measures=["burden"], tau=1.0)
    update(alone, people(20, 1))
    figure = alone.state.plot.evidence().plot().figure_
    assert len(figure.axes) == 2
    figure.savefig(io.BytesIO(), format="png")


def test_names_of_groups_are_shown_as_they_are():
    figure = state(("_hidden", "$x^$", "a\\$b")).plot.evidence().plot().figure_
    figure.savefig(io.BytesIO(), format="png")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown[:2] == ["group = _hidden against group = $x^$", "group = a\\$b against group = $x^$"]


def test_without_matplotlib_the_extra_is_named(watched, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ParameterError, match=r"equieffort\[plot\]"):
        watched.plot.evidence().plot()
