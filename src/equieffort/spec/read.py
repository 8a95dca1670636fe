"""From text to `Spec`: keys and kinds are checked by the table, the rest here, and every error says where.

>>> spec = parse_spec('''
... data: {path: people.csv}
... model: {train: logistic}
... outcome: {column: decision, favourable: approved}
... sensitive: {column: sex, protected: female}
... graph: [[income, debt]]
... features: {income: {role: actionable, direction: up}, debt: mutable}
... ''')
>>> spec.features, spec.edges, spec.schema.favourable
(['income', 'debt'], [('income', 'debt')], 'approved')
"""

from __future__ import annotations

import codecs
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from equieffort.data.inputs import DataSource
from equieffort.data.regular import read_regular
from equieffort.effort.criteria import RULES, Criteria
from equieffort.effort.inference import ADJUSTMENTS
from equieffort.effort.matching import Matching
from equieffort.effort.matching.methods import METHODS
from equieffort.effort.neighbours import Everyone, Nearest, NearestK, Neighbourhood
from equieffort.errors import EquieffortError, closest, listed, sentence
from equieffort.foundations.arguments import check_path
from equieffort.models.surrogate import SURROGATES
from equieffort.results.provenance import LetterTexts
from equieffort.spec.causes import read_causes
from equieffort.spec.keys import SPEC
from equieffort.spec.nodes import MOST_CHARACTERS, SpecError, Table, read_nodes
from equieffort.spec.parsed import ModelSource, Parsed, Spec, again, placed
from equieffort.spec.people import BACK_QUOTES, read_schema
from equieffort.spec.solving import read_solver
from equieffort.spec.spelled import spelled_columns
from equieffort.spec.treatments import read_treatments
from equieffort.world.cost import Cost, Percentile, WeightedL1
from equieffort.world.distances import Euclidean, Manhattan
from equieffort.world.rules import parse_rule
from equieffort.world.scales import SCALES, Range
from equieffort.world.schema import Schema

OTHER_FILES = {
    (".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".xls"): (
        "a table of people",
        "Write a spec about it with `equieffort init {}`, fill it in, and give the file that ends in .yaml.",
    ),
    (".audit",): ("a finished audit", "Judge it with `equieffort check {}`, or give the spec, which ends in .yaml."),
    (".html", ".md"): ("a report", "Give the spec, which ends in .yaml; `equieffort init DATA` writes one."),
    (".skops", ".onnx", ".pkl", ".joblib", ".ubj"): ("a model", "Name it as model.path in a spec, and give the spec."),
}
"""Endings of files that are no specs: what they are, and what to do with them."""


def read_spec(path: str | PathLike[str]) -> Spec:
    """Read a spec file; the paths in it start from its folder."""
    check_path("path", path, "the path of a spec", error=SpecError, code="SPEC_FILE")
    path = Path(path)
    # Told before anything in it could be shown, which may be about people.
    for endings, (kind, fix) in OTHER_FILES.items():
        if path.suffix.lower() in endings:
            raise SpecError("SPEC_FILE", f"{path.name!r} is {kind}, not a spec.", fix=fix.format(path))
    try:
        raw = read_regular(path, 4 * MOST_CHARACTERS)
    except OSError as error:
        raise SpecError(
            "SPEC_FILE",
            f"The spec {str(path)!r} cannot be read: {sentence(error.strerror or error)}",
            fix="Check that the path is that of a spec, and who may read it.",
        ) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(
            "SPEC_FILE",
            f"The spec {str(path)!r} is not UTF-8: line {line} has the byte {raw[error.start]:#04x} at offset "
            f"{error.start}.",
            fix="Save it as UTF-8.",
        ) from None
    try:
        return parse_spec(text, folder=path.parent, path=path)
    except EquieffortError as error:
        raise again(error, f"{path.name}{', ' if error.what.startswith('line ') else ': '}") from error


def parse_spec(text: str, *, folder: str | PathLike[str] = Path(), path: Path | None = None) -> Spec:
    """Read the text of a spec; the paths in it start from `folder`."""
    tree = read_nodes(text)
    if not isinstance(tree, Table):
        # What stands there may be about people, so it is not shown.
        raise tree.at.error(
            "SPEC_FILE",
            "this is not a spec: it holds no table of keys.",
            "`equieffort init DATA` writes a spec; give the file that it wrote.",
        )
    return _build(Parsed(tree, SPEC.read(tree, ""), Path(folder)), text, path)


