"""MatchedComparison: one group against another, matched."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from equieffort.effort.matching.sets import MatchedSets, Pairs, Strata
from equieffort.effort.measures import Reading


@dataclass(frozen=True, eq=False)
class MatchedComparison:
    """One group against another."""

    group: str
    against: str
    refused: int
    refused_against: int
    caliper: float
    sets: MatchedSets = field(repr=False)
    readings: tuple[Reading, ...]
    unmatched: tuple[float, ...]
    """What the same measures read of all refused people."""
    balance: pd.DataFrame = field(repr=False)

    @property
    def n_sets(self) -> int:
        """Pairs, or strata."""
        if isinstance(self.sets, Pairs):
            return len(self.sets.rows)
        return int(self.sets.stratum.max()) + 1 if isinstance(self.sets, Strata) and not self.sets.is_empty else 0

    @property
    def most_apart(self) -> float:
        """The largest standardised difference that is left; NaN where nobody is matched."""
        left = self.balance["smd_after"].abs().dropna()
        return float(left.max()) if len(left) else float("nan")
