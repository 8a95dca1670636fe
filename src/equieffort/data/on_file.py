"""An array whose values stay in files until somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

MOST = 200_000
"""Values that are read apart from the others; where more are asked for, or half of them, all are read."""


class OnFile(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for a column: its length and type are known, single values are read alone, and whoever computes with the
    whole of it has it read, once.

    >>> column = OnFile(3, np.dtype(np.int8), lambda: np.array([4, 5, 6], dtype=np.int8), lambda rows: 4 + rows)
    >>> len(column), int(column[2]), column.is_read
    (3, 6, False)
    >>> (column > 4).tolist(), column.is_read
    ([False, True, True], True)
    """

    ndim = 1

    def __init__(
        self,
        n: int,
        dtype: np.dtype[Any],
        everything: Callable[[], npt.NDArray[Any]],
        some: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]] | None = None,
    ) -> None:
        self.dtype, self.shape, self.size = dtype, (n,), n
        self._everything, self._some = everything, some
        self._whole: npt.NDArray[Any] | None = None

    @property
    def is_read(self) -> bool:
        """Whether all of it is in memory."""
        return self._whole is not None

    def whole(self) -> npt.NDArray[Any]:
        """All of it."""
        if self._whole is None:
            self._whole = self._everything()
        return self._whole

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, rows: Any) -> Any:
        if self._whole is None and self._some is not None:
            if isinstance(rows, int | np.integer):
                return self._some(np.array([range(self.size)[rows]], dtype=np.int64))[0]
            if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu" and rows.ndim == 1:
                if ((rows < -self.size) | (rows >= self.size)).any():
                    raise IndexError(f"a row is asked for that is none of {self.size}")
                if len(rows) <= min(MOST, self.size // 2):
                    return self._some(np.where(rows < 0, rows + self.size, rows).astype(np.int64))
        return self.whole()[rows]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.whole())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        whole = self.whole()
        return whole.astype(dtype) if dtype is not None and dtype != whole.dtype else whole.copy() if copy else whole

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        given = [one.whole() if isinstance(one, OnFile) else one for one in inputs]
        return getattr(ufunc, method)(*given, **how)

    def __getattr__(self, name: str) -> Any:
        # What numpy's arrays can do beyond this: sums, other types, bytes.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole(), name)
