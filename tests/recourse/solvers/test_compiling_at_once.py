"""Two processes that compile a real search at once, into one folder that was empty, both answer, and the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, warnings; warnings.simplefilter("ignore")
import numpy as np, pandas as pd, equieffort as ee
from sklearn.tree import DecisionTreeClassifier
from equieffort.foundations.jit import compile_at_once, every
a = np.arange(12.0)
X = pd.DataFrame({"a": a, "sex": list("fm") * 6})
model = DecisionTreeClassifier().fit(X[["a"]], a > 6.9)
features = {"a": ee.Feature("actionable", lower=0, upper=20)}
schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
scm = ee.StructuralCausalModel([], nodes=["a", "sex"]).fit(X)
problem = ee.RecourseProblem.of(model, X, schema=schema, scm=scm)
with compile_at_once():
    table = ee.solve(problem, X, solver=ee.BranchAndBound(time_limit=None))
used = [kernel for kernel in every if kernel.compiled.signatures]
print(json.dumps([table.frame()["status"].tolist(), table.cost.tobytes().hex(), table.cost.tolist(), len(used),
                  sum(kernel.was_kept for kernel in used)]))
"""


def started(folder: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "NUMBA_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=-1, stderr=-1)


# Compiling a real search takes long; tests/foundations/test_jit.py does the same with a small kernel every day.
@pytest.mark.verify
def test_a_search_of_trees_in_two_processes_with_one_empty_folder(tmp_path):
    folder = tmp_path / "kept"
    running = [started(folder) for _ in range(2)]
    both = [one.communicate(timeout=600) for one in running]
    assert [one.returncode for one in running] == [0, 0], both
    both.append(started(folder).communicate(timeout=600))
    one, other, third = (json.loads(out) for out, _ in both)
    assert one[:2] == other[:2] == third[:2]
    # By hand: the tree splits between 6 and 7, in units of the range of 11; it answers yes from the next number on.
    assert one[0] == ["optimal"] * 7 + ["not_needed"] * 5
    least = [(6.5 - a) / 11 for a in range(7)]
    assert all(abs(cost - by_hand) < 1e-6 for cost, by_hand in zip(one[2], least, strict=False))
    assert one[3] == third[3] > 0
    # What the two kept is all that the third needs.
    assert third[4] == third[3]
