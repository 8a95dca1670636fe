"""Ask DoWhy for counterfactuals on linear causal models and write them down as a test fixture.

The package computes counterfactuals by adding differences: x'_j = x_j + f_j(pa'_j) - f_j(pa_j). DoWhy goes
Pearl's three steps: it recovers the noise of every node, acts, and predicts forward. It is another code base,
too, that fits the models itself. Agreement of the two is therefore evidence, and the fixture lets the tests
look for it without DoWhy being installed. Run by ``make oracle``.

How the interventions are put to DoWhy
--------------------------------------
The fixture knows two kinds: ``set`` (the same value for everybody) and ``shift`` (the person's factual value
plus an amount; an amount of 0 *holds* the node at its factual value). DoWhy takes one function for all rows:

* ``set`` is a function that ignores what it is given;
* ``shift`` is ``x -> x + amount``, but only where no ancestor of the node is intervened on. DoWhy hands the
  function the value *after* the effect of interventions upstream, not the factual one, so under an intervened
  ancestor ``x -> x`` would hold nothing (`check_what_an_intervention_sees` pins that down). There every
  person is asked about alone, with a function that returns that person's constant.

The field ``asked`` of a query says which way was taken.
"""

from __future__ import annotations

import json
import logging
import platform
import warnings
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dowhy
import networkx as nx
import numpy as np
import pandas as pd
from dowhy import gcm

FIXTURE = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "dowhy_counterfactuals.json"
SEED = 20240517
ROWS = 200
PEOPLE = 10
DECIMALS = 6
TOLERANCE = 1e-9

Interventions = dict[str, dict[str, Any]]


@dataclass
class Case:
    """A true linear model to draw data from, and the questions to ask of the fitted one."""

    name: str
    about: str
    edges: list[tuple[str, str]]
    queries: dict[str, Interventions]
    # What is not given here is drawn at random: {node: (intercept, {parent: coefficient}, noise scale)}.
    equations: dict[str, tuple[float, dict[str, float], float]] = field(default_factory=dict)
    binary: tuple[str, ...] = ()
    columns: list[str] | None = None


def to(value: float) -> dict[str, Any]:
    return {"kind": "set", "value": float(value)}


def by(amount: float) -> dict[str, Any]:
    return {"kind": "shift", "amount": float(amount)}


HOLD = by(0.0)


# ----------------------------------------------------------------------------------------------------
# The cases
# ----------------------------------------------------------------------------------------------------


def named_cases() -> list[Case]:
    return [
        Case(
            "chain",
            "three nodes in a row; the names are not in causal order",
            [("c", "a"), ("a", "b")],
            {
                "root set": {"c": to(2.5)},
                "root shifted": {"c": by(-1.25)},
                "sink set": {"b": to(0.75)},
            },
        ),
        Case(
            "chain_middle",
            "four nodes in a row, acted on in the middle: what is upstream must not move",
            [("x1", "x2"), ("x2", "x3"), ("x3", "x4")],
            {
                "middle set": {"x2": to(-1.0)},
                "middle shifted": {"x3": by(2.0)},
                "root set, middle held": {"x1": to(4.0), "x2": HOLD},
                "middle held and nothing else": {"x3": HOLD},
            },
        ),
        Case(
            "fork",
            "one cause of three effects",
            [("root", "left"), ("root", "middle"), ("root", "right")],
            {
                "root shifted": {"root": by(1.5)},
                "one effect set": {"middle": to(3.0)},
                "root set, one effect held": {"root": to(-2.0), "right": HOLD},
            },
        ),
        Case(
            "collider",
            "two causes of one effect: acting on one must leave the other alone",
            [("a", "c"), ("b", "c")],
            {
                "one cause set": {"a": to(1.0)},
                "both causes at once": {"a": by(0.5), "b": to(-3.0)},
                "the effect set": {"c": to(0.0)},
            },
        ),
        Case(
            "diamond",
            "two paths of opposite sign and a direct effect",
            [("s", "u"), ("s", "v"), ("u", "t"), ("v", "t"), ("s", "t")],
            {
                "all paths": {"s": by(1.0)},
                "one path cut": {"s": by(1.0), "u": HOLD},
                "both indirect paths cut": {"s": by(1.0), "u": HOLD, "v": HOLD},
            },
            equations={
                "u": (0.3, {"s": 1.7}, 0.8),
                "v": (-2.0, {"s": -0.9}, 0.5),
                "t": (5.0, {"u": 1.1, "v": 2.1, "s": -0.4}, 1.0),
            },
        ),
        Case(
            "german_credit_shape",
            "sex (a number, 0 or 1) and age cause the amount, which causes the duration; scales far apart",
            [("sex", "amount"), ("age", "amount"), ("amount", "duration")],
            {
                "amount set": {"amount": to(2500.0)},
                "amount shifted": {"amount": by(-750.0)},
                "sex set to 1": {"sex": to(1.0)},
                "amount and duration at once": {"amount": by(-1000.0), "duration": to(24.0)},
                "amount shifted, duration held": {"amount": by(-1000.0), "duration": HOLD},
            },
            equations={
                "age": (36.0, {}, 11.0),
                "amount": (2100.0, {"sex": 540.0, "age": 18.5}, 900.0),
                "duration": (7.5, {"amount": 0.0041}, 6.0),
            },
            binary=("sex",),
            columns=["age", "duration", "sex", "amount"],
        ),
    ]


