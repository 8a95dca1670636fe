import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

from equieffort.datasets import paper_synthetic, paper_synthetic_truth
from equieffort.errors import ParameterError

LARGE_SAMPLE_ACR = [1, 1.379, 1.895, 2.584, 3.483, 4.620, 6.015]
FULL_SHIFT_CFR = [1, 0.567, 0.315, 0.169, 0.085, 0.040, 0.017]


def test_shape_names_and_types():
    people, outcome = paper_synthetic()
    assert people.shape == (1000, 3)
    assert people.dtypes.astype(str).to_dict() == {"S": "int8", "X2": "float64", "X3": "float64"}
    assert list(people.columns) == ["S", "X2", "X3"]
    assert list(people.index) == list(range(1000)) == list(outcome.index)
    assert outcome.name == "Y"
    assert outcome.dtype == "int64"
    assert set(people["S"]) == {0, 1} == set(outcome)


@pytest.mark.parametrize("alpha", [0, 2, 6])
def test_moments(alpha):
    n = 200_000
    people, outcome = paper_synthetic(alpha, n, 7)
    # Standard errors here are at most 0.005, so 0.03 is six of them or more.
    assert people["S"].mean() == pytest.approx(0.5, abs=0.03)
    for group in (0, 1):
        X2 = people.loc[people["S"] == group, "X2"]
        assert X2.mean() == pytest.approx(3 + alpha * group, abs=0.03)
        assert X2.std() == pytest.approx(1, abs=0.03)
    assert people["X3"].mean() == pytest.approx(0, abs=0.03)
    assert people["X3"].std() == pytest.approx(1, abs=0.03)
    noise = people["X2"] - alpha * people["S"]
    correlations = np.corrcoef([people["S"], noise, people["X3"]])
    assert np.abs(correlations - np.eye(3)).max() < 0.03
    assert outcome.mean() == pytest.approx(0.5, abs=0.03)


def test_drawn_labels_follow_the_chance():
    people, outcome = paper_synthetic(2, 200_000, 3)
    score = people["X2"] + people["X3"]
    standardised = (score - score.mean()) / score.std(ddof=0)
    chance = 1 / (1 + np.exp(-standardised))
    for low in np.arange(0.1, 0.9, 0.1):
        inside = (chance > low) & (chance <= low + 0.1)
        assert outcome[inside].mean() == pytest.approx(chance[inside].mean(), abs=0.03)


def test_thresholded_labels_are_those_above_the_mean():
    people, outcome = paper_synthetic(2, random_state=4, labels="thresholded")
    score = people["X2"] + people["X3"]
    assert outcome.tolist() == (score > score.mean()).astype(int).tolist()


def test_seeds():
    people, outcome = paper_synthetic(2, 50, 11)
    again, outcome_again = paper_synthetic(2, 50, 11)
    pd.testing.assert_frame_equal(people, again)
    pd.testing.assert_series_equal(outcome, outcome_again)
    from_generator, _ = paper_synthetic(2, 50, np.random.default_rng(11))
    pd.testing.assert_frame_equal(people, from_generator)
    assert not people.equals(paper_synthetic(2, 50, 12)[0])
    assert not paper_synthetic(random_state=None)[0].equals(paper_synthetic(random_state=None)[0])


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    assert not paper_synthetic(n=20, random_state=rng)[0].equals(paper_synthetic(n=20, random_state=rng)[0])


def test_one_seed_gives_comparable_people():
    base, _ = paper_synthetic(0, 50, 5)
    ahead, _ = paper_synthetic(3, 50, 5)
    thresholded, _ = paper_synthetic(0, 50, 5, labels="thresholded")
    pd.testing.assert_frame_equal(base, thresholded)
    assert ahead["X3"].equals(base["X3"])
    assert ahead["S"].equals(base["S"])
    np.testing.assert_allclose(ahead["X2"], base["X2"] + 3 * base["S"])


@pytest.mark.parametrize("labels", ["drawn", "thresholded"])
@pytest.mark.parametrize("n", [1, 2, np.int64(3)])
def test_very_few_people(n, labels):
    people, outcome = paper_synthetic(n=n, labels=labels)
    assert len(people) == len(outcome) == n
    assert np.isfinite(people.to_numpy()).all()


@pytest.mark.parametrize("alpha", range(7))
def test_truth_has_the_reference_values(alpha):
    truth = paper_synthetic_truth(alpha)
    assert truth["acr"] == pytest.approx(LARGE_SAMPLE_ACR[alpha], abs=6e-4)
    assert truth["cfr"] == pytest.approx(FULL_SHIFT_CFR[alpha], abs=6e-4)


