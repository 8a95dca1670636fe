"""CausalGraph against networkx: every input form, order, relations and refusals."""

import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from itertools import pairwise
from types import SimpleNamespace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equieffort as ee
from equieffort.errors import EquieffortWarning, GraphError
from equieffort.world.graph import CausalGraph

EDGES = [("sex", "amount"), ("age", "amount"), ("age", "duration"), ("amount", "duration")]
DIGRAPH = nx.DiGraph(EDGES)
GML = """graph [
  directed 1
  node [ id 0 label "sex" ]
  node [ id 1 label "amount" ]
  node [ id 2 label "age" ]
  node [ id 3 label "duration" ]
  edge [ source 0 target 1 ]
  edge [ source 2 target 1 ]
  edge [ source 2 target 3 ]
  edge [ source 1 target 3 ]
]"""
DOT = "digraph { sex; amount; age; duration; sex -> amount; age -> amount -> duration; age -> duration }"


def same_as(graph, digraph):
    """Same nodes, same edges, and causes come before effects."""
    place = {node: k for k, node in enumerate(graph.nodes)}
    assert len(place) == len(graph.nodes)
    assert set(place) == set(digraph.nodes)
    assert sorted(graph.edges) == sorted(digraph.edges)
    assert all(place[cause] < place[effect] for cause, effect in digraph.edges)
    return True


@st.composite
def dags(draw, most=9):
    """Random acyclic graphs whose declared order is not the causal one."""
    names = draw(st.permutations([f"v{k}" for k in range(draw(st.integers(1, most)))]))
    pairs = [(names[i], names[j]) for i in range(len(names)) for j in range(i + 1, len(names))]
    digraph = nx.DiGraph()
    digraph.add_nodes_from(draw(st.permutations(names)))
    digraph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])
    return digraph


SOURCES = {
    "edges": EDGES,
    "edges as lists": [list(edge) for edge in EDGES],
    "a generator": lambda: (edge for edge in EDGES),
    "dict of children": {"sex": ["amount"], "age": ["amount", "duration"], "amount": ["duration"]},
    "dict with leaves": {"sex": ["amount"], "age": {"amount", "duration"}, "amount": ("duration",), "duration": []},
    "networkx": DIGRAPH,
    "networkx multigraph": nx.MultiDiGraph([*EDGES, EDGES[0]]),
    "GML text": GML,
    "GML in one line": " ".join(GML.split()),
    "gcm model": SimpleNamespace(graph=DIGRAPH),
    "dowhy CausalGraph": SimpleNamespace(_graph=DIGRAPH),
    "dowhy CausalModel": SimpleNamespace(_graph=SimpleNamespace(_graph=DIGRAPH)),
    "CausalGraph": CausalGraph.of(EDGES),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_form_gives_the_same_graph(source):
    graph = CausalGraph.of(source() if callable(source) else source)
    assert same_as(graph, DIGRAPH)
    assert graph.parents("duration") == tuple(node for node in graph.nodes if node in {"age", "amount"})


@pytest.mark.parametrize(
    "text",
    [
        DOT,
        DOT.replace(";", "\n"),
        'strict digraph credit { "sex" -> "amount" [label="pay [gap]"]; age -> amount; age -> duration; '
        "amount -> duration }",
        "digraph { node [shape=box]; edge [color=red]; sex -> amount; age -> amount; age -> duration; "
        "amount -> duration }",
    ],
)
def test_dot_text(text):
    assert same_as(CausalGraph.of(text), DIGRAPH)


@pytest.mark.parametrize(("name", "text"), [("g.gml", GML), ("g.dot", DOT)])
def test_files(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert CausalGraph.of(path) == CausalGraph.of(text)
    assert same_as(CausalGraph.of(path), DIGRAPH)
    if not set("[{") & set(str(path)):
        assert CausalGraph.of(str(path)) == CausalGraph.of(text)


def test_odd_names_survive():
    names = ["monthly income", "a.b", "größe", "x->y"]
    digraph = nx.DiGraph([(names[0], names[1]), (names[1], names[2]), (names[2], names[3])])
    assert same_as(CausalGraph.of("\n".join(nx.generate_gml(digraph))), digraph)
    text = "digraph { " + "; ".join(f'"{cause}" -> "{effect}"' for cause, effect in digraph.edges) + " }"
    assert same_as(CausalGraph.of(text), digraph)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        pytest.param("digraph { subgraph cluster_0 { a -> b } b -> c }", {("a", "b"), ("b", "c")}, id="subgraph"),
        pytest.param("digraph { a -> {b c} }", {("a", "b"), ("a", "c")}, id="braces"),
        pytest.param("digraph { {a b} -> c }", {("a", "c"), ("b", "c")}, id="braces first"),
        pytest.param("digraph { {a b} -> c -> {d e} }", {("a", "c"), ("b", "c"), ("c", "d"), ("c", "e")}, id="chain"),
        pytest.param(
            "digraph { a -> {b -> {c d}} }", {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")}, id="nested"
        ),
        pytest.param("digraph { a:n -> b:s }", {("a", "b")}, id="ports"),
        pytest.param('digraph { "a:n" -> "b":p:s; "node" -> c }', {("a:n", "b"), ("node", "c")}, id="quotes"),
        pytest.param(r'digraph { "the \"best\"" -> b }', {('the "best"', "b")}, id="escaped quotes"),
    ],
)
def test_dot_shorthands_are_understood(text, edges):
    """Losing an edge silently would change who can do what."""
    assert set(CausalGraph.of(text).edges) == edges


def test_nodes_of_dot():
    graph = CausalGraph.of('digraph { node [shape=box]; subgraph one { a; {rank=same; b} } "edge"; c:n }')
    assert set(graph.nodes) == {"a", "b", "c", "edge"}
    assert graph.edges == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("// causes [draft]\ndigraph { a -> b }", id="DOT comment with a bracket"),
        pytest.param('digraph "credit [2]" { a -> b }', id="DOT name with a bracket"),
        pytest.param("/* [ */ strict DIGRAPH g { a -> b }", id="DOT in capitals"),
        pytest.param("# causes [draft]\ndigraph { a -> b }", id="DOT after a line of the preprocessor"),
        pytest.param(
            'Creator "graph {tool}"\ngraph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "b" ] '
            "edge [ source 0 target 1 ] ]",
            id="GML creator with a brace",
        ),
    ],
)
def test_the_language_is_told_apart(text):
    assert CausalGraph.of(text).edges == (("a", "b"),)


