"""How often a search of subgroups is wrong, how often it finds what is there, and how long it takes.

python benchmarks/subgroup_search.py rates [--runs 1000] [--keep FOLDER] [--only WORD] [--people 20000]
python benchmarks/subgroup_search.py time

rates    Worlds of 8 features with 5 levels: the group's share depends on two of them, efforts on two others, so that no
         subgroup is unequal, except where one is planted: 5 % of the people (two conditions), ACR 1.5. All conjunctions
         of up to three conditions are searched (tau = 1, two-sided, 5 %). `false flag`: runs that flag any subgroup
         that is not unequal, by Holm and by Benjamini and Hochberg. `found`: runs that flag the planted subgroup by
         name; `least p`: none has a smaller p-value.
         Planted is also: shares of people with recourse 15 points lower (rd), approvals divided by 1.5 (impact_ratio),
         capped efforts 1.5 times (restricted_effort, burden). "Adult": refused people of all of Adult with their
         columns and real efforts (the audit of docs/subgroups.md; for burden and impact_ratio everybody) are drawn
         with replacement, and groups independently of everything, with the share of women among them or 15 %: no
         subgroup is unequal.
         `bounds hold`: runs in which every certified bound is at least the true value, with 200 people a side as
         certified, and for all subgroups searched (50 a side). `+-` is one Monte Carlo standard error at 5 %.
time     10^5 subgroups over 10^5 people, from a table of numbers to the ranked table with rules; two threads.

With --keep each cell's runs are kept in a file and continued; run r of a cell always draws the same people.
`--runs 0` shows what is kept.
"""

from __future__ import annotations

import argparse
import json
import runpy
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.effort.inference.guarded import benjamini_hochberg
from equieffort.effort.search import (
    Asked,
    Coded,
    CodedFeature,
    Counted,
    Found,
    code_features,
    count_people,
    search,
)
from equieffort.effort.search.counted import KEYS
from equieffort.recourse.solvers import Status

FEATURES, LEVELS, RATIO, GAP = 8, 5, 1.5, 0.15
REAL = "Adult"
PLANTED = {4: 0.25, 5: 0.2}
"""Feature -> share of its level 0: both together are 5 % of the people."""
PLANTED_AS = dict.fromkeys(("acr", "restricted_effort", "burden"), "1.5") | {"rd": "0.15", "impact_ratio": "1 / 1.5"}
CODED = tuple(CodedFeature(f"f{k}", tuple(f"f{k} = {level}" for level in range(LEVELS))) for k in range(FEATURES))
LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "gamma(2)": lambda rng, n: rng.gamma(2, 0.5, n),
    "exponential": lambda rng, n: rng.exponential(1, n),
    "lognormal(.9)": lambda rng, n: rng.lognormal(-0.405, 0.9, n),
    "half-normal": lambda rng, n: np.abs(rng.normal(0, 1, n)),
}
SHARES = {"30-70 %": (0.3, 0.7), "15 %": (0.1, 0.2)}
WOMEN = "as women"
SMALL_REFERENCE = {"85 %": (0.8, 0.9)}
"""For shares, whose errors lie on the side of the smaller group."""
CHANCES = {"85 % with recourse": 0.75, "half approved": 0.4, "one in ten approved": 0.05}
"""The least; feature 2 adds up to 0.2, or 0.1 to the last."""


@dataclass(frozen=True)
class Cell:
    """One world."""

    costs: str
    shares: str
    planted: bool = False
    measure: str = "acr"

    @property
    def name(self) -> str:
        """For a file."""
        words = f"{self.measure} {self.costs} {self.shares}{' planted' * self.planted}"
        return "".join(sign if sign.isalnum() else "_" for sign in words)


CELLS = [Cell(costs, shares) for shares in SHARES for costs in list(LAWS)[:3]]
CELLS += [Cell(costs, shares, planted=True) for shares in SHARES for costs in list(LAWS)[:3]]
CELLS += [Cell("85 % with recourse", shares, measure="rd") for shares in SHARES | SMALL_REFERENCE]
CELLS += [
    Cell(approved, shares, measure="impact_ratio")
    for approved in ("half approved", "one in ten approved")
    for shares in SHARES | SMALL_REFERENCE
]
CELLS += [Cell("half-normal", shares) for shares in SHARES]
CELLS += [Cell("gamma(2)", shares, measure=measure) for measure in ("restricted_effort", "burden") for shares in SHARES]
CELLS += [
    Cell(REAL, shares, measure=measure)
    for measure in ("acr", "restricted_effort", "rd", "burden", "impact_ratio")
    for shares in (WOMEN, "15 %")
]
CELLS += [Cell("gamma(2)", "30-70 %", True, measure) for measure in ("restricted_effort", "burden")]
CELLS += [Cell("85 % with recourse", "30-70 %", True, "rd"), Cell("half approved", "30-70 %", True, "impact_ratio")]


