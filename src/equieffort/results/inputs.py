"""AuditInputs: what an audit is made from, read and checked once, and the solver that was chosen for it.

`audit()` goes on from here, and a dry run stops here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Required, TypedDict, Unpack

import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Missing, join_sensitive, read_frame
from equieffort.data.inputs import warn_similar_labels
from equieffort.errors import ParameterError, label, many, warn
from equieffort.foundations.arguments import check_mapping, names_in
from equieffort.models.classifiers import known_features
from equieffort.models.classifiers.naming import model_name
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem, check_parts
from equieffort.recourse.solvers import Auto, Choice, Solver
from equieffort.recourse.solving import check_solver, chosen_for
from equieffort.world.cost import Cost
from equieffort.world.giveaways import warn_giveaways
from equieffort.world.groups import Groups
from equieffort.world.rules import parse_rule
from equieffort.world.schema import Schema
from equieffort.world.scm import StructuralCausalModel
from equieffort.world.scm.edges_alone import is_edges, linear_model


class Declared(TypedDict, total=False):
    """What a problem is made from beside the classifier and the people, as `RecourseProblem.of` takes it."""

    schema: Required[Schema]
    scm: Required[StructuralCausalModel]
    model_features: Sequence[str] | None
    cost: Cost | None
    reference: Any
    missing: Missing
    margin: float


@dataclass(frozen=True, eq=False, repr=False)
class AuditInputs:
    """Model, people, problem and solver, checked against each other as far as that can be without solving."""

    classifier: Any
    table: pd.DataFrame
    """Everybody who was given, with the sensitive columns."""
    people: People
    """Those who are audited, and the problem that is solved for them."""
    choice: Choice
    solver: Solver | Auto | None
    """What was asked for; the choice is what came of it."""
    declared: Declared
    """As it was given: the schema of the problem has limits that were observed."""

    def __repr__(self) -> str:
        people = f"{len(self.people.frame):,} of {len(self.table):,} people"
        return f"AuditInputs({model_name(self.classifier)}, {people}, {self.choice.solver!r})"

    @classmethod
    def of(
        cls,
        classifier: Any,
        X: Any,
        *,
        sensitive_features: Any = None,
        solver: Solver | Auto | None = None,
        subgroups: Mapping[str, str] | None = None,
        **declared: Unpack[Declared],
    ) -> AuditInputs:
        """Read, join and screen the people, fix the problem, choose the solver. The arguments are those of `audit`."""
        check_solver(solver)
        schema, model_features = declared["schema"], declared.get("model_features")
        given: Any = declared["scm"]
        if model_features is not None:
            declared["model_features"] = model_features = names_in("model_features", model_features)
        if subgroups is not None:
            check_mapping("subgroups", subgroups, 'a mapping from name to rule, such as {"young": "age < 25"}')
        check_parts(schema, StructuralCausalModel([]) if is_edges(given) else given)
        if not schema.sensitive_columns:
            Groups.of(pd.DataFrame(), schema)
        whole = join_sensitive(read_frame(X, names=model_features), sensitive_features, schema.sensitive_columns)
        table = schema.spread.join(whole)
        if is_edges(given):
            declared["scm"] = linear_model(given, table, schema)
        scm = declared["scm"]
        rules, seen = list((subgroups or {}).values()), schema.spread.names(known_features(classifier, model_features))
        check_rules(rules, table)
        solved = {*schema.features, *schema.protected_columns, *scm.graph.nodes, *seen}
        for name in schema.sensitive_columns:
            if name in table.columns:
                warn_similar_labels(table[name])
        warn_giveaways(_without_asked(table, rules, solved), schema, seen)
        # The types of columns over which a category is spread are the model's to see.
        problem = RecourseProblem.of(classifier, _without_asked(whole, rules, solved), **declared)
        people = People.of(problem, table, missing=declared.get("missing", "error"))
        _warn_undefined(people)
        schema.names.check(table.columns, people.groups.labels)
        schema.names.check_levels(table, {column.name: column.levels for column in problem.encoding.columns})
        return cls(classifier, table, people, chosen_for(people.problem, solver), solver, declared)

    @property
    def problem(self) -> RecourseProblem:
        """What is solved."""
        return self.people.problem


def _warn_undefined(people: People) -> None:
    """Say which refused people an equation has no value for: no solver can do anything for them."""
    for node, whom in people.problem.undefined(people.problem.encoding.encode(people.frame)).items():
        left = people.frame[whom]
        left = left[~people.problem.decision.is_favourable(left)]
        if len(left):
            some = ", ".join(map(label, left.index[:5])) + (", ..." if len(left) > 5 else "")
            warn(
                "SCM_NO_VALUE",
                f"The equation of {node!r} divides by 0 for {many(len(left), 'refused person', 'refused people')} "
                f"({some}): their recourse stays unknown, whatever is solved.",
                fix="Correct the values it divides by, or leave these people out.",
            )


def require_inputs(inputs: AuditInputs | None, call: str) -> AuditInputs:
    """What an audit was made from; refuses one that was read from a file or streamed."""
    if inputs is None:
        raise ParameterError(
            "AUDIT_LOADED",
            "This audit was read from a file or streamed, and holds neither the model nor what its equations were "
            "learned from.",
            fix=f"Run ee.audit(...) with the model and people in memory (a sample of many), and call .{call} there.",
        )
    return inputs


def columns_of(frame: pd.DataFrame) -> dict[str, npt.NDArray[Any]]:
    """What a rule of a subgroup is asked about."""
    return {str(name): frame[name].to_numpy() for name in frame.columns}


def check_rules(rules: Iterable[str], frame: pd.DataFrame) -> None:
    """Find out before solving whether every rule of a subgroup can be read and asked."""
    parsed = [parse_rule(rule) for rule in rules]
    columns = columns_of(frame) if parsed else {}
    for rule in parsed:
        rule.evaluate(columns)


def _without_asked(frame: pd.DataFrame, rules: Iterable[str], solved: set[str]) -> pd.DataFrame:
    """The people without columns that only rules of subgroups name.

    Nothing is solved with these columns, but they are used: nobody need be warned about them.
    """
    asked = {name for rule in rules for name in parse_rule(rule).names} - solved
    return frame[[name for name in frame.columns if name not in asked]] if asked else frame
