"""Is a change beyond noise, and does it lead away from equality?

A change of ACR (as a factor) or of RD (as a difference) is beyond noise when its 95 % interval, in which people in both
audits are paired, does not hold "no change". That of RD counts people twice (`gaps`). The estimate of log ACR is, up to
terms that vanish, a sum of values psi, one a person. Whoever is in both audits adds psi_2 - psi_1 to the change, so
that what the audits share cancels; whoever is in one of them adds -psi_1 or psi_2. The variance is V = sum psi^2. It is
itself uncertain when few people carry it: nu = 2 V^2 / (sum psi^4 - V^2 / n) degrees of freedom, about the number of
people the change rests on. The interval is that of Student's t. Model and equations are taken as given: chance is which
people were audited.

Whether it is for the worse is asked of the distance from equality, |log ACR| and |RD|: a ratio that rises from 0.6 to
0.9 has come closer. A distance is never negative, so that no interval of it can judge: from equality it seems to have
grown by chance alone. For ACR people are drawn again, those in both audits together; the distance counts as grown when
the change is beyond noise and more than 97.5 % of the draws lie, on the side where the estimate lies now, farther out
than the earlier audit does on either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.laws import Law, Student
from equieffort.effort.metrics import Comparison
from equieffort.errors import many
from equieffort.recourse.table import RecourseTable
from equieffort.results.audits import Audit
from equieffort.results.comparison.gaps import FEWEST, LEVEL, Gaps
from equieffort.results.comparison.people import Pairs
from equieffort.results.comparison.result import undefined_words

DUST = 1e-12
"""Differences of equal sums can leave so much, or this share of them."""
NO_CHANCE = "the same for everybody, so that chance has no part in it"
OTHERS = "of those refused in both audits nobody's answer changed: it comes from people refused in one of them only"
TOO_FEW = "too few people for an interval"


@dataclass(frozen=True)
class Change:
    """A change with what is known of its chance; None where nothing is, and why."""

    estimate: float
    law: Law | None = None
    note: str = ""

    @property
    def df(self) -> float:
        """Degrees of freedom, where the interval is Student's."""
        return self.law.df if isinstance(self.law, Student) else np.nan

    @property
    def limits(self) -> tuple[float, float]:
        """The interval; NaN without one, never a width of zero."""
        return (np.nan, np.nan) if self.law is None else self.law.limits(LEVEL)


def log_ratio_values(table: RecourseTable, group: str, against: str) -> Floats | None:
    """psi of log ACR, a value a person; None where it has no variance to be known (fewer than two with an action)."""
    values, effort = np.zeros(len(table)), table.effort
    for members, sign in zip(table.groups.members(group, against), (1.0, -1.0), strict=True):
        acting = table.has_action & members
        k, costs = int(acting.sum()), effort[acting]
        mean = float(costs.mean()) if k else 0.0
        if k < 2 or not mean > 0:
            return None
        values[acting] = sign * (costs - mean) / (k * mean) * np.sqrt(k / (k - 1))
    return values


def _in(table: RecourseTable, group: str, against: str) -> Bools:
    """Who is on either side of a comparison."""
    mine, theirs = table.groups.members(group, against)
    return mine | theirs


def change(estimate: float, before: Floats | None, after: Floats | None, pairs: Pairs, people: int) -> Change:
    """The change of an estimate, given the psi of both audits; `people` is how many are in either of them."""
    if np.isnan(estimate):
        return Change(np.nan)
    if np.isinf(estimate):
        return Change(estimate, note="one of the groups needs no effort at all, so that there is no interval")
    if before is None or after is None:
        return Change(estimate, note=TOO_FEW)
    values = joined(before, after, pairs)
    variance, fourth = float((values**2).sum()), float((values**4).sum())
    if variance <= DUST**2 * float((before**2).sum() + (after**2).sum()):
        return Change(estimate, note=NO_CHANCE)
    rest = fourth - variance**2 / people
    df = 2 * variance**2 / rest if rest > 0 else np.inf
    return Change(estimate, Student(estimate, float(np.sqrt(variance)), df))


