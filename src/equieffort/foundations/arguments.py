"""Arguments of the wrong kind: refused with their name, what was given and what is taken.

Every check of an argument that several rooms need is here, and every call of a function that is not ours goes through
`calling`: whatever it raises is told with its name.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.errors import EquieffortError, ParameterError, Text, closest, label, sentence

LONG = 80
"""A longer text is cut: what was given may be a whole table."""

Refusal = type[EquieffortError]


def shown(value: Any) -> str:
    """What was given, in a few words.

    >>> shown("9"), shown(None), shown(int), shown([1, 2])
    ("the text '9'", 'None', 'the class int', 'the list [1, 2]')
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of {value.bit_length():,} bits"
    kind = "the text" if isinstance(value, str) else f"the {type(value).__name__}"
    if hasattr(value, "shape") and getattr(value, "shape", ()) != ():
        return f"{kind} of shape {value.shape}"
    try:
        text = label(value)
    except Exception:
        return kind
    if isinstance(value, int | float):
        return text
    # What only says where it lies in memory says nothing.
    if " at 0x" in text:
        return kind if not callable(value) else f"the function {getattr(value, '__name__', '')}".rstrip()
    return f"{kind} {text[:LONG] + '...' if len(text) > LONG else text}"


def refused(
    name: str, value: Any, takes: str, *, fix: Text = "", error: Refusal = ParameterError, code: str = "PARAMETER"
) -> EquieffortError:
    """The error about an argument."""
    hint = fix or (f"Create one: {value.__name__}(...)." if isinstance(value, type) else f"Give {takes}.")
    return error(code, f"{name} is {shown(value)}, but must be {takes}.", fix=hint)


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether it is one number that a float can hold: no truth value, no NaN, no text; infinity is a number.

    >>> is_number(3), is_number(True), is_number("3"), is_number(10**400), is_number(2.5, whole=True)
    (True, False, False, False, False)
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool | np.timedelta64):
        return False
    try:
        return not math.isnan(float(value))
    except (OverflowError, TypeError, ValueError):
        return False


def check_number(
    name: str,
    value: Any,
    takes: str,
    fits: Callable[[Any], bool] = lambda value: True,
    *,
    whole: bool = False,
    optional: bool = False,
    finite: bool = True,
    fix: Text = "",
    error: Refusal = ParameterError,
    code: str = "PARAMETER",
) -> None:
    """Refuse what is not a number that fits."""
    if value is None and optional:
        return
    if not is_number(value, whole=whole) or (finite and math.isinf(float(value))) or not fits(value):
        raise refused(name, value, takes, fix=fix, error=error, code=code)


def check_whole(name: str, value: Any, least: int = 0, *, optional: bool = False, code: str = "PARAMETER") -> None:
    """Refuse what is not a whole number of at least so much."""
    takes = f"a whole number, {least} or more"
    check_number(name, value, takes, lambda count: count >= least, whole=True, optional=optional, code=code)


def as_plain(value: Any) -> Any:
    """A value without numpy's type around it: 2 rather than np.int64(2).

    >>> as_plain(np.int64(2)), as_plain("a")
    (2, 'a')
    """
    return value.item() if isinstance(value, np.generic) else value


def is_flag(value: Any) -> bool:
    """Whether it is a truth value, numpy's included."""
    return isinstance(value, bool | np.bool_)


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not is_flag(value):
        raise refused(name, value, "True or False")


