"""Everything compiled ahead: no kernel is left out, and what users ask later is of the types that were compiled."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import oracles_networks, oracles_trees

import equieffort
import equieffort as ee
from equieffort.foundations.jit import Linked, compile_at_once, every
from equieffort.recourse.solving import solve
from equieffort.results.warming import STEPS, compile_everything

PACKAGE = Path(equieffort.__file__).parent


@pytest.fixture(scope="module")
def warmed():
    told = []
    return compile_everything(lambda *stage: told.append(stage)), told


def ours():
    """Of the package itself: other tests link its loops too."""
    modules = [module for name, module in sys.modules.items() if name.startswith("equieffort.")]
    kept = {id(value) for module in modules for value in vars(module).values() if isinstance(value, Linked)}
    return [kernel for kernel in every if id(kernel) in kept]


def test_no_kernel_is_left_out(warmed):
    found = 0
    for file in PACKAGE.rglob("*.py"):
        links = len(re.findall(r"= linked\(|, linked\(", file.read_text(encoding="utf-8")))
        if links and file.name not in ("jit.py", "records.py"):
            importlib.import_module(".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts))
            found += links
    assert found == len(ours()) > 10
    missing = [kernel.name for kernel in ours() if not kernel.compiled.signatures]
    assert missing == []


def test_progress_and_what_is_told(warmed):
    found, told = warmed
    assert [stage[1] for stage in told] == list(range(len(STEPS) + 1))
    assert {kernel.name for kernel in ours()} <= {*found.compiled, *found.kept}
    assert all(Path(folder).is_dir() for folder in found.folders)
    again = compile_everything()
    assert (again.compiled, again.kept) == (found.compiled, found.kept), "nothing is compiled a second time"


@pytest.mark.usefixtures("warmed", "quiet")
def test_what_users_ask_is_of_the_types_that_were_compiled():
    before = {kernel.name: len(kernel.compiled.signatures) for kernel in ours()}
    with compile_at_once():
        for family in oracles_trees.FAMILIES:
            case = oracles_trees.random_case(oracles_trees.rng_of(family, 0), family)
            solve(oracles_trees.problem_of(case), case.people, solver=ee.BranchAndBound(node_limit=50))
        for family in oracles_networks.FAMILIES:
            made = oracles_networks.random_network(np.random.default_rng(0), family)
            solve(oracles_networks.problem_of(made), made.case.people, solver=ee.BranchAndBound(node_limit=50))
        audit = _german()
        audit.curve()
        audit.search_subgroups()
        audit.individual(1, quantile=0.2)
    assert {kernel.name: len(kernel.compiled.signatures) for kernel in ours()} == before


def _german():
    X, _ = ee.datasets.german_credit(columns="paper")
    classifier = ee.LinearScore({"age": 0.03, "amount": -0.0003, "duration": -0.02}, threshold=0.0)
    features = {"age": ee.Feature("actionable", direction="up", upper=75), "amount": "actionable"}
    schema = ee.Schema(sensitive="sex", protected="female", favourable=True, features=features)
    scm = ee.StructuralCausalModel([("age", "amount"), ("amount", "duration")]).fit(X)
    return ee.audit(classifier, X, schema=schema, scm=scm)
