import csv
import hashlib
import io
import lzma
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee
from equieffort.datasets import adult, adult_graph, adult_setting
from equieffort.errors import ParameterError

ATTRIBUTES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
]
NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
GRAPH = [
    "sex",
    "age",
    "native_country",
    "marital_status",
    "education_num",
    "workclass",
    "occupation",
    "hours_per_week",
]

# Counted from the original files by awk, sort and uniq.
COUNTS = {
    "workclass": {
        "Private": 33906,
        "Self-emp-not-inc": 3862,
        "Local-gov": 3136,
        "unknown": 2799,
        "State-gov": 1981,
        "Self-emp-inc": 1695,
        "Federal-gov": 1432,
        "Without-pay": 21,
        "Never-worked": 10,
    },
    "education": {
        "Preschool": 83,
        "1st-4th": 247,
        "5th-6th": 509,
        "7th-8th": 955,
        "9th": 756,
        "10th": 1389,
        "11th": 1812,
        "12th": 657,
        "HS-grad": 15784,
        "Some-college": 10878,
        "Assoc-voc": 2061,
        "Assoc-acdm": 1601,
        "Bachelors": 8025,
        "Masters": 2657,
        "Prof-school": 834,
        "Doctorate": 594,
    },
    "marital_status": {
        "Married-civ-spouse": 22379,
        "Never-married": 16117,
        "Divorced": 6633,
        "Separated": 1530,
        "Widowed": 1518,
        "Married-spouse-absent": 628,
        "Married-AF-spouse": 37,
    },
    "relationship": {
        "Husband": 19716,
        "Not-in-family": 12583,
        "Own-child": 7581,
        "Unmarried": 5125,
        "Wife": 2331,
        "Other-relative": 1506,
    },
    "race": {"White": 41762, "Black": 4685, "Asian-Pac-Islander": 1519, "Amer-Indian-Eskimo": 470, "Other": 406},
    "sex": {"Male": 32650, "Female": 16192},
}


@pytest.fixture(scope="module")
def stored() -> list[list[str]]:
    text = lzma.decompress((files("equieffort.datasets") / "data" / "adult.csv.xz").read_bytes()).decode()
    return list(csv.reader(io.StringIO(text)))


@pytest.fixture(scope="module")
def everybody() -> tuple[pd.DataFrame, pd.Series]:
    return adult()


def test_the_original_files_can_be_written_again(everybody):
    people, income = everybody
    cells = people.replace("unknown", "?").astype(str).assign(income=income)
    lines = [", ".join(row) for row in cells.itertuples(index=False)]
    train = "".join(f"{line}\n" for line in lines[:32561]) + "\n"
    test = "|1x3 Cross validator\n" + "".join(f"{line}.\n" for line in lines[32561:]) + "\n"
    # SHA-256 of adult.data and adult.test as UCI has them.
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (train, test)]
    assert digests == [
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ]


def test_the_stored_file_is_small(stored):
    assert len((files("equieffort.datasets") / "data" / "adult.csv.xz").read_bytes()) < 600_000
    assert len(stored) == 48_843


def test_shape_names_and_types(everybody):
    people, income = everybody
    assert list(people.columns) == ATTRIBUTES
    assert people.shape == (48_842, 14)
    assert list(people.index) == list(range(48_842)) == list(income.index)
    assert income.name == "income"
    assert not people.isna().any().any()
    for name in people:
        if name in NUMBERS:
            assert people[name].dtype == "int64"
        else:
            assert all(type(value) is str for value in people[name])


@pytest.mark.parametrize("name", COUNTS)
def test_level_counts(name, everybody):
    assert everybody[0][name].value_counts().to_dict() == COUNTS[name]


def test_sums_and_extremes(everybody):
    people = everybody[0]
    # sum, minimum and maximum by awk from the original files
    assert people["age"].agg(["sum", "min", "max"]).tolist() == [1887430, 17, 90]
    assert people["education_num"].agg(["sum", "min", "max"]).tolist() == [492234, 1, 16]
    assert people["capital_gain"].agg(["sum", "min", "max"]).tolist() == [52703821, 0, 99999]
    assert people["capital_loss"].agg(["sum", "min", "max"]).tolist() == [4273788, 0, 4356]
    assert people["hours_per_week"].agg(["sum", "min", "max"]).tolist() == [1974310, 1, 99]


