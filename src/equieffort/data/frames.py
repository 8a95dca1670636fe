"""Where tables enter: any frame narwhals knows becomes named, checked columns, and columns become numbers.

A categorical column is held as level codes 0, 1, ... in a float matrix beside the numbers, so that people can
be handled as rows of one array. `Encoding` is the one place that knows how to go there and back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.stored import as_stored, coarse
from equieffort.errors import DataError, SchemaError, Setting, Text, closest, label, listed, many, parts_of
from equieffort.foundations.arguments import check_choice, refused, shown
from equieffort.foundations.arrays import Bools as Bools
from equieffort.foundations.arrays import Floats as Floats
from equieffort.foundations.saved import APART, as_fields, from_fields, is_scalar
from equieffort.foundations.tolerances import unit_of

_bad_type = partial(DataError, "DATA_TYPE")
_bad_names = partial(DataError, "DATA_NO_NAMES")

Kind = Literal["continuous", "integer", "binary", "categorical"]
KINDS: tuple[Kind, ...] = ("continuous", "integer", "binary", "categorical")

ABSURD = 1e30
"""Values beyond this are taken for a slip: their squares no longer leave room for sums in double precision."""


def percent(share: float, digits: int = 1) -> str:
    """A share as people read it.

    >>> percent(0.878), percent(0.8, 0)
    ('87.8 %', '80 %')
    """
    return f"{100 * share:.{digits}f} %"


def number(value: float) -> str:
    """A number as people read it: 1,234.5 rather than 1234.500000, and 1,000,000 rather than 1e+06.

    >>> number(1234.5), number(0.1 + 0.2), number(25.0), number(2_500_000.0), number(-0.0)
    ('1,234.5', '0.3', '25', '2,500,000', '0')
    """
    value += 0.0  # A negative zero becomes zero.
    return f"{value:,.0f}" if 999_999.5 <= abs(value) < 1e15 else f"{value:,.6g}"


def digits(value: float, n: int = 3) -> str:
    """A number to so many digits, from 1,000 on to the unit: never 1.47e+03.

    >>> digits(1474.2), digits(0.012345), digits(25.04), digits(999.96)
    ('1,474', '0.0123', '25', '1,000')
    """
    return number(round(value)) if abs(value) >= 999.5 else f"{value:,.{n}g}"


def read_frame(data: Any, *, names: Sequence[str] | None = None, what: str = "X") -> pd.DataFrame:
    """Any eager table as a pandas frame that shares memory with it where it can.

    `names` are needed for a bare array. The caller's index is kept; rows and column names are checked.
    """
    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(data, np.ndarray):
        frame = _from_array(data, names, what)
    elif isinstance(data, Mapping):
        frame = _from_mapping(data, what)
    else:
        frame = _from_narwhals(data, what)
    refuse_duplicates(frame.columns, what)
    if len(frame) == 0:
        raise DataError("DATA_EMPTY", f"{what} has no rows.", fix="Check the file or the filter it came from.")
    if odd := [name for name in frame.columns if not isinstance(name, str)]:
        one, are = shown(odd[0]), "is" if len(odd) == 1 else "are"
        raise _bad_names(
            f"{many(len(odd), 'column', 'columns')} of {what} {are} not named by text, such as {one}.",
            fix=f"Write X.columns = X.columns.map(str), and then {str(odd[0])!r} for {one} in schema, graph and rules; "
            "or name them for people, X.columns = [...].",
        )
    return frame


def refuse_duplicates(names: Iterable[Any], what: str) -> None:
    """Refuse a table with two columns of one name."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise DataError(
            "DATA_DUPLICATE_COLUMNS",
            f"{what} has more than one column named {listed(twice)}.",
            fix="Rename or drop the duplicates.",
        )


def _from_array(data: npt.NDArray[Any], names: Sequence[str] | None, what: str) -> pd.DataFrame:
    if names is None:
        raise _bad_names(
            f"{what} is an array without column names, of shape {data.shape}.",
            fix="Pass a table with named columns, or name the columns with model_features=[...].",
        )
    if data.ndim != 2 or data.shape[1] != len(names):
        raise _bad_names(
            f"{what} has shape {data.shape}, but {many(len(names), 'name was', 'names were')} given.",
            fix="Give one name a column.",
        )
    return pd.DataFrame(data, columns=list(names), copy=False)


