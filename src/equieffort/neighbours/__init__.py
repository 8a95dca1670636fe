"""Neighbourhoods: who is like a person, and what their efforts add up to."""

from equieffort.neighbours.neighbourhoods import Everyone, Nearest, NearestK, Neighbourhood, Unsaved, check_quantile
from equieffort.neighbours.sweep import Sweep, sweep

__all__ = ["Everyone", "Nearest", "NearestK", "Neighbourhood", "Sweep", "Unsaved", "check_quantile", "sweep"]