@given(dags())
def test_relations_equal_networkx(digraph):
    graph = CausalGraph.of(digraph)
    assert same_as(graph, digraph)
    for node in digraph.nodes:
        for ours, theirs in (
            (graph.parents(node), set(digraph.predecessors(node))),
            (graph.ancestors(node), nx.ancestors(digraph, node)),
            (graph.descendants(node), nx.descendants(digraph, node)),
        ):
            assert ours == tuple(other for other in graph.nodes if other in theirs)


@given(dags(), st.data())
def test_descendants_of_several(digraph, data):
    some = data.draw(st.lists(st.sampled_from(sorted(digraph.nodes)), unique=True))
    below = set().union(*(nx.descendants(digraph, node) for node in some))
    assert set(CausalGraph.of(digraph).descendants(*some)) == below


@given(dags())
@settings(max_examples=50)
def test_forms_agree_on_random_graphs(digraph):
    nodes = list(digraph.nodes)
    forms = [
        CausalGraph.of(list(digraph.edges), nodes=nodes),
        CausalGraph.of({node: list(digraph.successors(node)) for node in nodes}),
        CausalGraph.of("\n".join(nx.generate_gml(digraph))),
        CausalGraph.of(CausalGraph.of(digraph)),
    ]
    for form in forms:
        assert same_as(form, digraph)
    # Where all nodes are declared first, in one order, even the order of the result is one.
    assert forms[1] == forms[2] == forms[3] == CausalGraph.of(digraph)


@given(dags())
def test_order_is_the_declared_one_as_far_as_causes_allow(digraph):
    place = {node: k for k, node in enumerate(digraph.nodes)}
    order, waiting = [], set(digraph.nodes)
    while waiting:
        free = [node for node in waiting if not waiting & set(digraph.predecessors(node))]
        order.append(min(free, key=place.__getitem__))
        waiting.remove(order[-1])
    assert CausalGraph.of(digraph).nodes == tuple(order)


