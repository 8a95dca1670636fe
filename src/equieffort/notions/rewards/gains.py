"""The largest gain in a linear score that an effort can bring, and the least effort for a gain: both certified.

"A gain of at least t" is a decision like any other: score(x') >= score(x) + t, with the right-hand side as a column
of its own that nobody can change. So the solvers answer it for everybody, approved or not, and the largest gain within
an effort is found between one that such an action reaches and one that is proven to cost more.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Column, Encoding, Floats
from equieffort.effort.measures.sample import Sample
from equieffort.errors import EquieffortWarning, ModelError
from equieffort.foundations.tolerances import power_of_two
from equieffort.models.classifiers import Decision, LinearView
from equieffort.notions.rewards.chance import Moves, RankChance
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Choice, Solver, Status
from equieffort.recourse.solving import chosen_for, solve
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups

Benefit = Literal["probability", "score"]
NEEDED = "score needed"
"""The column of what each person's score must reach."""
PRECISION = 1e-4
"""Of the range of scores: a largest gain is looked for until it is known to this."""
ROUNDS = 60
"""So often at most; whose gain is not known by then keeps a range."""
ASIDE = 0.25
"""What a little more effort would gain is read between so much less and so much more of a gain: nearer by, few people
say how many are there."""
ROUNDING = 1e-9
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reaches:
    """A classifier that says whether a score reaches what is needed."""

    view: LinearView
    encoding: Encoding
    feature_names_in_: npt.NDArray[np.object_]
    classes_: npt.NDArray[np.bool_]

    def predict(self, X: pd.DataFrame) -> Bools:
        """By the view's own sum."""
        matrix = np.zeros((len(X), len(self.encoding.columns)))
        for name in self.feature_names_in_.tolist():
            matrix[:, self.encoding.position(name)] = self.encoding[name].encode(X[name])
        return np.asarray(self.view.score(matrix) >= 0)


