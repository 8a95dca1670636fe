"""Whoever does the work, and however it is split, the table is the same to the bit; nobody is lost."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from joblib.externals import loky
from sklearn.ensemble import HistGradientBoostingClassifier

import equieffort as ee
from equieffort.errors import ParameterError, RunError
from equieffort.foundations import dealing
from equieffort.foundations.workers import crew, work
from equieffort.recourse.checkpoints import identity
from equieffort.recourse.parts import SolveJob
from equieffort.recourse.table import STORED, RecourseTable

pytestmark = pytest.mark.usefixtures("quiet")


class Carried(Executor):
    """Workers of another process, played in this one: what they are sent and what they send back is pickled."""

    def __init__(self) -> None:
        self.calls: list[tuple[bool, int]] = []

    def submit(self, fn, /, token, payload, task, threads):
        future: Future = Future()
        try:
            # Another token: what this process holds itself is not to be found.
            sent = cloudpickle.dumps((f"{id(self)}{token}", payload, task, threads))
            self.calls.append((payload is not None, len(task)))
            future.set_result(cloudpickle.loads(cloudpickle.dumps(fn(*cloudpickle.loads(sent)))))
        except BaseException as error:
            future.set_exception(error)
        return future


def world(
    n: int = 700, seed: int = 0, kind: str = "linear", trees: tuple[int, int] = (12, 3)
) -> tuple[ee.RecourseProblem, pd.DataFrame]:
    """People and what is asked of them; boosted trees are so many, and so deep."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.5, "b", "a")
    income = rng.normal(3, 1, n) + (group == "b")
    job = rng.choice(["none", "part", "full"], n)
    X = pd.DataFrame({"group": group, "income": income, "savings": rng.normal(0, 1, n) + income, "job": job})
    scm = ee.StructuralCausalModel([("group", "income"), ("income", "savings")]).fit(X)
    features = {
        "income": ee.Feature("actionable", upper=7, max_increase=1.0),
        "savings": ee.Feature("actionable", max_increase=0.5),
        "job": ee.Feature("actionable" if kind != "linear" else "immutable"),
    }
    schema = ee.Schema(sensitive="group", protected="a", favourable=True, features=features)
    if kind == "linear":
        model = ee.LinearScore({"income": 1.0, "savings": 0.5}, threshold=6.0)
    elif kind == "black box":
        model = Opaque()
    else:
        numbers = X[["income", "savings"]].assign(job=pd.Categorical(X["job"], categories=["none", "part", "full"]))
        model = HistGradientBoostingClassifier(max_iter=trees[0], max_depth=trees[1], categorical_features="from_dtype")
        X = numbers.assign(group=group)
        model.fit(numbers, X["income"] + 0.5 * X["savings"] + (X["job"] == "full") > 5.5)
    return ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X


class Opaque:
    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "savings"])

    def predict(self, X):
        return (X["income"] * X["savings"] > 14).to_numpy()


def same(one: RecourseTable, other: RecourseTable) -> None:
    for name in STORED:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert (one.notes, one.ceilings) == (other.notes, other.ceilings)
    rows = np.flatnonzero(one.status == ee.Status.INFEASIBLE).tolist()[:50]
    assert one.source.reasons(one, rows) == other.source.reasons(other, rows)


@pytest.mark.parametrize("kind", ["linear", "boosted", "black box"])
def test_serial_threads_and_workers_agree_to_the_bit(kind):
    problem, X = world(120 if kind == "black box" else 700, kind=kind)
    solver = ee.Search(budget=300) if kind == "black box" else ee.Auto(time_limit=None) if kind == "boosted" else None
    whole = ee.solve(problem, X, solver=solver)
    assert len(set(whole.status.tolist())) > 2 or kind == "black box"
    with ThreadPoolExecutor(3) as threads:
        same(whole, ee.solve(problem, X, solver=solver, executor=threads))
    same(whole, ee.solve(problem, X, solver=solver, executor=Carried()))


@pytest.mark.parametrize("most", [16, 33, 500])
def test_any_split_gives_the_same(most, monkeypatch):
    problem, X = world(kind="boosted")
    solver = ee.BranchAndBound(time_limit=None)
    whole = ee.solve(problem, X, solver=solver)
    monkeypatch.setattr(dealing, "FIRST", most)
    monkeypatch.setattr(dealing, "MOST", most)
    carried = Carried()
    same(whole, ee.solve(problem, X, solver=solver, executor=carried))
    assert max(size for _, size in carried.calls) <= most


