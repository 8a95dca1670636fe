"""What results say of themselves where they are echoed or shown in a notebook: verdicts and levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from equieffort.data.frames import percent, row_dicts
from equieffort.effort.verdict import REASONS, Assessment, Finding, Verdict
from equieffort.foundations.shown import Cells, Told
from equieffort.words.equations import one_line
from equieffort.words.shown import caveats, measure_table, system_measures
from equieffort.world.groups import Groups
from equieffort.world.labels import NO_LABELS, labels_of

CURVE = (
    "Limits are for one size of neighbourhood; those that end in _all hold at all sizes at once.",
    "Chance is over people; the model, the equations and the costs are taken as they are.",
)
EFFORT_CURVE = (
    "Each band holds for the whole curve at once; people without a route stay in the denominator.",
    "Chance is over people; the model, the equations and the costs are taken as they are.",
)
INDIVIDUALS = (
    "p_adjusted allows for everybody who was looked at (Benjamini-Hochberg): among those called unequal the expected "
    "share of wrong ones is kept, not the chance of any.",
    "A neighbourhood is small: who is not called unequal is not shown to be treated equally.",
)
MEASURES = (
    "Intervals are of each measure by itself; p_adjusted allows for all that is judged.",
    "low and high allow for chance, least and most for people who are not solved to the end.",
)
GROUPS = (
    "rho and phi are counted in the group itself: whether groups differ by more than chance, their comparison says.",
    "phi is a mean over those who have a route to approval; rho says how many do. Limits are in to_frame('groups').",
)
UNSETTLED = (
    "cost is an upper limit of what a person needs, bound a lower one: the truth lies between them.",
    "Who is left out of a mean, or counted at a cost that is too high, widens the ranges called certain.",
)
INDIVIDUAL = "A neighbourhood is small: of one person alone little is ever decided."


def verdict_told(verdict: Verdict) -> Told:
    """The sentences, with what the verdict rests on."""
    care = [one.text for one in caveats(verdict, None, ())]
    sentences = [finding.sentence for finding in verdict.findings]
    return Told(verdict.first_line, sentences, care=care, more="print(verdict), verdict.findings, verdict.reasons")


def verdict_page(verdict: Verdict) -> Told:
    """The same with a title of one sentence: what is said of a surrogate, and by which thresholds, stands below it."""
    short = verdict_told(verdict)
    return replace(short, title=f"{verdict.outcome.upper()}: {verdict.headline}", lines=page_lines(verdict))


def page_lines(verdict: Verdict) -> list[str]:
    """What a verdict says below its title."""
    about = [] if verdict.surrogate is None else [str(verdict.surrogate)]
    return [*about, *(finding.sentence for finding in verdict.findings), f"{verdict.basis}."]


def assessment_told(part: Assessment) -> Told:
    """The verdict of a level, its groups and its measures."""
    care = [INDIVIDUAL] if part.level == "individual" else []
    care += [one.text for one in caveats(part.verdict, None, ())]
    cells = measure_table(system_measures(part), part.verdict)
    lines = [part.verdict.first_line, *(finding.sentence for finding in part.verdict.findings)]
    names = next((labels_of(finding.comparison.columns) for finding in part.verdict.findings), NO_LABELS)
    groups = part.by_group.rename(index=lambda group: names.group(group) or group)
    tables: dict[str, pd.DataFrame | Cells] = {**measure_cells(cells), "Groups": groups}
    return Told(part.about, lines, tables, care, "print(...), .measures, .by_group, .verdict")


def measure_cells(cells: list[list[str]]) -> dict[str, list[list[str]]]:
    """The measures under a heading; a single comparison is named there and not in every row."""
    pairs = {(row[1], row[2]) for row in cells[1:]}
    if len(pairs) != 1:
        return {"Measures": cells}
    ((group, against),) = pairs
    return {f"Measures: {group} against {against}": [[row[0], *row[3:]] for row in cells]}


def group_lines(groups: Groups, counted: pd.DataFrame) -> list[str]:
    """How many of each group are refused, and how many of those have a route; the compared groups first."""
    lines = []
    rows = {str(row["group"]): row for row in row_dicts(counted.reset_index())}
    for code in groups.listed:
        label = groups.labels[code]
        row = rows[label]
        n, refused, rho = int(row["n"]), int(row["n_unfavourable"]), float(row["rho"])
        route = f", {percent(rho)} of them with a route to approval" if refused else ""
        open_ones = f", {int(row['n_unknown']):,} not known" if row["n_unknown"] else ""
        lines.append(f"{groups.name(label)}: {refused:,} of {n:,} refused{route}{open_ones}")
    return lines


def finding_told(finding: Finding) -> Told:
    """The sentence of one comparison, and why it came out so."""
    mine, theirs = finding.comparison.people
    care = [REASONS[code] for code in finding.codes if code in REASONS]
    title = f"{finding.outcome.upper()}: {mine} against {theirs}"
    return Told(title, [finding.sentence], care=care, more="print(finding), .codes, .judged, .comparison.readings")


def provenance_told(made: Any) -> Told:
    """Whose decisions were audited, by which solver and prices; of a `Provenance`, whose room is below this one."""
    data, solver = made.data, made.solver
    who = "" if made.surrogate is None else f"a surrogate of kind {made.surrogate.kind}: "
    learned = [f"{node} by {how}" for node, how in made.learned_by.items()]
    lines = [
        f"Classifier: {who}{made.classifier}" if made.classifier else "",
        f"Solver: {solver.name}. {solver.reason}".rstrip() if solver.name else "",
        f"Equations: {len(made.equations):,}" + (f", learned: {'; '.join(learned)}" if learned else ""),
        f"Effort: {made.cost.kind or 'not recorded'}",
        f"Data: {data.path}, {data.rows:,} rows, SHA-256 {data.sha256[:12]}" if data is not None else "",
        f"Versions: {', '.join(f'{name} {number}' for name, number in made.versions.items())}",
    ]
    weak = [one.node for one in made.fit if one.is_poor]
    care = [f"Weak equations: those of {', '.join(map(repr, weak))} explain almost nothing."] if weak else []
    care += [f"Nobody chose the equations of {', '.join(made.guessed)}: they are linear."] if made.guessed else []
    care += ["All that is said is conditional on the graph, the equations, the costs and the limits."]
    tables: dict[str, pd.DataFrame | Cells] = {
        "Structural equations": [["equation"], *([one_line(record)] for record in made.equations)]
    }
    return Told("How the audit was made", [line for line in lines if line], tables, care, ".solver, .equations, .cost")
