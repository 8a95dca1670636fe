"""What our JSON files begin with: a format, a version, and no name twice."""

from __future__ import annotations

import json
from typing import Any


def read_json(content: bytes) -> Any:
    """JSON in which no name occurs twice: of two values readers could believe different ones."""
    return json.loads(content, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name in it occurs twice")
    return found


def other_version(payload: Any, form: str, version: int) -> Any:
    """The version a file says it has, where it is not the one that is read; None if it is.

    >>> other_version({"format": "f", "version": 1}, "f", 2), other_version({"format": "f", "version": 2}, "f", 2)
    ('1', None)
    """
    if not isinstance(payload, dict) or payload.get("format") != form:
        raise ValueError("it does not say that it is one")
    found = payload.get("version")
    # True is no version, although it equals 1.
    return None if type(found) is int and found == version else str(found)
