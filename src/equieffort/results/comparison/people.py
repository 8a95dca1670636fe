"""Who is in both audits, matched by label, and what happened to each of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.errors import Setting, many, warn
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable

CHANGES = (
    "newly favourable",
    "newly refused",
    "newly infeasible",
    "newly possible",
    "more effort",
    "less effort",
    "unknown",
    "unchanged",
)
"""What can have happened to a person; "newly refused" have an action, "newly infeasible" have none any more."""

SAME = 1e-6
"""Costs that differ by less than this share are the same: a step over the boundary may be that large. More is a change
only where what is certain of the least effort, from the bound to the cost, does not overlap: solvers stop within a gap.
"""

Pairs = npt.NDArray[np.intp]
"""A row a person in both audits: the position in the first, the position in the second."""


def labels(table: RecourseTable) -> pd.Index:
    """Labels as text where the two files may have kept them differently."""
    return table.index.map(str)


def match(left: pd.Index, right: pd.Index) -> Pairs:
    """Positions (in a, in b) of the people in both."""
    found = right.get_indexer(left)
    here = np.flatnonzero(found >= 0)
    return np.column_stack([here, found[here]]).astype(np.intp)


def same_people(a: RecourseTable, b: RecourseTable, pairs: Pairs) -> Pairs:
    """The pairs of one group; warns where labels do not seem to name people."""
    own, other = (np.array(t.groups.labels, dtype=object)[t.groups.codes] for t in (a, b))
    same = own[pairs[:, 0]] == other[pairs[:, 1]]
    if not same.all():
        warn(
            "AUDIT_LABELS",
            f"{many(int((~same).sum()), 'label is', 'labels are')} in both audits, but in different groups: "
            "taken as different people.",
            fix=("Name people by a column of your data (", Setting("names of people"), ")."),
        )
    elif all(t.index.name is None and t.index.dtype.kind in "iu" for t in (a, b)) and not _same_data(a, b):
        warn(
            "AUDIT_LABELS",
            "People are matched by the number of their row, and the rows of the two audits differ.",
            fix=("Name people by a column of your data (", Setting("names of people"), ")."),
        )
    return pairs[same]


def in_one_only(a: RecourseTable, b: RecourseTable, pairs: Pairs) -> pd.DataFrame:
    """A row a person in one of the audits: which one, their group, status and cost there; none where
    all are others."""
    found = []
    for name, table, rows in (("first", a, pairs[:, 0]), ("second", b, pairs[:, 1])):
        alone = np.ones(len(table), dtype=bool)
        alone[rows] = False
        texts = np.array([status.text for status in Status], dtype=object)
        found.append(
            pd.DataFrame(
                {
                    "audit": name,
                    "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[alone]],
                    "status": texts[table.status[alone]],
                    "cost": table.effort[alone],
                },
                index=table.index[alone],
            )
        )
    listed = pd.concat(found)
    return listed if len(pairs) else listed[:0]


def decided_otherwise(a: RecourseTable, b: RecourseTable, pairs: Pairs) -> tuple[int, int]:
    """Of how many people both audits know the same, and about how many of these the second decides otherwise."""
    alike = np.ones(len(pairs), dtype=bool)
    for name in a.data.columns.intersection(b.data.columns):
        one, other = (table.data[name].to_numpy()[pairs[:, at]] for at, table in enumerate((a, b)))
        if one.dtype.kind in "iufb" and other.dtype.kind in "iufb":
            alike &= (one == other) | (np.isnan(one.astype(float)) & np.isnan(other.astype(float)))
        else:
            both = pd.Series(one.astype(object)), pd.Series(other.astype(object))
            alike &= ((both[0] == both[1]) | (both[0].isna() & both[1].isna())).to_numpy(dtype=bool)
    differs = a.is_unfavourable[pairs[:, 0]] != b.is_unfavourable[pairs[:, 1]]
    return int(alike.sum()), int((alike & differs).sum())


def _same_data(a: RecourseTable, b: RecourseTable) -> bool:
    if len(a) != len(b):
        return False
    for name in a.data.columns.intersection(b.data.columns):
        one, other = a.data[name], b.data[name]
        if one.dtype.kind in "iufb" and other.dtype.kind in "iufb":
            if not np.array_equal(one.to_numpy(float), other.to_numpy(float), equal_nan=True):
                return False
        elif not pd.Series(one.to_numpy(object)).equals(pd.Series(other.to_numpy(object))):
            return False
    return True


def what_happened(a: RecourseTable, b: RecourseTable, pairs: Pairs, *, same_units: bool = True) -> pd.DataFrame:
    """A row a person in both audits: group, status and cost before and after, and one of `CHANGES`.

    Efforts in different units are not held against each other: whoever has an action in both audits is unchanged.
    """
    left, right = pairs[:, 0], pairs[:, 1]
    texts = np.array([status.text for status in Status], dtype=object)
    before, after = a.status[left], b.status[right]
    cost_before, cost_after = a.effort[left], b.effort[right]
    certain = [np.fmin(t.bound, t.effort)[rows] for t, rows in ((a, left), (b, right))]
    return pd.DataFrame(
        {
            "group": np.array(a.groups.labels, dtype=object)[a.groups.codes[left]],
            "status_before": texts[before],
            "status_after": texts[after],
            "cost_before": cost_before,
            "cost_after": cost_after,
            "change": _changes(before, after, (certain[0], cost_before), (certain[1], cost_after), same_units),
        },
        index=a.index[left],
    )


def _changes(
    before: npt.NDArray[np.int8],
    after: npt.NDArray[np.int8],
    efforts: tuple[Floats, Floats],
    efforts_after: tuple[Floats, Floats],
    same_units: bool,
) -> npt.NDArray[np.object_]:
    """What happened; efforts are what is certain of them: bounds and costs."""
    (bound, cost), (bound_after, cost_after) = efforts, efforts_after
    had, has = ~np.isnan(cost), ~np.isnan(cost_after)
    tolerance = SAME * np.fmax(np.abs(cost), np.abs(cost_after))
    both = had & has & same_units
    free, still_free = before == Status.NOT_NEEDED, after == Status.NOT_NEEDED
    stuck, still_stuck = before == Status.INFEASIBLE, after == Status.INFEASIBLE
    unclear = (before == Status.UNKNOWN) | (after == Status.UNKNOWN)
    conditions = {
        "unchanged": (free & still_free) | (stuck & still_stuck),
        "newly favourable": still_free,
        "newly infeasible": still_stuck,
        "newly refused": free & has,
        "newly possible": stuck & has,
        "unknown": unclear,
        "more effort": both & (bound_after > cost + tolerance),
        "less effort": both & (cost_after < bound - tolerance),
    }
    return np.select(list(conditions.values()), list(conditions), default="unchanged").astype(object)


def counts(table: RecourseTable, people: pd.DataFrame) -> pd.DataFrame:
    """A row a group: how many people changed how."""
    counted = people.groupby(["group", "change"]).size()
    rows = [
        {"group": label} | {change: int(counted.get((label, change), 0)) for change in CHANGES}
        for label in table.groups.labels
    ]
    return pd.DataFrame(rows)
