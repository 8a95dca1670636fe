"""CausalGraph: which feature causes which.

A graph can be written as a list of edges, a dict of children, or handed over from networkx, GML, DOT or DoWhy.

>>> graph = CausalGraph.of([("age", "amount"), ("amount", "duration")])
>>> graph.parents("duration"), graph.descendants("age")
(('amount',), ('amount', 'duration'))
>>> CausalGraph.of({"age": ["amount"], "amount": ["duration"]}) == graph
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from typing import Any

from equieffort.data.one_hot import MARKS
from equieffort.errors import GraphError, Setting, closest, listed
from equieffort.foundations.arguments import names_in
from equieffort.foundations.saved import as_fields, from_fields
from equieffort.world.drawn import Edge, drawn_graph

_bad_graph = partial(GraphError, "GRAPH_TYPE")


@dataclass(frozen=True, eq=False)
class CausalGraph:
    """An immutable directed acyclic graph over feature names; `nodes` are in causal order.

    Two graphs are equal when they have the same nodes and edges, in whatever order they were written.
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def of(cls, source: Any, nodes: Iterable[str] | None = None) -> CausalGraph:
        """Read a graph from edges, ``{cause: [effects]}``, networkx, GML or DOT (text or path), or a DoWhy model.

        `nodes` adds features that no edge mentions.
        """
        takes = "a list of column names"
        extra = () if nodes is None else names_in("nodes", nodes, takes, error=GraphError, code="GRAPH_TYPE")
        found, edges = _read(source)
        names = [*found, *(end for edge in edges for end in edge), *extra]
        if not_text := [name for name in names if not isinstance(name, str)]:
            raise _bad_graph(
                f"The nodes of a causal graph are column names; got {listed(not_text)}, which are not text.",
                fix="Name each node as its column in the data; X.columns = X.columns.map(str) names these by text.",
            )
        return cls(_in_causal_order(list(dict.fromkeys(names)), edges), tuple(sorted(set(edges))))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CausalGraph):
            return NotImplemented
        return frozenset(self.nodes) == frozenset(other.nodes) and frozenset(self.edges) == frozenset(other.edges)

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(self.edges)))

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        causes: dict[str, list[str]] = {node: [] for node in self.nodes}
        for cause, effect in self.edges:
            causes[effect].append(cause)
        return {node: tuple(sorted(found, key=self.nodes.index)) for node, found in causes.items()}

    def parents(self, node: str) -> tuple[str, ...]:
        """The direct causes of a node, in causal order."""
        return self._parents[node]

    def descendants(self, *nodes: str) -> tuple[str, ...]:
        """All that lies downstream of the nodes (themselves excluded unless one lies below another)."""
        found: set[str] = set()
        for node in self.nodes:
            if any(parent in nodes or parent in found for parent in self._parents[node]):
                found.add(node)
        return tuple(node for node in self.nodes if node in found)

    def ancestors(self, node: str) -> tuple[str, ...]:
        """All that lies upstream of the node."""
        found: set[str] = set()
        for other in reversed(self.nodes):
            if other == node or other in found:
                found.update(self._parents[other])
        return tuple(other for other in self.nodes if other in found)

    def require(self, columns: Iterable[str]) -> None:
        """Refuse data that lack a node, naming both lists."""
        columns = [str(name) for name in columns]
        unknown = [node for node in self.nodes if node not in columns]
        if unknown:
            first = unknown[0]
            starts = tuple(f"{first}{mark}" for mark in MARKS)
            spread = [name for name in columns if name.startswith(starts)]
            if len(spread) > 1:
                raise GraphError(
                    "GRAPH_UNKNOWN_NODE",
                    f"The graph has a node {first!r}, and the data have no such column but {listed(spread)}.",
                    fix=("If these are its levels, ", Setting("joined levels", spread, of=first), "."),
                )
            raise GraphError(
                "GRAPH_UNKNOWN_NODE",
                f"The graph has nodes that are not in the data: {listed(unknown)}. {closest(first, columns)}".rstrip(),
                fix=f"The graph's nodes are {listed(self.nodes, 20)}; the columns are {listed(columns, 20)}.",
            )

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        return as_fields(self)

    @classmethod
    def from_dict(cls, saved: Any) -> CausalGraph:
        """From the saved form, whose nodes are in causal order."""
        found = from_fields(cls, saved, "graph")
        if cls.of(found).nodes != found.nodes:
            raise ValueError("the nodes of its graph are not in causal order")
        return found


