"""People in Parquet files audited within a stated memory: `python benchmarks/out_of_core.py [--rows 10000000]`.

Writes the files first, in another process, so that only the audit's own memory is measured: the peak of its resident
memory (`resource.getrusage`), and CPU seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

GROUP = 1_000_000

WRITE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
folder, rows, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for part, start in enumerate(range(0, rows, group)):
    rng, n = np.random.default_rng(part), min(group, rows - start)
    male = rng.random(n) < 0.6
    income = rng.normal(3, 1, n) + male
    columns = {
        "sex": pa.array(np.where(male, "male", "female")), "income": income, "savings": rng.normal(0, 1, n) + income,
        "years": rng.integers(0, 30, n), "debt": rng.gamma(2.0, 1.0, n),
        "job": pa.array(rng.choice(["none", "part", "full"], n)),
    }
    pq.write_table(pa.table(columns), f"{folder}/part-{part:04}.parquet")
"""


def audited(folder: Path, out: Path, memory: str, jobs: int | None) -> None:
    import resource

    import equieffort as ee

    warnings.simplefilter("ignore")
    model = ee.LinearScore({"income": 1.0, "savings": 0.5, "years": 0.05, "debt": -0.3}, threshold=6.0)
    schema = ee.Schema(
        sensitive="sex",
        protected="female",
        favourable=True,
        features={
            "income": ee.Feature("actionable", max_increase=1.0),
            "savings": ee.Feature("actionable", max_increase=0.8),
            "years": ee.Feature("actionable", max_increase=3),
            "debt": ee.Feature("actionable", direction="down"),
            "job": "immutable",
        },
    )
    edges = [("sex", "income"), ("income", "savings")]

    def peak() -> str:
        own, others = (
            resource.getrusage(who).ru_maxrss / 2**20 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return f"peak {own:.2f} GiB" + (f", largest worker {others:.2f} GiB" if jobs else "")

    begun, cpu = time.perf_counter(), time.process_time()
    made = ee.audit(
        model, ee.Parquet(folder), schema=schema, scm=edges, n_jobs=jobs,
        streaming=ee.Streaming(out, memory=memory),
    )  # fmt: skip
    verdict = made.verdict.outcome
    spent, passed = time.process_time() - cpu, time.perf_counter() - begun
    print(f"audit and verdict ({verdict}): CPU {spent:.1f} s, wall {passed:.1f} s, {peak()}")
    cpu = time.process_time()
    made.subgroup("job = 'full'")
    print(f"a subgroup by a rule: CPU {time.process_time() - cpu:.1f} s, {peak()}")
    cpu = time.process_time()
    made.individual(0, quantile=0.2)
    print(f"one person among the fifth most like them: CPU {time.process_time() - cpu:.1f} s, {peak()}")
    written = sum(path.stat().st_size for path in out.iterdir())
    print(f"parts written: {written / 2**20:,.0f} MiB")


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--rows", type=int, default=1_000_000)
    given.add_argument("--memory", default="2GiB")
    given.add_argument("--jobs", type=int)
    given.add_argument("--folder", type=Path)
    given = given.parse_args()
    if given.folder is not None:
        audited(given.folder / "people", given.folder / "parts", given.memory, given.jobs)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "people"
        folder.mkdir()
        subprocess.run([sys.executable, "-c", WRITE, str(folder), str(given.rows), str(GROUP)], check=True)
        size = sum(path.stat().st_size for path in folder.iterdir())
        told = f"{size / 2**20:,.0f} MiB of Parquet in row groups of {GROUP:,}; memory {given.memory}"
        print(f"{given.rows:,} people, {told}", flush=True)
        again = [sys.executable, __file__, "--memory", given.memory, "--folder", scratch]
        subprocess.run(again + (["--jobs", str(given.jobs)] if given.jobs else []), check=True)


if __name__ == "__main__":
    main()
