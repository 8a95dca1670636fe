"""The linear view: a linear classifier, also behind a pipeline, as one linear score in the raw features.

The score is oriented so that larger is better for the person: favourable means score > 0, or score >= 0 when
the favourable set is closed. A categorical feature contributes a value a level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats, read_frame, require_columns
from equieffort.errors import DataError, Setting
from equieffort.foundations.arguments import check_flag, check_mapping, check_number, refused
from equieffort.foundations.tolerances import SCORED
from equieffort.models.classifiers.affine import Affine
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.linear_scores import linear_scores, link
from equieffort.models.classifiers.unwrap import Unwrapped, raw_columns, unwrap
from equieffort.models.classifiers.views import Goals, Layer, LinearView, NetworkView, NoView, require_plain


class LinearScore:
    """A linear rule as a classifier: favourable when the weighted sum reaches the threshold.

    >>> import pandas as pd
    >>> rule = LinearScore({"X1": 1, "X2": 5}, threshold=225000)
    >>> rule.predict(pd.DataFrame({"X1": [75000, 85000], "X2": [25000, 28000]}))
    array([False,  True])
    """

    def __init__(self, coef: Mapping[str, float], *, threshold: float = 0.0, closed: bool = True) -> None:
        check_mapping("coef", coef, 'a mapping from column to weight, such as {"income": 1.0}')
        for name, weight in coef.items():
            check_number(f"The weight of {name!r}", weight, "a finite number")
        check_number("threshold", threshold, "a finite number")
        check_flag("closed", closed)
        self.coef = dict(coef)
        self.threshold = threshold
        self.closed = closed
        self.classes_ = np.array([False, True])
        self.feature_names_in_ = np.array(list(self.coef), dtype=object)

    def score(self, X: Any) -> Floats:
        """The weighted sum of the features."""
        if not (isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")):
            raise refused("X", X, "a table with named columns", error=DataError, code="DATA_TYPE")
        X = X if isinstance(X, pd.DataFrame) else read_frame(X)
        require_columns(X, self.coef, why=("The rule uses a feature, but ", Setting("the table")))
        total = np.zeros(len(X))
        for name, weight in self.coef.items():
            total = total + weight * _amounts(X[name])
        return total

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True where the score reaches the threshold (passes it, when the rule is not closed)."""
        return np.asarray(self.score(X) >= self.threshold if self.closed else self.score(X) > self.threshold)


def _amounts(column: Any) -> Floats:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(
            "DATA_NOT_NUMERIC", f"Column {column.name!r} does not hold numbers.", fix="Convert it to numbers."
        ) from error


def linear_view(decision: Decision, encoding: Encoding) -> LinearView | NetworkView:
    """The linear view of a classifier over the encoded columns; raises `NoView` with the reason.

    With several classes there is one linear margin for each pair of a wanted and another class: a network without
    hidden layers.
    """
    classifier = decision.classifier
    if isinstance(classifier, LinearScore):
        require_plain(classifier)
        affine = raw_columns(decision, encoding, tuple(classifier.coef))
        coef = np.array(list(classifier.coef.values()), dtype=np.float64)
        sign, closed = (1.0, classifier.closed) if decision.wanted == (True,) else (-1.0, not classifier.closed)
        return _one_score(affine, sign * coef, -sign * float(classifier.threshold), closed, rowwise=True)
    opened = unwrap(decision, encoding)
    scores = linear_scores(opened)
    width, columns = scores.coef.shape[1], scores.affine.matrix.shape[0]
    if width != columns:
        raise NoView(f"its {width} coefficients do not match the {columns} columns it gets")
    if len(scores.coef) == 1:
        sign, shift, closed = opened.orient(link(opened))
        if opened.cut is None and scores.zero_is_second:
            closed = not closed
        # Given to doubles, numbers are only rounded as the table rounds what has moved.
        narrow = opened.steps or scores.narrow
        error = max(single_rounding(opened, decision, width if narrow else -3), scores.rounding)
        intercept = sign * float(scores.intercept[0]) + shift
        return _one_score(scores.affine, sign * scores.coef[0], intercept, closed, rowwise=False, single=error)
    if opened.cut is not None:
        raise NoView("a threshold on the probability of one of several classes is not linear in its scores")
    goals, contrasts = Goals.argmax(opened.classes, opened.wanted, first=scores.first_wins)
    error = max(SCORED, single_rounding(opened, decision, width), scores.rounding)
    layer = Layer(contrasts @ scores.coef, contrasts @ scores.intercept)
    return affine_network(scores.affine, (layer,), goals, error)


def single_rounding(opened: Unwrapped, decision: Decision, width: int) -> float:
    """How far a score of `width` columns may be off where the table holds floats coarser than doubles, relative to the
    numbers that are summed; 0 where it holds none.

    scikit-learn goes on computing in the type that it is given: one rounding for each step, two for each product.
    """
    unit = opened.affine.encoding.rounding(decision.features)
    return 0.0 if unit <= 2.0**-53 else float(unit * (width + 2 * len(opened.steps) + 4))


def affine_network(affine: Affine, layers: tuple[Layer, ...], goals: Goals, error: float = SCORED) -> NetworkView:
    """A network over a pipeline's columns as one over the encoded columns: the pipeline goes into the first layer."""
    first = layers[0]
    tables = {k: first.weights @ table for k, table in affine.tables.items()}
    folded = Layer(first.weights @ affine.matrix, first.bias + first.weights @ affine.shift)
    tables = {k: table for k, table in tables.items() if np.any(table)}
    return NetworkView((folded, *layers[1:]), tables, goals, error)


def _one_score(
    affine: Affine, coef: Floats, intercept: float, closed: bool, *, rowwise: bool, single: float = 0.0
) -> LinearView:
    tables = {k: coef @ table for k, table in affine.tables.items()}
    tables = {k: table for k, table in tables.items() if np.any(table)}
    return LinearView(coef @ affine.matrix, tables, float(intercept + coef @ affine.shift), closed, rowwise, single)
