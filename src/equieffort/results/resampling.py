"""Chance beyond who was audited: people drawn again by brute force, equations or the model learned again.

Each replicate gives every measure of every comparison once more; what is kept of them is how far they spread on the
measure's own scale. An interval is the estimate, give or take Student's quantile times that spread.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Missing, read_frame
from equieffort.effort.measures import CHANCE, Chance, Sample, Spread
from equieffort.effort.metrics import compared_pair, group_samples
from equieffort.errors import DataError, EquieffortError, ParameterError, Setting, Text, collecting, parts_of
from equieffort.foundations.arguments import calling, check_whole
from equieffort.foundations.progress import Progress
from equieffort.foundations.shown import Shown, Told
from equieffort.models.classifiers.naming import model_name
from equieffort.notions.counterfactual import RATIO, CounterfactualFairness, ratios_of
from equieffort.notions.shares import SCALE
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Status
from equieffort.recourse.solving import solve
from equieffort.recourse.table import RecourseTable, SolvedSource
from equieffort.results.inputs import AuditInputs, columns_of, require_inputs
from equieffort.world.groups import Groups
from equieffort.world.rules import parse_rule
from equieffort.world.scm import StructuralCausalModel

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

Key = tuple[str, str, str, str]
"""Subgroup's rule (empty: everybody), group, against, measure; of twins: who is decided, group, level, notion."""


@dataclass(frozen=True, repr=False)
class Resampled(Shown):
    """What replicates of an audit say."""

    chance: Chance
    replicates: int
    spreads: Mapping[Key, Spread] = field(default_factory=dict)
    budget: float | None = None
    """What people without recourse were counted at."""

    def of(self, rule: str, group: str, against: str) -> dict[str, Spread]:
        """By measure, of one comparison."""
        return {key[3]: spread for key, spread in self.spreads.items() if key[:3] == (rule, group, against)}

    def _told(self) -> Told:
        line = f"Their spread allows for chance in {CHANCE[self.chance]}."
        care = [f"{self.replicates:,} replicates: limits would differ a little with others."]
        return Told(
            f"{self.replicates:,} replicates of the audit", [line], care=care, more="audit.measures, audit.verdict"
        )


Replicate = Mapping[Key, float] | EquieffortError
"""Measures on their scales, or why there are none."""


class Resampling(ABC):
    """A source of chance, as a value."""

    chance: Chance
    replicates: int
    random_state: int

    def __post_init__(self) -> None:
        check_whole("replicates", self.replicates, 10)
        check_whole("random_state", self.random_state)

    def check(self, classifier: Any) -> None:  # noqa: B027 (most take every model)
        """Refuse a model that cannot be used so, before anything is solved."""

    @abstractmethod
    def replicate(self, audit: Audit) -> Iterator[Replicate]:
        """One mapping a replicate, or why it failed."""


def resample(audit: Audit, how: Resampling, progress: Progress | None = None) -> Resampled:
    """Repeat the audit under a source of chance."""
    return Resampled(how.chance, how.replicates, _spreads(how.replicate(audit), how, progress), audit.budget)


def resample_twins(
    found: CounterfactualFairness, made: AuditInputs, how: Relearned, progress: Progress | None = None
) -> CounterfactualFairness:
    """The same, with intervals of the ratios that allow for what is learned as well."""
    missing = _missing(made)

    def asked(problem: RecourseProblem, drawn: pd.DataFrame) -> Mapping[Key, float]:
        people = People.of(problem, drawn, missing=missing, alone=True)
        return {(*key, RATIO.name): SCALE.to(one.estimate) for key, one in ratios_of(people).items() if one.n}

    spreads = _spreads(how.repeated(made, found.audited.table, asked), how, progress)
    return replace(found, chance=how.chance, spreads={key[:3]: one for key, one in spreads.items()})


def _spreads(replicates: Iterable[Replicate], how: Resampling, progress: Progress | None) -> dict[Key, Spread]:
    """How far what the replicates say spreads."""
    values: dict[Key, list[float]] = {}
    done = 0
    failed: EquieffortError | None = None
    for found in replicates:
        if isinstance(found, EquieffortError):
            failed, found = failed or found, {}
        for key, value in found.items():
            # A comparison that an earlier replicate lacked was undefined there.
            values.setdefault(key, [nan] * done).append(value)
        done += 1
        for kept in values.values():
            kept += [nan] * (done - len(kept))
        if progress is not None:
            progress("resampling", done, how.replicates)
    if not values:
        why: Text = failed.what_parts if failed is not None else "There was nothing to compare."
        raise ParameterError(
            "PARAMETER",
            parts_of(f"Not one of {done:,} replicates could be audited; the first said: ", why),
            fix=failed.fix_parts if failed is not None and failed.fix else "Look at what is learned or trained again.",
        )
    return {key: Spread.of(kept) for key, kept in values.items()}


