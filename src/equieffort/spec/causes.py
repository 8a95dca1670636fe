"""What causes what and by which equations: the causal model that a spec declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pandas as pd

from equieffort.errors import closest, listed, sentence
from equieffort.spec.forms import DEFAULT
from equieffort.spec.nodes import Items, Node, Place, Scalar, Table, plain
from equieffort.spec.parsed import Parsed, placed
from equieffort.world.graph import CausalGraph
from equieffort.world.scm import (
    CumulativeLogit,
    Learner,
    LeastSquares,
    Linear,
    Ordinal,
    Polynomial,
    Product,
    Ratio,
    Regressor,
    Spline,
    Terms,
)

LEARNERS: dict[str, Callable[..., Learner]] = {
    "linear": LeastSquares,
    "polynomial": Polynomial,
    "spline": Spline,
}
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


def read_causes(given: Parsed) -> Causes:
    """The graph, its equations, and how the others are learned."""
    said = given["graph"]
    if isinstance(said, list):
        said = {"edges": said, "path": None, "nodes": None, "default": DEFAULT.alone("linear"), "equations": None}
    with placed(given.find("graph", "path"), "graph"):
        source = given.folder / said["path"] if said["path"] is not None else [tuple(e) for e in said["edges"]]
        try:
            graph = CausalGraph.of(source, said["nodes"])
        except (OSError, UnicodeDecodeError) as error:
            raise given.refuse(
                "graph.path", f"cannot be read: {sentence(error)}", "Check the file; save it as UTF-8."
            ) from None
    edges = list(graph.edges) if said["path"] is not None else [(cause, effect) for cause, effect in said["edges"]]
    linked = {name for edge in edges for name in edge}
    alone = [name for name in graph.nodes if name not in linked]
    equations = {name: _equation(given, graph, name, one) for name, one in (said["equations"] or {}).items()}
    return Causes(list(dict.fromkeys(edges)), alone, equations, _learner(given, said["default"]))


def _equation(given: Parsed, graph: CausalGraph, name: str, said: dict[str, Any]) -> Any:
    """The mechanism of one column, whose causes are in the graph."""
    where = f"graph.equations.{name}"
    _check_caused(given, graph, name)
    node = given.find("graph", "equations", name)
    for key, cause, at in _causes_named(node):
        if cause not in graph.parents(name):
            raise at.error(
                "SCM_MECHANISM",
                f"{where}.{key} names {cause!r}, which the graph does not name among its causes. "
                f"{closest(cause, graph.parents(name))}".rstrip(),
                f"Its causes are {listed(graph.parents(name))}; add the edge to the graph or remove this.",
            )
    absent = [cause for cause in graph.parents(name) if said.get("coef") is not None and cause not in said["coef"]]
    if absent:
        raise given.find(*where.split(".", 2), "coef").at.error(
            "SCM_MECHANISM",
            f"{where}.coef has no number for {listed(absent)}, which the graph names among its causes.",
            "Give a number for each cause, 0 for one without effect, or remove the edge from the graph.",
        )
    with placed(node, where):
        return _given(given, where, said) or _learner(given, said)


def _check_caused(given: Parsed, graph: CausalGraph, name: str) -> None:
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


def _causes_named(node: Node) -> Iterator[tuple[str, str, Place]]:
    """The causes that an equation names: under which key, and where."""
    if not isinstance(node, Table):
        return
    for key in ("coef", "about", "numerator", "denominator", "causes"):
        inner = node.values.get(key)
        if isinstance(inner, Table):
            yield from ((key, cause, at) for cause, at in inner.keys.items())
        elif key not in ("coef", "about") and inner is not None:
            named = inner.items if isinstance(inner, Items) else (inner,)
            yield from ((key, str(cause.value), cause.at) for cause in named if isinstance(cause, Scalar))
    terms = node.values.get("terms")
    for term in terms.items if isinstance(terms, Items) else ():
        for key in ("powers", "levels"):
            inner = term.find(key)
            if isinstance(inner, Table) and inner is not term:
                yield from (("terms", cause, at) for cause, at in inner.keys.items())


def _given(given: Parsed, where: str, said: dict[str, Any]) -> Any:
    """An equation that is written down, or learned for levels alone; None for what learns equations of numbers."""
    kind = said["kind"]
    if kind == "terms":
        terms = [(term["coef"], term["powers"] or {}, term["levels"] or {}) for term in said["terms"]]
        return Terms(terms, said["intercept"], said["about"] or {})
    if kind == "ratio":
        return Ratio(said["numerator"], said["denominator"], said["scale"])
    if kind == "product":
        return Product(said["causes"], said["scale"])
    if kind == "ordinal":
        return Ordinal(said["order"], said["penalty"])
    if kind == "cumulative_logit":
        return CumulativeLogit(said["coef"], said["cuts"], said["order"])
    if kind == "linear":
        _check_intercept(given, where, said)
        return None if said["coef"] is None else Linear(said["coef"], said["intercept"] or 0.0)
    return None


def _check_intercept(given: Parsed, where: str, said: dict[str, Any]) -> None:
    learned, intercept = said["coef"] is None, said["intercept"]
    if intercept is None or learned == isinstance(intercept, bool):
        return
    what, fix = "is true or false, but the equation is given.", "Write the number, or leave it out for 0."
    if learned:
        what = "is a number, but the equation is learned."
        fix = "Write intercept: false for none, or give the equation by coef."
    raise given.find(*where.split(".", 2), "intercept").at.error("SPEC_VALUE", f"{where}.intercept {what}", fix)


def _learner(given: Parsed, said: dict[str, Any]) -> Learner:
    """What learns an equation of numbers."""
    rest = {key: value for key, value in said.items() if key not in ("kind", "coef") and value is not None}
    if said["kind"] in LEARNERS:
        return LEARNERS[said["kind"]](**rest)
    module, name = ESTIMATORS[said["kind"]]
    estimator = getattr(import_module(f"sklearn.{module}"), name)
    return Regressor(estimator(**rest, random_state=given["random_state"]))


def with_levels(mechanisms: Mapping[str, Any], table: pd.DataFrame) -> dict[str, Any]:
    """The equations with the levels of categories as they stand in the table: a key of YAML is always a text.

    >>> known = with_levels({"income": Linear({"region": {"1": 2.0}})}, pd.DataFrame({"region": [0, 1]}))
    >>> known["income"]
    Linear(coef={'region': {1: 2.0}}, intercept=0.0)
    """
    found = dict(mechanisms)
    for name, mechanism in mechanisms.items():
        if isinstance(mechanism, Linear | CumulativeLogit):
            coef = dict(mechanism.coef)
            for cause, numbers in coef.items():
                if isinstance(numbers, Mapping) and cause in table.columns:
                    coef[cause] = {_level(level, table[cause]): value for level, value in numbers.items()}
            found[name] = replace(mechanism, coef=coef)
    return found


def _level(written: str, column: pd.Series) -> Any:
    """The value of a column that is written so; the text itself if there is none."""
    values = [value.item() if hasattr(value, "item") else value for value in column.dropna().unique()]
    if written in values:
        return written
    for value in values:
        if isinstance(value, bool):
            same = str(value).lower() == written.lower()
        else:
            same = isinstance(value, int | float) and value == plain(written)[0]
        if same:
            return value
    return written
