"""A ReLU network as a function of the changes that are set: its values, slopes and ranges.

The causal effects are part of its first layer, so they add no looseness. Ranges are carried from layer to layer by
interval arithmetic (interval bound propagation: Gowal et al., "On the effectiveness of interval bound propagation for
training verifiably robust models", 2018); `crown_kernels` makes them narrower.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import hot, kernel
from equieffort.foundations.records import record
from equieffort.foundations.tolerances import UNSIZED
from equieffort.recourse.solvers.branch_and_bound.arrays import Person


@record
class Net(NamedTuple):
    """A network over the changes. Layer t has `widths[t]` outputs; those of the last are the margins.

    p intervention sets, c actionable categories.
    """

    widths: Any
    first: Any
    """(p, output, action): the first layer a unit of each action."""
    first_size: Any
    """The same summed without signs: what rounding is relative to."""
    weights: Any
    """(layer - 1, output, input), padded."""
    rises: Any
    """(layer - 1, input, output): the positive weights, so that loops run along outputs; and the negative ones."""
    falls: Any
    biases: Any
    gain: Any
    """(p, c, output, level): what a level adds to the first layer, up to a constant; and its size."""
    gain_size: Any
    need: Any
    """(margin): what each must reach."""
    relative_error: float
    base: Any
    """(person, output): the first layer of the facts, and the size of what is summed into it."""
    base_size: Any
    many: int
    """From so many actions on a box may be split by the sign of what enters a ReLU of the first layer."""


@record
class Changes(NamedTuple):
    """A box of changes."""

    low: Any
    """(action)"""
    high: Any


@record
class Budget(NamedTuple):
    """What a budget leaves of a box of changes: costs from its cheapest point on."""

    left: Any
    """(1): what may be spent from there; infinite where the box ends before that."""
    near: Any
    """(action) the cheapest point."""
    per_cost: Any
    """(2, action): how far a unit of cost goes, up and down."""
    room: Any
    """(2, action): what it costs to go to the end of the box."""
    free: Any
    """(2, action): how far it may go at no cost."""
    gain: Any
    """(action) room to work in."""


@record
class Work(NamedTuple):
    """Room for one box."""

    low: Any
    """(layer, output): range of what enters the ReLU, as far as it is known."""
    high: Any
    slope: Any
    """The upper line of a ReLU: slope * x + lift; the lower one: floor * x."""
    lift: Any
    floor: Any
    reach: Any
    """(layer, output, action): how much an action moves what enters the ReLU, roughly."""
    coef: Any
    tops: Any
    """(action + 1, output): planes above all outputs of a layer, the constant last; and planes below."""
    bottoms: Any
    plane: Any
    """(margin, action)."""
    const: Any
    rounding_error: Any
    """For each margin how far rounding may carry it, anywhere in the box."""
    value: Any
    """(layer, output): what enters the ReLU at the point looked at last."""
    size: Any
    start: Any
    """(root, output): the first layer before any number changes."""
    start_size: Any
    box: Changes
    budget: Budget
    spare: Any
    """(action)"""
    doubt: Any
    """(layer, output): how far rounding may carry what enters the ReLU, anywhere in the box."""


@kernel
def clear(target: Any, count: int) -> None:
    """Zeros."""
    for j in range(count):
        target[j] = 0.0


def make_work(net: Net, roots: int) -> Work:
    """Room for a network."""
    layers, actions, width = net.widths.shape[0], net.first.shape[2], int(np.max(net.widths))
    shape = (layers, width)
    return Work(
        np.full(shape, -np.inf), np.full(shape, np.inf), np.zeros(shape), np.zeros(shape), np.zeros(shape),
        np.zeros((layers, width, actions)), np.zeros((2, width)), np.zeros((actions + 1, width)),
        np.zeros((actions + 1, width)), np.zeros((width, actions)), np.zeros(width), np.zeros(width),
        np.zeros(shape), np.zeros(shape), np.zeros((roots, width)), np.zeros((roots, width)),
        Changes(np.empty(actions), np.empty(actions)),
        Budget(np.full(1, np.inf), np.zeros(actions), np.zeros((2, actions)), np.zeros((2, actions)),
               np.zeros((2, actions)), np.zeros(actions)),
        np.empty(actions), np.zeros(shape),
    )  # fmt: skip


@kernel
def start_at(net: Net, work: Work, person: Person, levels: Any, before: Any) -> None:
    """The first layer of a person under the levels of the root, -1 where one stays as it was before."""
    i, group, start, size = person.row, person.group, work.start[person.root], work.start_size[person.root]
    for h in range(net.widths[0]):
        start[h], size[h] = net.base[i, h], net.base_size[i, h]
    for c in range(levels.shape[0]):
        if levels[c] >= 0:
            own = before[c]
            for h in range(net.widths[0]):
                start[h] += net.gain[group, c, h, levels[c]] - net.gain[group, c, h, own]
                size[h] += net.gain_size[group, c, h, levels[c]] + net.gain_size[group, c, h, own]


@hot
def look_at(net: Net, work: Work, person: Person, point: Any) -> None:
    """Values and sizes of every layer at a point of changes."""
    group, root = person.group, person.root
    layers, actions = net.widths.shape[0], point.shape[0]
    value, size = work.value, work.size
    for i in range(net.widths[0]):
        total, absolute = work.start[root, i], work.start_size[root, i]
        for j in range(actions):
            total += net.first[group, i, j] * point[j]
            absolute += net.first_size[group, i, j] * abs(point[j])
        value[0, i] = total
        size[0, i] = absolute
    for t in range(1, layers):
        for i in range(net.widths[t]):
            value[t, i] = net.biases[t - 1, i]
            size[t, i] = abs(net.biases[t - 1, i])
        for h in range(net.widths[t - 1]):
            on, large = max(value[t - 1, h], 0.0), size[t - 1, h]
            for i in range(net.widths[t]):
                value[t, i] += (net.rises[t - 1, h, i] + net.falls[t - 1, h, i]) * on
                size[t, i] += (net.rises[t - 1, h, i] - net.falls[t - 1, h, i]) * large


@hot
def gradient_at(net: Net, work: Work, person: Person, margin: int, out: Any) -> None:
    """How a margin changes with each action around the point looked at last."""
    here, there = work.coef[0], work.coef[1]
    last = net.widths.shape[0] - 1
    for i in range(net.widths[last]):
        here[i] = 0.0
    here[margin] = 1.0
    for t in range(last, 0, -1):
        width = net.widths[t - 1]
        clear(there, width)
        for i in range(net.widths[t]):
            if here[i] != 0.0:
                for h in range(width):
                    there[h] += here[i] * net.weights[t - 1, i, h]
        for h in range(width):
            here[h] = there[h] if work.value[t - 1, h] > 0.0 else 0.0
    clear(out, out.shape[0])
    for i in range(net.widths[0]):
        if here[i] != 0.0:
            for j in range(out.shape[0]):
                out[j] += here[i] * net.first[person.group, i, j]


@kernel
def reaches(net: Net, work: Work, person: Person) -> bool:
    """Whether the margins of the goal may reach what they need in a box, which may be without end; by ranges alone."""
    low, high, group, root, last = work.box.low, work.box.high, person.group, person.root, net.widths.shape[0] - 1
    for t in range(last + 1):
        for i in range(net.widths[t]):
            least = most = work.start[root, i] if t == 0 else net.biases[t - 1, i]
            absolute = work.start_size[root, i] if t == 0 else abs(most)
            for h in range(low.shape[0] if t == 0 else net.widths[t - 1]):
                if t == 0:
                    weight, size = net.first[group, i, h], net.first_size[group, i, h]
                    under, over, large = low[h], high[h], max(abs(low[h]), abs(high[h]))
                else:
                    weight, size = net.weights[t - 1, i, h], abs(net.weights[t - 1, i, h])
                    under, over, large = (
                        max(work.low[t - 1, h], 0.0),
                        max(work.high[t - 1, h], 0.0),
                        work.size[t - 1, h],
                    )
                if weight != 0.0:
                    least += weight * (under if weight > 0.0 else over)
                    most += weight * (over if weight > 0.0 else under)
                if size != 0.0:
                    absolute += size * large
            work.low[t, i], work.high[t, i], work.size[t, i] = least, most, absolute
    for m in person.members:
        most, size = work.high[last, m], work.size[last, m]
        # Where the size has no end, numbers too large for any computer would decide.
        if most + (net.relative_error * size if np.isfinite(size) else UNSIZED * (1.0 + abs(most))) < net.need[m]:
            return False
    return True
