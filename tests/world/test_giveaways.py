"""What features give away before an audit begins: the outcome, who somebody is, nothing at all, or a code."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.data.frames import number
from equieffort.errors import EquieffortWarning
from equieffort.report import model_card, render
from equieffort.world.giveaways import Giveaway, giveaways, sentinels


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "age": rng.integers(18, 80, n)})
    frame["income"] = rng.lognormal(3, 0.4, n).round(1)
    frame["job"] = rng.choice(["cook", "clerk", "judge"], n)
    return frame


DECIDED = np.where(people()["income"] > 18, "granted", "refused")
FAULTS = {
    "copy": {"stage": np.where(DECIDED == "granted", "payout", "closed")},
    "copy as a number": {"paid": (DECIDED == "granted").astype(int)},
    "counted rows": {"line": np.arange(1001, 1201)},
    "id with gaps": {"customer_id": np.arange(200) * 977 + 10_000},
    "dense numbers": {"code": np.random.default_rng(1).permutation(400)[:200]},
    "names": {"name": [f"Somebody {k}" for k in range(200)]},
    "constant": {"country": ["DE"] * 200},
    "constant number": {"year": [2024] * 200},
    "999": {"tenure": np.where(np.arange(200) % 40 == 0, 999, np.arange(200) % 31)},
    "999999": {"wealth": np.where(np.arange(200) % 40 == 0, 999_999.0, np.linspace(0, 9_000, 200).round(2))},
    "-1": {"days": np.where(np.arange(200) % 9 == 0, -1, np.arange(200) % 60)},
    "several codes": {"score": np.r_[np.repeat([998, 999], 4), 40 + np.arange(192) % 30]},
    "one absurd value": {"rent": [500_000.0, *np.linspace(300, 1800, 199).round(1)]},
}  # fmt: skip
KINDS = {
    "copy": "copy",
    "counted": "person",
    "id": "person",
    "dense": "person",
    "names": "person",
    "constant": "constant",
}


@pytest.mark.parametrize("case", FAULTS)
def test_each_is_found_and_nothing_else(case):
    frame = people().assign(**FAULTS[case])
    found = giveaways(frame, [name for name in frame if name != "sex"], DECIDED)
    assert [one.feature for one in found] == list(FAULTS[case])
    assert found[0].kind == KINDS.get(case.split()[0], "sentinel")
    assert repr(found[0].feature) in found[0].what
    assert found[0].fix


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 9], [9]), ([0, 1, 2, 3, 4, 9], []), ([-1, 0, 1], []), ([97, 98, 99], []), ([18, 40, 75, 99], []),
        ([18, 30, 45, 997, 998, 999], [997, 998, 999]), ([5, 30, 60, 80, -99], [-99]), ([-5, -1, 3, 60], []),
        ([1, 2, 3, 1_000], [1_000]), ([10, 20, 100], []), ([0, 999_999], []), ([1.5, 2.5, 3.5, 9.9], []),
    ],
)  # fmt: skip
def test_what_counts_as_a_sentinel(values, expected):
    assert sentinels(np.array(values, dtype=float)) == expected


def test_nothing_is_said_of_few_people_or_of_ordinary_columns():
    frame = people()
    assert giveaways(frame, frame.columns, DECIDED) == []
    few = people(19).assign(name=[f"n{k}" for k in range(19)], year=2024, line=range(19))
    assert giveaways(few, few.columns) == []
    # Amounts in whole numbers are often all different; that alone makes no id.
    amounts = people().assign(amount=np.random.default_rng(3).permutation(90_000)[:200] + 10_000)
    assert giveaways(amounts, amounts.columns, DECIDED) == []


def test_heavy_tails_are_not_taken_for_sentinels():
    alarms = sum(bool(sentinels(np.random.default_rng(seed).lognormal(8, 1.2, 200).round())) for seed in range(500))
    assert alarms <= 2


def test_the_bundled_data_raise_only_true_alarms():
    X, y = ee.datasets.german_credit()
    assert giveaways(X, X.columns, y) == []
    X, y = ee.datasets.adult()
    # Incomes above what was recorded are all written as 99,999.
    assert [(one.feature, one.values) for one in giveaways(X, X.columns, y)] == [("capital_gain", (99_999.0,))]


def audited(frame, features, model=None, **more):
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    model = model or ee.LinearScore({"income": 1.0}, threshold=18.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return ee.audit(model, frame, schema=schema, scm=scm, **more), [w.message.code for w in told]


def test_an_audit_says_it_first():
    frame = people().assign(line=range(200), country="DE", tenure=FAULTS["999"]["tenure"])
    features = {"income": ee.Feature("actionable", lower=0, upper=90), "line": "immutable", "country": "immutable"}
    audit, told = audited(frame, {**features, "tenure": "mutable", "job": "immutable"})
    expected = ["DATA_NAMES_PEOPLE", "DATA_CONSTANT", "DATA_SENTINEL"]
    assert told[:3] == expected
    assert [w.code for w in audit.warnings][:3] == expected
    assert str(audit).startswith("Check first:\n  'line' is different for almost everybody")
    page, card = render(audit), model_card(audit)
    assert page.index("Check first") < page.index("times the effort")
    assert card.count("Check first") == 3
    # Who says what a column is knows it.
    declared = {**features, "line": ee.Feature("immutable", kind="integer"), "tenure": "mutable", "job": "immutable"}
    assert "DATA_NAMES_PEOPLE" not in audited(frame, declared)[1]


def test_a_model_that_only_repeats_a_column_is_told():
    frame = people().assign(paid=(DECIDED == "granted").astype(float))
    model = LogisticRegression().fit(frame[["paid", "income"]], DECIDED == "granted")
    audit, _ = audited(frame, {"income": "actionable", "paid": "immutable"}, model)
    assert audit.warnings[0].code == "DATA_COPIES_OUTCOME"
    assert "'paid' tells the decision" in audit.warnings[0].what


# -- one absurd value in the reference data ---------------------------------------------------------------------------


def test_no_verdict_rests_on_one_absurd_value():
    """By a range of 500,000 everybody's effort nearly vanishes; nothing may be concluded from that."""
    frame = people(400)
    frame["savings"] = np.random.default_rng(5).normal(20, 5, 400).round(1)
    score = ee.LinearScore({"income": 1.0, "savings": 1.0}, threshold=60.0)
    features = {name: ee.Feature("actionable", lower=0, upper=200) for name in ("income", "savings")}
    plain, _ = audited(frame, features, score)
    assert plain.verdict.outcome != "inconclusive"
    reference = pd.concat([frame, frame.iloc[[0]].assign(income=500_000.0)], ignore_index=True)
    odd, told = audited(frame, features, score, reference=reference)
    assert (odd.verdict.outcome, odd.verdict.codes[0]) == ("inconclusive", "OUTLIER")
    assert "COST_OUTLIER" in told
    assert "One absurd value of 'income' in the reference data" in str(odd.verdict)
    # A scale that does not hang on it is fine.
    robust = ee.WeightedL1(ee.Range(quantiles=(0.01, 0.99)))
    assert audited(frame, features, score, reference=reference, cost=robust)[0].verdict.outcome != "inconclusive"
    # But not where nobody said how far actions may go, and the value is the end.
    open_ended = {"income": ee.Feature("actionable", lower=0), "savings": features["savings"]}
    assert audited(frame, open_ended, score, reference=reference, cost=robust)[0].verdict.codes[0] == "OUTLIER"


