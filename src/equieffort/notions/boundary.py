"""Distance to the boundary: how far are a group's refused people from approval, as the model sees them?

|mean distance of the refused of a - of b| (Gupta et al. 2019), in the model's own metric: nothing follows from a
change, and nobody says what people can change. For linear scores the distance is |score| / ||weights||, Euclidean among
the inputs that the weights belong to: after the model's scaler and encoder where it has them. For trees and networks,
which have no metric of their own, it is the least change of the model's inputs, each number over its range and each
category as 1, in a world without causes and limits; there the sensitive columns stay. With more ways to combine
categories than a proof can try it is searched for, and only known to be at most what was found.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.acr import acting
from equieffort.effort.measures.sample import sample
from equieffort.errors import EquieffortError
from equieffort.foundations.arguments import check_whole
from equieffort.models.classifiers import BlackBox, LinearView
from equieffort.notions.assigned import bounded, spread
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, over_views, require_model
from equieffort.notions.comparing import Found, folded, mean_gap, mean_reading, side_of, told_if_none
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve
from equieffort.recourse.table import RecourseTable
from equieffort.world.schema import Feature, Role, Schema
from equieffort.world.scm import StructuralCausalModel

REFERENCE = "Gupta, Nokhiz, Roy and Venkatasubramanian 2019"
EACH = 200
"""So many refused people a group are drawn where each must be solved."""
DISTANCE = Notion(
    "boundary_distance",
    "Distance to the boundary",
    "mean(distance of x to the decision boundary | refused, group)",
    REFERENCE,
    "How far the model thinks people are from approval, whatever they could do about it.",
    neutral=float("nan"),
)
GAP = Notion(
    "boundary_gap",
    "Gap of distances to the boundary",
    "|mean(distance | refused, group) - mean(distance | refused, reference)|",
    REFERENCE,
    "Equal distances can be unequal efforts, and the other way round: causes and limits are ignored.",
    orientation=0,
)


@dataclass(frozen=True)
class Boundary(Family):
    """Mean distances by group, and their gap, whichever its sign.

    The line 3 x + 4 y = 10 is 2 away from the origin and 1 from (1, 1/2).

    >>> import equieffort as ee
    >>> people = pd.DataFrame({"sex": list("fmm"), "x": [0.0, 1.0, 9.0], "y": [0.0, 0.5, 9.0]})
    >>> schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"x": "actionable"})
    >>> audit = ee.audit(ee.LinearScore({"x": 3, "y": 4}, threshold=10), people, schema=schema,
    ...                  scm=ee.StructuralCausalModel([]).fit(people))
    >>> audit.boundary_distance().people
      group  distance
    0     f       2.0
    1     m       1.0
    """

    name = "boundary"
    title = "Distance to the boundary"
    notions = (DISTANCE, GAP)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """All refused people of a linear score; of another model as many as can be solved soon."""
        if audited.problem is None:
            return [
                NotApplicable(one.name, "It asks the model, which is not in a saved audit.") for one in self.notions
            ]
        known = distances(audited, audited.problem, EACH)
        if isinstance(known, str):
            return [NotApplicable(one.name, known) for one in self.notions]
        return _compared(audited, known)

    def read(self, audited: Audited, each: int | None = EACH) -> Found:
        """Readings, and the distance of everybody looked at."""
        check_whole("each", each, 1, optional=True)
        known = distances(audited, require_model(audited, "boundary_distance()"), each)
        if isinstance(known, str):
            return Found(self.title, tuple(NotApplicable(one.name, known) for one in self.notions))
        groups = audited.table.groups
        columns = {
            "group": np.array(groups.labels, dtype=object)[groups.codes[known.rows]],
            "distance": known.values,
        }
        readings = over_views(audited, lambda view: _compared(view, known))
        people = pd.DataFrame(columns, index=audited.table.index[known.rows])
        return Found(self.title, tuple(readings), people, groups.columns)


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of some refused people, and how they were found."""

    rows: npt.NDArray[np.intp]
    values: Floats
    metric: str
    solved: RecourseTable | None = None
    """Where they were solved for: with bounds, and people who cannot reach the other side at all."""

    def side(self, members: Bools) -> Side:
        """The distances of some of them."""
        if self.solved is None:
            return side_of(self.values[members])
        return acting(sample(self.solved, members))


def distances(audited: Audited, problem: RecourseProblem, each: int | None) -> Distances | str:
    """The distance of refused people to the boundary, or why there is none."""
    refused = np.flatnonzero(audited.table.is_unfavourable)
    view = problem.view
    if isinstance(view, BlackBox):
        return f"The model can only be asked, so that no distance to its boundary is known: {view.reason}."
    if isinstance(view, LinearView):
        norm = _norm(problem, view, audited.table.data.iloc[:200])
        if norm is None:
            return "The model's score is linear, but the weights of its own inputs are not known."
        scores = view.score(problem.encoding.encode(audited.table.data.iloc[refused]))
        return Distances(refused, np.abs(scores) / norm[0], norm[1])
    return _solved(audited, problem, refused, each)


