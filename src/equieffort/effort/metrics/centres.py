"""Centres: around whom neighbourhoods are formed, everybody or a random sample by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.foundations.arguments import check_whole

MOST_PAIRS = 200_000_000
"""Pairs of people compared at most by default; above that a sample of the centres is drawn."""
LEAST = 500
"""Centres a group that a sample of that kind has at least."""


@dataclass(frozen=True)
class Centres:
    """Everybody whom the curve is about, or at most `each` people of every group, drawn at random.

    Only centres are drawn: each is compared with all people. The bands hold what drawing adds.
    """

    each: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        check_whole("each", self.each, 2, optional=True)
        check_whole("random_state", self.random_state)

    def draw(self, people: npt.NDArray[np.intp], group: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The centres among the given people, whose groups are given; sorted."""
        if self.each is None:
            return people
        kept = []
        for code in np.unique(group):
            members = people[group == code]
            if len(members) > self.each:
                # Each group has draws of its own, so that they do not depend on the other groups.
                rng = np.random.default_rng([self.random_state, int(code)])
                members = np.sort(rng.choice(members, self.each, replace=False))
            kept.append(members)
        return np.sort(np.concatenate(kept)) if kept else people


def default_centres(people: npt.NDArray[np.intp], group: npt.NDArray[Any], n: int, least: int | None = None) -> Centres:
    """Everybody up to `MOST_PAIRS` pairs; above that as many a group as that allows, at least `least` or `LEAST`."""
    if len(people) * n <= MOST_PAIRS:
        return Centres()
    counts = np.bincount(group)
    counts = np.sort(counts[counts > 0])
    left = max(MOST_PAIRS // n, (LEAST if least is None else least) * len(counts))
    for k, count in enumerate(counts):
        # Small groups stay whole, and leave what they do not need to the larger ones.
        share = left // (len(counts) - k)
        if count > share:
            return Centres(int(share))
        left -= int(count)
    return Centres()
