"""Features without the limits that the observed values are by default: what worlds with known answers were made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

import pandas as pd

from equieffort import Feature
from equieffort.data.frames import kind_of_type


def unlimited(features: Mapping[str, Any], people: pd.DataFrame | None = None) -> dict[str, Feature]:
    """The features as declared, and an explicit infinity wherever nothing says how far an action may go.

    With `people`, numbers that happen to be 0 and 1 stay whole numbers or fractions, as their type says.
    """
    found = {}
    for name, given in features.items():
        feature = given if isinstance(given, Feature) else Feature(given)
        if feature.role == "actionable":
            low = feature.lower if feature.declares_lower else -inf
            feature = replace(feature, lower=low, upper=feature.upper if feature.declares_upper else inf)
            if people is not None and feature.kind is None:
                feature = replace(feature, kind=kind_of_type(people[name]))
        found[name] = feature
    return found
