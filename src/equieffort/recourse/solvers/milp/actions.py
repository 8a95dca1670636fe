"""From a point of a person's program to an action, tried with the equations and the model's own label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import MOVED
from equieffort.recourse.counterfactuals import action_costs, is_allowed, keeps_margin, propagate
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.milp.model import Model
from equieffort.world.scm import Linear


@dataclass(frozen=True, eq=False)
class Action:
    """An action that leads where it should, tried with the equations and the model's own label."""

    cost: float
    intervention_mask: Bools
    delta: Floats
    level: Floats


def act(model: Model, point: Floats) -> tuple[Action, Floats, bool]:
    """The action at a point, where it leads, and whether that is allowed."""
    problem, facts = model.problem, model.facts
    picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
    low, high = problem.action_box(facts)
    delta = np.zeros(len(problem.numeric))
    for j, k in enumerate(problem.numeric):
        if j in model.set_ and point[model.set_[j]] < 0.5:
            continue
        picked[0, k] = True
        delta[j] = model.amounts[j].at(point)
        if problem.is_integer[j]:
            delta[j] = np.rint(delta[j])
        else:
            delta[j] = _stepped(model, k, float(delta[j]), point)
        values[0, k] = np.clip(facts[0, k] + delta[j], low[0, j], high[0, j])
    level = np.full(len(problem.categorical), -1.0)
    for b, c in enumerate(problem.categorical):
        target = int(np.argmax([point[switch] for switch in model.levels[c]]))
        if target != int(facts[0, c]):
            picked[0, c], values[0, c], level[b] = True, target, target
    moved, unknown = propagate(problem, facts, picked, values)
    cost = float(action_costs(problem, facts, picked, values).sum())
    holds = bool(is_allowed(problem, facts, moved, unknown)[0]) and _keeps(problem, facts, picked, values)
    return Action(cost, picked[0, list(problem.acts)], delta, level), moved, holds


def _stepped(model: Model, k: int, change: float, point: Floats) -> float:
    """A change after which the value lies on the side of every threshold that the point chose.

    What counts is fact + change as doubles add them, so the change itself is stepped.
    """
    fact = model.fact(k)
    for column, threshold, switch in model.branching_bounds:
        if column == k and (fact + change <= threshold) != (point[switch] > 0.5):
            change = _beside(fact, threshold, below=point[switch] > 0.5)
    return change


def _beside(fact: float, threshold: float, *, below: bool) -> float:
    """The change that leads to a threshold, or just past it, as doubles add it to the fact."""
    change, step = threshold - fact, float(np.spacing(abs(threshold)))
    while (fact + change <= threshold) != below:
        change = threshold - fact + (-step if below else step)
        step *= 2.0
    return change


def _keeps(problem: RecourseProblem, facts: Floats, picked: Bools, values: Floats) -> bool:
    """Whether columns stay, or stay in their range, on paper: not only up to what a replay forgives."""
    scm, nodes = problem.scm, problem.scm.graph.nodes
    change, size = np.where(picked, values - facts, 0.0)[0], np.where(picked, np.abs(values - facts), 0.0)[0]
    for k, node in enumerate(nodes):
        mechanism = scm.mechanisms_.get(node)
        causes = [problem.encoding.position(parent) for parent in scm.graph.parents(node)]
        if isinstance(mechanism, Linear) and not picked[0, k]:
            weights, tables = mechanism.arrays(node, scm.causes(node))
            for position, p in enumerate(causes):
                if position in tables:
                    before, after = (tables[position][int(x[0, p])] for x in (facts, values))
                    change[k], size[k] = change[k] + after - before, size[k] + abs(after - before)
                else:
                    change[k] += weights[position] * change[p]
                    size[k] += abs(weights[position]) * size[p]
        elif causes and mechanism is None and any(abs(change[p]) > MOVED * size[p] for p in causes):
            return False
    for k in problem.ranged:
        if size[k] > 0:
            low, high = (float(end[0]) - facts[0, k] for end in problem.plausible(facts, k))
            ends = [abs(end) for end in (low, high) if np.isfinite(end)]
            tolerance = MOVED * (size[k] + (max(ends, default=0.0) + abs(facts[0, k]) * 1e-4 if low < high else 0.0))
            if not low - tolerance <= change[k] <= high + tolerance:
                return False
    return True


def flips(problem: RecourseProblem[ReadableView], moved: Floats) -> bool:
    """The model's own label, which is asked for where rounding may decide, and the distance that is wanted."""
    if problem.view.is_clear(moved)[0]:
        answer = problem.view.is_favourable(moved)
    else:
        answer = problem.decision.is_favourable(problem.encoding.decode(moved, None))
    return bool((answer & keeps_margin(problem, moved))[0])
