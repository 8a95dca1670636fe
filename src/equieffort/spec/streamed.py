"""A spec whose people stay in Parquet files: `equieffort audit SPEC -o OUT --memory 2GiB`."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace
from time import perf_counter
from typing import cast

from equieffort.data.parquet import Parquet, ParquetTable
from equieffort.errors import ParameterError, collecting
from equieffort.foundations.progress import Watched, watcher
from equieffort.foundations.workers import crew
from equieffort.models.fidelity import RecordedDecisions
from equieffort.models.files.loaders import read_model
from equieffort.models.surrogate import recorded_decisions
from equieffort.recourse.part_source import PartsSource
from equieffort.recourse.table import RecourseTable
from equieffort.results.auditing import audit
from equieffort.results.audits import Audit
from equieffort.results.provenance import DataFile, ModelFile
from equieffort.results.streaming import MOST_ROWS, Streaming, look
from equieffort.spec import Spec
from equieffort.spec.estimates import Estimate, estimate_of
from equieffort.spec.learning import file_hash
from equieffort.spec.runs import held_to_the_record, in_its_words, placed_problem, tell_perfect
from equieffort.spec.validate_data import placed, placed_equations
from equieffort.words.problems import reworded, spec_words
from equieffort.world.giveaways import FIRST
from equieffort.world.scm import StructuralCausalModel


def check_streamed(spec: Spec) -> None:
    """Refuse what a spec asks for that needs everybody in memory."""
    asked = {
        "model.train": spec.model.train is not None,
        "graph.data": spec.equations_data is not None,
        "data.missing": spec.data.missing != "error",
        "matching": spec.matching is not None,
        "alternatives": spec.alternatives > 1,
    }
    for key, is_there in asked.items():
        if is_there:
            raise ParameterError(
                "SPEC_VALUE",
                f"With --memory people are never all in memory, and {key} needs that.",
                fix="Leave --memory out; or give a saved model, equations that are declared or learned from the people "
                "themselves, and a table in which nothing is missing.",
            )


def run_streamed(
    spec: Spec,
    streaming: Streaming,
    *,
    progress: Watched = None,
    command: str = "",
    unsafe_load_pickle: bool = False,
    executor: Executor | None = None,
    n_jobs: int | None = None,
) -> Audit:
    """The audit that a spec describes, of people in a Parquet file, a folder or a pattern."""
    check_streamed(spec)
    assert spec.model.path is not None
    with spec_words(), placed_problem(spec):
        file = ModelFile(spec.model.path.name, file_hash(spec.model.path), spec.model.trusted)
        classifier, kept = read_model(
            spec.model.path, unsafe_load_pickle=unsafe_load_pickle, trusted=list(spec.model.trusted)
        )
        source = Parquet(spec.data.path)
        if spec.label is not None:
            with placed(spec, "outcome", "column"):
                source.open().require([spec.label])
        with collecting() as told_of_it:
            if kept is not None:
                spec = in_its_words(spec, kept)
                tell_perfect(kept.measured)
        scm = _causal_model(spec)
        done = audit(
            classifier, source, schema=spec.schema, scm=scm, cost=spec.cost, model_features=spec.model.features or None,
            solver=spec.solver, neighbourhood=spec.neighbourhood, criteria=spec.criteria, subgroups=spec.subgroups,
            progress=progress, executor=executor, n_jobs=n_jobs, streaming=streaming,
        )  # fmt: skip
        people = cast("PartsSource", done.recourse.source).people
        assert people is not None
        recorded = surrogate = None
        with collecting() as told_after:
            if kept is not None:
                recorded = _record(spec, people, done.recourse)
                stated = kept.held_against(spec.schema.sensitive_columns, spec.min_agreement, spec.min_refusal_recall)
                surrogate = held_to_the_record(stated, done.recourse, recorded)
    solver = done.provenance.solver
    provenance = replace(
        done.provenance,
        title=spec.title,
        data=DataFile(spec.data.path.name, people.digest, len(people)),
        spec=spec.text,
        suppress_below=spec.suppress_below,
        letters=spec.letters,
        random_state=spec.random_state,
        command=command,
        solver=replace(solver, audience="spec"),
        model=file,
        surrogate=surrogate,
        recorded=recorded,
    )
    every = sorted((*told_of_it, *done.warnings, *told_after), key=lambda one: one.code not in FIRST)
    told = [reworded(warning) for warning in every]
    table = replace(done.recourse, audience="spec")
    return replace(done, recourse=table, provenance=provenance, warnings=tuple(told))


def estimate_streamed(
    spec: Spec,
    streaming: Streaming,
    *,
    progress: Watched = None,
    unsafe_load_pickle: bool = False,
    executor: Executor | None = None,
    n_jobs: int | None = None,
) -> Estimate:
    """What `run_streamed` would be, after its first pass: everything it would refuse, and about how long it takes."""
    check_streamed(spec)
    assert spec.model.path is not None
    began = perf_counter()
    with spec_words(), placed_problem(spec):
        classifier, kept = read_model(
            spec.model.path, unsafe_load_pickle=unsafe_load_pickle, trusted=list(spec.model.trusted)
        )
        if spec.label is not None:
            with placed(spec, "outcome", "column"):
                Parquet(spec.data.path).open().require([spec.label])
        spec = spec if kept is None else in_its_words(spec, kept)
        workers, scm = crew(executor, n_jobs), _causal_model(spec)
        looked = look(
            classifier, Parquet(spec.data.path), streaming, workers, subgroups=spec.subgroups, solver=spec.solver,
            watching=watcher(progress), schema=spec.schema, scm=scm, cost=spec.cost, reference=None,
            model_features=spec.model.features or None, missing="error", margin=0.0,
        )  # fmt: skip
        return estimate_of(looked, perf_counter() - began, 1 if workers is None else workers.size)


def _causal_model(spec: Spec) -> StructuralCausalModel:
    """The causal model that a spec declares, not yet learned."""
    nodes = {*spec.nodes, *(name for edge in spec.edges for name in edge)}
    categorical = [name for name, kind in spec.schema.kinds.items() if kind == "categorical" and name in nodes]
    with placed_equations(spec):
        return StructuralCausalModel(
            spec.edges, nodes=spec.nodes, mechanisms=spec.mechanisms, default=spec.default, categorical=categorical
        )


def _record(spec: Spec, files: ParquetTable, table: RecourseTable) -> RecordedDecisions | None:
    """For whom a kept surrogate decides otherwise than the record, and of whom there is none, by row group."""
    if spec.label is None or spec.label not in files.columns:
        return None
    differs: list[int] = []
    unknown: list[int] = []
    refuses = table.is_unfavourable
    for group in files.groups:
        for start, people in group.batches([spec.label], MOST_ROWS):
            refused = refuses[start : start + len(people)]
            found = recorded_decisions(people[spec.label], people.index, refused, spec.declared_favourable)
            assert found is not None
            differs += [start + at for at in found.differs]
            unknown += [start + at for at in found.unknown]
    return RecordedDecisions(tuple(differs), tuple(unknown))
