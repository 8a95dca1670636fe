"""A text file as blocks of UTF-8, and what makes a fast reader doubt it."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any

from equieffort.data.delimited.carefully import MOST_COLUMNS, MOST_IN_A_LINE, OTHER_FILES, check_header
from equieffort.errors import DataError

BLOCK = 1 << 18
HEADER = 8
"""The blocks that a header may fill."""


class Doubtful(Exception):
    """Something is wrong, or might be: let the careful reader look."""


def utf8_blocks(file: IO[bytes], encoding: str, most: int) -> Iterator[bytes]:
    """The file in UTF-8, without a byte order mark; in doubt if it is not text, or has a line that no table has."""
    begun, since, total, is_last = False, 0, 0, False
    while not is_last:
        raw = file.read(BLOCK)
        is_last = not raw
        total += len(raw)
        if not begun:
            if any(raw.startswith(start) for start in OTHER_FILES):
                raise Doubtful
            decoder = _decoder(encoding)
        try:
            text = decoder.decode(raw, is_last)
            text = text if begun else text.removeprefix("\ufeff")
            block = text.encode("utf-8")
        except Exception as error:
            raise Doubtful from error  # codecs may raise anything
        begun = True
        ended = max(text.rfind("\n"), text.rfind("\r"))
        since = since + len(text) if ended < 0 else len(text) - ended
        if "\0" in text or since > MOST_IN_A_LINE - 2 * BLOCK or total > most:
            raise Doubtful
        if block:
            yield block


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        return codecs.getincrementaldecoder(encoding)()
    except Exception as error:
        raise Doubtful from error


class Joined(io.RawIOBase):
    """Blocks as a file to read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As much as there is of a block."""
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        into = memoryview(buffer).cast("B")
        n = min(len(into), len(self._rest))
        into[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def split_header(blocks: Iterator[bytes], delimiter: str) -> tuple[list[str], Iterator[bytes]]:
    """The names of the columns, and the blocks that follow; in doubt if the header does not fit into some blocks."""
    text = b"".join(islice(blocks, HEADER)).decode("utf-8")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(filter(None, reader), [])
        check_header(header, "", delimiter)
    except (csv.Error, DataError) as error:
        raise Doubtful from error
    lines = io.StringIO(text, newline="")
    used = sum(len(lines.readline()) for _ in range(reader.line_num))
    # A line end may be cut in two, so that something must follow.
    if not 0 < len(header) <= MOST_COLUMNS or used >= len(text):
        raise Doubtful
    return header, chain([text[used:].encode("utf-8")], blocks)
