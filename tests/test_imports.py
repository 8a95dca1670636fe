"""Importing is cheap, every public name resolves, and using one table library loads no other."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import equieffort as ee


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=600)
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


@pytest.mark.parametrize("name", [*ee._NAMES, *ee._MODULES, *ee.__all__])
def test_every_public_name_resolves(name):
    assert getattr(ee, name) is not None


def test_about_twenty_names_are_shown_and_the_rest_is_grouped():
    assert len(set(ee.__all__)) == len(ee.__all__)
    assert dir(ee) == sorted(ee.__all__)
    assert 18 <= len(ee.__all__) <= 27
    groups = [getattr(ee, name) for name in ee._MODULES]
    grouped = {name for group in groups for name in dir(group)}
    # What is left are types of results, which are annotated with and not made, and the inner step of run_spec.
    left = set(ee._NAMES) - set(ee.__all__) - grouped
    results = {"AuditComparison", "Explanation", "MonitorState"}
    assert left == {*results, "read_spec"}, "show a new name, or add it to a group"


@pytest.mark.parametrize("name", ee._MODULES)
def test_a_group_shows_what_it_exports_and_can_be_imported_by_its_path(name):
    group = getattr(ee, name)
    assert importlib.import_module(f"equieffort.{name}") is group
    if name != "errors":
        assert dir(group) == sorted(group.__all__)
        assert all(hasattr(group, one) for one in group.__all__)
        assert all(getattr(ee, one) is getattr(group, one) for one in set(group.__all__) & set(ee._NAMES))


def test_type_checkers_are_told_of_exactly_the_names_that_are_resolved():
    tree = ast.parse(Path(ee.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    told = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "only what is named twice is exported again"
            told[alias.name] = node.module
    names = {name: f"equieffort.{room}" for name, room in ee._NAMES.items()} | dict.fromkeys(ee._MODULES, "equieffort")
    missing = [f"from {names[name]} import {name} as {name}" for name in sorted(set(names) - set(told))]
    assert told == names, f"the block below TYPE_CHECKING in __init__.py lacks {missing}"


WRONG = """
import equieffort as ee
ee.Schema(sensitve="sex", protected="female", favourable="good", features={"age": ee.Feature("actionable")})
ee.solvers.Milp(time_limt=10)
ee.Shcema
ee.Schema(sensitive="sex", protected="female", favourable="good", features={"age": ee.Feature("actionable")})
"""


def test_a_type_checker_finds_what_is_misspelt(tmp_path):
    # Other libraries are left out: nothing of them is needed here, and reading their stubs takes long.
    (tmp_path / "wrong.py").write_text(WRONG)
    left = ["--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent", "--no-incremental"]
    paths = {"MYPYPATH": str(Path(ee.__file__).parents[1])}
    command = [sys.executable, "-m", "mypy", "--config-file=", *left, "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | paths, capture_output=True, text=True, timeout=600)
    found = [line.split(":", 3) for line in done.stdout.splitlines() if ": error:" in line]
    assert [line[1] for line in found] == ["3", "4", "5"], done.stdout + done.stderr
    assert "sensitve" in found[0][3]
    assert "time_limt" in found[1][3]
    assert "Shcema" in found[2][3]


def test_pyright_finds_it_too(tmp_path):
    pytest.importorskip("basedpyright")
    (tmp_path / "wrong.py").write_text(WRONG)
    config = {
        "extraPaths": [str(Path(ee.__file__).parents[1])],
        "typeCheckingMode": "standard",
        "include": ["wrong.py"],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = {
        (one["range"]["start"]["line"] + 1, one["message"]) for one in json.loads(done.stdout)["generalDiagnostics"]
    }
    assert {line for line, _ in found} == {3, 4, 5}, done.stdout + done.stderr
    assert {(3, 'No parameter named "sensitve"'), (4, 'No parameter named "time_limt"')} < found
    assert any("Shcema" in message for line, message in found if line == 5)


def test_a_star_import_brings_what_is_shown():
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
repr(audit), audit._repr_html_(), audit.to_frame(), audit.plot.rates().svg
"""


def test_auditing_a_pandas_frame_loads_no_other_table_library():
    assert loaded(AUDIT, "polars", "matplotlib", "IPython", "ipywidgets", "tqdm") == []


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
print(sorted(name for name in (*ee._NAMES, *ee._MODULES) if type(getattr(ee, name)).__name__ == "module"))
"""


def test_no_module_hides_a_public_function_once_everything_is_imported():
    assert run(EVERY) == "['costs', 'datasets', 'errors', 'measures', 'rules', 'scale', 'scm', 'solvers']\n"
