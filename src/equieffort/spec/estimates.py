"""What an audit would be, before it is made: everything it would refuse, who leaves it, and about how long it takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.effort.criteria import Criteria
from equieffort.effort.measures import MEASURES
from equieffort.effort.neighbours import Nearest, NearestK
from equieffort.errors import many
from equieffort.models import fidelity
from equieffort.recourse.alternatives import find_alternatives
from equieffort.recourse.solvers import Solver
from equieffort.recourse.solving import solve_rows, warn_of_limits
from equieffort.recourse.table import RecourseTable
from equieffort.results.explanation import assumed_text
from equieffort.results.inputs import AuditInputs
from equieffort.results.provenance import SolverUsed
from equieffort.results.resampling import Resampling
from equieffort.results.streaming import Looked
from equieffort.spec.notions import refuse_treatments
from equieffort.spec.runs import Prepared, placed_problem
from equieffort.spec.solving import solver_words
from equieffort.spec.validate_data import refuse_truth
from equieffort.words.choices import choice_text
from equieffort.words.durations import roughly
from equieffort.words.equations import one_line
from equieffort.words.problems import spec_words
from equieffort.words.shown import SMALL, SMALL_TEXT
from equieffort.world.groups import Groups, group_name
from equieffort.world.labels import labels_of
from equieffort.world.schema import AssumedLimit

LONG_ENOUGH = 2.0
"""Seconds of solving from which the rest is estimated."""
MOST_TRIED = 128
"""People who are solved for an estimate."""


EACH_NUMBER = 0.4
"""Seconds that reading all notions takes for each actionable number, whoever the people are; this and what follows as
`python benchmarks/notion_pace.py` measures it for a linear model."""
EACH_REFUSED = (2.1e-3, 4e-4)
"""Seconds for each refused person of the first `MOST_REWARDED`, whose effort is ranked, and of all."""
EACH_PAIR = 9e-8
"""Seconds for each pair of people who are compared, those of at most `MOST_PAIRED` with everybody."""
MOST_REWARDED, MOST_PAIRED = 5_000, 3_000
TIMES_ASKED = 150
"""How often the model is asked about each person, for each actionable number."""


@dataclass(frozen=True)
class Leaving:
    """Of a group, how many are in the table and how many leave the audit because of missing values."""

    people: int
    leaving: int


@dataclass(frozen=True)
class Estimate:
    """How much work an audit would be."""

    audited: int
    """How many people the audit is about: those of the table who do not leave it."""
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
    missing: dict[str, Leaving] = field(default_factory=dict)
    """Who leaves because of missing values, by group; empty where nobody does."""
    tried: int = 0
    """How many people were solved to estimate how long all take."""
    seconds: float | None = None
    """About how long solving takes on this machine; None where nobody is refused."""
    looked_at: int = 0
    """Of how many people the refused were counted, and taken for all; 0 where it is everybody."""
    too_few: tuple[tuple[str, str], ...] = ()
    """Comparisons that too few refused people leave open, whatever is found: a group and whom it is compared with."""
    min_people: int = 0
    """How many refused people each group needs."""
    small: dict[str, int] = field(default_factory=dict)
    """Groups of the judged comparisons with so few refused people that little is ever decided: how many they are."""

    def __str__(self) -> str:
        people = sum(self.unfavourable.values())
        groups = ", ".join(f"{group_name(label, self.columns)}: {n:,}" for label, n in self.unfavourable.items())
        lines = [f"{many(self.audited, 'person', 'people')}, {people:,} refused ({groups})."]
        if self.looked_at:
            lines.append(f"Refused are counted among {self.looked_at:,} people, evenly spaced, and taken for all.")
        lines += [alike] if (alike := self._all_alike(people)) else []
        lines += [self._few()] if self.too_few and people else []
        if self.small and people:
            named = ", ".join(f"{group_name(label, self.columns)}: {n:,}" for label, n in self.small.items())
            lines.append(f"Few are refused ({named}). {SMALL_TEXT}")
        lines += [self._missing()] if self.missing else []
        if self.intervention_sets:
            lines.append(
                f"{many(self.intervention_sets, 'set', 'sets')} of interventions each, "
                f"{many(people * self.intervention_sets, 'small problem', 'small problems')} in all."
            )
        lines.append(f"Solver: {solver_words(SolverUsed.of(self.solver))}. {self.reason}")
        lines += [told] if (told := assumed_text(self.assumed, self.zero_one, labels_of(self.columns))) else []
        lines += ["Structural equations:", *(f"  {equation}" for equation in self.equations)] if self.equations else []
        if self.surrogate is not None:
            lines += [str(self.surrogate), *fidelity.refusal_lines(self.surrogate)]
        if self.seconds is not None:
            lines.append(
                f"A rough guess from {many(self.tried, 'person', 'people')} solved here: the audit will take "
                f"{roughly(self.seconds)} on this machine; people who are hard to solve may take longer."
            )
        return "\n".join(lines)

    def _all_alike(self, refused: int) -> str:
        """Where the model decides alike of everybody."""
        if not refused:
            return "Nobody is refused, so there is no effort to compare: the audit would be inconclusive."
        if refused < self.audited or refused == 1:
            return ""
        if self.surrogate is None:
            return "Everybody is refused: check that outcome.favourable names the right decision."
        return (
            "The surrogate refuses everybody: nothing that the audit says of it tells apart whom the record refuses "
            "and whom it approves."
        )

    def _few(self) -> str:
        pairs = (" against ".join(group_name(label, self.columns) for label in pair) for pair in self.too_few)
        return (
            f"Too few are refused to judge {', '.join(pairs)}: each group needs at least {self.min_people:,} with a "
            "route to approval, so the audit would be inconclusive there."
        )

    def _missing(self) -> str:
        groups = ", ".join(
            f"{group_name(label, self.columns)}: {one.leaving:,} of {one.people:,}"
            for label, one in self.missing.items()
        )
        gone = sum(one.leaving for one in self.missing.values())
        return f"{many(gone, 'person leaves', 'people leave')} the audit because of missing values ({groups})."

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the solver as an audit keeps it."""
        return asdict(self) | {"solver": repr(self.solver)}


