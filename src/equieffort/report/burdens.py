"""What is asked of people: how effort is spread, who has no way, which actions and which features."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from equieffort.frames import Bools
from equieffort.inference.curves import half_width
from equieffort.judging import SHOWN_LEVEL
from equieffort.problem import limits
from equieffort.report.blocks import Block, Chart, Section, Text
from equieffort.report.curves import coarse_steps, steps_of
from equieffort.report.material import Material
from equieffort.report.series import rate
from equieffort.report.svg import BOLD, WIDTH, Bar, Line, cut, width_of
from equieffort.report.words import (
    HIDDEN,
    MISSING,
    Cell,
    Name,
    Phrase,
    Table,
    Words,
    count,
    kept,
    plain,
    share,
)  # fmt: skip
from equieffort.report.words import effort as amount
from equieffort.shown import level_text
from equieffort.solvers import Status

MOST_REASONS = 12
"""Why nothing is known may be said differently of each person; so many ways are listed."""

# -- costs ------------------------------------------------------------------------------------------------------------


def costs(material: Material) -> Section:
    """How effort is spread within each group."""
    guard, effort = material.guard, material.table.effort
    rows: list[list[Cell]] = []
    lines = []
    for k, code in enumerate(material.order):
        label = material.labels[code]
        mine = effort[material.members(code) & material.table.has_action]
        seen = guard.seen(material.stats[label])
        told = len(mine) > 0 and seen.effort
        values = np.quantile(mine, (0.1, 0.25, 0.5, 0.75, 0.9)).tolist() if told else [np.nan] * 5
        mean = material.stats[label].phi if told else np.nan
        shown = [amount(v) if told or not len(mine) else HIDDEN for v in (*values, mean)]
        rows.append([Name(label), guard.count(len(mine), seen=seen.parts), *shown])
        if seen.parts and seen.effort and code in material.drawn and (line := _curve(material, code, k)) is not None:
            lines.append(line)
    table = Table(
        "Effort of those who have an action",
        ("group", "people", "10%", "25%", "median", "75%", "90%", "mean"),
        rows,
    )
    intro = Text(
        "The curve of a group says for every effort which share of its refused people it turns. Everybody refused "
        "counts, so a curve ends at the share who have a route to approval; the lower it lies, the worse off the group "
        f"is.{_not_drawn(material)}"
    )
    if not lines:
        return Section("costs", "How effort is spread", [intro, table])
    drawn = [row for row, code in zip(rows, material.order, strict=True) if code in material.drawn]
    described = "; ".join(f"{plain(row[0])}: median {plain(row[4])} among those with a route" for row in drawn)
    level = level_text(material.audit.criteria)
    chart = Chart(
        "curve", "effort-curve", "Share of refused people whom an effort turns",
        f"Share of all refused people who need at most an effort. {described}.", table,
        {
            "lines": lines, "x_label": "effort", "y_label": "share of the refused", "steps": not guard.is_on,
            "band_label": f"Shaded: {level} band, for the whole curve at once.",
        },
    )  # fmt: skip
    return Section("costs", "How effort is spread", [intro, chart])


def _curve(material: Material, code: int, style: int) -> Line | None:
    """A group's effort curve; where single people must not show, through tenths of them."""
    label, stats = material.labels[code], material.stats[material.labels[code]]
    found = material.effort_curve
    found = found[found["group"] == label]
    if not stats.n_unfavourable:
        return None
    if not material.guard.is_on:
        return steps_of(label, {name: found[name].to_numpy() for name in ("effort", "share", "low", "high")}, style)
    efforts = material.table.effort[material.members(code) & material.table.is_unfavourable]
    half = half_width(stats.n_unfavourable, material.audit.criteria.level or SHOWN_LEVEL)
    return coarse_steps(label, np.where(np.isnan(efforts), np.inf, efforts), half, style)


def _not_drawn(material: Material) -> str:
    """That a picture leaves groups out."""
    if len(material.drawn) == len(material.order):
        return ""
    return " The picture shows the groups that are judged; the numbers behind it are about every group."


# -- no recourse ------------------------------------------------------------------------------------------------------

_LEFT_OUT = re.compile(
    r"^(?:There would be an action without(?: all of these)?|Several limits stop every action together): "
)
_BEFORE = re.compile(
    r"^(?:No allowed action (?:raises the score|leads to the favourable decision)"
    r"|The decision needs \S+ more score; the best allowed actions give at most \S+): "
)


def binding_limits(material: Material, reason: str) -> list[Words]:
    """The limits that a reason names, without the numbers of the person."""
    return _Binding.of(material).named_in(reason)


