"""How a setting is written: by a Python caller, in a spec, and as an option where there is no spec yet.

A text that names a setting holds a `Setting` there, and each audience gets it in its own words. What users called
their columns and levels is filled in once and never searched for words of ours.

>>> fix = ("Name one of them: ", Setting("reference", "male"), ".")
>>> in_words(fix, "python")
"Name one of them: Schema(..., reference='male')."
>>> in_words(fix, "spec")
"Name one of them: sensitive: {reference: 'male'}."
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from string import Template
from typing import Any, Literal, NamedTuple

from equieffort.errors import Part, Setting, label

Audience = Literal["python", "spec", "options"]


class Written(NamedTuple):
    """One setting in the words of each audience; `options` are those of the spec if nothing else is said.

    Filled in are `$value` and `$of` as one writes them there, `$bare` and `$key` the same without quotes, and `$kind`,
    what a spec calls the class that `value` names.
    """

    python: str
    spec: str
    options: str | None = None


NODES = Written("StructuralCausalModel(edges, nodes=[...])", "graph: {edges: [...], nodes: [...]}")
SETTINGS: dict[str, Written] = {
    # where the data is and how it is read
    "the table": Written("X", "the table"),
    "the data path": Written(
        "Check the path.", "Check the path; it starts from the folder of the spec.", "Check the path."
    ),
    "the model path": Written(
        "Check the path; it starts from the working directory.",
        "Check the path; it starts from the folder of the spec.",
    ),
    "encoding": Written("encoding", "data.encoding in the spec", "--encoding"),
    "delimiter": Written("delimiter", "data.delimiter in the spec", "--delimiter"),
    "id": Written("id", "data.id", "--id"),
    "names of people": Written("the index of the table", "data.id in the spec"),
    "other names of people": Written(", for instance X.reset_index(drop=True)", ", or name another column as data.id"),
    "position": Written("; use position= for a position", ""),
    # columns
    "column": Written("Column $of", "features.$key"),
    "unused columns": Written(
        "X has columns that neither the model, the graph nor the schema uses", "Nothing uses these columns of the data"
    ),
    "without unused columns": Written(
        "Name them as Schema(..., unused=[...]) if that is meant.",
        "Give them the role unused under features if that is meant.",
    ),
    "kind of feature": Written("Feature(..., kind=$value)", "kind: $bare"),
    "model_features": Written("model_features=[...]", "model: {features: [...]}"),
    "kind": Written("declare it in the schema with kind=$value", "write kind: $bare if levels are meant"),
    # missing values
    "all of missing": Written(
        'pass missing="drop" (these people leave the audit) or missing="model" (the model decides on them; '
        "their recourse is unknown where an action or an equation needs what is missing)",
        "write data: {missing: drop} in the spec (these people leave the audit)",
    ),
    "missing in the reference": Written(
        'drop these rows of the reference data, or pass missing="drop", which leaves them out',
        "write data: {missing: drop} in the spec (these people leave the audit)",
    ),
    "learn without": Written(
        'pass missing="drop" to fit; or give audit(..., missing="drop") the model unfitted, which learns its equations '
        "from those who stay",
        "write data: {missing: drop} in the spec (these people leave the audit)",
    ),
    "training without": Written(
        "Fill or drop these rows before the surrogate is trained.",
        "Fill them in, or write data: {missing: drop} in the spec to leave these people out.",
    ),
    "no decision": Written("y has no value for", "The recorded decision is missing in"),
    # groups, features and outcomes
    "the schema": Written("the schema", "the spec"),
    "sensitive_features": Written(
        "Add it to X, or pass it beside X as sensitive_features=.", "Correct the name in the spec."
    ),
    "reference": Written("Schema(..., reference=$value)", "sensitive: {reference: $value}"),
    "bins": Written(
        "Put it into bins first, for instance pd.cut(X[$of], [0, 25, 60, 120]).astype(str).",
        "Add a column of bins to the table, such as 'under 25' and '25 to 60', and name that one.",
    ),
    "favourable": Written("favourable=$value", "outcome: {favourable: $value}"),
    "threshold": Written("threshold=$value", "outcome: {threshold: $value}"),
    "no limit": Written("$bare", "$kind"),
    "two outcomes": Written(
        "Give two outcomes: merge those people want, and those they do not.",
        "List every decision that people want: outcome: {favourable: [...]}.",
    ),
    "one_hot": Written("Schema(..., one_hot={$of: $value})", "one_hot: {$of: $value} in the spec"),
    "joined levels": Written(
        "declare Schema(..., one_hot={$of: $value}) and fit the causal model to schema.join(X)",
        "write one_hot: {$of: $value} in the spec",
    ),
    "level without a column": Written(
        'Schema(..., one_hot={$of: {"own": "a column", "free": None}})',
        "one_hot: {$of: {own: a column, free: null}} in the spec",
    ),
    "plausible": Written("plausible=(low, high)", "plausible: [low, high]"),
    "protected": Written("protected columns are named in the Schema", "protected columns are named under sensitive"),
    "order of levels": Written('order=["none", "school", "degree"]', "order: [none, school, degree]"),
    "ordered column": Written(
        ", or make the column one with an order: pd.Categorical(X[$of], categories=[...], ordered=True), "
        "in polars pl.Enum([...])",
        "",
    ),
    "prices": Written('prices={("rent", "own"): 2.0}', "prices: [[rent, own, 2.0]]"),
    "forbid": Written(
        'ee.Forbidden("housing", [("own", "rent")])', "rules: [{feature: housing, forbidden: [[own, rent]]}]"
    ),
    # graph and equations
    "nodes": NODES,
    "reference data": Written(
        f"Pass these data as reference=, or name the features in {NODES.python}.", f"Name the features in {NODES.spec}."
    ),
    "ranks within groups": Written(
        "Pass reference= data with several people of every group, or rank among everybody: Percentile().",
        "Audit data with several people of every group, or leave cost.within out.",
    ),
    "categorical": Written(
        "declare it in StructuralCausalModel(..., categorical=[$of])",
        "write features: {$of: {kind: categorical}} in the spec",
    ),
    "ordinal": Written(
        "mechanisms={$of: Ordinal(order=[...])}",
        "graph: {equations: {$of: {kind: ordinal, order: [lowest, ..., highest]}}}",
    ),
    "linear": Written("mechanisms={$of: Linear({...})}", "graph: {equations: {$of: {kind: linear, coef: {...}}}}"),
    "cumulative_logit": Written(
        "mechanisms={$of: CumulativeLogit(...)}",
        "graph: {equations: {$of: {kind: cumulative_logit, coef: {...}, cuts: [...]}}}",
    ),
    "mechanism": Written("use another mechanism", "choose another kind under graph.equations"),
    "levels of a term": Written("levels go into a term's third part", "levels of categories stand under levels: {...}"),
    "order": Written("order=[...]", "order: [...]"),
    "do": Written("Hold it in `do`, declare", "Declare"),
    "fit again": Written("fit again with data that holds it", "add people who have it"),
    # cost and distance
    "scale": Written("$bare()", "The scale $kind"),
    "scales": Written(
        "choose another scale (Range(), Range(quantiles=(0.01, 0.99)), Std(), MAD() or Own()), or give reference= data "
        "in which it varies",
        "choose another scale (cost: {scale: ...} with range, std, mad or own; or cost: {quantiles: [0.01, 0.99]})",
    ),
    "fixed scales": Written("Range(), Std() or MAD()", "cost: {scale: ...} with range, std or mad"),
    "robust scales": Written(
        "Use Range(quantiles=(0.01, 0.99)) or Std()", "Write cost: {quantiles: [0.01, 0.99]} or cost: {scale: std}"
    ),
    "distance": Written("features=[...]", "features: [...]"),
    "protected in distance": Written(
        "Leave it out of features=, or compare people by it too: include_protected=True.",
        "Leave it out of neighbourhood: {features: [...]}.",
    ),
    # rules
    "mask": Written("Pass a mask of truth values instead.", "Add a column to the table that says who is meant."),
    "forbidden": Written(
        'As in [("retired", "student")]; None stands for any level.',
        "As in forbidden: [[retired, student]]; null stands for any level.",
    ),
    # solvers and criteria
    "solver": Written("$bare", "The solver $kind"),
    "auto": Written("Use solver=Auto().", "Write solver: auto, or leave it out."),
    "limit of a solver": Written("$key=$bare", "$key: $bare"),
    "work limit": Written("node_limit=..., time_limit=None", "solver: {node_limit: ..., time_limit: null}"),
    # What was made into words for both already.
    "told twice": Written("$bare", "$key"),
    "reason": Written("Read `reason` in recourse.frame()", "Read the column `reason` of the CSV file"),
    "solve_further": Written("audit.solve_further()", "a larger solver: {kind: search, budget: ...}"),
    "certified": Written("Criteria(certified=False)", "criteria: {certified: false} in the spec"),
    "judged": Written('judged=("acr", "rd")', "criteria: {judged: [acr, rd]}"),
    # models
    "no member": Written(" (it has no $bare)", ""),
    "classes_": Written("give the model classes_", "save the model with its classes"),
    "answering": Written("$bare must return", "The model must give"),
    "only its classes": Written(
        "predict must return the labels that classes_ lists.", "The model must give no labels but its own classes."
    ),
    "asked": Written("$bare", "The model ($key)"),
    "raised": Written(" with $bare", ""),
    "no predict": Written("has no predict method", "decides nothing"),
    "a classifier": Written("Pass a fitted classifier with scikit-learn's interface.", "Save a fitted classifier."),
    "fit first": Written("Call its fit method first.", "Fit it before it is saved."),
    "booster": Written(
        "Save it and load it as a classifier: booster.save_model($of), then equieffort.load_model($of)",
        "Save it with its own save_model($of), and write model: {path: $key}",
    ),
    "trusted": Written("pass trusted=$value to load_model", "write model: {trusted: $value} in the spec"),
    "unsafe_load_pickle": Written("unsafe_load_pickle=True", "--unsafe-load-pickle"),
    # other commands
    "neighbourhood": Written(
        "Pass neighbourhood=Nearest(quantile, distance) to individual() and distance= to curve(), or put it back: "
        "dataclasses.replace(audit, neighbourhood=...).",
        "Look at it in Python, where the audit was made; or audit with neighbourhood: {quantile: ...} in the spec.",
    ),
    "resample": Written("resample with ee.Equations()", "give --resample equations"),
    "alternatives": Written(
        "Keep them when it is made: audit.with_alternatives($bare).save(...).",
        "Audit again with --alternatives $bare, which keeps them in the file.",
    ),
    "overwrite": Written("overwrite=True", "--overwrite"),
    "default template": Written(
        "letters.default_template() of equieffort", "equieffort explain FILE --write-template my.html"
    ),
    "budget": Written("budget=...", "--budget"),
    "acr": Written("acr=...", "--acr"),
    "assumed": Written(
        "Plan with ee.Assumed(...), which says what you expect.",
        "Leave the audit out and say what you expect: --share, --refused, --recourse and --variation.",
    ),
}
"""Every setting that a text may name."""

KINDS = {
    "Range": "range", "Std": "std", "MAD": "mad", "Own": "own",
    "Auto": "auto", "LinearExact": "linear_exact", "LinearSearch": "linear_search",
    "BranchAndBound": "branch_and_bound", "Milp": "milp", "SpatialBranchAndBound": "spatial_branch_and_bound",
    "Search": "search",
    "infinity": ".inf", "minus infinity": "-.inf",
}  # fmt: skip
"""What a spec calls our classes, and no limit."""


def in_words(parts: Iterable[Part], audience: Audience) -> str:
    """A text for one audience."""
    return "".join(part if isinstance(part, str) else _written(part, audience) for part in parts)


def _written(setting: Setting, audience: Audience) -> str:
    ways = SETTINGS[setting.name]
    way = ways.python if audience == "python" else ways.spec
    if audience == "options" and ways.options is not None:
        way = ways.options
    literal = python_literal if audience == "python" else yaml_literal
    return Template(way).substitute(
        value=literal(setting.value), of=literal(setting.of), key=str(setting.of),
        bare=str(setting.value), kind=KINDS.get(str(setting.value), str(setting.value)),
    )  # fmt: skip


def python_literal(value: Any) -> str:
    """A value as Python writes it; `...` stands for what the reader chooses.

    >>> python_literal(["a", ...]), python_literal(0.62)
    ("['a', ...]", '0.62')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(python_literal, value))}]"
    return "..." if value is ... else label(value)


def yaml_literal(value: Any) -> str:
    """A value as a spec writes it; text is in quotes, so that no program reads it as something else.

    >>> yaml_literal(["a", ...]), yaml_literal(True), yaml_literal("it is")
    ("['a', ...]", 'true', "'it is'")
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(yaml_literal, value))}]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    written = python_literal(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) and "\\" in written else written
