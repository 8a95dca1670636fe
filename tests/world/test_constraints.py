"""Rules between features: read, compiled to clauses, asked of people, and kept by every counterfactual."""

import operator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.errors import DataError, RuleError
from equieffort.foundations.tolerances import unit_of
from equieffort.world.rules import Constraint, clauses_of, parse_rule, read_constraint
from equieffort.world.schema import Schema

PEOPLE = pd.DataFrame(
    {
        "a": [0.0, 1.0, 2.0, 3.0, 4.0],
        "b": [4.0, 1.0, 0.5, 3.0, 0.0],
        "n": [0, 1, 2, 3, 4],
        "job": ["cook", "clerk", "cook", "judge", "clerk"],
        "flag": [True, False, True, False, True],
    }
)
ENCODING = Encoding.of(PEOPLE, PEOPLE.columns)


def clauses(*constraints):
    return clauses_of([link if not isinstance(link, str) else read_constraint(link) for link in constraints], ENCODING)


def broken(rules, before, after):
    """Who breaks a rule after an action."""
    facts, moved = ENCODING.encode(before), ENCODING.encode(after)
    return np.logical_or.reduce([bad for bad, _ in rules.faults(facts, moved)])


NAMES = st.sampled_from(["a", "b", "n"])
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
ATOMS = st.one_of(
    st.builds(lambda name, sign, value: f"{name} {sign} {value}", NAMES, SIGNS, st.integers(0, 4)),
    st.builds(lambda x, sign, y: f"{x} {sign} {y}", NAMES, SIGNS, NAMES).filter(lambda s: s.split()[0] != s.split()[2]),
    st.builds(
        lambda name, low, wide: f"{name} between {low} and {low + wide}", NAMES, st.integers(0, 4), st.integers(0, 2)
    ),
    st.builds(lambda name, no: f"{name} {no} (1, 3)", NAMES, st.sampled_from(["in", "not in"])),
    st.sampled_from(["job = 'cook'", "job != 'judge'", "job in ('cook', 'clerk')", "flag = true", "flag != true"]),
)
RULES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(lambda x, word, y: f"({x} {word} {y})", inner, st.sampled_from(["and", "or"]), inner),
        st.builds(lambda x: f"not ({x})", inner),
    ),
    max_leaves=4,
)


@given(RULES, st.lists(st.integers(0, 4), min_size=5, max_size=5), st.permutations(range(5)))
@settings(max_examples=120, deadline=None)
def test_clauses_say_what_the_rule_says(text, shift, order):
    """The rule is asked of those who keep it; who breaks it may keep it from now on, or stay as they are."""
    after = PEOPLE.iloc[list(order)].reset_index(drop=True)
    after["a"] = (PEOPLE["a"] + shift) % 5
    rules = clauses(ee.Always(text))
    columns = {name: PEOPLE[name].to_numpy() for name in PEOPLE}
    rule = parse_rule(text)
    kept = rule.evaluate(columns)
    keeps = rule.evaluate({name: after[name].to_numpy() for name in after})
    np.testing.assert_array_equal(rules.broken(ENCODING.encode(PEOPLE)), ~kept)
    found = broken(rules, PEOPLE, after)
    np.testing.assert_array_equal(found[kept], ~keeps[kept])
    assert not (found & keeps).any()
    assert not broken(rules, PEOPLE, PEOPLE).any()


def test_who_breaks_an_implication_may_stay_or_come_nearer_but_not_go_deeper():
    rules = clauses("if job = 'cook' then a <= 1")
    # The third person is a cook with a = 2 already.
    assert rules.broken(ENCODING.encode(PEOPLE)).tolist() == [False, False, True, False, False]
    after = PEOPLE.assign(job="cook")
    assert broken(rules, PEOPLE, after).tolist() == [False, False, False, True, True]
    for a, worse in ((1.0, False), (1.5, False), (2.0, False), (2.1, True), (3.0, True)):
        assert broken(rules, PEOPLE, PEOPLE.assign(a=np.where(PEOPLE.index == 2, a, PEOPLE["a"]))).any() == worse
    # As a judge the rule does not speak of them.
    assert not broken(rules, PEOPLE, PEOPLE.assign(a=9.0, job="judge")).any()


def test_every_condition_of_a_broken_rule_is_missed_by_no_more_than_before():
    """a >= 5 or b >= 5: not less of one for a little more of the other, unless the rule then holds."""
    rules = clauses(ee.Always("a >= 5 or b >= 5"))
    facts = PEOPLE.assign(a=3.0, b=4.0)

    def deeper(a, b):
        return bool(broken(rules, facts, facts.assign(a=a, b=b))[0])

    for a, b, worse in (
        (3, 4, False),
        (2, 4, True),
        (3, 3, True),
        (4, 4.5, False),
        (0, 5, False),
        (5, 0, False),
        (2, 4.9, True),
    ):
        assert deeper(a, b) == worse, (a, b)


