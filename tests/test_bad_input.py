"""Bad input, case by case: what is refused, what is warned about and what is inconclusive, with its code and words.

The people of `people()` are worked out by hand: the rule wants an income of at least 10, incomes range over 12, so
f (0, 2, 4) needs 10/12, 8/12 and 6/12, and m (1, 3, 5) needs 9/12, 7/12 and 5/12.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.samples import against, compared

import equieffort as ee
from equieffort import exports
from equieffort.effort.measures import Sample
from equieffort.effort.metrics import average_cost_ratio, recourse_discrepancy
from equieffort.effort.verdict import judge
from equieffort.errors import (
    CODES,
    CausalModelError,
    CostError,
    DataError,
    EquieffortError,
    EquieffortWarning,
    GraphError,
    ModelError,
    ParameterError,
    SchemaError,
)
from equieffort.models.classifiers import Decision
from equieffort.report.page import render
from equieffort.world.schema import UNLIMITED

NAN, INF = float("nan"), float("inf")
SCM = ee.StructuralCausalModel
INCOME = [0.0, 2.0, 4.0, 12.0, 1.0, 3.0, 5.0, 12.0]
COSTS = [10 / 12, 8 / 12, 6 / 12, NAN, 9 / 12, 7 / 12, 5 / 12, NAN]
LABELS = ["q", "c", "z", "a", "m", "b", "k", "d"]


def people(**columns: Any) -> pd.DataFrame:
    base = {"sex": list("ffffmmmm"), "income": INCOME, "debt": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]}
    return pd.DataFrame(base | columns)


def schema(**parts: Any) -> ee.Schema:
    base = {"sensitive": "sex", "protected": "f", "favourable": True, "features": {"income": UNLIMITED}}
    return ee.Schema(**(base | parts))


def income(**limits: Any) -> ee.Schema:
    return schema(features={"income": ee.Feature("actionable", **limits)})


def rule(threshold: float = 10, closed: bool = True, **coef: float) -> ee.LinearScore:
    return ee.LinearScore(coef or {"income": 1, "debt": 0}, threshold=threshold, closed=closed)


def audit(X: Any = None, model: Any = None, **options: Any) -> ee.Audit:
    base = {"schema": schema(), "scm": SCM([]), "criteria": ee.Criteria(min_people=1)}
    return ee.audit(rule() if model is None else model, people() if X is None else X, **(base | options))


def logistic(label: Callable[[pd.DataFrame], Any] = lambda X: X.income > 10, *, bare: bool = False) -> Any:
    X = people()[["income", "debt"]]
    return LogisticRegression().fit(X.to_numpy() if bare else X, np.asarray(label(X)))


class Model:
    """A classifier made of a function."""

    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "debt"], dtype=object)

    def __init__(self, answer: Callable[[pd.DataFrame], Any]) -> None:
        self.answer = answer

    def predict(self, X: pd.DataFrame) -> Any:
        return self.answer(X)


class Fickle(Model):
    """Changes its mind about the third person every time."""

    def __init__(self) -> None:
        self.asked = 0

    def predict(self, X: pd.DataFrame) -> Any:
        self.asked += 1
        answer = (X.income > 10).to_numpy().copy()
        answer[2] = self.asked % 2 == 0
        return answer


def outlier(n: int) -> pd.DataFrame:
    values = np.append(np.linspace(0, 12, n - 1), 1000.0)
    return pd.DataFrame({"sex": ["f", "m"] * (n // 2), "income": values, "debt": np.arange(n) % 3.0})


def purposes() -> pd.DataFrame:
    return people(purpose=["car", "tv"] * 4)


def purpose_model(**encoder: Any) -> Any:
    X = purposes()[["income", "debt", "purpose"]]
    encode = make_column_transformer((OneHotEncoder(**encoder), ["purpose"]), remainder="passthrough")
    return make_pipeline(encode, LogisticRegression()).fit(X, X.income > 10)


def one_hot() -> pd.DataFrame:
    kinds = np.array(list("abcabcab"))
    return people(**{f"job_{kind}": (kinds == kind).astype(int) for kind in "abc"})


def jobs() -> pd.DataFrame:
    return people(job=list("aabbccab"), savings=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0])


def work(**mechanisms: Any) -> Any:
    return SCM([("income", "job")], nodes=["debt", "savings"], mechanisms=mechanisms)


def job_schema(role: str) -> ee.Schema:
    return schema(features={"income": UNLIMITED, "savings": UNLIMITED, "job": role})


def three_groups() -> pd.DataFrame:
    return people(sex=list("ffmmmddd"))


def collinear() -> pd.DataFrame:
    steps = np.arange(8.0)
    return people(a=steps, b=2 * steps, t=3 * steps + 1)


def renamed(**names: str) -> pd.DataFrame:
    return people().rename(columns=names)


def numbers(n: int) -> pd.DataFrame:
    return pd.DataFrame({"sex": np.linspace(18.1, 70.3, n), "income": np.arange(float(n)), "debt": np.arange(n) % 3.0})


def given(edge: tuple[str, str], **options: Any) -> Any:
    return SCM([edge], mechanisms={edge[1]: ee.Linear({edge[0]: 1.0})}, **options)


BAD: dict[str, Callable[[], Any]] = {
    "01 no rows": lambda: audit(people().iloc[:0]),
    "01 no rows to fit": lambda: SCM([("debt", "income")]).fit(people().iloc[:0]),
    "01 no rows in polars": lambda: audit(pl.from_pandas(people()).head(0)),
    "05 duplicate columns": lambda: audit(pd.concat([people(), people()[["debt"]]], axis=1)),
    "05 duplicate columns in arrow": lambda: audit(
        pa.table([["f", "m"], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]], names=["sex", "income", "debt", "debt"])
    ),
    "06 feature of the model": lambda: audit(renamed(debt="debts")),
    "06 feature of the schema": lambda: audit(renamed(income="incme"), logistic()),
    "06 feature of the distance": lambda: audit().individual(
        0, neighbourhood=ee.Nearest(0.5, ee.Manhattan(features=("incom",)))
    ),
    "07 bare array": lambda: audit(people()[["income", "debt"]].to_numpy(), sensitive_features=people().sex),
    "07 bare model": lambda: audit(people().drop(columns="debt"), logistic(bare=True)),
    "07 wrong number of names": lambda: audit(
        people()[["income", "debt"]].to_numpy(), model_features=["income"], sensitive_features=people().sex
    ),
    "07 columns named by numbers": lambda: audit(people().rename(columns={"debt": 3})),
    "07 not a table": lambda: audit(people().to_dict("records")),
    "07 lazy": lambda: audit(pl.from_pandas(people()).lazy()),
    "07 date": lambda: audit(
        people(since=pd.Timestamp("2020-01-01")), schema=schema(features={"income": "actionable", "since": "mutable"})
    ),
    "09 missing": lambda: audit(people(debt=[1, NAN, 3, 4, 5, 6, 7, NAN]).set_axis(LABELS)),
    "09 missing, logistic": lambda: audit(
        people(debt=[1, NAN, 3, 4, 5, 6, 7, NAN]).set_axis(LABELS), logistic(), missing="error"
    ),
    "09 missing, numbered people": lambda: audit(
        people(debt=[1, NAN, 3, 4, 5, 6, 7, NAN]).set_axis([10, 20, 30, 40, 50, 60, 70, 80])
    ),
    "10 absurd, numbered people": lambda: audit(people(debt=[1, 1e300, 3, 4, 5, 6, 7, 8]).iloc[1:]),
    "12 unseen, numbered people": lambda: audit(
        purposes().assign(purpose=["boat", *["car", "tv"] * 3, "tv"]).iloc[[0, 2, 5, 7]], purpose_model()
    ),
    "48 answers differently, numbered people": lambda: audit(people().iloc[[0, 1, 4, 5, 7]], Fickle()),
    "49 no label, numbered people": lambda: audit(
        people().iloc[[0, 2, 5, 7]], Model(lambda X: np.where(X.income == 4, NAN, X.income > 10))
    ),
    "person, unknown, numbered people": lambda: audit(people().iloc[[0, 2, 3, 5, 7]]).explain(9),
    "09 missing in a fit": lambda: SCM([("debt", "income")]).fit(people(debt=[1, NAN, 3, 4, 5, 6, 7, NAN])),
    "81 nobody's group is known": lambda: audit(people(sex=None)),
    "09 unknown word": lambda: audit(missing="ignore"),
    "09 all missing": lambda: audit(people(debt=NAN), missing="drop"),
    "10 infinite in a fit": lambda: SCM([("debt", "income")]).fit(people(debt=[1, -INF, 3, 4, 5, 6, 7, 8])),
    "10 absurd": lambda: audit(people(debt=[1, 2, 1e300, 4, 5, 6, 7, 8]).set_axis(LABELS)),
    "10 infinite": lambda: audit(people(debt=[1, 2, INF, 4, 5, 6, 7, 8]).set_axis(LABELS)),
    "10 infinite, actionable": lambda: audit(people(income=[0, 2, INF, 12, 1, 3, 5, 12]).set_axis(LABELS)),
    "10 infinite, logistic": lambda: audit(people(debt=[1, 2, INF, 4, 5, 6, 7, 8]).set_axis(LABELS), logistic()),
    "12 unseen by the model": lambda: audit(
        purposes().assign(purpose=["car", "tv"] * 3 + ["tv", "boat"]).set_axis(LABELS), purpose_model()
    ),
    "12 unseen by the causal model": lambda: audit(
        purposes().assign(purpose=["car", "tv"] * 3 + ["tv", "cars"]).set_axis(LABELS),
        scm=SCM([("purpose", "debt")], nodes=["income"]).fit(purposes().assign(debt=[1.0, 9.0] * 4)),
    ),
    "15 sensitive missing": lambda: audit(renamed(sex="Sex")),
    "15 second protected missing": lambda: audit(schema=schema(also_protected=["age"])),
    "16 one group": lambda: audit(people(sex="f")),
    "18 no reference": lambda: audit(three_groups()),
    "18 unknown group": lambda: audit(people(sex=["female"] * 4 + ["male"] * 4), schema=schema(protected="femal")),
    "18 group of another type": lambda: audit(people(sex=[0, 0, 0, 0, 1, 1, 1, 1]), schema=schema(protected="1")),
    "18 protected and reference": lambda: audit(three_groups(), schema=schema(reference="f")),
    "18 everybody protected": lambda: audit(schema=schema(protected=["f", "m"])),
    "20 continuous": lambda: audit(numbers(30)),
    "20 continuous, few people": lambda: audit(numbers(8)),
    "20 a name each": lambda: audit(numbers(30).assign(sex=[f"person {i}" for i in range(30)])),
    "21 sensitive actionable": lambda: schema(features={"sex": "actionable"}),
    "21 second protected actionable": lambda: schema(also_protected=["age"], features={"age": "actionable"}),
    "21 second protected mutable": lambda: schema(also_protected="age", features={"age": ee.Feature("mutable")}),
    "27 zero range": lambda: audit(people(income=1.0)),
    "27 zero range of percentiles": lambda: audit(people(income=1.0), cost=ee.Percentile()),
    "27 own value zero": lambda: audit(cost=ee.WeightedL1(ee.Own())),
    "29 lower above upper": lambda: ee.Feature("actionable", lower=5, upper=1),
    "29 plausible": lambda: ee.Feature("mutable", plausible=(5, 1)),
    "29 plausible pair": lambda: ee.Feature("mutable", plausible=(5, 1, 2)),  # type: ignore[arg-type]
    "29 nan": lambda: ee.Feature("actionable", lower=NAN),
    "29 nan, plausible": lambda: ee.Feature("mutable", plausible=(NAN, 1)),
    "29 negative change": lambda: ee.Feature("actionable", max_increase=-1),
    "29 limits without actions": lambda: ee.Feature("immutable", upper=3),
    "29 text": lambda: audit(schema=income(lower="5")),
    "29 plausible number": lambda: ee.Feature("actionable", plausible=5),  # type: ignore[arg-type]
    "29 direction": lambda: ee.Feature("actionable", direction="increase"),  # type: ignore[arg-type]
    "29 limits of a category": lambda: audit(
        purposes(), schema=schema(features={"income": "actionable", "purpose": ee.Feature("actionable", lower=1)})
    ),
    "31 negative": lambda: ee.Feature("actionable", weight=-1),
    "31 zero": lambda: ee.Feature("actionable", weight=0),
    "31 nan": lambda: ee.Feature("actionable", weight=NAN),
    "31 infinite": lambda: ee.Feature("actionable", weight=INF),
    "31 one of two": lambda: ee.Feature("actionable", weight=(1, 0)),
    "31 three": lambda: ee.Feature("actionable", weight=(1, 2, 3)),  # type: ignore[arg-type]
    "31 of the cost": lambda: audit(cost=ee.WeightedL1(weights={"income": 0})),
    "31 of a stranger": lambda: audit(cost=ee.WeightedL1(weights={"incom": 2})),
    "34 zero": lambda: ee.Nearest(0),
    "34 negative": lambda: ee.Nearest(-0.1),
    "34 above one": lambda: ee.Nearest(1.5),
    "34 nan": lambda: ee.Nearest(NAN),
    "34 text": lambda: ee.Nearest("0.5"),  # type: ignore[arg-type]
    "34 individual": lambda: audit().individual(0, quantile=0),
    "34 curve": lambda: audit().curve([0.1, 1.1]),
    "34 k": lambda: ee.NearestK(0),
    "34 k too large": lambda: audit().individual(0, neighbourhood=ee.NearestK(9)),
    "36 cycle": lambda: SCM([("age", "debt"), ("debt", "job"), ("job", "age")]),
    "36 self": lambda: SCM([("age", "age")]),
    "37 unknown node": lambda: audit(
        scm=SCM([("income", "debts")]).fit(people(debts=[1.0, 2.0, 5.0, 12.0, 3.0, 4.0, 6.0, 9.0]))
    ),
    "37 unknown node, given": lambda: audit(scm=given(("income", "debts"))),
    "37 unknown node, fit": lambda: SCM([("income", "debts")]).fit(people()),
    "40 as many causes as rows": lambda: SCM([("a", "t"), ("b", "t"), ("debt", "t")]).fit(collinear().iloc[:3]),
    "41 follows an action": lambda: audit(jobs(), scm=work().fit(jobs()), schema=job_schema("mutable")),
    "41 learned": lambda: work(job=ee.LeastSquares()).fit(jobs()),
    "41 given": lambda: audit(jobs(), scm=work(job=ee.Linear({"income": 1.0})), schema=job_schema("mutable")),
    "41 no mechanism": lambda: SCM([("income", "debt")], mechanisms={"debt": "ols"}),
    "41 counterfactual": lambda: work().fit(jobs()).counterfactual(jobs(), do={"income": 3.0}),
    "43 one-hot": lambda: audit(
        one_hot(), schema=schema(features={"income": "actionable", "job_a": "actionable", "job_b": "actionable",
                                           "job_c": "mutable"})
    ),
    "44 fraction": lambda: audit(
        people(income=[0, 2.5, 4, 12, 1, 3, 5, 12]).set_axis(LABELS), schema=income(kind="integer")
    ),
    "45 no predict": lambda: audit(people().drop(columns="debt"), object()),
    "45 class": lambda: audit(people().drop(columns="debt"), LogisticRegression),
    "45 not fitted": lambda: audit(people().drop(columns="debt"), LogisticRegression()),
    "45 pipeline not fitted": lambda: audit(
        people().drop(columns="debt"), make_pipeline(StandardScaler(), LogisticRegression())
    ),
    "45 no predict, extra column": lambda: audit(model=object()),
    "46 label": lambda: audit(
        model=logistic(lambda X: np.where(X.income > 10, "good", "bad")), schema=schema(favourable="goood")
    ),
    "46 label of another type": lambda: audit(
        model=logistic(lambda X: (X.income > 10).astype(int)), schema=schema(favourable="1")
    ),
    "48 answers differently": lambda: audit(people().set_axis(LABELS), Fickle()),
    "49 no label": lambda: audit(
        people().set_axis(LABELS), Model(lambda X: np.where(X.income == 4, NAN, X.income > 10))
    ),
    "49 two columns": lambda: audit(model=Model(lambda X: np.zeros((len(X), 2)))),
    "49 too short": lambda: audit(model=Model(lambda X: np.zeros(len(X) - 1))),
    "49 nothing": lambda: audit(model=Model(lambda X: None)),
    "49 fails": lambda: audit(model=Model(lambda X: 1 / 0)),
    "49 not linear": lambda: audit(model=Model(lambda X: (X.income > 10).to_numpy()), solver=ee.LinearExact()),
    "beside, too short": lambda: audit(people().drop(columns="sex"), sensitive_features=["f", "m"]),
    "beside, dict of nothing": lambda: audit(people().drop(columns="sex"), sensitive_features="sex"),
    "beside, too wide": lambda: audit(people().drop(columns="sex"), sensitive_features=people()[["sex", "sex"]].values),
    "solve without a column": lambda: ee.solve(
        ee.RecourseProblem.of(rule(), people(), schema=schema(), scm=SCM([])), people().drop(columns="debt")
    ),
    "reference without a column": lambda: audit(reference=people()[["debt"]]),
    "person, unknown": lambda: audit(people().set_axis(LABELS)).individual("zz"),
    "person, list": lambda: audit().individual([1]),
    "person, position": lambda: audit().explain(position=8),
    "person, none": lambda: audit().explain(),
    "criteria, tau": lambda: ee.Criteria(tau=0.5),
    "criteria, epsilon": lambda: ee.Criteria(epsilon=0),
    "criteria, people": lambda: ee.Criteria(min_people=0),
    "criteria, level": lambda: ee.Criteria(level=95),
    "criteria, judged": lambda: ee.Criteria(judged=("acr", "acr")),
    "criteria, budget": lambda: ee.Criteria(budget=0),
    "margin": lambda: audit(margin=-1),
    "role": lambda: ee.Feature("actionabel"),  # type: ignore[arg-type]
    "kind": lambda: ee.Feature("actionable", kind="int"),  # type: ignore[arg-type]
    "nothing actionable": lambda: audit(schema=schema(features={})),
}  # fmt: skip


def refused(case: str, error: type[EquieffortError], code: str, *mentions: str) -> None:
    with pytest.raises(error) as caught:
        BAD[case]()
    assert caught.value.code == code
    for text in mentions:
        assert text in str(caught.value), f"{text!r} is not in: {caught.value}"


def codes_of(result: ee.Audit) -> list[str]:
    return [warning.code for warning in result.warnings]


def warned(code: str, call: Callable[[], ee.Audit], *mentions: str) -> ee.Audit:
    """The audit warns once with the code, and its result carries the warning."""
    with pytest.warns(EquieffortWarning) as caught:
        result = call()
    issued = [w.message for w in caught if isinstance(w.message, EquieffortWarning) and w.message.code == code]
    assert len(issued) == 1
    assert issued[0] in result.warnings
    for text in mentions:
        assert text in issued[0].long, f"{text!r} is not in: {issued[0].long}"
    check_words(issued[0])
    return result


def finding(result: ee.Audit, group: str = "f") -> Any:
    return next(found for found in result.verdict.findings if found.comparison.group == group)


def row(result: ee.Audit, group: str) -> pd.Series:
    return compared(result).loc[group]


def approx(values: Any) -> Any:
    return pytest.approx(values, rel=1e-12, abs=1e-12, nan_ok=True)


# -- the words of every message ----------------------------------------------------------------------------------------


def check_words(problem: EquieffortError | EquieffortWarning) -> None:
    """What, why it matters, how to fix it, code: each present, a sentence, and free of programmers' debris."""
    lines = problem.long.split("\n")
    assert lines[0] == problem.what
    assert lines[1:] == [
        f"  Why it matters: {problem.why}",
        f"  How to fix it: {problem.fix}",
        f"  Code: {problem.code}",
    ]
    is_warning = isinstance(problem, EquieffortWarning)
    assert str(problem) == (f"{problem.what} ({problem.code})" if is_warning else problem.long)
    assert problem.why == CODES[problem.code]
    for part in (problem.what, problem.why, problem.fix):
        assert part.endswith((".", "?")), part
        assert part == part.strip()
        assert "  " not in part
        assert not re.search(r"Traceback|File \"|\bnp\.|<class|object at 0x|dtype\(|\bNone\b", part), part
        assert "''" not in part
        assert '""' not in part
        assert not re.search(r"[.,;:?!]{2}", part.replace("...", "")), part
        assert not re.search(r" [.,;:?!](?!\d|\w)", part.replace("...", "")), part
    quoted = re.findall(r"'([^']+)'", problem.what)
    suggested = re.findall(r"Did you mean '([^']+)'\?$", problem.what)
    assert not suggested or quoted[0] != suggested[0], problem.what


