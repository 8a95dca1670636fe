"""People: who is solved, read from any table, joined with their sensitive columns and screened, once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Missing, join_sensitive, read_frame, refuse_wild, require_columns, screen
from equieffort.errors import ParameterError, Setting, many, warn
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.groups import Groups, group_name


@dataclass(frozen=True, eq=False)
class People:
    """Who is solved, in which group, and the problem in the types of their table."""

    problem: RecourseProblem
    frame: pd.DataFrame
    groups: Groups
    left: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Who left for missing values: whether they lack a value, by column."""

    @classmethod
    def of(
        cls,
        problem: RecourseProblem,
        X: Any,
        *,
        sensitive_features: Any = None,
        missing: Missing = "error",
        alone: bool = False,
    ) -> People:
        """The people of a table; whoever was read before is not read again. With `alone` one person will do, and
        groups that the schema names may have nobody here."""
        if isinstance(X, People):
            if X.problem is not problem:
                raise ParameterError(
                    "PARAMETER", "These people were read for another problem.", fix="Give people.problem, or the table."
                )
            return X
        columns = problem.schema.sensitive_columns
        whole = problem.schema.spread.join(read_frame(X, names=problem.decision.own))
        if alone and sensitive_features is None:
            # Nobody is compared: a group on which nothing depends need not be told.
            idle = [name for name in columns if name in problem.names and problem.names.index(name) in problem.idle]
            whole = whole.assign(**dict.fromkeys([name for name in idle if name not in whole.columns], np.nan))
        frame = join_sensitive(whole, sensitive_features, columns)
        needed = dict.fromkeys((*problem.names, *columns))
        require_columns(frame, needed, why=("The problem uses a column, but ", Setting("the table")))
        # A group that is not known takes nobody out of the audit, unless their recourse depends on it.
        lax = [name for name in columns if name not in problem.decision.features]
        complete = screen(frame, [name for name in needed if name not in lax], missing)
        refuse_wild(frame, lax)
        matters = [name for name in lax if problem.encoding.position(name) not in problem.idle]
        complete &= frame[matters].notna().all(axis=1)
        left = pd.DataFrame()
        if missing == "drop" and not complete.all():
            left = frame.loc[~complete, [name for name in needed if name not in lax or name in matters]].isna()
            frame = _without_missing(frame, complete, problem.schema.sensitive_columns)
        if not frame.index.is_unique:
            warn(
                "DATA_DUPLICATE_INDEX",
                (
                    "The index of ",
                    Setting("the table"),
                    f" has {many(int(frame.index.duplicated().sum()), 'label', 'labels')} a second time; positions are "
                    "used instead.",
                ),
                fix=("Give each person a label of their own", Setting("other names of people"), "."),
            )
        groups = Groups.of(frame, problem.schema, alone=problem.encoding if alone else None)
        if groups.known or not alone:
            _warn_unknown(groups)
        return cls(problem.typed(frame), frame, groups, left)


def _warn_unknown(groups: Groups) -> None:
    """Say of how many people the group is not known."""
    counts = {groups.name(groups.labels[k]): int((groups.codes == k).sum()) for k in groups.unknown}
    if counts:
        told = ", ".join(f"{name}: {n:,}" for name, n in counts.items() if n)
        warn(
            "DATA_GROUP_UNKNOWN",
            f"The group of {many(sum(counts.values()), 'person', 'people')} is not known ({told}): one of their own.",
            fix="Fill in what is known. assigned_least and assigned_most say what the others could change.",
        )


def _without_missing(frame: pd.DataFrame, complete: pd.Series, columns: tuple[str, ...]) -> pd.DataFrame:
    gone = frame.loc[~complete, list(columns)]
    labels = [" & ".join("missing" if pd.isna(v) else str(v) for v in row) for row in gone.itertuples(index=False)]
    counted = sorted(Counter(labels).items())
    counts = ", ".join(f"{group_name(label, columns)}: {count:,}" for label, count in counted)
    warn(
        "DATA_MISSING_VALUES",
        f"{len(gone):,} of {len(frame):,} people leave the audit because of missing values"
        f"{f' ({counts})' if columns else ''}.",
        fix="Compare their share between the groups: leaving them out may hide a difference.",
    )
    return frame[complete]
