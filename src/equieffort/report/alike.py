"""Everybody, subgroups, and people who are alike: effort by level, by size of neighbourhood, around individuals."""

from __future__ import annotations

from math import isnan

import numpy as np
import pandas as pd

from equieffort.effort.metrics import individual_ratios
from equieffort.effort.verdict import Assessment
from equieffort.errors import EquieffortError
from equieffort.report.answer import outcome
from equieffort.report.blocks import Block, Chart, Folded, Section, Split, Text
from equieffort.report.curves import ecdf
from equieffort.report.material import Around, Material, Near
from equieffort.report.measured import by_effect, with_interval
from equieffort.report.svg import Line
from equieffort.report.tables import Table
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Phrase, count, kept, part, ratio, say, times
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
            mine, theirs = material.seen_sides(c, assessment if is_part else None)
            parts, both = mine.parts and theirs.parts, mine.effort and theirs.effort
            found = [
                outcome(f)
                for f in assessment.verdict.findings
                if (f.comparison.group, f.comparison.against) == (c.group, c.against)
            ]
            row: list[Cell] = [
                who, material.group(c.group), material.group(c.against),
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
        "First picture: each refused person is compared with the share of all people most like them, from the nearest "
        "twentieth to everybody. Where the line moves away from 1 towards the left, efforts differ more among very "
        "similar people than over all; where it comes closer to 1, they differ less. Second picture: the "
        f"{part(material.quantile)} of all people most like each refused person. Where one of the groups is missing "
        "there, no ratio is defined."
    )
    if near.drawn:
        text += (
            f" Computed for {count(len(near.sweep.centres))} of the refused people, drawn at random by group, because "
            "there are so many."
        )
    text += " The pictures show the judged comparisons; the tables behind them have every pair."
    left, right = ratio_chart(material, near.curve), individual_chart(material, near)
    if isinstance(left, Chart) and isinstance(right, Chart):
        return Section("curve", title, [Text(text), Split([left], [right])])
    return Section("curve", title, [Text(text), left, right])


CURVE = ("acr", "acr_low", "acr_high")


def ratio_chart(material: Material, found: pd.DataFrame) -> Chart | Table:
    """The ratio against the size of the neighbourhood; the table alone where no line can be drawn."""
    guard, criteria = material.guard, material.audit.criteria
    rows: list[list[Cell]] = []
    lines = []
    by_label = {(one.mine.label, one.theirs.label): one for one in material.pairs}
    for pair, rows_of in found.groupby(["group", "against"], sort=False):
        one = by_label[str(pair[0]), str(pair[1])]
        group, against = one.mine, one.theirs
        drawn: list[list[float]] = []
        for record in rows_of.to_dict("records"):
            undefined, defined = record["n_undefined"], record["n_centres"] - record["n_undefined"]
            told = not guard.hides(defined, group.stats.n_acting, against.stats.n_acting)
            numbers = [record[name] if told else np.nan for name in CURVE]
            mean, low, high = (times(v) for v in numbers)
            whole = group.seen.rate and not guard.hides(undefined, defined)
            rows.append(
                [
                    material.group(group.label), material.group(against.label), part(record["quantile"]),
                    kept(mean, told),
                    kept(low if low == MISSING else f"{low} to {high}", told),
                    guard.count(defined, seen=whole), guard.count(undefined, seen=whole),
                ]
            )  # fmt: skip
            drawn.append([record["quantile"], *numbers])
        if one.is_shown:
            at, means, lows, highs = (list(values) for values in zip(*drawn, strict=True))
            lines.append(Line(_line_name(material, one), at, means, lows, highs, group.look))
    table = Table(
        "Ratio of mean efforts around the refused people of a group, with its 95 % confidence interval",
        (Name(material.column), "against", "neighbours", "ratio", "95 % interval", "people", "not defined"),
        rows,
        frozenset({1}),
    )
    lines = [line for line in lines if not np.isnan(line.y).all()]
    if not lines:
        return table
    return Chart(
        "line", "acr", _curve_title(material, lines), _ends(lines), table,
        {
            "lines": lines, "x_label": "share of all people counted as neighbours", "y_label": "ratio of mean efforts",
            "equal": criteria.rule.ends(criteria.tau),
            "key": "Grey: counts as equal. Shaded: 95 % interval at each point.",
        },
    )  # fmt: skip


