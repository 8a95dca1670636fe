"""Every series of every figure, computed: `figure, series, x, ours, ours_low, ours_high`, spelled as in points.csv.

The synthetic world is drawn again with many seeds: `ours` is then the median over seeds, and the band holds 95 % of the
seeds, so that a published point, which comes from one draw, can be compared with it. German credit is one data set: its
band is the paper's own, 1.96 standard errors of the mean over individuals.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from equieffort.datasets import paper_synthetic_truth
from equieffort.effort.metrics import PAPER_QUANTILES, PaperBands
from equieffort.errors import EquieffortWarning
from equieffort.paper.presets import Preset, World, box, german, synthetic

GROUPS = {"0": "protected group ($S=s_0$)", "1": "unprotected group ($S=s_1$)"}
ALPHAS = (0, 1, 2, 3, 4, 5, 6)
FIGURE_ALPHA = 2
COLUMNS = ["figure", "series", "x", "ours", "ours_low", "ours_high"]

Progress = Callable[[str, int, int], None]
Key = tuple[str, str, float]
Point = tuple[float, float, float]
"""Value, low, high."""


@dataclass(frozen=True)
class Size:
    """How much to draw: people in a synthetic world, seeds at alpha = 2, seeds in the sweep over alpha; processes."""

    n: int = 1000
    seed: int = 0
    seeds: int = 100
    sweep_seeds: int = 30
    jobs: int = 2


def compute(preset: Preset, size: Size, progress: Progress, figure: str | None = None) -> pd.DataFrame:
    """All series of all figures under one preset, or only what one figure needs."""
    with warnings.catch_warnings():
        # What the published analysis does on purpose (poor fits, say) is said on the page.
        warnings.simplefilter("ignore", EquieffortWarning)
        points: dict[Key, Point] = {}
        if figure is None or "synthetic" not in figure:
            progress(f"{preset.name}: German credit", 0, 1)
            points |= dict(_german_points(german(preset)))
            progress(f"{preset.name}: German credit", 1, 1)
        points |= _synthetic_points(preset, size, progress, figure)
    rows = [(*key, *point) for key, point in points.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _german_points(world: World) -> Iterator[tuple[Key, Point]]:
    yield from _curve_points(world.audit.curve(PAPER_QUANTILES, bands=PaperBands()), "german-credit")
    for x in (float(ALPHAS[0]), float(ALPHAS[-1])):
        yield ("fig-CF-score", "German credit dataset", x), (world.cfr, np.nan, np.nan)
    for key, value in _box_points(world, "German", 3):
        yield key, (value, np.nan, np.nan)


def _curve_points(curve: pd.DataFrame, data: str) -> Iterator[tuple[Key, Point]]:
    for row in curve.to_dict("records"):
        group, x = row["group"], float(row["quantile"])
        drawn = {
            (f"fig-ratio-cost-{data}", GROUPS[group]): "acr_mean_of_ratios",
            (f"fig-ratio-size-{data}", GROUPS[group]): "own_share",
            (f"fig-costs-{data}-s_{group}", "average cost for $I^+$"): "phi_own",
            (f"fig-costs-{data}-s_{group}", "average cost for $I^-$"): "phi_other",
            (f"fig-size-subset-{data}-s_{group}", "average subset size for $I^+$"): "size_own",
            (f"fig-size-subset-{data}-s_{group}", "average subset size for $I^-$"): "size_other",
        }
        for (figure, series), name in drawn.items():
            yield (figure, series, x), (row[name], row[f"{name}_low"], row[f"{name}_high"])


def _box_points(world: World, name: str, place: int) -> Iterator[tuple[Key, float]]:
    """Costs of refused protected people, by whether flipping S leaves the decision (CF) or turns it (no CF)."""
    costs, stays = world.audit.recourse.cost[world.refused], world.stays
    for offset, (label, members) in enumerate((("CF", stays), ("no CF", ~stays))):
        for part, value in box(costs[members & ~np.isnan(costs)]).items():
            yield ("fig-boxplot-cost-CF", f"{name} {label} {part}", float(place + offset)), value


def _tasks(size: Size, figure: str | None) -> list[tuple[int, int, bool]]:
    """Which worlds to draw: alpha, seed, and whether the draw belongs to the sweep over alpha."""
    swept = figure is None or figure.endswith("-alpha") or figure == "fig-CF-score"
    fixed = figure is None or not (figure.endswith("-alpha") or "german" in figure)
    sweep_seeds, seeds = (size.sweep_seeds if swept else 0), (size.seeds if fixed else 0)
    return [
        (alpha, size.seed + k, k < sweep_seeds)
        for alpha in ALPHAS
        for k in range(max(seeds, sweep_seeds) if alpha == FIGURE_ALPHA else sweep_seeds)
    ]


def _synthetic_points(preset: Preset, size: Size, progress: Progress, figure: str | None) -> dict[Key, Point]:
    """Median over seeds and the range that holds 95 % of them."""
    tasks = _tasks(size, figure)
    if not tasks:
        return {}
    from joblib import Parallel, delayed

    drawn: dict[Key, list[float]] = defaultdict(list)
    pool = Parallel(n_jobs=size.jobs, return_as="generator")
    for done, found in enumerate(pool(delayed(_draw)(preset, a, size.n, s, sweep) for a, s, sweep in tasks), start=1):
        for key, value in found:
            drawn[key].append(value)
        progress(f"{preset.name}: synthetic worlds", done, len(tasks))
    return {key: _over_seeds(np.array(values)) for key, values in drawn.items()}


def _draw(preset: Preset, alpha: int, n: int, seed: int, sweep: bool) -> list[tuple[Key, float]]:
    """One synthetic world and all it says; runs in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return list(_said(synthetic(preset, alpha, n, seed), alpha, sweep=sweep))


