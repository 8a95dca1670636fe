"""Small worlds whose twins can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.limits import unlimited

import equieffort as ee

SHIFT = {"a": 0.0, "b": 1.0, "c": -0.5}
"""x = SHIFT[s] + noise."""


def of_three(x_by_group: dict[str, list[float]], features=None, score=None, reference="b", **more) -> ee.Audit:
    """Groups a (protected), b (reference), c; s causes x; z is apart; approved where the score is positive."""
    s = [name for name, values in x_by_group.items() for _ in values]
    x = np.array([value for values in x_by_group.values() for value in values])
    X = pd.DataFrame({"s": s, "x": x, "z": np.zeros(len(x))}, index=[f"p{k}" for k in range(len(x))])
    # The equation is learned from a table that obeys it without noise.
    known = pd.DataFrame({"s": list("abc") * 4, "x": [SHIFT[name] for name in "abc"] * 4, "z": [0.0, 1.0] * 6})
    scm = ee.StructuralCausalModel([("s", "x")], nodes=["z"]).fit(known)
    schema = ee.Schema(
        sensitive="s",
        protected="a",
        reference=reference,
        favourable=True,
        features=features or unlimited({"x": "actionable", "z": "mutable"}),
    )
    model = ee.LinearScore(score or {"x": 1.0})
    return ee.audit(model, X, schema=schema, scm=scm, **more)
