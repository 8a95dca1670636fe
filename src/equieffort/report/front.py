"""The first page, which can be printed alone: the answer, its picture, the people it rests on, caveats, what next."""

from __future__ import annotations

from math import isfinite
from textwrap import shorten

import numpy as np

from equieffort.effort.inference.planning import about
from equieffort.effort.planning import people_to_decide
from equieffort.report import answer
from equieffort.report.blocks import Block, Front, Section, Text, Tile, Tiles
from equieffort.report.material import Material
from equieffort.report.measures import MOST_TOLD
from equieffort.report.overview import forest
from equieffort.report.units import in_units, unit_of_effort
from equieffort.report.words import Cell, Link, Name, Phrase, Words, count, joined, kept, name_list, ratio, say, share
from equieffort.words.shown import caveats

MOST_CAVEATS, MOST_WARNED, LONGEST_WARNING = 3, 3, 110
"""Caveats and warnings on the first page, and letters of a warning; the part on assumptions has them whole."""
MOST_UNITS, TENTH = 3, 0.1
MOST_ASKED = 3
"""Groups that the question names."""
MOST_GROUPS = 5
"""Groups in a tile; the table of all people has the others."""


def verdict(material: Material) -> Section:
    """What a committee reads if it reads one page."""
    audit = material.audit
    blocks: list[Block] = [*answer.check_first(material)]
    blocks += [Text(words, "warning") for words in answer.surrogate_in_short(material)]
    lists = [("Read with care", careful(material)), ("Where to look next", following(material))]
    chart, verdict_of = forest(material), audit.verdict
    # One comparison is a picture here, and a sentence beside all measures; of many the sentence says which is which.
    said = sentences(material) if len(material.judged) > MOST_TOLD else ()
    blocks += [
        Front(verdict_of.outcome, headline(material), verdict_of.basis, said, chart, lists),
        Tiles(tiles(material)),
        Text((*unit_of_effort(material), " ", *answer.terms(material)), "note"),
    ]
    return Section("verdict", "Verdict", blocks)


def question(material: Material) -> Words:
    """What the audit asks, with the groups it asks of."""
    names, judged = material.table.groups.people, sorted(material.judged)
    others = {against for _, against in material.judged_pairs}
    if not judged or len(others) > 1:
        return ("Must some groups of people do more than others to turn a refusal into an approval?",)
    who: Words = (f"any of {len(judged)} groups",)
    if len(judged) <= MOST_ASKED:
        who = joined([(Phrase(names(label)),) for label in judged], " or ")
    return say("Must {} do more than {} to turn a refusal into an approval?", who, (Phrase(names(others.pop())),))


def sentences(material: Material) -> list[Cell]:
    """Each comparison in words; of many, which groups came out how."""
    findings = material.audit.verdict.findings
    if len(findings) <= MOST_TOLD:
        return [answer.finding_words(material, finding) for finding in findings]
    found: list[Cell] = []
    for outcome in ("unequal", "inconclusive", "equal", "not concluded"):
        groups = [material.told_pair(f.comparison) for f in findings if answer.outcome(f) == outcome]
        if groups:
            found.append((f"{outcome.capitalize()}: ", *name_list(groups), "."))
    return [*found[:-1], (*found[-1], " ", Link("Group by group", "levels"), ".")] if found else found


def headline(material: Material) -> Words:
    """The verdict's sentence, without counts that are kept back."""
    return material.told(material.audit.verdict.told(counts=all(group.seen.rate for group in material.groups)))


# -- the people it rests on -------------------------------------------------------------------------------------------


def tiles(material: Material) -> list[Tile]:
    """Refused people, shares with a route and median efforts of the groups; and how many people would decide it."""
    drawn = [group for group in material.groups if group.is_drawn]
    # A line that counts those left out takes as much room as one of them.
    shown = drawn if len(drawn) <= MOST_GROUPS + 1 else [*drawn[: MOST_GROUPS - 1], drawn[-1]]
    lines: dict[str, list[tuple[Cell, str]]] = {"Refused": [], "Median (mean) effort": []}
    also: list[Cell] = []
    for group in shown:
        name, stats, seen = Name(group.name), group.stats, group.seen
        refused = material.guard.count(stats.n_unfavourable, seen=seen.rate)
        people = material.guard.count(stats.n)
        lines["Refused"].append((name, f"{refused} of {people}" if seen.rate else refused))
        mine = material.efforts(group)
        median = float(np.median(mine)) if len(mine) else np.nan
        both = f"{ratio(median)} ({ratio(stats.phi)})" if len(mine) else ratio(median)
        lines["Median (mean) effort"].append((name, kept(both, seen.effort)))
        also.append(in_units(material, median, stats.phi) if seen.effort else ())
    routes: list[tuple[Cell, str]] = [
        (Name(group.name), kept(share(group.stats.rho), group.seen.parts)) for group in material.groups
    ]
    told = [(line, group) for line, group in zip(routes, material.groups, strict=True) if group in shown]
    more = len(material.groups) - len(shown)
    others = f"and {count(more)} more groups" if more > 0 else ""
    many = len(shown) > MOST_UNITS
    unit: Cell = "of those who have a route"
    if many and (words := in_units(material, TENTH)):
        unit = (f"of those who have a route; {TENTH} is ", *words)
    recorded = [(Name(group.name), _recorded(material, group.label)) for group in shown]
    known = material.audit.recorded is not None
    return [
        *([Tile("Refused in the record", recorded, others)] if known else []),
        Tile("Refused by the surrogate" if known else "Refused", lines["Refused"], others),
        Tile("With a route to approval", _alike(routes) or [line for line, _ in told], "of those refused"),
        Tile("Median (mean) effort", lines["Median (mean) effort"], unit, also if any(also) and not many else ()),
        *_deciding(material),
    ]


