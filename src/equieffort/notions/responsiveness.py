"""Responsiveness and preclusion: does changing one thing help at all, and for whom does nothing?

For feature j and a refused person, responsiveness is the share of the values that setting j alone can reach which are
approved: within the person's limits, what follows from j following by the equations, ranges and rules kept. Levels and
whole numbers are counted (the person's own value is none of them), intervals of other numbers are measured. A person
who can reach nothing by j, or whom no limit holds, has none and is counted as undefined.

Preclusion is the share of the refused who reach no approval whatever they change: those proven infeasible; of those who
are unknown it is not known, which leaves a range. Preclusion is 1 - rho, its difference the measure `rd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from equieffort.foundations.arguments import check_whole
from equieffort.notions.assigned import bounded, spread
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, over_views, require_model
from equieffort.notions.comparing import (
    SHARE,
    Found,
    mean_gap,
    mean_reading,
    share_gap,
    share_reading,
    side_of,
    told_if_none,
)
from equieffort.notions.reachable import CELLS, Reached, reach
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Status

RESPONSIVENESS = Notion(
    "responsiveness",
    "Responsiveness",
    "mean(share of the values of j reachable alone that are approved | refused, group)",
    "Cheon et al. 2024",
    "How often changing this one feature helps: advice to change it is empty for people whose responsiveness is 0.",
    neutral=float("nan"),
    orientation=-1,
    form="share",
)
GAP = Notion(
    "responsiveness_gap",
    "Difference of responsiveness",
    "responsiveness of j in the group - in the reference",
    RESPONSIVENESS.reference,
    "Whether changing this one feature helps people of one group less often.",
    orientation=-1,
    form="points",
)
PRECLUSION = Notion(
    "preclusion",
    "Preclusion",
    "share of the refused who can reach no approval | group",
    "Kothari, Kulynych, Weng and Ustun 2024",
    "For whom no change of anything helps: the decision is fixed for them (1 - rho).",
    neutral=float("nan"),
    form="share",
)
PRECLUSION_GAP = Notion(
    "preclusion_gap",
    "Difference of preclusion",
    "preclusion in the group - in the reference",
    PRECLUSION.reference,
    "Whether a decision is fixed for people of one group more often; the measure rd.",
    form="points",
)


@dataclass(frozen=True)
class Responsiveness(Family):
    """Responsiveness of every actionable feature, and preclusion.

    A score of income + 2 owner approves from 3 on; income can be set from 0 to 4. Whoever is no owner is approved on a
    quarter of that range and never by owning alone.

    >>> import equieffort as ee
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 2, "income": [0.0, 0.0, 4.0, 4.0], "owner": [0, 0, 1, 1]})
    >>> schema = ee.Schema(sensitive="sex", protected="f", favourable=True,
    ...                    features={"income": ee.Feature("actionable", lower=0, upper=4), "owner": "actionable"})
    >>> audit = ee.audit(ee.LinearScore({"income": 1, "owner": 2}, threshold=3), people, schema=schema,
    ...                  scm=ee.StructuralCausalModel([]).fit(people))
    >>> audit.responsiveness().people
      group  income  owner  precluded
    0     f    0.25    0.0      False
    1     m    0.25    0.0      False
    """

    name = "responsiveness"
    title = "Responsiveness and preclusion"
    notions = (RESPONSIVENESS, GAP, PRECLUSION, PRECLUSION_GAP)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """Every actionable feature for every group and comparison, then preclusion."""
        if audited.problem is None:
            why = "It asks the model about every value that can be reached, and the model is not in a saved audit."
            return [*(NotApplicable(notion.name, why) for notion in (RESPONSIVENESS, GAP)), *_preclusion(audited)]
        return [*_responsiveness(audited, _reached(audited, audited.problem, CELLS)), *_preclusion(audited)]

    def read(self, audited: Audited, *, cells: int = CELLS) -> Found:
        """Readings, and every refused person's responsiveness by feature."""
        check_whole("cells", cells, 1)
        reached = _reached(audited, require_model(audited, "responsiveness()"), cells)
        table = audited.table
        rows = np.flatnonzero(table.is_unfavourable)
        columns = {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]],
            **{one.feature: one.share for one in reached},
            "precluded": np.where(
                table.status[rows] == Status.UNKNOWN, None, (table.status[rows] == Status.INFEASIBLE).astype(object)
            ),
        }
        people = pd.DataFrame(columns, index=table.index[rows]).infer_objects()
        readings = over_views(audited, lambda view: [*_responsiveness(view, reached), *_preclusion(view)])
        return Found(self.title, tuple(readings), people, table.groups.columns)


def _reached(audited: Audited, problem: RecourseProblem, cells: int) -> list[Reached]:
    rows = np.flatnonzero(audited.table.is_unfavourable)
    return [reach(problem, audited.table, rows, position, cells) for position in problem.acts]


def _responsiveness(audited: Audited, reached: list[Reached]) -> list[NotionReading]:
    groups, level, refused = audited.table.groups, audited.level, audited.table.is_unfavourable
    codes, lacking = groups.codes[refused], audited.unplaced[refused]
    found = []
    for one in reached:
        note = "" if one.exact else "GRID"
        # Where a share is not known since the group is not, it would be with a group.
        ends = [np.where(lacking & np.isnan(one.share), end, one.share) for end in SHARE]
        least, most = (spread(refused, end, len(refused)) for end in ends)
        shares = [one.share[codes == code] for code in range(len(groups.labels))]
        undefined = [int(np.isnan(share).sum()) for share in shares]
        sides = [side_of(share[~np.isnan(share)]) for share in shares]
        for code, label in enumerate(groups.labels):
            blank = NotionReading(
                RESPONSIVENESS.name, label, parts=(one.feature,), n_undefined=undefined[code], note=note
            )
            own = mean_reading(told_if_none(blank, len(shares[code])), sides[code], level, SHARE)
            found.append(bounded(own, audited, least, most))
        for a, b in audited.pairs:
            blank = NotionReading(
                GAP.name, groups.labels[a], groups.labels[b], parts=(one.feature,),
                n_undefined=undefined[a] + undefined[b], note=note,
            )  # fmt: skip
            gap = mean_gap(told_if_none(blank, len(shares[a]), len(shares[b])), sides[a], sides[b], level)
            found.append(bounded(gap, audited, least, most))
    return found


def _preclusion(audited: Audited) -> list[NotionReading]:
    table, groups, level = audited.table, audited.table.groups, audited.level
    who = [table.status[table.is_unfavourable & (groups.codes == code)] for code in range(len(groups.labels))]
    stuck, unknown = [one == Status.INFEASIBLE for one in who], [one == Status.UNKNOWN for one in who]
    found = [
        share_reading(NotionReading(PRECLUSION.name, label), stuck[code], level, unknown[code])
        for code, label in enumerate(groups.labels)
    ]
    for a, b in audited.pairs:
        blank = NotionReading(PRECLUSION_GAP.name, groups.labels[a], groups.labels[b])
        found.append(share_gap(blank, stuck[a], stuck[b], level, (unknown[a], unknown[b])))
    values = np.where(table.is_unfavourable, table.status == Status.INFEASIBLE, np.nan)
    return [bounded(one if one.note != "NO_PEOPLE" else _no_refused(one), audited, values) for one in found]


def _no_refused(reading: NotionReading) -> NotionReading:
    return replace(reading, note="NO_REFUSED")
