"""Linear scores and ReLU networks in a person's program, and goals over any margins.

A ReLU is a switch with bounds from the network's ranges, a big-M formulation (Tjeng et al., "Evaluating robustness of
neural networks with mixed integer programming", 2019).
"""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import PROGRAM_STEP, TIED, WIDER
from equieffort.models.classifiers import LinearView, NetworkView
from equieffort.recourse.solvers.milp.model import Model
from equieffort.recourse.solvers.milp.program import NOTHING, Form, Program, Unbounded


def add_linear(model: Model, view: LinearView) -> None:
    """The score reaches what is asked."""
    total = Form({}, float(view.score(model.facts)[0]))
    for k in np.flatnonzero(view.weights).tolist():
        total = total.plus(model.changes[k], float(view.weights[k]))
    for k, table in view.tables.items():
        total = total.plus(model.shifted(k, table))
    # A score summed from zeros has no size of its own: a unit of the weightiest feature gives one.
    size = float(view.magnitude(model.facts)[0]) or float(np.abs(view.weights).max(initial=0.0))
    # A model in single precision may turn a little before the boundary, or only a little beyond it.
    loose, step = max(TIED, view.single), max(PROGRAM_STEP, view.single)
    add_goals(model, view.goals.sets, [total], np.array([loose * size]), np.array([step * size]))


def add_network(model: Model, view: NetworkView) -> None:
    """Each neuron that may be on or off gets a switch; its bounds come from the intervals of what feeds it."""
    program, first = model.program, view.layers[0]
    start = first.weights @ model.facts[0] + first.bias
    for k, table in view.tables.items():
        start = start + table[:, int(model.fact(k))]
    forms = []
    for neuron, value in enumerate(start.tolist()):
        total = Form({}, value)
        for k in np.flatnonzero(first.weights[neuron]).tolist():
            total = total.plus(model.changes[k], float(first.weights[neuron, k]))
        for k, table in view.tables.items():
            total = total.plus(model.shifted(k, table[neuron]))
        forms.append(total)
    for layer in view.layers[1:]:
        inputs = [_rectified(program, form) for form in forms]
        forms = []
        for weights, bias in zip(layer.weights, layer.bias.tolist(), strict=True):
            total = Form({}, bias)
            for n in np.flatnonzero(weights).tolist():
                total = total.plus(inputs[n], float(weights[n]))
            forms.append(total)
    near = view.rounding_error(model.facts)[0] / view.relative_error if view.relative_error > 0 else np.ones(len(forms))
    add_goals(model, view.goals.sets, forms, view.relative_error * _largest(model, view), PROGRAM_STEP * near)


def _rectified(program: Program, form: Form) -> Form:
    """max(form, 0)."""
    low, high = program.range(form)
    pad = WIDER * (abs(low) + abs(high)) if np.isfinite(low) and np.isfinite(high) else 0.0
    low, high = low - pad, high + pad
    if high <= 0:
        return NOTHING
    if low >= 0:
        return form
    value, on = Form({program.variable(0.0, high): 1.0}), Form({program.switch(): 1.0})
    program.row(value.plus(form, -1.0), low=0.0)
    if program.need(high, what="the inputs of the network"):
        program.row(value.plus(on, -high), high=0.0)
    if program.need(low, what="the inputs of the network"):
        # value <= form - low (1 - on)
        program.row(value.plus(form, -1.0).plus(on, -low), high=-low)
    return value


def _largest(model: Model, view: NetworkView) -> Floats:
    """The largest size that the numbers summed into each margin can have, as `rounding_error` counts them."""
    first = view.layers[0]
    sizes = np.empty(len(model.changes))
    for k in range(len(sizes)):
        low, high = model.ends(k)
        sizes[k] = max(abs(model.fact(k) + low), abs(model.fact(k) + high))
    used = np.abs(first.weights).any(axis=0)
    size = np.abs(first.weights[:, used]) @ sizes[used] + np.abs(first.bias)
    for table in view.tables.values():
        size = size + np.abs(table).max(axis=1)
    for layer in view.layers[1:]:
        size = np.abs(layer.weights) @ size + np.abs(layer.bias)
    if not np.isfinite(size).all():
        raise Unbounded("the inputs of the network")
    return size


def add_goals(
    model: Model, goals: tuple[tuple[int, ...], ...], margins: list[Form], loose: Floats, step: Floats
) -> None:
    """For one goal all its margins reach what is asked, `loose` of it forgiven for the sake of the bound."""
    program, least = model.program, model.problem.margin
    if len(goals) == 1:
        for m in goals[0]:
            lift, rise = float(loose[m]), float(step[m])
            program.row(margins[m], low=least - lift, lift=lift, rise=rise)
        return
    total = NOTHING
    for members in goals:
        wanted = Form({program.switch(): 1.0})
        total = total.plus(wanted)
        for m in members:
            lift, rise = float(loose[m]), float(step[m])
            program.either(wanted, margins[m], least - lift, np.inf, "the score", lift=lift, rise=rise)
    program.row(total, low=1.0)