def estimate(prepared: Prepared, *, again: Resampling | None = None, notions: bool = False) -> Estimate:
    """Check the parts against each other, solve a few people, and tell what all of them will take.

    `again` and `notions` are what the audit was asked for besides.
    """
    spec, started = prepared.spec, perf_counter()
    with spec_words(), placed_problem(spec):
        inputs = AuditInputs.of(
            prepared.classifier, prepared.people, solver=spec.solver, subgroups=spec.subgroups, **prepared.arguments
        )
        people, problem = inputs.people, inputs.problem
        warn_of_limits(people, inputs.choice)
        refused = ~problem.decision.is_favourable(people.frame)
        near = spec.neighbourhood
        if isinstance(near, Nearest | NearestK):
            near.distance.bind(people.frame, problem.encoding, problem.schema)
        if spec.matching is not None:
            spec.matching.check(people.frame, problem.encoding, problem.schema)
        if again is not None:
            again.check(prepared.classifier)
        if notions and (truth := prepared.truth_of(people.frame.index)) is not None:
            refuse_truth(spec, truth)
        if notions:
            refuse_treatments(spec, problem, people.frame)
        checked = perf_counter() - started
        paced = _timed(inputs, np.flatnonzero(refused), spec.alternatives)
        beside = paced.further + (notions_take(inputs, int(refused.sum()), paced.seconds) if notions else 0.0)
    groups = people.groups
    counts = np.bincount(groups.codes[refused], minlength=len(groups.labels)).tolist()
    surrogate = prepared.measured
    if surrogate is not None:
        among = {code for one in groups.pairs if one.group in groups.protected for code in (one.group, *one.others)}
        judged = [groups.labels[code] for code in sorted(among)]
        surrogate = replace(surrogate, columns=groups.columns).among(judged)
    times = 1 if again is None else 1 + again.replicates
    return Estimate(
        len(people.frame),
        dict(zip(groups.labels, counts, strict=True)),
        inputs.choice.prepared.subproblems,
        inputs.choice.solver,
        choice_text(inputs.choice.grounds, "spec"),
        surrogate,
        tuple(one_line(record, labels_of(groups.columns)) for record in prepared.scm.equation_records()),
        problem.schema.assumed,
        problem.schema.zero_one,
        groups.columns,
        _leaving(prepared, groups),
        paced.tried,
        checked + paced.seconds * times + beside if paced.tried else None,
        too_few=_too_few(groups, counts, spec.criteria),
        small=_small(groups, counts, spec.criteria),
        min_people=spec.criteria.min_people,
    )


def _too_few(groups: Groups, refused: list[int], criteria: Criteria) -> tuple[tuple[str, str], ...]:
    """Judged comparisons with fewer refused people on a side than a verdict about the refused needs."""
    if any(getattr(MEASURES.get(name), "basis", "people") == "people" for name in criteria.judged):
        return ()
    judged = (one for one in groups.pairs if one.group in groups.protected)
    sides = ((one, refused[one.group], sum(refused[k] for k in one.others)) for one in judged)
    return tuple((groups.labels[one.group], one.against) for one, *both in sides if min(both) < criteria.min_people)


def _small(groups: Groups, refused: list[int], criteria: Criteria) -> dict[str, int]:
    """Sides of judged comparisons with fewer refused people than a verdict takes in practice, and how many they are."""
    if criteria.level is None:
        return {}
    judged = [one for one in groups.pairs if one.group in groups.protected]
    sides = {groups.labels[one.group]: refused[one.group] for one in judged}
    sides |= {one.against: sum(refused[k] for k in one.others) for one in judged}
    return {label: n for label, n in sides.items() if n < SMALL}


