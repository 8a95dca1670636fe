"""EqualityOfEffort: the curves of the groups, delta at each gamma, AED, single people, and the repair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools
from equieffort.errors import DataError, EquieffortWarning, ParameterError, capital, collecting, label, listed, warn
from equieffort.foundations.arguments import check_flag, check_number
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.base import Audited
from equieffort.notions.bootstrap import REPLICATES
from equieffort.notions.huang.averaged import FALL
from equieffort.notions.huang.estimators import Estimator
from equieffort.notions.huang.individuals import NEIGHBOURS, IndividualEffort, aed_text, individual
from equieffort.notions.huang.minimum_effort import (
    Gammas,
    average_difference,
    defined_gammas,
    largest_fall,
    minimum_effort,
    read_gammas,
)
from equieffort.notions.huang.repair import MARGIN, Outcomes, Repair, least_change, repaired
from equieffort.notions.huang.study import Direction, Study, prepare
from equieffort.world.distances import Distance
from equieffort.world.opponents import EVERYBODY_ELSE

WAYS = {"BySCM": "the structural equations", "ByRegression": "outcome regression",
        "ByWeighting": "inverse propensity weighting"}  # fmt: skip
OUTCOMES = {"label": "favourable decisions", "probability": "the model's probability of a favourable decision",
            "observed label": "favourable labels as observed"}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class EqualityOfEffort(Shown):
    """Huang's equality of effort for one treatment: how much of it each group needs for the same chance of a yes."""

    treatment: str
    direction: Direction
    """"up": more of the treatment is more effort; "down": less of it is."""
    outcome: str
    """"label", "probability" or "observed label": what Y is."""
    by: Estimator
    why: str
    """Why E[Y(t)] was found that way."""
    curve: pd.DataFrame
    """group, against (whom "everybody else" leaves out), t (in the direction of effort), expected (E[Y(t)]), n,
    n_undefined."""
    delta: pd.DataFrame
    """group, against, gamma, psi, psi_against, delta (above 0: the group needs more effort; NaN too where a psi is the
    first point of the grid and less might do), low, high, unreached (who cannot reach gamma on this grid), note. Of a
    range of gammas nine are listed."""
    aed: pd.DataFrame
    """group, against, gammas, aed, low, high, share (of the gammas at which delta is defined: AED rests on these
    alone), n, n_against, n_undefined, note."""
    level: float
    warnings: tuple[EquieffortWarning, ...] = ()
    study: Study = field(repr=False, kw_only=True)

    @classmethod
    def of(cls, study: Study) -> EqualityOfEffort:
        """Compare every group with its reference."""
        with collecting() as kept:
            sides = [(where, code) for where, *pair in study.sides for code in pair]
            shown = {(id(where), where.label(code)): (where, code) for where, code in sides}
            curves = [_curve_rows(where, code) for where, code in shown.values()]
            for (where, code), part in zip(shown.values(), curves, strict=True):
                _warn_falls(where, code, part["expected"].to_numpy())
        deltas: list[dict[str, Any]] = []
        averages: list[dict[str, Any]] = []
        for where, code, against in study.sides:
            rows, average = where.compare(code, against)
            deltas, averages = deltas + rows, [*averages, average]
        return cls(
            study.treatment, study.direction, study.outcome, study.how, study.why,
            pd.concat(curves, ignore_index=True), pd.DataFrame(deltas, columns=DELTA), pd.DataFrame(averages),
            study.audited.level, tuple(kept), study=study,
        )  # fmt: skip

    def individual(
        self, label: Any = None, *, position: int | None = None, k: int = NEIGHBOURS, distance: Distance | None = None
    ) -> IndividualEffort:
        """Psi_i and effort of one person, and delta between the k people of each group who are most like them.

        The person is named by index label, or by `position`. `distance` is by default the sum of scaled differences of
        all columns that the treatment does not move, without the protected ones.
        """
        return individual(self.study, _row(self.study, label, position), k, distance)

    def repair(self, gamma: float, *, group: str | None = None, bounded: bool = False) -> Repair:
        """The least change of outcomes, in squares, under which `group` and its reference need the same for gamma.

        Outcomes are those at every t of the grid, of each person; with weighting the groups' means. `bounded` keeps
        them between 0 and 1. Psi is that of the grid, without interpolation. `group` may be left out if only one is
        compared.
        """
        check_number("gamma", gamma, "a share above 0 and at most 1", lambda share: MARGIN < share <= 1)
        check_flag("bounded", bounded)
        study, *pair = self._side(group)
        return _repair(study, float(gamma), (pair[0], pair[1]), bounded)

    def _side(self, group: str | None) -> tuple[Study, int, int]:
        sides = self.study.sides
        found = [side for side in sides if group is None or side[0].label(side[1]) == group]
        if len(found) != 1:
            raise ParameterError(
                "PARAMETER",
                f"Which group is repaired? {'None was named' if group is None else f'{group!r} is not compared'}.",
                fix=f"Choose group= from {listed(where.label(code) for where, code, _ in sides)}.",
            )
        return found[0]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        way = "less" if self.direction == "down" else "more"
        treatment = self.study.problem.schema.names.feature(self.treatment)
        return [
            f"Equality of effort (Huang et al. 2020), treatment {treatment}: {way} is more effort.",
            f"Outcome: {OUTCOMES[self.outcome]}; E[Y(t)] by {WAYS[type(self.by).__name__]} ({self.why}).",
            *(self._sentence(row) for row in self.aed.to_dict("records")),
        ]

    def _sentence(self, row: dict[Any, Any]) -> str:
        from equieffort.words.shown import notes_text

        people = self.study.audited.table.groups.people
        mine, theirs = capital(people(str(row["group"]))), people(str(row["against"]))
        found = f"{mine} against {theirs}: {aed_text(row, self.level)}"
        asked = f"; gamma {row['gammas']}" if row["gammas"] else ""
        return " ".join(part for part in (f"{found}{asked}.", notes_text(row["note"])) if part)

    def _told(self) -> Told:
        first, *lines = self._lines()
        care = [one.what for one in self.warnings]
        care.append("One treatment is set for everybody; limits of single people play no part.")
        return Told(
            first, lines, {"Average effort discrepancy": self.aed}, care, ".curve, .delta, .aed, .individual(label)"
        )


