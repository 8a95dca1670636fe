"""Pure functions of the recourse table and its statistics."""

from equieffort.metrics.curve import PAPER_QUANTILES, acr_curve, individual_ratios, neighbourhood_sweep
from equieffort.metrics.effort import (
    Comparison,
    average_cost_ratio,
    by_group,
    comparisons,
    exact_discrepancy,
    group_samples,
    group_stats,
    recourse_discrepancy,
)
from equieffort.metrics.effort_curve import effort_curve, effort_differences
from equieffort.metrics.unsettled import unsettled

__all__ = [
    "PAPER_QUANTILES",
    "Comparison",
    "acr_curve",
    "average_cost_ratio",
    "by_group",
    "comparisons",
    "effort_curve",
    "effort_differences",
    "exact_discrepancy",
    "group_samples",
    "group_stats",
    "individual_ratios",
    "neighbourhood_sweep",
    "recourse_discrepancy",
    "unsettled",
]