def _read(source: Any) -> tuple[list[Any], list[Edge]]:
    """Nodes and edges, in the order in which they were written."""
    if isinstance(source, CausalGraph):
        return list(source.nodes), list(source.edges)
    if isinstance(source, Mapping):
        return list(source), _pairs(_mapping_edges(source))
    if (drawn := drawn_graph(source)) is not None:
        return drawn.arrows()
    if isinstance(source, Iterable) and not isinstance(source, bytes) and getattr(source, "shape", None) != ():
        return [], _pairs(_in_order(source))
    raise _bad_graph(
        f"A causal graph cannot be read from {type(source).__name__}.",
        fix="Pass a list of (cause, effect) pairs, a dict of children, a networkx DiGraph, GML or DOT.",
    )


def _in_order(given: Iterable[Any]) -> list[Any]:
    """The items as they come; a set has another order in each process, so its items are sorted."""
    return sorted(given, key=str) if isinstance(given, set | frozenset) else list(given)


def _mapping_edges(source: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    edges = []
    for cause, effects in source.items():
        if isinstance(effects, str) or not isinstance(effects, Iterable):
            raise _bad_graph(
                f"The entry {cause!r}: {effects!r} of the graph does not list effects.",
                fix=f"Write {{{cause!r}: [effect, ...]}}: each key causes the features in its list.",
            )
        edges += [(cause, effect) for effect in _in_order(effects)]
    return edges


def _pairs(edges: list[Any]) -> list[Edge]:
    found = []
    for edge in edges:
        # A set of two does not say which of them is the cause.
        no_pair = isinstance(edge, str | set | frozenset) or not isinstance(edge, Iterable)
        if no_pair or len(pair := tuple(edge)) != 2:
            raise _bad_graph(f"{edge!r} is not an edge.", fix='Write each edge as a pair: ("cause", "effect").')
        found.append((pair[0], pair[1]))
    return found


def _in_causal_order(nodes: list[str], edges: list[Edge]) -> tuple[str, ...]:
    """Causes before their effects, and otherwise in the order given (Kahn's algorithm)."""
    place = {name: k for k, name in enumerate(nodes)}
    effects: dict[str, list[str]] = {name: [] for name in nodes}
    waiting = dict.fromkeys(nodes, 0)
    for cause, effect in dict.fromkeys(edges):
        effects[cause].append(effect)
        waiting[effect] += 1
    ready = [place[name] for name in nodes if not waiting[name]]
    heapify(ready)
    found: list[str] = []
    while ready:
        found.append(nodes[heappop(ready)])
        for effect in effects[found[-1]]:
            waiting[effect] -= 1
            if not waiting[effect]:
                heappush(ready, place[effect])
    if len(found) < len(nodes):
        raise GraphError(
            "GRAPH_CYCLE",
            f"The causal graph has a cycle: {' -> '.join(_cycle(effects, waiting))}.",
            fix="Remove or turn round one of these edges.",
        )
    return tuple(found)


def _cycle(effects: dict[str, list[str]], waiting: dict[str, int]) -> list[str]:
    """A cycle among nodes that all wait for a cause; from each of them one comes to another by going backwards."""
    stuck = [name for name, count in waiting.items() if count]
    path = [stuck[0]]
    while path[-1] not in path[:-1]:
        path.append(next(name for name in stuck if path[-1] in effects[name]))
    return path[path.index(path[-1]) :][::-1]
