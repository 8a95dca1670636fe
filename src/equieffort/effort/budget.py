"""The budget at which effort is capped, so that everybody counts: also those without recourse."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

import numpy as np

from equieffort.data.frames import Floats

SHARE = 0.95
"""The share of known efforts that the default budget covers: the largest effort would hang on one person."""


def default_budget(costs: Floats) -> float | None:
    """The 95 % point of all finite least costs, all groups pooled, rounded up to two significant digits.

    None where nobody has a cost, or where 95 % cost nothing: then a budget must be declared.

    >>> default_budget(np.array([0.5, 1.0, 1.231, np.inf, np.nan])), default_budget(np.array([0.12] * 3))
    (1.3, 0.12)
    >>> default_budget(np.array([np.inf])) is None
    True
    """
    finite = costs[np.isfinite(costs)]
    point = float(np.quantile(finite, SHARE)) if len(finite) else 0.0
    if not point > 0:
        return None
    # Twelve digits: the rounding of a sum must not lift 0.12 to 0.13.
    value = Decimal(f"{point:.12g}")
    step = Decimal(1).scaleb(value.adjusted() - 1)
    return float(value.quantize(step, rounding=ROUND_CEILING))