def _recorded(material: Material, label: str) -> str:
    """How many of a group were refused according to the data."""
    counts = material.refused_by(label)
    if counts is None or not sum(counts):
        return "not recorded"
    both, record, *_ = counts
    told = material.tells_record(label)
    return f"{material.guard.count(both + record, seen=told)} of {material.guard.count(sum(counts), seen=told)}"


def _alike(lines: list[tuple[Cell, str]]) -> list[tuple[Cell, str]]:
    """Many lines that say the same as one; none where they differ."""
    same = len(lines) > MOST_UNITS and len({value for _, value in lines}) == 1
    return [(f"each of {len(lines)} groups", lines[0][1])] if same else []


def _deciding(material: Material) -> list[Tile]:
    """How many people would decide what chance leaves open."""
    verdict = material.audit.verdict
    open_ones = [finding for finding in verdict.findings if "NOISE" in finding.codes]
    if len(open_ones) != 1 or material.audit.criteria.level is None:
        return []
    finding = open_ones[0]
    c = finding.comparison
    seen = material.seen_sides(c)
    if not all(side.parts and side.effort for side in seen):
        return []
    judged = [one.measure for one in finding.judged]
    needed = people_to_decide(c, verdict.criteria, judged, len(verdict.findings))
    words = [("if as estimated", needed[0]), ("if truly equal", needed[1])]
    lines: list[tuple[Cell, str]] = [(text, about(n)) for text, n in words if isfinite(n)]
    if not lines:
        lines = [("", "no number")]
    return [Tile("People to decide it", lines, f"about; {count(c.mine.n + c.theirs.n)} were audited")]


# -- what to be careful about, and where to go ------------------------------------------------------------------------


def careful(material: Material, *, links: bool = True) -> list[Cell]:
    """The caveats that weigh most; what a surrogate is worth stands above already."""
    audit = material.audit
    made = audit.provenance
    known = caveats(audit.verdict, audit.recourse, made.fit, made.guessed)
    found = [one for one in known if one.code != "SURROGATE"]
    items: list[Cell] = []
    for one in found[:MOST_CAVEATS]:
        text = one.guarded if material.guard.is_on else one.text
        more: Words = (" ", Link("More", one.place), ".") if links else ()
        items.append((*material.told(text), *more))
    warned = dict.fromkeys((w.code, w.what) for w in audit.warnings)
    if warned and links:
        many = "1 warning was" if len(warned) == 1 else f"{count(len(warned))} warnings were"
        items.append((f"{many} raised: ", *_warned(material, list(warned)), " ", Link("More", "assumptions"), "."))
    return items


def _warned(material: Material, warned: list[tuple[str, str]]) -> Words:
    """What was warned of; by its code alone where a sentence is long, or may tell of a person."""
    if material.guard.is_on:
        return (f"{', '.join(dict.fromkeys(code for code, _ in warned))}.",)
    # Cut sentences that follow each other would read as one.
    marks = [""] if len(warned) == 1 else [f"({k}) " for k in range(1, MOST_WARNED + 1)]
    shown = [
        (mark, *material.told(shorten(what, LONGEST_WARNING, placeholder=" …")))
        for mark, (_, what) in zip(marks, warned, strict=False)
    ]
    more = len(warned) - len(shown)
    return joined([*shown, *([f"and {count(more)} more."] if more else [])], " ")


PLACES = {
    "no-recourse": "Who has no route to approval, and which limits stand in the way",
    "actions": "What is asked of each group, and which features the effort is made of",
    "costs": "How effort is spread in each group",
    "measures": "Every measure with its interval",
    "curve": "Whether efforts differ among people who are alike",
    "assumptions": "The equations, costs and limits that all of this rests on",
}


def following(material: Material) -> list[Cell]:
    """The parts that answer what a reader of this verdict asks next."""
    codes = material.audit.verdict.codes
    wanted = []
    if "RD_BEYOND" in codes or "NOISE" in codes:
        wanted.append("no-recourse")
    if "ACR_BEYOND" in codes:
        wanted.append("actions")
    wanted += ["measures", "costs", "curve", "assumptions"]
    return [(Link(PLACES[name], name),) for name in dict.fromkeys(wanted[:4])]