def random_case(index: int, n_nodes: int, rng: np.random.Generator) -> Case:
    """A random acyclic graph with a path order[0] -> order[2] -> order[-1] to ask about."""
    # Shuffled names, so that neither the alphabet nor the order of the columns is a causal order.
    order = [f"n{i}" for i in rng.permutation(n_nodes)]
    parents: dict[str, set[str]] = {order[2]: {order[0]}, order[-1]: {order[1], order[2]}}
    for position in range(2, n_nodes):
        chosen = parents.setdefault(order[position], set())
        chosen |= {p for p in order[:position] if rng.random() < 0.45}
        if not chosen:
            chosen.add(order[int(rng.integers(position))])
    edges = [(p, node) for node in order[2:] for p in order if p in parents[node]]
    edges = [edges[i] for i in rng.permutation(len(edges))]
    root, other, middle, sink = order[0], order[1], order[2], order[-1]
    queries = {
        "root shifted": {root: by(1.5)},
        "middle set": {middle: to(-0.5)},
        "two at once": {other: by(-2.0), middle: to(1.25)},
        "root set, middle held": {root: to(3.0), middle: HOLD},
        "two shifts on one path": {root: by(1.5), middle: by(-0.7)},
    }
    if n_nodes == 6:
        queries["three at once"] = {root: to(0.0), other: by(0.25), sink: by(1.0)}
    if n_nodes == 7:
        queries["every node set"] = {node: to(i - 2.5) for i, node in enumerate(sorted(order))}
    return Case(
        f"random_{index}_{n_nodes}_nodes",
        "a random acyclic graph with random coefficients",
        edges,
        queries,
        columns=[order[i] for i in rng.permutation(n_nodes)],
    )


def draw(case: Case, n: int, equations: dict[str, Any], rng: np.random.Generator) -> pd.DataFrame:
    """Draw from the true model, rounded before anything is fitted: the fixture's numbers are the data."""
    graph = nx.DiGraph(case.edges)
    drawn: dict[str, np.ndarray] = {}
    for node in nx.lexicographical_topological_sort(graph):
        if node in case.binary:
            drawn[node] = rng.integers(0, 2, size=n).astype(float)
            continue
        intercept, coefficients, scale = equations[node]
        value = intercept + scale * rng.normal(size=n)
        for parent, coefficient in coefficients.items():
            value = value + coefficient * drawn[parent]
        drawn[node] = np.round(value, DECIMALS)
    return pd.DataFrame({column: drawn[column] for column in case.columns or list(drawn)})


