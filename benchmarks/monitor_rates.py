"""How often the monitor is wrong when it is looked at after every person, and how soon it is right.

Streams of simulated people go through the monitor's own arithmetic (`equieffort.monitor.evidence`): an alarm is
counted if the evidence ever reaches its limit. Under equal effort, and at a ratio of exactly tau, at most 5 % of the
streams may raise one. `+-` is one standard error of the Monte Carlo draws. Run with
`python benchmarks/monitor_rates.py [--streams 1000] [--people 10000] [--only PART]`.

restricted   refused people only, as many as --people
burden       everybody, the approved with 0, as many as --people
either       both measures watched together over --people people: each raises an alarm at twice the limit
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from scipy.stats import norm

import equieffort as ee
from equieffort.datasets import paper_synthetic
from equieffort.effort.budget import default_budget
from equieffort.monitor.evidence import RATIOS, Arrivals, Evidence, blocks, log_mean, wealth_path

ALPHA = 0.05
OPEN = ee.Feature("actionable", lower=-np.inf, upper=np.inf)
Draw = Callable[[np.random.Generator, int], "People"]


@dataclass(frozen=True)
class People:
    """Simulated people in order of arrival."""

    is_group: np.ndarray
    is_refused: np.ndarray
    cost: np.ndarray
    """Of refused people; infinite without recourse."""
    bound: np.ndarray | None = None
    budget: float = 2.0

    def arrivals(self, measure: str, most: int) -> Arrivals:
        """What one of the monitor's measures sees of them."""
        chosen = np.flatnonzero(self.is_refused)[:most] if measure == "restricted" else np.arange(most)
        assert len(chosen) == most, "too few people were drawn"
        ends = []
        for cost in (self.cost if self.bound is None else self.bound, self.cost):
            capped = np.minimum(cost, self.budget) / self.budget
            ends.append(np.where(self.is_refused, capped, 0.0)[chosen])
        return Arrivals(self.is_group[chosen], *ends)


def paper(alpha: float = 0.0, share: float = 0.5, stuck: float = 0.0) -> Draw:
    """The paper's synthetic world with the population's threshold; perhaps some without recourse."""

    def draw(rng: np.random.Generator, n: int) -> People:
        group = rng.random(n) < share
        lack = 3 + alpha / 2 - rng.normal(3 + alpha * ~group, np.sqrt(2))
        return People(group, lack > 0, np.where(rng.random(n) < stuck, np.inf, np.maximum(lack, 0)))

    return draw


def at_tau(rng: np.random.Generator, n: int) -> People:
    """Efforts of the reference are 0.8 of the group's: a ratio of exactly 1.25, of restricted effort and of burden."""
    group = rng.random(n) < 0.5
    capped = np.minimum(np.abs(rng.normal(0, 1.4, n)), 2)
    return People(group, rng.random(n) < 0.5, np.where(group, capped, 0.8 * capped))


def refused_more(rng: np.random.Generator, n: int) -> People:
    """The refused need the same, but 50 against 40 % are refused: burden 1.25, restricted effort 1."""
    group = rng.random(n) < 0.5
    return People(group, rng.random(n) < np.where(group, 0.5, 0.4), np.abs(rng.normal(0, 1.4, n)))


def zero_one(rng: np.random.Generator, n: int) -> People:
    """Almost everybody gets there for nothing; 5 against 4 % never do."""
    group = rng.random(n) < 0.5
    stuck = rng.random(n) < np.where(group, 0.05, 0.04)
    return People(group, np.ones(n, dtype=bool), np.where(stuck, np.inf, 0.0))


def drifting(share: float = 0.5) -> Draw:
    """Efforts of both groups rise and fall together."""

    def draw(rng: np.random.Generator, n: int) -> People:
        swing = 0.3 + 0.35 * (1 + np.sin(np.arange(n) / 700))
        group = rng.random(n) < share
        return People(group, rng.random(n) < 0.5, np.minimum(np.abs(rng.normal(0, 1.4, n)), 2) * swing)

    return draw


def heavy(rng: np.random.Generator, n: int) -> People:
    """Lognormal costs; the budget is the default one, from the first 200 people, who count as well."""
    group = rng.random(n) < 0.3
    refused, cost = rng.random(n) < 0.5, rng.lognormal(0, 1.2, n)
    return People(group, refused, cost, budget=default_budget(cost[:200][refused[:200]]))


