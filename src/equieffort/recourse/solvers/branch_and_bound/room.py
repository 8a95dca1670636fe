"""Room for a search to work in, made by Python and held by it while compiled kernels use it."""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.recourse.solvers.branch_and_bound.arrays import (
    Answers,
    Best,
    Box,
    Cell,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Options,
    Planes,
    Point,
    Search,
    Space,
)
from equieffort.recourse.solvers.branch_and_bound.pool_kernels import Pool, make_pool
from equieffort.recourse.solvers.kernels.simplex import make_program

FIRST_ASKED_ROOM = 16


def make_answers(people: int, actions: int) -> Answers:
    """Nothing is found, and nothing is proven."""
    return Answers(
        np.full(people, np.inf), np.full(people, np.inf), np.full(people, -1, dtype=np.int64),
        np.zeros((people, actions)), np.zeros(people, dtype=np.int64), np.zeros(people, dtype=np.int64),
    )  # fmt: skip


def make_search(
    oracle: Any,
    tools: tuple[Any, Memo],
    problem: CompiledProblem,
    people: CompiledBatch,
    options: Options,
    clock: Any,
    answers: Answers,
    planes: int,
) -> tuple[Search, Pool, Any]:
    """All that `search_people` works on: room for one node, for those that wait, and for points to ask about."""
    n, (own, memo) = problem.actions.shape[0], tools
    best = Best(np.empty(3), np.empty(1, dtype=np.int64), np.empty(n))
    space = make_space(problem, people, planes)
    search = Search(
        oracle, own, memo, problem, people, options, clock, space, best, np.zeros(6, dtype=np.int64), answers
    )
    width = 1 + 2 * n + 2 * problem.tracks.shape[0] + memo.numbers.shape[0]
    return search, make_pool(width, memo.marks.shape[0]), np.empty((FIRST_ASKED_ROOM, 4 + n))


def make_space(problem: CompiledProblem, people: CompiledBatch, planes: int) -> Space:
    """Room for one node, with so many planes."""
    n, f, t, k = problem.actions.shape[0], problem.tracks.shape[0], people.x.shape[1], planes
    box = Box(np.empty(n), np.empty(n), np.empty(f), np.empty(f))
    return Space(
        box, Box(box.low, box.high, np.empty(f), np.empty(f)),
        Planes(np.zeros(1, dtype=np.int64), np.empty((k, n)), np.empty(k)), np.empty(n),
        Point(np.empty(n), np.empty(n), Cell(np.empty(t), np.empty(t))), Cell(np.empty(t), np.empty(t)),
        np.empty((problem.root_set.shape[0], t)), np.empty(n), make_program(f + k, 2 * n),
        np.empty(max(2 * n, 1), dtype=np.int64), np.empty(max(2 * n, 1)), np.empty(n),
        np.zeros(2, dtype=np.int64),
    )  # fmt: skip