@pytest.mark.parametrize("alpha", [-3, 0, 0.5, 2, 6, 12])
def test_truth_against_integration(alpha):
    truth = paper_synthetic_truth(alpha)
    threshold = 3 + alpha / 2
    costs = []
    for mean in (3, 3 + alpha):
        density = NormalDist(mean, math.sqrt(2)).pdf
        lowest = min(mean, threshold) - 20
        # The tail is thin where a group is far ahead, so the precision must be relative.
        options = {"epsabs": 0, "epsrel": 1e-10, "points": sorted({min(mean, threshold), threshold - 1})}
        refused = quad(density, lowest, threshold, **options)[0]
        gap = quad(lambda score, density=density: (threshold - score) * density(score), lowest, threshold, **options)
        costs.append(gap[0] / refused)
    assert truth["protected_cost_raw"] == pytest.approx(costs[0], rel=1e-7)
    assert truth["unprotected_cost_raw"] == pytest.approx(costs[1], rel=1e-7)
    sd = math.sqrt(1 + alpha**2 / 4)
    assert truth["protected_cost"] == pytest.approx(costs[0] / sd, rel=1e-7)
    assert truth["unprotected_cost"] == pytest.approx(costs[1] / sd, rel=1e-7)
    assert truth["acr"] == pytest.approx(costs[0] / costs[1], rel=1e-7)


@pytest.mark.parametrize("alpha", [-2, 0, 1, 3])
def test_truth_against_a_large_sample(alpha):
    people, _ = paper_synthetic(alpha, 400_000, 17)
    score, threshold = people["X2"] + people["X3"], (people["X2"] + people["X3"]).mean()
    truth = paper_synthetic_truth(alpha)
    sd = people["X2"].std()
    for group, name in ((0, "protected_cost"), (1, "unprotected_cost")):
        gaps = threshold - score[(people["S"] == group) & (score < threshold)]
        assert gaps.mean() == pytest.approx(truth[f"{name}_raw"], rel=0.03)
        assert gaps.mean() / sd == pytest.approx(truth[name], rel=0.03)
    refused = score[(people["S"] == 0) & (score < threshold)]
    assert (refused + alpha < threshold).mean() == pytest.approx(truth["cfr"], abs=0.01)


def test_truth_mirrors():
    ahead, behind = paper_synthetic_truth(2.5), paper_synthetic_truth(-2.5)
    assert behind["protected_cost"] == pytest.approx(ahead["unprotected_cost"])
    assert behind["acr"] == pytest.approx(1 / ahead["acr"])
    assert behind["cfr"] == 1


@pytest.mark.parametrize("alpha", [50, 1000])
def test_truth_far_in_the_tail(alpha):
    truth = paper_synthetic_truth(alpha)
    # Far below their mean, the gap of the few refused people is nearly exponential; its rate is
    # z / sqrt 2 = alpha / 4.
    assert truth["unprotected_cost_raw"] == pytest.approx(4 / alpha, rel=0.01)
    assert truth["protected_cost_raw"] == pytest.approx(alpha / 2, rel=1e-9)
    assert 0 <= truth["cfr"] < 1e-60


@pytest.mark.parametrize("alpha", [math.nan, math.inf, -math.inf, 1001, -1001, 10**400, "two", None, [1, 2]])
def test_bad_alpha(alpha):
    for function in (paper_synthetic, paper_synthetic_truth):
        with pytest.raises(ParameterError, match="alpha is") as caught:
            function(alpha)
        assert caught.value.code == "PARAMETER"


@pytest.mark.parametrize("n", [0, -1, 2.0, "5", None])
def test_bad_n(n):
    with pytest.raises(ParameterError, match="n is") as caught:
        paper_synthetic(n=n)
    assert caught.value.code == "PARAMETER"


@pytest.mark.parametrize("random_state", [-1, "seed", 0.5])
def test_bad_random_state(random_state):
    with pytest.raises(ParameterError, match="random_state is") as caught:
        paper_synthetic(random_state=random_state)
    assert caught.value.code == "PARAMETER"


def test_bad_labels():
    with pytest.raises(ParameterError, match="Did you mean 'drawn'") as caught:
        paper_synthetic(labels="drwn")
    assert caught.value.code == "PARAMETER"
