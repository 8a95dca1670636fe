"""Causal discrimination: its known ends, an enumeration of the whole domain, and what is drawn."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
import pytest
from tests.chance import fewest, most
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.notions import NotApplicable
from equieffort.notions.discrimination import DiscriminationFamily

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def world(coef: dict[str, float], n: int = 60, **more) -> ee.Audit:
    """The labels of von Kügelgen's world decided by a linear score."""
    one = ee.datasets.fair_recourse("CAU linear")
    X, _ = one.sample(n, random_state=0)
    features = unlimited(dict.fromkeys(one.actionable, "actionable"))
    schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=features)
    return ee.audit(ee.LinearScore(coef, **more), X, schema=schema, scm=one.scm)


class Table:
    """A model that looks labels up."""

    feature_names_in_ = np.array(["s", "t", "k", "c"], dtype=object)
    classes_ = np.array([0, 1])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        score = X["k"] + 2 * (X["c"] == "m") + 3 * (X["s"] == "b") - 2 * (X["t"] == 1) * (X["s"] == "a")
        return (score.to_numpy(dtype=float) > 3).astype(int)


def small(**more) -> ee.Audit:
    """Everything is discrete, so that the whole domain can be listed: s, t sensitive, k in 0..4, c in three levels."""
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame(
        {
            "s": rng.choice(["a", "b"], n), "t": rng.integers(0, 2, n), "k": rng.integers(0, 5, n),
            "c": rng.choice(["l", "m", "r"], n),
        }
    )  # fmt: skip
    X.loc[(X["s"] == "b") & (X["t"] == 1), "t"] = 0
    schema = ee.Schema(
        sensitive=["s", "t"], protected=[("a", 0)], reference=("b", 0), favourable=1,
        features={"k": ee.Feature("actionable", kind="integer")}, **more,
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["s", "t", "k", "c"]).fit(X)
    return ee.audit(Table(), X, schema=schema, scm=scm)


def label(s: str, t: int, k: int, c: str) -> bool:
    return bool(Table().predict(pd.DataFrame({"s": [s], "t": [t], "k": [k], "c": [c]}))[0])


LEVELS = [("a", 0), ("a", 1), ("b", 0)]


def changes(k: int, c: str) -> bool:
    return len({label(*level, k, c) for level in LEVELS}) > 1


def test_it_is_none_for_a_model_that_does_not_read_it():
    # X1 and X3 descend from A, but nothing follows here.
    found = world({"X1": 1.0, "X2": -1.0, "X3": 1.0}).causal_discrimination(draws=500)
    assert (found.overall.estimate, found.domain.estimate) == (0.0, 0.0)
    assert found.people.empty
    assert found.inputs.empty
    low, high = found.domain.limits(0.95)
    assert low == 0.0
    assert high == pytest.approx(1.959963984540054**2 / (500 + 1.959963984540054**2))


def test_it_is_whole_for_a_model_that_reads_nothing_else():
    found = world({"A": 1.0}).causal_discrimination(draws=500)
    assert (found.overall.estimate, found.domain.estimate) == (1.0, 1.0)
    assert len(found.people) == 60
    assert len(found.inputs) == 500


def test_people_are_asked_one_by_one():
    audit = small()
    found = audit.causal_discrimination(draws=10)
    X = audit.recourse.data
    mine = np.array([changes(k, c) for k, c in zip(X["k"], X["c"], strict=True)])
    assert 0 < mine.sum() < len(X)
    assert np.array_equal(np.isin(X.index, found.people.index), mine)
    rows = found.frame().set_index(["over", "group", "level"])
    for s, t in LEVELS:
        own = ((X["s"] == s) & (X["t"] == t)).to_numpy()
        row = rows.loc[("people", f"{s} & {t}", "")]
        assert (row["n_changes"], row["n"]) == (int(mine[own].sum()), int(own.sum()))
    ab = [label("a", 0, k, c) != label("b", 0, k, c) for k, c in zip(X["k"], X["c"], strict=True)]
    own = ((X["s"] == "a") & (X["t"] == 0)).to_numpy()
    assert rows.loc[("people", "a & 0", "b & 0"), "n_changes"] == int(np.array(ab)[own].sum())


def test_the_domain_has_the_share_of_its_enumeration():
    found = small().causal_discrimination(draws=20_000)
    truth = np.mean([changes(k, c) for k in range(5) for c in "lmr"])
    low, high = found.domain.limits(0.999)
    assert low < truth < high
    drawn = found.drawn.frame
    # Every level, every value, and no combination that nobody has.
    assert set(zip(drawn["s"], drawn["t"], strict=True)) == set(LEVELS)
    counts = drawn.groupby(["k", "c"]).size()
    assert len(counts) == 15
    assert abs(counts - 20_000 / 15).max() < 5 * sqrt(20_000 / 15)


