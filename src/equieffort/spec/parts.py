"""What a spec becomes once it is read: values of this package, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from equieffort.data.inputs import DataSource
from equieffort.effort.criteria import Criteria
from equieffort.effort.neighbours import Neighbourhood
from equieffort.recourse.solvers import Auto, Solver
from equieffort.world.cost import Cost
from equieffort.world.schema import Schema
from equieffort.world.scm import Learner, LeastSquares


@dataclass(frozen=True)
class ModelSource:
    """A saved model, or the kind of stand-in to train: exactly one of them."""

    file: Path | None = None
    train: str | None = None
    features: tuple[str, ...] = ()
    """The columns a saved model sees, when it does not know their names."""
    trusted: tuple[str, ...] = ()
    """Types in a skops file that the auditor vouches for."""
    training_data: Path | None = None
    """What a saved model was trained on, so that it can be trained again."""
    training_label: str | None = None
    """The column of the labels it was trained on."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything an audit needs, except for the people themselves."""

    data: DataSource
    model: ModelSource
    label: str | None
    """The column of recorded decisions."""
    schema: Schema
    features: list[str]
    """The columns that a model trained here may see."""
    edges: list[tuple[str, str]]
    nodes: list[str]
    """Nodes of the graph that no edge mentions."""
    cost: Cost
    neighbourhood: Neighbourhood
    criteria: Criteria
    subgroups: dict[str, str]
    mechanisms: dict[str, Any] = field(default_factory=dict)
    """The equations that are declared, as `StructuralCausalModel` takes them."""
    default: Learner = field(default_factory=LeastSquares)
    """What learns the other equations."""
    solver: Solver | Auto = field(default_factory=Auto)
    random_state: int = 0
    min_agreement: float = 0.9
    min_refusal_recall: float = 0.5
    title: str = ""
    suppress_below: int = 0
    path: Path | None = None
    text: str = ""
    """The spec as it was written."""
