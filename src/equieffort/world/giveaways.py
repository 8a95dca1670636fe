"""Columns that give an audit away before it begins: copies of the outcome, ids, names, constants, sentinels.

A model that sees the outcome, or who somebody is, decides nothing worth auditing; a code such as 999999 for "not known"
stretches a range over everybody's effort. Each is found here, for `init`, `--dry-run` and `audit` alike.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from equieffort.data.cells import number_like
from equieffort.data.frames import Floats, number
from equieffort.errors import EquieffortWarning, label, many, warn
from equieffort.world.schema import Schema

FEWEST = 20
"""Of fewer people a coincidence looks like a pattern."""
MOSTLY = 0.9
"""Text that differs for so many people names them."""
COINCIDENCES = 20.0
"""Unique whole numbers among which so many pairs of equal ones were to be expected by chance are no amounts."""
APART, FAR = 0.5, 10.0
"""How far from the others, in units of their span, a code such as 999 lies; and any value that is absurd."""
LOOKED_AT = 1000
"""So many cells tell most columns from what is looked for."""
MOST_CODES = 3
"""998 and 999 are found together; more codes than these are not looked for."""
_ID = re.compile(r"(?i)(^|[_ .-])(id|ids|uuid|guid|ssn|key|nr|no|number|index|row)$|^(id|uuid|ssn)([_ .-]|$)")

SELDOM = 0.05
"""A value that tells the decision wrongly for so few, beside those who got the rarer one, nearly tells it."""
CODES = {
    "copy": "DATA_COPIES_OUTCOME",
    "end": "DATA_COPIES_OUTCOME",
    "person": "DATA_NAMES_PEOPLE",
    "constant": "DATA_CONSTANT",
    "sentinel": "DATA_SENTINEL",
}
"""What a column gives away -> the code of its warning."""
FIRST = (*CODES.values(), "SURROGATE_PERFECT")
"""Warnings that are told before anything else."""


@dataclass(frozen=True)
class Giveaway:
    """A column that should not be among the features as it is."""

    feature: str
    kind: Literal["copy", "end", "person", "constant", "sentinel"]
    values: tuple[Any, ...] = ()
    """The constant, the sentinels, or the value that nearly tells the decision."""
    n: int = 0
    """How many people have them; of names, how many values differ; of a value that tells the decision, for how many it
    is wrong."""
    of: int = 0
    """Among how many."""
    ends: tuple[float, float] = (np.nan, np.nan)
    """Between which values everybody else lies."""

    @property
    def code(self) -> str:
        """The code of its warning."""
        return CODES[self.kind]

    @property
    def what(self) -> str:
        """The finding in a sentence."""
        shown = " and ".join(number(value) if isinstance(value, float) else label(value) for value in self.values)
        return {
            "copy": f"{self.feature!r} tells the decision: each of its values goes with one decision, for all "
            f"{self.of:,} people.",
            "end": f"{self.feature!r} nearly tells the decision: whether it is {shown} goes with the decision for all "
            f"but {self.n:,} of {self.of:,} people.",
            "person": f"{self.feature!r} is different for almost everybody: {self.n:,} values in {self.of:,} rows. It "
            "looks like a name or number of the person.",
            "constant": f"{self.feature!r} is {shown} in all {self.of:,} rows.",
            "sentinel": f"{self.feature!r} is {shown} for {many(self.n, 'person', 'people')} and between "
            f"{number(self.ends[0])} and {number(self.ends[1])} for everybody else: a code for a value that is not "
            "known, or a slip?",
        }[self.kind]

    @property
    def fix(self) -> str:
        """What to do about it."""
        return {
            "copy": "Take it out of the features, and train the model without it, if it was written down after the "
            "decision.",
            "end": "Take it out of the features, and train the model without it, if it was written down after the "
            "decision.",
            "person": "Take it out of the features; as the id it names people in every answer.",
            "constant": "Take it out of the features: nobody differs in it.",
            "sentinel": "Leave the cells empty if the value is not known, or correct it; if it is real, say how far "
            "actions may go (upper, lower) and scale the cost by quantiles of the range.",
        }[self.kind]


def giveaways(people: pd.DataFrame, features: Iterable[str], outcome: Any = None) -> list[Giveaway]:
    """What the features give away, the gravest first; `outcome` has a decision for each row, if any is known."""
    decided = None if outcome is None else _decided(outcome, people.index)
    found = [one for name in dict.fromkeys(features) for one in _of_column(people[name], decided)]
    return sorted(found, key=lambda one: list(CODES).index(one.kind))


def warn_giveaways(people: pd.DataFrame, schema: Schema, seen: Iterable[str], outcome: Any = None) -> None:
    """Warn of what the features of a schema, and the columns that a model sees, give away.

    Of a feature whose kind or limits were declared somebody knows that it is no name.
    """
    names = [name for name in (*schema.features, *seen) if name in people.columns]
    for one in giveaways(people, (name for name in names if name not in schema.protected_columns), outcome):
        feature = schema.feature(one.feature)
        meant = feature.kind is not None or feature.has_limits or feature.plausible is not None
        if one.kind != "person" or not meant:
            warn(one.code, one.what, fix=one.fix)


def copies(people: pd.DataFrame, features: Iterable[str], outcome: Any) -> list[Giveaway]:
    """The features that are the outcome in other words."""
    found = (people[name] for name in features)
    return [Giveaway(str(c.name), "copy", (), len(c), len(c)) for c in found if _copies(c, outcome)]


def _of_column(column: pd.Series, outcome: Any) -> list[Giveaway]:
    name, filled = str(column.name), column.dropna()
    n = len(filled)
    if n < FEWEST or not _is_plain(filled):
        return []
    if (filled == filled.iloc[0]).all():
        return [Giveaway(name, "constant", (_plain(filled.iloc[0]),), n, n)]
    if outcome is not None and _copies(column, outcome):
        return [Giveaway(name, "copy", (), len(column), len(column))]
    if names_people(column):
        return [Giveaway(name, "person", (), int(filled.nunique()), n)]
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return []
    if outcome is not None and (end := _one_value(column, outcome)) is not None:
        return [end]
    values = filled.to_numpy(dtype=np.float64)
    codes = sentinels(values)
    if not codes:
        return []
    rest = values[~np.isin(values, codes)]
    ends = (float(rest.min()), float(rest.max()))
    return [Giveaway(name, "sentinel", tuple(codes), int(np.isin(values, codes).sum()), n, ends)]


def names_people(column: pd.Series) -> bool:
    """Whether a column names the person: text that differs for almost everybody, or numbers that no amount would be.

    Unique whole numbers are an id if amounts of that range would have met by chance, or if the column is called so.
    """
    filled = column.dropna()
    n = len(filled)
    if n < FEWEST or pd.api.types.is_bool_dtype(column.dtype):
        return False
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return bool(filled.nunique() >= MOSTLY * n) and not number_like(column)
    if not pd.api.types.is_integer_dtype(column.dtype) or not filled.is_unique:
        return False
    span = float(filled.max()) - float(filled.min()) + 1
    counts_rows = span == n
    return counts_rows or bool(_ID.search(str(column.name))) or n * (n - 1) / (2 * span) >= COINCIDENCES


def _decided(outcome: Any, index: pd.Index) -> pd.Series:
    """The decisions by position; those that were made so before are not made again for each column."""
    if isinstance(outcome, pd.Series) and outcome.index.is_(index):
        return outcome
    return pd.Series(np.asarray(outcome), index=index)


def _copies(column: pd.Series, outcome: Any) -> bool:
    """Whether the column is the outcome in other words: as many values, each with a decision of its own."""
    decided = _decided(outcome, column.index)
    known = column.notna() & decided.notna()
    if int(known.sum()) < FEWEST or not _is_plain(column[known]):
        return False
    # Many values among the first are no decisions; most columns are settled here.
    if column[known].iloc[:LOOKED_AT].nunique() > decided.nunique():
        return False
    pairs = pd.DataFrame({"value": column[known], "decided": decided[known]}).drop_duplicates()
    values, decisions = pairs["value"].nunique(), pairs["decided"].nunique()
    return bool(decisions > 1 and len(pairs) == values == decisions)


def _one_value(column: pd.Series, outcome: Any) -> Giveaway | None:
    """Whether the least or the largest value of a number goes with one decision, and all others with the other.

    A length that is full, or an amount of 0, for one decision alone was mostly written down after it; a score from
    which decisions were made has many values on either side.
    """
    decided = _decided(outcome, column.index)
    known = (column.notna() & decided.notna()).to_numpy()
    values = column[known].to_numpy(dtype=np.float64)
    codes, decisions = pd.factorize(decided[known])
    rarer = int(np.bincount(codes).min()) if len(decisions) == 2 else 0
    if rarer < FEWEST or len(np.unique(values)) < 3:
        return None
    for end in (float(values.min()), float(values.max())):
        wrong = int(((values == end) != (codes == 0)).sum())
        wrong = min(wrong, len(values) - wrong)
        if wrong <= SELDOM * rarer:
            return Giveaway(str(column.name), "end", (end,), wrong, len(values))
    return None


def sentinels(values: Floats) -> list[float]:
    """Values far from all others that stand for something else: 999 and its kin, -1, or one that is absurd.

    >>> sentinels(np.array([20.0, 35, 40, 62, 999])), sentinels(np.array([3.0, 0, 7, 12, -1]))
    ([999.0], [-1.0])
    >>> sentinels(np.array([20.0, 35, 40, 62, 75]))
    []
    """
    met = np.unique(values)
    return _above(met) + _above(-met[::-1], sign=-1.0)


def _above(met: Floats, sign: float = 1.0) -> list[float]:
    """The sentinels above all others among rising values; `sign` is -1 where these are the values turned round."""
    for count in range(1, min(MOST_CODES, len(met) - 2) + 1):
        inner, outer = met[:-count], met[-count:]
        gap, span = float(outer[0] - inner[-1]), float(inner[-1] - inner[0])
        coded = all(_is_code(value * sign) for value in outer.tolist())
        absurd = count == 1 and len(inner) >= 3 and gap >= FAR * span
        # Below zero, where nobody else is, a code need not be far away.
        below = sign < 0 and inner[-1] <= 0 < outer[0] and span >= 5
        # Of a few small numbers the last may be a nine, or near one hundred, by chance.
        needed = APART * (FAR if float(outer[0]) < 10 or len(inner) < 3 else 1.0)
        if absurd or (coded and (below or gap >= needed * span)):
            return sorted((outer * sign).tolist())
    return []


def _is_code(value: float) -> bool:
    """Whether a number is one that people write for "not known": nines, ending in 7 or 8 for other reasons, or -1."""
    if value == -1:
        return True
    digits = f"{abs(value):.0f}" if value == np.rint(value) and abs(value) < 1e15 else ""
    return bool(re.fullmatch(r"9+|9+[78]", digits))


def _is_plain(filled: pd.Series) -> bool:
    """Whether the cells are values that can be compared: no lists or tables, which others refuse in their own words."""
    return filled.dtype != object or all(isinstance(value, Hashable) for value in filled.iloc[:LOOKED_AT])


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else value


def first_lines(warnings: Iterable[EquieffortWarning]) -> list[str]:
    """What to look at before anything else, for a terminal; none if there is nothing."""
    lines = [f"  {warning.what}" for warning in warnings if warning.code in FIRST]
    return ["Check first:", *lines] if lines else []
