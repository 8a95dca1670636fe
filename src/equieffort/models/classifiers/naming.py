"""What a model is called where people read of it."""

from __future__ import annotations

from typing import Any


def model_name(model: Any) -> str:
    """The name of its class; of one that a file was read into, what kind of file: our own classes say nothing to users.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model_name(LogisticRegression())
    'LogisticRegression'
    """
    kind = type(model)
    told = getattr(kind, "told_as", None)
    return told if isinstance(told, str) and kind.__module__.startswith("equieffort.") else kind.__name__
