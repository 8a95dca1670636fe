"""The two-variable example of Karimi, Schölkopf and Valera (2021), whose optimum is known."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from equieffort.models.classifiers import LinearScore
from equieffort.world.scm import Linear, StructuralCausalModel


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
