"""CausalGraph: which feature causes which.

A graph can be written as a list of edges, a dict of children, or handed over from networkx, GML, DOT or DoWhy.

>>> graph = CausalGraph.of([("age", "amount"), ("amount", "duration")])
>>> graph.parents("duration"), graph.descendants("age")
(('amount',), ('amount', 'duration'))
>>> CausalGraph.of({"age": ["amount"], "amount": ["duration"]}) == graph
True
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import networkx as nx

from equieffort.data.regular import is_file, read_regular
from equieffort.errors import GraphError, ParameterError, closest, listed, sentence, warn
from equieffort.foundations.arguments import check_path, names_in
from equieffort.foundations.saved import as_fields, from_fields

MOST_BYTES = 10_000_000
"""A larger file is no graph of features."""


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
        if isinstance(source, CausalGraph):
            digraph = nx.DiGraph()
            digraph.add_nodes_from(source.nodes)
            digraph.add_edges_from(source.edges)
        else:
            digraph = _to_networkx(source)
        takes = "a list of column names"
        extra = [] if nodes is None else list(names_in("nodes", nodes, takes, error=GraphError, code="GRAPH_TYPE"))
        return cls._ordered(digraph, extra)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CausalGraph):
            return NotImplemented
        return frozenset(self.nodes) == frozenset(other.nodes) and frozenset(self.edges) == frozenset(other.edges)

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(self.edges)))

    @classmethod
    def _ordered(cls, digraph: nx.DiGraph, extra: list[str]) -> CausalGraph:
        names = [*digraph.nodes, *extra]
        not_text = [name for name in names if not isinstance(name, str)]
        if not_text:
            raise GraphError(
                "GRAPH_TYPE",
                f"The nodes of a causal graph are column names; got {listed(not_text)}, which are not text.",
                fix="Name each node as its column is named in the data.",
            )
        digraph.add_nodes_from(extra)
        first_seen = {name: i for i, name in enumerate(digraph.nodes)}
        try:
            cycle = nx.find_cycle(digraph)
        except nx.NetworkXNoCycle:
            order = nx.lexicographical_topological_sort(digraph, key=first_seen.__getitem__)
            return cls(tuple(order), tuple(sorted(digraph.edges)))
        drawn = " -> ".join([cycle[0][0], *(edge[1] for edge in cycle)])
        raise GraphError(
            "GRAPH_CYCLE",
            f"The causal graph has a cycle: {drawn}.",
            fix="Remove or turn round one of these edges.",
        )

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
            raise GraphError(
                "GRAPH_UNKNOWN_NODE",
                f"The graph has nodes that are not in the data: {listed(unknown)}. "
                f"{closest(unknown[0], columns)}".rstrip(),
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


def _to_networkx(source: Any) -> nx.DiGraph:
    if isinstance(source, nx.Graph):
        return _from_networkx(source)
    if isinstance(source, str | os.PathLike):
        return _from_networkx(_read_text(source))
    if isinstance(source, Mapping):
        return _from_edges(_mapping_edges(source), source)
    inner = _dowhy_graph(source)
    if inner is not None:
        return _from_networkx(inner)
    if isinstance(source, Iterable) and not isinstance(source, bytes) and getattr(source, "shape", None) != ():
        return _from_edges(_in_order(source), ())
    raise GraphError(
        "GRAPH_TYPE",
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
            raise GraphError(
                "GRAPH_TYPE",
                f"The entry {cause!r}: {effects!r} of the graph does not list effects.",
                fix=f"Write {{{cause!r}: [effect, ...]}}: each key causes the features in its list.",
            )
        edges += [(cause, effect) for effect in _in_order(effects)]
    return edges


def _from_edges(edges: list[Any], nodes: Iterable[Any]) -> nx.DiGraph:
    digraph = nx.DiGraph()
    digraph.add_nodes_from(nodes)
    for edge in edges:
        # A set of two does not say which of them is the cause.
        no_pair = isinstance(edge, str | set | frozenset) or not isinstance(edge, Iterable)
        if no_pair or len(pair := tuple(edge)) != 2:
            raise GraphError(
                "GRAPH_TYPE",
                f"{edge!r} is not an edge.",
                fix='Write each edge as a pair: ("cause", "effect").',
            )
        digraph.add_edge(*pair)
    return digraph


def _from_networkx(source: nx.Graph) -> nx.DiGraph:
    if not source.is_directed():
        raise GraphError(
            "GRAPH_TYPE",
            "The graph is undirected, so it does not say which feature is the cause.",
            fix="Use a networkx DiGraph, or `directed 1` in GML and `digraph` in DOT.",
        )
    for cause, effect, data in source.edges(data=True):
        _check_arrow(f"The edge {cause} -> {effect} is", data)
    digraph = nx.DiGraph()
    digraph.add_nodes_from(source.nodes)
    digraph.add_edges_from(source.edges())
    hidden = [n for n, data in source.nodes(data=True) if str(data.get("observed", "yes")).lower() == "no"]
    if hidden:
        warn(
            "GRAPH_UNOBSERVED",
            f"The graph has unobserved nodes, {listed(hidden)}; they are left out.",
            fix="Audit only if you can defend that no hidden common cause is strong.",
        )
        digraph.remove_nodes_from(hidden)
    return digraph


def _check_arrow(edge: str, data: Mapping[str, Any]) -> None:
    """Refuse an edge that is not drawn as one arrow from cause to effect, as attributes in DOT and GML can say."""
    graphics = data.get("graphics")
    arrow = str(graphics.get("arrow", "last")).lower() if isinstance(graphics, Mapping) else "last"
    drawn = {key: str(data[key]).strip('"').lower() for key in ("dir", "arrowhead") if key in data}
    if arrow in ("both", "first"):
        drawn["arrow"] = arrow
    if "arrow" in drawn or drawn.get("dir", "forward") != "forward" or drawn.get("arrowhead") == "none":
        said = ", ".join(f"{key}={value}" for key, value in drawn.items())
        raise GraphError(
            "GRAPH_TYPE",
            f"{edge} drawn with {said}, which is not one arrow from the cause to the effect.",
            fix="Write each edge from the cause to the effect, without these attributes. A common cause that is not in "
            "the data cannot be drawn as an edge.",
        )


def _dowhy_graph(source: Any) -> nx.Graph | None:
    """The networkx graph inside a dowhy.gcm model, a dowhy CausalModel or its CausalGraph, if it is one."""
    for path in (("graph",), ("_graph", "_graph"), ("_graph",)):
        inner = source
        for name in path:
            inner = getattr(inner, name, None)
        if isinstance(inner, nx.Graph):
            return inner
    return None


def _read_text(source: str | os.PathLike[str]) -> nx.Graph:
    text, where = str(source), "the text"
    if isinstance(source, os.PathLike) or ("\n" not in text and "[" not in text and "{" not in text):
        check_path("The path of the graph", source, error=GraphError, code="GRAPH_PARSE")
        path = Path(source)
        if not is_file(path):
            raise GraphError(
                "GRAPH_PARSE",
                f"There is no graph file at {str(path)!r}.",
                fix="Check the path, or pass the GML or DOT text itself.",
            )
        try:
            text, where = read_regular(path, MOST_BYTES).decode("utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise GraphError(
                "GRAPH_PARSE",
                f"The graph file {str(path)!r} cannot be read as text: {sentence(error)}",
                fix="Save it as GML or DOT, in UTF-8.",
            ) from error
    is_dot = _is_dot(text)
    try:
        if is_dot:
            return _read_dot(text)
        return nx.parse_gml(text, label="label")
    except (ParameterError, GraphError):
        raise
    except Exception as error:
        kind = "DOT" if is_dot else "GML"
        raise GraphError(
            "GRAPH_PARSE",
            f"The graph in {where} is not valid {kind}: {sentence(error)}",
            fix="Check the syntax; DOT looks like `digraph { age -> amount }`.",
        ) from error


_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|^\s*#[^\n]*', re.DOTALL | re.MULTILINE)
_HTML = re.compile(r"<[^<>]*>")
_DOT_OPENING = re.compile(r"\s*(strict\s+)?(di)?graph\b[^\[{]*\{", re.IGNORECASE)


def _is_dot(text: str) -> bool:
    """Whether text is DOT, which opens with a brace, and not GML, which opens with a bracket."""
    return _DOT_OPENING.match(_QUOTED_OR_COMMENT.sub(" ", text)) is not None


def _read_dot(text: str) -> nx.Graph:
    try:
        # What pydot and its parser deprecate in each other says nothing about the graph.
        with warnings.catch_warnings(), redirect_stdout(StringIO()) as printed:
            warnings.simplefilter("ignore")
            import pydot

            graphs = pydot.graph_from_dot_data(text)
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY",
            "Reading DOT needs the package pydot.",
            fix="pip install 'equieffort[dot]', or pass the edges as a list.",
        ) from error
    if not graphs:
        said = printed.getvalue().strip().splitlines()
        raise ValueError(said[-1] if said else "no graph could be parsed")
    if len(graphs) > 1:
        raise ValueError(f"it holds {len(graphs)} graphs, and only one can be meant")
    graph = nx.DiGraph() if graphs[0].get_type() == "digraph" else nx.Graph()
    if graph.is_directed() and "--" in _HTML.sub(" ", _QUOTED_OR_COMMENT.sub(" ", text)):
        # pydot reads it as an arrow.
        raise ValueError("an edge in a digraph is written with -- and not with ->")
    _add_dot(graph, graphs[0].obj_dict)
    return graph


def _add_dot(graph: nx.Graph, part: Mapping[str, Any]) -> list[str]:
    """Add what a graph or subgraph of DOT holds, and name its nodes."""
    found: list[str] = []
    for written, statements in part["nodes"].items():
        # Statements that set defaults look like nodes to pydot, and so do stray line ends.
        if written == "edge":
            for statement in statements:
                _check_arrow("Edges are", statement["attributes"])
        if written in ("node", "edge", "graph", '"\\n"', "\\n"):
            continue
        name = _dot_name(written)
        found.append(name)
        for statement in statements:
            graph.add_node(name, **{key: str(v).strip('"') for key, v in statement["attributes"].items()})
    for same_name in part["subgraphs"].values():
        for inner in same_name:
            found += _add_dot(graph, inner)
    for same_ends in part["edges"].values():
        for edge in same_ends:
            # Braces stand for all their nodes: a -> {b c} is a -> b and a -> c.
            causes, effects = (
                _add_dot(graph, end) if isinstance(end, Mapping) else [_dot_name(end)] for end in edge["points"]
            )
            drawn = edge["attributes"]
            graph.add_edges_from((cause, effect, drawn) for cause in causes for effect in effects)
            found += [*causes, *effects]
    return found


_DOT_NAME = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*"|[^:"<]+)(:.*)?', re.DOTALL)


def _dot_name(written: Any) -> str:
    """The name of a node without quotes and without the port, which says where an edge is drawn."""
    match = _DOT_NAME.fullmatch(str(written))
    if match is None or str(written).lower() == "subgraph" or str(written).startswith("<"):
        # pydot takes the keyword for a node where a subgraph is mentioned again, and <-> for one in HTML.
        raise ValueError(f"{written} is not the name of a node")
    name = match["name"]
    return name[1:-1].replace('\\"', '"') if name.startswith('"') else name
