"""The curve over quantiles: ACR, efforts, sizes and own-group share averaged over the people of a group.

Each unfavourably decided person is a centre. A person whose neighbourhood lacks one of the two groups, or in which the
other group's effort is undefined or zero, has no ACR: they are left out of ACR and of both effort curves, and counted.
The band is 1.96 standard errors of the mean over centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from equieffort.distances import BoundDistance
from equieffort.frames import Floats
from equieffort.neighbours import Sweep, sweep
from equieffort.table import RecourseTable

PAPER_QUANTILES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The quantiles of the paper's figures."""

Z95 = 1.96


def neighbourhood_sweep(
    table: RecourseTable, distance: BoundDistance, quantiles: Sequence[float], centres: Any = None
) -> Sweep:
    """Neighbourhood sums around the given centres (by default everybody who was decided unfavourably)."""
    unfavourable = table.is_unfavourable
    group = np.where(unfavourable, table.groups.codes, -1).astype(np.int64)
    where = np.flatnonzero(unfavourable) if centres is None else np.asarray(centres)
    return sweep(distance, where, quantiles, group, table.effort, len(table.groups.labels))


def acr_curve(table: RecourseTable, found: Sweep) -> pd.DataFrame:
    """One row a group, opponent and quantile, averaged over the group's centres."""
    groups = table.groups
    own = groups.codes[found.centres]
    pairs = [(code, groups.reference) for code in groups.compared]
    pairs += [(groups.reference, code) for code in groups.compared]
    rows = []
    for a, b in pairs:
        centres = own == a
        ratios = individual_ratios(found, a, b)[centres]
        for q, quantile in enumerate(found.quantiles.tolist()):
            head = {"group": groups.labels[a], "against": groups.labels[b], "quantile": quantile}
            rows.append(head | _at(found, centres, ratios[:, q], q, a, b))
    return pd.DataFrame(rows)


def individual_ratios(found: Sweep, a: int, b: int) -> Floats:
    """ACR of group a against b around each centre (rows) and quantile (columns); NaN where undefined."""
    mine, theirs = found.phi[:, :, a], found.phi[:, :, b]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(theirs > 0, mine / theirs, np.nan)


def _at(found: Sweep, centres: Any, ratio: Floats, q: int, a: int, b: int) -> dict[str, Any]:
    defined = ~np.isnan(ratio)
    mine, theirs = found.phi[centres, q, a], found.phi[centres, q, b]
    size_own, size_other = found.size[centres, q, a], found.size[centres, q, b]
    both = size_own + size_other
    share = size_own[both > 0] / both[both > 0]
    discrepancy = found.rho[centres, q, b] - found.rho[centres, q, a]
    return (
        {"n_centres": int(np.sum(centres)), "n_undefined": int(np.sum(~defined))}
        | band("acr", ratio[defined])
        | {"acr_median": float(np.median(ratio[defined])) if defined.any() else float("nan")}
        | band("phi_own", mine[defined])
        | band("phi_other", theirs[defined])
        | band("rd", discrepancy[~np.isnan(discrepancy)])
        | band("size_own", size_own.astype(np.float64))
        | band("size_other", size_other.astype(np.float64))
        | band("own_share", share)
    )


def band(name: str, values: Floats) -> dict[str, float]:
    """Mean and 95 % band of the mean; NaN for nobody, no width for one person."""
    if len(values) == 0:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), float("nan"))
    mean = float(np.mean(values))
    half = Z95 * float(np.std(values, ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
