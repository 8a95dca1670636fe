"""A person's time is the CPU time of the thread that searches: a busy machine alone ends nobody's search."""

from __future__ import annotations

import itertools
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.limits import unlimited

import equieffort as ee
from equieffort.recourse.solvers.endings import CEILING, DONE, LATE, STOPPED, TIME
from equieffort.recourse.solvers.kernels import clocks, everybody
from equieffort.recourse.solvers.kernels.clock_kernels import CPU, STOP, WALL, begin_time, late

Ending = ee.solvers.Ending


@pytest.fixture(scope="module")
def hard():
    """Two people far from approval, whose fourteen actions keep a search busy for far longer than a test takes."""
    rng = np.random.default_rng(0)
    names = [f"v{k}" for k in range(14)]
    frame = pd.DataFrame(rng.normal(size=(1000, 14)), columns=names).assign(sex=["f", "m"] * 500)
    clf = RandomForestClassifier(200, random_state=0).fit(frame[names], frame[names].sum(axis=1) > 8)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features=unlimited(dict.fromkeys(names, "actionable"))
    )
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    problem = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    order = np.argsort(clf.predict_proba(frame[names])[:, 1], kind="stable")
    return problem, frame.iloc[[*order[:2], *order[-2:]]].assign(sex=["f", "m"] * 2)


def shown(monkeypatch, cpu, wall):
    """Clocks that show what is told, look by look; each thread's own CPU clock begins at once."""
    monkeypatch.setattr(everybody, "TICK", 0.001)
    monkeypatch.setattr(clocks, "wall", lambda: next(wall))
    monkeypatch.setattr(clocks, "cpu_of_this_thread", lambda: (own := iter(cpu())) and (lambda: next(own)))


def endings(problem, people, **limits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        table = ee.solve(problem, people, solver=ee.BranchAndBound(**limits))
    return [(fact.kind, fact.limit) for fact in table.reasons() if fact is not None]


def test_the_wall_clock_alone_ends_nobody_before_ten_times_the_limit(hard, monkeypatch):
    """A machine that does other things for nine times the limit: the search goes on to the limit of nodes."""
    shown(monkeypatch, lambda: itertools.repeat(7.0), itertools.chain([0.0, 0.1], itertools.repeat(45.0)))
    assert endings(*hard, time_limit=5.0, node_limit=3000) == [(Ending.WORK, 3000.0)] * 2


def test_the_wall_clock_is_a_ceiling(hard, monkeypatch):
    shown(monkeypatch, lambda: itertools.repeat(7.0), itertools.count(0.0, 60.0))
    assert endings(*hard, time_limit=5.0, node_limit=None) == [(Ending.WALL_TIME, 50.0)] * 2


def test_what_a_thread_computes_counts(hard, monkeypatch):
    shown(monkeypatch, lambda: itertools.count(1000.0, 2.0), itertools.count(0.0, 2.0))
    assert endings(*hard, time_limit=5.0, node_limit=None) == [(Ending.TIME, 5.0)] * 2


def test_where_a_thread_cannot_be_looked_at_it_has_its_share_of_the_process(hard, monkeypatch):
    """At each look two more seconds of the process, which are one for each of two threads at work."""
    shown(monkeypatch, lambda: itertools.repeat(7.0), itertools.count(0.0, 0.001))
    spent = itertools.count(0.0, 2.0)
    monkeypatch.setattr(clocks, "cpu_of_this_thread", lambda: None)
    monkeypatch.setattr(clocks, "cpu_of_the_process", lambda: next(spent))
    assert endings(*hard, time_limit=5.0, node_limit=None) == [(Ending.TIME, 5.0)] * 2


def test_each_row_shows_its_own_thread():
    """Of two threads at work, the one that waits has hardly any time; both see the wall clock and the sign to stop."""
    both, ready, done = clocks.Clocks(2), threading.Barrier(3), threading.Event()

    def works(job):
        with both.of(job):
            ready.wait()
            while job == 1 and time.thread_time() < 0.2:
                sum(range(1000))
            ready.wait()
            done.wait()

    threads = [threading.Thread(target=works, args=(job,)) for job in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    ready.wait()
    both.tick()
    assert both.shown[0, CPU] < 0.5 * both.shown[1, CPU] or clocks.cpu_of_this_thread() is None
    assert (both.shown[:, WALL] > 0).all()
    assert (both.shown[:, STOP] == 0).all()
    both.stop()
    done.set()
    for thread in threads:
        thread.join()
    assert (both.shown[:, STOP] == 1).all()
    before = both.shown.copy()
    both.tick()
    np.testing.assert_array_equal(both.shown, before)


def test_time_is_counted_from_the_first_look_after_a_tick():
    """A person begins at 3 s of CPU that nobody has written down yet; of 2 s allowed none is spent before a tick."""
    clock = np.zeros(5)
    clock[WALL] = 10.0
    begin_time(clock)
    assert late(clock, 2.0) == DONE
    clock[CPU], clock[WALL] = 3.0, 11.0
    assert late(clock, 2.0) == DONE
    clock[CPU], clock[WALL] = 5.0, 12.0
    assert late(clock, 2.0) == DONE
    clock[CPU] = 5.1
    assert late(clock, 2.0) == TIME
    clock[CPU], clock[WALL] = 4.0, 11.0 + 2.0 * CEILING
    assert late(clock, 2.0) == DONE
    clock[WALL] += 0.1
    assert late(clock, 2.0) == LATE
    clock[STOP] = 1.0
    assert late(clock, 2.0) == STOPPED