def equality_of_effort(
    audited: Audited,
    treatment: str,
    *,
    gammas: Any = None,
    grid: Any = None,
    direction: Direction | None = None,
    by: Estimator | None = None,
    outcome: str = "label",
    members: Bools | None = None,
    interpolate: bool = False,
    replicates: int = REPLICATES,
) -> EqualityOfEffort:
    """What `Audit.equality_of_effort` does, which see."""
    check_flag("interpolate", interpolate)
    study = prepare(
        audited, treatment, gammas=None if gammas is None else read_gammas(gammas), grid=grid, direction=direction,
        by=by, outcome=outcome, members=members, interpolate=interpolate, replicates=replicates,
    )  # fmt: skip
    return EqualityOfEffort.of(study)


DELTA = ["group", "against", "gamma", "psi", "psi_against", "delta", "low", "high", "unreached", "note"]


def _curve_rows(study: Study, code: int) -> pd.DataFrame:
    rows = study.group(code)
    n = study.counted(code, study.members)
    return pd.DataFrame(
        {
            "group": study.label(code),
            "against": study.label(0) if study.label(code) == EVERYBODY_ELSE else "",
            "t": study.grid,
            "expected": study.curve(code, study.members),
            "n": n,
            "n_undefined": int(study.members[rows].sum()) - n,
        }
    )


def _warn_falls(study: Study, code: int, curve: Any) -> None:
    fall = largest_fall(curve)
    if fall > FALL:
        people = study.audited.table.groups.people(study.label(code))
        warn(
            "EFFORT_NOT_MONOTONE",
            f"E[Y(t)] of {people} falls by {fall * 100:.1f} points on the way: more effort on {study.treatment!r} "
            "does not always help them.",
            fix="Look at .curve. The least treatment that reaches gamma is still what counts; check the direction and "
            "the grid.",
        )


