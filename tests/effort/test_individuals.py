"""Lists of individuals: each row as the one-person assessment says, and few wrong names where effort is equal."""

from __future__ import annotations

import numpy as np
import pytest

import equieffort as ee
from equieffort.effort.inference.guarded import benjamini_hochberg, gap_limits, gap_tail
from equieffort.effort.inference.shares import difference
from equieffort.errors import ParameterError


def audited(alpha: float, n: int, seed: int, **criteria) -> ee.Audit:
    people, _ = ee.datasets.paper_synthetic(alpha, n, seed)
    feature = ee.Feature("actionable", upper=np.inf, max_increase=2.5)
    schema = ee.Schema(sensitive="S", protected=0, favourable=True, features={"X2": feature, "X3": "immutable"})
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms={"X2": ee.Linear({"S": alpha}, 3.0)})
    return ee.audit(
        ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3 + alpha / 2), people, schema=schema, scm=scm.fit(people),
        neighbourhood=ee.Nearest(0.3), criteria=ee.Criteria(**criteria),
    )  # fmt: skip


@pytest.fixture(scope="module")
def unequal() -> ee.Audit:
    return audited(3.0, 400, 1)


def test_each_row_is_that_persons_assessment(unequal):
    found = unequal.individuals(0.3, group="0")
    assert len(found) == unequal.by_group.loc["0", "n_unfavourable"]
    for row in found.iloc[::25].to_dict("records"):
        one = unequal.individual(row["person"], quantile=0.3)
        for name in ("acr", "rd"):
            reading = one.comparisons[0].reading(name)
            assert row[name] == pytest.approx(reading.estimate, nan_ok=True)
            if not np.isnan(row[f"{name}_low"]):
                assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((reading.low, reading.high))
        assert (row["n"], row["n_against"]) == (one.comparisons[0].mine.n_acting, one.comparisons[0].theirs.n_acting)


def test_who_is_named_is_carried_by_their_own_interval(unequal):
    found = unequal.individuals(0.3)
    named = found[found["outcome"] == "unequal"]
    assert 0 < len(named) < len(found)
    tau, epsilon = unequal.criteria.tau, unequal.criteria.epsilon
    ratio = (named["acr_low"] > tau) | (named["acr_high"] < 1 / tau)
    gap = (named["rd_low"] > epsilon) | (named["rd_high"] < -epsilon)
    assert (ratio | gap).all()
    assert (found["n_looked_at"] == found["p"].notna().sum()).all()


def test_few_a_side_are_not_judged(unequal):
    found = unequal.individuals(0.02)
    few = found[(found["n_refused"] < 5) | (found["n_refused_against"] < 5)]
    assert len(few)
    assert few["p"].isna().all()
    assert (few["outcome"] == "inconclusive").all()
    assert few["note"].str.contains("TOO_FEW").all()


@pytest.mark.parametrize(("audits", "most"), [(12, 2), pytest.param(40, 4, marks=pytest.mark.verify)])
def test_where_effort_is_equal_hardly_any_audit_names_anybody(audits, most):
    with_names = sum(
        bool((audited(0.0, 150, seed).individuals(0.3)["outcome"] == "unequal").any()) for seed in range(audits)
    )
    # At 5 % chance takes more than four of forty, or more than two of twelve, in less than one of twenty tries.
    assert with_names <= most


def test_names_that_are_none_are_refused(unequal):
    with pytest.raises(ParameterError, match="'2', which is none"):
        unequal.individuals(0.3, group="2")
    with pytest.raises(ParameterError) as caught:
        unequal.individuals(0)
    assert caught.value.code == "NEIGHBOURS_QUANTILE"


def test_arrays_of_gaps_are_the_scalars():
    k, n = np.array([3.0, 0.0, 9.0]), np.array([9.0, 6.0, 9.0])
    q, m = np.array([7.0, 6.0, 2.0]), np.array([8.0, 6.0, 11.0])
    low, high = gap_limits(k, n, q, m, 1.96)
    tails = gap_tail(k, n, q, m, 0.05)
    for i in range(3):
        law = difference((int(k[i]), int(n[i])), (int(q[i]), int(m[i])))
        assert (low[i], high[i]) == pytest.approx(law.at(1.96), abs=1e-12)
        assert tails[i] == pytest.approx(law.greater(0.05), abs=1e-9)


def test_benjamini_and_hochberg_by_definition():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.uniform(0, 0.2, 12)
        adjusted = benjamini_hochberg(p)
        for alpha in (0.01, 0.05, 0.1):
            ranked = np.sort(p)
            fits = np.flatnonzero(ranked <= alpha * np.arange(1, 13) / 12)
            cut = ranked[fits[-1]] if len(fits) else -1.0
            assert ((adjusted <= alpha + 1e-15) == (p <= cut)).all()


def test_nobody_is_named_by_people_not_solved_to_the_end(unequal):
    from dataclasses import replace

    from equieffort.recourse.solvers import Status

    table = unequal.recourse
    status, cost, bound = table.status.copy(), table.cost.copy(), table.bound.copy()
    rows = np.flatnonzero((table.groups.codes == 0) & table.has_action)[::2]
    status[rows], cost[rows], bound[rows] = Status.UNKNOWN, np.nan, 0.0
    open_ones = replace(unequal, recourse=replace(table, status=status, cost=cost, bound=bound))
    found = open_ones.individuals(0.3)
    assert (found["outcome"] == "inconclusive").all()
    assert found["note"].str.contains("UNCERTIFIED").all()


def test_only_what_is_judged_names_anybody(unequal):
    from dataclasses import replace

    both = unequal.individuals(0.3)
    for judged in ("acr", "rd"):
        one = replace(unequal, criteria=ee.Criteria(judged=(judged,))).individuals(0.3)
        named = one[one["outcome"] == "unequal"]
        low, high = named[f"{judged}_low"], named[f"{judged}_high"]
        edges = (1 / 1.25, 1.25) if judged == "acr" else (-0.05, 0.05)
        assert ((low > edges[1]) | (high < edges[0])).all()
    assert len(both)
