"""Must some groups of people work harder than others to turn a "no" into a "yes"?

Names are resolved on first use (PEP 562), so importing this package is cheap and has no side effects. `dir` and
completion show what most audits need; the rest is grouped in `costs`, `measures`, `rules`, `scm` and `solvers`, and can
be taken from here as well.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from equieffort.foundations.version import __version__

if TYPE_CHECKING:
    # What type checkers and editors read in place of the lists below; a test holds the two together.
    from equieffort import costs as costs
    from equieffort import datasets as datasets
    from equieffort import errors as errors
    from equieffort import measures as measures
    from equieffort import rules as rules
    from equieffort import scale as scale
    from equieffort import scm as scm
    from equieffort import solvers as solvers
    from equieffort.data.parquet import Parquet as Parquet
    from equieffort.effort.criteria import Criteria as Criteria
    from equieffort.effort.criteria import OneSided as OneSided
    from equieffort.effort.criteria import TwoSided as TwoSided
    from equieffort.effort.inference import Holm as Holm
    from equieffort.effort.inference import Unadjusted as Unadjusted
    from equieffort.effort.matching import CoarsenedExact as CoarsenedExact
    from equieffort.effort.matching import ExactMatching as ExactMatching
    from equieffort.effort.matching import Matching as Matching
    from equieffort.effort.matching import NearestNeighbour as NearestNeighbour
    from equieffort.effort.matching import OptimalPairs as OptimalPairs
    from equieffort.effort.metrics import PAPER_QUANTILES as PAPER_QUANTILES
    from equieffort.effort.metrics import Centres as Centres
    from equieffort.effort.metrics import Jackknife as Jackknife
    from equieffort.effort.metrics import PaperBands as PaperBands
    from equieffort.effort.neighbours import Everyone as Everyone
    from equieffort.effort.neighbours import Nearest as Nearest
    from equieffort.effort.neighbours import NearestK as NearestK
    from equieffort.effort.verdict import Verdict as Verdict
    from equieffort.models.classifiers import LinearScore as LinearScore
    from equieffort.models.classifiers import ReLUNetwork as ReLUNetwork
    from equieffort.models.files import load_model as load_model
    from equieffort.monitor import Monitor as Monitor
    from equieffort.monitor import MonitorState as MonitorState
    from equieffort.notions.huang import ByRegression as ByRegression
    from equieffort.notions.huang import BySCM as BySCM
    from equieffort.notions.huang import ByWeighting as ByWeighting
    from equieffort.notions.huang import GammaRange as GammaRange
    from equieffort.notions.huang import Treatment as Treatment
    from equieffort.recourse.checkpoints import Checkpoint as Checkpoint
    from equieffort.recourse.problem import RecourseProblem as RecourseProblem
    from equieffort.recourse.solvers import Auto as Auto
    from equieffort.recourse.solvers import BranchAndBound as BranchAndBound
    from equieffort.recourse.solvers import LinearExact as LinearExact
    from equieffort.recourse.solvers import LinearSearch as LinearSearch
    from equieffort.recourse.solvers import Milp as Milp
    from equieffort.recourse.solvers import Search as Search
    from equieffort.recourse.solvers import SpatialBranchAndBound as SpatialBranchAndBound
    from equieffort.recourse.solvers import Status as Status
    from equieffort.recourse.solving import solve as solve
    from equieffort.recourse.table import RecourseTable as RecourseTable
    from equieffort.results.audit_file import load as load
    from equieffort.results.auditing import audit as audit
    from equieffort.results.audits import Audit as Audit
    from equieffort.results.comparison import AuditComparison as AuditComparison
    from equieffort.results.comparison import compare_audits as compare_audits
    from equieffort.results.explanation import Explanation as Explanation
    from equieffort.results.one_person import find_recourse as find_recourse
    from equieffort.results.power_analysis import Assumed as Assumed
    from equieffort.results.power_analysis import power as power
    from equieffort.results.resampling import Bootstrap as Bootstrap
    from equieffort.results.resampling import Equations as Equations
    from equieffort.results.resampling import Procedure as Procedure
    from equieffort.results.streaming import Streaming as Streaming
    from equieffort.spec import read_spec as read_spec
    from equieffort.spec.runs import run_spec as run_spec
    from equieffort.world.cost import Percentile as Percentile
    from equieffort.world.cost import Separable as Separable
    from equieffort.world.cost import WeightedL1 as WeightedL1
    from equieffort.world.distances import CausalDistance as CausalDistance
    from equieffort.world.distances import Euclidean as Euclidean
    from equieffort.world.distances import Manhattan as Manhattan
    from equieffort.world.distances import OwnDistance as OwnDistance
    from equieffort.world.graph import CausalGraph as CausalGraph
    from equieffort.world.labels import Labels as Labels
    from equieffort.world.opponents import AllPairs as AllPairs
    from equieffort.world.opponents import Rest as Rest
    from equieffort.world.rules import Always as Always
    from equieffort.world.rules import Forbidden as Forbidden
    from equieffort.world.rules import Implies as Implies
    from equieffort.world.rules import Monotone as Monotone
    from equieffort.world.rules import Sum as Sum
    from equieffort.world.rules import parse_rule as parse_rule
    from equieffort.world.scales import MAD as MAD
    from equieffort.world.scales import Own as Own
    from equieffort.world.scales import Range as Range
    from equieffort.world.scales import Std as Std
    from equieffort.world.schema import Feature as Feature
    from equieffort.world.schema import Schema as Schema
    from equieffort.world.scm import CumulativeLogit as CumulativeLogit
    from equieffort.world.scm import Function as Function
    from equieffort.world.scm import LeastSquares as LeastSquares
    from equieffort.world.scm import Linear as Linear
    from equieffort.world.scm import Ordinal as Ordinal
    from equieffort.world.scm import Polynomial as Polynomial
    from equieffort.world.scm import Probabilities as Probabilities
    from equieffort.world.scm import Product as Product
    from equieffort.world.scm import Ratio as Ratio
    from equieffort.world.scm import Regressor as Regressor
    from equieffort.world.scm import Spline as Spline
    from equieffort.world.scm import StructuralCausalModel as StructuralCausalModel
    from equieffort.world.scm import Terms as Terms

__all__ = [
    "Audit",
    "Criteria",
    "Feature",
    "Labels",
    "LinearScore",
    "Monitor",
    "ReLUNetwork",
    "RecourseProblem",
    "Schema",
    "StructuralCausalModel",
    "audit",
    "compare_audits",
    "costs",
    "datasets",
    "errors",
    "find_recourse",
    "load",
    "load_model",
    "measures",
    "power",
    "rules",
    "run_spec",
    "scale",
    "scm",
    "solve",
    "solvers",
    "__version__",
]
"""What is shown first."""

_ROOMS: dict[str, tuple[str, ...]] = {
    "world.graph": ("CausalGraph",),
    "world.labels": ("Labels",),
    "world.opponents": ("AllPairs", "Rest"),
    "world.schema": ("Feature", "Schema"),
    "world.rules": ("Always", "Forbidden", "Implies", "Monotone", "Sum", "parse_rule"),
    "world.scm": (
        "CumulativeLogit",
        "Function",
        "LeastSquares",
        "Linear",
        "Ordinal",
        "Polynomial",
        "Probabilities",
        "Product",
        "Ratio",
        "Regressor",
        "Spline",
        "StructuralCausalModel",
        "Terms",
    ),
    "world.scales": ("MAD", "Own", "Range", "Std"),
    "world.cost": ("Percentile", "Separable", "WeightedL1"),
    "world.distances": ("CausalDistance", "Euclidean", "Manhattan", "OwnDistance"),
    "models.classifiers": ("LinearScore", "ReLUNetwork"),
    "models.files": ("load_model",),
    "data.parquet": ("Parquet",),
    "recourse.checkpoints": ("Checkpoint",),
    "recourse.problem": ("RecourseProblem",),
    "recourse.solvers": (
        "Auto",
        "BranchAndBound",
        "LinearExact",
        "LinearSearch",
        "Milp",
        "Search",
        "SpatialBranchAndBound",
        "Status",
    ),
    "recourse.solving": ("solve",),
    "recourse.table": ("RecourseTable",),
    "effort.neighbours": ("Everyone", "Nearest", "NearestK"),
    "effort.matching": ("CoarsenedExact", "ExactMatching", "Matching", "NearestNeighbour", "OptimalPairs"),
    "effort.metrics": ("Centres", "Jackknife", "PAPER_QUANTILES", "PaperBands"),
    "effort.criteria": ("Criteria", "OneSided", "TwoSided"),
    "effort.inference": ("Holm", "Unadjusted"),
    "effort.verdict": ("Verdict",),
    "notions.huang": ("ByRegression", "BySCM", "ByWeighting", "GammaRange", "Treatment"),
    "results.auditing": ("audit",),
    "results.audits": ("Audit",),
    "results.comparison": ("AuditComparison", "compare_audits"),
    "results.audit_file": ("load",),
    "results.explanation": ("Explanation",),
    "results.one_person": ("find_recourse",),
    "results.power_analysis": ("Assumed", "power"),
    "results.resampling": ("Bootstrap", "Equations", "Procedure"),
    "results.streaming": ("Streaming",),
    "spec": ("read_spec",),
    "spec.runs": ("run_spec",),
    "monitor": ("Monitor", "MonitorState"),
}
"""The names that users take from this package, by the room they live in."""
_NAMES = {name: room for room, names in _ROOMS.items() for name in names}
_MODULES = ("costs", "datasets", "errors", "measures", "rules", "scale", "scm", "solvers")
"""Modules that are opened by name."""

# As libraries should: nothing is printed unless whoever calls asks for it (docs/results.md).
logging.getLogger("equieffort").addHandler(logging.NullHandler())


if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> Any:
        if name in _NAMES:
            value = getattr(importlib.import_module(f"equieffort.{_NAMES[name]}"), name)
        elif name in _MODULES:
            value = importlib.import_module(f"equieffort.{name}")
        else:
            raise AttributeError(f"module 'equieffort' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