@dataclass(frozen=True)
class _Binding:
    """Limits as reasons name them: prepared once, since there may be as many reasons as people."""

    rules: list[str]
    stops: list[tuple[str, re.Pattern[str], list[str]]]
    """Of each actionable feature: how a reason says that it stops, and the words for what may stop it."""
    material: Material

    @classmethod
    def of(cls, material: Material) -> _Binding:
        schema, encoding = material.table.detail.schema, material.table.detail.encoding
        followers = [f"plausible range of {name!r}" for name in encoding.names]
        followers += [f"{name!r} must not move" for name in encoding.names]
        stops = [
            (
                name,
                re.compile(rf"(?:^|; ){re.escape(name)} (?:stops at|cannot go (?:up|down) from) \S+ \("),
                [limit.text for limit in limits(schema.feature(name))] + followers,
            )
            for name in schema.actionable
        ]
        return cls([f"the rule that {link}" for link in schema.links], stops, material)

    def named_in(self, reason: str) -> list[Words]:
        body = _BEFORE.sub("", reason).removesuffix(".")
        found: list[Words] = [(Phrase(text),) for text in self.rules if text in body]
        if _LEFT_OUT.match(reason):
            return _left_out(self.material, _LEFT_OUT.sub("; ", reason)) + found
        for name, stopped, texts in self.stops:
            if there := stopped.search(body):
                rest = body[there.end() :]
                stop = max((text for text in texts if rest.startswith(text)), key=len, default=rest.split(")")[0])
                found.append((Name(name), ": ", Phrase(stop)))
        for piece in body.split("; "):
            if " cannot change that way (" in piece or piece.startswith("what may become of "):
                found.append((Phrase(piece),))
        if found:
            return found
        if reason.startswith("Nothing that the actionable features can become"):
            return [("no limit: nothing they could set turns the decision",)]
        still = reason.startswith(("No action moves the score", "No allowed action raises the score"))
        return [("no action moves the score",)] if still else [("no single limit",)]


def _left_out(material: Material, body: str) -> list[Words]:
    """The limits without which there would be an action, from the reason that lists them."""
    schema, encoding = material.table.detail.schema, material.table.detail.encoding
    found: list[Words] = []
    for name in schema.actionable:
        for text in dict.fromkeys(limit.text for limit in limits(schema.feature(name))):
            if f"; {name} ({text}; now " in body:
                found.append((Name(name), ": ", Phrase(text)))
    for name in encoding.names:
        for text in (f"the plausible range of {name!r}", f"{name!r} must not move"):
            if f"; {text}" in body:
                found.append((Phrase(text),))
    return found


def _heading(limit: Words) -> str:
    """The limit as a heading: a long name gives way to what limits it."""
    first, *rest = limit
    if not rest:
        return first
    return cut(first, WIDTH - width_of("".join(rest), BOLD), BOLD) + "".join(rest)


def no_recourse(material: Material) -> Section:
    """Who has no action and which limits stand in the way; and of whom that is not known."""
    blocks = _proven(material) + _unknown(material)
    said = Text("Everybody who was refused has an action that would turn the decision.")
    return Section("no-recourse", "Who has no way, and why", blocks or [said])


def _proven(material: Material) -> list[Block]:
    guard, table = material.guard, material.table
    seen = {label: guard.seen(stats).parts for label, stats in material.stats.items()}
    labels = [material.labels[code] for code in material.order]
    binding = _Binding.of(material)
    counted: dict[Words, Counter[str]] = {}
    for row in np.flatnonzero(table.status == Status.INFEASIBLE).tolist():
        for limit in dict.fromkeys(binding.named_in(material.reasons[row])):
            counted.setdefault(limit, Counter())[material.labels[table.groups.codes[row]]] += 1
    if not counted:
        return []
    ranked = sorted(counted.items(), key=lambda item: (-sum(item[1].values()), plain(item[0])))
    rows = [_counted(material, "all without an action", Status.INFEASIBLE)]
    rows += [[limit, *(guard.count(found[g], seen=seen[g]) for g in labels)] for limit, found in ranked]
    behind = Table(
        "Refused people without an action, by the limit that stops them", ("limit", *map(Name, labels)), rows
    )
    blocks = []
    for limit, found in ranked[:8]:
        told = {g: seen[g] and not guard.hides(found[g]) for g in labels}
        bars = [
            Bar(g, found[g] if told[g] else np.nan, guard.count(found[g], seen=seen[g]), k)
            for k, g in enumerate(labels)
            if material.order[k] in material.drawn
        ]
        blocks.append((_heading(limit), bars))
    described = "; ".join(f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in bars) for name, bars in blocks)
    text = (
        "No allowed action turns the decision for these people: proven, not merely not found. A person can be stopped "
        f"by several limits at once and is then counted under each.{_not_drawn(material)}"
    )
    chart = Chart(
        "bars", "limits", "Limits that leave people without an action", f"{described}.", behind, {"blocks": blocks}
    )
    return [Text(text), chart]