def _from_mapping(data: Mapping[Any, Any], what: str) -> pd.DataFrame:
    labelled = [column for column in data.values() if isinstance(column, pd.Series)]
    index = labelled[0].index if labelled else None
    columns = {}
    for name, column in data.items():
        if index is not None and len(column) == len(index):
            column = aligned(column, index, f"Column {name!r} of {what}", "column.loc[other.index]")
        columns[name] = _bare(column)
    try:
        return pd.DataFrame(columns, index=index)
    except ValueError as error:
        raise DataError(
            "DATA_LENGTH", f"The columns of {what} are not of one length.", fix="Give one value a person in each."
        ) from error


def _bare(column: Any) -> Any:
    """A column without the index it may have; a category keeps the order that was declared for its levels."""
    is_category = isinstance(getattr(column, "dtype", None), pd.CategoricalDtype)
    return pd.Categorical(column) if is_category else np.asarray(column)


def _from_narwhals(data: Any, what: str) -> pd.DataFrame:
    import narwhals as nw

    refuse_duplicates(getattr(data, "column_names", ()), what)
    try:
        eager = nw.from_native(data, eager_only=True)
    except TypeError as error:
        hint = "Call .collect() first." if hasattr(data, "collect") else "Pass a pandas, polars or pyarrow table."
        raise _bad_type(f"{what} is a {type(data).__name__}, not a table in memory.", fix=hint) from error
    return pd.DataFrame({name: _from_series(eager[name]) for name in eager.columns}, copy=False)


def _from_series(series: Any) -> Any:
    """The values of a column; levels whose order was declared stay a category, so that it is not lost."""
    order = getattr(series.dtype, "categories", None)
    if order is not None:
        return pd.Categorical(series.to_numpy(), categories=list(order), ordered=True)
    is_ordered = getattr(getattr(series.to_native(), "type", None), "ordered", None)
    if is_ordered is not None:
        # The bare array of a pyarrow dictionary shows the last level where a value is missing.
        values = series.to_native().to_pandas()
        return values if is_ordered else values.astype(object)
    return series.to_numpy()


def aligned(given: Any, index: pd.Index, what: str, by_label: str, *, derived: bool = False) -> Any:
    """The rows of a pandas object in the order of an index: by label, and refused where labels do not tell.

    Without an index of its own (a list, an array, polars) it is taken to be in that order. The numbers of rows that
    pandas gives by itself may have been given anew, so they tell only of what is `derived` from the same table; that
    may also hold further rows, if the people have labels of their own.
    """
    own = getattr(given, "index", None)
    if not isinstance(own, pd.Index) or own.equals(index):
        return given
    counted = index.equals(pd.RangeIndex(len(index)))
    absent = index[~index.isin(own)]
    if len(absent):
        why = f"it has no row labelled {label(absent[0])}"
    elif not (own.is_unique and index.is_unique):
        why = "some labels name more than one row"
    elif len(own) > len(index) and (counted or not derived):
        why = f"it has {len(own):,} rows for {len(index):,} people"
    elif counted and not derived:
        why = "it is in another order, and the people have no labels but the numbers of their rows"
    else:
        return given.loc[index]
    raise DataError(
        "DATA_INDEX",
        f"The index of {what} is not that of the people: {why}.",
        fix=f"Pass {by_label}; or, if it is in the order of the people, drop its index with .to_numpy().",
    )


