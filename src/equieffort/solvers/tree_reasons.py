"""Why a person has no recourse when trees decide: what would have to be allowed so that there is one.

Each limit is left out in turn and the search repeated; those without which an action exists are named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equieffort.frames import Floats, number
from equieffort.problem import RecourseProblem, limits
from equieffort.solvers.tree_world import TreeWorld, tree_world

NODES = 2_000
"""How long each question may take."""


@dataclass(frozen=True)
class _Limit:
    """Something that could be left out: a side of what may be set, or a range of what follows."""

    words: str
    action: int = -1
    side: int = 0
    track: int = -1


def why_infeasible(problem: RecourseProblem, person: Floats) -> str:
    """A sentence that names the limits in the way."""
    world = tree_world(problem)
    found = _limits(problem, world, person)
    freed = _reachable(problem, world, person, [*([limit] for limit in found), found])
    names = [limit.words for limit, is_free in zip(found, freed[:-1], strict=True) if is_free]
    if names:
        return f"No allowed action leads to the favourable decision; there would be one without: {'; '.join(names)}."
    if freed[-1] and found:
        together = "; ".join(limit.words for limit in found)
        return f"No allowed action leads to the favourable decision; several limits stop it together: {together}."
    if problem.rules:
        return "No action leads to the favourable decision and keeps the rules between features."
    return "Nothing that the actionable features can become, within or beyond their limits, changes the decision."


def _limits(problem: RecourseProblem, world: TreeWorld, person: Floats) -> list[_Limit]:
    found = []
    for j, k in enumerate(problem.numeric):
        name, fact = problem.names[k], person[:, k]
        for side in (-1, 1):
            own = [limit for limit in limits(problem.feature(k)) if limit.side == side]
            if own:
                nearest = min(own, key=lambda limit: max(side * float((limit.at(fact) - fact)[0]), 0.0))
                found.append(_Limit(f"{name} ({nearest.text}; now {number(fact[0])})", action=j, side=side))
    fixed, limited = world.world.fixed.any(axis=0), world.world.limited.any(axis=0)
    for k in np.flatnonzero(fixed | limited).tolist():
        words = f"{problem.names[k]!r} must not move" if fixed[k] else f"the plausible range of {problem.names[k]!r}"
        found.append(_Limit(words, track=k))
    return found


def _reachable(problem: RecourseProblem, world: TreeWorld, person: Floats, without: list[list[_Limit]]) -> list[bool]:
    """Whether there is an action when some limits are left out: one question a row, all asked at once."""
    people = world.people(problem, np.repeat(person, len(without), axis=0))
    fixed = world.world.fixed.any(axis=0)
    # What must not move becomes a range that can be left out.
    loose = replace(
        world, world=world.world._replace(fixed=np.zeros_like(world.world.fixed), limited=world.world.limited | fixed)
    )
    people.range_low[:, fixed] = people.range_high[:, fixed] = people.x[:, fixed]
    for j, k in enumerate(problem.numeric):
        if fixed[k]:
            people.low[:, j] = people.high[:, j] = people.x[:, k]
    for row, left_out in enumerate(without):
        for limit in left_out:
            if limit.action >= 0:
                (people.low if limit.side < 0 else people.high)[row, limit.action] = limit.side * np.inf
            else:
                people.range_low[row, limit.track], people.range_high[row, limit.track] = -np.inf, np.inf
                if limit.track in problem.numeric:
                    j = problem.numeric.index(limit.track)
                    people.low[row, j], people.high[row, j] = (end[0, j] for end in problem.action_box(person))
    answer = loose.search(people, gap=1e-6, strict=1.0, asks=False, nodes=NODES, seconds=None)
    return [bool(root >= 0) for root in answer.root]
