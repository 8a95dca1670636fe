"""Outcomes under a treatment by the structural equations, and the columns that regressions adjust for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.errors import ParameterError, closest, listed
from equieffort.models.classifiers import Decision
from equieffort.recourse.counterfactuals import propagate_as_stored, with_columns
from equieffort.recourse.problem import RecourseProblem


def counterfactual_outcomes(
    problem: RecourseProblem, people: pd.DataFrame, treatment: str, grid: Floats, *, chance: bool = False
) -> Floats:
    """What is decided of each person after do(treatment = t), everything downstream following: (people, grid).

    The model's own label, 1 for favourable, or with `chance` its probability of a favourable one; NaN for whom an
    equation has no answer.
    """
    facts, k = problem.encoding.encode(people), problem.encoding.position(treatment)
    picked = np.zeros(facts.shape, dtype=bool)
    picked[:, k] = True
    found = np.full((len(people), len(grid)), np.nan)
    for j, t in enumerate(grid):
        values = facts.copy()
        values[:, k] = t
        moved, unknown = propagate_as_stored(problem, facts, picked, values)
        moved[:, k] = t
        lost = np.asarray((~np.isfinite(moved) & np.isfinite(facts)).any(axis=1))
        for whom in unknown.values():
            lost |= whom
        moved = np.where(lost[:, None], facts, moved)
        changed = {
            column.name: column.decode(moved[:, i])
            for i, column in enumerate(problem.encoding.columns)
            if not np.array_equal(moved[:, i], facts[:, i], equal_nan=True)
        }
        decided = outcome_of(problem.decision, with_columns(people, changed), chance=chance)
        found[:, j] = np.where(lost, np.nan, decided)
    return found


def outcome_of(decision: Decision, people: pd.DataFrame, *, chance: bool) -> Floats:
    """The decision as 0 or 1, or the model's probability of a favourable one."""
    return decision.chances(people) if chance else decision.is_favourable(people).astype(np.float64)


def unmoved_columns(problem: RecourseProblem, treatment: str, adjust: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns that are adjusted for."""
    if adjust is not None:
        for name in adjust:
            if name not in problem.names or name == treatment:
                raise ParameterError(
                    "PARAMETER",
                    f"adjust names {name!r}, which is the treatment or no column of this audit. "
                    f"{closest(name, problem.names)}".rstrip(),
                    fix=f"The columns are {listed(problem.names, 20)}.",
                )
        return adjust
    graph = problem.scm.graph
    moved = set(graph.descendants(treatment)) if treatment in graph.nodes else set()
    out = {treatment, *moved, *problem.schema.protected_columns}
    return tuple(name for name in problem.names if name not in out)


def covariates_of(encoding: Encoding, people: pd.DataFrame, names: tuple[str, ...]) -> Floats:
    """Columns as a regression takes them: numbers standardised, categories one column a level but the first."""
    parts: list[Floats] = []
    for name in names:
        codes = encoding[name].encode(people[name])
        if encoding[name].is_category:
            met = np.unique(codes[~np.isnan(codes)])
            parts += [np.where(np.isnan(codes), np.nan, codes == level) for level in met[1:]]
        else:
            parts.append(codes)
    columns = []
    for values in parts:
        known = values[~np.isnan(values)]
        if len(known) and known.std() > 0:
            columns.append((values - known.mean()) / known.std())
    return np.column_stack(columns) if columns else np.zeros((len(people), 0))
