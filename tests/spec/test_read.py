"""From text to Spec: files, cross-checks, and words that one can act on."""

from __future__ import annotations

import os
import re

import pytest

from equieffort.errors import EquieffortError
from equieffort.spec import Spec, SpecError, parse_spec, read_spec

GOOD = """\
title: Loans
data: {path: people.csv, id: applicant}
model: {train: logistic}
outcome: {column: decision, favourable: approved}
sensitive: {column: sex, protected: female}
graph: [[income, debt]]
features:
  income: {role: actionable, direction: up}
  debt: mutable
"""


def refused(text: str, code: str) -> EquieffortError:
    with pytest.raises(EquieffortError) as caught:
        parse_spec(text)
    assert caught.value.code == code
    assert caught.value.fix
    return caught.value


def test_a_typo_is_named_with_its_line_and_the_closest_key():
    error = refused(GOOD.replace("role:", "rol:"), "SPEC_KEY")
    assert error.what == "line 8, column 12: unknown key 'rol' in features.income. Did you mean 'role'?"
    error = refused(GOOD.replace("features:", "featurs:"), "SPEC_KEY")
    assert error.what == "line 7, column 1: unknown key 'featurs'. Did you mean 'features'?"
    error = refused(GOOD.replace("actionable", "actoinable"), "SPEC_VALUE")
    assert error.what == "line 8, column 18: features.income.role is 'actoinable'. Did you mean 'actionable'?"
    assert error.fix == "It can be 'actionable', 'mutable', 'immutable' or 'unused'."


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("favourable: approved", "favourable: yes", "line 4, column 41: outcome.favourable is in doubt: some programs"),
        ("protected: female", "protected: NO", "a bare 'NO' as false"),
        ("protected: female", "protected: 1e3", "a bare '1e3' as a number"),
        ("protected: female", "protected: 0o17", "a bare '0o17' as a number"),
        ("protected: female", "protected: [f, Off]", "sensitive.protected, item 2 is in doubt"),
        ("direction: up", "upper: 0o17", "features.income.upper is in doubt"),
        ("direction: up", "upper: 1_000", "features.income.upper is in doubt"),
        ("title: Loans", "use_sensitive: yes", "use_sensitive is in doubt"),
        ("title: Loans", "title: on", "title is in doubt"),
    ],
)
def test_words_in_doubt_ask_for_quotes(old, new, says):
    error = refused(GOOD.replace(old, new), "SPEC_YAML")
    assert says in error.what
    assert re.search(r'in quotes|"|plain decimal|true or false', error.fix)


def test_quoted_words_stay_text():
    spec = parse_spec(GOOD.replace("female", '"NO"').replace("approved", "'yes'").replace("Loans", '"0o17"'))
    assert (spec.schema.protected, spec.schema.favourable, spec.title) == ("NO", "yes", "0o17")


def test_dates_none_and_exponents():
    spec = parse_spec(
        GOOD.replace("female", "None").replace("approved", "2026-01-01").replace("direction: up", "upper: 1e3")
    )
    assert (spec.schema.protected, spec.schema.favourable) == ("None", "2026-01-01")
    assert spec.schema.features["income"].upper == 1000


def test_a_number_for_a_name_asks_for_quotes():
    error = refused(GOOD.replace("id: applicant", "id: 2026"), "SPEC_VALUE")
    assert error.what == "line 2, column 30: data.id is the number 2026, but must be the name of a column."
    assert error.fix == 'Write it in quotes if the text is meant: "2026".'
    error = refused(GOOD.replace("direction: up", "upper: '75'"), "SPEC_VALUE")
    assert error.what.startswith("line 8, column 37: features.income.upper is the text '75', but must be a number, or ")
    error = refused(GOOD.replace("direction: up", "upper:"), "SPEC_VALUE")
    assert "features.income.upper is empty, but must be a number, or .inf" in error.what


