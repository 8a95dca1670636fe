"""What changed between two audits: two models on the same people, or one model at two dates.

People are matched by their label. A change of ACR or RD is beyond noise when the 95 % interval of a paired bootstrap
does not hold 0: people in both audits are drawn together, people in one of them apart, and each group by itself, so
that what the two audits share cancels.

Whether a change is for the worse is asked of the distance from equality, |log ACR| and |RD|: a ratio that rises from
0.6 to 0.9 has come closer. A distance is never negative, so that its own draws would seem to have grown from equality
by chance alone; it counts as grown when more than 97.5 % of the draws lie, on the side where the estimate lies now,
farther out than the earlier audit does on either side.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort._audit import Audit
from equieffort.errors import ParameterError, many, warn
from equieffort.frames import Floats, number
from equieffort.metrics import Comparison
from equieffort.solvers import Status
from equieffort.table import RecourseTable
from equieffort.verdict import Verdict

MEASURES = ("n", "n_unfavourable", "phi", "rho", "acr", "rd")
CHANGES = (
    "newly favourable",
    "newly refused",
    "newly infeasible",
    "newly possible",
    "dearer",
    "cheaper",
    "unknown",
    "unchanged",
)
"""What can have happened to a person; "newly refused" have an action, "newly infeasible" have none any more."""

DRAWS = 2000
SAME = 1e-6
"""Costs that differ by less than this share are the same: a step over the boundary may be that large."""
MOST_UNDEFINED = 0.05
"""With more draws than this in which a ratio is undefined no interval is given."""
SURE = 0.975
"""In more than this share of the draws something must hold to be beyond noise."""
DUST = 1e-12
"""Differences of equal sums can leave this much."""


@dataclass(frozen=True, eq=False)
class AuditComparison:
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

    `before`, `after`, `change`, its 95 % interval (`low`, `high`) and whether it lies `beyond_noise`; `distance` from
    equality ("farther", "closer", "within noise", "undefined"); whether the disadvantage `turned` from one group to
    the other, and whether it did so beyond noise; why a measure is `undefined` (empty if it is not).
    """
    matched: int
    only_before: int
    only_after: int
    rescaled: bool

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
        }

    def __str__(self) -> str:
        lines = [f"Verdict: {self.before.outcome} before, {self.after.outcome} after."]
        lines += [_noise_words(row) for row in self.noise.to_dict("records")]
        lines.append(
            f"{many(self.matched, 'person is', 'people are')} in both audits, {self.only_before:,} only in the first "
            f"and {self.only_after:,} only in the second."
        )
        for row in self.counts.to_dict("records"):
            happened = [f"{row[change]:,} {change}" for change in CHANGES if row[change] and change != "unchanged"]
            lines.append(f"  {row['group']}: {', '.join(happened) or 'nobody changed'}")
        if self.rescaled:
            lines.append(
                "Costs of the second audit were recomputed at the first one's prices, for the actions it had chosen: "
                "cheaper ones may exist at these prices."
            )
        return "\n".join(lines)


