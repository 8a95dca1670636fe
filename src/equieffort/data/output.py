"""Tables as the caller wants them: pandas, polars or pyarrow. pandas alone is loaded unless another is asked for.

>>> frame = pd.DataFrame({"effort": [0.5, float("nan")]}, index=pd.Index(["ash", "birch"], name="group"))
>>> as_output(frame, "polars").to_dict(as_series=False)
{'group': ['ash', 'birch'], 'effort': [0.5, None]}
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_choice

Output = Literal["pandas", "polars", "pyarrow"]
OUTPUTS = ("pandas", "polars", "pyarrow")
Pandas = Literal["pandas"]
Other = Literal["polars", "pyarrow"]


def as_output(frame: pd.DataFrame, output: Output = "pandas") -> Any:
    """The frame as it is, or as another library's table: the index becomes a column, what is missing null."""
    check_choice("output", output, OUTPUTS)
    if output == "pandas":
        return frame
    import narwhals as nw

    index = frame.index
    if not isinstance(index, pd.RangeIndex) or index.name is not None:
        frame = frame.reset_index(names=_free(index.name, frame))
    columns = {str(name): _column(frame[name]) for name in frame.columns}
    try:
        table = nw.from_dict(columns, backend=output)
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY", f"output={output!r} needs {output}.", fix=f"Run pip install {output}."
        ) from error
    floats = [name for name, values in columns.items() if isinstance(values, np.ndarray) and values.dtype.kind == "f"]
    # What cannot be computed is missing, and not a number.
    return table.with_columns(nw.when(~nw.col(name).is_nan()).then(nw.col(name)) for name in floats).to_native()


def _free(name: Any, frame: pd.DataFrame) -> str:
    found = "id" if name is None else str(name)
    while found in frame.columns:
        found += "_"
    return found


def _column(values: pd.Series[Any]) -> Any:
    """Numbers and truth values as an array; of anything else a list, with None where it is missing."""
    if values.dtype.kind in "fiub" and isinstance(values.dtype, np.dtype):
        return values.to_numpy()
    plain = values.astype(object).where(values.notna(), None).tolist()
    # One column has one type: where texts and numbers meet, all are texts.
    kinds = {type(value) for value in plain if value is not None}
    return plain if len(kinds) < 2 else [None if value is None else str(value) for value in plain]


class _Alike(type):
    def __instancecheck__(cls, other: object) -> bool:
        # Comparisons of frames ask whether one is of the other's class; what is only shown differently is the same.
        return isinstance(other, pd.DataFrame)


class Noted(pd.DataFrame, metaclass=_Alike):
    """A frame that a notebook shows with why to read it with care; whatever is made of it is a plain frame.

    >>> found = Noted.of(pd.DataFrame({"ratio": [1.2]}), ["Of 30 people."])
    >>> "Of 30 people." in found._repr_html_(), type(found.head(1)).__name__
    (True, 'DataFrame')
    >>> pd.testing.assert_frame_equal(pd.DataFrame({"ratio": [1.2]}), found)
    """

    _metadata: ClassVar[list[str]] = ["care"]
    care: Sequence[str]

    @classmethod
    def of(cls, frame: pd.DataFrame, care: Sequence[str]) -> Noted:
        """The frame with its caveats."""
        found = cls(frame)
        found.care = tuple(care)
        return found

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str | None:
        shown = pd.DataFrame(self)._repr_html_()  # type: ignore[operator]
        told = "".join(f"<li>{escape(one)}</li>" for one in getattr(self, "care", ()))
        return f"{shown}<p>Read with care</p><ul>{told}</ul>" if shown and told else shown
