"""The worlds of Karimi, von Kügelgen, Schölkopf and Valera (2020) with three variables and a loan with seven.

And the two-variable example of Karimi, Schölkopf and Valera (2021), whose optimum is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from equieffort.data.frames import Floats
from equieffort.datasets._checks import one_of
from equieffort.datasets._world import Causes, Equation, World, additive, linear, root
from equieffort.models.classifiers import LinearScore
from equieffort.world.scm import Curves, Function, Linear, StructuralCausalModel, Terms
from equieffort.world.scm.curves import Curve

# The mean of |X1 + X2 + X3|, by which the chance of the label is scaled: in closed form (two folded normals) in the
# linear world, by quadrature over X1, U2 and U3 in the others. The paper takes the mean of the sample at hand; a
# constant makes the chance a property of a person, whoever else was drawn.
_MEAN_SIZE = {"linear": 1.3141847599348, "additive": 2.5277407945802, "non-additive": 3.4347861805546}
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class TwoVariables:
    """People, the rule that decides on them, and the equations that move them."""

    X: pd.DataFrame
    classifier: LinearScore
    scm: StructuralCausalModel


def karimi_two_variables() -> TwoVariables:
    """Salary X1 and savings X2 = .3 X1 + U2; favourable when X1 + 5 X2 >= 225000.

    The person asked about, x = (75000, 25000), is the first row. With the cost relative to the person's own value the
    cheapest action is do(X1 = 85000), after which X2 follows to 28000: exactly on the closed boundary. A second row
    holds somebody who is decided favourably; `group` tells the two apart, since a schema needs groups.

    References
    ----------
    Karimi, Schölkopf, Valera (2021), Algorithmic recourse: from counterfactual explanations to interventions, FAccT.

    Examples
    --------
    >>> world = karimi_two_variables()
    >>> world.classifier.predict(world.X)
    array([False,  True])
    >>> world.scm.counterfactual(world.X, do={"X1": 85000.0}).iloc[0].to_dict()
    {'X1': 85000.0, 'X2': 28000.0, 'group': 'asked'}
    """
    X = pd.DataFrame({"X1": [75000.0, 90000.0], "X2": [25000.0, 30000.0], "group": ["asked", "other"]})
    scm = StructuralCausalModel([("X1", "X2")], mechanisms={"X2": Linear({"X1": 0.3})})
    return TwoVariables(X, LinearScore({"X1": 1.0, "X2": 5.0}, threshold=225000.0), scm)


def karimi_three_variables(equations: Literal["linear", "additive", "non-additive"] = "linear") -> World:
    """Three variables X1 -> X2 -> X3 and X1 -> X3, all of them actionable; N(m, v) has the variance v.

    linear
        X2 = -X1 + U2 and X3 = .05 X1 + .25 X2 + U3; X1 is N(-2, 1.5) or N(1, 1), half and half; U2 and U3 are N(0, 1).
    additive
        X2 = 3 sig(2 X1) - 1 + U2 and X3 = -.05 X1 - .25 X2^2 + U3; X1 as before, U2 is N(0, .1), U3 is N(0, 1).
    non-additive
        X2 = .25 sgn(U2) X1^2 (1 + U2^2) and X3 = -1 + .1 sgn(U3) (X1^2 + X2^2) + U3; X1 is N(-2.5, 1) or N(2.5, 1),
        U2 is N(0, .25), U3 is N(0, .0625). No additive model says the same, so `scm` is None; each equation grows with
        its noise and can be inverted, so `noise` and `counterfactual` are exact.

    The label is 1 with the chance sig(2.5 (X1 + X2 + X3) / m), where m is the mean of |X1 + X2 + X3|.

    References
    ----------
    A.-H. Karimi, J. von Kügelgen, B. Schölkopf, I. Valera (2020). Algorithmic recourse under imperfect causal
    knowledge: a probabilistic approach. NeurIPS.

    Examples
    --------
    >>> karimi_three_variables("additive").scm
    StructuralCausalModel(3 nodes, 3 edges, not fitted)
    >>> karimi_three_variables("non-additive").scm is None
    True
    """
    one_of("equations", equations, list(_MEAN_SIZE))
    scale = 2.5 / _MEAN_SIZE[equations]

    def chance(values: Causes) -> Any:
        return expit(scale * (values["X1"] + values["X2"] + values["X3"]))

    X2, X3 = {
        "linear": (linear({"X1": -1.0}), linear({"X1": 0.05, "X2": 0.25})),
        "additive": (
            additive(("X1",), _additive_x2, Function(_additive_x2, bounds=_ends_of_additive_x2)),
            additive(("X1", "X2"), _additive_x3, Terms([(-0.05, {"X1": 1}), (-0.25, {"X2": 2})])),
        ),
        "non-additive": (
            Equation(("X1",), _signed_x2, _noise_of_signed_x2),
            Equation(("X1", "X2"), _signed_x3, _noise_of_signed_x3),
        ),
    }[equations]
    first = ((-2.5, 1.0), (2.5, 1.0)) if equations == "non-additive" else ((-2.0, 1.5), (1.0, 1.0))
    variances = {"linear": (1.0, 1.0), "additive": (0.1, 1.0), "non-additive": (0.25, 0.0625)}[equations]

    def draw(rng: np.random.Generator, n: int) -> dict[str, Floats]:
        low, high = (rng.normal(mean, np.sqrt(variance), n) for mean, variance in first)
        U2, U3 = (rng.normal(0.0, np.sqrt(variance), n) for variance in variances)
        return {"X1": np.where(rng.random(n) < 0.5, low, high), "X2": U2, "X3": U3}

    features = {"X1": root(), "X2": X2, "X3": X3}
    return World(f"three variables, {equations}", features, draw, chance, ("X1", "X2", "X3"))


def _additive_x2(values: Causes) -> Any:
    return 3 * expit(2 * values["X1"]) - 1


def _ends_of_additive_x2(low: Causes, high: Causes) -> tuple[Any, Any]:
    """It rises with X1, so it is least and most at the ends."""
    return _additive_x2(low), _additive_x2(high)


def _additive_x3(values: Causes) -> Any:
    return -0.05 * values["X1"] - 0.25 * values["X2"] ** 2


def _signed_x2(values: Causes, noise: Floats) -> Floats:
    return np.asarray(0.25 * np.sign(noise) * values["X1"] ** 2 * (1 + noise**2))


def _noise_of_signed_x2(values: Causes, x: Floats) -> Floats:
    least = 0.25 * values["X1"] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.abs(x) / least - 1
    return _signed_root(square, np.sign(x), slack=1e-12, power=0.5)


def _signed_x3(values: Causes, noise: Floats) -> Floats:
    return np.asarray(-1 + 0.1 * np.sign(noise) * (values["X1"] ** 2 + values["X2"] ** 2) + noise)


def _noise_of_signed_x3(values: Causes, x: Floats) -> Floats:
    least = 0.1 * (values["X1"] ** 2 + values["X2"] ** 2)
    size = np.abs(x + 1) - least
    return _signed_root(size, np.sign(x + 1), slack=1e-12 * (1 + np.abs(x) + least), power=1.0)


def _signed_root(size: Floats, sign: Floats, slack: Any, power: float) -> Floats:
    """sign times size^power; what rounding took below zero keeps its sign, since the equation jumps there."""
    kept = np.where(size < -slack, np.nan, np.maximum(size, _TINY))
    return np.asarray(np.where(sign == 0, np.nan, sign * kept**power))


def karimi_loan() -> World:
    """Loan applicants: G gender, A age, E education, L amount, D duration, I income, S savings, around their means.

    G is 0 or 1 with equal chance; A = -35 + U_A, U_A Gamma with shape 10 and scale 3.5;
    E = -.5 + sig(-1 + .5 G + sig(.1 A) + U_E), U_E N(0, .25);
    L = 1 + .01 (A - 5)(5 - A) + G + U_L, U_L N(0, 4);
    D = -1 + .1 A + 2 G + L + U_D, U_D N(0, 9);
    I = -4 + .1 (A + 35) + 2 G + G E + U_I, U_I N(0, 4);
    S = -4 + 1.5 max(I, 0) + U_S, U_S N(0, 25).
    The label is 1 with the chance sig(.3 (-L - D + I + S + I S)).

    Education, income and savings are actionable, as in Dominguez-Olmedo et al. (2022); the loan is what it is. E is not
    additive in its noise, which stands inside the sigmoid and is recovered by inverting it. Only G and A cause E, so
    no action moves it except by setting it, and `scm` is exact for actions (and for L and D); for interventions on G
    or A use `counterfactual`.

    References
    ----------
    A.-H. Karimi, J. von Kügelgen, B. Schölkopf, I. Valera (2020). Algorithmic recourse under imperfect causal
    knowledge: a probabilistic approach. NeurIPS.

    R. Dominguez-Olmedo, A.-H. Karimi, B. Schölkopf (2022). On the Adversarial Robustness of Causal Algorithmic
    Recourse. ICML.

    Examples
    --------
    >>> world = karimi_loan()
    >>> people, labels = world.sample(5, random_state=0)
    >>> list(people.columns), world.sensitive, world.actionable
    (['G', 'A', 'E', 'L', 'D', 'I', 'S'], 'G', ('E', 'I', 'S'))
    """
    education = Equation(("G", "A"), _education, _noise_of_education, Function(_middle_education))
    equations = {
        "G": root(),
        "A": root(),
        "E": education,
        "L": additive(("G", "A"), _amount),
        "D": linear({"G": 2.0, "A": 0.1, "L": 1.0}, intercept=-1.0),
        "I": additive(("G", "A", "E"), _income, _INCOME),
        "S": additive(("I",), _savings, Curves({"I": _RAMP}, intercept=-4.0)),
    }
    return World("loan", equations, _draw_loan, _repays, ("E", "I", "S"), sensitive="G")


def _draw_loan(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {
        "G": rng.integers(0, 2, n),
        "A": -35 + rng.gamma(10.0, 3.5, n),
        "E": rng.normal(0.0, 0.5, n),
        "L": rng.normal(0.0, 2.0, n),
        "D": rng.normal(0.0, 3.0, n),
        "I": rng.normal(0.0, 2.0, n),
        "S": rng.normal(0.0, 5.0, n),
    }


def _repays(values: Causes) -> Any:
    income, savings = values["I"], values["S"]
    return expit(0.3 * (-values["L"] - values["D"] + income + savings + income * savings))


def _inside(values: Causes) -> Any:
    return -1 + 0.5 * values["G"] + expit(0.1 * values["A"])


def _education(values: Causes, noise: Floats) -> Floats:
    return np.asarray(-0.5 + expit(_inside(values) + noise))


def _noise_of_education(values: Causes, x: Floats) -> Floats:
    return np.asarray(logit(x + 0.5) - _inside(values))


def _middle_education(values: Causes) -> Any:
    return -0.5 + expit(_inside(values))


def _amount(values: Causes) -> Any:
    return 1 + 0.01 * (values["A"] - 5) * (5 - values["A"]) + values["G"]


def _income(values: Causes) -> Any:
    return -4 + 0.1 * (values["A"] + 35) + 2 * values["G"] + values["G"] * values["E"]


_INCOME = Terms([(0.1, {"A": 1}), (2.0, {"G": 1}), (1.0, {"G": 1, "E": 1})], intercept=-0.5)
_RAMP = Curve(breaks=(0.0,), origins=(0.0, 0.0), coefs=((0.0, 0.0), (0.0, 1.5)))


def _savings(values: Causes) -> Any:
    return -4 + 1.5 * np.maximum(values["I"], 0.0)