@cache
def adult(measure: str) -> tuple[Coded, Counted, float]:
    """Adult's people whom a measure may count, as levels and as what they count with, and the share of women."""
    audit = _adult_audit()
    table = audit.recourse
    among = np.ones(len(table), dtype=bool) if measure in ("burden", "impact_ratio") else table.is_unfavourable
    coded = code_features(table.data, LEVELS, without=table.groups.columns)
    counted = count_people(table, measure, audit.budget)
    women = table.data["sex"].to_numpy()[among] == "Female"
    here = Coded(coded.features, coded.codes[:, among], coded.left_out)
    return here, Counted(counted.who[among], counted.values[among]), float(women.mean())


@cache
def _adult_audit() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return runpy.run_path(str(Path(__file__).parents[1] / "tools" / "pictures.py"))["adult_audit"]()


def draw_real(cell: Cell, rng: np.random.Generator, n: int) -> tuple[Coded, np.ndarray, Counted]:
    """People of Adult drawn with replacement, under groups that hang on nothing."""
    coded, counted, women = adult(cell.measure)
    rows = rng.integers(0, coded.codes.shape[1], n)
    group = (rng.random(n) < (women if cell.shares == WOMEN else 0.15)).astype(np.int64)
    columns = counted.values[rows].copy()
    # People drawn twice are two people, told apart as such.
    columns[:, KEYS] = Counted.of(np.ones(n, dtype=bool), np.zeros(n)).values[:, KEYS]
    return Coded(coded.features, coded.codes[:, rows], coded.left_out), group, Counted(counted.who[rows], columns)


def draw(cell: Cell, rng: np.random.Generator, n: int) -> tuple[Coded, np.ndarray, Counted]:
    """People of a world: levels, group, and what each counts with."""
    if cell.costs == REAL:
        return draw_real(cell, rng, n)
    codes = np.empty((FEATURES, n), dtype=np.uint8)
    for k in range(FEATURES):
        first = PLANTED.get(k, 1 / LEVELS)
        shares = np.array([first, *[(1 - first) / (LEVELS - 1)] * (LEVELS - 1)])
        codes[k] = np.searchsorted(np.cumsum(shares)[:-1], rng.random(n), side="right")
    low, high = (SHARES | SMALL_REFERENCE)[cell.shares]
    group = (rng.random(n) < low + (high - low) * (codes[0] + codes[1].astype(float)) / 8).astype(np.int64)
    scale = (1 + 0.25 * codes[2]) * (1 + 0.1 * codes[3])
    coded, everybody = Coded(CODED, codes, {}), np.ones(n, dtype=bool)
    hit = cell.planted & (group == 1) & (codes[4] == 0) & (codes[5] == 0)
    if cell.costs in CHANCES:
        rise = 0.025 if cell.costs == "one in ten approved" else 0.05
        chance = CHANCES[cell.costs] + rise * codes[2]
        chance = np.where(hit, chance - GAP if cell.measure == "rd" else chance / RATIO, chance)
        yes = rng.random(n) < chance
        return coded, group, Counted.of(everybody, yes.astype(float))
    cost = LAWS[cell.costs](rng, n) * scale
    if cell.measure == "acr":
        return coded, group, Counted.of(everybody, np.where(hit, RATIO * cost, cost))
    # One in ten has no recourse and counts at the budget; for burden half the people are approved.
    capped = np.where(rng.random(n) < 0.1, 3.0, np.minimum(cost, 3.0))
    # What is planted comes after the cap, so that the true ratio is the same in every part of the subgroup.
    capped = np.where(hit, RATIO * capped, capped)
    refused = everybody if cell.measure == "restricted_effort" else rng.random(n) < 0.5
    return coded, group, Counted.of(everybody, np.where(refused, capped, 0.0), size=refused)


def true_values(cell: Cell, found: Found) -> Floats:
    """The measure in each subgroup: the planted share of its people times what was planted."""
    neutral = 0.0 if cell.measure == "rd" else 1.0
    if not cell.planted:
        return np.full(len(found.order), neutral)
    share = np.ones(len(found.order))
    feature, slot = found.subgroups.feature[found.order], found.subgroups.slot[found.order]
    for k, usual in PLANTED.items():
        here = feature == k
        said = here.any(axis=1)
        level = np.where(here, slot, 0).sum(axis=1)
        share *= np.where(said, level == 0, usual)
    if cell.measure == "rd":
        return GAP * share
    return 1 - (1 - 1 / RATIO) * share if cell.measure == "impact_ratio" else 1 + (RATIO - 1) * share


