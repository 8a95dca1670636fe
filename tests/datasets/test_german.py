import csv
import hashlib
from importlib.resources import files

import pandas as pd
import pytest

from equieffort.datasets import german_credit
from equieffort.errors import ParameterError

ATTRIBUTES = [
    "checking_status",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "installment_rate",
    "personal_status",
    "other_debtors",
    "residence",
    "property",
    "age",
    "other_plans",
    "housing",
    "existing_credits",
    "job",
    "dependents",
    "telephone",
    "foreign_worker",
]
NUMBERS = ["duration", "amount", "installment_rate", "residence", "age", "existing_credits", "dependents"]

# Counted from the original, space-separated file by awk, sort and uniq; levels in code book order.
COUNTS = {
    "checking_status": {"< 0 DM": 274, "0-200 DM": 269, ">= 200 DM": 63, "none": 394},
    "credit_history": {
        "no credits or all repaid": 40,
        "all repaid at this bank": 49,
        "repaid so far": 530,
        "past delays": 88,
        "critical or credits elsewhere": 293,
    },
    "purpose": {
        "car (new)": 234,
        "car (used)": 103,
        "furniture": 181,
        "radio/television": 280,
        "appliances": 12,
        "repairs": 22,
        "education": 50,
        "retraining": 9,
        "business": 97,
        "other": 12,
    },
    "savings": {
        "< 100 DM": 603,
        "100-500 DM": 103,
        "500-1000 DM": 63,
        ">= 1000 DM": 48,
        "unknown or none": 183,
    },
    "employment": {
        "unemployed": 62,
        "< 1 year": 172,
        "1-4 years": 339,
        "4-7 years": 174,
        ">= 7 years": 253,
    },
    "personal_status": {
        "male: divorced or separated": 50,
        "female: divorced, separated or married": 310,
        "male: single": 548,
        "male: married or widowed": 92,
    },
    "other_debtors": {"none": 907, "co-applicant": 41, "guarantor": 52},
    "property": {
        "real estate": 282,
        "savings contract or life insurance": 232,
        "car or other": 332,
        "unknown or none": 154,
    },
    "other_plans": {"bank": 139, "stores": 47, "none": 814},
    "housing": {"rent": 179, "own": 713, "free": 108},
    "job": {
        "unemployed or unskilled non-resident": 22,
        "unskilled resident": 200,
        "skilled": 630,
        "management or highly qualified": 148,
    },
    "telephone": {"no": 596, "yes": 404},
    "foreign_worker": {"yes": 963, "no": 37},
    "installment_rate": {1: 136, 2: 231, 3: 157, 4: 476},
    "residence": {1: 130, 2: 308, 3: 149, 4: 413},
    "existing_credits": {1: 633, 2: 333, 3: 28, 4: 6},
    "dependents": {1: 845, 2: 155},
    "sex": {"female": 310, "male": 690},
}


@pytest.fixture(scope="module")
def stored() -> list[list[str]]:
    text = (files("equieffort.datasets") / "data" / "german.csv").read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))


def test_the_stored_rows_are_the_original_ones(stored):
    assert stored[0] == [*ATTRIBUTES, "risk"]
    original = "".join(" ".join(row) + "\n" for row in stored[1:])
    digest = hashlib.sha256(original.encode()).hexdigest()
    assert digest == "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"


def test_shape_names_and_types():
    people, risk = german_credit()
    assert list(people.columns) == [*ATTRIBUTES, "sex"]
    assert people.shape == (1000, 21)
    assert list(people.index) == list(range(1000)) == list(risk.index)
    assert risk.name == "risk"
    assert not people.isna().any().any()
    assert not risk.isna().any()
    for name in people:
        if name in NUMBERS:
            assert people[name].dtype == "int64"
        else:
            assert all(type(value) is str for value in people[name])


@pytest.mark.parametrize("name", COUNTS)
def test_level_counts(name):
    assert german_credit()[0][name].value_counts().to_dict() == COUNTS[name]


def test_risk_counts():
    assert german_credit()[1].value_counts().to_dict() == {"good": 700, "bad": 300}


def test_every_value_against_a_separate_reader(stored):
    people, risk = german_credit()
    for position, name in enumerate(ATTRIBUTES):
        codes = [row[position] for row in stored[1:]]
        values = people[name].tolist()
        if name in NUMBERS:
            assert values == [int(code) for code in codes]
        else:
            # One level for each code, and in the order of the code book: the counts alone would not tell
            # apart two levels of equal count (A44 and A410).
            levels = dict(zip(codes, values, strict=True))
            assert [levels[code] for code in codes] == values
            assert [levels[code] for code in sorted(levels, key=lambda code: int(code[1:]))] == list(COUNTS[name])
    assert risk.tolist() == [{"1": "good", "2": "bad"}[row[20]] for row in stored[1:]]
    assert people["sex"].tolist() == ["female" if row[8] == "A92" else "male" for row in stored[1:]]


def test_sums_and_extremes():
    people = german_credit()[0]
    # sum, minimum and maximum by awk from the original file
    assert people["duration"].agg(["sum", "min", "max"]).tolist() == [20903, 4, 72]
    assert people["amount"].agg(["sum", "min", "max"]).tolist() == [3271258, 250, 18424]
    assert people["age"].agg(["sum", "min", "max"]).tolist() == [35546, 19, 75]


def test_second_applicant():
    people, risk = german_credit()
    assert people.loc[1].to_dict() == {
        "checking_status": "0-200 DM",
        "duration": 48,
        "credit_history": "repaid so far",
        "purpose": "radio/television",
        "amount": 5951,
        "savings": "< 100 DM",
        "employment": "1-4 years",
        "installment_rate": 2,
        "personal_status": "female: divorced, separated or married",
        "other_debtors": "none",
        "residence": 2,
        "property": "real estate",
        "age": 22,
        "other_plans": "none",
        "housing": "own",
        "existing_credits": 1,
        "job": "skilled",
        "dependents": 1,
        "telephone": "no",
        "foreign_worker": "yes",
        "sex": "female",
    }
    assert risk[1] == "bad"


def test_paper_columns():
    everything, risk = german_credit()
    people, paper_risk = german_credit("paper")
    assert list(people.columns) == ["sex", "age", "amount", "duration"]
    pd.testing.assert_frame_equal(people, everything[["sex", "age", "amount", "duration"]])
    pd.testing.assert_series_equal(risk, paper_risk)


@pytest.mark.parametrize("columns", [["purpose", "sex"], ("age",), pd.Index(["housing", "age"])])
def test_chosen_columns_keep_their_order(columns):
    assert list(german_credit(columns)[0].columns) == list(columns)


def test_calls_do_not_share_data():
    people, risk = german_credit("paper")
    people.loc[0, "age"] = -1
    risk[0] = "bad"
    again, risk_again = german_credit("paper")
    assert again.loc[0, "age"] == 67
    assert risk_again[0] == "good"


@pytest.mark.parametrize(
    ("columns", "what", "fix"),
    [
        (["age", "amont"], "'amont'", "Did you mean 'amount'?"),
        (["zzz"], "'zzz'", "'checking_status'"),
        (["age", 3], "3", "'checking_status'"),
        (["age", "age"], "'age' more than once", "once"),
        ("age", "'age'", "Pass a list: ['age']."),
        ("papr", "'papr'", "Did you mean 'paper'?"),
        (3, "3", ""),
    ],
)
def test_bad_columns(columns, what, fix):
    with pytest.raises(ParameterError) as caught:
        german_credit(columns)
    assert caught.value.code == "PARAMETER"
    assert what in caught.value.what
    assert fix in caught.value.fix
