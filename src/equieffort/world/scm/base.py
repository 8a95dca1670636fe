"""What a mechanism is, and what learns one."""

from __future__ import annotations

from abc import ABC, abstractmethod

from equieffort.data.frames import Column, Encoding, Floats
from equieffort.world.scm.equations import Additive, Discrete, Predict


class Mechanism(ABC):
    """An equation whose noise can be abducted: x = f(causes) + noise."""

    @abstractmethod
    def bind(self, node: str, causes: Encoding) -> Additive | Predict:
        """The equation over the encoded causes; refuses causes it does not know.

        A plain function of the causes will do, but then nothing that goes through it can be certified.
        """

    @abstractmethod
    def equation(self, node: str) -> str:
        """The equation in words."""


class Learner(ABC):
    """Learns a `Mechanism` from data."""

    @abstractmethod
    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Mechanism:
        """Fit the node's values to its encoded causes."""


class DiscreteMechanism(ABC):
    """An equation of a node with a few levels in an order, whose noise can be abducted."""

    @abstractmethod
    def bind(self, node: str, causes: Encoding, column: Column) -> Discrete:
        """The equation over the encoded causes, for a node held in this column."""

    @abstractmethod
    def equation(self, node: str) -> str:
        """The equation in words."""


class DiscreteLearner(ABC):
    """Learns a `DiscreteMechanism` from data."""

    @abstractmethod
    def learn(self, node: str, causes: Encoding, parents: Floats, column: Column, values: Floats) -> DiscreteMechanism:
        """Fit the node's encoded values, all of them levels of the column, to its encoded causes."""