@pytest.mark.parametrize("case", BAD)
def test_every_error_says_what_why_and_how(case: str) -> None:
    with pytest.raises(EquieffortError) as caught:
        BAD[case]()
    check_words(caught.value)
    echoed = "nan" in case
    assert echoed or not re.search(r"\bnan\b", str(caught.value)), str(caught.value)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_case_01_no_rows() -> None:
    for case in ("01 no rows", "01 no rows to fit", "01 no rows in polars"):
        refused(case, DataError, "DATA_EMPTY", "X has no rows.")


def test_case_05_duplicate_columns() -> None:
    refused("05 duplicate columns", DataError, "DATA_DUPLICATE_COLUMNS", "'debt'")


def test_case_05_duplicate_columns_in_arrow() -> None:
    refused("05 duplicate columns in arrow", DataError, "DATA_DUPLICATE_COLUMNS", "'debt'")


def test_case_06_missing_feature() -> None:
    columns = "The columns are 'sex', 'income', 'debts'."
    refused("06 feature of the model", DataError, "DATA_MISSING_COLUMN", "The model", "Did you mean 'debts'?", columns)
    refused("06 feature of the schema", DataError, "DATA_MISSING_COLUMN", "schema", "'income'", "mean 'incme'?")
    refused("06 feature of the distance", ParameterError, "DATA_MISSING_COLUMN", "distance", "Did you mean 'income'?")


