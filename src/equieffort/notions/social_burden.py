"""Social burden: the effort asked of people who deserve a yes.

E[min(C, B) 1{refused} | Y = 1, a]: of the people of a group who have the favourable label in truth, the average effort
to be approved. Whoever is approved already needs none; whoever has no route to approval is counted at the budget B, and
so is nobody above it, as in the measure `burden`, which is the same over everybody whatever their label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.burden import Burden
from equieffort.effort.measures.sample import sample
from equieffort.notions.assigned import bounded
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, over_views
from equieffort.notions.comparing import Found
from equieffort.notions.sparse_means import sparse_gap, sparse_reading

REFERENCE = "Milli, Miller, Dragan and Hardt 2019; Barrainkua et al. 2026"
BURDEN = Notion(
    "social_burden",
    "Social burden",
    "mean(min(C, B) 1{refused} | Y = 1, group)",
    REFERENCE,
    "The effort that is asked of people who deserve a yes: what the mistakes of the decision cost them.",
    neutral=float("nan"),
)
GAP = Notion(
    "social_gap",
    "Difference of social burdens",
    "mean(min(C, B) 1{refused} | Y = 1, group) - mean(min(C, B) 1{refused} | Y = 1, reference)",
    REFERENCE,
    "Whether the mistakes of the decision cost deserving people of one group more effort than those of the other.",
)
WHY = "It counts people by what truly became of them, which was not given (labels; in a spec outcome.truth)."


@dataclass(frozen=True)
class SocialBurden(Family):
    """Social burden of each group, the worst first, and its difference in each comparison.

    Women are approved, or can be for 0.2; one man needs 0.4, and another has no way and counts at the budget of 1.

    >>> from equieffort.effort.measures import Sample
    >>> women = Burden().side(Sample.solved(np.array([0.2]), approved=1, budget=1.0))
    >>> men = Burden().side(Sample.solved(np.array([0.4, np.inf]), approved=0, budget=1.0))
    >>> round(women.sums.mean, 3), round(men.sums.mean, 3)
    (0.1, 0.7)
    """

    name = "social_burden"
    title = "Social burden"
    notions = (BURDEN, GAP)

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """The worst group first, the others, then each comparison."""
        if audited.labels is None:
            return [NotApplicable(notion.name, WHY) for notion in self.notions]
        groups, deserving, refused = audited.table.groups, audited.labels, audited.table.is_unfavourable
        most = nan if audited.budget is None else audited.budget
        sides = [_side(audited, deserving & (groups.codes == code)) for code in range(len(groups.labels))]
        note = "NO_LABELLED" if audited.budget is not None else "NO_BUDGET"
        carriers = [int((deserving & refused & (groups.codes == code)).sum()) for code in range(len(groups.labels))]
        found = [
            sparse_reading(NotionReading(BURDEN.name, group=label), side, count, most, audited.level)
            for label, side, count in zip(groups.labels, sides, carriers, strict=True)
        ]
        found = [replace(one, note=note) if isnan(one.estimate) else one for one in found]
        found.sort(key=lambda one: (isnan(one.estimate), -one.estimate if not isnan(one.estimate) else 0.0))
        if not isnan(found[0].estimate):
            found[0] = replace(found[0], parts=("worst group",))
        for a, b in audited.pairs:
            blank = NotionReading(GAP.name, groups.labels[a], groups.labels[b])
            one = sparse_gap(blank, (sides[a], sides[b]), (carriers[a], carriers[b]), most, audited.level)
            found.append(replace(one, note=note) if isnan(one.estimate) else one)
        values = np.where(audited.labels, _burdens(audited), np.nan)
        return [bounded(one, audited, values) for one in found]

    def read(self, audited: Audited) -> Found:
        """Readings, and what each deserving person is counted with."""
        table, labels = audited.table, audited.labels
        readings = tuple(over_views(audited, self.readings))
        if labels is None or audited.budget is None:
            return Found(self.title, readings, columns=table.groups.columns)
        columns: dict[str, Any] = {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes],
            "burden": _burdens(audited),
        }
        people = pd.DataFrame(columns, index=table.index)[labels]
        return Found(self.title, readings, people, table.groups.columns)


def _burdens(audited: Audited) -> Floats:
    """What everybody is counted with, as found; NaN without a budget."""
    table, budget = audited.table, nan if audited.budget is None else audited.budget
    capped = np.minimum(np.where(np.isnan(table.effort), np.inf, table.effort), budget)
    return np.where(table.is_unfavourable, capped, 0.0 * budget)


def _side(audited: Audited, rows: Bools) -> Side:
    """The refused at most at the budget, the approved with 0: as the measure `burden` counts everybody."""
    chosen = sample(audited.table, rows, audited.budget)
    if audited.budget is None:
        return Side(chosen.stats.capped, chosen.stats.capped_bounds, chosen.stats.capped)
    return Burden().side(chosen)
