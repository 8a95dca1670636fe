"""Structural causal models: how a change of one feature moves the others."""

from equieffort.scm.mechanisms import Function, LeastSquares, Linear, Mechanism, Regressor
from equieffort.scm.model import StructuralCausalModel

__all__ = ["Function", "LeastSquares", "Linear", "Mechanism", "Regressor", "StructuralCausalModel"]
