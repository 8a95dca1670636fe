"""The second wall: a model that its own library must read is read and asked in a child process first, which may die.

The readers of model files check what they know of a format. What they do not know could still end the process, or never
end. So a file that passed is tried once in a process of its own, with limits on time and memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from equieffort.errors import ModelError
from equieffort.models.files import child

SECONDS, SECONDS_A_MEGABYTE = 10, 1
"""Of computing; somebody who shares a machine may wait six times as long."""
PATIENCE = 6
MEMORY, TIMES = 8 << 30, 16
"""Bytes, and bytes for each of the file."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

STOPPED = {getattr(signal, name, None) for name in ("SIGXCPU", "SIGKILL")}
"""How the system ends a process that takes too long, or too much memory."""

_lived: set[str] = set()
"""Digests of what was tried in this process and did no harm."""


def probe(kind: str, data: bytes, path: Path, **more: Any) -> None:
    """Refuse a file that ends its library's process, does not come to an end, or takes too much memory.

    `more` is what the child must know: the path of a library, the number of columns, trusted types.
    """
    seconds = _seconds(data)
    digest = hashlib.sha256(json.dumps([kind, more]).encode() + data).hexdigest()
    if digest in _lived or not sys.executable:
        return
    try:
        ended = _run(kind, data, **more).returncode
    except subprocess.TimeoutExpired as error:
        raise _refusal(path, f"is still being read or asked after {PATIENCE * seconds} seconds") from error
    except OSError:
        return  # no process can be started here: what was checked before must do
    if ended == child.NO_MEMORY:
        raise _refusal(path, f"needs more than {_memory(data) >> 30} GiB of memory to be read and asked")
    if -ended in STOPPED:
        raise _refusal(path, f"takes more than {seconds} seconds of computing, or too much memory, to be read")
    if ended not in (child.FINE, child.NOT_ASKED, child.NO_LIBRARY):
        raise _refusal(path, f"ends the process of the library that reads it ({_how(ended)})")
    _lived.add(digest)


def _seconds(data: bytes) -> int:
    return SECONDS + SECONDS_A_MEGABYTE * (len(data) >> 20)


def _memory(data: bytes) -> int:
    return MEMORY + TIMES * len(data)


def _run(kind: str, data: bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    limits = {"seconds": _seconds(data), "bytes": _memory(data)}
    head = json.dumps({"kind": kind, "path": sys.path, **limits, **more}).encode()
    return subprocess.run(
        [sys.executable, child.__file__],
        input=struct.pack("<Q", len(head)) + head + data,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        timeout=PATIENCE * _seconds(data), env=os.environ | ONE_THREAD, check=False,
    )  # fmt: skip


def _how(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


def _refusal(path: Path, what: str) -> ModelError:
    return ModelError(
        "MODEL_CRASH",
        f"{path.name!r} {what}.",
        fix="Save the model again with the library that trained it; a file of unknown origin is better left alone.",
    )
