"""recognise: the view of a classifier that can be solved exactly, or a black box with the reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.errors import EquieffortError
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.linear import linear_view
from equieffort.models.classifiers.networks import network_view
from equieffort.models.classifiers.trees import tree_view
from equieffort.models.classifiers.views import BlackBox, NoView, View

READERS: list[Callable[[Decision, Encoding], View]] = [linear_view, tree_view, network_view]
"""Tried in this order; each raises `NoView` where it does not fit."""
PROBES, PAIRS, HALVINGS = 200, 25, 20


def recognise(
    decision: Decision, encoding: Encoding, frame: pd.DataFrame, *, probe_points: bool = True
) -> View | BlackBox:
    """The first view that fits, believed only if it agrees with the classifier's own labels.

    Whatever it is asked about has the types that the table has: some models know categories by their type alone.
    Without `probe_points` only about the people at hand, as is enough where one like it was read and asked about them.
    """
    encoding = encoding.typed(frame)
    reasons: list[str] = []
    for read in READERS:
        try:
            return _checked(read(decision, encoding), decision, encoding, frame, probe_points)
        except NoView as reason:
            if reason.reason not in reasons:
                reasons.append(reason.reason)
    return BlackBox("; ".join(reasons))


def _checked(view: View, decision: Decision, encoding: Encoding, frame: pd.DataFrame, beyond: bool) -> View:
    if not view.is_finite():
        what = "a missing value" if decision.missing else "text"
        raise NoView(f"{what} reaches its score without {'an imputer' if decision.missing else 'an encoder'}")
    sample = frame.iloc[:1000]
    matrix = _encoded(encoding, sample, decision)
    complete = np.flatnonzero(~np.isnan(matrix).any(axis=1))
    sample, matrix = sample.iloc[complete], matrix[complete]
    if len(sample):
        _compare(view, decision, matrix, sample)
    if len(sample) and beyond:
        probe_points = encoding.decode(_probe_points(view, encoding, matrix))
        for name in decision.missing:
            probe_points[name] = sample[name].iloc[np.zeros(len(probe_points), dtype=np.intp)].array
        try:
            _compare(view, decision, _encoded(encoding, probe_points, decision), probe_points)
        except EquieffortError as error:
            # Actions lead to people who do not exist either.
            raise NoView(
                f"it fails for people made up of others' values, so that it cannot be checked: {error.what}"
            ) from error
    return view


def _encoded(encoding: Encoding, people: pd.DataFrame, decision: Decision) -> Floats:
    """People with a zero where the value is known to be missing: a view made for them gives it no weight."""
    matrix = encoding.encode(people)
    matrix[:, [encoding.position(name) for name in decision.missing]] = 0.0
    return matrix


def _compare(view: View, decision: Decision, matrix: Floats, people: pd.DataFrame) -> None:
    clear = view.is_clear(matrix)
    if (view.is_favourable(matrix)[clear] != decision.is_favourable(people)[clear]).any():
        raise NoView("its labels do not follow the score that its numbers give")


def _probe_points(view: View, encoding: Encoding, matrix: Floats) -> Floats:
    """People made up of others' values and of numbers beyond them, and some on either side of the view's own boundary.

    Actions lead where nobody was: a view that is right about the people at hand may be wrong there.
    """
    rng = np.random.default_rng(0)
    found = np.column_stack([rng.choice(column, PROBES) for column in matrix.T])
    numbers = [k for k, column in enumerate(encoding.columns) if not column.is_category]
    whole = [k for k in numbers if encoding.columns[k].is_whole]
    low, high = matrix[:, numbers].min(axis=0), matrix[:, numbers].max(axis=0)
    found[::2, numbers] = rng.uniform(low - (high - low), high + (high - low), (len(found[::2]), len(numbers)))
    found[:, whole] = np.rint(found[:, whole])
    yes = view.is_favourable(found)
    pairs = min(yes.sum(), (~yes).sum(), PAIRS)
    here, there = found[yes][:pairs], found[yes][:pairs].copy()
    there[:, numbers] = found[~yes][:pairs][:, numbers]
    inside, outside = np.zeros((pairs, 1)), np.ones((pairs, 1))
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        good = view.is_favourable(here + middle * (there - here))[:, None]
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    beside = np.vstack([here + share * (there - here) for share in (inside, outside)])
    beside[:, whole] = np.rint(beside[:, whole])
    return np.vstack([found, beside])
