"""What a search of subgroups found, in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf, isnan

import pandas as pd

from equieffort.data.frames import number, percent
from equieffort.effort.measures import MEASURES, Measure
from equieffort.effort.search import ADJUST, Asked
from equieffort.errors import many
from equieffort.foundations.shown import Number
from equieffort.words.shown import interval_text, p_text, value_text
from equieffort.world.rules import parse_rule
from equieffort.world.rules.tree import Compare, Joined, Name, Node, Not

COUNTED = {"acting": "people with a route to approval", "refused": "refused people", "people": "people"}
WITHHELD = {
    "OUTLIERS": "Nothing is concluded: single absurd values in the reference data decide how effort is measured.",
    "SURROGATE": "Nothing is concluded: the surrogate model repeats too few of the decisions.",
}
"""Why an audit concludes nothing, of subgroups neither."""


def conditions(rule: str) -> list[str]:
    """The conditions of a rule for a picture, where nobody copies them.

    >>> conditions("age > 30 and age <= 40 and not job = job")
    ['30 < age <= 40', 'job is missing']
    """
    parts = _parts(rule)
    told: list[str] = []
    for k, part in enumerate(parts):
        before = parts[k - 1] if k else None
        if (name := _missing_name(part)) is not None:
            told.append(f"{name} is missing")
        elif _is_range(before, part) and isinstance(before, Compare) and isinstance(part, Compare):
            told[-1] = f"{before.other} < {part.name} <= {part.other}"
        else:
            told.append(str(part))
    return told


def _missing_name(part: Node) -> Name | None:
    """The column that a condition says is missing: it does not equal itself."""
    inner = part.part if isinstance(part, Not) else None
    is_own = isinstance(inner, Compare) and inner.sign == "=" and inner.other == inner.name
    return inner.name if is_own and isinstance(inner, Compare) else None


def _is_range(before: Node | None, part: Node) -> bool:
    both = isinstance(before, Compare) and isinstance(part, Compare)
    return both and before.name == part.name and (before.sign, part.sign) == (">", "<=")  # type: ignore[union-attr]


def missing_text(rules: Iterable[str]) -> str:
    """What the rule for missing values means, where one is shown."""
    parts = (part for rule in rules for part in _parts(rule))
    found = next((part for part in parts if _missing_name(part) is not None), None)
    return f"({found}: {conditions(str(found))[0]}.)" if found is not None else ""


def _parts(rule: str) -> list[Node]:
    tree = parse_rule(rule).tree
    return list(tree.parts) if isinstance(tree, Joined) and tree.word == "and" else [tree]


def counted_people(measure: Measure) -> str:
    """Of whom there must be enough on either side."""
    return "refused people" if measure.name == "burden" else COUNTED[measure.basis]


def head_text(asked: Asked, counts: dict[str, int], flagged: int, comparisons: list[str]) -> str:
    """Who was compared, how many subgroups were searched, and how many are flagged."""
    measure, wrong = MEASURES[asked.measure], percent(1 - asked.level, 0)
    told = ", ".join(comparisons[:4]) + (f" and {len(comparisons) - 4} more" if len(comparisons) > 4 else "")
    many_searched = many(counts["searched"], "subgroup", "subgroups")
    lines = [f"{measure.title}, {told}: {many_searched} searched, {number(flagged)} flagged."]
    if counts["searched"]:
        chance = (
            f"The chance of any wrong flag is at most {wrong}"
            if asked.adjust == "holm"
            else f"At most {wrong} of the flags are expected to be wrong"
        )
        lines.append(f"{chance} ({ADJUST[asked.adjust]} over all that were searched); {tolerance_text(asked)}.")
    return "\n".join(lines)


def tolerance_text(asked: Asked) -> str:
    """From when on a difference counts."""
    if asked.measure == "rd":
        return "any gap counts" if asked.epsilon == 0 else f"gaps beyond {100 * asked.epsilon:g} points count"
    return "any inequality counts" if asked.tau == 1 else f"ratios beyond {asked.tau:g} either way count"


def rows_text(asked: Asked, frame: pd.DataFrame) -> list[list[str]]:
    """A head and a row a subgroup."""
    measure = MEASURES[asked.measure]
    several = len(frame[["group", "against"]].drop_duplicates()) > 1
    head = ["", "subgroup", *(["compared"] if several else []), measure.name, f"{percent(asked.level, 0)} interval"]
    rows = [[*head, "people a side", "adjusted p"]]
    for row in frame.to_dict("records"):
        who = f"{row['group']} against {row['against']}"
        sides = f"{number(row['n'])} / {number(row['n_against'])}"
        rows.append(
            [
                ", ".join([*(["flagged"] if row["flagged"] else []), *(["open"] if is_open(row["note"]) else [])]),
                row["rule"],
                *([who] if several else []),
                Number(value_text(measure, row["estimate"])),
                Number(interval_text(measure, row["low"], row["high"])),
                Number(sides),
                Number(p_text(row["p_adjusted"]) or "-"),
            ]
        )
    return rows


def whole_text(asked: Asked, whole: pd.DataFrame) -> list[str]:
    """Everybody of the groups compared."""
    measure = MEASURES[asked.measure]
    return [
        f"Everybody, {row['group']} against {row['against']}: {value_text(measure, row['estimate'])} "
        f"({interval_text(measure, row['low'], row['high'])})"
        f"{_unsolved(row['n_open']) if row['n_open'] else ''}."
        for row in whole.to_dict("records")
    ]


def _unsolved(n: int) -> str:
    return f", since {many(n, 'person is', 'people are')} not solved to the end"


def is_open(note: str) -> bool:
    """Whether a row counts people as found who are not solved to the end."""
    return "UNCERTIFIED" in note.split()


def open_text(asked: Asked, frame: pd.DataFrame) -> str:
    """What "open" means, where a row says so."""
    if not any(map(is_open, frame["note"])):
        return ""
    flags = ", and no such subgroup is flagged" if asked.certified else ""
    return (
        "open: somebody in it is not solved to the end. Estimate, interval and p count them as found, so that less is "
        f"known than they say{flags}."
    )


def bound_text(asked: Asked, certified: int, searched: int, worst: float) -> str:
    """What is certified of all subgroups at once."""
    measure = MEASURES[asked.measure]
    enough = f"at least {number(asked.fewest_certified)} {counted_people(measure)} a side"
    if not certified:
        return f"Certified: nothing; no subgroup searched has {enough}, all of them solved to the end."
    side = "at most" if measure.orientation > 0 else "at least"
    if isnan(worst) or isinf(worst):
        return f"Certified: nothing for all {number(certified)} subgroups with {enough}; the bound is unlimited."
    where = "the one subgroup" if certified == 1 else f"each of the {number(certified)} subgroups"
    return (
        f"Certified: in {where} searched with {enough}, the "
        f"{measure.title[0].lower()}{measure.title[1:]} is {side} {value_text(measure, worst)} (all at once, "
        f"{percent(asked.level, 0)} level). {_others(searched - certified)}"
    )


def _others(n: int) -> str:
    if not n:
        return "Those are all."
    return "Of the other one nothing is certified." if n == 1 else f"Of the other {number(n)} nothing is certified."


def counts_text(asked: Asked, counts: dict[str, int], left_out: dict[str, str]) -> str:
    """What was formed and not searched."""
    few = f"fewer than {number(asked.fewest)} {counted_people(MEASURES[asked.measure])}"
    formed = many(counts["formed"], "conjunction", "conjunctions")
    limit = f"up to {asked.conditions} conditions" if asked.conditions > 1 else "one condition"
    if counts["formed"] and counts["too_small"] == counts["formed"]:
        text = f"Nothing could be searched: each of the {formed} of {limit} has {few} on a side."
    else:
        parts = {
            "too_small": f"{number(counts['too_small'])} with {few} on a side",
            "merged": f"{number(counts['merged'])} that hold nearly the same people as a shorter or earlier one",
            "undefined": f"{number(counts['undefined'])} in which nothing can be tested",
        }
        left = [part for key, part in parts.items() if counts[key]]
        rest = f"; not searched: {', '.join(left)}." if left else "."
        text = f"Searched: {number(counts['searched'])} of {formed} of {limit}{rest}"
    if left_out:
        text += f" Columns left out: {'; '.join(f'{name} ({why})' for name, why in left_out.items())}."
    return text
