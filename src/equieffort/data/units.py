"""The units in which columns are counted where proofs lean on them."""

from __future__ import annotations

import pandas as pd

from equieffort.data.frames import Column
from equieffort.foundations.tolerances import unit_of


def unit_of_column(column: Column, frame: pd.DataFrame) -> float:
    """The unit of an amount that may take any value; 1 for whole numbers and levels."""
    return unit_of(column.encode(frame[column.name])) if column.kind == "continuous" else 1.0
