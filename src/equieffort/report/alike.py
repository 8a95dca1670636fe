"""Everybody, subgroups, and people who are alike: effort by level, by size of neighbourhood, around individuals."""

from __future__ import annotations

from math import isnan

import numpy as np

from equieffort.effort.verdict import Assessment
from equieffort.errors import EquieffortError
from equieffort.report.answer import outcome
from equieffort.report.blocks import Block, Chart, Folded, Section, Split, Text
from equieffort.report.curves import ecdf
from equieffort.report.material import Material
from equieffort.report.measured import by_effect, with_interval
from equieffort.report.svg import Line
from equieffort.report.tables import Table
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Phrase, count, part, ratio, say, times
from equieffort.words.shown import level_text

# -- levels -----------------------------------------------------------------------------------------------------------


def levels(material: Material) -> Section | None:
    """The two measures for each group and for subgroups, in one table; nothing where the first page says it all."""
    judged: list[list[Cell]] = []
    others: list[list[Cell]] = []
    asked: list[tuple[Cell, Assessment, bool]] = [("everybody", material.audit.system, False)]
    asked += [(say("{}: {}", Name(name), Phrase(a.about)), a, True) for name, a in material.subgroups]
    for who, assessment, is_part in asked:
        for c in by_effect(material, assessment.comparisons):
            whole = material.stats if is_part else {}
            mine = material.guard.seen(c.mine, whole.get(c.group))
            theirs = material.guard.seen(c.theirs, whole.get(c.against))
            parts, both = mine.parts and theirs.parts, mine.effort and theirs.effort
            found = [
                outcome(f)
                for f in assessment.verdict.findings
                if (f.comparison.group, f.comparison.against) == (c.group, c.against)
            ]
            row: list[Cell] = [
                who, Name(c.group), Name(c.against),
                material.guard.count(c.mine.n_unfavourable, seen=mine.rate),
                material.guard.count(c.theirs.n_unfavourable, seen=theirs.rate),
                with_interval(material, c, "acr", both), with_interval(material, c, "rd", both and parts),
            ]  # fmt: skip
            (judged if found else others).append([*row, *found])
    if len(judged) + len(others) < 2:
        return None
    level = level_text(material.audit.criteria)
    head = (
        "among", Name(material.column), "against", "refused", "refused, other", f"ratio of efforts ({level} interval)",
        f"gap ({level} interval)",
    )  # fmt: skip
    table = Table("Everybody and subgroups", (*head, "outcome"), judged, frozenset({1, 2, 7}))
    intro = (
        "The ratio of efforts (ACR) is a group's average effort over that of the other group: above 1, the group needs "
        "more. The gap (RD) is the other group's share of refused people with a route to approval minus the group's: "
        "above 0, the group more often has none."
    )
    blocks: list[Block] = [Text(intro), table]
    if others:
        behind = Table("Groups that are not judged", head, others, frozenset({1, 2}))
        blocks.append(Folded(f"{len(others)} more, of groups that are not judged", [behind]))
    return Section("levels", "Group by group", blocks)


# -- people who are alike ---------------------------------------------------------------------------------------------


def curve(material: Material) -> Section:
    """The ratio against the size of the neighbourhood, and around each refused person."""
    title = "Among people who are alike"
    near = material.near
    if isinstance(near, EquieffortError):
        told = Text(("Around individuals nothing can be computed: ", Phrase(near.what)), "note")
        return Section("curve", title, [told])
    text = (
        "Left: each refused person is compared with the share of all people most like them, from the nearest twentieth "
        "to everybody. Where the line moves away from 1 towards the left, efforts differ more among very similar "
        "people than over all; where it comes closer to 1, they differ less. Right: the "
        f"{part(material.quantile)} of all people most like each refused person. Where one of the groups is missing "
        "there, no ratio is defined."
    )
    if near.drawn:
        text += (
            f" Computed for {count(len(near.sweep.centres))} of the refused people, drawn at random by group, because "
            "there are so many."
        )
    if len(material.drawn_pairs) < len(material.pairs):
        text += " The pictures show the judged groups against the reference; the tables behind them have every pair."
    left, right = _curve(material), _individuals(material)
    if isinstance(left, Chart) and isinstance(right, Chart):
        return Section("curve", title, [Text(text), Split([left], [right])])
    return Section("curve", title, [Text(text), left, right])


CURVE = ("acr", "acr_low", "acr_high")


