"""Levels that an action may propose: what model, causal model and data know together, and the model answers for.

The audited table may lack a level that the model was trained on. People may still be told to reach it. A level that
only the type of a column lists, that the model does not know, or for which it fails is not proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from equieffort.data.frames import Column, Encoding, find_levels, is_ordered
from equieffort.errors import EquieffortError
from equieffort.models.classifiers import Decision, known_levels
from equieffort.world.ordered import are_truth_values, check_known
from equieffort.world.schema import Feature, Role, Schema
from equieffort.world.scm import StructuralCausalModel


def with_known_levels(
    encoding: Encoding, schema: Schema, scm: StructuralCausalModel, decision: Decision, tables: Sequence[pd.DataFrame]
) -> Encoding:
    """The encoding with the levels of actionable categories that the first table, the audited one, lacks.

    Levels without a declared order are sorted; with one, others come after it. The levels of a node that has effects
    stay those of its equations, which say nothing of others.
    """
    told = known_levels(decision, tables[0])
    effective = {cause for cause, _ in scm.graph.edges}
    columns = []
    for column in encoding.columns:
        is_open = column.name not in effective and (
            column.name not in scm.graph.nodes or scm.equation(column.name) is None
        )
        if column.name in schema.actionable and column.is_category and is_open:
            column = _extended(column, told.get(column.name), decision, tables)
        columns.append(column)
    return Encoding(tuple(columns))


def with_orders(schema: Schema, encoding: Encoding, tables: Sequence[pd.DataFrame]) -> Schema:
    """The schema with the order of a column's own type wherever one is needed and nobody declared one.

    Of truth values False comes before True.
    """
    features: dict[str, Feature | Role] = dict(schema.features)
    for name in schema.actionable:
        feature, column = schema.feature(name), encoding[name]
        if not (column.is_category and feature.needs_order and feature.order is None):
            continue
        order = order_of(column, tables)
        if order is not None:
            for key, end in zip(("lower", "upper"), feature.limits, strict=True):
                check_known(f"{key} of {name!r}", [end] if isinstance(end, str) else [], order)
            features[name] = replace(feature, order=order)
    return replace(schema, features=features)


def order_of(column: Column, tables: Sequence[pd.DataFrame]) -> tuple[Any, ...] | None:
    """The order that truth values have, or that the type of a column declares, in the first table that has one."""
    if are_truth_values(column.levels):
        return column.levels
    for table in tables:
        if column.name in table and is_ordered(table[column.name]):
            return find_levels(table[column.name])
    return None


def _extended(
    column: Column, told: tuple[Any, ...] | None, decision: Decision, tables: Sequence[pd.DataFrame]
) -> Column:
    name, table = column.name, tables[0]
    met = {level for other in tables[1:] if name in other for level in other[name].dropna().unique().tolist()}
    if told is not None:
        # Where the model says what it knows, no other level is proposed, whoever else has met it.
        met = set(told)
    met -= set(column.levels)
    new = [level for level in met if _answers(decision, table, name, level)]
    if not new or (column.kind == "binary" and len(column.levels) + len(new) > 2):
        return column
    return replace(column, levels=_in_order(column, tables, new))


def _answers(decision: Decision, table: pd.DataFrame, name: str, level: Any) -> bool:
    """Whether the model has an answer for somebody of this level."""
    if name not in decision.features:
        return True
    dtype, person = table[name].dtype, table.iloc[:1].copy()
    if isinstance(dtype, pd.CategoricalDtype) and level not in dtype.categories:
        dtype = pd.CategoricalDtype([*dtype.categories, level], dtype.ordered)
    try:
        person[name] = pd.Series([level], index=person.index, dtype=dtype)
        decision.answers(person)
    except (EquieffortError, TypeError, ValueError):
        return False
    return True


def _in_order(column: Column, tables: Sequence[pd.DataFrame], new: list[Any]) -> tuple[Any, ...]:
    """Declared levels in their order, then the others; all sorted where no order was declared."""
    declared = tables[0][column.name].dtype
    every = [*column.levels, *new]
    if isinstance(declared, pd.CategoricalDtype):
        listed = [level for level in declared.categories.tolist() if level in every]
        return (*listed, *_sorted(level for level in every if level not in listed))
    if list(column.levels) != _sorted(column.levels):
        return (*column.levels, *_sorted(new))
    return tuple(_sorted(every))


def _sorted(levels: Any) -> list[Any]:
    return list(find_levels(pd.Series(list(levels), dtype=object)))
