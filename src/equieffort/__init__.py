"""Must some groups of people work harder than others to turn a "no" into a "yes"?

Names are resolved on first use (PEP 562), so importing this package is cheap and has no side effects.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES: dict[str, str] = {
    "Always": "rules",
    "Audit": "_audit",
    "AuditComparison": "comparison",
    "Assumed": "_power",
    "Auto": "solvers",
    "Bootstrap": "resampling",
    "BranchAndBound": "solvers",
    "CausalGraph": "graph",
    "Centres": "metrics",
    "Criteria": "criteria",
    "CumulativeLogit": "scm",
    "Curved": "solvers",
    "Equations": "resampling",
    "Euclidean": "distances",
    "Everyone": "neighbours",
    "Feature": "schema",
    "Forbidden": "rules",
    "Function": "scm",
    "Holm": "inference",
    "Implies": "rules",
    "Jackknife": "metrics",
    "LeastSquares": "scm",
    "Linear": "scm",
    "LinearExact": "solvers",
    "LinearScore": "classifiers",
    "Literal": "criteria",
    "MAD": "scales",
    "Manhattan": "distances",
    "Milp": "solvers",
    "Monitor": "monitor",
    "MonitorState": "monitor",
    "Monotone": "rules",
    "Nearest": "neighbours",
    "NearestK": "neighbours",
    "Ordinal": "scm",
    "Own": "scales",
    "OwnDistance": "distances",
    "PAPER_QUANTILES": "metrics",
    "PaperBands": "metrics",
    "Percentile": "cost",
    "Polynomial": "scm",
    "Probabilities": "scm",
    "Procedure": "resampling",
    "Range": "scales",
    "ReLUNetwork": "classifiers",
    "RecourseProblem": "problem",
    "RecourseTable": "table",
    "Regressor": "scm",
    "Schema": "schema",
    "Search": "solvers",
    "Separable": "cost",
    "Spline": "scm",
    "Status": "solvers",
    "Std": "scales",
    "StructuralCausalModel": "scm",
    "Sum": "rules",
    "Terms": "scm",
    "TwoSided": "criteria",
    "Unadjusted": "inference",
    "Verdict": "verdict",
    "WeightedL1": "cost",
    "audit": "_audit",
    "compare_audits": "comparison",
    "load": "files",
    "parse_rule": "rules",
    "power": "_power",
    "read_spec": "spec",
    "run_spec": "runs",
    "solve": "recourse",
}
_MODULES = ("datasets", "errors", "measures")

__all__ = ["__version__", *_MODULES, *_NAMES]


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
