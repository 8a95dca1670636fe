"""Pictures of rewards by rank and of situation testing show the numbers they name."""

from __future__ import annotations

import numpy as np
import pytest
from tests.notions.made import world

from equieffort.errors import ParameterError


@pytest.fixture(scope="module")
def audit():
    return world(120)[0]


def test_each_panel_has_a_step_curve_a_group(audit):
    found = audit.effort_rewards([0.25])
    figure = audit.plot.effort_rewards(found).plot().figure_
    own = np.where(np.isnan(audit.recourse.effort), np.inf, audit.recourse.effort)
    for axes, efforts in zip(figure.axes, (found.recourse.effort, own), strict=True):
        for line in axes.lines:
            label = line.get_gid().removeprefix("curve ")
            code = audit.recourse.groups.labels.index(label)
            mine = efforts[audit.recourse.is_unfavourable & (audit.recourse.groups.codes == code)]
            for at, share in zip(line.get_xdata()[:-1], line.get_ydata()[:-1], strict=True):
                assert share == pytest.approx(np.mean(mine <= at * (1 + 1e-12)))
    assert len(figure.axes) == 2


def test_gains_have_no_such_picture(audit):
    found = audit.effort_rewards([0.25], benefit="score", most_people=4)
    with pytest.raises(ParameterError, match="no efforts by rank"):
        audit.plot.effort_rewards(found)


def test_a_mark_is_as_many_people_as_stand_there(audit):
    found = audit.situation_testing(k=5, tau=0.2)
    figure = audit.plot.situation_testing(found).plot().figure_
    sizes = [np.asarray(one.get_sizes()) for one in figure.axes[0].collections[1:]]
    counted = [int(np.rint((size / 14) ** 2).sum()) for size in sizes]
    assert counted == found.people.groupby(["group", "against"], sort=False).size().tolist()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    yes = int(found.people[found.people["group"] == "-1"]["discriminated"].sum())
    assert f"A = -1 beside A = 1: {yes} of {counted[0]} discriminated" in legend


def test_too_few_people_to_compare_are_said(audit):
    figure = audit.plot.situation_testing(audit.situation_testing(k=110)).plot().figure_
    assert [text.get_text() for text in figure.axes[0].texts] == ["Too few people to be compared."]
