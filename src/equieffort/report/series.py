"""Series for the pictures."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.report.svg import Line, Look

DECILES = np.arange(1, 10) / 10
MOST_STEPS = 240


def ecdf(label: str, values: Floats, look: Look, coarse: bool) -> Line:
    """Steps through all values, or a line through deciles where single values must not show."""
    if coarse:
        return Line(label, np.quantile(values, DECILES).tolist(), DECILES.tolist(), look=look)
    values = np.sort(values)
    heights = np.arange(1, len(values) + 1) / len(values)
    keep = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).round().astype(int))
    return Line(label, values[keep].tolist(), heights[keep].tolist(), look=look)


def rate(part: int, whole: int) -> float:
    """The share, NaN of nobody."""
    return part / whole if whole else float("nan")
