"""A real Dask cluster of two local processes: the same bits, a worker that is killed, a scheduler that goes away."""

from __future__ import annotations

import os
import signal
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.foundations import dealing
from equieffort.foundations.cluster import dask_executor
from equieffort.recourse.table import STORED, RecourseTable

pytest.importorskip("distributed")
# What clusters leave open when parts of them are killed is theirs.
pytestmark = [
    pytest.mark.usefixtures("quiet"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed"),
]


@dataclass
class Mortal:
    """A line that ends the process of whoever asks it about somebody rich, so often as there are marks to take."""

    folder: Path
    home: int
    seconds: float = 0.0
    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "savings"])

    def predict(self, X):
        if os.getpid() != self.home:
            time.sleep(self.seconds)
            if (X["income"] > 8.9).any():
                for mark in self.folder.iterdir():
                    mark.unlink(missing_ok=True)
                    os.kill(os.getpid(), signal.SIGKILL)
        return (X["income"] + 0.5 * X["savings"] > 6).to_numpy()


def world(folder: Path, n: int = 300, seconds: float = 0.0) -> tuple[ee.RecourseProblem, pd.DataFrame]:
    rng = np.random.default_rng(0)
    group = np.where(rng.random(n) < 0.5, "b", "a")
    X = pd.DataFrame({"group": group, "income": rng.normal(3.5, 1, n), "savings": rng.normal(3.5, 1, n)})
    X.loc[137, "income"] = 9.0
    features = {"income": ee.Feature("actionable", max_increase=1.0), "savings": "actionable"}
    schema = ee.Schema(sensitive="group", protected="a", favourable=True, features=features)
    model = Mortal(folder, os.getpid(), seconds)
    scm = ee.StructuralCausalModel([("income", "savings")]).fit(X)
    return ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X


def same(one: RecourseTable, other: RecourseTable) -> None:
    for name in STORED:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert (one.notes, one.ceilings) == (other.notes, other.ceilings)


SOLVER = ee.Search(budget=10)


def test_a_cluster_agrees_to_the_bit_survives_a_killed_worker_and_is_replaced_when_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(dealing, "MOST", 32)
    monkeypatch.setattr(dealing, "FIRST", 32)
    monkeypatch.setattr(dealing, "cores", lambda: 1)
    problem, X = world(tmp_path)
    slow, _ = world(tmp_path, seconds=0.02)
    whole = ee.solve(problem, X, solver=SOLVER)
    with dask_executor("local:2") as executor:
        client = executor._client
        before = set(client.run(os.getpid).values())
        assert os.getpid() not in before
        same(whole, ee.solve(problem, X, solver=SOLVER, executor=executor))

        (tmp_path / "mark").touch()
        same(whole, ee.solve(problem, X, solver=SOLVER, executor=executor))
        assert not (tmp_path / "mark").exists()

        def leave(stage, done, total, note=""):
            if done and client.status == "running":
                client.cluster.close(timeout=30)

        with warnings.catch_warnings(record=True) as kept:
            warnings.simplefilter("always")
            found = ee.solve(slow, X, solver=SOLVER, executor=executor, progress=leave)
    assert "RUN_EXECUTOR_LOST" in {getattr(one.message, "code", "") for one in kept}
    same(whole, found)
