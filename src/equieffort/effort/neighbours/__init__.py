"""Neighbourhoods: who is like a person, and what their efforts add up to."""

from equieffort.effort.neighbours.entries import Around
from equieffort.effort.neighbours.neighbourhoods import (
    Everyone,
    Nearest,
    NearestK,
    Neighbourhood,
    Unsaved,
    check_neighbourhood,
    check_quantile,
)
from equieffort.effort.neighbours.sweep import Sweep, Sweeper, check_people, sweep, sweeper

__all__ = [
    "Around",
    "Everyone",
    "Nearest",
    "NearestK",
    "Neighbourhood",
    "Sweep",
    "Sweeper",
    "Unsaved",
    "check_neighbourhood",
    "check_people",
    "check_quantile",
    "sweep",
    "sweeper",
]