@dataclass(frozen=True)
class Bootstrap(Resampling):
    """People drawn again from the audited ones, nothing solved or learned again: the brute alternative to the closed
    forms."""

    replicates: int = 2000
    random_state: int = 0
    chance = "people"

    def replicate(self, audit: Audit) -> Iterator[Replicate]:
        """Only the refused are drawn one by one; of the approved their number is."""
        rng = np.random.default_rng(self.random_state)
        table, groups = audit.recourse, audit.recourse.groups
        parts: dict[str, Bools] = {"": np.ones(len(table), dtype=bool)}
        parts |= {rule: audit.members(rule) for rule in audit.declared.values()}
        for _ in range(self.replicates):
            times = np.bincount(rng.integers(0, len(table), len(table)), minlength=len(table))
            found: dict[Key, float] = {}
            for rule, members in parts.items():
                samples = {
                    label: _drawn(table, np.where(members & (groups.codes == code), times, 0), audit.budget)
                    for code, label in enumerate(groups.labels)
                }
                found |= _estimates(audit, rule, groups, samples)
            yield found


def _drawn(table: RecourseTable, times: npt.NDArray[np.intp], budget: float | None) -> Sample:
    rows = np.repeat(np.arange(len(table)), times * table.is_unfavourable)
    status = np.concatenate(
        [table.status[rows], np.full(int(times.sum()) - len(rows), Status.NOT_NEEDED, dtype=np.int8)]
    )
    more = np.full(len(status) - len(rows), np.nan)
    effort = np.concatenate([table.effort[rows], more])
    return Sample.of(status, effort, np.where(np.isnan(effort), np.inf, effort), budget=budget, rounded=True)


def _estimates(audit: Audit, rule: str, groups: Groups, samples: Mapping[str, Sample]) -> dict[Key, float]:
    """Every measure on its scale. Recorded decisions are not drawn: their closed form stays."""
    found = {}
    measures = [measure for measure in audit.shown_measures if measure.name != "impact_ratio_recorded"]
    for one in groups.pairs:
        label, against, pair = groups.labels[one.group], one.against, compared_pair(groups, one, samples)
        for measure in measures:
            with calling(f"The measure {measure.name!r}", "Correct its estimate(), or leave it out of measures."):
                found[rule, label, against, measure.name] = measure.scale.to(measure.estimate(pair))
    return found


Read = Callable[[RecourseProblem, pd.DataFrame], Mapping[Key, float]]
"""What is read of people drawn again, under what was learned again."""


