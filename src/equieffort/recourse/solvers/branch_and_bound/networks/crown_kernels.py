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
from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import Net, Work, clear


@kernel
def _lines(work: Work, t: int, width: int, again: bool) -> None:
    """The lines above and below each ReLU of a layer; again: the lower one touches it at the point looked at last."""
    for i in range(width):
        low, high = work.low[t, i], work.high[t, i]
        if low >= 0.0:
            work.slope[t, i], work.lift[t, i], work.floor[t, i] = 1.0, 0.0, 1.0
        elif high <= 0.0:
            work.slope[t, i], work.lift[t, i], work.floor[t, i] = 0.0, 0.0, 0.0
        else:
            slope = high / (high - low)
            work.slope[t, i], work.lift[t, i] = slope, -slope * low
            work.floor[t, i] = 1.0 if (work.value[t, i] > 0.0 if again else high > -low) else 0.0


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


@hot
def highest(plane: Any, sign: float, work: Work) -> float:
    """The most of sign * plane over what the budget leaves of the box: what gains most for its price goes first, as far
    as it may or as the budget lasts (Dantzig, "Discrete-variable extremum problems", 1957)."""
    box, budget, total, n = work.box, work.budget, 0.0, plane.shape[0]
    left = budget.left[0]
    if left == np.inf:
        for j in range(n):
            rate = sign * plane[j]
            total += rate * (box.high[j] if rate > 0.0 else box.low[j])
        return total
    gain, per_cost, room = budget.gain, budget.per_cost, budget.room
    for j in range(n):
        rate = sign * plane[j]
        side = 0 if rate > 0.0 else 1
        total += rate * budget.near[j] + abs(rate) * budget.free[side, j]
        gain[j] = abs(rate) * per_cost[side, j]
    while left > 0.0:
        best, most = -1, 0.0
        for j in range(n):
            if gain[j] > most:
                best, most = j, gain[j]
        if best < 0:
            break
        spent = min(left, room[0 if sign * plane[best] > 0.0 else 1, best])
        total += most * spent
        left -= spent
        gain[best] = 0.0
    return total


@hot
def _ranges(net: Net, work: Work, t: int) -> None:
    """What the ranges of its inputs alone leave of a layer's, and the sizes of its outputs."""
    width = net.widths[t]
    low, high, size = work.coef[0], work.coef[1], work.size[t]
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
    for i in range(width):
        work.low[t, i], work.high[t, i] = max(work.low[t, i], low[i]), min(work.high[t, i], high[i])


@hot
def _second_layer(net: Net, work: Work, person: Person) -> None:
    """Planes above and below all outputs of the second layer at once, and what these leave of the ranges."""
    group, start, spare = person.group, work.start[person.root], work.spare
    width, actions = net.widths[1], spare.shape[0]
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
        if work.low[1, i] >= 0.0 or work.high[1, i] <= 0.0:
            continue
        least = most = net.biases[0, i]
        for j in range(actions):
            spare[j] = tops[j, i]
            work.reach[1, i, j] = abs(spare[j])
        most += tops[actions, i] + highest(spare, 1.0, work)
        for j in range(actions):
            spare[j] = bottoms[j, i]
        least += bottoms[actions, i] - highest(spare, -1.0, work)
        least, most = max(least, work.low[1, i]), min(most, work.high[1, i])
        if least > most:
            least = most = 0.5 * (least + most)
        work.low[1, i], work.high[1, i] = least, most


@kernel
def crown_upper_bounds(net: Net, work: Work, person: Person, again: bool) -> None:
    """Planes above the goal's margins over what the budget leaves of a finite box of changes, and how far rounding may
    carry them there. What is already known of the ranges of what enters the ReLUs is made narrower.

    Again: for a part of what was bounded before, with lower lines that touch each ReLU at the point looked at last.
    """
    start, last = work.start[person.root], net.widths.shape[0] - 1
    _first_layer(net, work, person, again)
    for t in range(1, last + 1):
        _lines(work, t - 1, net.widths[t - 1], again)
        if not again:
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
        if not again:
            # Sizes of the whole box hold for its parts, and those of a point looked at since do not.
            work.rounding_error[m] = net.relative_error * work.size[last, m]
    for t in range(0 if again else last):
        for i in range(net.widths[t]):
            work.doubt[t, i] = net.relative_error * work.size[t, i]


@kernel
def _first_layer(net: Net, work: Work, person: Person, again: bool) -> None:
    """What is left of the ranges of the first layer's outputs, and their sizes."""
    group, root, low, high = person.group, person.root, work.box.low, work.box.high
    for i in range(net.widths[0]):
        if not again:
            absolute = work.start_size[root, i]
            for j in range(low.shape[0]):
                absolute += net.first_size[group, i, j] * max(abs(low[j]), abs(high[j]))
                work.reach[0, i, j] = abs(net.first[group, i, j])
            work.size[0, i] = absolute
        least, most = work.low[0, i], work.high[0, i]
        if (least >= 0.0 and most < np.inf) or (most <= 0.0 and least > -np.inf):
            continue
        least = max(least, work.start[root, i] - highest(net.first[group, i], -1.0, work))
        most = min(most, work.start[root, i] + highest(net.first[group, i], 1.0, work))
        if least > most:
            least = most = 0.5 * (least + most)
        work.low[0, i], work.high[0, i] = least, most


@kernel
def _later_layer(net: Net, work: Work, person: Person, t: int) -> None:
    """Planes above and below the undecided outputs of a layer, one by one, and what these leave of the ranges."""
    spare = work.spare
    for i in range(net.widths[t]):
        least, most = work.low[t, i], work.high[t, i]
        if most > 0.0:
            const = _plane(net, work, person, t, i, 1.0, spare)
            most = min(most, const + highest(spare, 1.0, work))
            for j in range(spare.shape[0]):
                work.reach[t, i, j] = abs(spare[j])
        if least < 0.0 and most > 0.0:
            const = _plane(net, work, person, t, i, -1.0, spare)
            least = max(least, -const - highest(spare, 1.0, work))
        if least > most:
            least = most = 0.5 * (least + most)
        work.low[t, i], work.high[t, i] = least, most


@kernel
def branching_scores(net: Net, work: Work, margin: int, score: Any) -> tuple[Any, float]:
    """How much each action's width has to do with the looseness of a margin's plane, most of all at the point looked at
    last; returns the ReLU of the first layer that is loosest, or -1, and how loose it is."""
    here, there, low, high = work.coef[0], work.coef[1], work.box.low, work.box.high
    clear(score, score.shape[0])
    worst, most_loose = np.int64(-1), 0.0
    last = net.widths.shape[0] - 1
    if last == 0:
        return worst, most_loose
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
                if s == 0 and loose > most_loose:
                    worst, most_loose = np.int64(h), loose
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
    return worst, most_loose
