"""A mean or a share of a group, and their differences between two groups, as readings of a notion.

Means have Student's interval and differences Welch's; shares have Wilson's and Newcombe's. People who are not solved to
the end give a certain range (`least`, `most`) and the note UNCERTIFIED, and intervals wide enough for both its ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, isnan, nan, sqrt
from typing import Any, overload

import pandas as pd
from scipy.special import ndtri, stdtrit

from equieffort.data.frames import Bools, Floats
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.inference import Fixed
from equieffort.effort.inference.means import Side, compare_means
from equieffort.effort.inference.shares import difference, wilson
from equieffort.effort.stats import Sums
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.base import NotApplicable, NotionReading


@dataclass(frozen=True, eq=False, repr=False)
class Found(Shown):
    """One family read for one audit: tidy readings, and a row a person where it speaks of people."""

    title: str
    readings: tuple[NotionReading | NotApplicable, ...]
    people: pd.DataFrame = field(default_factory=pd.DataFrame)
    columns: tuple[str, ...] = ()
    """The sensitive columns whose values name the groups."""

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """One row a reading: estimate, limits, certain range, denominators, notes, and who is worse off (`side`)."""
        from equieffort.notions.collection import Notions

        readings = tuple(one for one in self.readings if isinstance(one, NotionReading))
        told = Notions(readings, (), self.columns).frame()
        return as_output(told.drop(columns="family"), output)

    def __str__(self) -> str:
        from equieffort.words.notions import found_text

        return found_text(self)

    def _told(self) -> Told:
        from equieffort.words.notions import found_told

        return found_told(self)


def side_of(values: Floats, least: Floats | None = None, most: Floats | None = None) -> Side:
    """A group's values, finite ones, and the least and most that each can be."""
    sums = Sums.of(values)
    return Side(sums, sums if least is None else Sums.of(least), sums if most is None else Sums.of(most))


def _noted(*codes: str) -> str:
    return " ".join(dict.fromkeys(code for code in codes if code))


def told_if_none(blank: NotionReading, *refused: int) -> NotionReading:
    """A reading of refused people, noted where some group has none of them: nothing is then undefined of anybody."""
    return blank if all(refused) else replace(blank, note="NO_REFUSED")


NOT_NEGATIVE, SHARE = (0.0, inf), (0.0, 1.0)
"""Between which values a mean can lie."""


def mean_reading(
    blank: NotionReading, side: Side, level: float, ends: tuple[float, float] = NOT_NEGATIVE
) -> NotionReading:
    """The mean of a group with Student's interval, cut at what a mean can be; `blank` says of what and whom.

    >>> import numpy as np
    >>> one = mean_reading(NotionReading("effort", "a"), side_of(np.array([1.0, 2.0, 3.0])), 0.95)
    >>> one.estimate, round(one.low, 2), round(one.high, 2), one.n
    (2.0, 0.0, 4.48, 3)
    """
    reading = replace(blank, estimate=side.sums.mean, n=side.sums.n)
    if side.sums.n == 0:
        return replace(reading, note=_noted(blank.note or "NOTHING_DEFINED"))
    least = max(min(one.mean if one.n else -inf for one in side.lower()), ends[0])
    most = min(max(one.mean if one.n else inf for one in side.upper()), ends[1])
    note = _noted(blank.note, "" if side.is_settled else "UNCERTIFIED")
    reading = replace(reading, least=least, most=most, note=note)
    if side.sums.n < 2:
        return replace(reading, note=_noted(note, "TOO_FEW"))
    corners = [one for one in (side.sums, *side.lower(), *side.upper()) if one.n > 1]
    half = max(float(stdtrit(one.n - 1, (1 + level) / 2)) * one.sd / sqrt(one.n) for one in corners)
    if not half > 0:
        return replace(reading, note=_noted(note, "NO_SPREAD"))
    below, above = (reading.estimate, reading.estimate) if side.is_settled else (least, most)
    return replace(reading, low=max(below - half, ends[0]), high=min(above + half, ends[1]))