def compare_audits(
    a: Audit, b: Audit, *, rescale: bool = False, draws: int = DRAWS, random_state: int = 0
) -> AuditComparison:
    """What changed from audit `a` to audit `b`.

    Parameters
    ----------
    a, b
        The audits; of the same groups and the same rules of action.
    rescale
        Costs are only comparable at the same prices. True recomputes b's costs at a's prices (weighted L1 costs); the
        actions stay those that were cheapest at b's own, so the costs are upper limits.
    draws, random_state
        How many draws the bootstrap makes, and its seed.

    Returns
    -------
    An `AuditComparison`; print it, or read `by_group`, `people`, `counts` and `noise`.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise ParameterError("PARAMETER", f"draws is {draws!r}.", fix="Give 1 or more.")
    _check_same_rules(a, b)
    rescaled = not _same_prices(a, b)
    if rescaled:
        if not rescale:
            raise _other_scales(a, b)
        b = _at_prices_of(a, b)
    left, right = _labels(a.recourse), _labels(b.recourse)
    pairs = _same_people(a.recourse, b.recourse, _pairs(left, right))
    people = _people(a.recourse, b.recourse, pairs)
    changed = people[people["change"] != "unchanged"].rename_axis(a.recourse.index.name)
    return AuditComparison(
        a.verdict,
        b.verdict,
        _by_group(a, b),
        changed,
        _counts(a.recourse, people),
        _noise(a, b, pairs, draws, random_state),
        len(pairs),
        len(left) - len(pairs),
        len(right) - len(pairs),
        rescaled,
    )


# -- may they be compared? --------------------------------------------------------------------------------------------


def _check_same_rules(a: Audit, b: Audit) -> None:
    mine, theirs = a.recourse.groups, b.recourse.groups
    roles = [{label: groups.role(k) for k, label in enumerate(groups.labels)} for groups in (mine, theirs)]
    if roles[0] != roles[1]:
        texts = ["; ".join(f"{label!r} is {role}" for label, role in sorted(found.items())) for found in roles]
        raise ParameterError(
            "AUDIT_SCHEMAS",
            f"The audits compare different groups. First: {texts[0]}. Second: {texts[1]}.",
            fix="Audit both with the same sensitive column, protected values and reference.",
        )
    before, after = _rules(a), _rules(b)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            raise ParameterError(
                "AUDIT_SCHEMAS",
                f"The audits differ in {key}: {before.get(key, 'not declared')} and {after.get(key, 'not declared')}.",
                fix="Audit both with the same schema; what may be done must not change between them.",
            )


def _rules(audit: Audit) -> dict[str, Any]:
    """What the schema says, a key a thing; weights are prices and are compared there."""
    schema = audit.recourse.detail.schema.to_dict()
    found: dict[str, Any] = {"the sensitive columns": schema["sensitive"], "the favourable label": schema["favourable"]}
    for name, feature in schema["features"].items():
        parts = {key: list(v) if isinstance(v, tuple) else v for key, v in feature.items() if key != "weight"}
        found[f"feature {name!r}"] = {key: v for key, v in parts.items() if v is not None}
    return found


def _change_weights(audit: Audit) -> Floats:
    table = audit.recourse
    names = [table.detail.encoding.columns[k].name for k in table.acts[table.delta.shape[1] :]]
    return np.array([table.detail.schema.feature(name).weights[0] for name in names], dtype=np.float64)


def _same_prices(a: Audit, b: Audit) -> bool:
    one, other = a.about.get("cost", {}), b.about.get("cost", {})
    categories = np.array_equal(_change_weights(a), _change_weights(b))
    if "prices" not in one or "prices" not in other:
        return one == other and categories
    if one["own"] != other["own"] or set(one["prices"]) != set(other["prices"]) or not categories:
        return False
    return all(np.allclose(price, other["prices"][name], rtol=1e-9, atol=0) for name, price in one["prices"].items())


def _other_scales(a: Audit, b: Audit) -> ParameterError:
    one, other = a.about.get("cost", {}), b.about.get("cost", {})
    what = f"The costs are of kind {one.get('kind')} and {other.get('kind')}, with different numbers."
    for name, price in one.get("prices", {}).items():
        theirs = other.get("prices", {}).get(name, price)
        if not np.allclose(price, theirs, rtol=1e-9, atol=0):
            what = (
                f"A unit of {name!r} costs {number(price[0])} up and {number(price[1])} down in the first audit, "
                f"{number(theirs[0])} and {number(theirs[1])} in the second."
            )
            break
    return ParameterError(
        "AUDIT_SCALES",
        what,
        fix="Audit both with the same reference data for the cost, or rescale the second to the first one's prices "
        "(rescale=True, --rescale).",
    )


# -- the same prices --------------------------------------------------------------------------------------------------


def _at_prices_of(a: Audit, b: Audit) -> Audit:
    """Audit b with its actions charged at a's prices, and bounds that stay certain."""
    one, other = a.about.get("cost", {}), b.about.get("cost", {})
    if "prices" not in one or "prices" not in other or set(one["prices"]) != set(other["prices"]):
        raise ParameterError(
            "AUDIT_SCALES",
            f"Costs of kind {other.get('kind')} cannot be recomputed at the prices of {one.get('kind')}.",
            fix="Only weighted L1 costs over the same features can be rescaled; audit both with the same cost.",
        )
    table = b.recourse
    detail, acts, width = table.detail, list(table.acts), table.delta.shape[1]
    names = [detail.encoding.columns[k].name for k in acts[:width]]
    facts = detail.facts(slice(None))[:, acts]
    picked, values = detail.chosen(table, slice(None))
    change = np.where(picked, values - facts, 0.0)
    mine = _prices(one, names, facts[:, :width])
    theirs = _prices(other, names, facts[:, :width])
    up = change[:, :width] > 0
    parts = np.where(up, mine[0], mine[1]) * np.abs(change[:, :width])
    weights, old_weights = _change_weights(a), _change_weights(b)
    cost = parts.sum(axis=1) + ((change[:, width:] != 0) * weights).sum(axis=1)
    # No action costs less at the new prices than its old cost times the smallest ratio of prices.
    ratios = np.hstack(
        [mine[0] / theirs[0], mine[1] / theirs[1], np.broadcast_to(weights / old_weights, (len(facts), len(weights)))]
    )
    least, most = ratios.min(axis=1), ratios.max(axis=1)
    acting = table.has_action
    bound = np.where(np.isfinite(table.bound), table.bound * least, table.bound)
    status = table.status.copy()
    status[(status == Status.OPTIMAL) & (most - least > 1e-9 * most)] = Status.FEASIBLE
    effort = np.where(acting, cost, np.nan)
    bound = np.where(acting, np.minimum(bound, effort), bound)
    fresh = dataclasses.replace(table, status=status, cost=effort, bound=bound)
    return Audit(fresh, b.criteria, b.neighbourhood, b.warnings, b.about | {"cost": one})