def _curve_title(material: Material, lines: list[Line]) -> str:
    """What to see: where the line lies."""
    against = material.against_name
    if len(lines) > 1 or not against:
        return f"Ratio of efforts{f' against {against}' if against else ''}, by size of neighbourhood"
    line = lines[0]
    values = [v for v in line.y if not isnan(v)]
    who = f"{line.label} against {against}"
    low, high = material.audit.criteria.rule.ends(material.audit.criteria.tau)
    bands = [(a, b) for a, b, v in zip(line.low, line.high, line.y, strict=False) if not isnan(v)]
    if bands and all(a >= low and b <= high for a, b in bands):
        return f"{who}: equal within the thresholds at every size of neighbourhood"
    if min(values) > 1 or max(values) < 1:
        return f"{who}: {'more' if min(values) > 1 else 'less'} effort at every size of neighbourhood"
    more, less = sum(v > high for v in values), sum(v < low for v in values)
    if not more and not less:
        return f"{who}: ratios within the thresholds at every size of neighbourhood, intervals partly beyond"
    told = [f"{word} effort at {n}" for word, n in (("more", more), ("less", less)) if n]
    return f"{who}: {' and '.join(told)} of {len(values)} sizes of neighbourhood, beyond the thresholds"


def _line_name(material: Material, one: Around) -> str:
    return one.mine.name if material.against_name else f"{one.mine.name} / {one.theirs.name}"


def _ends(lines: list[Line]) -> str:
    told = []
    for line in lines:
        known = [k for k, value in enumerate(line.y) if not isnan(value)]
        first, last = known[0], known[-1]
        at = (f"{times(line.y[k])} at {part(line.x[k])}" for k in (first, last))
        told.append(f"{line.label}: {', '.join(at)}")
    return "; ".join(told) + "."


def individual_chart(material: Material, near: Near) -> Chart | Table:
    """The ratio around each refused person; the table alone where none is defined."""
    criteria, guard, sweep = material.audit.criteria, material.guard, near.sweep
    low, high = criteria.rule.ends(criteria.tau)
    rows: list[list[Cell]] = []
    lines = []
    medians: list[str] = []
    middle = np.nan
    for one in material.pairs:
        a, b = one.mine, one.theirs
        found = individual_ratios(sweep, *one.slots)[a.members[sweep.centres], 0]
        defined = np.sort(found[~np.isnan(found)])
        beyond = int(np.sum((defined > high) | (defined < low)))
        undefined = len(found) - len(defined)
        # The centres are the refused people of the group, whose count may have to be kept back.
        whole = a.seen.rate and not guard.hides(len(defined), undefined)
        # A ratio is made of the other group's efforts too, and its people may be few.
        told = len(defined) > 0 and not guard.hides(len(defined), a.stats.n_acting, b.stats.n_acting)
        quantiles = np.quantile(defined, (0.1, 0.5, 0.9)).tolist() if told else [np.nan] * 3
        outside = whole and not guard.hides(beyond, len(defined) - beyond)
        rows.append(
            [
                material.group(a.label), material.group(b.label),
                guard.count(len(defined), seen=whole), guard.count(undefined, seen=whole),
                *(times(q) if told or not len(defined) else HIDDEN for q in quantiles),
                guard.count(beyond, seen=outside and told),
            ]
        )  # fmt: skip
        if told and one.is_shown:
            lines.append(ecdf(_line_name(material, one), defined, a.look, guard.is_on))
            middle = quantiles[1]
            medians.append(f"{_line_name(material, one)}: median {times(middle)}")
    table = Table(
        "Ratio around each refused person: own group against the other among the people like them",
        (Name(material.column), "against", "people", "not defined", "10 %", "median", "90 %", "beyond the thresholds"),
        rows,
        frozenset({1}),
    )
    if not lines:
        return table
    against = f" against {material.against_name}" if material.against_name else ""
    title = f"Around half of the refused people the ratio{against} is above {ratio(middle)}"
    many = f"Ratio{against} around each refused person"
    return Chart(
        "step", "individual-acr", title if len(lines) == 1 else many,
        f"Share of refused people at most at a ratio. {'; '.join(medians)}.", table,
        {
            "lines": lines, "x_label": "ratio of efforts around the person", "y_label": "share of the refused",
            "steps": not guard.is_on, "equal": (low, high), "key": "Grey: counts as equal.",
        },
    )  # fmt: skip
