"""The effort curve is plain counting; its bands cover as often as they say."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest
from tests.report.worlds import unsettled, world

import equieffort as ee
from equieffort.effort.inference.orders import half_width, half_width_of_difference
from equieffort.effort.measures import Sample
from equieffort.effort.metrics import effort_curve
from equieffort.errors import ParameterError


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return world()


@pytest.fixture(scope="module")
def costs(audit) -> dict[str, list[float]]:
    """What the refused of each group pay, NaN where they have no action."""
    refused = audit.recourse.frame().query("status != 'not_needed'")
    return {group: people["cost"].tolist() for group, people in refused.groupby("group")}


def counted(costs: list[float], at: float) -> float:
    """The share of the refused of a group whose action costs at most so much."""
    return sum(cost <= at for cost in costs) / len(costs)


def test_the_curve_is_plain_counting(audit, costs):
    curve = audit.effort_curve()
    assert list(curve.columns) == ["group", "effort", "share", "low", "high"]
    assert list(curve["group"].unique()) == list(audit.recourse.groups.labels)
    rho = audit.by_group["rho"]
    for group, rows in curve.groupby("group"):
        assert rows["effort"].iloc[0] == 0
        assert rows["effort"].is_monotonic_increasing
        for row in rows.itertuples():
            assert row.share == pytest.approx(counted(costs[group], row.effort))
        assert rows["share"].iloc[-1] == pytest.approx(rho[group])
    assert (rho < 1).any()


def test_the_band_is_that_of_kolmogorovs_test(audit):
    for _, rows in audit.effort_curve().groupby("group"):
        n = round(1 / rows["share"].diff().iloc[1:].min())
        wide = rows[(rows["low"] > 0) & (rows["high"] < 1)]
        half = (wide["high"] - wide["low"]).to_numpy() / 2
        assert np.ptp(half) < 1e-12
        # Values at (i - 1/2) / n are rejected at 5 % once they are shifted further than the band is wide.
        middle = (np.arange(n) + 0.5) / n
        for more, rejected in ((1e-6, True), (-1e-6, False)):
            shifted = middle + half[0] - 0.5 / n + more
            p = kstest(shifted, lambda x: np.clip(x, 0, 1), method="exact").pvalue
            assert (p < 0.05) == rejected


def test_the_difference_is_the_difference_of_the_curves(audit, costs):
    found = audit.effort_curve(difference=True)
    assert list(found.columns) == ["group", "against", "effort", "difference", "low", "high"]
    assert set(found["against"]) == {"birch"}
    counts = audit.by_group["n_unfavourable"]
    for group, rows in found.groupby("group"):
        half = 1.3581 * np.sqrt(1 / counts[group] + 1 / counts["birch"])
        for row in list(rows.itertuples())[::7]:
            expected = counted(costs[group], row.effort) - counted(costs["birch"], row.effort)
            assert row.difference == pytest.approx(expected)
            assert row.low == pytest.approx(max(-1, expected - half), abs=1e-4)
            assert row.high == pytest.approx(min(1, expected + half), abs=1e-4)


def test_people_not_solved_to_the_end_widen_the_band(audit):
    open_ones = unsettled(audit)
    curve = open_ones.effort_curve()
    as_found = replace(open_ones, criteria=ee.Criteria(certified=False)).effort_curve()
    for (_, rows), (_, found) in zip(curve.groupby("group"), as_found.groupby("group"), strict=True):
        there = np.searchsorted(rows["effort"], found["effort"], "right") - 1
        assert (rows["high"].to_numpy()[there] >= found["high"].to_numpy()).all()
        assert rows["high"].iloc[-1] >= found["high"].iloc[-1]
        # What was found, and what was there before anything was lost, both lie in it.
        before = audit.effort_curve().query("group == @rows.group.iloc[0]")
        assert rows["share"].iloc[-1] < before["share"].iloc[-1] <= rows["high"].iloc[-1]


EDGES = {
    "nobody": ([], [(0.0, np.nan)]),
    "one person": ([2.0], [(0.0, 0.0), (2.0, 1.0)]),
    "one without a route": ([np.inf], [(0.0, 0.0)]),
    "all without a route": ([np.inf] * 4, [(0.0, 0.0)]),
    "no effort": ([0.0, 0.0], [(0.0, 1.0)]),
    "ties": ([1.0, 1.0, np.inf, 3.0], [(0.0, 0.0), (1.0, 0.5), (3.0, 0.75)]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    efforts, expected = EDGES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = effort_curve({"a": Sample.solved(np.array(efforts, dtype=float), approved=3)}, 0.95)
    np.testing.assert_array_equal(found[["effort", "share"]].to_numpy(), np.array(expected))
    known = found.dropna()
    assert ((known["low"] >= 0) & (known["low"] <= known["share"])).all()
    assert ((known["share"] <= known["high"]) & (known["high"] <= 1)).all()
    assert len(known) == (len(found) if efforts else 0)


def test_nobody_refused_in_a_group_is_no_difference():
    made = world(n=60)
    table = made.recourse
    status = np.where(table.groups.codes == 0, 0, table.status).astype(np.int8)
    label = table.groups.labels[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = replace(made, recourse=replace(table, status=status)).effort_curve(difference=True)
    rows = found[(found["group"] == label) | (found["against"] == label)]
    assert len(rows)
    assert rows[["difference", "low", "high"]].isna().all(axis=None)


def test_bands_cover_as_often_as_they_say():
    rng = np.random.default_rng(12)
    repetitions, inside, both = 600, 0, 0
    places = np.linspace(0.001, 12, 400)
    n, m, recourse = 40, 25, 0.7
    half, half_of_both = half_width(n, 0.95), half_width_of_difference(n, m, 0.95)
    true = recourse * (1 - np.exp(-places))
    for _ in range(repetitions):
        a, b = (
            np.sort(np.where(rng.random(k) < recourse, rng.exponential(size=k), np.inf)) for k in (n, m)
        )  # fmt: skip
        f, g = (np.searchsorted(one, places, "right") / len(one) for one in (a, b))
        inside += bool((np.abs(f - true) <= half).all())
        both += bool((np.abs(f - g) <= half_of_both).all())
    # Five standard errors of the simulation below 95 %; a band of nine tenths the width would cover about 90 %.
    assert inside / repetitions >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / repetitions)
    assert both / repetitions >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / repetitions)
    assert inside < repetitions
    assert both < repetitions


def test_the_level_is_that_of_the_criteria(audit):
    wide, narrow = (replace(audit, criteria=ee.Criteria(level=level)).effort_curve() for level in (0.99, 0.9))
    assert (wide["high"] >= narrow["high"]).all()
    assert (wide["high"] > narrow["high"]).any()
    paper = replace(audit, criteria=ee.Criteria(level=None)).effort_curve()
    assert paper.equals(audit.effort_curve())


def test_a_loaded_audit_has_the_same_curve(audit, tmp_path):
    audit.save(tmp_path / "x.audit")
    assert ee.load(tmp_path / "x.audit").effort_curve().equals(audit.effort_curve())


def test_what_is_no_flag_is_refused(audit):
    with pytest.raises(ParameterError, match="difference"):
        audit.effort_curve(difference="yes")
