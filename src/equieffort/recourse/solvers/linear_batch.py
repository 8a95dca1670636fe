"""People before a linear score: what each lacks, how wide a tie is, and how far to step over the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import FINEST, FIRST_STEP, ROUNDING, TIED, UNSEEN
from equieffort.models.classifiers import LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.stepping import ATTEMPTS


@dataclass(frozen=True, eq=False)
class LinearBatch:
    """What is the same for every intervention set."""

    matrix: Floats
    facts: Floats
    low: Floats
    high: Floats
    need: Floats
    """At which score, less what rounding may add to it, no label can turn."""
    tolerance: Floats
    """The width of a tie."""
    step: Floats
    """The first step over the boundary."""
    attempt: int
    closed: bool
    """Whether the boundary itself is favourable and can be trusted to the last bit."""
    noise: Floats | float = 0.0
    """How far the model's own score may be off, where it does not compute with doubles."""
    solved: Floats = field(default_factory=lambda: np.empty(0))
    """The least bound over sets with an action, kept while sets are tried; infinite without one."""

    @classmethod
    def of(cls, problem: RecourseProblem[LinearView], matrix: Floats, attempt: int) -> LinearBatch:
        """Facts, limits, and how much score each person lacks."""
        facts, view = matrix[:, list(problem.numeric)], problem.view
        low, high = problem.action_box(matrix)
        closed = view.rowwise and (view.closed or problem.margin > 0)
        size = view.magnitude(matrix)
        # A score summed from zeros has no size of its own: a unit of the weightiest feature gives one.
        weightiest = np.abs(view.weights * problem.spreads).max(initial=0.0)
        size = np.where(size > 0, size, weightiest)
        step = np.minimum(FIRST_STEP * size, np.maximum(UNSEEN * weightiest, FINEST * size))
        step = np.where(step > 0, step, 1.0)
        tied = np.minimum(TIED * size, np.maximum(UNSEEN * weightiest, ROUNDING * size))
        need = problem.margin - view.score(matrix)
        # Who lacks more moves further, and what has moved is rounded relative to where it is.
        noise = view.single * (size + np.maximum(need, 0.0))
        need -= noise
        return cls(matrix, facts, low, high, need, tied, step, attempt, closed, noise, np.full(len(matrix), np.inf))

    def slack(self, any_whole: bool) -> Floats:
        """How far past the need to go. Whole numbers are first tried at the need itself, rounding forgiven.

        Twice the noise: the need lies as far below the boundary as the action must lie beyond it. A label within it may
        depend on who else is asked about.
        """
        if any_whole and self.attempt == 0:
            return -self.tolerance
        if self.closed and self.attempt == 0:
            return 2.0 * self.noise + np.zeros_like(self.step)
        # A fine first step grows faster, so that the last attempt goes as far.
        turn = self.attempt - (any_whole or self.closed)
        return 2.0 * self.noise + self.step * (self.tolerance / self.step) ** (turn / ATTEMPTS) * 2.0**turn