def _norm(problem: RecourseProblem, view: LinearView, frame: pd.DataFrame) -> tuple[float, str] | None:
    """The Euclidean length of the weights of the model's own inputs, in units of the view's score."""
    model = problem.decision.classifier
    inner = model
    while True:
        if hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        elif hasattr(inner, "estimator_"):
            inner = inner.estimator_
        else:
            break
    own = getattr(inner, "coef_", None)
    if own is not None and np.ndim(own) <= 2 and np.size(own) == np.shape(own)[-1]:
        weights = np.asarray(own, dtype=np.float64).ravel()
        if _same_units(view, problem, frame, model):
            return float(np.linalg.norm(weights)), "Euclidean, the model's inputs"
        return None
    if own is None and not view.tables and np.any(view.weights):
        return float(np.linalg.norm(view.weights)), "Euclidean, the columns"
    return None


def _same_units(view: LinearView, problem: RecourseProblem, frame: pd.DataFrame, model: Any) -> bool:
    """Whether the view's score is the model's own, up to its sign and where it starts."""
    inner = model.estimator_ if hasattr(model, "estimator_") else model
    try:
        asked = np.asarray(inner.decision_function(problem.decision.model_input(frame)), dtype=np.float64)
    except Exception:
        return False
    scores = view.score(problem.encoding.encode(frame))
    if asked.shape != scores.shape:
        return False
    size = 1e-6 * max(float(np.abs(scores).max(initial=0.0)), float(np.abs(asked).max(initial=0.0)), 1e-300)
    return min(float(np.ptp(scores - asked)), float(np.ptp(scores + asked))) <= size


def _solved(
    audited: Audited, problem: RecourseProblem, refused: npt.NDArray[np.intp], each: int | None
) -> Distances | str:
    groups, data = audited.table.groups, audited.table.data
    rng = np.random.default_rng(audited.random_state)
    drawn = []
    for code in range(len(groups.labels)):
        mine = refused[groups.codes[refused] == code]
        drawn.append(mine if each is None or len(mine) <= each else rng.choice(mine, each, replace=False))
    rows = np.sort(np.concatenate(drawn)) if drawn else refused
    old, decision = problem.schema, problem.decision
    free = [name for name in decision.features if name not in old.sensitive_columns and data[name].nunique() > 1]
    features: dict[str, Feature | Role] = {
        name: Feature("actionable", kind=column.kind)
        if column.is_category
        else Feature("actionable", kind=column.kind, lower=-math.inf, upper=math.inf)
        for name in free
        for column in (problem.encoding[name],)
    }
    schema = Schema(
        sensitive=old.sensitive, protected=old.protected, reference=old.reference, favourable=old.favourable,
        threshold=old.threshold, features=features, one_hot=old.one_hot,
    )  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            used = data[[*dict.fromkeys((*old.sensitive_columns, *decision.features))]]
            bare = RecourseProblem.of(
                decision.classifier, used, schema=schema, scm=StructuralCausalModel([]).fit(used),
                model_features=decision.own if decision.bare else None,
            )  # fmt: skip
            frame = used.iloc[rows]
            typed = bare.typed(frame)
            table = solve(typed, People(typed, frame, replace(groups, codes=groups.codes[rows])), progress=False)
    except EquieffortError as error:
        return f"The nearest approved inputs could not be solved for: {error.what}"
    return Distances(rows, table.effort, "inputs over their ranges", table)


def _compared(audited: Audited, known: Distances) -> list[NotionReading]:
    groups, level = audited.table.groups, audited.level
    codes = groups.codes[known.rows]
    refused = int(audited.table.is_unfavourable.sum())
    note = "SAMPLED" if len(known.rows) < refused else ""
    members = [codes == code for code in range(len(groups.labels))]
    sides, counts = [known.side(mine) for mine in members], [int(mine.sum()) for mine in members]
    # Whoever cannot reach the other side by any input, or is not known to, is in no mean.
    without = [int(np.isnan(known.values[mine]).sum()) for mine in members]
    blank = NotionReading(DISTANCE.name, parts=(known.metric,), note=note)
    values = spread(known.rows, known.values, len(audited.table))
    found = []
    for code, label in enumerate(groups.labels):
        own = told_if_none(replace(blank, group=label, n_undefined=without[code]), counts[code])
        found.append(bounded(mean_reading(own, sides[code], level), audited, values))
    for a, b in audited.pairs:
        pair = replace(
            blank,
            notion=GAP.name,
            group=groups.labels[a],
            against=groups.labels[b],
            n_undefined=without[a] + without[b],
        )
        gap = folded(mean_gap(told_if_none(pair, counts[a], counts[b]), sides[a], sides[b], level))
        found.append(bounded(gap, audited, values, size=True))
    return found