def test_levels_that_break_a_rule_may_stay():
    rules = clauses(ee.Always("job in ('judge')"))
    cook = PEOPLE.assign(job="cook")
    assert not broken(rules, cook, cook).any()
    assert broken(rules, cook, PEOPLE.assign(job="clerk")).all()
    assert not broken(rules, cook, PEOPLE.assign(job="judge")).any()


@pytest.mark.parametrize("power", [-12, -6, 0, 6, 12])
def test_strict_comparisons_and_sums_mean_the_same_in_every_unit(power):
    """What rounding is forgiven counts in spreads: a tenth of a spread beside the limit is never rounding."""
    unit = 10.0**power
    frame = pd.DataFrame({"a": np.linspace(0, 4, 5) * unit, "b": np.linspace(2, 3, 5) * unit})
    encoding = Encoding.of(frame, ["a", "b"])
    spreads = np.array([unit_of(frame[name].to_numpy()) for name in frame])
    constraints = [
        read_constraint(f"a < {3 * unit!r}"),
        ee.Sum({"a": 1, "b": 1}, upper=6 * unit),
        ee.Monotone("a", "b", 0.25),
    ]
    rules = clauses_of(constraints, encoding, spreads)
    facts = encoding.encode(frame.iloc[[0]])
    for a, b, good in (
        (2.9, 2.9, True),
        (3.0, 3.0, False),
        (3.1, 2.8, False),
        (2.0, 4.1, False),
        (1.0, 2.2, False),
        (1.0, 2.25, True),
    ):
        after = np.array([[a * unit, b * unit]])
        assert any(bad[0] for bad, _ in rules.faults(facts, after)) != good, (a, b)


def test_values_that_are_large_beside_their_spread_keep_rules():
    frame = pd.DataFrame({"a": 1e9 + np.linspace(0, 1, 5), "b": 1e9 + np.linspace(0, 1, 5)})
    encoding = Encoding.of(frame, ["a", "b"])
    rules = clauses_of([ee.Monotone("a", "b", 1.0)], encoding, np.array([0.5, 0.5]))
    facts = encoding.encode(frame.iloc[[0]])
    assert not any(bad[0] for bad, _ in rules.faults(facts, facts + np.array([[0.5, 0.5]])))
    assert any(bad[0] for bad, _ in rules.faults(facts, facts + np.array([[0.5, 0.4]])))


def test_a_sum_that_is_passed_already_may_stay_or_fall():
    rules = clauses(ee.Sum({"a": 1, "b": 2}, upper=5))
    totals = PEOPLE["a"] + 2 * PEOPLE["b"]
    assert totals.tolist() == [8, 3, 3, 9, 4]
    for change, expected in ((0.0, [False] * 5), (-1.0, [False] * 5), (1.5, [True, False, False, True, True])):
        assert broken(rules, PEOPLE, PEOPLE.assign(a=PEOPLE["a"] + change)).tolist() == expected


def test_a_monotone_link():
    rules = clauses(ee.Monotone("a", "n", per_unit=0.5))

    def after(a, n):
        return broken(rules, PEOPLE, PEOPLE.assign(a=PEOPLE["a"] + a, n=PEOPLE["n"] + n)).any()

    assert not after(2, 1)
    assert not after(0, -1)
    assert not after(-1, -1)
    assert after(2, 0)
    assert after(4, 1)


def test_forbidden_changes():
    rules = clauses(ee.Forbidden("job", [("judge", "cook"), (None, "clerk")]))
    to_cook, to_clerk = PEOPLE.assign(job="cook"), PEOPLE.assign(job="clerk")
    assert broken(rules, PEOPLE, to_cook).tolist() == [False, False, False, True, False]
    assert broken(rules, PEOPLE, to_clerk).tolist() == [True, False, True, True, False]
    k = ENCODING.position("job")
    codes = ENCODING.encode(PEOPLE)[:, k]
    cook, clerk = ENCODING["job"].levels.index("cook"), ENCODING["job"].levels.index("clerk")
    assert rules.allows(k, codes, cook).tolist() == [True, True, True, False, True]
    assert rules.allows(k, codes, clerk).tolist() == [False, True, False, False, True]


LINKS = [
    ee.Always("a <= 3 or job = 'cook'"),
    ee.Implies("a > 1", "b = 0"),
    ee.Monotone("a", "b", 0.25),
    ee.Sum({"a": 1.0, "b": -2.0}, lower=-1, upper=4),
    ee.Sum({"a": 3.0}, lower=0),
    ee.Forbidden("job", [("judge", "cook"), (None, "clerk")]),
]


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_rule_survives_being_saved(link):
    assert Constraint.from_dict(link.to_dict()) == link
    schema = Schema(sensitive="flag", protected=True, favourable=1, rules=[link])
    assert schema.constraints == (link,)
    assert schema.to_dict()["rules"] == [link.to_dict()]