class Relearned(Resampling):
    """People drawn again, and something learned from them again."""

    @abstractmethod
    def classifier(self, made: AuditInputs) -> Callable[[np.random.Generator, npt.NDArray[np.int64]], Any]:
        """What decides in a replicate, from its random numbers and the rows that are drawn."""

    def replicate(self, audit: Audit) -> Iterator[Replicate]:
        """One audit a replicate.

        Only what measures are read from is made: no verdict, no intervals, and no remarks on data that the audit itself
        has remarked on.
        """
        made = require_inputs(audit.inputs, f"resample({type(self).__name__})")
        missing = _missing(made)

        def measured(problem: RecourseProblem, drawn: pd.DataFrame) -> Mapping[Key, float]:
            return _readings(audit, solve(problem, drawn, solver=made.solver, missing=missing, progress=False))

        yield from self.repeated(made, audit.recourse, measured)

    def repeated(self, made: AuditInputs, table: RecourseTable, read: Read) -> Iterator[Replicate]:
        """What is read in each replicate; one that fails knows nothing."""
        # Joined by label before, so that a person who is drawn brings their own group along.
        people, scm = made.table, made.problem.scm
        declared, missing, classifier = made.declared, _missing(made), self.classifier(made)
        reference = scm.reference_ if declared.get("reference") is None else declared["reference"]
        same = len(scm.reference_) == len(people) and scm.reference_.index.equals(people.index)
        source = table.source
        kept = source.problem if isinstance(source, SolvedSource) and missing == "error" else None
        for k in range(self.replicates):
            rng = np.random.default_rng([self.random_state, k])
            rows = rng.integers(0, len(people), len(people))
            others = rows if same else rng.integers(0, len(scm.reference_), len(scm.reference_))
            try:
                with collecting(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    drawn = people.iloc[rows].reset_index(drop=True)
                    learned = drawn if scm.reference_ is people else scm.reference_.iloc[others].reset_index(drop=True)
                    again = StructuralCausalModel(
                        scm.graph, mechanisms=scm.mechanisms, default=scm.default, categorical=scm.categorical
                    ).fit(learned, missing=missing)
                    model = classifier(rng, rows)
                    # Most of a problem stays as it is, and making it takes longer than solving some hundred people.
                    trained = None if model is made.classifier else model
                    problem = None if kept is None else kept.relearned(again, trained, drawn)
                    if problem is None:
                        problem = RecourseProblem.of(model, drawn, **declared | {"scm": again, "reference": reference})
                    yield read(problem, drawn)
            except EquieffortError as error:
                yield error


def _missing(made: AuditInputs) -> Missing:
    return made.declared.get("missing", "error")


@dataclass(frozen=True)
class Equations(Relearned):
    """People drawn again and the structural equations learned again from the people drawn; the model stays."""

    replicates: int = 100
    random_state: int = 0
    chance = "equations"

    def classifier(self, made: AuditInputs) -> Callable[[np.random.Generator, npt.NDArray[np.int64]], Any]:
        """The audit's own."""
        return lambda rng, rows: made.classifier


@dataclass(frozen=True, eq=False)
class Procedure(Relearned):
    """People drawn again, the equations learned again, and the model trained again on training data drawn again.

    Parameters
    ----------
    X_train, y_train
        What the model was trained on. Where these are the audited people themselves, the same people are drawn.
    """

    X_train: Any
    y_train: Any
    replicates: int = 100
    random_state: int = 0
    chance = "procedure"

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = [len(given) if hasattr(given, "__len__") else -1 for given in (self.X_train, self.y_train)]
        if rows[0] != rows[1] or rows[0] < 1:
            raise DataError(
                "DATA_LENGTH",
                f"X_train has {rows[0]} rows and y_train {rows[1]}.",
                fix="Give the table the model was trained on, and one label a row.",
            )

    def check(self, classifier: Any) -> None:
        """Refuse a model that cannot be trained again."""
        self._blank(classifier)

    def _blank(self, classifier: Any) -> Any:
        from sklearn.base import clone

        try:
            return clone(classifier)
        except TypeError as error:
            raise ParameterError(
                "PARAMETER",
                f"The model ({model_name(classifier)}) cannot be trained again: it is no scikit-learn estimator.",
                fix=("Audit a model of scikit-learn, or ", Setting("resample"), "."),
            ) from error

    def classifier(self, made: AuditInputs) -> Callable[[np.random.Generator, npt.NDArray[np.int64]], Any]:
        """Trained again; on the people drawn, where these are whom it was trained on."""
        from sklearn.base import clone

        frame, labels = read_frame(self.X_train), np.asarray(self.y_train)
        blank = self._blank(made.classifier)
        people = made.table
        same = len(frame) == len(people) and frame.index.equals(people.index)

        def train(rng: np.random.Generator, rows: npt.NDArray[np.int64]) -> Any:
            drawn = rows if same else rng.integers(0, len(frame), len(frame))
            with calling("Training the model again", ("Give more training data, or ", Setting("resample"), ".")):
                return clone(blank).fit(frame.iloc[drawn].reset_index(drop=True), labels[drawn])

        return train


def _readings(audit: Audit, table: RecourseTable) -> dict[Key, float]:
    """Every measure of a replicate on its scale, under the audit's budget."""
    columns = columns_of(table.data)
    found: dict[Key, float] = {}
    for rule in ("", *audit.declared.values()):
        samples = group_samples(table, parse_rule(rule).evaluate(columns) if rule else None, audit.budget)
        if not audit.criteria.certified:
            samples = {label: sample.as_found for label, sample in samples.items()}
        found |= _estimates(audit, rule, table.groups, samples)
    return found
