"""The German credit data of UCI, with readable names and levels."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Literal

import pandas as pd

from equieffort.datasets._checks import choose_columns

# Codes that the code book lists but no applicant has (A47, A95) are kept: the tables then are the code book.
_LEVELS: dict[str, dict[str, str]] = {
    "checking_status": {"A11": "< 0 DM", "A12": "0-200 DM", "A13": ">= 200 DM", "A14": "none"},
    "credit_history": {
        "A30": "no credits or all repaid",
        "A31": "all repaid at this bank",
        "A32": "repaid so far",
        "A33": "past delays",
        "A34": "critical or credits elsewhere",
    },
    "purpose": {
        "A40": "car (new)",
        "A41": "car (used)",
        "A42": "furniture",
        "A43": "radio/television",
        "A44": "appliances",
        "A45": "repairs",
        "A46": "education",
        "A47": "vacation",
        "A48": "retraining",
        "A49": "business",
        "A410": "other",
    },
    "savings": {
        "A61": "< 100 DM",
        "A62": "100-500 DM",
        "A63": "500-1000 DM",
        "A64": ">= 1000 DM",
        "A65": "unknown or none",
    },
    "employment": {
        "A71": "unemployed",
        "A72": "< 1 year",
        "A73": "1-4 years",
        "A74": "4-7 years",
        "A75": ">= 7 years",
    },
    "personal_status": {
        "A91": "male: divorced or separated",
        "A92": "female: divorced, separated or married",
        "A93": "male: single",
        "A94": "male: married or widowed",
        "A95": "female: single",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "property": {
        "A121": "real estate",
        "A122": "savings contract or life insurance",
        "A123": "car or other",
        "A124": "unknown or none",
    },
    "other_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
    "job": {
        "A171": "unemployed or unskilled non-resident",
        "A172": "unskilled resident",
        "A173": "skilled",
        "A174": "management or highly qualified",
    },
    "telephone": {"A191": "no", "A192": "yes"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
}
_FEMALE = ("A92", "A95")
_RISK = {1: "good", 2: "bad"}
_PAPER = ("sex", "age", "amount", "duration")


def german_credit(
    columns: Literal["all", "paper"] | Sequence[str] = "all",
) -> tuple[pd.DataFrame, pd.Series]:
    """German credit: 1000 loan applicants of the 1970s, and whether they repaid.

    Parameters
    ----------
    columns : "all", "paper" or a sequence of names
        "all" gives the 20 attributes in their original order and then `sex`. "paper" gives `sex`, `age`,
        `amount` and `duration`, the features of the paper's analysis. A sequence gives these columns in
        this order.

    Returns
    -------
    people : DataFrame
        Indexed 0..999 in the original order. The numbers are int64: `duration` (months), `amount` (DM),
        `installment_rate`, `residence`, `age` (years), `existing_credits` and `dependents`. All else is text.
    risk : Series
        "good" for 700 people and "bad" for 300. Bad risks were oversampled, so this is no rate of default.

    Raises
    ------
    ParameterError
        A name is unknown or repeated.

    Notes
    -----
    `sex` is derived and is not one of the 20 attributes. Attribute 9, `personal_status`, mixes
    sex with marital status; as in most of the literature, its code A92 is read as female (310 people) and
    every other code as male (690), because A95, the single women, never occurs.

    Grömping (2019) traced the data back and found several codes mislabelled, this one among them: A92 holds
    women who are not single together with single men, and A94 holds single women. So sex cannot be
    recovered from these data. Take results by `sex` as an illustration of a method, never as a finding
    about women and men. The same report reads `installment_rate`, `residence`, `existing_credits` and
    `dependents` as codes of classes, not amounts. The levels here are those of the original code book.

    References
    ----------
    H. Hofmann (1994). Statlog (German Credit Data). UCI Machine Learning Repository,
    doi:10.24432/C5NC77. CC BY 4.0.

    U. Grömping (2019). South German Credit Data: Correcting a Widely Used Data Set. Report 4/2019, Reports in
    Mathematics, Physics and Chemistry, Department II, Beuth University of Applied Sciences Berlin.

    Examples
    --------
    >>> people, risk = german_credit("paper")
    >>> people.iloc[0].to_dict()
    {'sex': 'male', 'age': 67, 'amount': 1169, 'duration': 6}
    >>> risk.value_counts().to_dict()
    {'good': 700, 'bad': 300}
    >>> people, risk = german_credit(["purpose", "age"])
    >>> people.loc[0, "purpose"]
    'radio/television'
    """
    with (files("equieffort.datasets") / "data" / "german.csv").open("r", encoding="utf-8") as file:
        raw = pd.read_csv(file)
    risk = raw.pop("risk").map(_RISK)
    sex = raw["personal_status"].isin(_FEMALE).map({True: "female", False: "male"})
    people = raw.assign(**{name: raw[name].map(levels) for name, levels in _LEVELS.items()}, sex=sex)
    names = choose_columns(columns, list(people.columns), {"paper": _PAPER}, "the German credit data")
    return people[names], risk