def _build(given: Parsed, text: str, path: Path | None) -> Spec:
    schema = read_schema(given)
    causes = read_causes(given)
    subgroups, outcome = _subgroups(given), given["outcome"]
    decisions = (outcome["column"], outcome["truth"], given["model"]["label"])
    data = _data(given, spelled_columns(schema, decisions, subgroups))
    model = _model(given, data)
    nodes = causes.nodes + [name for edge in causes.edges for name in edge]
    _check_columns(given, schema, data.id, nodes)
    told = given["criteria"]
    criteria = told | {"rule": RULES[told["rule"]](), "adjust": ADJUSTMENTS[told["adjust"]]()}
    return Spec(
        data=data,
        model=model,
        label=given["outcome"]["column"],
        truth=given["outcome"]["truth"],
        causes=_causes(given, schema),
        treatments=read_treatments(given, schema, nodes),
        schema=schema,
        features=_features(given, schema),
        edges=causes.edges,
        nodes=causes.nodes,
        mechanisms=causes.mechanisms,
        default=causes.default,
        equations_data=own_table(given, "graph", data),
        solver=read_solver(given),
        cost=_cost(given),
        neighbourhood=_neighbourhood(given),
        matching=_matching(given),
        criteria=Criteria(**criteria),
        subgroups=subgroups,
        random_state=given["random_state"],
        min_agreement=given["surrogate"]["min_agreement"],
        min_refusal_recall=given["surrogate"]["min_refusal_recall"],
        title=given["title"],
        suppress_below=given["report"]["suppress_below"],
        letters=LetterTexts(**{key: text or "" for key, text in given["letters"].items()}),
        alternatives=given["alternatives"],
        jobs=_jobs(given),
        dask=given["work"]["dask"],
        path=path,
        text=text,
    )


def _jobs(given: Parsed) -> int | None:
    """How many processes, or none."""
    jobs: int | None = given["work"]["jobs"]
    if jobs == 0:
        raise given.refuse("work.jobs", "is 0, and nobody would work.", "Write a number of processes, or -1.")
    if jobs is not None and given["work"]["dask"] is not None:
        raise given.refuse(
            "work", "names both jobs and dask, and each says who does the work.", "Leave one of them out."
        )
    return jobs


def _data(given: Parsed, spelled: frozenset[str]) -> DataSource:
    source = DataSource(**given["data"] | {"path": given.folder / given["data"]["path"], "spelled": spelled})
    _check_reading(given, "data", source)
    return source


def _check_reading(given: Parsed, where: str, source: DataSource) -> None:
    """Refuse what no table can be read by."""
    try:
        known = codecs.lookup(source.encoding)
    except LookupError:
        known = None
    if known is None or not getattr(known, "_is_text_encoding", True):
        raise given.refuse(
            f"{where}.encoding",
            f"is {source.encoding!r}, which is not a known encoding.",
            "Common ones are utf-8, cp1252 (Western Europe on Windows), latin-1 and utf-16.",
        )
    mark = source.delimiter
    if len(mark) != 1 or mark in '\r\n"' or mark == source.decimal:
        same = " and stands before decimals too" if mark == source.decimal else ""
        raise given.refuse(
            f"{where}.delimiter",
            f"is {mark!r}{same}, but must be one character that separates cells.",
            'Give one character in quotes, such as ";" or "\\t" for a tab.',
        )


def own_table(given: Parsed, section: str, data: DataSource) -> DataSource | None:
    """The table that a section learns from, read as the people are where nothing else is said."""
    said = given[section]["data"] if isinstance(given[section], dict) else None
    if said is None:
        return None
    told = {key: value for key, value in said.items() if value is not None}
    source = replace(data, **told | {"path": given.folder / said["path"], "id": None})
    _check_reading(given, f"{section}.data", source)
    return source


def _model(given: Parsed, people: DataSource) -> ModelSource:
    said = given["model"]
    file, train = said["path"], said["train"]
    if file in SURROGATES:
        raise given.refuse(
            "model",
            f"is {file!r}, which is no file of a model.",
            f"Write `model: {{train: {file}}}` to train a surrogate.",
        )
    if train is not None and given["outcome"]["column"] is None and said["label"] is None:
        raise given.refuse(
            "outcome",
            "lacks the key 'column'.",
            f"A model of the kind {train!r} is trained on the recorded decisions; name their column.",
            "SPEC_KEY",
        )
    if train is not None and given["data"]["missing"] == "model":
        raise given.refuse(
            "data.missing",
            f"is 'model', but a {train} model that is trained here cannot decide on an empty cell.",
            "Write `missing: drop` to leave people with empty cells out, or fill the cells in.",
        )
    for name in ("features", "trusted"):
        if said[name] and file is None:
            raise given.refuse(
                f"model.{name}", "is about a saved model, and none is named.", "Remove it, or give `path`."
            )
    data, label = own_table(given, "model", people), said["label"]
    if label is not None and data is None:
        raise given.refuse(
            "model.label",
            "names a column of `model.data`, and no such table is named.",
            "Give `data` beside it, or name the column of decisions as `outcome.column`.",
            "SPEC_KEY",
        )
    path = None if file is None else given.folder / file
    features, trusted = tuple(said["features"] or ()), tuple(said["trusted"] or ())
    return ModelSource(path, train, features, trusted, data, label or given["outcome"]["column"])


