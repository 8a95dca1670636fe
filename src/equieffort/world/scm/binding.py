"""Mechanisms attached to the encoded causes of their nodes.

Solvers read the numbers of `Linear` and enclose what other known equations can reach. A subclass, or a method that was
replaced, may follow its causes otherwise: it is asked for what follows and never opened, like a plain function, through
which nothing is proven.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equieffort.data.frames import Column, Encoding
from equieffort.errors import CausalModelError
from equieffort.foundations.genuine import why_not
from equieffort.world.graph import CausalGraph
from equieffort.world.scm.equations import (
    Additive,
    Discrete,
    DiscreteMechanism,
    Equation,
    Mechanism,
    Predict,
    Wrapped,
    WrappedLevels,
)

Parsed = Mechanism | DiscreteMechanism
BASES = (Mechanism, DiscreteMechanism, Equation, Additive, Discrete, ABC, object)
"""What one builds a mechanism of one's own on, and answers for oneself."""


@contextmanager
def naming(node: str) -> Iterator[None]:
    """Errors raised inside say whose equation they are about."""
    try:
        yield
    except CausalModelError as error:
        error.node = node
        raise


def subset(encoding: Encoding, names: tuple[str, ...]) -> Encoding:
    """The encoding of some of the columns."""
    return Encoding(tuple(encoding[name] for name in names))


def additive(mechanism: Mechanism, node: str, causes: Encoding) -> Additive:
    """An additive mechanism over its encoded causes; a plain function becomes one without bounds."""
    bound = mechanism.bind(node, causes)
    if reason := why_asked(bound):
        return asked_equation(causes, bound, reason)
    return bound if isinstance(bound, Additive) else Additive(causes, bound)


def bound_equations(
    graph: CausalGraph, encoding: Encoding, mechanisms: Mapping[str, Parsed | None]
) -> dict[str, Additive | Discrete]:
    """The equations over their encoded causes."""
    bound: dict[str, Additive | Discrete] = {}
    for node, mechanism in mechanisms.items():
        causes = subset(encoding, graph.parents(node))
        with naming(node):
            if isinstance(mechanism, DiscreteMechanism):
                levels = mechanism.bind(node, causes, encoding[node])
                bound[node] = asked_levels(levels, reason) if (reason := why_asked(levels)) else levels
            elif mechanism is not None:
                bound[node] = additive(mechanism, node, causes)
    return bound


def why_asked(thing: Any) -> str:
    """Why a mechanism or an equation cannot be read as what it is built on; empty if it can, or is built on none."""
    cls = type(thing)
    known = [parent for parent in cls.__mro__ if parent.__module__.startswith("equieffort.") and parent not in BASES]
    if not known:
        return ""
    if known[0] is cls:
        return why_not(thing, "equieffort")
    return f"{cls.__name__} is a class of its own built on {known[0].__name__}"


def readable(mechanism: Any) -> Any:
    """The mechanism, or one that only asks it."""
    if mechanism is None or not (reason := why_asked(mechanism)):
        return mechanism
    return (AskedLevels if isinstance(mechanism, DiscreteMechanism) else Asked)(mechanism, reason)


@dataclass(frozen=True)
class Asked(Mechanism):
    """An additive mechanism that is only asked."""

    mechanism: Mechanism
    reason: str = field(repr=False)

    def bind(self, node: str, causes: Encoding) -> Additive:
        """Its own equation, without bounds."""
        return asked_equation(causes, self.mechanism.bind(node, causes), self.reason)

    def equation(self, node: str) -> str:
        """In its own words."""
        return self.mechanism.equation(node)


@dataclass(frozen=True)
class AskedLevels(DiscreteMechanism):
    """A mechanism of levels that is only asked."""

    mechanism: DiscreteMechanism
    reason: str = field(repr=False)

    def bind(self, node: str, causes: Encoding, column: Column) -> Discrete:
        """Its own equation, without bounds."""
        return asked_levels(self.mechanism.bind(node, causes, column), self.reason)

    def equation(self, node: str) -> str:
        """In its own words."""
        return self.mechanism.equation(node)


def asked_equation(causes: Encoding, own: Additive | Predict, reason: str) -> Additive:
    """An equation that is only asked."""
    equation = own if isinstance(own, Additive) else Additive(causes, own)
    return Wrapped(causes, equation, np.ones(len(causes.columns)), 1.0, reason)


def asked_levels(own: Discrete, reason: str) -> Discrete:
    """An equation of levels that is only asked."""
    return WrappedLevels(own.causes, own, np.ones(len(own.causes.columns)), 1.0, reason)