def test_it_is_kept_in_the_file(tmp_path):
    frame = people(400)
    reference = pd.concat([frame, frame.iloc[[0]].assign(income=500_000.0)], ignore_index=True)
    audit, _ = audited(frame, {"income": ee.Feature("actionable", lower=0, upper=90)}, reference=reference)
    audit.save(tmp_path / "a.audit")
    assert ee.load(tmp_path / "a.audit").verdict.codes[0] == "OUTLIER"


def test_a_giveaway_is_data():
    one = giveaways(people().assign(year=2024), ["year"])[0]
    assert one == Giveaway("year", "constant", (2024.0,), 200, 200, one.ends)
    assert one.code == "DATA_CONSTANT"


def test_warnings_are_of_our_own_kind():
    with pytest.warns(EquieffortWarning, match="'country' is 'DE' in all 200 rows"):
        ee.audit(
            ee.LinearScore({"income": 1.0}, threshold=18.0), people().assign(country="DE"),
            schema=ee.Schema(
                sensitive="sex", protected="f", favourable=True,
                features={"income": "actionable", "country": "immutable", "age": "immutable", "job": "immutable"},
            ),
            scm=ee.StructuralCausalModel([], nodes=["income"]).fit(people()),
        )  # fmt: skip


# -- at the command line ----------------------------------------------------------------------------------------------