@given(dags(), st.data())
def test_a_drawn_cycle_is_one(digraph, data):
    reachable = [(a, b) for a in digraph for b in nx.descendants(digraph, a)]
    node = data.draw(st.sampled_from(sorted(digraph.nodes)))
    back = data.draw(st.sampled_from(reachable)) if reachable else (node, node)
    digraph.add_edge(back[1], back[0])
    with pytest.raises(GraphError) as caught:
        CausalGraph.of(digraph)
    assert caught.value.code == "GRAPH_CYCLE"
    path = caught.value.what.removeprefix("The causal graph has a cycle: ").removesuffix(".").split(" -> ")
    assert path[0] == path[-1]
    assert len(path) > 1
    assert len(set(path[1:])) == len(path) - 1
    assert all(digraph.has_edge(cause, effect) for cause, effect in pairwise(path))


def test_self_loop_is_a_cycle():
    with pytest.raises(GraphError, match="a -> a"):
        CausalGraph.of([("a", "a")])


@pytest.mark.parametrize(
    "source",
    [nx.Graph([("a", "b")]), nx.MultiGraph([("a", "b")]), GML.replace("directed 1", "directed 0"), "graph { a -- b }"],
    ids=["networkx", "networkx multigraph", "GML", "DOT"],
)
def test_undirected_is_refused(source):
    with pytest.raises(GraphError, match="undirected") as caught:
        CausalGraph.of(source)
    assert caught.value.code == "GRAPH_TYPE"


@pytest.mark.parametrize(
    "source",
    [
        5,
        None,
        ["ab"],
        [("a", "b", "c")],
        [("a",)],
        [3],
        {"a": "b"},
        {"a": 1},
        [{"a", "b"}],
        [(1, 2)],
        [("a", 2)],
        nx.DiGraph([(1, 2)]),
    ],
)
def test_what_is_not_a_graph_is_refused(source):
    with pytest.raises(GraphError) as caught:
        CausalGraph.of(source)
    assert caught.value.code == "GRAPH_TYPE"


@pytest.mark.parametrize(
    "source",
    [
        "no/such/file.gml",
        "graph [ directed 1 node [ id 0 ",
        "digraph { a -> ",
        "digraph { a -> b } digraph { c -> d }",
        "digraph { subgraph s { a b } subgraph s -> c }",
    ],
    ids=["no file", "GML", "DOT", "two graphs", "a subgraph mentioned again"],
)
def test_what_cannot_be_parsed_is_refused(source, capsys):
    with pytest.raises(GraphError) as caught:
        CausalGraph.of(source)
    assert caught.value.code == "GRAPH_PARSE"


def hidden(how):
    digraph = nx.DiGraph([("U", "a"), ("U", "b"), ("a", "b")])
    digraph.nodes["U"]["observed"] = "no"
    return {
        "networkx": digraph,
        "GML": "\n".join(nx.generate_gml(digraph)),
        "DOT": 'digraph { U [observed="no"]; U -> a; U -> b; a -> b }',
        "dowhy": SimpleNamespace(_graph=SimpleNamespace(_graph=digraph)),
    }[how]


@pytest.mark.parametrize("how", ["networkx", "GML", "DOT", "dowhy"])
def test_hidden_nodes_are_left_out_and_said(how):
    with pytest.warns(EquieffortWarning, match="'U'") as caught:
        graph = CausalGraph.of(hidden(how))
    assert [entry.message.code for entry in caught] == ["GRAPH_UNOBSERVED"]
    assert (graph.nodes, graph.edges) == (("a", "b"), (("a", "b"),))


def test_nodes_no_edge_mentions():
    graph = CausalGraph.of([("a", "b")], nodes=["z", "a"])
    assert set(graph.nodes) == {"a", "b", "z"}
    assert graph.parents("z") == graph.descendants("z") == graph.ancestors("z") == ()
    # One name, not its letters.
    assert set(CausalGraph.of([], nodes="age").nodes) == {"age"}
    assert CausalGraph.of([]).nodes == ()


def test_the_source_is_not_touched():
    digraph = nx.DiGraph([("U", "a"), ("a", "b")])
    digraph.nodes["U"]["observed"] = "no"
    before = nx.DiGraph(digraph)
    with pytest.warns(EquieffortWarning):
        CausalGraph.of(digraph, nodes=["z"])
    assert nx.utils.graphs_equal(digraph, before)