def test_case_07_columns_in_another_order() -> None:
    model = logistic()
    expected = audit(model=model).recourse.frame()
    shuffled = audit(people()[["debt", "sex", "income"]], model).recourse.frame()
    pd.testing.assert_frame_equal(shuffled, expected)
    # The model would answer otherwise if the columns reached it in the wrong order.
    swapped = people()[["debt", "income"]].set_axis(["income", "debt"], axis=1)
    assert (model.predict(swapped) != model.predict(people()[["income", "debt"]])).any()


def test_case_07_bare_array_needs_names() -> None:
    refused("07 bare array", DataError, "DATA_NO_NAMES", "(8, 2)", "model_features")
    refused("07 bare model", DataError, "DATA_NO_NAMES", "LogisticRegression", "model_features")
    refused("07 wrong number of names", DataError, "DATA_NO_NAMES", "(8, 2)", "1 name was")
    refused("07 columns named by numbers", DataError, "DATA_NO_NAMES", "such as 3", "X.columns.map(str)")
    refused("07 not a table", DataError, "DATA_TYPE", "list", "pandas, polars or pyarrow")
    refused("07 lazy", DataError, "DATA_TYPE", "LazyFrame", ".collect()")
    refused("07 date", DataError, "DATA_TYPE", "'since'", "days since")


def test_case_07_names_for_a_model_fitted_on_an_array() -> None:
    expected = audit(model=logistic()).recourse.frame()
    options = {"model_features": ["income", "debt"]}
    table = audit(model=logistic(bare=True), **options).recourse.frame()
    pd.testing.assert_frame_equal(table, expected)
    array = people()[["income", "debt"]].to_numpy()
    both = audit(array, logistic(bare=True), sensitive_features=people().sex, **options)
    pd.testing.assert_frame_equal(both.recourse.frame(), expected)


def test_case_08_extra_columns() -> None:
    result = warned("DATA_EXTRA_COLUMNS", lambda: audit(people(incom=1.0, note="a")), "'incom', 'note'")
    np.testing.assert_allclose(result.recourse.cost, COSTS)


def test_case_09_missing_value() -> None:
    refused("09 missing", DataError, "DATA_MISSING_VALUES", "'debt'", "2 missing", "'c'", 'missing="drop"', '"model"')
    refused("09 missing in a fit", DataError, "DATA_MISSING_VALUES", "'debt'", "row 1")
    refused("09 unknown word", ParameterError, "PARAMETER", "'ignore'", '"drop"')


def test_case_09_missing_value_with_a_model_that_refuses_it() -> None:
    refused("09 missing, logistic", DataError, "DATA_MISSING_VALUES", "'debt'", "row 'c'")


def gaps() -> pd.DataFrame:
    return people(debt=[1, NAN, 3, 4, 5, 6, 7, NAN]).set_axis(LABELS)


def test_case_09_drop() -> None:
    result = warned("DATA_MISSING_VALUES", lambda: audit(gaps(), missing="drop"), "2 of 8", "(sex = f: 1, sex = m: 1)")
    assert result.recourse.frame().index.tolist() == ["q", "z", "a", "m", "b", "k"]
    # f: (10 + 6) / 2 of 12; m: (9 + 7 + 5) / 3 of 12.
    assert row(result, "f").phi == approx(8 / 12)
    assert row(result, "f").n == 3
    assert row(result, "m").phi == approx(7 / 12)


def test_case_09_drop_nobody_left() -> None:
    refused("09 all missing", DataError, "DATA_EMPTY", "Every row")


def test_case_09_drop_with_a_model_that_refuses_it() -> None:
    result = warned(
        "DATA_MISSING_VALUES", lambda: audit(gaps(), logistic(), missing="drop"), "(sex = f: 1, sex = m: 1)"
    )
    assert len(result.recourse) == 6


@pytest.mark.parametrize("missing", ["drop", "model"])
def test_case_09_missing_with_given_equations(missing: Any) -> None:
    features = {"income": "actionable", "debt": "mutable"}
    with pytest.warns(EquieffortWarning):
        result = audit(gaps(), scm=given(("income", "debt")), schema=schema(features=features), missing=missing)
    assert row(result, "f").n_optimal == 2


def test_case_81_a_group_that_is_not_known() -> None:
    X = people(sex=["f", None, *"ffmmmm"])
    for missing in ("error", "drop", "model"):
        result = warned(
            "DATA_GROUP_UNKNOWN", lambda missing=missing: audit(X, missing=missing), "1 person", "unknown: 1"
        )
        assert (row(result, "f").n, row(result, "m").n, row(result, "unknown").n) == (3, 4, 1)
    whole = {sex: audit(people(sex=["f", sex, *"ffmmmm"])).measures for sex in "fm"}
    found = result.measures.set_index(["group", "measure"]).loc["f"]
    for name in ("acr", "rd", "needs_more", "median_effort"):
        values = [one.set_index(["group", "measure"]).loc[("f", name), "estimate"] for one in whole.values()]
        assert (found.loc[name, "assigned_least"], found.loc[name, "assigned_most"]) == approx(
            (min(values), max(values))
        )
    refused("81 nobody's group is known", DataError, "DATA_EMPTY", "'sex'")


def test_case_17_a_small_group_is_inconclusive_at_every_level_and_never_left_out() -> None:
    X = pd.concat([people(), people(sex="d").iloc[[0, 3]]], ignore_index=True)
    for how in ("m", ee.Rest(), ee.AllPairs()):
        result = audit(X, schema=schema(protected=["d"], reference=how), criteria=ee.Criteria())
        for part in (result.system, result.subgroup("income < 13"), result.individual(len(X) - 2)):
            assert "d" in part.by_group.index
            assert {c.outcome for c in part.verdict.findings if c.comparison.group == "d"} == {"inconclusive"}
            assert "d" in set(part.measures["group"])
        told = result.individuals(0.9)
        assert (told[told["group"] == "d"]["outcome"] == "inconclusive").all()
        assert len(told[told["group"] == "d"]) > 0
        assert "d" in {one["group"] for one in exports.summary(result)["by_group"]}
        assert "d" in {line.split(",")[3] for line in exports.measures_csv(result).splitlines()[1:]}
        assert ">d<" in render(result)


