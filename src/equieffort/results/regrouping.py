"""The same audit with its people compared otherwise: one attribute of several, another reference, everybody else.

Nothing is solved again: groups are a reading of the recourse table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from equieffort.data.frames import require_columns
from equieffort.errors import ParameterError, listed
from equieffort.foundations.arguments import names_in
from equieffort.world.groups import Groups
from equieffort.world.labels import Labels
from equieffort.world.opponents import AllPairs, Rest
from equieffort.world.schema import Schema

if TYPE_CHECKING:
    from equieffort.results.audits import Audit


def regrouped(audit: Audit, sensitive: str | Sequence[str] | None, protected: Any, reference: Any) -> Audit:
    """The audit with other groups of its people; replicates of the groups it had are not handed on."""
    table = audit.recourse
    declared = table.source.schema
    columns = declared.sensitive_columns if sensitive is None else names_in("sensitive", sensitive)
    require_columns(table.data, columns, why="The audited table")
    if protected is None:
        protected = _protected(declared, columns)
    same = columns == declared.sensitive_columns
    if reference is None and (same or isinstance(declared.reference, Rest | AllPairs)):
        reference = declared.reference
    schema = Schema(
        sensitive=columns[0] if len(columns) == 1 else columns,
        protected=protected,
        reference=reference,
        favourable=declared.favourable,
        labels=_names(declared.names, same),
    )
    groups = Groups.of(table.data, schema)
    return replace(audit.with_provenance(resampled=None), recourse=replace(table, groups=groups))


def _names(names: Labels, same: bool) -> Labels:
    """What readers are told; groups of other columns are not those that have names."""
    return names if same else replace(names, groups={})


def _protected(declared: Schema, columns: tuple[str, ...]) -> Any:
    """Who is protected among the values of some of the columns: those that declared groups have there."""
    own = declared.sensitive_columns
    if columns == own:
        return declared.protected
    if not set(columns) <= set(own):
        raise ParameterError(
            "PARAMETER",
            f"Which values of {listed(columns)} are protected is not declared.",
            fix="Give protected=, one value or a list of them.",
        )
    # A list of groups or one of them; of a single column a group is a value, and there is nothing to take from it.
    given = declared.protected
    several = isinstance(given, list | set | frozenset) and all(isinstance(one, list | tuple) for one in given)
    at = [own.index(name) for name in columns]
    found = [tuple(one[k] for k in at) for one in (given if several else [given])]
    return list(dict.fromkeys(one[0] if len(at) == 1 else one for one in found))
