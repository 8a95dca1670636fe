"""The family: FACTS' six for every comparison, with documented defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.measures import Sample, sample
from equieffort.effort.measures.assigned import Unplaced, of_curves, of_orders
from equieffort.notions.actions import Action, turned_costs
from equieffort.notions.assigned import bounded, placed
from equieffort.notions.base import Audited, Family, NotApplicable, NotionReading, require_model
from equieffort.notions.facts.curves import macro_curve, rank_of
from equieffort.notions.facts.macro import Asked, macro_readings
from equieffort.notions.facts.micro import micro_readings
from equieffort.notions.facts.notions import (
    CHOICE,
    EFFECTIVENESS,
    MACRO,
    MEAN_RECOURSE,
    SIX,
    TRADE_OFF,
    WITHIN_BUDGET,
)
from equieffort.notions.patterns import mined_actions

PHI = 0.5
"""The share that an action, or an effort, must turn."""
MIN_SUPPORT = 0.1
MAX_FEATURES = 2
MOST_ACTIONS = 300
"""Of more mined actions those are kept that most of the approved have."""


@dataclass(frozen=True, eq=False)
class Mined:
    """Actions that were mined, and what each costs each refused person whom it turns."""

    actions: tuple[Action, ...]
    costs: Floats
    """(refused person, action): infinite whom it does not turn, NaN of people with a missing value."""
    rows: Bools
    """Who is refused, among everybody."""
    n_left_out: int = 0
    """Frequent patterns beyond the number that is tried."""

    @classmethod
    def of(
        cls, audited: Audited, min_support: float = MIN_SUPPORT, max_features: int = MAX_FEATURES,
        most: int = MOST_ACTIONS,
    ) -> Mined:  # fmt: skip
        """Mine the approved for actions, and ask of each whom it turns."""
        problem, table = require_model(audited, "facts()"), audited.table
        refused = table.is_unfavourable
        facts = problem.encoding.encode(table.data)
        actions = mined_actions(problem, facts, ~refused, min_support, max_features)
        kept = actions[:most]
        return cls(
            tuple(kept), turned_costs(problem, table.data[refused], kept), refused, len(actions) - len(kept)
        )  # fmt: skip


@dataclass(frozen=True)
class Facts(Family):
    """Each person takes their own cheapest action (micro): readings of the recourse table's effort curves."""

    name = "facts"
    title = "FACTS: effectiveness and cost of each person's own action"
    notions = tuple(notion for notion in SIX if notion != CHOICE)
    phi: float = PHI
    budget: float | None = None
    """That of the audit where it is None."""

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """Five notions for every comparison."""
        table, labels = audited.table, audited.table.groups.labels
        budget = audited.budget if self.budget is None else self.budget
        found: list[NotionReading | NotApplicable] = []
        for pair in audited.pairs:
            sides = [sample(table, np.asarray(table.groups.codes == code), audited.budget) for code in pair]
            names = [labels[code] for code in pair]
            read = micro_readings(names[0], names[1], sides[0], sides[1], audited.level, self.phi, budget)
            found += [_with_assigned(one, audited, (sides[0], sides[1]), self.phi, budget) for one in read]
        return found


def _with_assigned(
    one: NotionReading, audited: Audited, sides: tuple[Sample, Sample], phi: float, budget: float | None
) -> NotionReading:
    """A micro reading with what people whose group is not known could make of it."""
    table = audited.table
    refused, routes = table.is_unfavourable, table.has_action
    efforts = np.where(routes, table.effort, np.inf)
    if one.notion == MEAN_RECOURSE.name:
        return bounded(one, audited, np.where(routes, table.effort, np.nan))
    if one.notion in (EFFECTIVENESS.name, WITHIN_BUDGET.name):
        end = np.finfo(np.float64).max if one.notion == EFFECTIVENESS.name else np.nan if budget is None else budget
        return bounded(one, audited, np.where(refused & ~np.isnan(end), efforts <= end, np.nan), sign=-1)
    parts = [
        Unplaced(*which, efforts[among & refused])
        for which, among in audited.pools(one.group, one.against)
        if (among & refused).any()
    ]
    if not parts:
        return one
    known = np.sort(sides[0].efforts), np.sort(sides[1].efforts)
    if one.notion == TRADE_OFF.name:
        return placed(one, of_curves(known, parts))
    return placed(one, of_orders(known, parts, lambda n: (rank_of(phi, n) - 1,) * 2))


@dataclass(frozen=True)
class FactsMacro(Family):
    """Everybody of a group takes the same action (macro), one of those that are mined among the approved."""

    name = "facts_macro"
    title = "FACTS: effectiveness and cost of one action for all"
    notions = tuple(MACRO.values())
    needs_model = True
    phi: float = PHI
    budget: float | None = None
    """That of the audit where it is None."""
    min_support: float = MIN_SUPPORT

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """Six notions for every comparison, where the model is at hand."""
        if audited.problem is None:
            why = "Actions are mined and put to the model, which an audit file does not hold"
            return [NotApplicable(notion.name, why) for notion in self.notions]
        mined = Mined.of(audited, self.min_support)
        codes, labels = audited.table.groups.codes[mined.rows], audited.table.groups.labels
        asked = Asked(self.phi, audited.budget if self.budget is None else self.budget)
        found: list[NotionReading | NotApplicable] = []
        for code, other in audited.pairs:
            found += macro_readings(
                labels[code], labels[other], mined.costs, codes == code, codes == other, audited.level, asked,
                audited.random_state,
            )  # fmt: skip
        return found


def effectiveness_curves(audited: Audited) -> dict[str, dict[str, Floats]]:
    """By viewpoint and group the sorted efforts that effectiveness is read of; macro only with the model at hand."""
    table = audited.table
    refused, groups = table.is_unfavourable, table.groups
    efforts = np.where(np.isnan(table.effort), np.inf, table.effort)
    codes = {groups.labels[code]: code for code in groups.listed}
    found = {"micro": {label: np.sort(efforts[refused & (groups.codes == code)]) for label, code in codes.items()}}
    if audited.problem is not None:
        costs = Mined.of(audited).costs
        known = ~np.isnan(costs).any(axis=1)
        own = groups.codes[refused]
        found["macro"] = {label: macro_curve(costs[known & (own == code)]) for label, code in codes.items()}
    return found