WRONG = {
    "no then": (lambda: read_constraint("if a > 1"), "RULE_SYNTAX", "has no 'then'"),
    "empty then": (lambda: read_constraint("if a > 1 then"), "RULE_SYNTAX", "empty"),
    "a category is summed": (lambda: clauses(ee.Sum({"job": 1}, upper=2)), "RULE_TYPE", "'job', which is a category"),
    "a number as text": (lambda: clauses("a = 'x'"), "RULE_TYPE", "with the text 'x'"),
    "a category is ordered": (lambda: clauses("job < 'cook'"), "RULE_TYPE", "has no order"),
    "columns of different kinds": (lambda: clauses("a = job"), "RULE_TYPE", "'job', which is a category"),
    "no limit": (lambda: ee.Sum({"a": 1}), "RULE_LINK", "no limit"),
    "limits turned round": (lambda: ee.Sum({"a": 1}, lower=2, upper=1), "RULE_LINK", "above the upper"),
    "a weight that is none": (lambda: ee.Sum({"a": "1"}, upper=1), "RULE_LINK", "a number as its weight"),
    "linked with itself": (lambda: ee.Monotone("a", "a"), "RULE_LINK", "itself"),
    "falls": (lambda: ee.Monotone("a", "b", per_unit=-1), "RULE_LINK", "0 or more"),
    "changes of numbers": (lambda: clauses(ee.Forbidden("a", [(1, 2)])), "RULE_TYPE", "holds numbers"),
    "an unknown level": (lambda: clauses(ee.Forbidden("job", [("coock", None)])), "RULE_NAME", "Did you mean 'cook'"),
    "no pairs": (lambda: ee.Forbidden("job", ["cook"]), "RULE_LINK", "not pairs"),
    "too intricate": (
        lambda: clauses(" or ".join(f"(a > {k} and b > {k})" for k in range(9))),
        "RULE_LINK",
        "too intricate",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case):
    make, code, words = WRONG[case]
    with pytest.raises(RuleError, match=words) as caught:
        make()
    assert caught.value.code == code


def test_strictly_more_is_more_than_rounding_forgives():
    rules = clauses("a > 1")
    start = PEOPLE.assign(a=2.0)
    for value, bad in ((1.0, True), (1.0 + 1e-10, True), (1.0 + 1e-8, False), (1.1, False)):
        assert broken(rules, start, PEOPLE.assign(a=value)).tolist() == [bad] * 5


def test_more_and_at_least_differ_on_whole_numbers():
    for sign, compare in ((">", operator.gt), (">=", operator.ge)):
        rules = clauses(f"n {sign} 2")
        start = PEOPLE.assign(n=4)
        for value in (1, 2, 3):
            assert broken(rules, start, PEOPLE.assign(n=value)).tolist() == [not compare(value, 2)] * 5


def town(rules):
    rng = np.random.default_rng(0)
    n = 40
    people = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "job": rng.choice(["cook", "clerk", "judge"], n),
            "sex": np.where(np.arange(n) % 2, "f", "m"),
        }
    )
    schema = Schema(
        sensitive="sex", protected="f", favourable=True, rules=rules,
        features={
            "job": ee.Feature("actionable", weight=0.1),
            "income": ee.Feature("actionable", direction="up", upper=float("inf")),
        },
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(people.columns)).fit(people)
    clf = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), LogisticRegression()
    ).fit(people[["job", "income"]], people["income"] + (people["job"] == "judge") > 0.8)
    return ee.RecourseProblem.of(clf, people, schema=schema, scm=scm), people


def test_a_forbidden_change_is_not_asked_of_anybody():
    free, people = town([])
    bound, _ = town([ee.Forbidden("job", [("cook", "judge")])])
    before, after = ee.solve(free, people).frame(), ee.solve(bound, people).frame()
    asked = before["status"] == "optimal"
    cooks = (people["job"] == "cook") & asked
    assert (before.loc[cooks, "do_job"] == "judge").any()
    assert not (after.loc[cooks, "do_job"] == "judge").any()
    assert (after.loc[cooks, "cost"] > before.loc[cooks, "cost"]).any()
    pd.testing.assert_frame_equal(before[asked & ~cooks], after[asked & ~cooks])


def test_a_column_that_only_a_rule_names_must_be_there():
    with pytest.raises(DataError, match="A rule between features names a column, but X has no column 'incomme'"):
        town(["incomme > 0"])


def test_those_who_break_a_rule_as_they_are_are_counted():
    problem, people = town([ee.Forbidden("job", [("cook", "judge")])])
    broken, _ = town(["income > 0"])
    assert not problem.outside(problem.encoding.encode(people)).any()
    np.testing.assert_array_equal(broken.outside(broken.encoding.encode(people)), people["income"] <= 0)
