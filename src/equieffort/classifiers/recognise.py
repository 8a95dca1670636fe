"""recognise: the view of a classifier that can be solved exactly, or a black box with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from equieffort.classifiers.decision import Decision
from equieffort.classifiers.linear import linear_view
from equieffort.classifiers.networks import network_view
from equieffort.classifiers.trees import tree_view
from equieffort.classifiers.views import BlackBox, NoView, View
from equieffort.frames import Encoding

READERS: tuple[Callable[[Decision, Encoding], View], ...] = (linear_view, tree_view, network_view)
"""Tried in this order; each raises `NoView` where it does not fit."""


def recognise(decision: Decision, encoding: Encoding, frame: pd.DataFrame) -> View | BlackBox:
    """The first view that fits, believed only if it agrees with the classifier's own labels."""
    reasons: list[str] = []
    for read in READERS:
        try:
            return _checked(read(decision, encoding), decision, encoding, frame)
        except NoView as reason:
            if reason.reason not in reasons:
                reasons.append(reason.reason)
    return BlackBox("; ".join(reasons))


def _checked(view: View, decision: Decision, encoding: Encoding, frame: pd.DataFrame) -> View:
    if not view.is_finite():
        raise NoView("text reaches its score without an encoder")
    sample = frame.iloc[:1000]
    matrix = encoding.encode(sample)
    complete = ~pd.isna(matrix).any(axis=1)
    sample, matrix = sample[complete], matrix[complete]
    if len(sample):
        clear = view.is_clear(matrix)
        if (view.is_favourable(matrix)[clear] != decision.is_favourable(sample)[clear]).any():
            raise NoView("its labels do not follow the score that its numbers give")
    return view
