"""The bootstrap against one that draws whole people with pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.comparison.worlds import made, people

import equieffort as ee
from equieffort.comparison import compare_audits


def direct_bootstrap(one: ee.Audit, two: ee.Audit, draws: int) -> np.ndarray:
    """Changes of (ACR, RD) over draws of whole people, each group by itself, by pandas alone."""
    rng = np.random.default_rng(99)
    left, right = one.recourse.frame(), two.recourse.frame()
    changes = []
    for _ in range(draws):
        values = []
        picks = {g: rng.choice(left.index[left.group == g], int((left.group == g).sum())) for g in ("ash", "birch")}
        for frame in (left, right):
            phi, rho = {}, {}
            for g, labels in picks.items():
                part = frame.loc[labels]
                part = part[part.status != "not_needed"]
                phi[g], rho[g] = part.cost.mean(), part.cost.notna().mean()
            values.append((phi["ash"] / phi["birch"], rho["birch"] - rho["ash"]))
        changes.append(np.subtract(values[1], values[0]))
    return np.array(changes)


def test_the_interval_is_that_of_drawing_whole_people():
    one, two = made(), made(weights={"income": 1.1, "savings": 0.2}, threshold=6.5)
    found = compare_audits(one, two, draws=4000).noise.set_index("measure")
    direct = direct_bootstrap(one, two, 600)
    for k, name in enumerate(("acr", "rd")):
        low, high = np.nanquantile(direct[:, k], [0.025, 0.975])
        width = high - low
        assert found.loc[name, "low"] == pytest.approx(low, abs=0.2 * width)
        assert found.loc[name, "high"] == pytest.approx(high, abs=0.2 * width)
        assert found.loc[name, "low"] <= found.loc[name, "change"] <= found.loc[name, "high"]


def test_pairing_makes_the_interval_narrow():
    X = people(200)
    same = compare_audits(made(X), made(X, threshold=6.05)).noise.set_index("measure")
    strangers = X.set_axis([f"q{k}" for k in range(200)])
    apart = compare_audits(made(X), made(strangers, threshold=6.05)).noise.set_index("measure")
    width = {name: (frame["high"] - frame["low"])["acr"] for name, frame in (("same", same), ("apart", apart))}
    assert width["same"] < 0.5 * width["apart"]


def test_the_same_question_gets_the_same_answer():
    one, two = made(), made(threshold=7.0)
    pd.testing.assert_frame_equal(compare_audits(one, two).noise, compare_audits(one, two).noise)
    other = compare_audits(one, two, random_state=1).noise
    assert not other[["low", "high"]].equals(compare_audits(one, two).noise[["low", "high"]])
