"""Tables that are learned from: those of their own that a spec names, else the people who are audited."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools
from equieffort.data.inputs import MOST_BYTES, DataSource, read_table
from equieffort.data.regular import check_regular
from equieffort.errors import DataError, listed, many, warn
from equieffort.models.surrogate import Surrogate, train_surrogate, two_outcomes
from equieffort.results.provenance import DataFile
from equieffort.spec.parsed import Spec
from equieffort.spec.validate_data import check_outcome, missing_column, placed
from equieffort.world.groups import Groups


@dataclass(frozen=True, eq=False)
class Trained:
    """A surrogate and what it was trained on."""

    surrogate: Surrogate
    people: pd.DataFrame
    """The columns it learned from, in the order of its decisions."""
    favourable: Any
    """What it calls the decision people want."""
    file: DataFile | None = None
    """The table of its own, if it has one."""


def train(spec: Spec, table: pd.DataFrame) -> Trained:
    """The surrogate that a spec asks for, trained on these people or on the table that the spec names for it."""
    label, kind, source = spec.model.label, spec.model.train, spec.model.data
    assert label is not None
    assert kind is not None
    if source is None:
        return _trained(spec, table, label, kind)
    with placed(spec, "model", "data"):
        own, file = read_own(source)
        own = spec.schema.spread.join(own)
        needed = [*spec.features, label, *spec.schema.sensitive_columns]
        require(own, dict.fromkeys(needed), source, "a surrogate learns from it, and is compared by group")
        check_outcome(spec, own[label])
        return replace(_trained(spec, own, label, kind), file=file)


def _trained(spec: Spec, table: pd.DataFrame, label: str, kind: str) -> Trained:
    if spec.data.missing != "error":
        table = table[whole(table, [*spec.features, label])]
    groups = Groups.of(table, spec.schema)
    labels = pd.Series(np.array(groups.labels, dtype=object)[groups.codes], index=table.index)
    decisions, favourable = two_outcomes(table[label], spec.schema.favourable)
    people = table[spec.features]
    found = train_surrogate(
        kind, people, decisions, features=spec.features, groups=labels, random_state=spec.random_state
    )
    return Trained(found, people, favourable)


def equations_table(spec: Spec, people: pd.DataFrame, nodes: Iterable[str]) -> tuple[pd.DataFrame, DataFile | None]:
    """What the equations are learned from: these people, or the table that the spec names for them."""
    names, source = list(nodes), spec.equations_data
    if source is None:
        # Of whom the group is not known, nothing can be learned of what follows from it.
        lax = [name for name in names if name in spec.schema.sensitive_columns]
        return people[whole(people, lax if spec.data.missing == "error" else names)], None
    with placed(spec, "graph", "data"):
        own, file = read_own(source)
        own = spec.schema.spread.join(own)
        require(own, names, source, "the graph names it")
        if spec.data.missing != "error":
            own = own[whole(own, names)]
        return own[names], file


def read_own(source: DataSource) -> tuple[pd.DataFrame, DataFile]:
    """A table that is learned from, and which file that is.

    Its rows carry the name of the file: they are other people than those audited, also where there are as many.
    """
    digest = file_hash(source.path)
    table = read_table(source)
    table.index = pd.Index([f"{source.path.name}, {k}" for k in range(len(table))])
    return table, DataFile(source.path.name, digest, len(table))


def require(table: pd.DataFrame, names: Iterable[str], source: DataSource, why: str) -> None:
    """Refuse a table without a column that is learned from."""
    for name in names:
        if name not in table.columns:
            raise missing_column(name, table, source, why)


def decided_people(spec: Spec, table: pd.DataFrame) -> pd.DataFrame:
    """The people with a recorded decision; the others are left out, and that is said."""
    known = table[spec.label].notna()
    if not known.any():
        raise DataError("DATA_EMPTY", f"Every cell of {spec.label!r} is empty.", fix="Name the column of decisions.")
    if not known.all():
        warn(
            "DATA_MISSING_VALUES",
            f"{many(int((~known).sum()), 'person', 'people')} without a recorded decision left the audit: "
            f"{spec.label!r} is empty.",
            fix="Fill the decisions in if they are known.",
        )
    return table[known]


def whole(frame: pd.DataFrame, names: Iterable[str]) -> Bools:
    """Who has a value in each of these columns."""
    present = [name for name in dict.fromkeys(names) if name in frame.columns]
    found = frame[present].notna().all(axis=1).to_numpy()
    if not found.any():
        raise DataError(
            "DATA_EMPTY",
            f"Every row has an empty cell in one of the columns {listed(present, 20)}.",
            fix="Fill them in, or leave out a column that is empty.",
        )
    return found


def file_hash(path: Path) -> str:
    """SHA-256 of a file; empty if it cannot be read (whoever reads it says why)."""
    digest = hashlib.sha256()
    try:
        check_regular(path, MOST_BYTES)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
