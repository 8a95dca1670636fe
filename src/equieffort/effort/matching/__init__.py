"""Matching: refused people of a group beside refused people of another who are like them, and what they compare."""

from equieffort.effort.matching.balance import balance_table
from equieffort.effort.matching.comparison import MatchedComparison
from equieffort.effort.matching.methods import (
    CoarsenedExact,
    ExactMatching,
    Matching,
    MatchingMethod,
    NearestNeighbour,
    OptimalPairs,
)
from equieffort.effort.matching.readings import Efforts, matched_readings
from equieffort.effort.matching.sets import MatchedSets, Pairs, Strata

__all__ = [
    "CoarsenedExact",
    "Efforts",
    "ExactMatching",
    "MatchedComparison",
    "MatchedSets",
    "Matching",
    "MatchingMethod",
    "NearestNeighbour",
    "OptimalPairs",
    "Pairs",
    "Strata",
    "balance_table",
    "matched_readings",
]
