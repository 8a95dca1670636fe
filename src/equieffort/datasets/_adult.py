"""The Adult census income data of UCI, a published causal graph of them, and a ready setting to audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import pandas as pd

from equieffort.datasets._checks import choose_columns, one_of
from equieffort.errors import ParameterError, closest, listed
from equieffort.world.graph import CausalGraph
from equieffort.world.schema import Feature, Schema
from equieffort.world.scm import StructuralCausalModel

# `education` says in words what `education_num` counts, one to one; only the numbers are stored.
_EDUCATION = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th",
    "HS-grad", "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
_TRAIN = 32_561
_PARTS = {"all": slice(None), "train": slice(None, _TRAIN), "test": slice(_TRAIN, None)}
_UNKNOWN = "?"

_BASE = ("sex", "age", "native_country")
_WORK = ("workclass", "occupation", "hours_per_week")
_GRAPH = (*_BASE, "marital_status", "education_num", *_WORK)

_ACTIONS = {
    "education_num": Feature("actionable", direction="up", upper=16),
    "hours_per_week": Feature("actionable", lower=1, upper=99),
    "occupation": Feature("actionable"),
    "workclass": Feature("actionable"),
    "capital_gain": Feature("actionable", direction="up", upper=99_999),
    "capital_loss": Feature("actionable", direction="up", upper=4_356),
}
_FOUR = ("education_num", "hours_per_week", "occupation", "workclass")


def adult(
    columns: Literal["all", "graph"] | Sequence[str] = "all",
    *,
    part: Literal["all", "train", "test"] = "all",
    missing: Literal["level", "keep", "drop"] = "level",
) -> tuple[pd.DataFrame, pd.Series]:
    """Adult census income: 48,842 people in the USA of 1994, and whether they earned more than 50,000 dollars.

    Parameters
    ----------
    columns : "all", "graph" or a sequence of names
        "all" gives the 14 attributes in their original order. "graph" gives the eight that `adult_graph` speaks of.
        A sequence gives these columns in this order.
    part : "all", "train" or "test"
        The split of the original files: 32,561 people to train on and 16,281 to test with.
    missing : "level", "keep" or "drop"
        `workclass` of 2,799, `occupation` of 2,809 and `native_country` of 857 people were not recorded. "level" writes
        "unknown" there, so that nobody is lost; "keep" leaves the values missing; "drop" leaves out the people who
        miss one of the chosen columns. With all columns 45,222 remain, on whom most published results rest.

    Returns
    -------
    people : DataFrame
        Indexed by the row in the two original files, train before test, whatever was left out, so that a label always
        names the same person. The numbers are int64: `age`, `fnlwgt`, `education_num`, `capital_gain`, `capital_loss`
        and `hours_per_week`. All else is text, the levels as the original files spell them.
    income : Series
        ">50K" for 11,687 people and "<=50K" for 37,155.

    Raises
    ------
    ParameterError
        A column is unknown or repeated, or `part` or `missing` is none of its choices.

    Notes
    -----
    The people are a filtered extract of the census: older than 16, with an income above 100 dollars, some working
    hours and a weight. `fnlwgt` is the number of people in the population whom a record stands for; it describes the
    sample and is no feature of a person. `education` and `education_num` say the same. A `capital_gain` of 99,999
    stands for that much or more.

    The label is a threshold on income in 1994 that few women and few Black people reached, and models depend strongly
    on where the threshold lies (Ding et al. 2021). Take results as an illustration of a method.

    References
    ----------
    B. Becker, R. Kohavi (1996). Adult. UCI Machine Learning Repository, doi:10.24432/C5XW20. CC BY 4.0.

    F. Ding, M. Hardt, J. Miller, L. Schmidt (2021). Retiring Adult: New Datasets for Fair Machine Learning. NeurIPS.

    Examples
    --------
    >>> people, income = adult(["sex", "age", "education"], part="train")
    >>> people.iloc[0].to_dict(), income[0]
    ({'sex': 'Male', 'age': 39, 'education': 'Bachelors'}, '<=50K')
    >>> len(adult(missing="drop")[0])
    45222
    """
    one_of("part", part, list(_PARTS))
    one_of("missing", missing, ["level", "keep", "drop"])
    with (files("equieffort.datasets") / "data" / "adult.csv.xz").open("rb") as file:
        people = pd.read_csv(
            file, compression="xz", keep_default_na=False, na_values=[] if missing == "level" else [_UNKNOWN]
        )
    income = people.pop("income")
    people.insert(3, "education", people["education_num"].map(dict(enumerate(_EDUCATION, start=1))))
    names = choose_columns(columns, list(people.columns), {"graph": _GRAPH}, "the Adult data")
    people, income = people[names].iloc[_PARTS[part]], income.iloc[_PARTS[part]]
    if missing == "level":
        people = people.replace(_UNKNOWN, "unknown")
    if missing == "drop":
        people = people.dropna()
        income = income.loc[people.index]
    return people, income


def adult_graph() -> CausalGraph:
    """The causal graph of the Adult data that Chiappa (2019) uses, after Nabi and Shpitser (2018).

    Sex, age and native country come first. They cause marital status; all of these cause the level of education; and
    all of these cause the work: its class, the occupation and the hours a week. The income, which everything causes,
    is what a model predicts and is no node here.

    Both papers draw the work as one node, which Chiappa's published code splits into these three, without edges among
    them. Nabi and Shpitser add a hidden common cause of marital status and income and one of education and work; if
    there are such, effects of education on working hours that are learned from the data are not its effects alone.

    References
    ----------
    S. Chiappa (2019). Path-Specific Counterfactual Fairness. AAAI, figure of the Adult data.

    R. Nabi, I. Shpitser (2018). Fair Inference on Outcomes. AAAI, figure of the Adult data.

    Examples
    --------
    >>> adult_graph().parents("education_num")
    ('sex', 'age', 'native_country', 'marital_status')
    >>> adult_graph().descendants("education_num")
    ('workclass', 'occupation', 'hours_per_week')
    """
    return CausalGraph.of(_edges())


def _edges() -> list[tuple[str, str]]:
    edges = [(cause, "marital_status") for cause in _BASE]
    edges += [(cause, "education_num") for cause in (*_BASE, "marital_status")]
    return edges + [(cause, effect) for effect in _WORK for cause in (*_BASE, "marital_status", "education_num")]


@dataclass(frozen=True, eq=False)
class AdultSetting:
    """People, their incomes, what they may change, and how changes spread: all an audit needs but a model."""

    X: pd.DataFrame
    y: pd.Series
    schema: Schema
    scm: StructuralCausalModel


def adult_setting(
    actions: Sequence[str] = _FOUR, *, causal: bool = True, part: Literal["all", "train", "test"] = "all"
) -> AdultSetting:
    """The Adult data with roles and equations: women compared with men, favourable is more than 50,000 dollars.

    Parameters
    ----------
    actions : sequence of names
        What people may change, out of `education_num` (only up, to 16), `hours_per_week` (1 to 99), `occupation`,
        `workclass`, `capital_gain` and `capital_loss` (only up, to the largest value in the data). The first four by
        default. Age, native country and marital status never change.
    causal : bool
        Whether `hours_per_week` follows `education_num` by a linear equation fitted to these people; otherwise nothing
        follows anything.
    part : "all", "train" or "test"
        As in `adult`. People with a value that was not recorded are left out, since nobody can be told to take up an
        unknown occupation.

    Returns
    -------
    AdultSetting
        `X` holds the features of `adult_graph` and the capital columns among the actions.

    Notes
    -----
    The graph is `adult_graph` without the edges from `education_num` to `occupation` and `workclass`. A category with
    causes has no additive equation, so nobody could say which occupation a person would have with more schooling;
    here people choose it themselves or keep it. Categories elsewhere in the graph lie above every action.

    Examples
    --------
    >>> setting = adult_setting(part="test")
    >>> setting.schema.actionable
    ('education_num', 'hours_per_week', 'occupation', 'workclass')
    >>> [line.split(" = ")[0] for line in setting.scm.equations()]
    ['marital_status: no equation', 'education_num', 'workclass: no equation', 'occupation: no equation',
     'hours_per_week']
    """
    chosen = _actions(actions)
    X, y = adult([*_GRAPH, *(name for name in chosen if name not in _GRAPH)], part=part, missing="drop")
    roles: dict[str, Any] = {name: _ACTIONS[name] for name in chosen}
    for name in _GRAPH:
        if name not in chosen and name != "sex":
            roles[name] = "mutable" if name in _ACTIONS else "immutable"
    schema = Schema(sensitive="sex", protected="Female", favourable=">50K", features=roles)
    untold = {("education_num", "occupation"), ("education_num", "workclass")}
    edges = [edge for edge in _edges() if edge not in untold] if causal else []
    return AdultSetting(X, y, schema, StructuralCausalModel(edges, nodes=list(X.columns)).fit(X))


def _actions(actions: Sequence[str]) -> list[str]:
    fix = f"Give a list of names among {listed(_ACTIONS, most=len(_ACTIONS))}."
    if isinstance(actions, str) or not isinstance(actions, Sequence) or not actions:
        raise ParameterError("PARAMETER", f"actions is {actions!r}, which is no list of names.", fix=fix)
    stray = [name for name in actions if name not in _ACTIONS]
    if stray:
        what = f"actions names {stray[0]!r}, which people cannot change here. {closest(stray[0], list(_ACTIONS))}"
        raise ParameterError("PARAMETER", what.rstrip(), fix=fix)
    if len(set(actions)) < len(actions):
        raise ParameterError("PARAMETER", f"actions names one feature twice: {listed(actions)}.", fix=fix)
    return list(actions)
