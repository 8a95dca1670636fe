"""Huang's equality of effort: how much of one treatment each group needs for the same chance of a yes.

    Psi_I(gamma) = the least t of the treatment's grid with E[Y_I(t)] >= gamma
    delta(gamma) = Psi_group(gamma) - Psi_reference(gamma)
    AED          = mean of delta over a set of gammas, or its integral over an interval divided by its length

`minimum_effort` has these for curves; `estimators` finds the curves by equations, regression or weighting; `study` asks
the model and compares groups; `individuals` does so for one person and people like them; `repair` changes outcomes as
little as delta = 0 asks; `result` is what users get; `treatments` declares what the notion sets among all the others.

References
----------
W. Huang, Y. Wu, L. Zhang, X. Wu (2020). Fairness through Equality of Effort. Companion of The Web Conference.
"""

from equieffort.notions.huang.estimators import ByRegression, BySCM, ByWeighting, Estimator
from equieffort.notions.huang.family import AED, Huang
from equieffort.notions.huang.individuals import IndividualEffort
from equieffort.notions.huang.minimum_effort import GammaRange, average_difference, minimum_effort, read_gammas
from equieffort.notions.huang.repair import Repair
from equieffort.notions.huang.result import EqualityOfEffort, equality_of_effort
from equieffort.notions.huang.study import prepare
from equieffort.notions.huang.treatments import Treatment, checked_treatments

__all__ = [
    "AED",
    "ByRegression",
    "BySCM",
    "ByWeighting",
    "EqualityOfEffort",
    "Estimator",
    "GammaRange",
    "Huang",
    "IndividualEffort",
    "Repair",
    "Treatment",
    "average_difference",
    "checked_treatments",
    "equality_of_effort",
    "minimum_effort",
    "prepare",
    "read_gammas",
]
