"""Whoever writes a spec reads of keys and of the table: never of Python, and never of a class of ours."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.cli.conftest import SPEC, loans

PYTHON = re.compile(
    r"\w=[^ =]|\b[A-Z]\w+\(|\bX\b|\by\b|\b(ee|audit|pd|np|scm|recourse)\.[a-z_]+\b|mechanism|schema|argument|"
    r"\bNone\b|\bTrue\b|\bFalse\b|\[0\]|LinearExact|BranchAndBound|Milp|SpatialBranchAndBound|\w+Labels\b|predict|classes_|Traceback|Exception|Error\b"
)
GRAPH, JOB = "graph: [[income, savings]]", "job: {role: immutable}"
FOLLOWS = "edges: [[income, savings], [income, job]]"


def column(name, values):
    def change(table):
        table[name] = values

    return change


def cell(name, value, row=3):
    def change(table):
        table[name] = table[name].astype(object)
        table.loc[row, name] = value

    return change


def unchanged(table):
    """The table as it is."""


def equations(text, edges="edges: [[income, savings]]"):
    return (GRAPH, f"graph: {{{edges}, equations: {{{text}}}}}")


CASES = {
    "a cell is empty": ([], cell("income", None), "DATA_MISSING_VALUES", "write data: {missing: drop}"),
    "a decision is empty": ([], cell("decision", None), "DATA_MISSING_VALUES", "The recorded decision is missing in"),
    "a group that the model sees is empty": (
        [("sensitive: {", "use_sensitive: true\nsensitive: {")], cell("sex", None), "DATA_MISSING_VALUES",
        "write data: {missing: drop}",
    ),
    "every row has an empty cell": (
        [("id: applicant", "id: applicant, missing: drop")], column("savings", np.nan), "DATA_EMPTY", "'savings'",
    ),
    "absurd": ([], cell("savings", 1e300), "DATA_NOT_FINITE", "Column 'savings' holds 1e+300 in row '00003'."),
    "continuous groups": (
        [("column: sex, protected: female, reference: male", "column: age, protected: 20")],
        column("age", np.arange(160)), "SCHEMA_SENSITIVE_CONTINUOUS", "Add a column of bins to the table",
    ),
    "no reference": (
        [(", reference: male", "")], column("sex", ["female", "male", "other", "male"] * 40), "SCHEMA_GROUPS",
        "Name one of them: sensitive: {reference: ...}.",
    ),
    "every decision is wanted": (
        [("favourable: approved", "favourable: [approved, refused]")], unchanged, "MODEL_LABELS",
        "Leave out the decisions people do not want.",
    ),
    "a kind of surrogate for a file": (
        [("{train: logistic}", "logistic")], unchanged, "SPEC_VALUE", "Write `model: {train: logistic}`",
    ),
    "an old name of a key": (
        [("{train: logistic}", "{file: m.skops}")], unchanged, "SPEC_KEY", "Write 'path' in its place.",
    ),
    "a category follows": (
        [(GRAPH, f"graph: {{{FOLLOWS}}}"), (JOB, "job: mutable")], unchanged, "SCM_CANNOT_ABDUCT",
        "graph: {equations: {'job': {kind: ordinal, order: [lowest, ..., highest]}}}",
    ),
    "levels without order": (
        [equations("job: ordinal", FOLLOWS), (JOB, "job: mutable")], column("job", ["a", "b", "c", "d"] * 40),
        "SCM_CANNOT_ABDUCT", "order: [lowest, ..., highest]",
    ),
    "a sum for levels": (
        [equations("job: linear", FOLLOWS), (JOB, "job: mutable")], unchanged, "SCM_CANNOT_ABDUCT",
        "declare it immutable in the spec",
    ),
    "too many cuts": (
        [equations("job: {kind: cumulative_logit, coef: {income: 1}, cuts: [1, 2]}", FOLLOWS), (JOB, "job: mutable")],
        unchanged, "SCM_MECHANISM", "the levels as order: [...].",
    ),
    "levels of a number": (
        [equations("savings: {kind: linear, coef: {income: {a: 1}}}")], unchanged, "SCM_MECHANISM",
        "write features: {'income': {kind: categorical}} in the spec.",
    ),
    "a term with a level of a number": (
        [equations("savings: {kind: terms, terms: [{coef: 1, levels: {income: 3}}]}")], unchanged, "SCM_MECHANISM",
        "write features: {'income': {kind: categorical}} in the spec.",
    ),
    "a power of a category": (
        [equations("savings: {kind: terms, terms: [{coef: 1, powers: {job: 2}}]}", "edges: [[job, savings]]")],
        unchanged, "SCM_MECHANISM", "levels of categories stand under levels: {...}.",
    ),
    "no spread": (
        [("criteria:", "cost: {scale: mad}\ncriteria:")], column("income", [50] * 150 + [20] * 10), "COST_ZERO_SCALE",
        "The scale mad of 'income' is 0",
    ),
    "a solver that does not fit": (
        [("train: logistic", "train: forest"), ("criteria:", "solver: linear_exact\ncriteria:")], unchanged,
        "MODEL_NOT_LINEAR", "The solver linear_exact cannot solve this.",
    ),
    "limits of a feature that follows": (
        [("savings: {role: mutable}", "savings: {role: mutable, lower: 3}")], unchanged, "SCHEMA_LIMITS",
        "Use plausible: [low, high]",
    ),
    "no limit on the wrong side": (
        [("upper: 90", "upper: -.inf")], unchanged, "SCHEMA_LIMITS", "Give a number, or .inf for no limit",
    ),
    "a sum without limit": (
        [("criteria:", "rules: [{sum: {income: 1}}]\ncriteria:")], unchanged, "RULE_LINK", "rules, item 1: The sum",
    ),
    "numbers are forbidden": (
        [("criteria:", "rules: [{feature: income, forbidden: [[1, 2]]}]\ncriteria:")], unchanged, "RULE_TYPE",
        "Use direction, lower and upper of the feature",
    ),
    "a rule that is too long": (
        [("job = 'smith'", " or ".join(["income > 3"] * 2000))], unchanged, "RULE_SYNTAX", "Add a column to the table",
    ),
    "no model": ([("train: logistic", "path: m.skops")], unchanged, "MODEL_FILE", "Check the path; it starts from"),
    "no table": ([("loans.csv", "loan.csv")], unchanged, "DATA_FILE", "Check the path; it starts from"),
    "two people of one id": ([], column("applicant", "x"), "DATA_DUPLICATE_INDEX", "leave data.id out to count rows."),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_errors_speak_of_the_spec(folder, call, name):
    changes, change, code, said = CASES[name]
    spec, table = SPEC, loans()
    for old, new in changes:
        assert old in spec
        spec = spec.replace(old, new)
    change(table)
    table.to_csv(folder / "loans.csv", index=False)
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 2, done.output
    assert f"Code: {code}\n" in done.output
    assert said in done.output
    assert not PYTHON.search(done.output), done.output


# -- models from files -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A network without names as ONNX, a model without probabilities, and one that gives scores."""
    import skops.io
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    folder, table = tmp_path_factory.mktemp("models"), loans()
    X, y = table[["income", "savings"]], table["decision"]
    plain = LogisticRegression().fit(X.to_numpy(dtype=np.float32), y)
    onnx = to_onnx(plain, X.to_numpy(dtype=np.float32)[:1])
    (folder / "m.onnx").write_bytes(onnx.SerializeToString())
    skops.io.dump(LinearSVC().fit(X, y), folder / "svc.skops")
    skops.io.dump(LinearRegression().fit(X, (y == "approved") * 1.0), folder / "scores.skops")
    skops.io.dump(StandardScaler().fit(X), folder / "scaler.skops")
    return folder


