"""What a reader sees first, in words: the measures with their intervals, and the caveats that weigh most.

>>> value_text(None, float("inf")), value_text(None, 12345.6), value_text(None, float("nan"))
('unlimited', '12,346', '-')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isinf, isnan, log, nan
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import number, percent, row_dicts
from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.effort.measures import CHANCE, MEASURES, NOTES, Measure
from equieffort.effort.verdict import COLUMNS, Assessment, Verdict
from equieffort.foundations.shown import Number, aligned
from equieffort.recourse.status import ACTING, UNSETTLED
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import group_name
from equieffort.world.labels import NO_LABELS, Labels
from equieffort.world.scm.diagnostics import Fit

BESIDE = ("restricted_effort", "needs_more")
"""Shown beside the judged measures, since everybody refused counts in them."""
LARGEST = 1_000_000
SMALL = 52
"""With fewer refused people a group, even equal efforts are hardly ever called equal."""
SMALL_TEXT = f"With fewer than about {SMALL} in a group even equal efforts are hardly ever called equal."
"""What is said of such groups."""
LOOKED_AT = 1000
"""So many people who act are looked at for values that nobody has."""


def known_measures(own: Iterable[Measure] = ()) -> dict[str, Measure]:
    """Name -> measure, the caller's own last."""
    return MEASURES | {one.name: one for one in own}


def front_measures(criteria: Criteria) -> tuple[str, ...]:
    """What is shown first: the judged measures, then those beside them."""
    return tuple(dict.fromkeys((*criteria.judged, *BESIDE)))


def title_of(measure: Measure | None, name: str) -> str:
    """What a measure is called; a measure known only by its saved rows by its name."""
    return name if measure is None else getattr(measure, "title", name)


def value_text(measure: Measure | None, value: float) -> str:
    """A value in its own unit; what has no end says so."""
    if isnan(value):
        return "-"
    if isinf(value):
        return "unlimited" if value > 0 else "unlimited below"
    if abs(value) >= LARGEST:
        return f"above {LARGEST:,}" if value > 0 else f"below -{LARGEST:,}"
    if abs(value) >= 1000:
        return number(round(value))
    return f"{value:.3g}" if measure is None else measure.show(value)


def interval_text(measure: Measure | None, low: float, high: float) -> str:
    """Both ends with the unit once.

    >>> interval_text(MEASURES["rd"], -0.012, 0.198), interval_text(MEASURES["acr"], 0.5, float("inf"))
    ('-1.2 to 19.8 points', '0.50 to unlimited')
    >>> interval_text(None, float("-inf"), 2.0), interval_text(None, float("-inf"), float("inf"))
    ('up to 2', 'without limit')
    """
    if isnan(low) or isnan(high):
        return "-"
    if low == -inf:
        return "without limit" if high == inf else f"up to {value_text(measure, high)}"
    unit = "" if measure is None or high == inf else measure.unit
    return f"{value_text(measure, low).removesuffix(unit)} to {value_text(measure, high)}"


def zone_ends(criteria: Criteria, measure: Measure) -> tuple[float, float] | None:
    """The values that count as equal; None of what has no threshold."""
    zone = criteria.zone(measure)
    return None if zone is None else (measure.scale.back(zone.low), measure.scale.back(zone.high))


