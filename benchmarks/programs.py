"""Programs for HiGHS: CPU by scipy's, by highspy from nothing, and by highspy as the solvers ask it.

Run with `make bench`. The programs are those that `Milp` and `LinearExact` ask in made-up linear worlds, asked again in
the same order; then whole solves with either HiGHS. The least of three runs, in one process on one thread, so that the
ratios hold where the microseconds do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import equieffort as ee
from equieffort.recourse.solvers import highs
from equieffort.recourse.solvers.highs import Highs, OwnHighs, ScipyHighs

PEOPLE = 40
TIMES = 3


class Asked(NamedTuple):
    """A program as it was when it was asked."""

    which: int
    parts: tuple[Any, ...]
    presolve: bool
    afresh: bool


def cpu(work: Callable[[], Any]) -> float:
    found = []
    for _ in range(TIMES):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def world(upper: float, rules: list[str], whole: bool, reach: float) -> tuple[ee.RecourseProblem, pd.DataFrame]:
    """Six features of which the last two follow two others each; `d` must stay in its range."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4 * PEOPLE, 4)), columns=list("abcx")).round(3)
    if whole:
        frame = (10 * frame).round().astype(int)
    frame["d"] = 0.5 * frame.a - 0.25 * frame.b
    frame["e"] = 0.5 * frame.b + 0.5 * frame.c
    frame["sex"] = ["f", "m"] * (2 * PEOPLE)
    size = 10.0 if whole else 1.0
    features: dict[str, Any] = {
        name: ee.Feature("actionable", max_increase=upper * size, max_decrease=upper * size) for name in "abcex"
    }
    features["d"] = ee.Feature("mutable", plausible=(-reach * size, reach * size))
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features, rules=rules)
    edges = [("a", "d"), ("b", "d"), ("b", "e"), ("c", "e")]
    equations = {"d": ee.Linear({"a": 0.5, "b": -0.25}), "e": ee.Linear({"b": 0.5, "c": 0.5})}
    scm = ee.StructuralCausalModel(edges, nodes=list(frame.columns), mechanisms=equations).fit(frame)
    score = ee.LinearScore({"a": 1.0, "b": 0.5, "c": 0.25, "d": 1.0, "e": 0.5, "x": 0.2}, threshold=4.0 * size)
    return ee.RecourseProblem.of(score, frame, schema=schema, scm=scm), frame.iloc[:PEOPLE]


def recorded(work: Callable[[], Any]) -> list[Asked]:
    """Every program that is asked."""
    found, run, kept = [], OwnHighs._run, []

    def watched(self: OwnHighs, seconds: float, presolve: bool, afresh: bool) -> Any:
        kept.append(self)  # so that no other gets its id
        parts = (self.price / self.scale, self.matrix, self.low, self.high, self.lower, self.upper, self.whole)
        found.append(Asked(id(self), parts, presolve, afresh))
        return run(self, seconds, presolve, afresh)

    OwnHighs._run = watched  # type: ignore[method-assign]
    try:
        work()
    finally:
        OwnHighs._run = run  # type: ignore[method-assign]
    return found


def moved(one: Asked, times: int) -> list[Asked]:
    """The same program with rows that end a little earlier or later."""
    price, matrix, low, high, *columns = one.parts
    shifts = np.random.default_rng(0).uniform(-1e-3, 1e-3, times)
    return [Asked(one.which, (price, matrix, low + by, high + by, *columns), False, False) for by in shifts]


def anew(engine: type[Highs], asked: list[Asked]) -> None:
    for one in asked:
        engine(*one.parts)._claim(np.inf, one.presolve, True)


def as_asked(asked: list[Asked]) -> None:
    made: dict[int, OwnHighs] = {}
    for which, parts, presolve, afresh in asked:
        if which in made:
            program, (price, _, low, high, lower, upper, _) = made[which], parts
            program.set_prices(price)
            program.set_columns(lower, upper)
            program.set_rows(low, high)
        else:
            program = made[which] = OwnHighs(*parts)
        program._claim(np.inf, presolve, afresh)


def compare(what: str, asked: list[Asked]) -> None:
    old, cold, warm = (
        cpu(work) / len(asked) * 1e6
        for work in (lambda: anew(ScipyHighs, asked), lambda: anew(OwnHighs, asked), lambda: as_asked(asked))
    )
    print(
        f"{what:<47} {len(asked):4d} programs scipy {old:5.0f} us, highspy {cold:5.0f} us, {old / cold:4.1f} times less"
        f", as asked {warm:5.0f} us, {old / warm:4.1f} times"
    )


def whole_solve(what: str, work: Callable[[], Any]) -> None:
    own, loaded = cpu(work), highs._highspy
    highs._highspy = lambda: None  # type: ignore[assignment]
    try:
        scipys = cpu(work)
    finally:
        highs._highspy = loaded
    faster = f"{scipys / own:4.1f} times less"
    print(f"{what:<47} {PEOPLE:4d} people   scipy {scipys:5.2f} s   highspy {own:5.2f} s,  {faster}")


def main() -> None:
    shared, whole = world(3.0, [], False, 1.5), world(3.0, [], True, 1.5)
    ruled = world(3.0, ["if x > 1 then c > 0"], False, 1.5)
    stuck = world(0.2, ["if x > 1 then c > 0"], False, 1.5)
    cases = {
        "LinearExact, shared rows": (shared, ee.LinearExact()),
        "LinearExact, shared rows, whole numbers": (whole, ee.LinearExact()),
        "Milp, a rule": (ruled, ee.Milp()),
        "Milp, whole numbers": (whole, ee.Milp()),
        "Milp, nobody has an action": (stuck, ee.Milp()),
    }
    for what, ((problem, people), solver) in cases.items():
        asked = recorded(lambda p=problem, x=people, s=solver: ee.solve(p, x, solver=s))
        for kind, is_linear in (("linear", True), ("mixed", False)):
            part = [one for one in asked if one.parts[-1].any() != is_linear]
            if part:
                compare(f"{what}: {kind}", part)
        if problem is shared[0]:
            compare("the first of them, the ends of its rows moved", moved(asked[0], 200))
    for what, ((problem, people), solver) in cases.items():
        whole_solve(what, lambda p=problem, x=people, s=solver: ee.solve(p, x, solver=s).frame())


if __name__ == "__main__":
    main()
