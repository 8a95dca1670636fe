"""Importing is cheap, every public name resolves, and using one table library loads no other."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import equieffort as ee


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(code: str, *watched: str) -> list[str]:
    """Which of the watched packages a fresh interpreter has loaded after running the code."""
    return json.loads(run(f"{code}\nimport json, sys\nprint(json.dumps([w for w in {watched!r} if w in sys.modules]))"))


HEAVY = ("pandas", "numpy", "numba", "sklearn", "scipy", "matplotlib", "polars", "pyarrow", "networkx", "narwhals")


def test_importing_the_package_loads_nothing_heavy():
    assert loaded("import equieffort", *HEAVY) == []
    assert loaded("import equieffort\ndir(equieffort), equieffort.__version__, equieffort.errors", *HEAVY) == []


def test_importing_prints_nothing_and_warns_of_nothing():
    assert run("import equieffort") == ""


@pytest.mark.parametrize("name", ee.__all__)
def test_every_public_name_resolves(name):
    assert getattr(ee, name) is not None
    assert name in dir(ee)


def test_public_names_are_listed_once_and_sorted_for_reading():
    assert len(set(ee.__all__)) == len(ee.__all__)
    assert dir(ee) == sorted(ee.__all__)


def test_a_star_import_brings_every_public_name():
    assert (
        run("from equieffort import *\nprint(audit.__name__, Schema.__name__, load.__name__)") == "audit Schema load\n"
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Shcema'"):
        ee.Shcema  # noqa: B018
    assert not hasattr(ee, "pandas")


AUDIT = """
import equieffort as ee, pandas as pd
X = pd.DataFrame({"s": list("ab") * 20, "x": [float(k) for k in range(40)]})
schema = ee.Schema(sensitive="s", protected="a", favourable=True, features={"x": "actionable"})
scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
audit = ee.audit(ee.LinearScore({"x": 1.0}, threshold=30.5), X, schema=schema, scm=scm)
str(audit), audit.curve([1.0]), audit.explain(0), audit.recourse.frame()
"""


def test_auditing_a_pandas_frame_loads_no_other_table_library():
    assert loaded(AUDIT, "polars", "matplotlib") == []


def test_a_graph_that_does_not_come_from_networkx_does_not_load_it():
    assert loaded(f"{AUDIT}\nee.CausalGraph.of([('s', 'x')])", "networkx") == []
    gml = 'graph [directed 1 node [id 0 label "s"] node [id 1 label "x"] edge [source 0 target 1]]'
    assert loaded(f"import equieffort as ee\nee.CausalGraph.of({gml!r})", "networkx") == ["networkx"]


EVERY = """
import importlib, pkgutil
import equieffort as ee
for found in pkgutil.walk_packages(ee.__path__, "equieffort."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
print(sorted(name for name in ee.__all__ if type(getattr(ee, name)).__name__ == "module"))
"""


def test_no_module_hides_a_public_function_once_everything_is_imported():
    assert run(EVERY) == "['costs', 'datasets', 'errors', 'measures', 'rules', 'scm', 'solvers']\n"
