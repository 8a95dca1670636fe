"""What a table says of somebody without a proven action, for each audience."""

from __future__ import annotations

from equieffort.recourse.status import Infeasibility, Reason
from equieffort.words.audience import PYTHON, REPORT, SPEC, Audience
from equieffort.words.infeasibility import infeasibility
from equieffort.words.termination import termination


def in_python(fact: Reason) -> str:
    """For whoever calls Python: with the person's numbers, and the argument that would help."""
    return _say(fact, PYTHON)


def in_spec(fact: Reason) -> str:
    """For whoever writes a spec: with the person's numbers, and the key that would help."""
    return _say(fact, SPEC)


def in_report(fact: Reason) -> str:
    """For whoever reads the report: what people have in common, nothing that is about one of them."""
    return _say(fact, REPORT)


def told(fact: Reason | None, audience: str = "python") -> str:
    """The sentence in a table of people; empty where there is nothing to say."""
    return "" if fact is None else in_spec(fact) if audience == "spec" else in_python(fact)


def _say(fact: Reason, audience: Audience) -> str:
    return infeasibility(fact, audience) if isinstance(fact, Infeasibility) else termination(fact, audience)
