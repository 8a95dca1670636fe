"""How well the structural equations fit: one row a learned node, and warnings where they are weak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Encoding, Floats, percent
from equieffort.errors import Setting, listed, warn
from equieffort.world.scm.design import indicators

POOR_R2 = 0.05
COLLINEAR = 1e10


@dataclass(frozen=True)
class Fit:
    """How well the equation of one node fits the data it was learned from."""

    node: str
    causes: str
    rows: int
    r2: float
    residual_mean: float
    residual_std: float
    residual_skew: float
    bend: float
    """The residual's correlation with the square of the fitted values: what the equation misses."""
    changing_spread: float
    """The correlation of its size with the fitted values."""
    condition: float
    """The condition number of the causes."""

    @property
    def is_poor(self) -> bool:
        """Whether the equation explains almost nothing."""
        return self.r2 < POOR_R2


def examine(node: str, causes: Encoding, parents: Floats, values: Floats, fitted: Floats) -> Fit:
    """Fit quality of one node; warns about collinear causes and a very poor fit."""
    design, owners = indicators(causes, parents)
    residual = values - fitted
    spread = float(values.var())
    r2 = 1.0 - float(np.mean(residual**2)) / spread if spread > 0 else float("nan")
    # An indicator of a level that nobody has explains nothing and disturbs nothing.
    met = [k for k, (_, level) in enumerate(owners) if level is None or design[:, k].any()]
    condition = _condition(design[:, met])
    if condition > COLLINEAR:
        warn(
            "SCM_COLLINEAR",
            f"The causes of {node!r} are collinear or constant: {listed(dict.fromkeys(name for name, _ in owners))}.",
            fix="Remove one of them from the graph, or give the equation yourself.",
        )
    if r2 < POOR_R2:
        warn(
            "SCM_POOR_FIT",
            f"The equation of {node!r} explains {percent(max(r2, 0))} of its variance (R2 = {r2:.3f}).",
            fix=("Reconsider its causes or ", Setting("mechanism"), "; read effects through it with care."),
        )
    centred = residual - residual.mean()
    deviation = float(centred.std())
    return Fit(
        node=node,
        causes=", ".join(causes.names),
        rows=len(values),
        r2=r2,
        residual_mean=float(residual.mean()),
        residual_std=deviation,
        residual_skew=float(np.mean(centred**3)) / deviation**3 if deviation > 0 else 0.0,
        bend=_correlation(residual, (fitted - fitted.mean()) ** 2),
        changing_spread=_correlation(np.abs(centred), fitted),
        condition=condition,
    )


def _condition(design: Floats) -> float:
    """The condition number of the centred, scaled design; infinite when it has no full rank."""
    centred = design - design.mean(axis=0)
    if design.shape[1] == 0:
        return 1.0
    if (np.ptp(design, axis=0) == 0).any():
        return float("inf")
    singular = np.linalg.svd(centred / centred.std(axis=0), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")


def _correlation(a: Floats, b: Floats) -> float:
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
