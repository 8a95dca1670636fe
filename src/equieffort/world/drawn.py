"""Graphs that were drawn elsewhere: networkx, DoWhy, GML and DOT; networkx is imported only for GML."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from equieffort.data.regular import is_file, read_regular
from equieffort.errors import GraphError, ParameterError, listed, sentence, warn
from equieffort.foundations.arguments import check_path

_bad_graph = partial(GraphError, "GRAPH_PARSE")

MOST_BYTES = 10_000_000
"""A larger file is no graph of features."""

Edge = tuple[Any, Any]
"""Cause and effect."""
Attributes = dict[str, Any]


@dataclass
class Drawn:
    """Nodes and edges with what is written beside them."""

    is_directed: bool
    nodes: dict[Any, Attributes] = field(default_factory=dict)
    edges: list[tuple[Any, Any, Attributes]] = field(default_factory=list)

    @classmethod
    def of(cls, graph: Any) -> Drawn:
        """A graph of networkx."""
        return cls(graph.is_directed(), dict(graph.nodes(data=True)), list(graph.edges(data=True)))

    def arrows(self) -> tuple[list[Any], list[Edge]]:
        """Nodes and edges without those that are not observed; refuses what is not one arrow from cause to effect."""
        if not self.is_directed:
            raise GraphError(
                "GRAPH_TYPE",
                "The graph is undirected, so it does not say which feature is the cause.",
                fix="Use a networkx DiGraph, or `directed 1` in GML and `digraph` in DOT.",
            )
        for cause, effect, data in self.edges:
            _check_arrow(f"The edge {cause} -> {effect} is", data)
        hidden = [n for n, data in self.nodes.items() if str(data.get("observed", "yes")).lower() == "no"]
        if hidden:
            warn(
                "GRAPH_UNOBSERVED",
                f"The graph has unobserved nodes, {listed(hidden)}; they are left out.",
                fix="Audit only if you can defend that no hidden common cause is strong.",
            )
        edges = [(cause, effect) for cause, effect, _ in self.edges if not {cause, effect} & {*hidden}]
        return [name for name in self.nodes if name not in hidden], edges


def drawn_graph(source: Any) -> Drawn | None:
    """What was drawn elsewhere; None if it is none of these."""
    if isinstance(source, str | os.PathLike):
        return _read_text(source)
    graph = _inside(source)
    return None if graph is None else Drawn.of(graph)


def _inside(source: Any) -> Any:
    """A graph of networkx, or the one inside a dowhy.gcm model, a dowhy CausalModel or its CausalGraph."""
    networkx = sys.modules.get("networkx")
    if networkx is None:
        # Whoever made such a graph has imported it.
        return None
    for path in ((), ("graph",), ("_graph", "_graph"), ("_graph",)):
        inner = source
        for name in path:
            inner = getattr(inner, name, None)
        if isinstance(inner, networkx.Graph):
            return inner
    return None


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


def _read_text(source: str | os.PathLike[str]) -> Drawn:
    text, where = str(source), "the text"
    if isinstance(source, os.PathLike) or ("\n" not in text and "[" not in text and "{" not in text):
        check_path("The path of the graph", source, error=GraphError, code="GRAPH_PARSE")
        path = Path(source)
        if not is_file(path):
            raise _bad_graph(
                f"There is no graph file at {str(path)!r}.", fix="Check the path, or pass the GML or DOT text itself."
            )
        try:
            text, where = read_regular(path, MOST_BYTES).decode("utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise _bad_graph(
                f"The graph file {str(path)!r} cannot be read as text: {sentence(error)}",
                fix="Save it as GML or DOT, in UTF-8.",
            ) from error
    is_dot = _is_dot(text)
    try:
        if is_dot:
            return _read_dot(text)
        import networkx

        return Drawn.of(networkx.parse_gml(text, label="label"))
    except (ParameterError, GraphError):
        raise
    except Exception as error:
        kind = "DOT" if is_dot else "GML"
        raise _bad_graph(
            f"The graph in {where} is not valid {kind}: {sentence(error)}",
            fix="Check the syntax; DOT looks like `digraph { age -> amount }`.",
        ) from error


_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|^\s*#[^\n]*', re.DOTALL | re.MULTILINE)
_HTML = re.compile(r"<[^<>]*>")
_DOT_OPENING = re.compile(r"\s*(strict\s+)?(di)?graph\b[^\[{]*\{", re.IGNORECASE)


def _is_dot(text: str) -> bool:
    """Whether text is DOT, which opens with a brace, and not GML, which opens with a bracket."""
    return _DOT_OPENING.match(_QUOTED_OR_COMMENT.sub(" ", text)) is not None


def _read_dot(text: str) -> Drawn:
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
    graph = Drawn(graphs[0].get_type() == "digraph")
    if graph.is_directed and "--" in _HTML.sub(" ", _QUOTED_OR_COMMENT.sub(" ", text)):
        # pydot reads it as an arrow.
        raise ValueError("an edge in a digraph is written with -- and not with ->")
    _add_dot(graph, graphs[0].obj_dict)
    return graph


def _add_dot(graph: Drawn, part: Mapping[str, Any]) -> list[str]:
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
            said = {key: str(v).strip('"') for key, v in statement["attributes"].items()}
            graph.nodes.setdefault(name, {}).update(said)
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
            graph.edges += [(cause, effect, drawn) for cause in causes for effect in effects]
            found += [*causes, *effects]
            for name in (*causes, *effects):
                graph.nodes.setdefault(name, {})
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
