"""Intervention sets: which actionable features are set, which are left to follow, and what that does in a linear world.

Setting a feature to its factual value holds it, so only a feature with an actionable cause upstream can also be left.
For each intervention set the change of every column is linear in the changes that are set, the same for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import CANCELLED
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.status import Refusal, Unfit, Why
from equieffort.world.scm import Linear

MOST_INTERVENTION_SETS = 4096


class Misfit(Exception):
    """Why a solver does not fit a problem, where that shows only while its arrays are made."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal

    @classmethod
    def bent(cls, node: str) -> Misfit:
        """An action can move an equation that is not linear."""
        return cls(Refusal(Unfit.EQUATIONS, Why.BENT, node))

    @classmethod
    def set_and_follows(cls, node: str) -> Misfit:
        """A category may be set, and an action may move it by its equation."""
        return cls(Refusal(Unfit.EQUATIONS, Why.SET_AND_FOLLOWS, node))

    @classmethod
    def many_ways(cls, count: int, problem: RecourseProblem) -> Misfit:
        """There are more ways to set or leave what can be set than are tried."""
        return cls(
            Refusal(Unfit.ACTIONS, Why.MANY_WAYS, count=count, among=len(problem.acts), most=MOST_INTERVENTION_SETS)
        )


@dataclass(frozen=True, eq=False)
class Row:
    """A column that moves by propagation and must stay in a range, or must not move at all."""

    position: int
    fixed: bool
    """Must not change."""
    guards: str
    """The category without an equation that would follow it, if that is why it must not change."""
    effect: Floats
    """Its change a unit of each numeric action."""
    shifts: dict[int, Floats]
    """By actionable category: its change at each level, up to a constant."""

    @property
    def movers(self) -> list[int]:
        """Which numeric actions move it."""
        return np.flatnonzero(self.effect).tolist()


@dataclass(frozen=True, eq=False)
class InterventionSet:
    """The numeric features that are set, the levels chosen, and what that does to every column."""

    is_set: tuple[bool, ...]
    """By numeric action."""
    levels: tuple[int, ...]
    """Target level of each actionable category; -1 keeps it."""
    effect: Floats
    """(column, numeric action): change of each column a unit of each action."""
    shifts: dict[int, Floats]
    """By actionable category: (column, level), each column's change at each level, up to a constant."""
    rows: tuple[Row, ...]

    @cached_property
    def intervention_mask(self) -> Bools:
        """(actionable feature): which are set when their category, if any, changes."""
        return np.array([*self.is_set, *(level >= 0 for level in self.levels)], dtype=bool)


def followers(problem: RecourseProblem) -> Bools:
    """(actionable feature): whether another action can move it, so that holding it is not the same as leaving it."""
    graph, names = problem.scm.graph, [problem.names[k] for k in problem.acts]
    acting = {name for name in names if name in graph.nodes}
    return np.array([name in acting and bool(acting & set(graph.ancestors(name))) for name in names], dtype=bool)


def count_sets(problem: RecourseProblem) -> int:
    """How many ways there are to combine interventions: set or left to follow, and the levels of categories."""
    left = 2 ** int(followers(problem)[: len(problem.numeric)].sum())
    return left * prod(len(problem.encoding.columns[c].levels) + 1 for c in problem.categorical)


def shares_ranges(problem: RecourseProblem) -> bool:
    """Whether several numeric actions may move one column that must stay in a range, or must not move."""
    graph = problem.scm.graph
    acts = [name for k in problem.numeric if (name := problem.names[k]) in graph.nodes]
    return any(
        sum(act != name and act in graph.ancestors(name) for act in acts) > 1
        for k in problem.ranged
        if (name := problem.names[k]) in graph.nodes and k not in problem.categorical
    )


