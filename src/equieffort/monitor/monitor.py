"""Monitor: batches of decisions arrive, and the evidence of unequal effort may be looked at after each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from equieffort.data.frames import Missing, join_sensitive, number, read_frame, require_columns
from equieffort.data.regular import check_target
from equieffort.effort.budget import default_budget
from equieffort.errors import DataError, MonitorError, ParameterError, Setting, sentence
from equieffort.foundations.arguments import check_choice, check_flag, check_number, check_path, names_in, refused
from equieffort.foundations.progress import Watched, check_progress
from equieffort.models.classifiers.naming import model_name
from equieffort.monitor.batches import Solved, check_groups, digest, like, with_absent
from equieffort.monitor.file import read_state, write_state
from equieffort.monitor.state import MEASURES, Batch, Fixed, MonitorState
from equieffort.recourse.problem import RecourseProblem, check_parts
from equieffort.recourse.solvers import Auto, Solver
from equieffort.recourse.solving import check_solver, solve
from equieffort.world.cost import Cost
from equieffort.world.groups import Groups
from equieffort.world.schema import Schema
from equieffort.world.scm import StructuralCausalModel

TAU, LEVEL = 1.25, 0.95
CHANGED = {
    "model": ("The model is not the one", "Monitor another model with a state of its own."),
    "scales": (
        "The scales of the cost, or the reference data that they and undeclared limits come from, are not those",
        "Restore them, or start a monitor with a state of its own.",
    ),
    "spec": (
        "The rules (features, graph, equations or other settings) are not those",
        "Restore them, or start a monitor with a state of its own.",
    ),
}
"""What must not change: what is said of it, and the way out."""


class Monitor:
    """Watches the effort of refused people, and the burden of everybody, batch by batch.

    Parameters
    ----------
    classifier, schema, scm, cost, solver, model_features, missing, margin
        As `audit` takes them.
    reference
        The data that cost scales and undeclared limits come from; it must hold people of every group.
    sensitive_features
        The sensitive column(s) of the reference data, if they are not in it.
    tau
        No alarm is raised while the ratios lie within [1/tau, tau]; 1.25 by default.
    level
        One minus the chance that there is ever a false alarm; 0.95 by default.
    budget
        The effort at which everybody is capped, as those are who have no recourse; by default the 95 % point of the
        first batch, rounded up. Declare it, or the first batch decides what it is measured by.
    measures
        "restricted_effort" (refused people), "burden" (everybody, the approved with 0); both by default.
    state
        The file that keeps the evidence; it is read if it exists, and written with each batch. Without it the evidence
        is lost with the object.
    model
        What names the model, such as a version; by default a hash of the classifier.
    spec
        Anything else that must not change; kept as a hash.
    """

    def __init__(
        self,
        classifier: Any,
        reference: Any,
        *,
        schema: Schema,
        scm: StructuralCausalModel,
        sensitive_features: Any = None,
        model_features: Sequence[str] | None = None,
        cost: Cost | None = None,
        solver: Solver | Auto | None = None,
        missing: Missing = "error",
        margin: float = 0.0,
        tau: float | None = None,
        level: float | None = None,
        budget: float | None = None,
        measures: Sequence[str] | None = None,
        state: str | PathLike[str] | None = None,
        model: str | None = None,
        spec: str = "",
    ) -> None:
        check_solver(solver)
        self._asked = _asked(tau, level, budget, measures)
        self._path = _path(state)
        self._solver, self._missing = solver, missing
        check_parts(schema, scm)
        names = None if model_features is None else names_in("model_features", model_features)
        frame = read_frame(reference, names=names, what="reference")
        frame = join_sensitive(frame, sensitive_features, schema.sensitive_columns)
        self.problem = RecourseProblem.of(
            classifier, frame, schema=schema, scm=scm, model_features=names, cost=cost, reference=frame, margin=margin,
            missing=missing,
        )  # fmt: skip
        frame = schema.spread.join(frame)
        self._needed = list(dict.fromkeys((*self.problem.names, *schema.sensitive_columns)))
        self._reference = frame[self._needed]
        self._groups = Groups.of(frame[frame[list(schema.sensitive_columns)].notna().all(axis=1)], schema)
        self._hashes = {
            "model": _model_hash(classifier) if model is None else _hash(model),
            "scales": _hash([self.problem.cost.to_dict(), digest(self._reference)]),
            "spec": _hash([_rules(self.problem), missing, spec]),
        }
        self._state: MonitorState | None = None
        self._file: str | None = None
        if self._path is not None and self._path.exists():
            found, self._file = read_state(self._path)
            self._check_same(found.fixed)
            self._state = found

    @staticmethod
    def look(path: str | PathLike[str]) -> MonitorState:
        """What a state says, without model or data."""
        return read_state(path)[0]

    @property
    def state(self) -> MonitorState:
        """The evidence so far."""
        if self._state is None:
            raise MonitorError("MONITOR_STATE", "No batch has been counted yet.", fix="Call update(X) first.")
        return self._state

    @property
    def evidence(self) -> pd.DataFrame:
        """A row a measure and group: estimate, confidence sequence, evidence, and the date of an alarm."""
        return self.state.evidence

    @property
    def history(self) -> pd.DataFrame:
        """The same after each batch."""
        return self.state.history

    @property
    def alarm(self) -> str | None:
        """The date of the first batch that raised an alarm, None without one."""
        return None if self._state is None else self._state.alarm

    def update(
        self,
        X: Any,
        *,
        date: str | date | None = None,
        name: str = "",
        ordered: bool = True,
        sensitive_features: Any = None,
        progress: Watched = None,
    ) -> MonitorState:
        """Count a batch of decisions; returns the state after it, which is in the file by then.

        Parameters
        ----------
        X
            The people who were decided about, approved ones included, with the columns of the reference data.
        date
            The day of the batch (today by default); an alarm is dated by it.
        name
            What the batch is called in the history.
        ordered
            Whether the rows are in order of arrival. Without an order a batch is one block: as valid, but slower to
            raise an alarm.
        """
        check_flag("ordered", ordered)
        check_progress(progress)
        day = _day(date)
        columns = self.problem.schema.sensitive_columns
        batch = read_frame(X, names=self.problem.decision.own, what="The batch")
        frame = join_sensitive(self.problem.schema.spread.join(batch), sensitive_features, columns)
        require_columns(frame, self._needed, why="The batch")
        frame = like(frame[self._needed], self._reference)
        check_groups(frame, columns, self._groups.labels)
        seen = digest(frame)
        self._check_new(seen)
        solved = self._solve(frame, progress)
        state = self._state if self._state is not None else MonitorState.start(self._fix(solved))
        after = state.after(solved, name=_text(name), date=day, digest=seen, ordered=bool(ordered))
        if self._path is not None:
            self._file = write_state(self._path, after, self._file)
        self._state = after
        return after

    def __str__(self) -> str:
        return "No batch has been counted yet." if self._state is None else str(self._state)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _solve(self, frame: pd.DataFrame, progress: Watched) -> Solved:
        whole = with_absent(frame, self._reference, self.problem.schema.sensitive_columns, self._needed)
        table = solve(self.problem, whole, solver=self._solver, missing=self._missing, progress=progress)
        count = len(table) - (len(whole) - len(frame))
        if count == 0:
            raise DataError("DATA_EMPTY", "Everybody in the batch has a missing value.", fix="Fill them in.")
        return Solved.of(table, count)

    def _fix(self, solved: Solved) -> Fixed:
        """What the first batch fixes."""
        budget = self._asked.get("budget") or default_budget(solved.costs)
        if budget is None:
            raise MonitorError(
                "MONITOR_BUDGET",
                "The first batch has no budget to go by: nobody in it is refused and has an action that costs "
                "something.",
                fix=(
                    "Declare the budget (",
                    Setting("budget"),
                    "), in units of the cost, or begin with a larger batch.",
                ),
            )
        groups = self._groups
        return Fixed(
            **self._hashes,
            compared=tuple((groups.labels[k.group], k.against) for k in groups.pairs if k.role == "protected"),
            labels=groups.labels,
            sensitive=groups.columns,
            measures=self._asked.get("measures", MEASURES),
            tau=self._asked.get("tau", TAU),
            level=self._asked.get("level", LEVEL),
            budget=budget,
        )

    def _check_same(self, fixed: Fixed) -> None:
        for part, (what, fix) in CHANGED.items():
            if getattr(fixed, part) != self._hashes[part]:
                raise MonitorError("MONITOR_CHANGED", f"{what} that the first batch fixed.", fix=fix)
        for name, value in self._asked.items():
            if (kept := getattr(fixed, name)) != value:
                old, new = (number(v) if isinstance(v, float) else " and ".join(v) for v in (kept, value))
                raise MonitorError(
                    "MONITOR_CHANGED",
                    f"{name} is {new}, but the first batch fixed {old}.",
                    fix="Leave it out, or start a monitor with a state of its own.",
                )

    def _check_new(self, seen: str) -> None:
        for count, batch in enumerate(() if self._state is None else self._state.batches, start=1):
            if batch.digest == seen:
                raise MonitorError(
                    "MONITOR_BATCH",
                    f"These people were counted already, as batch {count:,}{_called(batch)} on {batch.date}.",
                    fix=(
                        "Nothing is to be done if the run was repeated: the state holds them. If they are other people "
                        "who look the same, name them by ",
                        Setting("names of people"),
                        ".",
                    ),
                )


def _text(name: Any) -> str:
    """A name that any file can hold."""
    return str(name).encode(errors="replace").decode()


def _called(batch: Batch) -> str:
    return f" ({batch.name!r})" if batch.name else ""


def _asked(tau: Any, level: Any, budget: Any, measures: Any) -> dict[str, Any]:
    """What the caller wants fixed, checked; the rest is as it was, or by default."""
    check_number("tau", tau, "a ratio, 1 or more", lambda ratio: ratio >= 1, optional=True)
    check_number("level", level, "a share between 0 and 1", lambda share: 0 < share < 1, optional=True)
    check_number("budget", budget, "a positive number", lambda most: most > 0, optional=True)
    found = {"tau": tau, "level": level, "budget": budget}
    asked: dict[str, Any] = {name: float(value) for name, value in found.items() if value is not None}
    if measures is not None:
        named = names_in("measures", measures, f"a list of {' and '.join(MEASURES)}")
        for one in named:
            check_choice("measures", one, MEASURES)
        if not named:
            raise ParameterError("PARAMETER", "measures is empty.", fix=f"Name one of {', '.join(MEASURES)}.")
        asked["measures"] = tuple(one for one in MEASURES if one in named)
    return asked


def _path(state: Any) -> Path | None:
    if state is None:
        return None
    check_path("state", state, "the path of the state's file")
    path = Path(state)
    check_target(path, "keep the state", ParameterError, "OUTPUT")
    return path


def _day(given: Any) -> str:
    if given is None:
        return datetime.now(UTC).date().isoformat()
    if isinstance(given, datetime):
        given = given.date()
    if isinstance(given, date):
        return given.isoformat()
    try:
        return date.fromisoformat(given).isoformat()
    except (TypeError, ValueError):
        raise refused("date", given, "a day such as 2026-11-17") from None


def _hash(content: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def _model_hash(classifier: Any) -> str:
    """A hash of a fitted object: the same in another process, another after another fit."""
    import joblib

    try:
        return f"sha1:{joblib.hash(classifier, hash_name='sha1')}"
    except Exception as error:
        raise MonitorError(
            "MONITOR_STATE",
            f"Of the classifier {model_name(classifier)} no hash can be made: {type(error).__name__}: "
            f"{sentence(error)}",
            fix='Name the model yourself, by its version or the hash of its file: Monitor(..., model="2026-11").',
        ) from error


def _rules(problem: RecourseProblem) -> Any:
    """What decides and what may be done, apart from scales and observed limits."""
    schema = problem.schema.to_dict()
    features = {
        name: {key: value for key, value in one.items() if key != "observed"}
        for name, one in schema["features"].items()
    }
    scm = problem.scm
    return [schema | {"features": features}, list(problem.decision.features), scm.graph.to_dict(), scm.equations(),
            problem.margin]  # fmt: skip