def lumpy(rng: np.random.Generator, n: int) -> People:
    """Whole steps of cost, some without recourse, refusals that come in runs; efforts exactly 1.25 apart."""
    group = rng.random(n) < 0.4
    runs = np.repeat(rng.random(n // 20 + 1) < 0.5, 20)[:n]
    share = np.where(group, 0.75, 0.6)
    # Who needs anything needs the same in both groups.
    step = rng.choice([0.5, 1.0, 1.5, 2.0], n)
    return People(group, runs, np.where(rng.random(n) < share, np.where(step == 2, np.inf, step), 0.0))


def unsettled(rng: np.random.Generator, n: int) -> People:
    """Equal efforts; of one group 30 % are solved to within half of their cost only, which looks like more effort."""
    group = rng.random(n) < 0.5
    true = np.abs(rng.normal(0, 1.4, n))
    loose = group & (rng.random(n) < 0.3)
    return People(group, rng.random(n) < 0.5, np.where(loose, 1.5 * true, true), np.where(loose, 0.75 * true, true))


FALSE_ALARMS: list[tuple[str, float, Draw, tuple[str, ...]]] = [
    ("equal effort", 1.0, paper(), ("restricted", "burden", "either")),
    ("equal, 10 % without recourse", 1.0, paper(stuck=0.1), ("restricted", "burden")),
    ("equal, group is 10 % of people", 1.0, paper(share=0.1), ("restricted", "burden")),
    ("equal effort", 1.25, paper(), ("restricted", "burden")),
    ("ratio exactly tau", 1.25, at_tau, ("restricted", "burden", "either")),
    ("refused 50 against 40 %", 1.25, refused_more, ("burden",)),
    ("0/1 efforts, 5 against 4 %", 1.25, zero_one, ("restricted",)),
    ("both drift together", 1.0, drifting(), ("restricted", "burden")),
    ("both drift, group is 10 %", 1.0, drifting(0.1), ("restricted", "burden")),
    ("lognormal, budget of the first 200", 1.0, heavy, ("restricted", "burden")),
    ("whole steps in runs, ratio exactly tau", 1.25, lumpy, ("restricted", "burden")),
    ("equal, 30 % of the group unsettled", 1.0, unsettled, ("restricted", "burden")),
]
DETECTION = [
    (1.0, 1.0, 0.5, 1),
    (2.0, 1.0, 0.5, 1),
    (2.0, 1.25, 0.5, 1),
    (1.0, 1.25, 0.5, 1),
    (1.0, 1.0, 0.1, 1),
    (2.0, 1.0, 0.5, 50),
]
"""alpha, tau, share of the group, and the size of batches without an order (1: in order)."""


def first_alarm(people: Arrivals, tau: float, limit: float, size: int = 1) -> float:
    """How many people it took; infinite without an alarm. With a size, batches of that many without an order."""
    if size == 1:
        means, waiting = blocks(np.zeros((2, 3)), people)
        ends = np.flatnonzero(_closes(people.is_group)) + 1
        assert len(ends) == len(means), waiting
    else:
        means, ends, waiting = np.empty((0, 4)), [], np.zeros((2, 3))
        for start in range(0, len(people.low), size):
            part = slice(start, start + size)
            batch = Arrivals(people.is_group[part], people.low[part], people.high[part])
            more, waiting = blocks(waiting, batch, ordered=False)
            means = np.concatenate([means, more])
            ends += [start + size] * len(more)
    evidence = log_mean(wealth_path(np.zeros((2, 8)), means, tau), 2)[1:]
    over = np.flatnonzero(evidence >= np.log(limit))
    return float(ends[over[0]]) if len(over) else np.inf


def _closes(is_group: np.ndarray) -> np.ndarray:
    """With whom a block closes: whoever differs from the one who has waited since the last block."""
    closes, waits = np.zeros(len(is_group), dtype=bool), None
    for k, one in enumerate(is_group.tolist()):
        if waits is None:
            waits = one
        elif one != waits:
            closes[k], waits = True, None
    return closes


def ever(draw: Draw, measure: str, tau: float, rng: np.random.Generator, n: int, size: int = 1) -> bool:
    """Whether a stream ever raises an alarm."""
    people = draw(rng, 4 * n)
    if measure != "either":
        return first_alarm(people.arrivals(measure, n), tau, 1 / ALPHA, size) < np.inf
    among = int(people.is_refused[:n].sum())
    parts = (people.arrivals("restricted", among), people.arrivals("burden", n))
    return any(first_alarm(part, tau, 2 / ALPHA, size) < np.inf for part in parts)


def rate(hits: list[bool]) -> str:
    share = float(np.mean(hits))
    return f"{100 * share:5.1f} +- {100 * np.sqrt(max(share * (1 - share), 1 / len(hits)) / len(hits)):.1f} %"


def false_alarms(streams: int, people: int, seed: int) -> None:
    print(f"\nFalse alarms: looked at after every one of {people:,} people, {streams:,} streams a row")
    for k, (name, tau, draw, measures) in enumerate(FALSE_ALARMS):
        for m, measure in enumerate(measures):
            rng = np.random.default_rng([seed, k, m])
            hits = [ever(draw, measure, tau, rng, people) for _ in range(streams)]
            print(f"| {name} | {tau:g} | {measure} | {rate(hits)} |", flush=True)
    for name, tau, draw in (("equal effort", 1.0, paper()), ("ratio exactly tau", 1.25, at_tau)):
        rng = np.random.default_rng([seed, 99])
        hits = [ever(draw, "restricted", tau, rng, people, size=50) for _ in range(streams)]
        print(f"| {name}, batches of 50 without order | {tau:g} | restricted | {rate(hits)} |", flush=True)


def detection(streams: int, people: int, seed: int) -> None:
    print(f"\nDelay in people until the alarm, {streams:,} streams: median / 90 % point (alarmed by {people:,})")
    for k, (alpha, tau, share, size) in enumerate(DETECTION):
        for measure in ("restricted", "burden"):
            rng = np.random.default_rng([seed, 200 + k])
            delays = []
            for _ in range(streams):
                part = paper(alpha, share)(rng, 4 * people).arrivals(measure, people)
                delays.append(first_alarm(part, tau, 1 / ALPHA, size))
            middle, late = np.quantile(delays, [0.5, 0.9], method="higher")
            found = np.isfinite(delays).mean()
            print(
                f"| alpha = {alpha:g}, group {100 * share:g} %{f', batches of {size}' if size > 1 else ''} | {tau:g} | "
                f"{measure} | {middle:,.0f} / {late:,.0f} | {100 * found:.0f} % |",
                flush=True,
            )


def true_ratio(alpha: float, measure: str, budget: float = 2.0) -> float:
    """The ratio in the paper's world: the mean of a capped normal."""
    means = []
    for head_start in (0.0, alpha):
        middle, spread = alpha / 2 - head_start, np.sqrt(2)
        # E[max(lack, 0)] - E[max(lack - budget, 0)], of everybody or of the refused.
        parts = [(m * norm.cdf(m / spread) + spread * norm.pdf(m / spread)) for m in (middle, middle - budget)]
        means.append((parts[0] - parts[1]) / (norm.cdf(middle / spread) if measure == "restricted" else 1.0))
    return means[0] / means[1]


def sequences(streams: int, people: int, seed: int) -> None:
    print(
        f"\nConfidence sequence, level 95 %, {streams:,} streams: ever wrong up to {people:,} people; median high / low"
    )
    looks = [look for look in (500, 1000, 10_000) if look <= people]
    for k, alpha in enumerate((0.0, 1.0, 2.0)):
        for measure in ("restricted", "burden"):
            rng, truth = np.random.default_rng([seed, 300 + k]), true_ratio(alpha, measure)
            wrong, widths = [], []
            for _ in range(streams):
                part, now, last = paper(alpha)(rng, 4 * people).arrivals(measure, people), Evidence.none(), 0
                found = []
                for look in looks:
                    between = slice(last, look)
                    more = Arrivals(part.is_group[between], part.low[between], part.high[between])
                    now, last = now.after(more, 1.25, 1 - ALPHA)[0], look
                    low, high = now.interval
                    found.append(min(high, RATIOS[-1]) / max(low, RATIOS[0]))
                # A rejection is for good, so that the last look holds all.
                wrong.append(not now.interval[0] <= truth <= now.interval[1])
                widths.append(found)
            told = ", ".join(f"{width:.2f}" for width in np.median(widths, axis=0))
            print(f"| alpha = {alpha:g} (ratio {truth:.3f}) | {measure} | {rate(wrong)} | {told} |", flush=True)


def whole(streams: int, people: int, seed: int) -> None:
    """Recourse solved, batches of 100, the budget taken from the first: `ee.Monitor` as it is used."""
    size = 100
    print(
        f"\nThrough ee.Monitor, both measures, {people:,} people in batches of {size}, {streams:,} streams: any alarm"
    )
    for alpha, tau in ((0.0, 1.0), (0.0, 1.25), (1.0, 1.25), (2.0, 1.25)):
        hits, reference = [], paper_synthetic(alpha, 2000, seed)[0]
        schema = ee.Schema(sensitive="S", protected=0, favourable=True, features=dict.fromkeys(("X2", "X3"), OPEN))
        scm = ee.StructuralCausalModel([], nodes=["S", "X2", "X3"]).fit(reference)
        score = ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3 + alpha / 2)
        for stream in range(streams):
            arrived = paper_synthetic(alpha, people, 10_000 * seed + stream)[0]
            monitor = ee.Monitor(score, reference, schema=schema, scm=scm, cost=ee.WeightedL1(ee.Std()), tau=tau)
            for start in range(0, people, size):
                monitor.update(arrived.iloc[start : start + size], date="2026-01-01")
            hits.append(monitor.alarm is not None)
        print(f"| alpha = {alpha:g} | {tau:g} | {rate(hits)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--detections", type=int, default=300)
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["alarms", "delays", "sequences", "monitor"])
    given = parser.parse_args()
    print(f"{datetime.now(UTC).date()}, seed {given.seed}, alarm at evidence {1 / ALPHA:g}")
    start = time.process_time()
    parts = {"alarms": (false_alarms, given.streams), "delays": (detection, given.detections)}
    parts["sequences"] = (sequences, given.sequences)
    parts["monitor"] = (whole, given.sequences)
    for name, (run, streams) in parts.items():
        if given.only in (None, name):
            run(streams, given.people if name != "monitor" else given.people // 5, given.seed)
    print(f"\n{time.process_time() - start:,.0f} s of CPU")


if __name__ == "__main__":
    main()
