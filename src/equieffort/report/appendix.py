"""What is too long for the page: kept behind disclosures, and printed only where they are open."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import number
from equieffort.effort.metrics import individual_ratios
from equieffort.effort.neighbours import Sweep
from equieffort.errors import EquieffortError
from equieffort.recourse.solvers import Status
from equieffort.report import measures
from equieffort.report.blocked import binding_limits
from equieffort.report.blocks import Block, Folded, Section, Source, Text
from equieffort.report.material import Around, Material
from equieffort.report.register import equations
from equieffort.report.tables import Table
from equieffort.report.units import cost_table
from equieffort.report.words import HIDDEN, Cell, Name, Phrase, Words, effort, joined, part, say, times
from equieffort.results.explanation import Explanation

MOST_PEOPLE = 10


def appendix(material: Material) -> Section:
    """Comparisons in words, single people, equations in full, prices, observed ranges, the specification."""
    blocks: list[Block] = [Text("What is closed here is left out of print; open what is to be printed.", "note screen")]
    blocks += measures.in_words(material)
    if not material.guard.is_on:
        blocks.append(Folded("Where the ratio around a person is highest", individuals(material)))
    blocks.append(Folded("The equations in full", [equations(material)]))
    blocks.append(Folded("What a change costs, feature by feature", [cost_table(material)]))
    blocks.append(Folded("Observed ranges, and actions that leave them", [leaving(material)]))
    if spec := material.audit.provenance.spec:
        blocks.append(Source("The specification", spec))
    return Section("appendix", "Appendix", blocks)


def individuals(material: Material) -> list[Block]:
    """Whose surroundings are most unequal; nobody with suppression."""
    near = material.near
    if isinstance(near, EquieffortError):
        return [Text(("This cannot be computed: ", Phrase(near.what)), "note")]
    rows = [_person(material, near.sweep, *one) for one in _hardest(material, near.sweep)[:MOST_PEOPLE]]
    text = (
        f"Around each refused person, among the {part(material.quantile)} of people most like them, the average effort "
        "of their own group is divided by that of the other group. Listed are the highest of these ratios, for groups "
        f"that are judged, where at least {material.audit.criteria.min_people} refused people of either group are "
        "nearby, and only people who must themselves spend more than the other group does nearby, or have no route at "
        "all. The ratio tells where a person stands, not what the person did. The last column is a recourse action, "
        "not a reason for the decision."
    )
    if not rows:
        return [Text(text), Text("This holds for nobody.", "note")]
    table = Table(
        f"The {len(rows)} highest ratios" if len(rows) > 1 else "The only such person",
        (
            "person", Name(material.column), "against", "ratio around the person", "own group nearby",
            "other group nearby", "own effort", "recourse action",
        ),
        rows, frozenset({1, 2, 7}), merged=True,
    )  # fmt: skip
    return [Text(text), table]


def _hardest(material: Material, sweep: Sweep) -> list[tuple[int, int, Around]]:
    """Centre, person and comparison, by falling ratio above 1: whoever is worse off than the other group nearby."""
    least, table = material.audit.criteria.min_people, material.table
    found: list[tuple[float, int, int, int]] = []
    for at, one in enumerate(material.pairs):
        if not (one.mine.is_judged or one.theirs.is_judged):
            continue
        ratios = individual_ratios(sweep, *one.slots)[:, 0]
        enough = (sweep.size[:, 0, list(one.slots)] >= least).all(axis=1)
        stuck = table.status[sweep.centres] == Status.INFEASIBLE
        harder = stuck | (table.cost[sweep.centres] > sweep.phi[:, 0, one.slots[1]])
        for k in np.flatnonzero(one.mine.members[sweep.centres] & enough & harder & (ratios > 1)).tolist():
            found.append((-float(ratios[k]), int(sweep.centres[k]), k, at))
    return [(k, row, material.pairs[at]) for _, row, k, at in sorted(found)]


def _person(material: Material, sweep: Sweep, centre: int, row: int, one: Around) -> list[Cell]:
    told, phi, (a, b) = material.audit.explain(position=row), sweep.phi[centre, 0], one.slots
    own = "no route" if told.status == "infeasible" else effort(told.cost)
    return [
        Name(told.person), material.group(one.mine.label), material.group(one.theirs.label),
        times(float(phi[a] / phi[b])),
        effort(float(phi[a])), effort(float(phi[b])), own, _does(material, told, row),
    ]  # fmt: skip


def _does(material: Material, told: Explanation, row: int) -> Words:
    """The recourse action, or what stands in its way."""
    steps = []
    for step in told.steps:
        before, after = (Name(step.told(value)) for value in (step.before, step.shown))
        form = {"set": "set {} from {} to {}", "hold": "keep {} at {}", "follows": "{} then follows from {} to {}"}
        values = (before,) if step.kind == "hold" else (before, after)
        steps.append(say(form[step.kind], Name(step.name), *values))
    if steps:
        return joined(steps, "; ")
    stops = binding_limits(material.reasons[row], material.names, material.table.source.schema.told_rules)
    return ("none: ", *joined(stops, "; ")) if stops else ()


def leaving(material: Material) -> Table:
    """Actions that lead where nobody was observed: the model and the equations are least known there."""
    table, guard = material.table, material.guard
    acting = table.has_action
    rows: list[list[Cell]] = []
    for k, column in enumerate(table.source.encoding.columns):
        if column.is_category:
            continue
        # Missing values are passed over.
        low, high = (float(end.reduce(material.facts[:, k])) for end in (np.fmin, np.fmax))
        if np.isnan(low):
            rows.append([material.feature(column.name), "nothing observed", guard.count(0)])
            continue
        after = material.moved[:, k]
        slack = 1e-9 * max(abs(low), abs(high), 1.0)
        n = int(np.sum(acting & ((after < low - slack) | (after > high + slack))))
        ends = HIDDEN if guard.is_on else f"{number(low)} to {number(high)}"
        rows.append([material.feature(column.name), ends, guard.count(n)])
    caption = "Actions that leave the range observed among the audited people"
    return Table(caption, ("feature", "observed range", "people whose action leaves it"), rows)