def check_choice(
    name: str, value: Any, choices: Iterable[str], *, error: Refusal = ParameterError, code: str = "PARAMETER"
) -> None:
    """Refuse what is none of a few texts."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        told = " or ".join(f'"{choice}"' for choice in known)
        hint = closest(value, known) if isinstance(value, str) else ""
        raise error(
            code, f"{name} is {shown(value)}, which is none of its choices. {hint}".rstrip(), fix=f"Use {told}."
        )


def check_instance(
    name: str,
    value: Any,
    kinds: type | tuple[type, ...],
    takes: str,
    *,
    optional: bool = False,
    fix: Text = "",
    error: Refusal = ParameterError,
    code: str = "PARAMETER",
) -> None:
    """Refuse what is not made by one of the classes; the class itself is the likeliest slip."""
    if not isinstance(value, kinds) and not (optional and value is None):
        raise refused(name, value, takes, fix="" if isinstance(value, type) else fix, error=error, code=code)


def check_mapping(
    name: str, value: Any, takes: str, *, error: Refusal = ParameterError, code: str = "PARAMETER"
) -> None:
    """Refuse what is no mapping from names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        keys = list(value) if isinstance(value, Mapping) else []
        raise refused(name, value, takes, fix=_text_names(keys), error=error, code=code)


def _text_names(given: list[Any]) -> str:
    """The way out where columns are named by numbers or pairs; empty where they are not."""
    odd = next((item for item in given if isinstance(item, int | float | tuple)), None)
    return "" if odd is None else f"Name columns by text: X.columns = X.columns.map(str), and then {str(odd)!r} here."


def check_function(
    name: str, value: Any, takes: str, *, error: Refusal = ParameterError, code: str = "PARAMETER"
) -> None:
    """Refuse what cannot be called."""
    if not callable(value) or isinstance(value, type):
        raise refused(name, value, takes, fix=f"Give {takes}.", error=error, code=code)


def names_in(
    name: str, value: Any, takes: str = "a list of column names", *, error: Refusal = ParameterError,
    code: str = "PARAMETER",
) -> tuple[str, ...]:  # fmt: skip
    """Column names as a tuple; a single text is one name, never its letters."""
    if isinstance(value, str):
        return (value,)
    found = _items(value)
    if found is None or not all(isinstance(item, str) for item in found):
        raise refused(name, value, takes, fix=_text_names(found or [value]), error=error, code=code)
    return tuple(str(item) for item in found)


def items_in(
    name: str, value: Any, takes: str, *, error: Refusal = ParameterError, code: str = "PARAMETER"
) -> list[Any]:
    """The items of a list or anything like it; a text or a mapping is none."""
    found = None if isinstance(value, str | bytes | Mapping) else _items(value)
    if found is None:
        raise refused(name, value, takes, error=error, code=code)
    return found


def _items(value: Any) -> list[Any] | None:
    if isinstance(value, set | frozenset):
        # A set has another order in each process.
        return sorted(value, key=str)
    try:
        return list(value) if isinstance(value, Iterable) else None
    except TypeError:
        return None


def check_path(
    name: str, value: Any, takes: str = "the path of a file", *, error: Refusal = ParameterError,
    code: str = "PARAMETER",
) -> None:  # fmt: skip
    """Refuse what no file can be called."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise refused(name, value, takes, error=error, code=code)


def as_numbers(answer: Any) -> npt.NDArray[np.float64]:
    """What a function of the caller's own returned, as numbers; text, dates and complex numbers are none."""
    found = np.asarray(answer)
    if found.dtype.kind not in "fiubO" or (found.dtype.kind == "O" and any(isinstance(v, str) for v in found.flat)):
        raise TypeError(f"it returned {found.dtype} and not numbers")
    return found.astype(np.float64)


def of_factual(function: Any, values: Any, name: str) -> Any:
    """What a function of the caller's own makes of the factual values."""
    if isinstance(function, type):
        raise refused(name, function, "a value or a function of the factual values", code="SCM_DO")
    with calling(f"The function {name}", "Return one value a person, from the factual values.", code="SCM_DO"):
        return function(values)


@contextmanager
def calling(what: str, fix: Text, *, error: Refusal = ParameterError, code: str = "PARAMETER") -> Iterator[None]:
    """Whatever a function of the caller's own raises inside is told with its name; short memory is nobody's fault."""
    try:
        yield
    except (EquieffortError, MemoryError):
        raise
    except Exception as raised:
        words = f": {sentence(raised)}" if str(raised).strip() else "."
        raise error(code, f"{what} failed with {type(raised).__name__}{words}", fix=fix) from raised
