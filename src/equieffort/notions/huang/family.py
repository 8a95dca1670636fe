"""Huang's equality of effort among the other notions: AED of every actionable number, for every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from equieffort.errors import EquieffortError
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading
from equieffort.notions.huang.study import prepare

AED = Notion(
    "aed",
    "Average effort discrepancy (Huang)",
    "AED = integral of Psi_a(gamma) - Psi_b(gamma) over gamma / length; Psi(gamma) = least t with E[Y(t)] >= gamma",
    "Huang, Wu, Zhang, Wu (2020), Fairness through Equality of Effort",
    "How much more of one treatment, set alone and for everybody, a group needs for the same share of approvals; in "
    "the treatment's own unit.",
    form="{:.4g}",
)


class Huang(Family):
    """AED of each numeric actionable feature as the treatment, over the gammas that both groups reach.

    The direction is the declared one, else the one in which approvals rise; the grid has 51 points between the
    observed ends and inside declared limits, or all whole numbers if there are at most 200 of them; the outcome is the
    model's own label; E[Y(t)] comes from the equations where these can answer, else from outcome regression.
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
        features = [problem.names[k] for k in problem.numeric]
        if not features:
            return [NotApplicable("aed", "No actionable feature is a number that could be the treatment.")]
        found: list[NotionReading | NotApplicable] = []
        for name in features:
            try:
                # Y is the decision here, also where labels are at hand for other notions.
                study = prepare(replace(audited, labels=None), name)
            except EquieffortError as error:
                found.append(NotApplicable("aed", error.what))
                continue
            for pair in audited.pairs:
                row = study.compare(*pair)[1]
                gammas = f", gamma {row['gammas']}" if row["gammas"] else ""
                found.append(
                    NotionReading(
                        "aed",
                        row["group"],
                        row["against"],
                        f"{name} {study.direction}{gammas}",
                        row["aed"],
                        row["low"],
                        row["high"],
                        n=row["n"],
                        n_against=row["n_against"],
                        n_undefined=row["n_undefined"],
                        note=row["note"],
                    )
                )
        return found
