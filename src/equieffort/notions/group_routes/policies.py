"""Policies: a few routes that a group is told, chosen on some people and measured on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.shares import wilson
from equieffort.notions.actions import Action
from equieffort.notions.group_routes.choosing import Menu, best_menus
from equieffort.notions.group_routes.trees import Leaf, Part, best_tree, leaf_text
from equieffort.notions.patterns import Item
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable

Assignment = Literal["menu", "tree"]
PRICES = (0.0, 0.3, 0.6, 0.9)
"""How much of a person the dearest extra effort weighs when trees are chosen; 0: most people, then least effort."""
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Measured:
    """What a policy, or one of its routes, does for some people of a group."""

    group: str
    n: int
    """Refused people it is told to, and measured on."""
    n_turned: int
    mean_cost: float
    """Of those who are turned."""
    mean_extra: float
    """The same beyond each person's own optimum, of those whose optimum is proven."""
    n_extra_unknown: int
    """Turned people whose own optimum is not proven: they are not in the mean of extra effort."""
    sd_extra: float = nan
    """Of the same people's extra effort; NaN below two."""

    @property
    def effectiveness(self) -> float:
        """The share of them who are turned."""
        return self.n_turned / self.n if self.n else nan

    def limits(self, level: float) -> tuple[float, float]:
        """Wilson's."""
        return wilson(self.n_turned, self.n, float(ndtri((1 + level) / 2))) if self.n else (nan, nan)

    def extra_limits(self, level: float) -> tuple[float, float]:
        """Student's, of the mean extra effort of those who are turned; NaN below two people or without spread.

        >>> one = Measured("a", 9, 4, 2.0, 1.0, 0, sd_extra=0.8)
        >>> [round(end, 3) for end in one.extra_limits(0.95)]  # 1 -+ 3.182 x 0.8 / 2, and nobody pays less than nothing
        [0.0, 2.273]
        """
        n = self.n_turned - self.n_extra_unknown
        if n < 2 or not self.sd_extra > 0:
            return nan, nan
        half = float(stdtrit(n - 1, (1 + level) / 2)) * self.sd_extra / sqrt(n)
        return max(0.0, self.mean_extra - half), self.mean_extra + half


@dataclass(frozen=True)
class Route:
    """One action, whom it is told to, and what it does for each group."""

    action: Action
    rule: str
    """Empty where everybody may take it."""
    measured: tuple[Measured, ...]
    """A menu's route for everybody of a group, whatever else is on the menu; a leaf's for the people of the leaf."""


@dataclass(frozen=True)
class Policy:
    """A few routes for a group, or for everybody."""

    chosen_for: str
    """A group's label, or "everybody"."""
    assignment: Assignment
    n_routes: int
    """How many were asked for at most."""
    routes: tuple[Route, ...]
    measured: tuple[Measured, ...]
    """By group, on people it was not chosen on where they were held out."""
    n_chosen_on: int
    n_turned_chosen: int
    extra_chosen: float
    """Where it was chosen: the people turned, and their mean extra effort."""
    most_chosen: int
    """No policy of this kind turns more there; equal to n_turned_chosen where that is proven."""
    how: str
    is_best: bool
    """Whether it turns most of those with so many routes; the others turn fewer at less extra effort."""
    is_pareto: bool = True


@dataclass(frozen=True, eq=False)
class Pool:
    """The refused, candidates and what each does; everything that choosing and measuring read."""

    actions: tuple[Action, ...]
    costs: Floats
    """(refused person, candidate): infinite whom it does not turn, NaN of people not asked."""
    optimum: Floats
    """Each person's own least effort where it is proven, else NaN."""
    codes: npt.NDArray[np.int16]
    splits: tuple[Item, ...]

    @classmethod
    def of(
        cls, table: RecourseTable, rows: Rows, actions: Sequence[Action], costs: Floats, splits: Sequence[Item]
    ) -> Pool:
        """The people of some rows."""
        proven = table.status[rows] == Status.OPTIMAL
        return cls(
            tuple(actions), costs, np.where(proven, table.effort[rows], nan),
            table.groups.codes[rows], tuple(splits),
        )  # fmt: skip

    def price(self, people: Rows) -> Floats:
        """Extra effort, or the whole effort of people whose own optimum is not proven."""
        own = self.optimum[people]
        return np.asarray(self.costs[people] - np.where(np.isnan(own), 0.0, own)[:, None])

    def measure(self, group: str, people: Rows, paid: Floats) -> Measured:
        """What people pay, infinite who is not turned."""
        turned = np.isfinite(paid)
        extra = (paid - self.optimum[people])[turned]
        known = extra[~np.isnan(extra)]
        return Measured(
            group, len(people), int(turned.sum()), float(paid[turned].mean()) if turned.any() else nan,
            float(known.mean()) if len(known) else nan, int(np.isnan(extra).sum()),
            float(known.std(ddof=1)) if len(known) > 1 else nan,
        )  # fmt: skip


