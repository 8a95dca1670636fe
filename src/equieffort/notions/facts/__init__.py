"""FACTS (Kavouras et al. 2023): six notions of equal recourse, micro and macro, and the subgroups where they fail."""

from equieffort.notions.facts.family import Facts, FactsMacro, effectiveness_curves
from equieffort.notions.facts.subgroups import facts_table
from equieffort.notions.facts.table import FactsTable, Viewpoint

__all__ = ["Facts", "FactsMacro", "FactsTable", "Viewpoint", "effectiveness_curves", "facts_table"]
