"""What the paper leaves as future work, on its own German credit data: bounds, relative costs, other distances."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import inf

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from equieffort.data.frames import percent
from equieffort.datasets import german_credit
from equieffort.effort.neighbours import Neighbourhood
from equieffort.errors import EquieffortWarning
from equieffort.results.auditing import audit
from equieffort.results.audits import Audit
from equieffort.world.cost import Cost, WeightedL1
from equieffort.world.distances import Distance, Euclidean, Manhattan
from equieffort.world.labels import Labels
from equieffort.world.scales import MAD, Own, Std
from equieffort.world.schema import UNLIMITED, Feature, Schema
from equieffort.world.scm import StructuralCausalModel

BOUNDED = {
    "age": Feature("actionable", direction="up", max_increase=10, upper=75),
    "amount": Feature("actionable", max_decrease=4000, plausible=(250, 18424)),
    "duration": Feature("mutable", plausible=(4, 72)),
}
FREE = {
    "age": Feature("actionable", direction="up", upper=inf),
    "amount": UNLIMITED,
    "duration": Feature("mutable"),
}


@dataclass(frozen=True)
class Extra:
    """One further picture: name, caption, and the series `series, x, ours, ours_low, ours_high`."""

    name: str
    title: str
    ylabel: str
    caption: str
    series: pd.DataFrame


def german_audit(
    features: dict[str, Feature] | None = None,
    cost: Cost | None = None,
    neighbourhood: Neighbourhood | None = None,
    labels: Labels | None = None,
) -> Audit:
    """German credit in its own units, with intercepts; by default bounded, as the demo shows it."""
    X, y = german_credit("paper")
    encode = make_column_transformer((OneHotEncoder(drop="if_binary"), ["sex"]), remainder=StandardScaler())
    classifier = make_pipeline(encode, LogisticRegression(tol=1e-12, max_iter=10_000)).fit(X, y)
    declared, labels = features or BOUNDED, labels or Labels()
    schema = Schema(sensitive="sex", protected="female", favourable="good", features=declared, labels=labels)
    scm = StructuralCausalModel([("sex", "amount"), ("age", "amount"), ("amount", "duration")]).fit(X)
    return audit(classifier, X, schema=schema, scm=scm, cost=cost, neighbourhood=neighbourhood)


def extras() -> list[Extra]:
    """All further pictures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        bounded, free = german_audit(BOUNDED, WeightedL1()), german_audit(FREE, WeightedL1())
        costs = {"range": free} | {
            name: german_audit(FREE, WeightedL1(scale))
            for name, scale in (("std", Std()), ("MAD", MAD()), ("own value", Own()))
        }
        distances: dict[str, Distance] = {
            "L1 (paper)": Manhattan(),
            "L2": Euclidean(),
            "L1, standard deviations": Manhattan(scale=Std()),
        }
        rd = _stack({"with bounds": _curve(bounded, "rd"), "without bounds": _curve(free, "rd")})
        acr = _stack({"with bounds": _curve(bounded, "acr"), "without bounds": _curve(free, "acr")})
        by_cost = _stack({name: _curve(found, "acr") for name, found in costs.items()})
        by_distance = _stack({name: _curve(free, "acr", distance) for name, distance in distances.items()})
    rho = bounded.by_group["rho"].to_dict()
    return [
        Extra(
            "extra-german-bounds-rd",
            "German credit with bounds: recourse discrepancy, women",
            "RD",
            "Age may rise by at most 10 years, the amount fall by at most 4,000 and never leave the observed range. "
            f"Then an action exists for {percent(rho['female'])} of refused women and "
            f"{percent(rho['male'])} of refused men: a difference that no average cost shows. Without bounds "
            "everybody has a way.",
            rd,
        ),
        Extra(
            "extra-german-bounds-acr",
            "German credit with bounds: average cost ratio, women",
            "ACR",
            "Bounds remove the people with the longest way from the averages, so ACR changes although nobody is better "
            "off: read it beside the recourse discrepancy.",
            acr,
        ),
        Extra(
            "extra-german-costs",
            "German credit: average cost ratio under other costs, women",
            "ACR",
            "The same people, with effort priced over ranges, standard deviations, median absolute deviations, and "
            "relative to the person's own values. As long as everybody acts on the amount alone, a scale common to all "
            "cancels in the ratio; the person's own value does not.",
            by_cost,
        ),
        Extra(
            "extra-german-distances",
            "German credit: average cost ratio under other distances, women",
            "ACR",
            "The paper finds that L1 or L2 makes no difference. In small neighbourhoods it does.",
            by_distance,
        ),
    ]


def _curve(found: Audit, name: str, distance: Distance | None = None) -> pd.DataFrame:
    curve = found.curve(distance=distance)
    drawn = {"quantile": "x", name: "ours", f"{name}_low": "ours_low", f"{name}_high": "ours_high"}
    return curve.loc[curve["group"] == "female", list(drawn)].rename(columns=drawn)


def _stack(parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part.assign(series=name) for name, part in parts.items()], ignore_index=True)
