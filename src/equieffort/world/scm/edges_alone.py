"""Where only what causes what is given: a causal model that learns linear equations from whoever it is fitted to."""

from __future__ import annotations

from typing import Any

import pandas as pd

from equieffort.world.graph import CausalGraph
from equieffort.world.schema import Schema
from equieffort.world.scm.model import StructuralCausalModel


def is_edges(scm: Any) -> bool:
    """Whether only what causes what is given, as pairs or as a graph, and no equations."""
    return isinstance(scm, list | tuple | CausalGraph)


def linear_model(edges: Any, people: pd.DataFrame, schema: Schema) -> StructuralCausalModel:
    """The model, not fitted yet; categories are those of the schema."""
    graph = CausalGraph.of(edges)
    categorical = [name for name, kind in schema.kinds.items() if kind == "categorical" and name in graph.nodes]
    graph.require(people.columns)
    return StructuralCausalModel(graph, categorical=categorical)
