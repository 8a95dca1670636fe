"""What is asked of people: how effort is spread, which features are changed and what each adds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.orders import half_width
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.foundations.arguments import as_plain
from equieffort.report.blocks import Block, Chart, Folded, Section, Split, Text
from equieffort.report.curves import coarse_steps, steps_of
from equieffort.report.material import Group, Material, not_drawn
from equieffort.report.svg import Bar, Bars, Line, bars_text
from equieffort.report.tables import Table
from equieffort.report.words import (
    HIDDEN,
    MISSING,
    Cell,
    Name,
    Words,
    among,
    kept,
    name_list,
    plain,
    rate,
    ratio,
    say,
    share,
)
from equieffort.report.words import effort as amount
from equieffort.words.shown import level_text

LONGEST_TITLE = 130
"""Letters of a title that says more than what is drawn."""
MOST_OPEN = 3
"""With more groups the table of actions is folded."""
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
    lines, halves = [], []
    for group in material.groups:
        mine, seen = material.efforts(group), group.seen
        told = len(mine) > 0 and seen.effort
        values = np.quantile(mine, (0.25, 0.5, 0.75)).tolist() if told else [np.nan] * 3
        mean = group.stats.phi if told else np.nan
        shown = [ratio(v) if told or not len(mine) else HIDDEN for v in (*values, mean)]
        rows.append([material.group(group.label), guard.count(len(mine), seen=seen.parts), *shown])
        if seen.parts and seen.effort and group.is_drawn and group.stats.n_unfavourable:
            lines.append(_curve(material, group))
            halves.append((_enough_for_half(material, group), group.name))
    table = Table(
        "Effort of those who have a route",
        (Name(material.column), "people", "25 %", "median", "75 %", "mean"),
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
    described = "; ".join(f"{plain(row[0])}: median {plain(row[3])} among those with a route" for row in drawn)
    level = level_text(material.audit.criteria)
    chart = Chart(
        "curve", "effort-curve", _half(halves),
        f"Share of all refused people who need at most an effort. {described}.", table,
        {
            "lines": lines, "x_label": "effort", "y_label": "share of the refused", "steps": not guard.is_on,
            "band_label": f"Shaded: {level} band, for the whole curve at once.",
        },
        True,
    )  # fmt: skip
    return Section("costs", "How effort is spread", [Split([intro], [chart])])


def _half(found: list[tuple[float, str]]) -> str:
    """What to see: the effort that turns half of the refused of each group; of many the least and the most."""
    shown = found
    if len(found) > MOST_OPEN:
        shown = list(dict.fromkeys((min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0]))))
    elif len(found) > 1:
        shown = [found[0], found[-1]]
    told = [f"{ratio(x) if np.isfinite(x) else 'no effort is enough'} {among(label)}" for x, label in shown]
    return f"Effort that turns half of the refused: {', '.join(told)}"


def _curve(material: Material, group: Group) -> Line:
    """A group's effort curve; where single people must not show, through tenths of them."""
    if not material.guard.is_on:
        found = material.effort_curve
        return steps_of(group.name, found[found["group"] == group.label], group.look)
    half = half_width(group.stats.n_unfavourable, material.audit.criteria.level or SHOWN_LEVEL)
    return coarse_steps(group.name, _efforts(material, group), half, group.look)


def _enough_for_half(material: Material, group: Group) -> float:
    """Of all the refused, since a curve drawn through fewer steps reaches the half a little later."""
    return float(np.quantile(_efforts(material, group), 0.5, method="inverted_cdf"))


def _efforts(material: Material, group: Group) -> Floats:
    """Everybody refused of a group; infinite without an action."""
    efforts = material.table.effort[group.members & material.table.is_unfavourable]
    return np.where(np.isnan(efforts), np.inf, efforts)


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
                    *(_size(material, k, changed) if told else (HIDDEN, HIDDEN)), guard.count(held, seen=told),
                    costs, kept(share(mean / phi if phi > 0 else np.nan), priced),
                ]
            )  # fmt: skip
            if group.is_drawn:
                mix[-1][1].append(Bar(group.name, rate(n, of) if told else np.nan, often, group.look))
                parts[-1][1].append(Bar(group.name, mean if priced else np.nan, costs, group.look))
    head = (
        "feature", Name(material.column), "people who change it", "of those with a route", "median change",
        "mean change", "people who hold it", "mean effort", "of the group's effort",
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
            {"blocks": _even(parts)}, remark="Mean effort of those with a route", is_shared=True,
        )  # fmt: skip
        # A row a feature and group is long with many groups, of whom the pictures show what differs.
        is_long = sum(group.is_drawn for group in material.groups) > MOST_OPEN
        blocks += [Split([left], [right]), Folded(plain(behind.caption), [behind]) if is_long else behind]
    return Section("actions", "What is asked of each group", [*blocks, Text(REASONS, "note")])


def _even(blocks: Bars) -> Bars:
    """Values that stand beside each other with the same decimals, three digits of the largest; the table has more."""
    largest = max((bar.value for _, bars in blocks for bar in bars if np.isfinite(bar.value)), default=0.0)
    places = min(max(0, 2 - int(np.floor(np.log10(largest)))), 12) if largest > 0 else 0
    least = 10.0**-places

    def text(bar: Bar) -> str:
        if not np.isfinite(bar.value):
            return bar.text
        if bar.value == 0:
            return "0"
        return f"<{least:.{places}f}" if 0 < bar.value < least / 2 else f"{bar.value:,.{places}f}"

    return [(name, [replace(bar, text=text(bar)) for bar in bars]) for name, bars in blocks]


def _holds(rows: list[list[Cell]]) -> str:
    some = any(plain(row[6]) != "0" for row in rows)
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
    told = f"{words}: " + ", ".join(f"{name} {among(label)}" for label, name in found.items())
    return told if len(told) <= LONGEST_TITLE else words


def _size(material: Material, k: int, changed: Bools) -> tuple[Cell, Cell]:
    """The median and mean change of a number; of a category the most frequent target."""
    if not changed.any():
        return MISSING, MISSING
    column = material.table.source.encoding.columns[k]
    if not column.is_category:
        changes = material.moved[changed, k] - material.facts[changed, k]
        return _signed(float(np.median(changes))), _signed(float(changes.mean()))
    values, counts = np.unique(material.moved[changed, k], return_counts=True)
    target = column.decode(values[[int(counts.argmax())]])[0]
    return ("mostly to ", material.level(column.name, as_plain(target))), MISSING


def _signed(change: float) -> str:
    return f"{change:+,.3g}" if abs(change) < 999.5 else f"{change:+,.0f}"
