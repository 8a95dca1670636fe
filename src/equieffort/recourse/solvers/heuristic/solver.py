"""Search: actions for classifiers and equations that nothing can be proven about.

Only the model's labels are used. Everybody's candidates go to the model together, round by round: first looks, then the
cheapest that work are drawn back towards the facts, varied, and trimmed feature by feature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.arguments import check_number
from equieffort.models.classifiers import BlackBox, View
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Proposal, Solver, check_count, check_seconds
from equieffort.recourse.solvers.endings import DONE, termination
from equieffort.recourse.solvers.heuristic.people import Examples, SearchBatch
from equieffort.recourse.solvers.heuristic.rounds import HALVINGS, Best, search
from equieffort.recourse.solvers.infeasibility import obstacle_of, room_to
from equieffort.recourse.solvers.stepping import SteppingSolver
from equieffort.recourse.status import (
    Blocking,
    Ending,
    Infeasibility,
    LimitKind,
    Obstacle,
    Refusal,
    Termination,
    Unfit,
    Why,
)

BLOCK = 512
"""Most people searched together; results do not depend on it."""
CELLS = 16_384
"""People times actionable features that are searched together, so that memory stays bounded."""
BUDGET_EACH = 200
"""Candidates for each question about a limit that is left out."""


@dataclass(frozen=True)
class Search(Solver):
    """Looks for cheap actions with the model's labels alone: any classifier, any equations, nothing proven.

    What it finds is replayed like every action, so it works. A cheaper one may exist, and finding nothing proves
    nothing. A person gets the same answer in any company.

    Parameters
    ----------
    budget
        How many counterfactuals of a person the model may be asked about.
    random_state
        Where the random part begins.
    time_limit
        Seconds of CPU a person may take, and ten times as many on the wall clock, of people who are asked about
        together each their share; None is no limit. Looked at between questions to the model.

    >>> Search().harder()
    Search(budget=20000, random_state=0, time_limit=100.0)
    """

    budget: int = 2000
    random_state: int = 0
    time_limit: float | None = 10.0

    gap = 0.0
    certifies = False

    def __post_init__(self) -> None:
        check_count("budget", self.budget)
        check_number("random_state", self.random_state, "a whole number", whole=True, fix="Give 0, for instance.")
        check_seconds(self.time_limit, optional=True)

    def prepare(self, problem: RecourseProblem) -> PreparedSearch | Refusal:
        """What the examples say, unless a margin is asked of a score that is not known."""
        if problem.margin > 0 and isinstance(problem.view, BlackBox):
            return Refusal(Unfit.MODEL, Why.LABELS_ONLY, value=problem.margin)
        return PreparedSearch(problem, self)

    def harder(self) -> Search:
        """Ten times the budget and the seconds."""
        seconds = None if self.time_limit is None else 10 * self.time_limit
        return replace(self, budget=10 * self.budget, time_limit=seconds)


@dataclass(frozen=True, eq=False)
class PreparedSearch(SteppingSolver[Search, View | BlackBox]):
    """A problem and what its examples say."""

    @cached_property
    def examples(self) -> Examples:
        """Asked of the model when a search begins."""
        return Examples.of(self.problem)

    def quick(self) -> Search:
        """A few candidates."""
        return replace(self.limits, budget=min(self.limits.budget, BUDGET_EACH), time_limit=None)

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """The cheapest action found for each person; nothing is proven of its cost."""
        proposal = Proposal.empty(self.problem, len(people))
        size = max(1, min(BLOCK, CELLS // max(len(self.problem.acts), 1)))
        for start in range(0, len(people), size):
            block = SearchBatch(
                self.problem, self.examples, people[start : start + size], budget=self.limits.budget,
                random_state=int(self.limits.random_state), time_limit=self.limits.time_limit,
            )  # fmt: skip
            best = search(block, max(HALVINGS - attempt, 3))
            self._write(block, best, proposal, start)
        return proposal

    def _write(self, people: SearchBatch, best: Best, proposal: Proposal, start: int) -> None:
        rows = start + np.arange(people.count)
        numbers, has = people.numbers, np.isfinite(best.cost)
        stuck = ~people.can_change().any(axis=1)
        proposal.code[rows] = np.where(has, FOUND, np.where(stuck, NONE, LIMIT))
        proposal.cost[rows] = best.cost
        # Nothing is proven but that effort is not negative; where nothing may change, that there is no action.
        proposal.bound[rows] = np.where(stuck & ~has, np.inf, 0.0)
        proposal.intervention_mask[rows] = best.is_set
        proposal.delta[rows] = best.value[:, :numbers] - people.facts[:, :numbers]
        levels = np.where(best.is_set[:, numbers:], best.value[:, numbers:], -1)
        proposal.level[rows] = levels.astype(np.int16)
        ended = people.time.ended
        for i in np.flatnonzero(~stuck).tolist():
            proposal.notes[start + i] = (
                Termination(
                    Ending.HEURISTIC, bool(has[i]), argument="budget", limit=self.limits.budget, work=people.used[i]
                )
                if ended[i] == DONE
                else termination(
                    int(ended[i]), found=bool(has[i]), bound=0.0, nodes=None, seconds=self.limits.time_limit
                )
            )

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """Which limits would have to go; where none is found to help, all that keep every feature where it is.

        An action that is found proves that it exists.
        """
        found = self.relaxations.infeasibility(people)
        alone = (Blocking.EACH, Blocking.TOGETHER)
        return [
            told if told.blocking in alone else _held(self.problem, people[row : row + 1])
            for row, told in enumerate(found)
        ]


def _held(problem: RecourseProblem, person: Floats) -> Infeasibility:
    """Every limit that keeps an actionable feature where it is."""
    held = []
    for k in problem.acts:
        column, facts = problem.encoding.columns[k], problem.places(k, person[:, k])
        if column.is_category and not any((room_to(limit, facts) < 1).all() for limit in problem.limits(k)):
            held.append(Obstacle(column.name, LimitKind.LEVEL))
            continue
        is_whole = column.kind != "continuous"
        rooms = [(limit, float(room_to(limit, facts)[0])) for limit in problem.limits(k)]
        stops = [limit for limit, room in rooms if (room < 1 if is_whole else room <= 0)]
        held += [obstacle_of(problem, k, limit, float(facts[0]), 0.0) for limit in stops]
    return Infeasibility(tuple(held), Blocking.HELD)
