"""The hostile families: each draws a case, asks the package and an oracle, and counts what they disagree on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tests.hostile import bent, costs, estimators, implications, levels, rescaled, tables
from tests.oracles import Tally

import equieffort as ee

Family = Callable[[np.random.Generator, str], Tally]

LINEAR, PROGRAMS = ee.LinearExact(), ee.Milp()
BOXES = ee.BranchAndBound(time_limit=None, node_limit=20_000)
SPATIAL, SEARCH = ee.SpatialBranchAndBound(node_limit=4000), ee.Search(budget=300)


def _asks(draw: Any, solver: Any, **options: Any) -> Family:
    return lambda rng, label: draw(rng, solver, label, **options)


def _some(*families: Family) -> Family:
    """One of several, drawn."""
    return lambda rng, label: families[int(rng.integers(len(families)))](rng, label)


FAMILIES: dict[str, Family] = {
    "units, linear": _asks(rescaled.linear, LINEAR),
    "units, branch and bound": _some(_asks(rescaled.trees, BOXES), _asks(rescaled.networks, BOXES)),
    "units, programs": _some(
        _asks(rescaled.linear, PROGRAMS, most=2), _asks(rescaled.trees, PROGRAMS), _asks(rescaled.networks, PROGRAMS)
    ),
    "units, spatial": _some(partial(bent.run, units=True), _asks(rescaled.trees, SPATIAL)),
    "units, search": _some(_asks(rescaled.linear, SEARCH), _asks(rescaled.trees, SEARCH)),
    "far from zero": _some(
        _asks(rescaled.linear, LINEAR, far=True), _asks(rescaled.trees, BOXES, far=True),
        _asks(rescaled.networks, BOXES, far=True),
    ),
    "rules at every scale": _some(
        _asks(rescaled.trees, BOXES, family="rules"), _asks(rescaled.networks, BOXES, family="rules"),
        _asks(rescaled.trees, PROGRAMS, family="rules"), _asks(rescaled.networks, PROGRAMS, family="rules"),
        _asks(rescaled.trees, BOXES, family="rules", far=True),
        _asks(rescaled.networks, BOXES, family="rules", far=True),
    ),
    "rules broken already": implications.run,
    "costs below the gap": _some(
        _asks(costs.linear, LINEAR), _asks(costs.linear, PROGRAMS, most=2), _asks(costs.trees, BOXES),
        _asks(costs.trees, PROGRAMS), _asks(costs.networks, BOXES), _asks(costs.networks, PROGRAMS),
        partial(bent.run, prices="weights"),
    ),
    "whole audits": costs.audits,
    "outliers in the reference": _some(
        _asks(costs.linear, LINEAR, outliers=True), _asks(costs.linear, PROGRAMS, outliers=True, most=2),
        _asks(costs.networks, BOXES, outliers=True), partial(bent.run, prices="outliers"),
    ),
    "levels nobody has": levels.run,
    "tables' own types": tables.run,
    "changed estimators": estimators.run,
}  # fmt: skip


def run(family: str, seeds: range) -> Tally:
    """Compare many cases of a family."""
    tally = Tally()
    for seed in seeds:
        label = f"{family} seed {seed}"
        try:
            tally += FAMILIES[family](np.random.default_rng([12, list(FAMILIES).index(family), seed]), label)
        except Exception as error:
            # A crash is a disagreement too, and must not hide the cases after it.
            tally += Tally(cases=1, disagreements=[f"{label}: {type(error).__name__}: {error}"])
    return tally
