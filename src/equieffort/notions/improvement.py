"""Improvement-only effort: how much dearer is approval where only what improves the true outcome may be changed?

C_improve is the least cost of an action on causes of the true label alone: every other feature follows its causes and
cannot be set. E[C_improve - C | a], over the refused who have a route either way, is what a group saves by gaming: by
changes that please the model and make no difference to the outcome. People whose only routes are gaming lose theirs,
and are counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.effort.inference.means import Side
from equieffort.effort.stats import Sums, certain_bounds
from equieffort.errors import ParameterError, closest, listed
from equieffort.foundations.arguments import names_in
from equieffort.notions.assigned import bounded
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, over_views, require_model
from equieffort.notions.collection import NEEDS_MODEL
from equieffort.notions.comparing import Found, mean_gap, mean_reading, share_gap, share_reading
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Status
from equieffort.recourse.solving import solve
from equieffort.recourse.table import RecourseTable
from equieffort.world.schema import Feature, Role

REFERENCE = "König, Fokkema, Freiesleben, Mendler-Dünner and von Luxburg 2025"
EXTRA = Notion(
    "improvement_extra",
    "Extra effort of improvement",
    "mean(C_improve - C | refused, a route either way, group)",
    REFERENCE,
    "How much effort a group saves by changes that please the model without improving the outcome.",
    neutral=float("nan"),
)
EXTRA_GAP = Notion(
    "improvement_extra_gap",
    "Difference of the extra effort of improvement",
    "mean(C_improve - C | group) - mean(C_improve - C | reference)",
    REFERENCE,
    "Whether one group relies on gaming more than the other.",
)
LOST = Notion(
    "improvement_lost",
    "Routes that are gaming alone",
    "share without an action on causes | refused, a route, group",
    REFERENCE,
    "For whom every route to approval is gaming.",
    neutral=float("nan"),
    form="share",
)
LOST_GAP = Notion(
    "improvement_lost_gap",
    "Difference of routes that are gaming alone",
    "share lost in the group - in the reference",
    REFERENCE,
    "Whether people of one group more often have no route but gaming.",
    form="points",
)
NOBODY = {"NO_PEOPLE": "NO_RECOURSE", "NOTHING_DEFINED": "NO_RECOURSE"}
"""Why there is no value, in the words of the refused."""
WHY = "It needs to be told which features are causes of the true outcome (causes; in a spec outcome.causes)."


@dataclass(frozen=True)
class Improvement(Family):
    """Extra effort where only causes may be acted on, and routes that are gaming alone.

    Income improves repayment, more cards only please the model. Two more cards are half the effort of as much income
    for her; he may raise his income by 2, which does not suffice.

    >>> import equieffort as ee
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "income": [2.0, 0.0, 4.0], "cards": [0.0, 0.5, 4.0]})
    >>> schema = ee.Schema(sensitive="sex", protected="f", favourable=True,
    ...                    features={"income": ee.Feature("actionable", max_increase=2), "cards": "actionable"})
    >>> audit = ee.audit(ee.LinearScore({"income": 1.0, "cards": 2.0}, threshold=4), people, schema=schema,
    ...                  scm=ee.StructuralCausalModel([]).fit(people))
    >>> audit.improvement_only(["income"]).people
      group  effort  improvement  extra  lost
    0     f   0.250          0.5   0.25  False
    1     m   0.375          NaN    NaN   True
    """

    name = "improvement"
    title = "Improvement-only effort"
    notions = (EXTRA, EXTRA_GAP, LOST, LOST_GAP)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """Everybody solved again, where it was said which features are causes of the outcome; nothing else says so."""
        if audited.causes is None:
            return [NotApplicable(notion.name, WHY) for notion in self.notions]
        if audited.problem is None:
            return [NotApplicable(notion.name, NEEDS_MODEL) for notion in self.notions]
        kept = named_causes(audited.problem, audited.causes, None)
        return _compared(audited, _solved(audited, audited.problem, kept), kept)

    def read(self, audited: Audited, causes: Sequence[str] | None = None, outcome: str | None = None) -> Found:
        """Solve everybody again with actions on causes alone."""
        problem = require_model(audited, "improvement_only(...)")
        kept = named_causes(problem, causes, outcome)
        again = _solved(audited, problem, kept)
        table = audited.table
        refused = np.flatnonzero(table.is_unfavourable)
        extra = again.effort - table.effort
        lost = np.where(
            table.has_action & (again.status != Status.UNKNOWN),
            (table.has_action & (again.status == Status.INFEASIBLE)).astype(object),
            None,
        )
        people = pd.DataFrame(
            {
                "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[refused]],
                "effort": table.effort[refused],
                "improvement": again.effort[refused],
                "extra": extra[refused],
                "lost": lost[refused],
            },
            index=table.index[refused],
        ).infer_objects()
        readings = over_views(audited, lambda view: _compared(view, again, kept))
        return Found(f"{self.title}: actions on {listed(kept)}", tuple(readings), people, table.groups.columns)


def named_causes(problem: RecourseProblem, causes: Sequence[str] | None, outcome: str | None) -> tuple[str, ...]:
    """The features that can be acted on among the causes named, or among the ancestors of an outcome."""
    if (causes is None) == (outcome is None):
        raise ParameterError(
            "PARAMETER",
            "Which features are causes of the true outcome?",
            fix="Give causes=[...] or outcome=, one of them.",
        )
    if outcome is not None:
        graph = problem.scm.graph
        if not isinstance(outcome, str) or outcome not in graph.nodes:
            raise ParameterError(
                "PARAMETER",
                f"The outcome {outcome!r} is no node of the graph. {closest(outcome, graph.nodes)}".rstrip(),
                fix="Name a node, or give causes=[...].",
            )
        named = tuple(name for name in graph.nodes if outcome in graph.descendants(name))
    else:
        named = names_in("causes", causes)
        known = (*problem.names, *(name for name in problem.schema.features if name not in problem.names))
        if strange := [name for name in named if name not in known]:
            raise ParameterError(
                "PARAMETER",
                f"causes names {strange[0]!r}, which is no column that matters. {closest(strange[0], known)}".rstrip(),
                fix=f"They are {listed(known, 20)}.",
            )
    kept = tuple(name for name in problem.schema.actionable if name in named)
    if not kept:
        raise ParameterError(
            "PROBLEM_NOTHING_ACTIONABLE",
            f"None of the causes {listed(named)} can be acted on.",
            fix=f"The actionable features are {listed(problem.schema.actionable)}.",
        )
    return kept


def _solved(audited: Audited, problem: RecourseProblem, kept: tuple[str, ...]) -> RecourseTable:
    schema = problem.schema
    features: dict[str, Feature | Role] = {
        name: feature if feature.role != "actionable" or name in kept else _follows(feature)
        for name in schema.features
        for feature in (schema.feature(name),)
    }
    numbers = [k for k, position in enumerate(problem.numeric) if problem.names[position] in kept]
    narrower = replace(problem, schema=replace(schema, features=features), cost=problem.cost.among(numbers))
    people = People(narrower, audited.table.data, audited.table.groups)
    return solve(narrower, people, solver=None if audited.choice is None else audited.choice.solver, progress=False)


def _follows(feature: Feature) -> Feature:
    """A feature that is no cause only follows; where it may end up stays."""
    return Feature("mutable", kind=feature.kind, plausible=feature.plausible)


def _compared(audited: Audited, again: RecourseTable, kept: tuple[str, ...]) -> list[NotionReading]:
    groups, level = audited.table.groups, audited.level
    members = [np.flatnonzero(groups.codes == code) for code in range(len(groups.labels))]
    sides = [_side(audited.table, again, rows) for rows in members]
    routes = [rows[audited.table.has_action[rows]] for rows in members]
    lost = [again.status[rows] == Status.INFEASIBLE for rows in routes]
    unknown = [again.status[rows] == Status.UNKNOWN for rows in routes]
    extra = np.maximum(again.effort - audited.table.effort, 0.0)
    gone = np.where(audited.table.has_action, again.status == Status.INFEASIBLE, np.nan)
    found = []
    for code, label in enumerate(groups.labels):
        n_lost = int((lost[code] | unknown[code]).sum())
        blank = NotionReading(EXTRA.name, label, parts=kept, n_undefined=n_lost)
        found.append(bounded(mean_reading(blank, sides[code], level), audited, extra))
    for a, b in audited.pairs:
        n_lost = sum(int((lost[code] | unknown[code]).sum()) for code in (a, b))
        blank = NotionReading(EXTRA_GAP.name, groups.labels[a], groups.labels[b], parts=kept, n_undefined=n_lost)
        found.append(bounded(mean_gap(blank, sides[a], sides[b], level), audited, extra))
    for code, label in enumerate(groups.labels):
        blank = NotionReading(LOST.name, label, parts=kept)
        found.append(bounded(share_reading(blank, lost[code], level, unknown[code]), audited, gone))
    for a, b in audited.pairs:
        blank = NotionReading(LOST_GAP.name, groups.labels[a], groups.labels[b], parts=kept)
        gap = share_gap(blank, lost[a], lost[b], level, (unknown[a], unknown[b]))
        found.append(bounded(gap, audited, gone))
    return [replace(one, note=" ".join(NOBODY.get(code, code) for code in one.note.split())) for one in found]


def _side(table: RecourseTable, again: RecourseTable, rows: npt.NDArray[np.intp]) -> Side:
    """Extra efforts of those with a route either way, with their ranges; an action on causes is never the cheaper."""
    both = rows[table.has_action[rows] & again.has_action[rows]]
    bounds = [certain_bounds(one.effort[both], one.bound[both]) for one in (table, again)]
    least = np.maximum(bounds[1] - table.effort[both], 0.0)
    most = np.maximum(again.effort[both] - bounds[0], 0.0)
    open_ = rows[
        (table.has_action[rows] & (again.status[rows] == Status.UNKNOWN))
        | ((table.status[rows] == Status.UNKNOWN) & (again.status[rows] != Status.INFEASIBLE))
    ]
    ceiling = float(np.max(again.ceiling[open_], initial=-np.inf)) if len(open_) else -np.inf
    extra = np.maximum(again.effort[both] - table.effort[both], 0.0)
    settled = np.array_equal(bounds[0], table.effort[both]) and np.array_equal(bounds[1], again.effort[both])
    sums = Sums.of(extra)
    return Side(
        sums, sums if settled else Sums.of(least), sums if settled else Sums.of(most), len(open_), 0.0,
        ceiling if not np.isnan(ceiling) else np.inf,
    )  # fmt: skip
