"""alibi's counterfactual instances: gradient descent on loss plus L1 distance.

The model is asked as a black box, so gradients are finite differences.
"""

from __future__ import annotations

import os
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import tensorflow as tf  # noqa: E402
from alibi.explainers import Counterfactual  # noqa: E402
from shared import Problem, answer  # noqa: E402

tf.compat.v1.disable_v2_behavior()


def setup(problem: Problem) -> Problem:
    """Nothing is shared between people: what may be changed is part of the explainer."""
    return problem


def ask(problem: Problem, person: pd.DataFrame) -> np.ndarray | None:
    """A point just beyond the boundary."""
    x = person.to_numpy(dtype=np.float32)
    low, high = x.copy(), x.copy()
    for k, name in enumerate(problem.features):
        if name in problem.actionable:
            low[0, k], high[0, k] = problem.lower[name], problem.upper[name]
    tf.compat.v1.reset_default_graph()
    explainer = Counterfactual(
        problem.model.predict_proba, shape=x.shape, target_proba=0.51, tol=0.009, target_class=1, max_iter=150,
        lam_init=0.1, max_lam_steps=8, learning_rate_init=0.05, feature_range=(low, high), eps=0.01,
    )  # fmt: skip
    found = explainer.explain(x).cf
    return None if found is None else np.clip(found["X"][0], low[0], high[0])


answer(ask, setup)
