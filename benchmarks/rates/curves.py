"""Bands of the curve in the paper's world, through `audit.curve()`; decisions, prices and scales fixed.

`curve` takes everybody as a centre; `centres` draws some of each group, and asks how often their bands hold the curve
of everybody as a centre, of the same people, as well as the truth.

The truth is the curve of very many people: four sets of 2^15 quasi-random ones (Sobol points, scrambled), half in each
group, through the same audit. The mean of the sets is taken, and its standard error is printed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import hypot

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import qmc

import equieffort as ee
from equieffort.effort.metrics import Jackknife
from equieffort.world.scales import Scale
from rates.audits import audited
from rates.cells import Cell, Found, Part, add, share, show_error, table
from rates.worlds import paper

QUANTILES = (0.05, 0.2, 0.5, 1.0)
LINES = ("acr", "acr_mean_of_ratios", "rd")
SETS, POWER = 4, 15
WORLDS = ((0, np.inf), (2, np.inf), (2, 2.0))
DRAWN = (25, 100, 500)
"""Centres of each group."""


@dataclass(frozen=True)
class Fixed(Scale):
    """The population's standard deviations, whoever is drawn."""

    alpha: float

    def of(self, name: str, values: np.ndarray) -> float:
        """Of a feature."""
        return hypot(1.0, self.alpha / 2) if name == "X2" else 1.0


def curve_of(people: pd.DataFrame, alpha: float, limit: float, bands: Jackknife | None) -> pd.DataFrame:
    """The protected group's curve."""
    return curve_from(audited(people, alpha, limit), alpha, bands, ee.Centres())


def curve_from(made: ee.Audit, alpha: float, bands: Jackknife | None, centres: ee.Centres) -> pd.DataFrame:
    """The protected group's, of an audit, around these centres."""
    distance = ee.Manhattan(scale=Fixed(alpha), features=["X2", "X3"])
    curve = made.curve(QUANTILES, distance=distance, centres=centres, bands=bands)
    return curve[curve["group"] == curve["group"].iloc[0]].reset_index(drop=True)


