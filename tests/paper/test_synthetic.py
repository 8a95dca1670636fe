"""The synthetic world: published ACRs lie in the sampling band, and large samples meet the closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from equieffort.datasets import paper_synthetic_truth
from equieffort.paper.compare import compare
from equieffort.paper.compute import Size, compute
from equieffort.paper.presets import CORRECTED, PUBLISHED, synthetic

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


@pytest.mark.parametrize("seeds", [20, pytest.param(40, marks=pytest.mark.verify)])
def test_published_ratios_lie_in_the_band_over_seeds(seeds):
    ours = compute(PUBLISHED, Size(seeds=seeds, sweep_seeds=0, jobs=1), lambda *_: None, "fig-ratio-cost-synthetic")
    rows = compare("published", ours).query("figure == 'fig-ratio-cost-synthetic'")
    assert len(rows) == 26
    assert (rows["published"] >= rows["ours_low"]).all()
    assert (rows["published"] <= rows["ours_high"]).all()


@pytest.mark.parametrize(
    ("alpha", "n", "draws"),
    [(0, 40_000, 12), (4, 40_000, 12)]
    + [pytest.param(alpha, 200_000, 20, marks=pytest.mark.verify) for alpha in (0, 1, 2, 3, 4)],
)
def test_large_samples_meet_the_closed_forms(alpha, n, draws):
    """ACR(1) and CFR averaged over draws, with intercepts."""
    truth = paper_synthetic_truth(alpha)
    ratios, fairness = [], []
    for seed in range(draws):
        world = synthetic(CORRECTED, alpha, n, seed)
        ratios.append(world.audit.system.comparisons[0].acr)
        fairness.append(world.cfr)
    for name, values, expected in (("acr", ratios, truth["acr"]), ("cfr", fairness, truth["cfr"])):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        # At alpha = 0 CFR is 1, its largest value: any error of the fitted slope can only lower it.
        if (name, alpha) != ("cfr", 0):
            assert abs(np.mean(values) - expected) <= 3 * error
        assert abs(np.mean(values) / expected - 1) <= 0.01
