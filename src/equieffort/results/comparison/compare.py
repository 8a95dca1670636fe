"""compare_audits() -> AuditComparison."""

from __future__ import annotations

from math import nan
from typing import Any, cast

import pandas as pd

from equieffort.data.frames import row_dicts
from equieffort.foundations.arguments import check_flag, check_instance, check_whole
from equieffort.results.audits import Audit
from equieffort.results.comparison.comparable import (
    at_prices_of,
    check_same_groups,
    same_prices,
    warn_assumed,
)
from equieffort.results.comparison.differences import differences, model_differs
from equieffort.results.comparison.noise import noise
from equieffort.results.comparison.people import (
    counts,
    decided_otherwise,
    in_one_only,
    labels,
    match,
    same_people,
    what_happened,
)
from equieffort.results.comparison.result import AuditComparison

MEASURES = ("n", "n_unfavourable", "phi", "rho", "acr", "rd")
DRAWS = 2000


def compare_audits(
    a: Audit, b: Audit, *, rescale: bool = False, draws: int = DRAWS, random_state: int = 0
) -> AuditComparison:
    """What changed from audit `a` to audit `b`.

    Parameters
    ----------
    a, b
        The audits, of the same groups. What may be done, what it costs, the graph, the model and the people may differ,
        and `differences` says what does: ratios and RD are always compared, efforts only in the same units.
    rescale
        Efforts are only comparable at the same prices. True recomputes b's costs at a's prices (weighted L1 costs); the
        actions stay those that were cheapest at b's own, so the costs are upper limits.
    draws, random_state
        How many draws are made to ask whether ACR moved away from equality, and their seed. Intervals and RD need none.

    Returns
    -------
    An `AuditComparison`; print it, or read `by_group`, `people`, `counts` and `noise`.
    """
    for name, given in (("a", a), ("b", b)):
        check_instance(name, given, Audit, "an audit; read a file with ee.load(path)", fix="Give ee.load(path).")
    check_flag("rescale", rescale)
    check_whole("draws", draws, 1)
    check_whole("random_state", random_state)
    check_same_groups(a, b)
    same_units, told = same_prices(a, b), differences(a, b)
    rescaled = rescale and not same_units
    # What the second audit found it found at its own prices.
    verdicts = a.verdict, b.verdict
    if rescaled:
        b = at_prices_of(a, b)
    comparable = same_units or rescaled
    warn_assumed(a, b)
    left, right = labels(a.recourse), labels(b.recourse)
    pairs = same_people(a.recourse, b.recourse, match(left, right))
    told += model_differs(*decided_otherwise(a.recourse, b.recourse, pairs))
    people = what_happened(a.recourse, b.recourse, pairs, same_units=comparable)
    changed = people[people["change"] != "unchanged"].rename_axis(cast("str | None", a.recourse.index.name))
    return AuditComparison(
        *verdicts,
        _by_group(a, b, same_units=comparable),
        changed,
        counts(a.recourse, people),
        noise(a, b, pairs, draws, random_state),
        len(pairs),
        len(left) - len(pairs),
        len(right) - len(pairs),
        rescaled,
        comparable,
        told,
        in_one_only(a.recourse, b.recourse, pairs),
    )


def _by_group(a: Audit, b: Audit, *, same_units: bool) -> pd.DataFrame:
    later = {(row["group"], row["against"]): row for row in _sides(b)}
    rows = []
    for old in _sides(a):
        row = {name: old[name] for name in ("group", "role", "against")}
        new = later[row["group"], row["against"]]
        for name in MEASURES:
            change = new[name] - old[name] if same_units or name != "phi" else nan
            row |= {f"{name}_before": old[name], f"{name}_after": new[name], f"{name}_change": change}
        rows.append(row)
    return pd.DataFrame(rows)


def _sides(audit: Audit) -> list[dict[str, Any]]:
    """A row a group; one that is compared with several others has a row for each, the reference one for itself."""
    found = []
    for row in row_dicts(audit.system.groups.reset_index()):
        mine = [c for c in audit.system.comparisons if c.group == row["group"]]
        found += [
            row | {"against": c.against, "acr": c.reading("acr").estimate, "rd": c.reading("rd").estimate} for c in mine
        ]
        found += [] if mine else [row | {"against": None, "acr": nan, "rd": nan}]
    return found
