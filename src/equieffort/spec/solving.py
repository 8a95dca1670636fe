"""Which solver a spec names and how long it may work."""

from __future__ import annotations

from equieffort.recourse.solvers import Auto, Search, Solver
from equieffort.results.provenance import SolverUsed
from equieffort.spec.forms import SOLVER, SOLVERS
from equieffort.spec.parsed import Parsed, placed


def read_solver(given: Parsed) -> Solver | Auto:
    """The solver with its limits."""
    said = dict(given["solver"])
    kind = SOLVERS[said.pop("kind")]
    # Seconds and gaps may be written as whole numbers.
    said |= {key: float(said[key]) for key in ("gap", "time_limit") if said.get(key) is not None}
    if kind in (Auto, Search):
        said["random_state"] = given["random_state"]
    with placed(given.find("solver"), "solver"):
        return kind(**said)


def solver_words(used: SolverUsed) -> str:
    """A solver by its name in a spec, with the settings that a spec could change; one of somebody else's by its class.

    >>> solver_words(SolverUsed.of(Search(budget=40)))
    'search (budget 40, time_limit 10)'
    """
    kind = next((name for name, known in SOLVERS.items() if used.kind == known.__name__), None)
    if kind is None:
        return used.kind or used.name
    values = {key: used.settings[key] for key in SOLVER.forms[kind].keys if key in used.settings}
    return f"{kind} ({', '.join(_setting(key, value) for key, value in values.items())})" if values else kind


def _setting(key: str, value: float | str | None) -> str:
    if value is None:
        return f"no {key}"
    return f"{key} {value}" if isinstance(value, str) else f"{key} {value:.10g}"
