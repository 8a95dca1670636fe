"""Files and texts that nobody saved: what is made of each is a result or an error of ours, and the process lives.

Each target begins with something sound and changes it. In `make test` a few examples a target, always the same; in
`make verify` others for so many seconds of computing a target, counted in a table at its end.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.fuzz.inputs import csv_text, rule_text, spec_text
from tests.fuzz.model_files import LIBRARIES
from tests.fuzz.mutate import change_zip
from tests.fuzz.pool import Server
from tests.fuzz.worlds import small_audit

SECONDS = float(os.environ.get("FUZZ_SECONDS", "300"))
"""Of computing, for each target of `make verify`."""
MINUTES = float(os.environ.get("FUZZ_MINUTES", "60"))
"""Of waiting, at most: where a machine is shared, computing takes longer."""


@dataclass(frozen=True)
class Target:
    """What is read, how many examples `make test` tries, and what makes them."""

    kind: str
    examples: int
    make: Callable[[random.Random, Path], tuple[str, bytes]]


def library(name: str) -> Callable[[random.Random, Path], tuple[str, bytes]]:
    files, change = LIBRARIES[name]
    return lambda draw, folder: change(draw.choice(files()), draw)


def audit_file(draw: random.Random, folder: Path) -> tuple[str, bytes]:
    path = folder / "sound.audit"
    if not path.exists():
        small_audit().save(path)
    return ".audit", change_zip(path.read_bytes(), draw, "audit.json")


TARGETS = {
    "audit files": Target("audit", 25, audit_file),
    "XGBoost": Target("model", 40, library("xgboost")),
    "LightGBM": Target("model", 30, library("lightgbm")),
    "ONNX": Target("model", 6, library("onnx")),
    "skops": Target("model", 2, library("skops")),
    "specs": Target("spec", 40, spec_text),
    "CSV": Target("csv", 40, csv_text),
    "rules": Target("rule", 60, rule_text),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.stop()


def attempt(target: Target, draw: random.Random, server: Server, folder: Path) -> tuple[str, Path]:
    """Make one, have it read, and say what came of it; the file of one that went wrong stays."""
    suffix, content = target.make(draw, folder)
    path = folder / f"made{suffix}"
    path.write_bytes(content)
    return server.ask(target.kind, path), path


def is_well(outcome: str) -> bool:
    """A result, or the code of one of our errors."""
    return outcome == "fine" or (outcome.isupper() and outcome.replace("_", "").isalpha())


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_a_result_or_an_error_of_ours(name, server, tmp_path):
    target = TARGETS[name]

    @settings(
        max_examples=target.examples, derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(st.integers(0, 2**32))
    def each(seed: int) -> None:
        outcome, path = attempt(target, random.Random(seed), server, tmp_path)
        assert is_well(outcome), f"{outcome} ({path})"

    each()


@pytest.mark.verify
@pytest.mark.parametrize("name", TARGETS)
def test_for_a_long_time(name, server, tmp_path, record_property):
    target, counts, faults = TARGETS[name], Counter(), []
    # Others each time: what is found is printed with its seed.
    first = int(os.environ.get("FUZZ_SEED", time.time_ns() % 2**40))
    spent, before, seed = 0.0, server.seconds, first
    until = time.monotonic() + 60 * MINUTES
    while spent < SECONDS and len(faults) < 20 and time.monotonic() < until:
        outcome, _ = attempt(target, random.Random(seed), server, tmp_path)
        counts["read" if outcome == "fine" else "refused"] += 1
        if not is_well(outcome):
            faults.append((seed, outcome[:300]))
        seed += 1
        # A process that died took its count with it, and the next one begins at nothing.
        spent, before = spent + max(0.0, server.seconds - before), server.seconds
    record_property(
        "fuzz", {"target": name, "seconds": spent, "examples": seed - first, **counts, "faults": len(faults)}
    )
    assert not faults, f"{len(faults)} of {seed - first}: {faults}"
