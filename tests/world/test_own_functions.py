"""Functions of the caller's own that raise, or return what they must not, at the data or only away from it.

Whoever wrote them is told which function it was and for whom it failed first; never a raw exception, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import EquieffortError

X = pd.DataFrame(
    {
        "sex": list("ffffmmmm"),
        "income": [0.0, 2.0, 4.0, 12.0, 1.0, 3.0, 5.0, 12.0],
        "debt": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0],
        "job": list("abababab"),
    },
    index=list("qczambkd"),
)
PEOPLE = X.drop(columns="job")
SCHEMA = ee.Schema(
    sensitive="sex",
    protected="f",
    favourable=True,
    features={"income": ee.Feature("actionable", lower=0, upper=20), "debt": "mutable"},
)
RULE = ee.LinearScore({"income": 1, "debt": 0.1}, threshold=13)
GIVEN = ee.StructuralCausalModel([("income", "debt")], mechanisms={"debt": ee.Linear({"income": 0.1})})
BEYOND = 12.5
"""Nobody has an income beyond this, but whoever is to be approved must go there."""


def fails(*_: Any) -> Any:
    raise ZeroDivisionError("division by zero")


FAULTS: dict[str, Callable[[int], Any]] = {
    "raises": fails,
    "text": lambda n: ["many"] * n,
    "nan": lambda n: np.full(n, np.nan),
    "short": lambda n: np.zeros(n + 1),
    "nothing": lambda n: None,
    "complex": lambda n: np.full(n, 1j),
}


def audit(classifier: Any = RULE, people: pd.DataFrame = PEOPLE, **options: Any) -> ee.Audit:
    return ee.audit(classifier, people, **({"schema": SCHEMA, "scm": GIVEN} | options))


def follows(mechanism: Any) -> ee.Audit:
    return audit(scm=ee.StructuralCausalModel([("income", "debt")], mechanisms={"debt": mechanism}))


class Model:
    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "debt"], dtype=object)

    def __init__(self, predict: Any, chances: Any = None) -> None:
        self.predict, self.predict_proba = predict, chances


def decides(frame: pd.DataFrame) -> Any:
    return (frame["income"] + 0.1 * frame["debt"] >= 13).to_numpy()


def chances(frame: pd.DataFrame) -> Any:
    return np.column_stack([~decides(frame), decides(frame)]).astype(float)


def bent(causes: pd.DataFrame) -> Any:
    return 0.1 * causes["income"] + 0.01 * np.sin(causes["income"])


def ends(low: pd.DataFrame, high: pd.DataFrame) -> Any:
    # It rises everywhere.
    return bent(low), bent(high)


def distance(centres: pd.DataFrame, everybody: pd.DataFrame) -> Any:
    return np.abs(centres[["income"]].to_numpy() - everybody["income"].to_numpy())


def levels(f: Any) -> ee.Audit:
    scm = ee.StructuralCausalModel(
        [("income", "job")], nodes=["debt"], mechanisms={"job": ee.Probabilities(f, order=["a", "b"])}
    )
    schema = replace(SCHEMA, features={**SCHEMA.features, "job": "mutable"})
    return audit(people=X, schema=schema, scm=scm)


def near(f: Any) -> Any:
    made = audit(neighbourhood=ee.Nearest(0.5, ee.OwnDistance(f)))
    return made.individual("k"), made.curve([0.5])


def goes_beyond(*frames: pd.DataFrame) -> bool:
    return bool((frames[-1]["income"] > BEYOND).any())


# What is right; when it is asked about what lies away from the data; how it is used; how it is named.
OWN: dict[str, tuple[Callable[..., Any], Callable[..., bool], Callable[[Any], Any], str]] = {
    "equation": (bent, goes_beyond, lambda f: follows(ee.Function(f)), "The function of 'debt'"),
    "enclosed": (bent, goes_beyond, lambda f: follows(ee.Function(f, bounds=ends)), "The function of 'debt'"),
    "bounds": (ends, goes_beyond, lambda f: follows(ee.Function(bent, bounds=f)), "The bounds function of 'debt'"),
    "levels": (
        lambda causes: np.tile([0.4, 0.6], (len(causes), 1)),
        goes_beyond,
        levels,
        "'job'",
    ),
    "cost": (
        lambda fact, values: abs(values - fact),
        lambda fact, values: fact == 5.0,
        lambda f: audit(cost=ee.Separable({"income": f})),
        "The cost function of 'income'",
    ),
    "distance": (distance, lambda centres, everybody: centres.index[0] == "k", near, "The distance"),
    "model": (decides, goes_beyond, lambda f: audit(Model(f)), "odel"),
    "chances": (
        chances,
        goes_beyond,
        lambda f: audit(Model(decides, f), schema=replace(SCHEMA, threshold=0.6)),
        "odel",
    ),
}


def asked_about(args: tuple[Any, ...]) -> int:
    """How many answers are due."""
    return len(args[-1]) if np.ndim(args[0]) == 0 else len(args[0])


@pytest.mark.parametrize("where", ["at the data", "away from it"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("own", OWN)
@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_the_function_is_named_whatever_it_does(own, fault, where):
    right, is_away, use, named = OWN[own]

    def wrong(*args: Any) -> Any:
        if where == "away from it" and not is_away(*args):
            return right(*args)
        return FAULTS[fault](asked_about(args))

    with pytest.raises(EquieffortError) as caught:
        use(wrong)
    assert named in caught.value.what
    assert caught.value.fix
    if fault == "raises":
        assert "ZeroDivisionError: division by zero." in caught.value.what


@pytest.mark.parametrize("own", OWN)
@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_what_is_right_is_not_refused(own):
    right, _, use, _ = OWN[own]
    use(right)


def test_the_first_person_or_value_is_named(quiet):
    def picky(frame: pd.DataFrame) -> Any:
        if (frame["income"] == 5.0).any():
            raise KeyError("income 5")
        return decides(frame)

    with pytest.raises(EquieffortError, match="first for row 'k' with KeyError"):
        audit(Model(picky))

    def strict(causes: pd.DataFrame) -> Any:
        if (causes["income"] == 4.0).any():
            raise ValueError("not 4")
        return causes["income"]

    with pytest.raises(EquieffortError, match=r"failed for income = 4\.0 with ValueError: not 4\."):
        follows(ee.Function(strict))
    with pytest.raises(EquieffortError, match=r"returned nan for income = 4\.0"):
        follows(ee.Function(lambda causes: causes["income"].where(causes["income"] != 4)))
    rising = ee.Separable({"income": lambda fact, values: np.where(values > 11, np.inf, abs(values - fact))})
    with pytest.raises(EquieffortError, match="says inf for a change from 6 to 12"):
        audit(cost=rising)


def test_labels_that_are_no_classes_are_refused():
    """They would be taken for refusals of everybody."""
    with pytest.raises(EquieffortError, match="answered 'yes' about row 'q', which is none of its classes"):
        audit(Model(lambda frame: np.where(decides(frame), "yes", "yes")))


def test_answers_in_another_order_are_put_into_order():
    def shuffled(causes: pd.DataFrame) -> Any:
        return (0.1 * causes["income"]).sort_values(ascending=False)

    causes = pd.DataFrame({"income": [1.0, 3.0, 2.0], "debt": [0.0, 0.0, 0.0]})
    scm = ee.StructuralCausalModel([("income", "debt")], mechanisms={"debt": ee.Function(shuffled)})
    np.testing.assert_allclose(scm.abduct(causes)["debt"], [-0.1, -0.3, -0.2])


@pytest.mark.parametrize("mode", ["fit", "predict", "text", "nan", "short"])
def test_a_regressor_that_fails_is_named(mode, quiet):
    class Broken:
        def __init__(self, mode: str = mode) -> None:
            self.mode = mode

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {"mode": self.mode}

        def fit(self, X: Any, y: Any) -> Any:
            return fails() if self.mode == "fit" else self

        def predict(self, X: Any) -> Any:
            n = len(X)
            return {"text": ["a"] * n, "nan": [np.nan] * n, "short": [0.0]}.get(self.mode) or fails()

    with pytest.raises(EquieffortError, match="Broken"):
        ee.StructuralCausalModel([("income", "debt")], mechanisms={"debt": Broken()}).fit(PEOPLE)
