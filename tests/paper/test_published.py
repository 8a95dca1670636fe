"""German credit as published: what must match does, and our costs are never above the paper's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equieffort.errors import EquieffortWarning
from equieffort.paper import presets
from equieffort.paper.compare import (
    EXACT,
    EXPLAINED,
    JUDGEMENTS,
    REASONS,
    UNEXPLAINED,
    WITHIN,
    compare,
    published_points,
)
from equieffort.paper.compute import Size, compute
from equieffort.paper.presets import CORRECTED, PUBLISHED, german

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


@pytest.fixture(scope="module")
def world():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return german(PUBLISHED)


@pytest.fixture(scope="module")
def german_rows():
    """Our German series joined to the published ones; one row a published point."""
    ours = compute(PUBLISHED, Size(seeds=0, sweep_seeds=0), lambda *_: None)
    rows = compare("published", ours)
    return rows[rows["figure"].str.contains("german") | rows["series"].str.startswith("German")]


def test_counts_and_counterfactual_fairness(world):
    table = world.audit.by_group
    assert (table.loc["0", "n_unfavourable"], table.loc["1", "n_unfavourable"]) == (118, 35)
    assert int(world.stays.sum()) == 15
    assert world.cfr == 15 / 118


def test_the_corrected_preset_has_the_known_counts():
    world = german(CORRECTED)
    table = world.audit.by_group
    assert (table.loc["0", "n_unfavourable"], table.loc["1", "n_unfavourable"]) == (31, 33)
    assert int(world.stays.sum()) == 15


@pytest.mark.parametrize(("kind", "count"), [("fig-size-subset", 52), ("fig-ratio-size", 26)])
def test_sizes_and_ratios_match_with_their_bands(german_rows, kind, count):
    rows = german_rows[german_rows["figure"].str.startswith(f"{kind}-german")]
    assert len(rows) == count
    np.testing.assert_allclose(rows["ours"], rows["published"], rtol=1e-5)
    for end in ("low", "high"):
        known = rows[f"published_{end}"].notna()
        np.testing.assert_allclose(rows.loc[known, f"ours_{end}"], rows.loc[known, f"published_{end}"], rtol=1e-5)
    assert set(rows["judgement"]) == {EXACT}


def test_exact_mean_costs_are_never_above_the_published(german_rows):
    rows = german_rows[german_rows["figure"].str.startswith("fig-costs")]
    assert len(rows) == 52
    assert (rows["ours"] <= rows["published"]).all()
    assert set(rows["judgement"]) == {EXPLAINED}


def test_acr_of_everybody_is_close(german_rows):
    rows = german_rows[(german_rows["figure"] == "fig-ratio-cost-german-credit") & (german_rows["x"] == 1.0)]
    assert len(rows) == 2
    np.testing.assert_allclose(rows["ours"], rows["published"], rtol=0.05)


def test_the_fit_tolerance_explains_the_least_cost(monkeypatch):
    """The published least cost lies between those of classifiers fitted to the usual tolerances."""
    least = []
    for settings in ({"solver": "newton-cg"}, {"solver": "lbfgs"}, {"solver": "saga", "random_state": 0}):
        usual = settings | {"C": 1.0, "fit_intercept": False, "max_iter": 10_000}
        monkeypatch.setattr(presets, "LogisticRegression", lambda usual=usual, **_: LogisticRegression(**usual))
        refitted = german(PUBLISHED)
        least.append(np.nanmin(refitted.audit.recourse.cost[refitted.refused]))
    points = published_points().set_index("series")["published"]
    assert min(least) < points["German no CF whislo"] < max(least)


def test_points_are_all_there():
    points = published_points()
    assert len(points) == 342
    assert not points.duplicated(["figure", "series", "x"]).any()


def test_every_judgement_has_its_words(german_rows):
    assert set(german_rows["judgement"]) <= set(JUDGEMENTS)
    assert {reason for reason in german_rows["reason"] if reason} <= set(REASONS)


@pytest.mark.parametrize(
    ("preset", "ours", "low", "high", "figure", "series", "expected"),
    [
        ("published", 1.0, np.nan, np.nan, "fig-size-subset-german-credit-s_0", "s", EXACT),
        ("published", 1.1, np.nan, np.nan, "fig-size-subset-german-credit-s_0", "s", UNEXPLAINED),
        ("published", 0.9, np.nan, np.nan, "fig-costs-german-credit-s_0", "s", EXPLAINED),
        ("published", 1.1, np.nan, np.nan, "fig-costs-german-credit-s_0", "s", UNEXPLAINED),
        ("published", 1.2, 0.9, 1.3, "fig-ratio-cost-synthetic", "s", WITHIN),
        ("published", 1.2, 1.1, 1.3, "fig-ratio-cost-synthetic", "s", UNEXPLAINED),
        ("published", 0.8, 0.7, 0.9, "fig-costs-synthetic-s_0", "s", EXPLAINED),
        ("published", 0.5, 0.4, 0.6, "fig-CF-score", "synthetic data", UNEXPLAINED),
        ("corrected", 0.5, 0.4, 0.6, "fig-CF-score", "synthetic data", EXPLAINED),
        ("corrected", 0.5, np.nan, np.nan, "fig-costs-german-credit-s_1", "s", EXPLAINED),
    ],
)
def test_judgements(preset, ours, low, high, figure, series, expected):
    from equieffort.paper.compare import _judge

    row = {"figure": figure, "series": series, "published": 1.0, "ours": ours, "ours_low": low, "ours_high": high}
    judgement, reason = _judge(preset, row)
    assert judgement == expected
    assert bool(reason) == (judgement in (EXPLAINED, UNEXPLAINED))
