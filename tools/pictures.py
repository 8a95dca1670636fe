"""Draws pictures of the README and the docs: `python tools/pictures.py`; that of all notions: tools/side_by_side.py."""

from __future__ import annotations

import contextlib
import re
import warnings
from pathlib import Path

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee
from equieffort.paper.extras import german_audit

ROOT = Path(__file__).parents[1]


def main() -> None:
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    german = german_audit()
    german.plot.acr().save(ROOT / "docs" / "images" / "german_acr.png", dpi=120)
    german.matched(ee.Matching(ee.OptimalPairs())).plot().save(ROOT / "docs" / "images" / "german_matched.png", dpi=90)
    for page in sorted((ROOT / "docs" / "notions").glob("*.md")):
        pictures_of(page)
    for notion in ("effort_rewards", "situation_testing"):
        getattr(german.plot, notion)().save(ROOT / "docs" / "images" / f"german_{notion}.png", dpi=90)
    german.plot.facts().save(ROOT / "docs" / "images" / "german_facts.png", dpi=90)
    adult_groups().plot.measures().save(ROOT / "docs" / "images" / "adult_groups.png", dpi=90)
    german.plot.group_routes().save(ROOT / "docs" / "images" / "german_group_routes.png", dpi=90)
    found = adult_audit().search_subgroups()
    found.plot(8).save(ROOT / "docs" / "images" / "adult_subgroups.png", dpi=90)
    print(found)


def pictures_of(page: Path) -> None:
    """Run the example of a page of notions among the images, where it saves its picture."""
    found = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if found is not None and ".save(" in found[1]:
        with contextlib.chdir(ROOT / "docs" / "images"), contextlib.redirect_stdout(None):
            exec(compile(found[1], page.name, "exec"), {})


def adult_audit() -> ee.Audit:
    """Women against men in all of Adult, a logistic regression, who may study longer and work other hours."""
    setting = ee.datasets.adult_setting(["education_num", "hours_per_week"])
    texts = [name for name in setting.X if setting.X[name].dtype.kind not in "iuf"]
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), texts), remainder=StandardScaler())
    classifier = make_pipeline(encode, LogisticRegression(max_iter=500)).fit(setting.X, setting.y)
    return ee.audit(classifier, setting.X, schema=setting.schema, scm=setting.scm)


def adult_groups() -> ee.Audit:
    """Six thousand people of the Adult test data by race, each group against everybody else; of 60 it is hidden."""
    X, y = ee.datasets.adult(["race", "age", "education_num", "hours_per_week"], part="test")
    X, y = X.iloc[:6000].astype({"race": object}), y.iloc[:6000]
    model = LogisticRegression(max_iter=1000).fit(X[["age", "education_num", "hours_per_week"]], y)
    roles = {
        "age": "immutable",
        "education_num": ee.Feature("actionable", direction="up", upper=16),
        "hours_per_week": ee.Feature("actionable", lower=1, upper=60),
    }
    races = X["race"].unique().tolist()
    X.iloc[::100, X.columns.get_loc("race")] = None
    schema = ee.Schema(sensitive="race", protected=races, reference=ee.Rest(), favourable=">50K", features=roles)
    scm = ee.StructuralCausalModel([("education_num", "hours_per_week")], nodes=["age"]).fit(X)
    return ee.audit(model, X, schema=schema, scm=scm)


if __name__ == "__main__":
    main()
