"""GroupRoutes: what can be told to a group as policy, how many it turns, and what it costs beyond what was needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import Any

import pandas as pd

from equieffort.data.frames import number, percent
from equieffort.errors import many
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.group_routes.policies import Measured, Policy
from equieffort.world.groups import Groups
from equieffort.world.labels import Labels, labels_of, told_rule

EVERYBODY = "everybody"
NEARLY = 0.9
"""The fewest routes that reach this share of what the most routes turn are shown first."""
FRONT = [
    "chosen_for", "group", "assignment", "n_routes", "routes", "n", "n_turned", "effectiveness", "low", "high",
    "mean_cost", "mean_extra", "extra_low", "extra_high", "n_extra_unknown", "n_chosen_on", "n_turned_chosen",
    "most_chosen", "extra_chosen", "how", "is_best", "is_pareto", "n_unknown", "note",
]  # fmt: skip
ROUTES = [
    "chosen_for", "group", "assignment", "n_routes", "route", "rule", "action", "n", "n_turned", "effectiveness", "low",
    "high", "mean_cost", "mean_extra", "extra_low", "extra_high", "n_extra_unknown",
]  # fmt: skip


UNASSIGNED = (
    " People whose group is not known are a group of their own. What they could change of the others' routes is not "
    "known: other people can make other routes the best."
)


@dataclass(frozen=True, eq=False, repr=False)
class GroupRoutes(Shown):
    """Policies of one route and more, for each group and for everybody."""

    policies: tuple[Policy, ...]
    groups: Groups
    level: float
    n_candidates: int
    n_left_out: int
    same_people: tuple[str, ...]
    """Groups that are measured on the people their routes were chosen on, which flatters them."""
    own: dict[str, tuple[int, int]]
    """Group -> refused people measured on, and how many of them are known to have an action of their own."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Group -> refused people who lack a value that plays a part: whom a route turns is not known, and they are in no
    number."""

    @property
    def front(self) -> pd.DataFrame:
        """One row a policy and group: how many routes, whom they turn, at what extra effort.

        `low` and `high` are limits of `effectiveness`, `extra_low` and `extra_high` of `mean_extra`.

        `n_turned_chosen`, `extra_chosen` and `most_chosen` are of the people it was chosen on, the others of those it
        is measured on; `n_unknown` counts refused people of the group who lack a value, so that nothing can be said of
        them. `is_pareto`: no policy of this kind, chosen for the same people, has as few routes, turns as
        many and asks as little extra effort there, and is better in one of them. `how` says how it is known that no
        other set of candidates turns more than `most_chosen`.
        """
        rows = []
        for policy in self.policies:
            for one in policy.measured:
                notes = ["SAME_PEOPLE"] if one.group in self.same_people else []
                notes += ["UNCERTIFIED"] if one.n_extra_unknown else []
                rows.append(
                    {
                        "chosen_for": policy.chosen_for, "group": one.group, "assignment": policy.assignment,
                        "n_routes": policy.n_routes,
                        "routes": " | ".join(
                            f"{route.rule}: {route.action}" if route.rule else str(route.action)
                            for route in policy.routes
                        ),
                        **self._numbers(one),
                        "n_chosen_on": policy.n_chosen_on, "n_turned_chosen": policy.n_turned_chosen,
                        "most_chosen": policy.most_chosen, "extra_chosen": policy.extra_chosen, "how": policy.how,
                        "is_best": policy.is_best, "is_pareto": policy.is_pareto,
                        "n_unknown": self.unknown.get(one.group, 0), "note": " ".join(notes),
                    }
                )  # fmt: skip
        return pd.DataFrame(rows, columns=FRONT)

    @property
    def routes(self) -> pd.DataFrame:
        """One row a route and group, of the policies that turn most with so many routes."""
        rows = []
        for policy in self.policies:
            for place, route in enumerate(policy.routes if policy.is_best else (), 1):
                for one in route.measured:
                    rows.append(
                        {
                            "chosen_for": policy.chosen_for, "group": one.group, "assignment": policy.assignment,
                            "n_routes": policy.n_routes, "route": place, "rule": route.rule,
                            "action": str(route.action), **self._numbers(one),
                        }
                    )  # fmt: skip
        return pd.DataFrame(rows, columns=ROUTES)

    def _numbers(self, one: Measured) -> dict[str, Any]:
        low, high = one.limits(self.level)
        least, most = one.extra_limits(self.level)
        return {
            "group": one.group, "n": one.n, "n_turned": one.n_turned, "effectiveness": one.effectiveness, "low": low,
            "high": high, "mean_cost": one.mean_cost, "mean_extra": one.mean_extra, "extra_low": least,
            "extra_high": most, "n_extra_unknown": one.n_extra_unknown,
        }  # fmt: skip

    def best(self, chosen_for: str, assignment: str = "menu") -> list[Policy]:
        """The policies that turn most, by number of routes."""
        return [
            one for one in self.policies
            if one.is_best and one.chosen_for == chosen_for and one.assignment == assignment
        ]  # fmt: skip

    def fewest(self, chosen_for: str, assignment: str = "menu") -> Policy | None:
        """The fewest routes that turn, where they were chosen, at least 90 % of what the most routes turn."""
        found = self.best(chosen_for, assignment)
        most = max((one.n_turned_chosen for one in found), default=0)
        return next((one for one in found if one.n_turned_chosen >= NEARLY * most), None)

    def __str__(self) -> str:
        left = f" {self.n_left_out:,} more were not tried." if self.n_left_out else ""
        parts = ["\n".join(lines) for lines in self._parts()]
        return "\n\n".join([*parts, f"{self.n_candidates:,} candidate actions.{left} {self.caution}"])

    def _parts(self) -> list[list[str]]:
        parts = []
        for name in dict.fromkeys(one.chosen_for for one in self.policies):
            few, tree = self.fewest(name), self.fewest(name, "tree")
            lines = [self._head(name)]
            for policy in self.best(name):
                lines += self._menu(policy, name == EVERYBODY, policy is few)
            if tree is not None and len(tree.routes) > 1:
                lines += self._tree(tree)
            parts.append(lines)
        return parts

    def _told(self) -> Told:
        head = f"Routes for groups: {self.n_candidates:,} candidate actions"
        lines = [line.strip() for part in self._parts() for line in part]
        return Told(head, lines, {"Routes": self.routes}, [self.caution], "print(...), .front, .routes")

    @property
    def caution(self) -> str:
        """Whom routes were chosen and measured on, and who is in no number."""
        kept = "Routes were chosen on some refused people and measured on others."
        same = ", ".join(map(self.groups.name, self.same_people))
        lack = sum(self.unknown.values())
        told = f" Not so for {same}: measured on the same people, which flatters them." if same else ""
        counted = f" In no number: {many(lack, 'refused person who lacks', 'refused people who lack')} a value."
        return f"{kept}{told}{counted if lack else ''}{UNASSIGNED if self.groups.unknown else ''}"

    @property
    def _names(self) -> Labels:
        return labels_of(self.groups.columns)

    def _head(self, name: str) -> str:
        if name == EVERYBODY:
            return "The same routes for everybody"
        n, acting = self.own.get(name, (0, 0))
        share = f"; {percent(acting / n, 0)} have a route of their own" if n else ""
        return f"Refused {self.groups.people(name)} ({n:,} measured{share})"

    def _menu(self, policy: Policy, shared: bool, is_few: bool) -> list[str]:
        told = "1 route" if len(policy.routes) == 1 else f"The choice of {len(policy.routes)} routes"
        mark = " (the fewest that reach nearly as many as the most)" if is_few else ""
        lines = [f"  {told}{mark}:"]
        lines += [f"    {self._turns(one, named=shared)}" for one in policy.measured]
        for route in policy.routes:
            shares = "; ".join(self._share(one, named=shared) for one in route.measured)
            lines.append(f"    - {route.action.told(self._names)}: turns {shares}")
        return lines

    def _tree(self, policy: Policy) -> list[str]:
        lines = ["  One route each, by a simple rule:"]
        lines += [f"    {self._turns(one, named=policy.chosen_for == EVERYBODY)}" for one in policy.measured]
        for route in policy.routes:
            told = "; ".join(self._share(one, named=policy.chosen_for == EVERYBODY) for one in route.measured)
            rule, action = told_rule(route.rule, self._names) if route.rule else "", route.action.told(self._names)
            lines.append(f"    - {rule}: {action}: turns {told}")
        return lines

    def _share(self, one: Measured, *, named: bool) -> str:
        who = f" of the {self.groups.people(one.group)}" if named else ""
        if not one.n:
            return f"nobody is left to measure{who}"
        cost = "" if isnan(one.mean_cost) else f" at a mean effort of {number(float(f'{one.mean_cost:.2g}'))}"
        return f"{percent(one.effectiveness, 0)}{who}{cost}"

    def _turns(self, one: Measured, *, named: bool) -> str:
        if not one.n:
            return f"Turns {self._share(one, named=named)}."
        low, high = one.limits(self.level)
        shares = f"{percent(self.level, 0)} interval {low * 100:.0f} to {percent(high, 0)}"
        if isnan(one.mean_extra):
            return f"Turns {self._share(one, named=named)} ({shares})."
        extra, *ends = (number(float(f"{size:.2g}")) for size in (one.mean_extra, *one.extra_limits(self.level)))
        more = f", {extra} more than their own cheapest action"
        if not isnan(one.extra_limits(self.level)[0]):
            shares += f"; extra effort {ends[0]} to {ends[1]}"
        return f"Turns {self._share(one, named=named)}{more} ({shares})."
