"""verify(): a saved audit checked again, person by person, apart from what made it.

Facts come from the data, labels from the model itself, everything else from the numbers in the file, which
`equieffort.replay` follows in plain numpy. What only a solver can know, that nothing is cheaper or that nothing leads
there, is asked of another solver for a sample (`second_opinion`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats, join_sensitive, read_frame, require_columns
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.errors import AuditFileError, DataError, Setting, label, many, sentence
from equieffort.foundations.arguments import check_whole
from equieffort.foundations.shown import Shown, Told
from equieffort.models.classifiers import Decision
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable
from equieffort.replay.actions import Actions, Check, SavedProblem
from equieffort.replay.answers import Failure, Opinions
from equieffort.replay.equations import SavedEquation
from equieffort.replay.prices import SavedPrices
from equieffort.results.grid_opinion import Grid, after_actions
from equieffort.results.kept_curve import differing
from equieffort.results.provenance import CostRecord, Provenance
from equieffort.results.second_opinion import Oracle, second_opinion
from equieffort.words.verifying import (
    certificate_lines,
    contradiction_lines,
    failure_lines,
    replay_lines,
    title_text,
)

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

CHUNK = 50_000
"""So many people are followed together, to keep memory small."""
OF_ACTIONS = tuple(check for check in Check if check not in (Check.REFUSED, Check.APPROVED, Check.CURVE))
COST = "the cost"
"""What cannot be re-checked where prices are code."""


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Shown):
    """What was checked again, what holds and what does not.

    `holds` is False where anything does not hold; `failures` says what, person by person. `frame()` has a row a person.
    """

    index: pd.Index
    status: npt.NDArray[np.int8]
    failures: tuple[Failure, ...]
    checked: Mapping[str, int]
    """Of how many people, or actions, each check was asked: of equations only where none that moved them is code."""
    unchecked: Mapping[str, tuple[int, ...]]
    """By node whose equation is code, or "the cost": the positions of people of whom it could not be asked."""
    margin: float = 0.0
    """The distance from the boundary that the audit asked for: the label is checked, the distance is not."""
    opinions: Opinions | None = None
    """What another solver says of a sample."""

    @property
    def holds(self) -> bool:
        """Whether nothing that was checked fails, and no other solver contradicts; see also `n_not_rechecked`."""
        return not self.failures and not (self.opinions is not None and self.opinions.contradicted)

    @property
    def n_not_rechecked(self) -> int:
        """Of how many people something could not be checked: an equation that moved them, or the cost, is code."""
        return len(set().union(*self.unchecked.values()))

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """By status: how many people there are, of how many everything holds, and what became of certificates."""
        frame, found = self.frame(), {}
        for status in Status:
            part = frame[frame["status"] == status.text]
            answers = Counter(part["checked"])
            certain = Counter(part["certificate"])
            found[status.text] = (
                {"people": len(part)}
                | {name: answers.get(name, 0) for name in ("holds", "fails", "not re-checked")}
                | {name: certain.get(name, 0) for name in ("confirmed", "unsettled", "contradicted")}
            )
        return found

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """One row a person: status; checked (holds, fails, not re-checked); why; certificate.

        `certificate` is "confirmed" where another solver proved the same, "unsettled" where it could not tell,
        "contradicted" where it disagrees, "not independently checked" where none was asked, and empty where nothing
        was proven of the person.
        """
        n = len(self.status)
        checked, why = np.full(n, "holds", dtype=object), np.full(n, "", dtype=object)
        for what, rows in self.unchecked.items():
            checked[list(rows)] = "not re-checked"
            why[list(rows)] = what
        positions = {person: at for at, person in enumerate(self.index)}
        for one in reversed(self.failures):
            at = positions[one.person]
            checked[at], why[at] = "fails", f"{one.check} {one.subject}".rstrip()
        certificate = np.where(self.status == Status.NOT_NEEDED, "", "not independently checked").astype(object)
        for opinion in self.opinions.of if self.opinions is not None else ():
            certificate[positions[opinion.person]] = opinion.outcome
        text = np.array([status.text for status in Status], dtype=object)[self.status]
        columns = {"status": text, "checked": checked, "why": why, "certificate": certificate}
        return as_output(pd.DataFrame(columns, index=self.index), output)

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        from equieffort.foundations.saved import as_data

        return {
            "holds": self.holds,
            "counts": self.counts,
            "checked": dict(self.checked),
            "not_rechecked": self.n_not_rechecked,
            "unchecked": {what: len(rows) for what, rows in self.unchecked.items()},
            "failures": [as_data(one) for one in self.failures],
            "oracle": None if self.opinions is None else as_data(self.opinions),
        }

    def __str__(self) -> str:
        return "\n".join([self._title, *self._lines])

    @property
    def _title(self) -> str:
        contradicted = 0 if self.opinions is None else len(self.opinions.contradicted)
        return title_text(len(self.status), len(self.failures), contradicted, self.n_not_rechecked)

    @property
    def _lines(self) -> list[str]:
        solver = "" if self.opinions is None else self.opinions.solver
        lines = failure_lines(self.failures)
        if self.opinions is not None:
            lines += contradiction_lines(self.opinions.contradicted, solver)
        lines += replay_lines(self.checked, self.unchecked, self.margin)
        return lines + certificate_lines(self.counts, solver)

    def _told(self) -> Told:
        return Told(self._title, self._lines, more=".frame(), .failures, .counts, .to_dict(), print(verification)")


def verify(
    audit: Audit,
    classifier: Any,
    X: Any,
    *,
    sensitive_features: Any = None,
    model_features: Sequence[str] | None = None,
    sample: int = 0,
    oracle: Oracle | None = None,
    random_state: int = 0,
) -> Verification:
    """Check every action and every decision of an audit again; see `Audit.verify`."""
    check_whole("sample", sample, least=0)
    table, schema = audit.recourse, audit.recourse.source.schema
    whole = _same_people(table, join_sensitive(read_frame(X, names=model_features), sensitive_features,
                                               schema.sensitive_columns))  # fmt: skip
    frame = schema.spread.join(whole)
    decision = Decision.of(
        classifier, schema.favourable, frame, model_features, schema.threshold, schema.spread, dict(whole.dtypes)
    )
    problem = _saved_problem(audit.provenance, table)
    _check_facts(table, problem, frame)
    failures = list(_decided(table, decision, frame))
    checked: Counter[str] = Counter({Check.REFUSED: int(table.is_unfavourable.sum())})
    checked[Check.APPROVED] = len(table) - checked[Check.REFUSED]
    unchecked: dict[str, set[int]] = {}
    for way, one in enumerate((table, *audit.alternatives), start=1):
        for start in range(0, len(one), CHUNK):
            rows = start + np.flatnonzero(one.has_action[start : start + CHUNK])
            if len(rows):
                found, followed = _replayed(problem, decision, one, frame, rows, way, unchecked)
                failures += found
                checked.update({check: len(rows) for check in OF_ACTIONS} | {Check.EQUATIONS: followed})
    if audit.inputs is None:
        failures += [
            Failure(table.index[row], Status(table.status[row]).text, Check.CURVE, what)
            for row, what in differing(audit)
        ]
    if problem.prices.is_code:
        unchecked[COST] = set(np.flatnonzero(table.has_action).tolist())
        checked[Check.COST] = 0
    opinions = None
    if sample:
        grid = Grid(problem, decision, frame)
        opinions = second_opinion(audit, classifier, whole, model_features, sample, oracle, random_state, grid)
    return Verification(
        table.index,
        table.status,
        tuple(failures),
        dict(checked),
        {what: tuple(sorted(rows)) for what, rows in unchecked.items()},
        audit.provenance.margin,
        opinions,
    )


def _saved_problem(made: Provenance, table: RecourseTable) -> SavedProblem:
    source, cost = table.source, made.cost
    gap = made.solver.settings.get("gap", 0.0)
    return SavedProblem(
        source.encoding.typed(source.data),
        source.schema,
        made.graph,
        {one.node: SavedEquation(one.node, one.causes, one.kind, one.parts) for one in made.equations},
        _prices(cost),
        float(gap) if isinstance(gap, int | float) else 0.0,
        source.facts(slice(None)),
    )


def _prices(cost: CostRecord) -> SavedPrices:
    """The saved prices; a cost of another class may mean something else by the same names."""
    if cost.kind == "WeightedL1":
        return SavedPrices(cost.prices, cost.own)
    ranked = cost.kind == "Percentile"
    return SavedPrices(None, False, cost.percentiles if ranked else None, cost.by_group if ranked else None)


# -- the same people ---------------------------------------------------------------------------------------------------


def _same_people(table: RecourseTable, frame: pd.DataFrame) -> pd.DataFrame:
    """The audited people in the audit's order: by label; by position only where there are as many and none has one."""
    index = table.data.index
    if frame.index.equals(index):
        return frame
    if index.name in frame.columns and not index.isin(frame.index).all():
        frame = frame.set_index(frame[index.name].astype(str) if index.dtype == object else frame[index.name])
    if index.is_unique and frame.index.is_unique and index.isin(frame.index).all():
        return frame.loc[index]
    if len(frame) == len(index) and not (frame.index.is_unique and index.is_unique):
        return frame.set_axis(index)
    absent = index[~index.isin(frame.index)]
    whom = f"nobody labelled {label(absent[0])}" if len(absent) else "labels that name more than one person"
    raise _other_data(f"The data have {len(frame):,} rows and {whom}; {many(len(index), 'person', 'people')} audited.")


