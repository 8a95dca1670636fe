"""Intervals and tests in closed form: from sums that add, or from sorted costs that merge; nothing is drawn.

`laws` says what is asked of any estimate (limits, one-sided p-values); the other modules make such laws for means,
shares, medians and probabilities.
"""

from equieffort.effort.inference.adjust import ADJUSTMENTS, Adjustment, Holm, Unadjusted
from equieffort.effort.inference.laws import (
    ARCSINE,
    IDENTITY,
    LOG,
    LOGIT,
    ByLimits,
    Fixed,
    Law,
    Ranged,
    Scale,
    Student,
    Zone,
)

__all__ = [
    "ADJUSTMENTS",
    "ARCSINE",
    "IDENTITY",
    "LOG",
    "LOGIT",
    "Adjustment",
    "ByLimits",
    "Fixed",
    "Holm",
    "Law",
    "Ranged",
    "Scale",
    "Student",
    "Unadjusted",
    "Zone",
]
