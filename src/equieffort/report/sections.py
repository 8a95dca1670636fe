"""What is compared: verdict, people, levels, curve, costs, limits, actions and effort by feature, as plain data."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from equieffort.errors import EquieffortError
from equieffort.frames import number
from equieffort.metrics import Comparison
from equieffort.report.blocks import Block, Chart, Items, Outcome, Section, Text
from equieffort.report.material import Material
from equieffort.report.series import ecdf, rate
from equieffort.report.svg import Bar, Line
from equieffort.report.words import (
    HIDDEN,
    MISSING,
    Cell,
    Name,
    Phrase,
    Table,
    Words,
    count,
    interval,
    kept,
    part,
    plain,
    points,
    ratio,
    say,
    share,
)  # fmt: skip
from equieffort.solvers import Status
from equieffort.verdict import REASONS, Assessment, Finding

HEADLINES = {
    "equal": "Effort is equal within the thresholds.",
    "unequal": "Effort is unequal: some group must work harder than another to turn the decision.",
    "inconclusive": "The data do not decide whether effort is equal.",
}


# -- verdict ----------------------------------------------------------------------------------------------------------


def verdict(material: Material) -> Section:
    """The answer, first of all things."""
    audit = material.audit
    blocks: list[Block] = []
    if audit.about.get("surrogate"):
        blocks.append(Text(surrogate(audit.about["surrogate"]), "warning"))
    blocks.append(Outcome(audit.verdict.outcome, HEADLINES[audit.verdict.outcome]))
    blocks += [Text(finding_words(material, finding), "lead") for finding in audit.verdict.findings]
    blocks += unsettled(material)
    criteria = audit.criteria
    low, high = criteria.rule.ends(criteria.tau)
    blocks.append(
        Text(
            f"Equal means here: the ratio of average efforts (ACR) lies from {ratio(low)} to {ratio(high)}, and the "
            f"shares of people who have an action differ by less than {number(criteria.epsilon * 100)} percentage "
            "points (RD). "
            + ("What is certain" if criteria.certified else "What is estimated")
            + " about these people is judged; that other people might have been drawn is not considered. "
            "Refused means: decided unfavourably.",
            "note",
        )
    )
    blocks.append(_certain(material))
    return Section("verdict", "Verdict", blocks)


def surrogate(about: dict[str, Any]) -> Words:
    """That the numbers are about a stand-in."""
    by_group: list[Any] = []
    for name, value in dict(about.get("by_group") or {}).items():
        by_group += [", " if by_group else " (", Name(name), f" {share(float(value))}"]
    required = about.get("required")
    asked = f"; {share(float(required))} was required" if required is not None else ""
    return say(
        "The model itself was not audited. These numbers are about a stand-in ({}) that was trained to repeat the "
        "recorded decisions and agrees with {} of them on people it had not seen{}{}. What is said below holds for "
        "the stand-in.",
        about.get("kind", "unknown"), share(float(about.get("agreement", np.nan))),
        (*by_group, ")") if by_group else "", asked,
    )  # fmt: skip


def finding_words(material: Material, finding: Finding) -> Words:
    """One comparison for a committee."""
    c = finding.comparison
    mine, theirs = material.guard.seen(c.mine), material.guard.seen(c.theirs)
    words: Words = ()
    if not isnan(c.acr) and mine.effort and theirs.effort:
        words += say(
            "To turn a refusal, {} must on average spend {} times the effort of {} ({} against {}). ",
            Name(c.group), ratio(c.acr), Name(c.against), ratio(c.mine.phi), ratio(c.theirs.phi),
        )  # fmt: skip
    if mine.parts and theirs.parts and c.mine.n_unfavourable and c.theirs.n_unfavourable:
        words += say(
            "For {} of {} refused people in {} an action is known that turns it ({}), and for {} of {} in {} ({}). "
            if c.mine.n_unknown or c.theirs.n_unknown
            else "{} of {} refused people in {} have an action that would turn it ({}), and {} of {} in {} ({}). ",
            count(c.mine.n_acting), count(c.mine.n_unfavourable), Name(c.group), share(c.mine.rho),
            count(c.theirs.n_acting), count(c.theirs.n_unfavourable), Name(c.against), share(c.theirs.rho),
        )  # fmt: skip
    if not words:
        words = say("{} against {}: ", Name(c.group), Name(c.against))
        if not (mine.rate and theirs.rate):
            words += ("the counts are too small to be shown. ",)
    return (*words, " ".join(REASONS.get(code, code) for code in finding.codes))


UNSETTLED = {
    Status.UNKNOWN: "Of {} ({}) it is not known whether they have an action: none was found, and none excluded. They "
    "count as people without an action in the shares, and not at all in the average efforts; the ranges called certain "
    "allow for them.",
    Status.FEASIBLE: "Of {} ({}) an action is known that may not be the cheapest. It is counted at what it costs; the "
    "ranges called certain allow for a cheaper one.",
}


def unsettled(material: Material) -> list[Text]:
    """Of whom nothing is known, and whose action may not be the cheapest."""
    found = []
    for status, words in UNSETTLED.items():
        total, exact = 0, True
        by_group: Words = ()
        for code in material.order:
            stats = material.stats[material.labels[code]]
            n = stats.count(status)
            rest = stats.count(Status.OPTIMAL) if status == Status.FEASIBLE else 0
            shown = material.guard.count(n, seen=material.guard.seen(stats).parts and not material.guard.hides(rest))
            total, exact = total + n, exact and shown == count(n)
            by_group += (*((", ",) if by_group else ()), Name(material.labels[code]), f" {shown}")
        if total:
            people = f"{count(total) if exact else 'some'} refused {'person' if exact and total == 1 else 'people'}"
            found.append(Text(say(words, people, by_group)))
    return found


def _certain(material: Material) -> Table:
    rows = [_compared(material, c) for c in material.audit.system.comparisons]
    return Table(
        "Both measures, and where they certainly lie given what is not solved to the end",
        ("group", "against", "role", "ACR", "certain", "RD", "certain"),
        rows,
        frozenset({1, 2}),
    )


def _compared(material: Material, c: Comparison) -> list[Cell]:
    mine, theirs = material.guard.seen(c.mine), material.guard.seen(c.theirs)
    effort, parts = mine.effort and theirs.effort, mine.parts and theirs.parts
    return [
        Name(c.group), Name(c.against), c.role,
        kept(ratio(c.acr), effort), kept(interval(*c.acr_interval), effort and parts),
        kept(points(c.rd), parts), kept(interval(*c.rd_interval, "points"), parts),
    ]  # fmt: skip


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
        + "The impact ratio is a group's favourable rate over that of the reference; below 0.8 it is often looked at."
    )
    return Section("people", "Who was audited", [Text(text), chart])


# -- levels -----------------------------------------------------------------------------------------------------------


def levels(material: Material) -> Section:
    """ACR and RD for everybody, for subgroups and around individuals."""
    rows: list[list[Cell]] = []
    asked: list[tuple[str, Cell, Assessment]] = [("system", "everybody", material.audit.system)]
    asked += [("subgroup", say("{}: {}", Name(name), Phrase(a.about)), a) for name, a in material.subgroups]
    for level, who, assessment in asked:
        for c in assessment.comparisons:
            whole = material.stats if level == "subgroup" else {}
            mine = material.guard.seen(c.mine, whole.get(c.group))
            theirs = material.guard.seen(c.theirs, whole.get(c.against))
            parts, effort = mine.parts and theirs.parts, mine.effort and theirs.effort
            found = [f.outcome for f in assessment.verdict.findings if f.comparison is c]
            rows.append(
                [
                    level, who, Name(c.group), Name(c.against),
                    material.guard.count(c.mine.n_unfavourable, seen=mine.rate),
                    material.guard.count(c.theirs.n_unfavourable, seen=theirs.rate),
                    kept(ratio(c.acr), effort), kept(points(c.rd), parts), found[0] if found else "not judged",
                ]
            )  # fmt: skip
    table = Table(
        "System and subgroups",
        ("level", "who", "group", "against", "refused", "refused, other", "ACR", "RD", "outcome"),
        rows,
        frozenset({1, 2, 3, 8}),
    )
    intro = (
        "ACR is a group's average effort over that of the other group: above 1, the group works harder. RD is the "
        "other group's share of refused people with an action minus the group's: above 0, the group more often has no "
        "way."
    )
    return Section("levels", "Effort by level", [Text(intro), table, *_individuals(material)])


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
        told = len(defined) > 0 and not guard.hides(len(defined))
        quantiles = np.quantile(defined, (0.1, 0.5, 0.9)).tolist() if told else [np.nan] * 3
        outside = whole and not guard.hides(beyond, len(defined) - beyond)
        rows.append(
            [
                Name(labels[a]), Name(labels[b]),
                guard.count(len(defined), seen=whole), guard.count(undefined, seen=whole),
                *(ratio(q) if told or not len(defined) else HIDDEN for q in quantiles),
                guard.count(beyond, seen=outside),
            ]
        )  # fmt: skip
        if told:
            lines.append(ecdf(f"{labels[a]} against {labels[b]}", defined, k, guard.is_on))
    table = Table(
        "ACR around each refused person: own group against the other among the people like them",
        ("group", "against", "people", "not defined", "10 %", "median", "90 %", "beyond the thresholds"),
        rows,
        frozenset({1}),
    )
    text = (
        "Around individuals: each refused person's own group is compared with the other among the "
        f"{part(material.quantile)} of all people most like them. Where one of the groups is missing there, no ratio "
        "is defined."
    )
    if material.near.every > 1:
        text += f" Computed for one in {count(material.near.every)} refused people, because there are so many."
    if not lines:
        return [Text(text), table]
    described = "; ".join(f"{plain(row[0])} against {plain(row[1])}: median {plain(row[5])}" for row in rows)
    return [
        Text(text),
        Chart(
            "step", "individual-acr", "Individual ACR", f"Share of refused people at most at a ratio. {described}.",
            table,
            {
                "lines": lines, "x_label": "individual ACR", "y_label": "share of people", "steps": not guard.is_on,
                "equal": (low, high), "equal_label": "counts as equal",
            },
        ),
    ]  # fmt: skip


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
    for k, ((group, against), rows_of) in enumerate(near.curve.groupby(["group", "against"], sort=False)):
        told = [
            not guard.hides(n - gone) and not guard.hides(material.stats[against].n_acting)
            for n, gone in zip(rows_of["n_centres"], rows_of["n_undefined"], strict=True)
        ]
        shown = {name: [v if t else np.nan for v, t in zip(rows_of[name], told, strict=True)] for name in CURVE}
        mean, low, high = (shown[name] for name in CURVE)
        lines.append(Line(f"{group} against {against}", rows_of["quantile"].tolist(), mean, low, high, k))
        for j, record in enumerate(rows_of.to_dict("records")):
            values = [ratio(shown[name][j]) if told[j] else HIDDEN for name in CURVE]
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
        "Mean ACR over the refused people of a group, with the 95 % band of the mean",
        ("group", "against", "neighbours", "mean ACR", "band", "people", "not defined"),
        rows,
        frozenset({1}),
    )
    drawn = [line for line in lines if not np.isnan(line.y).all()]
    intro = Text(
        "Each refused person is compared with the share of all people most like them, from the nearest twentieth to "
        "everybody. A curve that rises to the left means that among very similar people efforts differ more than over "
        "all."
    )
    if not drawn:
        return Section("curve", title, [intro, table])
    least, most = criteria.rule.ends(criteria.tau)
    chart = Chart(
        "line", "acr", "ACR against the share of people counted as neighbours", _ends(drawn), table,
        {
            "lines": drawn, "x_label": "share of all people counted as neighbours", "y_label": "mean ACR",
            "equal": (least, most), "equal_label": "counts as equal",
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
            f"{line.label}: {ratio(line.y[first])} at {share(line.x[first])}, {ratio(line.y[last])} at "
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
