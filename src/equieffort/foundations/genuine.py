"""Genuine: whether an object is what its class says, so that what is opened is what decides.

A view reads the numbers inside an estimator and foretells what its methods answer. That holds for the classes that
are known and for nothing else: a subclass, a method put on the object or on its class by somebody else, may answer
otherwise. Such an object is asked and never opened.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any

LIBRARIES = ("sklearn", "xgboost", "lightgbm", "equieffort")
"""Whose classes are known."""
HEAP = 1 << 9
"""The flag of classes written in Python."""
SPECIAL = ("__call__", "__getattr__", "__getattribute__", "__array__")
"""Special methods that decide what an object answers."""
ANSWERS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
"""Methods that an object may have of its own because its class has none."""


def why_not(thing: Any, library: str = "") -> str:
    """Why an object is not a plain one of a library's own classes; empty if it is.

    >>> from sklearn.linear_model import LogisticRegression
    >>> why_not(LogisticRegression())
    ''
    >>> class Kind(LogisticRegression):
    ...     pass
    >>> why_not(Kind())
    'Kind is a class of its own'
    """
    return _why_not_class(type(thing), library) or _why_not_instance(thing)


def why_not_all(things: Iterable[Any], library: str = "") -> str:
    """Why one of many, often of the same class, is not genuine; empty if all are."""
    things = list(things)
    for cls in dict.fromkeys(map(type, things)):
        if reason := _why_not_class(cls, library):
            return reason
    return next((reason for thing in things if (reason := _why_not_instance(thing))), "")


def is_exactly(thing: Any, *classes: type) -> bool:
    """Whether an object is of one of these classes itself, with the methods that this class has.

    >>> is_exactly(True, int), is_exactly(1, int)
    (False, True)
    """
    return type(thing) in classes and not (type(thing).__module__ != "builtins" and why_not(thing))


def _why_not_class(cls: type, library: str) -> str:
    name = cls.__name__
    home = _library(cls)
    module = sys.modules.get(cls.__module__)
    # A class may call itself what it likes; what its module holds under that name is the library's.
    if home not in LIBRARIES or (library and home != library) or getattr(module, cls.__qualname__, None) is not cls:
        return f"{name} is a class of its own"
    for parent in cls.__mro__[:-1]:
        if _library(parent) not in (*LIBRARIES, "abc", "typing", "collections", "builtins", "enum"):
            return f"{name} is a class of its own"
        # The attributes of a compiled class cannot be replaced.
        if _library(parent) in LIBRARIES and parent.__flags__ & HEAP:
            for key, value in vars(parent).items():
                # Dataclasses write most special methods themselves, and these decide nothing.
                if (key in SPECIAL or not key.startswith("__")) and not _is_own(key, value):
                    return f"{name}.{key} was replaced"
    return ""


def _why_not_instance(thing: Any) -> str:
    cls = type(thing)
    for key in getattr(thing, "__dict__", ()):
        known = getattr(cls, key, None)
        if isinstance(key, str) and (callable(known) or callable(vars(thing)[key])) and _is_method(cls, key):
            return f"{key} was replaced on this {cls.__name__}"
    for key in ANSWERS:
        given = getattr(thing, "__dict__", {}).get(key)
        if callable(given) and not _is_own(key, given):
            return f"{key} was replaced on this {cls.__name__}"
    return ""


def _is_method(cls: type, key: str) -> bool:
    """Whether the class answers to this name with something of its own that an object's attribute would hide."""
    for parent in cls.__mro__:
        if key in vars(parent):
            value = vars(parent)[key]
            return hasattr(type(value), "__get__") and not hasattr(type(value), "__set__")
    return False


def _library(cls: type) -> str:
    return cls.__module__.split(".")[0]


def _is_own(key: str, value: Any, depth: int = 4) -> bool:
    """Whether a class's attribute is the library's: functions are its modules', whatever they say of themselves."""
    if depth == 0:
        return True
    if isinstance(value, staticmethod | classmethod):
        return _is_own(key, value.__func__, depth - 1)
    if isinstance(value, property):
        return all(_is_own(key, part, depth - 1) for part in (value.fget, value.fset, value.fdel) if part is not None)
    if isinstance(value, FunctionType):
        return _is_at_home(value) and all(_is_own(key, inner, depth - 1) for inner in _closed_over(value))
    if isinstance(value, type) or not (callable(value) or hasattr(type(value), "__get__")):
        return True
    if type(value).__module__.split(".")[0] not in (*LIBRARIES, "builtins", "functools", "abc", "_abc"):
        return False
    inner = [part for name in ("fn", "check", "func", "__func__") if (part := getattr(value, name, None)) is not None]
    return all(_is_own(key, part, depth - 1) for part in inner if part is not value)


def _closed_over(function: FunctionType) -> list[FunctionType]:
    found = []
    for cell in function.__closure__ or ():
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        if isinstance(inner, FunctionType):
            found.append(inner)
    return found


def _is_at_home(function: FunctionType) -> bool:
    """Whether a function was written in a module of a library: its globals are those of that module."""
    name = str(function.__globals__.get("__name__"))
    module = sys.modules.get(name)
    return name.split(".")[0] in LIBRARIES and module is not None and vars(module) is function.__globals__