def _check_facts(table: RecourseTable, problem: SavedProblem, frame: pd.DataFrame) -> None:
    """Refuse other people than those audited: nothing about the audit would follow from them."""
    require_columns(frame, problem.encoding.names, why=("The audit uses a column, but ", Setting("the table")))
    for k, column in enumerate(problem.encoding.columns):
        try:
            given = column.encode(frame[column.name])
        except DataError as error:
            raise _other_data(error.what) from error
        saved = problem.reference[:, k]
        differs = ~((given == saved) | (np.isnan(given) & np.isnan(saved)))
        if differs.any():
            row = int(differs.argmax())
            there, here = (column.decode(values[row : row + 1])[0] for values in (given, saved))
            raise _other_data(
                f"{column.name!r} of {label(table.index[row])} is {_cell(there)} in the data and {_cell(here)} in the "
                f"audit; {many(int(differs.sum()), 'person differs', 'people differ')} in this column."
            )


def _cell(value: Any) -> str:
    return "empty" if pd.isna(value) else label(value)


def _other_data(what: str) -> DataError:
    return DataError("VERIFY_OTHER_DATA", what, fix="Give the very table that was audited, with its labels.")


# -- decisions and actions ---------------------------------------------------------------------------------------------


def _decided(table: RecourseTable, decision: Decision, frame: pd.DataFrame) -> Iterator[Failure]:
    """For whom the model decides otherwise than the audit says."""
    favourable = decision.is_favourable(frame)
    for row in np.flatnonzero(favourable == table.is_unfavourable).tolist():
        check = Check.REFUSED if table.is_unfavourable[row] else Check.APPROVED
        yield Failure(table.index[row], Status(table.status[row]).text, check, "")


