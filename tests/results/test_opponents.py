"""A group against everybody else, and every pair of groups: the same numbers as audits that declare them one by one."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.errors import ParameterError, SchemaError
from equieffort.exports import summary
from equieffort.report.page import render
from equieffort.spec import SpecError, parse_spec

COLUMNS = ["estimate", "low", "high", "least", "most", "p", "p_beyond", "p_within", "n", "n_against", "note"]
FEATURES = {"income": ee.Feature("actionable", direction="up", max_increase=20), "debt": "mutable"}


def people(n=240, seed=3):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.3, 0.3, 0.4])
    income = rng.gamma(3, 10, n) - 6 * (group == "a") + 20
    debt = 20 - 0.2 * income + rng.normal(0, 3, n)
    X = pd.DataFrame({"group": group, "sex": rng.choice(["f", "m"], n), "income": income, "debt": debt})
    X.index = pd.Index([f"p{k}" for k in range(n)], name="person")
    y = (X["income"] - 0.5 * X["debt"] + rng.normal(0, 4, n) > 40).astype(int)
    return X, LogisticRegression().fit(X[["income", "debt"]], y)


X, CLASSIFIER = people()
SCM = ee.StructuralCausalModel([("income", "debt")]).fit(X[["income", "debt"]])


def audited(frame=X, *, sensitive="group", criteria=None, **declared):
    schema = ee.Schema(sensitive=sensitive, favourable=1, features=FEATURES, also_protected=("sex",), **declared)
    return ee.audit(CLASSIFIER, frame, schema=schema, scm=SCM, criteria=criteria)


@cache
def compared(how):
    """Two groups against everybody else, or every pair; made once."""
    return audited(protected=["a", "b"], reference=how)


@cache
def alone(group):
    """The same people in two groups: the oracle of a comparison with everybody else."""
    return audited(X.assign(group=np.where(X["group"] == group, group, "others")), protected=group)


def values(frame, group, against, columns=None):
    rows = frame[(frame["group"] == group) & (frame["against"] == against)]
    rows = rows.drop(columns=[name for name in ("group", "against", "about", "p_adjusted") if name in rows])
    return (rows if columns is None else rows[columns]).reset_index(drop=True)


@pytest.fixture(scope="module")
def rest():
    return compared(ee.Rest())


@pytest.fixture(scope="module")
def pairs():
    return audited(protected=["a", "b", "c"], reference=ee.AllPairs())


# -- everybody else ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["a", "b", "c"])
def test_everybody_else_is_the_other_groups_as_one(rest, group):
    other = alone(group)
    for of in (lambda one: one.measures, lambda one: one.subgroup("sex = 'f'").measures):
        mine, theirs = of(rest), of(other)
        names = ["measure", *COLUMNS]
        pd.testing.assert_frame_equal(
            values(mine, group, "everybody else", names), values(theirs, group, "others", names), rtol=1e-12
        )
    one, two = (a.effort_curve(difference=True) for a in (rest, other))
    pd.testing.assert_frame_equal(values(one, group, "everybody else"), values(two, group, "others"))
    asked = (0.1, 0.4, 1.0)
    pd.testing.assert_frame_equal(
        values(rest.curve(asked), group, "everybody else"), values(other.curve(asked), group, "others"), rtol=1e-9
    )
    one, two = (a.individuals(0.3, group=group).sort_values("person") for a in (rest, other))
    for name in ("acr", "acr_low", "acr_high", "rd", "rd_low", "rd_high", "p", "n", "n_against", "n_refused_against"):
        np.testing.assert_allclose(one[name].to_numpy(float), two[name].to_numpy(float), rtol=1e-9, err_msg=name)
    spread = [a.resample(ee.Bootstrap(replicates=30)).measures for a in (rest, other)]
    pd.testing.assert_frame_equal(
        values(spread[0], group, "everybody else", COLUMNS), values(spread[1], group, "others", COLUMNS), rtol=1e-9
    )


def test_the_two_sides_share_nobody(rest):
    groups = rest.recourse.groups
    for one in groups.pairs:
        mine, theirs = groups.members(groups.labels[one.group], one.against)
        assert (mine ^ theirs).all()
        assert not (mine & theirs).any()


def test_a_person_is_compared_with_everybody_else_nearby(rest):
    for person in (0, 1, 2, 3):
        group = X["group"].iloc[person]
        mine, theirs = (one.individual(position=person, quantile=0.3) for one in (rest, alone(group)))
        assert [(c.group, c.against) for c in mine.comparisons] == [(group, "everybody else")]
        pd.testing.assert_frame_equal(
            values(mine.measures, group, "everybody else", COLUMNS), values(theirs.measures, group, "others", COLUMNS)
        )


def test_roles_under_everybody_else(rest):
    assert rest.by_group["role"].to_dict() == {
        "a": "protected", "b": "protected", "c": "other",
    }  # fmt: skip
    assert [f.comparison.group for f in rest.verdict.findings] == ["a", "b"]
    assert "people of all other groups" in str(rest.verdict)
    assert "everybody else" in str(rest)


def test_a_group_called_everybody_else_is_refused():
    frame = X.replace({"group": {"c": "everybody else"}})
    with pytest.raises(SchemaError, match="'everybody else'") as caught:
        audited(frame, protected="a", reference=ee.Rest())
    assert caught.value.code == "SCHEMA_GROUPS"


# -- every pair --------------------------------------------------------------------------------------------------------


def test_every_pair_once_in_the_declared_order(pairs):
    found = [(c.group, c.against) for c in pairs.system.comparisons]
    assert found == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [(f.comparison.group, f.comparison.against) for f in pairs.verdict.findings] == found
    turned = audited(protected=["c", "a"], reference=ee.AllPairs())
    assert [(c.group, c.against, c.role) for c in turned.system.comparisons] == [
        ("c", "a", "protected"), ("c", "b", "protected"), ("a", "b", "protected"),
    ]  # fmt: skip
    one = audited(protected="b", reference=ee.AllPairs())
    # The pair without a protected group is shown and not judged.
    assert [(f.comparison.group, f.comparison.against) for f in one.verdict.findings] == [("b", "a"), ("b", "c")]
    assert len(one.system.comparisons) == 3


@pytest.mark.parametrize(("group", "against"), [("a", "b"), ("a", "c"), ("b", "c")])
def test_a_pair_is_what_a_declared_reference_gives(pairs, group, against):
    other = audited(protected=group, reference=against)
    names = ["measure", *COLUMNS]
    pd.testing.assert_frame_equal(
        values(pairs.measures, group, against, names), values(other.measures, group, against, names)
    )
    for here, there in ((group, against), (against, group)):
        pd.testing.assert_frame_equal(
            values(pairs.curve((0.2, 1.0)), here, there), values(other.curve((0.2, 1.0)), here, there)
        )
    pd.testing.assert_frame_equal(
        values(pairs.effort_curve(difference=True), group, against),
        values(other.effort_curve(difference=True), group, against),
    )


def test_the_family_of_tests_is_all_that_is_judged(pairs):
    """Holm's smallest adjusted value is the smallest p times the number of tests: two measures of three pairs."""
    rows = pairs.measures[pairs.measures["measure"].isin(["acr", "rd"])]
    assert len(rows) == 6
    assert rows["p_adjusted"].min() == pytest.approx(min(1.0, 6 * rows["p_beyond"].min()))


