"""Actions that many people can be told of: a conjunction of "set", "at least", "at most", "change by" and "keep".

What an action does to a person is asked of the world and of the model: it must be allowed for that person (limits, what
must stay, plausible ranges, rules), what follows from it follows by the structural equations, and the model's own label
must turn. Its price is the audit's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats, number
from equieffort.data.stored import inside
from equieffort.errors import capital
from equieffort.recourse.counterfactuals import (
    action_costs,
    changes,
    is_allowed,
    keeps_margin,
    propagate_as_stored,
    with_columns,
)
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.labels import NO_LABELS, Labels

Kind = Literal["set", "at_least", "at_most", "change", "keep"]
AT_ONCE = 100_000
"""So many people after an action are shown to the model at once."""


@dataclass(frozen=True)
class Part:
    """What an action does to one feature."""

    feature: str
    kind: Kind
    value: Any = None
    """A level for "set", a number for the others, nothing for "keep"."""

    def __str__(self) -> str:
        return self.told(NO_LABELS)

    def told(self, names: Labels) -> str:
        """For readers, in their words for features and levels."""
        feature = names.feature(self.feature)
        if self.kind == "keep":
            return f"keep {feature} as it is"
        if self.kind == "set":
            return f"set {feature} to {names.level(self.feature, self.value) or self.value}"
        if self.kind == "change":
            return f"{'raise' if self.value > 0 else 'cut'} {feature} by {number(abs(self.value))}"
        verb, end = ("raise", "at least") if self.kind == "at_least" else ("cut", "at most")
        return f"{verb} {feature} to {end} {number(self.value)}"

    def targets(self, code: float, facts: Floats) -> tuple[Bools, Floats]:
        """Who sets the feature, and to what; `code` stands for the level. Who has what is asked for sets nothing."""
        if self.kind == "keep":
            return np.ones(len(facts), dtype=bool), facts.copy()
        if self.kind == "change":
            return np.ones(len(facts), dtype=bool), facts + self.value
        if self.kind == "set":
            return facts != code, np.full(len(facts), code)
        lacks = facts < self.value if self.kind == "at_least" else facts > self.value
        return lacks, np.where(lacks, float(self.value), facts)


@dataclass(frozen=True)
class Action:
    """One action for many people: at most one part a feature.

    A feature that already is as asked is left alone, so it follows its causes.

    >>> print(Action((Part("savings", "at_least", 500), Part("housing", "set", "own"))))
    Raise savings to at least 500 and set housing to own
    """

    parts: tuple[Part, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """What it is about."""
        return tuple(part.feature for part in self.parts)

    def __str__(self) -> str:
        return self.told(NO_LABELS)

    def told(self, names: Labels) -> str:
        """For readers, in their words for features and levels."""
        return capital(" and ".join(part.told(names) for part in self.parts))


def settings_of(problem: RecourseProblem, action: Action, facts: Floats) -> tuple[Bools, Floats, Bools]:
    """Which columns are set, to which values, and for whom the limits allow all of that."""
    picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
    within = np.ones(len(facts), dtype=bool)
    low, high = problem.action_box(facts)
    for part in action.parts:
        k = problem.encoding.position(part.feature)
        column = problem.encoding.columns[k]
        code = float(column.levels.index(part.value)) if column.is_category and part.kind == "set" else np.nan
        picked[:, k], target = part.targets(code, facts[:, k])
        if column.is_category:
            prices = problem.level_prices[problem.categorical.index(k)]
            within &= ~picked[:, k] | prices.allows(facts[:, k], target)
            values[:, k] = target
            continue
        j = problem.numeric.index(k)
        forgiven = problem.tolerance(k, target)
        within &= ~picked[:, k] | ((target >= low[:, j] - forgiven) & (target <= high[:, j] + forgiven))
        if problem.is_integer[j]:
            within &= ~picked[:, k] | (target == np.rint(target))
        target = np.where(picked[:, k], np.clip(target, low[:, j], high[:, j]), facts[:, k])
        if k in problem.grids:
            target = inside(target, low[:, j], high[:, j], problem.grids[k])
        values[:, k] = target
    if problem.max_actions is not None:
        within &= changes(problem, facts, picked, values).sum(axis=1) <= problem.max_actions
    return picked, values, within


def turned_costs(problem: RecourseProblem, people: pd.DataFrame, actions: Sequence[Action]) -> Floats:
    """What each action costs each person whom it turns; infinite whom it does not turn, or who may not take it.

    A row of NaN is a person who lacks a value that plays a part, of whom nothing can be said.
    """
    facts = problem.encoding.encode(people)
    known = np.flatnonzero(~problem.lacking(facts).any(axis=1))
    facts = problem.filled(facts)
    found = np.full((len(people), len(actions)), np.nan)
    found[known] = np.inf
    some = max(1, AT_ONCE // max(len(known), 1))
    for start in range(0, len(actions) if len(known) else 0, some):
        _fill(problem, people, facts, known, actions, start, min(start + some, len(actions)), found)
    return found


def _fill(
    problem: RecourseProblem, people: pd.DataFrame, facts: Floats, known: Any, actions: Sequence[Action],
    start: int, stop: int, found: Floats,
) -> None:  # fmt: skip
    """Some actions: those who may take each are put to the model together."""
    rows, columns, before, after, costs = [], [], [], [], []
    for a in range(start, stop):
        mine = facts[known]
        picked, values, within = settings_of(problem, actions[a], mine)
        # Who is asked for nothing stays refused: the model has said so.
        within &= (picked & (values != mine)).any(axis=1)
        who = np.flatnonzero(within)
        mine, picked, values = mine[who], picked[who], values[who]
        moved, unknown = propagate_as_stored(problem, mine, picked, values)
        allowed = is_allowed(problem, mine, moved, unknown)
        rows.append(known[who[allowed]])
        columns.append(np.full(int(allowed.sum()), a))
        before.append(mine[allowed])
        after.append(moved[allowed])
        costs.append(action_costs(problem, mine, picked, values).sum(axis=1)[allowed])
    whom, which = np.concatenate(rows), np.concatenate(columns)
    if not len(whom):
        return
    flips = turns(problem, people.iloc[whom], np.concatenate(before), np.concatenate(after))
    found[whom[flips], which[flips]] = np.concatenate(costs)[flips]


def turns(problem: RecourseProblem, people: pd.DataFrame, facts: Floats, moved: Floats) -> Bools:
    """Whom the model's own label favours after the change, by as much margin as the audit asks."""
    changed = {}
    for name in problem.decision.features:
        k = problem.encoding.position(name)
        if not np.array_equal(moved[:, k], facts[:, k]):
            changed[name] = problem.encoding.columns[k].decode(moved[:, k])
    after = with_columns(people[list(problem.decision.features)], changed)
    return problem.decision.is_favourable(after) & keeps_margin(problem, moved)


def undominated(costs: Floats) -> list[int]:
    """Positions of actions that no other one replaces for everybody at no higher cost; of equals the first stays.

    >>> inf = np.inf
    >>> undominated(np.array([[1.0, 2.0, inf, 1.0], [inf, inf, 3.0, inf]]))
    [0, 2]
    """
    kept: list[int] = []
    reach = np.isfinite(costs).sum(axis=0)
    # Only what turns as many can replace another; those that turn more come first, of equals the first.
    for a in np.lexsort((np.arange(costs.shape[1]), np.where(np.isfinite(costs), costs, 0.0).sum(axis=0), -reach)):
        if reach[a] and not any((costs[:, b] <= costs[:, a]).all() for b in kept):
            kept.append(int(a))
    return sorted(kept)
