"""The search of an audit: rules that find the same people, the same numbers, and words that fit."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.recourse.solvers import Status

MEASURES = ("acr", "rd", "restricted_effort", "burden", "impact_ratio")
PLANTED = "age > 55 and job = 'nurse'"


def audited(n=5000, groups=("f", "m"), seed=3, reference="m", **criteria) -> ee.Audit:
    """Nurses of the first group above 55 have further to go; about one in fifty has no route."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "S": rng.choice(list(groups), n),
            "x": rng.normal(0, 1, n),
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["clerk", "nurse", "cook"], n),
            "tenure": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(4, n)),
            "same": 1,
        }
    )
    people.loc[(people["S"] == "f") & (people["job"] == "nurse") & (people["age"] > 55), "x"] -= 1.1
    x = ee.Feature("actionable", lower=-np.inf, upper=np.inf, max_increase=2.8)
    schema = ee.Schema(sensitive="S", protected="f", reference=reference, favourable=True, features={"x": x})
    scm = ee.StructuralCausalModel([], nodes=["x"]).fit(people)
    model = ee.LinearScore({"x": 1.0}, threshold=0.5)
    return ee.audit(model, people, schema=schema, scm=scm, criteria=ee.Criteria(**criteria))


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    with pytest.warns(ee.errors.EquieffortWarning):
        return audited()


@pytest.mark.parametrize("measure", MEASURES)
def test_a_rule_gives_the_same_numbers_as_the_subgroup(audit, measure):
    found = audit.search_subgroups(measure, cuts=True)
    frame = found.frame()
    assert len(frame) > 50
    for row in [
        *frame.iloc[::40].to_dict("records"),
        *frame[frame["rule"].str.contains("not ")][:3].to_dict("records"),
    ]:
        reading = audit.subgroup(row["rule"]).comparisons[0].reading(measure)
        assert row["estimate"] == pytest.approx(reading.estimate, rel=1e-12, abs=1e-15, nan_ok=True)
        assert (row["n"], row["n_against"]) == (reading.n, reading.n_against)
        if measure in ("rd", "impact_ratio") and not np.isnan(row["low"]):
            assert (row["low"], row["high"]) == pytest.approx((reading.low, reading.high))
        elif not np.isnan(row["low"]):
            # Never shorter than the interval of one comparison.
            assert row["low"] <= reading.low * (1 + 1e-9)
            assert row["high"] >= reading.high * (1 - 1e-9)
    whole = audit.system.comparisons[0].reading(measure)
    assert found.whole["estimate"][0] == pytest.approx(whole.estimate)
    assert sum(found.counts[key] for key in ("too_small", "merged", "undefined", "searched")) == found.counts["formed"]


def test_what_is_planted_is_flagged_by_name(audit):
    found = audit.search_subgroups(cuts=True)
    flagged = found.flagged
    assert len(flagged)
    assert flagged["flagged"].all()
    top = flagged.iloc[0]
    assert "nurse" in top["rule"]
    assert "age >" in top["rule"]
    assert top["worse_off"] == "f"
    assert top["low"] > 1
    assert f"{len(flagged)} flagged" in str(found)
    assert top["rule"] in str(found)
    assert "everything" not in found.coded.left_out
    assert found.coded.left_out == {"same": "everybody has the same value"}
    assert "same (everybody has the same value)" in str(found)


def test_certified_bounds_are_said_of_those_with_200_a_side(audit):
    found = audit.search_subgroups(conditions=2)
    certified = found.certified
    assert (np.minimum(certified["n"], certified["n_against"]) >= 200).all()
    assert found.at_most == certified["certified"].max() > certified["estimate"].max()
    assert f"at most {found.at_most:.2f}" in str(found)
    approved = audit.search_subgroups("impact_ratio", conditions=1)
    assert approved.at_most == approved.certified["certified"].min() < approved.certified["estimate"].min()
    assert f"at least {approved.at_most:.2f}" in str(approved)
    nobody = audit.search_subgroups(fewest=2000, fewest_certified=2000)
    assert nobody.counts["searched"] == 0
    assert np.isnan(nobody.at_most)
    assert "Certified: nothing" in str(nobody)
    assert len(nobody.frame()) == len(nobody.flagged) == len(nobody.certified) == 0
    assert "Certified: nothing" in nobody._repr_html_()


def test_every_group_is_searched_and_allowed_for():
    with pytest.warns(ee.errors.EquieffortWarning):
        audit = audited(6000, ("f", "m", "x"))
    both = audit.search_subgroups(conditions=2)
    alone = [audit.search_subgroups(conditions=2, group=group) for group in ("f", "x")]
    assert both.counts["searched"] == sum(one.counts["searched"] for one in alone)
    assert set(both.frame()["group"]) == {"f", "x"}
    assert set(both.frame()["against"]) == {"m"}
    assert both.found.p.min() == min(one.found.p.min() for one in alone)
    assert both.found.p_adjusted.min() > min(one.found.p_adjusted.min() for one in alone) or both.flagged.size
    assert "S = x against S = m" in str(both)


@pytest.mark.parametrize("reference", [ee.Rest(), ee.AllPairs()])
def test_everybody_else_and_every_pair(reference):
    with pytest.warns(ee.errors.EquieffortWarning):
        audit = audited(6000, ("f", "m", "x"), reference=reference)
    found = audit.search_subgroups(conditions=2)
    told = {(c.group, c.against): c for c in audit.subgroup("job = 'nurse'").comparisons}
    rows = found.frame().set_index("rule").loc["job = 'nurse'"].to_dict("records")
    assert {(row["group"], row["against"]) for row in rows} == set(told)
    for row in rows:
        reading = told[row["group"], row["against"]].reading("acr")
        assert row["estimate"] == pytest.approx(reading.estimate, rel=1e-12)
        assert (row["n"], row["n_against"]) == (reading.n, reading.n_against)
    assert len(found.comparisons) == 3


