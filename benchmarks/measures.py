"""How long the measures of a large audit take: `python benchmarks/measures.py [--people N]`; seconds of CPU."""

from __future__ import annotations

import argparse
import time

import numpy as np

from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import with_readings
from equieffort.effort.measures import Pair, Sample
from equieffort.effort.metrics import Comparison


def main() -> None:
    """Sums and sorted efforts of two groups, then every measure with its interval and tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    people = parser.parse_args().people
    rng = np.random.default_rng(0)
    sides = []
    for size in (1.2, 1.0):
        efforts = size * rng.gamma(2.0, 0.5, people // 2)
        sides.append(np.where(rng.random(len(efforts)) < 0.9, efforts, np.inf))
    Sample.solved(sides[0][:1000], 10, 2.0)
    before = time.process_time()
    pair = Pair(*(Sample.solved(one, 0, 2.0) for one in sides))
    between = time.process_time()
    found = with_readings(Comparison("a", "b", "protected", pair), Criteria())
    after = time.process_time()
    print(f"{people:,} refused people: sums and sorting {between - before:.2f} s, {len(found.readings)} measures with")
    print(f"intervals and tests {after - between:.2f} s of CPU")


if __name__ == "__main__":
    main()
