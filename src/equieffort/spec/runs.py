"""From a spec to an audit: reads the data, loads or trains the model, checks everything, solves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import percent
from equieffort.data.inputs import read_table, warn_similar_labels
from equieffort.data.regular import read_regular
from equieffort.errors import DataError, EquieffortWarning, ParameterError, collecting, warn
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.progress import Watched, watcher
from equieffort.models import fidelity
from equieffort.models.classifiers import known_features
from equieffort.models.files.kept import Kept
from equieffort.models.files.loaders import read_model
from equieffort.models.surrogate import Surrogate, compared, recorded_decisions
from equieffort.recourse.checkpoints import Checkpoint
from equieffort.recourse.solvers import Auto
from equieffort.recourse.table import RecourseTable
from equieffort.results.auditing import audit
from equieffort.results.audits import Audit
from equieffort.results.explanation import Recorded
from equieffort.results.provenance import DataFile, ModelFile
from equieffort.results.resampling import Equations, Procedure, Resampling
from equieffort.spec import Spec
from equieffort.spec.causes import with_levels
from equieffort.spec.learning import (
    Trained,
    decided_people,
    equations_table,
    file_hash,
    read_own,
    require,
    train,
    whole,
)
from equieffort.spec.nodes import MOST_CHARACTERS
from equieffort.spec.validate_data import (
    check_table,
    joined,
    placed,
    placed_equations,
    placed_features,
    placed_labels,
    said,
)
from equieffort.words.problems import reworded, spec_words
from equieffort.world.giveaways import FIRST
from equieffort.world.graph import CausalGraph
from equieffort.world.scm import StructuralCausalModel

FILL_IN = "FILL_IN"
"""What `equieffort init` writes where only a person can know the answer."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Tells nobody."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything an audit needs, checked as far as it can be without solving."""

    spec: Spec
    people: pd.DataFrame
    classifier: Any
    scm: StructuralCausalModel
    trained: Trained | None
    source: DataFile
    everybody: pd.DataFrame
    """The sensitive columns of everybody in the table, also of those who leave the audit."""
    warnings: tuple[EquieffortWarning, ...]
    truth: pd.Series | None = None
    """Whether what truly became of people is what they want, where the spec names it; empty where it is not known."""
    decisions: pd.Series | None = None
    """What was decided of them, where that is recorded and a surrogate decides anew."""
    learned_from: Mapping[str, DataFile] = field(default_factory=dict)
    """Tables of their own that the equations and a surrogate were learned from, by their key in the spec."""
    model_file: ModelFile | None = None
    """The saved model."""
    kept: Kept | None = None
    """What it says of itself, if it is a surrogate that an earlier audit trained."""

    @property
    def hashes(self) -> dict[str, str]:
        """Of the files and the spec that a run belongs to."""
        files = {"the data": self.source.sha256, "the spec": hashlib.sha256(self.spec.text.encode()).hexdigest()}
        if self.model_file is not None:
            files["the model"] = self.model_file.sha256
        return files | {key: file.sha256 for key, file in self.learned_from.items()}

    @property
    def surrogate(self) -> Surrogate | None:
        """The surrogate, if one was trained."""
        return None if self.trained is None else self.trained.surrogate

    def truth_of(self, people: pd.Index) -> pd.Series | None:
        """The truth about some people, as plain truth values where it is known of all of them."""
        if self.truth is None:
            return None
        found = self.truth.loc[people] if self.truth.index.is_unique else self.truth
        return found.astype(bool) if found.notna().all() else found

    @property
    def measured(self) -> fidelity.Surrogate | None:
        """How far the surrogate repeats the decisions, if one was trained here or by the audit that kept it."""
        spec = self.spec
        if self.kept is not None:
            columns = spec.schema.sensitive_columns
            return self.kept.held_against(columns, spec.min_agreement, spec.min_refusal_recall)
        if self.surrogate is None:
            return None
        return self.surrogate.measured(spec.schema.favourable, spec.min_agreement, spec.min_refusal_recall)

    def recorded(self, table: RecourseTable) -> fidelity.RecordedDecisions | None:
        """For whom the surrogate decides otherwise than the data."""
        if self.decisions is None:
            return None
        return recorded_decisions(self.decisions, table.index, table.is_unfavourable, self.spec.declared_favourable)

    @property
    def to_keep(self) -> Kept | None:
        """The facts that a surrogate takes along."""
        measured, spec = self.measured, self.spec
        if measured is None:
            return None
        return Kept.of(
            measured, spec.schema.sensitive_columns, spec.schema.favourable, spec.declared_favourable,
            elsewhere=spec.model.data is not None,
        )  # fmt: skip

    @property
    def reference(self) -> pd.DataFrame | None:
        """Where scales and limits come from: from the people audited, also where equations are learned elsewhere."""
        spec = self.spec
        if spec.equations_data is None:
            return None
        numbers = [name for name in spec.schema.actionable if pd.api.types.is_numeric_dtype(self.people[name].dtype)]
        return self.people if spec.data.missing == "error" else self.people[whole(self.people, numbers)]

    @property
    def arguments(self) -> dict[str, Any]:
        """What of the spec every solving of people takes, beside the model and the people."""
        spec = self.spec
        return {
            "schema": spec.schema, "scm": self.scm, "cost": spec.cost, "model_features": spec.model.features or None,
            "missing": spec.data.missing, "reference": self.reference,
        }  # fmt: skip


def prepare(spec: Spec, *, progress: Watched = None, unsafe_load_pickle: bool = False) -> Prepared:
    """Read the data, get the model, fit the structural equations."""
    check_instance("spec", spec, Spec, "what ee.read_spec(path) gives", fix="Give ee.read_spec(path).")
    progress = watcher(progress) or silent
    with spec_words(), collecting() as kept:
        progress("reading the data", 0, 1)
        with placed(spec, "data", "id", code="DATA_MISSING_COLUMN"), placed(spec, "data", "path", code="DATA_FILE"):
            digest, table = file_hash(spec.data.path), read_table(spec.data)
        source = DataFile(spec.data.path.name, digest, len(table))
        table = joined(spec, table)
        progress("reading the data", 1, 1, f"{len(table):,} rows")
        check_table(spec, table)
        for name in spec.schema.sensitive_columns:
            warn_similar_labels(table[name])
        everybody = table[list(spec.schema.sensitive_columns)]
        trained, model_file, decisions, kept_surrogate = None, None, None, None
        if spec.model.train is not None:
            if spec.data.missing == "drop" and spec.model.data is None:
                table = decided_people(spec, table)
            progress("training the surrogate", 0, 1)
            trained = train(spec, table)
            decisions = table[spec.label] if spec.label in table.columns else None
            spec = replace(
                spec, schema=replace(spec.schema, favourable=trained.favourable), wanted=spec.schema.favourable
            )
            classifier = trained.surrogate.classifier
            progress("training the surrogate", 1, 1, f"{percent(trained.surrogate.agreement)} agreement")
            tell_perfect(trained.surrogate.measured(trained.favourable, 0, 0))
        else:
            assert spec.model.path is not None
            with placed(spec, "model", "path", code="MODEL_FILE"):
                model_file = ModelFile(spec.model.path.name, file_hash(spec.model.path), spec.model.trusted)
                classifier, kept_surrogate = read_model(
                    spec.model.path, unsafe_load_pickle=unsafe_load_pickle, trusted=list(spec.model.trusted)
                )
            if kept_surrogate is not None:
                spec = in_its_words(spec, kept_surrogate)
                if spec.label in table.columns:
                    # As in the audit that trained it: whoever it could not learn from leaves.
                    leave = spec.data.missing == "drop" and not kept_surrogate.elsewhere
                    table = decided_people(spec, table) if leave and table[spec.label].notna().any() else table
                    decisions = table[spec.label]
                tell_perfect(kept_surrogate.measured)
        people = spec.people(table)
        scm, equations_file = causal_model(spec, people)
    truth = None if spec.truth is None else favourable_truth(spec, table[spec.truth])
    tables = {"graph.data": equations_file, "model.data": None if trained is None else trained.file}
    learned_from = {key: file for key, file in tables.items() if file is not None}
    return Prepared(
        spec,
        people,
        classifier,
        scm,
        trained,
        source,
        everybody,
        tuple(kept),
        truth,
        decisions,
        learned_from,
        model_file,
        kept_surrogate,
    )


def in_its_words(spec: Spec, kept: Kept) -> Spec:
    """The spec with what a kept surrogate calls the decision people want; the record keeps its own words."""
    if not kept.is_wanted(spec.schema.favourable):
        return spec
    wanted = list(kept.wanted) if len(kept.wanted) > 1 else kept.wanted[0]
    return replace(spec, schema=replace(spec.schema, favourable=kept.favourable), wanted=wanted)


def favourable_truth(spec: Spec, truth: pd.Series) -> pd.Series:
    """Whether what became of people is what they want, in the words of the decisions."""
    wanted = spec.declared_favourable
    found = truth.isin(wanted if isinstance(wanted, list) else [wanted])
    return found if truth.notna().all() else found.astype(object).where(truth.notna())


def tell_perfect(surrogate: fidelity.Surrogate) -> None:
    """Warn of a surrogate that repeats every decision."""
    if surrogate.agreement == 1 and surrogate.refusals is not None:
        warn(
            "SURROGATE_PERFECT",
            f"The surrogate repeats all {surrogate.refusals.n:,} decisions, also of people it was not trained on.",
            fix="Look for a feature that was written down after the decision. If a simple rule decides, all is well.",
        )


def causal_model(spec: Spec, people: pd.DataFrame) -> tuple[StructuralCausalModel, DataFile | None]:
    """The causal model of the spec, its equations learned from these people as far as they are not given, or from a
    table of their own."""
    nodes = CausalGraph.of(spec.edges, spec.nodes).nodes
    learned, file = equations_table(spec, people, nodes)
    categorical = [name for name, kind in spec.schema.kinds.items() if kind == "categorical" and name in nodes]
    mechanisms = with_levels(spec.mechanisms, people)
    with spec_words(), placed_equations(spec):
        scm = StructuralCausalModel(
            spec.edges, nodes=spec.nodes, mechanisms=mechanisms, default=spec.default, categorical=categorical
        )
        return scm.fit(learned), file


@contextmanager
def placed_problem(spec: Spec) -> Iterator[None]:
    """A solver that does not fit, and a decision that no model makes, are refused where the spec names them."""
    with placed(spec, "outcome", "favourable", code="MODEL_LABELS"), placed_labels(spec), placed_features(spec):
        if isinstance(spec.solver, Auto) or not said(spec, "solver"):
            yield
            return
        with (
            placed(spec, "solver", code="MODEL_NOT_LINEAR", fix="Write solver: auto, or leave it out."),
            placed(
                spec,
                "solver",
                code="PROBLEM_TOO_MANY_INTERVENTIONS",
                fix="Write solver: auto, or make some mutable.",
            ),
        ):
            yield


def run_spec(spec: Spec, *, progress: Watched = None, unsafe_load_pickle: bool = False, command: str = "") -> Audit:
    """The audit that a spec describes.

    Its provenance says in addition how the data, the spec and a surrogate entered; `progress` is told how far the work
    is; `command` is kept as the way to do it again.
    """
    ready = prepare(spec, progress=progress, unsafe_load_pickle=unsafe_load_pickle)
    with working(spec) as workers:
        return run_prepared(ready, progress=progress, command=command, **workers)


@contextmanager
def working(spec: Spec, jobs: int | None = None, dask: str | None = None) -> Iterator[dict[str, Any]]:
    """Who solves people, as `audit` takes it: what is said here, or else in the spec."""
    if jobs is None and dask is None:
        jobs, dask = spec.jobs, spec.dask
    if dask is None:
        yield {"n_jobs": jobs}
        return
    from equieffort.foundations.cluster import dask_executor

    with dask_executor(dask) as executor:
        yield {"executor": executor}


def run_prepared(
    prepared: Prepared,
    *,
    progress: Watched = None,
    command: str = "",
    executor: Executor | None = None,
    n_jobs: int | None = None,
    checkpoint: Checkpoint | None = None,
) -> Audit:
    """Solve what was prepared; who does it and what is kept meanwhile are as `audit` takes them."""
    spec = prepared.spec
    with spec_words(), placed_problem(spec):
        done = audit(
            prepared.classifier, prepared.people, solver=spec.solver, neighbourhood=spec.neighbourhood,
            matching=spec.matching, criteria=spec.criteria, subgroups=spec.subgroups, progress=progress,
            executor=executor, n_jobs=n_jobs, checkpoint=checkpoint, **prepared.arguments,
        )  # fmt: skip
    _check_unchanged(prepared)
    people, solver = done.recourse, done.provenance.solver
    recorded = prepared.recorded(people)
    with collecting() as told_of_it:
        surrogate = prepared.measured
        if prepared.kept is not None and surrogate is not None:
            surrogate = held_to_the_record(surrogate, people, recorded)
    provenance = replace(
        done.provenance,
        title=spec.title,
        data=prepared.source,
        spec=spec.text,
        suppress_below=spec.suppress_below,
        letters=spec.letters,
        random_state=spec.random_state,
        command=command,
        solver=replace(solver, audience="spec"),
        learned_from=prepared.learned_from,
        model=prepared.model_file,
        surrogate=surrogate,
        recorded=recorded,
        left=done.provenance.left.beside(
            prepared.everybody.index[~prepared.everybody.index.isin(prepared.people.index)]
        ),
    )
    every = sorted((*prepared.warnings, *done.warnings, *told_of_it), key=lambda warning: warning.code not in FIRST)
    told = [reworded(warning) for warning in every]
    table = replace(people, audience="spec")
    found = replace(
        done, recourse=table, provenance=provenance, warnings=tuple({(w.code, w.what): w for w in told}.values())
    )
    if spec.alternatives == 1:
        return found
    telling = watcher(progress) or silent
    telling("finding alternatives", 0, 1)
    found = found.with_alternatives(spec.alternatives)
    telling("finding alternatives", 1, 1)
    return found


def held_to_the_record(
    stated: fidelity.Surrogate, table: RecourseTable, recorded: fidelity.RecordedDecisions | None
) -> fidelity.Surrogate:
    """How far a kept surrogate repeats the decisions; what its file says is not believed against the record."""
    known = None if recorded is None else Recorded.of(table, recorded)
    if not stated.by_group:
        warn(
            "SURROGATE_AGREEMENT",
            "How often the surrogate agrees in the groups compared was not measured when it was trained: it was "
            "measured in other groups. What is counted of people whose decision is recorded may flatter it, since it "
            "perhaps learned from them.",
            fix="Train the surrogate again with these groups.",
        )
    if known is None or not known.n:
        return stated
    mine = known.is_known
    labels = np.array(table.groups.labels, dtype=object)[table.groups.codes]
    found = compared(stated, ~known.is_favourable[mine], table.is_unfavourable[mine], labels[mine])
    if stated.by_group and found is not stated:
        said_here = f"{percent(stated.agreement)} of decisions it has not seen"
        warn(
            "SURROGATE_AGREEMENT",
            f"The file says that the surrogate repeats {said_here}. Of the people audited here it repeats "
            f"{percent(found.agreement)}: overall, in a group or among refusals fewer than chance explains. What was "
            "counted here is what the verdict goes by.",
            fix="Train the surrogate again on decisions like these, or find out whose decisions it learned.",
        )
    return found


def _check_unchanged(prepared: Prepared) -> None:
    """Refuse what was read from a file that somebody has written to since."""
    spec = prepared.spec
    sources = {"graph.data": spec.equations_data, "model.data": spec.model.data}
    read = [(spec.data, prepared.source), *((sources[key], file) for key, file in prepared.learned_from.items())]
    for source, file in read:
        if source is not None and file_hash(source.path) != file.sha256:
            raise DataError(
                "RUN_CHANGED",
                f"{source.path.name!r} changed while it was being audited.",
                fix="Run the audit again once nothing writes to the file.",
            )


def resampling(prepared: Prepared, chance: str, replicates: int) -> Resampling:
    """The source of chance that was asked for at the command line."""
    spec = prepared.spec
    seed = spec.random_state or 0
    if chance == "equations":
        return Equations(replicates, seed)
    if prepared.trained is not None:
        return Procedure(prepared.trained.people, prepared.trained.surrogate.decisions, replicates, seed)
    if spec.model.data is None or spec.model.label is None:
        raise ParameterError(
            "PARAMETER",
            "A saved model can be trained again only on what it was trained on, and the spec does not name that.",
            fix="Give model: {data: FILE, label: COLUMN}, or --resample equations.",
        )
    seen = list(known_features(prepared.classifier, spec.model.features or None))
    with spec_words(), placed(spec, "model", "data"):
        table, _ = read_own(spec.model.data)
        require(table, [*seen, spec.model.label], spec.model.data, "the model was trained on it")
    return Procedure(table[seen], table[spec.model.label], replicates, seed)


def unfilled(text: str) -> list[str]:
    """The places that `equieffort init` left for a person to fill in, as "line N: ..." of a spec's text.

    >>> unfilled("sensitive:\\n  column: FILL_IN   # which?\\n# FILL_IN\\n")
    ['line 2 (column)']
    """
    found = []
    for n, line in enumerate(text.splitlines(), start=1):
        content = line.split(" #")[0]
        if FILL_IN in content and not content.lstrip().startswith("#"):
            found.append(f"line {n} ({content.split(':')[0].strip()})")
    return found


def check_filled(path: Path) -> None:
    """Refuse a spec in which questions are still open."""
    try:
        text = read_regular(path, 4 * MOST_CHARACTERS).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return  # read_spec says what is wrong with the file itself
    if open_places := unfilled(text):
        raise ParameterError(
            "SPEC_UNFILLED",
            f"{path.name!r} still says {FILL_IN} in {', '.join(open_places[:12])}"
            f"{f' and {len(open_places) - 12} more' if len(open_places) > 12 else ''}.",
            fix="Write your answers there: the comments beside them say what is asked.",
        )
