"""What asking the model showed: efforts split by counterfactual fairness, and routes that groups can be told."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import percent
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.errors import many
from equieffort.notions.base import Audited
from equieffort.notions.counterfactual import QUARTILES, CounterfactualFairness
from equieffort.notions.group_routes import GroupRoutes
from equieffort.notions.group_routes.policies import Measured, Policy
from equieffort.notions.group_routes.result import EVERYBODY
from equieffort.report.blocks import Block, Chart, Folded, Screen, Split, Text
from equieffort.report.material import Material, not_drawn
from equieffort.report.panels import Box, Plane, Series
from equieffort.report.svg import Look
from equieffort.report.tables import Table
from equieffort.report.words import MISSING, Cell, Name, Phrase, among, ratio, share
from equieffort.words.shown import level_text

TREATED = {
    "stays": "refused in every group",
    "turns": "approved in another group",
    "undefined": "in another group not known",
}
"""What is said of a box."""
BOXED = "From the least effort to the largest; the box holds the middle half, the thick line is the median"
MEASURED = ("mean_extra", "effectiveness", "low", "high")


def details(material: Material) -> list[Block]:
    """Both, where the audit keeps them."""
    kept = material.audit.provenance.details
    if kept is None:
        return []
    found: list[Block] = []
    if kept.twins is not None:
        audit = material.audit
        audited = Audited(material.table, audit.criteria.level or SHOWN_LEVEL, audit.provenance.budget)
        found += _fairness(material, kept.twins.fairness(audited))
    if kept.routes is not None and kept.routes.policies:
        found += _routes(material, kept.routes.routes(material.table))
    return [Screen(found)] if found else []


# -- counterfactual fairness ------------------------------------------------------------------------------------------


def boxes_of(found: CounterfactualFairness, looks: Mapping[str, Look], rows: pd.DataFrame) -> list[Box]:
    """A box a group and treatment, of those with a route; its text counts them and who is not in it."""
    return [
        Box(
            f"{found.groups.name(row['group'])}, {TREATED[row['treated']]}", [float(row[key]) for key in QUARTILES],
            f"n = {row['n_recourse']:,}", looks[row["group"]],
        )
        for row in rows.to_dict("records")
    ]  # fmt: skip


def _fairness(material: Material, found: CounterfactualFairness) -> list[Block]:
    drawn = {group.label: group for group in material.groups if group.is_drawn and group.stats.n_unfavourable}
    rows = found.efforts
    rows = rows[rows["group"].isin(drawn) & (rows["n"] > 0)]
    if rows.empty:
        return []
    head = (
        Name(material.column), "decision", "refused", "with a route", "without", "not known", "least", "25 %", "median",
        "75 %", "largest", "mean",
    )  # fmt: skip
    table = Table("Effort of the refused by counterfactual fairness", head, [_split(material, row) for row in
                  found.efforts.to_dict("records")], frozenset({1}))  # fmt: skip
    title = "Approved had they belonged to another group: " + ", ".join(
        f"{_turned(found, label)} of the refused {among(group.name)}" for label, group in drawn.items()
    )
    looks = {label: group.look for label, group in drawn.items()}
    chart = Chart(
        "boxes", "fairness", title,
        "Efforts of the refused, split by whether another group's attributes would turn the decision.", table,
        {"boxes": boxes_of(found, looks, rows), "x_label": "effort of the refused with a route"},
        remark=BOXED,
    )  # fmt: skip
    told: list[Block] = [Text(material.told(line)) for line in found.sentences]
    told.append(
        Text(
            f"{found.allowed} Who is treated unfairly is listed by equieffort notions --unfair.{not_drawn(material)}",
            "note",
        )
    )
    return [Split(told, [chart])]


def _turned(found: CounterfactualFairness, label: str) -> str:
    one = found.ratio(label)
    return share(1 - one.estimate)


def _split(material: Material, row: dict[Any, Any]) -> list[Cell]:
    counts = [f"{row[key]:,}" for key in ("n", "n_recourse", "n_infeasible", "n_unknown")]
    sizes = [ratio(float(row[key])) for key in (*QUARTILES, "mean")]
    return [material.group(row["group"]), TREATED[row["treated"]], *counts, *sizes]


# -- group routes -----------------------------------------------------------------------------------------------------


def own_front(found: GroupRoutes) -> pd.DataFrame:
    """The front of menus that were chosen for the group they are measured on."""
    front = found.front
    return front[(front["chosen_for"] == front["group"]) & (front["assignment"] == "menu") & front["is_pareto"]]


def planes_of(found: GroupRoutes) -> list[tuple[str, Plane]]:
    """A plane a group, all to one scale: the menus on the front where they were chosen, and their ends where they are
    measured."""
    front, planes = own_front(found), []
    most = float(np.nanmax(front[["extra_chosen", "mean_extra"]].to_numpy(dtype=np.float64), initial=0.0)) * 1.05 or 1.0
    for name, mine in front.groupby("group", sort=False):
        series = []
        for n in sorted(set(mine["n_routes"].tolist())):
            part = mine[mine["n_routes"] == n].sort_values("extra_chosen")
            look = Look("group", n - 1)
            shares = part["n_turned_chosen"] / part["n_chosen_on"]
            series.append(Series(many(n, "route", "routes"), part["extra_chosen"].tolist(), shares.tolist(), look))
            x, y, low, high = (part[part["is_best"]].head(1)[key].tolist() for key in MEASURED)
            series.append(Series("", x, y, look, low, high, "points"))
        plane = Plane(
            series, "mean effort beyond each person's own", "share turned", (0.0, most), (0.0, 1.0), y_share=True
        )
        planes.append((str(name), plane))
    return planes


def _routes(material: Material, found: GroupRoutes) -> list[Block]:
    intro = (
        "Routes are the fewest actions that turn most refused people of a group, which could be announced as policy. "
        "Extra effort is what the cheapest route that works asks beyond each person's own cheapest action. "
        f"{found.caution}"
    )
    level = level_text(material.audit.criteria)
    head: tuple[Cell, ...] = (
        Name(material.column), "routes", "turned", f"{level} interval", "extra effort", f"{level} interval",
        "what is told",
    )  # fmt: skip
    menus = [(policy, one) for policy in _menus(found) for one in policy.measured]
    own, same = (
        Table(
            caption, head,
            [_row(material, found, *pair) for pair in menus if (pair[0].chosen_for == EVERYBODY) is for_all],
            frozenset({6}),
        )
        for caption, for_all in (("Routes chosen for each group", False), ("The same routes for everybody", True))
    )  # fmt: skip
    charts = _charts(material, found, own)
    pictures: list[Block] = [Split(charts[k : k + 1], charts[k + 1 : k + 2]) for k in range(0, len(charts), 2)]
    return [Text(material.told(intro)), *pictures, own, Folded("The same routes for everybody", [same])]


def _charts(material: Material, found: GroupRoutes, table: Table) -> list[Chart]:
    """A picture a group that is drawn."""
    groups = {group.label: group for group in material.groups if group.is_drawn}
    charts: list[Chart] = []
    for name, plane in planes_of(found):
        if name in groups:
            ends = [(one.n_routes, part) for one in found.best(name) for part in one.measured]
            shares = [f"{share(part.effectiveness)} turned by {many(k, 'route', 'routes')}" for k, part in ends]
            charts.append(
                Chart(
                    "plane", f"routes-{len(charts)}", f"{groups[name].name}: "
                    + ", ".join(dict.fromkeys([shares[0], shares[-1]])),
                    "The share turned against the extra effort, by number of routes.", table, {"plane": plane},
                    remark="Lines: the people that routes were chosen on. Points with intervals: as measured",
                    is_shared=True,
                )
            )  # fmt: skip
    return charts


def _menus(found: GroupRoutes) -> list[Policy]:
    return [one for one in found.policies if one.is_best and one.assignment == "menu"]


def _row(material: Material, found: GroupRoutes, policy: Policy, one: Measured) -> list[Cell]:
    limits, extra = one.limits(found.level), one.extra_limits(found.level)
    told = "; ".join(route.action.told(material.names) for route in policy.routes)
    shares = MISSING if isnan(limits[0]) else f"{100 * limits[0]:.0f} to {percent(limits[1], 0)}"
    sizes = MISSING if isnan(extra[0]) else f"{ratio(extra[0])} to {ratio(extra[1])}"
    return [
        material.group(one.group), str(policy.n_routes), share(one.effectiveness), shares, ratio(one.mean_extra), sizes,
        Phrase(told),
    ]  # fmt: skip
