"""Errors and warnings: codes that stay, words that can be read, and no way to raise one without them."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import warnings
from pathlib import Path

import pandas as pd
import pytest

import equieffort as ee
from equieffort import errors
from equieffort.errors import (
    CODES,
    EquieffortError,
    EquieffortWarning,
    Setting,
    Warned,
    closest,
    collecting,
    listed,
    parts_of,
    warn,
)
from equieffort.words.settings import SETTINGS

SOURCE = Path(errors.__file__).parent
KINDS = [getattr(errors, name) for name in dir(errors) if name.endswith("Error") and name != "EquieffortError"]


@pytest.mark.parametrize("code", CODES)
def test_codes_are_stable_words_and_reasons_are_sentences(code: str) -> None:
    assert re.fullmatch(r"[A-Z]+(_[A-Z0-9]+)*", code)
    why = CODES[code]
    assert why[0].isupper()
    assert why.endswith(".")
    assert "  " not in why


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_has_parts_and_a_layout(kind: type[EquieffortError]) -> None:
    error = kind("PARAMETER", "k is 0.", fix="Give 1.")
    assert (error.code, error.what, error.why, error.fix) == ("PARAMETER", "k is 0.", CODES["PARAMETER"], "Give 1.")
    expected = f"k is 0.\n  Why it matters: {CODES['PARAMETER']}\n  How to fix it: Give 1.\n  Code: PARAMETER"
    assert str(error) == expected
    assert isinstance(error, EquieffortError)
    assert isinstance(error, ValueError)
    assert "How to fix it" not in str(kind("PARAMETER", "k is 0."))


def test_an_unknown_code_cannot_be_raised() -> None:
    with pytest.raises(KeyError, match="NO_SUCH_CODE"):
        EquieffortError("NO_SUCH_CODE", "What.")
    with pytest.raises(KeyError, match="NO_SUCH_CODE"):
        EquieffortWarning("NO_SUCH_CODE", "What.")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda problem: pickle.loads(pickle.dumps(problem))])
@pytest.mark.parametrize("kind", [*KINDS, EquieffortWarning])
def test_problems_survive_copying_and_pickling(kind: type, again: object) -> None:
    problem = kind("PARAMETER", "k is 0.", fix="Give 1.")
    twin = again(problem)  # type: ignore[operator]
    assert type(twin) is kind
    assert str(twin) == str(problem)
    assert (twin.code, twin.what, twin.fix) == (problem.code, problem.what, problem.fix)


@pytest.mark.parametrize("kind", [*KINDS, EquieffortWarning])
def test_parts_survive_copying_and_pickling(kind: type) -> None:
    problem = kind("PARAMETER", ("As in ", Setting("threshold", 0.62), "."), fix=Setting("reference", [1, ...]))
    problem.node = "job"
    twin = pickle.loads(pickle.dumps(problem))
    assert twin.what == "As in threshold=0.62."
    assert twin.what_parts == ("As in ", Setting("threshold", 0.62), ".")
    assert twin.fix_parts == (Setting("reference", [1, ...]),)
    assert twin.node == "job"


def test_texts_become_parts() -> None:
    place = Setting("reference")
    assert parts_of("a", "", ("b", place), place) == ("a", "b", place, place)
    assert parts_of("") == ()


def test_an_unknown_setting_cannot_be_named() -> None:
    with pytest.raises(KeyError, match="no such setting"):
        EquieffortError("PARAMETER", "What.", fix=Setting("no such setting"))


def test_a_causal_model_with_warnings_can_be_pickled() -> None:
    scm = ee.StructuralCausalModel([("a", "b")])
    with pytest.warns(EquieffortWarning, match="explains"):
        scm.fit(pd.DataFrame({"a": [0.0, 0, 1, 1], "b": [1.0, 2, 1, 2]}))
    twin = pickle.loads(pickle.dumps(scm))
    assert [warning.code for warning in twin.warnings_] == ["SCM_POOR_FIT"]
    assert twin.equations() == scm.equations()


def test_warnings_are_issued_and_collected() -> None:
    with warnings.catch_warnings(record=True) as issued, collecting() as outer:
        warnings.simplefilter("always")
        warn("PARAMETER", "One.", fix="Do.")
        with collecting() as inner:
            warn("DATA_TYPE", "Two.")
    assert [w.code for w in outer] == ["PARAMETER"]
    assert [w.code for w in inner] == ["DATA_TYPE"]
    assert [str(w.message) for w in issued] == [str(outer[0]), str(inner[0])]
    assert str(outer[0]) == "One. (PARAMETER)", "one line with the code"
    assert outer[0].long == f"One.\n  Why it matters: {CODES['PARAMETER']}\n  How to fix it: Do.\n  Code: PARAMETER"
    assert {w.filename for w in issued} == {__file__}, "about the first line that is not ours"


def test_a_warning_is_one_line_however_its_words_came() -> None:
    assert str(EquieffortWarning("PARAMETER", "One\n  two.")) == "One two. (PARAMETER)"


def test_warnings_of_a_result_print_in_their_long_form() -> None:
    one, two = EquieffortWarning("PARAMETER", "k < 0.", "Give 1."), EquieffortWarning("DATA_TYPE", "Two.")
    kept = Warned((one, two))
    assert kept == (one, two)
    assert str(kept) == f"{one.long}\n\n{two.long}"
    assert repr(kept) == f"{one}\n{two}"
    assert "k &lt; 0. <code>PARAMETER</code>" in kept._repr_html_()
    assert "Give 1." in kept._repr_html_()
    assert str(Warned()) == repr(Warned()) == "No warnings."


def test_collecting_ends_with_its_block() -> None:
    with collecting() as kept:
        pass
    with pytest.warns(EquieffortWarning):
        warn("PARAMETER", "Late.")
    assert kept == []


def test_a_warning_points_at_the_caller() -> None:
    def library() -> None:
        warn("PARAMETER", "One.")

    with pytest.warns(EquieffortWarning) as issued:
        library()
    assert issued[0].filename == __file__


def test_warnings_can_be_turned_off() -> None:
    with warnings.catch_warnings(record=True) as issued, collecting() as kept:
        warnings.simplefilter("ignore", EquieffortWarning)
        warn("PARAMETER", "One.")
    assert issued == []
    assert [w.what for w in kept] == ["One."]


def test_listed() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "'a'"
    assert listed(range(10)) == "'0', '1', '2', '3', '4', '5', '6', '7' and 2 more"
    assert listed(["a", "b"], most=2) == "'a', 'b'"
    assert listed(["it's"]) == '"it\'s"'


def test_closest() -> None:
    assert closest("incme", ["income", "debt"]) == "Did you mean 'income'?"
    assert closest("zzz", ["income", "debt"]) == ""
    assert closest("x", []) == ""
    assert closest(10, [1, 100]) == "Did you mean '100'?"


def test_closest_never_suggests_what_was_written() -> None:
    assert closest("income", ["income", "debt"]) == ""
    # A number written as text is told apart instead.
    assert "Did you mean" not in closest("1", [0, 1])
    assert "'1'" in closest("1", [0, 1])


# -- what the source can say -------------------------------------------------------------------------------------------


MAKERS = {kind.__name__ for kind in KINDS} | {"EquieffortError", "warn"}
Shorthands = dict[str, ast.Constant]


def shorthands(tree: ast.Module) -> Shorthands:
    """Names for an error with its code, `bad_file = partial(ModelError, "MODEL_FILE")`."""
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("partial"), [ast.Name(kind), ast.Constant() as code])):
                if kind in MAKERS:
                    found[name] = code
    return found


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


@pytest.fixture(scope="module")
def public(trees) -> Shorthands:
    return {
        name: code for tree in trees.values() for name, code in shorthands(tree).items() if not name.startswith("_")
    }


@pytest.fixture(scope="module")
def places(trees, public) -> dict[str, ast.Call]:
    """Every place that raises an error or warns with a code, the code as the first argument."""
    found = {}
    for path, tree in trees.items():
        short = public | shorthands(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {*MAKERS, *short}:
                code = [short[node.func.id]] if node.func.id in short else []
                place = f"{path.relative_to(SOURCE).as_posix()}:{node.lineno}"
                found[place] = ast.Call(node.func, [*code, *node.args], node.keywords)
    return found


def constant(node: ast.Call) -> object:
    return node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None


def test_the_source_is_read(places, public) -> None:
    assert len(places) > 50
    assert {place.split("/")[0] for place in places} >= {"data", "world", "models", "recourse"}
    assert {"bad_equation": "SCM_MECHANISM", "bad_file": "MODEL_FILE"}.items() <= {
        name: code.value for name, code in public.items()
    }.items()


def test_every_code_in_the_source_is_known(places) -> None:
    used = {place: constant(node) for place, node in places.items()}
    assert {place: code for place, code in used.items() if isinstance(code, str) and code not in CODES} == {}


def test_every_code_can_happen() -> None:
    text = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "errors.py"}
    assert [code for code in CODES if not any(f'"{code}"' in source for source in text.values())] == []


def test_every_problem_says_how_to_fix_it(places) -> None:
    without = [
        place
        for place, node in places.items()
        if isinstance(constant(node), str) and not any(keyword.arg == "fix" for keyword in node.keywords)
    ]
    assert without == []


def tail(node: ast.expr) -> str | None:
    """The last characters of a text that are known before it is used."""
    if isinstance(node, ast.Tuple):
        return tail(node.elts[-1])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Setting":
        # A whole sentence of the table of settings, for each of its readers.
        ways = SETTINGS[node.args[0].value]  # type: ignore[attr-defined]
        return next((way for way in (ways.python, ways.spec) if not way.endswith(".")), ways.python)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and node.values:
        last = node.values[-1]
        if isinstance(last, ast.FormattedValue):
            # Words from elsewhere: `sentence` ends them with a full stop.
            made = isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Name)
            return "." if made and last.value.func.id == "sentence" else "{"
        return tail(last)
    return None


SHOWS = {
    "world/rules/parser.py": "a picture of the rule, with a mark under the fault",
    "recourse/solving.py": "a note, which is a sentence",
    "recourse/solvers/auto.py": "a solver's reason, which is a sentence",
}
"""Files with a text that rightly ends with something else."""


def test_every_problem_ends_with_a_full_stop(places) -> None:
    open_ended = {}
    for place, node in places.items():
        texts = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "fix")]
        ends = [end for text in texts if (end := tail(text)) is not None and not end.endswith((".", "?"))]
        if ends and isinstance(constant(node), str) and place.split(":")[0] not in SHOWS:
            open_ended[place] = ends
    assert open_ended == {}