def one_run(cell: Cell, run: int, n: int) -> dict[str, Any]:
    """What happened in one run, as counts, and the worst certified bound."""
    rng = np.random.default_rng([run, *cell.name.encode()])
    people = draw(cell, rng, n)
    asked = Asked(measure=cell.measure, fewest_certified=50)
    found = search(*people, [(1, 0)], asked)
    again = benjamini_hochberg(found.p) <= 1 - asked.level
    truth = true_values(cell, found)
    worse = -1 if cell.measure == "impact_ratio" else 1
    with np.errstate(invalid="ignore"):
        broken = worse * found.bound < worse * truth - 1e-12
        large = np.minimum(found.n, found.n_against) >= 200
        if cell.measure == "burden":
            large = np.minimum(*(s[found.order, 3] for s in (found.subgroups.mine, found.subgroups.theirs))) >= 200
        untrue = (truth == 1) | (truth == 0)
    counts = {
        "runs": 1, "searched": found.searched, "certifiable": int(large.sum()),
        "holm": int((found.flagged & untrue).any()), "bh": int((again & untrue).any()),
        "hold": int(not (broken & large).any()), "hold_all": int(not broken.any()),
        "bounds": [round(worse * float(np.nanmax(worse * found.bound[large])), 3)] if large.any() else [],
    }  # fmt: skip
    if cell.planted:
        feature, slot = found.subgroups.feature[found.order], found.subgroups.slot[found.order]
        is_it = ((feature >= 0).sum(axis=1) == 2) & ((np.isin(feature, [4, 5]) & (slot == 0)).sum(axis=1) == 2)
        at = np.flatnonzero(is_it)
        counts |= {
            "found": int(found.flagged[at].any()), "found_bh": int(again[at].any()),
            "worst": int(found.p[at].min(initial=2) == found.p.min()),
        }  # fmt: skip
    return counts


def rates(arguments: argparse.Namespace) -> None:
    """The table of rates."""
    numba.set_num_threads(1)
    rows = []
    for cell in CELLS:
        if arguments.only and arguments.only not in cell.name:
            continue
        file = arguments.keep / f"{cell.name}_{arguments.people}.json" if arguments.keep else None
        total = json.loads(file.read_text()) if file is not None and file.is_file() else {"runs": 0}
        while total["runs"] < arguments.runs:
            for key, value in one_run(cell, total["runs"], arguments.people).items():
                total[key] = total[key] + value if key in total else value
            if file is not None and (total["runs"] % 10 == 0 or total["runs"] == arguments.runs):
                file.write_text(json.dumps(total))
        if total["runs"]:
            rows.append(_row(cell, total))
    print(datetime.now(UTC).date())
    print(f"{arguments.people:,} people a run")
    print(pd.DataFrame(rows).fillna("-").to_string(index=False))


def _row(cell: Cell, total: dict[str, Any]) -> dict[str, str]:
    runs = total["runs"]

    def share(*keys: str) -> str:
        return " / ".join(f"{100 * total[key] / runs:.1f}" for key in keys)

    row = {
        "measure": cell.measure, "costs": cell.costs, "share": cell.shares,
        "planted": PLANTED_AS[cell.measure] if cell.planted else "no",
        "runs": f"{runs:,}", "subgroups": f"{total['searched'] / runs:,.0f}",
        "false flag Holm / BH %": share("holm", "bh"), "bounds hold %, 200 a side / all": share("hold", "hold_all"),
        "median of worst bounds": f"{np.median(total['bounds']):.2f}" if total["bounds"] else "-",
        "+-": f"{100 * (0.05 * 0.95 / runs) ** 0.5:.2f}",
    }  # fmt: skip
    if cell.planted:
        row |= {"found Holm / BH %": share("found", "found_bh"), "least p %": share("worst")}
    return row


def timed() -> None:
    """10^5 subgroups over 10^5 people."""
    rng, n = np.random.default_rng(1), 100_000
    people = pd.DataFrame({f"f{k}": rng.normal(size=n) for k in range(18)})
    group, status = rng.integers(0, 2, n), np.full(n, Status.OPTIMAL, dtype=np.int8)
    cost = rng.gamma(2, 0.5, n)
    print(datetime.now(UTC).date(), f"{numba.get_num_threads()} threads, {len(status):,} people")
    for which in ("first call (compiles, or reads what is kept)", "second call", "third call"):
        wall, cpu = time.perf_counter(), time.process_time()
        coded = code_features(people, 5)
        found = search(coded, group, Counted.of(np.ones(n, dtype=bool), cost), [(1, 0)], Asked())
        rules = found.subgroups.rules(coded.features, found.order)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{which}: {found.searched:,} subgroups, {wall:.1f} s, {cpu:.1f} CPU s; first rule: {rules[0]}")
    for measure, chance in (("rd", 0.85), ("impact_ratio", 0.5)):
        counted, cpu = Counted.of(np.ones(n, dtype=bool), (rng.random(n) < chance).astype(float)), time.process_time()
        found = search(coded, group, counted, [(1, 0)], Asked(measure))
        print(f"{measure}, columns coded before: {found.searched:,} subgroups, {time.process_time() - cpu:.1f} CPU s")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["rates", "time"])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    rates(arguments) if arguments.part == "rates" else timed()


if __name__ == "__main__":
    main()
