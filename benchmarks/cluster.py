"""Boosted Adult solved in this process and on two Dask workers: CPU and wall time as ratios.

`python benchmarks/cluster.py [--people 1000]`: 100 trees of depth 6 as in `equieffort demo adult --model boosted`.
Both also ask what stands in the way of people without recourse. Aims: the workers together at most 1.15 times
that of one process, neither of them above 55 % of it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--people", type=int, default=1000)
    given.add_argument("--trees", type=int, default=100)
    given.add_argument("--train", type=int, help="train on so many people alone")
    asked = given.parse_args()
    warnings.simplefilter("ignore")
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    import equieffort as ee
    from equieffort.foundations.cluster import dask_executor
    from equieffort.recourse.table import STORED

    setting = ee.datasets.adult_setting()
    texts = [name for name in setting.X if setting.X[name].dtype.kind not in "iuf"]
    levels = [sorted(setting.X[name].unique()) for name in texts]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False, categories=levels), texts), remainder="passthrough"
    )
    trees = GradientBoostingClassifier(n_estimators=asked.trees, max_depth=6, random_state=0)
    learned = setting.X.sample(asked.train or len(setting.X), random_state=1)
    classifier = make_pipeline(encode, trees).fit(learned, setting.y.loc[learned.index])
    people = setting.X.sample(asked.people, random_state=0)
    problem = ee.RecourseProblem.of(classifier, people, schema=setting.schema, scm=setting.scm)
    solver = ee.BranchAndBound(time_limit=None)
    # Kernels are loaded, or compiled, before anything is measured, here and in every worker: for many, since small
    # work is not compiled.
    warm = people.iloc[:1500]
    ee.solve(problem, warm, solver=solver).reasons()
    begun, cpu = time.perf_counter(), time.process_time()
    alone = ee.solve(problem, people, solver=solver)
    alone.reasons()
    alone_cpu, alone_wall = time.process_time() - cpu, time.perf_counter() - begun
    with dask_executor("local:2") as executor:
        client = executor._client
        for worker in client.scheduler_info()["workers"]:
            client.submit(_warm, problem, warm, solver, workers=[worker], pure=False).result()
        before = client.run(time.process_time)
        begun, cpu = time.perf_counter(), time.process_time()
        shared = ee.solve(problem, people, solver=solver, executor=executor)
        wall, driver = time.perf_counter() - begun, time.process_time() - cpu
        after = client.run(time.process_time)
    spent = [after[worker] - before[worker] for worker in before]
    assert all(getattr(alone, name).tobytes() == getattr(shared, name).tobytes() for name in STORED)
    total = sum(spent)
    refused = int(alone.is_unfavourable.sum())
    print(f"{asked.trees} trees, {asked.people:,} people, {refused:,} refused; the tables are the same to the bit")
    print(f"one process                           CPU {alone_cpu:7.1f} s   wall {alone_wall:7.1f} s")
    print(f"two Dask workers                      CPU {total:7.1f} s   wall {wall:7.1f} s   the caller {driver:.1f} s")
    print(f"CPU of the workers over one process   {total / alone_cpu:7.2f}     aim: at most 1.15")
    print(f"the busier worker's share             {max(spent) / total:7.0%}     aim: at most 55 %")
    print(f"wall time of one process over it      {alone_wall / wall:7.2f}     printed")


def _warm(problem, people, solver) -> None:
    import equieffort as ee

    ee.solve(problem, people, solver=solver).reasons()


if __name__ == "__main__":
    main()
