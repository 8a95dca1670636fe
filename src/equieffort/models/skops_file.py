"""skops: scikit-learn models as a zip of arrays and a list of types; only known types are built."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from equieffort.errors import ModelError, listed
from equieffort.models.optional import broken, need
from equieffort.models.pickles import is_pickle, refuse

UNPACKED = 2 << 30
"""Bytes; an archive that unpacks to more is refused before it is unpacked."""


def read_skops(data: bytes, path: Path, trusted: Collection[str] = ()) -> Any:
    """The object in a skops file, if every type in it is one skops knows to be harmless or is in `trusted`."""
    _check_archive(data, path)
    skops = need("skops.io", "skops", path)
    try:
        untrusted = [name for name in skops.get_untrusted_types(data=data) if name not in set(trusted)]
    except Exception as error:
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error
    if untrusted:
        raise ModelError(
            "MODEL_UNTRUSTED",
            f"{path.name!r} asks for {listed(untrusted, 20)}, which skops does not know to be harmless.",
            fix=f"If you know them and who made the file, pass trusted={untrusted!r} to load_model; "
            "else save a model without them.",
        )
    try:
        return skops.loads(data, trusted=list(trusted))
    except Exception as error:
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error


def _check_archive(data: bytes, path: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        if is_pickle(data):
            raise refuse(path) from error
        raise broken(path, "skops", error) from error
    if any(member.filename.endswith(".pkl") for member in members):
        raise refuse(path)
    if not any(member.filename == "schema.json" for member in members):
        raise broken(path, "skops", "the archive has no schema.json")
    size = sum(member.file_size for member in members)
    if size > UNPACKED:
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} unpacks to {size:,} bytes; more than {UNPACKED:,} are not read.",
            fix="Check where the file comes from.",
        )
