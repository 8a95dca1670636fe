"""The worlds of von Kügelgen et al. (2022), in which a protected attribute moves the features."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import expit

from equieffort.datasets._checks import one_of
from equieffort.datasets._karimi import karimi_loan, karimi_three_variables
from equieffort.datasets._world import Causes, World, additive, linear, root
from equieffort.world.scm import Terms

_NAMES = ("IMF", "CAU linear", "CAU additive")


def fair_recourse(
    equations: Literal["IMF", "CAU linear", "CAU additive"] = "CAU linear",
    *,
    labels: Literal["linear", "radial"] = "linear",
) -> World:
    """A protected attribute A, -1 or +1 with equal chance, and three features that it moves; all noises are N(0, 1).

    X1 = .5 A + U1 and X2 = U2 in every world; all three features are actionable.

    IMF
        X3 = .5 A + U3: the features can be manipulated independently.
    CAU linear
        X3 = .5 (A + X1 - X2) + U3.
    CAU additive
        X3 = .5 A + .1 (X1^3 - X2^3) + U3.

    The label is 1 with the chance sig(2 (X1 - X2 + X3)) ("linear") or sig((X1 + 2 X2 + X3)^2 - 4) ("radial").

    X2 is the only feature that does not descend from A: a classifier on X2 alone asks the same effort of a person and
    of their twin with the other A.

    References
    ----------
    J. von Kügelgen, A.-H. Karimi, U. Bhatt, I. Valera, A. Weller, B. Schölkopf (2022). On the Fairness of Causal
    Algorithmic Recourse. AAAI.

    Examples
    --------
    >>> world = fair_recourse("CAU linear")
    >>> people, labels = world.sample(4, random_state=0)
    >>> twins = world.counterfactual(world.noise(people), do={"A": -people["A"]})
    >>> ((twins - people)["X3"] / (twins - people)["A"]).round(9).tolist()
    [0.75, 0.75, 0.75, 0.75]
    """
    one_of("equations", equations, _NAMES)
    one_of("labels", labels, ("linear", "radial"))
    third = {
        "IMF": linear({"A": 0.5}),
        "CAU linear": linear({"A": 0.5, "X1": 0.5, "X2": -0.5}),
        "CAU additive": additive(
            ("A", "X1", "X2"), _cubic, Terms([(0.5, {"A": 1}), (0.1, {"X1": 3}), (-0.1, {"X2": 3})])
        ),
    }[equations]
    features = {"A": root(), "X1": linear({"A": 0.5}), "X2": root(), "X3": third}
    chance = _linear_chance if labels == "linear" else _radial_chance
    return World(f"{equations}, {labels} labels", features, _draw, chance, ("X1", "X2", "X3"), sensitive="A")


def _draw(rng: np.random.Generator, n: int) -> dict[str, Any]:
    sign = 2 * rng.integers(0, 2, n) - 1
    return {"A": sign} | {name: rng.normal(0.0, 1.0, n) for name in ("X1", "X2", "X3")}


def _cubic(values: Causes) -> Any:
    return 0.5 * values["A"] + 0.1 * (values["X1"] ** 3 - values["X2"] ** 3)


def _linear_chance(values: Causes) -> Any:
    return expit(2 * (values["X1"] - values["X2"] + values["X3"]))


def _radial_chance(values: Causes) -> Any:
    return expit((values["X1"] + 2 * values["X2"] + values["X3"]) ** 2 - 4)


def worlds() -> tuple[World, ...]:
    """All worlds with known equations: three variables, the loan, and fair recourse with both kinds of labels.

    >>> [world.name for world in worlds()][:4]
    ['three variables, linear', 'three variables, additive', 'three variables, non-additive', 'loan']
    """
    three = [karimi_three_variables(equations) for equations in ("linear", "additive", "non-additive")]
    fair = [fair_recourse(equations, labels=labels) for labels in ("linear", "radial") for equations in _NAMES]  # type: ignore[arg-type]
    return (*three, karimi_loan(), *fair)