def join_sensitive(frame: pd.DataFrame, sensitive_features: Any, names: Sequence[str]) -> pd.DataFrame:
    """Add sensitive columns that come beside X; they join the causal data, never the classifier's input.

    Those with an index of their own are joined by label, others by position.
    """
    if sensitive_features is None:
        return frame
    unsized = not hasattr(sensitive_features, "__len__") or getattr(sensitive_features, "shape", None) == ()
    if unsized or isinstance(sensitive_features, str | bytes | type):
        raise refused(
            "sensitive_features", sensitive_features, "a column or table, a value a person", error=DataError,
            code="DATA_TYPE",
        )  # fmt: skip
    if isinstance(sensitive_features, Mapping):
        by_label = any(isinstance(column, pd.Series) for column in sensitive_features.values())
        sensitive_features = read_frame(sensitive_features, what="sensitive_features")
        if not by_label and len(sensitive_features) == len(frame):
            sensitive_features = sensitive_features.set_axis(frame.index)
    if len(sensitive_features) == len(frame):
        sensitive_features = aligned(
            sensitive_features, frame.index, "sensitive_features", "sensitive_features.loc[X.index]"
        )
    beside = _beside(sensitive_features, list(names))
    if len(beside) != len(frame):
        raise DataError(
            "DATA_LENGTH",
            f"sensitive_features has {len(beside)} rows and X has {len(frame)}.",
            fix="Give one value for each person, in the same order.",
        )
    joined = frame.copy(deep=False)
    for name in beside.columns:
        if name not in frame.columns:
            joined[name] = beside[name].to_numpy()
        elif not np.array_equal(beside[name].to_numpy(), frame[name].to_numpy()):
            raise DataError(
                "DATA_DUPLICATE_COLUMNS",
                f"X and sensitive_features both have a column {name!r}, with different values.",
                fix="Drop one of them.",
            )
    return joined


def _beside(given: Any, names: list[str]) -> pd.DataFrame:
    if hasattr(given, "columns") or hasattr(given, "column_names"):
        return read_frame(given, what="sensitive_features")
    values = np.asarray(given)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != len(names):
        raise _bad_type(
            f"sensitive_features has shape {np.shape(given)}, but the schema names {listed(names)}.",
            fix="Give a column for each sensitive attribute, or a table with their names.",
        )
    return pd.DataFrame({name: values[:, k] for k, name in enumerate(names)})


Missing = Literal["error", "drop", "model"]


FILL_OR_CHOOSE: Text = ("Fill them in, or ", Setting("all of missing"), ".")


def screen(
    frame: pd.DataFrame, names: Iterable[str], missing: Missing, hint: Text = "Fill them in, or drop these rows."
) -> pd.Series:
    """Look at the needed columns before anything is computed with them: who is complete?

    Refuses infinite and absurd values, and missing ones unless `missing` allows them.
    """
    check_choice("missing", missing, get_args(Missing))
    complete = np.ones(len(frame), dtype=bool)
    for name in names:
        column = frame[name]
        if missing == "error":
            refuse_missing(column, f"Column {name!r}", hint)
        complete &= column.notna().to_numpy()
        refuse_wild(frame, [name])
    if not complete.any():
        raise DataError("DATA_EMPTY", "Every row has a missing value.", fix="Fill them in.")
    return pd.Series(complete, index=frame.index)