def menus(pool: Pool, name: str, chosen_on: Rows, measured_on: dict[str, Rows], k: int) -> list[Policy]:
    """Sets of at most k routes of which each person takes the cheapest that works."""
    found = [without_unused(menu, pool.price(chosen_on)) for menu in best_menus(pool.price(chosen_on), k)]
    return [_menu(pool, name, chosen_on, measured_on, k, menu, place == 0) for place, menu in enumerate(found)]


def without_unused(menu: Menu, price: Floats) -> Menu:
    """The menu without routes that nobody there takes, since another one is as cheap or cheaper."""
    mine = price[:, menu.routes]
    taken = np.unique(mine.argmin(axis=1)[np.isfinite(mine).any(axis=1)])
    return replace(menu, routes=tuple(menu.routes[t] for t in taken.tolist()))


def _menu(
    pool: Pool, name: str, chosen_on: Rows, measured_on: dict[str, Rows], k: int, menu: Menu, is_best: bool
) -> Policy:
    routes = tuple(
        Route(
            pool.actions[a], "",
            tuple(pool.measure(label, rows, pool.costs[rows, a]) for label, rows in measured_on.items()),
        )
        for a in menu.routes
    )  # fmt: skip
    whole = tuple(
        pool.measure(label, rows, pool.costs[rows][:, menu.routes].min(axis=1)) for label, rows in measured_on.items()
    )
    return Policy(
        name, "menu", k, routes, whole, len(chosen_on), menu.n_turned, menu.price, menu.most, menu.how, is_best
    )  # fmt: skip


def trees(pool: Pool, name: str, chosen_on: Rows, measured_on: dict[str, Rows], k: int, min_leaf: int) -> list[Policy]:
    """Trees of at most k leaves, each with one route; the first turns most."""
    price = pool.price(chosen_on)
    turned = np.isfinite(price)
    if not turned.any():
        return []
    span = float(np.abs(price[turned]).max()) or 1.0
    masks = [item.members[chosen_on] for item in pool.splits]
    found: list[Policy] = []
    for weight in PRICES:
        # Small enough that all extra effort together never outweighs one person.
        share = weight if weight > 0 else 0.5 / len(chosen_on)
        gain = np.where(turned, 1.0 - share * np.where(turned, price, 0.0) / span, 0.0)
        tree = best_tree(gain, masks, k, min_leaf)
        policy = _tree(pool, name, chosen_on, measured_on, k, tree, weight == 0)
        if all(policy.routes != other.routes for other in found):
            found.append(policy)
    return [replace(one, most_chosen=found[0].n_turned_chosen) for one in found]


def _tree(
    pool: Pool, name: str, chosen_on: Rows, measured_on: dict[str, Rows], k: int, tree: Part, is_best: bool
) -> Policy:
    def told(rows: Rows) -> list[tuple[Leaf, Bools]]:
        masks = [item.members[rows] for item in pool.splits]
        return [(leaf, leaf.members(masks, len(rows))) for leaf in tree.leaves]

    def paid(rows: Rows) -> Floats:
        costs = np.full(len(rows), np.inf)
        for leaf, inside in told(rows):
            costs[inside] = pool.costs[rows[inside], leaf.route]
        return costs

    routes = tuple(
        Route(
            pool.actions[leaf.route], leaf_text(leaf, pool.splits),
            tuple(
                pool.measure(label, rows[inside], pool.costs[rows[inside], leaf.route])
                for label, rows in measured_on.items()
                for inside in (told(rows)[place][1],)
            ),
        )
        for place, leaf in enumerate(tree.leaves)
    )  # fmt: skip
    here = pool.measure(name, chosen_on, paid(chosen_on))
    price = pool.price(chosen_on)
    spent = [float(price[inside, leaf.route][np.isfinite(price[inside, leaf.route])].sum())
             for leaf, inside in told(chosen_on)]  # fmt: skip
    mean = sum(spent) / here.n_turned if here.n_turned else nan
    whole = tuple(pool.measure(label, rows, paid(rows)) for label, rows in measured_on.items())
    return Policy(
        name, "tree", k, routes, whole, len(chosen_on), here.n_turned, mean, here.n_turned, "every tree tried", is_best
    )
