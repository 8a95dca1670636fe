"""Cut: a threshold on what a classifier responds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Response = Literal["predict_proba", "decision_function"]


@dataclass(frozen=True)
class DecisionThreshold:
    """The favourable label is given when a response for some classes reaches a threshold, or when it does not."""

    positions: tuple[int, ...]
    """The classes whose response is read (probabilities of several are added)."""
    threshold: float
    response: Response
    above: bool
    """Whether reaching the threshold is what people want."""
