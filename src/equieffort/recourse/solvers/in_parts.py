"""No more people at once than there is room for: curves of cost have knots for each of them."""

from __future__ import annotations

from collections.abc import Callable

from equieffort.data.frames import Floats
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import Proposal
from equieffort.world.cost import PiecewiseCost

MOST_KNOTS = 4_000_000
"""Knots of cost curves that are kept at once; more people are solved one batch after another."""


def together(problem: RecourseProblem, matrix: Floats) -> int:
    """How many people's curves have room at once; everybody's where costs do not bend."""
    if len(matrix) == 0 or not isinstance(problem.cost, PiecewiseCost):
        return max(len(matrix), 1)
    knots = sum(len(problem.cost.curve(j, float(matrix[0, k]))[0]) for j, k in enumerate(problem.numeric))
    return max(MOST_KNOTS // max(knots, 1), 1)


def part_by_part(problem: RecourseProblem, people: Floats, ask: Callable[[Floats], Proposal]) -> Proposal:
    """What is proposed for people of whom no more are asked about at once than `together` says."""
    size = together(problem, people)
    if size >= len(people):
        return ask(people)
    proposal = Proposal.empty(problem, len(people))
    for first in range(0, len(people), size):
        rows = slice(first, first + size)
        part = ask(people[rows])
        proposal.code[rows], proposal.bound[rows] = part.code, part.bound
        proposal.put(rows, part)
        proposal.notes |= {first + row: note for row, note in part.notes.items()}
    return proposal
