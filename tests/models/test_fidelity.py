"""A surrogate is judged by the refusals it finds, by group and against the best answer that is the same for all."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isnan

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from typer.testing import CliRunner

import equieffort as ee
from equieffort.cli import app
from equieffort.errors import AuditFileError
from equieffort.exports import summary
from equieffort.models.fidelity import Refusals, Surrogate
from equieffort.models.surrogate import train_surrogate
from equieffort.report import model_card, render
from equieffort.spec import read_spec
from equieffort.spec.estimates import estimate
from equieffort.spec.runs import prepare, run_spec

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

SPEC = """\
data: {path: loans.csv}
model: {train: logistic}
outcome: {column: decision, favourable: granted}
sensitive: {column: sex, protected: f, reference: m}
graph: []
features:
  income: {role: actionable, direction: up}
  debt: {role: actionable, direction: down, lower: 0}
"""


def loans(n=1450, refused=103, noise=16.0, seed=0):
    """Few are refused, and mostly for what the table does not say."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "income": rng.normal(40, 10, n).round(2)})
    frame["debt"] = np.abs(rng.normal(5, 3, n)).round(2)
    hidden = frame["income"] - 2 * frame["debt"] + rng.normal(0, noise, n)
    frame["decision"] = np.where(hidden.rank() <= refused, "refused", "granted")
    return frame


@pytest.fixture
def spec(tmp_path):
    def make(more="", **world):
        loans(**world).to_csv(tmp_path / "loans.csv", index=False)
        (tmp_path / "loans.yaml").write_text(SPEC + more, encoding="utf-8")
        return read_spec(tmp_path / "loans.yaml")

    return make


def test_shares_by_hand():
    """1,450 people, 103 refused by the record and 29 by the surrogate, 13 of them by both."""
    counts = Refusals(1450, 103, 29, 13)
    assert counts.recall == 13 / 103
    assert counts.precision == 13 / 29
    assert counts.agreement == pytest.approx((13 + 1450 - 103 - 29 + 13) / 1450)
    assert counts.constant == Refusals(1450, 103, 0, 0)
    assert counts.constant.agreement == pytest.approx(1347 / 1450)
    many = Refusals(100, 80, 90, 75)
    assert many.constant == Refusals(100, 80, 100, 80)
    assert (many.constant.recall, many.constant.precision, many.constant.agreement) == (1.0, 0.8, 0.8)
    assert isnan(Refusals(10, 0, 2, 0).recall)
    assert isnan(Refusals(10, 2, 0, 0).precision)


@pytest.mark.parametrize("wrong", [(10, 3, 2, 3), (10, 8, 8, 5), (10, 11, 2, 2), (10, 3, 2, -1)])
def test_counts_that_do_not_add_up_are_refused(wrong):
    with pytest.raises(ValueError, match="does not add up"):
        Refusals(*wrong)