def _prices(saved: dict[str, Any], names: list[str], facts: Floats) -> tuple[Floats, Floats]:
    """Price of a unit up and down, a row a person."""
    prices = np.array([saved["prices"][name] for name in names], dtype=np.float64).reshape(-1, 2)
    size = np.ones_like(facts)
    if saved["own"]:
        size = np.abs(facts)
        if (size == 0).any():
            raise ParameterError(
                "AUDIT_SCALES",
                f"Prices relative to the own value are not defined for people whose {_first_zero(names, size)!r} is 0.",
                fix="Audit both with the same cost.",
            )
    return prices[:, 0] / size, prices[:, 1] / size


def _first_zero(names: list[str], size: Floats) -> str:
    return names[int(np.argwhere(size == 0)[0, 1])]


# -- who and how much -------------------------------------------------------------------------------------------------


def _labels(table: RecourseTable) -> pd.Index:
    """Labels as text where the two files may have kept them differently."""
    return table.index.map(str)


def _pairs(left: pd.Index, right: pd.Index) -> npt.NDArray[np.intp]:
    """Positions (in a, in b) of the people in both."""
    found = right.get_indexer(left)
    here = np.flatnonzero(found >= 0)
    return np.column_stack([here, found[here]]).astype(np.intp)


def _same_people(a: RecourseTable, b: RecourseTable, pairs: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The pairs of one group; warns where labels do not seem to name people."""
    own, other = (np.array(t.groups.labels, dtype=object)[t.groups.codes] for t in (a, b))
    same = own[pairs[:, 0]] == other[pairs[:, 1]]
    if not same.all():
        warn(
            "AUDIT_LABELS",
            f"{many(int((~same).sum()), 'label is', 'labels are')} in both audits, but in different groups: "
            "taken as different people.",
            fix="Name people by a column of your data (`id` in the spec, the index in Python).",
        )
    elif all(t.index.name is None and t.index.dtype.kind in "iu" for t in (a, b)) and not _same_data(a, b):
        warn(
            "AUDIT_LABELS",
            "People are matched by the number of their row, and the rows of the two audits differ.",
            fix="Name people by a column of your data (`id` in the spec, the index in Python).",
        )
    return pairs[same]


def _same_data(a: RecourseTable, b: RecourseTable) -> bool:
    if len(a) != len(b):
        return False
    for name in a.data.columns.intersection(b.data.columns):
        one, other = a.data[name], b.data[name]
        if one.dtype.kind in "iufb" and other.dtype.kind in "iufb":
            if not np.array_equal(one.to_numpy(float), other.to_numpy(float), equal_nan=True):
                return False
        elif not pd.Series(one.to_numpy(object)).equals(pd.Series(other.to_numpy(object))):
            return False
    return True


def _people(a: RecourseTable, b: RecourseTable, pairs: npt.NDArray[np.intp]) -> pd.DataFrame:
    left, right = pairs[:, 0], pairs[:, 1]
    texts = np.array([status.text for status in Status], dtype=object)
    before, after = a.status[left], b.status[right]
    cost_before, cost_after = a.effort[left], b.effort[right]
    return pd.DataFrame(
        {
            "group": np.array(a.groups.labels, dtype=object)[a.groups.codes[left]],
            "status_before": texts[before],
            "status_after": texts[after],
            "cost_before": cost_before,
            "cost_after": cost_after,
            "change": _changes(before, after, cost_before, cost_after),
        },
        index=a.index[left],
    )


def _changes(
    before: npt.NDArray[np.int8], after: npt.NDArray[np.int8], cost: Floats, cost_after: Floats
) -> npt.NDArray[np.object_]:
    had, has = ~np.isnan(cost), ~np.isnan(cost_after)
    give = SAME * np.fmax(np.abs(cost), np.abs(cost_after))
    free, still_free = before == Status.NOT_NEEDED, after == Status.NOT_NEEDED
    stuck, still_stuck = before == Status.INFEASIBLE, after == Status.INFEASIBLE
    unclear = (before == Status.UNKNOWN) | (after == Status.UNKNOWN)
    conditions = {
        "unchanged": (free & still_free) | (stuck & still_stuck),
        "newly favourable": still_free,
        "newly infeasible": still_stuck,
        "newly refused": free & has,
        "newly possible": stuck & has,
        "unknown": unclear,
        "dearer": had & has & (cost_after > cost + give),
        "cheaper": had & has & (cost_after < cost - give),
    }
    return np.select(list(conditions.values()), list(conditions), default="unchanged").astype(object)


def _counts(table: RecourseTable, people: pd.DataFrame) -> pd.DataFrame:
    counted = people.groupby(["group", "change"]).size()
    rows = [
        {"group": label} | {change: int(counted.get((label, change), 0)) for change in CHANGES}
        for label in table.groups.labels
    ]
    return pd.DataFrame(rows)


def _by_group(a: Audit, b: Audit) -> pd.DataFrame:
    before, after = a.by_group.set_index("group"), b.by_group.set_index("group")
    rows = []
    for group in before.index:
        row = {"group": group, "role": before.loc[group, "role"], "against": before.loc[group, "against"]}
        for name in MEASURES:
            old, new = before.loc[group, name], after.loc[group, name]
            row |= {f"{name}_before": old, f"{name}_after": new, f"{name}_change": new - old}
        rows.append(row)
    return pd.DataFrame(rows)


# -- noise ------------------------------------------------------------------------------------------------------------


def _sums(table: RecourseTable) -> Floats:
    """What a person adds: refused, acting, effort."""
    return np.column_stack([table.is_unfavourable, table.has_action, np.nan_to_num(table.effort)]).astype(np.float64)


def _noise(a: Audit, b: Audit, pairs: npt.NDArray[np.intp], draws: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    first, second = a.recourse, b.recourse
    drawn = {
        label: _bootstrap(rng, draws, *_strata(first, second, pairs, label)) for label in sorted(first.groups.labels)
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
            why = _undefined_words(_why_undefined(old, name), _why_undefined(new, name))
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


def _undefined_words(before: str, after: str) -> str:
    if before and after:
        return f"not defined in either audit: {before}" + (f"; {after} in the second" if before != after else "")
    if before or after:
        return f"not defined in the {'first' if before else 'second'} audit: {before or after}"
    return ""


def _strata(a: RecourseTable, b: RecourseTable, pairs: npt.NDArray[np.intp], label: str) -> list[Floats]:
    """Rows of a group that are drawn together: (before, after) sums of pairs, of the first only, of the second only."""
    sums, other_sums = _sums(a), _sums(b)
    mine = a.groups.codes == a.groups.labels.index(label)
    theirs = b.groups.codes == b.groups.labels.index(label)
    together = pairs[mine[pairs[:, 0]]]
    alone, other_alone = mine.copy(), theirs.copy()
    alone[together[:, 0]] = False
    other_alone[together[:, 1]] = False
    nothing = np.zeros_like
    return [
        np.hstack([sums[together[:, 0]], other_sums[together[:, 1]]]),
        np.hstack([sums[alone], nothing(sums[alone])]),
        np.hstack([nothing(other_sums[other_alone]), other_sums[other_alone]]),
    ]


def _bootstrap(rng: np.random.Generator, draws: int, *strata: Floats) -> Floats:
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


def _interval(change: Floats) -> tuple[float, float]:
    defined = change[~np.isnan(change)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(change):
        return np.nan, np.nan
    low, high = np.quantile(defined, [0.025, 0.975])
    return (0.0 if abs(low) < DUST else float(low)), (0.0 if abs(high) < DUST else float(high))


def _noise_words(row: dict[str, Any]) -> str:
    name = {"acr": "Ratio of efforts (ACR)", "rd": "Difference in possible recourse (RD)"}[row["measure"]]
    who = f"{name} of {row['group']!r} against {row['against']!r}"
    moved = _distance_words(row)
    if row["undefined"]:
        return f"{who}: {row['undefined']}.{f' It is {moved}.' if moved else ''}{_turned_words(row)}"
    facts = f"{who}: {row['before']:.4g} before, {row['after']:.4g} after, changed by {row['change']:+.4g}"
    if np.isnan(row["low"]):
        return f"{facts}; too few people for an interval."
    judged = "beyond noise" if row["beyond_noise"] else "within noise"
    told = f"{facts} (95 % interval {row['low']:+.4g} to {row['high']:+.4g}), {judged}"
    return f"{told}{f', {moved}' if moved else ''}.{_turned_words(row)}"


def _distance_words(row: dict[str, Any]) -> str:
    if row["distance"] == "farther":
        return f"farther from equality, to the disadvantage of {_behind(row, 'after')!r}"
    if row["distance"] == "closer":
        return "closer to equality"
    return "with no clear change of the distance from equality" if row["beyond_noise"] else ""


def _turned_words(row: dict[str, Any]) -> str:
    if row["turned_beyond_noise"]:
        before, after = _behind(row, "before"), _behind(row, "after")
        return f" The disadvantage turned over: it lay with {before!r}, now it lies with {after!r}."
    return " It lies on the other side of equality, which may be chance." if row["turned"] else ""


def _behind(row: dict[str, Any], when: str) -> str:
    """Who needs more effort, or has a way less often; a ratio without limit counts for the group."""
    equality = 1.0 if row["measure"] == "acr" else 0.0
    return str(row["against"] if row[when] < equality else row["group"])
