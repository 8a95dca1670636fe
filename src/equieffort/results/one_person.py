"""find_recourse(): what one person can do, without a group to compare them with. A letter or a service asks this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import read_frame, require_columns
from equieffort.errors import DataError, ParameterError
from equieffort.foundations.arguments import names_in
from equieffort.models.classifiers import known_features
from equieffort.recourse.alternatives import check_alternatives, find_alternatives
from equieffort.recourse.problem import RecourseProblem, check_parts
from equieffort.recourse.solvers import Auto, Solver
from equieffort.recourse.solving import check_solver, solve
from equieffort.results.explanation import Explanation, explain
from equieffort.world.cost import Cost
from equieffort.world.graph import CausalGraph
from equieffort.world.schema import Schema
from equieffort.world.scm import StructuralCausalModel
from equieffort.world.scm.edges_alone import is_edges, linear_model


def find_recourse(
    classifier: Any,
    person: Any,
    *,
    schema: Schema,
    scm: StructuralCausalModel | Sequence[tuple[str, str]] | CausalGraph,
    cost: Cost | None = None,
    solver: Solver | Auto | None = None,
    reference: Any = None,
    model_features: Sequence[str] | None = None,
    margin: float = 0.0,
    alternatives: int = 1,
) -> Explanation:
    """The cheapest way of one person to turn the decision, and if asked further ways that change other features.

    Parameters
    ----------
    person
        One row of a table, a Series, or a mapping from column to value. The sensitive columns may be left out where
        neither the model, the graph nor a rule uses them. Of a category whose columns are one-hot encoded these, or its
        level.
    scm
        The fitted causal model; or what causes what, as pairs or a graph, to learn linear equations from `reference`.
    reference
        The data that scales, levels and undeclared limits come from; by default what the causal model was fitted on.
        They never come from the one person. Whoever lacks a number leaves them, which is said with a count.
    alternatives
        How many ways: the cheapest, then the cheapest that leaves at least one of its features unchanged, then the
        cheapest that leaves at least one feature of each of these unchanged, and so on. Each is certified as such, or
        says what is known of it.

    The other arguments are those of `audit`. `schema` needs no groups (``sensitive=None, protected=None``), and may
    limit how many features are changed (`max_actions`).

    Returns
    -------
    An `Explanation`: `status`, `cost`, `bound`, `actions` in real units, `follows`, `reason`, `alternatives` and
    `further`; print it, show it in a notebook, or take its `frame()` or `to_dict()`.

    >>> import pandas as pd
    >>> import equieffort as ee
    >>> known = pd.DataFrame({"sex": ["f", "m"] * 5, "income": range(10, 20), "debt": range(10)}, dtype=object)
    >>> known = known.astype({"income": float, "debt": float})
    >>> schema = ee.Schema(sensitive="sex", protected="f", favourable=True,
    ...                    features={"income": "actionable", "debt": "actionable"})
    >>> rule = ee.LinearScore({"income": 1.0, "debt": -1.0}, threshold=9.5)
    >>> scm = ee.StructuralCausalModel([], nodes=["income", "debt"]).fit(known)
    >>> print(ee.find_recourse(rule, {"income": 14.0, "debt": 5.0}, schema=schema, scm=scm, alternatives=3))
    This person: turns the decision at a cost of 0.05556; no cheaper action exists.
      1. set income from 14 to 14.5 (+0.5), cost 0.05556
    Way 2, at a cost of 0.05556; no cheaper way leaves a feature of way 1 as it is:
      1. set debt from 5 to 4.5 (-0.5), cost 0.05556
    There is no further way: every other one changes all the features of a way above.
    """
    check_alternatives(alternatives)
    check_solver(solver)
    check_parts(schema, StructuralCausalModel([]) if is_edges(scm) else scm)
    if model_features is not None:
        model_features = names_in("model_features", model_features)
    own = known_features(classifier, model_features)
    seen = schema.spread.names(own)
    given = None if reference is None else read_frame(reference, what="reference")
    joined = None if given is None else schema.spread.join(given)
    if isinstance(scm, StructuralCausalModel):
        known = scm
    elif joined is None:
        raise ParameterError(
            "PARAMETER",
            "Only what causes what is given, and there are no reference data: nothing says how, nor on which scale the "
            "changes of one person are measured.",
            fix="Pass reference=X, or a causal model that is fitted.",
        )
    else:
        known = linear_model(scm, joined, schema).fit(joined, missing="drop")
    used = dict.fromkeys((*schema.also_protected, *known.graph.nodes, *schema.features, *seen, *schema.rule_columns))
    table, label = _one_row(person, own)
    table = schema.spread.join(table)
    fitted = _joined(known.reference_, schema) if known.is_fitted else None
    people = _others(fitted, joined, list(used))
    require_columns(table, used, why="The person")
    # Who asks about one person need not say of which group they are, unless their recourse depends on it.
    named = [name for name in schema.sensitive_columns if name in table.columns and name in people.columns]
    idle = [name for name in schema.sensitive_columns if name not in (*used, *named)]
    columns = [*dict.fromkeys((*used, *named))]
    people, row = (_without_group(frame[columns], idle) for frame in (people, table))
    problem = RecourseProblem.of(
        classifier, people, schema=schema, scm=known, model_features=model_features, cost=cost, reference=given,
        margin=margin, missing="drop",
    )  # fmt: skip
    solved = solve(problem, _typed_as(row, people), solver=solver)
    further = find_alternatives(solved, np.array([0]), alternatives)
    found = explain(solved, 0, further=[(one, 0) for one in further])
    if known is not scm:
        guessed = tuple(node for node in known.graph.nodes if known.graph.parents(node))
        found = replace(found, guessed=guessed, labels=schema.names)
    return replace(found, person=label, group="" if idle or not schema.sensitive_columns else found.group)


def _one_row(person: Any, names: Sequence[str]) -> tuple[pd.DataFrame, Any]:
    """The person as a table of one row, and what they are called there, if anything."""
    if isinstance(person, pd.Series):
        return person.to_frame().T.set_axis([0]), person.name
    if isinstance(person, Mapping) and all(pd.api.types.is_scalar(value) for value in person.values()):
        return read_frame(pd.DataFrame([dict(person)]), what="person"), None
    table = read_frame(person, names=names, what="person")
    if len(table) != 1:
        raise DataError(
            "DATA_LENGTH",
            f"person holds {len(table):,} rows, and recourse is found for one person at a time.",
            fix="Give one of them, for instance X.iloc[[0]]; ee.solve(problem, X) answers for many.",
        )
    return table, table.index[0]


def _joined(fitted: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """What a causal model was fitted on, with one column for each category it holds spread over columns.

    A model that was saved or copied has let go of columns that are no nodes.
    """
    spread = schema.spread
    there = [name for name in spread.categories if set(spread.columns_of(name)) <= set(fitted.columns)]
    return spread.among(there).join(fitted)


def _others(fitted: pd.DataFrame | None, given: pd.DataFrame | None, used: list[str]) -> pd.DataFrame:
    """People from whom it is read what columns hold: those of the causal model, or the reference data."""
    tables = [table for table in (fitted, given) if table is not None]
    for table in tables:
        if set(used) <= set(table.columns):
            return table
    why = "The reference data" if given is not None else "What the causal model was fitted on"
    if not tables:
        raise ParameterError(
            "PARAMETER",
            "The causal model was not fitted, and there are no reference data: nothing says on which scale the changes "
            "of one person are measured.",
            fix="Call scm.fit(X) first, or pass reference=X.",
        )
    require_columns(tables[-1], used, why=why)
    raise AssertionError("a table that lacks nothing was returned")


def _without_group(frame: pd.DataFrame, idle: Sequence[str]) -> pd.DataFrame:
    """Sensitive columns that nobody named and nothing uses, the same for everybody."""
    return frame.assign(**dict.fromkeys(idle, "not asked")) if idle else frame


def _typed_as(row: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """The person in the types of the others, where that changes no value: what they are told must be what can be had.

    A whole number of a mapping, say, would otherwise be changed by whole numbers only.
    """
    found = {}
    for name in row.columns:
        try:
            cast = row[name].astype(known[name].dtype)
            is_same = bool((cast == row[name]).all())
        except (TypeError, ValueError):
            is_same = False
        found[name] = cast if is_same else row[name].infer_objects()
    return pd.DataFrame(found, index=row.index)
