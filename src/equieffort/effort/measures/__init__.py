"""Measures: each a small value in a file of its own, and one list that everything else reads.

A measure of your own is a subclass of `Measure` with a name, an estimate and, if it has one, a law for its interval;
pass it as `audit(..., measures=[MyMeasure()])`.
"""

from equieffort.effort.measures.acr import AverageCostRatio
from equieffort.effort.measures.acr_always import AlwaysLeast, AlwaysMost
from equieffort.effort.measures.assigned import Unplaced
from equieffort.effort.measures.base import NOTES, Measure, Pair, Reading, read
from equieffort.effort.measures.burden import Burden
from equieffort.effort.measures.difference import EffortDifference
from equieffort.effort.measures.impact_ratio import ImpactRatio, RecordedImpactRatio
from equieffort.effort.measures.median_effort import MedianEffort
from equieffort.effort.measures.needs_more import NeedsMore
from equieffort.effort.measures.rd import RecourseDiscrepancy
from equieffort.effort.measures.restricted_effort import RestrictedEffort
from equieffort.effort.measures.sample import Sample, sample
from equieffort.effort.measures.spread import CHANCE, Chance, Spread, read_spread

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        AverageCostRatio(),
        RecourseDiscrepancy(),
        RestrictedEffort(),
        NeedsMore(),
        EffortDifference(),
        MedianEffort(),
        Burden(),
        AlwaysLeast(),
        AlwaysMost(),
        ImpactRatio(),
        RecordedImpactRatio(),
    )
}
"""Name -> measure, in the order in which they are shown."""

JUDGED = tuple(name for name, measure in MEASURES.items() if measure.threshold is not None)
"""The measures that a verdict can rest on."""

__all__ = [
    "CHANCE",
    "JUDGED",
    "MEASURES",
    "NOTES",
    "AlwaysLeast",
    "AlwaysMost",
    "AverageCostRatio",
    "Burden",
    "Chance",
    "EffortDifference",
    "ImpactRatio",
    "Measure",
    "MedianEffort",
    "NeedsMore",
    "Pair",
    "Reading",
    "RecordedImpactRatio",
    "RecourseDiscrepancy",
    "RestrictedEffort",
    "Sample",
    "Spread",
    "Unplaced",
    "read",
    "read_spread",
    "sample",
]
