"""Must some groups of people work harder than others to turn a "no" into a "yes"?

Names are resolved on first use (PEP 562), so importing this package is cheap and has no side effects.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_ROOMS: dict[str, tuple[str, ...]] = {
    "world.graph": ("CausalGraph",),
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
    "recourse.problem": ("RecourseProblem",),
    "recourse.solvers": ("Auto", "BranchAndBound", "LinearExact", "Milp", "Search", "SpatialBranchAndBound", "Status"),
    "recourse.solving": ("solve",),
    "recourse.table": ("RecourseTable",),
    "effort.neighbours": ("Everyone", "Nearest", "NearestK"),
    "effort.metrics": ("Centres", "Jackknife", "PAPER_QUANTILES", "PaperBands"),
    "effort.criteria": ("Criteria", "OneSided", "TwoSided"),
    "effort.inference": ("Holm", "Unadjusted"),
    "effort.verdict": ("Verdict",),
    "notions.huang": ("ByRegression", "BySCM", "ByWeighting", "GammaRange"),
    "results.audits": ("Audit", "audit"),
    "results.comparison": ("AuditComparison", "compare_audits"),
    "results.audit_file": ("load",),
    "results.power_analysis": ("Assumed", "power"),
    "results.resampling": ("Bootstrap", "Equations", "Procedure"),
    "spec": ("read_spec",),
    "spec.runs": ("run_spec",),
    "monitor": ("Monitor", "MonitorState"),
}
"""The names that users take from this package, by the room they live in."""
_NAMES = {name: room for room, names in _ROOMS.items() for name in names}
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