def random_equations(case: Case, rng: np.random.Generator) -> dict[str, Any]:
    graph = nx.DiGraph(case.edges)
    equations: dict[str, Any] = {}
    for node in sorted(graph):
        # Away from zero, so that a dropped edge or a wrong sign cannot hide within the tolerance.
        sizes = rng.uniform(0.3, 2.0, size=graph.in_degree(node))
        signs = rng.choice([-1.0, 1.0], size=sizes.size)
        coefficients = dict(zip(sorted(graph.predecessors(node)), (sizes * signs).tolist(), strict=True))
        equations[node] = (float(rng.uniform(-4, 4)), coefficients, float(rng.uniform(0.5, 1.5)))
    return equations | case.equations


# ----------------------------------------------------------------------------------------------------
# DoWhy
# ----------------------------------------------------------------------------------------------------


def fit(edges: list[tuple[str, str]], data: pd.DataFrame) -> gcm.InvertibleStructuralCausalModel:
    graph = nx.DiGraph(edges)
    model = gcm.InvertibleStructuralCausalModel(graph)
    for node in graph:
        if graph.in_degree(node):
            model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor()))
        else:
            model.set_causal_mechanism(node, gcm.EmpiricalDistribution())
    gcm.fit(model, data)
    return model


def fitted_equations(model: gcm.InvertibleStructuralCausalModel) -> dict[str, dict[str, Any]]:
    """The intercept and the coefficients of every node that has parents, as DoWhy's regressor holds them."""
    equations = {}
    for node in sorted(model.graph):
        if model.graph.in_degree(node):
            regressor = model.causal_mechanism(node).prediction_model.sklearn_model
            # DoWhy feeds the parents to the regressor in the order it noted when fitting.
            parents = model.graph.nodes[node]["parents_during_fit"]
            equations[node] = {
                "intercept": float(regressor.intercept_),
                "coef": dict(zip(parents, map(float, regressor.coef_), strict=True)),
            }
    return equations


def ask(
    model: gcm.InvertibleStructuralCausalModel, people: pd.DataFrame, interventions: Interventions
) -> tuple[str, pd.DataFrame]:
    """DoWhy's counterfactuals of all people, and the way it was asked (see the top of this file)."""
    downstream = any(
        action["kind"] == "shift" and nx.ancestors(model.graph, node) & interventions.keys()
        for node, action in interventions.items()
    )
    if not downstream:
        functions = {
            node: (lambda _, value=action["value"]: value)
            if action["kind"] == "set"
            else (lambda x, amount=action["amount"]: x + amount)
            for node, action in interventions.items()
        }
        answer = gcm.counterfactual_samples(model, functions, observed_data=people)
        return "one function for all", answer[people.columns]

    answers = []
    for i in range(len(people)):
        person = people.iloc[[i]]
        wanted = wanted_values(person, interventions)
        functions = {node: (lambda _, value=float(values[0]): value) for node, values in wanted.items()}
        answers.append(gcm.counterfactual_samples(model, functions, observed_data=person))
    return "one call a person", pd.concat(answers, ignore_index=True)[people.columns]


def wanted_values(people: pd.DataFrame, interventions: Interventions) -> dict[str, np.ndarray]:
    return {
        node: np.full(len(people), action["value"])
        if action["kind"] == "set"
        else people[node].to_numpy() + action["amount"]
        for node, action in interventions.items()
    }


# ----------------------------------------------------------------------------------------------------
# Checks, so that a fixture that contradicts itself is never written
# ----------------------------------------------------------------------------------------------------


def check_fit(edges: list[tuple[str, str]], data: pd.DataFrame, equations: dict[str, Any]) -> None:
    """Plain least squares on the same columns must find what DoWhy found."""
    graph = nx.DiGraph(edges)
    assert set(equations) == {node for node in graph if graph.in_degree(node)}
    for node, equation in equations.items():
        parents = list(equation["coef"])
        assert set(parents) == set(graph.predecessors(node))
        design = np.column_stack([np.ones(len(data)), data[parents]])
        found, _, rank, _ = np.linalg.lstsq(design, data[node].to_numpy(), rcond=None)
        assert rank == design.shape[1], f"{node}: collinear parents have no single answer to compare"
        held = np.array([equation["intercept"], *equation["coef"].values()])
        np.testing.assert_allclose(held, found, rtol=TOLERANCE, atol=TOLERANCE)


