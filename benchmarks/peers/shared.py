"""What every peer is given, as plain numbers: people, limits, and a model that answers like scikit-learn's.

Read in the environment of each peer, which may hold other versions of everything: numpy and pandas are all it needs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd


class Logistic:
    """A logistic regression by its coefficients."""

    def __init__(self, coefficients: list[float], intercept: float) -> None:
        self.coef_, self.intercept_ = np.array([coefficients]), np.array([intercept])
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: object) -> np.ndarray:
        """Of both classes."""
        score = np.asarray(X, dtype=float) @ self.coef_[0] + self.intercept_[0]
        p = 1 / (1 + np.exp(-score))
        return np.column_stack([1 - p, p])

    def predict(self, X: object) -> np.ndarray:
        """The label."""
        return (np.asarray(X, dtype=float) @ self.coef_[0] + self.intercept_[0] > 0).astype(int)


class Forest:
    """A random forest by its trees: feature, threshold, left, right and share of class 1, an entry a node."""

    def __init__(self, trees: list[dict[str, list[float]]]) -> None:
        self.trees = [{name: np.array(values) for name, values in tree.items()} for tree in trees]
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: object) -> np.ndarray:
        """Of both classes."""
        rows = np.asarray(X, dtype=np.float32)
        total = np.zeros(len(rows))
        for tree in self.trees:
            node = np.zeros(len(rows), dtype=int)
            while (inner := tree["left"][node] >= 0).any():
                feature = tree["feature"][node].astype(int)
                below = rows[np.arange(len(rows)), np.maximum(feature, 0)] <= tree["threshold"][node]
                step = np.where(below, tree["left"][node], tree["right"][node]).astype(int)
                node = np.where(inner, step, node)
            total += tree["share"][node]
        p = total / len(self.trees)
        return np.column_stack([1 - p, p])

    def predict(self, X: object) -> np.ndarray:
        """The label; a tie is class 0, as in scikit-learn."""
        p = self.predict_proba(X)
        return (p[:, 1] > p[:, 0]).astype(int)


class Problem:
    """One model and the people who ask."""

    def __init__(self, path: str) -> None:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
        self.features: list[str] = said["features"]
        self.actionable: list[str] = said["actionable"]
        self.lower, self.upper = said["lower"], said["upper"]
        self.train = pd.DataFrame(said["train"], columns=self.features)
        self.y = np.array(said["y"])
        self.group = np.array(said["train_group"])
        self.people = pd.DataFrame(said["people"], columns=self.features)
        self.kind: str = said["model"]["kind"]
        self.pickle: str = said["model"].get("pickle", "")
        model = said["model"]
        self.model = Forest(model["trees"]) if self.kind == "forest" else Logistic(model["coef"], model["intercept"])

    @property
    def scale(self) -> np.ndarray:
        """The range of each feature, by which a change is divided."""
        return np.array([self.upper[name] - self.lower[name] for name in self.features])


def answer(ask: Callable[[Problem, pd.DataFrame], np.ndarray | None], setup: Callable[[Problem], object]) -> None:
    """Ask about each person in turn, and print what came back with the seconds of CPU as JSON."""
    problem = Problem(sys.argv[1])
    start = time.process_time()
    made = setup(problem)
    ready = time.process_time() - start
    found, seconds, wrong = [], [], []
    for k in range(len(problem.people)):
        start = time.process_time()
        try:
            point = ask(made, problem.people.iloc[[k]])
        except Exception as error:  # whatever a peer raises is no answer of its
            point, _ = None, wrong.append(f"{type(error).__name__}: {error}"[:200])
        seconds.append(time.process_time() - start)
        found.append(None if point is None else [float(value) for value in np.asarray(point).reshape(-1)])
    print(json.dumps({"found": found, "seconds": seconds, "ready": ready, "errors": wrong[:3], "failed": len(wrong)}))
