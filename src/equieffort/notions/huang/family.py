"""Huang's equality of effort among the other notions: AED of every treatment declared, for every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from equieffort.data.frames import percent
from equieffort.errors import EquieffortError
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading
from equieffort.notions.huang.minimum_effort import ROUNDING
from equieffort.notions.huang.study import Study, prepare
from equieffort.notions.huang.treatments import Treatment

AED = Notion(
    "aed",
    "Average effort discrepancy (Huang)",
    "AED = integral of Psi_a(gamma) - Psi_b(gamma) over gamma / length; Psi(gamma) = least t with E[Y(t)] >= gamma",
    "Huang, Wu, Zhang, Wu (2020), Fairness through Equality of Effort",
    "How much more of one treatment, set alone and for everybody, a group needs for the same share of approvals; in "
    "the treatment's own unit.",
    form="{:.4g}",
    unassigned="each assignment makes other curves, and the least treatment of a curve is no mean over its people",
)


OBSERVED = (
    "An observed outcome was asked for, and what truly became of people was not given (labels; in a spec "
    "outcome.truth)."
)


class Huang(Family):
    """AED of the treatments that were declared (`Treatment`); by default of each numeric actionable feature.

    What a treatment leaves open is as in `Audit.equality_of_effort`: all gammas that both groups reach; the declared
    direction, else the one in which approvals rise; 51 points between the observed ends and inside declared limits, or
    all whole numbers if there are at most 200 of them; the model's own label as the outcome; E[Y(t)] from the equations
    where these can answer, else from outcome regression.
    """

    name = "huang"
    title = "Equality of effort with a single treatment"
    notions = (AED,)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """One row a comparison and treatment."""
        problem = audited.problem
        if problem is None:
            return [NotApplicable("aed", "The model is not in a saved audit, and it must be asked again.")]
        treatments = audited.treatments
        if treatments is None:
            treatments = tuple(Treatment(problem.names[k]) for k in problem.numeric)
        if not treatments:
            return [NotApplicable("aed", "No actionable feature is a number that could be the treatment.")]
        return [row for one in treatments for row in _readings(audited, one)]


def _readings(audited: Audited, asked: Treatment) -> list[NotionReading | NotApplicable]:
    is_observed = asked.outcome == "observed"
    if is_observed and audited.labels is None:
        return [NotApplicable("aed", OBSERVED)]
    # Labels may be at hand for other notions: Y is the decision unless the observed outcome was asked for.
    where = audited if is_observed else replace(audited, labels=None)
    try:
        study = prepare(
            where, asked.column, gammas=asked.gammas, grid=asked.grid, direction=asked.direction, by=asked.by,
            outcome="label" if is_observed else asked.outcome, interpolate=asked.interpolate,
        )  # fmt: skip
    except EquieffortError as error:
        return [NotApplicable("aed", error.what)]
    return [_reading(study, asked, study.compare(*pair)[1]) for pair in audited.pairs]


def _reading(study: Study, asked: Treatment, row: dict[str, Any]) -> NotionReading:
    parts = [f"{asked.column} {study.direction}", asked.told, f"gamma {row['gammas']}" if row["gammas"] else ""]
    if row["share"] < 1 - ROUNDING:
        parts.append(f"{percent(row['share'])} of these defined")
    return NotionReading(
        "aed",
        row["group"],
        row["against"],
        tuple(filter(None, parts)),
        row["aed"],
        row["low"],
        row["high"],
        n=row["n"],
        n_against=row["n_against"],
        n_undefined=row["n_undefined"],
        note=row["note"],
    )