@pytest.mark.parametrize("runs", [50, pytest.param(600, marks=pytest.mark.verify)])
def test_its_interval_holds_the_truth_at_the_stated_rate(runs):
    audit = small()
    truth = np.mean([changes(k, c) for k in range(5) for c in "lmr"])
    held = 0
    for seed in range(runs):
        low, high = audit.causal_discrimination(draws=150, random_state=seed).domain.limits(0.95)
        held += low <= truth <= high
    assert fewest(runs) <= held <= most(runs, 0.95)


def test_draws_keep_the_rules_between_features():
    found = small(rules=["if c = 'l' then k = 0"]).causal_discrimination(draws=3_000)
    drawn = found.drawn.frame
    assert len(drawn) == 3_000
    assert (drawn.loc[drawn["c"] == "l", "k"] == 0).all()
    allowed = [(k, c) for k in range(5) for c in "lmr" if c != "l" or k == 0]
    low, high = found.domain.limits(0.999)
    assert low < np.mean([changes(*one) for one in allowed]) < high


def test_rules_that_refuse_everything_leave_nothing_drawn():
    found = small(rules=["k > 9"]).causal_discrimination(draws=50)
    assert len(found.drawn.frame) == 0
    assert np.isnan(found.domain.estimate)
    assert "left 0 of 50 draws" in str(found)


def test_numbers_are_drawn_over_what_is_declared():
    one = ee.datasets.fair_recourse("IMF")
    X, _ = one.sample(300, random_state=0)
    features = {
        "X1": ee.Feature("actionable", lower=-1, upper=4),
        "X2": ee.Feature("actionable", plausible=(None, 0.5)),
        "X3": ee.Feature("actionable", lower=-np.inf, upper=np.inf),
    }
    schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=features)
    audit = ee.audit(ee.LinearScore({"A": 1.0, "X1": 1.0}), X, schema=schema, scm=one.scm)
    found = audit.causal_discrimination(draws=4_000)
    ends = {"X1": (-1, 4), "X2": (X["X2"].min(), 0.5), "X3": (X["X3"].min(), X["X3"].max())}
    for name, (low, high) in ends.items():
        values = found.drawn.frame[name]
        assert values.min() >= low
        assert values.max() <= high
        assert values.quantile([0.25, 0.5, 0.75]).to_numpy() == pytest.approx(
            low + (high - low) * np.array([0.25, 0.5, 0.75]), abs=0.04 * (high - low)
        )
    # A turns the label where X1 lies within 1 of the boundary: 2 of the 5 units it is drawn from.
    low, high = found.domain.limits(0.999)
    assert low < 0.4 < high


def test_one_seed_gives_one_answer():
    audit = small()
    first, again = (audit.causal_discrimination(draws=100, random_state=4).drawn.frame for _ in range(2))
    assert first.equals(again)
    assert not first.equals(audit.causal_discrimination(draws=100, random_state=5).drawn.frame)


@pytest.mark.parametrize("given", [{"draws": 0}, {"draws": 2.5}, {"random_state": -1}])
def test_what_is_no_number_of_draws_is_refused(given):
    with pytest.raises(ParameterError) as caught:
        small().causal_discrimination(**given)
    assert caught.value.code == "PARAMETER"


def test_readings_and_words():
    audit = small()
    readings = DiscriminationFamily().readings(audit._audited())
    assert [(one.variant, one.group) for one in readings] == [
        ("people", ""), ("people", "a & 0"), ("people", "a & 1"), ("people", "b & 0"), ("domain", "")
    ]  # fmt: skip
    assert readings[0].n == 200
    assert readings[-1].n == 10_000
    found = audit.causal_discrimination(draws=100)
    assert "with s and t alone" in str(found)
    assert "<table" in found._repr_html_()
    assert set(found.inputs.columns) == {"s", "t", "k", "c", "decision", "turned_by"}


def test_an_audit_from_a_file_says_what_it_lacks(tmp_path):
    audit = world({"A": 1.0})
    audit.save(tmp_path / "one.audit")
    loaded = ee.load(tmp_path / "one.audit")
    with pytest.raises(ParameterError, match="causal_discrimination") as caught:
        loaded.causal_discrimination()
    assert caught.value.code == "AUDIT_LOADED"
    assert isinstance(DiscriminationFamily().readings(loaded._audited())[0], NotApplicable)


def test_the_pictures_have_the_numbers():
    audit = world({"A": 1.0, "X2": -1.0})
    found = audit.causal_discrimination(draws=200)
    axes = audit.plot.causal_discrimination(found).plot().figure_.axes[0]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    shares = [found.overall, *(found.shares["people", group, ""] for group in found.groups.labels), found.domain]
    assert marks == [one.estimate for one in shares]
    recourse = audit.fair_causal_recourse()
    axes = audit.plot.fair_causal_recourse(recourse).plot().figure_.axes[0]
    drawn = np.concatenate([line.get_xydata() for line in axes.lines if line.get_marker() in ("o", "s")])
    compared = recourse.people.query("outcome == 'compared'")
    assert {tuple(one) for one in drawn.tolist()} == set(zip(compared["effort"], compared["twin_effort"], strict=True))
