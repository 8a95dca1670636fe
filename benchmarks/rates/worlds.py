"""Worlds of efforts whose truth is known: two groups, and what their refused people need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from equieffort.effort.budget import default_budget
from equieffort.effort.measures import MEASURES, Pair, Sample

GRID = 400_000
SIZES = (60, 200, 500, 2_000, 10_000)
ALPHAS = (0, 1, 2, 4)
LIMITS = (np.inf, 2.0)
COVERED = (
    "acr", "difference", "rd", "restricted_effort", "needs_more", "median_effort", "burden", "impact_ratio",
    "acr_always_min", "acr_always_max",
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """A share of all people, a rate of refusal, and the efforts of the refused by quantile (infinite: no recourse)."""

    share: float
    refused: float
    effort: Callable[[np.ndarray], np.ndarray]

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
        """Efforts of the refused among n people, and how many are approved."""
        refused = int(rng.binomial(n, self.refused))
        return self.effort(rng.random(refused)), n - refused

    def endless(self) -> tuple[np.ndarray, int]:
        """Equally likely people."""
        efforts = self.effort((np.arange(GRID) + 0.5) / GRID)
        return efforts, round(GRID * (1 - self.refused) / self.refused)


@dataclass(frozen=True)
class World:
    """A group against its reference."""

    name: str
    mine: Group
    theirs: Group

    def pair(self, rng: np.random.Generator, n: int, budget: float) -> Pair:
        """n people, drawn."""
        a = int(rng.binomial(n, self.mine.share / (self.mine.share + self.theirs.share)))
        return _pair(self.mine.draw(rng, a), self.theirs.draw(rng, n - a), budget)

    def budget(self) -> float:
        """The default budget of an endless sample."""
        efforts = [group.endless()[0] for group in (self.mine, self.theirs)]
        weights = [group.share * group.refused for group in (self.mine, self.theirs)]
        keep = [int(GRID * w / max(weights)) for w in weights]
        rng = np.random.default_rng(0)
        return default_budget(
            np.concatenate([rng.choice(e, k, replace=False) for e, k in zip(efforts, keep, strict=True)])
        )

    def truth(self, budget: float) -> dict[str, float]:
        """Every measure of an endless sample."""
        pair = _pair(self.mine.endless(), self.theirs.endless(), budget)
        return {name: MEASURES[name].estimate(pair) for name in COVERED}


def _pair(mine: tuple[np.ndarray, int], theirs: tuple[np.ndarray, int], budget: float) -> Pair:
    return Pair(Sample.solved(mine[0], mine[1], budget), Sample.solved(theirs[0], theirs[1], budget))


def normal_group(shift: float, spread: float, limit: float, price: float = 1.0) -> Group:
    """Half of all people; whose normal deficit is above 0 is refused, and has no recourse beyond a limit."""
    start = float(ndtr(-shift / spread))

    def effort(u: np.ndarray) -> np.ndarray:
        deficit = shift + spread * ndtri(start + u * (1 - start))
        return np.where(deficit > limit, np.inf, price * np.maximum(deficit, 1e-12))

    return Group(0.5, 1 - start, effort)


def paper(alpha: float, limit: float) -> World:
    """The paper's world: the deficit to the mean is normal with deviation sqrt 2, and is the effort."""
    name = f"alpha {alpha:g}, " + ("no limit" if limit == np.inf else f"limit {limit:g}")
    return World(name, *(normal_group(shift, sqrt(2), limit) for shift in (alpha / 2, -alpha / 2)))


def scaled(quantile: Callable[[np.ndarray], np.ndarray], factor: float, recourse: float) -> Callable[..., np.ndarray]:
    """Efforts by quantile; who has no recourse is independent of the effort it would take."""

    def effort(u: np.ndarray) -> np.ndarray:
        # One draw serves twice: whether there is recourse, and which effort.
        return np.where(u < recourse, factor * quantile(np.minimum(u / recourse, 1 - 1e-12)), np.inf)

    return effort


def half_normal(u: np.ndarray) -> np.ndarray:
    """|N(0, 1)|."""
    return ndtri((1 + u) / 2)


OTHERS = (
    # Chosen before any of their rates were looked at; neither was used to choose the formulas.
    World(
        "Weibull 1.3, 30 against 70 % of people",
        Group(0.3, 0.40, scaled(lambda u: (-np.log1p(-u)) ** (1 / 1.3), 1.4, 0.80)),
        Group(0.7, 0.25, scaled(lambda u: (-np.log1p(-u)) ** (1 / 1.3), 1.0, 0.92)),
    ),
    World(
        "half steps of one, half uniform up to 3; 20 against 80 % of people",
        Group(0.2, 0.50, scaled(lambda u: np.where(u < 0.5, 1.0 + np.floor(4 * u), 6 * (u - 0.5)), 1.0, 0.85)),
        Group(0.8, 0.50, scaled(lambda u: np.where(u < 0.6, 1.0 + np.floor(3 * u), 7.5 * (u - 0.6)), 1.0, 0.85)),
    ),
)
