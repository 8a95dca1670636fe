"""Mechanisms of a class of their own built on a known one: asked for what follows, never opened.

Solvers read the numbers of `Linear` and enclose what other known equations can reach. A subclass, or a method that was
replaced, may follow its causes otherwise; it counts like a plain function, through which nothing is proven.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from typing import Any

from equieffort.data.frames import Column, Encoding, Floats
from equieffort.foundations.genuine import why_not
from equieffort.world.scm.base import DiscreteMechanism, Mechanism
from equieffort.world.scm.equations import Additive, Discrete, Equation

BASES = (Mechanism, DiscreteMechanism, Equation, Additive, Discrete, ABC, object)
"""What one builds a mechanism of one's own on, and answers for oneself."""


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
        return AskedEquation(causes, self.mechanism.bind(node, causes), self.reason)

    def equation(self, node: str) -> str:
        """In its own words."""
        return self.mechanism.equation(node)


class AskedEquation(Additive):
    """An equation that is only asked."""

    def __init__(self, causes: Encoding, own: Any, reason: str) -> None:
        super().__init__(causes, own, reason)
        self.own = own if isinstance(own, Additive) else Additive(causes, own)

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.abduct(values, parents)

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.predict(noise, parents)

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.counterfactual(values, before, after)


@dataclass(frozen=True)
class AskedLevels(DiscreteMechanism):
    """A mechanism of levels that is only asked."""

    mechanism: DiscreteMechanism
    reason: str = field(repr=False)

    def bind(self, node: str, causes: Encoding, column: Column) -> Discrete:
        """Its own equation, without bounds."""
        return AskedLadder(self.mechanism.bind(node, causes, column), self.reason)

    def equation(self, node: str) -> str:
        """In its own words."""
        return self.mechanism.equation(node)


class AskedLadder(Discrete):
    """An equation of levels that is only asked."""

    def __init__(self, own: Discrete, reason: str) -> None:
        self.own, self.reason = own, reason
        self.causes, self.ladder = own.causes, own.ladder

    @property
    def why_unbounded(self) -> str:
        """What it is."""
        return self.reason

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.abduct(values, parents)

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.predict(noise, parents)

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.counterfactual(values, before, after)

    def expected(self, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self.own.expected(parents)

    def reach(self, noise: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """As the equation itself says; nobody believes it."""
        return self.own.reach(noise, low, high)
