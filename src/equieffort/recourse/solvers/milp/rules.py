"""Rules between features in a person's program: of each clause that is asked of the person, one atom holds."""

from __future__ import annotations

import numpy as np

from equieffort.recourse.solvers.milp.model import Model
from equieffort.recourse.solvers.milp.program import NOTHING, Form
from equieffort.recourse.solvers.rule_table import AtomEnds

Range = tuple[Form, float, float]
"""A form, and from where to where it is allowed."""
ALWAYS = Form({}, 1.0)


def add_rules(model: Model) -> None:
    """Rules between features: of each one that is asked of the person, one atom holds."""
    rules, program = model.rules, model.program
    ends = rules.ends(model.facts)
    for c, clause in enumerate(rules.rules.clauses):
        found = [_option(model, ends, atom) for atom in rules.atoms(c)]
        options = [option for option in found if option is not None]
        if ALWAYS in options:
            continue
        if len(options) == 1 and isinstance(options[0], tuple):
            program.row(*options[0])
            continue
        total = NOTHING
        for option in options:
            if isinstance(option, Form):
                total = total.plus(option)
            else:
                switch = Form({program.switch(): 1.0})
                program.either(switch, *option, clause.words)
                total = total.plus(switch)
        program.row(total, low=1.0)


def _option(model: Model, ends: AtomEnds, atom: int) -> Form | Range | None:
    """An atom as a form that is 1 where it holds, or as a range of a form; None where it cannot hold."""
    k = int(model.rules.track[atom])
    low, high, tolerance = (float(part[0, atom]) for part in (ends.low, ends.high, ends.tolerance))
    if k in model.levels and np.isfinite(low):
        return Form({model.levels[k][int(low)]: 1.0})
    own = float(ends.values[0, k])
    column = _changes(model, k).plus(Form({}, own))
    if not column.weights:
        return ALWAYS if low - tolerance <= own <= high + tolerance else None
    if model.is_whole(k):
        low, high = np.ceil(low - tolerance), np.floor(high + tolerance)
    least, most = model.program.range(column)
    if low <= least and most <= high:
        return ALWAYS
    return None if low > most + tolerance or high < least - tolerance else (column, low, high)


def _changes(model: Model, track: int) -> Form:
    """How a column, or a weighted sum behind the columns, changes."""
    count, total = len(model.changes), NOTHING
    if track < count:
        return model.changes[track]
    for p, weight in enumerate(model.rules.rules.weights[track - count]):
        total = total.plus(model.changes[p], float(weight)) if weight else total
    return total
