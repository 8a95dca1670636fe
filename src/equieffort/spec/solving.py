"""Which solver a spec names and how long it may work."""

from __future__ import annotations

from equieffort.recourse.solvers import Auto, Search, Solver
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


def solver_words(solver: Solver | Auto) -> str:
    """A solver by its name in a spec, with the settings that a spec could change.

    >>> solver_words(Search(budget=40))
    'search (budget 40)'
    """
    kind = next((name for name, known in SOLVERS.items() if type(solver) is known), None)
    if kind is None:
        return str(solver)
    values = {key: getattr(solver, key) for key in SOLVER.forms[kind].keys}
    settings = (f"no {key}" if value is None else f"{key} {value:.10g}" for key, value in values.items())
    return f"{kind} ({', '.join(settings)})"
