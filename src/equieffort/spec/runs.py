"""From a spec to an audit: reads the data, loads or trains the model, checks everything, solves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, percent, require_columns
from equieffort.data.inputs import MOST_BYTES, read_table, warn_similar_labels
from equieffort.data.regular import check_regular, read_regular
from equieffort.errors import DataError, EquieffortWarning, ParameterError, collecting, listed, many, warn
from equieffort.foundations.arguments import check_instance
from equieffort.models import fidelity
from equieffort.models.classifiers import known_features
from equieffort.models.files import load_model
from equieffort.models.surrogate import Surrogate, train_surrogate
from equieffort.recourse.solvers import Auto, Solver
from equieffort.recourse.solving import Progress, check_progress
from equieffort.recourse.table import RecourseTable
from equieffort.results.audits import Audit, audit
from equieffort.results.explanation import assumed_text
from equieffort.results.inputs import AuditInputs
from equieffort.results.provenance import DataFile, SolverUsed
from equieffort.results.resampling import Equations, Procedure, Resampling
from equieffort.spec import Spec
from equieffort.spec.causes import with_levels
from equieffort.spec.nodes import MOST_CHARACTERS
from equieffort.spec.solving import solver_words
from equieffort.spec.validate_data import check_table, joined, placed, placed_equations, said
from equieffort.words.problems import reworded, spec_words
from equieffort.world.giveaways import FIRST
from equieffort.world.graph import CausalGraph
from equieffort.world.groups import Groups, group_name
from equieffort.world.schema import AssumedLimit
from equieffort.world.scm import StructuralCausalModel

CHOSEN = "Chosen in the spec."
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
    surrogate: Surrogate | None
    source: DataFile
    warnings: tuple[EquieffortWarning, ...]
    truth: pd.Series | None = None
    """What truly became of people, where the spec names it."""

    @property
    def measured(self) -> fidelity.Surrogate | None:
        """How far the surrogate repeats the decisions, if one was trained."""
        if self.surrogate is None:
            return None
        spec = self.spec
        return self.surrogate.measured(spec.schema.favourable, spec.min_agreement, spec.min_refusal_recall)

    def recorded(self, table: RecourseTable) -> fidelity.RecordedDecisions | None:
        """For whom the surrogate decides otherwise than the data."""
        if self.surrogate is None:
            return None
        return self.surrogate.recorded(table.index, table.is_unfavourable, self.spec.schema.favourable)

    @property
    def arguments(self) -> dict[str, Any]:
        """What of the spec every solving of people takes, beside the model and the people."""
        spec = self.spec
        return {
            "schema": spec.schema, "scm": self.scm, "cost": spec.cost, "model_features": spec.model.features or None,
            "missing": spec.data.missing,
        }  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """How much work an audit would be."""

    rows: int
    unfavourable: dict[str, int]
    """How many people are to be solved, by group."""
    intervention_sets: int
    """How many sets of interventions are tried for each of them."""
    solver: Solver
    reason: str
    surrogate: fidelity.Surrogate | None = None
    """The surrogate, if one was trained: how often it agrees and which refusals it finds, by group compared."""
    equations: tuple[str, ...] = ()
    """The structural equations."""
    assumed: tuple[AssumedLimit, ...] = ()
    """How far features may be set where nobody declared it."""
    zero_one: tuple[str, ...] = ()
    """The actionable features that are set to 0 or 1."""
    columns: tuple[str, ...] = ()
    """The sensitive columns whose values name the groups."""

    def __str__(self) -> str:
        people = sum(self.unfavourable.values())
        groups = ", ".join(f"{group_name(label, self.columns)}: {n:,}" for label, n in self.unfavourable.items())
        lines = [f"{many(self.rows, 'row', 'rows')}, {people:,} refused ({groups})."]
        if self.intervention_sets:
            lines.append(
                f"{many(self.intervention_sets, 'set', 'sets')} of interventions each, "
                f"{many(people * self.intervention_sets, 'small problem', 'small problems')} in all."
            )
        lines.append(f"Solver: {solver_words(SolverUsed.of(self.solver))}. {self.reason}")
        lines += [told] if (told := assumed_text(self.assumed, self.zero_one)) else []
        lines += ["Structural equations:", *(f"  {equation}" for equation in self.equations)] if self.equations else []
        if self.surrogate is not None:
            lines += [str(self.surrogate), *fidelity.refusal_lines(self.surrogate)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the solver as an audit keeps it."""
        return asdict(self) | {"solver": repr(self.solver)}


