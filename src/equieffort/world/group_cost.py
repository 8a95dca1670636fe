"""GroupCost: a cost of its own for each group, such as ranks among the people of one's own group.

What a change costs then depends on who makes it, so that such a cost is asked about people and not about numbers alone;
solvers meet the cost of one group at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Encoding, Floats, number
from equieffort.errors import CostError, Setting, listed
from equieffort.world.cost import BoundCost
from equieffort.world.groups import group_name
from equieffort.world.labels import BETWEEN

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GroupCost(BoundCost):
    """The costs of all groups, and how a person's group is told from their sensitive columns."""

    columns: tuple[str, ...]
    """The sensitive columns."""
    labels: tuple[str, ...]
    keys: Floats
    """(group, sensitive column): the values of a group, encoded, in the users' own unit."""
    costs: tuple[BoundCost, ...]

    def codes(self, values: Floats) -> Codes:
        """By the encoded sensitive columns of people: the code of each one's group, -1 where it is none of these."""
        found = np.full(len(values), -1, dtype=np.intp)
        for code, key in enumerate(self.keys):
            found[(values == key).all(axis=1)] = code
        return found

    def parts(self, facts: Floats, values: Floats) -> Floats:
        """Nobody's: a change has no price before it is said whose it is."""
        raise TypeError("A cost by group is asked with parts_of(who, facts, values).")

    def parts_of(self, who: Floats, facts: Floats, values: Floats) -> Floats:
        """What each feature costs people with these sensitive columns; no change costs nothing, whoever one is."""
        parts = np.zeros(facts.shape)
        acting = (values != facts).any(axis=1)
        codes = np.where(acting, self.codes(who), -1)
        if (acting & (codes < 0)).any():
            raise self.unknown()
        for code in np.unique(codes[acting]).tolist():
            rows = codes == code
            parts[rows] = self.costs[code].parts(facts[rows], values[rows])
        return parts

    def unknown(self) -> CostError:
        """Of people whose group has no reference people."""
        return CostError(
            "COST_GROUP",
            f"Effort is ranked within groups, and somebody belongs to none of {listed(self.labels)} of "
            f"{listed(self.columns)}, of whom there are reference people.",
            fix=Setting("ranks within groups"),
        )

    @property
    def is_continuous(self) -> bool:  # type: ignore[override]
        """Where that of every group is."""
        return all(cost.is_continuous for cost in self.costs)

    def _each(self, change: Callable[[BoundCost], BoundCost]) -> GroupCost:
        return replace(self, costs=tuple(change(cost) for cost in self.costs))

    def in_units(self, units: Floats, cost_unit: float) -> GroupCost:
        """Every group's; people are told apart in the users' own unit."""
        return self._each(lambda cost: cost.in_units(units, cost_unit))

    def typical_prices(self, units: Floats) -> Floats:
        """The lowest of any group."""
        return np.min([cost.typical_prices(units) for cost in self.costs], axis=0)

    def among(self, keep: Sequence[int]) -> GroupCost:
        """Every group's."""
        return self._each(lambda cost: cost.among(keep))

    def to_dict(self) -> dict[str, Any]:
        """What each group's says, by its label."""
        return {
            "columns": list(self.columns),
            "by_group": {label: cost.to_dict() for label, cost in zip(self.labels, self.costs, strict=True)},
        }


def bind_by_group(
    bind: Callable[[Floats], BoundCost],
    names: Sequence[str],
    reference: Floats,
    source: pd.DataFrame,
    people: pd.DataFrame,
    encoding: Encoding,
    columns: tuple[str, ...],
) -> GroupCost:
    """A cost for each group of the people, bound to the reference people of that group.

    `reference` are the values of the features `names` in the rows of `source`.
    """
    mine = people[list(columns)].dropna().drop_duplicates()
    keys = np.column_stack([encoding[name].encode(mine[name]) for name in columns])
    order = np.lexsort(keys.T[::-1])
    mine, keys = mine.iloc[order], keys[order]
    labels = [BETWEEN.join(str(value) for value in row) for row in mine.itertuples(index=False)]
    known = [_held(source[name], mine[name]) for name in columns]
    rows = np.flatnonzero(np.logical_and.reduce(known))
    who = np.column_stack([encoding[name].encode(source[name].iloc[rows]) for name in columns])
    costs = []
    for label, key in zip(labels, keys, strict=True):
        values = reference[rows[(who == key).all(axis=1)]]
        _check_reference(group_name(label, columns), names, values)
        costs.append(bind(values))
    return GroupCost(columns, tuple(labels), keys, tuple(costs))


def _held(column: pd.Series, values: pd.Series) -> Bools:
    return np.asarray(column.isin(values.unique()), dtype=bool)


def _check_reference(group: str, names: Sequence[str], values: Floats) -> None:
    for name, held in zip(names, values.T, strict=True):
        if len(held) == 0 or np.ptp(held) == 0:
            what = f"the single value {number(float(held[0]))}" if len(held) else "no value"
            raise CostError(
                "COST_ZERO_SCALE",
                f"Feature {name!r} has {what} among the reference people with {group}, so that nobody can be ranked "
                "there.",
                fix=Setting("ranks within groups"),
            )