def test_processes_of_every_kind_agree_to_the_bit():
    problem, X = world(900)
    whole = ee.solve(problem, X)
    same(whole, ee.solve(problem, X, n_jobs=2))
    same(whole, ee.solve(problem, X, executor=loky.get_reusable_executor(2, reuse=True)))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        same(whole, ee.solve(problem, X, executor=pool))


def test_a_part_with_one_group_alone_is_solved_like_all_others():
    problem, X = world()
    X = X.sort_values("group", kind="stable")
    problem = ee.RecourseProblem.of(problem.decision.classifier, X, schema=problem.schema, scm=problem.scm)
    assert X["group"].iloc[:200].nunique() == 1
    same(ee.solve(problem, X), ee.solve(problem, X, executor=Carried()))


def test_the_problem_is_sent_to_whoever_does_not_know_it_and_no_more():
    problem, X = world(5000)
    carried = Carried()
    ee.solve(problem, X, executor=carried)
    sent = [payload for payload, _ in carried.calls]
    # Two parts are asked for at a time a worker, before the first of them has answered.
    assert 1 <= sum(sent) <= 2 * crew(carried, None).size < len(sent)


def test_people_the_equations_were_learned_from_do_not_travel():
    problem, _ = world(20_000)
    from equieffort.foundations.workers import Shared
    from equieffort.recourse.parts import SolveJob

    job = SolveJob(problem, ee.LinearExact()).without_people()
    assert len(Shared(job).payload) < 80_000


def test_an_audit_is_the_same_file_to_the_byte(tmp_path):
    problem, X = world(1500)
    model, schema = problem.decision.classifier, problem.schema
    args = {"schema": schema, "scm": [("group", "income"), ("income", "savings")]}
    with ThreadPoolExecutor(2) as threads:
        for name, how in {"one": {}, "two": {"executor": threads}, "three": {"executor": Carried()}}.items():
            ee.audit(model, X, **args, **how).save(tmp_path / name)
    contents = [(tmp_path / name).read_bytes() for name in ("one", "two", "three")]
    assert contents[0] == contents[1] == contents[2]


def test_a_model_with_a_lock_works_in_threads_and_is_refused_by_name_in_processes():
    class Locked(Opaque):
        def __init__(self):
            self.lock = threading.Lock()

    problem, X = world(60, kind="black box")
    problem = ee.RecourseProblem.of(Locked(), X, schema=problem.schema, scm=problem.scm)
    solver = ee.Search(budget=50)
    whole = ee.solve(problem, X, solver=solver)
    with ThreadPoolExecutor(2) as threads:
        same(whole, ee.solve(problem, X, solver=solver, executor=threads))
    with pytest.raises(ParameterError) as caught:
        ee.solve(problem, X, solver=solver, executor=Carried())
    assert caught.value.code == "RUN_PICKLE"
    assert "The model (Locked) cannot be sent" in caught.value.what


def test_a_function_written_at_a_prompt_travels():
    problem, X = world(300)
    cost = ee.Separable(
        {"income": lambda fact, value: np.abs(value - fact), "savings": lambda fact, value: (value - fact) ** 2}
    )
    own = ee.RecourseProblem.of(problem.decision.classifier, X, schema=problem.schema, scm=problem.scm, cost=cost)
    solver = ee.Search(budget=100)
    same(ee.solve(own, X, solver=solver), ee.solve(own, X, solver=solver, executor=Carried()))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"n_jobs": 2.5}, "n_jobs is 2.5"),
        ({"n_jobs": -2}, "n_jobs is -2"),
        ({"executor": 4}, "executor is 4"),
        ({"executor": ThreadPoolExecutor}, "executor is"),
        ({"executor": "threads", "n_jobs": None}, "executor is the text 'threads'"),
        ({"checkpoint": "folder"}, "checkpoint is the text 'folder'"),
    ],
)
def test_what_does_no_work_is_refused(how, said):
    problem, X = world(50)
    with pytest.raises(ParameterError, match=said):
        ee.solve(problem, X, **how)


def test_two_answers_to_who_works_are_refused():
    problem, X = world(50)
    with pytest.raises(ParameterError, match="Both executor and n_jobs"):
        ee.solve(problem, X, executor=Carried(), n_jobs=2)


