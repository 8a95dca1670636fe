"""Pickles: known by their name or their first bytes, refused with a way out, and read only on demand.

Unpickling runs whatever the file says. Looking at its first bytes runs nothing.
"""

from __future__ import annotations

import bz2
import io
import lzma
import pickletools
import zlib
from pathlib import Path
from typing import Any

from equieffort.errors import ModelError, Setting, sentence
from equieffort.models.files.shared import bad_file, need

SUFFIXES = (".pkl", ".pickle", ".joblib", ".p", ".pk", ".sav", ".dill", ".cloudpickle", ".pt", ".pth")
HEAD = 1 << 16
"""So many bytes of a compressed file are unpacked to look at."""


def is_pickle(data: bytes) -> bool:
    """Whether bytes are a pickle, plain or compressed as joblib does; nothing is executed.

    >>> import pickle
    >>> is_pickle(pickle.dumps([1])), is_pickle(zlib.compress(pickle.dumps([1]))), is_pickle(b'{"learner": 1}')
    (True, True, False)
    """
    return _plain(data) or _plain(_unpacked(data))


def _plain(data: bytes) -> bool:
    if len(data) > 1 and data[0] == 0x80 and data[1] <= 5:
        return True
    # Protocols 0 and 1 have no mark of their own: they are what can be read as instructions up to the stop.
    try:
        return any(code.name == "STOP" for code, _, _ in pickletools.genops(data))
    except Exception:
        return False


def _unpacked(data: bytes) -> bytes:
    """The beginning of a compressed file, or nothing."""
    try:
        if data[:2] == b"\x1f\x8b":
            return zlib.decompressobj(wbits=31).decompress(data, HEAD)
        if data[:1] == b"\x78":
            return zlib.decompressobj().decompress(data, HEAD)
        if data[:3] == b"BZh":
            return bz2.BZ2Decompressor().decompress(data, HEAD)
        if data[:6] == b"\xfd7zXZ\x00" or data[:3] == b"\x5d\x00\x00":
            return lzma.LZMADecompressor().decompress(data, HEAD)
    except (zlib.error, OSError, ValueError, EOFError, lzma.LZMAError):
        pass
    return b""


def disguised(data: bytes, path: Path) -> ModelError | None:
    """The error for a pickle under another name; None if it is none."""
    return refuse(path) if is_pickle(data) else None


def refuse(path: Path) -> ModelError:
    """The error for a pickle, with the two lines that convert it."""
    named = path.suffix.lower() in SUFFIXES
    source = path.name if named else path.stem + ".pkl"
    what = f"{path.name!r} is a pickle, and reading a pickle runs whatever it says."
    if not named:
        what = f"{path.name!r} is a pickle under another name, and reading a pickle runs whatever it says."
    return ModelError(
        "MODEL_PICKLE",
        what,
        fix=(
            "If you know who made it, convert it once where it was made:\n"
            "    import joblib, skops.io\n"
            f"    skops.io.dump(joblib.load({source!r}), {path.stem + '.skops'!r})\n",
            *(("  Or read it as it is, with ", Setting("unsafe_load_pickle"), ".") if named else ()),
            *(() if named else ("  A disguised pickle is never read.",)),
        ),
    )


def unpickle(data: bytes, path: Path) -> Any:
    """Run a pickle; only ever called when the user said so."""
    joblib = need("joblib", "skops", path)
    try:
        return joblib.load(io.BytesIO(data))
    except Exception as error:
        raise bad_file(
            f"{path.name!r} could not be unpickled: {type(error).__name__}: {sentence(error)}",
            fix="Read it where its libraries are installed, in the versions that saved it.",
        ) from error