def test_recall_and_precision_are_those_of_held_out_people():
    frame = loans(400, 120, noise=8.0)
    made = train_surrogate(
        "logistic", frame, frame["decision"], features=["income", "debt"], groups=frame["sex"], random_state=3
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    apart = cross_val_predict(made.classifier, frame[["income", "debt"]], frame["decision"], cv=folds)
    found = made.refusals("granted")
    assert list(found) == ["", "f", "m"]
    for group, counts in found.items():
        mine = (frame["sex"] == group).to_numpy() if group else np.ones(len(frame), dtype=bool)
        truth, told = frame["decision"][mine], apart[mine]
        assert counts.recall == pytest.approx(recall_score(truth, told, pos_label="refused"))
        assert counts.precision == pytest.approx(precision_score(truth, told, pos_label="refused"))
        assert counts.agreement == pytest.approx((truth == told).mean())
        assert counts.n == mine.sum()


def test_agreement_that_approving_everybody_has_too_concludes_nothing(spec):
    audit = run_spec(spec())
    found = audit.verdict.surrogate
    assert found.agreement >= found.required
    assert found.refusals.recorded == 103
    assert found.refusals.recall < 0.5
    assert (audit.verdict.outcome, audit.verdict.codes[0]) == ("inconclusive", "SURROGATE")
    text = str(audit.verdict)
    assert "Approving everybody would agree with 92.9 % and find no refusal." in text
    assert f"finds {found.refusals.by_both} of their 103 refusals" in text
    assert "It finds less than the 50.0 % of refusals asked for (overall" in text
    assert "so nothing is concluded" in text
    dry = str(estimate(prepare(spec())))
    assert "less than the 50.0 % of refusals asked for" in dry
    (row,) = [line for line in dry.splitlines() if line.startswith("everybody")]
    assert row.split()[1:6] == [f"{100 * found.refusals.agreement:.1f}", "%", "92.9", "%", "(approving)"]


def test_the_spec_may_ask_for_less_or_more(spec):
    assert "SURROGATE" not in run_spec(spec("surrogate: {min_refusal_recall: 0}\n")).verdict.codes
    good = run_spec(spec(noise=1.0, refused=400))
    assert good.verdict.surrogate.refusals.recall > 0.8
    assert "SURROGATE" not in good.verdict.codes
    strict = run_spec(spec("surrogate: {min_refusal_recall: 1}\n", noise=1.0, refused=400))
    assert strict.verdict.codes[0] == "SURROGATE"


def test_a_group_whose_refusals_are_missed_decides_and_one_that_is_not_compared_does_not():
    base = {"kind": "ridge", "agreement": 0.95, "by_group": {"f": 0.95, "m": 0.95}, "required": 0.9}
    whole = Refusals(n=300, recorded=60, by_surrogate=60, by_both=52)
    groups = {
        "f": Refusals(n=100, recorded=20, by_surrogate=20, by_both=18),
        "m": Refusals(n=100, recorded=20, by_surrogate=18, by_both=9),
        "x": Refusals(n=100, recorded=20, by_surrogate=0, by_both=0),
    }
    found = Surrogate(**base, refusals=whole, refusals_by_group=groups, min_refusal_recall=0.5)
    judged = found.among(["f", "m"])
    assert not found.suffices
    assert not judged.suffices
    assert "It finds less than the 50.0 % of refusals asked for (m), so nothing is concluded" in str(judged)
    assert "x: 0 of 20" not in str(judged)
    assert replace(judged, min_refusal_recall=0.4).suffices
    # Nobody to find is nobody missed.
    empty = Refusals(n=100, recorded=0, by_surrogate=3, by_both=0)
    none = Surrogate(**base, refusals_by_group={"f": empty}, min_refusal_recall=0.5)
    assert none.suffices


def test_report_card_json_and_file_have_the_numbers(spec, tmp_path):
    audit = run_spec(spec())
    audit.save(tmp_path / "a.audit")
    loaded = ee.load(tmp_path / "a.audit")
    assert str(loaded.verdict) == str(audit.verdict)
    assert (loaded.verdict.codes, loaded.verdict.surrogate) == (audit.verdict.codes, audit.verdict.surrogate)
    pd.testing.assert_frame_equal(loaded.measures, audit.measures, check_exact=True)
    counts = loaded.verdict.surrogate.refusals
    page, card = render(loaded), model_card(loaded)
    for text in (page, card):
        assert "The surrogate model on people it was not trained on" in text
        assert "92.9 % (approve)" in text
        assert f"{100 * counts.recall:.1f} %" in text
    found = json.loads(json.dumps(summary(loaded), allow_nan=False))["surrogate"]
    assert found["suffices"] is False
    assert found["min_refusal_recall"] == 0.5
    assert found["everybody"]["by_both"] == counts.by_both
    assert found["everybody"]["best_constant"]["answer"] == "approve everybody"
    assert set(found["by_group"]) == {"f", "m"}
    assert found["by_group"]["f"]["refusal_recall"] == pytest.approx(
        loaded.verdict.surrogate.refusals_by_group["f"].recall
    )


def test_small_counts_are_kept_back(spec):
    page = render(run_spec(spec()), suppress_below=20)
    table = page[page.index("The surrogate model on people it was not trained on") :]
    assert "(approve)" not in table
    assert "It finds fewer of the refusals than the 50.0 % asked for overall" in page.replace("\u2068", "").replace(
        "\u2069", ""
    )


def test_a_forged_record_is_refused(spec, tmp_path):
    audit = run_spec(spec())
    # No such value can be made, so one that exists is changed.
    object.__setattr__(audit.provenance.surrogate.refusals, "by_both", 9999)
    audit.save(tmp_path / "a.audit")
    with pytest.raises(AuditFileError):
        ee.load(tmp_path / "a.audit")


def test_the_command_line_prints_them_and_ends_with_4(spec, tmp_path):
    spec()
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "loans.yaml"), "-o", str(tmp_path / "out")])
    assert done.exit_code == 4
    assert "The surrogate on people it was not trained on:" in done.stdout
    assert "92.9 % (approving)" in done.stdout
    assert "precision" in done.stdout
