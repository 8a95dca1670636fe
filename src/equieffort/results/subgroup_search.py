"""SubgroupSearch: every subgroup that was searched, worst first, with what is flagged and what is certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.criteria import Criteria, TwoSided
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.effort.measures import MEASURES
from equieffort.effort.metrics import Comparison
from equieffort.effort.search import (
    ADJUST,
    MEASURED,
    MOST_SUBGROUPS,
    Asked,
    Coded,
    Found,
    code_features,
    count_people,
    law_of,
    search,
    subgroups_formed,
)
from equieffort.effort.search.coding import MOST_LEVELS
from equieffort.effort.search.counted import OPEN
from equieffort.errors import ParameterError, closest, listed
from equieffort.foundations.arguments import check_choice, check_flag, check_number, check_whole, names_in
from equieffort.foundations.shown import Shown, Told
from equieffort.recourse.table import RecourseTable
from equieffort.words.subgroups import (
    WITHHELD,
    bound_text,
    counts_text,
    head_text,
    missing_text,
    open_text,
    rows_text,
    whole_text,
)
from equieffort.world.groups import Groups, Versus
from equieffort.world.labels import labels_of, told_rule

if TYPE_CHECKING:
    from equieffort.effort.search import Counted, Sides
    from equieffort.plots.display import Display

SHOWN = 10
"""Rows that are printed where nobody asks for more."""


@dataclass(frozen=True, eq=False, repr=False)
class SubgroupSearch(Shown):
    """What a search of subgroups found.

    `frame()` has a row a subgroup searched: those flagged first, then the rest, each by how far the measure lies from
    equal. `rule` can be given to `audit.subgroup`, which finds the same people and the same estimate.
    """

    asked: Asked
    groups: Groups
    pairs: tuple[Versus, ...]
    coded: Coded = field(repr=False)
    found: Found = field(repr=False)
    whole: pd.DataFrame = field(repr=False)
    """Everybody of the groups compared: group, against, estimate, low, high, n, n_against, and how many are not
    solved to the end (n_open): the interval is then the audit's own, which reaches as far as is certain."""
    withheld: str = ""
    """Why nothing is flagged or certified, where the audit concludes nothing: OUTLIERS or SURROGATE."""

    @property
    def counts(self) -> dict[str, int]:
        """Conjunctions formed, and of these too_small, merged, undefined and searched; they add up."""
        of = self.found.subgroups
        return {
            "formed": of.formed, "too_small": of.too_small, "merged": of.merged, "undefined": self.found.undefined,
            "searched": self.found.searched,
        }  # fmt: skip

    @overload
    def frame(self, most: int | None = ..., *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, most: int | None = ..., *, output: Other) -> Any: ...
    def frame(self, most: int | None = None, *, output: Output = "pandas") -> Any:
        """One row a subgroup, worst first; the first `most` of them.

        `low` and `high` are limits of this subgroup alone, `p_adjusted` allows for all searched; `certified` is the
        worst value that bounds for all of them at once leave possible (NaN below the number of people that takes, or
        where somebody is not solved to the end); `worse_off` is the group that the estimate says is worse off; `share`
        is the subgroup's share of those counted; `note` holds codes of `equieffort.effort.measures.NOTES`.
        """
        check_whole("most", most, 0, optional=True)
        return as_output(self._frame if most is None else self._rows(most), output)

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return self._rows(len(self.found.order))

    def _rows(self, most: int) -> pd.DataFrame:
        found, rows = self.found, self.found.order[:most]
        group, against = (self.whole[name].to_numpy(dtype=object)[found.pair[:most]] for name in ("group", "against"))
        measure, estimate = MEASURES[self.asked.measure], found.estimate[:most]
        with np.errstate(invalid="ignore"):
            away = measure.orientation * (estimate - measure.neutral)
        everybody = (self.whole["n"] + self.whole["n_against"]).to_numpy(dtype=float)[found.pair[:most]]
        return pd.DataFrame(
            {
                "rule": np.array([*found.subgroups.rules(self.coded.features, rows), ""], dtype=object)[:-1],
                "conditions": (found.subgroups.feature[rows] >= 0).sum(axis=1),
                "measure": self.asked.measure,
                "group": group,
                "against": against,
                "estimate": estimate,
                "low": found.low[:most],
                "high": found.high[:most],
                "p": found.p[:most],
                "p_adjusted": found.p_adjusted[:most],
                "flagged": found.flagged[:most],
                "certified": found.bound[:most],
                "worse_off": np.where(away > 0, group, np.where(away < 0, against, "")),
                "n": found.n[:most],
                "n_against": found.n_against[:most],
                "share": (found.n[:most] + found.n_against[:most]) / everybody,
                "note": found.note[:most].astype(object),
            }
        )

    @property
    def flagged(self) -> pd.DataFrame:
        """The subgroups that are unequal beyond chance, all that were searched allowed for."""
        return self._rows(int(self.found.flagged.sum()))

    @property
    def certified(self) -> pd.DataFrame:
        """The subgroups that have a bound."""
        frame = self._frame
        return frame[frame["certified"].notna()].reset_index(drop=True)

    @property
    def at_most(self) -> float:
        """The worst that bounds leave possible in any certified subgroup (for impact_ratio: at least); NaN of none."""
        bounds = self.found.bound[~np.isnan(self.found.bound)]
        if not len(bounds):
            return float("nan")
        return float(bounds.max() if MEASURES[self.asked.measure].orientation > 0 else bounds.min())

    @property
    def comparisons(self) -> list[str]:
        """Who is compared with whom, as a reader sees it."""
        name, labels = self.groups.name, self.groups.labels
        return [f"{name(labels[one.group])} against {name(one.against)}" for one in self.pairs]

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows for readers: groups, features and levels by their labels."""
        names = labels_of(self.groups.columns)
        if not names:
            return frame
        told = {key: [names.group(one) or one for one in frame[key]] for key in ("group", "against")}
        rules = (
            {"rule": [told_rule(rule, names) if rule else rule for rule in frame["rule"]]} if "rule" in frame else {}
        )
        return frame.assign(**told, **rules)

    def __str__(self) -> str:
        rows = rows_text(self.asked, self.named(self.frame(SHOWN)))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n\n".join(["\n".join(self._first), *(["\n".join(table)] if len(rows) > 1 else []), self._last])

    @property
    def _first(self) -> list[str]:
        head = head_text(self.asked, self.counts, int(self.found.flagged.sum()), self.comparisons)
        return [
            head,
            *([WITHHELD[self.withheld]] if self.withheld else []),
            *whole_text(self.asked, self.named(self.whole)),
        ]

    @property
    def _last(self) -> str:
        known = int((~np.isnan(self.found.bound)).sum())
        bounds = [] if self.withheld else [bound_text(self.asked, known, self.counts["searched"], self.at_most)]
        shown = self.frame(SHOWN)
        bounds = [*filter(None, [missing_text(shown["rule"]), open_text(self.asked, shown)]), *bounds]
        return "\n".join([*bounds, counts_text(self.asked, self.counts, dict(self.coded.left_out))])

    def _told(self) -> Told:
        first, *lines = [line for part in self._first for line in part.split("\n")]
        care = [line for line in self._last.split("\n") if line]
        return Told(
            first,
            lines,
            {"The worst": rows_text(self.asked, self.named(self.frame(SHOWN)))},
            care,
            ".frame(), .flagged, .plot()",
        )

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """A form for JSON: what was asked, counts, everybody, and the rows."""
        return {
            "measure": self.asked.measure, "adjust": self.asked.adjust, "level": self.asked.level,
            "tau": self.asked.tau, "epsilon": self.asked.epsilon, "conditions": self.asked.conditions,
            "counts": self.counts, "flagged": int(self.found.flagged.sum()), "at_most": self.at_most,
            "withheld": self.withheld, "left_out": dict(self.coded.left_out),
            "whole": self.whole.to_dict("records"), "subgroups": self.frame(most).to_dict("records"),
        }  # fmt: skip

    def plot(self, most: int = 12) -> Display:
        """Everybody's line, all subgroups by size, and the worst by name, as a `Display`."""
        from equieffort.plots.subgroups import show_subgroups

        return show_subgroups(self, most)


