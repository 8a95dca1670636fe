"""Changes that a file did not have when it was saved: wild values in its fields, and bytes anywhere."""

from __future__ import annotations

import io
import json
import random
import re
from typing import Any

import numpy as np
from tests.fuzz.worlds import members, npy, zipped

WILD: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 7, 100, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**63 - 1, -(2**63), 10**30, 0.5, -0.0, 1e308,
    1e-320, float("nan"), float("inf"), float("-inf"), "", "0", "-1", "1", "nan", "inf", "1e9", "2147483648", "9" * 20,
    "x", "\0", "é\ud83e", " ", "[1]", None, True, False, [], {}, [0], [-1], [1, 2, 3], [None], [[1]], {"a": 1},
    ["x"] * 40,
)  # fmt: skip
"""Values that a field of a file may be given."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be changed inside a value of JSON."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def change_json(value: Any, draw: random.Random, rounds: int = 3) -> Any:
    """The value with one to three places changed, dropped, repeated or swapped."""
    for _ in range(draw.randint(1, rounds)):
        found = places(value)
        if not found:
            return value
        # Long arrays have most places; names are chosen as often as they.
        names = [path for path in found if isinstance(path[-1], str)]
        path = draw.choice(names if names and draw.random() < 0.5 else found)
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        _change(holder, path[-1], draw)
    return value


def _change(holder: Any, key: Any, draw: random.Random) -> None:
    kind, old = draw.random(), holder[key]
    if kind < 0.15:
        del holder[key]
    elif kind < 0.25 and isinstance(old, list):
        holder[key] = old + old
    elif kind < 0.35 and isinstance(old, list):
        holder[key] = old[: draw.randint(0, len(old))]
    elif kind < 0.5 and isinstance(old, int | float) and not isinstance(old, bool):
        holder[key] = draw.choice([old + 1, old - 1, -old, old * 2, old + 0.5])
    elif kind < 0.6 and isinstance(old, str) and old.isdigit():
        holder[key] = str(int(old) + draw.choice([-1, 1, 1000]))
    elif kind < 0.65 and isinstance(old, dict):
        old[draw.choice(["odd", "name", "content", "size"])] = draw.choice(WILD)
    else:
        holder[key] = draw.choice(WILD)


def change_bytes(content: bytes, draw: random.Random) -> bytes:
    """Some bytes flipped, cut out, repeated or put in."""
    found = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at, kind = draw.randrange(max(1, len(found))), draw.randint(0, 4)
        if kind == 0 and found:
            found[at] ^= 1 << draw.randint(0, 7)
        elif kind == 1:
            del found[at : at + draw.randint(1, 40)]
        elif kind == 2:
            found[at:at] = found[at : at + draw.randint(1, 40)]
        elif kind == 3:
            found[at:at] = bytes(draw.randint(0, 255) for _ in range(draw.randint(1, 9)))
        else:
            del found[at : len(found) if draw.random() < 0.2 else at + 1]
    return bytes(found)


def change_text(content: bytes, draw: random.Random) -> bytes:
    """Words and lines of a text with numbers changed, dropped, repeated or swapped."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    for _ in range(draw.randint(1, 3)):
        at, kind = draw.randrange(len(lines)), draw.random()
        if kind < 0.1:
            lines.insert(at, lines[draw.randrange(len(lines))])
        elif kind < 0.2 and len(lines) > 1:
            del lines[at]
        else:
            words = re.split(r"([ =,:\[\]()<>'\"]+)", lines[at])
            k = draw.randrange(len(words))
            words[k] = str(draw.choice([*WILD, words[k] * 2, f"-{words[k]}", words[k][:-1], "9" * 30]))
            lines[at] = "".join(words)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def change_array(array: np.ndarray[Any, Any], draw: random.Random) -> np.ndarray[Any, Any]:
    """An array with some values changed, or of another type or shape."""
    kind, found = draw.random(), array.copy()
    if kind < 0.1 and not found.dtype.names:
        with np.errstate(invalid="ignore", over="ignore"):
            return found.astype(draw.choice(["i1", "i4", "u8", "f4", "f8", "U3", "?", "M8[s]", "c8"]))
    if kind < 0.2:
        return draw.choice([found[:-1], found[None], found.ravel(), np.tile(found, 2), found[::-1], found[:0]])
    flat = found.reshape(-1)
    for _ in range(draw.randint(1, 3) if flat.size else 0):
        at = draw.randrange(flat.size)
        if flat.dtype.names:
            name = draw.choice(flat.dtype.names)
            part = flat[name]
            part[at] = _wild(part.dtype, draw)
        else:
            flat[at] = _wild(flat.dtype, draw)
    return found


def _wild(dtype: np.dtype[Any], draw: random.Random) -> Any:
    if dtype.kind == "f":
        return draw.choice([0.0, -1.0, 0.5, 3.0, 1e308, np.nan, np.inf, -np.inf, 1e-310])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return draw.choice([0, 1, 2, info.max, info.min, info.max // 2, min(99, info.max), max(-1, info.min)])
    if dtype.kind == "b":
        return draw.random() < 0.5
    return np.zeros((), dtype=dtype)[()]


def change_zip(content: bytes, draw: random.Random, text: str) -> bytes:
    """A zip of JSON and arrays with one of them changed; `text` is the name of the JSON."""
    parts = members(content)
    arrays = [name for name in parts if name.endswith(".npy")]
    kind = draw.random()
    if kind < 0.45 or not arrays:
        parts[text] = json.dumps(change_json(json.loads(parts[text]), draw)).encode()
    elif kind < 0.9:
        name = draw.choice(arrays)
        parts[name] = npy(change_array(np.load(io.BytesIO(parts[name])), draw))
    elif kind < 0.95:
        name = draw.choice(list(parts))
        parts[name] = change_bytes(parts[name], draw)
    else:
        return change_bytes(content, draw)
    return zipped(parts)
