"""A batch of decisions: read like the reference data, recognised when it comes again, solved, and capped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.errors import DataError, SchemaError, listed, many
from equieffort.foundations.arguments import as_plain
from equieffort.monitor.evidence import Arrivals
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable


@dataclass(frozen=True, eq=False)
class Solved:
    """What is known of the people of a batch, in order of arrival."""

    groups: np.ndarray
    """Each person's group, by label."""
    is_refused: Bools
    least: Floats
    """The least and the most that each person's recourse can cost; infinite without recourse, 0 if approved."""
    most: Floats
    is_unsettled: Bools

    @classmethod
    def of(cls, table: RecourseTable, count: int) -> Solved:
        """The first `count` people of a table."""
        status, rows = table.status[:count], slice(count)
        acting = table.has_action[rows]
        effort, bound = table.effort[rows], np.maximum(np.nan_to_num(table.bound[rows], posinf=np.inf), 0.0)
        refused = status != Status.NOT_NEEDED
        # Nobody knows whether an unknown person has recourse at all.
        most = np.where(acting, effort, np.where(refused, np.inf, 0.0))
        least = np.where(acting, np.minimum(bound, effort), np.where(refused, bound, 0.0))
        labels = np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]]
        return cls(labels, refused, least, most, table.is_unsettled[rows])

    @property
    def people(self) -> int:
        """How many people."""
        return len(self.groups)

    @property
    def refused(self) -> int:
        """How many were refused."""
        return int(self.is_refused.sum())

    @property
    def unsettled(self) -> int:
        """How many are not solved to the end."""
        return int(self.is_unsettled.sum())

    @property
    def costs(self) -> Floats:
        """What the recourse of refused people costs, as far as an action is known."""
        return self.most[self.is_refused]

    def arrivals(self, measure: str, group: str, others: Sequence[str], budget: float) -> Arrivals:
        """The people whom a comparison is about, with the least and the largest that their R can be."""
        who = np.isin(self.groups, [group, *others])
        if measure == "restricted_effort":
            who = who & self.is_refused
        low, high = (np.minimum(cost[who], budget) / budget for cost in (self.least, self.most))
        return Arrivals((self.groups == group)[who], low, high)


def digest(frame: pd.DataFrame) -> str:
    """A hash of the people in a table, in whatever order they come and however numbers are written."""
    columns = {}
    for name in sorted(frame.columns):
        column = frame[name]
        numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
        columns[name] = (
            column.to_numpy(dtype=np.float64, na_value=np.nan)
            if numeric
            else column.astype(object).where(column.notna(), "").map(str).to_numpy(dtype=object)
        )
    if frame.index.name is not None:
        columns["\0index"] = np.array([str(label) for label in frame.index], dtype=object)
    rows = pd.util.hash_pandas_object(pd.DataFrame(columns), index=False, categorize=False).to_numpy()
    names = "\0".join(columns).encode(errors="surrogatepass")
    return hashlib.sha256(names + b"\0\0" + np.sort(rows).astype("<u8").tobytes()).hexdigest()


def like(frame: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """The batch in the types of the reference data: a few rows can look like whole numbers, or like numbers at all.

    What an action may lead to depends on the type, and must not change from batch to batch.
    """
    found = frame.copy(deep=False)
    for name in frame.columns.intersection(reference.columns):
        own, known = frame[name], reference[name]
        if own.dtype == known.dtype or not pd.api.types.is_numeric_dtype(own.dtype):
            continue
        if pd.api.types.is_float_dtype(known.dtype):
            found[name] = own.astype(known.dtype)
        elif pd.api.types.is_integer_dtype(known.dtype):
            if own.notna().all() and bool((own % 1 == 0).all()):
                found[name] = own.astype(known.dtype)
        elif pd.api.types.is_integer_dtype(own.dtype) and known.map(lambda value: isinstance(value, str)).any():
            found[name] = own.astype(object).map(str)
    return found


def label_of(frame: pd.DataFrame, columns: tuple[str, ...]) -> np.ndarray:
    """Each person's group by its label."""
    parts = [frame[name].map(as_plain) for name in columns]
    return np.array([" & ".join(map(str, row)) for row in zip(*parts, strict=True)], dtype=object)


def check_groups(frame: pd.DataFrame, columns: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Refuse groups that the monitor does not know."""
    for name in columns:
        if name not in frame.columns:
            raise DataError(
                "SCHEMA_SENSITIVE_MISSING",
                f"The sensitive column {name!r} is not in the batch.",
                fix="Give every batch the columns of the reference data.",
            )
    whole = frame[frame[list(columns)].notna().all(axis=1)]
    if len(frame) and not len(whole):
        raise DataError(
            "DATA_MISSING_VALUES", "Of nobody in the batch the group is known.", fix="Give every batch its groups."
        )
    labels = label_of(whole, columns)
    strange = sorted(set(labels) - set(known))
    if strange:
        count = int(np.isin(labels, strange).sum())
        raise SchemaError(
            "SCHEMA_GROUPS",
            f"{many(count, 'person', 'people')} of the batch belong to {listed(strange)}, a group that the reference "
            "data does not have.",
            fix=f"The groups are {listed(known)}. Correct the spelling, or start a new monitor that knows the group.",
        )


def with_absent(
    frame: pd.DataFrame, reference: pd.DataFrame, columns: tuple[str, ...], needed: list[str]
) -> pd.DataFrame:
    """The batch with one person of the reference data for each group that it lacks, last; they are not counted.

    Groups can be told apart only where all of them are present.
    """
    present = set(label_of(frame[frame[list(columns)].notna().all(axis=1)], columns))
    complete = reference[reference[needed].notna().all(axis=1)]
    labels = label_of(complete, columns)
    first = [int((labels == label).argmax()) for label in sorted(set(labels) - present)]
    if not first:
        return frame
    index = frame.index.astype(object).append(pd.Index([f"reference person {k}" for k in first], dtype=object))
    together = pd.concat([frame[needed], complete.iloc[first][needed]], ignore_index=True)
    return together.set_axis(index.rename(frame.index.name))