def _row(study: Study, name: Any, position: int | None) -> int:
    index = study.audited.table.index
    if (name is None) == (position is None):
        raise ParameterError("DATA_UNKNOWN_ROW", "Name one person.", fix="Give an index label, or position=.")
    if position is not None and isinstance(position, int) and -len(index) <= position < len(index):
        return position % len(index)
    found = np.flatnonzero(index == name).tolist() if position is None else []
    if len(found) != 1:
        given = label(name) if position is None else f"at position {position!r}"
        raise DataError(
            "DATA_UNKNOWN_ROW",
            f"There is no person {given}; there are {len(index):,}.",
            fix="Give an index label of the audited people, or a position.",
        )
    return int(found[0])


def _repair(study: Study, gamma: float, pair: tuple[int, int], bounded: bool) -> Repair:
    before = tuple(_outcomes(study, code) for code in pair)
    empty = [study.label(code) for code, one in zip(pair, before, strict=True) if np.isnan(one.means).any()]
    if empty:
        raise DataError(
            "DATA_EMPTY",
            f"The curve of {listed(empty)} is not known at every treatment of the grid.",
            fix="Give another grid or subgroup.",
        )
    at, _ = least_change(before, gamma, bounded=bounded, margin=MARGIN)
    after = tuple(repaired(one, at, gamma, bounded=bounded) for one in before)
    differences = [new.values - old.values for new, old in zip(after, before, strict=True)]
    size = sum(one.weight * float((part**2).sum()) for one, part in zip(before, differences, strict=True))
    cells = sum(part.size * one.weight for one, part in zip(before, differences, strict=True))
    moved = sum(int((part != 0).sum()) * one.weight for one, part in zip(before, differences, strict=True))
    labels = [study.label(code) for code in pair]
    summary = _summary(study, (before, after), study.asked(pair[0], pair[1]), gamma)
    curve = pd.concat(
        [
            pd.DataFrame({"group": name, "t": study.grid, "before": old.means, "after": new.means})
            for name, old, new in zip(labels, before, after, strict=True)
        ],
        ignore_index=True,
    )
    people = None if study.curves.each(study.group(pair[0])) is None else {
        name: pd.DataFrame(new.values, index=study.audited.table.index[_members(study, code)], columns=study.grid)
        for name, code, new in zip(labels, pair, after, strict=True)
    }  # fmt: skip
    infimum = least_change(before, gamma, bounded=bounded, margin=0.0)[1]
    return Repair(
        gamma, labels[0], labels[1], float(study.grid[at]), summary, curve, size, infimum,
        moved / cells, people,
    )  # fmt: skip


def _summary(study: Study, both: tuple[tuple[Outcomes, ...], ...], gammas: Gammas | None, gamma: float) -> pd.DataFrame:
    """Before and after: AED of both at the same gammas, those at which it is defined both times."""
    curves = [(outcomes[0].means, outcomes[1].means) for outcomes in both]
    rests = gammas
    for mine, theirs in curves:
        rests = None if rests is None else defined_gammas(mine, theirs, rests, is_least=study.is_least)[0]
    rows = []
    for outcomes, (mine, theirs) in zip(both, curves, strict=True):
        aed = np.nan if rests is None else average_difference(mine, theirs, study.steps, rests)[0]
        share = np.nan if gammas is None else defined_gammas(mine, theirs, gammas, is_least=study.is_least)[1]
        rows.append({**_psi_of(study, outcomes, gamma), "aed": aed, "share": share})
    return pd.DataFrame(rows, index=["before", "after"])


def _psi_of(study: Study, outcomes: tuple[Outcomes, ...], gamma: float) -> dict[str, float]:
    psi = [float(minimum_effort(one.means, study.steps, np.array([gamma]))[0]) for one in outcomes]
    return {"psi": study.sign * psi[0], "psi_against": study.sign * psi[1], "delta": psi[0] - psi[1]}


def _members(study: Study, code: int) -> Any:
    rows = study.group(code)
    return rows[study.members[rows] & ~study.curves.undefined(rows)]


def _outcomes(study: Study, code: int) -> Outcomes:
    rows, taken = study.group(code), _members(study, code)
    each = study.curves.each(rows)
    if each is None or not len(taken):
        return Outcomes(study.curve(code, study.members)[None], float(len(taken)))
    return Outcomes(each[np.isin(rows, taken), :: study.sign])
