"""Must some groups of people work harder than others to turn a "no" into a "yes"?

Names are resolved on first use (PEP 562), so importing this package is cheap and has no side effects.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES: dict[str, str] = {
    "Always": "world.rules",
    "Audit": "results.audits",
    "AuditComparison": "results.comparison",
    "Assumed": "results.power_analysis",
    "Auto": "recourse.solvers",
    "Bootstrap": "results.resampling",
    "BranchAndBound": "recourse.solvers",
    "CausalGraph": "world.graph",
    "Centres": "effort.metrics",
    "Criteria": "effort.criteria",
    "CumulativeLogit": "world.scm",
    "SpatialBranchAndBound": "recourse.solvers",
    "Equations": "results.resampling",
    "Euclidean": "world.distances",
    "Everyone": "effort.neighbours",
    "Feature": "world.schema",
    "Forbidden": "world.rules",
    "Function": "world.scm",
    "Holm": "effort.inference",
    "Implies": "world.rules",
    "Jackknife": "effort.metrics",
    "LeastSquares": "world.scm",
    "Linear": "world.scm",
    "LinearExact": "recourse.solvers",
    "LinearScore": "models.classifiers",
    "OneSided": "effort.criteria",
    "MAD": "world.scales",
    "Manhattan": "world.distances",
    "Milp": "recourse.solvers",
    "Monitor": "monitor",
    "MonitorState": "monitor",
    "Monotone": "world.rules",
    "Nearest": "effort.neighbours",
    "NearestK": "effort.neighbours",
    "Ordinal": "world.scm",
    "Own": "world.scales",
    "OwnDistance": "world.distances",
    "PAPER_QUANTILES": "effort.metrics",
    "PaperBands": "effort.metrics",
    "Percentile": "world.cost",
    "Polynomial": "world.scm",
    "Probabilities": "world.scm",
    "Procedure": "results.resampling",
    "Range": "world.scales",
    "ReLUNetwork": "models.classifiers",
    "RecourseProblem": "recourse.problem",
    "RecourseTable": "recourse.table",
    "Regressor": "world.scm",
    "Schema": "world.schema",
    "Search": "recourse.solvers",
    "Separable": "world.cost",
    "Spline": "world.scm",
    "Status": "recourse.solvers",
    "Std": "world.scales",
    "StructuralCausalModel": "world.scm",
    "Sum": "world.rules",
    "Terms": "world.scm",
    "TwoSided": "effort.criteria",
    "Unadjusted": "effort.inference",
    "Verdict": "effort.verdict",
    "WeightedL1": "world.cost",
    "audit": "results.audits",
    "compare_audits": "results.comparison",
    "load": "results.audit_file",
    "load_model": "models.files",
    "parse_rule": "world.rules",
    "power": "results.power_analysis",
    "read_spec": "spec",
    "run_spec": "spec.runs",
    "solve": "recourse.solving",
}
_MODULES: dict[str, str] = {
    "costs": "world.cost",
    "datasets": "datasets",
    "errors": "errors",
    "measures": "effort.measures",
    "rules": "world.rules",
    "scm": "world.scm",
    "solvers": "recourse.solvers",
}
"""Rooms that users open by name."""

__all__ = ["__version__", *_MODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(f"equieffort.{_NAMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"equieffort.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'equieffort' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
