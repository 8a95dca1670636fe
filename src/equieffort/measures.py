"""How efforts are compared: measures, what a verdict asks of them, who is compared with whom, and under which chance.

>>> import equieffort as ee
>>> ee.measures.MEASURES["acr"].title
'Ratio of average efforts (ACR)'
"""

from equieffort.effort.criteria import Criteria, OneSided, TwoSided
from equieffort.effort.inference import Holm, Unadjusted
from equieffort.effort.matching import CoarsenedExact, ExactMatching, Matching, NearestNeighbour, OptimalPairs
from equieffort.effort.measures import JUDGED, MEASURES, NOTES, Measure, Pair, Reading, Sample
from equieffort.effort.metrics import PAPER_QUANTILES, Centres, Jackknife, PaperBands
from equieffort.effort.neighbours import Everyone, Nearest, NearestK
from equieffort.effort.verdict import Assessment, Finding, Verdict
from equieffort.notions.huang import ByRegression, BySCM, ByWeighting, GammaRange, Treatment
from equieffort.results.power_analysis import Assumed
from equieffort.results.resampling import Bootstrap, Equations, Procedure
from equieffort.world.distances import CausalDistance, Distance, Euclidean, Manhattan, OwnDistance
from equieffort.world.opponents import AllPairs, Rest

__all__ = [
    "AllPairs", "Assessment", "Assumed", "Bootstrap", "ByRegression", "BySCM", "ByWeighting", "CausalDistance",
    "Centres", "CoarsenedExact", "Criteria", "Distance", "Equations", "Euclidean", "Everyone", "ExactMatching",
    "Finding", "GammaRange", "Holm", "JUDGED", "Jackknife", "MEASURES", "Manhattan", "Matching", "Measure", "NOTES",
    "Nearest", "NearestK", "NearestNeighbour", "OneSided", "OptimalPairs", "OwnDistance", "PAPER_QUANTILES", "Pair",
    "PaperBands", "Procedure", "Reading", "Rest", "Sample", "Treatment", "TwoSided", "Unadjusted", "Verdict",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