def mean_gap(blank: NotionReading, mine: Side, theirs: Side, level: float) -> NotionReading:
    """My mean minus theirs, with Welch's interval.

    >>> import numpy as np
    >>> a, b = side_of(np.array([1.0, 2.0, 3.0])), side_of(np.array([0.0, 1.0, 2.0]))
    >>> one = mean_gap(NotionReading("effort", "a", "b"), a, b, 0.95)
    >>> one.estimate, round(one.low, 2), round(one.high, 2)
    (1.0, -1.27, 3.27)
    """
    reading = replace(blank, n=mine.sums.n, n_against=theirs.sums.n)
    law = compare_means(mine, theirs, level, ratio=False)
    if law is None:
        return replace(reading, note=_noted(blank.note or "NOTHING_DEFINED"))
    note = _noted(blank.note, "" if mine.is_settled and theirs.is_settled else "UNCERTIFIED")
    reading = replace(reading, estimate=law.estimate, least=law.least, most=law.most, note=note)
    if min(mine.sums.n, theirs.sums.n) < 2:
        return replace(reading, note=_noted(note, "TOO_FEW"))
    if isinstance(law, Fixed):
        return replace(reading, note=_noted(note, "NO_SPREAD"))
    low, high = law.limits(level)
    return replace(reading, low=low, high=high)


def share_reading(blank: NotionReading, yes: Bools, level: float, open_: Bools | None = None) -> NotionReading:
    """The share of yes among some people, with Wilson's interval; of those who are `open_` it is not known.

    >>> import numpy as np
    >>> one = share_reading(NotionReading("approved", "a"), np.array([True, False, False, False]), 0.95)
    >>> one.estimate, round(one.low, 3), round(one.high, 3)
    (0.25, 0.046, 0.699)
    """
    k, n, unknown = _counts(yes, open_)
    reading = replace(blank, n=n)
    if n == 0:
        return replace(reading, note=_noted(blank.note or "NO_PEOPLE"))
    z = float(ndtri((1 + level) / 2))
    note = _noted(blank.note, "UNCERTIFIED" if unknown else "")
    low, high = wilson(k, n, z)[0], wilson(k + unknown, n, z)[1]
    return replace(reading, estimate=k / n, low=low, high=high, least=k / n, most=(k + unknown) / n, note=note)


def share_gap(
    blank: NotionReading, mine: Bools, theirs: Bools, level: float, open_: tuple[Bools, Bools] | None = None
) -> NotionReading:
    """My share minus theirs, with Newcombe's interval.

    >>> import numpy as np
    >>> one = share_gap(NotionReading("approved", "a", "b"), np.array([True] * 5), np.array([False] * 5), 0.95)
    >>> one.estimate, round(one.low, 2), round(one.high, 2)
    (1.0, 0.39, 1.0)
    """
    a, b = (_counts(yes, None if open_ is None else open_[k]) for k, yes in enumerate((mine, theirs)))
    reading = replace(blank, n=a[1], n_against=b[1])
    if a[1] == 0 or b[1] == 0:
        return replace(reading, note=_noted(blank.note or "NO_PEOPLE"))
    here = difference((b[0], b[1]), (a[0], a[1]))
    # Most of mine with least of theirs, and the other way round.
    below = difference((b[0] + b[2], b[1]), (a[0], a[1]))
    above = difference((b[0], b[1]), (a[0] + a[2], a[1]))
    note = _noted(blank.note, "UNCERTIFIED" if a[2] + b[2] else "")
    low, high = below.limits(level)[0], above.limits(level)[1]
    return replace(
        reading, estimate=here.estimate, low=low, high=high, least=below.estimate, most=above.estimate, note=note
    )


def _counts(yes: Bools, open_: Bools | None) -> tuple[int, int, int]:
    unknown = 0 if open_ is None else int((open_ & ~yes).sum())
    return int(yes.sum()), len(yes), unknown


def folded(reading: NotionReading) -> NotionReading:
    """The size of a difference, whichever its sign, with the interval that its limits give.

    >>> folded(NotionReading("gap", estimate=-1.0, low=-3.0, high=0.5)).high
    3.0
    """

    def fold(low: float, high: float) -> tuple[float, float]:
        if isnan(low) or isnan(high):
            return nan, nan
        return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))

    low, high = fold(reading.low, reading.high)
    least, most = fold(reading.least, reading.most)
    return replace(reading, estimate=abs(reading.estimate), low=low, high=high, least=least, most=most)
