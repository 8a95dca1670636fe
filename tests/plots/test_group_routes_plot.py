"""The picture of group routes shows the front's own numbers."""

from __future__ import annotations

import numpy as np
from tests.notions.route_worlds import world


def test_lines_are_the_front_where_it_was_chosen_and_marks_what_was_measured():
    audit, _ = world(300)
    found = audit.group_routes(max_routes=2)
    front = found.front.query("assignment == 'menu' and chosen_for == group and is_pareto")
    figure = audit.plot.group_routes(found).plot().figure_
    assert [axes.get_title() for axes in figure.axes] == ["group = a", "group = b", "group = c"]
    for axes, name in zip(figure.axes, "abc", strict=True):
        mine = front[front["group"] == name]
        drawn = {line.get_label(): line for line in axes.lines if "route" in str(line.get_label())}
        for n_routes, part in mine.groupby("n_routes"):
            line = drawn["1 route" if n_routes == 1 else f"{n_routes} routes"]
            part = part.sort_values("extra_chosen")
            assert np.allclose(line.get_xdata(), part["extra_chosen"])
            assert np.allclose(line.get_ydata(), part["n_turned_chosen"] / part["n_chosen_on"])
            for _, best in part[part["is_best"]].iterrows():
                marks = [one for one in axes.lines if len(one.get_xdata()) == 1]
                assert any(
                    np.isclose(one.get_xdata()[0], best["mean_extra"])
                    and np.isclose(one.get_ydata()[0], best["effectiveness"])
                    for one in marks
                )


def test_without_routes_the_picture_says_so():
    audit, _ = world(300)
    found = audit.group_routes(max_routes=1)
    empty = type(found)((), found.groups, found.level, 0, 0, (), {})
    (axes,) = audit.plot.group_routes(empty).plot().figure_.axes
    assert [text.get_text() for text in axes.texts] == ["No route turns anybody."]
