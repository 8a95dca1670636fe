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
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from equieffort.cost import Cost, Percentile, WeightedL1
from equieffort.distances import Euclidean, Manhattan
from equieffort.errors import EquieffortError, SchemaError, many, sentence
from equieffort.graph import CausalGraph
from equieffort.neighbours import Everyone, Nearest, NearestK, Neighbourhood
from equieffort.rules import Forbidden, Link, Monotone, Sum, parse_rule, read_link
from equieffort.scales import MAD, Own, Range, Scale, Std
from equieffort.schema import Feature, Schema
from equieffort.spec.keys import SPEC
from equieffort.spec.names import check_name
from equieffort.spec.nodes import Items, Node, SpecError, Table, read_nodes
from equieffort.spec.parts import DataSource, ModelSource, Spec
from equieffort.spec.words import in_yaml
from equieffort.verdict import Criteria, Literal, TwoSided


def read_spec(path: str | PathLike[str]) -> Spec:
    """Read a spec file; the paths in it start from its folder."""
    path = Path(path)
    check_name(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SpecError(
            "SPEC_FILE",
            f"The spec {str(path)!r} cannot be read: {sentence(error.strerror or error)}",
            fix="Check the path and who may read it.",
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
        raise _again(error, f"{path.name}{', ' if error.what.startswith('line ') else ': '}") from error


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
    return _Builder(tree, SPEC.read(tree, ""), Path(folder)).spec(text, path)


def _again(error: EquieffortError, before: str, fix: str | None = None) -> EquieffortError:
    """The same error with words before it, and perhaps another way out."""
    again = type(error)(error.code, f"{before}{error.what}", fix=error.fix if fix is None else fix)
    if isinstance(error, SpecError) and isinstance(again, SpecError):
        again.line, again.column = error.line, error.column
    return again


BACK_QUOTES = " A column name with spaces or other marks stands in back-quotes: `years at job` < 2."


@contextmanager
def _placed(node: Node, where: str, code: str = "", more: str = "") -> Iterator[None]:
    """Errors of the package itself get the place in the spec that caused them; `more` helps with one of the codes."""
    try:
        yield
    except SpecError:
        raise
    except EquieffortError as error:
        fix = in_yaml(error.fix) + (more if error.code == code else "")
        raise _again(error, f"{node.at}: {where}: ", fix) from error


LIMITS_WORDS = "no direction, limits or plausible range, which only numbers have"
FORBID = (
    "Remove them. To forbid changes of a category, write rules: [{feature: degree, forbidden: [[master, none]]}], "
    "where each pair is [from, to] and null is any value."
)
SCALES: dict[str, Scale] = {"std": Std(), "mad": MAD(), "own": Own()}


class _Builder:
    """Makes the parts; `given` holds the values that the table has checked, `tree` their places."""

    def __init__(self, tree: Node, given: dict[str, Any], folder: Path) -> None:
        self.tree, self.given, self.folder = tree, given, folder

    def refuse(self, *path: str, what: str, fix: str, code: str = "SPEC_VALUE") -> SpecError:
        return self.tree.find(*path).at.error(code, f"{'.'.join(path)} {what}", fix)

    def spec(self, text: str, path: Path | None) -> Spec:
        given = self.given
        schema = self.schema()
        edges, nodes = self.graph()
        data, model = self.data(), self.model()
        self.check_columns(schema, data.id, nodes + [name for edge in edges for name in edge])
        criteria = given["criteria"] | {"rule": TwoSided() if given["criteria"]["rule"] == "two-sided" else Literal()}
        return Spec(
            data=data,
            model=model,
            label=given["outcome"]["column"],
            schema=schema,
            features=self.features(schema),
            edges=edges,
            nodes=nodes,
            cost=self.cost(),
            neighbourhood=self.neighbourhood(),
            criteria=Criteria(**criteria),
            subgroups=self.subgroups(),
            random_state=given["random_state"],
            min_agreement=given["surrogate"]["min_agreement"],
            title=given["title"],
            suppress_below=given["report"]["suppress_below"],
            path=path,
            text=text,
        )

    def data(self) -> DataSource:
        data = dict(self.given["data"])
        try:
            known = codecs.lookup(data["encoding"])
        except LookupError:
            known = None
        if known is None or not getattr(known, "_is_text_encoding", True):
            raise self.refuse(
                "data",
                "encoding",
                what=f"is {data['encoding']!r}, which is not a known encoding.",
                fix="Common ones are utf-8, cp1252 (Western Europe on Windows), latin-1 and utf-16.",
            )
        mark = data["delimiter"]
        if len(mark) != 1 or mark in '\r\n"' or mark == data["decimal"]:
            same = " and stands before decimals too" if mark == data["decimal"] else ""
            raise self.refuse(
                "data",
                "delimiter",
                what=f"is {mark!r}{same}, but must be one character that separates cells.",
                fix='Give one character in quotes, such as ";" or "\\t" for a tab.',
            )
        return DataSource(**data | {"path": self.folder / data["path"]})

    def model(self) -> ModelSource:
        given = self.given["model"]
        file, train = given["file"], given["train"]
        if train is not None and self.given["outcome"]["column"] is None:
            raise self.refuse(
                "outcome",
                code="SPEC_KEY",
                what="lacks the key 'column'.",
                fix=f"A model of the kind {train!r} is trained on the recorded decisions; name their column.",
            )
        if train is not None and self.given["data"]["missing"] == "model":
            raise self.refuse(
                "data",
                "missing",
                what=f"is 'model', but a {train} model that is trained here cannot decide on an empty cell.",
                fix="Write `missing: drop` to leave people with empty cells out, or fill the cells in.",
            )
        for name in ("features", "trusted"):
            if given[name] and file is None:
                raise self.refuse(
                    "model", name, what="is about a saved model, and none is named.", fix="Remove it, or give `file`."
                )
        path = None if file is None else self.folder / file
        return ModelSource(path, train, tuple(given["features"] or ()), tuple(given["trusted"] or ()))

    def schema(self) -> Schema:
        sensitive = self.given["sensitive"]
        columns = [sensitive["column"]] if isinstance(sensitive["column"], str) else sensitive["column"]
        also = self.given["also_protected"] or []
        features = {}
        for name, given in self.given["features"].items():
            given = {"role": given} if isinstance(given, str) else dict(given)
            given |= {key: tuple(given[key]) for key in ("plausible", "weight") if isinstance(given.get(key), list)}
            node = self.tree.find("features", name)
            with _placed(node, f"features.{name}"):
                features[name] = feature = Feature(**given)
                if feature.kind in ("categorical", "binary") and (feature.has_limits or feature.plausible):
                    raise SchemaError("SCHEMA_KIND", f"a {feature.kind} feature has {LIMITS_WORDS}.", fix=FORBID)
                # Alone with its protected columns, so that the error is about this feature and no other.
                Schema(
                    sensitive=columns,
                    protected=None,
                    favourable=None,
                    also_protected=also,
                    features={name: features[name]},
                )
        if all(feature.role != "actionable" for feature in features.values()):
            raise self.refuse(
                "features",
                code="PROBLEM_NOTHING_ACTIONABLE",
                what="holds nothing with the role 'actionable'.",
                fix="Give that role to what a person can change.",
            )
        return Schema(
            sensitive=columns[0] if len(columns) == 1 else tuple(columns),
            protected=self.protected(len(columns)),
            reference=None
            if sensitive["reference"] is None
            else self.group("reference", sensitive["reference"], len(columns)),
            favourable=self.given["outcome"]["favourable"],
            threshold=self.given["outcome"]["threshold"],
            also_protected=tuple(also),
            features=features,
            rules=self.rules(),
        )

    def rules(self) -> list[Link]:
        """The rules between features, each read where it stands."""
        found: list[Link] = []
        given = self.given["rules"] or []
        places = self.tree.find("rules")
        nodes = places.items if isinstance(places, Items) else ()
        for k, (rule, node) in enumerate(zip(given, nodes, strict=True)):
            with _placed(node, f"rules[{k}]", "RULE_SYNTAX", BACK_QUOTES):
                found.append(read_link(rule) if isinstance(rule, str) else self.table_rule(rule))
        return found

    @staticmethod
    def table_rule(rule: dict[str, Any]) -> Link:
        """A rule given as a table; exactly one kind is named."""
        if rule["sum"] is not None:
            return Sum(rule["sum"], lower=rule["lower"], upper=rule["upper"])
        if rule["feature"] is not None:
            return Forbidden(rule["feature"], rule["forbidden"] or [])
        return Monotone(rule["cause"], rule["effect"] or "", rule["per_unit"])

    def protected(self, width: int) -> Any:
        declared = self.given["sensitive"]["protected"]
        several = isinstance(declared, list) and (width == 1 or all(isinstance(one, list) for one in declared))
        if several:
            return [self.group("protected", one, width) for one in declared]
        return self.group("protected", declared, width)

    def group(self, key: str, declared: Any, width: int) -> Any:
        """One group: a value, or as many of them as there are sensitive columns."""
        parts = declared if isinstance(declared, list) else [declared]
        if len(parts) != width or any(isinstance(part, list) for part in parts):
            raise self.refuse(
                "sensitive",
                key,
                what=f"names a group by {many(len(parts), 'value', 'values')} for "
                f"{many(width, 'sensitive column', 'sensitive columns')}.",
                fix="Give one value for each sensitive column, in their order; several groups as a list of such lists.",
            )
        return parts[0] if width == 1 else tuple(parts)

    def features(self, schema: Schema) -> list[str]:
        seen = [name for name in schema.features if name not in schema.sensitive_columns]
        return [*schema.sensitive_columns, *seen] if self.given["use_sensitive"] else seen

    def graph(self) -> tuple[list[tuple[str, str]], list[str]]:
        given = self.given["graph"]
        given = {"edges": given, "file": None, "nodes": None} if isinstance(given, list) else given
        node = self.tree.find("graph", "file")
        with _placed(node, "graph"):
            source = self.folder / given["file"] if given["file"] is not None else [tuple(e) for e in given["edges"]]
            try:
                graph = CausalGraph.of(source, given["nodes"])
            except (OSError, UnicodeDecodeError) as error:
                raise self.refuse(
                    "graph", "file", what=f"cannot be read: {sentence(error)}", fix="Check the file; save it as UTF-8."
                ) from None
        edges = (
            list(graph.edges) if given["file"] is not None else [(cause, effect) for cause, effect in given["edges"]]
        )
        linked = {name for edge in edges for name in edge}
        return list(dict.fromkeys(edges)), [name for name in graph.nodes if name not in linked]

    def check_columns(self, schema: Schema, id_column: str | None, nodes: list[str]) -> None:
        """The decision and the names of people are not features."""
        taken = {self.given["outcome"]["column"]: "the column of decisions", id_column: "the column that names people"}
        places = {
            "features": [*schema.features],
            "sensitive": [*schema.sensitive_columns],
            "also_protected": [*schema.also_protected],
            "graph": nodes,
        }
        for place, names in places.items():
            for name in names:
                if name in taken:
                    raise self.tree.find(place, name).at.error(
                        "SPEC_VALUE",
                        f"{place} holds {name!r}, which is {taken[name]}.",
                        f"Leave it out of {place}, or name another column.",
                    )

    def cost(self) -> Cost:
        given = self.given["cost"]
        l1 = given["kind"] == "l1"
        stray = {
            "scale": not l1,
            "quantiles": not l1 or given["scale"] not in (None, "range"),
            "knots": l1,
        }
        for key, is_stray in stray.items():
            if is_stray and given[key] is not None:
                used = {"scale": "kind l1", "quantiles": "scale range", "knots": "kind percentile"}[key]
                raise self.refuse("cost", key, what=f"has no effect here; it belongs to {used}.", fix="Remove it.")
        if not l1:
            return Percentile(given["knots"])
        if given["scale"] in SCALES:
            return WeightedL1(SCALES[given["scale"]])
        low, high = given["quantiles"] or (0.0, 1.0)
        with _placed(self.tree.find("cost", "quantiles"), "cost.quantiles"):
            return WeightedL1(Range((low, high)))

    def neighbourhood(self) -> Neighbourhood:
        given = self.given["neighbourhood"]
        if given is None:
            return Everyone()
        distance = (Manhattan if given["distance"] == "l1" else Euclidean)(given["features"])
        if given["k"] is not None:
            return NearestK(given["k"], distance)
        return Nearest(given["quantile"], distance)

    def subgroups(self) -> dict[str, str]:
        rules: dict[str, str] = self.given["subgroups"] or {}
        for name, rule in rules.items():
            with _placed(self.tree.find("subgroups", name), f"subgroups.{name}", "RULE_SYNTAX", BACK_QUOTES):
                parse_rule(rule)
        return rules
