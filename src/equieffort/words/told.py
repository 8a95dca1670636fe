"""What results say of themselves where they are echoed or shown in a notebook: verdicts, levels, tables of recourse."""

from __future__ import annotations

import numpy as np
import pandas as pd

from equieffort.data.frames import percent
from equieffort.effort.verdict import Assessment, Verdict
from equieffort.errors import many
from equieffort.foundations.shown import Told
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable
from equieffort.words.shown import caveats, measure_table, system_measures
from equieffort.world.groups import Groups

NOT_A_REASON = (
    "An action looks forward: what would turn the decision. It is not the reason for the decision and replaces no "
    "notice of reasons."
)
INDIVIDUAL = "A neighbourhood is small: of one person alone little is ever decided."
SOLVED_ONCE = "Each action was replayed through the equations and the model's own label; costs are those of the schema."


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
    tables = {"Groups": part.by_group, "Measures": cells}
    return Told(part.about, lines, tables, care, "print(...), .measures, .by_group, .verdict")


def group_lines(groups: Groups, counted: pd.DataFrame) -> list[str]:
    """How many of each group are refused, and how many of those have a route; the compared groups first."""
    lines = []
    for code in groups.listed:
        label = groups.labels[code]
        row = counted.loc[label]
        n, refused, rho = int(row["n"]), int(row["n_unfavourable"]), float(row["rho"])
        route = f", {percent(rho)} of them with a route to approval" if refused else ""
        open_ones = f", {int(row['n_unknown']):,} not known" if row["n_unknown"] else ""
        lines.append(f"{groups.name(label)}: {refused:,} of {n:,} refused{route}{open_ones}")
    return lines


def table_told(table: RecourseTable) -> Told:
    """People by group and status, and the spread of efforts."""
    rows = []
    for code in table.groups.listed:
        mine = table.groups.codes == code
        efforts = table.effort[mine & table.has_action]
        row = {"group": table.groups.name(table.groups.labels[code]), "people": int(mine.sum())}
        row |= {status.text: int((table.status[mine] == status).sum()) for status in Status}
        median = float(np.median(efforts)) if len(efforts) else float("nan")
        rows.append(row | {"median effort": median})
    refused, acting = int(table.is_unfavourable.sum()), int(table.has_action.sum())
    lines = [f"{refused:,} of {many(len(table), 'person', 'people')} refused, {acting:,} of them with an action"]
    found = [(name, int((table.status == name).sum())) for name in Status if name != Status.NOT_NEEDED]
    lines.append(", ".join(f"{n:,} {name.text}" for name, n in found if n) or "nobody to solve")
    return Told("Recourse of every person", lines, {"": pd.DataFrame(rows)}, _table_care(table), ".frame(), .cost")


def _table_care(table: RecourseTable) -> list[str]:
    care = []
    if n := int((table.status == Status.UNKNOWN).sum()):
        care.append(
            f"Of {many(n, 'refused person', 'refused people')} nothing is known: no action found, none excluded."
        )
    if n := int((table.status == Status.FEASIBLE).sum()):
        care.append(f"The action of {many(n, 'refused person', 'refused people')} may not be the cheapest.")
    if n := len(dict.fromkeys(limit.feature for limit in table.source.schema.assumed)):
        care.append(f"Nobody declared how far {many(n, 'feature', 'features')} may be set: observed values limit them.")
    return [*care, SOLVED_ONCE, NOT_A_REASON]
