"""What a spec asks of Huang's equality of effort: columns, each with gammas, grid, direction, outcome, estimator."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from equieffort.errors import closest, listed
from equieffort.notions.huang import ByRegression, BySCM, ByWeighting, Estimator, GammaRange, Treatment
from equieffort.spec.nodes import Table
from equieffort.spec.parsed import Parsed, placed
from equieffort.world.schema import Schema

PATH = ("notions", "equality_of_effort")
MOST_POINTS = 10_000
OUTCOMES: dict[str, Literal["label", "probability", "observed"]] = {
    "decision": "label", "probability": "probability", "truth": "observed",
}  # fmt: skip


def read_treatments(given: Parsed, schema: Schema, nodes: list[str]) -> tuple[Treatment, ...] | None:
    """The treatments as notions take them; None where the spec names none."""
    named: dict[str, dict[str, Any]] | None = given["notions"]["equality_of_effort"]
    if named is None:
        return None
    known = [name for name in dict.fromkeys([*schema.features, *nodes]) if name not in schema.protected_columns]
    table = given.find(*PATH)
    assert isinstance(table, Table)
    for name in named:
        if name not in known:
            protected = name in schema.protected_columns
            what = "which is protected and no effort." if protected else f"which is no feature. {closest(name, known)}"
            raise table.keys[name].error(
                "SPEC_VALUE",
                f"{'.'.join(PATH)} names {name!r}, {what}".rstrip(),
                f"It can name {listed(known, 20)}.",
            )
    return tuple(_treatment(given, name, said) for name, said in named.items())


def _treatment(given: Parsed, name: str, said: dict[str, Any]) -> Treatment:
    where, outcome = ".".join((*PATH, name)), said["outcome"]
    if outcome == "truth" and given["outcome"]["truth"] is None:
        raise given.find(*PATH, name, "outcome").at.error(
            "SPEC_VALUE",
            f"{where}.outcome is 'truth', and no column says what truly became of people.",
            "Name the column as `outcome: {truth: COLUMN}`, or leave this key out.",
        )
    if outcome == "truth" and said["by"] is not None and said["by"]["kind"] == "scm":
        raise given.find(*PATH, name, "by").at.error(
            "SPEC_VALUE",
            f"{where}.by is 'scm', and no equation says what would truly have become of people.",
            "Write regression or weighting, or leave this key out.",
        )
    gammas, grid = said["gammas"], said["grid"]
    with placed(given.find(*PATH, name, "gammas"), f"{where}.gammas"):
        gammas = GammaRange(gammas["low"], gammas["high"]) if isinstance(gammas, dict) else gammas
    grid = _points(given, name, grid) if isinstance(grid, dict) else grid
    with placed(given.find(*PATH, name), where):
        return Treatment(name, gammas, grid, said["direction"], _by(said["by"]), OUTCOMES[outcome], said["interpolate"])


def _points(given: Parsed, name: str, said: dict[str, float]) -> list[float]:
    """From the first to the last, which is reached also if rounding says that it is missed."""
    low, high, step = said["low"], said["high"], said["step"]
    steps = (high - low) / step
    if not 1 - 1e-9 <= steps < MOST_POINTS:
        what = f"has {steps:,.0f} steps" if steps >= MOST_POINTS else f"goes from {low:g} to {high:g} by {step:g}"
        raise given.find(*PATH, name, "grid").at.error(
            "SPEC_VALUE",
            f"{'.'.join((*PATH, name))}.grid {what}.",
            f"Let it go upwards, by at least one step and at most {MOST_POINTS:,}.",
        )
    points = low + step * np.arange(int(steps + 1e-9) + 1)
    whole = all(float(one).is_integer() for one in (low, step))
    return [float(one) for one in (np.rint(points) if whole else points)]


def _by(said: dict[str, Any] | None) -> Estimator | None:
    if said is None:
        return None
    if said["kind"] == "scm":
        return BySCM()
    kind = ByRegression if said["kind"] == "regression" else ByWeighting
    return kind(said["degree"], None if said["adjust"] is None else tuple(said["adjust"]))
