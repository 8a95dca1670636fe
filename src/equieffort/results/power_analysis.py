"""power(): how many people an audit needs to decide, or what it can decide with the people there are."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan, log
from typing import TYPE_CHECKING, Any, overload

import pandas as pd

from equieffort.data.frames import percent
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.criteria import Criteria
from equieffort.effort.inference.planning import (
    Shares,
    about,
    gap_beyond,
    gap_inside,
    people_beyond,
    people_inside,
    smallest_gap,
    smallest_ratio,
)
from equieffort.effort.measures import MEASURES
from equieffort.effort.metrics import Comparison
from equieffort.effort.planning import POWER, questions, worth_of
from equieffort.errors import ParameterError, Setting
from equieffort.foundations.arguments import check_instance, check_number
from equieffort.foundations.shown import Shown, Told

if TYPE_CHECKING:
    from equieffort.plots.display import Display
    from equieffort.results.audits import Audit

RATIOS = (1.0, 1.1, 1.25, 1.4, 1.5, 1.75, 2.0, 3.0)
GAPS = (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3)
ROUNDING = 1e-12
AHEAD = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000)


@dataclass(frozen=True)
class Assumed:
    """What is assumed of two groups before there is an audit.

    Parameters
    ----------
    share
        The group's share of all people.
    refused, refused_against
        The share refused in the group, and in the reference group.
    recourse, recourse_against
        The share of the refused who have a route to approval.
    variation, variation_against
        The coefficient of variation of their efforts: standard deviation over mean. Where nothing is known, 0.75 is
        that of a half-normal and 1 that of an exponential law.
    """

    share: float = 0.5
    refused: float = 0.3
    refused_against: float = 0.3
    recourse: float = 0.9
    recourse_against: float = 0.9
    variation: float = 0.75
    variation_against: float = 0.75

    def __post_init__(self) -> None:
        check_number("share", self.share, "a share between 0 and 1", lambda value: 0 < value < 1)
        for name in ("refused", "refused_against", "recourse", "recourse_against"):
            check_number(name, getattr(self, name), "a share above 0 and at most 1", lambda value: 0 < value <= 1)
        for name in ("variation", "variation_against"):
            check_number(name, getattr(self, name), "a number above 0", lambda value: 0 < value < inf)

    @property
    def shares(self) -> tuple[Shares, Shares]:
        """Of both groups."""
        mine = Shares(self.share * self.refused, self.recourse)
        return mine, Shares((1 - self.share) * self.refused_against, self.recourse_against)

    @property
    def worth(self) -> float:
        """n times the squared standard error of log ACR."""
        mine, theirs = self.shares
        return self.variation**2 / (mine.refused * mine.recourse) + self.variation_against**2 / (
            theirs.refused * theirs.recourse
        )

    @property
    def smaller(self) -> float:
        """The smaller side's people with recourse, as a share of all people."""
        return min(side.refused * side.recourse for side in self.shares)


@dataclass(frozen=True, repr=False)
class Power(Shown):
    """People needed by what is true, or what people can show; printing it gives a table."""

    table: pd.DataFrame
    """One row a question: measure, truth, decides (unequal or equal), people."""
    detectable: pd.DataFrame
    """One row a number of people: the smallest ACR and RD that would be shown; NaN where no possible RD would."""
    criteria: Criteria
    power: float
    basis: str

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """`table`, a row a question; `output` is "pandas", "polars" or "pyarrow"."""
        return as_output(self.table, output)

    def __str__(self) -> str:
        return "\n".join([self._head, "", *self._needed(), "", DETECTABLE, *self._detectable(), "", ROUGHLY])

    @property
    def _head(self) -> str:
        level = 100 * (self.criteria.level or 0.95)
        zone = self.criteria.zone(MEASURES["acr"])
        side = " on one side" if zone is not None and zone.low == -inf else ""
        return (
            f"People needed to decide with a chance of {percent(self.power, 0)} ({level:g} % level, tau = "
            f"{self.criteria.tau:g}{side}, epsilon = {self.criteria.epsilon:g}; {self.basis})"
        )

    def _needed(self) -> list[str]:
        lines = []
        for row in self.table.to_dict("records"):
            true = f"{row['truth']:g}" if row["measure"] == "acr" else f"{100 * row['truth']:g} points"
            need = f"about {about(row['people'])} people" if row["people"] < inf else "no number of people decides it"
            lines.append(f"  true {row['measure'].upper():<4} {true:<11} {row['decides']:<8} {need}")
        return lines

    def _detectable(self) -> list[str]:
        lines = []
        for row in self.detectable.to_dict("records"):
            gap = "no RD that is possible" if isnan(row["rd"]) else f"RD above {100 * row['rd']:.3g} points"
            lines.append(f"  {row['people']:>7,} people: ACR above {row['acr']:.3g}, {gap}")
        return lines

    def _told(self) -> Told:
        lines = [line.strip() for line in (*self._needed(), DETECTABLE, *self._detectable())]
        tables = {"People needed": self.table, DETECTABLE: self.detectable}
        return Told(self._head, lines, tables, [ROUGHLY], ".table, .detectable, .plot()")

    def plot(self) -> Display:
        """People needed against what is true, as a `Display`; the numbers are `table`."""
        from equieffort.plots.power import show_power

        return show_power(self)


DETECTABLE = "What can be shown to be unequal"
ROUGHLY = "By the normal approximation, so roughly; both groups together, approved people included."


