"""Study: one treatment, its grid and direction, the outcome and its curves; pairs of groups are compared in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, nan
from typing import Any, Literal

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.errors import DataError, ParameterError, closest, listed
from equieffort.foundations.arguments import check_choice, check_instance, is_number, items_in
from equieffort.notions.base import Audited
from equieffort.notions.bootstrap import REPLICATES, limits_of_sides
from equieffort.notions.huang.averaged import FALL, averaged, common_range
from equieffort.notions.huang.estimators import (
    FEW_LEVELS,
    Adjusted,
    ByRegression,
    BySCM,
    ByWeighting,
    Counterfactual,
    Curves,
    Estimator,
    Regressed,
    Rows,
    Weighted,
)
from equieffort.notions.huang.minimum_effort import (
    ROUNDING,
    GammaRange,
    Gammas,
    largest_fall,
    minimum_effort,
    reach,
)
from equieffort.notions.huang.outcomes import counterfactual_outcomes, covariates_of, outcome_of, unmoved_columns
from equieffort.recourse.problem import RecourseProblem

Direction = Literal["up", "down"]
POINTS = 51
"""Points of a grid that nobody gave."""
WHOLE_POINTS = 200
"""So many whole numbers are all points of a grid; more are thinned out."""
SHOWN_GAMMAS = 9
"""At how many gammas of a range delta is listed."""
CELLS = 4_000_000
"""Replicates times people that are computed at once."""


@dataclass(frozen=True, eq=False)
class Study:
    """What every comparison needs. The last axis of curves goes in the direction of effort, as `steps` does."""

    audited: Audited
    treatment: str
    direction: Direction
    curves: Curves
    how: Estimator
    why: str
    outcome: str
    members: Bools
    """Who is compared: everybody, or a subgroup."""
    gammas: Gammas | None
    """None: what the two groups of a comparison both reach."""
    interpolate: bool
    replicates: int = REPLICATES
    _drawn: dict[int, Floats] = field(default_factory=dict, repr=False, init=False)

    @property
    def problem(self) -> RecourseProblem:
        """The model and the equations."""
        assert self.audited.problem is not None
        return self.audited.problem

    @cached_property
    def sides(self) -> list[tuple[Study, int, int]]:
        """Every comparison: where it is read, and the codes of its two groups there."""
        views, found = self.audited.views, []
        # People whose group is not known are compared with nobody, as in `Audited.pairs`.
        known = [one.role != "unknown" for one in self.audited.table.groups.pairs]
        for k, view in enumerate(views):
            where = self if view is self.audited else replace(self, audited=view)
            if where is self or known[k]:
                found += [(where, code, against) for code, against in view.pairs]
        return found

    @property
    def sign(self) -> int:
        """-1 where less is more effort."""
        return 1 if self.direction == "up" else -1

    @property
    def grid(self) -> Floats:
        """The treatments in the direction of effort."""
        return self.curves.grid[:: self.sign]

    @property
    def steps(self) -> Floats:
        """The same, growing with effort."""
        return self.sign * self.grid

    def group(self, code: int) -> Rows:
        """The people of a group."""
        return np.flatnonzero(self.audited.table.groups.codes == code)

    def label(self, code: int) -> str:
        """A group's name in tables."""
        return self.audited.table.groups.labels[code]

    def counted(self, code: int, members: Bools) -> int:
        """On how many people a group's curve rests."""
        rows = self.group(code)
        return int((members[rows] & ~self.curves.undefined(rows)).sum())

    def curve(self, code: int, members: Bools) -> Floats:
        """E[Y(t)] of a group's members, in the direction of effort."""
        rows = self.group(code)
        return self.curves.curves(rows, np.ones((1, len(rows))), members[rows])[0, :: self.sign]

    def drawn(self, code: int, members: Bools) -> Floats:
        """The same for people drawn again within the group: (replicates, grid). Groups are drawn independently."""
        everybody = members is self.members
        if everybody and code in self._drawn:
            return self._drawn[code]
        rows = self.group(code)
        n, rng = len(rows), np.random.default_rng([self.audited.random_state, code])
        found, block = [], max(1, CELLS // max(n, 1))
        for begin in range(0, self.replicates, block):
            size = min(block, self.replicates - begin)
            picks = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
            counts = np.bincount(picks.ravel(), minlength=n * size).reshape(size, n).astype(np.float64)
            found.append(self.curves.curves(rows, counts, members[rows])[:, :: self.sign])
        replicates = np.concatenate(found)
        if everybody:
            self._drawn[code] = replicates
        return replicates

    def compare(
        self, code: int, against: int, members: Bools | None = None
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Rows of delta and the row of AED of a group against its reference."""
        members = self.members if members is None else members
        mine, theirs = self.curve(code, members), self.curve(against, members)
        named = {"group": self.label(code), "against": self.label(against)}
        counts = {"n": self.counted(code, members), "n_against": self.counted(against, members)}
        everybody = sum(int(members[self.group(one)].sum()) for one in (code, against))
        counts["n_undefined"] = everybody - counts["n"] - counts["n_against"]
        gammas = self.asked(code, against, members)
        if gammas is None:
            row = named | {"gammas": "", "aed": nan, "low": nan, "high": nan, "share": nan}
            return [], row | counts | {"note": "NO_COMMON_GAMMA"}
        drawn = self.drawn(code, members), self.drawn(against, members)
        people = counts["n"], counts["n_against"]
        rows = self._rows(named, (mine, theirs), drawn, people, listed_gammas(gammas))
        whole = averaged(
            (mine, theirs), drawn, people, self.steps, gammas, self.audited.level,
            interpolate=self.interpolate, is_least=self.is_least,
        )  # fmt: skip
        notes = [whole.note, *self._notes((code, against), (mine, theirs), gammas, rows)]
        row = named | {"gammas": gammas_text(gammas), "aed": whole.aed, "low": whole.low, "high": whole.high}
        row["share"] = whole.share
        return rows, row | counts | {"note": " ".join(one for one in notes if one)}

    def _rows(
        self, named: dict[str, str], curves: tuple[Floats, Floats], drawn: tuple[Floats, Floats],
        people: tuple[int, int], levels: Floats,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """delta at each gamma."""
        psi, again = (self._psi(np.stack(one), levels) for one in (curves, drawn))
        reached = self._psi(np.stack(curves), levels, is_least=True)
        is_unknown = [bool(np.isnan(curve).any()) for curve in curves]
        rows = []
        for k, gamma in enumerate(levels):
            delta = float(psi[0, k] - psi[1, k])
            low, high, note = limits_of_sides(delta, again[0][:, k], again[1][:, k], people, self.audited.level)
            lacking = [side for side in (0, 1) if np.isnan(reached[side, k])]
            unreached = [list(named.values())[side] for side in lacking if not is_unknown[side]]
            if np.isnan(delta):
                note = "" if unreached else "UNKNOWN_CURVE" if lacking else "GRID_START"
            own = {"psi": self.sign * float(reached[0, k]), "psi_against": self.sign * float(reached[1, k])}
            rows.append(
                named | {"gamma": float(gamma)} | own
                | {"delta": delta, "low": low, "high": high, "unreached": ", ".join(unreached), "note": note}
            )  # fmt: skip
        return rows

    def asked(self, code: int, against: int, members: Bools | None = None) -> Gammas | None:
        """The gammas asked about; by default those that both groups reach. None where there are none."""
        if self.gammas is not None:
            return self.gammas
        members = self.members if members is None else members
        return common_range(
            (self.curve(code, members), self.curve(against, members)),
            (self.drawn(code, members), self.drawn(against, members)),
        )

    def _psi(self, curves: Floats, levels: Floats, *, is_least: bool | None = None) -> Floats:
        is_least = self.is_least if is_least is None else is_least
        return minimum_effort(curves, self.steps, levels, interpolate=self.interpolate, is_least=is_least)

    @cached_property
    def is_least(self) -> bool:
        """Whether no less effort than the first point of the grid exists: it is at a declared limit of the treatment.

        Otherwise a share that is reached there might be reached before it.
        """
        feature = self.problem.schema.feature(self.treatment)
        k, first = (0, self.grid[0]) if self.sign > 0 else (1, self.grid[0])
        limits = [end for end in (feature.ends[k], (feature.plausible or (None, None))[k]) if end is not None]
        return any(isfinite(end) and self.sign * first <= self.sign * float(end) for end in limits)

    def _notes(
        self, codes: tuple[int, int], curves: tuple[Floats, Floats], gammas: Gammas, rows: list[dict[str, Any]]
    ) -> list[str]:
        least, most = (gammas.low, gammas.high) if isinstance(gammas, GammaRange) else (gammas[0], gammas[-1])
        notes = []
        short = [curve for curve in curves if reach(curve)[-1] < most - ROUNDING]
        if any(np.isnan(curve).any() for curve in short):
            notes.append("UNKNOWN_CURVE")
        if any(not np.isnan(curve).any() for curve in short):
            notes.append("SOME_UNREACHED")
        if any(largest_fall(curve) > FALL for curve in curves):
            notes.append("NOT_MONOTONE")
        # Of a set the least gamma itself counts, of a range what is above it.
        start = least + ROUNDING if isinstance(gammas, GammaRange) else least - ROUNDING
        if not self.is_least and any(curve[0] > start for curve in curves):
            notes.append("GRID_START")
        psi = [np.array([row[name] for row in rows]) for name in ("psi", "psi_against")]
        if not isinstance(self.how, BySCM) and any(
            _beyond(values, self.treated(code)) for code, values in zip(codes, psi, strict=True)
        ):
            notes.append("EXTRAPOLATED")
        return notes

    def treated(self, code: int) -> Floats:
        """The treatment of a group's people as it is."""
        return self.values[self.group(code)]

    @property
    def values(self) -> Floats:
        """Everybody's treatment as it is."""
        return self.problem.encoding[self.treatment].encode(self.audited.table.data[self.treatment])


def _beyond(values: Floats, observed: Floats) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool((known < np.nanmin(observed)).any() or (known > np.nanmax(observed)).any())


def listed_gammas(gammas: Gammas) -> Floats:
    """At which gammas delta is listed; nothing is needed for none, so 0 is left out."""
    if isinstance(gammas, GammaRange):
        listed = np.linspace(gammas.low, gammas.high, SHOWN_GAMMAS)
        return listed[listed > 0]
    return np.asarray(gammas)


def gammas_text(gammas: Gammas) -> str:
    """As tables write them."""
    return str(gammas) if isinstance(gammas, GammaRange) else ", ".join(f"{gamma:g}" for gamma in gammas)


def prepare(
    audited: Audited,
    treatment: str,
    *,
    gammas: Gammas | None = None,
    grid: Any = None,
    direction: Direction | None = None,
    by: Estimator | None = None,
    outcome: str = "label",
    members: Bools | None = None,
    interpolate: bool = False,
    replicates: int = REPLICATES,
) -> Study:
    """Check what is asked and find the outcomes, once for all comparisons."""
    problem = audited.problem
    assert problem is not None
    check_treatment(problem, treatment, by)
    check_choice("outcome", outcome, ("label", "probability"))
    if direction is not None:
        check_choice("direction", direction, ("up", "down"))
    check_instance("by", by, Estimator, "ee.BySCM(), ee.ByRegression() or ee.ByWeighting()", optional=True)
    if audited.labels is not None and (outcome == "probability" or isinstance(by, BySCM)):
        asked = "probabilities of the model" if outcome == "probability" else "ee.BySCM()"
        raise ParameterError(
            "PARAMETER",
            f"Observed labels and {asked} are both asked for.",
            fix="Leave one out: no equation says which label would have been observed.",
        )
    values, points = read_points(problem, audited.table.data, treatment, grid, by)
    curves, how, why = _curves(audited, problem, treatment, values, points, by, outcome == "probability")
    everybody = np.ones(len(values), dtype=bool)
    study = Study(
        audited, treatment, direction or "up", curves, how, why,
        "observed label" if audited.labels is not None else outcome,
        everybody if members is None else members, gammas, interpolate, replicates,
    )  # fmt: skip
    return study if direction is not None else replace(study, direction=_direction(problem, study))


def check_treatment(problem: RecourseProblem, treatment: Any, by: Estimator | None) -> None:
    """Refuse what is no number that people could change, and columns to adjust for that are none."""
    if not isinstance(treatment, str) or treatment not in problem.names:
        raise ParameterError(
            "PARAMETER",
            f"The treatment {treatment!r} is no column of this audit. {closest(treatment, problem.names)}".rstrip(),
            fix=f"The columns are {listed(problem.names, 20)}.",
        )
    if treatment in problem.schema.protected_columns:
        raise ParameterError(
            "PARAMETER",
            f"The treatment {treatment!r} is protected: it forms the groups.",
            fix="Give a column that people can change.",
        )
    if problem.encoding[treatment].is_category:
        raise ParameterError(
            "PARAMETER",
            f"The treatment {treatment!r} is a category: its levels have no order in which effort grows.",
            fix="Give a column of numbers, or code the levels as numbers in their order.",
        )
    if isinstance(by, Adjusted):
        unmoved_columns(problem, treatment, by.adjust)


def read_points(
    problem: RecourseProblem, people: pd.DataFrame, treatment: str, grid: Any, by: Estimator | None
) -> tuple[Floats, Floats]:
    """Everybody's treatment as it is, and the points of its grid."""
    values = problem.encoding[treatment].encode(people[treatment])
    return values, _read_grid(problem, treatment, values, grid, by)


def _read_grid(problem: RecourseProblem, treatment: str, values: Floats, given: Any, by: Estimator | None) -> Floats:
    """Growing and without repetition; by default inside the declared limits and the observed values."""
    known, whole = values[~np.isnan(values)], problem.encoding[treatment].is_whole
    levels = np.unique(known)
    is_by_level = isinstance(by, ByWeighting) and len(levels) <= FEW_LEVELS
    if given is not None:
        takes = "two or more finite numbers"
        found = items_in("grid", given, takes)
        if len(found) < 2 or not all(is_number(one) and isfinite(one) for one in found):
            raise ParameterError("PARAMETER", f"grid is no list of {takes}.", fix=f"Give {takes}, such as range(5).")
        points = np.unique(np.asarray(found, dtype=np.float64))
        if whole and (points != np.rint(points)).any():
            raise ParameterError(
                "PARAMETER", f"{treatment!r} holds whole numbers, and grid does not.", fix="Give whole numbers."
            )
        if is_by_level and not np.isin(points, levels).all():
            strange, has = (", ".join(f"{one:g}" for one in part) for part in (np.setdiff1d(points, levels), levels))
            raise ParameterError(
                "PARAMETER",
                f"Weighting knows what becomes of people at the values that {treatment!r} has ({has}), and grid holds "
                f"others: {strange}.",
                fix="Choose from those values, or leave grid= out.",
            )
    elif is_by_level:
        points = levels
    else:
        points = _default_grid(problem, treatment, known, whole)
    if len(points) < 2:
        raise DataError(
            "DATA_CONSTANT",
            f"The treatment {treatment!r} has one value, so there is nothing to compare.",
            fix="Choose another treatment, or give grid=.",
        )
    return points


def _default_grid(problem: RecourseProblem, treatment: str, known: Floats, whole: bool) -> Floats:
    feature = problem.schema.feature(treatment)
    low, high = float(known.min()), float(known.max())
    for end in (feature.ends[0], (feature.plausible or (None, None))[0]):
        low = low if end is None or not isfinite(end) else max(low, float(end))
    for end in (feature.ends[1], (feature.plausible or (None, None))[1]):
        high = high if end is None or not isfinite(end) else min(high, float(end))
    if not whole:
        return np.unique(np.linspace(low, max(low, high), POINTS))
    low, high = np.ceil(low), np.floor(high)
    count = int(high - low) + 1
    return np.unique(np.rint(np.linspace(low, high, count if count <= WHOLE_POINTS else POINTS)))


def _curves(
    audited: Audited, problem: RecourseProblem, treatment: str, values: Floats, grid: Floats, by: Estimator | None,
    chance: bool,
) -> tuple[Curves, Estimator, str]:  # fmt: skip
    """The curves by what was asked for; by default the equations where they answer for everybody."""
    people = audited.table.data
    is_asked, why = by is not None, "as asked"
    if by is None:
        by, why = _automatic(audited, problem, treatment)
    if isinstance(by, BySCM):
        outcomes = counterfactual_outcomes(problem, people, treatment, grid, chance=chance)
        lost = int(np.isnan(outcomes).any(axis=1).sum())
        if lost == 0 or is_asked:
            return Counterfactual(grid, outcomes), by, why
        by, why = ByRegression(), f"an equation has no answer for {lost:,} people"
    assert isinstance(by, Adjusted)
    outcome = outcome_of(problem.decision, people, chance=chance) if audited.labels is None else audited.labels
    covariates = covariates_of(problem.encoding, people, unmoved_columns(problem, treatment, by.adjust))
    kind = Regressed if isinstance(by, ByRegression) else Weighted
    return kind(grid, by, values, np.asarray(outcome, dtype=np.float64), covariates), by, why


def _automatic(audited: Audited, problem: RecourseProblem, treatment: str) -> tuple[Estimator, str]:
    if audited.labels is not None:
        return ByRegression(), "no equation says which label would have been observed"
    graph = problem.scm.graph
    below = graph.descendants(treatment) if treatment in graph.nodes else ()
    without = [node for node in below if problem.scm.mechanisms_[node] is None]
    if without:
        return ByRegression(), f"{listed(without)} would follow the treatment, and no equation says how"
    return BySCM(), "every column that follows the treatment has an equation whose noise can be recovered"


def _direction(problem: RecourseProblem, study: Study) -> Direction:
    """As declared in the schema; else the way in which the outcome rises over the grid, for everybody together."""
    declared = problem.schema.feature(study.treatment).direction
    if declared in ("up", "down"):
        return declared
    codes = range(len(study.audited.table.groups.labels))
    counts = np.array([study.counted(code, study.members) for code in codes], dtype=np.float64)
    ends = np.array([study.curve(code, study.members)[[0, -1]] for code in codes])
    known = ~np.isnan(ends).any(axis=1) & (counts > 0)
    gain = float((counts[known] * (ends[known, 1] - ends[known, 0])).sum())
    return "down" if gain < 0 else "up"
