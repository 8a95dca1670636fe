"""audit() wires the line: inputs are checked, people are solved, and what came of it becomes an `Audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, cast

import numpy as np

from equieffort.data.frames import Bools, Missing, row_dicts
from equieffort.data.parquet import Parquet
from equieffort.effort.criteria import Criteria
from equieffort.effort.matching import Matching
from equieffort.effort.measures import MEASURES, Measure
from equieffort.effort.metrics import pooled_budget
from equieffort.effort.neighbours import Everyone, Nearest, NearestK, Neighbourhood, check_neighbourhood
from equieffort.errors import ParameterError, collecting, warn
from equieffort.foundations.arguments import check_instance, items_in, refused
from equieffort.foundations.log import stage
from equieffort.foundations.progress import Watched, watcher
from equieffort.recourse.alternatives import check_alternatives
from equieffort.recourse.checkpoints import Checkpoint
from equieffort.recourse.part_source import PartsSource
from equieffort.recourse.solvers import Auto, Solver
from equieffort.recourse.solving import solve
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable
from equieffort.results.audits import Audit
from equieffort.results.inputs import AuditInputs, Declared
from equieffort.results.matched import check_matching
from equieffort.results.provenance import CostRecord, EndedByClock, LeftOut, Provenance, SolverUsed, kind_of, versions
from equieffort.results.streaming import Streaming, stream
from equieffort.world.cost import Cost
from equieffort.world.distances import BoundDistance, Distance
from equieffort.world.giveaways import FIRST, copies
from equieffort.world.graph import CausalGraph
from equieffort.world.schema import Schema
from equieffort.world.scm import StructuralCausalModel
from equieffort.world.scm.diagnostics import Fit
from equieffort.world.scm.edges_alone import is_edges


def audit(
    classifier: Any,
    X: Any,
    *,
    schema: Schema,
    scm: StructuralCausalModel | Sequence[tuple[str, str]] | CausalGraph,
    sensitive_features: Any = None,
    model_features: Sequence[str] | None = None,
    cost: Cost | None = None,
    solver: Solver | Auto | None = None,
    neighbourhood: Neighbourhood | None = None,
    matching: Matching | None = None,
    criteria: Criteria | None = None,
    measures: Sequence[Measure] = (),
    subgroups: Mapping[str, str] | None = None,
    reference: Any = None,
    missing: Missing = "error",
    margin: float = 0.0,
    alternatives: int = 1,
    progress: Watched = None,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    checkpoint: Checkpoint | None = None,
    streaming: Streaming | None = None,
) -> Audit:
    """Must some groups work harder than others to turn a "no" into a "yes"?

    Parameters
    ----------
    classifier
        A fitted classifier; it gets exactly its `feature_names_in_`, in that order.
    X
        The people: a pandas, polars or pyarrow table. Columns the classifier does not see are allowed.
    schema
        Roles, limits, the protected groups and the favourable label.
    scm
        The structural causal model; one that is not fitted learns its equations from the audited people. Edges alone,
        as pairs (cause, effect) or a `CausalGraph`, get linear equations fitted to X, which is said wherever the result
        is told; ``[]`` means that nothing follows anything.
    sensitive_features
        The sensitive column(s), if they are not in X.
    model_features
        The classifier's columns in its order, when it was fitted without names.
    cost
        `WeightedL1()` by default.
    solver
        Chosen by `Auto()` by default.
    neighbourhood
        What `individual` uses by default: `Everyone()`, `Nearest(quantile)`, `NearestK(k)`.
    matching
        How `matched` and the report match refused people with refused people like them; by default the report does not.
    criteria
        The thresholds of the verdict, which measures it rests on, and how sure it must be.
    measures
        Measures of your own, shown wherever the others are; see `equieffort.effort.measures.Measure`.
    subgroups
        Names and rules of subgroups, as `Audit.subgroup` takes them: checked before anything is solved, and kept for
        reports. The columns they name count as used.
    reference
        The data that cost scales and undeclared limits come from; by default what the causal model was fitted on.
    missing
        "error", "drop" or "model".
    margin
        Extra distance from the boundary that an action must reach, in units of the score.
    alternatives
        How many ways of each refused person to keep, which change different features; as `Audit.with_alternatives`.
    progress
        True for a bar, False for none, or a function, called as progress("solving", done, total, note) while people
        are solved. By default a bar in notebooks.
    executor
        Who solves people: any `concurrent.futures.Executor`, such as threads, processes, or a Dask cluster's
        `Client.get_executor()`. The audit is the same to the bit (docs/scale.md).
    n_jobs
        Short for so many processes on this machine; -1 is one a processor.
    checkpoint
        `ee.Checkpoint(folder)` keeps finished parts, and goes on from them with `resume=True`.
    streaming
        `ee.Streaming(folder, memory="2GiB")` where X is an `ee.Parquet(...)`: people are never all in memory, and what
        they can do is written as Parquet parts into the folder (docs/scale.md).

    Returns
    -------
    An `Audit`: `verdict`, `by_group`, `individual`, `subgroup`, `curve`, `recourse`, `explain`, `save`.
    """
    watching = watcher(progress)
    check_neighbourhood(neighbourhood, optional=True)
    check_alternatives(alternatives)
    check_instance("criteria", criteria, Criteria, "an ee.Criteria(...)", optional=True)
    if matching is not None:
        check_matching(matching)
    own, asked = _own_measures(measures), criteria if criteria is not None else Criteria()
    declared = Declared(
        schema=schema, scm=cast("Any", scm), reference=reference, model_features=model_features, cost=cost,
        missing=missing, margin=margin,
    )  # fmt: skip
    near = neighbourhood if neighbourhood is not None else Everyone()
    distances: dict[Distance, BoundDistance] = {}
    with collecting() as kept:
        if isinstance(X, Parquet) or streaming is not None:
            beside = {"sensitive_features": sensitive_features, "checkpoint": checkpoint, "matching": matching}
            how = _checked_streaming(
                X, streaming, beside | {"alternatives": alternatives if alternatives > 1 else None}
            )
            inputs, table, looked_at = stream(
                classifier, X, how, subgroups=subgroups, solver=solver, criteria=asked, own=own, executor=executor,
                n_jobs=n_jobs, watching=watching, **declared,
            )  # fmt: skip
        else:
            with stage("Reading the inputs"):
                inputs = AuditInputs.of(
                    classifier, X, sensitive_features=sensitive_features, solver=solver, subgroups=subgroups, **declared
                )
            distances, looked_at = _bound(near, matching, inputs), np.arange(len(inputs.people.frame))
            table = solve(
                inputs.problem, inputs.people, solver=inputs.choice, missing=missing, progress=watching or False,
                executor=executor, n_jobs=n_jobs, checkpoint=checkpoint,
            )  # fmt: skip
        _warn_of_copies(inputs, table.status[looked_at] != Status.NOT_NEEDED)
    made = _provenance(inputs, table)
    found = Audit(
        table,
        asked,
        near,
        tuple(sorted((*inputs.problem.scm.warnings_, *kept), key=lambda w: w.code not in FIRST)),
        replace(made, subgroups=dict(subgroups or {}), edges_only=is_edges(scm), matching=matching),
        own,
        # What is asked again of those who were looked at would be about others than the audit.
        None if isinstance(table.source, PartsSource) else inputs,
        _distances=distances,
    )
    return found if alternatives == 1 else found.with_alternatives(alternatives)


def _bound(near: Neighbourhood, matching: Matching | None, inputs: AuditInputs) -> dict[Distance, BoundDistance]:
    """Distances over the people, bound before anybody is solved: what is refused is told at once, what is warned about
    is in the audit."""
    people, problem = inputs.people.frame, inputs.problem
    found: dict[Distance, BoundDistance] = {}
    if isinstance(near, Nearest | NearestK):
        found[near.distance] = near.distance.bind(people, problem.encoding, inputs.declared["schema"])
    if matching is not None:
        matching.check(people, problem.encoding, inputs.declared["schema"])
    return found


def _warn_of_copies(inputs: AuditInputs, is_unfavourable: Bools) -> None:
    """Say which columns that the model sees hold what it decides."""
    protected = inputs.declared["schema"].protected_columns
    seen = [name for name in inputs.problem.decision.features if name not in protected]
    for one in copies(inputs.people.frame, seen, is_unfavourable):
        warn(one.code, one.what, fix=one.fix)


def _provenance(inputs: AuditInputs, table: RecourseTable) -> Provenance:
    """How an audit was made, as far as its inputs and its table tell."""
    problem, cost, fitted = inputs.problem, inputs.declared.get("cost"), inputs.problem.scm
    return Provenance(
        versions=dict(versions()),
        classifier=kind_of(inputs.classifier),
        solver=SolverUsed.of(inputs.choice.solver, inputs.choice.grounds),
        graph=fitted.graph,
        equations=fitted.equation_records(),
        learned_by=fitted.learned_by(),
        fit=tuple(Fit(**row) for row in row_dicts(fitted.diagnostics_)),
        cost=CostRecord.of("WeightedL1" if cost is None else type(cost).__name__, problem.cost.to_dict()),
        outliers=tuple(problem.outliers),
        missing=inputs.declared.get("missing", "error"),
        margin=float(inputs.declared.get("margin", 0.0)),
        budget=pooled_budget(table),
        ended_by_clock=EndedByClock.of(table),
        # Of people in files only those looked at first were read here.
        left=LeftOut() if isinstance(table.source, PartsSource) else LeftOut.of(inputs.people.left),
    )


def _own_measures(measures: Any) -> tuple[Measure, ...]:
    """Measures of the caller's own, whose names are free."""
    given = items_in("measures", measures, "a list of measures")
    names = list(MEASURES)
    for one in given:
        check_instance("measures", one, Measure, "measures: objects of subclasses of ee.measures.Measure")
        name = getattr(one, "name", None)
        if not isinstance(name, str) or not name.isidentifier() or name in names:
            raise ParameterError(
                "PARAMETER",
                f"The measure {type(one).__name__} is called {name!r}, which is taken or no name.",
                fix="Give its class a name of its own in letters, digits and underscores.",
            )
        names.append(name)
    return tuple(given)


def _checked_streaming(X: Any, streaming: Any, beside: Mapping[str, Any]) -> Streaming:
    """Refuse what does not go together with people who are not in memory."""
    takes = 'an ee.Streaming(folder, memory="2GiB") where X is an ee.Parquet(...)'
    check_instance("streaming", streaming, Streaming, takes)
    check_instance("X", X, Parquet, "an ee.Parquet(...) where it is streamed")
    for name, value in beside.items():
        if value is not None:
            raise refused(name, value, "left out where X is streamed", fix="Leave it out.")
    return cast("Streaming", streaming)
