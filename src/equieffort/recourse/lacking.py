"""People who lack a value: what a missing value does to the model is the same whatever they do, or it is not known.

An imputer puts a constant in its place, and an indicator says so, until the feature is set. Where no action sets or
moves the feature, and nothing that follows depends on it, such people have a problem of their own that is as exact as
that of the others: the model is read for everybody who lacks the same values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.errors import EquieffortError
from equieffort.models.classifiers import BlackBox
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import PreparedSolver, Solver
from equieffort.recourse.solvers.by_group import prepared_for
from equieffort.recourse.status import Ending, Refusal, Termination

Pattern = tuple[int, ...]
"""Positions of the columns whose value is missing."""


@dataclass(frozen=True, eq=False)
class PreparedLacking:
    """The problem of people who lack the same values, and a solver prepared for it."""

    problem: RecourseProblem
    """In scaled units."""
    prepared: PreparedSolver


@dataclass(frozen=True, eq=False)
class Lacking:
    """The problems of people who lack values, each made once."""

    problem: RecourseProblem
    """That of people who lack none."""
    solver: Solver
    is_open: bool = False
    """Whether everybody who lacks a value is left open: of a problem in scaled units no other can be made."""
    known: dict[tuple[Pattern, tuple[type, ...]], PreparedLacking | Termination] = field(default_factory=dict)

    def patterns(self, facts: Floats) -> dict[Pattern, list[int]]:
        """By what is missing: whose. People who lack nothing that plays a part are left out."""
        lacking = self.problem.lacking(facts)
        found: dict[Pattern, list[int]] = {}
        for row in np.flatnonzero(lacking.any(axis=1)).tolist():
            found.setdefault(tuple(lacking[row].nonzero()[0].tolist()), []).append(row)
        return found

    def of(self, pattern: Pattern, people: pd.DataFrame) -> PreparedLacking | Termination:
        """The problem of these people, who lack the same values; or why their recourse is not known."""
        names = [self.problem.names[k] for k in pattern]
        for name in names:
            # Two marks for what is missing may be two things to a model.
            if people[name].dtype == object and people[name].map(type).nunique() > 1:
                return Termination(Ending.MISSING_READ, subject=name)
        key = (pattern, tuple(type(people[name].iloc[0]) for name in names))
        if key not in self.known:
            self.known[key] = self._made(pattern, names, people)
        return self.known[key]

    def _made(self, pattern: Pattern, names: list[str], people: pd.DataFrame) -> PreparedLacking | Termination:
        problem = self.problem
        for k, name in zip(pattern, names, strict=True):
            if k not in problem.passive:
                acts = name in problem.schema.actionable
                return Termination(Ending.MISSING_ACTION if acts else Ending.MISSING_CAUSE, subject=name)
        seen = next((name for name in names if name in problem.decision.features), names[0])
        unread = Termination(Ending.MISSING_READ, subject=seen)
        if self.is_open or isinstance(problem.view, BlackBox):
            return unread
        try:
            own = problem.without(names, people)
        except EquieffortError:
            return unread
        if isinstance(own.view, BlackBox):
            return unread
        prepared = prepared_for(self.solver, own.scaled)
        return unread if isinstance(prepared, Refusal) else PreparedLacking(own.scaled, prepared)
