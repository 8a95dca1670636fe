"""A small audit with every status, a saved form of it, and ways to change what is inside the file."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.recourse.status import Ending, Status, Termination

N = 40


def people() -> pd.DataFrame:
    """Numbers, categories, and a column that nothing uses."""
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "group": rng.choice(["ash", "birch"], N),
            "income": rng.integers(0, 10, N),
            "savings": rng.normal(size=N).round(2),
            "job": rng.choice(["cook", "smith", "tailor"], N),
            "city": rng.choice(["Rom", "Köln"], N),
        }
    )


def with_rule(rule: str, n: int = 8) -> ee.RecourseTable:
    """The recourse of a few people under a rule between features."""
    X = people().head(n)
    schema = ee.Schema(
        sensitive="group", protected="ash", favourable=True, rules=[rule],
        features={"income": ee.Feature("actionable", max_increase=6), "savings": "mutable", "job": "actionable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel(
        [("income", "savings")], nodes=["group", "job"], mechanisms={"savings": ee.Linear({"income": 0.5})}
    ).fit(X)
    model = ee.LinearScore({"income": 1.0, "savings": 2.0}, threshold=11.0)
    return ee.audit(model, X, schema=schema, scm=scm, solver=ee.Auto(time_limit=2.0)).recourse


def small_audit() -> ee.Audit:
    """Numbers and categories to act on, a follower, an unused column, and somebody of every status."""
    X = people()
    schema = ee.Schema(
        sensitive="group",
        protected="ash",
        favourable=True,
        features={
            "income": ee.Feature("actionable", max_increase=6, upper=20),
            "savings": ee.Feature("mutable", plausible=(-20.0, None)),
            "job": "actionable",
        },
        rules=["if income >= 3 then savings >= -9"],
    )
    scm = ee.StructuralCausalModel(
        [("income", "savings")], nodes=["group", "job"], mechanisms={"savings": ee.Linear({"income": 0.5})}
    ).fit(X)
    model = ee.LinearScore({"income": 1.0, "savings": 2.0}, threshold=11.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        audit = ee.audit(
            model, X, schema=schema, scm=scm, neighbourhood=ee.Nearest(0.4), subgroups={"few": "income < 5"}
        )
    table = audit.recourse
    status, cost, bound = table.status.copy(), table.cost.copy(), table.bound.copy()
    acting, stuck = np.flatnonzero(status == Status.OPTIMAL), np.flatnonzero(status == Status.INFEASIBLE)
    # As if limits had ended the search for two of them.
    status[acting[0]], bound[acting[0]] = Status.FEASIBLE, cost[acting[0]] / 2
    status[stuck[0]], bound[stuck[0]] = Status.UNKNOWN, 0.1
    late = Termination(Ending.TIME, bound=0.1, argument="time_limit", limit=10.0)
    notes = {int(acting[0]): dataclasses.replace(late, found=True), int(stuck[0]): late}
    table = dataclasses.replace(table, status=status, bound=bound, notes=notes, ceilings={int(stuck[0]): 4.0})
    return dataclasses.replace(audit, recourse=table)


def members(content: bytes) -> dict[str, bytes]:
    """What a file holds, by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray[Any, Any], **more: Any) -> bytes:
    """An array as a file."""
    buffer = io.BytesIO()
    np.save(buffer, array, **more)
    return buffer.getvalue()


@dataclasses.dataclass
class Unwrapped:
    """A saved audit taken apart, to be changed and put together again."""

    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray[Any, Any]]

    @classmethod
    def of(cls, content: bytes) -> Unwrapped:
        parts = members(content)
        arrays = {name[:-4]: np.load(io.BytesIO(part)) for name, part in parts.items() if name.endswith(".npy")}
        return cls(json.loads(parts["audit.json"]), arrays)

    def rows(self, *wanted: Status) -> np.ndarray[Any, Any]:
        """Positions of the people with one of these statuses."""
        return np.flatnonzero(np.isin(self.arrays["status"], wanted))

    def rehash(self) -> None:
        """Make the hash right again, as somebody who knows of it would."""
        facts = np.ascontiguousarray(self.arrays["facts"])
        self.manifest["data_sha256"] = hashlib.sha256(facts.tobytes()).hexdigest()

    def bytes(self) -> bytes:
        parts = {"audit.json": json.dumps(self.manifest).encode()}
        return zipped(parts | {f"{name}.npy": npy(array) for name, array in self.arrays.items()})


def read_all(path: Path) -> ee.Audit:
    """Load an audit and ask it everything that readers ask."""
    audit = ee.load(path)
    str(audit), audit._repr_html_(), audit.recourse.frame(), audit.recourse.counterfactuals(), audit.unsettled
    audit.curve([0.3, 1.0])
    for position in range(0, len(audit.recourse), 7):
        str(audit.explain(position=position)), str(audit.individual(position=position))
    str(audit.subgroup("income < 4"))
    return audit


Forge = Callable[[Unwrapped], None]
