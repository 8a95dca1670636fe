"""A fitted model as a skops file: the same model gives the same bytes, so that its hash names it."""

from __future__ import annotations

import io
import json
import zipfile
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from equieffort.models.files.kept import FACTS, Kept, facts_bytes

SCHEMA = "schema.json"
WHEN = (1980, 1, 1, 0, 0, 0)
"""The date of every part: a clock would make each file another one."""


def can_write() -> bool:
    """Whether skops is installed here."""
    return find_spec("skops") is not None


def skops_bytes(model: Any, kept: Kept | None = None) -> tuple[bytes, list[str]]:
    """The file, and the types in it that whoever reads it must vouch for; of a surrogate with the facts about it.

    skops names parts by their address in memory, which differs from run to run: here they are counted.
    """
    skops: Any = import_module("skops.io")
    raw = skops.dumps(model)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    counted = _Counted()
    schema = counted.walk(json.loads(parts.pop(SCHEMA)))
    named = {counted.name(name): _settled(content) for name, content in parts.items()}
    named[SCHEMA] = json.dumps(schema, indent=1).encode()
    if kept is not None:
        named[FACTS] = facts_bytes(kept, named)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(named):
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, named[name])
    data = made.getvalue()
    return data, list(skops.get_untrusted_types(data=data))


class _Counted:
    """Addresses by the order in which they are met."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def walk(self, part: Any) -> Any:
        """The same description with counted names."""
        if isinstance(part, list):
            return [self.walk(one) for one in part]
        if not isinstance(part, dict):
            return part
        found: dict[str, Any] = {}
        for key, value in part.items():
            if key == "__id__" and isinstance(value, int):
                found[key] = self.known.setdefault(value, len(self.known))
            elif key == "file" and isinstance(value, str):
                found[key] = self.name(value)
            else:
                found[key] = self.walk(value)
        return found

    def name(self, file: str) -> str:
        """The name of a part's file."""
        stem, dot, suffix = file.partition(".")
        return f"{self.known.setdefault(int(stem), len(self.known))}{dot}{suffix}" if stem.isdigit() else file


def _settled(content: bytes) -> bytes:
    """Arrays of records without what happens to lie between their fields."""
    if not content.startswith(b"\x93NUMPY"):
        return content
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if array.dtype.names is None:
        return content
    clean = np.zeros(array.shape, dtype=array.dtype)
    for name in array.dtype.names:
        clean[name] = array[name]
    made = io.BytesIO()
    np.save(made, clean, allow_pickle=False)
    return made.getvalue()