def check_query(
    edges: list[tuple[str, str]],
    equations: dict[str, Any],
    people: pd.DataFrame,
    interventions: Interventions,
    answer: pd.DataFrame,
) -> None:
    """Differences, added along the graph, must give what DoWhy's abduction, action and prediction gave."""
    graph = nx.DiGraph(edges)
    wanted = wanted_values(people, interventions)
    expected: dict[str, np.ndarray] = {}
    for node in nx.topological_sort(graph):
        value = people[node].to_numpy()
        for parent, coefficient in equations.get(node, {"coef": {}})["coef"].items():
            value = value + coefficient * (expected[parent] - people[parent].to_numpy())
        expected[node] = wanted.get(node, value)
        np.testing.assert_allclose(answer[node], expected[node], rtol=TOLERANCE, atol=TOLERANCE)


def check_what_an_intervention_sees() -> None:
    """An intervention is given the value after upstream effects: the reason for asking one by one."""
    rng = np.random.default_rng(SEED)
    a = rng.normal(size=50)
    data = pd.DataFrame({"a": a, "b": 2 * a + rng.normal(size=50)})
    model = fit([("a", "b")], data)
    alone = gcm.counterfactual_samples(model, {"a": lambda x: x + 1}, observed_data=data)
    with_b = gcm.counterfactual_samples(model, {"a": lambda x: x + 1, "b": lambda x: x}, observed_data=data)
    np.testing.assert_array_equal(alone["b"], with_b["b"])
    assert np.all(np.abs(with_b["b"] - data["b"]) > 1)


# ----------------------------------------------------------------------------------------------------
# The graphs DoWhy keeps
# ----------------------------------------------------------------------------------------------------


def type_name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def plain(value: object) -> Any:
    """An attribute as JSON can hold it: an object, such as a mechanism, becomes the name of its type."""
    if isinstance(value, str | int | float | bool | list) or value is None:
        return value
    return type_name(value)


def describe(graph: nx.DiGraph) -> dict[str, Any]:
    return {
        "type": type_name(graph),
        "nodes": [[v, {k: plain(a) for k, a in attributes.items()}] for v, attributes in graph.nodes(data=True)],
        "edges": [[u, v, {k: plain(a) for k, a in attributes.items()}] for u, v, attributes in graph.edges(data=True)],
    }


def dowhy_graphs(data: pd.DataFrame, edges: list[tuple[str, str]]) -> dict[str, Any]:
    """Where DoWhy's models keep their graph and what is on it, however the graph was given."""
    hidden = [("U", "amount"), ("U", "duration")]
    nodes = list(nx.DiGraph(edges + hidden))
    gml = " ".join(
        [
            "graph [ directed 1",
            *(f'node [ id "{v}" label "{v}" ]' for v in nodes),
            *(f'edge [ source "{u}" target "{v}" ]' for u, v in edges + hidden),
            "]",
        ]
    )
    # "age" is declared unobserved although the data have it: DoWhy goes by the data.
    dot = "digraph { U [observed=no]; age [observed=no]; "
    dot += " ".join(f'"{u}" -> "{v}";' for u, v in edges + hidden) + " }"
    fitted = fit(edges, data)
    ways: dict[str, dict[str, Any]] = {
        "a networkx graph": {"graph": nx.DiGraph(edges)},
        "a networkx graph with a hidden node": {"graph": nx.DiGraph(edges + hidden)},
        "a gml string with a hidden node": {"graph": gml},
        "a dot string with a hidden node": {"graph": dot},
        "a fitted gcm model": {"graph": fitted},
        "names of common causes only": {"common_causes": ["age", "sex"]},
    }
    models = []
    for way, arguments in ways.items():
        model = dowhy.CausalModel(data, treatment="amount", outcome="duration", **arguments)
        # There is no public accessor; this is the place to look at when DoWhy changes.
        models.append({"given": way, **describe(model._graph._graph)})
        if "graph" in arguments:
            kept = {(u, v) for u, v, _ in models[-1]["edges"]}
            assert kept == set(edges) | (set(hidden) if "hidden" in way else set()), way

    gcm_models = []
    for kind in (
        gcm.ProbabilisticCausalModel,
        gcm.StructuralCausalModel,
        gcm.InvertibleStructuralCausalModel,
    ):
        given = nx.DiGraph(edges)
        model = kind(given)
        gcm_models.append({"class": type_name(model), "graph_is_the_one_given": model.graph is given})
        gcm_models[-1] |= {"fitted": False, **describe(model.graph)}
    gcm_models.append({"class": type_name(fitted), "fitted": True, **describe(fitted.graph)})
    return {
        "causal_model": {
            "class": type_name(model := dowhy.CausalModel(data, "amount", "duration", graph=nx.DiGraph(edges))),
            "path": "_graph._graph",
            "wrapper": type_name(model._graph),
            "models": models,
        },
        "gcm": {"path": "graph", "models": gcm_models},
    }


