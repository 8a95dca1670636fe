"""Who is compared: the people, effort by level, around individuals and against the size of a neighbourhood."""

from __future__ import annotations

from math import isnan

import numpy as np

from equieffort.errors import EquieffortError
from equieffort.report.answer import fidelity, outcome
from equieffort.report.blocks import Block, Chart, Folded, Items, Section, Text
from equieffort.report.material import Material
from equieffort.report.measured import with_interval
from equieffort.report.series import ecdf, rate
from equieffort.report.svg import Bar, Line
from equieffort.report.words import (
    HIDDEN,
    MISSING,
    Cell,
    Name,
    Phrase,
    Table,
    count,
    kept,
    part,
    plain,
    ratio,
    say,
    share,
    times,
)  # fmt: skip
from equieffort.shown import level_text
from equieffort.solvers import Status
from equieffort.verdict import Assessment

# -- who was audited --------------------------------------------------------------------------------------------------


def people(material: Material) -> Section:
    """Sizes, favourable rates and impact ratios."""
    guard, groups = material.guard, material.table.groups
    rates = {label: rate(stats.count(Status.NOT_NEEDED), stats.n) for label, stats in material.stats.items()}
    reference = groups.labels[groups.reference]
    seen = {label: guard.seen(stats) for label, stats in material.stats.items()}
    rows: list[list[Cell]] = []
    bars = []
    for k, code in enumerate(material.order):
        label = groups.labels[code]
        stats, look = material.stats[label], seen[label]
        impact = rates[label] / rates[reference] if rates[reference] > 0 else np.nan
        rows.append(
            [
                Name(label), groups.role(code), guard.count(stats.n),
                guard.count(stats.n_unfavourable, seen=look.rate),
                kept(share(rates[label]), look.rate),
                kept(ratio(impact), look.rate and seen[reference].rate),
                guard.count(stats.n_acting, seen=look.parts),
                guard.count(stats.count(Status.INFEASIBLE), seen=look.parts),
                guard.count(stats.n_unknown, seen=look.parts),
            ]
        )  # fmt: skip
        shown = rates[label] if look.rate else np.nan
        bars.append(Bar(label, shown, kept(share(rates[label]), look.rate), k))
    table = Table(
        "Everybody in the audit",
        (
            "group", "role", "people", "refused", "favourable rate", "impact ratio",
            "with an action", "none possible", "not known",
        ),
        rows,
        frozenset({1}),
    )  # fmt: skip
    hidden = any(guard.hides(stats.n) for stats in material.stats.values())
    total = "" if hidden else f"{count(len(material.table))} people were audited. "
    chart = Chart(
        "bars", "rates", "Favourable decisions by group",
        "; ".join(f"{bar.label}: {bar.text}" for bar in bars) + ".", table, {"blocks": [("", bars)], "most": 1.0}, True,
    )  # fmt: skip
    text = (
        total
        + "The impact ratio is a group's favourable rate over that of the reference. Below 0.8 is often taken as a "
        "sign to look closer."
    )
    return Section("people", "Who was audited", [Text(text), chart, *_recorded(material), *fidelity(material)])


def _recorded(material: Material) -> list[Block]:
    """What was decided according to the data against what the stand-in decides."""
    known, guard = material.recorded, material.guard
    if known is None or not known.n:
        return []
    rows: list[list[Cell]] = []
    refused = material.table.is_unfavourable
    for code in material.order:
        mine = material.members(code) & known.is_known
        before, now = mine & ~known.is_favourable, mine & refused
        cells = [int(n.sum()) for n in (before & now, before & ~now, mine & ~before & now, mine & ~before & ~now)]
        told = material.tells_record(material.labels[code])
        both, only_before, only_now, _ = cells
        rows.append(
            [
                Name(material.labels[code]),
                *(
                    guard.count(n, seen=told)
                    for n in (both + only_before, both + only_now, both, only_before, only_now)
                ),
            ]
        )
    head = (
        "group", "refused in the data", "refused by the stand-in", "by both", "in the data only", "by the stand-in only"
    )  # fmt: skip
    missing = int((~known.is_known).sum())
    gone = f" Of {guard.count(missing)} people no decision is recorded." if missing else ""
    text = f"The stand-in does not repeat every decision. Below, refused means: refused by the stand-in.{gone}"
    return [Text(text), Table("Recorded decisions and those of the stand-in", head, rows)]


# -- levels -----------------------------------------------------------------------------------------------------------


def levels(material: Material) -> Section:
    """Both measures for everybody, for subgroups and around individuals."""
    judged: list[list[Cell]] = []
    others: list[list[Cell]] = []
    asked: list[tuple[Cell, Assessment, bool]] = [("everybody", material.audit.system, False)]
    asked += [(say("{}: {}", Name(name), Phrase(a.about)), a, True) for name, a in material.subgroups]
    for who, assessment, is_part in asked:
        for c in assessment.comparisons:
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
            if found:
                judged.append([*row, found[0]])
            else:
                others.append(row)
    level = level_text(material.audit.criteria)
    head = (
        "who", "group", "against", "refused", "refused, other", f"ratio of efforts ({level} interval)",
        f"gap ({level} interval)",
    )  # fmt: skip
    table = Table("Everybody and subgroups", (*head, "outcome"), judged, frozenset({1, 2, 7}))
    intro = (
        "The ratio of efforts (ACR) is a group's average effort over that of the other group: above 1, the group works "
        "harder. The gap (RD) is the other group's share of refused people with a route to approval minus the group's: "
        "above 0, the group more often has none."
    )
    blocks: list[Block] = [Text(intro), table]
    if others:
        blocks.append(Folded(f"{len(others)} more, of groups that are not judged", Table(
            "Groups that are not judged", head, others, frozenset({1, 2})
        )))  # fmt: skip
    return Section("levels", "Effort by level", [*blocks, *_individuals(material)])