def gap_change(gaps: Gaps) -> Change:
    """The change of RD."""
    if not gaps.fewest:
        return Change(np.nan)
    law = gaps.change()
    if gaps.same_answers:
        return Change(law.estimate, note=NO_CHANCE)
    if gaps.fewest < FEWEST:
        return Change(law.estimate, note=TOO_FEW)
    return Change(law.estimate, law, OTHERS if gaps.comes_from_others and law.estimate else "")


def joined(before: Floats, after: Floats, pairs: Pairs) -> Floats:
    """The values of the change, one a person in either audit."""
    left, right = pairs[:, 0], pairs[:, 1]
    alone, other = np.ones(len(before), dtype=bool), np.ones(len(after), dtype=bool)
    alone[left] = other[right] = False
    return np.concatenate([after[right] - before[left], -before[alone], after[other]])


def strata(a: RecourseTable, b: RecourseTable, pairs: Pairs, label: str) -> list[Floats]:
    """Rows of a group that are drawn together: (before, after) sums of pairs, of the first only, of the second only.

    A paired bootstrap: people of both audits are drawn together, people of one apart, each group by itself.
    """
    sums, other_sums = _sums(a), _sums(b)
    mine, theirs = (t.groups.codes == t.groups.labels.index(label) for t in (a, b))
    together = pairs[mine[pairs[:, 0]]]
    alone, other_alone = mine.copy(), theirs.copy()
    alone[together[:, 0]] = False
    other_alone[together[:, 1]] = False
    return [
        np.hstack([sums[together[:, 0]], other_sums[together[:, 1]]]),
        np.hstack([sums[alone], np.zeros_like(sums[alone])]),
        np.hstack([np.zeros_like(other_sums[other_alone]), other_sums[other_alone]]),
    ]


def bootstrap(rng: np.random.Generator, draws: int, *strata: Floats) -> Floats:
    """Sums of each draw: (draw, before or after, refused / acting / effort)."""
    total = np.zeros((draws, 6))
    for rows in strata:
        # People who add nothing are drawn by their number alone: the same distribution, much less to draw.
        adding = rows[rows.any(axis=1)]
        if len(adding) == 0:
            continue
        sizes = rng.binomial(len(rows), len(adding) / len(rows), draws)
        for k, size in enumerate(sizes.tolist()):
            times = np.bincount(rng.integers(0, len(adding), size), minlength=len(adding))
            total[k] += times @ adding
    return total.reshape(draws, 2, 3)


def _sums(table: RecourseTable) -> Floats:
    """What a person adds: refused, acting, effort."""
    return np.column_stack([table.is_unfavourable, table.has_action, np.nan_to_num(table.effort)]).astype(np.float64)


MOST_UNDEFINED = 0.05
"""With more draws than this in which a ratio is undefined nothing is said of its distance from equality."""
SURE = 0.975
"""In more than this share of the draws something must hold to be beyond noise."""


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
        who = {"group": old.group, "against": old.against, "role": old.role}
        gaps = Gaps.of(first, second, pairs, old.group, old.against)
        changes = {"acr": _ratio_change(first, second, old, new, pairs), "rd": gap_change(gaps)}
        theirs = [drawn[first.groups.labels[code]] for code in first.groups.others(old.group, old.against)]
        distances = {
            "acr": _ratio_distance(old, new, drawn[old.group], np.sum(theirs, axis=0), changes["acr"]),
            "rd": gaps.distance(),
        }
        open_ones = sum(int((_in(t, old.group, old.against) & t.is_unsettled).sum()) for t in (first, second))
        few = {"acr": min(one.n_acting for c in (old, new) for one in (c.mine, c.theirs)), "rd": gaps.fewest}
        for name in ("acr", "rd"):
            why = undefined_words(_why_undefined(old, name), _why_undefined(new, name))
            told = _told(name, getattr(old, name), getattr(new, name), changes[name], open_ones) | {"fewest": few[name]}
            behind = {"behind_before": _behind(old, name), "behind_after": _behind(new, name)}
            rows.append(who | {"measure": name} | told | distances[name] | behind | {"undefined": why})
    return pd.DataFrame(rows)


