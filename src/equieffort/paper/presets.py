"""The paper's two worlds under two presets: as published, quirks included, and corrected.

| | published | corrected |
| --- | --- | --- |
| classifier and equations | without intercepts | with intercepts |
| cost | in standard deviations | over ranges, as the paper's cost equation says |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from equieffort.data.frames import Bools
from equieffort.datasets import german_credit, paper_synthetic
from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.effort.neighbours import Everyone
from equieffort.notions.base import Audited
from equieffort.notions.counterfactual import CounterfactualFairness
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Auto
from equieffort.recourse.solving import solve
from equieffort.results.audits import Audit
from equieffort.world.cost import Cost, WeightedL1
from equieffort.world.scales import Range, Std
from equieffort.world.schema import UNLIMITED, Feature, Schema
from equieffort.world.scm import LeastSquares, StructuralCausalModel

PROTECTED, UNPROTECTED = 0, 1


@dataclass(frozen=True)
class Preset:
    """How an analysis is set up."""

    name: str
    intercepts: bool
    cost: Cost = field(default_factory=WeightedL1)


PUBLISHED = Preset("published", intercepts=False, cost=WeightedL1(Std()))
CORRECTED = Preset("corrected", intercepts=True, cost=WeightedL1(Range()))
PRESETS = {"published": PUBLISHED, "corrected": CORRECTED}


@dataclass(frozen=True, eq=False)
class World:
    """An audited world: its people, the problem, the audit, and who is counterfactually fairly treated."""

    X: pd.DataFrame
    problem: RecourseProblem
    audit: Audit

    @property
    def refused(self) -> Bools:
        """The protected people who were decided unfavourably."""
        sensitive = self.X[self.problem.schema.sensitive_columns[0]].to_numpy()
        return self.audit.recourse.is_unfavourable & (sensitive == PROTECTED)

    @cached_property
    def stays(self) -> Bools:
        """For each refused protected person whether flipping S, propagated, leaves the decision as it is."""
        audited = Audited(self.audit.recourse, SHOWN_LEVEL, self.audit.budget, self.problem)
        return CounterfactualFairness.of(audited, self.problem).stays[self.refused]

    @property
    def cfr(self) -> float:
        """The counterfactual fairness ratio."""
        return float(self.stays.mean()) if len(self.stays) else float("nan")


def standardised(X: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Columns as z-scores (ddof = 0); the others as they are."""
    return X.assign(**{name: (X[name] - X[name].mean()) / X[name].std(ddof=0) for name in names})


def german(preset: Preset, features: dict[str, Feature] | None = None, cost: Cost | None = None) -> World:
    """German credit on the paper's four columns: female = 0 is protected, all but sex are z-scores."""
    raw, risk = german_credit("paper")
    X = standardised(raw, ["age", "amount", "duration"])
    X["sex"] = (raw["sex"] == "male").astype(int)
    roles = features or {
        "age": Feature("actionable", direction="up", upper=inf),
        "amount": UNLIMITED,
        "duration": Feature("mutable"),
    }
    schema = Schema(sensitive="sex", protected=PROTECTED, favourable=1, features=roles)
    edges = [("sex", "amount"), ("age", "amount"), ("amount", "duration")]
    return _world(preset, X, (risk == "good").astype(int), ["sex", "age", "amount", "duration"], schema, edges, cost)


def synthetic(preset: Preset, alpha: float, n: int, seed: int) -> World:
    """The paper's synthetic world: S = 0 is protected, X2 depends on S, X2 and X3 are z-scores and actionable."""
    raw, y = paper_synthetic(alpha, n, seed)
    X = standardised(raw, ["X2", "X3"])
    schema = Schema(sensitive="S", protected=PROTECTED, favourable=1, features={"X2": UNLIMITED, "X3": UNLIMITED})
    return _world(preset, X, y, ["X2", "X3"], schema, [("S", "X2")], None, nodes=["X3"])


def _world(
    preset: Preset,
    X: pd.DataFrame,
    y: pd.Series,
    columns: list[str],
    schema: Schema,
    edges: list[tuple[str, str]],
    cost: Cost | None,
    nodes: list[str] | None = None,
) -> World:
    # The default tolerance of the fit moves ACR in small neighbourhoods by 0.4 %.
    model = LogisticRegression(C=1.0, fit_intercept=preset.intercepts, tol=1e-12, max_iter=10_000)
    model.fit(X[columns], y)
    scm = StructuralCausalModel(edges, nodes=nodes, default=LeastSquares(intercept=preset.intercepts)).fit(X)
    problem = RecourseProblem.of(model, X, schema=schema, scm=scm, cost=cost or preset.cost)
    table = solve(problem, X, solver=Auto())
    # The paper judges the estimate.
    return World(X, problem, Audit(table, Criteria(level=None), Everyone()))


def box(values: Any) -> dict[str, float]:
    """The numbers of a box plot as matplotlib draws them: quartiles, whiskers within 1.5 IQR, the farthest flier."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) == 0:
        return {}
    q1, med, q3 = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    numbers = {"whislo": inside.min(), "q1": q1, "med": med, "q3": q3, "whishi": inside.max()}
    fliers = values[values > inside.max()]
    if len(fliers):
        numbers["flier"] = fliers.max()
    return {name: float(value) for name, value in numbers.items()}