def _features(given: Parsed, schema: Schema) -> list[str]:
    seen = [name for name in schema.features if name not in schema.sensitive_columns]
    return [*schema.sensitive_columns, *seen] if given["use_sensitive"] else seen


def _check_columns(given: Parsed, schema: Schema, id_column: str | None, nodes: list[str]) -> None:
    """The decision and the names of people are not features."""
    taken = {
        given["outcome"]["column"]: "the column of decisions",
        given["outcome"]["truth"]: "the column of what became of people",
        id_column: "the column that names people",
    }
    places = {
        "features": [*schema.features],
        "sensitive": [*schema.sensitive_columns],
        "also_protected": [*schema.also_protected],
        "graph": nodes,
    }
    for place, names in places.items():
        for name in names:
            if name in taken:
                raise given.find(place, name).at.error(
                    "SPEC_VALUE",
                    f"{place} holds {name!r}, which is {taken[name]}.",
                    f"Leave it out of {place}, or name another column.",
                )


def _causes(given: Parsed, schema: Schema) -> tuple[str, ...] | None:
    """Causes of the true outcome: features, of which people can act on at least one."""
    named = given["outcome"]["causes"]
    if named is None:
        return None
    if strange := [name for name in named if name not in schema.features]:
        raise given.refuse(
            "outcome.causes",
            f"names {strange[0]!r}, which is no feature. {closest(strange[0], schema.features)}".rstrip(),
            f"The features are {listed(schema.features, 20)}.",
        )
    if not any(name in schema.actionable for name in named):
        raise given.refuse(
            "outcome.causes",
            f"names {listed(named)}, of which nothing can be acted on.",
            f"Name at least one of {listed(schema.actionable)}, or leave the key out.",
        )
    return tuple(named)


def _cost(given: Parsed) -> Cost:
    said = given["cost"]
    l1 = said["kind"] == "l1"
    for key, used, is_stray in (
        ("scale", "kind l1", not l1),
        ("quantiles", "scale range", not l1 or said["scale"] not in (None, "range")),
        ("knots", "kind percentile", l1),
        ("within", "kind percentile", l1),
    ):
        if is_stray and said[key] is not None:
            raise given.refuse(f"cost.{key}", f"has no effect here; it belongs to {used}.", "Remove it.")
    if not l1:
        return Percentile(said["knots"], said["within"] or "everybody")
    if said["scale"] not in (None, "range"):
        return WeightedL1(SCALES[said["scale"]]())
    low, high = said["quantiles"] or (0.0, 1.0)
    with placed(given.find("cost", "quantiles"), "cost.quantiles"):
        return WeightedL1(Range((low, high)))


def _neighbourhood(given: Parsed) -> Neighbourhood:
    said = given["neighbourhood"]
    if said is None:
        return Everyone()
    distance = (Manhattan if said["distance"] == "l1" else Euclidean)(said["features"])
    return Nearest(said["quantile"], distance) if said["k"] is None else NearestK(said["k"], distance)


def _matching(given: Parsed) -> Matching | None:
    said = given["matching"]
    if said is None:
        return None
    kind: type[Any] = METHODS[said["kind"]]
    own = dict(said)
    features, distance, _ = own.pop("features"), own.pop("distance", "l1"), own.pop("kind")
    own["cuts"] = {name: tuple(points) for name, points in (own.get("cuts") or {}).items()}
    with placed(given.find("matching"), "matching"):
        method = kind(**{key: value for key, value in own.items() if key in {one.name for one in fields(kind)}})
        return Matching(method, features) if distance == "l1" else Matching(method, distance=Euclidean(features))


def _subgroups(given: Parsed) -> dict[str, str]:
    rules: dict[str, str] = given["subgroups"] or {}
    for name, rule in rules.items():
        with placed(given.find("subgroups", name), f"subgroups.{name}", "RULE_SYNTAX", BACK_QUOTES):
            parse_rule(rule)
    return rules
