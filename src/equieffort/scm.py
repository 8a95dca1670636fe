"""Structural causal models: the graph, and the equations by which a change of one feature moves the others.

>>> import equieffort as ee
>>> ee.scm.Linear is ee.Linear
True
"""

from equieffort.world.graph import CausalGraph
from equieffort.world.scm import (
    Additive,
    Affine,
    CumulativeLogit,
    Curve,
    Curves,
    Discrete,
    DiscreteLearner,
    DiscreteMechanism,
    Equation,
    Function,
    Learner,
    LeastSquares,
    Linear,
    Mechanism,
    Ordinal,
    Polynomial,
    Probabilities,
    Product,
    Ratio,
    Regressor,
    Spline,
    StructuralCausalModel,
    Terms,
)

__all__ = [
    "Additive", "Affine", "CausalGraph", "CumulativeLogit", "Curve", "Curves", "Discrete", "DiscreteLearner",
    "DiscreteMechanism", "Equation", "Function", "Learner", "LeastSquares", "Linear", "Mechanism", "Ordinal",
    "Polynomial", "Probabilities", "Product", "Ratio", "Regressor", "Spline", "StructuralCausalModel", "Terms",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
