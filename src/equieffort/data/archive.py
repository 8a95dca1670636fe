"""The zip around an audit: members of fixed date written, and read only within limits that its size allows.

A zip can announce less than it holds, name a member twice, or unpack to a thousand times its size. So what it announces
is compared with the file before anything is unpacked, and no member is read beyond what it announced.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_TIMES = 200
"""So many times its own size a file may unpack to; `save` packs less tightly what would be more."""
ALWAYS = 64 << 20
"""Bytes that any file may unpack to."""
PLAIN = "iufbMm"
"""Kinds of arrays that are stored: numbers, flags and dates without time zone."""
LEVEL, PIECE, WORTH = 1, 1 << 14, 0.5
"""How tightly members are packed, since time counts more than size; and to which share packing must bring them."""
WRITTEN = 1 << 20
"""Bytes that are packed at once."""
SHORT = 2_000_000_000
"""Bytes of a member whose size may be written as short ones are."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def write_archive(path: Path, parts: Mapping[str, bytes | npt.NDArray[Any]], *, packed: bool = True) -> None:
    """Write the members, bytes or arrays; the same members are the same bytes."""
    sizes = [len(part) if isinstance(part, bytes) else part.nbytes for part in parts.values()]
    with zipfile.ZipFile(path, "w", compresslevel=LEVEL) as file:
        for name, part in parts.items():
            _member(file, name, part, None if packed else zipfile.ZIP_STORED)
    if sum(sizes) > most_unpacked(path.stat().st_size):
        with zipfile.ZipFile(path, "w", compresslevel=LEVEL) as file:
            for name, part in parts.items():
                _member(file, name, part, zipfile.ZIP_STORED)


def _member(file: zipfile.ZipFile, name: str, part: bytes | npt.NDArray[Any], method: int | None) -> None:
    head, content = (b"", memoryview(part)) if isinstance(part, bytes) else array_bytes(part)
    packed = _shrinks(head, content) if method is None else method == zipfile.ZIP_DEFLATED
    file.compression = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    # A member that is opened by its name alone has a fixed date, so that the same audit is the same bytes.
    with file.open(name, "w", force_zip64=len(head) + len(content) > SHORT) as member:
        member.write(head)
        # Packed a piece at a time, so that no array is held twice.
        for start in range(0, len(content), WRITTEN):
            member.write(content[start : start + WRITTEN])


def _shrinks(head: bytes, content: memoryview) -> bool:
    """Whether packing is worth its time, judged by pieces."""
    size = len(head) + len(content)
    if size <= 4 * PIECE:
        return True
    pieces = [head + bytes(content[: PIECE - len(head)])]
    for k in range(1, 4):
        at = size * k // 4 - len(head)
        pieces.append(bytes(content[at : at + PIECE]))
    return sum(len(zlib.compress(piece, LEVEL)) for piece in pieces) < WORTH * 4 * PIECE


def most_unpacked(size: int) -> int:
    """Bytes that a file of this size may unpack to."""
    return ALWAYS + MOST_TIMES * size


class Archive:
    """An open zip whose announced sizes are within the limits; raises ValueError if they are not."""

    def __init__(self, file: zipfile.ZipFile, size: int) -> None:
        self.file = file
        infos = file.infolist()
        self.infos = {info.filename: info for info in infos}
        if len(self.infos) < len(infos):
            raise ValueError("a member occurs twice")
        if strange := [info.filename for info in infos if info.compress_type not in METHODS or info.flag_bits & 1]:
            raise ValueError(f"{strange[0]!r} is packed in a way no audit file uses")
        # Members that share bytes would unpack to more than their sizes say.
        if sum(info.compress_size for info in infos) > size:
            raise ValueError("its members overlap")
        unpacked = sum(info.file_size for info in infos)
        if unpacked > most_unpacked(size):
            raise ValueError(
                f"it has {size:,} bytes and unpacks to {unpacked:,}; more than {most_unpacked(size):,} are not read"
            )

    @property
    def names(self) -> set[str]:
        """The members."""
        return set(self.infos)

    def read(self, name: str) -> bytes:
        """One member, at most as long as announced; its checksum is compared."""
        info = self.infos[name]
        with self.file.open(info) as member:
            content = member.read(info.file_size)
            # The checksum is only compared when the end is reached.
            if len(content) != info.file_size or member.read(1):
                raise ValueError(f"{name!r} is not as long as announced")
        return content

    def array(self, name: str) -> npt.NDArray[Any]:
        """A member that is an array of numbers, flags or dates; nothing is allocated but for bytes that are there."""
        content = self.read(name)
        stream = io.BytesIO(content)
        version = np.lib.format.read_magic(stream)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ValueError(f"{name!r} has the array version {version}, which no audit file uses")
        shape, by_column, dtype = readers[version](stream)
        if dtype.hasobject or dtype.kind not in PLAIN:
            raise ValueError(f"{name!r} is an array of type {dtype}, not of numbers, flags or dates")
        rest = len(content) - stream.tell()
        count = 1
        for length in shape:
            count *= length
        if any(length < 0 for length in shape) or count * dtype.itemsize != rest:
            raise ValueError(f"{name!r} announces the shape {shape}, which its {rest:,} bytes do not have")
        flat = np.frombuffer(content, dtype=dtype, offset=stream.tell())
        # Such a flag would count as several in a sum.
        if dtype.kind == "b" and (flat.view(np.uint8) > 1).any():
            raise ValueError(f"{name!r} holds flags that are neither true nor false")
        found = flat.reshape(shape, order="F" if by_column else "C")
        # In this machine's order of bytes, and writable as arrays are that were computed here.
        return np.array(found, dtype=dtype.newbyteorder("="), order="C")


def array_bytes(array: npt.NDArray[Any]) -> tuple[bytes, memoryview]:
    """An array as a member holds it, what stands before its values and these: column by column, since the values of a
    column pack better side by side."""
    by_column = np.asfortranarray(array).T if array.ndim == 2 else np.ascontiguousarray(array)
    head = io.BytesIO()
    held = by_column.T if array.ndim == 2 else by_column
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(held))
    return head.getvalue(), by_column.reshape(-1).view(np.uint8).data
