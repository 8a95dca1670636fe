"""The effort curve: the share of a group's refused whom an effort of at most e turns, with a band for all e at once.

Everybody refused is in the denominator, so a curve ends at the share with a route to approval. Where people are not
solved to the end, a band reaches from what was found to the least that their efforts can be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.effort.inference.orders import half_width, half_width_of_difference, shares_at
from equieffort.effort.measures import Sample
from equieffort.effort.metrics.effort import compared_pair
from equieffort.world.groups import Groups

CURVE = ("group", "effort", "share", "low", "high")
DIFFERENCE = ("group", "against", "effort", "difference", "low", "high")


def effort_curve(samples: dict[str, Sample], level: float) -> pd.DataFrame:
    """One row a group and effort at which its curve or its band steps, from 0 on; NaN where nobody was refused."""
    parts = []
    for label, sample in samples.items():
        at = _places(sample)
        share, half = shares_at(sample.efforts, at), half_width(len(sample.efforts), level)
        low, high = np.clip(share - half, 0, 1), np.clip(shares_at(sample.bounds, at) + half, 0, 1)
        parts.append(_part(CURVE, (label, at, share, low, high)))
    return _joined(parts, CURVE)


def effort_differences(groups: Groups, samples: dict[str, Sample], level: float) -> pd.DataFrame:
    """One row a comparison and effort: the group's share minus the other's, below 0 where the group is worse off."""
    parts = []
    for one in groups.pairs:
        label, against, pair = groups.labels[one.group], one.against, compared_pair(groups, one, samples)
        mine, theirs = pair.mine, pair.theirs
        at = _places(mine, theirs)
        half = half_width_of_difference(len(mine.efforts), len(theirs.efforts), level)
        a, b = shares_at(mine.efforts, at), shares_at(theirs.efforts, at)
        low = np.clip(a - shares_at(theirs.bounds, at) - half, -1, 1)
        high = np.clip(shares_at(mine.bounds, at) - b + half, -1, 1)
        parts.append(_part(DIFFERENCE, (label, against, at, a - b, low, high)))
    return _joined(parts, DIFFERENCE)


def _places(*samples: Sample) -> Floats:
    """Where anything steps, and 0."""
    every = np.concatenate([[0.0], *(part for one in samples for part in (one.efforts, one.bounds))])
    return np.unique(every[np.isfinite(every)])


def _part(columns: tuple[str, ...], values: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(columns, values, strict=True)))


def _joined(parts: list[pd.DataFrame], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))