def _individuals(material: Material) -> list[Block]:
    if isinstance(material.near, EquieffortError):
        return [Text(("Around individuals nothing can be computed: ", Phrase(material.near.what)), "note")]
    criteria, guard, labels = material.audit.criteria, material.guard, material.labels
    low, high = criteria.rule.ends(criteria.tau)
    rows: list[list[Cell]] = []
    lines = []
    for k, (a, b) in enumerate(material.pairs):
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
            lines.append(ecdf(f"{labels[a]} against {labels[b]}", defined, k, guard.is_on))
    table = Table(
        "Ratio around each refused person: own group against the other among the people like them",
        ("group", "against", "people", "not defined", "10%", "median", "90%", "beyond the thresholds"),
        rows,
        frozenset({1}),
    )
    text = (
        "Around individuals: each refused person's own group is compared with the other among the "
        f"{part(material.quantile)} of all people most like them. Where one of the groups is missing there, no ratio "
        "is defined."
    )
    if material.near.drawn:
        text += (
            f" Computed for {count(len(material.near.sweep.centres))} of the refused people, drawn at random by group, "
            "because there are so many."
        )
    if not lines:
        return [Text(text), table]
    text += _not_drawn(material)
    drawn = [row for row, pair in zip(rows, material.pairs, strict=True) if pair in material.drawn_pairs]
    described = "; ".join(f"{plain(row[0])} against {plain(row[1])}: median {plain(row[5])}" for row in drawn)
    return [
        Text(text),
        Chart(
            "step", "individual-acr", "Ratio of efforts around individuals",
            f"Share of refused people at most at a ratio. {described}.",
            table,
            {
                "lines": lines, "x_label": "ratio of efforts around the person",
                "y_label": "share of people", "steps": not guard.is_on,
                "equal": (low, high), "equal_label": "counts as equal",
            },
        ),
    ]  # fmt: skip


def _not_drawn(material: Material) -> str:
    """That a picture leaves comparisons out."""
    if len(material.drawn_pairs) == len(material.pairs):
        return ""
    return " The picture shows what is judged; the numbers behind it are about every group."


# -- curve ------------------------------------------------------------------------------------------------------------


def curve(material: Material) -> Section:
    """ACR against the size of the neighbourhood."""
    title = "Effort against the size of the neighbourhood"
    near = material.near
    if isinstance(near, EquieffortError):
        return Section("curve", title, [Text(("This cannot be computed: ", Phrase(near.what)), "note")])
    guard, criteria = material.guard, material.audit.criteria
    rows: list[list[Cell]] = []
    lines = []
    shown_pairs = {(material.labels[a], material.labels[b]) for a, b in material.drawn_pairs}
    for k, ((group, against), rows_of) in enumerate(near.curve.groupby(["group", "against"], sort=False)):
        told = [
            not guard.hides(n - gone, material.stats[group].n_acting, material.stats[against].n_acting)
            for n, gone in zip(rows_of["n_centres"], rows_of["n_undefined"], strict=True)
        ]
        shown = {name: [v if t else np.nan for v, t in zip(rows_of[name], told, strict=True)] for name in CURVE}
        mean, low, high = (shown[name] for name in CURVE)
        if (group, against) in shown_pairs:
            lines.append(Line(f"{group} against {against}", rows_of["quantile"].tolist(), mean, low, high, k))
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
        "Ratio of mean efforts around the refused people of a group, with its 95% confidence interval",
        ("group", "against", "neighbours", "ratio", "95% interval", "people", "not defined"),
        rows,
        frozenset({1}),
    )
    drawn = [line for line in lines if not np.isnan(line.y).all()]
    intro = Text(
        "Each refused person is compared with the share of all people most like them, from the nearest twentieth to "
        "everybody. Where a curve moves away from 1 towards the left, efforts differ more among very similar people "
        f"than over all; where it comes closer to 1, they differ less.{_not_drawn(material)}"
    )
    if not drawn:
        return Section("curve", title, [intro, table])
    least, most = criteria.rule.ends(criteria.tau)
    chart = Chart(
        "line", "acr", "Ratio of efforts against the share of people counted as neighbours", _ends(drawn), table,
        {
            "lines": drawn, "x_label": "share of all people counted as neighbours", "y_label": "ratio of mean efforts",
            "equal": (least, most), "equal_label": "counts as equal", "band_label": "95% interval at each point",
        },
    )  # fmt: skip
    return Section("curve", title, [intro, chart])


CURVE = ("acr", "acr_low", "acr_high")


def _ends(lines: list[Line]) -> str:
    told = []
    for line in lines:
        known = [k for k, value in enumerate(line.y) if not isnan(value)]
        first, last = known[0], known[-1]
        told.append(
            f"{line.label}: {times(line.y[first])} at {share(line.x[first])}, {times(line.y[last])} at "
            f"{share(line.x[last])}"
        )
    return "; ".join(told) + "."


def separate(material: Material) -> Section:
    """Reasons for a decision and actions that turn it are not the same."""
    return Section(
        "reasons",
        "Recourse actions are not reasons for a decision",
        [
            Text(
                "What a person could do is labelled a recourse action throughout: the cheapest allowed change that "
                "would turn the decision. It does not say why the decision was made. A refusal may rest on something "
                "nobody can change, and the cheapest action may touch something that weighed little."
            ),
            Items(
                [
                    ("Recourse action", "forward-looking; depends on roles, limits, costs and the causal graph."),
                    (
                        "Reason for the decision",
                        "backward-looking; must be taken from how the model scored this person. This report gives "
                        "none, and no letter of reasons should be drafted from it.",
                    ),
                ]
            ),
        ],
    )
