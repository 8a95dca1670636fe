"""How groups look in pictures beside the report: one colour a role, as there."""

from __future__ import annotations

from collections import Counter

from equieffort.report.svg import Look, Role
from equieffort.world.groups import Groups


def looks(groups: Groups) -> dict[str, Look]:
    """Each group's look by its role; all that are compared with several others count as groups."""
    seen: Counter[Role] = Counter()
    found = {}
    for code in groups.listed:
        role: Role = "reference" if code == groups.reference else "other" if groups.role(code) == "other" else "group"
        found[groups.labels[code]] = Look(role, seen[role])
        seen[role] += 1
    return found
