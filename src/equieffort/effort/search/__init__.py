"""Search of subgroups: every conjunction of up to three conditions, counted in tables, tested in closed form.

`coding` turns features into a few levels, `counted` says what each person adds to a measure, `tables` counts all
conjunctions at once and merges those that are the same, `laws` tests and bounds them, `searching` puts it together.
"""

from equieffort.effort.search.coding import Coded, CodedFeature, code_features
from equieffort.effort.search.counted import MEASURED, Counted, count_people
from equieffort.effort.search.laws import law_of
from equieffort.effort.search.searching import ADJUST, Asked, Found, search
from equieffort.effort.search.tables import ALIKE, MOST_SUBGROUPS, Sides, Subgroups, find_subgroups, subgroups_formed

__all__ = [
    "ADJUST",
    "ALIKE",
    "MEASURED",
    "MOST_SUBGROUPS",
    "Asked",
    "Coded",
    "CodedFeature",
    "Counted",
    "Found",
    "Sides",
    "Subgroups",
    "code_features",
    "count_people",
    "find_subgroups",
    "law_of",
    "search",
    "subgroups_formed",
]
