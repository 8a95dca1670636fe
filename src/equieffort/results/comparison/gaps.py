"""The change of RD between two audits: its interval, and whether the gap moved away from equality.

RD is a difference of shares of the refused, here counted twice (`effort/inference/twice.py`): the interval keeps a
width where everybody, or nobody, has a route. |RD| has grown where RD moved outwards, on the side where it lies now,
and lies farther out than it lay on the other side before: where neither the interval of the change nor that of the sum
of both RDs holds 0. Each asks with 2.5 %, and both must agree. Groups are taken to have nobody in common: whoever was
in the one and is in the other counts as two people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Bools
from equieffort.effort.inference.laws import ByLimits, Law
from equieffort.effort.inference.shares import difference
from equieffort.effort.inference.twice import Twice, gap
from equieffort.recourse.table import RecourseTable
from equieffort.results.comparison.people import Pairs

LEVEL = 0.95
FEWEST = 2
"""Refused people that every side needs for an interval."""


@dataclass(frozen=True)
class Gaps:
    """RD of two audits: what was counted of the group and of those it is compared with."""

    mine: Twice
    theirs: Twice

    @classmethod
    def of(cls, a: RecourseTable, b: RecourseTable, pairs: Pairs, group: str, against: str) -> Gaps:
        """Of two tables; `pairs` are the people in both."""
        sides = zip(a.groups.members(group, against), b.groups.members(group, against), strict=True)
        mine, theirs = (counted_twice(a, b, pairs, before, after) for before, after in sides)
        return cls(mine, theirs)

    @property
    def fewest(self) -> int:
        """Refused people on the smallest side of either audit."""
        return min(*self.mine.asked, *self.theirs.asked)

    @property
    def same_answers(self) -> bool:
        """Whether the same people are refused in both audits, and nobody's answer differs."""
        return all(
            one.asked == (one.both,) * 2 and one.yes_of_both == (one.always,) * 2 for one in (self.mine, self.theirs)
        )

    @property
    def comes_from_others(self) -> bool:
        """Whether somebody is refused in one audit only, and nobody refused in both has another answer."""
        sides = (self.mine, self.theirs)
        return not self.same_answers and all(one.yes_of_both == (one.always,) * 2 and one.both for one in sides)

    def change(self) -> ByLimits:
        """RD of the second audit minus that of the first."""
        return gap(self.mine.change(), self.theirs.change())

    def distance(self) -> dict[str, Any]:
        """Whether RD moved away from equality, and whether the disadvantage changed sides."""
        answer = {"distance": "undefined", "turned": False, "turned_beyond_noise": False, "undefined_draws": 0}
        if self.fewest == 0:
            return answer
        laws = [difference(*(_at(one, k) for one in (self.mine, self.theirs))) for k in (0, 1)]
        before, after = (_sides(law) for law in laws)
        signs = [int(np.sign(law.estimate)) for law in laws]
        moved, total = _sides(self.change()), _sides(gap(self.mine.total(), self.theirs.total()))
        if self.same_answers or self.fewest < FEWEST:
            moved = 0
        answer["distance"] = "within noise"
        if moved and moved == total == signs[1]:
            answer["distance"] = "farther"
        elif moved and -moved == total == signs[0]:
            answer["distance"] = "closer"
        answer["turned"] = signs[0] * signs[1] < 0
        answer["turned_beyond_noise"] = before * after < 0
        return answer


def counted_twice(a: RecourseTable, b: RecourseTable, pairs: Pairs, before: Bools, after: Bools) -> Twice:
    """The refused of one side, in either audit, and who of them has a route."""
    refused = before & a.is_unfavourable, after & b.is_unfavourable
    acts = refused[0] & a.has_action, refused[1] & b.has_action
    together = pairs[refused[0][pairs[:, 0]] & refused[1][pairs[:, 1]]]
    first, second = acts[0][together[:, 0]], acts[1][together[:, 1]]
    return Twice(
        asked=(int(refused[0].sum()), int(refused[1].sum())),
        yes=(int(acts[0].sum()), int(acts[1].sum())),
        both=len(together),
        yes_of_both=(int(first.sum()), int(second.sum())),
        always=int((first & second).sum()),
    )


def _at(one: Twice, k: int) -> tuple[int, int]:
    return one.yes[k], one.asked[k]


def _sides(law: Law) -> int:
    """On which side of 0 the whole interval lies; 0 where it holds 0."""
    low, high = law.limits(LEVEL)
    return int(low > 0) - int(high < 0)
