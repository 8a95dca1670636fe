"""How an audit of a surrogate that was kept is repeated: the keys of the spec that change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equieffort.words.settings import yaml_literal


def kept_model(path: str, trusted: Sequence[str], favourable: Any) -> str:
    """The model and what it calls the decision people want, as a spec says it.

    >>> kept_model("out.surrogate.skops", [], "approved")
    "model: {path: 'out.surrogate.skops'}, outcome: {favourable: 'approved'}"
    """
    vouched = f", trusted: {yaml_literal(list(trusted))}" if trusted else ""
    return f"model: {{path: {yaml_literal(path)}{vouched}}}, outcome: {{favourable: {yaml_literal(favourable)}}}"
