"""To whom a sentence speaks: what it advises, and whether it may tell of one person."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Audience:
    """The words that differ between those who read about the same fact."""

    raise_it: str = ""
    """How to raise a limit of the solver, with {} for its argument; empty where readers can do nothing about it."""
    declare: str = ""
    """How to declare a limit that nobody declared, with {feature} and {key}; empty likewise."""
    person: bool = True
    """Whether to tell the person's own numbers."""


PYTHON = Audience("raise {}", "declare {key} to allow {way}")
SPEC = Audience("raise {} under solver in the spec", "write features.{feature}.{key} in the spec to allow {way}")
REPORT = Audience(person=False)
