"""Matched: refused people beside refused people of the other group who are like them, and what that leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.matching import (
    Efforts,
    MatchedComparison,
    Matching,
    Pairs,
    Strata,
    balance_table,
    matched_readings,
)
from equieffort.effort.matching.balance import LARGE
from equieffort.effort.matching.methods import Matchable
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.saved import as_data
from equieffort.foundations.shown import Shown, Told
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable
from equieffort.words.matching import CARE, balance_cells, head_text, measure_cells, set_text
from equieffort.world.groups import Groups, Versus, group_name

if TYPE_CHECKING:
    from equieffort.plots.display import Display

MEASURES = (
    "group", "against", "measure", "estimate", "low", "high", "least", "most", "p", "n", "n_against", "unmatched",
    "note",
)  # fmt: skip
"""Columns of `Matched.measures`; `unmatched` is the same measure of all refused people."""


@dataclass(frozen=True, eq=False, repr=False)
class Matched(Shown):
    """Effort among matched people: ACR, RD and restricted effort of people who are alike but for their group.

    `measures` has a row a comparison and measure, `balance` how alike both sides were before and after, `counts` how
    many were matched, `people` who with whom.
    """

    matching: Matching
    comparisons: tuple[MatchedComparison, ...]
    level: float
    columns: tuple[str, ...]
    """The sensitive columns whose values name the groups."""
    table: RecourseTable = field(repr=False)

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """`measures`; `output` is "pandas", "polars" or "pyarrow"."""
        return as_output(self.measures, output)

    @property
    def measures(self) -> pd.DataFrame:
        """One row a comparison and measure.

        `low` and `high` are limits of chance, over people who may be in several sets; `least` and `most` what is
        certain of these sets given people who are not solved to the end; `unmatched` the same measure of all refused
        people; `note` holds codes of `equieffort.effort.measures.NOTES`.
        """
        rows = [
            [one.group, one.against, read.measure, read.estimate, read.low, read.high, read.least, read.most, read.p,
             read.n, read.n_against, before, read.note]
            for one in self.comparisons
            for read, before in zip(one.readings, one.unmatched, strict=True)
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=list(MEASURES))

    @property
    def balance(self) -> pd.DataFrame:
        """One row a comparison and feature, of categories a row a level: means of both sides among all refused people
        and among the matched, and the standardised mean differences `smd_before` and `smd_after`, the largest first."""
        parts = [one.balance.assign(group=one.group, against=one.against) for one in self.comparisons]
        found = pd.concat(parts, ignore_index=True)
        return found[["group", "against", *(name for name in found.columns if name not in ("group", "against"))]]

    @property
    def counts(self) -> pd.DataFrame:
        """One row a comparison: refused people, how many of them are matched, the sets, the caliper that was used."""
        rows = [
            [one.group, one.against, one.refused, one.refused_against, len(one.sets.mine), len(one.sets.theirs),
             one.n_sets, one.caliper]
            for one in self.comparisons
        ]  # fmt: skip
        names = ["group", "against", "refused", "refused_against", "matched", "matched_against", "sets", "caliper"]
        return pd.DataFrame(rows, columns=names)

    @overload
    def people(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def people(self, *, output: Other) -> Any: ...
    def people(self, *, output: Output = "pandas") -> Any:
        """One row a person and set: group, against, set, person, member (the group they are in), weight, distance to
        the other of a pair, status and effort. Whoever serves several others has several rows."""
        parts = [self._people(one) for one in self.comparisons]
        return as_output(pd.concat(parts, ignore_index=True), output)

    def _people(self, one: MatchedComparison) -> pd.DataFrame:
        sets, table = one.sets, self.table
        if isinstance(sets, Pairs):
            rows, place = np.concatenate([sets.rows, sets.others]), np.tile(np.arange(len(sets.rows)), 2)
            weight, apart = np.tile(sets.shares, 2), np.tile(sets.distance, 2)
        else:
            assert isinstance(sets, Strata)
            rows, place = (
                np.concatenate([sets.mine, sets.theirs]),
                sets.stratum[np.argsort(~sets.is_mine, kind="stable")],
            )
            weight, apart = np.concatenate(sets.weights()), np.full(len(rows), np.nan)
        status = np.array([status.text for status in Status], dtype=object)
        found = pd.DataFrame(
            {
                "group": one.group, "against": one.against, "set": place, "person": table.index[rows],
                "member": np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]], "weight": weight,
                "distance": apart, "status": status[table.status[rows]], "effort": table.effort[rows],
            }
        )  # fmt: skip
        return found.sort_values("set", kind="stable", ignore_index=True)

    def plot(self) -> Display:
        """Standardised differences of each feature before and after, as a `Display`; the numbers are `balance`."""
        from equieffort.plots.matching import show_balance

        return show_balance(self)

    def named(self, group: str) -> str:
        """A group as a reader sees it."""
        return group_name(group, self.columns)

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON: what was asked, counts, measures and balance."""
        return {
            "matching": as_data(self.matching), "level": self.level, "counts": self.counts.to_dict("records"),
            "measures": self.measures.to_dict("records"), "balance": self.balance.to_dict("records"),
        }  # fmt: skip

    def __str__(self) -> str:
        parts = []
        for one in self.comparisons:
            names = self.named(one.group), self.named(one.against)
            parts += [head_text(self.matching, *names), set_text(self.matching, one, *names)]
            parts += [_table(measure_cells(one, self.level)), _table(balance_cells(one.balance)[: SHOWN + 1])]
        return "\n\n".join([*parts, *self._care])

    @property
    def _care(self) -> list[str]:
        care = [CARE]
        for one in self.comparisons:
            if one.most_apart > LARGE:
                care.append(
                    f"{self.named(one.group)} against {self.named(one.against)}: the matched people still differ by up "
                    f"to {one.most_apart:.2f} standard deviations; up to {LARGE:g} is commonly called balanced."
                )
        return care

    def _told(self) -> Told:
        lines, tables = [], {}
        for one in self.comparisons:
            names = self.named(one.group), self.named(one.against)
            lines.append(set_text(self.matching, one, *names))
            tables[f"Measures: {names[0]} against {names[1]}"] = measure_cells(one, self.level)
            tables[f"Balance: {names[0]} against {names[1]}"] = balance_cells(one.balance)[: SHOWN + 1]
        first = self.comparisons[0]
        title = head_text(self.matching, self.named(first.group), self.named(first.against))
        return Told(title, lines, tables, self._care, ".measures, .balance, .counts, .people(), .plot()")


