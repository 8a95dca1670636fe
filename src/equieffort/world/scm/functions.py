"""A user's own function as an equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.errors import EquieffortError, label, sentence
from equieffort.foundations.arguments import as_numbers, calling, check_function
from equieffort.world.scm.equations import EPS, MECHANISM, Additive, Mechanism, bad_equation, over_finite


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

    def __post_init__(self) -> None:
        for name, function in (("f", self.f), ("bounds", self.bounds)):
            if name == "f" or function is not None:
                takes = "a function of a frame of causes" if name == "f" else "a function of two frames of causes"
                check_function(name, function, takes, **MECHANISM)

    def bind(self, node: str, causes: Encoding) -> Additive:
        """f over the encoded causes, decoded for it."""
        return FunctionEquation(node, causes, self.f, self.bounds)

    def equation(self, node: str) -> str:
        """The equation in words."""
        return f"{node} = {getattr(self.f, '__name__', 'f')}(causes)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"bounds": None, **state})


ONE_NUMBER = "Return one finite number a row of the frame it gets, also away from the data."
LOOKED_AT = 1000
"""So many rows are asked about one by one to find the first that fails."""


def own_numbers(f: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, node: str) -> Floats:
    """What a function of the caller's own answers about causes, as numbers; what it raises is told with its first row.

    An answer with the frame's labels in another order is put into order.
    """
    try:
        answer = f(frame)
        named = isinstance(answer, pd.Series | pd.DataFrame) and not isinstance(answer.index, pd.RangeIndex)
        if named and len(answer) == len(frame) and set(answer.index) == set(frame.index):
            answer = answer.loc[frame.index]
        return as_numbers(answer)
    except (EquieffortError, MemoryError):
        raise
    except Exception as error:
        words = f": {sentence(error)}" if str(error).strip() else "."
        first = _first_failing(f, frame)
        whom = f" for {_written(frame, first)}" if first is not None else ""
        what = f"The function of {node!r} failed{whom} with {type(error).__name__}{words}"
        raise bad_equation(what, fix=ONE_NUMBER) from error


def _first_failing(f: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> int | None:
    for row in range(min(len(frame), LOOKED_AT)):
        try:
            as_numbers(f(frame.iloc[[row]].reset_index(drop=True)))
        except Exception:
            return row
    return None


def _written(frame: pd.DataFrame, row: int) -> str:
    """The causes of one row in words."""
    return ", ".join(f"{name} = {label(frame[name].iloc[row])}" for name in frame.columns) or "no causes"


class FunctionEquation(Additive):
    """A user's function over encoded causes."""

    def __init__(self, node: str, causes: Encoding, f: Callable[[pd.DataFrame], Any], bounds: Any) -> None:
        reason = "" if bounds is not None else "it is a function without bounds="
        super().__init__(causes, self._predict, reason)
        self._node, self._own, self._bounds = node, f, bounds

    def _predict(self, parents: Floats) -> Floats:
        frame = self.causes.decode(parents)
        values = own_numbers(self._own, frame, self._node)
        if values.shape != (len(parents),):
            raise bad_equation(
                f"The function of {self._node!r} returned shape {values.shape} for {len(parents)} people.",
                fix=ONE_NUMBER,
            )
        if not np.isfinite(values).all():
            row = int((~np.isfinite(values)).argmax())
            raise bad_equation(
                f"The function of {self._node!r} returned {values[row]} for {_written(frame, row)}.", fix=ONE_NUMBER
            )
        return values

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        # A box without an end is not asked about: few functions can be called there.
        return over_finite(low, high, self._asked)

    def _asked(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        ends = self.causes.decode(low), self.causes.decode(high)
        box = f"{_written(ends[0], 0)} to {_written(ends[1], 0)}"
        with calling(
            f"The bounds function of {self._node!r}, asked first about {box},",
            "Return two arrays, (least, most), a number a row of the frames it gets.",
            **MECHANISM,
        ):
            answer = self._bounds(*ends)
        least, most = self._pair(answer, len(low))
        size = np.maximum(np.abs(least), np.abs(most))
        margin = 16 * EPS * np.where(np.isfinite(size), size, 0.0)
        least, most = least - margin, most + margin
        self._check(least, most, low, high)
        point = (low == high).all(axis=1)
        if point.any():
            value = self(low[point])
            tolerance = 16 * EPS * np.abs(value)
            least[point], most[point] = (
                np.maximum(least[point], value - tolerance),
                np.minimum(most[point], value + tolerance),
            )
        return least, most

    def _pair(self, answer: Any, boxes: int) -> tuple[Floats, Floats]:
        if isinstance(answer, tuple | list) and len(answer) == 2:
            try:
                pair = [as_numbers(end) for end in answer]
            except (TypeError, ValueError, OverflowError) as error:
                what = f"The bounds function of {self._node!r} did not return numbers: {sentence(error)}"
                raise bad_equation(what, fix=ONE_NUMBER) from error
            if all(end.shape == (boxes,) for end in pair) and (pair[0] <= pair[1]).all():
                return pair[0], pair[1]
        raise bad_equation(
            f"The bounds function of {self._node!r} did not return the least and the most of f for {boxes} boxes.",
            fix="Return two arrays, (least, most), a number a row of the frames it gets, with least <= most.",
        )

    def _check(self, least: Floats, most: Floats, low: Floats, high: Floats) -> None:
        """A certificate must not rest on bounds that plainly do not hold."""
        categories = [k for k, column in enumerate(self.causes.columns) if column.is_category]
        # The ends themselves: low + (high - low) is not high where one of them is much larger.
        for end in (low, 0.5 * low + 0.5 * high, high):
            at = end.copy()
            at[:, categories] = low[:, categories]
            value = self(at)
            tolerance = 1e-12 * (1 + np.abs(value))
            wrong = (value < least - tolerance) | (value > most + tolerance)
            if wrong.any():
                row = int(wrong.argmax())
                raise bad_equation(
                    f"The bounds of {self._node!r} do not hold: f is {value[row]:g} at a point of a box where it was "
                    f"said to lie between {least[row]:g} and {most[row]:g}.",
                    fix="Correct the bounds function, or leave it out: then answers are searched, not certified.",
                )