def test_immutable_hashable_equal():
    graph, again = CausalGraph.of(EDGES), CausalGraph.of(list(EDGES))
    graph.parents("amount")  # a cached answer must not make it another graph
    assert graph == again
    assert hash(graph) == hash(again)
    assert {graph: 1}[again] == 1
    assert graph != CausalGraph.of(EDGES[:-1], nodes=["duration"])
    assert pickle.loads(pickle.dumps(graph)) == graph
    for name in ("nodes", "edges"):
        with pytest.raises(FrozenInstanceError):
            setattr(graph, name, ())
    assert isinstance(graph.nodes, tuple)
    assert isinstance(graph.edges, tuple)


def test_repeated_and_reordered_edges_are_the_same_graph():
    assert CausalGraph.of([("a", "b"), ("b", "c"), ("a", "b")]) == CausalGraph.of([("a", "b"), ("b", "c")])
    assert CausalGraph.of([("b", "c"), ("a", "b")], nodes=()) == CausalGraph.of([("a", "b"), ("b", "c")])


def test_equality_does_not_ask_how_it_was_written():
    one, two = CausalGraph.of([("a", "c"), ("b", "d")]), CausalGraph.of({"a": ["c"], "b": ["d"]})
    assert one == two
    assert hash(one) == hash(two)
    assert one != "a -> c, b -> d"


def test_order_does_not_depend_on_hashing():
    """A set of edges has another order in each process; the result must not."""
    code = (
        "from equieffort.world.graph import CausalGraph\n"
        "print(CausalGraph.of({('a', 'c'), ('b', 'c'), ('d', 'e'), ('f', 'g'), ('h', 'a')}).nodes)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(found) == 1


def test_to_dict_is_json():
    graph = CausalGraph.of(EDGES)
    held = json.loads(json.dumps(graph.to_dict()))
    assert CausalGraph(tuple(held["nodes"]), tuple(map(tuple, held["edges"]))) == graph


def test_public_name():
    assert ee.CausalGraph is CausalGraph


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a -> b [dir=both]", "dir=both"),
        ('a -> b [dir="both", label="x"]', "dir=both"),
        ("a -> b [dir=back]", "dir=back"),
        ("a -> b [dir=none]", "dir=none"),
        ("a -> b -> c [dir=both]", "The edge a -> b"),
        ("a -> {b c} [dir=back]", "dir=back"),
        ("a -> b [arrowhead=none]", "arrowhead=none"),
        ("edge [dir=both] a -> b", "Edges are drawn with dir=both"),
        ("c -> a subgraph s {edge [dir=back] a -> b}", "dir=back"),
        ("a -- b", "written with --"),
        ("a <-> b", "<->"),
    ],
)
def test_edges_of_dot_that_are_not_one_arrow_are_refused(text, says, capsys):
    with pytest.raises(GraphError) as caught:
        CausalGraph.of(f"digraph {{ {text} }}")
    assert says in caught.value.what
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("a -> b [dir=forward]", [("a", "b")]),
        ('a -> b [label="-- not an edge --"] /* a -- c */', [("a", "b")]),
        ("a:n -> b:port:s", [("a", "b")]),
        ("a -> b -> c", [("a", "b"), ("b", "c")]),
        ("a -> {b c}", [("a", "b"), ("a", "c")]),
        ("subgraph x {a -> b} subgraph y {c -> d} b -> c", [("a", "b"), ("b", "c"), ("c", "d")]),
        ("a -> b; a -> b", [("a", "b")]),
    ],
)
def test_edges_of_dot_that_are_arrows(text, edges):
    assert list(CausalGraph.of(f"digraph {{ {text} }}").edges) == edges


def test_dot_that_cannot_be_read_says_where_and_prints_nothing(capsys):
    with pytest.raises(GraphError, match="col:13"):
        CausalGraph.of("digraph { a <- b }")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "graph",
    [
        nx.MultiDiGraph([("a", "b", {"dir": "both"})]),
        nx.DiGraph([("a", "b", {"dir": "back"})]),
        'graph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 dir "both" ] ]',
        'graph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "b" ] '
        'edge [ source 0 target 1 graphics [ arrow "both" ] ] ]',
    ],
)
def test_edges_of_networkx_and_gml_with_two_heads_are_refused(graph):
    with pytest.raises(GraphError, match="not one arrow"):
        CausalGraph.of(graph)


def test_edges_that_are_there_twice_are_one_edge():
    assert CausalGraph.of(nx.MultiDiGraph([("a", "b"), ("a", "b")])).edges == (("a", "b"),)
