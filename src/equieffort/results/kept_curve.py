"""The curve of the report, kept in the audit's file where it rests on a sample of centres.

With many people the neighbourhoods around a thousand of them take longer than all else that a report needs. Whoever
reads the file reads their sums instead, which must fit the people: centres are refused people, larger neighbourhoods
hold smaller ones, efforts lie between a group's least and most, and everybody together is what the table says. That
they are what the table gives is for `Audit.verify` to say, which computes them again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.effort.metrics import PAPER_QUANTILES, Centres, Curve, Jackknife, curve, default_centres
from equieffort.effort.metrics.bands import NO_SPREAD, TOO_FEW, Spread
from equieffort.effort.metrics.curve import ALL_OTHERS
from equieffort.effort.metrics.without import LINES
from equieffort.effort.neighbours import Nearest, NearestK, Sweep, Unsaved, check_quantile
from equieffort.errors import EquieffortError, EquieffortWarning, collecting
from equieffort.foundations.progress import Progress
from equieffort.recourse.table import RecourseTable
from equieffort.world.distances import Distance, MixedDistance
from equieffort.world.opponents import Rest

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

DEFAULT_QUANTILE = 0.2
PREFIX = "curve_"
"""Of the arrays in a file."""
ARRAYS = ("centres", "size", "acting", "cost")
ALIKE = "comparing people with those like them"
"""What is told of it."""
CLOSE = 1e-9
"""Of a sum of efforts: how far two ways to add up the same numbers may lie apart."""


def shown_quantile(audit: Audit) -> float:
    """The share of people who count as neighbours when individuals are judged."""
    near, n = audit.neighbourhood, len(audit.recourse)
    if isinstance(near, Nearest):
        return float(near.quantile)
    if isinstance(near, NearestK):
        # Between the k-th and the next distance: the k nearest and whoever is as near as the last.
        return min(1.0, (near.k - 0.5) / (n - 1)) if near.k < n else 1.0
    return DEFAULT_QUANTILE


def shown_quantiles(audit: Audit) -> list[float]:
    """Those of the report's curve: the paper's, and the one that individuals are judged at."""
    return list(dict.fromkeys((*PAPER_QUANTILES, shown_quantile(audit))))


def shown_curve(audit: Audit) -> Curve:
    """The curve of the report."""
    distance = audit._distance_of(audit.neighbourhood)
    found = audit.curve_of(shown_quantiles(audit), distance)
    if is_drawn(found) and isinstance(audit._distances.get(distance), MixedDistance):
        # Of so many people it takes as much memory as they do, and the curve is kept.
        del audit._distances[distance]
    return found


def is_drawn(found: Curve) -> bool:
    """Whether only a sample of the refused people are centres."""
    return len(found.sweep.centres) < int(found.table.is_unfavourable.sum())


def compute_if_drawn(audit: Audit, progress: Progress | None = None) -> None:
    """Compute the curve of the report now, so that the file keeps it; where none can be, the report says why.

    Who watches is told, since this takes long.
    """
    codes, people = audit.recourse.groups.codes, np.flatnonzero(audit.recourse.is_unfavourable)
    if default_centres(people, codes[people], len(codes)) == Centres():
        return
    tell: Progress = progress or (lambda stage, done, total, note="": None)
    tell(ALIKE, 0, 1)
    with warnings.catch_warnings(), collecting(), suppress(EquieffortError):
        warnings.simplefilter("ignore", EquieffortWarning)
        shown_curve(audit)
    tell(ALIKE, 1, 1)


def _key(quantiles: Sequence[float], distance: Distance) -> tuple[Any, ...]:
    """Under which an audit keeps the curve with everything else as it is by default."""
    return repr(list(quantiles)), distance, False, None, Jackknife()


def _kept(audit: Audit) -> tuple[Distance, Curve] | None:
    """The curve of the report, if it was computed around a sample of centres and a file can hold its distance."""
    if isinstance(audit.neighbourhood, Unsaved):
        return None
    distance = audit._distance_of(audit.neighbourhood)
    found = audit._curves.get(_key(shown_quantiles(audit), distance))
    return None if found is None or not is_drawn(found) or distance.to_dict() is None else (distance, found)


@dataclass(frozen=True)
class SavedSpread:
    """How one line of one comparison varies over people."""

    group: int
    against: int
    line: str
    variance: tuple[float, ...]
    nu: tuple[float, ...]
    correlation: tuple[tuple[float, ...], ...]
    why: tuple[str, ...]

    def __post_init__(self) -> None:
        n = len(self.variance)
        fits = len(self.nu) == len(self.why) == len(self.correlation) == n
        fits = fits and all(len(row) == n for row in self.correlation)
        known = self.line in LINES and {"", NO_SPREAD, TOO_FEW}.issuperset(self.why)
        if not (fits and known):
            raise ValueError("a spread of the curve is none")
        told = np.array([why == "" for why in self.why], dtype=bool)
        numbers = np.array([self.variance, self.nu])[:, told]
        if not ((numbers > 0) & (numbers < np.inf)).all():
            raise ValueError("a variance of the curve, or its degrees of freedom, is no positive number")
        between = np.array(self.correlation).reshape(n, n)[np.ix_(told, told)]
        if not (np.abs(between[~np.isnan(between)]) <= 1 + CLOSE).all():
            raise ValueError("a correlation of the curve is beyond 1")


@dataclass(frozen=True)
class SavedCurve:
    """What a file says of a curve beside its arrays."""

    quantiles: tuple[float, ...]
    distance: Distance
    spreads: tuple[SavedSpread, ...]

    @classmethod
    def of(cls, audit: Audit) -> tuple[SavedCurve | None, dict[str, npt.NDArray[Any]]]:
        """The curve of the report, if it was computed around a sample of centres, and its arrays."""
        kept = _kept(audit)
        if kept is None:
            return None, {}
        distance, found = kept
        told = tuple(
            SavedSpread(
                *pair, line, tuple(one.variance.tolist()), tuple(one.nu.tolist()),
                tuple(map(tuple, one.correlation.tolist())), one.why,
            )
            for (pair, line), one in found.spreads.items()
        )  # fmt: skip
        arrays = {PREFIX + name: getattr(found.sweep, name) for name in ARRAYS}
        return cls(tuple(found.sweep.quantiles.tolist()), distance, told), arrays

    def give(self, audit: Audit, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Let an audit answer with this curve as if it had computed it."""
        audit._curves[_key(self.quantiles, self.distance)] = self.curve(audit.recourse, arrays)

    def curve(self, table: RecourseTable, arrays: Mapping[str, npt.NDArray[Any]]) -> Curve:
        """The curve, if what the file says of it fits the people."""
        for quantile in self.quantiles:
            check_quantile(quantile)
        against_all = isinstance(table.groups.reference, Rest)
        groups = 2 if against_all else len(table.groups.labels)
        centres, *sums = (arrays[PREFIX + name] for name in ARRAYS)
        shape = (len(centres), len(self.quantiles), groups)
        if centres.ndim != 1 or not len(centres) or any(one.shape != shape for one in sums):
            raise ValueError("the arrays of the curve do not fit together")
        kinds = [np.dtype(np.intp), np.dtype(np.int64), np.dtype(np.int64), np.dtype(np.float64)]
        if [one.dtype for one in (centres, *sums)] != kinds:
            raise ValueError("the arrays of the curve have other types")
        inside = (centres >= 0) & (centres < len(table))
        if not (inside.all() and (np.diff(centres) > 0).all() and table.is_unfavourable[centres].all()):
            raise ValueError("a centre of the curve is nobody who was refused, or stands twice")
        swept = Sweep(centres, np.array(self.quantiles), *sums)
        _check_sums(table, swept)
        spreads = {((one.group, one.against), one.line): one for one in self.spreads}
        pairs = {(one.group, ALL_OTHERS if against_all else one.others[0]) for one in table.groups.centred}
        if any(pair not in pairs or len(one.variance) != len(self.quantiles) for (pair, _), one in spreads.items()):
            raise ValueError("a spread of the curve is of no comparison there is")
        return Curve(
            table,
            swept,
            Jackknife(),
            {
                key: Spread(np.array(one.variance), np.array(one.nu), np.array(one.correlation), one.why)
                for key, one in spreads.items()
            },
        )


