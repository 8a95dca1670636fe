"""YAML with places: what is read, what is in doubt, and what is refused."""

from __future__ import annotations

import copy
import pickle

import pytest

from equieffort.spec import SpecError
from equieffort.spec.nodes import MOST_CHARACTERS, MOST_LEVELS, Items, Scalar, Table, plain, read_nodes


def refused(text: str, code: str = "SPEC_YAML") -> SpecError:
    with pytest.raises(SpecError) as caught:
        read_nodes(text)
    assert caught.value.code == code
    assert caught.value.fix
    assert caught.value.what.endswith((".", "?"))
    return caught.value


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("0.5", 0.5),
        ("-2.50", -2.5),
        ("true", True),
        ("false", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("None", "None"),
        ("NA", "NA"),
        ("nan", "nan"),
        (".inf", float("inf")),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
        ("12:30", "12:30"),
        ("1,000", "1,000"),
        ("y", "y"),
        ("female", "female"),
    ],
)
def test_bare_words_without_doubt(word, value):
    found, doubt = plain(word)
    assert found == value
    assert type(found) is type(value)
    assert doubt == ""


@pytest.mark.parametrize("word", ["NO", "no", "No", "yes", "YES", "on", "Off", "True", "TRUE", "False"])
def test_switches_are_in_doubt(word):
    found, doubt = plain(word)
    assert found == word
    assert doubt.endswith(("as true", "as false"))


@pytest.mark.parametrize("word", ["017", "007", "0o17", "0x1F", "0b11", "1_000", "1_000.5", "+5", "9" * 30])
def test_odd_numbers_are_in_doubt_and_stay_text(word):
    assert plain(word) == (word, f"some programs read a bare {word!r} as a number, others as text")


@pytest.mark.parametrize(("word", "value"), [("1e3", 1000.0), ("1.5E-2", 0.015), (".5", 0.5), ("1.", 1.0)])
def test_unusual_numbers_are_numbers_with_doubt(word, value):
    assert plain(word)[0] == value
    assert plain(word)[1]


def test_quotes_make_text():
    tree = read_nodes('a: "NO"\nb: \'12\'\nc: |\n  true\nd: "null"')
    assert [tree.find(key).value for key in "abcd"] == ["NO", "12", "true\n", "null"]
    assert all(tree.find(key).doubt == "" for key in "abcd")


def test_places_and_shapes():
    tree = read_nodes("a:\n  - x\n  - [1, 2]\nb: {c: 3}")
    assert isinstance(tree, Table)
    assert isinstance(tree.find("a"), Items)
    assert tree.find("a").items[1].items[1].at.line == 3
    assert str(tree.find("b", "c").at) == "line 4, column 8"
    assert tree.find("b", "nothing", "there") is tree.find("b")
    assert [str(tree), str(tree.find("a")), str(tree.find("b", "c"))] == [
        "a table of keys", "a list of 2 values", "the number 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, "the key 'a' is already in line 1"),
        ("a: !!python/object/apply:os.system [ls]", 1, 4, "the tag !!python/object/apply:os.system"),
        ("a: !!str 5", 1, 4, "the tag !!str"),
        ("a: ! 5", 1, 4, "the tag !"),
        ("a: !own {b: 1}", 1, 4, "the tag !own"),
        ("a:\n\tb: 1", 2, 1, "not valid YAML: a tab stands"),
        ("a: b: c", 1, 5, "not valid YAML: a colon stands"),
        ("a: [1, 2", 1, 9, "not valid YAML: a list is not closed"),
        ("a: {b: 1", 1, 9, "not valid YAML: a table is not closed"),
        ("a: 1\nb\nc: 2", 3, 1, "a key is not followed by a colon"),
        ("a: @x", 1, 4, "a bare text cannot start with this character"),
        ("a: 'x' y", 1, 8, "does not belong to what stands above"),
        ("a: 1\n  b: 2", 2, 4, "a colon stands"),
        ("%YAML 9", 1, 8, "not valid YAML"),
        ("b: 1\na: 'x\nc: 2", 2, 4, "not valid YAML: a quote is opened here and never closed"),
        ("a: 1\n---\nb: 2", 2, 1, "a second document"),
        ("NO: 1", 1, 1, "the bare key 'NO'"),
        ("true: 1", 1, 1, "the bare key 'true'"),
        ("? \n: 1", 1, 2, "the bare key ''"),
        ("? [a]\n: 1", 1, 3, "a key is a list"),
        ("a: &x {b: 1}\nc: {<<: *x}", 2, 5, "the merge key <<"),
        ("a: *x", 1, 4, "*x repeats something"),
        ("a: &x [*x]", 1, 8, "*x repeats something"),
        ("a: \x07", 1, 4, "the character U+0007"),
        ("b: 1\na: \ud83d", 2, 4, "the character U+D83D"),
        ("[" * (MOST_LEVELS + 2), 1, MOST_LEVELS + 2, "nested"),
    ],
)
def test_refused_with_its_place(text, line, column, says):
    error = refused(text)
    assert error.what.startswith(f"line {line}, column {column}: ")
    assert says in error.what
    assert (error.line, error.column) == (line, column)


def test_tabs_are_named():
    assert "spaces" in refused("a:\n\tb: 1").fix


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_nothing_is_an_empty_spec(text):
    refused(text, "SPEC_FILE")


def test_too_much_text_is_not_parsed():
    refused("# " + "x" * MOST_CHARACTERS, "SPEC_FILE")


def test_aliases_repeat_values():
    tree = read_nodes("a: &grown {role: mutable}\nb: *grown")
    assert tree.find("b", "role").value == "mutable"


def test_a_billion_laughs_are_cut_short():
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 10)]
    assert "20,000 values" in refused("\n".join(lines)).what


def test_keys_that_look_like_numbers_are_names():
    assert list(read_nodes("2026: 1\n1e3: 2\n007: 3").keys) == ["2026", "1e3", "007"]


def test_a_second_key_by_quotes_is_the_same_key():
    refused("a: 1\n'a': 2")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_keep_their_place(again):
    twin = again(refused("a: 1\na: 2"))
    assert (twin.line, twin.column, twin.code) == (2, 1, "SPEC_YAML")
    assert str(twin) == str(refused("a: 1\na: 2"))


def test_windows_line_ends_and_a_byte_order_mark():
    tree = read_nodes("\ufeffa: 1\r\nb: x\r\n")
    assert isinstance(tree.find("b"), Scalar)
    assert (tree.find("a").value, tree.find("b").value, tree.find("b").at.line) == (1, "x", 2)


def test_half_a_character_is_refused_where_it_stands():
    with pytest.raises(SpecError, match="half a character") as refused:
        read_nodes('title: "a \\ud83e b"\n')
    assert refused.value.code == "SPEC_YAML"
