"""ee.Monitor: what the first batch fixes, what is refused, and that people count as they should."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
from tests.monitor.worlds import REFERENCE, effort, monitor, people, update

import equieffort as ee
from equieffort.effort.budget import default_budget
from equieffort.errors import DataError, EquieffortError, MonitorError, ParameterError, SchemaError
from equieffort.monitor.evidence import Arrivals, Evidence

ROOT = Path(__file__).parents[2]


def refusal(kind: type[EquieffortError], code: str, words: str, call) -> EquieffortError:
    with pytest.raises(kind, match=words) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.fix
    return caught.value


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [True, False])
def test_a_stream_has_the_evidence_of_its_efforts(ordered):
    watching, batches = monitor(budget=0.3, tau=1.1), [people(60, seed, behind=1.0) for seed in range(3)]
    for batch in batches:
        update(watching, batch, ordered=ordered)
    for measure in ("restricted_effort", "burden"):
        by_hand = Evidence.none()
        for batch in batches:
            R, mine = effort(batch, 0.3), (batch["group"] == "ash").to_numpy()
            counted = ~np.isnan(R) if measure == "restricted_effort" else np.ones(len(R), dtype=bool)
            values = np.nan_to_num(R)[counted]
            by_hand, _ = by_hand.after(Arrivals(mine[counted], values, values), 1.1, 0.95, ordered=ordered)
        row = watching.evidence.set_index("measure").loc[measure]
        assert row["log_e"] == pytest.approx(by_hand.log_e, abs=1e-9)
        assert (row["low"], row["high"]) == by_hand.interval
        assert row["estimate"] == row["least"] == row["most"] == pytest.approx(by_hand.ratio[0])
        assert (row["n"], row["n_against"]) == tuple(by_hand.seen[:, 0])


def test_the_default_budget_is_that_of_the_first_batch_and_stays():
    watching, first = monitor(), people(60, 1)
    update(watching, first)
    lack = 6.0 - first["income"]
    assert watching.state.fixed.budget == default_budget((lack[(lack > 0) & (lack <= 4)] / 10).to_numpy())
    update(watching, people(60, 2, behind=3.0))
    assert watching.state.fixed.budget == default_budget((lack[(lack > 0) & (lack <= 4)] / 10).to_numpy())


def test_one_person_at_a_time_is_the_same_as_all_at_once():
    """Groups that a batch lacks are no reason to refuse it: people wait."""
    batch = people(40, 3, behind=1.0)
    at_once, apart = monitor(budget=0.3), monitor(budget=0.3)
    update(at_once, batch)
    for k in range(len(batch)):
        update(apart, batch.iloc[[k]])
    for name in ("estimate", "low", "high", "log_e", "n", "n_against"):
        assert apart.evidence[name].tolist() == at_once.evidence[name].tolist()
    assert apart.history.drop_duplicates("batch")["people"].tolist() == [1] * 40


def test_two_protected_groups_share_the_level():
    labels = ("ash", "birch", "cedar", "dogwood")
    reference = REFERENCE.assign(group=list(labels) * 3)
    watching = monitor(reference=reference, schema={"protected": ["ash", "cedar"]}, budget=0.3)
    batch = people(200, 1, labels=labels)
    update(watching, batch)
    found = watching.evidence
    assert list(zip(found["measure"], found["group"], strict=True)) == [
        (measure, group) for measure in ("restricted_effort", "burden") for group in ("ash", "cedar")
    ]
    assert set(found["against"]) == {"birch"}
    assert found["alarm_at"].tolist() == pytest.approx([4 / 0.05] * 4)
    alone = monitor(reference=reference, schema={"protected": ["cedar"]}, budget=0.3, measures=["burden"])
    update(alone, batch)
    assert alone.evidence["alarm_at"].tolist() == pytest.approx([20])
    assert alone.evidence["log_e"].tolist() == found["log_e"].tolist()[3:]
    assert int(found["n"].iloc[2]) == (batch["group"] == "ash").sum()


def test_an_alarm_is_dated_and_stays():
    watching = monitor(tau=1.0, budget=0.3)
    assert watching.alarm is None
    for month in range(1, 9):
        update(watching, people(80, month, behind=1.5), date=f"2026-{month:02d}-01")
        if watching.alarm:
            break
    dated = watching.alarm
    assert dated == f"2026-{month:02d}-01"
    assert month > 1
    for seed in range(20, 24):
        update(watching, people(80, seed, behind=-1.5), date="2027-01-01")
    assert watching.alarm == dated
    text = str(watching)
    assert text.startswith(f"Alarm on {dated}: ")
    assert f"people with group = ash carry a larger burden than people with group = birch (burden, {dated})" in text


def test_an_alarm_within_a_batch_counts_although_the_evidence_sinks_again():
    """Whoever looked after every person would have seen it."""
    high, low = people(150, 1, behind=2.0), people(150, 2, behind=-2.0)
    both = pd.concat([high, low])
    watching, apart = monitor(tau=1.0, budget=0.3), monitor(tau=1.0, budget=0.3)
    update(watching, both)
    update(apart, high)
    assert apart.alarm is not None
    assert watching.alarm is not None
    assert watching.evidence["log_e"].min() < np.log(40)


def test_the_reference_that_needs_more_is_an_alarm_too():
    watching = monitor(tau=1.0, budget=0.3)
    for seed in range(5):
        update(watching, people(100, seed, behind=-2.0))
    assert "people with group = birch carry a larger burden than people with group = ash" in str(watching)


def test_unsettled_people_count_against_an_alarm_and_it_is_said():
    rng = np.random.default_rng(0)
    reference = pd.DataFrame(
        {"group": ["ash", "birch"] * 20, "income": rng.normal(5, 2, 40), "savings": rng.normal(5, 2, 40)}
    )
    schema = ee.Schema(sensitive="group", protected="ash", favourable=True,
                       features={"income": "actionable", "savings": "actionable"})  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(reference.columns)).fit(reference)

    class Own:
        feature_names_in_ = np.array(["income", "savings"], dtype=object)
        classes_ = np.array([False, True])

        def predict(self, X):
            return np.asarray(X["income"] * X["savings"] > 25)

    batch = pd.DataFrame(
        {"group": ["ash", "birch"] * 15, "income": rng.normal(4, 1, 30), "savings": rng.normal(4, 1, 30)}
    )
    watching = ee.Monitor(
        Own(), reference, schema=schema, scm=scm, model="1", budget=1.0, solver=ee.Search(random_state=0)
    )
    found = update(watching, batch)
    assert found.batches[-1].unsettled == found.batches[-1].refused > 10
    assert "not solved to the end and counted with the end of the possible range that speaks against an alarm" in str(
        found
    )
    rows = found.evidence
    assert (rows["least"] < rows["estimate"]).all()
    assert (rows["estimate"] < rows["most"]).all()
    assert (rows["log_e"] < 0).all()


# -- what a batch may be ----------------------------------------------------------------------------------------------


def test_tables_of_any_kind_and_columns_in_any_order():
    batch = people(40, 3)
    plain, other = monitor(budget=0.3), monitor(budget=0.3)
    update(plain, batch.reset_index(drop=True))
    update(
        other,
        polars.DataFrame({"extra": range(40), "income": batch["income"].tolist(), "group": batch["group"].tolist()}),
    )
    assert other.evidence["log_e"].tolist() == plain.evidence["log_e"].tolist()
    beside = monitor(budget=0.3)
    update(beside, batch[["income"]], sensitive_features=batch[["group"]])
    assert beside.evidence["log_e"].tolist() == plain.evidence["log_e"].tolist()


def test_whole_numbers_in_one_batch_do_not_change_what_may_be_done():
    """A few rows of fractions can all be whole, and then an action must not be rounded up to a whole number."""
    watching, whole = monitor(needed=5.5, budget=0.3), people(30, 4).round({"income": 0})
    update(watching, whole.astype({"income": "int64"}))
    other = monitor(needed=5.5, budget=0.3)
    update(other, whole.astype({"income": "float64"}))
    assert watching.evidence["estimate"].tolist() == other.evidence["estimate"].tolist()


def test_a_batch_is_refused_the_second_time_in_any_order(tmp_path):
    watching, batch = monitor(state=tmp_path / "s", budget=0.3), people(30, 1)
    update(watching, batch, name="january.csv")
    before = (tmp_path / "s").read_bytes()
    words = r"counted already, as batch 1 \('january.csv'\) on 2026-01-31"
    for again in (batch, batch.iloc[::-1], batch[["income", "group"]], batch.assign(unused=1)):
        refusal(MonitorError, "MONITOR_BATCH", words, lambda again=again: update(watching, again))
        refusal(MonitorError, "MONITOR_BATCH", words, lambda again=again: update(monitor(state=tmp_path / "s"), again))
    assert (tmp_path / "s").read_bytes() == before
    update(watching, batch.rename(index=lambda label: f"{label}, again"))
    assert len(watching.state.batches) == 2


def test_people_without_names_are_told_apart_by_their_values():
    watching, batch = monitor(budget=0.3), people(30, 1).reset_index(drop=True)
    update(watching, batch)
    refusal(
        MonitorError, "MONITOR_BATCH", "the index of the table", lambda: update(watching, batch.set_axis(range(7, 37)))
    )
    update(watching, batch.assign(income=batch["income"] + 0.001))


@pytest.mark.parametrize(
    ("batch", "kind", "code", "words"),
    [
        (people(0), DataError, "DATA_EMPTY", "The batch has no rows"),
        (people(5)[["group"]], DataError, "DATA_MISSING_COLUMN", "The batch has no column 'income'"),
        (people(5)[["income"]], DataError, "DATA_MISSING_COLUMN", "The batch has no column 'group'"),
        (people(5).assign(group="elm"), SchemaError, "SCHEMA_GROUPS", "5 people of the batch belong to 'elm'"),
        (people(5).assign(income=np.nan), DataError, "DATA_MISSING_VALUES", "'income' has 5 missing values"),
        (people(5).assign(group=None), DataError, "DATA_MISSING_VALUES", "nobody in the batch the group is known"),
        (people(5).assign(income=np.inf), DataError, "DATA_NOT_FINITE", "'income' holds inf"),
        (people(5).assign(income="a lot"), DataError, "DATA_NOT_NUMERIC", "'income'"),
        ("people.csv", DataError, "DATA_TYPE", "The batch is a str"),
    ],
)
def test_batches_that_are_refused(batch, kind, code, words, tmp_path):
    watching = monitor(state=tmp_path / "s", budget=0.3)
    refusal(kind, code, words, lambda: update(watching, batch))
    assert not (tmp_path / "s").exists()
    assert watching.alarm is None


def test_dropping_everybody_is_an_empty_batch():
    watching = monitor(missing="drop", budget=0.3)
    refusal(DataError, "DATA_EMPTY", "Every", lambda: update(watching, people(5).assign(income=np.nan)))
    some = people(30, 2)
    some.iloc[:7, 1] = np.nan
    assert update(watching, some).batches[-1].people == 23


def test_a_first_batch_without_effort_needs_a_budget(tmp_path):
    rich = people(20).assign(income=9.0)
    watching = monitor(state=tmp_path / "s")
    refusal(MonitorError, "MONITOR_BUDGET", "has no budget to go by", lambda: update(watching, rich))
    assert not (tmp_path / "s").exists()
    found = update(monitor(budget=0.3), rich)
    assert "(refused people with group = ash and refused people with group = birch have not been seen)" in str(found)
    assert found.evidence["e"].tolist() == [1.0, 1.0]
    assert found.evidence["estimate"].isna().all()


# -- what the first batch fixes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"needed": 6.5}, "The model is not the one"),
        ({"score": ee.LinearScore({"income": 2.0}, threshold=12.0)}, "The model is not the one"),
        (
            {"reference": REFERENCE.assign(income=REFERENCE["income"] * 1.1)},
            "The scales of the cost, or the reference data",
        ),
        ({"cost": ee.WeightedL1(weights={"income": 2.0})}, "The scales of the cost"),
        ({"cost": ee.WeightedL1(ee.Std())}, "The scales of the cost"),
        ({"schema": {"protected": "birch", "reference": "ash"}}, "The rules"),
        ({"margin": 0.5}, "The rules"),
        ({"missing": "drop"}, "The rules"),
        ({"spec": "another"}, "The rules"),
        ({"tau": 1.5}, r"tau is 1\.5, but the first batch fixed 1\.25"),
        ({"level": 0.9}, r"level is 0\.9, but the first batch fixed 0\.95"),
        ({"budget": 0.4}, r"budget is 0\.4, but the first batch fixed 0\.3"),
        ({"measures": ["burden"]}, "measures is burden, but the first batch fixed restricted_effort and burden"),
    ],
)
def test_nothing_may_change(tmp_path, changed, words):
    update(monitor(state=tmp_path / "s", budget=0.3), people(30, 1))
    refusal(MonitorError, "MONITOR_CHANGED", words, lambda: monitor(state=tmp_path / "s", **changed))
    again = monitor(state=tmp_path / "s", tau=1.25, level=0.95, budget=0.3, measures=["burden", "restricted_effort"])
    assert len(update(again, people(30, 2)).batches) == 2


def test_the_hash_of_a_model_is_the_same_in_another_process(tmp_path):
    update(monitor(state=tmp_path / "s", budget=0.3), people(30, 1))
    program = (
        "from tests.monitor.worlds import *; "
        f"print(len(update(monitor(state={str(tmp_path / 's')!r}), people(30, 2)).batches))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"


def test_a_model_that_cannot_be_hashed_must_be_named():
    class Unkept:
        feature_names_in_ = np.array(["income"], dtype=object)
        classes_ = np.array([False, True])

        def __init__(self):
            self.ask = lambda X: np.asarray(X["income"] > 6)

        def predict(self, X):
            return self.ask(X)

    refusal(MonitorError, "MONITOR_STATE", "no hash can be made", lambda: monitor(score=Unkept()))
    assert monitor(score=Unkept(), model="2026-11").alarm is None


@pytest.mark.parametrize(
    "options",
    [{"tau": 0.9}, {"tau": "1"}, {"level": 1.0}, {"level": True}, {"budget": 0.0}, {"budget": np.inf},
     {"budget": np.nan}, {"measures": []}, {"measures": ["acr"]}, {"measures": 3}, {"state": 3}, {"state": ""},
     {"solver": "milp"}],
)  # fmt: skip
def test_arguments_of_the_wrong_kind(options):
    refusal(ParameterError, "PARAMETER", next(iter(options)), lambda: monitor(**options))


@pytest.mark.parametrize("given", ["yesterday", "2026-13-01", 20261117, ""])
def test_days_that_are_none(given):
    refusal(ParameterError, "PARAMETER", "date is", lambda: update(monitor(budget=0.3), people(5), date=given))


def test_days_may_be_dates_and_times():
    found = update(monitor(budget=0.3), people(5), date=datetime.datetime(2026, 5, 4, 12, 0))
    assert found.batches[0].date == "2026-05-04"
    assert update(monitor(budget=0.3), people(5), date=None).batches[0].date == str(
        datetime.datetime.now(datetime.UTC).date()
    )


def test_before_the_first_batch_there_is_nothing_to_read():
    watching = monitor()
    refusal(MonitorError, "MONITOR_STATE", "No batch", lambda: watching.evidence)
    assert str(watching) == "No batch has been counted yet."


# -- whom a group is compared with -------------------------------------------------------------------------------------

WOODS = ("ash", "birch", "cedar")


def watched(schema, recode=None):
    """A state after two batches of three groups, perhaps with groups recoded."""
    made = (lambda frame: frame) if recode is None else (lambda frame: frame.assign(group=frame["group"].map(recode)))
    reference = made(REFERENCE.assign(group=list(WOODS) * 4))
    watching = monitor(reference=reference, schema=schema, budget=0.3)
    for seed in (1, 2):
        state = update(watching, made(people(90, seed, behind=1.0, labels=WOODS)), date=f"2026-0{seed}-28")
    return state


def numbers(state, group, against):
    rows = state.evidence[(state.evidence["group"] == group) & (state.evidence["against"] == against)]
    return rows[["measure", "estimate", "low", "high", "e", "n", "n_against"]].reset_index(drop=True)


def test_everybody_else_is_the_other_groups_as_one():
    state = watched({"protected": ["ash", "cedar"], "reference": ee.Rest()})
    for group in ("ash", "cedar"):
        recode = {name: group if name == group else "others" for name in WOODS}
        alone = watched({"protected": group, "reference": "others"}, recode)
        pd.testing.assert_frame_equal(
            numbers(state, group, "everybody else"), numbers(alone, group, "others"), check_exact=True
        )
    assert "group = ash against everybody else" in str(state)
    assert state.fixed.alarm_at == pytest.approx(4 / 0.05)


def test_every_pair_that_holds_a_protected_group_is_watched():
    state = watched({"protected": ["ash"], "reference": ee.AllPairs()})
    assert state.fixed.compared == (("ash", "birch"), ("ash", "cedar"))
    for against in ("birch", "cedar"):
        alone = watched({"protected": "ash", "reference": against})
        pd.testing.assert_frame_equal(numbers(state, "ash", against), numbers(alone, "ash", against), check_exact=True)
    every = watched({"protected": list(WOODS), "reference": ee.AllPairs()})
    assert len(every.evidence) == 6


def test_such_a_state_is_kept(tmp_path):
    reference = REFERENCE.assign(group=list(WOODS) * 4)
    schema = {"protected": ["ash"], "reference": ee.Rest()}
    path = tmp_path / "kept.monitor"
    watching = monitor(reference=reference, schema=schema, budget=0.3, state=path)
    state = update(watching, people(90, 1, labels=WOODS))
    again = monitor(reference=reference, schema=schema, budget=0.3, state=path).state
    pd.testing.assert_frame_equal(again.evidence, state.evidence)
    assert again.plot.evidence() is not None
