"""Axes of a picture: where numbers go, round numbers along them, and labels that do not cover each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, inf, log, log10

from markupsafe import Markup

from equieffort.report.svg import LEFT, PLOT, RIGHT, SMALL, TOP, WIDTH, coordinate, rule, text
from equieffort.words.shown import ratio_marks

LABELS, APART = 110.0, 15.0
FARTHEST = 8.0
"""What is far from everything else is drawn at most so many times beyond it, on an axis of ratios."""


def axis_ends(
    near: Iterable[float], far: Iterable[float] = (), *, is_ratio: bool, room: float = 0.06
) -> tuple[float, float]:
    """The range of an axis: all that is near, what is far as far as it goes, and a share of that as room."""
    least = 0.0 if is_ratio else -inf
    near, far = ([value for value in values if least < value < inf] for values in (near, far))
    low, high = min(near), max(near)
    if is_ratio:
        far = [min(max(value, low / FARTHEST), high * FARTHEST) for value in far]
    low, high = min([low, *far]), max([high, *far])
    if is_ratio:
        factor = (high / low) ** room if high > low else 1.2
        return low / factor, high * factor
    more = (high - low) * room or 0.05
    return low - more, high + more


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high.

    >>> ticks(0, 1.1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** floor(log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def log_marks(low: float, high: float, apart: float = 0.1) -> list[float]:
    """Round numbers on a log axis, no two nearer than a share of its length.

    >>> log_marks(0.75, 3.96), log_marks(0.02, 7)
    ([0.8, 1.0, 1.25, 1.5, 2.0, 3.0], [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0])
    """
    found = ratio_marks(low, high, apart)
    if found != [low, high]:
        return found
    found = []
    exponents = range(floor(log10(low)), ceil(log10(high)) + 1)
    for mark in (digit * 10.0**k for digit in (1, 2, 5, 3, 1.5) for k in exponents):
        if low <= mark <= high and all(abs(log(mark / other)) >= apart * log(high / low) for other in found):
            found.append(mark)
    return sorted(found)


class Axes:
    """Where numbers go on the page; ratios and long tails on a log axis."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], right: float = RIGHT, *, log_x: bool = False,
        log_y: bool = False, flip_x: bool = False,
    ) -> None:  # fmt: skip
        self.x_ends, self.y_ends, self.end = x, y, WIDTH - right
        self.log_x, self.log_y, self.flip_x = log_x, log_y, flip_x

    def x(self, value: float) -> float:
        """Across."""
        along = part_of(value, self.x_ends, self.log_x) * (self.end - LEFT)
        return self.end - along if self.flip_x else LEFT + along

    def y(self, value: float) -> float:
        """Down."""
        return TOP + PLOT * (1 - part_of(value, self.y_ends, self.log_y))

    def draw(self, x_label: str, y_label: str, *, x_share: bool, y_share: bool) -> list[Markup]:
        """Grid, numbers and the names of both axes; that of the upright one stands above it."""
        parts = []
        for value in log_marks(*self.y_ends) if self.log_y else ticks(*self.y_ends, 5):
            at = self.y(value)
            parts.append(rule(LEFT, at, self.end, at, "grid"))
            parts.append(text(LEFT - 6, at + 4, tick_text(value, y_share), anchor="end", size=SMALL))
        for value in log_marks(*self.x_ends) if self.log_x else ticks(*self.x_ends, 5):
            at = self.x(value)
            parts.append(rule(at, TOP + PLOT, at, TOP + PLOT + 4))
            parts.append(text(at, TOP + PLOT + 18, tick_text(value, x_share), anchor="middle", size=SMALL))
        parts.append(rule(LEFT, TOP + PLOT, self.end, TOP + PLOT))
        parts.append(text((LEFT + self.end) / 2, TOP + PLOT + 36, x_label, anchor="middle", size=SMALL))
        turned = f' transform="rotate(-90 11 {coordinate(TOP + PLOT / 2)})"'
        parts.append(text(11, TOP + PLOT / 2, y_label, anchor="middle", size=SMALL, more=turned))
        return parts


def part_of(value: float, ends: tuple[float, float], is_log: bool) -> float:
    """How far along an axis a value lies, kept between its ends."""
    low, high = ends
    value = min(max(value, low), high)
    low, high, value = (log(v) for v in (low, high, value)) if is_log else (low, high, value)
    return (value - low) / (high - low)


def tick_text(value: float, is_share: bool = False) -> str:
    """A number at an axis."""
    return f"{value * 100:g} %" if is_share else f"{value:,.10g}"


def apart(heights: Sequence[float]) -> list[float]:
    """Heights of labels moved apart so that none covers another, within the picture.

    >>> apart([100, 101])
    [93.0, 108.0]
    """
    order = sorted(range(len(heights)), key=lambda k: heights[k])
    groups = [[heights[k], 1] for k in order]
    k = 0
    while k < len(groups) - 1:
        (a, n), (b, m) = groups[k], groups[k + 1]
        if b - a < APART * (n + m) / 2:
            groups[k : k + 2] = [[(a * n + b * m) / (n + m), n + m]]
            k = max(k - 1, 0)
        else:
            k += 1
    places = [mid + APART * (j - (n - 1) / 2) for mid, n in groups for j in range(int(n))]
    low, high = TOP, TOP + PLOT
    shift = max(0.0, low - places[0]) if places else 0.0
    places = [p + shift for p in places]
    shift = max(0.0, places[-1] - high) if places else 0.0
    found = [0.0] * len(heights)
    for place, k in zip(places, order, strict=True):
        found[k] = place - shift
    return found