def test_case_19_labels_that_look_alike_in_python() -> None:
    X = people(sex=["f", "F", "f", "f", *"mmmm"])
    told = schema(protected="f", reference="m")
    warned("DATA_SIMILAR_LABELS", lambda: audit(X, schema=told), "'F' (1 person)", "'f' (3 people)")


def test_case_09_the_model_decides() -> None:
    # NaN is not at least 10, so the rule refuses both; nothing is known of their recourse.
    result = warned("RECOURSE_UNKNOWN", lambda: audit(gaps(), missing="model"), "2 people")
    assert result.recourse.frame().status["c"] == result.recourse.frame().status["d"] == "unknown"
    assert np.isnan(result.recourse.cost[[1, 7]]).all()
    assert (row(result, "f").rho_least, row(result, "f").rho_most) == approx((2 / 3, 1))
    assert (row(result, "m").rho_least, row(result, "m").rho_most) == approx((3 / 4, 1))
    assert "is missing" in result.explain("c").reason
    assert (result.verdict.outcome, result.verdict.codes) == ("inconclusive", ("NOISE",))
    estimate = replace(result, criteria=ee.Criteria(min_people=1, level=None)).verdict
    assert (estimate.outcome, estimate.codes) == ("inconclusive", ("UNCERTIFIED",))


def test_case_10_absurd_value() -> None:
    refused("10 infinite in a fit", DataError, "DATA_NOT_FINITE", "'debt'", "inf", "row 1")
    refused("10 absurd", DataError, "DATA_NOT_FINITE", "'debt'", "1e+300", "row 'z'")


@pytest.mark.parametrize("case", ["10 infinite", "10 infinite, actionable", "10 infinite, logistic"])
def test_case_10_infinite_value(case: str) -> None:
    column = "'income'" if "actionable" in case else "'debt'"
    refused(case, DataError, "DATA_NOT_FINITE", column, "inf", "row 'z'")


def test_case_12_unseen_category() -> None:
    refused("12 unseen by the model", DataError, "DATA_UNSEEN_CATEGORY", "boat")
    mentions = "'purpose'", "'cars'", "row 'd'", "'car', 'tv'", "Did you mean 'car'?"
    refused("12 unseen by the causal model", DataError, "DATA_UNSEEN_CATEGORY", *mentions)


def test_case_12_unseen_category_names_column_and_row() -> None:
    refused("12 unseen by the model", DataError, "DATA_UNSEEN_CATEGORY", "'purpose'", "'d'")


def test_case_15_sensitive_column_missing() -> None:
    mentions = "'sex'", "Did you mean 'Sex'?", "sensitive_features="
    refused("15 sensitive missing", DataError, "SCHEMA_SENSITIVE_MISSING", *mentions)
    refused("15 second protected missing", DataError, "SCHEMA_SENSITIVE_MISSING", "'age'")


def test_case_16_one_group() -> None:
    refused("16 one group", SchemaError, "SCHEMA_ONE_GROUP", "'sex'", "'f'")


def test_case_17_group_below_the_minimum_size() -> None:
    result = audit(criteria=ee.Criteria())
    assert (result.verdict.outcome, result.verdict.codes) == ("inconclusive", ("TOO_FEW",))
    assert "The 3 of 3 refused people with sex = f" in str(result.verdict)
    assert "Too few to judge: each group needs at least 5 people with a route to approval" in str(result.verdict)
    for level, enough in ((None, ("ACR_WITHIN", "RD_WITHIN")), (0.95, ("NOISE",))):
        assert audit(criteria=ee.Criteria(min_people=3, level=level)).verdict.codes == enough
        assert audit(criteria=ee.Criteria(min_people=4, level=level)).verdict.codes == ("TOO_FEW",)


def test_case_17_only_that_group_is_not_judged() -> None:
    X = pd.concat([people(), people(sex="d").iloc[[0, 3]]], ignore_index=True)
    estimate = ee.Criteria(min_people=2, level=None)
    result = audit(X, schema=schema(protected=["f", "d"], reference="m"), criteria=estimate)
    assert (finding(result, "f").outcome, finding(result, "f").codes) == ("equal", ("ACR_WITHIN", "RD_WITHIN"))
    assert (finding(result, "d").outcome, finding(result, "d").codes) == ("inconclusive", ("TOO_FEW",))
    assert result.verdict.outcome == "inconclusive"


def test_case_18_three_groups_need_a_reference() -> None:
    refused("18 no reference", SchemaError, "SCHEMA_GROUPS", "'f'", "'d', 'm'", "reference=")
    mentions = "'femal'", "'sex'", "Did you mean 'female'?", "'female', 'male'"
    refused("18 unknown group", SchemaError, "SCHEMA_GROUPS", *mentions)
    refused("18 group of another type", SchemaError, "SCHEMA_GROUPS", "'1'", "0, 1")
    refused("18 protected and reference", SchemaError, "SCHEMA_GROUPS", "'f'", "both")
    refused("18 everybody protected", SchemaError, "SCHEMA_GROUPS", "'f', 'm'")


def test_case_18_each_group_against_the_reference() -> None:
    # Means in twelfths: f (10 + 8) / 2 = 9; m, with incomes 4, 12 and 1, (6 + 9) / 2 = 7.5; d (7 + 5) / 2 = 6.
    result = audit(three_groups(), schema=schema(protected=["f", "d"], reference="m"))
    found = compared(result)
    assert found["against"].tolist()[:2] == ["m", "m"]
    assert pd.isna(found.loc["m", "against"])
    assert found["acr"].tolist() == approx([6 / 7.5, 9 / 7.5, NAN])
    assert [found.comparison.group for found in result.verdict.findings] == ["f", "d"]
    other = audit(three_groups(), schema=schema(reference="m"))
    assert row(other, "d").role == "other"
    assert [found.comparison.group for found in other.verdict.findings] == ["f"]
    # A reference person is compared with each of the others.
    assert [c.against for c in result.individual(2).comparisons] == ["f", "d"]


def test_case_20_continuous_sensitive_attribute() -> None:
    refused("20 continuous", SchemaError, "SCHEMA_SENSITIVE_CONTINUOUS", "'sex'", "30 different", "bins", "pd.cut")


def test_case_20_a_group_for_each_person() -> None:
    refused("20 continuous, few people", SchemaError, "SCHEMA_SENSITIVE_CONTINUOUS", "'sex'")


def test_case_21_protected_and_actionable() -> None:
    refused("21 sensitive actionable", SchemaError, "SCHEMA_SENSITIVE_ACTIONABLE", "'sex'", "actionable")
    refused("21 second protected actionable", SchemaError, "SCHEMA_SENSITIVE_ACTIONABLE", "'age'", "actionable")
    refused("21 second protected mutable", SchemaError, "SCHEMA_SENSITIVE_ACTIONABLE", "'age'", "mutable")


def test_case_21_an_action_that_would_move_a_protected_column_is_no_recourse() -> None:
    X = people(age=np.arange(30.0, 38.0))
    scm = given(("income", "age"), nodes=["debt", "sex"])
    mentions = "'age'", "'income'"
    result = warned("GRAPH_INTO_SENSITIVE", lambda: audit(X, schema=schema(also_protected=["age"]), scm=scm), *mentions)
    assert set(result.recourse.frame().status) == {"infeasible", "not_needed"}
    assert "'age' must not move" in result.explain(0).reason


def test_case_22_nothing_to_recourse() -> None:
    result = audit(people(income=np.arange(20.0, 28.0)))
    assert (result.verdict.outcome, result.verdict.codes) == ("inconclusive", ("NOTHING",))
    assert "nothing to reverse" in str(result.verdict)
    ends = ("", "_low", "_high", "_least", "_most")
    undefined = [f"{name}{end}" for name in ("phi", "rho", "acr", "rd", "difference") for end in ends]
    assert compared(result)[undefined].isna().all(axis=None)
    assert result.system.groups.favourable_rate.tolist() == [1.0, 1.0]


def test_case_23_everybody_unfavourable() -> None:
    incomes = [0.0, 2.0, 4.0, 9.0, 1.0, 3.0, 5.0, 7.0]
    result = warned("OUTCOME_ALL_UNFAVOURABLE", lambda: audit(people(income=incomes)), "All 8 people", "favourable")
    np.testing.assert_allclose(result.recourse.cost, [(10 - x) / 9 for x in incomes])
    assert row(result, "f").acr == approx((10 + 8 + 6 + 1) / (9 + 7 + 5 + 3))


def test_case_24_a_group_without_unfavourable_rows() -> None:
    result = audit(people(income=[20, 21, 22, 23, 1, 3, 5, 12.0]))
    assert (result.verdict.outcome, result.verdict.codes) == ("inconclusive", ("UNDEFINED",))
    assert "No people with sex = f were refused" in str(result.verdict)
    ends = [f"acr_{end}" for end in ("low", "high", "least", "most")]
    assert row(result, "f")[["phi", "rho", "acr", *ends, "rd", "difference"]].isna().all()
    assert result.system.groups.favourable_rate.tolist() == [1.0, 0.25]
    # The other way round.
    mirrored = audit(people(income=[1, 3, 5, 12, 20, 21, 22, 23.0]))
    assert (mirrored.verdict.outcome, mirrored.verdict.codes) == ("inconclusive", ("UNDEFINED",))
    assert "No people with sex = m were refused" in str(mirrored.verdict)
    assert np.isnan(row(mirrored, "f").acr)


