"""Who was audited: sizes, approvals, and what a surrogate model decides differently."""

from __future__ import annotations

import numpy as np

from equieffort.recourse.solvers import Status
from equieffort.report.answer import fidelity, surrogate_in_full
from equieffort.report.blocks import Block, Chart, Section, Split, Text
from equieffort.report.material import Group, Material
from equieffort.report.svg import Bar
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Name, among, count, kept, rate, ratio, share
from equieffort.world.opponents import Rest


def people(material: Material) -> Section:
    """Sizes, approval rates and impact ratios."""
    guard = material.guard
    table, bars = _table(material)
    hidden = any(guard.hides(stats.n) for stats in material.stats.values())
    total = "" if hidden else f"{count(len(material.table))} people were audited. "
    told = "; ".join(f"{bar.label}: {bar.text}" for bar in bars)
    title = f"Approved: {_first(bars, is_many=len(material.judged) > 1)}" if bars else "Approved by group"
    chart = Chart(
        "bars", "rates", title, f"{told}.", table,
        {"blocks": [("", bars)], "most": 1.0}, True,
    )  # fmt: skip
    text = Text(
        f"{total}The impact ratio is a group's share of approvals over that of {_whom(material)}. Below 0.8 is often "
        "taken as a sign to look closer; it is no statute."
    )
    # What was decided comes first; what a surrogate makes of it is the second question.
    surrogate: list[Block] = [*surrogate_in_full(material), *fidelity(material)]
    blocks: list[Block] = [*_recorded(material), Split([text], [chart]), *surrogate]
    return Section("people", "Who was audited", blocks)


def _whom(material: Material) -> str:
    """Whose share of approvals others are held against."""
    found = material.table.groups.reference
    return "everybody else" if isinstance(found, Rest) else "the reference" if isinstance(found, int) else PAIRWISE


PAIRWISE = "another; pair by pair it is among the measures"


def _first(bars: list[Bar], *, is_many: bool) -> str:
    """The rates of a group and the reference, which is last; of many groups the lowest and the highest."""
    known = [bar for bar in bars if np.isfinite(bar.value)]
    if is_many and len(known) > 1:
        ends = (min(known, key=lambda bar: bar.value), max(known, key=lambda bar: bar.value))
        return "from " + " to ".join(f"{bar.text} {among(bar.label)}" for bar in ends)
    return " and ".join(f"{bar.text} {among(bar.label)}" for bar in dict.fromkeys((bars[0], bars[-1])))


def _table(material: Material) -> tuple[Table, list[Bar]]:
    guard = material.guard
    rows: list[list[Cell]] = []
    bars = []
    for group in material.groups:
        stats, seen, approved = group.stats, group.seen, _approved(group)
        # The reference itself has the ratio 1.
        other = material.against(group) or (group if group.look.role == "reference" else None)
        base = np.nan if other is None else _approved(other)
        shown = kept(share(approved), seen.rate)
        rows.append(
            [
                material.group(group.label), material.table.groups.role(group.code), guard.count(stats.n),
                guard.count(stats.n_unfavourable, seen=seen.rate), shown,
                kept(ratio(approved / base if base > 0 else np.nan), seen.rate and (other is None or other.seen.rate)),
                guard.count(stats.n_acting, seen=seen.parts),
                guard.count(stats.count(Status.INFEASIBLE), seen=seen.parts),
                guard.count(stats.n_unknown, seen=seen.parts),
            ]
        )  # fmt: skip
        if group.is_drawn:
            bars.append(Bar(group.name, approved if seen.rate else np.nan, shown, group.look))
    head = (
        Name(material.column), "role", "people", "refused", "approved", "impact ratio", "with a route", "without",
        "not known",
    )  # fmt: skip
    return Table("Everybody in the audit", head, rows, frozenset({1})), bars


def _approved(group: Group) -> float:
    return rate(group.stats.count(Status.NOT_NEEDED), group.stats.n)


def _recorded(material: Material) -> list[Block]:
    """What was decided according to the data against what the surrogate model decides."""
    known, guard = material.audit.recorded, material.guard
    if known is None or not known.n:
        return []
    rows: list[list[Cell]] = []
    for group in material.groups:
        both, record, surrogate, neither = material.refused_by(group.label) or (0, 0, 0, 0)
        told = material.tells_record(group.label)
        n, (now, before) = both + record + surrogate + neither, (both + surrogate, both + record)
        shares = [kept(share(rate(part, n)), told) for part in (before, now)]
        numbers = [guard.count(part, seen=told) for part in (before, now, record, surrogate)]
        rows.append([material.group(group.label), shares[0], numbers[0], shares[1], *numbers[1:]])
    head = (
        Name(material.column), "refused in the record", "people", "refused by the surrogate", "people",
        "in the record only", "by the surrogate only",
    )  # fmt: skip
    missing = int((~known.is_known).sum())
    gone = f" For {guard.count(missing)} people no decision is recorded." if missing else ""
    text = (
        "First what was decided according to the data, then what the surrogate model decides; it does not repeat every "
        f"decision. Everywhere below, refused means refused by the surrogate.{gone}"
    )
    return [Text(text), Table("Recorded decisions and those of the surrogate model", head, rows)]
