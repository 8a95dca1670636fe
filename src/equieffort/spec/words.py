"""Errors and warnings of the package in the words of the spec: whoever writes YAML is never told to call Python.

>>> in_yaml("Name one of them: Schema(..., reference=...).")
'Name one of them in the spec: sensitive: {reference: ...}.'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from equieffort.errors import EquieffortError, EquieffortWarning
from equieffort.spec.nodes import SpecError

ORDINAL = "{kind: ordinal, order: [lowest, ..., highest]}"
WORDS: tuple[tuple[str, str], ...] = (
    # columns and rows
    (r"^Column '([^']*)' (holds text, although)", r"features.\1 \2"),
    (r"or declare it in the schema with kind='categorical'\.", "or write kind: categorical if levels are meant."),
    (r", but X (has no column)", ", but the table has no column"),
    (
        r"^X has columns that neither the model, the graph nor the schema uses",
        "Nothing uses these columns of the data",
    ),
    (r"Drop them from X to silence this\.", "Nothing need be done if that is meant."),
    (r"Add it to X, or pass it beside X as sensitive_features=\.", "Correct the name in the spec."),
    (r", for instance X\.reset_index\(drop=True\)", ", or name another column as data.id"),
    (r"Say which columns it sees, in its order: model_features=\[\.\.\.\]\.", "List them in order: model.features."),
    # missing values
    (
        r'pass missing="drop" \(these people leave the audit\) or missing="model" \(the model decides on them; their '
        r"recourse is unknown\)",
        "write data: {missing: drop} in the spec (these people leave the audit)",
    ),
    (r'or pass missing="drop"', "or write data: {missing: drop} in the spec"),
    (
        r"Fill or drop these rows before the surrogate is trained\.",
        "Fill them in, or write data: {missing: drop} in the spec to leave these people out.",
    ),
    (r"^y (has no value for row)", "The recorded decision is missing in row"),
    # groups and outcomes
    (
        r"Name one of them: Schema\(\.\.\., reference=\.\.\.\)\.",
        "Name one of them in the spec: sensitive: {reference: ...}.",
    ),
    (
        r"Put it into bins first, for instance pd\.cut\(.*\)\.astype\(str\)\.",
        "Add a column of bins to the table, such as 'under 25' and '25 to 60', and name that one.",
    ),
    (r"as in favourable=\[('[^']*'|[^,\]]*), \.\.\.\]", r"as in outcome: {favourable: [\1, ...]}"),
    (r"favourable=\[('[^']*'|[^,\]]*)\] says so", r"favourable: [\1] says so"),
    (r"as in threshold=([0-9.]+)", r"as in threshold: \1"),
    (r"plausible=\(low, high\)", "plausible: [low, high]"),
    # graph and equations
    (
        r"Name them in StructuralCausalModel\(edges, nodes=\[\.\.\.\]\)",
        "Write graph: {edges: [...], nodes: [...]}",
    ),
    (
        r"Pass these data as reference=, or name the features in StructuralCausalModel\(edges, nodes=\[\.\.\.\]\)\.",
        "Name the features in graph: {edges: ..., nodes: [...]}.",
    ),
    (
        r"(?:fit|Fit|declare the column in) StructuralCausalModel\(\.\.\., categorical=\[('[^']*')\]\)",
        r"write features: {\1: {kind: categorical}} in the spec",
    ),
    (
        r"declare the column in StructuralCausalModel\(\.\.\., categorical=\[\.\.\.\]\)",
        "declare kind: categorical for it under features",
    ),
    (
        r"give mechanisms=\{('[^']*'): Ordinal\(order=\[\.\.\.\]\)\}",
        rf"write graph: {{equations: {{\1: {ORDINAL}}}}} in the spec",
    ),
    (r"give Ordinal\(order=\[\.\.\.\]\)", f"write {ORDINAL} for it under graph.equations"),
    (
        r"Give it an equation for levels, Ordinal\(order=\[\.\.\.\]\)",
        f"Give it an equation for levels under graph.equations: {ORDINAL}",
    ),
    (
        r"Give the order, Ordinal\(order=\[lowest, \.\.\., highest\]\)",
        f"Give the order under graph.equations: {ORDINAL}",
    ),
    (
        r"give the equation: mechanisms=\{\.\.\.: Linear\(\{\.\.\.\}\)\}",
        "give the equation under graph.equations: {kind: linear, coef: {...}}",
    ),
    (
        r"give the equation: CumulativeLogit\(\.\.\.\)",
        "give the equation under graph.equations: {kind: cumulative_logit, coef: {...}, cuts: [...]}",
    ),
    (r"use another mechanism", "choose another kind under graph.equations"),
    (r"levels go into a term's third part", "levels of categories stand under levels: {...}"),
    (r"order=\[\.\.\.\]", "order: [...]"),
    (r"name other features: Manhattan\(features=\[\.\.\.\]\)", "name other ones: neighbourhood: {features: [...]}"),
    (r"the schema\b", "the spec"),
    # solvers
    (r"Use solver=Auto\(\)\.", "Write solver: auto, or leave it out."),
    (r"raise (node_limit|time_limit)\.", r"raise \1 under solver in the spec."),
    (r"Read `reason` in recourse\.frame\(\)", "Read the column `reason` of the CSV file"),
    (
        r"see with audit\.solve_further\(\) whether more search",
        "see with a larger solver: {kind: search, budget: ...} whether more search",
    ),
    (r"Criteria\(certified=False\) judges", "criteria: {certified: false} judges"),
    # models
    (r"pass trusted=(\[.*?\]) to load_model", r"write model: {trusted: \1} in the spec"),
    (r"; use position= for a position", ""),
)
"""What the package says to those who call it -> what it says to those who write a spec. Patterns and replacements."""


def in_yaml(text: str) -> str:
    """A sentence in the words of the spec."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text


def reworded(warning: EquieffortWarning) -> EquieffortWarning:
    """The warning in the words of the spec."""
    return EquieffortWarning(warning.code, in_yaml(warning.what), in_yaml(warning.fix))


@contextmanager
def spec_words() -> Iterator[None]:
    """Errors raised inside are told in the words of the spec; those about its text are already."""
    try:
        yield
    except SpecError:
        raise
    except EquieffortError as error:
        what, fix = in_yaml(error.what), in_yaml(error.fix)
        if (what, fix) == (error.what, error.fix):
            raise
        raise type(error)(error.code, what, fix=fix) from error
