"""Text files by pyarrow, as text; in doubt wherever it is more lenient than Python's csv reader."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.data.delimited.blocks import Doubtful, Joined, split_header
from equieffort.data.text_columns import TextColumn, are_exact

if TYPE_CHECKING:
    from equieffort.data.delimited import Delimited

BLOCK = 1 << 20
FEW = 0.5
"""Of the cells of a block: if fewer of them differ, the different ones are looked at, once."""
LOOKED_AT = 1000
WHOLE = r"^(?:0|-?[1-9][0-9]{0,15})$"
NUMBER = r"^(?:0|-?[1-9][0-9]{0,15}|-?(?:0|[1-9][0-9]*)%s[0-9]*(?:[eE][-+]?[0-9]+)?)$"
MARKS = {".": r"\.", ",": ","}
_QUOTE, _LINE_ENDS = ord('"'), (10, 13)


def is_there() -> bool:
    """Whether pyarrow is installed."""
    try:
        return find_spec("pyarrow.csv") is not None
    except ImportError:
        return False


def read(
    blocks: Iterator[bytes], how: Delimited, make: Callable[..., TextColumn], text: frozenset[str | None]
) -> dict[str, TextColumn]:
    """The columns; those named `text` hold no numbers."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    if len(how.delimiter) != 1 or not how.delimiter.isascii() or how.delimiter in '"\r\n':
        raise Doubtful
    header, rest = split_header(blocks, how.delimiter)
    columns = {name: make(text=name in text) for name in header}
    names = [str(k) for k in range(len(header))]
    some = False
    try:
        reader = pa_csv.open_csv(
            Joined(_well_quoted(rest, ord(how.delimiter))),
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=BLOCK, column_names=names),
            parse_options=pa_csv.ParseOptions(delimiter=how.delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
            ),
        )
        for batch in reader:
            for column, cells in zip(columns.values(), batch.columns, strict=True):
                _add(column, cells)
            some |= batch.num_rows > 0
    except pa.ArrowException as error:
        raise Doubtful from error
    if not some:
        raise Doubtful
    return columns


def _add(column: TextColumn, cells: Any) -> None:
    """Add a block of cells: as amounts if most differ and all are plain numbers."""
    import pyarrow.compute as pc

    if (pc.max(pc.binary_length(cells)).as_py() or 0) > csv.field_size_limit():
        raise Doubtful
    different = len(pc.unique(cells[:LOOKED_AT]))
    if different > FEW * min(len(cells), LOOKED_AT):
        if not column.is_text:
            values = _amounts(cells, column.decimal)
            if values is not None and are_exact(values):
                column.add_numbers(values)
                return
        else:
            column.add_texts(cells.to_numpy(zero_copy_only=False))
            return
    coded = cells.fill_null("").dictionary_encode()
    column.add_words(coded.indices.to_numpy(), coded.dictionary.to_pylist())


def _amounts(cells: Any, decimal: str) -> np.ndarray | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    def all_match(pattern: str) -> bool:
        return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())

    if decimal not in MARKS or cells.null_count == len(cells):
        return None
    if cells.null_count == 0 and all_match(WHOLE):
        return cells.cast(pa.int64()).to_numpy()
    if not all_match(NUMBER % MARKS[decimal]):
        return None
    if decimal != ".":
        cells = pc.replace_substring(cells, decimal, ".")
    try:
        return cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


def _well_quoted(blocks: Iterator[bytes], delimiter: int) -> Iterator[bytes]:
    """The blocks; in doubt unless every quote opens a cell, closes it, or is doubled inside.

    Then the quotes that open are every other one: before them a cell begins or another quote has just closed.
    """
    begins, inside, closed_last = True, False, False
    for k, block in enumerate(blocks):
        if k == 0 and block.startswith(codecs.BOM_UTF8):
            raise Doubtful  # which would be taken for a byte order mark
        codes = np.frombuffer(block, dtype=np.uint8)
        ends = (codes == delimiter) | (codes == _LINE_ENDS[0]) | (codes == _LINE_ENDS[1]) if b'"' in block else None
        if closed_last and block[0] not in (_QUOTE, delimiter, *_LINE_ENDS):
            raise Doubtful
        closed_last = False
        if ends is not None:
            at = np.flatnonzero(codes == _QUOTE)
            opens = (np.arange(len(at)) % 2 == 0) ^ inside
            ends |= codes == _QUOTE
            before = np.where(at > 0, ends[at - 1], begins)
            after = np.where(at + 1 < len(codes), ends[np.minimum(at + 1, len(codes) - 1)], True)
            if not (before | ~opens).all() or not (after | opens).all():
                raise Doubtful
            inside ^= bool(len(at) % 2)
            closed_last = bool(at[-1] == len(codes) - 1 and not opens[-1])
        begins = block[-1] in (_QUOTE, delimiter, *_LINE_ENDS)
        yield block
    if inside:
        raise Doubtful
