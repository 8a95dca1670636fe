"""What results say of themselves where they are echoed or shown in a notebook: verdicts and levels."""

from __future__ import annotations

import pandas as pd

from equieffort.data.frames import percent, row_dicts
from equieffort.effort.verdict import Assessment, Verdict
from equieffort.foundations.shown import Cells, Told
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
INDIVIDUAL = "A neighbourhood is small: of one person alone little is ever decided."


def verdict_told(verdict: Verdict) -> Told:
    """The sentences, with what the verdict rests on."""
    care = [one.text for one in caveats(verdict, None, ())]
    sentences = [finding.sentence for finding in verdict.findings]
    return Told(verdict.first_line, sentences, care=care, more="print(verdict), verdict.findings, verdict.reasons")


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
