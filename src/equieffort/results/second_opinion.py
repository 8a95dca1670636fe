"""Another solver's answer for some people of an audit: the problem is built again from the file, model and data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Column, Encoding, Floats
from equieffort.errors import EquieffortWarning, ParameterError, listed
from equieffort.foundations.arguments import check_choice
from equieffort.foundations.tolerances import REPLAYED
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import (
    BranchAndBound,
    LinearExact,
    LinearSearch,
    Milp,
    Refusal,
    Search,
    Solver,
    SpatialBranchAndBound,
    Status,
)
from equieffort.recourse.solvers.max_actions import prepare
from equieffort.recourse.solving import solve
from equieffort.recourse.table import RecourseTable
from equieffort.replay.answers import Opinion, Opinions, Outcome
from equieffort.replay.equations import code_of
from equieffort.results.grid_opinion import Grid
from equieffort.results.provenance import CostRecord
from equieffort.words.choices import refusal_text
from equieffort.world.cost import BoundCost, Cost, LinearCost, Percentile
from equieffort.world.schema import Feature, Schema
from equieffort.world.scm import CumulativeLogit, Curves, Linear, Product, Ratio, StructuralCausalModel, Terms
from equieffort.world.scm.curves import Curve
from equieffort.world.scm.records import EquationRecord

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

Oracle = Literal[
    "milp", "branch_and_bound", "linear_exact", "linear_search", "spatial_branch_and_bound", "search", "grid"
]
SOLVERS: dict[str, type[Solver]] = {
    "milp": Milp, "branch_and_bound": BranchAndBound, "linear_exact": LinearExact, "linear_search": LinearSearch,
    "spatial_branch_and_bound": SpatialBranchAndBound, "search": Search,
}  # fmt: skip
ROUNDING = 1e-7
"""Of the cost of an ordinary change: costs that are no further apart are the same."""


def second_opinion(
    audit: Audit,
    classifier: Any,
    frame: pd.DataFrame,
    model_features: Sequence[str] | None,
    sample: int,
    oracle: Oracle | None,
    random_state: int,
    grid: Grid,
) -> Opinions:
    """Solve a sample again, evenly over the statuses, with another solver than the audit's; or lay a grid over it."""
    if oracle is not None:
        check_choice("oracle", oracle, get_args(Oracle))
    used = audit.provenance.solver.kind
    name = next((name for name, solver in SOLVERS.items() if solver.__name__ == used), used)
    gap = audit.provenance.solver.settings.get("gap", 0.0)
    gap = float(gap) if isinstance(gap, int | float) else 0.0
    if oracle == "grid":
        if grid.refusal:
            raise ParameterError(
                "VERIFY_ORACLE", f"No grid can be laid: {grid.refusal}.", fix="Leave the oracle out, or take another."
            )
        return _by_grid(audit, grid, _sampled(audit.recourse, sample, random_state), gap, name)
    if oracle is not None and SOLVERS[oracle].__name__ == used:
        others = [*(name for name, solver in SOLVERS.items() if solver.__name__ != used), "grid"]
        raise ParameterError(
            "VERIFY_ORACLE", f"The audit itself was solved by {name}.", fix=f"Choose another: {listed(others)}."
        )
    with warnings.catch_warnings():
        # Whatever there is to say of the inputs was said when they were audited.
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = rebuilt(audit, classifier, frame, model_features)
        solver = _fitting(problem, oracle, used)
        rows = _sampled(audit.recourse, sample, random_state)
        if oracle is None and isinstance(solver, Search) and not grid.refusal:
            return _by_grid(audit, grid, rows, gap, name)
        part = solve(problem, frame.iloc[rows].set_axis(rows), solver=solver, missing="drop", progress=False)
    room = max(gap, solver.gap, REPLAYED)
    unit = ROUNDING * problem.scaled.cost_unit
    places = {row: at for at, row in enumerate(part.index.tolist())}
    found = [_opinion(audit.recourse, row, part, places[row], room, unit) for row in rows.tolist() if row in places]
    by = next(known for known, kind in SOLVERS.items() if isinstance(solver, kind))
    return Opinions(by, name, tuple(found))


