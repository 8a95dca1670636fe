"""What a spec is once the table of keys has checked it, with its places; and once its parts are built from that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from equieffort.data.inputs import DataSource
from equieffort.effort.criteria import Criteria
from equieffort.effort.matching import Matching
from equieffort.effort.neighbours import Neighbourhood
from equieffort.errors import EquieffortError
from equieffort.notions.huang import Treatment
from equieffort.recourse.solvers import Auto, Solver
from equieffort.results.provenance import LetterTexts
from equieffort.spec.nodes import Node, SpecError
from equieffort.words.problems import reworded, spec_text
from equieffort.world.cost import Cost
from equieffort.world.schema import Schema
from equieffort.world.scm import Learner, LeastSquares


@dataclass(frozen=True, eq=False)
class Parsed:
    """The values of a spec by their keys, and the tree that knows where each of them stands."""

    tree: Node
    values: dict[str, Any]
    folder: Path

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def find(self, *path: str) -> Node:
        """The value under these keys, or the last one on the way that exists."""
        return self.tree.find(*path)

    def refuse(self, path: str, what: str, fix: str, code: str = "SPEC_VALUE") -> SpecError:
        """An error at the value under these keys, with dots between them."""
        return self.find(*path.split(".")).at.error(code, f"{path} {what}", fix)


def again(error: EquieffortError, before: str, fix: str | None = None) -> EquieffortError:
    """The same error in the words of the spec, with words before it and perhaps another way out."""
    error = reworded(error)
    new = type(error)(error.code, f"{before}{error.what}", fix=error.fix if fix is None else fix)
    if isinstance(error, SpecError) and isinstance(new, SpecError):
        new.line, new.column = error.line, error.column
    return new


@contextmanager
def placed(node: Node, where: str, code: str = "", more: str = "") -> Iterator[None]:
    """Errors of the package itself get the place in the spec that caused them; `more` helps with one of the codes."""
    try:
        yield
    except SpecError:
        raise
    except EquieffortError as error:
        fix = spec_text(error.fix_parts) + (more if error.code == code else "")
        raise again(error, f"{node.at}: {where}: ", fix) from error


@dataclass(frozen=True)
class ModelSource:
    """A saved model, or the kind of surrogate to train: exactly one of them."""

    path: Path | None = None
    train: str | None = None
    features: tuple[str, ...] = ()
    """The columns a saved model sees, when it does not know their names."""
    trusted: tuple[str, ...] = ()
    """Types in a skops file that the auditor vouches for."""
    data: DataSource | None = None
    """The table a surrogate learns from, if not from the people audited; or what a saved model was trained on."""
    label: str | None = None
    """The column of the decisions in that table."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything an audit needs, except for the people themselves."""

    data: DataSource
    model: ModelSource
    label: str | None
    """The column of recorded decisions."""
    truth: str | None = None
    """The column of what truly became of people."""
    causes: tuple[str, ...] | None = None
    """Features that are causes of it."""
    treatments: tuple[Treatment, ...] | None = None
    """What Huang's equality of effort sets."""
    schema: Schema
    features: list[str]
    """The columns that a model trained here may see."""
    edges: list[tuple[str, str]]
    nodes: list[str]
    """Nodes of the graph that no edge mentions."""
    cost: Cost
    neighbourhood: Neighbourhood
    matching: Matching | None
    """How the report matches people."""
    criteria: Criteria
    subgroups: dict[str, str]
    mechanisms: dict[str, Any] = field(default_factory=dict)
    """The equations that are declared, as `StructuralCausalModel` takes them."""
    default: Learner = field(default_factory=LeastSquares)
    """What learns the other equations."""
    equations_data: DataSource | None = None
    """The table that equations are learned from, if not from the people audited."""
    solver: Solver | Auto = field(default_factory=Auto)
    random_state: int = 0
    min_agreement: float = 0.9
    min_refusal_recall: float = 0.5
    title: str = ""
    suppress_below: int = 0
    letters: LetterTexts = field(default_factory=LetterTexts)
    wanted: Any = None
    """The decisions people want as the spec declared them, once a surrogate has another word for them."""
    alternatives: int = 1
    """So many ways of each refused person are kept."""
    jobs: int | None = None
    """So many processes solve people."""
    dask: str | None = None
    """The cluster that does."""
    path: Path | None = None
    text: str = ""
    """The spec as it was written."""

    @property
    def declared_favourable(self) -> Any:
        """The decisions people want, in the words of the record."""
        return self.schema.favourable if self.wanted is None else self.wanted

    @property
    def knows_all_levels(self) -> bool:
        """Whether the people audited have every level that anything knows: a saved model, or what is learned from other
        tables, may know more."""
        return self.model.train is not None and self.model.data is None and self.equations_data is None

    def people(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without what was decided and what became of people: no model and no equation may see it."""
        return table.drop(columns=[name for name in (self.label, self.truth) if name in table.columns])
