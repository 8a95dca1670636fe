"""Rules between features in a person's program: of each clause that is asked of the person, one atom holds."""

from __future__ import annotations

import numpy as np

from equieffort.recourse.solvers.milp.model import Model
from equieffort.recourse.solvers.milp.program import NOTHING, Form
from equieffort.world.rules.clauses import Atom

Option = tuple[Form, Form | None, float, float]
"""A form that is 1 where an atom holds and None, or anything and a form with the range in which it holds."""


def add_rules(model: Model) -> None:
    """Rules between features: of each one that is asked of the person, one atom holds."""
    rules, facts = model.problem.rules, model.facts
    if not rules.clauses:
        return
    asked = rules.asked(facts)[0]
    own = rules.extend(facts)[0]
    for clause, is_asked in zip(rules.clauses, asked.tolist(), strict=True):
        if not is_asked:
            continue
        options: list[Option] = []
        for atom, (low, high) in zip(clause.atoms, rules.ends(facts, clause), strict=True):
            options += _options(model, atom, float(low[0]), float(high[0]), float(own[atom.column]))
        if any(column is None and not gate.weights and gate.constant >= 1 for gate, column, _, _ in options):
            continue
        _, alone, least, most = options[0] if len(options) == 1 else (NOTHING, None, 0.0, 0.0)
        if alone is not None:
            model.program.row(alone, least, most)
            continue
        total = NOTHING
        for gate, column, least, most in options:
            if column is None:
                total = total.plus(gate)
                continue
            switch = Form({model.program.switch(): 1.0})
            model.program.either(switch, column, least, most, clause.words)
            total = total.plus(switch)
        model.program.row(total, low=1.0)


def _options(model: Model, atom: Atom, low: float, high: float, own: float) -> list[Option]:
    """An atom as a form that is 1 where it holds, or as a range of a form; nothing where it cannot hold."""
    is_category = atom.column < len(model.problem.names) and model.problem.encoding.columns[atom.column].is_category
    if is_category:
        levels = (int(own),) if atom.levels is None else atom.levels
        if atom.column not in model.levels:
            return [(Form({}, 1.0), None, 0.0, 0.0)] if int(own) in levels else []
        return [(Form({model.levels[atom.column][level]: 1.0 for level in levels}), None, 0.0, 0.0)]
    column = _rule_column(model, atom.column, own)
    tolerance = float(model.problem.rules.tolerance(model.facts, atom.column)[0])
    if not column.weights:
        return [(Form({}, 1.0), None, 0.0, 0.0)] if low - tolerance <= own <= high + tolerance else []
    if model.is_whole(atom.column):
        low = np.ceil(low - tolerance) if np.isfinite(low) else low
        high = np.floor(high + tolerance) if np.isfinite(high) else high
    least, most = model.program.range(column)
    if low <= least and most <= high:
        return [(Form({}, 1.0), None, 0.0, 0.0)]
    return [] if low > most + tolerance or high < least - tolerance else [(NOTHING, column, low, high)]


def _rule_column(model: Model, k: int, own: float) -> Form:
    """A column of the rules, virtual ones included, as a form of its value."""
    count = len(model.problem.names)
    if k < count:
        return model.changes[k].plus(Form({}, own))
    total = Form({}, own)
    for p, weight in enumerate(model.problem.rules.weights[k - count]):
        if weight:
            total = total.plus(model.changes[p], float(weight))
    return total