SAVED = {
    "onnx without names": ("m.onnx", [], [], "DATA_NO_NAMES", "ONNX model was fitted without column names"),
    "onnx trained again": (
        "{path: m.onnx, features: [income, savings], data: loans.csv}", [], ["--resample", "procedure"], "PARAMETER",
        "The model (ONNX model) cannot be trained again",
    ),
    "another label": ("svc.skops", [("favourable: approved", "favourable: yess")], [], "MODEL_LABELS", "'approved'"),
    "no probabilities": (
        "svc.skops", [("favourable: approved", "favourable: approved, threshold: 0.6")], [], "MODEL_NO_PROBABILITY",
        "the model (LinearSVC) gives no probabilities.",
    ),
    "scores": ("scores.skops", [], [], "MODEL_LABELS", "Name the label as the model returns it."),
    "no model": ("scaler.skops", [], [], "MODEL_NO_PREDICT", "which decides nothing."),
    "a column of text": (
        "{path: m.onnx, features: [income, job]}", [], [], "MODEL_FAILED", "The model (ONNX model) failed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAVED)
def test_errors_of_models_speak_of_the_spec(folder, call, models, name):
    model, changes, options, code, said = SAVED[name]
    for file in models.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    spec = SPEC.replace("{train: logistic}", model)
    for old, new in changes:
        assert old in spec
        spec = spec.replace(old, new)
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run", *options)
    assert done.exit_code == 2, done.output
    assert f"Code: {code}\n" in done.output
    assert said in done.output
    assert not PYTHON.search(done.output), done.output
    if code == "MODEL_LABELS":
        assert re.search(r"^loans.yaml, line \d+, column \d+: outcome.favourable: ", done.stderr, re.MULTILINE)
