"""Which solver a spec names and how long it may work."""

from __future__ import annotations

from equieffort.recourse.solvers import Auto, Search, Solver
from equieffort.spec.forms import SOLVERS
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
