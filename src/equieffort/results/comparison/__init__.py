"""What changed between two audits: two models on the same people, or one model at two dates.

People are matched by their label. Whether a change is beyond noise comes from an interval in closed form, in which what
the two audits share cancels; whether it is for the worse is asked of its distance from equality.
"""

from equieffort.results.comparison.compare import DRAWS, MEASURES, compare_audits
from equieffort.results.comparison.people import CHANGES
from equieffort.results.comparison.result import AuditComparison

__all__ = ["CHANGES", "DRAWS", "MEASURES", "AuditComparison", "compare_audits"]
