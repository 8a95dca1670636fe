"""Cells of simulations: run in pieces and processes, kept in a folder so that a run can go on, and shown as tables.

Every repetition has a seed of its own (or a cell one for all of its), so that nothing depends on pieces and processes.
"""

from __future__ import annotations

import json
import multiprocessing
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

Cell = tuple[Any, ...]
"""What is simulated: plain values."""
Found = Mapping[Cell, Counter[str]]

CPU = "seconds of CPU"


@dataclass(frozen=True)
class Part:
    """One table."""

    name: str
    cells: Sequence[Cell]
    count: Callable[[Cell, int, int], Counter[str]]
    """Counts of the repetitions from one up to another, excluded."""
    show: Callable[[Found, int], None]
    repetitions: int
    piece: int | None = None
    """Repetitions that are run together; all, where one generator serves a whole cell."""

    def pieces(self, repetitions: int) -> Iterator[tuple[Cell, int, int]]:
        """All that is to be done, cell by cell."""
        step = self.piece or repetitions
        for cell in self.cells:
            for begin in range(0, repetitions, step):
                yield cell, begin, min(begin + step, repetitions)

    def run(self, repetitions: int, jobs: int = 1, folder: Path | None = None) -> dict[Cell, Counter[str]]:
        """The counts of every cell."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        found: dict[Cell, Counter[str]] = {cell: Counter() for cell in self.cells}
        tasks = [(self, folder, *piece) for piece in self.pieces(repetitions)]
        if jobs == 1:
            for task in tasks:
                found[task[2]] += counted(*task)
            return found
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            running = {pool.submit(counted, *task): task[2] for task in tasks}
            for done in as_completed(running):
                found[running[done]] += done.result()
        return found


def counted(part: Part, folder: Path | None, cell: Cell, begin: int, end: int) -> Counter[str]:
    """Counts and what they took, from what is kept if it is there."""
    name = f"{part.name}-{'-'.join(map(str, cell))}-{begin}-{end}.json"
    if folder is not None and (folder / name).exists():
        return Counter(json.loads((folder / name).read_text(encoding="utf-8")))
    before = time.process_time()
    with warnings.catch_warnings():
        # They are about data, which are as they should be here.
        warnings.simplefilter("ignore")
        found = part.count(cell, begin, end)
    found[CPU] += time.process_time() - before  # type: ignore[assignment]
    if folder is not None:
        aside = folder / f"{name}.part"
        aside.write_text(json.dumps(found), encoding="utf-8")
        aside.rename(folder / name)
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )


def share(found: Counter[str], name: str, repetitions: int) -> str:
    """In %, of the repetitions in which there was an interval; a dash where these are too few to tell."""
    asked = found[f"{name} asked"]
    return "-" if asked < repetitions / 2 else f"{100 * found[f'{name} held'] / asked:.1f}"


def add(found: Counter[str], name: str, held: bool) -> None:
    """One more interval, which holds the truth or does not."""
    found[f"{name} asked"] += 1
    found[f"{name} held"] += bool(held)


def error(rate: float, repetitions: int) -> str:
    """Monte Carlo error of a rate, in points."""
    return f"{100 * sqrt(rate * (1 - rate) / repetitions):.2f}"


def show_error(rate: float, repetitions: int) -> None:
    """Below a table."""
    print(f"Monte Carlo error: {error(rate, repetitions)} points at {100 * rate:.0f} %")
