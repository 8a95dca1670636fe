"""Columns inside a pipeline as affine functions of the raw ones, and level by level of the categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.data.one_hot import OneHot


class _Varies:
    """A column that depends on the person."""

    def __repr__(self) -> str:
        return "VARIES"


VARIES = _Varies()


@dataclass(frozen=True, eq=False)
class Affine:
    """Columns inside a pipeline as affine functions of the raw ones: matrix . x + level values + shift."""

    matrix: Floats
    tables: dict[int, Floats]
    shift: Floats
    raw: tuple[int | None, ...]
    """For each column, the raw column it still is, untouched."""
    names: tuple[str, ...]
    encoding: Encoding
    fixed: tuple[Any, ...]
    """For each column `VARIES`, or what it holds for everybody because the value of the raw column is missing: what
    stands for a missing value in the table, until a step puts something in its place."""
    missing: Mapping[str, Any] = field(default_factory=dict)
    """The raw columns whose value is missing, and what stands for that in the table."""

    @classmethod
    def identity(
        cls,
        encoding: Encoding,
        names: tuple[str, ...],
        missing: Mapping[str, Any] | None = None,
        one_hot: OneHot | None = None,
    ) -> Affine:
        """The columns that a model gets; a category counts as its numeric value where it has one.

        A column of a category that the table holds one-hot encoded is 1 at its level.
        """
        missing, one_hot = missing or {}, one_hot or OneHot()
        matrix = np.zeros((len(names), len(encoding.columns)))
        tables: dict[int, Floats] = {}
        shift, raw, fixed = np.zeros(len(names)), [], []
        for row, name in enumerate(names):
            whole = name if name in encoding.names else one_hot.category_of(name)
            k = encoding.position(whole)
            column = encoding.columns[k]
            raw.append(k if whole == name else None)
            fixed.append(missing.get(whole, VARIES))
            if whole in missing:
                shift[row] = np.nan
            elif column.is_category:
                table = tables.setdefault(k, np.zeros((len(names), len(column.levels))))
                own = one_hot.level_of(name) if whole != name else None
                table[row] = [_as_number(level) if whole == name else level == own for level in column.levels]
            else:
                matrix[row, k] = 1.0
        return cls(matrix, tables, shift, tuple(raw), names, encoding, tuple(fixed), missing)

    def is_missing(self, row: int) -> bool:
        """Whether a column holds a missing value."""
        return self.fixed[row] is not VARIES and bool(pd.isna(self.fixed[row]))

    def take(self, rows: list[int]) -> Affine:
        """Some of the columns, in the given order."""
        return replace(
            self,
            matrix=self.matrix[rows],
            tables={k: table[rows] for k, table in self.tables.items()},
            shift=self.shift[rows],
            raw=tuple(self.raw[row] for row in rows),
            names=tuple(self.names[row] for row in rows),
            fixed=tuple(self.fixed[row] for row in rows),
        )

    def scale(self, factor: Any, shift: Any) -> Affine:
        """Each column times a factor plus a shift."""
        factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), self.shift.shape)
        tables = {k: table * factor[:, None] for k, table in self.tables.items()}
        shift, raw = self.shift * factor + shift, (None,) * len(self.raw)
        fixed = tuple(VARIES if one is VARIES else float(at) for one, at in zip(self.fixed, shift, strict=True))
        return replace(self, matrix=self.matrix * factor[:, None], tables=tables, shift=shift, raw=raw, fixed=fixed)

    def with_fixed(self, fixed: tuple[Any, ...]) -> Affine:
        """Columns that are the same for everybody with other values in them."""
        shift = [at if one is VARIES else _as_number(one) for one, at in zip(fixed, self.shift, strict=True)]
        return replace(self, fixed=fixed, shift=np.array(shift, dtype=np.float64))

    def constant(self, values: list[float]) -> Affine:
        """New columns that hold the same for everybody."""
        n = len(values)
        blank = np.zeros((n, self.matrix.shape[1]))
        return replace(
            self, matrix=blank, tables={}, shift=np.array(values, dtype=np.float64), raw=(None,) * n, names=("",) * n,
            fixed=tuple(map(float, values)),
        )  # fmt: skip

    @staticmethod
    def stack(parts: list[Affine], like: Affine) -> Affine:
        """Columns of several parts side by side."""
        levels = {k: parts_k.shape[1] for part in parts for k, parts_k in part.tables.items()}
        tables = {
            k: np.vstack([part.tables.get(k, np.zeros((len(part.shift), width))) for part in parts])
            for k, width in levels.items()
        }
        return replace(
            like,
            matrix=np.vstack([part.matrix for part in parts]),
            tables=tables,
            shift=np.concatenate([part.shift for part in parts]),
            raw=tuple(raw for part in parts for raw in part.raw),
            names=tuple(name for part in parts for name in part.names),
            fixed=tuple(one for part in parts for one in part.fixed),
        )


def _as_number(level: Any) -> float:
    try:
        return float(level)
    except (TypeError, ValueError):
        # Text that reaches the score as a number would be NaN there too; an encoder replaces this column.
        return float("nan")
