"""Fitted regressors over encoded causes; tree ensembles are read, so that they can be enclosed over a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from equieffort.data.frames import Encoding, Floats
from equieffort.errors import listed
from equieffort.foundations.arguments import as_numbers, calling
from equieffort.foundations.genuine import why_not, why_not_all
from equieffort.trees.fitted import FittedTrees, Ints, joined, read_hist_tree, read_tree
from equieffort.world.scm.design import design_columns, indicator_box, indicators
from equieffort.world.scm.equations import EPS, MECHANISM, Additive, bad_equation

CELLS = 4_000_000
"""Boxes times nodes looked at together, to keep memory small."""
LARGEST = float(np.finfo(np.float32).max)
"""What a float of single precision holds."""


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of regression trees."""

    nodes: FittedTrees
    """At leaves `values` are what they add, weights included."""
    constant: float
    single: bool
    """Whether values are cast to float32 before they are compared, as scikit-learn does."""
    inverse_link: Callable[[Floats], Floats] | None = None
    """The rising function that makes the sum a prediction; None leaves it."""

    @cached_property
    def layers(self) -> list[Ints]:
        """The splits of all trees, depth by depth."""
        layers, now = [], self.nodes.roots
        while len(now := now[self.nodes.feature[now] >= 0]):
            layers.append(now)
            now = np.concatenate([self.nodes.left[now], self.nodes.right[now]])
        return layers

    @cached_property
    def size(self) -> float:
        """What no partial sum exceeds."""
        leaves = np.where(self.nodes.feature < 0, np.abs(self.nodes.values[:, 0]), 0.0)
        return abs(self.constant) + float(np.maximum.reduceat(leaves, self.nodes.roots).sum())

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Least and most over boxes of the columns: the leaves that can be reached, tree by tree; rounded outwards."""
        if self.single:
            low, high = _single(low), _single(high)
        least, most = np.empty(len(low)), np.empty(len(low))
        step = max(1, CELLS // max(1, len(self.nodes.feature)))
        for start in range(0, len(low), step):
            part = slice(start, start + step)
            least[part], most[part] = self._sums(low[part], high[part])
        margin = EPS * (8 + 2 * len(self.nodes.roots)) * self.size
        least, most = least - margin, most + margin
        if self.inverse_link is not None:
            with np.errstate(over="ignore"):
                least, most = self.inverse_link(least), self.inverse_link(most)
            least, most = least - 16 * EPS * np.abs(least), most + 16 * EPS * np.abs(most)
        return least, most

    def _sums(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        nodes = self.nodes
        reached = np.zeros((len(low), len(nodes.feature)), dtype=bool)
        reached[:, nodes.roots] = True
        for splits in self.layers:
            here, column, cut = reached[:, splits], nodes.feature[splits], nodes.threshold[splits]
            reached[:, nodes.left[splits]] = here & (low[:, column] <= cut)
            reached[:, nodes.right[splits]] = here & (high[:, column] > cut)
        reached &= nodes.feature < 0
        least = np.minimum.reduceat(np.where(reached, nodes.values[:, 0], np.inf), nodes.roots, axis=1)
        most = np.maximum.reduceat(np.where(reached, nodes.values[:, 0], -np.inf), nodes.roots, axis=1)
        return self.constant + least.sum(axis=1), self.constant + most.sum(axis=1)


class EstimatorEquation(Additive):
    """A fitted regressor over encoded causes; bounded if it is made of trees."""

    def __init__(self, causes: Encoding, estimator: Any) -> None:
        super().__init__(causes, self._predict)
        self.estimator = estimator

    def _predict(self, parents: Floats) -> Floats:
        name = type(self.estimator).__name__
        with calling(
            f"{name}.predict, an equation of {listed(self.causes.names)},",
            "Use a regressor that answers with one finite number a row.",
            **MECHANISM,
        ):
            found = as_numbers(self.estimator.predict(self._askable(indicators(self.causes, parents)[0])))
        if found.shape != (len(parents),) or not np.isfinite(found).all():
            raise bad_equation(
                f"{name}.predict, an equation of {listed(self.causes.names)}, returned the shape {found.shape} for "
                f"{len(parents)} rows, or numbers that are not finite.",
                fix="Use a regressor that answers with one finite number a row.",
            )
        return found

    def _askable(self, rows: Floats) -> Floats:
        """Rows that scikit-learn's trees accept: beyond single precision they refuse, though nothing splits there."""
        if np.all(np.abs(rows) <= LARGEST) or not (isinstance(self.trees, Trees) and self.trees.single):
            return rows
        return np.clip(rows, -LARGEST, LARGEST)

    @cached_property
    def trees(self) -> Trees | str:
        """The regressor as a sum of trees, or the reason why it is none."""
        return read_trees(self.estimator)

    @property
    def why_unbounded(self) -> str:
        """Why f cannot be enclosed; empty if it can."""
        return self.trees if isinstance(self.trees, str) else ""

    def jumps(self) -> dict[int, Floats]:
        """The thresholds of the trees, as the largest values that go left."""
        if not isinstance(self.trees, Trees):
            return {}
        nodes, turn = self.trees.nodes, _last_left if self.trees.single else np.asarray
        columns = enumerate(design_columns(self.causes))
        return {k: turn(nodes.threshold[nodes.feature == at]) for at, (k, code, _) in columns if code is None}

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        assert isinstance(self.trees, Trees)
        return self.trees.bounds(*indicator_box(self.causes, low, high))


