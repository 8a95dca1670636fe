"""The German-credit audit: who must work harder to be called a good credit risk?

Trains a logistic regression on the paper's four columns (with intercepts), lets age only rise and amount and duration
move within plausible bounds, prints the verdict, the group table and the ACR curve, and saves the audit.
Run with `make audit`; it succeeds whatever the verdict is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee


def german_audit() -> ee.Audit:
    """The audit itself."""
    X, y = ee.datasets.german_credit(columns="paper")
    classifier = make_pipeline(
        make_column_transformer((OneHotEncoder(drop="if_binary"), ["sex"]), remainder=StandardScaler()),
        LogisticRegression(),
    ).fit(X, y)
    schema = ee.Schema(
        sensitive="sex",
        protected="female",
        favourable="good",
        features={
            "age": ee.Feature("actionable", direction="up", max_increase=10, upper=75),
            "amount": ee.Feature("actionable", max_decrease=4000, plausible=(250, 18424)),
            "duration": ee.Feature("mutable", plausible=(4, 72)),
        },
    )
    scm = ee.StructuralCausalModel([("sex", "amount"), ("age", "amount"), ("amount", "duration")]).fit(X)
    return ee.audit(classifier, X, schema=schema, scm=scm, neighbourhood=ee.Nearest(quantile=0.2))


def main(folder: str = "out") -> None:
    """Print the findings and save the audit file."""
    audit = german_audit()
    print("Must women work harder than men to be called a good credit risk?\n")
    print(audit.verdict)
    print("\nBy group")
    shown = ["group", "n", "n_unfavourable", "n_optimal", "n_infeasible", "phi", "rho", "against", "acr", "rd"]
    print(audit.by_group[shown].to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep="-"))
    print("\nACR around each person, averaged over the group (95 % band of the mean)")
    curve = audit.curve()
    columns = ["group", "against", "quantile", "acr", "acr_low", "acr_high", "acr_median", "n_undefined"]
    print(curve[columns].to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep="-"))
    table = audit.recourse.frame()
    print("\nFor instance")
    for status in ("optimal", "infeasible"):
        people = table.index[table["status"] == status]
        if len(people):
            print(audit.explain(people[0]))
    target = Path(folder)
    target.mkdir(exist_ok=True)
    audit.save(target / "german.audit")
    print(f"\nSaved {target / 'german.audit'}; read it with equieffort.load().")


if __name__ == "__main__":
    main(*sys.argv[1:])