def test_case_25_no_recourse_in_a_group() -> None:
    X = people(income=[0, 1, 2, 12, 4, 5, 6, 12.0])
    result = audit(X, schema=income(max_increase=7))
    assert np.isnan(row(result, "f").acr)
    assert np.isnan(row(result, "f").phi)
    assert (row(result, "f").rho, row(result, "m").rho, row(result, "f").rd) == (0.0, 1.0, 1.0)
    assert (result.verdict.outcome, result.verdict.codes) == ("unequal", ("RD_BEYOND",))
    assert "No refused people with sex = f have a route to approval" in str(result.verdict)


def test_case_25_no_recourse_at_all() -> None:
    result = audit(schema=income(max_increase=1))
    assert np.isnan(row(result, "f").acr)
    assert row(result, "f").rd == 0.0
    assert (result.verdict.outcome, result.verdict.codes) == ("inconclusive", ("UNDEFINED",))


def test_case_26_effort_of_the_other_group_is_zero() -> None:
    solved = np.array([1, 1], dtype=np.int8)
    some = Sample.of(solved, np.array([0.5, 0.25]), np.array([0.5, 0.25]))
    none = Sample.of(solved, np.zeros(2), np.zeros(2))
    mine, free = some.stats, none.stats
    assert free.phi == 0.0
    assert np.isnan(average_cost_ratio(mine, free))
    assert np.isnan(average_cost_ratio(free, free))
    assert np.isnan(average_cost_ratio(free, mine))
    assert recourse_discrepancy(mine, free) == 0.0
    for criteria in (ee.Criteria(min_people=1), ee.Criteria(min_people=1, level=None)):
        compared = against(some, none, group="f", other="m", criteria=criteria)
        assert compared.difference == 0.375
        assert np.isnan(compared.acr_range).all()
        found = judge(compared, criteria)
        assert (found.outcome, found.codes) == ("inconclusive", ("UNDEFINED",))
        assert "0.375 for refused people in group f and 0 for refused people in group m" in found.sentence


def test_case_26_a_cost_that_is_free_at_first() -> None:
    X = pd.DataFrame({"sex": list("fffmmm"), "income": [0.0, 2, 20, 8, 9, 20]})
    cost = ee.Separable({"income": lambda fact, values: np.maximum(np.abs(values - fact) - 3, 0)})
    result = audit(X, rule(income=1), cost=cost)
    assert (row(result, "f").phi, row(result, "m").phi) == approx((6, 0))
    ends = [f"acr_{end}" for end in ("low", "high", "least", "most")]
    assert np.isnan(row(result, "f")[["acr", *ends]].astype(float)).all()
    assert row(result, "f").difference == approx(6)
    assert (result.verdict.outcome, result.verdict.codes) == ("inconclusive", ("UNDEFINED",))


def test_case_26_people_at_an_open_boundary() -> None:
    X = pd.DataFrame({"sex": list("fffmmm"), "income": [0.0, 2, 20, 10, 10, 20]})
    result = audit(X, rule(closed=False, income=1))
    assert result.recourse.bound[[3, 4]].tolist() == [0.0, 0.0]
    assert np.isnan(row(result, "f").acr)


def test_case_27_zero_range() -> None:
    refused("27 zero range", CostError, "COST_ZERO_SCALE", "'income'", "is 0", "Std()")
    refused("27 zero range of percentiles", CostError, "COST_ZERO_SCALE", "'income'", "single reference value, 1")
    refused("27 own value zero", CostError, "COST_ZERO_SCALE", "'income'", "is 0", "Range()")


def test_case_27_zero_range_is_left_out_of_the_distance() -> None:
    call = lambda: audit(people(debt=1.0), neighbourhood=ee.Nearest(0.5))  # noqa: E731
    result = warned("COST_ZERO_RANGE", call, "'debt' has a single value")
    # Incomes 0, 1, 2 and 3 are the nearest four of eight; the median distance is that of 3.5.
    assert np.flatnonzero(result.neighbours(0, ee.Nearest(0.5))).tolist() == [0, 1, 4, 5]
    assert result.individual(0).about.startswith("4 people")


def test_case_27_no_warning_of_a_distance_that_is_not_used() -> None:
    assert codes_of(audit(people(debt=1.0))) == []


def test_case_28_an_outlier_dominates_a_range() -> None:
    mentions = "'income'", "1,000", "Range(quantiles=(0.01, 0.99))"
    result = warned("COST_OUTLIER", lambda: audit(outlier(120)), *mentions)
    assert result.recourse.cost[0] == approx(10 / 1000)


def test_case_28_the_advice_silences_the_warning() -> None:
    with pytest.warns(EquieffortWarning, match="'income' is 1,000 for 1 person"):
        robust = audit(outlier(120), cost=ee.WeightedL1(ee.Range(quantiles=(0.01, 0.99))))
    assert robust.recourse.cost[0] > 0.5
    # The value itself is still told.
    assert codes_of(robust) == ["DATA_SENTINEL"]


@pytest.mark.parametrize("n", [20, 50])
def test_case_28_an_outlier_among_few_people(n: int) -> None:
    warned("COST_OUTLIER", lambda: audit(outlier(n)), "'income'")


def test_case_29_contradictory_limits() -> None:
    refused("29 lower above upper", SchemaError, "SCHEMA_LIMITS", "5", "above", "1")
    refused("29 plausible", SchemaError, "SCHEMA_LIMITS", "plausible minimum 5", "maximum 1")
    refused("29 plausible pair", SchemaError, "SCHEMA_LIMITS", "not a pair", "(low, high)")
    refused("29 nan", SchemaError, "SCHEMA_LIMITS", "lower is nan")
    refused("29 nan, plausible", SchemaError, "SCHEMA_LIMITS", "an end of plausible")
    refused("29 negative change", SchemaError, "SCHEMA_LIMITS", "max_increase is -1")
    refused("29 limits without actions", SchemaError, "SCHEMA_LIMITS", "immutable", "plausible=")
    refused("29 direction", SchemaError, "SCHEMA_ROLE", "'increase'", '"up"')
    refused("29 limits of a category", SchemaError, "SCHEMA_LEVELS", "'purpose'", "categorical")
    assert ee.Feature("actionable", lower=3, upper=3).lower == 3


@pytest.mark.parametrize("case", ["29 text", "29 plausible number"])
def test_case_29_limits_of_another_type(case: str) -> None:
    refused(case, SchemaError, "SCHEMA_LIMITS", "5")


def test_case_30_people_outside_the_limits() -> None:
    call = lambda: audit(schema=income(lower=1, upper=11))  # noqa: E731
    result = warned("SCHEMA_OUT_OF_LIMITS", call, "3 people", "(f: 2, m: 1)")
    # 0 lies below the lower limit and may still go to 10.
    np.testing.assert_allclose(result.recourse.cost, COSTS)


def test_case_30_the_limit_is_widened_to_the_fact_only() -> None:
    # Nobody may go above 8, but whoever is at 12 may stay or come down.
    down = warned("SCHEMA_OUT_OF_LIMITS", lambda: audit(model=rule(-2, income=-1, debt=0), schema=income(upper=8)))
    assert down.recourse.frame().do_income[3] == approx(2)
    assert down.recourse.cost[3] == approx(10 / 12)
    up = warned(
        "SCHEMA_OUT_OF_LIMITS", lambda: audit(people(income=[*INCOME[:-1], 20]), rule(15), schema=income(upper=8))
    )
    assert up.recourse.frame().status[3] == "infeasible"
    assert "cannot go up from 12 (upper limit 8)" in up.explain(3).reason
    assert "stops at 8 (upper limit 8)" in up.explain(0).reason


def test_case_31_weights() -> None:
    for case, shown in (
        ("negative", "-1"),
        ("zero", "0"),
        ("nan", "nan"),
        ("infinite", "inf"),
        ("one of two", "(1, 0)"),
    ):
        refused(f"31 {case}", SchemaError, "SCHEMA_WEIGHT", f"The weight {shown} is not a positive number.")
    refused("31 three", SchemaError, "SCHEMA_WEIGHT", "(1, 2, 3)", "(up, down)")
    refused("31 of the cost", CostError, "SCHEMA_WEIGHT", "'income'", "0")
    refused("31 of a stranger", CostError, "COST_INVALID", "'incom'", "Did you mean 'income'?")


def test_case_32_no_room_left() -> None:
    X = people(income=[0, 2, 4, 12, 1, 3, 5, 13.0])
    call = lambda: audit(X, rule(12.5), schema=income(direction="up", upper=12))  # noqa: E731
    result = warned("SCHEMA_OUT_OF_LIMITS", call)
    assert result.recourse.frame().status.tolist() == ["infeasible"] * 7 + ["not_needed"]
    stuck = result.explain(3)
    assert stuck.status == "infeasible"
    assert stuck.reason == "No allowed change brings approval closer: income cannot go up from 12 (upper limit 12)."
    assert result.recourse.frame().reason[3] == stuck.reason
    short = result.explain(0).reason
    # 12 of the 12.5 that are needed.
    assert "cover 96 % of the distance to approval" in short
    assert "income stops at 12 (upper limit 12)" in short


def test_case_32_increase_only_where_a_decrease_is_needed() -> None:
    result = audit(model=rule(-2, income=-1, debt=0), schema=income(direction="up"))
    assert result.recourse.frame().status[2] == "infeasible"
    assert "income cannot go down from 4 (may only go up)" in result.recourse.frame().reason[2]
    assert np.isnan(result.recourse.cost[2])


