"""Columns of which a spec quotes "true" or "false": these stay the words they are in a text file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from equieffort.data.cells import are_flags
from equieffort.world.opponents import AllPairs, Rest
from equieffort.world.rules import Always, Constraint, Forbidden, Implies, parse_rule
from equieffort.world.rules.tree import Compare, Literal, Within, conditions
from equieffort.world.schema import Schema

Said = Iterator[tuple[str, Any]]
"""Columns and what is said that they hold."""


def spelled_columns(schema: Schema, decisions: Iterable[str | None], subgroups: Mapping[str, str]) -> frozenset[str]:
    """These columns, in any case of the words; `decisions` are the columns that hold what was decided.

    >>> schema = Schema(sensitive="foreign", protected="True", favourable=True, features={"own": "actionable"})
    >>> sorted(spelled_columns(schema, ["decision"], {"owners": "own = 'true'"}))
    ['foreign', 'own']
    """
    wanted = schema.favourable if isinstance(schema.favourable, list) else [schema.favourable]
    said = [
        *((name, value) for name in decisions if name is not None for value in wanted),
        *_of_groups(schema),
        *_of_features(schema),
        *(one for link in schema.constraints for one in _of_link(link)),
        *(one for text in subgroups.values() for one in _of_rule(text)),
    ]
    return frozenset(name for name, value in said if isinstance(value, str) and are_flags([value]))


def _of_groups(schema: Schema) -> Said:
    for declared in (schema.protected, schema.reference):
        if not isinstance(declared, Rest | AllPairs):
            for group in declared if isinstance(declared, list) else [declared]:
                yield from zip(schema.sensitive_columns, group if isinstance(group, tuple) else (group,), strict=False)


def _of_features(schema: Schema) -> Said:
    for name in schema.features:
        feature = schema.feature(name)
        priced = (level for pair in feature.priced for level in pair)
        yield from ((name, level) for level in (*(feature.order or ()), *feature.limits, *priced))


def _of_link(link: Constraint) -> Said:
    if isinstance(link, Forbidden):
        yield from ((link.feature, level) for move in link.moves for level in move)
    elif isinstance(link, Always):
        yield from _of_rule(link.rule)
    elif isinstance(link, Implies):
        yield from (*_of_rule(link.given), *_of_rule(link.then))


def _of_rule(text: str) -> Said:
    for one in conditions(parse_rule(text).tree):
        if isinstance(one, Compare | Within):
            values = one.values if isinstance(one, Within) else (one.other,)
            yield from ((one.name.name, value.value) for value in values if isinstance(value, Literal))
