"""Errors and warnings in the words of those who write a spec: they are never told to call Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from equieffort.errors import EquieffortError, EquieffortWarning, Text, parts_of
from equieffort.words.settings import Audience, in_words

Problem = TypeVar("Problem", EquieffortError, EquieffortWarning)


def spec_text(*texts: Text) -> str:
    """A text, or several one after the other, in the words of the spec."""
    return in_words(parts_of(*texts), "spec")


def reworded(problem: Problem, audience: Audience = "spec") -> Problem:
    """The error or warning in the words of the spec, or of options at the command line.

    >>> from equieffort.errors import SchemaError, Setting
    >>> reworded(SchemaError("SCHEMA_GROUPS", "With whom?", fix=("Write ", Setting("reference"), "."))).fix
    'Write sensitive: {reference: ...}.'
    """
    if all(isinstance(part, str) for part in (*problem.what_parts, *problem.fix_parts)):
        return problem
    what, fix = (in_words(parts, audience) for parts in (problem.what_parts, problem.fix_parts))
    new = type(problem)(problem.code, what, fix=fix)
    # What the problem knows beside its words, such as the node of an equation.
    vars(new).update({name: value for name, value in vars(problem).items() if name not in vars(new)})
    return new


@contextmanager
def spec_words(audience: Audience = "spec") -> Iterator[None]:
    """Errors raised inside are told in the words of the spec."""
    try:
        yield
    except EquieffortError as error:
        told = reworded(error, audience)
        if told is error:
            raise
        raise told from error
