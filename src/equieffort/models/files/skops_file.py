"""skops: scikit-learn models as a zip of arrays and a list of types; only known types are built."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from equieffort.data.archive import most_unpacked
from equieffort.errors import ModelError, Setting, listed
from equieffort.models.files.native_trees import check_trees
from equieffort.models.files.optional import broken, need
from equieffort.models.files.pickles import is_pickle, refuse
from equieffort.models.files.probe import probe

UNPACKED = 2 << 30
"""Bytes; an archive that unpacks to more is refused before it is unpacked."""
TREES, OTHERS = (b"sklearn.tree._tree", b"_hist_gradient_boosting"), (b"sklearn.svm", b"sklearn.neighbors")
"""Models that compiled code walks by indices of theirs: read in a child process first. Trees are looked through once
they are here; the others are also asked there."""


def read_skops(data: bytes, path: Path, trusted: Collection[str] = ()) -> Any:
    """The object in a skops file, if every type in it is one skops knows to be harmless or is in `trusted`."""
    schema = _check_archive(data, path)
    skops = need("skops.io", "skops", path)
    try:
        untrusted = [name for name in skops.get_untrusted_types(data=data) if name not in set(trusted)]
    except Exception as error:
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error
    if untrusted:
        raise ModelError(
            "MODEL_UNTRUSTED",
            f"{path.name!r} asks for {listed(untrusted, 20)}, which skops does not know to be harmless.",
            fix=(
                "If you know them and who made the file, ",
                Setting("trusted", untrusted),
                "; else save a model without them.",
            ),
        )
    if any(name in schema for name in TREES + OTHERS):
        probe("skops", data, path, trusted=list(trusted), ask=any(name in schema for name in OTHERS))
    try:
        model = skops.loads(data, trusted=list(trusted))
        check_trees(model)
    except Exception as error:
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error
    return model


def _check_archive(data: bytes, path: Path) -> bytes:
    """The description of what is in the archive, once its sizes were looked at."""
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
    size, most = sum(member.file_size for member in members), min(UNPACKED, most_unpacked(len(data)))
    if size > most:
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} unpacks to {size:,} bytes; more than {most:,} are not read.",
            fix="Check where the file comes from.",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read("schema.json")
    except Exception as error:
        # Damage shows as errors of zip, of each way of packing and of the system.
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error
