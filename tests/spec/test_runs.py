"""From a spec to an audit: the same as calling audit() by hand, with where everything came from."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import EquieffortError, EquieffortWarning, ParameterError
from equieffort.foundations import dealing
from equieffort.models import fidelity
from equieffort.models.surrogate import train_surrogate
from equieffort.results.provenance import DataFile
from equieffort.spec import SpecError, parse_spec
from equieffort.spec.estimates import Estimate, estimate
from equieffort.spec.learning import file_hash
from equieffort.spec.runs import check_filled, prepare, run_spec, unfilled

pytestmark = pytest.mark.usefixtures("quiet")

SPEC = """
title: A town
data: {path: people.csv, id: who, missing: error}
model: {train: ridge}
outcome: {column: decided, favourable: granted}
sensitive: {column: side, protected: left, reference: right}
graph: [[income, savings]]
features:
  income: {role: actionable, max_increase: 5}
  savings: {role: mutable}
subgroups: {rich: "income > 4"}
surrogate: {min_agreement: 0.8}
random_state: 3
"""


def town(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    income = rng.normal(5, 2, n).round(2)
    savings = (income / 2 + rng.normal(0, 1, n)).round(2)
    side = np.array(["left", "right"])[np.arange(n) % 2]
    decided = np.where(income + savings > 7, "granted", "denied")
    who = [f"{k:04d}" for k in range(n)]
    return pd.DataFrame({"who": who, "side": side, "income": income, "savings": savings, "decided": decided})


@pytest.fixture
def spec(tmp_path):
    town().to_csv(tmp_path / "people.csv", index=False)

    def make(old: str = "", new: str = ""):
        assert old in SPEC
        return parse_spec(SPEC.replace(old, new) if old else SPEC, folder=tmp_path)

    return make


def test_a_spec_gives_what_audit_gives_by_hand(spec):
    made = run_spec(spec(), command="by hand")
    people = town().set_index("who")
    surrogate = train_surrogate(
        "ridge", people, people["decided"], features=["income", "savings"], groups=people["side"], random_state=3
    )
    people = people.drop(columns="decided")
    schema = ee.Schema(
        sensitive="side", protected="left", reference="right", favourable="granted",
        features={"income": ee.Feature("actionable", max_increase=5), "savings": "mutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([("income", "savings")]).fit(people)
    expected = ee.audit(surrogate.classifier, people, schema=schema, scm=scm)
    pd.testing.assert_frame_equal(made.recourse.frame(), expected.recourse.frame())
    found = made.provenance
    refusals = surrogate.refusals("granted")
    assert found.surrogate == fidelity.Surrogate(
        "ridge", surrogate.agreement, surrogate.by_group, required=0.8,
        refusals=refusals.pop(""), refusals_by_group=refusals, min_refusal_recall=0.5,
    )  # fmt: skip
    assert (found.title, found.command, found.subgroups) == ("A town", "by hand", {"rich": "income > 4"})
    assert found.spec == SPEC


def test_the_hash_is_that_of_the_file(spec, tmp_path):
    made = run_spec(spec())
    expected = hashlib.sha256((tmp_path / "people.csv").read_bytes()).hexdigest()
    assert made.provenance.data == DataFile("people.csv", expected, 120)
    assert file_hash(tmp_path / "nothing") == ""


def test_ids_are_labels(spec):
    assert list(run_spec(spec()).recourse.index[:2]) == ["0000", "0001"]


def test_the_estimate_counts_what_the_audit_solves(spec):
    work = estimate(prepare(spec()))
    table = run_spec(spec()).recourse.frame()
    refused = table[table["status"] != "not_needed"].groupby("group").size().to_dict()
    assert work.unfavourable == refused
    assert work.audited == 120
    assert f"{sum(refused.values())} refused" in str(work)


def test_the_estimate_counts_in_words():
    one = Estimate(1, {"a": 1}, 1, ee.LinearExact(), "Linear.")
    assert str(one).splitlines()[:2] == [
        "1 person, 1 refused (a: 1).", "1 set of interventions each, 1 small problem in all.",
    ]  # fmt: skip
    searched = Estimate(200, {"a": 3, "b": 4}, 0, ee.BranchAndBound(time_limit=None), "Trees.")
    assert "interventions" not in str(searched)
    assert "200 people, 7 refused" in str(searched)
    assert "\nSolver: branch_and_bound (gap 1e-06, no time_limit, node_limit 200000). Trees." in str(searched)


def test_the_estimate_says_whether_the_surrogate_will_do(spec):
    ready = prepare(spec("min_agreement: 0.8", "min_agreement: 1"))
    assert 0.5 < ready.surrogate.agreement < 1
    work = estimate(ready)
    assert work.surrogate.by_group == {label: ready.surrogate.by_group[label] for label in ("left", "right")}
    assert f"repeats {100 * ready.surrogate.agreement:.1f} % of decisions it has not seen" in str(work)
    assert "less than the 100.0 % of decisions asked for (overall" in str(work)
    assert "nothing is concluded" in str(work)
    assert "nothing is concluded" not in str(estimate(prepare(spec("min_agreement: 0.8", "min_agreement: 0.5"))))


def test_the_record_is_kept_beside_the_surrogate(spec):
    made, people = run_spec(spec()), town().set_index("who")
    table = made.recourse.frame()
    refused = people["decided"].loc[table.index] == "denied"
    predicted = table["status"] != "not_needed"
    assert set(table.index[list(made.provenance.recorded.differs)]) == set(table.index[refused != predicted])
    for side in ("left", "right"):
        mine = table["group"] == side
        assert made.recorded.by_group(made.recourse)[side] == {
            "refused_in_record": (refused & mine).sum(),
            "refused_by_surrogate": (predicted & mine).sum(),
            "differ": ((refused != predicted) & mine).sum(),
        }
    assert (refused != predicted).any(), "otherwise nothing was shown"


def test_progress_is_told_stage_by_stage(spec, monkeypatch):
    monkeypatch.setattr(dealing, "FIRST", 50)
    monkeypatch.setattr(dealing, "MOST", 50)
    told: list[tuple[str, int, int, str]] = []
    made = run_spec(spec(), progress=lambda stage, done, total, note="": told.append((stage, done, total, note)))
    assert list(dict.fromkeys(stage for stage, *_ in told)) == [
        "reading the data", "training the surrogate", "solving",
    ]  # fmt: skip
    steps = [(done, total) for stage, done, total, _ in told if stage == "solving"]
    assert steps == [(0, 120), (50, 120), (100, 120), (120, 120)]
    stuck = (made.recourse.frame()["status"] == "infeasible").sum()
    assert told[-1][3] == f"{stuck} infeasible so far"
    pd.testing.assert_frame_equal(made.recourse.frame(), run_spec(spec()).recourse.frame())


def test_people_with_missing_values_can_be_left_out(spec, tmp_path):
    people = town()
    people.loc[[3, 8], "income"] = np.nan
    people.loc[5, "decided"] = np.nan
    people.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(EquieffortError):
        run_spec(spec())
    made = run_spec(spec("missing: error", "missing: drop"))
    assert "0003" not in made.recourse.index
    assert len(made.recourse) == 117
    assert "0005" not in made.recourse.index, "an empty decision is an empty cell"
    assert "DATA_MISSING_VALUES" in {w.code for w in made.warnings}
    ready = prepare(spec("missing: error", "missing: drop"))
    with pytest.warns(EquieffortWarning) as told:
        work = estimate(ready)
    assert sum(work.unfavourable.values()) == made.recourse.is_unfavourable.sum()
    # Whom a dry run leaves out it says in the words of the audit.
    left_out = {str(w.message) for w in told if w.message.code == "DATA_MISSING_VALUES"}
    assert left_out
    assert left_out <= {str(w) for w in made.warnings}


def test_warnings_travel_with_the_audit_once(spec):
    made = run_spec(spec("graph: [[income, savings]]", "graph: [[savings, income]]"))
    keys = [(w.code, w.what) for w in made.warnings]
    assert len(keys) == len(set(keys))


def test_a_rule_that_cannot_be_asked_is_found_before_solving(spec, monkeypatch):
    monkeypatch.setattr("equieffort.spec.learning.train_surrogate", lambda *_, **__: pytest.fail("work was begun"))
    with pytest.raises(EquieffortError) as caught:
        run_spec(spec("income > 4", "incme > 4"))
    assert caught.value.code == "RULE_NAME"


def test_an_unknown_decision_column_is_named(spec):
    with pytest.raises(SpecError, match="Did you mean 'decided'"):
        run_spec(spec("column: decided", "column: decidd"))


def test_open_places(tmp_path):
    text = "a: FILL_IN\nb: {role: FILL_IN}  # FILL_IN\n# c: FILL_IN\n  d: x # FILL_IN\n"
    assert unfilled(text) == ["line 1 (a)", "line 2 (b)"]
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        check_filled(tmp_path / "s.yaml")
    assert caught.value.code == "SPEC_UNFILLED"
    check_filled(tmp_path / "not-there.yaml")
    many = tmp_path / "many.yaml"
    many.write_text("x: FILL_IN\n" * 20, encoding="utf-8")
    with pytest.raises(ParameterError, match="and 8 more"):
        check_filled(many)


def test_several_wanted_decisions_are_learned_as_one(spec, tmp_path):
    people = town()
    rich = people["income"] > 6
    people.loc[rich & (people["decided"] == "granted"), "decided"] = "granted at once"
    people.to_csv(tmp_path / "people.csv", index=False)
    several = run_spec(spec("favourable: granted", "favourable: [granted, granted at once]"))
    town().to_csv(tmp_path / "people.csv", index=False)
    one = run_spec(spec())
    pd.testing.assert_frame_equal(several.recourse.frame(), one.recourse.frame())
    assert several.recourse.is_unfavourable.any()


def test_a_threshold_in_the_spec_decides(spec):
    old = "{train: ridge}\noutcome: {column: decided, favourable: granted}"
    logistic = old.replace("ridge", "logistic")
    usual = run_spec(spec(old, logistic))
    strict = run_spec(spec(old, logistic.replace("granted}", "granted, threshold: 0.9}")))
    assert strict.recourse.is_unfavourable.sum() > usual.recourse.is_unfavourable.sum()
