"""A monitor from a spec: its data are the reference, its model decides, and batches are read as its data are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from equieffort.data.inputs import read_table
from equieffort.monitor.monitor import Monitor
from equieffort.spec import Spec
from equieffort.spec.learning import file_hash
from equieffort.spec.nodes import Items, Node, Scalar, Table, read_nodes
from equieffort.spec.runs import Prepared
from equieffort.words.problems import spec_words

UNUSED = ("title", "report", "subgroups", "neighbourhood", "alternatives")
"""Keys that a monitor does not use, and that may change."""
FILES = ("data", "model")
"""Sections that name a file, which may move, for what is in it is compared."""


def monitor_of(
    prepared: Prepared,
    state: Path,
    *,
    tau: float | None = None,
    level: float | None = None,
    budget: float | None = None,
    measures: Sequence[str] | None = None,
) -> Monitor:
    """The monitor that a spec describes; what is not given is as in the state or, before the first batch, the spec."""
    spec = prepared.spec
    file = spec.model.path
    if not state.exists():
        tau = spec.criteria.tau if tau is None else tau
        level = spec.criteria.level if level is None else level
        budget = spec.criteria.budget if budget is None else budget
    # The people of the spec are the reference themselves.
    arguments = {name: value for name, value in prepared.arguments.items() if name != "reference"}
    with spec_words():
        return Monitor(
            prepared.classifier, prepared.people, solver=spec.solver, tau=tau, level=level, budget=budget,
            measures=measures, state=state, model=None if file is None else file_hash(file), spec=content(spec),
            **arguments,
        )  # fmt: skip


def read_batch(spec: Spec, path: Path) -> pd.DataFrame:
    """The people of a batch, read as the spec says of its data; recorded decisions are not used."""
    with spec_words():
        table = read_table(replace(spec.data, path=path))
    return spec.people(table)


def content(spec: Spec) -> str:
    """What a spec says, whatever its layout and comments."""
    said = _plain(read_nodes(spec.text))
    kept = {key: value for key, value in said.items() if key not in UNUSED}
    for section in FILES:
        told = kept.get(section)
        kept[section] = (
            {name: value for name, value in told.items() if name != "path"} if isinstance(told, dict) else {}
        )
    return json.dumps(kept, sort_keys=True, default=repr)


def _plain(node: Node) -> Any:
    if isinstance(node, Table):
        return {str(key): _plain(value) for key, value in node.values.items()}
    if isinstance(node, Items):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else repr(node)