def ties() -> ee.Audit:
    """Distances from the first person are 0, 1/4, 1/4, 1/2 and 1."""
    X = pd.DataFrame({"sex": list("fmfmf"), "income": [0.0, 1, 1, 2, 4]})
    with pytest.warns(EquieffortWarning, match="All 5 people"):
        return audit(X, rule(100, income=1))


@pytest.mark.parametrize(("quantile", "size"), [(0.2, 1), (0.25, 3), (0.5, 3), (0.7, 3), (0.75, 4), (1.0, 5)])
def test_case_33_ties_at_the_quantile_are_inside(quantile: float, size: int) -> None:
    found = ties().individual(0, quantile=quantile)
    assert int(found.by_group.n.sum()) == size
    assert f"{size} pe" in found.about


def test_case_33_sizes_are_reported() -> None:
    near = ties().neighbours(0, ee.NearestK(2))
    assert np.flatnonzero(near).tolist() == [0, 1, 2]
    # At 0.25 the centres of f (0, 1, 4) have neighbours {0, 1, 1}, {1, 1} and {2, 4}.
    curve = ties().curve([0.25]).set_index("group")
    assert curve.size_own["f"] == approx((2 + 1 + 1) / 3)
    assert curve.size_other["f"] == approx(1)
    assert curve.n_undefined["f"] == 0


def test_case_34_quantile_outside_its_domain() -> None:
    shown = {"zero": "0", "negative": "-0.1", "above one": "1.5", "nan": "nan", "text": "the text '0.5'"}
    for case, value in (shown | {"individual": "0", "curve": "1.1"}).items():
        mentions = f"The quantile is {value},", "above 0 and at most at 1"
        refused(f"34 {case}", ParameterError, "NEIGHBOURS_QUANTILE", *mentions)
    refused("34 k", ParameterError, "NEIGHBOURS_K", "k is 0")
    refused("34 k too large", ParameterError, "NEIGHBOURS_K", "k is 9", "8 people")


def test_case_35_neighbourhood_with_one_group() -> None:
    # At 0.05 the threshold is a fifth of the second smallest distance: the ends 0 and 4 are alone, the ones are two.
    alone = ties().individual(0, quantile=0.05)
    assert (alone.verdict.outcome, alone.verdict.codes) == ("inconclusive", ("UNDEFINED",))
    assert np.isnan(alone.comparisons[0].acr)
    assert np.isnan(alone.comparisons[0].rd)
    curve = ties().curve([0.05, 1.0])
    f = curve[curve.group == "f"].set_index("quantile")
    assert (f.n_centres[0.05], f.n_undefined[0.05], f.n_undefined[1.0]) == (3, 2, 0)
    assert f.acr[0.05] == 1.0
    m = curve[curve.group == "m"].set_index("quantile")
    assert (m.n_centres[0.05], m.n_undefined[0.05]) == (2, 1)


def test_case_35_nobody_is_defined() -> None:
    X = pd.DataFrame({"sex": list("ffmm"), "income": [0.0, 1, 8, 9]})
    with pytest.warns(EquieffortWarning, match="All 4 people"):
        result = audit(X, rule(income=1))
    curve = result.curve([0.05]).set_index("group")
    assert curve.n_undefined.tolist() == [2, 2]
    assert curve[["acr", "acr_low", "acr_high", "acr_median", "phi_own", "phi_other"]].isna().all(axis=None)


def test_case_36_cycle() -> None:
    refused("36 cycle", GraphError, "GRAPH_CYCLE", "age -> debt -> job -> age")
    refused("36 self", GraphError, "GRAPH_CYCLE", "age -> age")


def test_case_37_node_not_in_the_data() -> None:
    nodes, columns = "'income', 'debts'", "'sex', 'income', 'debt'"
    refused("37 unknown node", GraphError, "GRAPH_UNKNOWN_NODE", "'debts'", "Did you mean 'debt'?", nodes, columns)


@pytest.mark.parametrize("case", ["37 unknown node, given", "37 unknown node, fit"])
def test_case_37_node_not_in_the_data_before_fitting(case: str) -> None:
    refused(case, GraphError, "GRAPH_UNKNOWN_NODE", "'debts'", "'income', 'debts'", "'sex', 'income', 'debt'")


def test_case_37_feature_that_no_edge_mentions() -> None:
    call = lambda: audit(scm=given(("sex", "income")))  # noqa: E731
    result = warned("GRAPH_ROOTS_ASSUMED", call, "'debt'", "nodes=[...]")
    np.testing.assert_allclose(result.recourse.cost, COSTS)
    silent = audit(scm=given(("sex", "income"), nodes=["debt"]))
    assert codes_of(silent) == []


def test_case_38_edge_into_the_sensitive_attribute() -> None:
    scm = SCM([("debt", "sex")], nodes=["income"]).fit(people())
    warned("GRAPH_INTO_SENSITIVE", lambda: audit(scm=scm), "'sex'", "'debt'")


def test_case_39_collinear_causes() -> None:
    scm = SCM([("a", "t"), ("b", "t")], nodes=["income", "debt"])
    with pytest.warns(EquieffortWarning, match="'t' are collinear or constant: 'a', 'b'") as caught:
        scm.fit(collinear())
    check_words(caught[0].message)  # type: ignore[arg-type]
    # Of all a + 2 b = 3 the one nearest to the origin.
    assert scm.mechanisms_["t"].coef == approx({"a": 0.6, "b": 1.2})  # type: ignore[union-attr]
    assert codes_of(audit(collinear(), scm=scm)) == ["SCM_COLLINEAR"]


def test_case_40_as_many_causes_as_rows() -> None:
    refused("40 as many causes as rows", CausalModelError, "SCM_TOO_FEW_ROWS", "'t'", "3 coefficients", "3 rows")


def test_case_41_category_below_an_action() -> None:
    fixes = "immutable", "remove the edges", "number"
    refused("41 follows an action", CausalModelError, "SCM_CANNOT_ABDUCT", "'job'", *fixes)
    refused("41 learned", CausalModelError, "SCM_CANNOT_ABDUCT", "'job'", "immutable")
    refused("41 no mechanism", CausalModelError, "SCM_CANNOT_ABDUCT", "'debt'", "str", "Linear")
    refused("41 counterfactual", CausalModelError, "SCM_CANNOT_ABDUCT", "'job'", "Hold it")


def test_case_41_equation_given_for_a_category() -> None:
    refused("41 given", CausalModelError, "SCM_CANNOT_ABDUCT", "'job'")


def test_case_41_category_that_must_not_move() -> None:
    model = rule(20, income=1, savings=1)
    result = audit(jobs(), model, scm=work().fit(jobs()), schema=job_schema("immutable"))
    table = result.recourse.frame()
    # The job hangs on the income, so only savings are left: their range is 8.
    assert table.do_income.isna().all()
    needed = [20 - x - s for x, s in zip(INCOME, jobs().savings, strict=True)]
    np.testing.assert_allclose(table.cost, [need / 8 if need > 0 else NAN for need in needed])
    assert (result.recourse.counterfactuals().job == jobs().job).all()


def test_case_41_reason_names_the_category() -> None:
    X = jobs().drop(columns="savings")
    scm = SCM([("income", "job")], nodes=["debt"]).fit(X)
    result = audit(X, scm=scm, schema=schema(features={"income": "actionable", "job": "immutable"}))
    assert result.explain(0).status == "infeasible"
    assert "'job'" in result.explain(0).reason


def test_case_42_poor_fit() -> None:
    X = people(income=[0.0, 2, 4, 12] * 2)
    scm = SCM([("sex", "income")], nodes=["debt"])
    with pytest.warns(EquieffortWarning, match="'income' explains 0.0 % of its variance") as caught:
        scm.fit(X)
    check_words(caught[0].message)  # type: ignore[arg-type]
    result = audit(X, scm=scm)
    assert codes_of(result) == ["SCM_POOR_FIT"]
    assert "SCM_POOR_FIT" in result._repr_html_()


def test_case_43_one_hot_columns() -> None:
    mentions = (
        "'job_a', 'job_b', 'job_c'",
        "'job'",
        "'job_a', 'job_b' would",
        "one_hot={'job': ['job_a', 'job_b', 'job_c']}",
    )
    refused("43 one-hot", SchemaError, "SCHEMA_ONE_HOT", *mentions)
    features = {"income": "actionable", "job_a": "mutable", "job_b": "mutable", "job_c": "immutable"}
    np.testing.assert_allclose(audit(one_hot(), schema=schema(features=features)).recourse.cost, COSTS)


def test_case_43_declared_as_one_feature() -> None:
    features = {"purpose": ee.Feature("actionable", weight=0.5), "income": "actionable"}
    result = audit(purposes(), purpose_model(), schema=schema(features=features))
    after = result.recourse.counterfactuals()
    assert set(after.purpose) <= {"car", "tv"}
    assert purpose_model().predict(after[["income", "debt", "purpose"]]).all()