def _said(world: World, alpha: int, *, sweep: bool) -> Iterator[tuple[Key, float]]:
    curve = world.audit.curve(PAPER_QUANTILES, bands=PaperBands())
    if alpha == FIGURE_ALPHA:
        for key, (value, _, _) in _curve_points(curve, "synthetic"):
            yield key, value
        for key, value in _box_points(world, f"synthetic alpha={FIGURE_ALPHA}", 1):
            yield key, value
    if sweep:
        for row in curve[curve["group"] == "0"].to_dict("records"):
            for figure, name in (("cost", "acr_mean_of_ratios"), ("size", "own_share")):
                key = (f"fig-ratio-{figure}-synthetic-alpha", f"$\\alpha={alpha}$", float(row["quantile"]))
                yield key, row[name]
    yield ("fig-CF-score", "synthetic data", float(alpha)), world.cfr


def _over_seeds(values: np.ndarray) -> Point:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return np.nan, np.nan, np.nan
    low, high = np.quantile(known, [0.025, 0.975])
    # The median: where hardly anybody of the other group is refused, single ratios know no bounds.
    return float(np.median(known)), float(low), float(high)


def large_sample() -> pd.DataFrame:
    """Closed-form values for an endless sample: `figure, series, x, truth` (costs in standard deviations)."""
    rows: list[tuple[str, str, float, float]] = []
    here = paper_synthetic_truth(FIGURE_ALPHA)
    rows += [
        ("fig-ratio-cost-synthetic", GROUPS["0"], 1.0, here["acr"]),
        ("fig-ratio-cost-synthetic", GROUPS["1"], 1.0, 1 / here["acr"]),
        ("fig-costs-synthetic-s_0", "average cost for $I^+$", 1.0, here["protected_cost"]),
        ("fig-costs-synthetic-s_0", "average cost for $I^-$", 1.0, here["unprotected_cost"]),
        ("fig-costs-synthetic-s_1", "average cost for $I^+$", 1.0, here["unprotected_cost"]),
        ("fig-costs-synthetic-s_1", "average cost for $I^-$", 1.0, here["protected_cost"]),
    ]
    for alpha in ALPHAS:
        truth = paper_synthetic_truth(alpha)
        rows.append(("fig-ratio-cost-synthetic-alpha", f"$\\alpha={alpha}$", 1.0, truth["acr"]))
        rows.append(("fig-CF-score", "synthetic data", float(alpha), truth["cfr"]))
    return pd.DataFrame(rows, columns=["figure", "series", "x", "truth"])
