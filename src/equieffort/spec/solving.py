"""Which solver a spec names and how long it may work; and what its limits are called there."""

from __future__ import annotations

from collections.abc import Iterable

from equieffort.recourse.solvers import Auto, Search, Solver
from equieffort.recourse.status import Ending, Termination
from equieffort.spec.forms import SOLVER, SOLVERS
from equieffort.spec.parsed import Parsed, placed

LIMITS = ("node_limit", "time_limit")


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


def further(solver: Solver, endings: Iterable[Termination]) -> str:
    """What to change in a spec for people who are not solved to the end, as the end of a sentence.

    `endings` say of each of them what stopped the solver.

    >>> from equieffort.recourse.solvers import SpatialBranchAndBound
    >>> further(SpatialBranchAndBound(node_limit=500), [Termination(Ending.WORK, argument="node_limit", limit=500)])
    'raise node_limit (it was 500) under solver in the spec and audit again (the column `reason` of the CSV file says
    why, person by person).'
    """
    if not solver.certifies:
        return (
            "a search proves nothing, however long it goes on; criteria: {certified: false} in the spec judges the "
            "estimate."
        )
    endings = list(endings)
    reached = [name for name in LIMITS if any(one.argument == name for one in endings) and hasattr(solver, name)]
    ways = []
    if reached:
        keys = " and ".join(f"{name} (it was {getattr(solver, name):,.10g})" for name in reached)
        ways.append(f"raise {keys} under solver in the spec and audit again")
    if any(one.kind == Ending.UNLIMITED for one in endings):
        ways.append("say under features how far actions may go (lower, upper, max_increase, max_decrease)")
    where = "the column `reason` of the CSV file says why, person by person"
    return f"{'; '.join(ways)} ({where})." if ways else f"{where}."
