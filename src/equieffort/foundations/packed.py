"""Arrays as text that JSON can hold: a long list of numbers would be a line each."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
import numpy.typing as npt

TYPES = {"<i4", "<f8"}
"""Whole numbers and doubles, the lowest byte first whatever the machine."""


def packed(array: npt.NDArray[Any]) -> dict[str, str]:
    """One row of numbers as text.

    >>> packed(np.array([1.0, 2.0]))["type"], unpacked(packed(np.array([1, -1]))).tolist()
    ('<f8', [1, -1])
    """
    kind = "<f8" if array.dtype.kind == "f" else "<i4"
    return {"type": kind, "base64": base64.b64encode(array.astype(kind).tobytes()).decode("ascii")}


def unpacked(saved: Any) -> npt.NDArray[Any]:
    """The row of numbers again; a ValueError where it is none."""
    if not isinstance(saved, dict) or saved.keys() != {"type", "base64"} or saved["type"] not in TYPES:
        raise ValueError("an array is not written as numbers")
    try:
        return np.frombuffer(base64.b64decode(saved["base64"], validate=True), dtype=saved["type"])
    except (TypeError, binascii.Error) as error:
        raise ValueError("an array is not written as numbers") from error
