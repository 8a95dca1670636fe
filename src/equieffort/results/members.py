"""Who is in a subgroup: a rule or a mask, asked about the audited people."""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.data.frames import Bools, aligned
from equieffort.errors import RuleError, many, warn
from equieffort.recourse.table import RecourseTable
from equieffort.world.labels import told_rule
from equieffort.world.rules import parse_rule


def members_of(table: RecourseTable, which: str | Any) -> tuple[str, Bools]:
    """What a subgroup is called, and who is in it."""
    if isinstance(which, str):
        rule = parse_rule(which)
        columns = table.source.columns(rule.names)
        for sentence in rule.unmatched(columns):
            warn("RULE_UNMATCHED", sentence, fix="Check the spelling; quotes and case count.")
        return f"People with {told_rule(str(rule), table.source.schema.names)}", rule.evaluate(columns)
    data = table.data
    mask = np.asarray(aligned(which, data.index, "the mask", "mask.loc[audit.recourse.index]", derived=True))
    if mask.dtype != bool or mask.shape != (len(table),):
        raise RuleError(
            "SUBGROUP_MASK",
            f"The mask has type {mask.dtype} and shape {mask.shape} for {len(table)} people.",
            fix="Give one True or False a person, or a rule as text.",
        )
    return f"A subgroup of {many(int(mask.sum()), 'person', 'people')}", mask
