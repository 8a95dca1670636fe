"""Why people have no recourse: each limit and rule is left out in turn, those without which an action exists are named.

What is left out makes another problem, the same for everybody, so a solver is asked about all people at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from equieffort.frames import Floats
from equieffort.problem import RecourseProblem, limits
from equieffort.schema import Feature
from equieffort.solvers.base import FOUND, LIMIT, NONE, TIE, Solver

NODES_EACH = 2_000
"""How long each question may take; an action is nearly always found at once or not at all."""
ANY = 1e9
"""The gap to ask with: whether there is an action matters, not its cost."""

_made: WeakKeyDictionary[RecourseProblem, tuple[list[_LeftOut], RecourseProblem]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """A problem without one of its limits: a side of what may be set, a range of what follows, or a rule."""

    problem: RecourseProblem
    words: str
    position: int = -1
    side: int = 0

    def about(self, original: RecourseProblem, person: Floats) -> str:
        """What is left out, in words; of the limits on one side the nearest."""
        if not self.side:
            return self.words
        fact = person[:, self.position]
        own = [limit for limit in original.limits(self.position) if limit.side == self.side]
        nearest = min(own, key=lambda limit: max(self.side * float((limit.at(fact) - fact)[0]), 0.0))
        return f"{original.names[self.position]} ({nearest.text}; now {original.told(self.position, float(fact[0]))})"


def why_infeasible(problem: RecourseProblem, people: Floats, quick: Solver) -> list[str]:
    """For each person a sentence that names the limits in the way; `quick` is asked for any action, and is quick."""
    if len(people) == 0:
        return []
    found, loosest = _made.get(problem) or _made.setdefault(problem, _left_out(problem))
    # What cannot be reached without any limit cannot be reached without one of them.
    code = _codes(quick, loosest, people) if found else np.full(len(people), NONE)
    ask = np.flatnonzero(code != NONE)
    each = np.full((len(people), len(found)), NONE)
    for j, one in enumerate(found):
        each[ask, j] = _codes(quick, one.problem, people[ask])
    can, unsure = np.isin(each, (FOUND, TIE)), (each == LIMIT).any(axis=1)
    texts = []
    for i in range(len(people)):
        person = people[i : i + 1]
        names = [one.about(problem, person) for one, helps in zip(found, can[i], strict=True) if helps]
        everything = [one.about(problem, person) for one in found]
        texts.append(_sentence(problem, names, everything, int(code[i]), bool(unsure[i])))
    return texts


def _codes(quick: Solver, problem: RecourseProblem, people: Floats) -> Any:
    """What is known of people's actions; nothing where the solver needs the very limit that is left out."""
    if len(people) == 0 or quick.supports(problem):
        return np.full(len(people), LIMIT)
    return quick.propose(problem, people).code


def _sentence(problem: RecourseProblem, names: list[str], everything: list[str], code: int, unsure: bool) -> str:
    if names:
        return f"There would be an action without: {'; '.join(names)}."
    if code in (FOUND, TIE):
        together = "; ".join(everything)
        how = "There would be an action without all of these" if unsure else "Several limits stop every action together"
        return f"{how}: {together}."
    if code == NONE:
        held = [repr(name) for name in _below(problem) if name in problem.schema.protected_columns]
        kept = f" while {' and '.join(held)} must not move" if held else ""
        what = "Nothing that the actionable features can become, within or beyond their limits, changes the decision"
        return f"{what}{kept}."
    return "Without any limit no action was found soon either."


def _left_out(problem: RecourseProblem) -> tuple[list[_LeftOut], RecourseProblem]:
    """Each limit left out, and all of them."""
    found = []
    for k in problem.numeric:
        for side in (-1, 1):
            feature = problem.feature(k)
            without = _open(feature, side)
            if limits(without) != limits(feature):
                found.append(_LeftOut(_with(problem, {k: without}), "", k, side))
    below = _below(problem)
    for k, name in enumerate(problem.names):
        feature = problem.feature(k)
        if _follows(problem, k, below) and (feature.role == "immutable" or feature.plausible is not None):
            words = f"{name!r} must not move" if feature.role == "immutable" else f"the plausible range of {name!r}"
            found.append(_LeftOut(_with(problem, {k: _free(feature)}), words))
    links = problem.schema.links
    for link in links:
        rest = [other for other in links if other is not link]
        found.append(_LeftOut(_with(problem, {}, rest), f"the rule that {link}"))
    every: dict[int, Feature] = {}
    for k in range(len(problem.names)):
        feature = problem.feature(k)
        if k in problem.numeric:
            every[k] = _open(_open(feature, -1), 1)
        elif _follows(problem, k, below):
            every[k] = _free(feature)
    return found, _with(problem, every, [])


def _follows(problem: RecourseProblem, position: int, below: list[str]) -> bool:
    """Whether a column only follows, and may be freed: protected columns stay whatever is asked."""
    name = problem.names[position]
    is_free = name not in problem.schema.protected_columns
    return name in below and is_free and problem.feature(position).role != "actionable"


def _below(problem: RecourseProblem) -> list[str]:
    """The columns that an action can move."""
    graph = problem.scm.graph
    return list(graph.descendants(*(name for name in problem.schema.actionable if name in graph.nodes)))


def _with(problem: RecourseProblem, features: dict[int, Feature], rules: Any = None) -> RecourseProblem:
    schema = problem.schema
    changed = {problem.names[k]: feature for k, feature in features.items()}
    links = schema.rules if rules is None else rules
    return replace(problem, schema=replace(schema, features={**schema.features, **changed}, rules=links))


def _open(feature: Feature, side: int) -> Feature:
    """Without the limits on one side."""
    low, high = feature.plausible or (None, None)
    low, high = (None, high) if side < 0 else (low, None)
    free = replace(feature, plausible=None if low is None and high is None else (low, high))
    if feature.direction == ("up" if side < 0 else "down"):
        free = replace(free, direction="both")
    least, largest = feature.observed or (None, None)
    # Beyond 0 and 1 a binary number would mean nothing.
    if feature.kind != "binary":
        free = replace(free, observed=(None, largest) if side < 0 else (least, None))
    return replace(free, lower=None, max_decrease=None) if side < 0 else replace(free, upper=None, max_increase=None)


def _free(feature: Feature) -> Feature:
    """Free to follow wherever it is led."""
    return replace(feature, role="mutable", plausible=None)