@pytest.mark.parametrize(
    ("old", "new", "code", "says"),
    [
        ("direction: up", "lower: 5, upper: 3", "SCHEMA_LIMITS", "line 8, column 11: features.income: The lower"),
        ("debt: mutable", "debt: {role: mutable, upper: 3}", "SCHEMA_LIMITS", "line 9, column 9: features.debt: "),
        ("debt: mutable", "sex: mutable", "SCHEMA_SENSITIVE_ACTIONABLE", "line 9, column 8: features.sex: "),
        ("role: actionable, direction: up", "role: mutable", "PROBLEM_NOTHING_ACTIONABLE", "line 8, column 3: "),
        ("[[income, debt]]", "[[a, b], [b, a]]", "GRAPH_CYCLE", "line 6, column 8: graph: The causal graph has a"),
        ("[[income, debt]]", "{path: no.gml}", "GRAPH_PARSE", "line 6, column 15: graph: There is no graph file"),
        ("[[income, debt]]", "[[income]]", "SPEC_VALUE", "graph, item 1 is a list of 1 value, but must be a pair"),
        ("[[income, debt]]", "[income, debt]", "SPEC_VALUE", "graph, item 1 is the text 'income'"),
        ("[[income, debt]]", "[[income, decision]]", "SPEC_VALUE", "graph holds 'decision', which is the column of"),
        ("debt: mutable", "decision: mutable", "SPEC_VALUE", "line 9, column 13: features holds 'decision'"),
        ("debt: mutable", "applicant: mutable", "SPEC_VALUE", "which is the column that names people"),
        ("column: sex", "column: decision", "SPEC_VALUE", "sensitive holds 'decision'"),
        ("column: decision, ", "", "SPEC_KEY", "line 4, column 10: outcome lacks the key 'column'."),
        ("train: logistic", "train: logistic, path: m.skops", "SPEC_KEY", "model has both 'path' and 'train'."),
        ("{train: logistic}", "{}", "SPEC_KEY", "model has neither 'path' nor 'train'."),
        ("path: people.csv", "path: p, encoding: utf-9", "SPEC_VALUE", "data.encoding is 'utf-9'"),
        ("path: people.csv", "path: p, encoding: rot13", "SPEC_VALUE", "data.encoding is 'rot13'"),
        ("path: people.csv", 'path: p, delimiter: "::"', "SPEC_VALUE", "data.delimiter is '::'"),
        ("path: people.csv", 'path: p, delimiter: ""', "SPEC_VALUE", "data.delimiter is ''"),
        ("path: people.csv", 'path: p, decimal: ","', "SPEC_VALUE", "stands before decimals too"),
        ("protected: female", "protected: [[a, b]]", "SPEC_VALUE", "names a group by 2 values for 1 sensitive column."),
        ("column: sex", "column: [sex, race]", "SPEC_VALUE", "names a group by 1 value for 2 sensitive columns."),
        ("title: Loans", "cost: {kind: percentile, scale: std}", "SPEC_VALUE", "cost.scale has no effect here"),
        ("title: Loans", "cost: {knots: 5}", "SPEC_VALUE", "cost.knots has no effect here"),
        ("title: Loans", "cost: {within: group}", "SPEC_VALUE", "cost.within has no effect here"),
        ("title: Loans", "cost: {scale: mad, quantiles: [0, 1]}", "SPEC_VALUE", "cost.quantiles has no effect here"),
        ("title: Loans", "cost: {quantiles: [0.9, 0.1]}", "PARAMETER", "cost.quantiles: quantiles is the tuple"),
        ("title: Loans", "neighbourhood: {}", "SPEC_KEY", "neighbourhood has neither 'quantile' nor 'k'."),
        ("title: Loans", "subgroups: {young: age <}", "RULE_SYNTAX", "line 1, column 20: subgroups.young: The rule"),
        ("title: Loans", "subgroups: {young: 25}", "SPEC_VALUE", "subgroups.young is the number 25"),
    ],
)  # fmt: skip
def test_contradictions_are_found_with_their_place(old, new, code, says):
    assert old in GOOD
    error = refused(GOOD.replace(old, new), code)
    assert error.what.startswith("line ")
    assert says in error.what


def test_the_spec_must_be_a_table():
    for text in ("somebody,12", "[somebody]", "somebody\nsomebody else"):
        error = refused(text, "SPEC_FILE")
        assert "line 1, column 1: this is not a spec" in error.what
        assert "somebody" not in str(error), "it may be about people"
        assert "equieffort init" in error.fix


def test_a_long_text_is_not_repeated():
    assert (
        "a text of 300 characters"
        in refused(GOOD.replace("{column: decision, favourable: approved}", "x" * 300), "SPEC_VALUE").what
    )


@pytest.mark.parametrize("name", ["people.csv", "people.PARQUET", "made.audit", "made.html", "model.skops"])
def test_other_files_are_no_specs(tmp_path, name):
    (tmp_path / name).write_text("somebody: 12", encoding="utf-8")
    with pytest.raises(SpecError, match="not a spec") as caught:
        read_spec(tmp_path / name)
    assert "somebody" not in str(caught.value)


def test_a_trained_model_cannot_decide_on_empty_cells():
    error = refused(GOOD.replace("people.csv", "people.csv, missing: model"), "SPEC_VALUE")
    assert error.what.startswith("line ")
    assert "data.missing is 'model'" in error.what
    assert "missing: drop" in error.fix


