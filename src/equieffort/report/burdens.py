"""What is asked of people: how effort is spread, which features are changed and what each adds."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools
from equieffort.effort.inference.orders import half_width
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.foundations.arguments import as_plain
from equieffort.report.blocks import Block, Chart, Section, Split, Text
from equieffort.report.curves import coarse_steps, steps_of
from equieffort.report.material import Group, Material, not_drawn
from equieffort.report.svg import Bar, Bars, Line, bars_text
from equieffort.report.tables import Table
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Words, kept, name_list, plain, rate, ratio, say, share
from equieffort.report.words import effort as amount
from equieffort.words.shown import level_text

REASONS: Words = (
    "A recourse action is the cheapest allowed change that would turn the decision. It looks forward and depends on "
    "roles, limits, costs and the causal graph. It is not the reason for the decision, which looks back and must be "
    "taken from how the model scored the person: this report gives none, and no letter of reasons should be drafted "
    "from it.",
)

# -- costs ------------------------------------------------------------------------------------------------------------


def costs(material: Material) -> Section:
    """How effort is spread within each group."""
    guard = material.guard
    rows: list[list[Cell]] = []
    lines = []
    for group in material.groups:
        mine, seen = material.efforts(group), group.seen
        told = len(mine) > 0 and seen.effort
        values = np.quantile(mine, (0.1, 0.25, 0.5, 0.75, 0.9)).tolist() if told else [np.nan] * 5
        mean = group.stats.phi if told else np.nan
        shown = [ratio(v) if told or not len(mine) else HIDDEN for v in (*values, mean)]
        rows.append([material.group(group.label), guard.count(len(mine), seen=seen.parts), *shown])
        if seen.parts and seen.effort and group.is_drawn and group.stats.n_unfavourable:
            lines.append(_curve(material, group))
    table = Table(
        "Effort of those who have a route",
        (Name(material.column), "people", "10 %", "25 %", "median", "75 %", "90 %", "mean"),
        rows,
    )
    intro = Text(
        "The curve of a group says for every effort which share of its refused people it turns. Everybody refused "
        "counts, so a curve ends at the share who have a route to approval; the lower it lies, the worse off the group "
        f"is.{not_drawn(material)}"
    )
    if not lines:
        return Section("costs", "How effort is spread", [intro, table])
    drawn = [row for row, group in zip(rows, material.groups, strict=True) if group.is_drawn]
    described = "; ".join(f"{plain(row[0])}: median {plain(row[4])} among those with a route" for row in drawn)
    level = level_text(material.audit.criteria)
    chart = Chart(
        "curve", "effort-curve", _half(lines),
        f"Share of all refused people who need at most an effort. {described}.", table,
        {
            "lines": lines, "x_label": "effort", "y_label": "share of the refused", "steps": not guard.is_on,
            "band_label": f"Shaded: {level} band, for the whole curve at once.",
        },
        True,
    )  # fmt: skip
    return Section("costs", "How effort is spread", [Split([intro], [chart])])


def _half(lines: list[Line]) -> str:
    """What to see: the effort that turns half of the refused, read from the curves."""
    told = []
    for line in lines[:1] + lines[-1:] if len(lines) > 1 else lines:
        reached = [x for x, y in zip(line.x, line.y, strict=True) if y >= 0.5]
        told.append(f"{ratio(reached[0])} with {line.label}" if reached else f"no effort is enough with {line.label}")
    return f"Effort that turns half of the refused: {', '.join(told)}"


def _curve(material: Material, group: Group) -> Line:
    """A group's effort curve; where single people must not show, through tenths of them."""
    if not material.guard.is_on:
        found = material.effort_curve
        return steps_of(group.name, found[found["group"] == group.label], group.look)
    efforts = material.table.effort[group.members & material.table.is_unfavourable]
    half = half_width(group.stats.n_unfavourable, material.audit.criteria.level or SHOWN_LEVEL)
    return coarse_steps(group.name, np.where(np.isnan(efforts), np.inf, efforts), half, group.look)


# -- actions ----------------------------------------------------------------------------------------------------------


