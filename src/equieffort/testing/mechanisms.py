"""check_mechanism: does an equation recover a person's noise, and do its bounds hold?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from equieffort.data.frames import Encoding, Floats, read_frame
from equieffort.foundations.arguments import check_instance, check_whole
from equieffort.testing.cases import check_seed
from equieffort.world.scm import Additive, Discrete, StructuralCausalModel


def check_mechanism(
    scm: StructuralCausalModel, X: Any, node: str, *, boxes: int = 50, random_state: int = 0
) -> list[str]:
    """What is wrong with the equation of a node, as sentences; an empty list if nothing is.

    - The noise and the causes together give the value back, and unchanged causes change nothing.
    - Going to other causes and back again returns to the value.
    - Over random boxes of causes the bounds and planes of an additive equation enclose it, and what a level with
      causes can reach encloses what it becomes.
    """
    check_instance("scm", scm, StructuralCausalModel, "an ee.StructuralCausalModel(edges)")
    check_whole("boxes", boxes)
    check_seed(random_state)
    model = scm.ready(read_frame(X))
    equation = model.equation(node)
    if equation is None:
        return [f"{node!r} has causes but no equation."]
    matrix = model.encoding_.encode(read_frame(X))
    causes = [model.encoding_.position(name) for name in model.causes(node).names]
    parents, values = matrix[:, causes], matrix[:, model.encoding_.position(node)]
    rng = np.random.default_rng(random_state)
    other = parents[rng.permutation(len(parents))]
    faults = []
    noise = equation.abduct(values, parents)
    if not np.allclose(equation.predict(noise, parents), values, rtol=1e-9, atol=1e-9):
        faults.append("Noise and causes do not give the value back.")
    if not np.array_equal(equation.counterfactual(values, parents, parents), values):
        faults.append("Unchanged causes change the value.")
    there = equation.counterfactual(values, parents, other)
    if isinstance(equation, Additive) and not np.allclose(equation.counterfactual(there, other, parents), values):
        faults.append("Going to other causes and back does not return to the value.")
    faults += _bound_faults(equation, model.causes(node), parents, noise, boxes, rng)
    return faults


def _bound_faults(
    equation: Any, causes: Encoding, parents: Floats, noise: Floats, boxes: int, rng: np.random.Generator
) -> Iterator[str]:
    if not isinstance(equation, Additive | Discrete) or not equation.is_bounded:
        return
    for _ in range(boxes):
        ends = parents[rng.integers(len(parents), size=2)]
        low, high = ends.min(axis=0), ends.max(axis=0)
        for k, column in enumerate(causes.columns):
            if column.is_category:
                low[k] = high[k] = ends[0, k]
        points = low + (high - low) * rng.random((64, len(low)))
        points[0], points[1] = low, high
        if isinstance(equation, Discrete):
            person = rng.integers(len(noise), size=64)
            reached = equation.predict(noise[person], points)
            least, most = equation.reach(noise[person], np.tile(low, (64, 1)), np.tile(high, (64, 1)))
            ranks = {level: rank for rank, level in enumerate(equation.ladder.tolist())}
            if any(not ranks[a] <= ranks[x] <= ranks[b] for a, x, b in zip(least, reached, most, strict=True)):
                yield f"A level lies outside what can be reached over the box {low.tolist()} to {high.tolist()}."
                return
            continue
        heights = equation(points)
        (least,), (most,) = equation.bounds(low, high)
        if (heights < least).any() or (heights > most).any():
            yield f"A value lies outside the bounds over the box {low.tolist()} to {high.tolist()}."
            return
        below, above = equation.affine_bounds(low, high)
        tolerance = 1e-9 * (1.0 + np.abs(heights))
        under = points @ below.slope[0] + below.offset[0]
        over = points @ above.slope[0] + above.offset[0]
        if (heights < under - tolerance).any() or (heights > over + tolerance).any():
            yield f"A value lies outside the planes over the box {low.tolist()} to {high.tolist()}."
            return
