"""Mechanisms attached to the encoded causes of their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from equieffort.data.frames import Encoding
from equieffort.errors import CausalModelError
from equieffort.world.graph import CausalGraph
from equieffort.world.scm.asked import AskedEquation, AskedLadder, why_asked
from equieffort.world.scm.base import DiscreteMechanism, Mechanism
from equieffort.world.scm.equations import Additive, Discrete

Parsed = Mechanism | DiscreteMechanism


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
        return AskedEquation(causes, bound, reason)
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
                bound[node] = AskedLadder(levels, reason) if (reason := why_asked(levels)) else levels
            elif mechanism is not None:
                bound[node] = additive(mechanism, node, causes)
    return bound
