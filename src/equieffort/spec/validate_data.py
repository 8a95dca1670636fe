"""The spec against the table: whatever it names must be there, and what is not is told with its line and column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from equieffort.data.cells import has_commas, number_like
from equieffort.data.frames import Column, infer_kind, is_ordered, reads_as_number
from equieffort.data.inputs import DataSource
from equieffort.effort.neighbours import Nearest, NearestK
from equieffort.errors import (
    CausalModelError,
    DataError,
    EquieffortError,
    SchemaError,
    closest,
    label,
    listed,
    many,
    warn,
)
from equieffort.foundations.arguments import as_plain
from equieffort.recourse.levels import order_of
from equieffort.spec.nodes import Items, Node, Place, Scalar, SpecError, Table, read_nodes
from equieffort.spec.parsed import Spec
from equieffort.words.problems import spec_text
from equieffort.world.giveaways import warn_giveaways
from equieffort.world.groups import Groups
from equieffort.world.opponents import AllPairs, Rest
from equieffort.world.ordered import check_order
from equieffort.world.rules import parse_rule
from equieffort.world.schema import Feature, check_kind


def joined(spec: Spec, table: pd.DataFrame) -> pd.DataFrame:
    """The table with one column for each category that it holds as columns of 0 and 1."""
    with placed(spec, "one_hot"):
        return spec.schema.spread.join(table, tell=True)


def check_table(spec: Spec, table: pd.DataFrame) -> None:
    """Refuse what the spec names and the table does not have; warn of features that look like slips."""
    check = _Check(spec, table)
    check.columns()
    decided = table[spec.label] if spec.label in table.columns else None
    warn_giveaways(table, spec.schema, spec.model.features, decided)
    check.kinds()
    check.groups()
    check.labels()
    if spec.model.train is not None and spec.model.data is None:
        check_outcome(spec, table[spec.label])
    check.subgroups()


def check_outcome(spec: Spec, decisions: pd.Series) -> None:
    """The decision people want is among those that were made, and not all of them."""
    check = _Check(spec, decisions.to_frame())
    wanted, known = spec.schema.favourable, check._values(decisions)
    several = wanted if isinstance(wanted, list) else [wanted]
    for value in several:
        if value not in known:
            raise check.error(
                ("outcome", "favourable"),
                "MODEL_LABELS",
                f"is {value!r}, which is no decision in {decisions.name!r}. {closest(value, known)}".rstrip(),
                f"The decisions are {check._listed(known)}.",
                value,
            )
    if len(known) > 1 and not set(known) - set(several):
        raise check.error(
            ("outcome", "favourable"),
            "MODEL_LABELS",
            f"names every decision in {decisions.name!r}: {check._listed(known)}.",
            "Leave out the decisions people do not want.",
        )


def refuse_truth(spec: Spec, truth: pd.Series) -> None:
    """Refuse what became of people where it is not known of everybody audited, or nobody got what they want."""
    check, known = _Check(spec, truth.to_frame()), truth.dropna()
    if len(known) < len(truth):
        row = label(truth.index[int(truth.isna().to_numpy().argmax())])
        raise check.error(
            ("outcome", "truth"),
            "DATA_MISSING_VALUES",
            f"names {spec.truth!r}, which is empty for {many(len(truth) - len(known), 'person', 'people')}, first in "
            f"row {row}; notions that compare with the truth need everybody's.",
            "Leave outcome.truth out, or audit the people of whom it is known.",
        )
    if not known.any():
        raise check.error(
            ("outcome", "truth"),
            "DATA_INDEX",
            f"names {spec.truth!r}, which holds nothing of what outcome.favourable names.",
            "Write it in the words of the decisions, or leave outcome.truth out.",
        )


def missing_column(name: str, table: pd.DataFrame, source: DataSource, why: str = "") -> DataError:
    """The error for a column that a table has not."""
    what = f"{source.path.name!r} has no column {name!r}{f', but {why}' if why else ''}. "
    return DataError(
        "DATA_MISSING_COLUMN",
        f"{what}{closest(name, table.columns)}".rstrip(),
        fix=f"The columns are {listed(table.columns, 20)}.",
    )


@contextmanager
def placed(spec: Spec, *path: str, code: str = "", fix: str = "") -> Iterator[None]:
    """An error whose code starts so gets the place of a key in the spec, and perhaps another way out."""
    try:
        yield
    except EquieffortError as error:
        if not error.code.startswith(code):
            raise
        what = f"{'.'.join(path)}: {spec_text(error.what_parts)}"
        raise _error(spec, _find(spec, path), error.code, what, fix or spec_text(error.fix_parts)) from error


@contextmanager
def placed_labels(spec: Spec) -> Iterator[None]:
    """An error about a label of what does not exist gets the place where that is named."""
    try:
        yield
    except SchemaError as error:
        if error.code != "SCHEMA_LABELS":
            raise
        part, name = error.label or (None, None)
        at = _find(spec, ("labels",) if part is None else ("labels", part), name)
        raise _error(spec, at, error.code, spec_text(error.what_parts), spec_text(error.fix_parts)) from error


@contextmanager
def placed_features(spec: Spec) -> Iterator[None]:
    """An error about what a feature declares gets the place where it is declared."""
    try:
        yield
    except SchemaError as error:
        name = error.feature
        if name is None or name not in spec.schema.features:
            raise
        with placed(spec, "features", name):
            raise


@contextmanager
def placed_equations(spec: Spec) -> Iterator[None]:
    """An error about an equation gets the place where the spec says of what kind it is, if it says so."""
    try:
        yield
    except CausalModelError as error:
        node = error.node
        path = ("graph", "equations", node) if node is not None and node in spec.mechanisms else ("graph", "default")
        if node is None or not said(spec, *path[:2]):
            raise
        with placed(spec, *path):
            raise


def said(spec: Spec, *path: str) -> bool:
    """Whether the text of the spec has a key; its default holds otherwise."""
    above = read_nodes(spec.text).find(*path[:-1]) if spec.text.strip() else None
    return isinstance(above, Table) and path[-1] in above.keys


def _find(spec: Spec, path: Iterable[str], item: Any = None) -> Place | None:
    """Where a key stands in the text of the spec, or an item in its value; None if there is no text."""
    if not spec.text.strip():
        return None
    node = read_nodes(spec.text).find(*path)
    return (None if item is None else _seek(node, item)) or node.at


def _error(spec: Spec, at: Place | None, code: str, what: str, fix: str) -> SpecError:
    if at is None:
        return SpecError(code, what, fix=fix)
    return at.error(code, what, fix, file="" if spec.path is None else f"{spec.path.name}, ")


@dataclass(frozen=True, eq=False)
class _Check:
    spec: Spec
    table: pd.DataFrame

    def error(self, path: tuple[str, ...], code: str, what: str, fix: str, item: Any = None) -> SpecError:
        """An error at the value under a key, or at an item in it."""
        return _error(self.spec, _find(self.spec, path, item), code, f"{'.'.join(path)} {what}", fix)

    # -- names of columns ---------------------------------------------------------------------------------------------

    def columns(self) -> None:
        """Every column that is named."""
        spec, schema = self.spec, self.spec.schema
        near = spec.neighbourhood
        compared = getattr(near.distance, "features", None) if isinstance(near, Nearest | NearestK) else None
        alike = None if spec.matching is None else spec.matching.compared
        # Of people who are audited by what others show no decision need be recorded.
        learned_elsewhere = spec.model.train is not None and spec.model.data is not None
        decided = [] if spec.label is None or learned_elsewhere else [spec.label]
        named: list[tuple[tuple[str, ...], str, Iterable[str]]] = [
            (("outcome", "column"), "DATA_MISSING_COLUMN", decided),
            (("outcome", "truth"), "DATA_MISSING_COLUMN", [] if spec.truth is None else [spec.truth]),
            (("sensitive", "column"), "SCHEMA_SENSITIVE_MISSING", schema.sensitive_columns),
            (("also_protected",), "SCHEMA_SENSITIVE_MISSING", schema.also_protected),
            (("features",), "DATA_MISSING_COLUMN", schema.features),
            (("graph",), "GRAPH_UNKNOWN_NODE", [*(name for edge in spec.edges for name in edge), *spec.nodes]),
            (("rules",), "DATA_MISSING_COLUMN", schema.rule_columns),
            (("neighbourhood", "features"), "DATA_MISSING_COLUMN", compared or []),
            (("matching", "features"), "DATA_MISSING_COLUMN", alike or []),
            (("model", "features"), "DATA_MISSING_COLUMN", schema.spread.names(spec.model.features)),
        ]
        for path, code, names in named:
            for name in names:
                if name not in self.table.columns:
                    what = f"names {name!r}, which is no column of {spec.data.path.name!r}. "
                    raise self.error(
                        path,
                        code,
                        f"{what}{closest(name, self.table.columns)}".rstrip(),
                        f"The columns are {listed(self.table.columns, 20)}.",
                        name,
                    )

    # -- kinds of features --------------------------------------------------------------------------------------------

    def kinds(self) -> None:
        """Numbers where limits are declared."""
        for name in self.spec.schema.features:
            feature, column = self.spec.schema.feature(name), self.table[name]
            limits = [key for key in LIMITS if getattr(feature, key) not in (None, "both")]
            asks = [key for key in ORDERED if getattr(feature, key) not in (None, "both", False)]
            is_text = not pd.api.types.is_numeric_dtype(column.dtype)
            wants_number = feature.kind in ("continuous", "integer")
            is_known = feature.kind is not None or feature.order is not None
            if is_text and not is_known and infer_kind(column) == "categorical":
                self._looks_like_slip(name, column, refuse=bool(limits or asks))
            if wants_number and is_text:
                self._not_numbers(name, column)
            if limits and not wants_number and (is_text or feature.kind == "categorical"):
                raise self._limits_of_category(name, column, limits)
            if not wants_number and (is_text or feature.kind == "categorical"):
                self._levels(name, feature, column, asks)
            if feature.role == "actionable":
                self._declared(name, feature, column)

    def _declared(self, name: str, feature: Feature, column: pd.Series) -> None:
        """What only levels can have, and levels that there are, as far as the table alone can tell."""
        spec = self.spec
        with placed(spec, "features", name):
            held = Column.of(column, feature.kind)
            if not held.is_category or spec.knows_all_levels:
                order = feature.order if feature.order is not None else order_of(held, [self.table])
                check_kind(name, replace(feature, order=order), held)

    def _not_numbers(self, name: str, column: pd.Series) -> None:
        filled = column.dropna()
        bad = [k for k, value in enumerate(filled) if not reads_as_number(value)]
        if bad:
            raise self.error(
                ("features", name),
                "DATA_NOT_NUMERIC",
                f"should hold numbers, but holds {filled.iloc[bad[0]]!r} in row {label(filled.index[bad[0]])}.",
                self._way_to_numbers(column),
            )

    def _way_to_numbers(self, column: pd.Series) -> str:
        if has_commas(column) and self.spec.data.decimal == ".":
            return 'If the comma stands before decimals, write decimal: "," under data.'
        return (
            "Write plain numbers, without marks for thousands or units; leave a cell empty if the value is not known."
        )

    def _looks_like_slip(self, name: str, column: pd.Series, *, refuse: bool) -> None:
        """Text that is almost always a number."""
        if what := number_like(column):
            if refuse:
                raise self.error(("features", name), "DATA_NOT_NUMERIC", f"{what}.", self._way_to_numbers(column))
            warn(
                "DATA_NOT_NUMERIC",
                f"features.{name} {what}. It is taken as a category.",
                fix=f"{self._way_to_numbers(column)} If a category is meant, write kind: categorical.",
            )

    def _levels(self, name: str, feature: Feature, column: pd.Series, asks: list[str]) -> None:
        """An order where something asks for one, and levels that there are."""
        held = self._values(column)
        if asks and feature.order is None and not is_ordered(column) and infer_kind(column) != "binary":
            raise self.error(
                ("features", name),
                "SCHEMA_LEVELS",
                f"has {listed(asks)}, but nothing says in which order its levels are: {listed(held, 12)}.",
                "Write order: [...] with all of them, from the lowest to the highest. To forbid a single change, write "
                f"rules: [{{feature: {name!r}, forbidden: [[from, to]]}}].",
            )
        with placed(self.spec, "features", name):
            if feature.order is not None:
                check_order(name, feature.order, held)

    def _limits_of_category(self, name: str, column: pd.Series, limits: list[str]) -> SpecError:
        held = column.dropna().unique()
        levels = [str(level) for level in held[:2]]
        pair = ", ".join(f"{level!r}" for level in levels) if len(levels) == 2 else "from, to"
        return self.error(
            ("features", name),
            "SCHEMA_KIND",
            f"has {listed(limits)}, which only numbers can have; the column holds {listed(held, 5)}.",
            f"Remove that. To forbid a change, write rules: [{{feature: {name!r}, forbidden: [[{pair}]]}}] "
            "([from, to], where null is any value); or give the levels as numbers in the table.",
        )

    # -- values -------------------------------------------------------------------------------------------------------

    def groups(self) -> None:
        """The groups that are named, and what else must hold of them."""
        schema, columns = self.spec.schema, list(self.spec.schema.sensitive_columns)
        whole = self.table[self.table[columns].notna().all(axis=1)] if self.spec.data.missing != "error" else self.table
        known = [self._values(whole[name]) for name in columns]
        for key in ("protected", "reference"):
            declared = getattr(schema, key)
            if isinstance(declared, Rest | AllPairs):
                continue
            for group in declared if isinstance(declared, list) else [declared]:
                for k, value in enumerate(group if isinstance(group, tuple) else (group,)):
                    if value is not None and value not in known[k]:
                        hint = closest(value, known[k])
                        raise self.error(
                            ("sensitive", key),
                            "SCHEMA_GROUPS",
                            f"names {value!r}, which is no value of {columns[k]!r}. {hint}".rstrip(),
                            f"The values are {self._listed(known[k])}.",
                            value,
                        )
        with placed(self.spec, "sensitive", code="SCHEMA_"):
            Groups.of(whole, schema)

    def labels(self) -> None:
        """What is named for readers is there."""
        spec, schema = self.spec, self.spec.schema
        columns = spec.people(self.table).columns
        with placed_labels(spec):
            schema.names.check(columns, Groups.of(self.table, schema).labels)
            # A saved model, and equations learned elsewhere, may know levels that nobody here has: asked later.
            if spec.knows_all_levels:
                declared = {name: schema.feature(name).order or () for name in schema.features}
                schema.names.check_levels(self.table, declared)

    def subgroups(self) -> None:
        """Rules of subgroups can be asked, and speak of values that somebody has."""
        if not self.spec.subgroups:
            return
        people = self.spec.people(self.table)
        values = {str(name): people[name].to_numpy() for name in people.columns}
        for name, text in self.spec.subgroups.items():
            rule = parse_rule(text)
            with placed(self.spec, "subgroups", name):
                rule.evaluate(values)
            for said in rule.unmatched(values):
                warn("RULE_UNMATCHED", said, fix="Check the spelling; quotes and case count.")

    @staticmethod
    def _values(column: pd.Series) -> list[Any]:
        return [as_plain(value) for value in column.dropna().unique()]

    @staticmethod
    def _listed(known: list[Any]) -> str:
        shown = ", ".join(repr(value) for value in sorted(known, key=str)[:20])
        return f"{shown} and {many(len(known) - 20, 'other', 'others')}" if len(known) > 20 else shown


LIMITS = ("max_increase", "max_decrease", "plausible")
"""What only numbers can have."""
ORDERED = ("direction", "lower", "upper", "steps")
"""What only numbers and categories with an order can have."""


def _seek(node: Node, item: Any) -> Place | None:
    """Where a value or a key stands inside a node; rules are texts that name it somewhere."""
    if isinstance(node, Scalar):
        is_it = node.value == item and type(node.value) is type(item)
        return node.at if is_it else None
    if isinstance(node, Table) and item in node.keys:
        return node.keys[item]
    inner = node.items if isinstance(node, Items) else node.values.values() if isinstance(node, Table) else ()
    return next((at for one in inner if (at := _seek(one, item)) is not None), None)