def _replayed(
    problem: SavedProblem,
    decision: Decision,
    table: RecourseTable,
    frame: pd.DataFrame,
    rows: npt.NDArray[np.intp],
    way: int,
    unchecked: dict[str, set[int]],
) -> tuple[list[Failure], int]:
    """What does not hold of some people's actions, and how many no equation of code moved; whom one did is noted."""
    actions = _actions(table, rows)
    found: list[Failure] = []
    coded = np.zeros(len(rows), dtype=bool)

    def note(check: Check, subject: str, who: Bools, said: Floats | None = None, is_: Floats | None = None) -> None:
        for at in np.flatnonzero(who).tolist():
            row = int(rows[at])
            there, here = (None if values is None else float(values[at]) for values in (said, is_))
            found.append(Failure(table.index[row], Status(table.status[row]).text, check, subject, there, here, way))

    try:
        for node, who in problem.code(actions).items():
            unchecked.setdefault(node, set()).update(rows[who].tolist())
            coded |= who
        for fault in problem.faults(actions):
            note(fault.check, fault.subject, fault.who, fault.said, fault.found)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise AuditFileError(
            "AUDIT_FILE",
            f"An equation or a price in the audit file cannot be evaluated: {type(error).__name__}: {sentence(error)}",
            fix="Save the audit again; a file that was changed after it was saved looks like this.",
        ) from error
    after = after_actions(problem.encoding, decision, frame.iloc[rows], actions)
    note(Check.FLIPS, "", ~decision.is_favourable(after))
    return found, int((~coded).sum())


def _actions(table: RecourseTable, rows: npt.NDArray[np.intp]) -> Actions:
    source, acts = table.source, list(table.acts)
    facts, moved = source.facts(rows), source.moved(table, rows)
    picked, values, parts = np.zeros(facts.shape, dtype=bool), facts.copy(), np.zeros(facts.shape)
    mask, given = source.interventions(table, rows)
    picked[:, acts], parts[:, acts] = mask, source.costs(table, rows)
    values[:, acts] = np.where(mask, given, facts[:, acts])
    proven = table.status[rows] == Status.OPTIMAL
    groups = np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]]
    return Actions(
        facts,
        picked,
        values,
        moved,
        parts,
        table.cost[rows],
        table.bound[rows],
        proven,
        table.vanishing[rows],
        groups,
    )
