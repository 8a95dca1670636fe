"""Matched people in words: how they were matched, how many, what they compare, how alike they are."""

from __future__ import annotations

from math import isfinite, isinf, isnan
from typing import Any

import pandas as pd

from equieffort.data.frames import digits, number
from equieffort.effort.matching import (
    CoarsenedExact,
    ExactMatching,
    MatchedComparison,
    Matching,
    NearestNeighbour,
    OptimalPairs,
)
from equieffort.effort.measures import MEASURES
from equieffort.errors import many
from equieffort.foundations.shown import Number
from equieffort.words.shown import interval_text, notes_text, p_text, value_text

CARE = (
    "Matched people are compared, not everybody: whoever has nobody like them in the other group is left out. Chance "
    "is over people; the model, the equations and the costs are taken as they are."
)


def method_text(matching: Matching) -> str:
    """How people were matched."""
    method = matching.method
    if isinstance(method, NearestNeighbour):
        nearest = "the nearest" if method.k == 1 else f"the {method.k} nearest"
        again = "who may serve several" if method.replace else "each used once"
        return f"each person with {nearest} of the other group, {again}"
    if isinstance(method, OptimalPairs):
        return "as many pairs as can be, each person in one, with the least sum of distances"
    if isinstance(method, CoarsenedExact):
        return f"people in the same cells, numbers cut into up to {method.bins} parts"
    if isinstance(method, ExactMatching):
        return "people with the same values"
    return f"by {type(method).__name__}"


def head_text(matching: Matching, group: str, against: str) -> str:
    """Who is matched, and how."""
    return f"Refused people matched, {group} against {against}: {method_text(matching)}."


def set_text(matching: Matching, one: MatchedComparison, group: str, against: str) -> str:
    """How many were matched, and within what distance."""
    kind = "pair" if isinstance(matching.method, NearestNeighbour | OptimalPairs) else "stratum"
    kinds = "pairs" if kind == "pair" else "strata"
    made = many(one.n_sets, kind, kinds)
    within = f"; caliper {one.caliper:.3g}" if isfinite(one.caliper) else ""
    return (
        f"{group}: {number(len(one.sets.mine))} of {number(one.refused)} refused people matched; {against}: "
        f"{number(len(one.sets.theirs))} of {number(one.refused_against)}, in {made}{within}."
    )


def measure_cells(one: MatchedComparison, level: float) -> list[list[str]]:
    """A head, then a row a measure: matched, its interval, how many, and the same of all refused people."""
    rows = [["measure", "matched", f"{100 * level:g} % interval", "people", "p", "all refused", "note"]]
    for read, before in zip(one.readings, one.unmatched, strict=True):
        measure = MEASURES[read.measure]
        rows.append(
            [
                measure.title, Number(value_text(measure, read.estimate)),
                Number(interval_text(measure, read.low, read.high)), Number(f"{read.n:,} / {read.n_against:,}"),
                Number(p_text(read.p)), Number(value_text(measure, before)), notes_text(read.note),
            ]
        )  # fmt: skip
    kept = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    return [[row[k] for k in kept] for row in rows]


def balance_cells(balance: pd.DataFrame) -> list[list[str]]:
    """A head, then a row a feature: means of both sides and standardised differences, before and after."""
    rows = [["feature", "means before", "means after", "difference before", "after"]]
    for row in balance.to_dict("records"):
        name = f"{row['feature']} = {row['level']}" if row["level"] else str(row["feature"])
        rows.append(
            [
                name, Number(_both(row["mean"], row["mean_against"])),
                Number(_both(row["mean_matched"], row["mean_against_matched"])),
                Number(difference_text(row["smd_before"])), Number(difference_text(row["smd_after"])),
            ]
        )  # fmt: skip
    return rows


def difference_text(value: Any) -> str:
    """A standardised difference."""
    if isnan(value):
        return "-"
    return "without spread" if isinf(value) else f"{value:+.2f}"


def _both(one: float, other: float) -> str:
    return "-" if isnan(one) or isnan(other) else f"{digits(one)} / {digits(other)}"