# The code book adult.names: people in all, train and test, with and without unknown values.
@pytest.mark.parametrize(
    ("part", "with_unknown", "without"),
    [("all", 48_842, 45_222), ("train", 32_561, 30_162), ("test", 16_281, 15_060)],
)
def test_the_sizes_of_the_code_book(part, with_unknown, without):
    assert len(adult(part=part)[0]) == with_unknown
    people, income = adult(part=part, missing="drop")
    assert len(people) == len(income) == without
    assert "unknown" not in people.to_numpy()


def test_the_class_probabilities_of_the_code_book(everybody):
    assert f"{(everybody[1] == '>50K').mean():.2%}" == "23.93%"
    assert f"{(adult(missing='drop')[1] == '>50K').mean():.2%}" == "24.78%"
    assert set(everybody[1]) == {"<=50K", ">50K"}


def test_income_by_sex(everybody):
    people, income = everybody
    counts = pd.crosstab(people["sex"], income)
    assert counts.loc["Female"].to_dict() == {"<=50K": 14_423, ">50K": 1_769}
    assert counts.loc["Male"].to_dict() == {"<=50K": 22_732, ">50K": 9_918}


def test_a_label_names_the_same_person_in_every_part(everybody):
    people, income = everybody
    for part, missing in (("train", "level"), ("test", "level"), ("all", "drop"), ("test", "drop")):
        some, theirs = adult(part=part, missing=missing)
        pd.testing.assert_frame_equal(some, people.loc[some.index])
        pd.testing.assert_series_equal(theirs, income.loc[theirs.index])
    assert adult(part="test")[0].index[0] == 32_561


def test_missing_values_can_be_kept_as_missing(everybody):
    people = adult(missing="keep")[0]
    assert people.isna().sum().to_dict() == dict.fromkeys(ATTRIBUTES, 0) | {
        "workclass": 2799,
        "occupation": 2809,
        "native_country": 857,
    }
    assert (people.isna() == (everybody[0] == "unknown")).all().all()


def test_first_person(everybody):
    people, income = everybody
    assert people.loc[0].to_dict() == {
        "age": 39,
        "workclass": "State-gov",
        "fnlwgt": 77516,
        "education": "Bachelors",
        "education_num": 13,
        "marital_status": "Never-married",
        "occupation": "Adm-clerical",
        "relationship": "Not-in-family",
        "race": "White",
        "sex": "Male",
        "capital_gain": 2174,
        "capital_loss": 0,
        "hours_per_week": 40,
        "native_country": "United-States",
    }
    assert income[0] == "<=50K"


def test_columns_of_the_graph():
    assert list(adult("graph")[0].columns) == GRAPH
    assert set(adult_graph().nodes) == set(GRAPH)


def test_only_the_columns_asked_for_decide_who_is_complete():
    # Nobody's age, sex or working hours are unknown.
    assert len(adult(["age", "sex", "hours_per_week"], missing="drop")[0]) == 48_842
    assert len(adult(["native_country"], missing="drop")[0]) == 48_842 - 857


def test_calls_do_not_share_data():
    people, _ = adult(["age"])
    people.loc[0, "age"] = -1
    assert adult(["age"])[0].loc[0, "age"] == 39


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        ({"columns": ["age", "educatoin"]}, "'educatoin'", "Did you mean 'education'?"),
        ({"columns": "age"}, "'age'", "Pass a list: ['age']."),
        ({"columns": "grph"}, "'grph'", "Did you mean 'graph'?"),
        ({"columns": ["sex", "sex"]}, "more than once", "once"),
        ({"part": "validation"}, "part is 'validation'", "'train'"),
        ({"missing": "dropped"}, "Did you mean 'drop'?", "'keep'"),
        ({"missing": None}, "missing is None", "'level'"),
    ],
)
def test_bad_arguments(arguments, what, fix):
    with pytest.raises(ParameterError) as caught:
        adult(**arguments)
    assert caught.value.code == "PARAMETER"
    assert what in caught.value.what
    assert fix in caught.value.fix


