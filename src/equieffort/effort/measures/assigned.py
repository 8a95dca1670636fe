"""The least and the most that a measure can be, however people whose group is not known are assigned to the groups.

Each of them may be on the one side of a comparison, on the other, or (where further groups exist) on neither. A measure
here rises with every value of the group and falls with every value of the other side, or the other way round. Of two
people with the same choices, exchanging them then never helps the one with the smaller value onto the side that wants
large ones: for any numbers of people on both sides the extreme has the largest values on one side and the smallest on
the other. So only numbers of people are searched, not subsets, and the extreme is exact.

Where people have different choices, numbers of each kind are searched together; if these are too many, both sides are
taken to their own extremes at once, which no assignment can exceed (`is_outer`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import inf, isinf, isnan, nan

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.measures.sample import Sample

MOST_COUNTS = 2_000_000
"""So many combinations of numbers of people are searched at most."""
MOST_TRIED = 600
"""So many assignments are tried one by one where nothing is known of a measure."""


@dataclass(frozen=True, eq=False)
class Unplaced:
    """People with the same choices: which sides they may be on, and what measures ask of them, as found."""

    mine: bool
    theirs: bool
    neither: bool
    efforts: Floats
    """Of the refused; infinite without a known action."""
    approved: int = 0
    recorded: tuple[int, int] | None = None
    """Approved according to the record, and all with a record, where a surrogate model was audited."""

    @property
    def sides(self) -> tuple[int, ...]:
        """What they may choose: 0 the group, 1 the other side, 2 neither."""
        return tuple(k for k, may in enumerate((self.mine, self.theirs, self.neither)) if may)

    @classmethod
    def of(cls, people: Sequence[Sample], mine: bool, theirs: bool, neither: bool) -> Unplaced:
        """Some people with the same choices."""
        known = [one.recorded for one in people if one.recorded is not None]
        return cls(
            mine,
            theirs,
            neither,
            np.concatenate([one.efforts for one in people]),
            sum(one.approved for one in people),
            (sum(k[1] for k in known), sum(k[0] for k in known)) if len(known) == len(people) else None,
        )

    @property
    def n(self) -> int:
        """How many people."""
        return len(self.efforts) + self.approved


@dataclass(frozen=True)
class Assigned:
    """Least and most over all assignments; an outer bound may be wider than what any of them reaches."""

    least: float = nan
    most: float = nan
    is_outer: bool = False


def finite(people: Sample | Unplaced) -> Floats:
    """The efforts of those with an action."""
    return people.efforts[np.isfinite(people.efforts)]


Combine = Callable[[Floats, Floats], Floats]
"""Of the group's mean (or median) and the other's: rises with the first, falls with the second."""


# -- means -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counted:
    """For combinations of numbers of people: how many are on both sides, and the sums of their values."""

    n: Floats
    total: Floats
    n_other: Floats
    total_other: Floats

    def with_all(self, other: Counted) -> Counted:
        """Every combination with every combination of other people."""
        pairs = ((getattr(self, k), getattr(other, k)) for k in ("n", "total", "n_other", "total_other"))
        return Counted(*((a[:, None] + b[None, :]).ravel() for a, b in pairs))


def _cumulated(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _counts(part: Unplaced, values: Floats, largest: bool) -> Counted:
    """The group gets the largest values (or the smallest), the other side the opposite."""
    first = np.sort(values)[::-1] if largest else np.sort(values)
    top, bottom, u = _cumulated(first), _cumulated(first[::-1]), len(values)
    p = np.arange(u + 1) if part.mine else np.zeros(1, dtype=np.intp)
    if part.mine and part.theirs and part.neither:
        p, q = (one.ravel() for one in np.meshgrid(p, p, indexing="ij"))
        keep = p + q <= u
        p, q = p[keep], q[keep]
    elif part.mine and part.theirs:
        q = u - p
    elif part.theirs:
        q = np.arange(u + 1)
        p = np.zeros(u + 1, dtype=np.intp)
    else:
        q = np.zeros(len(p), dtype=np.intp)
    if not part.neither:
        # Whoever has no third choice is on one side or the other.
        keep = p + q == u
        p, q = p[keep], q[keep]
    return Counted(p.astype(np.float64), top[p], q.astype(np.float64), bottom[q])


def _size(part: Unplaced, n: int) -> int:
    choices = len(part.sides)
    return 1 if choices == 1 else n + 1 if choices == 2 else (n + 1) * (n + 2) // 2


def of_means(
    known: tuple[Floats, Floats], parts: Sequence[tuple[Unplaced, Floats]], combine: Combine, *, ratio: bool = False
) -> Assigned:
    """A measure of the two sides' means, given the values of those who are known; with `ratio` zero has no ratio."""
    sizes = np.prod([float(_size(part, len(values))) for part, values in parts])
    ends, outer = [], False
    for largest in (False, True):
        if len(parts) == 1 and len(parts[0][0].sides) == 3:
            mean, other = _three(known, parts[0][1], largest, ratio)
        elif sizes <= MOST_COUNTS:
            base = Counted(*(np.array([float(x)]) for side in known for x in (len(side), side.sum())))
            every = reduce(Counted.with_all, (_counts(part, values, largest) for part, values in parts), base)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean, other = every.total / every.n, every.total_other / every.n_other
        else:
            mean = np.array([_own_extreme(known[0], parts, 0, largest)])
            other = np.array([_own_extreme(known[1], parts, 1, not largest)])
            outer = True
        end, is_outer = _end(combine, mean, other, largest, ratio)
        ends.append(end)
        outer |= is_outer
    return _between(ends, outer)