def _unknown(material: Material) -> list[Block]:
    """People of whom nothing is known, by why; kept apart from those who certainly have no way."""
    table = material.table
    unknown = np.flatnonzero(table.status == Status.UNKNOWN)
    if not len(unknown):
        return []
    labels = [material.labels[code] for code in material.order]
    rows = [_counted(material, "all of whom it is not known", Status.UNKNOWN)]
    if not material.guard.is_on:
        # A reason may tell of one person, and the reasons add up to the count above.
        counted: dict[str, Counter[str]] = {}
        for row in unknown:
            why = material.reasons[row] or "Nothing was found and nothing excluded."
            counted.setdefault(why, Counter())[material.labels[table.groups.codes[row]]] += 1
        ranked = sorted(counted.items(), key=lambda item: (-item[1].total(), item[0]))
        rest = sum((found for _, found in ranked[MOST_REASONS:]), Counter[str]())
        rows += [[material.told(why), *(count(found[g]) for g in labels)] for why, found in ranked[:MOST_REASONS]]
        if rest:
            rows.append([f"{count(len(ranked) - MOST_REASONS)} other reasons", *(count(rest[g]) for g in labels)])
    return [
        Text("Of these people it is not known whether they have an action: none was found, and none excluded."),
        Table("Refused people of whom nothing is known, by why", ("why", *map(Name, labels)), rows),
    ]


def _counted(material: Material, name: str, status: Status) -> list[Cell]:
    """A row of how many people of each group have a status."""
    found = [material.stats[material.labels[code]] for code in material.order]
    return [name, *(material.guard.count(s.count(status), seen=material.guard.seen(s).parts) for s in found)]


# -- actions ----------------------------------------------------------------------------------------------------------


def actions(material: Material) -> Section:
    """What is asked of each group: which features, and how much."""
    guard, table = material.guard, material.table
    rows: list[list[Cell]] = []
    blocks = []
    for b, k in enumerate(table.acts):
        column = table.detail.encoding.columns[k]
        bars = []
        for style, code in enumerate(material.order):
            label = material.labels[code]
            acting = material.members(code) & table.has_action
            changed = acting & _changes(material, b)
            n, of = int(changed.sum()), int(acting.sum())
            told = guard.seen(material.stats[label]).parts and not guard.hides(n, of - n)
            held = int((acting & material.chosen[:, b] & ~changed).sum())
            mix = share(rate(n, of))
            rows.append(
                [
                    Name(column.name), Name(label), guard.count(n, seen=told), kept(mix, told),
                    _size(material, k, changed) if told else HIDDEN, guard.count(held, seen=told),
                ]
            )  # fmt: skip
            if code in material.drawn:
                bars.append(Bar(label, rate(n, of) if told else np.nan, kept(mix, told), style))
        blocks.append((column.name, bars))
    behind = Table(
        "Cheapest actions by feature",
        ("feature", "group", "people who change it", "of those with an action", "median change", "people who hold it"),
        rows,
        frozenset({1}),
    )
    described = "; ".join(f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in bars) for name, bars in blocks)
    chart = Chart(
        "bars", "mix", "Share of people whose cheapest action changes a feature", f"{described}.", behind,
        {"blocks": blocks, "most": 1.0},
    )  # fmt: skip
    text = (
        "The cheapest action of each person may change one feature or several. To hold a feature is to keep it at its "
        f"value although its causes change. Changes that merely follow are not counted.{_not_drawn(material)}"
    )
    return Section("actions", "What is asked of each group", [Text(text), chart])


def _changes(material: Material, b: int) -> Bools:
    k = material.table.acts[b]
    return np.asarray(material.chosen[:, b] & (material.facts[:, k] != material.moved[:, k]))


def _size(material: Material, k: int, changed: Bools) -> Cell:
    """The median change of a number, the most frequent target of a category."""
    if not changed.any():
        return MISSING
    column = material.table.detail.encoding.columns[k]
    if not column.is_category:
        change = float(np.median(material.moved[changed, k] - material.facts[changed, k]))
        return f"{change:+,.4g}" if abs(change) < 9999.5 else f"{change:+,.0f}"
    values, counts = np.unique(material.moved[changed, k], return_counts=True)
    target = column.decode(values[[int(counts.argmax())]])[0]
    return ("mostly to ", Name(target))


def features(material: Material) -> Section:
    """Where the effort goes: the mean cost of each feature by group."""
    guard, table = material.guard, material.table
    rows: list[list[Cell]] = []
    blocks = []
    for b, k in enumerate(table.acts):
        name = table.detail.encoding.columns[k].name
        bars = []
        for style, code in enumerate(material.order):
            label = material.labels[code]
            acting = material.members(code) & table.has_action
            n, of = int((acting & _changes(material, b)).sum()), int(acting.sum())
            told = guard.seen(material.stats[label]).effort and not guard.hides(n, of - n)
            mean = float(material.costs[acting, b].mean()) if of else np.nan
            phi = material.stats[label].phi
            part = mean / phi if phi > 0 else np.nan
            rows.append([Name(name), Name(label), kept(amount(mean), told), kept(share(part), told)])
            if code in material.drawn:
                bars.append(Bar(label, mean if told else np.nan, kept(amount(mean), told), style))
        blocks.append((name, bars))
    behind = Table(
        "Mean effort by feature over those who have an action",
        ("feature", "group", "mean effort", "of the group's effort"),
        rows,
        frozenset({1}),
    )
    described = "; ".join(f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in bars) for name, bars in blocks)
    chart = Chart("bars", "effort", "Mean effort by feature", f"{described}.", behind, {"blocks": blocks})
    text = f"For each group the features add up to its mean effort.{_not_drawn(material)}"
    return Section("features", "Where the effort goes", [Text(text), chart])