# ----------------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------------


def columns(frame: pd.DataFrame) -> dict[str, list[float]]:
    return {column: [float(v) for v in frame[column]] for column in frame.columns}


def dump(value: Any, depth: int = 0) -> str:
    """JSON with a line for each column of numbers: small, yet a changed column is a changed line."""
    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, dict) and len(flat := json.dumps(value, allow_nan=False)) > 100:
        lines = (f"{json.dumps(k)}: {dump(v, depth + 1)}" for k, v in value.items())
        return "{\n" + ",\n".join(inner + line for line in lines) + f"\n{outer}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(inner + dump(v, depth + 1) for v in value) + f"\n{outer}]"
    if isinstance(value, dict):
        return flat
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def answer_case(index: int, case: Case) -> tuple[dict[str, Any], pd.DataFrame]:
    rng = np.random.default_rng([SEED, index])
    truth = random_equations(case, rng)
    data = draw(case, ROWS, truth, rng)
    people = draw(case, PEOPLE, truth, rng)
    model = fit(case.edges, data)
    equations = fitted_equations(model)
    check_fit(case.edges, data, equations)
    queries = []
    for name, interventions in case.queries.items():
        asked, answer = ask(model, people, interventions)
        check_query(case.edges, equations, people, interventions, answer)
        queries.append(
            {"name": name, "interventions": interventions, "asked": asked, "counterfactuals": columns(answer)}
        )
    return {
        "name": case.name,
        "about": case.about,
        "edges": [list(edge) for edge in case.edges],
        "data": columns(data),
        "equations": equations,
        "people": columns(people),
        "queries": queries,
    }, data


def main() -> None:
    gcm.config.disable_progress_bars()
    # DoWhy announces at length what it could not find in the data; the hidden node is there on purpose.
    logging.disable(logging.ERROR)
    warnings.filterwarnings("ignore", message=".*assumed unobserved.*")
    check_what_an_intervention_sees()

    cases = named_cases()
    cases += [random_case(i, n, np.random.default_rng([SEED, 1000 + i])) for i, n in enumerate((5, 6, 7, 7))]
    answered = []
    graphs: dict[str, Any] = {}
    for index, case in enumerate(cases):
        entry, data = answer_case(index, case)
        answered.append(entry)
        if case.name == "german_credit_shape":
            graphs = dowhy_graphs(data, case.edges)

    packages = ("dowhy", "scipy", "numpy", "scikit-learn", "pandas", "networkx")
    content = {
        "made_by": "tools/oracle/dowhy_counterfactuals.py",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
        "seed": SEED,
        "cases": answered,
        "dowhy_graph": graphs,
    }
    text = dump(content) + "\n"
    # What is read back must be what was computed, to the last bit.
    assert json.loads(text) == content
    FIXTURE.parent.mkdir(parents=True, exist_ok=True)
    FIXTURE.write_text(text, encoding="utf-8")
    n_queries = sum(len(entry["queries"]) for entry in answered)
    print(f"{FIXTURE.name}: {len(answered)} models, {n_queries} questions, {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
