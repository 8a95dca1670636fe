"""Views of a fitted classifier that solvers understand."""

from equieffort.models.classifiers.decision import Decision, known_features
from equieffort.models.classifiers.known_levels import known_levels
from equieffort.models.classifiers.linear import LinearScore, linear_view
from equieffort.models.classifiers.recognise import recognise
from equieffort.models.classifiers.relu_network import ReLUNetwork
from equieffort.models.classifiers.views import BlackBox, Goals, Layer, LinearView, NetworkView, NoView, TreeView, View

__all__ = [
    "BlackBox",
    "Decision",
    "Goals",
    "Layer",
    "LinearScore",
    "LinearView",
    "NetworkView",
    "NoView",
    "ReLUNetwork",
    "TreeView",
    "View",
    "known_features",
    "known_levels",
    "linear_view",
    "recognise",
]
