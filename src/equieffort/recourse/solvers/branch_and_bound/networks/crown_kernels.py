"""Planes that lie above a ReLU network's margins over a box of changes: linear bounds as in CROWN and DeepPoly.

A ReLU that is undecided over the box lies below the line between its ends (the triangle relaxation of Ehlers, 2017) and
above a line through zero; putting these lines in for the ReLUs, from the last layer back to the first, gives a plane
above each margin (Zhang et al., "Efficient neural network robustness certification with general activation functions",
2018; Singh et al., "An abstract domain for certifying neural networks", 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import hot, kernel
from equieffort.recourse.solvers.branch_and_bound.arrays import Person
from equieffort.recourse.solvers.branch_and_bound.box_kernels import copy
from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import Changes, Net, Work, clear


@kernel
def _lines(work: Work, t: int, width: int) -> None:
    """The lines above and below each ReLU of a layer."""
    for i in range(width):
        low, high = work.low[t, i], work.high[t, i]
        if low >= 0.0:
            work.slope[t, i], work.lift[t, i], work.floor[t, i] = 1.0, 0.0, 1.0
        elif high <= 0.0:
            work.slope[t, i], work.lift[t, i], work.floor[t, i] = 0.0, 0.0, 0.0
        else:
            slope = high / (high - low)
            work.slope[t, i], work.lift[t, i] = slope, -slope * low
            work.floor[t, i] = 1.0 if high > -low else 0.0


@hot
def _plane(net: Net, work: Work, person: Person, t: int, i: int, sign: float, out: Any) -> float:
    """A plane above sign * (output i of layer t): its coefficients go to `out`, its constant is returned."""
    here, there, start = work.coef[0], work.coef[1], work.start[person.root]
    const = sign * net.biases[t - 1, i]
    for h in range(net.widths[t - 1]):
        here[h] = sign * net.weights[t - 1, i, h]
    for s in range(t - 1, -1, -1):
        width = net.widths[s]
        for h in range(width):
            c = here[h]
            if c > 0.0:
                const += c * work.lift[s, h]
                here[h] = c * work.slope[s, h]
            else:
                here[h] = c * work.floor[s, h]
        if s > 0:
            below = net.widths[s - 1]
            clear(there, below)
            for h in range(width):
                c = here[h]
                if c != 0.0:
                    const += c * net.biases[s - 1, h]
                    for g in range(below):
                        there[g] += c * net.weights[s - 1, h, g]
            for g in range(below):
                here[g] = there[g]
    clear(out, out.shape[0])
    for h in range(net.widths[0]):
        c = here[h]
        if c != 0.0:
            const += c * start[h]
            for j in range(out.shape[0]):
                out[j] += c * net.first[person.group, h, j]
    return const


@kernel
def _highest(plane: Any, const: float, box: Changes) -> float:
    total = const
    for j in range(plane.shape[0]):
        total += plane[j] * (box.high[j] if plane[j] > 0.0 else box.low[j])
    return total


@hot
def _ranges(net: Net, work: Work, t: int) -> None:
    """What a layer's outputs can be, and their sizes, by the ranges of its inputs alone."""
    width = net.widths[t]
    low, high, size = work.low[t], work.high[t], work.size[t]
    for i in range(width):
        low[i] = high[i] = net.biases[t - 1, i]
        size[i] = abs(net.biases[t - 1, i])
    for h in range(net.widths[t - 1]):
        least, most, large = max(work.low[t - 1, h], 0.0), max(work.high[t - 1, h], 0.0), work.size[t - 1, h]
        rises, falls = net.rises[t - 1, h], net.falls[t - 1, h]
        for i in range(width):
            low[i] += rises[i] * least + falls[i] * most
            high[i] += rises[i] * most + falls[i] * least
            size[i] += (rises[i] - falls[i]) * large


@hot
def _second_layer(net: Net, work: Work, person: Person) -> None:
    """Planes above and below all outputs of the second layer at once, and what these leave of the ranges."""
    group, start, low, high = person.group, work.start[person.root], work.box.low, work.box.high
    width, actions = net.widths[1], low.shape[0]
    tops, bottoms = work.tops, work.bottoms
    for j in range(actions + 1):
        clear(tops[j], width)
        clear(bottoms[j], width)
    for h in range(net.widths[0]):
        slope, lift, floor = work.slope[0, h], work.lift[0, h], work.floor[0, h]
        if slope == 0.0:
            continue
        rises, falls = net.rises[0, h], net.falls[0, h]
        up, down = slope * start[h] + lift, floor * start[h]
        for i in range(width):
            tops[actions, i] += rises[i] * up + falls[i] * down
            bottoms[actions, i] += rises[i] * down + falls[i] * up
        for j in range(actions):
            up, down = slope * net.first[group, h, j], floor * net.first[group, h, j]
            top, bottom = tops[j], bottoms[j]
            for i in range(width):
                top[i] += rises[i] * up + falls[i] * down
                bottom[i] += rises[i] * down + falls[i] * up
    for i in range(width):
        least = most = net.biases[0, i]
        least += bottoms[actions, i]
        most += tops[actions, i]
        for j in range(actions):
            top, bottom = tops[j, i], bottoms[j, i]
            most += top * (high[j] if top > 0.0 else low[j])
            least += bottom * (low[j] if bottom > 0.0 else high[j])
            work.reach[1, i, j] = abs(top)
        least, most = max(least, work.low[1, i]), min(most, work.high[1, i])
        if least > most:
            least = most = 0.5 * (least + most)
        work.low[1, i], work.high[1, i] = least, most


