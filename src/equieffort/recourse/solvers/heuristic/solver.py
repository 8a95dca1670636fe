"""Search: actions for classifiers and equations that nothing can be proven about.

Only the model's labels are used. Everybody's candidates go to the model together, round by round: first looks, then the
cheapest that work are drawn back towards the facts, varied, and trimmed feature by feature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equieffort.data.frames import Floats, number
from equieffort.foundations.arguments import check_number
from equieffort.models.classifiers import BlackBox
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Proposal, Solver, check_count
from equieffort.recourse.solvers.heuristic.people import SearchBatch
from equieffort.recourse.solvers.heuristic.rounds import HALVINGS, Best, search
from equieffort.recourse.solvers.infeasibility import why_infeasible
from equieffort.recourse.solvers.obstacles import obstacle_of, room_to
from equieffort.recourse.status import Blocking, Ending, Infeasibility, LimitKind, Obstacle, Termination

BLOCK = 512
"""People searched together; results do not depend on it."""
MOST_ACTS = 62
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

    >>> Search().harder()
    Search(budget=20000, random_state=0)
    """

    budget: int = 2000
    random_state: int = 0

    gap = 0.0
    certifies = False

    def __post_init__(self) -> None:
        check_count("budget", self.budget)
        check_number("random_state", self.random_state, "a whole number", whole=True, fix="Give 0, for instance.")

    def supports(self, problem: RecourseProblem) -> str:
        """Empty, unless there are too many actions to write down or a margin of a score that is not known."""
        if len(problem.acts) > MOST_ACTS:
            return f"There are {len(problem.acts)} actionable features; a search handles at most {MOST_ACTS}."
        if problem.margin > 0 and isinstance(problem.view, BlackBox):
            return f"A margin of {number(problem.margin)} is asked for, but of this classifier only labels are known."
        return ""

    def harder(self) -> Search:
        """Ten times the budget."""
        return replace(self, budget=10 * self.budget)

    def propose(
        self, problem: RecourseProblem, matrix: Floats, *, attempt: int = 0, only: int | None = None
    ) -> Proposal:
        """The cheapest action found for each encoded person; nothing is proven of its cost."""
        proposal = Proposal.empty(problem, len(matrix))
        for start in range(0, len(matrix), BLOCK):
            people = SearchBatch(
                problem, matrix[start : start + BLOCK], budget=self.budget, random_state=int(self.random_state)
            )
            best = search(people, max(HALVINGS - attempt, 3))
            self._write(people, best, proposal, start)
        return proposal

    def _write(self, people: SearchBatch, best: Best, proposal: Proposal, start: int) -> None:
        rows = start + np.arange(people.count)
        numbers, has = people.numbers, np.isfinite(best.cost)
        stuck = ~people.can_change().any(axis=1)
        proposal.code[rows] = np.where(has, FOUND, np.where(stuck, NONE, LIMIT))
        proposal.cost[rows] = best.cost
        # Nothing is proven but that effort is not negative; where nothing may change, that there is no action.
        proposal.bound[rows] = np.where(stuck & ~has, np.inf, 0.0)
        bits = best.is_set.astype(np.int64) << np.arange(len(people.is_number))
        proposal.intervention_mask[rows] = bits.sum(axis=1)
        proposal.delta[rows] = best.value[:, :numbers] - people.facts[:, :numbers]
        levels = np.where(best.is_set[:, numbers:], best.value[:, numbers:], -1)
        proposal.level[rows] = levels.astype(np.int16)
        for i in np.flatnonzero(~stuck).tolist():
            proposal.notes[start + i] = Termination(
                Ending.HEURISTIC, bool(has[i]), argument="budget", limit=self.budget, work=people.used[i]
            )

    def why_infeasible(self, problem: RecourseProblem, person: Floats) -> Infeasibility:
        """Which limit would have to go; where none is found to help, all that keep every feature where it is."""
        return self.reasons(problem, person)[0]

    def reasons(self, problem: RecourseProblem, people: Floats) -> list[Infeasibility]:
        """Which limits would have to go, for many people at once. An action that is found proves that it exists."""
        quick = replace(self, budget=min(self.budget, BUDGET_EACH))
        found = why_infeasible(problem, people, quick)
        alone = (Blocking.EACH, Blocking.TOGETHER)
        return [
            told if told.blocking in alone else _held(problem, people[row : row + 1]) for row, told in enumerate(found)
        ]


def _held(problem: RecourseProblem, person: Floats) -> Infeasibility:
    """Every limit that keeps an actionable feature where it is."""
    held = []
    for k in problem.acts:
        column, facts = problem.encoding.columns[k], person[:, k]
        if column.is_category:
            held.append(Obstacle(column.name, LimitKind.LEVEL))
            continue
        is_whole = column.kind != "continuous"
        rooms = [(limit, float(room_to(limit, facts)[0])) for limit in problem.limits(k)]
        stops = [limit for limit, room in rooms if (room < 1 if is_whole else room <= 0)]
        held += [obstacle_of(problem, k, limit, float(facts[0]), 0.0) for limit in stops]
    return Infeasibility(tuple(held), Blocking.HELD)
