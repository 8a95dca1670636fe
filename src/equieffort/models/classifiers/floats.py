"""Where an answer changes, to the last bit: bisection over the floats themselves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import ABSURD, Bools, Floats
from equieffort.models.classifiers.views import NoView

Keys = npt.NDArray[np.int64]
WHOLE: dict[Any, Any] = {np.float64: np.int64, np.float32: np.int32}
"""Whole numbers of as many bits."""


def keys(values: npt.NDArray[Any]) -> Keys:
    """Whole numbers in the same order as the floats, neighbours to neighbours.

    >>> float(from_keys(keys(np.array([1.0])) + 1)[0]) == float(np.nextafter(1.0, 2.0))
    True
    """
    whole = WHOLE[values.dtype.type]
    bits = np.ascontiguousarray(values).view(whole)
    return np.where(bits >= 0, bits, -(bits & np.iinfo(whole).max)).astype(np.int64)


def from_keys(found: Keys, kind: Any = np.float64) -> npt.NDArray[Any]:
    """The floats of a type with these keys."""
    whole = WHOLE[kind]
    return np.where(found >= 0, found, -found | np.iinfo(whole).min).astype(whole).view(kind)


ASKED_AT_ONCE = 4000


def last_true(holds: Callable[[Floats, npt.NDArray[np.intp]], Bools], guess: Floats, width: Floats) -> Floats:
    """For each element the largest double at which `holds`, which is true up to there and false beyond.

    `holds` is given values and the elements they are for. `guess` and `width` say where to look first; infinite where
    it holds everywhere or nowhere that data may lie.
    """
    n = len(guess)
    each = np.arange(n)
    low, high = np.full(n, -ABSURD), np.full(n, ABSURD)
    everywhere, nowhere = holds(high, each), ~holds(low, each)
    near_low, near_high = np.maximum(guess - width, -ABSURD), np.minimum(guess + width, ABSURD)
    low = np.where(holds(near_low, each), near_low, low)
    high = np.where(~holds(near_high, each), near_high, high)
    below, above = keys(low), keys(high)
    # Asking costs more than computing: few elements are asked at many places at once.
    halvings = 1 if n > ASKED_AT_ONCE else int(np.log2(1 + ASKED_AT_ONCE // max(n, 1)).clip(1, 6))
    while np.any(above > below + 1):
        places = [above]
        for _ in range(halvings):
            both = [below, *places]
            places = [key for a, b in pairwise(both) for key in (_middle(a, b), b)]
        asked = places[:-1]
        true = holds(from_keys(np.concatenate(asked)), np.tile(each, len(asked))).reshape(len(asked), n)
        count = true.sum(axis=0)
        ladder = np.stack([below, *asked, above])
        below, above = ladder[count, each], ladder[count + 1, each]
    return np.where(everywhere, np.inf, np.where(nowhere, -np.inf, from_keys(below)))


def _middle(a: Keys, b: Keys) -> Keys:
    """Without overflow, and towards `a` when they are neighbours."""
    return np.asarray((a >> 1) + (b >> 1) + (a & b & 1))


def turning_point(
    answer: Callable[[npt.NDArray[Any]], Bools], low: float, high: float, kind: Any
) -> tuple[bool, float]:
    """Where a monotone answer changes between two floats of a type: whether it rises, and the last float with a yes.

    >>> turning_point(lambda x: x >= 0.25, 0.0, 1.0, np.float64)
    (True, 0.25)
    """
    ends = answer(np.array([low, high], dtype=kind))
    if ends[0] == ends[1]:
        raise NoView("it gives the same answer whatever its score is")
    rises = bool(ends[1])
    no, yes = kind(low), kind(high)
    while True:
        middle = _between(no, yes, kind)
        if middle in (no, yes):
            break
        if bool(answer(np.array([middle], dtype=kind))[0]) == rises:
            yes = middle
        else:
            no = middle
    return rises, float(yes if rises else no)


def _between(a: Any, b: Any, kind: Any) -> Any:
    """A float halfway in order between two of its type."""
    first, second = keys(np.array([a, b], dtype=kind)).tolist()
    return from_keys(np.array([(first + second) // 2]), kind)[0]