def prepare(spec: Spec, *, progress: Progress = silent, unsafe_load_pickle: bool = False) -> Prepared:
    """Read the data, get the model, fit the structural equations."""
    check_instance("spec", spec, Spec, "what ee.read_spec(path) gives", fix="Give ee.read_spec(path).")
    check_progress(progress)
    with spec_words(), collecting() as kept:
        progress("reading the data", 0, 1)
        digest = file_hash(spec.data.path)
        with placed(spec, "data", "id", code="DATA_MISSING_COLUMN"):
            table = read_table(spec.data)
        source = DataFile(spec.data.path.name, digest, len(table))
        table = joined(spec, table)
        progress("reading the data", 1, 1, f"{len(table):,} rows")
        check_table(spec, table)
        for name in spec.schema.sensitive_columns:
            warn_similar_labels(table[name])
        if spec.model.train is not None and spec.data.missing == "drop":
            table = _decided(spec, table)
        people = spec.people(table)
        surrogate = None
        if spec.model.train is not None:
            progress("training the surrogate", 0, 1)
            surrogate = _train(spec, table, people)
            if isinstance(spec.schema.favourable, list):
                # The surrogate has learned whether one of the wanted decisions was given.
                spec = replace(spec, schema=replace(spec.schema, favourable=True))
            classifier = surrogate.classifier
            progress("training the surrogate", 1, 1, f"{percent(surrogate.agreement)} agreement")
            if surrogate.agreement == 1:
                warn(
                    "SURROGATE_PERFECT",
                    f"The surrogate repeats all {surrogate.n:,} decisions, also of people it was not trained on.",
                    fix="Look for a feature that was written down after the decision. If a simple rule decides, all is "
                    "well.",
                )
        else:
            assert spec.model.file is not None
            classifier = load_model(
                spec.model.file, unsafe_load_pickle=unsafe_load_pickle, trusted=list(spec.model.trusted)
            )
        scm = causal_model(spec, people)
    truth = None if spec.truth is None else table[spec.truth]
    return Prepared(spec, people, classifier, scm, surrogate, source, tuple(kept), truth)


def causal_model(spec: Spec, people: pd.DataFrame) -> StructuralCausalModel:
    """The causal model of the spec, its equations learned from these people as far as they are not given."""
    nodes = CausalGraph.of(spec.edges, spec.nodes).nodes
    categorical = [name for name, kind in spec.schema.kinds.items() if kind == "categorical" and name in nodes]
    mechanisms = with_levels(spec.mechanisms, people)
    with spec_words(), placed_equations(spec):
        scm = StructuralCausalModel(
            spec.edges, nodes=spec.nodes, mechanisms=mechanisms, default=spec.default, categorical=categorical
        )
        # Of whom the group is not known, nothing can be learned of what follows from it.
        lax = [name for name in scm.graph.nodes if name in spec.schema.sensitive_columns]
        return scm.fit(people[_whole(people, lax if spec.data.missing == "error" else scm.graph.nodes)])


def _decided(spec: Spec, table: pd.DataFrame) -> pd.DataFrame:
    """The people with a recorded decision; the others are left out, and that is said."""
    whole = table[spec.label].notna()
    if not whole.any():
        raise DataError("DATA_EMPTY", f"Every cell of {spec.label!r} is empty.", fix="Name the column of decisions.")
    if not whole.all():
        warn(
            "DATA_MISSING_VALUES",
            f"{many(int((~whole).sum()), 'person', 'people')} without a recorded decision left the audit: "
            f"{spec.label!r} is empty.",
            fix="Fill the decisions in if they are known.",
        )
    return table[whole]


def estimate(prepared: Prepared) -> Estimate:
    """Check the parts against each other and count the work, without solving anything."""
    spec = prepared.spec
    with spec_words(), _placed_solver(spec):
        inputs = AuditInputs.of(
            prepared.classifier, prepared.people, solver=spec.solver, subgroups=spec.subgroups, **prepared.arguments
        )
        people, problem = inputs.people, inputs.problem
        refused = ~problem.decision.is_favourable(people.frame)
    groups = people.groups
    counts = np.bincount(groups.codes[refused], minlength=len(groups.labels)).tolist()
    surrogate = prepared.measured
    if surrogate is not None:
        among = {code for one in groups.pairs if one.group in groups.protected for code in (one.group, *one.others)}
        judged = [groups.labels[code] for code in sorted(among)]
        surrogate = replace(surrogate, columns=groups.columns).among(judged)
    return Estimate(
        len(inputs.table),
        dict(zip(groups.labels, counts, strict=True)),
        inputs.choice.prepared.subproblems,
        inputs.choice.solver,
        _reason(spec, inputs.choice.reason),
        surrogate,
        tuple(prepared.scm.equations()),
        problem.schema.assumed,
        problem.schema.zero_one,
        groups.columns,
    )


def _reason(spec: Spec, reason: str) -> str:
    return reason if isinstance(spec.solver, Auto) else CHOSEN


