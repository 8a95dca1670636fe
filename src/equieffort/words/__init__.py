"""Where facts become sentences, once for each audience: whoever calls Python, writes a spec, or reads the report."""

from equieffort.words.infeasibility import infeasibility
from equieffort.words.limits import limit_text, obstacle_text
from equieffort.words.reasons import in_python, in_report, in_spec, told
from equieffort.words.termination import termination

__all__ = [
    "in_python", "in_report", "in_spec", "infeasibility", "limit_text", "obstacle_text", "termination", "told",
]  # fmt: skip