def actions(material: Material) -> Section:
    """What is asked of each group: which features, how much, and what each adds to the effort."""
    table, guard = material.table, material.guard
    rows: list[list[Cell]] = []
    mix: Bars = []
    parts: Bars = []
    unused = []
    for b, k in enumerate(table.acts):
        column = table.source.encoding.columns[k]
        if not material.is_set[:, b].any():
            unused.append(material.feature(column.name))
            continue
        mix.append((material.feature(column.name), []))
        parts.append((material.feature(column.name), []))
        for group in material.groups:
            acting = group.members & table.has_action
            is_set = acting & material.is_set[:, b]
            changed = is_set & (material.facts[:, k] != material.moved[:, k])
            n, of = int(changed.sum()), int(acting.sum())
            told = group.seen.parts and not guard.hides(n, of - n)
            priced = group.seen.effort and not guard.hides(n, of - n)
            held = int((is_set & ~changed).sum())
            mean, phi = float(material.costs[acting, b].mean()) if of else np.nan, group.stats.phi
            often, costs = kept(share(rate(n, of)), told), kept(amount(mean), priced)
            rows.append(
                [
                    material.feature(column.name), material.group(group.label), guard.count(n, seen=told), often,
                    _size(material, k, changed) if told else HIDDEN, guard.count(held, seen=told),
                    costs, kept(share(mean / phi if phi > 0 else np.nan), priced),
                ]
            )  # fmt: skip
            if group.is_drawn:
                mix[-1][1].append(Bar(group.name, rate(n, of) if told else np.nan, often, group.look))
                parts[-1][1].append(Bar(group.name, mean if priced else np.nan, costs, group.look))
    head = (
        "feature", Name(material.column), "people who change it", "of those with a route", "median change",
        "people who hold it", "mean effort", "of the group's effort",
    )  # fmt: skip
    behind = Table("Cheapest actions by feature", head, rows, frozenset({1}))
    text: Words = (
        f"The cheapest action of a person may change one feature or several.{_holds(rows)} Changes that merely follow "
        f"are not counted. For each group the mean efforts of the features add up to its mean effort."
        f"{not_drawn(material)}",
    )
    if unused:
        text += say(" Nobody's cheapest action sets {}.", name_list(unused))
    blocks: list[Block] = [Text(text)]
    if mix:
        left = Chart(
            "bars", "mix", _largest(mix, "What cheapest actions change most often"),
            f"Share of people whose cheapest action changes a feature. {bars_text(mix)}.", behind,
            {"blocks": mix, "most": 1.0}, remark="Share of those with a route whose action changes it", is_shared=True,
        )  # fmt: skip
        right = Chart(
            "bars", "effort", _largest(parts, "Where the largest part of the effort goes"),
            f"Mean effort by feature. {bars_text(parts)}.", behind,
            {"blocks": parts}, remark="Mean effort of those with a route", is_shared=True,
        )  # fmt: skip
        blocks += [Split([left], [right]), behind]
    return Section("actions", "What is asked of each group", [*blocks, Text(REASONS, "note")])


def _holds(rows: list[list[Cell]]) -> str:
    some = any(plain(row[5]) != "0" for row in rows)
    return " To hold a feature is to keep it at its value although its causes change." if some else ""


def _largest(blocks: Bars, words: str) -> str:
    """The feature with the longest bar of each group that is drawn, said once where it is the same."""
    found: dict[str, str] = {}
    for k, bar in enumerate(blocks[0][1]):
        values = [(bars[k].value, name) for name, bars in blocks if np.isfinite(bars[k].value)]
        if values and max(value for value, _ in values) > 0:
            found[bar.label] = max(values, key=lambda pair: pair[0])[1]
    if len(set(found.values())) <= 1:
        return f"{words}: {next(iter(found.values()), 'not shown')}"
    return f"{words}: " + ", ".join(f"{name} with {label}" for label, name in found.items())


def _size(material: Material, k: int, changed: Bools) -> Cell:
    """The median change of a number, the most frequent target of a category."""
    if not changed.any():
        return MISSING
    column = material.table.source.encoding.columns[k]
    if not column.is_category:
        change = float(np.median(material.moved[changed, k] - material.facts[changed, k]))
        return f"{change:+,.4g}" if abs(change) < 9999.5 else f"{change:+,.0f}"
    values, counts = np.unique(material.moved[changed, k], return_counts=True)
    target = column.decode(values[[int(counts.argmax())]])[0]
    return ("mostly to ", material.level(column.name, as_plain(target)))
