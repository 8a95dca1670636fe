"""ReLU networks as an oracle of the search: their arrays over the changes that are set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers import NetworkView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.branch_and_bound.compiled_problem import SearchArrays, plain

if TYPE_CHECKING:
    from equieffort.foundations.jit import Linked

GROWTH, LAST_BUDGET, FAR_BUDGET = 1.5, 3e7, 100.0
MANY = 9
"""From so many actions on a box may be split by the sign of what enters a ReLU."""
INTERPRETED = 0.15, 2e-5
"""Seconds about that a person takes, and more for each weight of the network, where the search is interpreted."""


@dataclass(frozen=True, eq=False)
class NetworkOracle:
    """A network over the changes of a problem's actions; causal effects are part of its first layer."""

    view: NetworkView
    arrays: SearchArrays
    net: Any
    relative_error: float
    budgets = GROWTH, LAST_BUDGET, 0, FAR_BUDGET

    @property
    def planes(self) -> int:
        """How many planes there may be above the margins over a box."""
        from equieffort.recourse.solvers.branch_and_bound.networks.oracle_kernels import MOST_SIGNS, TURNS

        return MOST_SIGNS + TURNS * len(self.net.need)

    @classmethod
    def of(cls, problem: RecourseProblem, view: NetworkView) -> NetworkOracle:
        """The arrays of a problem; raises `Misfit` if an action reaches a bent equation."""
        from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import Net

        arrays = SearchArrays.of(problem, view.goals, [])
        weights, effects = view.layers[0].weights, arrays.compiled.effect[:, : len(problem.names)]
        widths = np.array([len(layer.bias) for layer in view.layers], dtype=np.int64)
        wide, deep = int(widths.max()), len(view.layers) - 1
        rest, biases = np.zeros((deep, wide, wide)), np.zeros((deep, wide))
        for t, layer in enumerate(view.layers[1:]):
            rest[t, : layer.weights.shape[0], : layer.weights.shape[1]] = layer.weights
            biases[t, : len(layer.bias)] = layer.bias
        turned = np.ascontiguousarray(rest.transpose(0, 2, 1))
        shift = arrays.compiled.shift[:, :, : len(problem.names)]
        gain, size = weights @ shift, np.abs(weights) @ np.abs(shift)
        for b, c in enumerate(problem.categorical):
            table = view.tables.get(c)
            if table is not None:
                gain[:, b, :, : table.shape[1]] += table
                size[:, b, :, : table.shape[1]] += np.abs(table)
        nobody = np.zeros((0, len(weights)))
        net = Net(
            widths, plain(weights @ effects), plain(np.abs(weights) @ np.abs(effects)), rest, np.maximum(turned, 0.0),
            np.minimum(turned, 0.0), biases, plain(gain), plain(size), np.full(widths[-1], float(problem.margin)),
            float(view.relative_error), nobody, nobody, MANY,
        )  # fmt: skip
        return cls(view, arrays, net, float(view.relative_error))

    @property
    def interpreted(self) -> float:
        """Seconds about that a person takes where the search is interpreted."""
        return INTERPRETED[0] + INTERPRETED[1] * sum(layer.weights.size for layer in self.view.layers)

    def search(self) -> Linked:
        """The search with this oracle."""
        from equieffort.recourse.solvers.branch_and_bound.networks.oracle_kernels import search_networks

        return search_networks

    def tools(self, arrays: Any, people: Any) -> tuple[Any, Any]:
        """Room to work in, and for what is remembered of a node."""
        from equieffort.recourse.solvers.branch_and_bound.networks.oracle_kernels import make_tools

        return make_tools(arrays, self.arrays.compiled, people)

    def of_people(self, matrix: Floats) -> tuple[Any, Any]:
        """The oracle, with the first layer of the facts, and people as arrays."""
        first = self.view.layers[0]
        base = matrix @ first.weights.T + first.bias
        size = np.abs(matrix) @ np.abs(first.weights.T) + np.abs(first.bias)
        for k, table in self.view.tables.items():
            levels = matrix[:, k].astype(np.intp)
            base += table.T[levels]
            size += np.abs(table.T[levels])
        return self.net._replace(base=plain(base), base_size=plain(size)), self.arrays.people(matrix)