def test_errors_of_the_model_come_back_as_they_are_told_without_workers():
    class Odd(Opaque):
        def predict(self, X):
            if (X["income"] > 5).any():
                raise RuntimeError("too rich")
            return super().predict(X)

    problem, X = world(200, kind="black box")
    calm = X[X["income"] < 5]
    problem = ee.RecourseProblem.of(Odd(), calm, schema=problem.schema, scm=problem.scm)
    told = []
    for how in ({}, {"executor": Carried()}):
        with pytest.raises(ee.errors.ModelError) as caught:
            ee.solve(problem, X, solver=ee.Search(budget=20), **how)
        told.append((caught.value.code, caught.value.what.split("with")[1]))
    assert told[0] == told[1] == ("MODEL_FAILED", " RuntimeError: too rich.")


# -- workers that die --------------------------------------------------------------------------------------------------


@dataclass
class Deadly:
    """A model that ends the process where it is asked about some people, so often as there are marks left to take."""

    folder: Path
    above: float
    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "savings"])
    home: int = 0

    def predict(self, X):
        if os.getpid() != self.home and (X["income"] > self.above).any():
            for mark in sorted(self.folder.iterdir()):
                mark.unlink(missing_ok=True)
                os.kill(os.getpid(), signal.SIGKILL)
        return (X["income"] + 0.5 * X["savings"] > 6).to_numpy()


def deadly(tmp_path: Path, marks: int, n: int = 200) -> tuple[ee.RecourseProblem, pd.DataFrame]:
    problem, X = world(n, kind="black box")
    X.loc[137, "income"] = 9.0
    model = Deadly(tmp_path, 8.9, home=os.getpid())
    for k in range(marks):
        (tmp_path / f"{k:03}").touch()
    return ee.RecourseProblem.of(model, X, schema=problem.schema, scm=problem.scm), X


def test_a_killed_worker_is_replaced_and_its_part_tried_again(tmp_path):
    problem, X = deadly(tmp_path, 1)
    solver = ee.Search(budget=20)
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        found = ee.solve(problem, X, solver=solver, n_jobs=2)
    assert "RUN_WORKER_DIED" in [getattr(one.message, "code", "") for one in kept]
    same(ee.solve(problem, X, solver=solver), found)


def test_processes_of_the_callers_that_broke_are_replaced_by_ours(tmp_path):
    problem, X = deadly(tmp_path, 1)
    solver = ee.Search(budget=20)
    with warnings.catch_warnings(record=True) as kept, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        warnings.simplefilter("always")
        found = ee.solve(problem, X, solver=solver, executor=pool)
    assert {"RUN_WORKER_DIED", "RUN_EXECUTOR_LOST"} <= {getattr(one.message, "code", "") for one in kept}
    same(ee.solve(problem, X, solver=solver), found)


class Always(Carried):
    """Somebody ends every worker."""

    def __init__(self, rows: set[int]) -> None:
        super().__init__()
        self.rows = rows

    def submit(self, fn, /, token, payload, task, threads):
        if self.rows & set(task.index.tolist()):
            future: Future = Future()
            future.set_exception(type("KilledWorker", (Exception,), {})("killed"))
            return future
        return super().submit(fn, token, payload, task, threads)


def test_people_whom_no_worker_survives_are_isolated_and_named_and_all_others_kept(tmp_path):
    problem, X = world(600)
    checkpoint = ee.Checkpoint(tmp_path / "kept")
    with pytest.raises(RunError) as caught:
        ee.solve(problem, X, executor=Always({217, 218}), checkpoint=checkpoint)
    assert caught.value.code == "RUN_WORKERS"
    assert "2 people could not be solved" in caught.value.what
    assert "217, 218" in caught.value.what
    kept = ee.Checkpoint(tmp_path / "kept", resume=True)
    counted = Carried()
    same(ee.solve(problem, X), ee.solve(problem, X, executor=counted, checkpoint=kept))
    # Asked once, and once more with the problem.
    assert [size for _, size in counted.calls] == [2, 2]


def test_an_executor_that_was_shut_down_is_replaced_and_said(monkeypatch):
    monkeypatch.setattr(dealing, "cores", lambda: 1)
    problem, X = world(400)
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        found = ee.solve(problem, X, executor=pool)
    assert "RUN_EXECUTOR_LOST" in [getattr(one.message, "code", "") for one in kept]
    same(ee.solve(problem, X), found)