def _by_grid(audit: Audit, grid: Grid, rows: npt.NDArray[np.intp], gap: float, name: str) -> Opinions:
    """What a grid says of these people; costs that differ by no more than rounding are the same."""
    table, room = audit.recourse, max(gap, REPLAYED)
    costs = table.cost[np.isfinite(table.cost)]
    unit = ROUNDING * (float(np.median(costs)) if len(costs) else 1.0)
    return Opinions("grid", name, tuple(grid.opinion(table, row, room, unit) for row in rows.tolist()))


def _sampled(table: RecourseTable, sample: int, random_state: int) -> npt.NDArray[np.intp]:
    """Refused people without missing values, in turn from each status."""
    rng = np.random.default_rng(random_state)
    whole = ~np.isnan(table.source.facts(slice(None))).any(axis=1)
    piles = [rng.permutation(np.flatnonzero((table.status == s) & whole)).tolist() for s in Status if s]
    chosen: list[int] = []
    while len(chosen) < sample and any(piles):
        chosen += [pile.pop() for pile in piles if pile][: sample - len(chosen)]
    return np.sort(np.array(chosen, dtype=np.intp))


def _fitting(problem: RecourseProblem, oracle: Oracle | None, used: str) -> Solver:
    """The solver that was asked for, or the first of another kind that takes the problem."""
    refusals = []
    for name in [oracle] if oracle is not None else [name for name in SOLVERS if SOLVERS[name].__name__ != used]:
        solver = SOLVERS[name]()
        answer = prepare(solver, problem.scaled)
        if not isinstance(answer, Refusal):
            return solver
        refusals.append(f"{name}: {refusal_text(answer)}")
    raise ParameterError(
        "VERIFY_ORACLE",
        f"The sample cannot be solved again: {'; '.join(one.rstrip('.') for one in refusals)}.",
        fix="Leave the oracle out, so that one that fits is chosen, or the sample, so that actions alone are checked.",
    )


def _opinion(table: RecourseTable, row: int, part: RecourseTable, at: int, share: float, unit: float) -> Opinion:
    cost, bound, other_cost, other_bound = table.cost[row], table.bound[row], part.cost[at], part.bound[at]
    status, other = Status(table.status[row]), Status(part.status[at])
    below = bound * (1 - share) - unit
    outcome: Outcome = "unsettled"
    if (
        (part.has_action[at] and other_cost < below)
        or other == Status.NOT_NEEDED
        or (table.has_action[row] and other_bound > cost * (1 + share) + unit)
    ):
        outcome = "contradicted"
    elif (status == other) if status == Status.INFEASIBLE else (other_bound >= below):
        outcome = "confirmed"
    return Opinion(
        table.index[row],
        status.text,
        float(cost),
        float(bound),
        other.text,
        float(other_cost),
        float(other_bound),
        outcome,
    )


# -- the problem again -------------------------------------------------------------------------------------------------


def rebuilt(
    audit: Audit, classifier: Any, frame: pd.DataFrame, model_features: Sequence[str] | None = None
) -> RecourseProblem:
    """The audited problem from what the audit says: its equations, prices and limits, not what they were made from."""
    made, source = audit.provenance, audit.recourse.source
    cost = SavedCost(made.cost)
    if made.cost.kind not in ("WeightedL1", "Percentile"):
        raise _cannot("The cost is code, which no file holds")
    if made.cost.by_group is not None:
        raise _cannot("Effort is ranked within groups")
    live = {} if audit.inputs is None else audit.inputs.problem.scm.mechanisms_
    equations = {
        one.node: live.get(one.node) or mechanism_of(one, source.encoding)
        for one in made.equations
        if one.kind is not None
    }
    scm = StructuralCausalModel(made.graph, mechanisms=equations)
    schema = _with_declared(source.schema, source.encoding)
    joined = schema.spread.join(frame)
    whole = joined[list(source.encoding.names)].notna().all(axis=1)
    scm = scm.fitted_before(source.encoding, joined[whole])
    # Of the people audited those who lack a value know levels too.
    return RecourseProblem.of(
        classifier, frame, schema=schema, scm=scm, model_features=model_features, cost=cost, margin=made.margin,
        missing="model",
    )  # fmt: skip