def refuse_wild(frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Refuse numbers in some columns that are infinite or absurdly large."""
    for name in names:
        column = frame[name]
        if pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_integer_dtype(column.dtype):
            refuse_absurd(column, "Correct the value or drop the row.")


def refuse_missing(column: pd.Series, what: str, fix: Text) -> None:
    """Refuse a column in which values are missing."""
    gone = column.isna().to_numpy()
    if gone.any():
        raise DataError(
            "DATA_MISSING_VALUES",
            f"{what} has {many(int(gone.sum()), 'missing value', 'missing values')}, the first in row "
            f"{label(column.index[int(gone.argmax())])}.",
            fix=fix,
        )


def refuse_absurd(column: pd.Series, fix: str) -> None:
    """Refuse numbers that are infinite or absurdly large."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    wild = np.abs(values) > ABSURD
    if wild.any():
        row = int(wild.argmax())
        raise DataError(
            "DATA_NOT_FINITE",
            f"Column {column.name!r} holds {number(values[row])} in row {label(column.index[row])}.",
            fix=fix,
        )


def infer_kind(column: pd.Series) -> Kind:
    """The kind of a column: float is continuous, int integer, bool binary, text categorical; numbers 0 and 1 binary.

    >>> infer_kind(pd.Series([1, 2])), infer_kind(pd.Series(["a"])), infer_kind(pd.Series([True]))
    ('integer', 'categorical', 'binary')
    >>> infer_kind(pd.Series([0.0, 1.0, None]))
    'binary'
    """
    kind = kind_of_type(column)
    return "binary" if kind in ("integer", "continuous") and is_zero_one(column) else kind


def is_zero_one(*columns: pd.Series) -> bool:
    """Whether numbers are 0 and 1 and nothing else, in all columns together; both must occur."""
    met = set()
    for column in columns:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
        zero, one = values == 0, values == 1
        if not (zero | one | np.isnan(values)).all():
            return False
        met |= ({0} if zero.any() else set()) | ({1} if one.any() else set())
    return met == {0, 1}


def may_be_whole(column: pd.Series) -> bool:
    """Whether floats beside missing values are all whole, and not 0 and 1: pandas holds whole numbers so.

    >>> may_be_whole(pd.Series([5.0, None])), may_be_whole(pd.Series([5.0, 6.0])), may_be_whole(pd.Series([0.0, None]))
    (True, False, False)
    """
    if not pd.api.types.is_float_dtype(column.dtype) or not column.hasnans:
        return False
    values = column.dropna().to_numpy(dtype=np.float64)
    return bool(((values != 0) & (values != 1)).any() and (values == np.rint(values)).all())


def kind_of_type(column: pd.Series) -> Kind:
    """The kind that a column's type tells, whatever numbers it holds."""
    if isinstance(column.dtype, pd.CategoricalDtype) or _is_arrow_dictionary(column):
        return "categorical"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "binary"
    if pd.api.types.is_integer_dtype(column.dtype):
        return "integer"
    if pd.api.types.is_float_dtype(column.dtype):
        return "continuous"
    if pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype):
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        by_content: dict[str, Kind] = {"boolean": "binary", "integer": "integer", "floating": "continuous"}
        by_content |= {"mixed-integer-float": "continuous", "decimal": "continuous"}
        return by_content.get(inferred, "categorical")
    raise _bad_type(
        f"Column {column.name!r} has type {column.dtype}, which is neither a number nor a category.",
        fix="Turn it into a number (for a date, days since a day you choose) or into text.",
    )


def find_levels(column: pd.Series) -> tuple[Any, ...]:
    """The levels of a category: in declared order where one was declared, otherwise sorted."""
    if isinstance(column.dtype, pd.ArrowDtype) and getattr(column.dtype.pyarrow_dtype, "ordered", False):
        column = column.array.__arrow_array__().to_pandas()
    if isinstance(column.dtype, pd.CategoricalDtype):
        return tuple(column.cat.categories.tolist())
    found = column.dropna().unique().tolist()
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=str))


def is_ordered(column: pd.Series) -> bool:
    """Whether the type of a column says that its levels have an order."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return bool(getattr(dtype.pyarrow_dtype, "ordered", False))
    return isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)


def _is_arrow_dictionary(column: pd.Series) -> bool:
    """Whether pandas holds the column as pyarrow's form of a category."""
    return isinstance(column.dtype, pd.ArrowDtype) and hasattr(column.dtype.pyarrow_dtype, "ordered")


def _met_levels(column: pd.Series) -> tuple[Any, ...]:
    """The levels that somebody has: of a level that is only declared, often left by a filter, nothing is known."""
    met = set(column.dropna().unique().tolist())
    return tuple(level for level in find_levels(column) if level in met)


