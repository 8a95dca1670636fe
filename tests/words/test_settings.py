"""Each audience reads a setting in its own words, and what users called things is nobody's word."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest
import yaml

import equieffort as ee
from equieffort import solvers
from equieffort.errors import DataError, EquieffortError, EquieffortWarning, Setting
from equieffort.spec import SpecError
from equieffort.spec.forms import SOLVERS
from equieffort.words.problems import reworded, spec_text, spec_words
from equieffort.words.settings import KINDS, SETTINGS, in_words, python_literal, yaml_literal
from equieffort.world.scales import MAD, Own, Range, Std

SOURCE = Path(ee.__file__).parent
PYTHON = re.compile(
    r"\w=[^ ]|\w= |\b[A-Z]\w+\(|\bX\b|\by\b|\b(ee|audit|pd|np|scm|recourse)\.\w|mechanism|schema|argument|"
    r"None|True|False"
)
"""What only a Python caller can read."""


def named() -> dict[str, list[str]]:
    """The settings that the source names, with their places."""
    found: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Setting":
                assert isinstance(node.args[0], ast.Constant)
                found.setdefault(str(node.args[0].value), []).append(f"{path.name}:{node.lineno}")
    return found


def test_every_setting_that_is_named_is_known_and_the_other_way_round():
    assert set(named()) == set(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_no_python_is_left_for_authors_of_a_spec(name):
    for audience in ("spec", "options"):
        told = in_words([Setting(name, "Range", of="job")], audience)
        assert not PYTHON.search(told), told
        assert "$" not in told


@pytest.mark.parametrize("name", SETTINGS)
def test_no_yaml_is_left_for_callers_in_python(name):
    told = in_words([Setting(name, "Range", of="job")], "python")
    assert "spec" not in told
    assert "--" not in told
    assert "$" not in told


@pytest.mark.parametrize("name", [name for name, ways in SETTINGS.items() if "$" in ways.python + ways.spec])
@pytest.mark.parametrize("own", ["$of", "${value}", "the schema", "it's", "a\\b", "{x}", "%s"])
def test_names_of_users_are_filled_in_once(name, own):
    """They appear as they are, in quotes where the audience writes quotes, and are never looked at again."""
    for audience, literal in (("python", python_literal), ("spec", yaml_literal)):
        told = in_words([Setting(name, own, of=own)], audience)
        plain = in_words([Setting(name, "*", of="*")], audience)
        assert told == plain.replace("'*'", literal(own)).replace("*", own)


@pytest.mark.parametrize(
    "value", ["a", "it's", 'say "so"', "a\\b", "\t", "é", "NO", "1e3", 3, 0.62, True, None, ["a", 1], (2, "b")]
)
def test_values_of_a_spec_are_read_as_they_are(value):
    expected = list(value) if isinstance(value, tuple) else value
    assert yaml.safe_load(yaml_literal(value)) == expected


def test_kinds_are_those_of_the_spec():
    assert {kind.__name__: name for name, kind in SOLVERS.items()} == {
        name: kind for name, kind in KINDS.items() if hasattr(solvers, name)
    }
    assert {KINDS[scale.__name__] for scale in (Range, Std, MAD, Own)} == {"range", "std", "mad", "own"}


def test_errors_and_warnings_keep_what_they_are():
    with pytest.raises(DataError) as caught, spec_words():
        raise DataError("DATA_EMPTY", "Nobody.", fix=("Name one of them: ", Setting("reference"), "."))
    assert (caught.value.code, caught.value.what) == ("DATA_EMPTY", "Nobody.")
    assert caught.value.fix == "Name one of them: sensitive: {reference: ...}."
    assert "How to fix it: Name one of them: sensitive: {reference: ...}." in str(caught.value)
    same = EquieffortError("DATA_EMPTY", "Nobody.", fix="Wait.")
    with pytest.raises(EquieffortError) as caught, spec_words():
        raise same
    assert caught.value is same
    placed = SpecError("SPEC_KEY", "line 3, column 1: x")
    placed.line = 3
    with pytest.raises(SpecError) as caught, spec_words():
        raise placed
    assert caught.value.line == 3
    assert pickle.loads(pickle.dumps(caught.value)).line == 3
    told = reworded(EquieffortWarning("DATA_EXTRA_COLUMNS", "X", Setting("without unused columns")))
    assert (told.code, told.what, told.fix) == (
        "DATA_EXTRA_COLUMNS",
        "X",
        "Give them the role unused under features if that is meant.",
    )


def test_who_was_told_once_is_not_told_otherwise():
    """Options and Python write this alike: the words are those of the options all the same, whoever tells them on."""
    error = DataError("DATA_FILE", "No.", fix=Setting("the data path"))
    assert error.fix == reworded(error, "options").fix == reworded(reworded(error, "options")).fix == "Check the path."
    assert reworded(error).fix != error.fix


def test_what_an_error_knows_beside_its_words_stays():
    error = ee.errors.CausalModelError("SCM_MECHANISM", "No.", fix=Setting("mechanism"))
    error.node = "job"
    assert reworded(error).node == "job"
    assert spec_text("Or ", error.fix_parts, ".") == "Or choose another kind under graph.equations."


def test_nobody_searches_our_own_prose():
    """No regular expression where texts are made for an audience."""
    for path in (SOURCE / "words").glob("*.py"):
        assert "import re\n" not in path.read_text(encoding="utf-8")
