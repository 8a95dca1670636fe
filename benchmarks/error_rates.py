"""How often intervals hold and verdicts are wrong, by simulation: `python benchmarks/error_rates.py [PART ...]`.

Parts: `coverage` (95 % intervals of every measure, and the verdicts of the same draws, in the paper's synthetic world),
`boundary` (groups whose measures lie exactly on their thresholds), `others` (two worlds that the formulas were not
chosen on), `audit` (the paper's world through `ee.audit` itself), `curve` (the bands of `audit.curve()`), `centres`
(the same where centres are drawn), `equations` and `procedure` (`audit.resample` with equations learned, and a model
trained, again), `changes` (the change of RD that `diff` shows). Each table ends with its Monte Carlo error: one
standard error of a rate of 95 or 5 % with so many repetitions.

`--repetitions N` changes how many a cell has, `--jobs N` runs them in so many processes, `--keep FOLDER` keeps what is
counted, so that a run that was stopped goes on. Neither of the last two changes a number.

What varies in the first six is who was drawn; decisions and prices stay as they are. The truth of a measure is that of
an endless sample, from 400,000 equally likely people a group.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    # Before numpy starts its threads: those of several processes would only wait for each other.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import argparse
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np

import equieffort as ee
from rates import again, audits, changes, closed, curves
from rates.cells import CPU, Part

PARTS: dict[str, Part] = {
    part.name: part for part in (*closed.PARTS, *audits.PARTS, *curves.PARTS, *again.PARTS, *changes.PARTS)
}


def main() -> None:
    """Run the parts asked for, by default all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    print(f"{date.today()}, Python {sys.version.split()[0]}, numpy {np.__version__}, equieffort {ee.__version__}")
    for name in given.parts or list(PARTS):
        part = PARTS[name]
        repetitions = given.repetitions or part.repetitions
        found = part.run(repetitions, given.jobs, given.keep)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part.show(found, repetitions)
        print(f"{sum(counted[CPU] for counted in found.values()):.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