@contextmanager
def _placed_solver(spec: Spec) -> Iterator[None]:
    """A solver that does not fit is refused where the spec names it."""
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


def run_spec(spec: Spec, *, progress: Progress = silent, unsafe_load_pickle: bool = False, command: str = "") -> Audit:
    """The audit that a spec describes.

    Its provenance says in addition how the data, the spec and a surrogate entered; `progress` is told how far the work
    is; `command` is kept as the way to do it again.
    """
    return run_prepared(
        prepare(spec, progress=progress, unsafe_load_pickle=unsafe_load_pickle), progress=progress, command=command
    )


def run_prepared(prepared: Prepared, *, progress: Progress = silent, command: str = "") -> Audit:
    """Solve what was prepared."""
    spec = prepared.spec
    with spec_words(), _placed_solver(spec):
        done = audit(
            prepared.classifier, prepared.people, solver=spec.solver, neighbourhood=spec.neighbourhood,
            criteria=spec.criteria, subgroups=spec.subgroups, progress=progress, **prepared.arguments,
        )  # fmt: skip
    if file_hash(spec.data.path) != prepared.source.sha256:
        raise DataError(
            "RUN_CHANGED",
            f"{spec.data.path.name!r} changed while it was being audited.",
            fix="Run the audit again once nothing writes to the file.",
        )
    people, solver = done.recourse, done.provenance.solver
    provenance = replace(
        done.provenance,
        title=spec.title,
        data=prepared.source,
        spec=spec.text,
        suppress_below=spec.suppress_below,
        random_state=spec.random_state,
        command=command,
        solver=replace(solver, reason=_reason(spec, solver.reason)),
        surrogate=prepared.measured,
        recorded=prepared.recorded(people),
    )
    every = sorted((*prepared.warnings, *done.warnings), key=lambda warning: warning.code not in FIRST)
    told = [reworded(warning) for warning in every]
    table = replace(people, audience="spec")
    return replace(
        done, recourse=table, provenance=provenance, warnings=tuple({(w.code, w.what): w for w in told}.values())
    )


def resampling(prepared: Prepared, chance: str, replicates: int) -> Resampling:
    """The source of chance that was asked for at the command line."""
    spec = prepared.spec
    seed = spec.random_state or 0
    if chance == "equations":
        return Equations(replicates, seed)
    if prepared.surrogate is not None:
        decisions = prepared.surrogate.decisions
        assert decisions is not None
        seen = list(prepared.classifier.feature_names_in_)
        return Procedure(prepared.people.loc[decisions.index, seen], decisions, replicates, seed)
    if spec.model.training_data is None or spec.model.training_label is None:
        raise ParameterError(
            "PARAMETER",
            "A saved model can be trained again only on what it was trained on, and the spec does not name that.",
            fix="Give model: {training_data: FILE, training_label: COLUMN}, or --resample equations.",
        )
    with spec_words():
        table = read_table(replace(spec.data, path=spec.model.training_data, id=None))
        require_columns(
            table, [spec.model.training_label], why="The spec names the label a model was trained on, but it"
        )
    seen = list(known_features(prepared.classifier, spec.model.features or None))
    require_columns(table, seen, why="The model was trained on a feature, but its training data")
    return Procedure(table[seen], table[spec.model.training_label], replicates, seed)


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


def file_hash(path: Path) -> str:
    """SHA-256 of a file; empty if it cannot be read (whoever reads it says why)."""
    digest = hashlib.sha256()
    try:
        check_regular(path, MOST_BYTES)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def _train(spec: Spec, table: pd.DataFrame, people: pd.DataFrame) -> Surrogate:
    kind = spec.model.train
    assert kind is not None
    assert spec.label is not None
    if spec.data.missing != "error":
        whole = _whole(table, [*spec.features, spec.label])
        table, people = table[whole], people[whole]
    groups = Groups.of(table, spec.schema)
    labels = pd.Series(np.array(groups.labels, dtype=object)[groups.codes], index=table.index)
    decisions, wanted = table[spec.label], spec.schema.favourable
    if isinstance(wanted, list):
        decisions = decisions.isin(wanted)
    return train_surrogate(
        kind, people, decisions, features=spec.features, groups=labels, random_state=spec.random_state
    )


def _whole(frame: pd.DataFrame, names: Iterable[str]) -> Bools:
    """Who has a value in each of these columns."""
    present = [name for name in dict.fromkeys(names) if name in frame.columns]
    whole = frame[present].notna().all(axis=1).to_numpy()
    if not whole.any():
        raise DataError(
            "DATA_EMPTY",
            f"Every row has an empty cell in one of the columns {listed(present, 20)}.",
            fix="Fill them in, or leave out a column that is empty.",
        )
    return whole
