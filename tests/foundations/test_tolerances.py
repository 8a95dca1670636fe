"""The numbers that proofs lean on: their order, what they are made of, and that none stands elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import equieffort
from equieffort.foundations import tolerances
from equieffort.foundations.tolerances import (
    ALIKE,
    FORGIVEN_UNIT,
    NODE_SHARE,
    ORDERS,
    ROUNDING,
    SAVED,
    SAVED_ROUNDING,
    STEPS,
    TOLERANCE,
    is_closed,
)
from equieffort.recourse.solvers.branch_and_bound.point_kernels import near

SOURCE = Path(equieffort.__file__).parent
LEAST, LARGEST = 1e-16, 1e-5
NOT_OF_PROOFS = {
    ("recourse/solvers/linear/fill_kernels.py", "INTERPRETED"): "seconds",
    ("recourse/solvers/linear/separable.py", "work"): "seconds",
    ("recourse/solvers/branch_and_bound/trees/oracle.py", "work"): "seconds",
    ("recourse/solvers/linear/solver.py", "gap"): "a setting that users see, with its default in the signature",
    ("recourse/solvers/linear_search/solver.py", "gap"): "the same",
    ("recourse/solvers/milp/solver.py", "gap"): "the same",
    ("recourse/solvers/stepping.py", "gap"): "the same",
}
"""By file, and by the name that is given the number: why it stands there."""


def numbers(tree: ast.AST, name: str = "") -> Iterator[tuple[str, float]]:
    """Small numbers in some code, with the name of what they are given to."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, float) and LEAST <= tree.value < LARGEST:
        yield name, tree.value
    if isinstance(tree, ast.keyword):
        name = tree.arg if tree.arg and tree.arg != "default" else name
    elif isinstance(tree, ast.AnnAssign) and isinstance(tree.target, ast.Name):
        name = tree.target.id
    elif isinstance(tree, ast.Assign):
        name = tree.targets[0].id if isinstance(tree.targets[0], ast.Name) else ""
    elif isinstance(tree, ast.Expr | ast.Return | ast.If):
        name = ""
    for part in ast.iter_child_nodes(tree):
        yield from numbers(part, name)


def test_every_small_number_of_solvers_and_replays_has_a_name_and_a_reason():
    files = [path for room in ("recourse", "replay") for path in sorted((SOURCE / room).rglob("*.py"))]
    assert len(files) > 90
    found = {
        (path.relative_to(SOURCE).as_posix(), name): value
        for path in files
        for name, value in numbers(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found.keys() == NOT_OF_PROOFS.keys(), found


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("SURE = 1e-12", [("SURE", 1e-12)]),
        ("gap: float = 1e-9", [("gap", 1e-9)]),
        ("gap: float = field(default=1e-9)", [("gap", 1e-9)]),
        ("def f():\n    if a > b + 1e-9: pass", [("", 1e-9)]),
        ("hull(x, work=2e-6 * len(x))", [("work", 2e-6)]),
        ("y = -5e-10 * x + 1e-300 + 0.1", [("y", 5e-10)]),
        ("A, B = 1e-12, 4e-16", [("", 1e-12), ("", 4e-16)]),
    ],
)
def test_numbers_are_found_wherever_they_stand(code, told):
    assert list(numbers(ast.parse(code))) == told


def test_every_number_has_its_reason_beside_it():
    lines = ast.parse((SOURCE / "foundations" / "tolerances.py").read_text(encoding="utf-8")).body
    for one, after in pairwise(lines):
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id.isupper():
            assert isinstance(after, ast.Expr), one.targets[0].id


@pytest.mark.parametrize("of", ORDERS)
def test_orders_rise(of):
    assert list(ORDERS[of]) == sorted(set(ORDERS[of]))


def test_a_tolerance_out_of_its_place_is_no_module(monkeypatch):
    source = Path(tolerances.__file__).read_text(encoding="utf-8")
    exec(compile(source, "tolerances", "exec"), {"__name__": "tolerances"})
    with pytest.raises(AssertionError, match="out of its place: what HiGHS may miss"):
        exec(compile(source.replace("LOOSENED = 1e-6", "LOOSENED = 1e-8"), "tolerances", "exec"), {})


def test_what_a_saved_audit_is_forgiven_is_no_less_than_what_was_proven():
    """An action may go `STEPS` times the tolerance past what its bound needs, and is saved as optimal."""
    assert SAVED >= STEPS * TOLERANCE
    assert SAVED_ROUNDING > ROUNDING


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-9, 1e-6, 0.5])
@pytest.mark.parametrize("cost", [1e-6, 1.0, 12345.678])
def test_a_search_that_is_near_is_proven(gap, cost):
    """A search stops within half of what counts as proven, so that a replayed cost a little above it still does."""
    bound = cost - near(gap, cost)
    assert bound < cost
    assert is_closed(cost, bound, gap)
    assert is_closed(cost * (1.0 + 0.4 * max(gap, TOLERANCE)), bound, gap)


def test_what_a_search_drops_leaves_room_for_what_it_proves():
    """Nodes are dropped for a share of the cost, and eight more of these shares for rounding: still proven."""
    assert 9 * NODE_SHARE < TOLERANCE
    assert NODE_SHARE > ALIKE
    assert 4.0 * TOLERANCE == FORGIVEN_UNIT
