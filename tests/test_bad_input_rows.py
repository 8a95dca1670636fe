"""Every numbered case of bad input has a test: one called `test_case_NN_...`, one whose docstring begins with "Row
NN", or one that is named here.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROWS = 81
NAME = re.compile(r"test_case_(\d+)(?:_|$)")
DOCSTRING = re.compile(r"Rows? ((?:\d+(?:, | and )?)+)")
LATER = {"pytest.mark.skip", "pytest.mark.xfail"}
ELSEWHERE = {
    51: "models/test_loaders.py::test_skops_other_version_of_scikit_learn",
    59: "effort/neighbours/test_sweep.py::test_given_distances_take_the_same_path",
    61: "foundations/test_arguments.py::test_no_argument_raises_anything_but_our_errors",
    62: "world/test_own_functions.py::test_the_function_is_named_whatever_it_does",
    63: "results/test_alignment.py::test_a_mask_is_matched_by_its_index",
    64: "results/test_forged_audits.py::test_a_forged_audit_is_refused",
    65: "models/test_probe.py::test_what_would_end_xgboost_is_refused_by_either_wall",
    66: "models/test_probe.py::test_a_graph_that_never_ends",
    71: "models/test_fidelity.py::test_agreement_that_approving_everybody_has_too_concludes_nothing",
    73: "hostile/test_hostile.py::test_some_cases_of_each_family_agree_with_the_oracle",
    74: "models/classifiers/test_genuine.py::test_what_is_not_plain_is_a_black_box_and_says_why",
    75: "recourse/test_own_types.py::test_actions_turn_the_label_in_the_callers_own_floats",
    76: "recourse/test_levels.py::test_a_level_that_the_model_knows_and_the_table_lacks_is_proposed",
    77: "world/test_constraints.py::test_who_breaks_an_implication_may_stay_or_come_nearer_but_not_go_deeper",
    78: "cli/test_pipes.py::test_readers_that_go_away_change_neither_code_nor_files",
}
"""Row -> a test that is named for what it shows."""


def rows_of(test: ast.FunctionDef) -> set[int]:
    """The rows that a test says it is about."""
    named = NAME.match(test.name)
    told = DOCSTRING.match(ast.get_docstring(test) or "")
    return {int(named[1])} if named else {int(n) for n in re.findall(r"\d+", told[1])} if told else set()


def named_in(source: str, file: str = "") -> dict[int, list[str]]:
    """Row -> the tests of a file that are about it and run."""
    found: dict[int, list[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        if any(ast.unparse(mark).split("(")[0] in LATER for mark in node.decorator_list):
            continue
        here = {row for row, place in ELSEWHERE.items() if place == f"{file}::{node.name}"}
        for row in rows_of(node) | here:
            found.setdefault(row, []).append(node.name)
    return found


@pytest.fixture(scope="module")
def covered() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    folder = Path(__file__).parent
    for file in folder.rglob("test_*.py"):
        for row, names in named_in(file.read_text(encoding="utf-8"), file.relative_to(folder).as_posix()).items():
            found.setdefault(row, []).extend(names)
    return found


def test_rows_are_read_from_names_and_docstrings():
    source = '''
def test_case_07_a(): pass
def test_b():
    """Row 61: an argument."""
def test_c():
    """Rows 62, 63 and 64."""
def helper_case_08(): pass
@pytest.mark.skip
def test_case_09_later(): pass
def test_d():
    """Says something of row 12."""
'''
    assert named_in(source) == {
        7: ["test_case_07_a"], 61: ["test_b"], 62: ["test_c"], 63: ["test_c"], 64: ["test_c"],
    }  # fmt: skip
    place = ELSEWHERE[64].split("::")
    assert named_in(f"def {place[1]}(): pass", place[0]) == {64: [place[1]]}
    assert named_in(f"def {place[1]}(): pass", "another.py") == {}


@pytest.mark.parametrize("row", range(1, ROWS + 1))
def test_every_row_has_a_test(row: int, covered: dict[int, list[str]]):
    assert covered.get(row), f"no test is about row {row}"
