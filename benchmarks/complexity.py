"""How the CPU time of each step grows: exponents measured beside those that theory gives.

    python benchmarks/complexity.py            the table, and the picture docs/images/complexity.png
    python benchmarks/complexity.py --only curve matching
    python benchmarks/complexity.py --plan     what 10^9 people would take, from pieces that are measured here

A step is timed at several sizes, everything else as it is, the least of a few runs, after compilation. The exponent is
the slope of log time over log size from the second size on: fixed costs hide it at the first. What grows by a factor
for every one more (sets of interventions, depth) has that factor instead.
"""

from __future__ import annotations

import argparse
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numba
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import equieffort as ee
from equieffort.effort.measures import Sample
from equieffort.effort.metrics import curve
from equieffort.effort.tallies import Tallying
from equieffort.foundations.jit import compile_at_once
from equieffort.recourse.part_source import Outcomes
from equieffort.recourse.status import Status

try:
    from benchmarks.curves import cpu
    from benchmarks.curves import people as curve_people
    from benchmarks.matching import matchable
    from benchmarks.matching import people as matched_people
except ImportError:
    from curves import cpu
    from curves import people as curve_people
    from matching import matchable
    from matching import people as matched_people

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "complexity.png"


@dataclass(frozen=True)
class Step:
    """A step that is timed at several sizes."""

    group: str
    name: str
    grows_with: str
    sizes: Sequence[int]
    work: Callable[[int], Callable[[], Any]]
    """Size -> what is timed."""
    theory: str
    factor: bool = False
    """Whether it grows by a factor for every one more, rather than by a power."""
    times: int = 3


# -- worlds ------------------------------------------------------------------------------------------------------------


def table(n: int, features: int = 4) -> pd.DataFrame:
    """Normal features and two groups."""
    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.normal(size=(n, features)), columns=[f"x{k}" for k in range(features)])
    return found.assign(side=np.where(np.arange(n) % 2, "left", "right"))


Graph = Literal["none", "chain"]


def solving(model: Any, n: int, actions: int, graph: Graph = "none", features: int | None = None) -> Callable[[], Any]:
    """Everybody of a table solved, labels included."""
    people = table(n, features or actions)
    names = [name for name in people if name != "side"]
    edges = [(names[k], names[k + 1]) for k in range(actions - 1)] if graph == "chain" else []
    # Narrow limits: nearly everybody needs several actions.
    roles: dict[str, Any] = {
        name: ee.Feature("actionable", max_increase=0.8, max_decrease=0.8) if k < actions else "immutable"
        for k, name in enumerate(names)
    }
    schema = ee.Schema(sensitive="side", protected="left", favourable=True, features=roles)
    mechanisms = {effect: ee.Linear({cause: 0.5}) for cause, effect in edges}
    scm = ee.StructuralCausalModel(edges, nodes=[*names, "side"], mechanisms=mechanisms).fit(people)
    made = ee.RecourseProblem.of(model, people, schema=schema, scm=scm)
    return lambda: ee.solve(made, people)


def linear(n: int, actions: int, graph: Graph = "none") -> Callable[[], Any]:
    """A linear score of which half refuse."""
    weights = {f"x{k}": 1.0 - 0.5 * k / actions for k in range(actions)}
    return solving(ee.LinearScore(weights, threshold=0.5), n, actions, graph)


def fitted(model: Any, features: int) -> Any:
    """A model of a bent score."""
    people = table(4_000, features).drop(columns="side")
    score = people.sum(axis=1) + 0.5 * people["x0"] * people["x1"]
    return model.fit(people, score > score.quantile(0.6))


def forest(trees: int, depth: int, actions: int = 4) -> Callable[[], Any]:
    """A hundred people of a forest."""
    model = RandomForestClassifier(trees, max_depth=depth, random_state=0)
    return solving(fitted(model, max(actions, 6)), 100, actions, features=max(actions, 6))


