"""Data to try an audit on: bundled, or drawn from a known causal model.

>>> from equieffort.datasets import german_credit
>>> people, risk = german_credit("paper")
>>> people.shape
(1000, 4)
"""

from equieffort.datasets._adult import AdultSetting, adult, adult_graph, adult_setting
from equieffort.datasets._fair_worlds import fair_recourse, worlds
from equieffort.datasets._german import german_credit
from equieffort.datasets._karimi import TwoVariables, karimi_loan, karimi_three_variables, karimi_two_variables
from equieffort.datasets._paper import paper_synthetic, paper_synthetic_truth
from equieffort.datasets._world import World

__all__ = [
    "AdultSetting",
    "TwoVariables",
    "World",
    "adult",
    "adult_graph",
    "adult_setting",
    "fair_recourse",
    "german_credit",
    "karimi_loan",
    "karimi_three_variables",
    "karimi_two_variables",
    "paper_synthetic",
    "paper_synthetic_truth",
    "worlds",
]


def __dir__() -> list[str]:
    return __all__