@kernel
def crown_upper_bounds(net: Net, work: Work, person: Person) -> None:
    """Planes above the goal's margins over a finite box of changes, and how far rounding may carry them there."""
    start, last = work.start[person.root], net.widths.shape[0] - 1
    _first_layer(net, work, person)
    for t in range(1, last + 1):
        _lines(work, t - 1, net.widths[t - 1])
        _ranges(net, work, t)
        if t == last:
            break
        if t == 1:
            _second_layer(net, work, person)
        else:
            _later_layer(net, work, person, t)
    for m in person.members:
        if last == 0:
            copy(net.first[person.group, m], work.plane[m])
            work.const[m] = start[m]
        else:
            work.const[m] = _plane(net, work, person, last, np.int64(m), 1.0, work.plane[m])
        work.rounding_error[m] = net.relative_error * work.size[last, m]


@kernel
def _first_layer(net: Net, work: Work, person: Person) -> None:
    """What the first layer's outputs can be, and their sizes."""
    group, root, low, high = person.group, person.root, work.box.low, work.box.high
    for i in range(net.widths[0]):
        least = most = work.start[root, i]
        absolute = work.start_size[root, i]
        for j in range(low.shape[0]):
            weight = net.first[group, i, j]
            least += weight * (low[j] if weight > 0.0 else high[j])
            most += weight * (high[j] if weight > 0.0 else low[j])
            absolute += net.first_size[group, i, j] * max(abs(low[j]), abs(high[j]))
            work.reach[0, i, j] = abs(weight)
        work.low[0, i], work.high[0, i], work.size[0, i] = least, most, absolute


@kernel
def _later_layer(net: Net, work: Work, person: Person, t: int) -> None:
    """Planes above and below the undecided outputs of a layer, one by one, and what these leave of the ranges."""
    spare = work.spare
    for i in range(net.widths[t]):
        least, most = work.low[t, i], work.high[t, i]
        if most > 0.0:
            const = _plane(net, work, person, t, i, 1.0, spare)
            most = min(most, _highest(spare, const, work.box))
            for j in range(spare.shape[0]):
                work.reach[t, i, j] = abs(spare[j])
        if least < 0.0 and most > 0.0:
            const = _plane(net, work, person, t, i, -1.0, spare)
            least = max(least, -_highest(spare, const, work.box))
        if least > most:
            least = most = 0.5 * (least + most)
        work.low[t, i], work.high[t, i] = least, most


@kernel
def branching_scores(net: Net, work: Work, margin: int, score: Any) -> None:
    """How much each action's width has to do with the looseness of a margin's plane, most of all at the point looked at
    last."""
    here, there, low, high = work.coef[0], work.coef[1], work.box.low, work.box.high
    clear(score, score.shape[0])
    last = net.widths.shape[0] - 1
    if last == 0:
        return
    for h in range(net.widths[last - 1]):
        here[h] = net.weights[last - 1, margin, h]
    for s in range(last - 1, -1, -1):
        width = net.widths[s]
        for h in range(width):
            c = here[h]
            least, most = work.low[s, h], work.high[s, h]
            if least < 0.0 and most > 0.0 and c != 0.0:
                x, relu = work.value[s, h], max(work.value[s, h], 0.0)
                if c > 0.0:
                    loose = c * (work.lift[s, h] + 4.0 * (work.slope[s, h] * x + work.lift[s, h] - relu))
                else:
                    widest = -least if work.floor[s, h] > 0.0 else most
                    loose = -c * (widest + 4.0 * (relu - work.floor[s, h] * x))
                total = 0.0
                for j in range(score.shape[0]):
                    total += work.reach[s, h, j] * (high[j] - low[j])
                if total > 0.0:
                    for j in range(score.shape[0]):
                        score[j] += loose * work.reach[s, h, j] * (high[j] - low[j]) / total
            here[h] = c * (work.slope[s, h] if c > 0.0 else work.floor[s, h])
        if s > 0:
            below = net.widths[s - 1]
            clear(there, below)
            for h in range(width):
                c = here[h]
                if c != 0.0:
                    for g in range(below):
                        there[g] += c * net.weights[s - 1, h, g]
            for g in range(below):
                here[g] = there[g]