@dataclass(frozen=True)
class Column:
    """A column's name, kind and, for categories, its levels in the order of their codes."""

    name: str
    kind: Kind
    levels: tuple[Any, ...] = ()
    unit: float = field(default=1.0, metadata=APART)
    """Amounts are encoded as multiples of this; a power of two, so that going there and back is exact."""
    dtype: Any = field(default=None, compare=False, repr=False, metadata=APART)
    """The type the caller's table stores it in, if what is decoded must be of that type."""

    def to_dict(self) -> dict[str, Any]:
        """What it holds, in a form that JSON can hold; not how it is stored."""
        return as_fields(self)

    @classmethod
    def from_dict(cls, saved: Any) -> Column:
        """From the saved form."""
        found = from_fields(cls, saved, "columns")
        # 1, 1.0 and True are the same key of a table.
        if not all(map(is_scalar, found.levels)) or len(set(found.levels)) < len(found.levels):
            raise ValueError(f"the levels of {found.name!r} are not values, each once")
        return found

    @property
    def grid(self) -> np.dtype[Any] | None:
        """The numbers that the table can hold, where these are fewer than doubles."""
        return None if self.is_category else coarse(self.dtype)

    @property
    def is_category(self) -> bool:
        """Whether codes stand for levels rather than amounts; the numbers 0 and 1 are amounts."""
        return self.kind == "categorical" or (self.kind == "binary" and len(self.levels) > 0)

    @property
    def is_whole(self) -> bool:
        """Whether the column holds amounts that are whole numbers."""
        return self.kind == "integer" or (self.kind == "binary" and not self.levels)

    @classmethod
    def of(cls, series: pd.Series, kind: Kind | None = None) -> Column:
        """Look at a column and say what it holds."""
        kind = kind or infer_kind(series)
        levels = _met_levels(series) if kind == "categorical" else _binary_levels(series) if kind == "binary" else ()
        return cls(str(series.name), kind, levels)

    def encode(self, series: pd.Series) -> Floats:
        """Values as floats: amounts in the column's unit, categories as codes, missing as NaN."""
        if self.is_category:
            return self._encode_levels(series)
        amounts = self._encode_amounts(series)
        return amounts if self.unit == 1.0 else amounts / self.unit

    def _encode_amounts(self, series: pd.Series) -> Floats:
        if pd.api.types.is_numeric_dtype(series.dtype) and not series.hasnans:
            return series.to_numpy(dtype=np.float64)
        try:
            return pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError) as error:
            bad = next(v for v in series if not reads_as_number(v))
            raise DataError(
                "DATA_NOT_NUMERIC",
                f"Column {self.name!r} should hold numbers but holds {bad!r}.",
                fix="Convert the column to numbers, or declare its kind as categorical.",
            ) from error

    def _encode_levels(self, series: pd.Series) -> Floats:
        levels = pd.Index(list(self.levels))
        if isinstance(series.dtype, pd.StringDtype):
            # Only different texts are looked up: there are few, and each becomes an object of Python first.
            which, texts = pd.factorize(series)
            codes = np.append(levels.get_indexer(pd.Index(texts, dtype=object)), -1)[which].astype(np.float64)
        else:
            codes = levels.get_indexer(pd.Index(series)).astype(np.float64)
        absent = codes < 0
        if absent.any():
            missing = series.isna().to_numpy()
            codes[missing] = np.nan
            unseen = series[absent & ~missing]
            if len(unseen):
                raise DataError(
                    "DATA_UNSEEN_CATEGORY",
                    f"Column {self.name!r} holds {label(unseen.iloc[0])} in row {label(unseen.index[0])}, which is "
                    f"none of its known levels: {listed(self.levels)}. {closest(unseen.iloc[0], self.levels)}".rstrip(),
                    fix=("Correct the value, drop these rows, or ", Setting("fit again"), "."),
                )
        return codes

    def unit_in(self, frame: pd.DataFrame) -> float:
        """The unit in which proofs count an amount that may take any value; 1 for whole numbers and levels."""
        return unit_of(self.encode(frame[self.name])) if self.kind == "continuous" else 1.0

    def decode(self, codes: Floats) -> Any:
        """From floats back to values, in the table's own type where that is known."""
        values = self._values(codes)
        return values if self.dtype is None else as_stored(values, self.dtype, self.levels)

    def _values(self, codes: Floats) -> npt.NDArray[Any]:
        """The values; whole numbers of integer columns become integers again."""
        if self.is_category:
            values = np.empty(len(self.levels) + 1, dtype=object)
            values[:-1] = self.levels
            taken = values[np.where(np.isnan(codes), -1, codes).astype(np.intp)]
            return taken if self.kind == "categorical" else np.array(taken.tolist())
        codes = codes if self.unit == 1.0 else codes * self.unit
        # The ends of a box without limits are infinite, and no integer is.
        if self.is_whole and np.all((codes == np.rint(codes)) & (np.abs(codes) < 2.0**63)):
            return codes.astype(np.int64)
        return codes


