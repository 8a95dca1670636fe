"""Structural causal models: how a change of one feature moves the others."""

from equieffort.world.scm.curves import Curve
from equieffort.world.scm.discrete import CumulativeLogit, Ordinal, Probabilities
from equieffort.world.scm.equations import (
    Additive,
    Affine,
    Discrete,
    DiscreteLearner,
    DiscreteMechanism,
    Equation,
    Learner,
    Mechanism,
)
from equieffort.world.scm.functions import Function
from equieffort.world.scm.mechanisms import LeastSquares, Linear, Regressor
from equieffort.world.scm.model import StructuralCausalModel
from equieffort.world.scm.ratios import Ratio
from equieffort.world.scm.smooth import Polynomial, Spline
from equieffort.world.scm.terms import Curves, Product, Terms

__all__ = [
    "Additive",
    "Affine",
    "CumulativeLogit",
    "Curve",
    "Curves",
    "Discrete",
    "DiscreteLearner",
    "DiscreteMechanism",
    "Equation",
    "Function",
    "Learner",
    "LeastSquares",
    "Linear",
    "Mechanism",
    "Ordinal",
    "Polynomial",
    "Probabilities",
    "Product",
    "Ratio",
    "Regressor",
    "Spline",
    "StructuralCausalModel",
    "Terms",
]
