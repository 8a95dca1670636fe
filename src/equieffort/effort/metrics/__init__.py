"""Pure functions of the recourse table and its statistics."""

from equieffort.effort.metrics.bands import Bands, Jackknife, PaperBands, is_bands
from equieffort.effort.metrics.centres import LEAST, Centres, default_centres
from equieffort.effort.metrics.curve import PAPER_QUANTILES, Curve, curve, individual_ratios, neighbourhood_sweep
from equieffort.effort.metrics.effort import (
    SHORT,
    Comparison,
    average_cost_ratio,
    compared_pair,
    comparisons,
    exact_discrepancy,
    group_frame,
    group_samples,
    group_stats,
    pooled_budget,
    recourse_discrepancy,
    unsettled,
    unsettled_rows,
)
from equieffort.effort.metrics.effort_curve import effort_curve, effort_differences

__all__ = [
    "LEAST",
    "SHORT",
    "PAPER_QUANTILES",
    "Bands",
    "Centres",
    "Comparison",
    "Curve",
    "Jackknife",
    "PaperBands",
    "average_cost_ratio",
    "compared_pair",
    "comparisons",
    "effort_curve",
    "effort_differences",
    "curve",
    "default_centres",
    "exact_discrepancy",
    "group_frame",
    "group_samples",
    "group_stats",
    "individual_ratios",
    "is_bands",
    "neighbourhood_sweep",
    "pooled_budget",
    "recourse_discrepancy",
    "unsettled",
    "unsettled_rows",
]
