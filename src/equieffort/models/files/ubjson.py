"""Universal Binary JSON, as far as XGBoost writes it: a reader that never reads beyond its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
CONSTANTS = {b"T": True, b"F": False, b"Z": None}
DEEPEST = 60


def decode(data: bytes) -> Any:
    """The value that bytes spell; raises ValueError.

    >>> decode(b"{i\\x01a[#i\\x02i\\x05T}")
    {'a': [5, True]}
    """
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes follow the end at byte {reader.at}")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise ValueError(f"it ends at byte {len(self.data)}, where {n:,} more were announced at byte {self.at}")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, marker: bytes) -> Any:
        kind = NUMBERS.get(marker)
        if kind is None:
            raise ValueError(f"byte {self.at - 1} is {marker!r}, where the kind of a value should be")
        return np.frombuffer(self.take(np.dtype(kind).itemsize), dtype=kind)[0].item()

    def length(self) -> int:
        marker = self.take(1)
        if marker in (b"d", b"D"):
            raise ValueError(f"a length at byte {self.at - 1} is not a whole number")
        return int(self.number(marker))

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST} levels")
        marker = self.take(1)
        if marker == b"{":
            found: dict[str, Any] = {}
            while self.data[self.at : self.at + 1] != b"}":
                key = self.text()
                if key in found:
                    raise ValueError(f"the key {key!r} occurs twice")
                found[key] = self.value(depth + 1)
            self.at += 1
            return found
        if marker == b"[":
            return self.array(depth)
        if marker == b"S":
            return self.text()
        return CONSTANTS[marker] if marker in CONSTANTS else self.number(marker)

    def array(self, depth: int) -> list[Any]:
        following = self.data[self.at : self.at + 1]
        if following == b"$":
            self.at += 1
            kind = NUMBERS.get(self.take(1))
            if kind is None or self.take(1) != b"#":
                raise ValueError(f"the array at byte {self.at} has no kind or no length")
            return np.frombuffer(self.take(self.length() * np.dtype(kind).itemsize), dtype=kind).tolist()
        if following == b"#":
            self.at += 1
            count = self.length()
            if not 0 <= count <= len(self.data) - self.at:
                raise ValueError(
                    f"an array of {count:,} values is announced at byte {self.at}, but the file ends before"
                )
            return [self.value(depth + 1) for _ in range(count)]
        items = []
        while self.data[self.at : self.at + 1] != b"]":
            items.append(self.value(depth + 1))
        self.at += 1
        return items