def test_a_loaded_audit_is_searched_the_same(audit, tmp_path):
    audit.save(tmp_path / "kept.audit")
    kept = ee.load(tmp_path / "kept.audit")
    for measure in ("acr", "burden"):
        pd.testing.assert_frame_equal(
            kept.search_subgroups(measure).frame(), audit.search_subgroups(measure).frame(), check_dtype=False
        )


def test_open_people_leave_their_subgroups_open(audit):
    table = audit.recourse
    status, bound = table.status.copy(), table.bound.copy()
    rows = np.flatnonzero((status == Status.OPTIMAL) & (table.data["job"] == "nurse"))[:3]
    status[rows], bound[rows] = Status.FEASIBLE, 0.0
    unknown = np.flatnonzero((status == Status.INFEASIBLE) & (table.data["job"] == "cook"))[:1]
    status[unknown], bound[unknown] = Status.UNKNOWN, 0.0
    gapped = replace(audit, recourse=replace(table, status=status, bound=bound))
    frame = gapped.search_subgroups(conditions=1).frame().set_index("rule")
    for rule in ("job = 'nurse'", "job = 'cook'"):
        assert frame.loc[rule, "note"] == "UNCERTIFIED"
        assert not frame.loc[rule, "flagged"]
        assert np.isnan(frame.loc[rule, "certified"])
    assert frame.loc["job = 'clerk'", "note"] == ""
    assert frame.loc["job = 'clerk'", "certified"] > 1
    # Of everybody the search is no surer than the audit, and says what leaves a row open.
    found = gapped.search_subgroups(conditions=1)
    whole, reading = found.whole.iloc[0], gapped.system.comparisons[0].reading("acr")
    assert (whole["n_open"], whole["low"], whole["high"]) == (4, reading.low, reading.high)
    assert reading.low < audit.search_subgroups(conditions=1).whole["low"][0]
    assert ", since 4 people are not solved to the end." in str(found)
    (line,) = (line for line in str(found).splitlines() if "job = 'nurse'" in line and "not" not in line)
    assert line.startswith("open")
    assert "open: somebody in it is not solved to the end" in str(found)
    assert "no such subgroup is flagged" in str(found)
    assert found.plot().svg.count("(open)") == found.frame(12)["note"].eq("UNCERTIFIED").sum() > 0
    assert "(open)" not in audit.search_subgroups(conditions=1).plot().svg
    assert "not solved to the end" not in str(audit.search_subgroups(conditions=1)).split("Certified")[0]
    # A route that may not be the cheapest is a route; whoever may have none is open.
    shares = gapped.search_subgroups("rd", conditions=1).frame().set_index("rule")["note"]
    assert (shares["job = 'nurse'"], shares["job = 'cook'"]) == ("", "UNCERTIFIED")
    approved = gapped.search_subgroups("impact_ratio", conditions=1).frame()["note"]
    assert not approved.str.contains("UNCERTIFIED").any()


def test_the_criteria_say_the_level_and_the_sides(audit):
    one_sided = replace(audit, criteria=ee.Criteria(rule=ee.OneSided(), level=0.9)).search_subgroups()
    two_sided = audit.search_subgroups()
    assert one_sided.asked.level == 0.9
    assert two_sided.asked.level == 0.95
    p = {frame["rule"][k]: frame["p"][k] for frame in [two_sided.frame()] for k in range(len(frame))}
    for row in one_sided.frame().iloc[::10].to_dict("records"):
        if row["estimate"] > 1:
            assert p[row["rule"]] == pytest.approx(min(1.0, 2 * row["p"]))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"measure": "median_effort"}, "none of its choices"),
        ({"conditions": 4}, "from 1 to 3"),
        ({"conditions": 0}, "from 1 to 3"),
        ({"levels": 1}, "from 2 to 50"),
        ({"features": ["agee"]}, "Did you mean 'age'"),
        ({"features": ["S"]}, "forms the groups"),
        ({"group": "m"}, "not compared with another"),
        ({"tau": 0.5}, "1 or more"),
        ({"epsilon": -1}, "from 0"),
        ({"adjust": "none"}, "none of its choices"),
        ({"fewest": 1}, "2 or more"),
        ({"fewest_certified": 10}, "50 or more"),
        ({"cuts": "yes"}, "True or False"),
    ],
)
def test_what_cannot_be_asked_is_refused(audit, given, told):
    with pytest.raises(ParameterError, match=told):
        audit.search_subgroups(**given)


def test_too_many_subgroups_are_refused_before_any_work(audit):
    wide = pd.DataFrame({f"c{k}": np.arange(len(audit.recourse)) % 50 for k in range(9)}, index=audit.recourse.index)
    source = replace(audit.recourse.source, data=pd.concat([audit.recourse.data, wide], axis=1))
    large = replace(audit, recourse=replace(audit.recourse, source=source))
    with pytest.raises(ParameterError, match="at most 5,000,000"):
        large.search_subgroups(levels=50)


def test_pages_and_files_hold_it(audit):
    found = audit.search_subgroups(cuts=True)
    page = found._repr_html_()
    assert "&lt;" in page
    assert all(escape(line) in page for line in found._last.split("\n")), "what to read with care"
    assert "nurse" in page
    told = found.to_dict(most=2)
    assert len(told["subgroups"]) == 2
    assert told["counts"] == found.counts
    assert len(found.frame(0)) == 0
