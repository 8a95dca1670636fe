"""What causes what and by which equations: the causal model that a spec declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from equieffort.errors import closest, listed, sentence
from equieffort.graph import CausalGraph
from equieffort.scm import CumulativeLogit, Learner, LeastSquares, Linear, Ordinal, Polynomial, Regressor, Spline, Terms
from equieffort.spec.forms import DEFAULT
from equieffort.spec.given import Given, placed
from equieffort.spec.nodes import Items, Node, SpecError, Table

ESTIMATORS = {
    "tree": ("tree", "DecisionTreeRegressor"),
    "forest": ("ensemble", "RandomForestRegressor"),
    "extra_trees": ("ensemble", "ExtraTreesRegressor"),
    "boosted": ("ensemble", "GradientBoostingRegressor"),
    "hist_boosted": ("ensemble", "HistGradientBoostingRegressor"),
}
"""Regressors of scikit-learn: module and class."""


@dataclass(frozen=True)
class Causes:
    """The graph and what is known of its equations."""

    edges: list[tuple[str, str]]
    nodes: list[str]
    """Nodes that no edge mentions."""
    mechanisms: dict[str, Any]
    default: Learner


def read_causes(given: Given) -> Causes:
    """The graph, its equations, and how the others are learned."""
    said = given["graph"]
    if isinstance(said, list):
        said = {"edges": said, "file": None, "nodes": None, "default": DEFAULT.alone("linear"), "equations": None}
    with placed(given.find("graph", "file"), "graph"):
        source = given.folder / said["file"] if said["file"] is not None else [tuple(e) for e in said["edges"]]
        try:
            graph = CausalGraph.of(source, said["nodes"])
        except (OSError, UnicodeDecodeError) as error:
            raise given.refuse(
                "graph", "file", what=f"cannot be read: {sentence(error)}", fix="Check the file; save it as UTF-8."
            ) from None
    edges = list(graph.edges) if said["file"] is not None else [(cause, effect) for cause, effect in said["edges"]]
    linked = {name for edge in edges for name in edge}
    alone = [name for name in graph.nodes if name not in linked]
    equations = {name: _equation(given, graph, name, one) for name, one in (said["equations"] or {}).items()}
    return Causes(list(dict.fromkeys(edges)), alone, equations, _learner(given, said["default"]))


def _equation(given: Given, graph: CausalGraph, name: str, said: dict[str, Any]) -> Any:
    """The mechanism of one column, whose causes are in the graph."""
    where = f"graph.equations.{name}"
    _check_caused(given, graph, name)
    node = given.find("graph", "equations", name)
    for key, cause, at in _causes_named(node):
        if cause not in graph.parents(name):
            raise at.at.error(
                "SCM_MECHANISM",
                f"{where}.{key} names {cause!r}, which the graph does not name among its causes. "
                f"{closest(cause, graph.parents(name))}".rstrip(),
                f"Its causes are {listed(graph.parents(name))}; add the edge to the graph or remove this.",
            )
    with placed(node, where):
        return _mechanism(given, name, said)


def _check_caused(given: Given, graph: CausalGraph, name: str) -> None:
    if name in graph.nodes and graph.parents(name):
        return
    table = given.find("graph", "equations")
    assert isinstance(table, Table)
    caused = [node for node in graph.nodes if graph.parents(node)]
    how = f"Equations can be given for {listed(caused, 20)}." if caused else "No column has causes."
    if name == "default":
        how += " How all others are learned stands beside them: graph: {default: ...}."
    which = "has no causes in the graph" if name in graph.nodes else "is not in the graph"
    raise table.keys[name].error(
        "SCM_MECHANISM", f"graph.equations names {name!r}, which {which}. {closest(name, caused)}".rstrip(), how
    )


@dataclass(frozen=True)
class _At:
    at: Any


def _causes_named(node: Node) -> Iterator[tuple[str, str, _At]]:
    """The causes that an equation names: under which key, and where."""
    if not isinstance(node, Table):
        return
    for key in ("coef", "about"):
        inner = node.values.get(key)
        if isinstance(inner, Table):
            yield from ((key, cause, _At(at)) for cause, at in inner.keys.items())
    terms = node.values.get("terms")
    for term in terms.items if isinstance(terms, Items) else ():
        for key in ("powers", "levels"):
            inner = term.find(key)
            if isinstance(inner, Table) and inner is not term:
                yield from (("terms", cause, _At(at)) for cause, at in inner.keys.items())
