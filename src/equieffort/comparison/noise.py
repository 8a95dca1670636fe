"""Is a change beyond noise, and does it lead away from equality?

A change of ACR or RD is beyond noise when the 95 % interval of a paired bootstrap does not hold 0.

Whether it is for the worse is asked of the distance from equality, |log ACR| and |RD|: a ratio that rises from 0.6 to
0.9 has come closer. A distance is never negative, so that its own draws would seem to have grown from equality by
chance alone; it counts as grown when more than 97.5 % of the draws lie, on the side where the estimate lies now,
farther out than the earlier audit does on either side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort._audit import Audit
from equieffort.comparison.draws import bootstrap, strata
from equieffort.comparison.people import Pairs
from equieffort.comparison.words import undefined_words
from equieffort.frames import Floats
from equieffort.metrics import Comparison

MOST_UNDEFINED = 0.05
"""With more draws than this in which a ratio is undefined no interval is given."""
SURE = 0.975
"""In more than this share of the draws something must hold to be beyond noise."""
DUST = 1e-12
"""Differences of equal sums can leave this much."""


def noise(a: Audit, b: Audit, pairs: Pairs, draws: int, seed: int) -> pd.DataFrame:
    """A row a comparison and measure; `AuditComparison.noise` says what is in it."""
    rng = np.random.default_rng(seed)
    first, second = a.recourse, b.recourse
    drawn = {
        label: bootstrap(rng, draws, *strata(first, second, pairs, label)) for label in sorted(first.groups.labels)
    }
    after = {(c.group, c.against): c for c in b.system.comparisons}
    rows = []
    for old in a.system.comparisons:
        new = after[old.group, old.against]
        mine, theirs = drawn[old.group], drawn[old.against]
        with np.errstate(all="ignore"):
            phi, phi_other = mine[:, :, 2] / mine[:, :, 1], theirs[:, :, 2] / theirs[:, :, 1]
            rd = theirs[:, :, 1] / theirs[:, :, 0] - mine[:, :, 1] / mine[:, :, 0]
            acr = np.where(phi_other > 0, phi / phi_other, np.nan)
        logs = [float(_log_ratio(c.mine.phi, c.theirs.phi)) for c in (old, new)]
        who = {"group": old.group, "against": old.against, "role": old.role}
        measured = {
            "acr": _change(old.acr, new.acr, acr) | _distance(logs[0], logs[1], _log_ratio(phi, phi_other)),
            "rd": _change(old.rd, new.rd, rd) | _distance(old.rd, new.rd, rd),
        }
        for name, found in measured.items():
            why = undefined_words(_why_undefined(old, name), _why_undefined(new, name))
            rows.append(who | {"measure": name} | found | {"undefined": why})
    return pd.DataFrame(rows)


def _log_ratio(phi: Any, phi_other: Any) -> Any:
    """log ACR: 0 at equality, the same distance to both sides; infinite where only one of the groups needs effort."""
    with np.errstate(all="ignore"):
        return np.log(phi) - np.log(phi_other)


def _change(before: float, after: float, drawn: Floats) -> dict[str, Any]:
    """How much a measure changed, and whether that is beyond noise; `drawn` has a row a draw: before and after."""
    change, changes = after - before, drawn[:, 1] - drawn[:, 0]
    low, high = _interval(changes) if np.isfinite(change) else (np.nan, np.nan)
    return {
        "before": before,
        "after": after,
        "change": change,
        "low": low,
        "high": high,
        "beyond_noise": bool(low > 0 or high < 0),
        "undefined_draws": int(np.isnan(changes).sum()),
    }


def _interval(change: Floats) -> tuple[float, float]:
    defined = change[~np.isnan(change)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(change):
        return np.nan, np.nan
    low, high = np.quantile(defined, [0.025, 0.975])
    return (0.0 if abs(low) < DUST else float(low)), (0.0 if abs(high) < DUST else float(high))


def _distance(before: float, after: float, drawn: Floats) -> dict[str, Any]:
    """Whether a measure that is 0 at equality moved away from it, and whether it changed sides.

    `drawn` has a row a draw: before and after.
    """
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    answer = {"distance": "undefined", "turned": False, "turned_beyond_noise": False}
    if np.isnan([before, after]).any() or len(defined) < (1 - MOST_UNDEFINED) * len(drawn):
        return answer
    with np.errstate(invalid="ignore"):
        old, new = defined[:, 0], defined[:, 1]
        outwards_old, outwards_new = np.sign(before) * old, np.sign(after) * new
        answer["distance"] = "within noise"
        if _sure(outwards_new > np.abs(old) + DUST):
            answer["distance"] = "farther"
        elif _sure(outwards_old > np.abs(new) + DUST):
            answer["distance"] = "closer"
        answer["turned"] = bool(np.sign(before) * np.sign(after) < 0)
        answer["turned_beyond_noise"] = answer["turned"] and _sure(outwards_old > DUST) and _sure(outwards_new > DUST)
    return answer


def _sure(holds: npt.NDArray[np.bool_]) -> bool:
    return bool(holds.mean() > SURE)


def _why_undefined(compared: Comparison, measure: str) -> str:
    """Why an audit has no such measure; empty if it has."""
    if not np.isnan(getattr(compared, measure)):
        return ""
    sides = ((compared.group, compared.mine), (compared.against, compared.theirs))
    nobody = [group for group, stats in sides if not stats.n_unfavourable]
    if nobody:
        return "nobody" + (f" in {nobody[0]!r}" if len(nobody) == 1 else "") + " was decided unfavourably"
    stuck = [group for group, stats in sides if not stats.n_acting]
    if stuck:
        return "nobody" + (f" in {stuck[0]!r}" if len(stuck) == 1 else "") + " has an action that is known"
    if compared.mine.phi > 0:
        return f"{compared.against!r} needs no effort and {compared.group!r} does"
    return "neither group needs any effort"
