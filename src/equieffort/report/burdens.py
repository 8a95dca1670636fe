"""What is asked of people: how effort is spread, which features are changed and what each adds."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools
from equieffort.effort.inference.orders import half_width
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.report.blocks import Block, Chart, Section, Split, Text
from equieffort.report.curves import coarse_steps, steps_of
from equieffort.report.material import Material, not_drawn
from equieffort.report.series import rate
from equieffort.report.svg import Bar, Line
from equieffort.report.tables import Table
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Words, kept, name_list, plain, ratio, say, share
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
    guard, effort = material.guard, material.table.effort
    rows: list[list[Cell]] = []
    lines = []
    for code in material.order:
        label = material.labels[code]
        mine = effort[material.members(code) & material.table.has_action]
        seen = guard.seen(material.stats[label])
        told = len(mine) > 0 and seen.effort
        values = np.quantile(mine, (0.1, 0.25, 0.5, 0.75, 0.9)).tolist() if told else [np.nan] * 5
        mean = material.stats[label].phi if told else np.nan
        shown = [ratio(v) if told or not len(mine) else HIDDEN for v in (*values, mean)]
        rows.append([Name(label), guard.count(len(mine), seen=seen.parts), *shown])
        if seen.parts and seen.effort and code in material.drawn and (line := _curve(material, code)) is not None:
            lines.append(line)
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
    drawn = [row for row, code in zip(rows, material.order, strict=True) if code in material.drawn]
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


def _curve(material: Material, code: int) -> Line | None:
    """A group's effort curve; where single people must not show, through tenths of them."""
    label, stats = material.labels[code], material.stats[material.labels[code]]
    name, look = material.name(label), material.look(code)
    found = material.effort_curve
    found = found[found["group"] == label]
    if not stats.n_unfavourable:
        return None
    if not material.guard.is_on:
        return steps_of(name, {key: found[key].to_numpy() for key in ("effort", "share", "low", "high")}, look)
    efforts = material.table.effort[material.members(code) & material.table.is_unfavourable]
    half = half_width(stats.n_unfavourable, material.audit.criteria.level or SHOWN_LEVEL)
    return coarse_steps(name, np.where(np.isnan(efforts), np.inf, efforts), half, look)


# -- actions ----------------------------------------------------------------------------------------------------------


def actions(material: Material) -> Section:
    """What is asked of each group: which features, how much, and what each adds to the effort."""
    table, guard = material.table, material.guard
    rows: list[list[Cell]] = []
    mix: list[tuple[str, list[Bar]]] = []
    parts: list[tuple[str, list[Bar]]] = []
    unused = []
    for b, k in enumerate(table.acts):
        column = table.source.encoding.columns[k]
        if not material.is_set[:, b].any():
            unused.append(column.name)
            continue
        mix.append((column.name, []))
        parts.append((column.name, []))
        for code in material.order:
            label, look = material.labels[code], material.look(code)
            acting = material.members(code) & table.has_action
            changed = acting & _changes(material, b)
            n, of = int(changed.sum()), int(acting.sum())
            told = guard.seen(material.stats[label]).parts and not guard.hides(n, of - n)
            priced = guard.seen(material.stats[label]).effort and not guard.hides(n, of - n)
            held = int((acting & material.is_set[:, b] & ~changed).sum())
            mean = float(material.costs[acting, b].mean()) if of else np.nan
            phi = material.stats[label].phi
            of_all = share(mean / phi if phi > 0 else np.nan)
            rows.append(
                [
                    Name(column.name), Name(label), guard.count(n, seen=told), kept(share(rate(n, of)), told),
                    _size(material, k, changed) if told else HIDDEN, guard.count(held, seen=told),
                    kept(amount(mean), priced), kept(of_all, priced),
                ]
            )  # fmt: skip
            if code in material.drawn:
                name = material.name(label)
                mix[-1][1].append(Bar(name, rate(n, of) if told else np.nan, kept(share(rate(n, of)), told), look))
                parts[-1][1].append(Bar(name, mean if priced else np.nan, kept(amount(mean), priced), look))
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
        blocks.append(Split([_mix(mix, behind)], [_parts(parts, behind)]))
        blocks.append(behind)
    return Section("actions", "What is asked of each group", [*blocks, Text(REASONS, "note")])


def _holds(rows: list[list[Cell]]) -> str:
    some = any(plain(row[5]) != "0" for row in rows)
    return " To hold a feature is to keep it at its value although its causes change." if some else ""


def _described(blocks: list[tuple[str, list[Bar]]]) -> str:
    return "; ".join(f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in bars) for name, bars in blocks) + "."


def _largest(blocks: list[tuple[str, list[Bar]]], words: str) -> str:
    """The feature with the longest bar of each group that is drawn, said once where it is the same."""
    found: dict[str, str] = {}
    for k, bar in enumerate(blocks[0][1]):
        values = [(bars[k].value, name) for name, bars in blocks if np.isfinite(bars[k].value)]
        if values and max(value for value, _ in values) > 0:
            found[bar.label] = max(values, key=lambda pair: pair[0])[1]
    if len(set(found.values())) <= 1:
        return f"{words}: {next(iter(found.values()), 'not shown')}"
    return f"{words}: " + ", ".join(f"{name} with {label}" for label, name in found.items())


def _mix(blocks: list[tuple[str, list[Bar]]], table: Table) -> Chart:
    title = _largest(blocks, "What cheapest actions change most often")
    given = {"blocks": blocks, "most": 1.0}
    told = f"Share of people whose cheapest action changes a feature. {_described(blocks)}"
    return Chart(
        "bars",
        "mix",
        title,
        told,
        table,
        given,
        remark="Share of those with a route whose action changes it",
        is_shared=True,
    )


def _parts(blocks: list[tuple[str, list[Bar]]], table: Table) -> Chart:
    title = _largest(blocks, "Where the largest part of the effort goes")
    told = f"Mean effort by feature. {_described(blocks)}"
    return Chart(
        "bars",
        "effort",
        title,
        told,
        table,
        {"blocks": blocks},
        remark="Mean effort of those with a route",
        is_shared=True,
    )


def _changes(material: Material, b: int) -> Bools:
    k = material.table.acts[b]
    return np.asarray(material.is_set[:, b] & (material.facts[:, k] != material.moved[:, k]))


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
    return ("mostly to ", Name(target))