def _cannot(what: str) -> ParameterError:
    return ParameterError(
        "VERIFY_ORACLE",
        f"{what}, so that nobody can be solved again from the file.",
        fix="Leave out the sample: actions are checked all the same.",
    )


def _with_declared(schema: Schema, encoding: Encoding) -> Schema:
    """The schema with observed ends as declared ones: they must not be observed again."""
    features: dict[str, Any] = {}
    for name in schema.features:
        feature = schema.feature(name)
        if feature.role == "actionable" and feature.observed is not None and encoding[name].kind != "binary":
            least, largest = feature.observed
            lower, upper = feature.lower if least is None else least, feature.upper if largest is None else largest
            feature = replace(feature, lower=lower, upper=upper)
        features[name] = _with_kind(replace(feature, observed=None), encoding[name])
    return replace(schema, features=features)


def _with_kind(feature: Feature, column: Column) -> Feature:
    return replace(feature, kind=column.kind) if feature.role == "actionable" else feature


def mechanism_of(record: EquationRecord, encoding: Encoding) -> Any:
    """The equation that a record was made from; levels, which it names by their text, as they are in the data."""
    parts, kind = record.parts, record.kind

    def levels(name: str, given: Any) -> Any:
        column = encoding[name]
        if not isinstance(given, Mapping):
            return given
        return {column.levels[code_of(column, level)]: value for level, value in given.items()}

    def coefs(given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: levels(name, value) for name, value in given.items()}

    if not parts or kind == "Fitted":
        what = "trees" if parts else "code"
        raise _cannot(f"The equation of {record.node!r} is {what}")
    if kind == "Linear":
        return Linear(coefs(parts["coef"]), parts["intercept"])
    if kind == "Terms":
        terms = [
            (coef, powers, {name: encoding[name].levels[code_of(encoding[name], at)] for name, at in met.items()})
            for coef, powers, met in parts["terms"]
        ]
        return Terms(terms, parts["intercept"], parts["about"])
    if kind == "Curves":
        curves = {name: _curve(saved) for name, saved in parts["curves"].items()}
        return Curves(curves, coefs(parts["levels"]), parts["intercept"])
    if kind == "Ratio":
        return Ratio(parts["numerator"], parts["denominator"], parts["scale"])
    if kind == "Product":
        return Product(parts["causes"], parts["scale"])
    order, column = parts["order"], encoding[record.node]
    if order is not None and column.is_category:
        order = [column.levels[code_of(column, level)] for level in order]
    return CumulativeLogit(coefs(parts["coef"]), parts["cuts"], order)


def _curve(saved: Mapping[str, Any]) -> Curve:
    return Curve(tuple(saved["breaks"]), tuple(saved["origins"]), tuple(tuple(row) for row in saved["coefs"]))


@dataclass(frozen=True)
class SavedCost(Cost):
    """The prices of an audit, whatever the reference data."""

    record: CostRecord

    def bind(self, names: Sequence[str], reference: Floats, weights: Floats) -> BoundCost:
        """The saved numbers."""
        record = self.record
        if record.prices is not None:
            pairs = np.array([record.prices[name] for name in names], dtype=np.float64).reshape(-1, 2)
            return LinearCost(tuple(names), pairs[:, 0].copy(), pairs[:, 1].copy(), record.own)
        assert record.percentiles is not None
        curves = [tuple(np.asarray(row, dtype=np.float64) for row in record.percentiles[name]) for name in names]
        return Percentile.from_curves(names, cast("Any", curves), weights)
