"""Notions beside equality of effort: each family reads the recourse table, and the model where it must.

`FAMILIES` is the one list that `Audit.notions`, the command line, the report and the docs read.
"""

from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading
from equieffort.notions.facts import Facts, FactsMacro

FAMILIES: tuple[Family, ...] = (Facts(), FactsMacro())
"""Every family, in the order in which they are shown."""

__all__ = ["FAMILIES", "Audited", "Family", "NotApplicable", "Notion", "NotionReading"]
