"""What a solver is: it proposes actions for encoded people, and says what it has proven."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.arguments import check_number
from equieffort.models.classifiers import View
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.status import Infeasibility, Termination

FOUND, TIE, NONE, LIMIT = 1, 2, 3, 4
"""Codes of a proposal: an action; an action whose best score is the threshold up to rounding, so that only the
model's own label can decide; proof that there is none; given up."""

ATTEMPTS = 21
"""How often an action whose label stays is tried again with a larger step over the boundary: for a linear score from
1e-12 of the numbers it sums, or less, to 1e-6."""


@dataclass(eq=False)
class Proposal:
    """For each person what the solver proposes; rows are filled in place."""

    code: npt.NDArray[np.int8]
    cost: Floats
    bound: Floats
    intervention_mask: npt.NDArray[np.int64]
    """The set of intervened features: bit b stands for problem.acts[b]."""
    delta: Floats
    """Change of each numeric actionable feature that is set."""
    level: npt.NDArray[np.int16]
    """Level that each actionable category is set to; -1 where it is left."""
    notes: dict[int, Termination] = field(default_factory=dict)
    """By row: why the solver stopped before it was done; costs and bounds in it are in the users' own unit."""
    rounding: Floats | None = None
    """What of cost - bound is owed to a model that computes with floats coarser than doubles."""
    vanishing: Bools = None  # type: ignore[assignment]
    """Proven: actions cost as little as one likes, so that only the step over an open boundary is paid."""

    def __post_init__(self) -> None:
        if self.vanishing is None:
            self.vanishing = np.zeros(len(self.code), dtype=bool)

    @classmethod
    def empty(cls, problem: RecourseProblem, n: int) -> Proposal:
        """Nobody has anything yet: proven to have none, until an intervention set finds something."""
        return cls(
            np.full(n, NONE, dtype=np.int8),
            np.full(n, np.inf),
            np.full(n, np.inf),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, len(problem.numeric))),
            np.full((n, len(problem.categorical)), -1, dtype=np.int16),
        )

    def state_vanishing(self, problem: RecourseProblem, matrix: Floats) -> None:
        """State whose effort vanishes: an action is found, and the person stands on the boundary itself."""
        if isinstance(problem.view, View):
            margins = problem.view.margins(matrix)
            on_it = [(margins[:, list(members)] >= problem.margin).all(axis=1) for members in problem.view.goals.sets]
            self.vanishing[:] = (self.code == FOUND) & (self.bound <= 0) & np.any(on_it, axis=0)


def check_gap(gap: Any, takes: str, fits: Callable[[Any], bool], fix: str) -> None:
    """Refuse a gap that is no number or does not fit."""
    check_number("gap", gap, takes, fits, fix=fix)


def check_seconds(limit: Any, *, optional: bool) -> None:
    """Refuse a limit of time that is none."""
    or_none = ", or None for no limit" if optional else ""
    check_number(
        "time_limit", limit, f"a number of seconds above 0{or_none}", lambda seconds: seconds > 0,
        optional=optional, finite=False,
    )  # fmt: skip


def check_count(name: str, count: Any, *, optional: bool = False) -> None:
    """Refuse a limit of work that is no whole number."""
    or_none = ", or None for no limit" if optional else ""
    check_number(
        name, count, f"a whole number, 1 or more{or_none}", lambda whole: whole >= 1, whole=True, optional=optional
    )


class Solver(ABC):
    """Proposes the cheapest action for each person; `solve` replays it before it is believed."""

    gap: float
    """How far above the bound a cost may lie, as a share of it, and still be called optimal."""
    certifies = True
    """Whether it can prove anything of what it proposes."""

    @abstractmethod
    def supports(self, problem: RecourseProblem) -> str:
        """Empty if the solver can be used, otherwise the reason why not."""

    @abstractmethod
    def propose(
        self, problem: RecourseProblem, matrix: Floats, *, attempt: int = 0, only: int | None = None
    ) -> Proposal:
        """Actions for encoded people. `solve` gives problem and people in scaled units (`RecourseProblem.scaled`) and
        takes the answer in these; `action_box`, `limits`, `plausible`, `rules`, `cost`, `scm` and `view` of the problem
        are in them too, what the schema says is in the users' own numbers. Each further attempt steps twice as far over
        the boundary; `only` restricts the search to one intervention set."""

    def intervention_sets(self, problem: RecourseProblem) -> int:
        """How many intervention sets `only` can name; 0 for a solver that never proposes a tie."""
        return 0

    def harder(self) -> Solver:
        """The same solver with limits that let it work longer; itself where it has none."""
        return self

    @abstractmethod
    def why_infeasible(self, problem: RecourseProblem, person: Floats) -> Infeasibility:
        """What stands in the way of one encoded person (a matrix of one row) who has no recourse: facts, in the users'
        own units (`RecourseProblem.own`); `Infeasibility()` where nothing is known of it."""

    def reasons(self, problem: RecourseProblem, people: Floats) -> list[Infeasibility]:
        """What stands in the way of each of many; a solver that can ask for all at once does."""
        return [self.why_infeasible(problem, people[row : row + 1]) for row in range(len(people))]