def estimate_of(looked: Looked, checked: float, workers: int) -> Estimate:
    """What the audit of people in files would be, from those who were looked at in its first pass."""
    inputs, n = looked.inputs, len(looked.files)
    people, problem = inputs.people, inputs.problem
    refused = ~problem.decision.is_favourable(people.frame)
    paced = _timed(inputs, np.flatnonzero(refused))
    groups, times = people.groups, n / len(people.frame)
    counts = np.rint(np.bincount(groups.codes[refused], minlength=len(groups.labels)) * times).astype(int).tolist()
    return Estimate(
        n,
        dict(zip(groups.labels, counts, strict=True)),
        inputs.choice.prepared.subproblems,
        inputs.choice.solver,
        choice_text(inputs.choice.grounds, "spec"),
        equations=tuple(one_line(record, labels_of(groups.columns)) for record in problem.scm.equation_records()),
        assumed=problem.schema.assumed,
        zero_one=problem.schema.zero_one,
        columns=groups.columns,
        tried=paced.tried,
        seconds=checked + paced.seconds * times / workers if paced.tried else None,
        looked_at=len(people.frame) if times > 1 else 0,
    )


def _leaving(prepared: Prepared, kept: Groups) -> dict[str, Leaving]:
    """By group of the whole table, where somebody leaves."""
    before = Groups.of(prepared.everybody, prepared.spec.schema)
    found = {}
    for code, label in enumerate(before.labels):
        n = int((before.codes == code).sum())
        left = n - (int((kept.codes == kept.labels.index(label)).sum()) if label in kept.labels else 0)
        found[label] = Leaving(n, left)
    return found if any(one.leaving for one in found.values()) else {}


@dataclass(frozen=True)
class Paced:
    """How long some people took here, and all would at their pace."""

    tried: int = 0
    """How many were solved; none where nobody is refused."""
    seconds: float = 0.0
    """Of solving all."""
    further: float = 0.0
    """Of finding their further ways."""


def _timed(inputs: AuditInputs, rows: npt.NDArray[np.intp], ways: int = 1) -> Paced:
    """Solve some of the people with a clock, and perhaps find their further ways.

    Some are solved first without a clock: kernels are compiled and linked only once.
    """
    if not len(rows):
        return Paced()
    spread = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_TRIED).round().astype(np.intp))]
    # Neighbours in the table may be alike: each part is spread over everybody.
    spread = spread[np.random.default_rng(0).permutation(len(spread))]
    begin = perf_counter()
    part = solve_rows(inputs.people, inputs.choice, spread[:2])
    taken, done = perf_counter() - begin, min(2, len(spread))
    if taken > LONG_ENOUGH or done == len(spread):
        return Paced(done, taken / done * len(rows), _further(part, ways) * len(rows))
    timed, size = 0.0, 4
    first = done
    while done < len(spread) and timed < LONG_ENOUGH:
        begin = perf_counter()
        found = solve_rows(inputs.people, inputs.choice, spread[done : done + size])
        timed += perf_counter() - begin
        done, size = done + len(found), 2 * size
        part = max(part, found, key=len)
    return Paced(done, timed / (done - first) * len(rows), _further(part, ways) * len(rows))


def _further(part: RecourseTable, ways: int) -> float:
    """Seconds a person that further ways take, from some who were solved; as before, first without a clock.

    Of so few people each call is dear: the pace is that of most at once.
    """
    if ways == 1:
        return 0.0
    begin = perf_counter()
    find_alternatives(part, np.arange(1), ways)
    if (taken := perf_counter() - begin) > LONG_ENOUGH:
        return taken
    size = 1
    while size < len(part) and taken < LONG_ENOUGH:
        size = min(4 * size, len(part))
        begin = perf_counter()
        find_alternatives(part, np.arange(size), ways)
        taken = perf_counter() - begin
    return taken / size


def notions_take(inputs: AuditInputs, refused: int, solving: float) -> float:
    """About how many seconds reading all notions takes, if solving the refused takes so many.

    Twins are solved at each other level and efforts by rank once more, all as the people are.
    """
    people, problem = inputs.people, inputs.problem
    n, numbers = len(people.frame), len(problem.numeric)
    asked = []
    for _ in range(3):
        begin = perf_counter()
        problem.decision.is_favourable(people.frame)
        asked.append(perf_counter() - begin)
    # Whatever else the machine did in between makes one of them longer, never shorter.
    asking = min(asked) * TIMES_ASKED * numbers
    ranked, paired = min(refused, MOST_REWARDED), min(n, MOST_PAIRED)
    again = solving * len(people.groups.known) * ranked / max(refused, 1)
    first, each = EACH_REFUSED
    return asking + again + EACH_NUMBER * numbers + first * ranked + each * refused + EACH_PAIR * n * paired