def test_the_graph_is_the_published_one():
    # Chiappa (2019): baseline C = (age, nationality), A = sex, M = marital status, L = education, R = work.
    blocks = [["sex", "age", "native_country"], ["marital_status"], ["education_num"]]
    work = ["workclass", "occupation", "hours_per_week"]
    expected = set()
    earlier: list[str] = list(blocks[0])
    for block in [*blocks[1:], work]:
        expected |= {(cause, effect) for cause in earlier for effect in block}
        earlier += block
    assert set(adult_graph().edges) == expected
    assert len(expected) == 3 + 4 + 15


@pytest.fixture(scope="module")
def setting():
    return adult_setting()


def test_four_actions_and_who_is_compared(setting):
    assert setting.schema.actionable == ("education_num", "hours_per_week", "occupation", "workclass")
    assert setting.schema.role("sex") == "sensitive"
    assert {setting.schema.role(n) for n in ("age", "marital_status", "native_country")} == {"immutable"}
    assert setting.schema.favourable == ">50K"
    assert len(setting.X) == len(setting.y) == 45_222


def test_hours_follow_education_by_a_learned_equation(setting):
    X = setting.X.iloc[:50]
    after = setting.scm.counterfactual(X, {"education_num": X["education_num"] + 2})
    step = after["hours_per_week"] - X["hours_per_week"]
    assert step.to_numpy() == pytest.approx(np.full(50, step.iloc[0]))
    # More schooling goes with longer hours in these data, at equal sex, age, origin and marital status: by
    # least squares over indicators made here.
    everyone = setting.X
    causes = ["sex", "age", "native_country", "marital_status", "education_num"]
    design = pd.get_dummies(everyone[causes], drop_first=True, dtype=float).assign(one=1.0)
    slopes = np.linalg.lstsq(design.to_numpy(), everyone["hours_per_week"].to_numpy(dtype=float), rcond=None)[0]
    assert step.iloc[0] == pytest.approx(2 * slopes[list(design.columns).index("education_num")], rel=1e-6)
    assert after[["occupation", "workclass"]].equals(X[["occupation", "workclass"]])


def test_without_causes_nothing_follows():
    setting = adult_setting(causal=False, part="test")
    assert setting.scm.graph.edges == ()
    assert len(setting.X) == 15_060
    X = setting.X.iloc[:5]
    after = setting.scm.counterfactual(X, {"education_num": 16})
    assert after.drop(columns="education_num").equals(X.drop(columns="education_num"))


def test_its_graph_is_the_published_one_but_for_two_edges(setting):
    assert set(adult_graph().edges) - set(setting.scm.graph.edges) == {
        ("education_num", "occupation"),
        ("education_num", "workclass"),
    }
    assert set(setting.scm.graph.edges) <= set(adult_graph().edges)


def test_actions_can_be_chosen():
    setting = adult_setting(["capital_gain", "education_num"], part="test")
    assert setting.schema.actionable == ("capital_gain", "education_num")
    assert setting.schema.role("hours_per_week") == "mutable"
    assert setting.schema.role("occupation") == "mutable"
    assert list(setting.X.columns) == [*GRAPH, "capital_gain"]
    assert "capital_gain" in setting.scm.graph.nodes


@pytest.mark.parametrize("actions", [["age"], [], "education_num", ["education_num", "education_num"], 3])
def test_bad_actions(actions):
    with pytest.raises(ParameterError) as caught:
        adult_setting(actions)
    assert caught.value.code == "PARAMETER"
    assert "actions" in caught.value.what


def test_it_can_be_audited():
    setting = adult_setting(part="test")
    text = ["sex", "native_country", "marital_status", "workclass", "occupation"]
    encode = make_column_transformer((OneHotEncoder(), text), remainder=StandardScaler())
    model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(setting.X, setting.y)
    some = setting.X.iloc[:300]
    table = ee.audit(model, some, schema=setting.schema, scm=setting.scm).recourse
    assert (model.predict(table.counterfactuals()) == ">50K")[table.has_action].all()
    assert set(np.unique(table.status)) <= {ee.Status.NOT_NEEDED, ee.Status.OPTIMAL, ee.Status.INFEASIBLE}
    assert table.has_action.any()