def _curve(material: Material) -> Chart | Table:
    near = material.near
    assert not isinstance(near, EquieffortError)
    guard, criteria = material.guard, material.audit.criteria
    rows: list[list[Cell]] = []
    lines = []
    codes = {label: code for code, label in enumerate(material.labels)}
    for (a, b), rows_of in near.curve.groupby(["group", "against"], sort=False):
        group, against = str(a), str(b)
        told = [
            not guard.hides(n - gone, material.stats[group].n_acting, material.stats[against].n_acting)
            for n, gone in zip(rows_of["n_centres"], rows_of["n_undefined"], strict=True)
        ]
        shown = {name: [v if t else np.nan for v, t in zip(rows_of[name], told, strict=True)] for name in CURVE}
        mean, low, high = (shown[name] for name in CURVE)
        if (codes[group], codes[against]) in material.drawn_pairs:
            look = material.look(codes[group])
            lines.append(Line(material.name(group), rows_of["quantile"].tolist(), mean, low, high, look))
        for j, record in enumerate(rows_of.to_dict("records")):
            values = [times(shown[name][j]) if told[j] else HIDDEN for name in CURVE]
            whole = guard.seen(material.stats[group]).rate
            whole = whole and not guard.hides(record["n_undefined"], record["n_centres"] - record["n_undefined"])
            rows.append(
                [
                    Name(group), Name(against), part(record["quantile"]), values[0],
                    MISSING if values[1] == MISSING else HIDDEN if not told[j] else f"{values[1]} to {values[2]}",
                    guard.count(record["n_centres"] - record["n_undefined"], seen=whole),
                    guard.count(record["n_undefined"], seen=whole),
                ]
            )  # fmt: skip
    table = Table(
        "Ratio of mean efforts around the refused people of a group, with its 95 % confidence interval",
        (Name(material.column), "against", "neighbours", "ratio", "95 % interval", "people", "not defined"),
        rows,
        frozenset({1}),
    )
    drawn = [line for line in lines if not np.isnan(line.y).all()]
    if not drawn:
        return table
    return Chart(
        "line", "acr", _curve_title(material, drawn), _ends(drawn), table,
        {
            "lines": drawn, "x_label": "share of all people counted as neighbours", "y_label": "ratio of mean efforts",
            "equal": criteria.rule.ends(criteria.tau),
            "key": "Grey: counts as equal. Shaded: 95 % interval at each point.",
        },
    )  # fmt: skip


def _curve_title(material: Material, lines: list[Line]) -> str:
    """What to see: where the line lies."""
    against = material.name(material.labels[material.table.groups.reference])
    if len(lines) > 1:
        return f"Ratio of efforts against {against}, by size of neighbourhood"
    values = [v for v in lines[0].y if not isnan(v)]
    who = f"{lines[0].label} against {against}"
    if min(values) > 1 or max(values) < 1:
        return f"{who}: {'more' if min(values) > 1 else 'less'} effort at every size of neighbourhood"
    more = sum(v > 1 for v in values)
    return f"{who}: more effort at {more} of {len(values)} sizes of neighbourhood"


def _ends(lines: list[Line]) -> str:
    told = []
    for line in lines:
        known = [k for k, value in enumerate(line.y) if not isnan(value)]
        first, last = known[0], known[-1]
        told.append(
            f"{line.label}: {times(line.y[first])} at {part(line.x[first])}, {times(line.y[last])} at "
            f"{part(line.x[last])}"
        )
    return "; ".join(told) + "."


def _individuals(material: Material) -> Chart | Table:
    criteria, guard, labels = material.audit.criteria, material.guard, material.labels
    low, high = criteria.rule.ends(criteria.tau)
    rows: list[list[Cell]] = []
    lines = []
    medians: list[str] = []
    middle = np.nan
    for a, b in material.pairs:
        _, found = material.ratios(a, b)
        defined = np.sort(found[~np.isnan(found)])
        beyond = int(np.sum((defined > high) | (defined < low)))
        undefined = len(found) - len(defined)
        # The centres are the refused people of the group, whose count may have to be kept back.
        whole = guard.seen(material.stats[labels[a]]).rate and not guard.hides(len(defined), undefined)
        # A ratio is made of the other group's efforts too, and its people may be few.
        told = len(defined) > 0 and not guard.hides(len(defined), *(material.stats[labels[x]].n_acting for x in (a, b)))
        quantiles = np.quantile(defined, (0.1, 0.5, 0.9)).tolist() if told else [np.nan] * 3
        outside = whole and not guard.hides(beyond, len(defined) - beyond)
        rows.append(
            [
                Name(labels[a]), Name(labels[b]),
                guard.count(len(defined), seen=whole), guard.count(undefined, seen=whole),
                *(times(q) if told or not len(defined) else HIDDEN for q in quantiles),
                guard.count(beyond, seen=outside and told),
            ]
        )  # fmt: skip
        if told and (a, b) in material.drawn_pairs:
            lines.append(ecdf(material.name(labels[a]), defined, material.look(a), guard.is_on))
            middle = quantiles[1]
            medians.append(f"{material.name(labels[a])}: median {times(quantiles[1])}")
    table = Table(
        "Ratio around each refused person: own group against the other among the people like them",
        (Name(material.column), "against", "people", "not defined", "10 %", "median", "90 %", "beyond the thresholds"),
        rows,
        frozenset({1}),
    )
    if not lines:
        return table
    against = material.name(labels[material.table.groups.reference])
    title = f"Around half of the refused people the ratio against {against} is above {ratio(middle)}"
    many = f"Ratio against {against} around each refused person"
    return Chart(
        "step", "individual-acr", title if len(lines) == 1 else many,
        f"Share of refused people at most at a ratio. {'; '.join(medians)}.", table,
        {
            "lines": lines, "x_label": "ratio of efforts around the person", "y_label": "share of the refused",
            "steps": not guard.is_on, "equal": (low, high), "key": "Grey: counts as equal.",
        },
    )  # fmt: skip
