"""Ask DoWhy for counterfactuals through bent equations, and statsmodels for proportional odds; write a test fixture.

DoWhy recovers each node's noise, acts and predicts forward, with scikit-learn's polynomial features and splines as its
equations; statsmodels fits ordered logits by its own optimiser. Both are other code bases than the package's. Run by
``make oracle``.
"""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from dowhy import gcm
from dowhy.gcm.ml.regression import SklearnRegressionModel
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer
from statsmodels.miscmodels.ordinal_model import OrderedModel

FIXTURE = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "bent_equations.json"
EDGES = [("a", "b"), ("s", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
DO = [{"a": 1.0}, {"b": -0.5}, {"a": -1.5, "c": 0.25}, {"s": 1.0}, {"a": 2.5, "s": 0.0}]


def people(n: int = 250, seed: int = 20240601) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "s": rng.integers(0, 2, n).astype(float)})
    frame["b"] = np.sin(frame["a"]) + frame["s"] * frame["a"] + 0.3 * rng.normal(size=n)
    frame["c"] = 0.5 * frame["a"] * frame["b"] - 0.25 * frame["b"] ** 2 + 0.3 * rng.normal(size=n)
    frame["d"] = np.exp(-(frame["c"] ** 2)) + 0.1 * rng.normal(size=n)
    return frame.round(6)


def counterfactuals(make: Any, data: pd.DataFrame, asked: pd.DataFrame) -> list[dict[str, Any]]:
    graph = nx.DiGraph(EDGES)
    model = gcm.InvertibleStructuralCausalModel(graph)
    for node in graph:
        if graph.in_degree(node):
            model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(SklearnRegressionModel(make())))
        else:
            model.set_causal_mechanism(node, gcm.EmpiricalDistribution())
    gcm.fit(model, data)
    answers = []
    for do in DO:
        functions = {node: (lambda _, value=value: value) for node, value in do.items()}
        answer = gcm.counterfactual_samples(model, functions, observed_data=asked)[list(data.columns)]
        answers.append({"do": do, "counterfactuals": answer.to_dict("list")})
    return answers


def ordered(levels: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(2, 1, 300), "b": rng.normal(0, 5, 300)}).round(6)
    latent = 0.9 * frame["a"] - 0.2 * frame["b"] + rng.logistic(size=300)
    frame["g"] = np.searchsorted(np.linspace(0, 4, levels - 1), latent)
    model = OrderedModel(frame["g"], frame[["a", "b"]], distr="logit")
    fit = model.fit(method="bfgs", gtol=1e-10, maxiter=5000, disp=False)
    cuts = model.transform_threshold_params(fit.params)[1:-1]
    return {
        "levels": levels,
        "data": frame.to_dict("list"),
        "coef": {name: float(fit.params[name]) for name in ("a", "b")},
        "cuts": [float(cut) for cut in cuts],
    }


def main() -> None:
    warnings.simplefilter("ignore")
    gcm.config.disable_progress_bars()
    data = people()
    asked = people(12, seed=7)
    makes = {
        "quadratic": lambda: make_pipeline(PolynomialFeatures(2, include_bias=False), LinearRegression()),
        "cubic": lambda: make_pipeline(PolynomialFeatures(3, include_bias=False), LinearRegression()),
        "spline": lambda: make_pipeline(
            SplineTransformer(5, 3, knots="quantile", extrapolation="linear"), LinearRegression()
        ),
    }
    fixture = {
        "made_with": {name: version(name) for name in ("dowhy", "scikit-learn", "statsmodels", "numpy")},
        "edges": EDGES,
        "data": data.to_dict("list"),
        "people": asked.to_dict("list"),
        "worlds": {name: counterfactuals(make, data, asked) for name, make in makes.items()},
        "ordered": [ordered(levels, seed) for levels, seed in ((2, 1), (3, 2), (5, 3))],
    }
    FIXTURE.write_text(json.dumps(fixture) + "\n", encoding="utf-8")
    questions = sum(map(len, fixture["worlds"].values()))
    print(f"{FIXTURE.name}: {questions} questions, {len(fixture['ordered'])} ordered logits")


if __name__ == "__main__":
    main()
