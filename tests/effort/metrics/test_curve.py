"""The curve against the paper's recipe done naively, and the published German credit points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.limits import unlimited

import equieffort as ee
from equieffort.effort.metrics import PAPER_QUANTILES, PaperBands, curve, individual_ratios, neighbourhood_sweep
from equieffort.effort.metrics.bands import paper_band
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable
from equieffort.world.distances import MixedDistance
from equieffort.world.groups import Groups

PUBLISHED = Path(__file__).parents[2] / "fixtures" / "published_german.csv"
QUANTILES = (0.05, 0.2, 1.0, 0.1, 0.6)
MEASURES = ("acr_mean_of_ratios", "phi_own", "phi_other", "rd", "size_own", "size_other", "own_share")


# -- the recipe, naively -----------------------------------------------------------------------------------------------


def summary(name: str, values: list[float]) -> dict[str, float]:
    """Mean and band of 1.96 standard errors."""
    n = len(values)
    if n == 0:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), float("nan"))
    mean = sum(values) / n
    spread = (sum((v - mean) ** 2 for v in values) / (n - 1)) ** 0.5 if n > 1 else 0.0
    half = 1.96 * spread / n**0.5
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def effort(cost, members) -> tuple[float | None, int, int]:
    """(mean cost of those with an action, how many have one, how many there are)."""
    known = [cost[i] for i in members if not np.isnan(cost[i])]
    return (sum(known) / len(known) if known else None), len(known), len(members)


def naive_curve(distances, group, refused, cost, pairs, quantiles, centres=None) -> pd.DataFrame:
    rows = []
    n = len(group)
    for own, other in pairs:
        for quantile in quantiles:
            parts: dict[str, list[float]] = {name: [] for name in MEASURES}
            around = [i for i in range(n) if group[i] == own and (refused[i] if centres is None else i in centres)]
            undefined = 0
            for i in around:
                threshold = np.quantile(distances[i], quantile)
                near = [j for j in range(n) if distances[i, j] <= threshold and refused[j]]
                mine, able, size = effort(cost, [j for j in near if group[j] == own])
                theirs, other_able, other_size = effort(cost, [j for j in near if group[j] == other])
                if mine is None or not theirs:
                    undefined += 1
                else:
                    parts["acr_mean_of_ratios"].append(mine / theirs)
                    parts["phi_own"].append(mine)
                    parts["phi_other"].append(theirs)
                if size and other_size:
                    parts["rd"].append(other_able / other_size - able / size)
                parts["size_own"].append(size)
                parts["size_other"].append(other_size)
                if size + other_size:
                    parts["own_share"].append(size / (size + other_size))
            row = {"group": own, "against": other, "quantile": quantile}
            row |= {"n_centres": len(around), "n_undefined": undefined}
            row["acr_median"] = (
                float(np.median(parts["acr_mean_of_ratios"])) if parts["acr_mean_of_ratios"] else float("nan")
            )
            for name, values in parts.items():
                row |= summary(name, values)
            row["acr"] = row["phi_own"] / row["phi_other"] if parts["phi_own"] else float("nan")
            rows.append(row)
    return pd.DataFrame(rows)


def solved(codes, status, cost, labels, reference) -> RecourseTable:
    """A recourse table as if it had been solved: curves read nothing else."""
    n = len(codes)
    others = tuple(k for k in range(len(labels)) if k != reference)
    return RecourseTable(
        None, Groups(labels, codes.astype(np.int16), others[:1], reference), status.astype(np.int8), cost, cost,
        np.zeros(n, dtype=np.int8), np.zeros((n, 0)), np.zeros((n, 0), dtype=np.int16),
    )  # fmt: skip


def mixed(values) -> MixedDistance:
    k = values.shape[1]
    return MixedDistance(values, np.ones(k), np.zeros(k, dtype=bool), 1, tuple(map(str, range(k))))


@pytest.mark.parametrize("favourable_centres", [False, True])
@pytest.mark.parametrize(
    ("seed", "n", "labels"),
    [(0, 60, ("a", "b")), (1, 90, ("a", "b", "c")), (2, 25, ("a", "b")), (3, 6, ("a", "b", "c")), (4, 1, ("a", "b"))],
)
def test_curve_is_the_recipe(seed, n, labels, favourable_centres):
    rng = np.random.default_rng(seed)
    # The second group lives mostly elsewhere, so that small neighbourhoods lack one of the groups.
    codes = rng.integers(0, len(labels), n)
    values = np.column_stack([rng.integers(0, 5, n) + 3.0 * (codes == 1), rng.normal(size=n).round(1)])
    status = rng.choice(list(Status), n, p=[0.3, 0.4, 0.1, 0.1, 0.1])
    acting = np.isin(status, [Status.OPTIMAL, Status.FEASIBLE])
    cost = np.where(acting, rng.exponential(size=n).round(2) + 0.01, np.nan)
    table = solved(codes, status, cost, labels, reference=len(labels) - 1)
    centres = np.arange(n) if favourable_centres else None
    found = curve(table, mixed(values), QUANTILES, centres, PaperBands()).frame()

    distances = np.abs(values[:, None] - values[None]).sum(axis=2)
    last, rest = labels[-1], labels[:-1]
    pairs = [(a, last) for a in rest] + [(last, a) for a in rest]
    names = np.array(labels)[codes]
    expected = naive_curve(distances, names, status != Status.NOT_NEEDED, cost, pairs, QUANTILES, centres)
    unsettled = np.isin(status, [Status.FEASIBLE, Status.UNKNOWN])
    expected["note"] = [
        "UNCERTIFIED" if (unsettled & np.isin(names, [row.group, row.against])).any() else ""
        for row in expected.itertuples()
    ]
    assert set(found.columns) == set(expected.columns)
    pd.testing.assert_frame_equal(found[expected.columns], expected, rtol=1e-11, atol=1e-12)
    if n > 20:
        assert (found["n_undefined"] > 0).any()
        assert found["acr"].notna().any()


def test_a_ratio_against_zero_effort_is_undefined_and_counted():
    status = np.array([Status.OPTIMAL] * 4)
    table = solved(np.array([0, 0, 1, 1]), status, np.array([1.0, 2.0, 0.0, 0.0]), ("a", "b"), 1)
    found = curve(table, mixed(np.zeros((4, 1))), [1.0]).frame().set_index("group")
    assert found["n_undefined"].to_dict() == {"a": 2, "b": 0}
    assert found.loc["a", ["acr", "phi_own", "phi_other", "acr_median"]].isna().all()
    assert found.loc["a", "size_own"] == 2
    assert found.loc["b", "acr"] == 0.0


def test_nobody_refused_leaves_an_empty_curve_with_its_rows():
    table = solved(np.array([0, 1]), np.array([Status.NOT_NEEDED] * 2), np.full(2, np.nan), ("a", "b"), 1)
    found = curve(table, mixed(np.zeros((2, 1))), [0.5, 1.0]).frame()
    assert len(found) == 4
    assert (found["n_centres"] == 0).all()
    assert found[["acr", "size_own", "own_share"]].isna().all(axis=None)


def test_individual_ratios_keep_the_centres_in_order():
    status = np.array([Status.OPTIMAL] * 3 + [Status.NOT_NEEDED])
    cost = np.array([1.0, 4.0, 2.0, np.nan])
    table = solved(np.array([0, 1, 0, 1]), status, cost, ("a", "b"), 1)
    found = neighbourhood_sweep(table, mixed(np.array([[0.0], [1.0], [5.0], [5.0]])), [0.34, 1.0])
    assert found.centres.tolist() == [0, 1, 2]
    # Around the third person the nearest quantile holds only themselves and somebody favourable.
    expected = [[1 / 4, 1.5 / 4], [1 / 4, 1.5 / 4], [np.nan, 1.5 / 4]]
    assert individual_ratios(found, 0, 1) == pytest.approx(np.array(expected), nan_ok=True)


def test_the_band_by_hand():
    # Standard deviation of 1, 2, 6 with ddof = 1 is sqrt(7).
    half = 1.96 * 7**0.5 / 3**0.5
    found = paper_band("x", np.array([1.0, 2.0, 6.0]))
    assert found == pytest.approx({"x": 3.0, "x_low": 3 - half, "x_high": 3 + half})
    assert paper_band("x", np.array([5.0])) == {"x": 5.0, "x_low": 5.0, "x_high": 5.0}
    assert np.isnan(list(paper_band("x", np.array([])).values())).all()


# -- German credit as published ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return pd.read_csv(PUBLISHED, comment="#")


@pytest.fixture(scope="module")
def german() -> pd.DataFrame:
    people, _ = ee.datasets.german_credit(columns="paper")
    numbers = people[["age", "amount", "duration"]].astype(float)
    scaled = (numbers - numbers.mean()) / numbers.std(ddof=0)
    scaled.insert(0, "sex", (people["sex"] == "male").astype(float))
    return scaled


@pytest.fixture(scope="module")
def audit(german):
    _, risk = ee.datasets.german_credit(columns="paper")
    classifier = LogisticRegression(C=1, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(german, risk)
    edges = [("sex", "amount"), ("age", "amount"), ("amount", "duration")]
    scm = ee.StructuralCausalModel(edges, default=ee.LeastSquares(intercept=False))
    with pytest.warns(ee.errors.EquieffortWarning, match="explains"):
        scm.fit(german)
    schema = ee.Schema(
        sensitive="sex",
        protected=0.0,
        favourable="good",
        features=unlimited(
            {
                "age": ee.Feature("actionable", direction="up"),
                "amount": ee.Feature("actionable"),
                "duration": "mutable",
            }
        ),
    )
    return ee.audit(classifier, german, schema=schema, scm=scm, cost=ee.WeightedL1(ee.Std()))


@pytest.fixture(scope="module")
def lines(audit) -> pd.DataFrame:
    return audit.curve(bands=PaperBands()).replace({"group": {"0.0": "female", "1.0": "male"}})


def test_published_counts(audit):
    counts = audit.system.groups
    assert counts["n"].to_dict() == {"0.0": 310, "1.0": 690}
    assert counts["n_unfavourable"].to_dict() == {"0.0": 118, "1.0": 35}
    assert counts["n_optimal"].to_dict() == {"0.0": 118, "1.0": 35}


def test_published_equations_are_scikit_learns(german, audit):
    slopes = LinearRegression(fit_intercept=False).fit(german[["sex", "age"]], german["amount"]).coef_
    assert audit.provenance.equations
    scm = ee.StructuralCausalModel([("sex", "amount"), ("age", "amount")], default=ee.LeastSquares(intercept=False))
    with pytest.warns(ee.errors.EquieffortWarning, match="explains"):
        found = scm.fit(german).mechanisms_["amount"]
    assert [found.coef["sex"], found.coef["age"], found.intercept] == pytest.approx([*slopes, 0.0], rel=1e-9)


def test_published_sizes_and_shares(lines, published):
    assert tuple(published.loc[published["group"] == "female", "quantile"]) == PAPER_QUANTILES
    both = lines.merge(published, on=["group", "quantile"], suffixes=("", "_paper"))
    assert len(both) == 26
    for name in ("size_own", "size_other", "own_share"):
        assert both[name].to_numpy() == pytest.approx(both[f"{name}_paper"].to_numpy(), rel=1e-5)
        for end in ("low", "high"):
            ours, theirs = both[f"{name}_{end}"], both[f"{name}_{end}_paper"]
            assert ours.to_numpy() == pytest.approx(theirs.to_numpy(), rel=1e-4)


def test_exact_costs_never_exceed_the_published_ones(lines, published):
    both = lines.merge(published, on=["group", "quantile"], suffixes=("", "_paper"))
    for name in ("phi_own", "phi_other"):
        assert (both[name] <= both[f"{name}_paper"]).all()
    # About an eighth below, and far from zero.
    assert (both["phi_own"] / both["phi_own_paper"]).between(0.6, 1.0).all()


def test_those_without_counterpart_are_left_out_and_counted(lines):
    smallest = lines[(lines["group"] == "female") & (lines["quantile"] == 0.05)].iloc[0]
    assert smallest["n_centres"] == 118
    assert smallest["n_centres"] - smallest["n_undefined"] == 31


def test_at_quantile_one_the_ratio_is_the_systems(audit, lines):
    system = audit.by_group
    ratio = system.loc["0.0", "phi"] / system.loc["1.0", "phi"]
    assert audit.system.comparisons[0].acr == ratio
    at_one = lines[lines["quantile"] == 1].set_index("group")
    assert at_one.loc["female", "acr"] == pytest.approx(ratio, rel=1e-12)
    assert at_one.loc["male", "acr"] == pytest.approx(1 / ratio, rel=1e-12)
    assert at_one["acr_mean_of_ratios_high"].to_numpy() == pytest.approx(
        at_one["acr_mean_of_ratios_low"].to_numpy(), rel=1e-12
    )
    # Close to the paper's 1.327 and .774, which come from a coarser optimiser.
    assert at_one.loc["female", "acr"] == pytest.approx(1.327, rel=0.05)


def test_each_recourse_is_the_cheapest_by_closed_form(german, audit):
    """Two actionable features, no limits, linear score: one feature alone, or amount held while age moves."""
    decision = audit.recourse.source.problem.decision.classifier
    w = dict(zip(decision.feature_names_in_, decision.coef_[0], strict=True))
    beta = LinearRegression(fit_intercept=False).fit(german[["sex", "age"]], german["amount"]).coef_[1]
    gamma = LinearRegression(fit_intercept=False).fit(german[["amount"]], german["duration"]).coef_[0]
    amount = w["amount"] + gamma * w["duration"]
    # Gain of a unit: amount in its better direction; age upwards, amount following or held.
    best = max(abs(amount), w["age"] + beta * amount, w["age"])
    gap = -(german @ pd.Series(w)[german.columns])
    refused = audit.recourse.is_unfavourable
    assert np.array_equal(refused, gap > 0)
    assert audit.recourse.cost[refused] == pytest.approx((gap / best)[refused].to_numpy(), rel=1e-6, abs=1e-9)
