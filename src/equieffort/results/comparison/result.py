"""AuditComparison: what changed between two audits, and the noise of it in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, overload

import numpy as np
import pandas as pd

from equieffort.data.frames import row_dicts
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.verdict import Verdict
from equieffort.errors import many
from equieffort.foundations.shown import Shown, Told
from equieffort.results.comparison.differences import Difference
from equieffort.results.comparison.people import CHANGES
from equieffort.words.differences import NOTHING, UNITS, difference_text
from equieffort.world.groups import group_name
from equieffort.world.labels import NO_LABELS, labels_of

NAMED = ("group", "against", "behind_before", "behind_after")
RESCALED = (
    "Costs of the second audit were recomputed at the first one's prices, for the actions it had chosen: cheaper ones "
    "may exist at these prices. Each verdict is that of the audit at its own prices."
)
FIRST = 5
"""So many people of one audit only are named; `alone` names all."""
SENTENCES = 4
"""So many rows are told in sentences; more are a table."""
FEW = 30
"""With fewer people to carry a change than this, their number is said."""
NEAR = 0.005
"""A factor with an interval that is nowhere farther from 1 would be "1 times as large (1 to 1)"."""


def noise_words(row: dict[str, Any], columns: Sequence[str] = ()) -> str:
    """A row of `AuditComparison.noise` for a reader; `columns` are those whose values name the groups."""
    row = row | {key: group_name(str(row[key]), columns) for key in NAMED}
    name = {"acr": "Ratio of efforts (ACR)", "rd": "Difference in possible recourse (RD)"}[row["measure"]]
    who = f"{name}, {row['group']} against {row['against']}"
    moved = _distance_words(row)
    if row["undefined"]:
        return f"{who}: {row['undefined']}.{f' It is {moved}.' if moved else ''}{_turned_words(row)}"
    facts = f"{who}: {_value(row, 'before')} before, {_value(row, 'after')} after, {_change_words(row)}"
    if np.isnan(row["low"]):
        return f"{facts}; {row['note'] or 'no interval'}{f', {moved}' if moved else ''}.{_turned_words(row)}"
    judged = "beyond noise" if row["beyond_noise"] else "within noise"
    note = f"; {row['note']}" if row["note"] else ""
    return f"{facts}, {judged}{f', {moved}' if moved else ''}{_few_words(row)}{note}.{_turned_words(row)}"


def _few_words(row: dict[str, Any]) -> str:
    if row["measure"] == "rd":
        return f"; the smallest side has {many(row['fewest'], 'refused person', 'refused people')}" * (
            row["fewest"] < FEW
        )
    return f"; it rests on about {max(row['df'], 1):.0f} people" if row["df"] < FEW else ""


def _value(row: dict[str, Any], when: str) -> str:
    return f"{row[when]:.3g}" if row["measure"] == "acr" else f"{100 * row[when]:.1f} points"


def _change_words(row: dict[str, Any]) -> str:
    known = not np.isnan(row["low"])
    if not known and row["change"] == (1.0 if row["measure"] == "acr" else 0.0):
        return "unchanged"
    if row["measure"] == "acr":
        if known and _reach(row) < NEAR:
            return f"the same within {_within(row)} (95 % interval)"
        return f"{row['change']:.3g} times as large{f' (95 % interval {_limits(row)})' if known else ''}"
    return f"changed by {100 * row['change']:+.1f} points{f' (95 % interval {_limits(row)})' if known else ''}"


def _limits(row: dict[str, Any]) -> str:
    """Both ends, with so many digits that none looks like "no change" and is not."""
    return " to ".join(_end(row[key], is_ratio=row["measure"] == "acr") for key in ("low", "high"))


def _end(value: float, *, is_ratio: bool) -> str:
    none = 1.0 if is_ratio else 0.0
    for digits in range(7):
        text = f"{value:.{3 + digits}g}" if is_ratio else f"{100 * value:+.{1 + digits}f}"
        if float(text) != none:
            return text
    # So near that nobody could tell them apart.
    return f"{none:g}"


def _reach(row: dict[str, Any]) -> float:
    """How far a factor may be from 1, by the end of its interval that is farther away."""
    return float(max(abs(row["low"] - 1), abs(row["high"] - 1)))


def _within(row: dict[str, Any]) -> str:
    """The same for a reader, rounded up: never less than it is."""
    return "0.01 %" if _reach(row) < 1e-4 else f"{np.ceil(1e4 * _reach(row)) / 100:.2g} %"


def noise_cells(row: dict[str, Any], columns: Sequence[str] = ()) -> dict[str, str]:
    """A row of `AuditComparison.noise` as cells of a table."""
    named = row | {key: group_name(str(row[key]), columns) for key in NAMED}
    is_ratio, known = row["measure"] == "acr", not np.isnan(row["low"])
    shown = f"{row['change']:.3g} times" if is_ratio else f"{100 * row['change']:+.1f} points"
    change = "-" if row["undefined"] else shown
    interval = _limits(row) if known else "-"
    if is_ratio and known and _reach(row) < NEAR:
        change, interval = "the same", f"within {_within(row)}"
    return {
        "group": named["group"],
        "against": named["against"],
        "measure": row["measure"].upper(),
        "before": "-" if np.isnan(row["before"]) else _value(row, "before"),
        "after": "-" if np.isnan(row["after"]) else _value(row, "after"),
        "change": change,
        "95 % interval": interval,
        "shown": _shown(row),
    }


def _shown(row: dict[str, Any]) -> str:
    judged = "beyond noise, " if row["beyond_noise"] else ""
    if row["distance"] in ("farther", "closer"):
        return f"{judged}{row['distance']} {'from' if row['distance'] == 'farther' else 'to'} equality"
    return f"{judged}neither closer nor farther for sure" if row["beyond_noise"] else "within noise"


def undefined_words(before: str, after: str) -> str:
    """Which of the audits has no such measure, and why; empty if both have it."""
    if before and after:
        return f"not defined in either audit: {before}" + (f"; {after} in the second" if before != after else "")
    if before or after:
        return f"not defined in the {'first' if before else 'second'} audit: {before or after}"
    return ""


def _distance_words(row: dict[str, Any]) -> str:
    if row["distance"] == "farther":
        return f"farther from equality, to the disadvantage of {row['behind_after']}"
    if row["distance"] == "closer":
        return "closer to equality"
    return "with no clear change of the distance from equality" if row["beyond_noise"] else ""


def _turned_words(row: dict[str, Any]) -> str:
    if row["turned_beyond_noise"]:
        before, after = row["behind_before"], row["behind_after"]
        return f" The disadvantage turned over: it lay with {before}, now it lies with {after}."
    return " It lies on the other side of equality, which may be chance." if row["turned"] else ""


def _remark(row: dict[str, Any], columns: Sequence[str]) -> str:
    """What a row of the table cannot say: why there is no value or interval, and that the disadvantage turned over."""
    row = row | {key: group_name(str(row[key]), columns) for key in NAMED}
    told = [f"{text[0].upper()}{text[1:]}." for text in (row["undefined"], row["note"]) if text]
    return " ".join([*told, _turned_words(row).strip()]).strip()


SAID = {"more effort": "with more effort", "less effort": "with less effort", "unknown": "with unknown recourse"}
"""How some changes are said of a number of people."""


@dataclass(frozen=True, eq=False, repr=False)
class AuditComparison(Shown):
    """The changes from one audit (before) to another (after)."""

    before: Verdict
    after: Verdict
    by_group: pd.DataFrame
    """A row a group: n, n_unfavourable, phi, rho, acr and rd before, after and their change."""
    people: pd.DataFrame
    """A row a person in both audits whose status or cost changed: group, status and cost before and after, change."""
    counts: pd.DataFrame
    """A row a group: how many people changed how."""
    noise: pd.DataFrame
    """A row a comparison and measure.

    `before`, `after`; `change`, the factor by which ACR or the difference by which RD changed, its 95 % confidence
    interval (`low`, `high`), that of ACR with its degrees of freedom `df`, about the number of people it rests on;
    whether it lies `beyond_noise`, and a `note`; how many people with a route (ACR) or refused people (RD) the smallest
    side has (`fewest`); `distance` from equality ("farther", "closer", "within noise", "undefined"), of how
    many draws nothing could be said of it; whether the disadvantage `turned` from one group to the other, and whether
    it did so beyond noise; with whom it lay and lies (`behind_before`, `behind_after`); why a measure is `undefined`
    (empty if it is not).
    """
    matched: int
    only_before: int
    only_after: int
    rescaled: bool
    same_units: bool = True
    """Whether efforts are in the same units, or were recomputed to be; ratios and shares are compared anyway."""
    differences: tuple[Difference, ...] = ()
    """What was asked otherwise in the second audit."""
    alone: pd.DataFrame = field(default_factory=pd.DataFrame)
    """A row a person in one audit only: `audit` ("first", "second"), group, status and cost there; no rows where
    the audits have nobody in common."""

    @property
    def is_worse(self) -> bool:
        """Whether effort became unequal, or that of a protected group moved away from equality beyond noise."""
        became = self.after.outcome == "unequal" and self.before.outcome != "unequal"
        rows = self.noise[self.noise["role"] == "protected"]
        return bool(became or (rows["distance"] == "farther").any())

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold, through `exports.plain`."""
        return {
            "before": {"outcome": self.before.outcome, "text": str(self.before)},
            "after": {"outcome": self.after.outcome, "text": str(self.after)},
            "worse": self.is_worse,
            "by_group": self.by_group.to_dict("records"),
            "counts": self.counts.to_dict("records"),
            "noise": self.noise.to_dict("records"),
            "people": self.people.reset_index(names="label").to_dict("records"),
            "matched": self.matched,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "rescaled": self.rescaled,
            "same_units": self.same_units,
            "differences": [asdict(one) for one in self.differences],
            "alone": self.alone.reset_index(names="label").to_dict("records"),
        }

    def _told(self) -> Told:
        first, *lines = [line.strip() for line in self._lines()]
        care = [RESCALED] if self.rescaled else []
        if self.only_before or self.only_after:
            care.append("Not everybody is in both audits: what differs may come from other people.")
        care.append("Two verdicts differ more easily than efforts do: look at the change and its interval.")
        return Told(
            first, lines, {"Groups": self.groups}, care, "print(...), .noise, .by_group, .people, .counts, .alone"
        )

    def _changes(self, columns: Sequence[str]) -> list[str]:
        """A sentence a comparison and measure; many of them as a table, with remarks below that rows refer to."""
        rows = row_dicts(self.noise)
        if len(rows) <= SENTENCES:
            return [noise_words(row, columns) for row in rows]
        remarks = [_remark(row, columns) for row in rows]
        numbers = {remark: f"[{k}]" for k, remark in enumerate(dict.fromkeys(filter(None, remarks)), start=1)}
        cells = pd.DataFrame([noise_cells(row, columns) for row in rows])
        if numbers:
            cells["remark"] = [numbers.get(remark, "") for remark in remarks]
        return [*cells.to_string(index=False).splitlines(), *(f"{at} {remark}" for remark, at in numbers.items())]

    def _alone_words(self, columns: Sequence[str]) -> list[str]:
        """Of each audit who is in it alone, by group, with the first of them."""
        lines = []
        for audit, part in self.alone.groupby("audit"):
            groups = []
            for group, people in part.groupby("group", sort=False):
                refused = int((people["status"] != "not_needed").sum())
                groups.append(f"{group_name(str(group), columns)}: {len(people):,} ({refused:,} refused)")
            names = [str(label) for label in part.index[:FIRST]]
            names += ["..."] if len(part) > FIRST else []
            lines.append(f"Only in the {audit}: {'; '.join(groups)}. By name: {', '.join(names)}.")
        return lines

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """`noise`, a row a comparison and measure; `output` is "pandas", "polars" or "pyarrow"."""
        return as_output(self.noise, output)

    @property
    def groups(self) -> pd.DataFrame:
        """`by_group` as it is shown: by the names that readers know, without efforts that are not in the same units."""
        names = next((labels_of(finding.comparison.columns) for finding in self.before.findings), NO_LABELS)
        shown = self.by_group.copy()
        for key in ("group", "against"):
            shown[key] = shown[key].map(lambda label: names.group(label) or label, na_action="ignore")
        efforts = () if self.same_units else ("phi_before", "phi_after", "phi_change")
        return shown.drop(columns=list(efforts))

    def __str__(self) -> str:
        return "\n".join([*self._lines(), *([RESCALED] if self.rescaled else [])])

    def _lines(self) -> list[str]:
        lines = [f"Verdict: {self.before.outcome} before, {self.after.outcome} after."]
        columns = next((finding.comparison.columns for finding in self.before.findings), ())
        told = [difference_text(**asdict(one), labels=labels_of(columns)) for one in self.differences]
        lines += [f"Asked otherwise: {'; '.join(told)}."] if told else [NOTHING]
        lines += [UNITS] if not self.same_units else []
        lines += self._changes(columns)
        lines.append(
            f"{many(self.matched, 'person is', 'people are')} in both audits, {self.only_before:,} only in the first "
            f"and {self.only_after:,} only in the second."
        )
        lines += self._alone_words(columns)
        for row in self.counts.to_dict("records"):
            happened = [f"{row[one]:,} {SAID.get(one, one)}" for one in CHANGES if row[one] and one != "unchanged"]
            lines.append(f"  {group_name(row['group'], columns)}: {', '.join(happened) or 'no change shown'}")
        return lines
