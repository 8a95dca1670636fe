"""Views of a fitted classifier that solvers understand."""

from equieffort.classifiers.decision import Decision, known_features
from equieffort.classifiers.linear import LinearScore, LinearView, NotLinear, linear_view

__all__ = ["Decision", "LinearScore", "LinearView", "NotLinear", "known_features", "linear_view"]
