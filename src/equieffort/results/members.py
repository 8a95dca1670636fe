"""Who is in a subgroup: a rule or a mask, asked about the audited people."""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.data.frames import Bools, aligned
from equieffort.errors import RuleError, many, warn
from equieffort.recourse.part_source import PartsSource
from equieffort.recourse.table import RecourseTable
from equieffort.world.labels import told_rule
from equieffort.world.rules import Rule, parse_rule


def _some_at_a_time(rule: Rule, source: PartsSource) -> Bools | None:
    """Who a rule is about, without the columns of everybody in memory; None where there is something to be said."""
    found, is_odd = [], True
    try:
        for columns in source.in_batches(rule.names):
            found.append(rule.evaluate(columns))
            is_odd = is_odd and bool(rule.unmatched(columns))
    except RuleError:
        # The words for it are about everybody.
        return None
    return None if is_odd else np.concatenate(found)


def members_of(table: RecourseTable, which: str | Any) -> tuple[str, Bools]:
    """What a subgroup is called, and who is in it."""
    if isinstance(which, str):
        rule, source = parse_rule(which), table.source
        members = _some_at_a_time(rule, source) if isinstance(source, PartsSource) else None
        if members is None:
            columns = source.columns(rule.names)
            for sentence in rule.unmatched(columns):
                warn("RULE_UNMATCHED", sentence, fix="Check the spelling; quotes and case count.")
            members = rule.evaluate(columns)
        return f"People with {told_rule(str(rule), source.schema.names)}", members
    data = table.data
    mask = np.asarray(aligned(which, data.index, "the mask", "mask.loc[audit.recourse.index]", derived=True))
    if mask.dtype != bool or mask.shape != (len(table),):
        raise RuleError(
            "SUBGROUP_MASK",
            f"The mask has type {mask.dtype} and shape {mask.shape} for {len(table)} people.",
            fix="Give one True or False a person, or a rule as text.",
        )
    return f"A subgroup of {many(int(mask.sum()), 'person', 'people')}", mask
