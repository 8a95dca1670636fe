"""One monitor, one file: JSON with a checksum, written aside and renamed, and checked whole before it is believed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.data.regular import read_regular, written_aside
from equieffort.errors import EquieffortError, MonitorError, sentence
from equieffort.foundations.arguments import check_path
from equieffort.foundations.saved import as_data, from_data, from_hints, other_version, read_json
from equieffort.monitor.evidence import COUNT, HIGH, LOW, RATIOS, STAKES, Evidence, Peak
from equieffort.monitor.state import MEASURES, Batch, Fixed, MonitorState, reading
from equieffort.world.opponents import EVERYBODY_ELSE

FORMAT, VERSION = "equieffort-monitor", 3
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
    fix = "Make room, and run the batch again; the state is as it was before."
    with written_aside(path, fix, MonitorError) as partial:
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
    _sync_folder(path.parent)
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


# -- a state must agree with itself -----------------------------------------------------------------------------------

NEAR = 1e-9
_HASH = re.compile(r"[0-9a-f]{64}")


def check_state(state: MonitorState) -> None:
    """Refuse a state that contradicts itself: no number in it may be one that no batches could have led to."""
    for what, wrong in CHECKS:
        if wrong(state):
            raise ValueError(what)


def _fixed_wrong(state: MonitorState) -> bool:
    fixed = state.fixed
    in_range = 1 <= fixed.tau < math.inf and 0 < fixed.level < 1 and 0 < fixed.budget < math.inf
    lists = (fixed.compared, fixed.labels, fixed.sensitive, fixed.measures)
    once = all(len(set(names)) == len(names) for names in lists)
    labels, apart = set(fixed.labels), all(a != b for a, b in fixed.compared)
    named = all(a in labels and b in {*labels, EVERYBODY_ELSE} for a, b in fixed.compared)
    groups = bool(fixed.compared) and apart and named
    measures = bool(fixed.measures) and set(fixed.measures) <= set(MEASURES)
    return not (in_range and once and groups and measures)


def _counted_wrong(state: MonitorState) -> bool:
    pairs = len(state.fixed.pairs)
    return len(state.gathered) != pairs or any(len(batch.readings) != pairs for batch in state.batches)


def _wealth_wrong(state: MonitorState) -> bool:
    # A block multiplies a wealth by at least 1 minus the largest stake.
    least = math.log1p(-STAKES[-1]) * sum(batch.people for batch in state.batches) - NEAR
    most = math.log1p(STAKES[-1] * max(1 / RATIOS[0], RATIOS[-1])) * sum(batch.people for batch in state.batches) + NEAR
    arrays = [array for one in state.gathered for array in (one.wealth, one.grid)]
    return any(not ((array >= least) & (array <= most)).all() for array in arrays)


def _tally_wrong(state: MonitorState) -> bool:
    return any(_tallies(one) for one in state.gathered)


def _tallies(one: Evidence) -> bool:
    for tally in (one.waiting, one.seen):
        counts, low, high = tally[:, COUNT], tally[:, LOW], tally[:, HIGH]
        whole = np.isfinite(tally).all() and (counts == np.rint(counts)).all() and (counts >= 0).all()
        if not (whole and (low >= 0).all() and (low <= high + NEAR).all() and (high <= counts + NEAR).all()):
            return True
    both_wait = bool((one.waiting[:, COUNT] > 0).all())
    return both_wait or bool((one.waiting > one.seen + NEAR * (1 + one.seen)).any())


def _readings_wrong(state: MonitorState) -> bool:
    """Whether the last line of the history is not what the evidence says."""
    for one, told in zip(state.gathered, state.batches[-1].readings, strict=True):
        now = reading(one, Peak(told.peak, told.side))
        for name in told.__dataclass_fields__:
            mine, theirs = getattr(now, name), getattr(told, name)
            if not (mine == theirs or (math.isnan(mine) and math.isnan(theirs)) or math.isclose(mine, theirs)):
                return True
    return False


def _history_wrong(state: MonitorState) -> bool:
    for batch in state.batches:
        if not 0 <= batch.unsettled <= batch.refused <= batch.people or batch.people < 1:
            return True
        if any(one.side not in (0, 1) or not one.peak >= one.log_e - NEAR for one in batch.readings):
            return True
    for k in range(len(state.fixed.pairs)):
        counts = [(0, 0), *((b.readings[k].n, b.readings[k].n_against) for b in state.batches)]
        for (old, now), batch in zip(pairwise(counts), state.batches, strict=True):
            more = (now[0] - old[0], now[1] - old[1])
            if min(more) < 0 or sum(more) > batch.people:
                return True
    return False


def _dates_wrong(state: MonitorState) -> bool:
    for batch in state.batches:
        try:
            date.fromisoformat(batch.date)
        except ValueError:
            return True
    return False


def _digests_wrong(state: MonitorState) -> bool:
    digests = [batch.digest for batch in state.batches]
    return len(set(digests)) < len(digests) or not all(map(_HASH.fullmatch, digests))


CHECKS: tuple[tuple[str, Callable[[MonitorState], bool]], ...] = (
    ("what the first batch fixed does not fit together", _fixed_wrong),
    ("it has not one line of evidence for each comparison", _counted_wrong),
    ("a date is none", _dates_wrong),
    ("a batch is counted twice, or has no hash", _digests_wrong),
    ("the numbers of people in its batches do not fit together", _history_wrong),
    ("a wealth is none that these batches could have led to", _wealth_wrong),
    ("the sums of those who wait or were seen do not fit together", _tally_wrong),
    ("its last line is not what the evidence says", _readings_wrong),
)
