"""The spec against the table: what it names and the table lacks is told with its line and column."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from equieffort.errors import EquieffortError, EquieffortWarning
from equieffort.spec import read_spec
from equieffort.spec.runs import prepare, run_spec

pytestmark = pytest.mark.usefixtures("quiet")

SPEC = """\
data: {path: people.csv, id: who}
model: {train: logistic}
outcome: {column: hired, favourable: "yes"}
sensitive:
  column: gender
  protected: woman
  reference: man
also_protected: [age]
graph: [[years, score]]
features:
  years: {role: actionable, direction: up}
  score: {role: mutable}
  degree: {role: actionable}
  "test place": {role: immutable}
subgroups: {young: "age < 40"}
"""


def people(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    years = rng.integers(0, 20, n)
    score = (2.5 * years + rng.normal(0, 8, n)).round(1)
    return pd.DataFrame(
        {
            "who": [f"{k:03d}" for k in range(n)],
            "gender": np.array(["woman", "man"])[np.arange(n) % 2],
            "age": 20 + years + rng.integers(0, 9, n),
            "years": years,
            "score": score,
            "degree": rng.choice(["master", "bachelor", "none"], n),
            "test place": rng.choice(["north", "south"], n),
            "hired": np.where(score + years > 35, "yes", "no"),
        }
    )


@pytest.fixture
def made(tmp_path):
    """Write the table and the spec, both perhaps changed, and read the spec."""

    def make(old: str = "", new: str = "", *, table: pd.DataFrame | None = None):
        assert old in SPEC
        (people() if table is None else table).to_csv(tmp_path / "people.csv", index=False)
        (tmp_path / "a.yaml").write_text(SPEC.replace(old, new, 1) if old else SPEC, encoding="utf-8")
        return read_spec(tmp_path / "a.yaml")

    return make


def refused(spec) -> EquieffortError:
    with pytest.raises(EquieffortError) as caught:
        prepare(spec)
    assert "Schema(" not in str(caught.value)
    assert " X" not in str(caught.value), "X is a name in Python"
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "code", "at", "says"),
    [
        ("id: who", "id: whom", "DATA_MISSING_COLUMN", (1, 30), "data.id"),
        ("column: hired", "column: hird", "DATA_MISSING_COLUMN", (3, 19), "Did you mean 'hired'?"),
        ('"yes"', '"Yes"', "MODEL_LABELS", (3, 38), "Did you mean 'yes'?"),
        ("column: gender", "column: gendr", "SCHEMA_SENSITIVE_MISSING", (5, 11), "Did you mean 'gender'?"),
        ("protected: woman", "protected: Woman", "SCHEMA_GROUPS", (6, 14), "Did you mean 'woman'?"),
        ("reference: man", "reference: men", "SCHEMA_GROUPS", (7, 14), "Did you mean 'man'?"),
        ("[age]", "[age, agge]", "SCHEMA_SENSITIVE_MISSING", (8, 23), "Did you mean 'age'?"),
        ("[years, score]", "[year, score]", "GRAPH_UNKNOWN_NODE", (9, 10), "Did you mean 'years'?"),
        ('"test place"', '"test places"', "DATA_MISSING_COLUMN", (14, 3), "Did you mean 'test place'?"),
        ("age < 40", "agee < 40", "RULE_NAME", (15, 20), "Did you mean 'age'?"),
    ],
)
def test_wrong_names_and_values_have_a_place(made, old, new, code, at, says):
    error = refused(made(old, new))
    assert error.code == code
    assert says in str(error)
    assert error.what.startswith(f"a.yaml, line {at[0]}, column {at[1]}: "), error.what


def test_nobody_to_compare_with(made):
    table = people()
    table.loc[::7, "gender"] = "not said"
    error = refused(made("  reference: man\n", "", table=table))
    assert error.code == "SCHEMA_GROUPS"
    assert "sensitive: {reference: ...}" in error.fix
    assert error.what.startswith("a.yaml, line 5")


# -- categories and numbers -------------------------------------------------------------------------------------------


ORDER, NUMBERS = ("SCHEMA_LEVELS", "in which order"), ("SCHEMA_KIND", "only numbers")


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ("direction: up", *ORDER),
        ("kind: categorical, direction: up", *ORDER),
        ("lower: 1", *ORDER),
        ("steps: true", *ORDER),
        ("plausible: [0, 1]", *NUMBERS),
        ("max_increase: 1", *NUMBERS),
        ("kind: categorical, max_increase: 1", *NUMBERS),
    ],
)
def test_limits_on_a_category_name_the_way_to_forbid_a_change(made, given, code, words):
    with pytest.raises(EquieffortError) as caught:
        prepare(made("degree: {role: actionable}", f"degree: {{role: actionable, {given}}}"))
    error = caught.value
    assert error.code == code
    assert "line 13" in error.what
    assert "forbidden: [[" in error.fix
    assert words in error.what


def test_the_way_that_is_named_works(made):
    spec = made("subgroups:", "rules: [{feature: degree, forbidden: [[null, none]]}]\nsubgroups:")
    table = run_spec(spec).recourse.frame()
    assert not (table["do_degree"] == "none").any()


def test_decimal_commas_are_named(made):
    table = people()
    table["score"] = table["score"].astype(str).str.replace(".", ",")
    error = refused(made("score: {role: mutable}", "score: {role: mutable, plausible: [0, 100]}", table=table))
    assert error.code == "DATA_NOT_NUMERIC"
    assert 'decimal: ","' in error.fix
    assert "line 12" in error.what


def test_one_word_among_numbers_is_shown(made):
    table = people().astype({"score": str})
    table.loc[3, "score"] = "n/a"
    error = refused(made("score: {role: mutable}", "score: {role: mutable, plausible: [0, 100]}", table=table))
    assert "59 of 60 cells look like numbers" in error.what
    assert "'n/a'" in error.what
    with pytest.warns(EquieffortWarning, match="features.score holds text, although 59 of 60"):
        prepare(made(table=table))


def test_a_column_that_names_people_is_warned_of(made):
    spec = made(", id: who", "")
    spec.path.write_text(spec.text.replace("features:\n", "features:\n  who: {role: immutable}\n"), encoding="utf-8")
    with pytest.warns(EquieffortWarning, match=r"'who' is different .*: 60 values in 60 rows"):
        prepare(read_spec(spec.path))


def test_so_is_a_column_that_counts_rows(made):
    spec = made("features:\n", "features:\n  line: {role: immutable}\n", table=people().assign(line=range(1001, 1061)))
    with pytest.warns(EquieffortWarning, match=r"'line' is different .*: 60 values in 60 rows"):
        prepare(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        warnings.filterwarnings("error", message=r"'line' is")
        prepare(
            made("features:\n", "features:\n  line: {role: immutable}\n", table=people().assign(line=range(0, 120, 2)))
        )


def test_postcodes_are_no_numbers(made):
    table = people()
    table["test place"] = [f"0{k % 5}123" for k in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        warnings.filterwarnings("error", message=".*look like numbers.*")
        prepare(made(table=table))


# -- missing values ---------------------------------------------------------------------------------------------------


def test_fixes_are_keys_of_the_spec(made):
    table = people()
    table.loc[4, "score"] = np.nan
    error = refused(made(table=table))
    assert error.code == "DATA_MISSING_VALUES"
    assert "data: {missing: drop}" in error.fix


def test_people_without_a_decision_are_dropped(made):
    table = people()
    table.loc[[4, 9], "hired"] = None
    assert refused(made(table=table)).code == "DATA_MISSING_VALUES"
    with pytest.warns(EquieffortWarning, match="2 people without a recorded decision left the audit"):
        done = run_spec(made("id: who}", "id: who, missing: drop}", table=table))
    assert len(done.recourse) == 58
    assert not {"004", "009"} & set(done.recourse.index)
    assert done.provenance.data.rows == 60


def test_warnings_kept_in_the_audit_speak_of_the_spec(made):
    done = run_spec(made())
    fixes = {warning.code: warning.fix for warning in done.warnings}
    assert "graph: {edges: [...], nodes: [...]}" in fixes["GRAPH_ROOTS_ASSUMED"]
    assert not any("StructuralCausalModel" in fix for fix in fixes.values())


def test_rules_that_match_nobody_are_told_before_solving(made):
    with pytest.warns(EquieffortWarning, match="matches nobody. Did you mean 'north'"):
        prepare(made('"age < 40"', "\"`test place` = 'nort'\""))


@pytest.mark.parametrize(
    ("labels", "at", "says"),
    [
        ("{groups: {woman: women, men: men}}", (16, 33), "labels.groups names 'men', which is no group."),
        ("{features: {year: time at work}}", (16, 21), "labels.features names 'year', which is no column."),
        ("{levels: {degre: {none: no degree}}}", (16, 19), "labels.levels names 'degre', which is no column."),
        (
            "{levels: {degree: {masterr: a master}}}",
            (16, 28),
            "names 'masterr', which is no level of 'degree'. Did you",
        ),
        ("{features: {years: score}}", (16, 9), "calls something 'score', which is the name of something else."),
    ],
)
def test_a_label_of_what_does_not_exist_is_told_with_its_line(made, labels, at, says):
    error = refused(made('subgroups: {young: "age < 40"}\n', f'subgroups: {{young: "age < 40"}}\nlabels: {labels}\n'))
    assert (error.code, (error.line, error.column)) == ("SCHEMA_LABELS", at)
    assert f"a.yaml, line {at[0]}, column {at[1]}: labels" in error.what
    assert says in error.what


def test_columns_that_are_said_to_be_unused_are_not_warned_of(made):
    table = people().assign(street="x", note="y")
    told = {w.code: w for w in run_spec(made(table=table)).warnings}
    assert "'street', 'note'" in told["DATA_EXTRA_COLUMNS"].what
    assert "role unused" in told["DATA_EXTRA_COLUMNS"].fix
    spec = made("subgroups:", "  street: unused\n  note: {role: unused}\nsubgroups:", table=table)
    audit = run_spec(spec)
    assert "DATA_EXTRA_COLUMNS" not in {w.code for w in audit.warnings}
    # What plays no part may still be asked about.
    assert str(audit.subgroup("street = 'x'").verdict).splitlines()[1:] == str(audit.verdict).splitlines()[1:]
