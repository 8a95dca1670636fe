"""200,000 people of a linear world and 5,000 of boosted trees: whoever works, the table is the same to the bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from joblib.externals import loky
from tests.recourse.test_workers import same, world
from tests.results import test_streaming as streams

import equieffort as ee
from equieffort.foundations.cluster import dask_executor
from equieffort.recourse.table import RecourseTable

pytestmark = [
    pytest.mark.verify,
    pytest.mark.usefixtures("quiet"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"),
]
KINDS = {"linear": 200_000, "boosted": 5_000}
TREES = (100, 6)


def timed(name: str, solve: Callable[[], RecourseTable]) -> RecourseTable:
    """What is solved, and a line that says how long that took."""
    began = time.perf_counter()
    found = solve()
    print(f"{name:44}{time.perf_counter() - began:8.1f} s")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_serial_threads_processes_and_a_cluster_agree_at_size(kind):
    pytest.importorskip("distributed")
    n = KINDS[kind]
    problem, X = world(n, kind=kind, trees=TREES)
    solver = None if kind == "linear" else ee.BranchAndBound(time_limit=None)
    label = f"{n:,} {kind}"
    whole = timed(f"{label}, this process", lambda: ee.solve(problem, X, solver=solver))
    assert len(set(whole.status.tolist())) == 3
    with ThreadPoolExecutor(2) as threads:
        same(whole, timed(f"{label}, threads", lambda: ee.solve(problem, X, solver=solver, executor=threads)))
    same(whole, timed(f"{label}, n_jobs=2", lambda: ee.solve(problem, X, solver=solver, n_jobs=2)))
    with loky.get_reusable_executor(2, reuse=False) as pool:
        same(whole, timed(f"{label}, joblib's loky", lambda: ee.solve(problem, X, solver=solver, executor=pool)))
    with dask_executor("local:2") as executor:
        same(whole, timed(f"{label}, Dask local:2", lambda: ee.solve(problem, X, solver=solver, executor=executor)))


@pytest.mark.parametrize("kind", KINDS)
def test_people_streamed_from_files_agree_at_size(kind, tmp_path: Path):
    """Row group by row group, by this process and by two: every number of the audit is that of a table in memory."""
    X = streams.people(KINDS[kind])
    asked, model = streams.arguments(X, kind), streams.model(X, kind)
    X.to_parquet(tmp_path / "people.parquet", row_group_size=len(X) // 8, index=False)
    source = ee.Parquet(tmp_path / "people.parquet")
    if kind != "linear":
        asked["solver"] = ee.BranchAndBound(time_limit=None)
    whole = ee.audit(model, X, **asked)
    for name, how in (("streamed", {}), ("streamed, n_jobs=2", {"n_jobs": 2})):
        streaming = ee.Streaming(tmp_path / name, sample=2000)
        began = time.perf_counter()
        streams.equal(whole, ee.audit(model, source, streaming=streaming, **asked, **how))
        print(f"{f'{len(X):,} {kind}, {name}':44}{time.perf_counter() - began:8.1f} s")
