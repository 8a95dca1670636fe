"""Sums of trees as an oracle of the search: their arrays, and how much to look for first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers import TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.branch_and_bound.compiled_problem import SearchArrays, plain

if TYPE_CHECKING:
    from equieffort.foundations.jit import Linked

GROWTH, LAST_BUDGET, PATIENCE = 2.0, 512.0, 256
INTERPRETED = 0.01, 2e-5
"""Seconds about that a person takes, and more for each node of the trees, where the search is interpreted."""


@dataclass(frozen=True, eq=False)
class TreeOracle:
    """The trees of a classifier over the tracks of a problem."""

    view: TreeView
    arrays: SearchArrays
    forest: Any
    least: Floats
    """(track) the least threshold of the forest, infinite where there is none."""
    most: Floats
    budgets = GROWTH, LAST_BUDGET, PATIENCE, np.inf
    relative_error, planes = None, 0

    @classmethod
    def of(cls, problem: RecourseProblem, view: TreeView) -> TreeOracle:
        """The arrays of a problem; raises `Misfit` if an action reaches a bent equation."""
        from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import Forest

        forest = Forest(
            feature=plain(view.feature, np.int32),
            threshold=plain(view.threshold),
            subset=plain(view.subset, np.int32),
            left=plain(view.left, np.int32),
            right=plain(view.right, np.int32),
            roots=plain(view.roots, np.int32),
            values=plain(view.values),
            subsets=plain(view.subsets, np.bool_),
            base=plain(view.base),
            need=np.full(len(view.base), float(problem.margin)),
            rounding_error=plain(view.error),
            closed=plain(view.goals.closed | (problem.margin > 0), np.bool_),
        )
        arrays = SearchArrays.of(problem, view.goals, view.feature[view.feature >= 0])
        tracks = arrays.compiled.effect.shape[1]
        least, most = np.full(tracks, np.inf), np.full(tracks, -np.inf)
        splits = (view.feature >= 0) & (view.subset < 0)
        np.minimum.at(least, view.feature[splits], view.threshold[splits])
        np.maximum.at(most, view.feature[splits], view.threshold[splits])
        return cls(view, arrays, forest, least, most)

    @property
    def interpreted(self) -> float:
        """Seconds about that a person takes where the search is interpreted."""
        return INTERPRETED[0] + INTERPRETED[1] * len(self.forest.left)

    def search(self) -> Linked:
        """The search with this oracle."""
        from equieffort.recourse.solvers.branch_and_bound.trees.oracle_kernels import search_trees

        return search_trees

    def tools(self, arrays: Any, people: Any) -> tuple[Any, Any]:
        """Room to work in, and for what is remembered of a node."""
        from equieffort.recourse.solvers.branch_and_bound.trees.oracle_kernels import make_tools

        return make_tools(arrays, self.arrays.compiled, people)

    def of_people(self, matrix: Floats) -> tuple[Any, Any]:
        """The oracle and people as arrays.

        The first budget is a small part of what it takes to carry the cheapest action past all thresholds it can move
        a column over.
        """
        from equieffort.recourse.solvers.kernels.cost_curves import costs_at

        people = self.arrays.people(matrix)
        facts = matrix[:, list(self.arrays.problem.numeric)]
        strength = np.abs(self.arrays.compiled.effect).max(axis=0, initial=0.0)
        cheapest = np.full(len(matrix), np.inf)
        for j in range(facts.shape[1]):
            own, fact = np.zeros(len(matrix)), facts[:, j]
            for k in np.flatnonzero((strength[:, j] > 0) & np.isfinite(self.least)).tolist():
                for room, way, price in (
                    (people.high[:, j] - fact, np.maximum(self.most[k] - people.x[:, k], 0), people.up),
                    (fact - people.low[:, j], np.maximum(people.x[:, k] - self.least[k], 0), people.down),
                ):
                    reach = np.minimum(room, way / strength[k, j])
                    cost = price[:, j] * reach
                    if people.curves.bends:
                        goal = plain(fact + (reach if price is people.up else -reach))
                        costs_at(people.curves, j, goal, cost, work=2e-6 * len(goal))
                    own = np.where((own == 0) | ((cost > 0) & (cost < own)), cost, own)
            cheapest = np.where(own > 0, np.minimum(cheapest, own), cheapest)
        return self.forest, people._replace(budget=plain(cheapest / 16.0))