def test_case_44_integer_never_gets_a_fraction() -> None:
    X = people(income=[int(x) for x in INCOME])
    # 3 * income >= 32 is first true at 11.
    model = rule(32, income=3, debt=0)
    table = audit(X, model).recourse.frame()
    assert table.do_income.dropna().tolist() == [11.0] * 6
    np.testing.assert_allclose(table.cost, [(11 - x) / 12 if x < 11 else NAN for x in INCOME])
    assert set(table.status) == {"optimal", "not_needed"}
    assert audit(X, model).recourse.counterfactuals().income.dtype == np.int64
    # As a number of any size 32/3 is enough.
    free = audit(X.astype({"income": float}), model).recourse.frame()
    np.testing.assert_allclose(free.do_income.dropna(), [32 / 3] * 6)
    # A limit between 10 and 11 leaves 10, which is too little.
    short = audit(X.assign(income=[0, 2, 4, 11, 1, 3, 5, 11]), model, schema=income(max_increase=10.9, upper=11))
    assert short.recourse.frame().status.tolist()[:3] == ["infeasible", "optimal", "optimal"]
    assert short.recourse.frame().do_income[1] == 11


def test_case_44_facts_must_be_whole() -> None:
    refused("44 fraction", DataError, "DATA_NOT_INTEGER", "'income'", "2.5", "row 'c'", "continuous")


def test_case_45_model_that_cannot_be_asked() -> None:
    refused("45 no predict", ModelError, "MODEL_NO_PREDICT", "of type object, has no predict")
    refused("45 class", ModelError, "MODEL_NOT_FITTED", "LogisticRegression is a class", ".fit(X, y)")
    refused("45 not fitted", ModelError, "MODEL_NOT_FITTED", "LogisticRegression is not fitted")
    refused("45 pipeline not fitted", ModelError, "MODEL_NOT_FITTED", "Pipeline is not fitted")


def test_case_45_no_other_message_first() -> None:
    refused("45 no predict, extra column", ModelError, "MODEL_NO_PREDICT")


def test_case_46_favourable_label() -> None:
    mentions = "'goood'", "Did you mean 'good'?", "The classes are 'bad', 'good'."
    refused("46 label", ModelError, "MODEL_LABELS", *mentions)
    refused("46 label of another type", ModelError, "MODEL_LABELS", "'1'", "The classes are 0, 1.")


def test_case_47_three_classes() -> None:
    model = logistic(lambda X: ["no", "no", "maybe", "yes"] * 2)
    mentions = "3 classes", "'maybe', 'no' count as refusals"
    warned("MODEL_MULTICLASS", lambda: audit(model=model, schema=schema(favourable="yes")), *mentions)


def test_case_48_model_that_answers_differently() -> None:
    refused("48 answers differently", ModelError, "MODEL_NOT_DETERMINISTIC", "row 'z'", "False", "True", "random")


def test_case_49_model_without_usable_answers() -> None:
    refused("49 no label", ModelError, "MODEL_OUTPUT", "NaN", "row 'z'")
    refused("49 two columns", ModelError, "MODEL_OUTPUT", "(8, 2)", "8 people")
    refused("49 too short", ModelError, "MODEL_OUTPUT", "(7,)", "8 people")
    refused("49 nothing", ModelError, "MODEL_OUTPUT", "8 people")
    refused("49 fails", ModelError, "MODEL_FAILED", "Model.predict", "division by zero", "'income', 'debt'")
    refused("49 not linear", ParameterError, "MODEL_NOT_LINEAR", "LinearExact cannot solve this", "Auto()")


def at_the_threshold(closed: bool, favourable: bool, **limits: Any) -> pd.DataFrame:
    """Incomes 3, 10, 0 and 20 against a threshold of 10; the range is 20."""
    X = pd.DataFrame({"sex": list("ffmm"), "income": [3.0, 10.0, 0.0, 20.0]})
    wanted = schema(favourable=favourable, features={"income": ee.Feature("actionable", **limits)})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=EquieffortWarning)
        return audit(X, rule(closed=closed, income=1), schema=wanted).recourse.frame()


REACH = {"max_increase": 7, "max_decrease": 10}
"""From 3 up to the threshold and from 20 down to it, and no further."""


@pytest.mark.parametrize(
    ("closed", "favourable", "limits", "status", "cost"),
    [
        # At least 10: whoever is at 10 has it, and reaching 10 is enough.
        (True, True, {}, "optimal not_needed optimal not_needed", [7 / 20, NAN, 10 / 20, NAN]),
        (True, True, REACH, "optimal not_needed infeasible not_needed", [7 / 20, NAN, NAN, NAN]),
        # Above 10: whoever is at 10 needs the smallest step, and reaching 10 is not enough.
        (False, True, {}, "optimal optimal optimal not_needed", [7 / 20, 0, 10 / 20, NAN]),
        (False, True, REACH, "infeasible optimal infeasible not_needed", [NAN, 0, NAN, NAN]),
        # Below 10, and at most 10.
        (True, False, {}, "not_needed optimal not_needed optimal", [NAN, 0, NAN, 10 / 20]),
        (True, False, REACH, "not_needed optimal not_needed infeasible", [NAN, 0, NAN, NAN]),
        (False, False, REACH, "not_needed not_needed not_needed optimal", [NAN, NAN, NAN, 10 / 20]),
    ],
)
def test_case_50_score_at_the_threshold(
    closed: bool, favourable: bool, limits: dict[str, float], status: str, cost: list[float]
) -> None:
    table = at_the_threshold(closed, favourable, **limits)
    assert table.status.tolist() == status.split()
    np.testing.assert_allclose(table.cost, cost, atol=1e-9)
    np.testing.assert_allclose(table.bound[table.status == "optimal"], table.cost[table.status == "optimal"], atol=1e-9)
    after = table.do_income.dropna().to_numpy()
    passes = (after >= 10 if closed else after > 10) == favourable
    assert passes.all()


@pytest.mark.parametrize(
    ("closed", "favourable", "limits", "status", "cost"),
    [
        (True, True, {}, "optimal not_needed optimal not_needed", [7 / 20, NAN, 10 / 20, NAN]),
        (True, True, REACH, "optimal not_needed infeasible not_needed", [7 / 20, NAN, NAN, NAN]),
        (False, True, {}, "optimal optimal optimal not_needed", [8 / 20, 1 / 20, 11 / 20, NAN]),
        (False, True, REACH, "infeasible optimal infeasible not_needed", [NAN, 1 / 20, NAN, NAN]),
        (True, False, REACH, "not_needed optimal not_needed infeasible", [NAN, 1 / 20, NAN, NAN]),
        (False, False, REACH, "not_needed not_needed not_needed optimal", [NAN, NAN, NAN, 10 / 20]),
    ],
)
def test_case_50_whole_numbers_at_the_threshold(
    closed: bool, favourable: bool, limits: dict[str, float], status: str, cost: list[float]
) -> None:
    table = at_the_threshold(closed, favourable, kind="integer", **limits)
    np.testing.assert_allclose(table.do_income.dropna(), np.rint(table.do_income.dropna()))
    assert table.status.tolist() == status.split()
    np.testing.assert_allclose(table.cost, cost, atol=1e-9)
    np.testing.assert_allclose(table.bound[table.status == "optimal"], table.cost[table.status == "optimal"], atol=1e-9)


def test_case_50_an_unknown_row_says_why() -> None:
    for closed in (True, False):
        table = at_the_threshold(closed, not closed, kind="integer", **REACH)
        assert (table.reason[table.status.isin(["unknown", "infeasible"])] != "").all()


def test_case_58_duplicate_index() -> None:
    X = people().set_axis([7, 7, 2, 3, 4, 5, 6, 8])
    result = warned("DATA_DUPLICATE_INDEX", lambda: audit(X), "1 label", "positions")
    assert result.recourse.frame().index.tolist() == list(range(8))
    assert result.explain(1).cost == approx(8 / 12)
    assert result.explain(7).status == "not_needed"
    np.testing.assert_allclose(result.recourse.cost, COSTS)


# -- tables of other libraries, and arguments beside X -----------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        pl.from_pandas,
        lambda X: pl.from_pandas(X).with_columns(pl.col("sex").cast(pl.Categorical)),
        lambda X: pa.Table.from_pandas(X, preserve_index=False),
        lambda X: X.to_dict("list"),
        lambda X: X.astype({"sex": "string", "debt": "Float64", "income": X.income.dtype.name.title()}),
        lambda X: X.astype({"sex": "category"}),
        lambda X: X.assign(sex=pd.Categorical(X.sex, categories=["m", "x", "f"])),
        lambda X: X.astype({"sex": object}),
    ],
    ids=["polars", "polars category", "pyarrow", "dict", "nullable", "category", "unused level", "object"],
)
@pytest.mark.parametrize("whole", [False, True])
def test_every_kind_of_table_gives_the_same(convert: Callable[[pd.DataFrame], Any], whole: bool) -> None:
    X = people(income=[int(x) for x in INCOME]) if whole else people()
    X["income"] += np.array([0, 0, 0, 0, 4, 4, 4, 4])
    scm = SCM([("sex", "income"), ("income", "debt")])
    options = {"schema": schema(features={"income": "actionable", "debt": "mutable"})}
    expected = audit(X, rule(23, income=2, debt=1), scm=scm.fit(X), **options)
    other = convert(X)
    found = audit(other, rule(23, income=2, debt=1), scm=SCM(scm.graph).fit(other), **options)
    pd.testing.assert_frame_equal(found.recourse.frame(), expected.recourse.frame(), rtol=1e-12)
    order = found.by_group.loc[["f", "m"]]
    pd.testing.assert_frame_equal(order, expected.by_group, rtol=1e-12)
    assert found.verdict.outcome == expected.verdict.outcome