def _end(combine: Combine, mean: Floats, other: Floats, largest: bool, ratio: bool) -> tuple[float, bool]:
    """The extreme over combinations; where one side could come to nothing the ratio has no end that is reached."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = combine(mean, other)
    if ratio:
        gone = (mean > 0) & (other == 0) if largest else (mean == 0) & (other > 0)
        if gone.any():
            return (inf if largest else 0.0), True
        found = np.where((mean > 0) & (other > 0), found, nan)
    found = found[~np.isnan(found)]
    return (float(found.max() if largest else found.min()) if len(found) else nan), False


def _between(ends: list[float], outer: bool) -> Assigned:
    """Both ends; where the one is undefined throughout, all that is defined lies at the other (0 or infinity)."""
    least, most = (ends[1] if isnan(ends[0]) else ends[0]), (ends[0] if isnan(ends[1]) else ends[1])
    return Assigned(least, most, outer and not isnan(least))


Ranged = tuple[Unplaced, Floats, Floats]
"""People, and the least and the most that each one's value can be."""


def of_ranges(known: tuple[Floats, Floats], parts: Sequence[Ranged], combine: Combine) -> Assigned:
    """A measure of means where the values of those to be assigned are only known to lie between two others.

    Both sides are taken to their own extremes at once, which nothing can exceed.

    >>> people = Unplaced(True, True, True, np.empty(0))
    >>> one = of_ranges((np.array([1.0]), np.array([0.0])), [(people, np.array([0.0]), np.array([1.0]))], np.subtract)
    >>> one.least, one.most
    (0.0, 1.0)
    """
    ends = []
    for largest in (False, True):
        mine = [(part, most if largest else least) for part, least, most in parts]
        theirs = [(part, least if largest else most) for part, least, most in parts]
        mean = np.array([_own_extreme(known[0], mine, 0, largest)])
        other = np.array([_own_extreme(known[1], theirs, 1, not largest)])
        ends.append(_end(combine, mean, other, largest, False)[0])
    return _between(ends, outer=True)


def of_curves(known: tuple[Floats, Floats], parts: Sequence[Unplaced]) -> Assigned:
    """The largest distance of the two sides' curves of efforts (shares of people with at most an effort).

    At each effort the distance is largest with everybody who has at most that effort on the one side, and everybody
    else on the other: where that is allowed exchanging anybody brings the shares nearer. So the most is exact. The
    least of a largest is not searched: at some effort no assignment makes the distance smaller, a bound from outside.
    """
    if not all(map(len, known)):
        # A side that could come to nobody has no curve.
        return Assigned(0.0, 1.0, True)
    at = np.unique(np.concatenate([*known, *(part.efforts for part in parts)]))
    at = at[np.isfinite(at)]
    if not len(at):
        return Assigned(0.0, 0.0)
    highest = _farthest(known, parts, at, 0)
    lowest = -_farthest(known, parts, at, 1)
    nearest = np.where((lowest < 0) & (highest > 0), 0.0, np.minimum(np.abs(lowest), np.abs(highest)))
    return Assigned(float(nearest.max()), float(np.maximum(highest, -lowest).max()), True)