SHOWN = 10
"""Features whose balance is printed."""


def check_matching(matching: Matching) -> None:
    """Refuse what is no matching, or what no file can hold."""
    check_instance("matching", matching, Matching, "ee.Matching(...)")
    try:
        saved = as_data(matching)
    except ValueError:
        saved = None
    if saved is None or (matching.distance is not None and saved["distance"] is None):
        raise ParameterError(
            "PARAMETER",
            "The matching is code of the caller's own, which an audit file cannot hold.",
            fix="Read it with audit.matched(...), or use a method and a distance of this package.",
        )


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def match_people(
    table: RecourseTable, matching: Matching, budget: float | None, level: float,
    unmatched: Mapping[tuple[str, str], tuple[float, ...]], pairs: list[Versus],
) -> Matched:  # fmt: skip
    """Match the refused people of every comparison."""
    groups, efforts, source = table.groups, Efforts.of(table), table.source
    features = [name for name in source.encoding.names if name not in source.schema.protected_columns]
    found = []
    for versus in pairs:
        mine, theirs = _refused(table, groups, versus)
        made = matching.match(Matchable(source.data, source.encoding, source.schema, mine, theirs))
        label = groups.labels[versus.group]
        found.append(
            MatchedComparison(
                label, versus.against, len(mine), len(theirs), made.caliper, made.sets,
                tuple(matched_readings(made.sets, efforts, budget, level)), unmatched[label, versus.against],
                balance_table(source.data, source.encoding, features, mine, theirs, made.sets),
            )
        )  # fmt: skip
    return Matched(matching, tuple(found), level, groups.columns, table)


def _refused(table: RecourseTable, groups: Groups, versus: Versus) -> tuple[Any, Any]:
    refused = table.is_unfavourable
    mine = refused & (groups.codes == versus.group)
    return np.flatnonzero(mine), np.flatnonzero(refused & np.isin(groups.codes, versus.others))