def network(width: int, layers: int, actions: int = 4) -> Callable[[], Any]:
    """Forty people of a ReLU network."""
    model = MLPClassifier((width,) * layers, max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solving(fitted(model, actions), 40, actions)


def efforts(n: int) -> Callable[[], Any]:
    """Sums and sorted efforts of a group, then merged with as many."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(n) < 0.1, np.inf, rng.exponential(size=n))
    return lambda: Sample.solved(values) + Sample.solved(values)


def curving(n: int, centres: int, features: int = 4) -> Callable[[], Any]:
    """The curve without bands."""
    people, distance = curve_people(n, features)
    rows = np.flatnonzero(people.status != 0)[:centres]
    return lambda: curve(people, distance, (0.05, 0.2, 0.5, 1.0), rows, None)


def searched(n: int, features: int) -> Callable[[], Any]:
    """Every subgroup of up to three conditions over five levels a feature."""
    people = table(n, features).assign(pay=lambda f: f["x0"])
    names = [f"x{k}" for k in range(features)]
    roles: dict[str, Any] = {"pay": ee.Feature("actionable", lower=-9, upper=9), **dict.fromkeys(names, "immutable")}
    schema = ee.Schema(sensitive="side", protected="left", favourable=True, features=roles)
    scm = ee.StructuralCausalModel([], nodes=["pay", *names]).fit(people)
    audit = ee.audit(ee.LinearScore({"pay": 1.0}, threshold=1.0), people, schema=schema, scm=scm)
    return lambda: audit.search_subgroups(features=names, fewest=20)


def matching(n: int, method: Any) -> Callable[[], Any]:
    """n refused people a side."""
    both = matchable(matched_people(n, n, np.random.default_rng(0)), n)
    return lambda: ee.Matching(method).match(both)


def equations(n: int, causes: int) -> Callable[[], Any]:
    """One linear equation learned."""
    people = table(n, causes + 1).drop(columns="side")
    edges = [(f"x{k}", f"x{causes}") for k in range(causes)]
    return lambda: ee.StructuralCausalModel(edges).fit(people)


def reading(n: int) -> Callable[[], Any]:
    """A CSV file from memory to a table, as the command line reads it."""
    import tempfile

    from equieffort.data.inputs import DataSource, read_table

    path = Path(tempfile.mkdtemp()) / "people.csv"
    table(n, 8).to_csv(path, index=False)
    return lambda: read_table(DataSource(path))


STEPS = (
    Step("people", "reading a CSV", "people", (20_000, 80_000, 320_000), reading, "1"),
    Step("people", "linear score, 4 actions", "people", (20_000, 80_000, 320_000), lambda n: linear(n, 4), "1"),
    Step("people", "sums and sorted efforts", "people", (50_000, 200_000, 800_000), efforts, "1 (a sort: n log n)"),
    Step("people", "curve, 200 centres", "people", (20_000, 80_000, 320_000), lambda n: curving(n, 200), "1"),
    Step("people", "matching, nearest", "people", (4_000, 16_000, 64_000),
         lambda n: matching(n, ee.NearestNeighbour()), "1 (n log n)"),
    Step("people", "matching, optimal, dense", "people", (250, 500, 1_000, 2_000),
         lambda n: matching(n, ee.OptimalPairs()), "3 at worst"),
    Step("people", "one linear equation", "people", (20_000, 80_000, 320_000), lambda n: equations(n, 4), "1"),
    Step("actions", "linear score, roots", "actions", (4, 8, 16, 32), lambda k: linear(5_000, k), "1"),
    Step("actions", "linear score, a chain, few", "actions", (4, 5, 6, 7, 8), lambda k: linear(1_000, k, "chain"),
         "2 (sets of interventions)", factor=True),
    Step("actions", "linear score, a chain, many", "actions", (10, 14, 20), lambda k: linear(400, k, "chain"),
         "2 at worst; near 2 as a power where bounds are tight"),
    Step("models", "forest, depth 5", "trees", (25, 50, 100, 200), lambda t: forest(t, 5), "1 a node"),
    Step("models", "forest of 50", "depth", (3, 4, 5, 6), lambda d: forest(50, d), "up to 2 (leaves)", factor=True),
    Step("models", "forest 30 x 4", "actions", (2, 3, 4, 5), lambda k: forest(30, 4, k), "exponential at worst",
         factor=True),
    Step("models", "network, 2 layers", "width", (8, 16, 32), lambda w: network(w, 2), "2 a node (weights)"),
    Step("models", "network, width 12", "layers", (1, 2, 3), lambda d: network(12, d), "1 a node, looser planes",
         factor=True),
    Step("models", "network 16-16", "actions", (2, 3, 4, 5), lambda k: network(16, 2, k), "exponential at worst",
         factor=True),
    Step("tables", "curve, 40,000 people", "centres", (50, 200, 800), lambda c: curving(40_000, c), "1"),
    Step("tables", "curve, 40,000 people", "features", (2, 4, 8, 16), lambda k: curving(40_000, 200, k), "1"),
    Step("tables", "subgroup search, 20,000 people", "features", (6, 9, 12, 18), lambda k: searched(20_000, k),
         "3 (triples)"),
    Step("tables", "one linear equation", "causes", (4, 8, 16, 32), lambda k: equations(50_000, k), "2"),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A step with its times."""

    step: Step
    seconds: list[float] = field(default_factory=list)

    @property
    def exponent(self) -> float:
        """The slope from the second size on; of a step that grows by a factor, that factor."""
        sizes, seconds = np.array(self.step.sizes[1:], dtype=float), np.array(self.seconds[1:])
        if self.step.factor:
            return float(np.exp(np.polyfit(sizes, np.log(seconds), 1)[0]))
        return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure(only: Sequence[str]) -> list[Measured]:
    """Time what was asked for, and print it."""
    print(f"{'step':<34}{'grows with':<12}{'sizes':<26}{'CPU, ms':<34}{'measured':>10}   theory")
    found = []
    for step in STEPS:
        if only and not any(word in f"{step.group} {step.name} {step.grows_with}" for word in only):
            continue
        one = Measured(step, [cpu(step.work(size), step.times) for size in step.sizes])
        sizes = " ".join(f"{size:,}" for size in step.sizes)
        spent = " ".join(f"{1000 * seconds:.3g}" for seconds in one.seconds)
        told = f"x {one.exponent:.2f}" if step.factor else f"{one.exponent:.2f}"
        print(f"{step.name:<34}{step.grows_with:<12}{sizes:<26}{spent:<34}{told:>10}   {step.theory}", flush=True)
        found.append(one)
    return found


def draw(found: Sequence[Measured]) -> None:
    """A panel a group of steps: time relative to the first size."""
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys(one.step.group for one in found))
    figure = Figure(figsize=(11, 4 * ((len(groups) + 1) // 2)), layout="constrained")
    panels = figure.subplots((len(groups) + 1) // 2, 2, squeeze=False)
    for axes, group in zip(panels.flat, groups, strict=False):
        for k, one in enumerate(each for each in found if each.step.group == group):
            sizes = np.array(one.step.sizes, dtype=float)
            told = f"x {one.exponent:.2g} each" if one.step.factor else f"{one.exponent:.2g}"
            label = f"{one.step.name}, by {one.step.grows_with}: {told}"
            axes.plot(sizes / sizes[0], np.array(one.seconds) / one.seconds[0], marker="osv^DPX*"[k % 8], label=label)
        ends = np.array(axes.get_xlim())
        low, high = max(1.0, ends[0]), ends[1]
        axes.plot([low, high], [low, high], color="0.6", ls=":", label="as much as the size")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("size, over the first")
        axes.set_ylabel("CPU time, over the first")
        axes.set_title(f"By {group}" if group in ("people", "actions") else group.capitalize(), loc="left")
        axes.legend(fontsize=7)
    for axes in panels.flat[len(groups) :]:
        axes.set_axis_off()
    figure.savefig(PICTURE, dpi=80)


# -- a plan for 10^9 people --------------------------------------------------------------------------------------------

PEOPLE, PART = 10**9, 10**6
WORKERS = (64, 256, 1024)


def plan() -> None:
    """Measure a part, merge the statistics of many, and simulate workers that differ and die."""
    n = 200_000
    seconds = {
        "linear score, 4 actions": cpu(linear(n, 4), 2) / n,
        "forest 100 x 6, 4 actions": cpu(forest(100, 6), 2) / 100,
    }
    rng = np.random.default_rng(0)
    people, declared, sorting = _people(rng), Tallying(2, 2.0, keep=False), Tallying(2)
    sums, efforts = declared.of(people), sorting.of(people)
    merging = cpu(lambda: declared.merged([sums] * 1000), 2) / 1000
    together = cpu(lambda: sorting.merged([efforts] * 10), 2) / (10 * PART)
    parts, row, routes = PEOPLE // PART, _row_bytes(n), int(np.isfinite(people.cost).sum())
    for name, each in seconds.items():
        hours = each * PEOPLE / 3600
        print(f"{name}: {1e6 * each:,.2f} microseconds of CPU a person, {hours:,.1f} hours for {PEOPLE:.0e}")
    print(f"what is sent of {PART:,} people in two groups, the budget declared: {_bytes(sums):,} bytes pickled, "
          f"{_bytes(sums) * parts / 1e6:.1f} MB for all")  # fmt: skip
    print(f"merging that: {1e6 * merging:.0f} microseconds each, {merging * parts:.2f} s for all, on one core; "
          f"exact sums in any order: {_same_in_any_order(rng)}")  # fmt: skip
    print(f"with sorted efforts: {_bytes(efforts) / routes:.2f} bytes a refused person with a route, who are "
          f"{routes / PART:.0%} here, {_bytes(efforts) * parts / 1e9:.1f} GB for all; merging {1e9 * together:.0f} ns "
          "a person")  # fmt: skip
    print(f"recourse table as Parquet parts: {row:.1f} bytes a person, {row * PEOPLE / 1e9:.0f} GB")
    print(f"\nsimulated: {parts:,} parts, 1 % of tries die half-way and cost a minute, speeds vary by 20 %")
    for name, each in seconds.items():
        for workers in WORKERS:
            took, lost = _simulated(parts, workers, each * PART, rng)
            best = each * PEOPLE / workers
            print(f"{name}, {workers:>5,} workers: {took / 60:>8,.1f} min, {took / best:.2f} times the least there is, "
                  f"{lost:,} tries lost")  # fmt: skip


def _people(rng: np.random.Generator) -> Outcomes:
    """A part of which half were refused, and nine in ten of those have a route."""
    drawn = rng.random(PART)
    status = np.select([drawn < 0.5, drawn < 0.95], [Status.NOT_NEEDED, Status.OPTIMAL], Status.INFEASIBLE)
    cost = np.where(status == Status.OPTIMAL, rng.exponential(size=PART), np.nan)
    bound = np.where(status == Status.INFEASIBLE, np.inf, cost)
    codes = rng.integers(0, 2, PART).astype(np.int16)
    return Outcomes(status.astype(np.int8), cost, bound, np.zeros(PART, dtype=bool), codes)


def _bytes(value: Any) -> int:
    import pickle

    return len(pickle.dumps(value))


def _merged(parts: list[Any]) -> Any:
    total = parts[0]
    for one in parts[1:]:
        total = total + one
    return total


def _row_bytes(n: int) -> float:
    """Bytes a person of a recourse table: group, status, cost, bound, and what is set."""
    frame = linear(n, 4)().frame().drop(columns="reason")
    held = io.BytesIO()
    frame.to_parquet(held, index=False)
    return len(held.getvalue()) / n


def _same_in_any_order(rng: np.random.Generator) -> str:
    """Merged forwards, backwards and in pairs: the same sums to the bit."""
    parts = [Sample.solved(rng.exponential(size=1000) * 10.0 ** rng.integers(-6, 6)).stats for _ in range(200)]
    forwards, backwards = _merged(parts), _merged(parts[::-1])
    while len(parts) > 1:
        parts = [_merged(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    same = forwards == backwards == parts[0]
    return "the same to the bit" if same else "DIFFER"


def _simulated(parts: int, workers: int, seconds: float, rng: np.random.Generator) -> tuple[float, int]:
    """Parts given to whoever is free; a worker that dies loses its part, half done, and comes back after a minute."""
    import heapq

    free = [(0.0, k) for k in range(workers)]
    speed = rng.lognormal(0, 0.2, workers)
    heapq.heapify(free)
    left, lost, last = parts, 0, 0.0
    while left:
        at, who = heapq.heappop(free)
        need = seconds / speed[who]
        if rng.random() < 0.01:
            lost += 1
            heapq.heappush(free, (at + need / 2 + 60, who))
            continue
        left -= 1
        last = max(last, at + need)
        heapq.heappush(free, (at + need, who))
    return last, lost


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--plan", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    numba.set_num_threads(1)
    # Otherwise small work would be interpreted.
    with compile_at_once():
        if asked.plan:
            plan()
        else:
            made = measure(asked.only)
            if not asked.only:
                draw(made)
