"""Structural causal models: how a change of one feature moves the others."""

from equieffort.scm.base import DiscreteLearner, DiscreteMechanism, Learner, Mechanism
from equieffort.scm.curves import Curve
from equieffort.scm.discrete import CumulativeLogit, Ordinal, Probabilities
from equieffort.scm.equations import Additive, Affine, Discrete, Equation
from equieffort.scm.functions import Function
from equieffort.scm.mechanisms import LeastSquares, Linear, Regressor
from equieffort.scm.model import StructuralCausalModel
from equieffort.scm.smooth import Polynomial, Spline
from equieffort.scm.terms import Curves, Terms

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
    "Regressor",
    "Spline",
    "StructuralCausalModel",
    "Terms",
]