def _binary_levels(series: pd.Series) -> tuple[Any, ...]:
    """The two levels; none for the numbers 0 and 1, which are amounts with a direction."""
    levels = _met_levels(series)
    if len(levels) > 2:
        raise SchemaError(
            "SCHEMA_KIND",
            f"Column {series.name!r} is declared binary but has {len(levels)} values: {listed(levels)}.",
            fix="Declare it categorical.",
        )
    # Flags beside a missing value arrive as objects; they equal 0 and 1 but must not become numbers.
    if pd.api.types.is_bool_dtype(series.dtype) or (levels and all(isinstance(v, bool | np.bool_) for v in levels)):
        return (False, True)
    return () if set(levels) <= {0, 1} else levels


def reads_as_number(value: Any) -> bool:
    """Whether Python reads it as a number, text included."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Encoding:
    """Columns in a fixed order; `encode` gives people as rows of floats, `decode` gives the values back."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame, names: Iterable[str], kinds: Mapping[str, Kind] | None = None) -> Encoding:
        """Look at the named columns of a frame."""
        kinds = kinds or {}
        require_columns(frame, names := list(names))
        return cls(tuple(Column.of(frame[name], kinds.get(name)) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def position(self, name: str) -> int:
        """Where a column stands."""
        return self.names.index(name)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.position(name)]

    def typed(self, frame: pd.DataFrame) -> Encoding:
        """The same columns, decoded to the types in which a table stores them."""
        return Encoding(tuple(replace(column, dtype=frame[column.name].dtype) for column in self.columns))

    def rounding(self, names: Iterable[str]) -> float:
        """How far a number may be off when it is stored like the coarsest of these columns, relative to its size."""
        grids = [grid for name in names if (grid := self[name].grid) is not None]
        return max((float(np.finfo(grid).eps) / 2 for grid in grids), default=2.0**-53)

    def encode(self, frame: pd.DataFrame) -> Floats:
        """The columns as one float matrix, a row a person."""
        matrix = np.empty((len(frame), len(self.columns)))
        for k, column in enumerate(self.columns):
            matrix[:, k] = column.encode(frame[column.name])
        return matrix

    def decode(self, matrix: Floats, index: pd.Index | None = None) -> pd.DataFrame:
        """The frame that encodes to this matrix."""
        columns = {column.name: column.decode(matrix[:, k]) for k, column in enumerate(self.columns)}
        return pd.DataFrame(columns, index=index)

    @property
    def units(self) -> Floats:
        """The unit of each column."""
        return np.array([column.unit for column in self.columns])

    def in_units(self, units: Floats) -> Encoding:
        """The same columns with amounts as multiples of units."""
        return Encoding(tuple(replace(c, unit=float(u)) for c, u in zip(self.columns, units, strict=True)))

    def check_whole(self, matrix: Floats, index: pd.Index) -> None:
        """Refuse fractions in integer columns and all but 0 and 1 in binary ones, naming row and column."""
        for k, column in enumerate(self.columns):
            values = matrix[:, k]
            if not column.is_whole:
                continue
            is_binary = column.kind == "binary"
            broken = (values != 0) & (values != 1) if is_binary else values != np.rint(values)
            broken &= ~np.isnan(values)
            if broken.any():
                row = int(broken.argmax())
                kind, code = (
                    ("binary, 0 or 1,", "DATA_UNSEEN_CATEGORY")
                    if is_binary
                    else ("an integer feature", "DATA_NOT_INTEGER")
                )
                raise DataError(
                    code,
                    f"Column {column.name!r} is {kind} but holds {number(values[row])} in row {label(index[row])}.",
                    fix="Correct the value, or declare the feature's kind as integer or continuous."
                    if is_binary
                    else "Round the values, or declare the feature continuous.",
                )


def row_dicts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A mapping from column to value for each row of a table whose columns are named by text."""
    return cast("list[dict[str, Any]]", frame.to_dict("records"))


def require_columns(frame: pd.DataFrame, names: Iterable[str], why: Text = "The data") -> None:
    """Refuse a frame that lacks a column, suggesting the closest name."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        hint = closest(absent[0], frame.columns)
        raise DataError(
            "DATA_MISSING_COLUMN",
            parts_of(why, f" has no column {listed(absent)}. {hint}".rstrip()),
            fix=f"The columns are {listed(frame.columns, most=20)}.",
        )