def _ratio_change(
    first: RecourseTable, second: RecourseTable, old: Comparison, new: Comparison, pairs: Pairs
) -> Change:
    """The change of log ACR from one audit to the other."""
    compared = (old.group, old.against)
    here, there = (_in(table, *compared) for table in (first, second))
    people = int(here.sum() + there.sum() - here[pairs[:, 0]].sum())
    with np.errstate(all="ignore"):
        estimate = float(np.log(new.acr) - np.log(old.acr))
    return change(estimate, log_ratio_values(first, *compared), log_ratio_values(second, *compared), pairs, people)


def _ratio_distance(old: Comparison, new: Comparison, mine: Floats, theirs: Floats, found: Change) -> dict[str, Any]:
    """Whether ACR moved away from equality; the draws are (draw, before or after, sums)."""
    with np.errstate(all="ignore"):
        phi, phi_other = mine[:, :, 2] / mine[:, :, 1], theirs[:, :, 2] / theirs[:, :, 1]
    logs = [float(_log_ratio(c.mine.phi, c.theirs.phi)) for c in (old, new)]
    answer = _distance(logs[0], logs[1], _log_ratio(phi, phi_other))
    low, high = found.limits
    if answer["distance"] in ("farther", "closer") and low <= 0 <= high:
        # Few draws more or less on one side must not say more than the interval does.
        answer["distance"] = "within noise"
    return answer


def _told(name: str, before: float, after: float, found: Change, open_ones: int) -> dict[str, Any]:
    """How much a measure changed: ACR by a factor, RD by a difference."""
    ends = (found.estimate, *found.limits)
    now, low, high = (float(np.exp(end)) for end in ends) if name == "acr" else ends
    none = 1.0 if name == "acr" else 0.0
    notes = [found.note] if found.note else []
    if open_ones:
        notes.append(
            f"{many(open_ones, 'person is', 'people are')} not solved to the end, which the interval leaves out"
        )
    return {
        "before": before,
        "after": after,
        "change": now,
        "low": low,
        "high": high,
        "df": found.df,
        "beyond_noise": bool(low > none or high < none),
        "note": "; ".join(notes),
    }


def _log_ratio(phi: Any, phi_other: Any) -> Any:
    """log ACR: 0 at equality, the same distance to both sides; infinite where only one of the groups needs effort."""
    with np.errstate(all="ignore"):
        return np.log(phi) - np.log(phi_other)


def _distance(before: float, after: float, drawn: Floats) -> dict[str, Any]:
    """Whether a measure that is 0 at equality moved away from it, and whether it changed sides.

    `drawn` has a row a draw: before and after.
    """
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    answer = {"distance": "undefined", "turned": False, "turned_beyond_noise": False}
    answer["undefined_draws"] = len(drawn) - len(defined)
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


def _behind(compared: Comparison, measure: str) -> str:
    """Who needs more effort, or has a route less often: also where the other needs none, which has no ratio."""
    value = _log_ratio(compared.mine.phi, compared.theirs.phi) if measure == "acr" else compared.rd
    return compared.against if value < 0 else compared.group


def _why_undefined(compared: Comparison, measure: str) -> str:
    """Why an audit has no such measure; empty if it has."""
    if not np.isnan(getattr(compared, measure)):
        return ""
    sides = tuple(zip(compared.people, (compared.mine, compared.theirs), strict=True))
    nobody = [people for people, stats in sides if not stats.n_unfavourable]
    if nobody:
        return f"no {nobody[0]} were refused" if len(nobody) == 1 else "nobody was refused"
    stuck = [people for people, stats in sides if not stats.n_acting]
    if stuck:
        return f"no route is known for refused {stuck[0]}" if len(stuck) == 1 else "no route is known for anybody"
    if compared.mine.phi > 0 or compared.theirs.phi > 0:
        idle, busy = compared.people[::-1] if compared.mine.phi > 0 else compared.people
        return f"refused {idle} need no effort and refused {busy} do"
    return "neither group needs any effort"