def power(
    given: Audit | Assumed | None = None,
    *,
    acr: float | None = None,
    rd: float | None = None,
    people: int | None = None,
    criteria: Criteria | None = None,
    power: float = POWER,
    group: str | None = None,
) -> Power:
    """How many people an audit needs, or what it can decide.

    Parameters
    ----------
    given
        A finished audit, whose spreads and shares are used, or `Assumed(...)`; by default what `Assumed()` says.
    acr, rd
        A true ratio or gap to plan for; a range of them by default. A gap that the reference group's share with
        recourse leaves no room for is refused.
    people
        A number of people to look at; a range by default.
    criteria
        Thresholds, level and judged measures; the audit's own by default.
    power
        The chance to decide that is asked for.
    group
        The group of the audit to plan for; the first protected one by default.
    """
    chosen, basis, groups, judged = _basis(given, group)
    rules = criteria if criteria is not None else judged
    check_instance("criteria", rules, Criteria, "an ee.Criteria(...)")
    check_number("power", power, "a chance between 0.5 and 1", lambda value: 0.5 <= value < 1)
    check_number("acr", acr, "a ratio above 0", lambda ratio: ratio > 0, optional=True)
    check_number("rd", rd, "a difference between -1 and 1", lambda gap: -1 < gap < 1, optional=True)
    check_number("people", people, "a number of people, 1 or more", lambda count: count >= 1, optional=True)
    zone = rules.zone(MEASURES["acr"])
    assert zone is not None
    if zone.low >= zone.high and acr is None:
        raise ParameterError(
            "CRITERIA_INVALID",
            "With tau = 1 no number of people can show that effort is equal.",
            fix=("Plan with a tau above 1, or give ", Setting("acr"), "."),
        )
    beyond, inside = questions(rules, len(rules.judged) * groups, power)
    worth, smaller, (mine, theirs) = chosen
    if rd is not None:
        _check_gap(rd, theirs)
    rows = []
    for true in (acr,) if acr is not None else () if rd is not None else RATIOS:
        is_in = zone.low < log(true) < zone.high
        ask, how = (people_inside, inside) if is_in else (people_beyond, beyond)
        need = ask(true, zone, worth, share=smaller, **how)
        rows.append({"measure": "acr", "truth": true, "decides": _answer(is_in), "people": need})
    possible = [gap for gap in GAPS if gap <= theirs.recourse]
    for true in (rd,) if rd is not None else () if acr is not None else possible:
        is_in = abs(true) < rules.epsilon
        other = Shares(mine.refused, min(max(theirs.recourse - true, 0.0), 1.0))
        ask_gap, how = (gap_inside, inside) if is_in else (gap_beyond, beyond)
        rows.append(
            {"measure": "rd", "truth": true, "decides": _answer(is_in),
             "people": ask_gap(other, theirs, rules.epsilon, **how)}
        )  # fmt: skip
    ahead = [
        {"people": n, "acr": smallest_ratio(n, zone, worth, **beyond),
         "rd": smallest_gap(mine, theirs, n, rules.epsilon, **beyond)}
        for n in ((people,) if people is not None else AHEAD)
    ]  # fmt: skip
    return Power(pd.DataFrame(rows), pd.DataFrame(ahead), rules, power, basis)


def _check_gap(rd: float, theirs: Shares) -> None:
    """A gap must leave the group a share between 0 and 1."""
    least, most = theirs.recourse - 1, theirs.recourse
    if least - ROUNDING <= rd <= most + ROUNDING:
        return
    raise ParameterError(
        "PARAMETER",
        f"rd is {rd:g}, which is not possible: {100 * theirs.recourse:.3g} % of the reference group's refused have a "
        f"route to approval, so that the gap lies between {least:.3g} and {most:.3g}.",
        fix="Plan for a gap in that range, or assume another share (recourse_against= of ee.Assumed, --recourse).",
    )


def _answer(is_in: bool) -> str:
    return "equal" if is_in else "unequal"


def _basis(given: Any, group: str | None) -> tuple[tuple[float, float, tuple[Shares, Shares]], str, int, Criteria]:
    from equieffort.results.audits import Audit

    if given is None or isinstance(given, Assumed):
        assumed = given or Assumed()
        words = f"assumed: efforts vary by {assumed.variation:g} and {assumed.variation_against:g} of their means"
        return (assumed.worth, assumed.smaller, assumed.shares), words, 1, Criteria()
    check_instance("given", given, Audit, "an audit, or ee.Assumed(...)")
    compared = [c for c in given.system.comparisons if c.role == "protected"]
    names = [c.group for c in compared]
    if group is not None and group not in names:
        raise ParameterError(
            "PARAMETER",
            f"group is {group!r}, which is not compared.",
            fix=f"Choose from {', '.join(map(repr, names))}.",
        )
    c = compared[names.index(group) if group is not None else 0]
    return _from(c), f"spreads of the audit, {c.title}", len(compared), given.criteria


def _from(c: Comparison) -> tuple[float, float, tuple[Shares, Shares]]:
    worth, _, smaller = worth_of(c, "acr")
    n = c.mine.n + c.theirs.n
    if isnan(worth):
        raise ParameterError(
            "PARAMETER",
            f"In this audit the efforts of {c.people[0]} and {c.people[1]} show no spread to plan with.",
            fix=Setting("assumed"),
        )
    mine, theirs = (Shares(max(s.n_unfavourable, 1) / n, s.rho) for s in (c.mine, c.theirs))
    return worth, smaller, (mine, theirs)