def test_polars_nulls_are_missing_values() -> None:
    X = pl.from_pandas(people()).with_columns(
        pl.when(pl.col("debt") == 2).then(None).otherwise(pl.col("debt")).alias("debt")
    )
    with pytest.raises(DataError, match="'debt' has 1 missing value, the first in row 1"):
        audit(X)
    assert len(warned("DATA_MISSING_VALUES", lambda: audit(X, missing="drop"), "(sex = f: 1)").recourse) == 7


def test_the_callers_index_comes_back() -> None:
    X = people().set_axis(pd.Index(LABELS, name="person"))
    result = audit(X)
    assert result.recourse.frame().index.equals(X.index)
    assert result.recourse.frame().index.name == "person"
    assert result.recourse.counterfactuals().index.equals(X.index)
    assert result.explain("c").cost == approx(8 / 12)
    assert result.explain("c").person == "c"
    assert "nearest to 'c'" in result.individual("c", quantile=0.5).about
    refused("person, unknown", DataError, "DATA_UNKNOWN_ROW", "'zz'", "'q', 'c', 'z'")
    refused("person, position", DataError, "DATA_UNKNOWN_ROW", "position 8", "0 to 7")
    refused("person, none", ParameterError, "DATA_UNKNOWN_ROW", "Name one person")


def test_people_with_numbers_are_named_by_them() -> None:
    refused("09 missing, numbered people", DataError, "DATA_MISSING_VALUES", "the first in row 20.")
    result = audit(people().set_axis([10, 20, 30, 40, 50, 60, 70, 80]))
    assert result.individual(20, quantile=0.5).about.endswith("people nearest to 20")
    assert str(result.explain(20)).startswith("Person 20 (f)")


def test_the_order_of_people_does_not_matter() -> None:
    X = people().set_axis(LABELS)
    turned = audit(X.iloc[::-1]).recourse.frame()
    pd.testing.assert_frame_equal(turned.loc[LABELS], audit(X).recourse.frame())


@pytest.mark.parametrize("missing", ["error", "drop", "model"])
def test_x_is_never_modified(missing: Any) -> None:
    X = (people() if missing == "error" else gaps()).set_axis(LABELS)
    beside = X.pop("sex")
    before, kept = X.copy(deep=True), beside.copy(deep=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=EquieffortWarning)
        result = audit(X, sensitive_features=beside, missing=missing)
        result.recourse.frame()
        result.recourse.counterfactuals()
        result.curve([0.5]) if missing == "error" else None
        result.subgroup("income < 5")
    pd.testing.assert_frame_equal(X, before)
    pd.testing.assert_series_equal(beside, kept)


def test_an_array_is_never_modified() -> None:
    X = people()[["income", "debt"]].to_numpy()
    X.setflags(write=False)
    result = audit(X, model_features=["income", "debt"], sensitive_features=people().sex.tolist())
    np.testing.assert_allclose(result.recourse.cost, COSTS)
    np.testing.assert_array_equal(X, people()[["income", "debt"]].to_numpy())


@pytest.mark.parametrize(
    "beside",
    [
        people().sex,
        people().sex.rename("anything"),
        people()[["sex"]],
        people().sex.to_numpy(),
        people().sex.tolist(),
        tuple(people().sex),
        pl.Series("sex", people().sex.tolist()),
        pl.DataFrame({"sex": people().sex.tolist()}),
        pa.table({"sex": people().sex.tolist()}),
    ],
    ids=["series", "other name", "frame", "array", "list", "tuple", "polars series", "polars", "pyarrow"],
)
def test_sensitive_features_beside_x(beside: Any) -> None:
    result = audit(people().drop(columns="sex"), sensitive_features=beside)
    assert result.recourse.frame().group.tolist() == list("ffffmmmm")
    pd.testing.assert_frame_equal(result.by_group, audit().by_group)


def test_sensitive_features_take_part_in_the_causal_model_but_not_in_the_classifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, ...]] = []
    given_to_it = Decision.model_input

    def watched(self: Decision, frame: pd.DataFrame) -> Any:
        seen.append(tuple(given_to_it(self, frame).columns))
        return given_to_it(self, frame)

    monkeypatch.setattr(Decision, "model_input", watched)
    scm = given(("sex", "income"), nodes=["debt"])
    model = ee.LinearScore({"income": 1, "debt": 0}, threshold=10)
    audit(people().drop(columns="sex"), model, sensitive_features=people().sex, scm=scm)
    assert set(seen) == {("income", "debt")}


def test_two_sensitive_columns_form_intersections() -> None:
    beside = people()[["sex"]].assign(old=[True, False] * 4)
    both = schema(sensitive=["sex", "old"], protected=("f", True), reference=("m", False))
    result = audit(people().drop(columns="sex"), schema=both, sensitive_features=beside)
    assert result.by_group.index.tolist() == ["f & False", "f & True", "m & False", "m & True"]
    # f & True: incomes 0 and 4; m & False: 3, and 12 who needs nothing.
    assert finding(result, "f & True").comparison.acr == approx(8 / 7)


def test_sensitive_features_of_another_length() -> None:
    with pytest.raises(DataError, match="2 rows and X has 8"):
        BAD["beside, too short"]()


def test_sensitive_features_in_another_order() -> None:
    X = people().set_axis(LABELS)
    beside = X.pop("sex").iloc[::-1]
    try:
        groups = audit(X, sensitive_features=beside).recourse.frame().group.tolist()
    except DataError:
        return
    assert groups == list("ffffmmmm")


def test_sensitive_features_that_contradict_x() -> None:
    with pytest.raises(DataError, match="'sex'"):
        audit(sensitive_features=people().sex.iloc[::-1].to_numpy())


@pytest.mark.parametrize(
    "case", ["beside, dict of nothing", "beside, too wide", "solve without a column", "reference without a column"]
)
def test_columns_that_cannot_be_used(case: str) -> None:
    with pytest.raises(EquieffortError):
        BAD[case]()


def test_features_of_a_distance_may_be_a_list() -> None:
    near = ee.Nearest(0.5, ee.Manhattan(features=["income"]))
    # Incomes 0, 1, 2 and 3.
    assert np.flatnonzero(audit().neighbours(0, near)).tolist() == [0, 1, 4, 5]


def test_more_groups_than_can_be_counted() -> None:
    n = 40_000
    X = pd.DataFrame({"sex": [f"p{i}" for i in range(n)], "income": np.arange(n) % 20.0, "debt": np.arange(n) % 7.0})
    with pytest.raises(SchemaError):
        audit(X, schema=schema(protected="p1", reference="p0"))


# -- first audits that are wrong unnoticed; more of each in test_domains, test_giveaways and test_fidelity -------------

FLAGS = {"int": [0, 1] * 4, "float": [0.0, 1.0] * 4, "blank": [1, 0, NAN, 1, 0, 1, 0, 1]}


@pytest.mark.parametrize("debt", FLAGS.values(), ids=FLAGS)
def test_case_68_numbers_0_and_1_are_binary(debt: list[float]) -> None:
    features = schema(features={"income": "immutable", "debt": "actionable"})
    X = people(debt=debt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        result = audit(
            X, rule(income=1, debt=-1), schema=features, scm=SCM([], nodes=["income"]).fit(X), missing="drop"
        )
    done = result.recourse.frame()["do_debt"].dropna()
    assert set(done) <= {0, 1}
    assert result.recourse.source.encoding["debt"].kind == "binary"


def test_case_69_a_number_without_limits_stays_within_what_was_observed() -> None:
    with pytest.warns(EquieffortWarning, match="All 8 people"):
        result = audit(people(), rule(100, income=1, debt=0.001), schema=schema(features={"income": "actionable"}))
    assert result.recourse.frame()["status"].eq("infeasible").all()
    assert [(a.key, a.value) for a in result.recourse.source.schema.assumed] == [
        ("lower", min(INCOME)),
        ("upper", max(INCOME)),
    ]
    assert "Assumed limits" in str(result)


def test_case_70_what_features_give_away_comes_first() -> None:
    X = pd.DataFrame({"sex": ["f", "m"] * 20, "income": np.arange(40) % 13.0, "debt": np.arange(40) % 3.0})
    model = rule(income=1, debt=0.001)
    faults = {
        "DATA_NAMES_PEOPLE": {"who": [f"person {k}" for k in range(40)]},
        "DATA_CONSTANT": {"year": 2024},
        "DATA_SENTINEL": {"years": [999999, *(np.arange(39) % 9)]},
        "DATA_COPIES_OUTCOME": {"granted": np.where(np.arange(40) % 13 >= 10, "y", "n")},
    }
    for code, column in faults.items():
        frame = X.assign(**column)
        told = {"income": UNLIMITED, **dict.fromkeys(column, "immutable")}
        wide = Wide(model, [*column, "income", "debt"])
        result = warned(code, lambda f=frame, t=told, m=wide: audit(f, m, schema=schema(features=t)), repr(*column))
        assert result.warnings[0].code == code
        assert str(result).startswith("Check first:")


def test_case_72_no_verdict_rests_on_one_absurd_value() -> None:
    result = warned("COST_OUTLIER", lambda: audit(outlier(120)))
    assert (result.verdict.outcome, result.verdict.codes[0]) == ("inconclusive", "OUTLIER")


class Wide:
    """A model that is given further columns and does not look at them."""

    def __init__(self, inner: Any, names: list[str]) -> None:
        self.inner, self.feature_names_in_, self.classes_ = (
            inner,
            np.array(names, dtype=object),
            np.array([False, True]),
        )

    def predict(self, X: pd.DataFrame) -> Any:
        return self.inner.predict(X)