LADDERS = (
    (0.8, 0.9, 1.0, 1.1, 1.25),
    (0.67, 0.8, 1.0, 1.25, 1.5),
    (0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    (0.25, 0.5, 1.0, 2.0, 4.0),
    (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0),
    tuple(10.0**k for k in range(-6, 7)),
)
"""Marks for ratios, from fine to coarse."""
BARE = 0.35
"""So much of either end of an axis may be without a mark."""


def ratio_marks(low: float, high: float, apart: float = 0.1) -> list[float]:
    """Round ratios on a log axis, no two nearer than a share of its length.

    >>> ratio_marks(0.7, 2.2), ratio_marks(0.1, 30)
    ([0.8, 1.0, 1.25, 1.5, 2.0], [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0])
    """
    whole, found = log(high / low), [low, high]
    for ladder in LADDERS:
        inside = [mark for mark in ladder if low <= mark <= high]
        if len(inside) < 2 or max(log(inside[0] / low), log(high / inside[-1])) > BARE * whole:
            continue
        if len(inside) > len(found) and all(log(b / a) >= apart * whole for a, b in pairwise(inside)):
            found = inside
    return found


def p_text(p: float) -> str:
    """A p-value.

    >>> p_text(0.0321), p_text(1e-9), p_text(float("nan"))
    ('0.032', '<0.001', '')
    """
    return "" if isnan(p) else "<0.001" if p < 0.001 else f"{p:.2g}"


def notes_text(note: str) -> str:
    """Codes of notes in words; of a code of somebody's own measure the code."""
    return " ".join(NOTES.get(code, code) for code in note.split())


def level_text(criteria: Criteria) -> str:
    """The level of the intervals, in per cent."""
    return f"{number(100 * (criteria.level or SHOWN_LEVEL))} %"


def system_measures(system: Assessment, saved: Iterable[dict[str, Any]] = ()) -> pd.DataFrame:
    """The measures of everybody, with the saved rows of somebody's own."""
    return with_saved(system.measures, [row for row in saved if row["level"] == "system"])


def with_saved(found: pd.DataFrame, saved: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Measures with saved rows of somebody's own, each where it stood: last in its comparison and source of chance."""
    if not saved:
        return found
    whole = pd.concat([found, pd.DataFrame(saved, columns=list(COLUMNS))], ignore_index=True)
    compared = whole.groupby(["level", "about", "group", "against"], sort=False).ngroup()
    chance = whole.groupby("chance", sort=False).ngroup()
    order = pd.DataFrame({"compared": compared, "chance": chance}).sort_values(["compared", "chance"], kind="stable")
    return whole.loc[order.index].reset_index(drop=True)


def under_chance(frame: pd.DataFrame) -> pd.DataFrame:
    """Of each measure the row under the source of chance that is judged: it comes last."""
    return frame.drop_duplicates(["group", "against", "measure"], keep="last")


# -- tables for a terminal and a notebook -----------------------------------------------------------------------------

MOST_WHOLE = 2
"""With more comparisons only the measures shown first are printed of each."""


def measure_table(frame: pd.DataFrame, verdict: Verdict, own: Iterable[Measure] = ()) -> list[list[str]]:
    """Cells of a compact table: a head, then a row a comparison and measure. Judged measures have a star.

    Of several sources of chance only the judged one is shown.
    """
    known, criteria = known_measures(own), verdict.criteria
    pairs = {(finding.comparison.group, finding.comparison.against) for finding in verdict.findings}
    columns = next((finding.comparison.columns for finding in verdict.findings), ())
    many = len(frame[["group", "against"]].drop_duplicates()) > MOST_WHOLE
    rows = [["", "group", "against", "measure", "estimate", f"{level_text(criteria)} interval", "people", "p"]]
    for row in under_chance(frame).to_dict("records"):
        if many and row["measure"] not in front_measures(criteria):
            continue
        measure = known.get(row["measure"])
        rows.append(
            [
                "*" if row["measure"] in criteria.judged and (row["group"], row["against"]) in pairs else "",
                group_name(str(row["group"]), columns),
                group_name(str(row["against"]), columns),
                title_of(measure, row["measure"]),
                Number(value_text(measure, row["estimate"])),
                Number(interval_text(measure, row["low"], row["high"])),
                Number(f"{row['n']:,} / {row['n_against']:,}"),
                Number(p_text(row["p_adjusted"])),
            ]
        )
    return rows


def measure_lines(frame: pd.DataFrame, verdict: Verdict, own: Iterable[Measure] = ()) -> str:
    """The table for a terminal: a part a comparison."""
    head, *rows = measure_table(frame, verdict, own)
    if not rows:
        return ""
    shown = [[*row[:1], *row[3:]] for row in (head, *rows)]
    widths = [max(len(row[k]) for row in shown) for k in range(len(head) - 2)]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        return "  ".join(cells).rstrip()

    lines: list[str] = []
    for pair in dict.fromkeys((row[1], row[2]) for row in rows):
        lines += [f"{pair[0]} against {pair[1]}", line(shown[0])]
        lines += [line([row[0], *row[3:]]) for row in rows if (row[1], row[2]) == pair]
    return "\n".join([*lines, judged_text(verdict)])


def comparison_parts(frame: pd.DataFrame, verdict: Verdict, own: Iterable[Measure] = ()) -> list[str]:
    """The verdict and its measures for a terminal; of many comparisons a table in place of a paragraph each."""
    if len(verdict.findings) <= MOST_WHOLE:
        return [str(verdict), measure_lines(frame, verdict, own)]
    cells = comparison_table(frame, verdict, own)
    against = {row[1] for row in cells[1:]}
    title = f"Each group against {against.pop()}\n" if len(against) == 1 else ""
    if title:
        cells = [[row[0], *row[2:]] for row in cells]
    more = "All measures: audit.measures, and the file that ends in .measures.csv."
    return [verdict.first_line, f"{title}{aligned(cells)}\n{judged_text(verdict, starred=False)}\n{more}"]


def comparison_table(frame: pd.DataFrame, verdict: Verdict, own: Iterable[Measure] = ()) -> list[list[str]]:
    """Cells: a head, then a row a comparison with its judged measures and its outcome."""
    known, judged = known_measures(own), verdict.criteria.judged
    columns = next((finding.comparison.columns for finding in verdict.findings), ())
    level = level_text(verdict.criteria)
    outcomes = {(one.comparison.group, one.comparison.against): one.outcome for one in verdict.findings}
    rows = [["group", "against", "refused", *(f"{name.upper()} ({level} interval)" for name in judged), "outcome"]]
    for (group, against), part in under_chance(frame).groupby(["group", "against"], sort=False):
        found = {row["measure"]: row for row in row_dicts(part)}
        cells = [_with_ends(known.get(name), found[name]) if name in found else Number("-") for name in judged]
        # Everybody refused counts in a gap of routes; in a ratio of means only those who have one.
        first = found.get("rd", next(iter(found.values())))
        names = [group_name(str(one), columns) for one in (group, against)]
        people = Number(f"{first['n']:,} / {first['n_against']:,}")
        rows.append([*names, people, *cells, outcomes.get((str(group), str(against)), "not judged")])
    return rows


def _with_ends(measure: Measure | None, row: dict[str, Any]) -> Number:
    return Number(f"{value_text(measure, row['estimate'])} ({interval_text(measure, row['low'], row['high'])})")


def numbers(*values: int) -> list[Number]:
    """Counts as cells."""
    return [Number(f"{value:,}") for value in values]


def judged_text(verdict: Verdict, *, starred: bool = True) -> str:
    """What the interval means, and where there are stars and p-values, these."""
    budget = next((finding.comparison.pair.budget for finding in verdict.findings), None)
    capped = "" if budget is None else f"People without a route to approval count with the budget of {budget:g}. "
    allowed = f"{capped}Intervals allow for chance in {CHANCE[verdict.chance]}. "
    if not starred:
        return allowed.rstrip()
    if verdict.criteria.level is None:
        return f"{allowed}* judged, by the point estimate alone"
    return (
        f"{allowed}* judged; p: how easily chance alone brings such a value although the truth lies within the "
        f"thresholds, adjusted for all that is judged ({verdict.criteria.adjust.name.capitalize()})"
    )


# -- caveats ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Caveat:
    """A reason for care, with the part of the report that says more."""

    code: str
    text: str
    place: str
    kept: str = ""
    """The same without counts of people; the text itself where it has none."""

    @property
    def guarded(self) -> str:
        """For a page that keeps small counts back."""
        return self.kept or self.text


def caveats(
    verdict: Verdict, table: RecourseTable | None, fit: Iterable[Fit], guessed: Sequence[str] = ()
) -> list[Caveat]:
    """Why to read the verdict with care, the weightiest first; never empty.

    `fit` is that of the learned equations; `guessed` are the features whose equations nobody chose. Without a table,
    what only single people tell is left out.
    """
    found: list[Caveat] = []
    if verdict.criteria.level is None:
        words = "The verdict rests on point estimates: chance is not considered."
        found.append(Caveat("POINT_ESTIMATE", words, "measures"))
    if verdict.surrogate is not None:
        words = (
            f"Not the deciding system but a surrogate model was audited; it agrees with "
            f"{percent(verdict.surrogate.agreement)} of the decisions it has not seen."
        )
        found.append(Caveat("SURROGATE", words, "people"))
    names = NO_LABELS if table is None else table.source.schema.names
    found += _guessed(names_of(names, guessed))
    found += _unknown(verdict)
    if table is not None:
        found += _unsettled(verdict, table) + below_zero(table) + _assumed(table)
    found += _small(verdict)
    found += _selected(verdict)
    found += _equations(names_of(names, (one.node for one in fit if one.is_poor)))
    if table is not None:
        found += _between(table)
    if any("SKEWED" in one.reading.note.split() for finding in verdict.findings for one in finding.judged):
        found.append(Caveat("SKEWED", NOTES["SKEWED"], "costs"))
    if verdict.criteria.level is not None:
        fixed = {"people": "model, the equations and the costs", "equations": "model and the costs"}
        words = (
            f"The intervals allow for chance in {CHANCE[verdict.chance]}. The {fixed.get(verdict.chance, 'costs')} are "
            "taken as they are."
        )
        found.append(Caveat("CHANCE", words, "assumptions"))
    return found


def names_of(names: Labels, features: Iterable[str]) -> list[str]:
    """Features for a reader: by their labels, or as quoted columns; a label with a comma is quoted too."""
    told = {name: names.feature(name) for name in features}
    return [label if label != name and "," not in label else repr(label) for name, label in told.items()]


def cut(names: Sequence[str], most: int = 3) -> str:
    """Names, cut after so many.

    >>> cut(["'a'", "yearly income", "'c'", "'d'"])
    "'a', yearly income, 'c' and 1 more"
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _unknown(verdict: Verdict) -> list[Caveat]:
    """People whose group is not known."""
    n = max((sum(part.n for part in finding.comparison.unplaced) for finding in verdict.findings), default=0)
    if not n:
        return []
    notes = [one.reading.note.split() for finding in verdict.findings for one in finding.judged]
    moved = any("UNKNOWN_GROUP" in codes for codes in notes)
    ending = (
        "Depending on where they belong, a judged measure could lie on the other side of its threshold."
        if moved
        else "Wherever they belong, the estimates stay on their side of the thresholds."
    )
    many = "one person" if n == 1 else f"{n:,} people"
    return [
        Caveat(
            "UNKNOWN_GROUP", f"The group of {many} is not known. {ending}", "measures",
            f"The group of some people is not known. {ending}",
        )
    ]  # fmt: skip


def _unsettled(verdict: Verdict, table: RecourseTable) -> list[Caveat]:
    n = sum(table.counts[status] for status in UNSETTLED)
    if not n:
        return []
    how = (
        "The certain ranges beside the estimates allow for them."
        if verdict.criteria.certified
        else "They are taken as found, which is not certified."
    )
    many = "1 refused person is" if n == 1 else f"{n:,} refused people are"
    return [
        Caveat(
            "UNCERTIFIED", f"{many} not solved to the end. {how}", "measures",
            f"Some refused people are not solved to the end. {how}",
        )
    ]  # fmt: skip


def _assumed(table: RecourseTable) -> list[Caveat]:
    schema = table.source.schema
    features = names_of(schema.names, (limit.feature for limit in schema.assumed))
    if not features:
        return []
    words = (
        f"Assumed limits: nobody declared how far {cut(features)} may be set, so actions stay within the "
        "observed values. Other limits give other efforts."
    )
    return [Caveat("ASSUMED_LIMITS", words, "assumptions")]


def below_zero(table: RecourseTable) -> list[Caveat]:
    """Features that somebody is told to set below zero, where nobody is and no lower limit was declared.

    A largest decrease alone is no limit to where a value may end: who asked for the one may not have thought of that.
    """
    source, schema = table.source, table.source.schema
    found: dict[str, int] = {}
    for b, k in enumerate(table.acts):
        column = source.encoding.columns[k]
        feature = schema.feature(column.name)
        least = feature.lower if feature.plausible is None else feature.plausible[0]
        if column.is_category or feature.max_decrease is None or least is not None:
            continue
        acting = source.having(table, *ACTING)
        if not len(acting):
            continue
        picked, values = source.interventions(table, acting)
        below = int((picked[:, b] & (values[:, b] < 0)).sum())
        if below and np.nanmin(source.facts(slice(None))[:, k]) >= 0:
            found[column.name] = below
    caveats = []
    for name, n in found.items():
        what = f"{schema.names.feature(name)!r} below 0, where nobody is: declare the lowest value it may have (lower)."
        told = f"1 action sets {what}" if n == 1 else f"{n:,} actions set {what}"
        caveats.append(Caveat("BELOW_ZERO", told, "assumptions", f"Some actions set {what}"))
    return caveats


def _small(verdict: Verdict) -> list[Caveat]:
    sides: dict[str, int] = {}
    for finding in verdict.findings:
        c = finding.comparison
        sides |= dict(zip(c.people, (c.mine.n_unfavourable, c.theirs.n_unfavourable), strict=True))
    few = {who: n for who, n in sides.items() if n < SMALL}
    if not few or verdict.criteria.level is None:
        return []
    named = ", ".join(f"{n:,} refused {who}" for who, n in few.items())
    return [
        Caveat("SMALL_GROUPS", f"Small groups: {named}. {SMALL_TEXT}", "people", f"Few refused people. {SMALL_TEXT}"),
    ]


def _selected(verdict: Verdict) -> list[Caveat]:
    """Average efforts of those with a route say little where one group keeps only its cheapest."""
    for finding in verdict.findings:
        c = finding.comparison
        if "acr" not in verdict.criteria.judged or not abs(c.rd) >= verdict.criteria.epsilon:
            continue
        found = {reading.measure: reading.estimate for reading in c.readings}
        least, most = found.get("acr_always_min", nan), found.get("acr_always_max", nan)
        if isnan(least) or isnan(most):
            continue
        measure = MEASURES["acr"]
        fixed = (
            "The ratio of average efforts compares only those who have a route to approval, and the groups differ in "
            "how many do."
        )
        words = (
            f"{fixed} Among those who would have one in either group it could be {value_text(measure, least)} to "
            f"{value_text(measure, most)} ({c.title})."
        )
        return [Caveat("SELECTION", words, "measures", fixed)]
    return []


def _guessed(features: Sequence[str]) -> list[Caveat]:
    if not features:
        return []
    words = (
        f"Only edges were given: linear equations for {cut(features)} were fitted to the people audited. Other "
        "equations give other efforts."
    )
    return [Caveat("ASSUMED_LINEAR", words, "assumptions")]


def _equations(poor: Sequence[str]) -> list[Caveat]:
    if not poor:
        return []
    words = (
        f"Weak equations: those for {cut(poor)} explain almost nothing, so what follows from an action is a "
        "guess there."
    )
    return [Caveat("POOR_EQUATIONS", words, "assumptions")]


def _between(table: RecourseTable) -> list[Caveat]:
    """Columns of 0 and 1 that equations lead in between, read of the first people who act."""
    columns = table.source.encoding.columns
    yes_no = [k for k, column in enumerate(columns) if column.kind == "binary"]
    if not yes_no:
        return []
    acting = table.source.having(table, *ACTING)[:LOOKED_AT]
    if not len(acting):
        return []
    moved = table.source.moved(table, acting)[:, yes_no]
    is_between = ((moved != moved.round()) & np.isfinite(moved)).any(axis=0)
    names = [columns[k].name for k, found in zip(yes_no, is_between, strict=True) if found]
    if not names:
        return []
    whose = cut(names_of(table.source.schema.names, names))
    words = (
        f"Fractions: the equations of {whose}, where people have 0 or 1, lead in between, so what follows there is an "
        "average. Equations of kind ordinal keep to 0 and 1."
    )
    return [Caveat("FRACTIONS", words, "assumptions")]
