"""People on the edge: values at every threshold of a view, and the nearest floats on both sides of it."""

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding
from equieffort.models.classifiers import Decision, TreeView, recognise


def mixed(n=300, seed=0):
    """Numbers large and small, whole ones, a text and a flag."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.normal(3e4, 9e3, n),
            "debt": rng.normal(0, 1, n) * 1e-3,
            "children": rng.integers(0, 7, n),
            "job": rng.choice(["clerk", "nurse", "pilot", "none"], n),
            "owner": rng.random(n) < 0.4,
        }
    )


def numbers(n=300, seed=0):
    return mixed(n, seed)[["income", "debt", "children"]]


def outcome(frame, classes=("no", "yes"), seed=1):
    """Labels that depend on all columns, and on chance."""
    rng = np.random.default_rng(seed)
    score = (frame["income"] - 3e4) / 9e3 + 1e3 * frame["debt"] * (frame["children"] - 3) / 2
    if "job" in frame:
        score = score + frame["job"].isin(["nurse", "none"]) - frame["owner"] * 0.7
    score = score + rng.normal(0, 0.5, len(frame))
    cuts = np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1])
    return np.array(classes)[np.searchsorted(cuts, score)]


def edges(view, encoding, frame, seed=0, most=100):
    """People of the frame, moved to thresholds and to the doubles and singles beside them."""
    rng = np.random.default_rng(seed)
    tables = [frame.sample(2 * len(frame), replace=True, random_state=seed)]
    for k, column in enumerate(encoding.columns):
        cuts = np.unique(view.threshold[(view.feature == k) & (view.subset < 0)])
        if column.is_category or not len(cuts):
            continue
        cuts = rng.permutation(cuts)[:most]
        single = cuts.astype(np.float32)
        values = [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)]
        for direction in (np.inf, -np.inf):
            beside = np.nextafter(single, np.float32(direction)).astype(np.float64)
            values += [beside, np.nextafter(beside, direction), (beside + single) / 2]
        values += [single.astype(np.float64), np.floor(cuts), np.ceil(cuts)]
        values = np.tile(np.concatenate(values), 2)
        people = frame.iloc[rng.integers(0, len(frame), len(values))].copy()
        people[column.name] = values
        tables.append(people)
    joined = pd.concat(tables, ignore_index=True)
    for name in frame:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            joined[name] = joined[name].astype(frame[name].dtype)
    return joined


def seen(classifier, favourable, frame, **options):
    """The decision, its encoding and its view, which must be one of trees."""
    decision = Decision.of(classifier, favourable, frame, **options)
    encoding = Encoding.of(frame, frame.columns)
    view = recognise(decision, encoding, frame)
    assert isinstance(view, TreeView), view
    return decision, encoding, view


def reason(classifier, favourable, frame, **options):
    """Why there is no view."""
    decision = Decision.of(classifier, favourable, frame, **options)
    return recognise(decision, Encoding.of(frame, frame.columns), frame).reason


def check(classifier, favourable, frame, everywhere=True, **options):
    """The view's labels are the classifier's own, on edges too; both answers occur. Gives the view and the people."""
    decision, encoding, view = seen(classifier, favourable, frame, **options)
    people = edges(view, encoding, frame)
    matrix = encoding.encode(people)
    own, ours = decision.is_favourable(people), view.is_favourable(matrix)
    compared = np.ones(len(own), dtype=bool) if everywhere else view.is_clear(matrix)
    assert compared.mean() > 0.9
    np.testing.assert_array_equal(ours[compared], own[compared])
    assert 0 < own.mean() < 1
    _check_sums(view, matrix)
    return view, people


def _check_sums(view, matrix):
    """The plain sum of doubles is within the stated error of the margins, and children come after their parent."""
    total = view.base + view.values[view.leaves(matrix)].sum(axis=1)
    assert (np.abs(total - view.margins(matrix)) <= view.error).all()
    inner = np.flatnonzero(view.feature >= 0)
    assert (view.left[inner] > inner).all()
    assert (view.right[inner] > inner).all()
    assert np.isfinite(view.threshold).all()
