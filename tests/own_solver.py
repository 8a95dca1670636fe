"""A solver as somebody else might write it, in one piece, for tests that break one of its promises."""

from __future__ import annotations

from equieffort.recourse.solvers import Batch, Infeasibility, PreparedSolver, Refusal, Solver, Unfit, step_over
from equieffort.words.choices import refusal_text


class OwnSolver(Solver):
    """Refuses with a sentence, tries people at a step over the boundary, and says why there is nothing."""

    gap: float = 1e-9

    def refuses(self, problem):
        return ""

    def attempt(self, problem, people, attempt):
        raise NotImplementedError

    def why(self, problem, person):
        return Infeasibility()

    def prepare(self, problem):
        if reason := self.refuses(problem):
            return Refusal(Unfit.MODEL, detail=reason)
        return OwnPrepared(self, problem)


class OwnPrepared(PreparedSolver):
    def __init__(self, solver, problem):
        self.solver, self.problem = solver, problem

    def propose(self, batch):
        return step_over(batch, lambda people, attempt: self.solver.attempt(self.problem, people, attempt))

    def infeasibility(self, people):
        return [self.solver.why(self.problem, people[row : row + 1]) for row in range(len(people))]


def refusal(solver, problem):
    """Why a solver does not fit a problem; empty where it does."""
    prepared = solver.prepare(problem)
    return refusal_text(prepared) if isinstance(prepared, Refusal) else ""


def proposed(solver, problem, people):
    """What a solver proposes where nothing is replayed."""
    return solver.prepare(problem).propose(Batch(people))