def _farthest(known: tuple[Floats, Floats], parts: Sequence[Unplaced], at: Floats, side: int) -> Floats:
    """How far the curve of one side can be above the other's, at each effort."""
    within = [np.searchsorted(np.sort(one), at, "right").astype(np.float64) for one in known]
    n = [np.full(len(at), float(len(one))) for one in known]
    for part in parts:
        below = np.searchsorted(np.sort(part.efforts), at, "right").astype(np.float64)
        for who, wanted in ((below, side), (len(part.efforts) - below, 1 - side)):
            # Where they cannot be on the side that wants them they do the least harm on neither.
            place = wanted if wanted in part.sides else 2 if 2 in part.sides else 1 - wanted
            if place < 2:
                n[place] += who
                within[place] += who if wanted == side else 0.0
    return np.asarray(within[side] / n[side] - within[1 - side] / n[1 - side])


def _own_extreme(known: Floats, parts: Sequence[tuple[Unplaced, Floats]], side: int, largest: bool) -> float:
    """The extreme mean of one side, whatever that does to the other."""
    must = [values for part, values in parts if part.sides == (side,)]
    may = [values for part, values in parts if side in part.sides and len(part.sides) > 1]
    total, n = sum(float(v.sum()) for v in (known, *must)), sum(len(v) for v in (known, *must))
    values = np.sort(np.concatenate([np.empty(0), *may]))
    sums = _cumulated(values[::-1] if largest else values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (total + sums) / (n + np.arange(len(sums)))
    means = means[~np.isnan(means)]
    return float(means.max() if largest else means.min()) if len(means) else nan


def _three(known: tuple[Floats, Floats], values: Floats, largest: bool, ratio: bool) -> tuple[Floats, Floats]:
    """Means of both sides for the numbers of people among which the extreme is, where all may stay out.

    As people come in the order of their values, the mean of a side goes to its extreme and back. If both extremes leave
    somebody over, they are the answer; otherwise nobody is left over, since one more person would always help a side.
    """
    first, u = np.sort(values)[::-1] if largest else np.sort(values), len(values)
    counts = np.arange(u + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mine = (known[0].sum() + _cumulated(first)) / (len(known[0]) + counts)
        theirs = (known[1].sum() + _cumulated(first[::-1])) / (len(known[1]) + counts)
    p, q = _best(mine.tolist(), largest), _best(theirs.tolist(), not largest)
    # Where a side can come to nothing there is no ratio, and whoever asks for one must see that.
    if p + q <= u or (ratio and 0 in (theirs[q], mine[p])):
        return mine[[p]], theirs[[q]]
    return mine, theirs[::-1]


# -- orders ------------------------------------------------------------------------------------------------------------


Ranks = Callable[[int], tuple[int, int]]
"""Of so many people the two whose values are averaged, by their ranks from 0 on; often one person twice."""


def middle(n: int) -> tuple[int, int]:
    """The ranks of a median."""
    return (n - 1) // 2, n // 2


def of_medians(known: tuple[Floats, Floats], parts: Sequence[Unplaced]) -> Assigned:
    """The ratio of medians."""
    ends, outer = [], len(parts) > 1
    for top in (False, True):
        end, is_outer = _median_end(_order_pairs(known, parts, top, middle), top)
        ends.append(end)
        outer |= is_outer
    return _between(ends, outer)


def of_orders(known: tuple[Floats, Floats], parts: Sequence[Unplaced], ranks: Ranks) -> Assigned:
    """The difference of values of a rank, which grows by at most one a person; infinite where one side's is.

    >>> people = Unplaced(True, False, True, np.array([5.0]))
    >>> one = of_orders((np.array([1.0]), np.array([1.0])), [people], lambda n: (n - 1, n - 1))
    >>> one.least, one.most
    (0.0, 4.0)
    """
    ends = []
    for top in (False, True):
        pairs = [(a, b) for a, b in _order_pairs(known, parts, top, ranks) if not (isinf(a) and isinf(b))]
        values = [a - b for a, b in pairs if not isnan(a - b)]
        ends.append((max(values) if top else min(values)) if values else nan)
    return _between(ends, len(parts) > 1)


def _order_pairs(
    known: tuple[Floats, Floats], parts: Sequence[Unplaced], top: bool, ranks: Ranks
) -> list[tuple[float, float]]:
    """Of both sides, where the extreme is: each side's value rises, then falls, as people come in their order."""
    if len(parts) > 1:
        return [(_own_order(known[0], parts, 0, top, ranks), _own_order(known[1], parts, 1, not top, ranks))]
    return _pairs_of_one(known, parts[0], top, ranks)


def _median_end(found: list[tuple[float, float]], top: bool) -> tuple[float, bool]:
    values = []
    for mine, theirs in found:
        if isnan(mine) or isnan(theirs) or (isinf(mine) and isinf(theirs)):
            continue
        if mine > 0 and theirs > 0:
            values.append(inf if isinf(mine) else mine / theirs)
        elif (mine > 0) if top else (theirs > 0):
            return (inf if top else 0.0), True
    return (max(values) if top else min(values)) if values else nan, False


def _pairs_of_one(
    known: tuple[Floats, Floats], part: Unplaced, top: bool, ranks: Ranks
) -> list[tuple[float, float]]:  # fmt: skip
    """For the numbers of people among which the extreme is, where all have the same choices."""
    order, u = np.sort(part.efforts), len(part.efforts)
    mine = _ordered(known[0], order if part.mine else order[:0], top, ranks)
    theirs = _ordered(known[1], order if part.theirs else order[:0], not top, ranks)
    sides = part.sides
    if sides == (0, 1):
        return [(mine[p], theirs[u - p]) for p in range(u + 1)]
    if len(sides) == 1:
        return [(mine[-1] if sides == (0,) else mine[0], theirs[-1] if sides == (1,) else theirs[0])]
    if sides != (0, 1, 2):
        return [(a, b) for a in mine for b in theirs]
    best, best_other = _best(mine, top), _best(theirs, not top)
    if best + best_other <= u:
        return [(mine[best], theirs[best_other])]
    return [(mine[p], theirs[u - p]) for p in range(u + 1)]


def _best(values: list[float], top: bool) -> int:
    known = [k for k, value in enumerate(values) if not isnan(value)]
    return (max if top else min)(known, key=lambda k: values[k]) if known else 0


def _ordered(known: Floats, order: Floats, top: bool, ranks: Ranks) -> list[float]:
    """The value of sorted ones with none, one, two, ... of others, the largest (or the smallest) first."""
    u = len(order)
    found = []
    for p in range(u + 1):
        more, n = order[u - p :] if top else order[:p], len(known) + p
        found.append(sum(_at(known, more, rank) for rank in ranks(n)) / 2 if n else nan)
    return found


def _at(one: Floats, other: Floats, rank: int) -> float:
    """The value of a rank among two sorted lists."""
    low, high = max(0, rank + 1 - len(other)), min(len(one), rank + 1)
    # The least number of the first list's values that leaves no larger one to the second.
    while low < high:
        middle = (low + high) // 2
        if one[middle] < other[rank - middle]:
            low = middle + 1
        else:
            high = middle
    taken = rank + 1 - low
    return float(max(one[low - 1] if low else -inf, other[taken - 1] if taken else -inf))


def _own_order(known: Floats, parts: Sequence[Unplaced], side: int, top: bool, ranks: Ranks) -> float:
    must = np.sort(np.concatenate([known, *(part.efforts for part in parts if part.sides == (side,))]))
    may = np.sort(np.concatenate([np.empty(0), *(p.efforts for p in parts if side in p.sides and len(p.sides) > 1)]))
    found = _ordered(must, may, top, ranks)
    return found[_best(found, top)]


def of_placements(known: tuple[Floats, Floats], parts: Sequence[Unplaced]) -> Assigned:
    """The probability of needing more: exact for people with one set of choices, an outer bound beyond."""
    single = len(parts) == 1 and _size(parts[0], len(parts[0].efforts)) <= MOST_COUNTS
    find = _placements if single else _placements_outer
    ends = [find(known, parts, top) for top in (False, True)]
    return Assigned(ends[0], ends[1], not single and not isnan(ends[0]))


def _placements(known: tuple[Floats, Floats], parts: Sequence[Unplaced], top: bool) -> float:
    part = parts[0]
    order = np.sort(part.efforts)[::-1] if top else np.sort(part.efforts)
    u, (mine, theirs) = len(order), known
    against, before = _cumulated(_wins(order, theirs)), _cumulated((len(mine) - _wins(order, mine))[::-1])
    base = float(_wins(mine, theirs).sum())
    found = []
    for p in range(u + 1) if part.mine else (0,):
        q = np.arange(u - p + 1) if part.theirs else np.zeros(1, dtype=np.intp)
        if not part.neither:
            q = q[p + q == u]
        if not len(q):
            continue
        # Those who come to the group are above (below) those who come to the other side, but for ties between them.
        even = _cumulated(_equal(order[:p], order[::-1][: q[-1]])) / 2
        between = (p * q - even[q]) if top else even[q]
        n = (len(mine) + p) * (len(theirs) + q)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = (base + against[p] + before[q] + between) / n
        value = value[n > 0]
        found += [float(value.max() if top else value.min())] if len(value) else []
    return (max(found) if top else min(found)) if found else nan


def _wins(values: Floats, others: Floats) -> Floats:
    """For each value how many of the others (sorted) are below it, those that equal it half."""
    return (np.searchsorted(others, values, "left") + np.searchsorted(others, values, "right")) / 2


def _equal(values: Floats, others: Floats) -> Floats:
    """For each of the others how many of the values equal it."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, others, "right") - np.searchsorted(ordered, others, "left")).astype(np.float64)


def _placements_outer(known: tuple[Floats, Floats], parts: Sequence[Unplaced], top: bool) -> float:
    """Everybody's placement at its own extreme: no assignment gives all of them at once more than that."""
    may = np.sort(np.concatenate([np.empty(0), *(p.efforts for p in parts if p.theirs)]))
    theirs = known[1]

    def placed(values: Floats) -> Floats:
        below, upto = (np.searchsorted(may, values, side) for side in ("left", "right"))
        more, even, wins = below if top else len(may) - upto, upto - below, _wins(values, theirs)
        with np.errstate(invalid="ignore", divide="ignore"):
            without = (wins + (more if top else 0)) / (len(theirs) + more)
            with_even = (wins + (more if top else 0) + even / 2) / (len(theirs) + more + even)
        found = np.fmax(without, with_even) if top else np.fmin(without, with_even)
        return np.where(np.isnan(found), float(top), found)

    sides = (placed(known[0]), [(p, placed(p.efforts)) for p in parts])
    return _own_extreme(sides[0], sides[1], 0, top)


# -- anything else -----------------------------------------------------------------------------------------------------


def by_trying(
    estimate: Callable[[Sample, Sample], float], known: tuple[Sample, Sample], parts: Sequence[Unplaced]
) -> Assigned | None:
    """A measure of which nothing else is known: every assignment, where these are few; None where they are many."""
    tries = np.prod([float(len(part.sides)) ** (len(part.efforts) + part.approved) for part in parts])
    if tries > MOST_TRIED or any(part.recorded is not None for part in parts):
        return None
    values = [estimate(*sides) for sides in _assignments(known, parts)]
    defined = [value for value in values if not isnan(value)]
    return Assigned(min(defined), max(defined)) if defined else Assigned()


def _assignments(known: tuple[Sample, Sample], parts: Sequence[Unplaced]) -> Iterator[tuple[Sample, Sample]]:
    people = [(part, effort) for part in parts for effort in (*part.efforts.tolist(), *(nan,) * part.approved)]
    budget = known[0].stats.budget
    for choice in product(*(part.sides for part, _ in people)):
        sides = []
        for side in (0, 1):
            efforts = np.array([effort for (_, effort), k in zip(people, choice, strict=True) if k == side])
            refused: Bools = ~np.isnan(efforts) if len(efforts) else np.zeros(0, dtype=bool)
            more = Sample.solved(efforts[refused], int((~refused).sum()), budget)
            sides.append(known[side].as_found + more)
        yield sides[0], sides[1]