SPEC = """\
data: {path: loans.csv}
model: {train: logistic}
outcome: {column: decision, favourable: granted}
sensitive: {column: sex, protected: f, reference: m}
graph: []
features:
  income: {role: actionable, direction: up}
  age: immutable
  job: immutable
"""


@pytest.fixture
def loans(tmp_path):
    """A table with the faults asked for, and a spec that takes all of it."""
    from typer.testing import CliRunner

    from equieffort.cli import app

    def make(*arguments, **columns):
        people().assign(decision=DECIDED, **columns).to_csv(tmp_path / "loans.csv", index=False)
        more = "".join(f"  {name}: immutable\n" for name in columns)
        (tmp_path / "loans.yaml").write_text(SPEC + more, encoding="utf-8")
        return CliRunner().invoke(app, [str(a).replace("DIR", str(tmp_path)) for a in arguments])

    return make


def test_init_says_it_first_and_leaves_it_out(loans, tmp_path):
    columns = FAULTS["copy"] | FAULTS["constant"] | FAULTS["names"] | FAULTS["999"]
    answers = ("--outcome", "decision", "--favourable", "granted", "--sensitive", "sex")
    done = loans("init", "DIR/loans.csv", "-o", "DIR/new.yaml", *answers, **columns)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert [line.rsplit("(", 1)[1] for line in lines if line.startswith("Check first:")] == [
        "DATA_COPIES_OUTCOME)", "DATA_NAMES_PEOPLE)", "DATA_CONSTANT)", "DATA_SENTINEL)"
    ]  # fmt: skip
    assert lines[0].startswith("Check first: 'stage' tells the decision")
    spec = (tmp_path / "new.yaml").read_text(encoding="utf-8")
    assert "  stage: {role: unused}  # tells the decision: was it written down after it?\n" in spec
    assert "  country: {role: unused}  # the same in every row\n" in spec
    assert "  name: {role: unused}  # different in every row: a name or number of the person?\n" in spec
    assert "  tenure: {role: FILL_IN}  # integer, 0 to 999; the extreme value is far from all others" in spec


@pytest.mark.parametrize("dry", [("--dry-run",), ()], ids=["dry run", "audit"])
def test_a_dry_run_and_an_audit_say_it_first(loans, dry):
    done = loans("audit", "DIR/loans.yaml", "-o", "DIR/out", *dry, **FAULTS["copy as a number"], **FAULTS["constant"])
    told = [line for line in done.stderr.splitlines() if line.startswith("Warning:")]
    assert "'paid' tells the decision" in told[0]
    assert "'country' is 'DE' in all 200 rows" in told[1]
    assert sum("'paid' tells the decision" in line for line in told) == 1
    assert any("SURROGATE_PERFECT" in line for line in told)
    if not dry:
        assert done.stdout.startswith("Check first:\n  'paid' tells the decision")


def test_an_ordinary_table_is_not_suspected(loans):
    done = loans("audit", "DIR/loans.yaml", "-o", "DIR/out", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "Check first" not in done.output
    assert "SURROGATE_PERFECT" not in done.output


@pytest.mark.parametrize("sign", [1, -1])
def test_a_value_at_an_end_that_nearly_tells_the_decision_is_found(sign):
    """A time that is full for one decision alone; a score from which decisions were made is none."""
    frame = people()
    late = np.where(DECIDED == "refused", 52, np.arange(200) % 50)
    late[np.flatnonzero(DECIDED == "granted")[:2]] = 52
    frame["week"] = sign * late
    (found,) = giveaways(frame, list(frame), DECIDED)
    assert (found.feature, found.code, found.values, found.n) == ("week", "DATA_COPIES_OUTCOME", (52.0 * sign,), 2)
    assert f"whether it is {number(52.0 * sign)} goes with the decision for all but 2 of 200 people" in found.what
    late[np.flatnonzero(DECIDED == "granted")[:30]] = 52
    assert giveaways(frame.assign(week=sign * late), list(frame), DECIDED) == []
    assert giveaways(frame, list(frame)) == []