@cache
def truth_of(alpha: float, limit: float, power: int = POWER, sets: int = SETS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The limit of every line by quantile, and its standard error."""
    found = []
    for seed in range(sets):
        points = qmc.Sobol(3, rng=np.random.default_rng(seed)).random_base2(power)
        S = (points[:, 0] >= 0.5).astype(np.int8)
        normal = ndtri(np.clip(points[:, 1:], 1e-12, 1 - 1e-12))
        people = pd.DataFrame({"S": S, "X2": 3.0 + alpha * S + normal[:, 0], "X3": normal[:, 1]})
        found.append(curve_of(people, alpha, limit, None)[list(LINES)].to_numpy())
    mean = np.mean(found, axis=0)
    spread = np.sqrt(np.sum((found - mean) ** 2, axis=0) / max(sets - 1, 1) / sets)
    return pd.DataFrame(mean, columns=LINES), pd.DataFrame(spread, columns=LINES)


def _count(cell: Cell, begin: int, end: int) -> Counter[str]:
    alpha, limit, n = cell
    truth, found = truth_of(alpha, limit)[0], Counter[str]()
    for seed in range(begin, end):
        people, _ = ee.datasets.paper_synthetic(
            alpha, n, np.random.default_rng([8, int(alpha), limit < np.inf, n, seed])
        )
        count_curve(curve_of(people, alpha, limit, Jackknife(mean_of_ratios=True)), truth, found)
    return found


def count_curve(curve: pd.DataFrame, truth: pd.DataFrame, found: Counter[str]) -> None:
    """Whether each band of a curve holds the truth."""
    found["centres"] += int(curve["n_centres"].iloc[0])
    found["undefined"] += int(curve["n_undefined"].iloc[0])
    for line in (name for name in LINES if f"{name}_low" in curve):
        low, high, goal = (frame.to_numpy() for frame in (curve[f"{line}_low"], curve[f"{line}_high"], truth[line]))
        for k in np.flatnonzero(~np.isnan(low)).tolist():
            add(found, f"{line} {QUANTILES[k]}", low[k] <= goal[k] <= high[k])
        if f"{line}_low_all" in curve and not curve[f"{line}_low_all"].isna().any():
            held = (curve[f"{line}_low_all"] <= goal) & (goal <= curve[f"{line}_high_all"])
            add(found, f"{line} all", bool(held.all()))


def _show(found: Found, repetitions: int) -> None:
    print(f"\nCoverage of the curve's 95 % bands at q = {QUANTILES}, in % ({repetitions:,} repetitions a cell)")
    head = ["world", "n", "no ratio at q = .05"]
    head += [f"{line}{ending}" for line in LINES for ending in ("", "_all") if ending == "" or "mean" not in line]
    rows = []
    for (alpha, limit, n), counted in found.items():
        row = [paper(alpha, limit).name, f"{n:,}", f"{100 * counted['undefined'] / counted['centres']:.1f}"]
        for line in LINES:
            row.append(" ".join(share(counted, f"{line} {q}", repetitions) for q in QUANTILES))
            if "mean" not in line:
                row.append(share(counted, f"{line} all", repetitions))
        rows.append(row)
    table(head, rows)
    show_error(0.95, repetitions)
    print(f"\nTrue curves at q = {QUANTILES}: {SETS} sets of {2**POWER:,} people")
    rows = []
    for alpha, limit in dict.fromkeys(cell[:2] for cell in found):
        for line in LINES:
            values, errors = (frame[line] for frame in truth_of(alpha, limit))
            if (values != 0).any():
                shown = " ".join(f"{value:.4f}" for value in values)
                rows.append([paper(alpha, limit).name, line, shown, f"{errors.max():.4f}"])
    table(["world", "line", "truth", "largest standard error"], rows)


def _count_drawn(cell: Cell, begin: int, end: int) -> Counter[str]:
    alpha, limit, n = cell
    truth, found, bands = truth_of(alpha, limit)[0], Counter[str](), Jackknife(mean_of_ratios=True)
    for seed in range(begin, end):
        people, _ = ee.datasets.paper_synthetic(
            alpha, n, np.random.default_rng([9, int(alpha), limit < np.inf, n, seed])
        )
        made = audited(people, alpha, limit)
        everybody = curve_from(made, alpha, None, ee.Centres())
        found["centres"] += int(everybody["n_centres"].iloc[0])
        for each in DRAWN:
            curve = curve_from(made, alpha, bands, ee.Centres(each=each, random_state=seed))
            for name, goal in (("everybody", everybody), ("truth", truth)):
                held = Counter[str]()
                count_curve(curve, goal, held)
                found.update({f"{each} {name} {what}": number for what, number in held.items()})
    return found


def _show_drawn(found: Found, repetitions: int) -> None:
    print(
        f"\nSampled centres: how often their 95 % bands at q = {QUANTILES} hold the curve with everybody as a centre,\n"
        f"and the true curve, in % ({repetitions:,} repetitions a cell)"
    )
    head = ["world", "n", "centres a group", "held"]
    head += [f"{line}{ending}" for line in LINES for ending in ("", "_all") if ending == "" or "mean" not in line]
    rows = []
    for (alpha, limit, n), counted in found.items():
        for each in DRAWN:
            for name in ("everybody", "truth"):
                row = [paper(alpha, limit).name, f"{n:,}", f"{each:,}", name]
                for line in LINES:
                    row.append(" ".join(share(counted, f"{each} {name} {line} {q}", repetitions) for q in QUANTILES))
                    if "mean" not in line:
                        row.append(share(counted, f"{each} {name} {line} all", repetitions))
                rows.append(row)
    table(head, rows)
    show_error(0.95, repetitions)
    for (alpha, limit, n), counted in found.items():
        print(f"{paper(alpha, limit).name}, {n:,} people: {counted['centres'] / repetitions:,.0f} refused in the group")


PARTS = (
    Part(
        "curve", [(alpha, limit, n) for alpha, limit in WORLDS for n in (500, 1_000, 2_000)], _count, _show, 1_000,
        piece=100,
    ),
    Part("centres", [(2, np.inf, 2_000), (2, 2.0, 2_000)], _count_drawn, _show_drawn, 1_000, piece=50),
)  # fmt: skip