@dataclass(frozen=True, eq=False)
class Link:
    """A probability that is logistic in the score: p = 1 / (1 + exp(-(start + slope score)))."""

    start: float
    slope: float

    def probability(self, scores: Floats) -> Floats:
        """Of scores."""
        return np.asarray(1 / (1 + np.exp(-(self.start + self.slope * scores))))

    def score(self, p: Floats) -> Floats:
        """At which a probability is reached; infinite for 1 and more."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (np.log(p) - np.log1p(-p) - self.start) / self.slope
        return np.asarray(np.where(p >= 1, np.inf, found))


@dataclass(frozen=True, eq=False)
class ScoreGains:
    """People of an audit, and the problem of how much score an effort brings them."""

    problem: RecourseProblem
    choice: Choice
    data: pd.DataFrame
    groups: Groups
    scores: Floats
    """As people are."""
    link: Link | None
    """None where the benefit is the score itself."""

    @classmethod
    def of(
        cls,
        problem: RecourseProblem,
        data: pd.DataFrame,
        groups: Groups,
        solver: Solver | Choice | None,
        benefit: Benefit,
    ) -> ScoreGains | str:
        """For a linear score that a solver certifies; else why not."""
        view = problem.view
        if not isinstance(view, LinearView):
            return "The model has no single linear score, so that the largest gain within an effort is not known."
        lacking = [name for name in problem.names if data[name].isna().any()]
        if lacking:
            return f"Gains need every value, and {lacking[0]!r} has missing ones."
        scores = view.score(problem.encoding.encode(data))
        link = _link(problem, data, scores) if benefit == "probability" else None
        if benefit == "probability" and link is None:
            return 'The model gives no probability that is logistic in its score; read benefit="score".'
        made = _problem(problem, view, data, scores)
        choice = chosen_for(made, solver)
        if not choice.solver.certifies:
            return f"Largest gains are not certified here. {choice.reason}"
        return cls(made, choice, data, groups, scores, link)

    def benefit(self, gains: Floats) -> Floats:
        """Gains of the score as gains of the benefit."""
        if self.link is None:
            return gains
        return self.link.probability(self.scores + gains) - self.link.probability(self.scores)

    def solved(self, rows: Rows, gains: Floats) -> RecourseTable:
        """The least effort with which each of these people gains so much score."""
        frame = self.data.iloc[rows].assign(**{NEEDED: self.scores[rows] + gains})
        people = People(self.problem, frame, replace(self.groups, codes=self.groups.codes[rows]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquieffortWarning)
            return solve(self.problem, people, solver=self.choice, progress=False)

    def least_effort(self, gain: float) -> Efforts:
        """The least effort with which each person gains so much benefit; none where there is no such gain."""
        needed = np.full(len(self.scores), gain)
        if self.link is not None:
            needed = self.link.score(self.link.probability(self.scores) + gain) - self.scores
        rows = np.flatnonzero(np.isfinite(needed))
        n = len(needed)
        found = Efforts(
            np.full(n, Status.INFEASIBLE, dtype=np.int8), np.full(n, np.nan), np.full(n, np.inf), np.full(n, np.nan)
        )
        if len(rows):
            table = self.solved(rows, needed[rows])
            found.status[rows], found.effort[rows] = table.status, table.effort
            found.bound[rows], found.ceiling[rows] = table.bound, table.ceiling
            facts = self.problem.encoding.encode(self.data.assign(**{NEEDED: 0.0}))[:, list(self.problem.numeric)]
            found = replace(found, moves=Moves.of(self.problem, table).spread(rows, facts))
        return found

    def margin(self, gains: Floats) -> tuple[Moves, Floats]:
        """The moves that bring people so much score, and how much benefit a little more effort would add: 0 where no
        action does."""
        rows, n = np.flatnonzero(gains > 0), len(gains)
        facts = self.problem.encoding.encode(self.data.assign(**{NEEDED: 0.0}))[:, list(self.problem.numeric)]
        margin = np.zeros(n)
        if not len(rows):
            return Moves(facts, facts, np.zeros(facts.shape)), margin
        less, more = (1 - ASIDE) * gains, (1 + ASIDE) * gains
        efforts = [self.solved(rows, one[rows]).effort for one in (less, more)]
        gained, apart = (self.benefit(more) - self.benefit(less))[rows], efforts[1] - efforts[0]
        margin[rows] = np.divide(gained, apart, out=np.zeros_like(apart), where=apart > 0)
        return Moves.of(self.problem, self.solved(rows, gains[rows])).spread(rows, facts), margin

    def largest_score(self, delta: float) -> tuple[Floats, Floats]:
        """The most score that an effort of at most delta brings each person: what is reached, and what it cannot
        exceed."""
        most = delta * (1 + ROUNDING)
        n, size = len(self.scores), float(np.ptp(self.scores)) or 1.0
        low, high, below, above = np.zeros(n), np.full(n, np.inf), np.zeros(n), np.full(n, np.nan)
        rows = np.arange(n)
        for turn in range(ROUNDS):
            if not len(rows):
                break
            guess = _guess(turn, low[rows], high[rows], below[rows], above[rows], delta, size)
            table = self.solved(rows, guess)
            within = table.has_action & (table.effort <= most)
            beyond = ~within & ((table.status == Status.INFEASIBLE) | (table.bound > most))
            low[rows[within]], below[rows[within]] = guess[within], table.effort[within]
            high[rows[beyond]] = guess[beyond]
            above[rows[beyond]] = np.where(table.has_action, table.effort, np.nan)[beyond]
            # Of whom neither is proven the range stays as it is.
            rows = rows[(within | beyond) & (high[rows] - low[rows] > PRECISION * size)]
        high = np.where(high - low <= PRECISION * size, low, high)
        return low, high


@dataclass(frozen=True, eq=False)
class Gained:
    """What efforts bring people, and what a gain costs them."""

    kind: Benefit
    largest: dict[float, tuple[Floats, Floats]]
    """By effort: the gain that is reached, and what it cannot exceed."""
    gain: float
    efforts: Efforts
    """The least for that gain."""
    chance: RankChance | None = None
    """That in the ranks, where people are ranked among the audited ones."""
    margins: dict[float, tuple[Moves, Floats]] = field(default_factory=dict)
    """By effort: the moves that reach the largest gain, and what a little more effort would gain."""

    @classmethod
    def of(
        cls, gains: ScoreGains, kind: Benefit, deltas: Sequence[float], gain: float, chance: RankChance | None = None
    ) -> Gained:
        """Solve for all of it."""
        scores = {delta: gains.largest_score(delta) for delta in deltas}
        largest = {delta: (gains.benefit(low), gains.benefit(high)) for delta, (low, high) in scores.items()}
        margins = {} if chance is None else {delta: gains.margin(low) for delta, (low, _) in scores.items()}
        return cls(kind, largest, gain, gains.least_effort(gain), chance, margins)


@dataclass(frozen=True, eq=False)
class Efforts:
    """Efforts of people as a table has them."""

    status: npt.NDArray[np.int8]
    effort: Floats
    bound: Floats
    ceiling: Floats
    moves: Moves | None = None
    """What those with an action do."""

    def sample(self, rows: Bools, budget: float | None = None) -> Sample:
        """Some of them."""
        return Sample.of(self.status[rows], self.effort[rows], self.bound[rows], self.ceiling[rows], budget)


def _guess(
    turn: int, low: Floats, high: Floats, below: Floats, above: Floats, delta: float, size: float
) -> Floats:  # fmt: skip
    """What to try next: beyond what is known, then in turn where a straight line ends, a hair above the best, half way.

    Costs are straight between knots, so that the line soon meets the largest gain; halving bounds the number of turns.
    """
    unknown = np.isinf(high)
    end = np.where(unknown, 0.0, high)
    with np.errstate(invalid="ignore", divide="ignore"):
        line = low + (end - low) * (delta - below) / (above - below)
    middle = (low + end) / 2
    line = np.where(np.isfinite(line) & (line > low) & (line < end), line, middle)
    hair = np.minimum(low + PRECISION * size / 2, middle)
    inside = (line, hair, middle)[turn % 3]
    return np.where(unknown, np.maximum(4 * low, size), inside)


def _link(problem: RecourseProblem, data: pd.DataFrame, scores: Floats) -> Link | None:
    """The logistic curve through the model's own probabilities, if they lie on one."""
    try:
        p = problem.decision.chances(data)
    except ModelError:
        return None
    inside = (p > 1e-6) & (p < 1 - 1e-6)
    if inside.sum() < 2 or np.ptp(scores[inside]) == 0:
        return None
    z = np.log(p[inside]) - np.log1p(-p[inside])
    one, two = int(scores[inside].argmin()), int(scores[inside].argmax())
    slope = (z[two] - z[one]) / (scores[inside][two] - scores[inside][one])
    link = Link(float(z[one] - slope * scores[inside][one]), float(slope))
    return link if slope > 0 and np.abs(link.probability(scores) - p).max() <= 1e-7 else None


def _problem(problem: RecourseProblem, view: LinearView, data: pd.DataFrame, scores: Floats) -> RecourseProblem:
    """The same world, in which the decision is whether the score reaches what is needed."""
    frame = data[list(problem.names)].assign(**{NEEDED: scores})
    encoding = Encoding((*problem.encoding.columns, Column(NEEDED, "continuous"))).typed(frame)
    reach = replace(view, weights=np.append(view.weights, -1.0), closed=True, rowwise=False)
    used = [name for k, name in enumerate(problem.names) if view.weights[k] != 0 or k in view.tables]
    names: Any = np.array([*used, NEEDED], dtype=object)
    decision = Decision(Reaches(reach, encoding, names, np.array([False, True])), tuple(names), True, False)
    return replace(
        problem, decision=decision, view=reach, encoding=encoding, margin=0.0, examples=frame.iloc[:0],
        spreads=np.append(problem.spreads, power_of_two(float(np.ptp(scores)))),
    )  # fmt: skip
