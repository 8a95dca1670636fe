"""What a solver is: a value that is prepared for a problem, then proposes actions and says what it has proven.

Preparing makes what does not depend on people, once, and holds it; proposing asks about people. A solver may try its
actions while it works (`Batch.confirm`): they are replayed apart from it, and only what holds is believed in the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.arguments import check_number
from equieffort.foundations.tolerances import SMALL_STEP, STEPS, is_closed, tolerance
from equieffort.models.classifiers import View
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.status import Infeasibility, Refusal, Termination

FOUND, TIE, NONE, LIMIT = 1, 2, 3, 4
"""Codes of a proposal: an action; one whose best score is the threshold up to rounding, so that only the model's own
label can decide, which a solver asks for before it proposes anything; proof that there is none; given up."""
HOLDS, LABEL_STAYS, WRONG = 0, 1, 2
"""What becomes of an action that is tried: it holds; it is right in all but the model's own label, so that a larger
step may do; it is not allowed, or costs something else."""

KINDS = {"f": "floating-point numbers", "iu": "whole numbers", "b": "truth values"}
"""What the kinds of numpy's types are called."""

Rows = npt.NDArray[np.intp]


@dataclass(eq=False)
class Proposal:
    """For each person what the solver proposes; rows are filled in place."""

    code: npt.NDArray[np.int8]
    cost: Floats
    bound: Floats
    intervention_mask: Bools
    """(person, actionable feature): which of problem.acts are set."""
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
        """Nobody has anything yet: proven to have none, until something is found."""
        return cls(
            np.full(n, NONE, dtype=np.int8),
            np.full(n, np.inf),
            np.full(n, np.inf),
            np.zeros((n, len(problem.acts)), dtype=bool),
            np.zeros((n, len(problem.numeric))),
            np.full((n, len(problem.categorical)), -1, dtype=np.int16),
        )

    def take(self, rows: Any) -> Proposal:
        """The actions of some of the people."""
        return Proposal(
            self.code[rows], self.cost[rows], self.bound[rows], self.intervention_mask[rows], self.delta[rows],
            self.level[rows], vanishing=self.vanishing[rows],
        )  # fmt: skip

    def seen(self, rows: npt.NDArray[np.intp]) -> Proposal:
        """The actions of different people in their order, for who only reads: of everybody nothing is copied."""
        return self if len(rows) == len(self.code) else self.take(rows)

    def put(self, rows: Any, actions: Proposal) -> None:
        """Other actions for some of the people; codes and bounds stay."""
        self.cost[rows], self.intervention_mask[rows] = actions.cost, actions.intervention_mask
        self.delta[rows], self.level[rows] = actions.delta, actions.level
        self.vanishing[rows] = actions.vanishing

    def state_vanishing(self, problem: RecourseProblem, matrix: Floats) -> None:
        """State whose effort vanishes: the person stands on the boundary itself, and the action that was found is no
        more than the step over it. A bound of 0 alone may mean that nothing is proven."""
        if isinstance(problem.view, View):
            margins = problem.view.margins(matrix)
            on_it = [(margins[:, list(members)] >= problem.margin).all(axis=1) for members in problem.view.goals.sets]
            numeric = list(problem.numeric)
            facts, spreads = matrix[:, numeric], problem.spreads[numeric]
            most = spreads * np.maximum(SMALL_STEP, STEPS * tolerance(facts / spreads))
            is_step = (np.abs(self.delta) <= most).all(axis=1) & (self.level < 0).all(axis=1)
            self.vanishing[:] = (self.code == FOUND) & (self.bound <= 0) & np.any(on_it, axis=0) & is_step


def array_kinds(problem: RecourseProblem, n: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """For each array of a proposal for n people the kind of its type and its shape."""
    return {
        "code": ("iu", (n,)),
        "cost": ("f", (n,)),
        "bound": ("f", (n,)),
        "intervention_mask": ("b", (n, len(problem.acts))),
        "delta": ("f", (n, len(problem.numeric))),
        "level": ("iu", (n, len(problem.categorical))),
        "vanishing": ("b", (n,)),
    }


def unreadable(problem: RecourseProblem, n: int, proposal: Proposal) -> str:
    """Which array of a proposal for n people is not what it must be, and how; empty where all are."""
    for name, (kind, shape) in array_kinds(problem, n).items():
        array: Any = getattr(proposal, name)
        if not isinstance(array, np.ndarray):
            return f"`{name}` is a {type(array).__name__}, not an array"
        if array.shape != shape:
            return f"`{name}` has shape {array.shape}, not {shape}"
        if array.dtype.kind not in kind:
            return f"`{name}` holds {array.dtype}, not {KINDS[kind]}"
    return ""


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


class Batch:
    """People who are solved together, in scaled units; `solve` gives one that can try actions.

    This one believes everything, as is enough to ask whether there may be an action at all.
    """

    def __init__(self, people: Floats) -> None:
        self.people = people

    def confirm(self, rows: Rows, trial: Proposal) -> npt.NDArray[np.int8]:
        """What becomes of the trial's actions, one for each of these people: HOLDS, LABEL_STAYS or WRONG.

        What holds is put into the trial as the caller's table can hold it.
        """
        return np.full(len(rows), HOLDS, dtype=np.int8)

    def check(self, n: int, proposal: Proposal) -> None:
        """Refuse what cannot be read as a proposal for n of these people."""

    def part(self, rows: Rows, problem: RecourseProblem) -> Batch:
        """Some of these people, and another problem by which what is proposed for them is judged."""
        return Batch(self.people[rows])

    def is_proven(self, rows: Rows, proposal: Proposal, gap: float) -> Bools:
        """Whose cost is no further above its bound than the gap, or rounding, allows."""
        return is_closed(proposal.cost[rows], proposal.bound[rows], gap) | proposal.vanishing[rows]


class Solver(ABC):
    """A way to find the cheapest action of each person: a value, which knows no problem."""

    gap: float
    """How far above the bound a cost may lie, as a share of it, and still be called optimal."""
    certifies = True
    """Whether it can prove anything of what it proposes."""

    @abstractmethod
    def prepare(self, problem: RecourseProblem) -> PreparedSolver | Refusal:
        """The solver with what it needs of a problem, or why it does not fit.

        `solve` gives the problem in scaled units (`RecourseProblem.scaled`): `action_box`, `limits`, `plausible`,
        `rules`, `cost`, `scm` and `view` are in them, what the schema says is in the users' own numbers. A solver need
        not know of `max_actions`: `solve` asks it about problems in which some features are held (`problem.held`).
        """

    def harder(self) -> Solver:
        """The same solver with limits that let it work longer; itself where it has none."""
        return self


class PreparedSolver(ABC):
    """A solver that holds what it needs of one problem."""

    subproblems = 0
    """How many small problems it solves for each person; 0 where that is not known beforehand."""

    @abstractmethod
    def propose(self, batch: Batch) -> Proposal:
        """An action for each of the people, in the problem's units, and what is proven of it."""

    @abstractmethod
    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """What stands in the way of each of these encoded people, who have no recourse: facts, in the users' own units
        (`RecourseProblem.own`); `Infeasibility()` where nothing is known of it."""