def search_subgroups(
    table: RecourseTable, criteria: Criteria, budget: float | None, withheld: str, measure: str, conditions: int,
    levels: int, features: Sequence[str] | None, group: str | None, cuts: bool, tau: float, epsilon: float, adjust: str,
    fewest: int, fewest_certified: int, audited: Sequence[Comparison] = (),
) -> SubgroupSearch:  # fmt: skip
    """Search the people of a table; arguments as `Audit.search_subgroups` takes them. `audited` are the audit's own
    comparisons: of everybody a search is no surer than they are."""
    check_choice("measure", measure, MEASURED)
    takes = "a whole number from 1 to 3"
    check_number("conditions", conditions, takes, lambda count: 1 <= count <= 3, whole=True)
    takes = f"a whole number from 2 to {MOST_LEVELS}"
    check_number("levels", levels, takes, lambda count: 2 <= count <= MOST_LEVELS, whole=True)
    check_flag("cuts", cuts)
    check_number("tau", tau, "a ratio, 1 or more", lambda ratio: ratio >= 1)
    check_number("epsilon", epsilon, "a share from 0 to below 1", lambda share: 0 <= share < 1)
    check_choice("adjust", adjust, ADJUST)
    check_whole("fewest", fewest, 2)
    check_whole("fewest_certified", fewest_certified, fewest)
    groups = table.groups
    names = None if features is None else _features(table, features)
    pairs = groups.versus(group)
    coded = code_features(table.data, int(levels), names=names, without=groups.columns, cuts=bool(cuts))
    formed = len(pairs) * subgroups_formed(coded.features, int(conditions))
    if formed > MOST_SUBGROUPS:
        raise ParameterError(
            "PARAMETER",
            f"{len(coded.features)} features form {formed:,} subgroups of up to {conditions} conditions; at most "
            f"{MOST_SUBGROUPS:,} are searched.",
            fix="Search fewer features, fewer conditions, fewer levels, or one group.",
        )
    asked = Asked(
        measure, int(conditions), float(tau), float(epsilon), isinstance(criteria.rule, TwoSided), adjust,
        criteria.level or SHOWN_LEVEL, int(fewest), int(fewest_certified), criteria.certified,
    )  # fmt: skip
    used = sorted({code for one in pairs for code in (one.group, *one.others)})
    place = np.full(len(groups.labels), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    codes, counted = place[groups.codes], count_people(table, measure, budget)
    local = [(int(place[one.group]), tuple(place[list(one.others)].tolist())) for one in pairs]
    found = search(coded, codes, counted, local, asked, flags=not withheld)
    whole = _no_surer(_whole(groups, pairs, local, codes, counted, asked), measure, audited)
    return SubgroupSearch(asked, groups, tuple(pairs), coded, found, whole, withheld)


def _features(table: RecourseTable, features: Any) -> tuple[str, ...]:
    names = names_in("features", features)
    known = [str(name) for name in table.data.columns]
    for name in names:
        if name not in known or name in table.groups.columns:
            what = "forms the groups that are compared" if name in known else "is no column of the audited people"
            hint = "" if name in known else closest(name, known)
            free = [one for one in known if one not in table.groups.columns]
            raise ParameterError(
                "PARAMETER", f"features: {name!r} {what}. {hint}".rstrip(), fix=f"Choose from {listed(free, 20)}."
            )
    return names


def _no_surer(whole: pd.DataFrame, measure: str, audited: Sequence[Comparison]) -> pd.DataFrame:
    """Everybody with the audit's intervals where people are not solved to the end: these reach as far as is certain."""
    readings = {(one.group, one.against): one.reading(measure) for one in audited}
    for row in np.flatnonzero(whole["n_open"] > 0):
        found = readings.get((whole["group"][row], whole["against"][row]))
        whole.loc[row, ["low", "high"]] = (found.low, found.high) if found is not None else (np.nan, np.nan)
    return whole


def _whole(
    groups: Groups, pairs: list[Versus], local: Sequence[Sides], codes: Any, counted: Counted, asked: Asked
) -> pd.DataFrame:
    rows = []
    for one, sides in zip(pairs, local, strict=True):
        rows_of = [counted.who & np.isin(codes, side) for side in sides]
        mine, theirs = (counted.values[who].sum(axis=0)[None] for who in rows_of)
        law = law_of(asked.measure, mine, theirs)
        low, high = law.limits((1 - asked.level) / 2)
        rows.append(
            {
                "group": groups.labels[one.group], "against": one.against, "estimate": float(law.estimate[0]),
                "low": float(low[0]), "high": float(high[0]), "n": int(mine[0, 0]), "n_against": int(theirs[0, 0]),
                "n_open": int(mine[0, OPEN] + theirs[0, OPEN]),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=["group", "against", "estimate", "low", "high", "n", "n_against", "n_open"])
