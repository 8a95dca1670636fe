"""What the numbers rest on: the causal graph, the assumptions, single people, and how to get them again."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from typing import Any

import numpy as np

from equieffort import __version__
from equieffort.errors import CODES, EquieffortError
from equieffort.explain import Explanation, written
from equieffort.frames import number
from equieffort.metrics import individual_ratios
from equieffort.neighbours import Nearest, NearestK, Sweep, Unsaved
from equieffort.problem import limits
from equieffort.report.answer import assumed
from equieffort.report.blocks import Block, Chart, Items, Pairs, Section, Source, Text
from equieffort.report.material import Material
from equieffort.report.obstacles import binding_limits
from equieffort.report.units import cost_table
from equieffort.report.words import (
    HIDDEN,
    Cell,
    Name,
    Phrase,
    Table,
    Words,
    count,
    effort,
    name_list,
    part,
    say,
    share,
    times,
)
from equieffort.scm.diagnostics import POOR_R2
from equieffort.solvers import Status
from equieffort.table import starts_outside
from equieffort.words import limit_text

MOST_PEOPLE = 10
DATA = {"path": "file", "sha256": "SHA-256"}
SUPPRESSED = (
    "counts from 1 to {}, and what would give them away, on this page and in the model card; the audit file, the JSON, "
    "the table of recourse and what the commands print hold everything"
)


def graph(material: Material) -> Section:
    """The causal graph with the role of every feature."""
    schema, encoding = material.table.detail.schema, material.table.detail.encoding
    given = material.audit.about.get("graph") or {"nodes": [], "edges": []}
    names = [*given["nodes"], *(name for name in encoding.names if name not in given["nodes"])]
    edges = [(str(cause), str(effect)) for cause, effect in given["edges"]]
    causes = {name: [cause for cause, effect in edges if effect == name] for name in names}
    rows: list[list[Cell]] = [[Name(n), schema.role(n), name_list(causes[n]) if causes[n] else "none"] for n in names]
    table = Table(
        "Features, their roles and their direct causes", ("feature", "role", "direct causes"), rows, frozenset({1, 2})
    )
    drawn = [f"{cause} causes {effect}" for cause, effect in edges]
    chart = Chart(
        "graph", "graph", "The causal graph that was assumed", "; ".join(drawn) + "." if drawn else "No edges.", table,
        {"nodes": [(name, schema.role(name)) for name in names], "edges": edges},
    )  # fmt: skip
    text = (
        "An arrow says that a change of the upper feature moves the lower one. Actionable features can be set by a "
        "person; mutable ones only follow their causes; immutable and sensitive ones must not move."
    )
    return Section("graph", "The causal graph", [Text(text), chart])


def assumptions(material: Material) -> Section:
    """What was assumed, and where it is weak."""
    blocks: list[Block] = [
        Text(
            "Every number above holds under these assumptions: that the graph is right and leaves out no common "
            "cause, that the equations describe how features follow, and that the costs and limits are those that "
            "people face."
        )
    ]
    blocks += _weak(material)
    blocks += assumed(material)
    blocks += [_equations(material), cost_table(material), _limits(material), *_outside(material), _leaving(material)]
    return Section("assumptions", "Assumptions", blocks)


def _weak(material: Material) -> list[Block]:
    # Asked for here, so that what they warn about is known.
    material.subgroups, material.near  # noqa: B018
    seen = dict.fromkeys((w.code, w.what, w.fix) for w in (*material.audit.warnings, *material.extra))
    if not seen:
        return [Text("No warnings were raised.")]
    items: list[tuple[Cell, Cell]] = []
    for code, what, fix in seen:
        # A warning may name a person or a small count.
        words: Words = (
            (CODES.get(code, code),) if material.guard.is_on else (*material.told(what), " ", CODES.get(code, ""))
        )
        items.append(((*words, f" ({code})"), (Phrase(fix),)))
    return [Text(f"Read with care: {len(items)} warning{'' if len(items) == 1 else 's'}.", "warning"), Items(items)]


def _equations(material: Material) -> Table:
    about = material.audit.about
    fit = {str(row["node"]): row for row in about.get("fit") or []}
    learned = about.get("learned_by") or {}
    rows: list[list[Cell]] = []
    for equation in about.get("equations") or []:
        node = equation["node"]
        known = fit[node].get("r2") if node in fit else None
        r2 = float("nan") if known is None else float(known)
        remark = f"learned by {learned[node]}" if node in learned else ""
        if r2 < POOR_R2:
            remark = f"weak: explains almost nothing{'; ' if remark else ''}{remark}"
        rows.append([material.told(equation["text"]), share(r2) if node in fit else "given", (Phrase(remark),)])
    if not rows:
        rows.append(["none: no feature follows another", "", ""])
    return Table("Structural equations", ("equation", "R2: variance explained", "remark"), rows, frozenset({2}))


def _limits(material: Material) -> Table:
    schema, encoding = material.table.detail.schema, material.table.detail.encoding
    rows: list[list[Cell]] = []
    for name in encoding.names:
        feature = schema.feature(name)
        texts = [limit_text(limit, name) for limit in limits(feature)]
        up, down = feature.weights
        weight = number(up) if up == down else f"{number(up)} up, {number(down)} down"
        shown = weight if feature.role == "actionable" else ""
        rows.append([Name(name), schema.role(name), encoding[name].kind, ", ".join(texts) or "none", shown])
    return Table(
        "Roles, limits and weights", ("feature", "role", "kind", "limits", "weight"), rows, frozenset({1, 2, 3})
    )


def _outside(material: Material) -> list[Block]:
    """Who starts outside a declared limit, by the limit."""
    table, guard = material.table, material.guard
    outside = table.detail.outside()
    if not outside.any():
        return []
    labels = [material.labels[code] for code in material.order]
    members = [material.members(code) for code in material.order]
    found = starts_outside(table.detail.schema, table.detail.encoding, material.facts)
    named = np.zeros(len(table), dtype=bool)
    rows: list[list[Cell]] = []
    for name, limit, who in found:
        named |= who
        seen = [not guard.hides(int((mine & ~who).sum())) for mine in members]
        counts = [guard.count(int((mine & who).sum()), seen=s) for mine, s in zip(members, seen, strict=True)]
        text = limit_text(limit, name)
        rows.append([Name(name), text, *counts])
    if (rest := outside & ~named).any():
        rows.append(
            ["several at once", "a rule between features", *(guard.count(int((m & rest).sum())) for m in members)]
        )
    caption = "People who start outside a declared limit; for them it is widened to where they are"
    return [Table(caption, ("feature", "limit", *map(Name, labels)), rows, frozenset({1}))]


def _leaving(material: Material) -> Table:
    """Actions that lead where nobody was observed: the model and the equations are least known there."""
    table, guard = material.table, material.guard
    acting = table.has_action
    rows: list[list[Cell]] = []
    for k, column in enumerate(table.detail.encoding.columns):
        if column.is_category:
            continue
        facts = material.facts[~np.isnan(material.facts[:, k]), k]
        if not len(facts):
            rows.append([Name(column.name), "nothing observed", guard.count(0)])
            continue
        low, high = float(facts.min()), float(facts.max())
        after = material.moved[acting, k]
        slack = 1e-9 * max(abs(low), abs(high), 1.0)
        n = int(np.sum((after < low - slack) | (after > high + slack)))
        ends = HIDDEN if guard.is_on else f"{number(low)} to {number(high)}"
        rows.append([Name(column.name), ends, guard.count(n)])
    caption = "Actions that leave the range observed among the audited people"
    return Table(caption, ("feature", "observed range", "people whose action leaves it"), rows)


# -- single people ----------------------------------------------------------------------------------------------------


def individuals(material: Material) -> Section | None:
    """Where the ratio around a person is highest; left out with suppression."""
    title = "Where the ratio around a person is highest"
    if material.guard.is_on:
        return None
    near = material.near
    if isinstance(near, EquieffortError):
        return Section("individuals", title, [Text(("This cannot be computed: ", Phrase(near.what)), "note")])
    rows = [_person(material, near.sweep, *one) for one in _hardest(material, near.sweep)[:MOST_PEOPLE]]
    text = (
        f"Around each refused person, among the {part(material.quantile)} of people most like them, the average effort "
        "of their own group is divided by that of the other group. Listed are the highest of these ratios, for groups "
        f"that are judged, where at least {material.audit.criteria.min_people} refused people of either group are "
        "nearby, and only people who must themselves spend more than the other group does nearby, or have no way at "
        "all. The ratio tells where a person stands, not what the person did. The last column is a recourse action, "
        "not a reason for the decision."
    )
    if not rows:
        return Section("individuals", title, [Text(text), Text("This holds for nobody.", "note")])
    table = Table(
        f"The {len(rows)} highest ratios" if len(rows) > 1 else "The only such person",
        (
            "person",
            "group",
            "against",
            "ratio around the person",
            "own group nearby",
            "other group nearby",
            "own effort",
            "recourse action",
        ),
        rows,
        frozenset({1, 2, 7}),
    )
    return Section("individuals", title, [Text(text), table])


def _hardest(material: Material, sweep: Sweep) -> list[tuple[int, int, int, int]]:
    """Centre, person and both groups, by falling ratio above 1: whoever is worse off than the other group nearby."""
    least, table = material.audit.criteria.min_people, material.table
    found: list[tuple[float, int, int, int, int]] = []
    for a, b in material.pairs:
        if not material.is_judged(a, b):
            continue
        ratios = individual_ratios(sweep, a, b)[:, 0]
        own = table.groups.codes[sweep.centres] == a
        enough = (sweep.size[:, 0, a] >= least) & (sweep.size[:, 0, b] >= least)
        stuck = table.status[sweep.centres] == Status.INFEASIBLE
        harder = stuck | (table.cost[sweep.centres] > sweep.phi[:, 0, b])
        for k in np.flatnonzero(own & enough & harder & (ratios > 1)).tolist():
            found.append((-float(ratios[k]), int(sweep.centres[k]), k, a, b))
    return [(k, row, a, b) for _, row, k, a, b in sorted(found)]


def _person(material: Material, sweep: Sweep, centre: int, row: int, a: int, b: int) -> list[Cell]:
    told, phi = material.audit.explain(position=row), sweep.phi[centre, 0]
    own = "no way" if told.status == "infeasible" else effort(told.cost)
    return [
        Name(told.person), Name(material.labels[a]), Name(material.labels[b]), times(float(phi[a] / phi[b])),
        effort(float(phi[a])), effort(float(phi[b])), own, _does(material, told, row),
    ]  # fmt: skip


def _does(material: Material, told: Explanation, row: int) -> Words:
    """The recourse action, or what stands in its way."""
    words: Words = ()
    for step in told.steps:
        before, after = (Name(written(value)) for value in (step.before, step.shown))
        form = {"set": "set {} from {} to {}", "hold": "keep {} at {}", "follows": "{} then follows from {} to {}"}
        values = (before,) if step.kind == "hold" else (before, after)
        words += (*(("; ",) if words else ()), *say(form[step.kind], Name(step.feature), *values))
    if words:
        return words
    stops: Words = ()
    for limit in binding_limits(material.reasons[row]):
        stops += ("; " if stops else "none: ", *limit)
    return stops


# -- again ------------------------------------------------------------------------------------------------------------


def reproduce(material: Material, command: str) -> Section:
    """Versions, hashes, seed and command."""
    blocks: list[Block] = [Pairs(reproduction(material, command))]
    if spec := material.audit.about.get("spec"):
        blocks.append(Source("The specification", str(spec)))
    return Section("reproduce", "How to reproduce this", blocks)


def reproduction(material: Material, command: str) -> list[tuple[str, Cell]]:
    """Names and values of what is needed to get the same numbers again."""
    about = material.audit.about
    facts = np.ascontiguousarray(material.facts)
    pairs: list[tuple[str, Cell]] = [("Command", (Phrase(command or about.get("command") or "not recorded"),))]
    pairs.append(("Audited with", versions(about)))
    pairs.append(("Report written with", f"equieffort {__version__}, Python {platform.python_version()}"))
    pairs.append(("Audited people, SHA-256", hashlib.sha256(facts.tobytes()).hexdigest()))
    data = about.get("data")
    # The number of rows would give away a group that is kept back.
    few = any(material.guard.hides(stats.n) for stats in material.stats.values())
    for key, value in data.items() if isinstance(data, dict) else ():
        shown = HIDDEN if key == "rows" and few else count(value) if isinstance(value, int) else value
        pairs.append((f"Data, {DATA.get(key, key)}", (Name(shown),)))
    seed = about.get("random_state", about.get("seed"))
    drawn = about.get("solver_random_state")
    none = "none recorded; the solver draws nothing at random" if drawn is None else f"{drawn}, that of the solver"
    pairs.append(("Seed", none if seed is None else str(seed)))
    pairs.append(("Classifier", (Name(about.get("classifier", "not recorded")),)))
    pairs.append(
        ("Solver", (Phrase(f"{about.get('solver', 'not recorded')}. {about.get('solver_reason', '')}".strip()),))
    )
    pairs.append(("Criteria", criteria_text(material)))
    pairs.append(("Neighbourhood", neighbourhood(material)))
    pairs.append(("Margin", number(float(about.get("margin") or 0.0))))
    if material.guard.is_on:
        pairs.append(("Kept back", SUPPRESSED.format(material.guard.k - 1)))
    return pairs


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


def versions(about: dict[str, Any]) -> Words:
    """The versions the audit recorded, or those here where it recorded none."""
    known = about.get("versions")
    if isinstance(known, dict) and known:
        return (Name(", ".join(f"{key} {value}" for key, value in known.items())),)
    here = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scikit-learn"))
    python = platform.python_version()
    return say("equieffort {} (not recorded, found here: {}, Python {})", about.get("version", "unknown"), here, python)


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
