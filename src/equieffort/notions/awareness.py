"""Fairness through awareness: are people who are much alike scored much alike?

A pair violates the Lipschitz condition with constant L where |p(x) - p(x')| > L d(x, x'). Read are the share of pairs
that do, the largest violation |p(x) - p(x')| - L d(x, x'), and the least L without any. p is the model's probability of
the favourable labels, or its score where it gives none; d a distance between people, without protected columns.

The share over pairs is a U-statistic: its interval rests on each person's own share of pairs (Hájek's projection), on
Wilson's form with the number of people that this variance is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from equieffort.data.frames import Floats
from equieffort.effort.inference.shares import wilson
from equieffort.errors import listed
from equieffort.foundations.arguments import check_number
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, over_views, require_model
from equieffort.notions.comparing import Found
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.distances import BoundDistance, Distance, Manhattan, MixedDistance, check_distance

REFERENCE = "Dwork, Hardt, Pitassi, Reingold and Zemel 2012"
MOST_PEOPLE = 3000
"""All pairs of so many people are looked at; of more people so many are drawn, which the interval reckons with."""
BLOCK = 256
UNASSIGNED = "a pair counts by the groups of both its people"
SHARE = Notion(
    "awareness_share",
    "Pairs scored too differently",
    "share of pairs with |p(x) - p(x')| > L d(x, x')",
    REFERENCE,
    "Whether people who are much alike are treated alike, whatever their group; effort is not asked about.",
    neutral=0.0,
    orientation=0,
    form="share",
    counts="pairs",
    unassigned=UNASSIGNED,
)
LARGEST = Notion(
    "awareness_violation",
    "Largest violation",
    "max over pairs of |p(x) - p(x')| - L d(x, x')",
    REFERENCE,
    "How far apart the most differently treated of two similar people are.",
    orientation=0,
    counts="pairs",
    unassigned=UNASSIGNED,
)
LEAST = Notion(
    "awareness_lipschitz",
    "Least constant without a violation",
    "max over pairs of |p(x) - p(x')| / d(x, x')",
    REFERENCE,
    "How fast the score may change between similar people.",
    neutral=nan,
    orientation=0,
    counts="pairs",
    unassigned=UNASSIGNED,
)


@dataclass(frozen=True)
class Awareness(Family):
    """Pairs of everybody, and pairs of one person of each compared group.

    Three people in a row, half a range apart, scored 0, 0.7 and 0.8: only the first step is too steep for L = 1.

    >>> seen = pairs_of(np.array([0.0, 0.7, 0.8]), _Line(np.array([0.0, 0.5, 1.0])), np.zeros(3, dtype=int), 1.0)
    >>> seen.violating.tolist(), round(seen.largest, 3), round(seen.steepest, 3)
    ([[1], [1], [0]], 0.2, 1.4)
    """

    name = "awareness"
    title = "Fairness through awareness"
    notions = (SHARE, LARGEST, LEAST)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """With L = 1 and the normalised Manhattan distance."""
        if audited.problem is None:
            why = "It asks the model for probabilities, and the model is not in a saved audit."
            return [NotApplicable(notion.name, why) for notion in self.notions]
        if scores_of(audited.problem, audited.table.data.iloc[:1]) is None:
            why = "The model gives neither a probability nor a single score (predict_proba, decision_function)."
            return [NotApplicable(notion.name, why) for notion in self.notions]
        return _read(audited, audited.problem, 1.0, Manhattan())[0]

    def read(self, audited: Audited, lipschitz: float = 1.0, distance: Distance | None = None) -> Found:
        """Readings, and of each person looked at in how many pairs they are treated too differently."""
        check_number("lipschitz", lipschitz, "a number above 0", lambda size: size > 0)
        chosen = Manhattan() if distance is None else distance
        check_distance(chosen)
        problem = require_model(audited, "fairness_through_awareness()")
        if scores_of(problem, audited.table.data.iloc[:1]) is None:
            return Found(self.title, tuple(self.readings(audited)), columns=audited.table.groups.columns)
        seen: list[pd.DataFrame] = []

        def read(view: Audited) -> list[NotionReading]:
            rows, people = _read(view, problem, float(lipschitz), chosen)
            seen.append(people)
            return rows

        readings, people = over_views(audited, read), seen[0]
        groups = audited.table.groups
        people["group"] = np.array(groups.labels, dtype=object)[groups.codes[people.pop("row")]]
        people = people[["group", "p", "pairs", "violations"]]
        return Found(self.title, tuple(readings), people, groups.columns)


def scores_of(problem: RecourseProblem, frame: pd.DataFrame) -> tuple[Floats, str] | None:
    """Probabilities of the favourable labels, or the score of two labels, and which; None where there is neither."""
    decision, model = problem.decision, problem.decision.classifier
    known = getattr(model, "classes_", None)
    if callable(getattr(model, "predict_proba", None)) and known is not None:
        return decision.chances(frame), "probability"
    if callable(getattr(model, "decision_function", None)):
        found = np.asarray(model.decision_function(decision.model_input(frame)), dtype=np.float64)
        if found.shape == (len(frame),):
            return found, "score"
    return None


@dataclass(frozen=True, eq=False)
class Pairs:
    """What was seen of all pairs: (person, group) counts, and the extremes by (group, group)."""

    violating: npt.NDArray[np.int64]
    """For each person the pairs with members of each group that violate."""
    largest_of: Floats
    steepest_of: Floats
    unlike_twins: npt.NDArray[np.int64]
    """Pairs without a distance between them that are scored differently."""

    @property
    def largest(self) -> float:
        """The largest difference less L times the distance."""
        return float(self.largest_of.max())

    @property
    def steepest(self) -> float:
        """The largest difference a unit of distance, among pairs with a distance."""
        return float(self.steepest_of.max())


@dataclass(frozen=True, eq=False)
class _Line(BoundDistance):
    """People on a line."""

    places: Floats

    def to_all(self, rows: slice) -> Floats:
        return np.abs(self.places[rows, None] - self.places[None, :])


def pairs_of(p: Floats, distance: BoundDistance, codes: npt.NDArray[Any], lipschitz: float) -> Pairs:
    """Look at all pairs, block by block."""
    groups = np.unique(codes)
    of_group = codes[:, None] == groups[None, :]
    violating = np.zeros((len(p), len(groups)), dtype=np.int64)
    largest = np.full((len(groups), len(groups)), -inf)
    steepest, twins = np.zeros(largest.shape), np.zeros(largest.shape, dtype=np.int64)
    for start in range(0, len(p), BLOCK):
        rows = slice(start, min(start + BLOCK, len(p)))
        far = distance.to_all(rows)
        apart = np.abs(p[rows, None] - p[None, :])
        own = np.arange(rows.start, rows.stop)
        excess = apart - lipschitz * far
        excess[np.arange(len(own)), own] = -inf
        violating[rows] = (excess > 0) @ of_group.astype(np.int64)
        near = (far == 0) & (apart > 0)
        slope = np.divide(apart, far, out=np.zeros_like(far), where=far > 0)
        for a in range(len(groups)):
            mine = of_group[rows, a]
            for b in range(len(groups)) if mine.any() else ():
                theirs = of_group[:, b]
                largest[a, b] = max(largest[a, b], float(excess[np.ix_(mine, theirs)].max(initial=-inf)))
                steepest[a, b] = max(steepest[a, b], float(slope[np.ix_(mine, theirs)].max(initial=0.0)))
                twins[a, b] += int(near[np.ix_(mine, theirs)].sum())
    return Pairs(violating, largest, steepest, twins)


def _read(
    audited: Audited, problem: RecourseProblem, lipschitz: float, distance: Distance
) -> tuple[list[NotionReading], pd.DataFrame]:
    table, groups = audited.table, audited.table.groups
    rows, note = np.arange(len(table)), ""
    if len(rows) > MOST_PEOPLE:
        rows = np.sort(np.random.default_rng(audited.random_state).choice(len(table), MOST_PEOPLE, replace=False))
        note = "SAMPLED"
    frame = table.data.iloc[rows]
    asked = scores_of(problem, frame)
    assert asked is not None
    p, kind = asked
    codes = groups.codes[rows]
    present = np.unique(codes).tolist()
    bound = distance.bind(frame, problem.encoding, problem.schema)
    seen = pairs_of(p, bound, codes, lipschitz)
    lacking = bound.lacking if isinstance(bound, MixedDistance) else ()
    left_out = f" without {listed(lacking, 3)}" if lacking else ""
    blank = NotionReading("", parts=(kind, f"L = {lipschitz:g}{left_out}"), note=note)
    each = seen.violating.sum(axis=1) / max(len(rows) - 1, 1)
    share = _share(replace(blank, notion=SHARE.name), len(rows) * (len(rows) - 1) // 2, [each, each], audited.level)
    found = [share, *_extremes(blank, seen, share.n, np.ones(seen.largest_of.shape, dtype=bool), 2)]
    if audited.unplaced.any():
        # Among all pairs nobody's group matters.
        found = [replace(one, assigned_least=one.estimate, assigned_most=one.estimate) for one in found]
    for a, b in audited.pairs:
        pair = replace(blank, group=groups.labels[a], against=groups.labels[b])
        if a not in present or b not in present:
            found += [replace(pair, notion=one.name, note="NO_PEOPLE") for one in (SHARE, LARGEST, LEAST)]
            continue
        i, j = present.index(a), present.index(b)
        mine, theirs = codes == a, codes == b
        n, m = int(mine.sum()), int(theirs.sum())
        sides = [seen.violating[mine, j] / m, seen.violating[theirs, i] / n]
        share = _share(replace(pair, notion=SHARE.name), n * m, sides, audited.level)
        chosen = np.zeros(seen.largest_of.shape, dtype=bool)
        chosen[i, j] = True
        found += [share, *_extremes(pair, seen, n * m, chosen, 1)]
    counts = seen.violating.sum(axis=1)
    columns = {"row": rows, "p": p, "pairs": len(rows) - 1, "violations": counts}
    return found, pd.DataFrame(columns, index=table.index[rows])


def _share(blank: NotionReading, n: int, sides: list[Floats], level: float) -> NotionReading:
    """The share of pairs from each person's own share on both sides, which are two samples or the same one twice."""
    if n == 0:
        return replace(blank, n=0, note=f"{blank.note} TOO_FEW".strip())
    estimate = float(sides[0].mean())
    people = min(len(side) for side in sides)
    reading = replace(blank, estimate=estimate, n=n)
    if people < 2:
        return replace(reading, note=f"{blank.note} TOO_FEW".strip())
    same = sides[0] is sides[1]
    variance = 4 * sides[0].var(ddof=1) / len(sides[0]) if same else sum(s.var(ddof=1) / len(s) for s in sides)
    # Pairs that share nobody are independent: at least so many people an answer without any spread is worth.
    worth = float(len(sides[0]) // 2 if same else people)
    if variance > 0:
        worth = max(estimate * (1 - estimate) / float(variance), 1.0)
    low, high = wilson(estimate * worth, worth, float(stdtrit(people - 1, (1 + level) / 2)))
    return replace(reading, low=low, high=high)


def _extremes(
    blank: NotionReading, seen: Pairs, n: int, chosen: npt.NDArray[np.bool_], times: int
) -> list[NotionReading]:
    note = f"{blank.note} EXTREME".strip()
    if n == 0:
        return [replace(blank, notion=one.name, note=f"{blank.note} TOO_FEW".strip()) for one in (LARGEST, LEAST)]
    largest = max(float(seen.largest_of[chosen].max()), 0.0)
    steepest, twins = float(seen.steepest_of[chosen].max()), int(seen.unlike_twins[chosen].sum()) // times
    first = replace(blank, notion=LARGEST.name, estimate=largest, n=n, note=note)
    second = replace(blank, notion=LEAST.name, estimate=steepest, n=n, note=note)
    if twins:
        # No constant suffices; it is at least this for the others.
        second = replace(
            second, estimate=nan, least=steepest, n=n - twins, n_undefined=twins, note=f"{note} TWINS_DIFFER"
        )
    return [first, second]
