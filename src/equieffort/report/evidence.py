"""Evidence: the people by status, and what is needed to get the same numbers again."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib import metadata

import numpy as np

from equieffort.data.frames import number
from equieffort.effort.neighbours import Nearest, NearestK, Unsaved
from equieffort.foundations.version import __version__
from equieffort.recourse.solvers import Status
from equieffort.report.blocks import Pairs, Section, Text
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.words import HIDDEN, Cell, Name, Phrase, Words, count, part, say
from equieffort.words.repeating import kept_model

SUPPRESSED = (
    "counts from 1 to {}, and what would give them away, on this page and in the model card; the audit file, the JSON, "
    "the table of recourse and what the commands print hold everything"
)
STATUSES = {
    Status.NOT_NEEDED: "approved",
    Status.OPTIMAL: "cheapest action proven",
    Status.FEASIBLE: "action found, cheaper not excluded",
    Status.INFEASIBLE: "no action, proven",
    Status.UNKNOWN: "not known",
}

CHUNK = 65_536
"""People whose facts are read at once."""


def evidence(material: Material) -> Section:
    """People by status; versions, hashes, seed, solver and command."""
    text = Text(
        "An action counts only after it was replayed apart from the solver: limits, equations, plausible ranges, cost "
        "and the model's own decision."
    )
    return Section("evidence", "Evidence", [text, statuses(material), Pairs(reproduction(material))])


def statuses(material: Material) -> Table:
    """How many people of each group were solved how."""
    rows: list[list[Cell]] = []
    for group in material.groups:
        stats, seen = group.stats, group.seen
        optimal, feasible = (stats.count(status) for status in (Status.OPTIMAL, Status.FEASIBLE))
        split = seen.parts and not material.guard.hides(optimal, feasible)
        told = {Status.NOT_NEEDED: seen.rate, Status.OPTIMAL: split, Status.FEASIBLE: split}
        cells = [material.guard.count(stats.count(s), seen=told.get(s, seen.parts)) for s in STATUSES]
        rows.append([material.group(group.label), *cells])
    return Table("People by what is certified of them", (Name(material.column), *STATUSES.values()), rows)


def reproduction(material: Material) -> list[tuple[str, Cell]]:
    """Names and values of what is needed to get the same numbers again."""
    made = material.audit.provenance
    data: list[tuple[str, Cell]] = []
    if made.data is not None:
        # The number of rows would give away a group that is kept back.
        few = any(material.guard.hides(stats.n) for stats in material.stats.values())
        rows = HIDDEN if few else count(made.data.rows)
        values = {"file": made.data.path, "SHA-256": made.data.sha256, "rows": rows}
        data = [(f"Data, {key}", (Name(value),)) for key, value in values.items()]
    for key, table in made.learned_from.items():
        data.append((f"Learned from ({key})", (Name(f"{table.path}, SHA-256 {table.sha256}"),)))
    seed, drawn = made.random_state, made.solver.random_state
    none = "none recorded; the solver draws nothing at random" if drawn is None else f"{drawn}, that of the solver"
    dated = "date" in made.notes
    return [
        ("Command", (Phrase(material.command or made.command or "not recorded"),)),
        ("Audited with", versions(made.versions)),
        ("Report written with", f"equieffort {__version__}, Python {platform.python_version()}"),
        ("Audited people, SHA-256", _hash_of_facts(material)),
        *data,
        ("Seed", none if seed is None else str(seed)),
        ("Classifier", (Name(made.classifier or "not recorded"),)),
        *_model(material),
        ("Solver", (Phrase(f"{made.solver.name or 'not recorded'}. {made.solver.reason}".strip()),)),
        ("Criteria", criteria_text(material)),
        ("Neighbourhood", neighbourhood(material)),
        *([] if dated else [("Date", "not recorded, so that the same audit is the same file")]),
        *((key.capitalize(), (Name(note),)) for key, note in made.notes.items()),
        ("Margin", number(made.margin)),
        *([("Kept back", SUPPRESSED.format(material.guard.k - 1))] if material.guard.is_on else []),
    ]


def _hash_of_facts(material: Material) -> str:
    """Of everybody's facts, some people at a time."""
    table, found = material.table, hashlib.sha256()
    for start in range(0, len(table), CHUNK):
        found.update(np.ascontiguousarray(table.source.facts(slice(start, start + CHUNK))).tobytes())
    return found.hexdigest()


def _model(material: Material) -> list[tuple[str, Cell]]:
    """The file that the model was read from, or that a surrogate was kept in."""
    made = material.audit.provenance
    if made.model is None:
        kept = [("Surrogate, file", "not kept")] if made.surrogate is not None else []
        return [*kept]
    kind = "Model" if made.surrogate is None else "Surrogate"
    rows: list[tuple[str, Cell]] = [
        (f"{kind}, file", (Name(made.model.path),)),
        (f"{kind}, SHA-256", made.model.sha256),
    ]
    if made.surrogate is not None:
        keys = kept_model(made.model.path, made.model.trusted, material.table.source.schema.favourable)
        rows.append(("To audit it again, with the file beside the spec", (Phrase(keys),)))
    return rows


def criteria_text(material: Material) -> str:
    """What counts as equal, with the budget that was used."""
    given = material.audit.criteria.to_dict()
    budget = material.audit.budget
    default = "none, since nobody has a route" if budget is None else f"{number(budget)} (by default)"
    said = {
        "level": "none (point estimate)" if given["level"] is None else number(given["level"]),
        "judged": " and ".join(given["judged"]),
        "budget": default if given["budget"] is None else number(given["budget"]),
    }
    return ", ".join(f"{key} {said.get(key, value)}" for key, value in given.items())


def versions(known: Mapping[str, str]) -> Words:
    """The versions the audit recorded, or those here where it recorded none."""
    if known:
        return (Name(", ".join(f"{key} {value}" for key, value in known.items())),)
    here = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scikit-learn"))
    python = platform.python_version()
    return say("not recorded (found here: {}, Python {})", here, python)


def neighbourhood(material: Material) -> str:
    """Who counts as alike."""
    near = material.audit.neighbourhood
    kind = type(material.distance).__name__
    if isinstance(near, Nearest):
        return f"the {part(near.quantile)} nearest ({kind} distance)"
    if isinstance(near, NearestK):
        return f"the {count(int(near.k))} nearest ({kind} distance)"
    if isinstance(near, Unsaved):
        return "by a distance that was not saved with the audit"
    return f"everybody; individuals here: the {part(material.quantile)} nearest ({kind} distance)"
