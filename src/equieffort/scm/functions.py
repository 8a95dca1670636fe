"""A user's own function as an equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import CausalModelError, sentence
from equieffort.frames import Encoding, Floats
from equieffort.scm.base import Mechanism
from equieffort.scm.equations import EPS, Additive


@dataclass(frozen=True)
class Function(Mechanism):
    """x = f(causes) + noise for your own f, which gets a frame of the causes and returns a value a row.

    `bounds` makes answers through f certifiable: it gets two frames, the lower and the upper ends of boxes of causes
    (a category has the same level in both), and returns the least and the most of f over each box. It is believed,
    apart from a look at the ends and the middle of each box; without it f can be searched but not certified.

    >>> import numpy as np
    >>> sigmoid = lambda z: 1 / (1 + np.exp(-z))
    >>> rising = Function(lambda c: sigmoid(c["age"]), bounds=lambda l, h: (sigmoid(l["age"]), sigmoid(h["age"])))
    """

    f: Callable[[pd.DataFrame], Any]
    bounds: Callable[[pd.DataFrame, pd.DataFrame], Any] | None = None

    def bind(self, node: str, causes: Encoding) -> Additive:
        """f over the encoded causes, decoded for it."""
        return FunctionEquation(node, causes, self.f, self.bounds)

    def equation(self, node: str) -> str:
        """The equation in words."""
        return f"{node} = {getattr(self.f, '__name__', 'f')}(causes)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"bounds": None, **state})


class FunctionEquation(Additive):
    """A user's function over encoded causes."""

    def __init__(self, node: str, causes: Encoding, f: Callable[[pd.DataFrame], Any], bounds: Any) -> None:
        reason = "" if bounds is not None else "it is a function without bounds="
        super().__init__(causes, self._predict, reason)
        self._node, self._own, self._bounds = node, f, bounds

    def _predict(self, parents: Floats) -> Floats:
        values = self._numbers(self._own(self.causes.decode(parents)), "function")
        if values.shape != (len(parents),) or not np.isfinite(values).all():
            raise CausalModelError(
                "SCM_MECHANISM",
                f"The function of {self._node!r} returned shape {values.shape} for {len(parents)} people, "
                f"or values that are not finite.",
                fix="Return one finite number a row of the frame it gets.",
            )
        return values

    def _numbers(self, answers: Any, what: str) -> Floats:
        try:
            return np.asarray(answers, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise CausalModelError(
                "SCM_MECHANISM",
                f"The {what} of {self._node!r} did not return numbers: {sentence(error)}",
                fix="Return one finite number a row of the frame it gets.",
            ) from error

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        # A box without an end is not asked about: few functions can be called there.
        finite = (np.isfinite(low) & np.isfinite(high)).all(axis=1)
        if finite.any():
            least[finite], most[finite] = self._asked(low[finite], high[finite])
        return least, most

    def _asked(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        answer = self._bounds(self.causes.decode(low), self.causes.decode(high))
        least, most = self._pair(answer, len(low))
        size = np.maximum(np.abs(least), np.abs(most))
        margin = 16 * EPS * np.where(np.isfinite(size), size, 0.0)
        least, most = least - margin, most + margin
        self._check(least, most, low, high)
        point = (low == high).all(axis=1)
        if point.any():
            value = self(low[point])
            give = 16 * EPS * np.abs(value)
            least[point], most[point] = np.maximum(least[point], value - give), np.minimum(most[point], value + give)
        return least, most

    def _pair(self, answer: Any, boxes: int) -> tuple[Floats, Floats]:
        if isinstance(answer, tuple | list) and len(answer) == 2:
            pair = [self._numbers(end, "bounds function") for end in answer]
            if all(end.shape == (boxes,) for end in pair) and (pair[0] <= pair[1]).all():
                return pair[0], pair[1]
        raise CausalModelError(
            "SCM_MECHANISM",
            f"The bounds function of {self._node!r} did not return the least and the most of f for {boxes} boxes.",
            fix="Return two arrays, (least, most), a number a row of the frames it gets, with least <= most.",
        )

    def _check(self, least: Floats, most: Floats, low: Floats, high: Floats) -> None:
        """A certificate must not rest on bounds that plainly do not hold."""
        categories = [k for k, column in enumerate(self.causes.columns) if column.is_category]
        for share in (0.0, 0.5, 1.0):
            at = low + share * (high - low)
            at[:, categories] = low[:, categories]
            value = self(at)
            give = 1e-12 * (1 + np.abs(value))
            wrong = (value < least - give) | (value > most + give)
            if wrong.any():
                row = int(wrong.argmax())
                raise CausalModelError(
                    "SCM_MECHANISM",
                    f"The bounds of {self._node!r} do not hold: f is {value[row]:g} at a point of a box where it was "
                    f"said to lie between {least[row]:g} and {most[row]:g}.",
                    fix="Correct the bounds function, or leave it out: then answers are searched, not certified.",
                )