def test_a_person_is_compared_with_each_other_group(pairs):
    for person in range(4):
        own = X["group"].iloc[person]
        found = {(c.group, c.against) for c in pairs.individual(position=person, quantile=0.3).comparisons}
        assert found == {(own, other) for other in "abc" if other != own}


# -- readers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [ee.Rest(), ee.AllPairs()])
def test_saved_and_read_again(how, tmp_path):
    audit = compared(how)
    audit.save(tmp_path / "one.audit")
    again = ee.load(tmp_path / "one.audit")
    assert again.recourse.groups.reference == how
    assert again.recourse.source.schema.reference == how
    pd.testing.assert_frame_equal(again.measures, audit.measures)
    pd.testing.assert_frame_equal(again.by_group, audit.by_group)
    assert str(again) == str(audit)
    again.save(tmp_path / "two.audit")
    assert (tmp_path / "one.audit").read_bytes() == (tmp_path / "two.audit").read_bytes()


@pytest.mark.parametrize("how", [ee.Rest(), ee.AllPairs()])
def test_compared_with_an_audit_of_other_people(how):
    mine = compared(how)
    other = audited(X.iloc[:200], protected=["a", "b"], reference=how)
    found = ee.compare_audits(mine, other, rescale=False, draws=50)
    for before, after in zip(mine.system.comparisons, other.system.comparisons, strict=True):
        row = found.noise[
            (found.noise["group"] == before.group)
            & (found.noise["against"] == before.against)
            & (found.noise["measure"] == "rd")
        ]
        assert row["change"].item() == pytest.approx(after.rd - before.rd)
    rows = found.by_group.dropna(subset="against")
    assert len(rows) == len(mine.system.comparisons)
    assert set(found.by_group["group"]) == {"a", "b", "c"}


