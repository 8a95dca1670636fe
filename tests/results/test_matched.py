"""audit.matched(): through the whole line, in files, reports and specs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.recourse.status import Status
from equieffort.report.page import render


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """Group b has more income, and so less to do; among equal incomes nobody needs more."""
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 2, n)
    return pd.DataFrame(
        {"s": np.where(b, "b", "a"), "income": rng.normal(2 + b, 1, n).round(2), "job": rng.choice(["x", "y"], n)}
    )


def audited(table: pd.DataFrame, **more) -> ee.Audit:
    schema = ee.Schema(
        sensitive="s", protected="a", reference="b", favourable=True,
        features={"income": ee.Feature("actionable", upper=9), "job": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["income", "job"]).fit(table)
    return ee.audit(ee.LinearScore({"income": 1.0}, threshold=4.0), table, schema=schema, scm=scm, **more)


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return audited(people())


def test_a_proof_within_the_solvers_gap_leaves_nobody_open(audit):
    # Trees are proven to a millionth of the cost: bounds lie below it, and everybody is solved to the end.
    table = audit.recourse
    proven = replace(audit, recourse=replace(table, bound=table.bound * (1 - 1e-7)))
    assert (proven.recourse.status != Status.FEASIBLE).all()
    assert "solved to the end" not in str(proven.matched())
    status = np.where(table.status == Status.OPTIMAL, Status.FEASIBLE, table.status).astype(table.status.dtype)
    opened = replace(proven, recourse=replace(proven.recourse, status=status))
    assert "solved to the end" in str(opened.matched())


METHODS = [ee.NearestNeighbour(), ee.NearestNeighbour(k=3), ee.NearestNeighbour(replace=False), ee.OptimalPairs(),
           ee.CoarsenedExact(20)]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_people_who_are_alike_need_the_same(audit, method):
    assert audit.measures.set_index("measure").loc["acr", "estimate"] > 1.5
    found = audit.matched(ee.Matching(method))
    acr = found.measures.set_index("measure").loc["acr"]
    assert acr["estimate"] == pytest.approx(1.0, abs=0.06)
    assert acr["low"] < acr["estimate"] < acr["high"]
    assert acr["unmatched"] == audit.measures.set_index("measure").loc["acr", "estimate"]
    income = found.balance.set_index("feature").loc["income"]
    assert abs(income["smd_before"]) > 0.5
    assert abs(income["smd_after"]) < 0.1


def test_balance_is_that_of_the_people_listed(audit):
    found = audit.matched(ee.Matching(ee.NearestNeighbour(k=2)))
    who = found.people().assign(income=lambda f: audit.recourse.data["income"].loc[f["person"]].to_numpy())
    row = found.balance.set_index(["feature", "level"]).loc[("income", "")]
    for member, column in (("a", "mean_matched"), ("b", "mean_against_matched")):
        part = who[who["member"] == member]
        assert part["weight"].sum() == pytest.approx(1.0)
        assert (part["weight"] * part["income"]).sum() == pytest.approx(row[column])
    refused = audit.recourse.data[audit.recourse.is_unfavourable]
    a, b = (refused["income"][refused["s"] == s] for s in "ab")
    spread = np.sqrt((a.var() + b.var()) / 2)
    assert row["smd_before"] == pytest.approx((a.mean() - b.mean()) / spread)
    assert row["smd_after"] == pytest.approx((row["mean_matched"] - row["mean_against_matched"]) / spread)
    sets = who.groupby("set")["member"].agg(sorted)
    assert all(members == ["a", "b"] for members in sets)
    counts = found.counts.iloc[0]
    assert (counts["refused"], counts["refused_against"]) == (len(a), len(b))
    assert counts["matched"] == who["person"][who["member"] == "a"].nunique()


def test_exact_matching_on_named_features(audit):
    found = audit.matched(ee.Matching(ee.ExactMatching(), ["job"]))
    who = found.people()
    assert len(who) == audit.recourse.is_unfavourable.sum()
    jobs = audit.recourse.data["job"].loc[who["person"]].to_numpy()
    assert all(len(set(jobs[who["set"] == one])) == 1 for one in who["set"].unique())


def test_it_is_kept_told_and_drawn(audit, tmp_path):
    kept = audit.with_matching(ee.Matching(ee.OptimalPairs(caliper=0.2)))
    kept.save(tmp_path / "a.audit")
    again = ee.load(tmp_path / "a.audit")
    assert again.provenance.matching == kept.provenance.matching
    pd.testing.assert_frame_equal(again.matched().measures, kept.matched().measures)
    page = render(again)
    assert "People who are alike, matched" in page
    assert "chart-balance-0" in page
    assert "Matched people are not shown" in render(again, suppress_below=5)
    assert "People who are alike, matched" not in render(audit)
    found = again.matched()
    display = found.plot()
    assert "standard deviations" in display.svg
    assert display.frame().equals(found.balance)
    assert "refused people matched" in repr(found)
    assert "Ratio of average efforts" in str(found)
    assert "<table>" in found._repr_html_()
    assert found.to_dict()["matching"]["method"]["kind"] == "optimal"


def test_the_drawing_shows_the_numbers(audit):
    pytest.importorskip("matplotlib")
    found = audit.matched()
    display = found.plot().plot()
    marks = {line.get_gid(): line for line in display.ax_.lines if line.get_gid()}
    rows = found.balance.sort_values("smd_before", key=abs, ascending=False, kind="stable")
    rows = rows.drop_duplicates("feature")
    assert marks["after"].get_xdata() == pytest.approx(rows["smd_after"].to_numpy(), abs=1e-12)


def test_several_groups_are_matched_one_by_one():
    table = people().assign(s=lambda f: np.where(np.arange(len(f)) % 5 == 0, "c", f["s"]))
    found = audited(table).matched()
    assert found.counts["group"].tolist() == ["a", "c"]
    assert set(audited(table).matched(group="c").measures["group"]) == {"c"}
    with pytest.raises(ee.errors.ParameterError, match="'z', which is not compared"):
        audited(table).matched(group="z")


def test_nobody_alike_is_said_and_drawn():
    table = people().assign(job=lambda f: np.where(f["s"] == "a", "x", "y"))
    found = audited(table).matched(ee.Matching(ee.ExactMatching(), ["job"]))
    assert set(found.measures["note"]) == {"NO_MATCH"}
    assert found.counts["sets"].tolist() == [0]
    assert len(found.people()) == 0
    assert "0 of" in str(found)
    assert "<svg" in found.plot().svg


def test_what_cannot_be_kept_or_compared_is_refused(audit):
    own = ee.Matching(distance=ee.OwnDistance(lambda a, b: np.zeros((len(a), len(b)))))
    with pytest.raises(ee.errors.ParameterError, match="which an audit file cannot hold"):
        audit.with_matching(own)
    with pytest.raises(ee.errors.ParameterError, match="matching is the text 'nearest'"):
        audit.matched("nearest")
    with pytest.raises(ee.errors.ParameterError, match="takes no distance"):
        audit.matched(ee.Matching(ee.ExactMatching(), distance=own.distance))
    with pytest.raises(ee.errors.ParameterError, match="'pay', which is not among"):
        audited(people(), matching=ee.Matching(features=["pay"]))
    with pytest.raises(ee.errors.ParameterError, match="cut points of 'job'"):
        audit.matched(ee.Matching(ee.CoarsenedExact(cuts={"job": (1,)})))


def test_a_spec_matches_people_and_refuses_unknown_columns(tmp_path):
    people().assign(decision=lambda f: np.where(f["income"] > 3.4, "yes", "no")).to_csv(tmp_path / "p.csv", index=False)
    text = (
        "data: {path: p.csv}\nmodel: {train: logistic}\noutcome: {column: decision, favourable: 'yes'}\n"
        "sensitive: {column: s, protected: a}\ngraph: []\nfeatures: {income: actionable, job: immutable}\n"
        "matching: {kind: nearest, k: 2, caliper: 0.1, features: [income]}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    found = ee.run_spec(ee.read_spec(tmp_path / "s.yaml"))
    assert found.provenance.matching == ee.Matching(ee.NearestNeighbour(k=2, caliper=0.1), ["income"])
    assert set(found.matched().counts["caliper"]) == {0.1}
    (tmp_path / "s.yaml").write_text(text.replace("[income]}\n", "[incom]}\n"))
    with pytest.raises(ee.errors.EquieffortError, match=r"matching\.features names 'incom'.*Did you mean 'income'"):
        ee.run_spec(ee.read_spec(tmp_path / "s.yaml"))