def differing(audit: Audit) -> Iterator[tuple[int, str]]:
    """Where a kept curve is not what the table gives, computed again: a centre, or the first one, and what of it."""
    kept = _kept(audit)
    if kept is None:
        return
    distance, found = kept
    swept = found.sweep
    again = curve(audit.recourse, audit.distance(distance), tuple(swept.quantiles.tolist()), swept.centres)
    for name in ARRAYS[1:]:
        wrong = (getattr(again.sweep, name) != getattr(swept, name)).any(axis=(1, 2))
        for at in np.flatnonzero(wrong).tolist():
            yield int(swept.centres[at]), name
    for key, one in again.spreads.items():
        told = found.spreads.get(key)
        parts = () if told is None else ((one.variance, told.variance), (one.nu, told.nu))
        if told is None or one.why != told.why or not all(_alike(*pair) for pair in parts):
            yield int(swept.centres[0]), f"band of {key[1]}"


def _alike(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=1e-6, atol=0, equal_nan=True))


def _check_sums(table: RecourseTable, swept: Sweep) -> None:
    """Refuse sums that no neighbourhoods of these people have."""
    order = np.argsort(swept.quantiles)
    size, acting, cost = (one[:, order] for one in (swept.size, swept.acting, swept.cost))
    grows = all((np.diff(one, axis=1) >= 0).all() for one in (size, acting, cost))
    if not (grows and (acting >= 0).all() and (acting <= size).all() and np.isfinite(cost).all()):
        raise ValueError("a neighbourhood of the curve does not hold the smaller ones")
    everybody = swept.quantiles[order] == 1
    own = table.groups.codes[swept.centres]
    for code in np.unique(own).tolist():
        here = own == code
        for slot, members in enumerate(_sides(table, code)):
            mine = members & table.has_action
            known = table.effort[mine]
            least, most = (known.min(), known.max()) if len(known) else (0.0, 0.0)
            counts, efforts = acting[here][:, :, slot], cost[here][:, :, slot]
            room = CLOSE * np.maximum(efforts, 1.0)
            if (efforts < counts * least - room).any() or (efforts > counts * most + room).any():
                raise ValueError("an effort in the curve is beyond the least or the most of its group")
            total, refused = fsum(known), int((members & table.is_unfavourable).sum())
            whole = [part[here][:, everybody, slot] for part in (size, acting, cost)]
            sums = np.abs(whole[2] - total) <= CLOSE * max(total, 1.0)
            if not ((whole[0] == refused).all() and (whole[1] == len(known)).all() and sums.all()):
                raise ValueError("everybody around a centre of the curve is not everybody who was refused")
            if (size[here][:, :, slot] > refused).any():
                raise ValueError("a neighbourhood of the curve holds more people than there are")


def _sides(table: RecourseTable, code: int) -> list[npt.NDArray[np.bool_]]:
    """The people of each slot of sums around somebody of a group."""
    groups = table.groups
    if not isinstance(groups.reference, Rest):
        return [groups.codes == g for g in range(len(groups.labels))]
    others = next((one.others for one in groups.pairs if one.group == code), None)
    if others is None:
        return [np.zeros(len(table), dtype=bool)] * 2
    return [groups.codes == code, np.isin(groups.codes, others)]