def test_short_memory_means_smaller_parts():
    problem, X = world(700)

    class Short(Carried):
        def submit(self, fn, /, token, payload, task, threads):
            if len(task) > 40:
                future: Future = Future()
                future.set_exception(MemoryError())
                return future
            return super().submit(fn, token, payload, task, threads)

    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        found = ee.solve(problem, X, executor=Short())
    said = [str(one.message) for one in kept if getattr(one.message, "code", "") == "RUN_MEMORY"]
    assert "GiB" in said[0]
    same(ee.solve(problem, X), found)


@dataclass
class Hungry:
    """A model that takes memory for each person it is asked about, where there is really no more than so much."""

    home: int = -1
    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "savings"])
    times: int = 0

    def predict(self, X):
        if os.getpid() != self.home:
            resource = pytest.importorskip("resource")
            before = resource.getrlimit(resource.RLIMIT_AS)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (30 << 20), before[1]))
            try:
                np.ones((len(X), 1 << 18), dtype=np.uint8)
            finally:
                resource.setrlimit(resource.RLIMIT_AS, before)
        return (X["income"] + 0.5 * X["savings"] > 6).to_numpy()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_model_that_memory_is_too_short_for_is_asked_about_fewer():
    problem, X = world(600, kind="black box")
    problem = ee.RecourseProblem.of(Hungry(os.getpid()), X, schema=problem.schema, scm=problem.scm)
    solver = ee.Search(budget=20)
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        found = ee.solve(problem, X, solver=solver, n_jobs=2)
    said = [str(one.message) for one in kept if getattr(one.message, "code", "") == "RUN_MEMORY"]
    assert "GiB" in said[0]
    same(ee.solve(problem, X, solver=solver), found)


def test_what_a_run_belongs_to_does_not_hang_on_the_memory_there_was():
    problem, X = world(60)
    job = SolveJob(problem, ee.Auto().select(problem).solver)
    before = identity(job, X)
    problem.decision.at_once.most = 20
    assert identity(job, X) == before


def test_who_ends_every_process_is_found_by_halves_and_named(tmp_path, monkeypatch):
    """Processes are really killed, again and again, until the one person is left."""
    problem, X = deadly(tmp_path, 60, 150)
    # A search asks about the people whom the problem was made from, too: the one is not among them.
    rest = X.drop(index=137)
    problem = ee.RecourseProblem.of(problem.decision.classifier, rest, schema=problem.schema, scm=problem.scm)
    X = X.iloc[134:138]
    solver, kept = ee.Search(budget=20), tmp_path.with_name("kept")
    with pytest.raises(RunError) as caught:
        ee.solve(problem, X, solver=solver, n_jobs=2, checkpoint=ee.Checkpoint(kept))
    assert caught.value.code == "RUN_WORKERS"
    assert "1 person could not be solved" in caught.value.what
    assert caught.value.what.endswith(": 137.")
    # All others are there: only one person is asked about again, in this process, which nobody ends.
    asked = []
    monkeypatch.setattr(dealing.Dealing, "_pace", lambda self, rows, seconds: asked.append(rows))
    resumed = ee.solve(problem, X, solver=solver, checkpoint=ee.Checkpoint(kept, resume=True))
    assert asked == [1]
    same(ee.solve(problem, X, solver=solver), resumed)


# -- the clock ---------------------------------------------------------------------------------------------------------


def test_whom_the_clock_ended_is_counted_and_named():
    problem, X = world(30)
    model, schema = problem.decision.classifier, problem.schema
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        made = ee.audit(
            model, X, schema=schema, scm=[("group", "income"), ("income", "savings")], solver=ee.Milp(time_limit=1e-9)
        )
    ended = made.provenance.ended_by_clock
    refused = np.flatnonzero(made.recourse.is_unsettled)
    assert ended.count == len(refused) > 3
    assert ended.first == tuple(map(str, refused[:20]))
    said = [str(one.message) for one in kept if getattr(one.message, "code", "") == "RUN_CLOCK"]
    assert f"{len(refused)} people: {refused[0]}, " in said[0]
    assert any(one.code == "RUN_CLOCK" for one in made.warnings)


def test_threads_of_compiled_loops_are_as_many_as_a_worker_may_use():
    import numba

    class Job:
        def ready(self):
            return self

        def do(self, task):
            return numba.get_num_threads()

    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    before = numba.get_num_threads()
    assert work("a token", cloudpickle.dumps(Job()), None, 1).answer == 1
    assert numba.get_num_threads() == before
