"""The picture of FACTS shows the curves that its notions are read of."""

from __future__ import annotations

import numpy as np
from tests.notions.route_worlds import world

from equieffort.notions.facts import effectiveness_curves


def test_each_panel_has_a_step_curve_a_group_and_the_largest_gap(tmp_path):
    audit, _ = world(160)
    curves = effectiveness_curves(audit._audited())
    figure = audit.plot.facts().plot().figure_
    assert len(figure.axes) == len(curves) == 2
    for axes, (viewpoint, sides) in zip(figure.axes, curves.items(), strict=True):
        lines = {line.get_gid(): line for line in axes.lines}
        assert set(lines) == set(sides) == {"a", "b", "c"}
        for label, efforts in sides.items():
            x, y = lines[label].get_xdata(), lines[label].get_ydata()
            for at, share in zip(x, y, strict=True):
                assert np.isclose(share, np.mean(efforts <= at))
        reading = next(
            one for one in audit.notions(only=["facts" if viewpoint == "micro" else "facts_macro"]).readings
            if one.group == "a" and one.notion.endswith("trade_off")
        )  # fmt: skip
        said = [text.get_text() for text in axes.texts if text.get_text().endswith("points")]
        assert said == ([f"{reading.estimate * 100:.0f} points"] if reading.estimate else [])
    audit.save(tmp_path / "a.audit")
    loaded = type(audit).load(tmp_path / "a.audit")
    assert len(loaded.plot.facts().plot().figure_.axes) == 1
