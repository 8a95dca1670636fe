"""Types of arrays, by what they hold; their shapes stand where they are made."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
"""Positions and levels, of which there are few."""
