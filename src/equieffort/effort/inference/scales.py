"""The scale on which an estimate is symmetric: ratios by their logarithm, probabilities by their logit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, nan


@dataclass(frozen=True)
class Scale:
    """A way there and back; both rise."""

    name: str
    to: Callable[[float], float]
    back: Callable[[float], float]


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf if value == 0 else nan


def _exp(value: float) -> float:
    return inf if value > 709 else exp(value)


def _logit(share: float) -> float:
    return -inf if share == 0 else inf if share == 1 else log(share / (1 - share))


def _expit(value: float) -> float:
    return 1 / (1 + _exp(-value))


IDENTITY = Scale("identity", float, float)
LOG = Scale("log", _log, _exp)
LOGIT = Scale("logit", _logit, _expit)
