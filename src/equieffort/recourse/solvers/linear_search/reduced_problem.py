"""A linear problem reduced to its actions: how a move carries to the next action, the score and what has a range."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import CANCELLED, NEXT_TO_NOTHING
from equieffort.models.classifiers import LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.interventions import MOST_INTERVENTION_SETS, Misfit, effects_of, followers
from equieffort.recourse.solvers.rule_table import RuleTable
from equieffort.recourse.status import Refusal, Unfit, Why
from equieffort.world.scm import Linear

if TYPE_CHECKING:
    from equieffort.recourse.solvers.linear_search.arrays import CompiledProblem


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """What is the same for everybody; actions are numeric actionable features, in causal order."""

    problem: RecourseProblem[LinearView]
    order: npt.NDArray[np.intp]
    """By action, its place in `problem.numeric`."""
    carries: Floats
    """(action, action): the move of the second, where it follows, a unit of the first, on ways that meet no other."""
    tracks: Floats
    """(track, action): the score, then what has a range or a rule, a unit of each action's move."""
    pushed: list[Floats]
    """By category, (level, action): the move of each action by a level, up to a constant."""
    shifted: list[Floats]
    """By category, (level, track)."""
    columns: tuple[int, ...]
    """The column behind each track but the first; behind the columns are the weighted sums of rules."""
    ranged: int
    """How many tracks after the first have ranges of their own; the others are those of rules."""
    rules: RuleTable
    frozen: Bools
    """(column): whether it must not move, since no equation says what would follow."""

    @classmethod
    def of(cls, problem: RecourseProblem[LinearView]) -> ReducedProblem:
        """Raises `Misfit` where an action reaches an equation that is not."""
        scm, names = problem.scm, problem.names
        order = np.argsort(problem.numeric, kind="stable")
        acts = [problem.numeric[j] for j in order]
        follows = followers(problem)
        for c, node in ((k, names[k]) for k in problem.categorical):
            if follows[problem.acts.index(c)] and scm.mechanisms_[node] is not None:
                raise Misfit.set_and_follows(node)
        effect, shifts, frozen = effects_of(problem, (True,) * len(acts))
        effect = effect[:, order]
        carries = np.zeros((len(acts), len(acts)))
        pushed = [np.zeros((shifts[c].shape[1], len(acts))) for c in problem.categorical]
        for q, k in enumerate(acts):
            if not follows[order[q]]:
                continue
            node = names[k]
            parents = [problem.encoding.position(parent) for parent in scm.graph.parents(node)]
            moving = effect[parents].any() or any(
                p == c or np.ptp(shift[p]) > 0 for p in parents for c, shift in shifts.items()
            )
            if not moving:
                continue
            mechanism = scm.mechanisms_[node]
            if not isinstance(mechanism, Linear):
                raise Misfit.bent(node)
            weights, tables = mechanism.arrays(node, scm.causes(node))
            carries[:, q] = _summed(weights, effect[parents])
            for b, c in enumerate(problem.categorical):
                pushed[b][:, q] = weights @ shifts[c][parents]
                if c in parents:
                    pushed[b][:, q] += tables[parents.index(c)]
        view, ranged, rules = problem.view, _ranged(problem, effect, shifts, frozen, follows), RuleTable.of(problem)
        columns = (*ranged, *sorted({int(k) for k in rules.track} - set(ranged)))
        shifted = []
        for c in problem.categorical:
            score = view.weights @ shifts[c] + view.tables.get(c, np.zeros(shifts[c].shape[1]))
            moved = rules.extended(shifts[c])
            # A rule sees the level itself.
            moved[c] = np.arange(moved.shape[1])
            shifted.append(np.vstack([score[None], moved[list(columns)]]).T)
        held = np.zeros(len(names), dtype=bool)
        held[list(frozen)] = True
        tracks = np.vstack([(view.weights @ effect)[None], rules.extended(effect)[list(columns)]])
        return cls(problem, order, carries, tracks, pushed, shifted, columns, len(ranged), rules, held)

    def compiled(self) -> CompiledProblem:
        """As arrays for the kernels."""
        from equieffort.recourse.solvers.linear_search.arrays import CompiledProblem

        problem, k = self.problem, len(self.order)
        start, child = [0], []
        for j in range(k):
            child += np.flatnonzero(self.carries[j]).tolist()
            start.append(len(child))
        parent = np.repeat(np.arange(k), np.diff(start))
        counts = [len(table) for table in self.pushed]
        levels = self._roots(counts)
        pushed = np.zeros((len(counts), max(counts, default=1), k))
        shifted = np.zeros((len(counts), max(counts, default=1), len(self.tracks)))
        for c, count in enumerate(counts):
            pushed[c, :count], shifted[c, :count] = self.pushed[c], self.shifted[c]
        is_moved = self.carries.any(axis=0)
        for table in self.pushed:
            is_moved = is_moved | (np.ptp(table, axis=0) > 0)
        whole = problem.is_integer[self.order]
        return CompiledProblem(
            np.array(start, dtype=np.int64), np.array(child, dtype=np.int64), self.carries[parent, child].copy(),
            np.ascontiguousarray(self.tracks), is_moved, whole.copy(), levels, pushed, shifted,
            1.0 / np.maximum((self.tracks**2).sum(axis=1), NEXT_TO_NOTHING), self.rules.clause_start.astype(np.int64),
            np.array([1 + self.columns.index(int(k)) for k in self.rules.track], dtype=np.int64),
        )  # fmt: skip

    def _roots(self, counts: list[int]) -> npt.NDArray[np.int64]:
        """(root, category): every way to set levels, that of setting none first."""
        total = prod(count + 1 for count in counts)
        if total > MOST_INTERVENTION_SETS:
            most = MOST_INTERVENTION_SETS
            raise Misfit(Refusal(Unfit.ACTIONS, Why.MANY_LEVELS, count=total, among=len(counts), most=most))
        roots = np.array(list(product(*(range(-1, count) for count in counts))), dtype=np.int64)
        return roots.reshape(total, len(counts))


def _summed(weights: Floats, effects: Floats) -> Floats:
    """The weighted sum of effects; parts that cancel but for rounding carry nothing."""
    total, size = weights @ effects, np.abs(weights) @ np.abs(effects)
    return np.where(np.abs(total) > CANCELLED * size, total, 0.0)


def _ranged(
    problem: RecourseProblem, effect: Floats, shifts: dict[int, Floats], frozen: dict[int, str], follows: Bools
) -> tuple[int, ...]:
    """The columns that actions move and that must stay in a range, or must not move at all."""
    found = []
    stays = {k for k, may_follow in zip(problem.acts, follows, strict=True) if not may_follow}
    for k in range(len(problem.names)):
        if k in problem.categorical:
            continue
        moves = effect[k].any() or any(np.ptp(shift[k]) > 0 for shift in shifts.values())
        feature = problem.feature(k)
        limited = feature.role == "immutable" or feature.plausible is not None
        if moves and ((limited and k not in stays) or k in frozen):
            found.append(k)
    return tuple(found)