def test_a_comma_inside_a_number_is_explained():
    error = refused(GOOD.replace("direction: up", "lower: 20,000"), "SPEC_KEY")
    assert "A comma inside a number" in error.what
    assert "20000" in error.fix


def test_rules_tell_how_to_write_names_with_spaces():
    error = refused(GOOD + 'subgroups: {a: "years at job < 2"}\n', "RULE_SYNTAX")
    assert "back-quotes: `years at job`" in error.fix
    assert parse_spec(GOOD + 'subgroups: {a: "`years at job` < 2"}\n').subgroups == {"a": "`years at job` < 2"}


def test_defaults():
    spec = parse_spec(GOOD)
    assert isinstance(spec, Spec)
    assert (spec.random_state, spec.min_agreement, spec.suppress_below, spec.subgroups) == (0, 0.9, 0, {})
    assert (spec.data.encoding, spec.data.delimiter, spec.data.decimal, spec.data.missing) == (
        "utf-8",
        ",",
        ".",
        "error",
    )
    assert (spec.nodes, spec.path, spec.text) == ([], None, GOOD)
    assert spec.schema.reference is None


def test_protected_columns_are_seen_only_if_asked_for():
    text = GOOD.replace("debt: mutable", "sex: immutable\n  age: immutable") + "also_protected: [age]\n"
    assert parse_spec(text).features == ["income", "age"]
    assert parse_spec(text + "use_sensitive: true\n").features == ["sex", "income", "age"]


def test_anchors_repeat_features():
    text = GOOD.replace("income: {", "income: &rising {").replace("debt: mutable", "wealth: *rising")
    features = parse_spec(text).schema.features
    assert features["wealth"] == features["income"]


def test_a_spec_file_knows_its_folder(tmp_path):
    (tmp_path / "graph.gml").write_text(
        'graph [ directed 1 node [ id 0 label "income" ] node [ id 1 label "debt" ] node [ id 2 label "age" ] '
        "edge [ source 0 target 1 ] ]",
        encoding="utf-8",
    )
    path = tmp_path / "audit.yaml"
    path.write_text("\ufeff" + GOOD.replace("[[income, debt]]", "{path: graph.gml}"), encoding="utf-8")
    spec = read_spec(str(path))
    assert spec.data.path == tmp_path / "people.csv"
    assert (spec.edges, spec.nodes, spec.path) == ([("income", "debt")], ["age"], path)


def test_errors_of_a_file_name_it(tmp_path):
    path = tmp_path / "audit.yaml"
    path.write_text(GOOD.replace("role:", "rol:"), encoding="utf-8")
    with pytest.raises(SpecError, match=r"^audit\.yaml, line 8, column 12: unknown key 'rol'") as caught:
        read_spec(path)
    assert (caught.value.line, caught.value.column) == (8, 12)
    path.write_text("", encoding="utf-8")
    with pytest.raises(SpecError, match=r"^audit\.yaml: The spec is empty\.") as caught:
        read_spec(path)
    assert caught.value.code == "SPEC_FILE"


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "audit.yaml"
    for absent in (path, tmp_path):
        with pytest.raises(SpecError) as caught:
            read_spec(absent)
        assert caught.value.code == "SPEC_FILE"
        assert repr(str(absent)) in caught.value.what
    path.write_bytes(b"title: ok\ndata: M\xfcnchen\n")
    with pytest.raises(SpecError, match=r"is not UTF-8: line 2 has the byte 0xfc at offset 17\."):
        read_spec(path)
    path.write_text(GOOD.replace("[[income, debt]]", "{path: bad.gml}"), encoding="utf-8")
    (tmp_path / "bad.gml").write_bytes(b"graph [ \xff ]")
    with pytest.raises(EquieffortError, match=r"audit\.yaml, line 6, column 15: graph"):
        read_spec(path)


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "getuid") or os.getuid() == 0, reason="needs file permissions")
def test_a_file_nobody_may_read(tmp_path):
    path = tmp_path / "audit.yaml"
    path.write_text(GOOD, encoding="utf-8")
    path.chmod(0)
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(path)


def test_texts_of_letters():
    read = parse_spec(GOOD + "letters:\n  sender: |\n    Town bank\n    1 Main Street\n")
    assert (read.letters.sender, read.letters.review) == ("Town bank\n1 Main Street\n", "")
    with pytest.raises(SpecError, match="letters"):
        parse_spec(GOOD + "letters: {reviews: Ring us.}\n")
