"""One monitor, one file: JSON with a checksum, written aside and renamed, and checked whole before it is believed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.data.regular import read_regular
from equieffort.errors import EquieffortError, MonitorError, sentence
from equieffort.foundations.arguments import check_path
from equieffort.foundations.saved import as_data, from_data, from_hints, other_version, read_json
from equieffort.monitor.checks import check_state
from equieffort.monitor.evidence import RATIOS, STAKES, Evidence
from equieffort.monitor.state import Batch, Fixed, MonitorState

FORMAT, VERSION = "equieffort-monitor", 1
MOST_BYTES = 200_000_000
SHAPES = {"wealth": (2, len(STAKES)), "grid": (2, len(RATIOS), len(STAKES)), "waiting": (2, 3), "seen": (2, 3)}

_EVIDENCE = dict.fromkeys((*SHAPES, "rejected"), str)


def read_state(path: str | os.PathLike[str]) -> tuple[MonitorState, str]:
    """The state in a file, and the hash of the file as it was read."""
    check_path("state", path, "the path of a monitor's state", error=MonitorError, code="MONITOR_STATE")
    source = Path(path)
    try:
        raw = read_regular(source, MOST_BYTES)
    except OSError as error:
        raise MonitorError(
            "MONITOR_STATE",
            f"The state {str(source)!r} cannot be read: {sentence(error.strerror or error)}",
            fix="Check the path, and who may read it.",
        ) from None
    return _parsed(source, raw), hashlib.sha256(raw).hexdigest()


def _parsed(source: Path, raw: bytes) -> MonitorState:
    try:
        return _rebuild(source, read_json(raw))
    except MonitorError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, EquieffortError, binascii.Error) as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise MonitorError(
            "MONITOR_STATE",
            f"{str(source)!r} is no complete state of a monitor: {kind}{sentence(error)}",
            fix="Restore the last good copy; or start a new monitor under another name, which begins without evidence.",
        ) from error


def write_state(path: Path, state: MonitorState, before: str | None) -> str:
    """Write the state so that it appears whole or not at all; returns the file's hash.

    `before` is the hash of the file that it goes on from: another state that was written meanwhile is not lost.
    """
    content = to_bytes(state)
    # What could not be read again must not take the place of what can.
    _parsed(path, content)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if current_hash(path) != before:
            raise MonitorError(
                "RUN_CHANGED",
                f"{str(path)!r} was changed by somebody else while the batch was solved.",
                fix="Count one batch at a time; run this one again.",
            )
        os.replace(partial, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise MonitorError(
            "RUN_WRITE",
            f"{str(path)!r} could not be written: {sentence(error.strerror or error)}",
            fix="Make room, and run the batch again; the state is as it was before.",
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return hashlib.sha256(content).hexdigest()


def current_hash(path: Path) -> str | None:
    """The hash of a file; None if there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power failure, where the system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def to_bytes(state: MonitorState) -> bytes:
    """The content of the file."""
    payload = {
        "format": FORMAT,
        "version": VERSION,
        "fixed": as_data(state.fixed),
        "gathered": [_evidence(one) for one in state.gathered],
        "batches": as_data(state.batches),
    }
    return (json.dumps(payload | {"sha256": _checksum(payload)}, indent=1) + "\n").encode()


def _checksum(payload: dict[str, Any]) -> str:
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _evidence(one: Evidence) -> dict[str, str]:
    arrays = {name: base64.b64encode(getattr(one, name).astype("<f8").tobytes()).decode() for name in SHAPES}
    return arrays | {"rejected": "".join("01"[int(flag)] for flag in one.rejected.ravel())}


def _rebuild(source: Path, payload: Any) -> MonitorState:
    if (other := other_version(payload, FORMAT, VERSION)) is not None:
        raise MonitorError(
            "MONITOR_STATE",
            f"{str(source)!r} has state version {other}; this equieffort reads version {VERSION}.",
            fix="Use the version of equieffort that wrote it, or start a new monitor.",
        )
    # Half a character, as cut text leaves behind, cannot be shown.
    json.dumps(payload, ensure_ascii=False).encode()
    if payload.pop("sha256", None) != _checksum(payload):
        raise ValueError("its checksum does not fit what it holds")
    for name in ("fixed", "gathered", "batches"):
        if not payload.get(name):
            raise ValueError(f"{name!r} does not hold what it should")
    state = MonitorState(
        from_data(Fixed, payload["fixed"], "fixed"),
        tuple(_read_evidence(one) for one in payload["gathered"]),
        from_data(tuple[Batch, ...], payload["batches"], "batches"),
    )
    check_state(state)
    return state


def _read_evidence(given: Any) -> Evidence:
    said = from_hints(_EVIDENCE, given, "gathered")
    arrays = {name: _array(said[name], shape) for name, shape in SHAPES.items()}
    flags, shape = said["rejected"], SHAPES["grid"][:2]
    if len(flags) != math.prod(shape) or set(flags) - {"0", "1"}:
        raise ValueError("its list of rejected ratios is no list of them")
    return Evidence(**arrays, rejected=np.array([flag == "1" for flag in flags]).reshape(shape))


def _array(text: str, shape: tuple[int, ...]) -> Floats:
    raw = base64.b64decode(text, validate=True)
    if len(raw) != 8 * math.prod(shape):
        raise ValueError("an array in it has another length than it should")
    return np.frombuffer(raw, dtype="<f8").astype(np.float64).reshape(shape)
