"""A ReLU network as a function of the changes that are set: its values, slopes and ranges.

The causal effects are part of its first layer, so they add no looseness.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.recourse.solvers.kernels.compiled import inner


class Net(NamedTuple):
    """A network over the changes. Layer t has `widths[t]` outputs; those of the last are the margins."""

    widths: Any
    first: Any
    """(group, output, action): the first layer a unit of each action; a group is a choice of what is set."""
    first_size: Any
    """The same summed without signs: what rounding is relative to."""
    weights: Any
    """(layer - 1, output, input), padded."""
    rises: Any
    """(layer - 1, input, output): the positive weights, so that loops run along outputs; and the negative ones."""
    falls: Any
    biases: Any
    relative_error: float


class Work(NamedTuple):
    """Room for one box."""

    low: Any
    """(layer, output): range of what enters the ReLU."""
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


@inner
def copy(source: Any, target: Any) -> None:
    """Numbers one by one: a loop compiles faster than an assignment of slices."""
    for j in range(source.shape[0]):
        target[j] = source[j]


@inner
def clear(target: Any, count: int) -> None:
    """Zeros."""
    for j in range(count):
        target[j] = 0.0


@inner
def make_work(net: Any) -> Any:
    """Room for a network."""
    layers, actions = net.widths.shape[0], net.first.shape[2]
    width = 1
    for t in range(layers):
        width = max(width, net.widths[t])
    shape = (layers, width)
    return Work(
        np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape),
        np.zeros((layers, width, actions)), np.zeros((2, width)), np.zeros((actions + 1, width)),
        np.zeros((actions + 1, width)), np.zeros((width, actions)), np.zeros(width),
        np.zeros(width), np.zeros(shape), np.zeros(shape),
    )  # fmt: skip


@inner
def look_at(net: Any, group: int, start: Any, start_size: Any, point: Any, work: Any) -> None:
    """Values and sizes of every layer at a point."""
    layers, actions = net.widths.shape[0], point.shape[0]
    value, size = work.value, work.size
    for i in range(net.widths[0]):
        total, absolute = start[i], start_size[i]
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


@inner
def gradient_at(net: Any, group: int, margin: int, work: Any, out: Any) -> None:
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
                out[j] += here[i] * net.first[group, i, j]


@inner
def reaches(
    net: Any, group: int, start: Any, start_size: Any, low: Any, high: Any, need: Any, members: Any, work: Any
) -> bool:
    """Whether each of these margins may reach its need in a box, which may be without end; by ranges alone."""
    layers, actions = net.widths.shape[0], low.shape[0]
    for t in range(layers):
        for i in range(net.widths[t]):
            if t == 0:
                least, most, absolute = start[i], start[i], start_size[i]
                for j in range(actions):
                    weight = net.first[group, i, j]
                    if weight > 0.0:
                        least += weight * low[j]
                        most += weight * high[j]
                    elif weight < 0.0:
                        least += weight * high[j]
                        most += weight * low[j]
                    if net.first_size[group, i, j] > 0.0:
                        absolute += net.first_size[group, i, j] * max(abs(low[j]), abs(high[j]))
            else:
                least = most = net.biases[t - 1, i]
                absolute = abs(least)
                for h in range(net.widths[t - 1]):
                    weight = net.weights[t - 1, i, h]
                    if weight > 0.0:
                        least += weight * max(work.low[t - 1, h], 0.0)
                        most += weight * max(work.high[t - 1, h], 0.0)
                    elif weight < 0.0:
                        least += weight * max(work.high[t - 1, h], 0.0)
                        most += weight * max(work.low[t - 1, h], 0.0)
                    if weight != 0.0:
                        absolute += abs(weight) * work.size[t - 1, h]
            work.low[t, i], work.high[t, i], work.size[t, i] = least, most, absolute
    last = layers - 1
    for m in members:
        if m >= 0:
            most = work.high[last, m]
            if np.isfinite(work.size[last, m]):
                if most + net.relative_error * work.size[last, m] < need[m]:
                    return False
            elif most + 1e-6 * (1.0 + abs(most)) < need[m]:
                # The size has no end, but then numbers too large for any computer would decide.
                return False
    return True