def intervention_sets_of(problem: RecourseProblem) -> list[InterventionSet]:
    """All sets of interventions in a linear world; raises `Misfit` where an equation below an action is not linear, or
    there are too many."""
    follows, numbers = followers(problem), len(problem.numeric)
    for k, node in ((k, problem.names[k]) for k in problem.categorical):
        if follows[problem.acts.index(k)] and problem.scm.mechanisms_[node] is not None:
            raise Misfit.set_and_follows(node)
    free = np.flatnonzero(follows[:numbers]).tolist()
    level_counts = [len(problem.encoding.columns[k].levels) for k in problem.categorical]
    total = count_sets(problem)
    if total > MOST_INTERVENTION_SETS:
        raise Misfit.many_ways(total, problem)
    intervention_sets = []
    for left in product((False, True), repeat=len(free)):
        unset = {j for j, is_left in zip(free, left, strict=True) if is_left}
        is_set = tuple(j not in unset for j in range(len(problem.numeric)))
        effect, shifts, frozen = effects_of(problem, is_set)
        for levels in product(*(range(-1, count) for count in level_counts)):
            intervention_sets.append(_intervention_set(problem, is_set, levels, effect, shifts, frozen))
    return intervention_sets


def effects_of(problem: RecourseProblem, is_set: tuple[bool, ...]) -> tuple[Floats, dict[int, Floats], dict[int, str]]:
    """Change of every column a unit of each action, and at each level of each category; columns kept still."""
    scm, count = problem.scm, len(problem.numeric)
    effect = np.zeros((len(problem.names), count))
    shifts = {k: np.zeros((len(problem.names), len(problem.encoding.columns[k].levels))) for k in problem.categorical}
    frozen: dict[int, str] = {}
    size = np.zeros_like(effect)
    for j, k in enumerate(problem.numeric):
        if is_set[j]:
            effect[k, j] = size[k, j] = 1.0
    settled = {k for j, k in enumerate(problem.numeric) if is_set[j]} | set(problem.categorical)
    for k, node in enumerate(scm.graph.nodes):
        parents = [problem.encoding.position(parent) for parent in scm.graph.parents(node)]
        moving = [p for p in parents if effect[p].any() or any(p == c or np.ptp(s[p]) for c, s in shifts.items())]
        if k in settled or not moving:
            continue
        mechanism = scm.mechanisms_[node]
        if mechanism is None:
            frozen |= dict.fromkeys(moving, node)
            continue
        if not isinstance(mechanism, Linear):
            raise Misfit.bent(node)
        weights, tables = mechanism.arrays(node, scm.causes(node))
        effect[k], size[k] = weights @ effect[parents], np.abs(weights) @ size[parents]
        # Paths that cancel but for rounding do not move it, however far an action goes.
        effect[k, np.abs(effect[k]) <= CANCELLED * size[k]] = 0.0
        for c, shift in shifts.items():
            shift[k] = weights @ shift[parents]
            if c in parents:
                shift[k] += tables[parents.index(c)]
    return effect, shifts, frozen


def _intervention_set(
    problem: RecourseProblem,
    is_set: tuple[bool, ...],
    levels: tuple[int, ...],
    effect: Floats,
    shifts: dict[int, Floats],
    frozen: dict[int, str],
) -> InterventionSet:
    settled = {k for j, k in enumerate(problem.numeric) if is_set[j]}
    rows = []
    for k in range(len(problem.names)):
        if k in problem.categorical:
            continue
        moves = effect[k].any() or any(np.ptp(shift[k]) > 0 for shift in shifts.values())
        feature = problem.feature(k)
        limited = feature.role == "immutable" or (feature.plausible is not None and k not in settled)
        if moves and (limited or k in frozen):
            fixed = k in frozen or feature.role == "immutable"
            rows.append(Row(k, fixed, frozen.get(k, ""), effect[k], {c: shift[k] for c, shift in shifts.items()}))
    changed = {c for c, level in zip(problem.categorical, levels, strict=True) if level >= 0}
    for c in sorted(changed & frozen.keys()):
        # A category without an equation hangs on this one, so it must keep its level: no level is the fact's own.
        rows.append(
            Row(c, True, frozen[c], np.zeros(len(problem.numeric)), {c: np.arange(len(shifts[c][0]), dtype=np.float64)})
        )
    return InterventionSet(is_set, levels, effect, shifts, tuple(rows))
