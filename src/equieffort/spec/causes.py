"""What causes what: the graph that a spec declares."""

from __future__ import annotations

from equieffort.errors import sentence
from equieffort.graph import CausalGraph
from equieffort.spec.given import Given, placed


def read_graph(given: Given) -> tuple[list[tuple[str, str]], list[str]]:
    """The edges, and the nodes that no edge mentions."""
    said = given["graph"]
    said = {"edges": said, "file": None, "nodes": None} if isinstance(said, list) else said
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
    return list(dict.fromkeys(edges)), [name for name in graph.nodes if name not in linked]