def read_trees(estimator: Any) -> Trees | str:
    """The trees of a fitted scikit-learn regressor, believed only if they repeat its predictions; or why not."""
    from sklearn.ensemble import (
        ExtraTreesRegressor,
        GradientBoostingRegressor,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    name = type(estimator).__name__
    found: Trees | str
    if reason := why_not(estimator, "sklearn") or why_not_all(_members(estimator), "sklearn"):
        return f"only its answers are known: {reason}"
    if isinstance(estimator, DecisionTreeRegressor | ExtraTreeRegressor):
        found = _sum([read_tree(estimator.tree_)], 1.0, 0.0, single=True)
    elif isinstance(estimator, RandomForestRegressor | ExtraTreesRegressor):
        share = 1.0 / len(estimator.estimators_)
        found = _sum([read_tree(one.tree_) for one in estimator.estimators_], share, 0.0, single=True)
    elif isinstance(estimator, GradientBoostingRegressor):
        found = _gradient_boosting(estimator)
    elif isinstance(estimator, HistGradientBoostingRegressor):
        found = _hist_gradient_boosting(estimator)
    else:
        found = f"{name} is not a regressor whose values over a range are known"
    if isinstance(found, Trees) and not _repeats(found, estimator):
        return f"the trees of {name} do not repeat its predictions"
    return found


def _members(estimator: Any) -> list[Any]:
    """What a fitted regressor is made of."""
    found = [one for one in np.ravel(getattr(estimator, "estimators_", ())).tolist() if one is not None]
    stages = [one for stage in getattr(estimator, "_predictors", ()) for one in stage]
    trees = [one.tree_ for one in (estimator, *found) if hasattr(one, "tree_")]
    others = [getattr(estimator, name, None) for name in ("init_", "_loss")]
    return [*found, *stages, *trees, *(one for one in others if one is not None and not isinstance(one, str))]


def _gradient_boosting(estimator: Any) -> Trees | str:
    from sklearn.dummy import DummyRegressor

    if isinstance(estimator.init_, DummyRegressor):
        constant = float(np.ravel(estimator.init_.constant_)[0])
    elif isinstance(estimator.init_, str) and estimator.init_ == "zero":
        constant = 0.0
    else:
        return f"{type(estimator).__name__} starts from {type(estimator.init_).__name__}, which cannot be enclosed"
    trees = [read_tree(one.tree_) for one in estimator.estimators_[:, 0]]
    return _sum(trees, estimator.learning_rate, constant, single=True)


def _hist_gradient_boosting(estimator: Any) -> Trees | str:
    # There is no public way to these trees; what is read here is believed only after `_repeats`.
    try:
        trees = [read_hist_tree(stage[0]) for stage in estimator._predictors]
        constant = float(np.ravel(estimator._baseline_prediction)[0])
        link = estimator._loss.link
    except (AttributeError, KeyError, IndexError, ValueError) as error:
        return f"the trees of {type(estimator).__name__} could not be read ({type(error).__name__})"
    if any(tree.splits_codes for tree in trees):
        return f"{type(estimator).__name__} splits categories by sets, which cannot be enclosed"
    names = {"IdentityLink": None, "LogLink": np.exp}
    if type(link).__name__ not in names:
        return f"the link {type(link).__name__} of {type(estimator).__name__} is not known"
    return _sum(trees, 1.0, constant, single=False, link=names[type(link).__name__])


def _sum(trees: list[FittedTrees], weight: float, constant: float, *, single: bool, link: Any = None) -> Trees | str:
    if not trees:
        return "it has no trees"
    return Trees(joined([replace(tree, values=weight * tree.values) for tree in trees]), constant, single, link)


def _repeats(trees: Trees, estimator: Any) -> bool:
    """Whether the trees give the estimator's own predictions, at thresholds, beside them and between."""
    rng = np.random.default_rng(0)
    rows, at = np.zeros((256, int(estimator.n_features_in_))), trees.nodes.threshold
    for k in range(rows.shape[1]):
        cuts = at[(trees.nodes.feature == k) & np.isfinite(at)]
        if len(cuts):
            drawn = rng.choice(cuts, len(rows))
            step = np.abs(drawn) * rng.choice([0.0, EPS, -EPS, 1e-7, -1e-7, 0.1, -0.1], len(rows))
            rows[:, k] = drawn + step
    least, most = trees.bounds(rows, rows)
    theirs = np.asarray(estimator.predict(rows), dtype=np.float64)
    tolerance = 1e-9 * (1 + np.abs(theirs))
    return bool(np.all((least <= theirs) & (theirs <= most) & (most - least <= tolerance * (1 + trees.size))))


def _single(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _last_left(thresholds: Floats) -> Floats:
    """The largest doubles whose single-precision cast is at most the threshold."""
    nearest = thresholds.astype(np.float32)
    below = np.where(nearest.astype(np.float64) > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
    middle = 0.5 * (below.astype(np.float64) + above)
    return np.where(middle.astype(np.float32) <= below, middle, np.nextafter(middle, -np.inf))