def test_audits_with_other_comparisons_are_not_compared(rest, pairs):
    one = compared(ee.AllPairs())
    with pytest.raises(ParameterError, match="different groups") as caught:
        ee.compare_audits(rest, one)
    assert caught.value.code == "AUDIT_GROUPS"


def test_change_against_everybody_else_is_that_of_two_groups():
    """The paired interval, with the others recoded as one group."""
    audits = [audited(frame, protected="a", reference=ee.Rest()) for frame in (X, X.iloc[:200])]
    recoded = X.assign(group=np.where(X["group"] == "a", "a", "others"))
    oracle = [audited(frame, protected="a") for frame in (recoded, recoded.iloc[:200])]
    mine, theirs = (ee.compare_audits(*pair, draws=50).noise for pair in (audits, oracle))
    mine = mine[mine["group"] == "a"]
    for name in ("before", "after", "change", "low", "high", "df"):
        np.testing.assert_allclose(mine[name].to_numpy(float), theirs[name].to_numpy(float), rtol=1e-9)


@pytest.mark.parametrize("how", [ee.Rest(), ee.AllPairs()])
def test_every_reader_shows_them(how):
    audit = compared(how)
    page = render(audit)
    assert "Traceback" not in page
    words = "everybody else" if isinstance(how, ee.Rest) else "Pairs of groups"
    assert words in page
    findings = summary(audit)["verdict"]["findings"]
    expected = [("a", "everybody else"), ("b", "everybody else")]
    expected = expected if isinstance(how, ee.Rest) else [("a", "b"), ("a", "c"), ("b", "c")]
    assert [(one["group"], one["against"]) for one in findings] == expected
    assert ee.power(audit) is not None


def test_small_counts_do_not_show_by_what_is_left_over():
    """With a group too small to be shown nothing is told of sums that hold it: the others' are known."""
    frame = X.copy()
    frame.loc[frame.index[frame["group"] == "b"][3:], "group"] = "c"
    audit = audited(frame, protected="a", reference=ee.Rest())
    open_page, kept = render(audit), render(audit, suppress_below=5)
    refused = audit.system.comparisons[0].theirs.n_unfavourable
    assert f">{refused}<" in open_page
    assert f">{refused}<" not in kept


SPEC = """\
data: {{path: people.csv}}
model: {{train: logistic}}
outcome: {{column: decision, favourable: approved}}
sensitive: {{column: group, protected: a, reference: {reference}}}
graph: [[income, debt]]
features: {{income: actionable, debt: mutable}}
"""


@pytest.mark.parametrize(
    ("written", "meant"), [("{rest: true}", ee.Rest()), ("{all_pairs: true}", ee.AllPairs()), ("b", "b")]
)
def test_the_spec_says_it(written, meant):
    assert parse_spec(SPEC.format(reference=written)).schema.reference == meant


@pytest.mark.parametrize("written", ["{rest: false}", "{rest: true, all_pairs: true}", "{}", "{others: true}"])
def test_the_spec_refuses_anything_else(written):
    with pytest.raises(SpecError, match=r"sensitive\.reference"):
        parse_spec(SPEC.format(reference=written))


def test_notions_are_read_of_every_comparison(rest, pairs):
    found = rest.notions().frame()
    assert set(found.loc[found["against"] == "everybody else", "group"]) == {"a", "b", "c"}
    assert not found["group"].isin(["everybody else", "neither"]).any()
    assert not found.duplicated(["notion", "group", "against", "variant"]).any()
    other = alone("a").notions().frame()
    # Ranks are among the people of the own group, which are others once two groups have one name.
    found, other = (one[one["family"] != "effort_rewards"] for one in (found, other))
    names = ["notion", "variant", "estimate", "n", "n_against"]
    pd.testing.assert_frame_equal(
        values(found, "a", "everybody else", names), values(other, "a", "others", names), rtol=1e-9
    )
    rows = pairs.notions().frame().query("against != ''")
    assert set(zip(rows["group"], rows["against"], strict=True)) == {("a", "b"), ("a", "c"), ("b", "c")}
