"""`equieffort verify`: a saved audit checked again with the model and the data, apart from the solvers."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equieffort.cli.common import EQUAL, UNEQUAL, UnsafePickle, as_json_text
from equieffort.cli.reading import File, open_audit
from equieffort.errors import EquieffortError, ModelError

if TYPE_CHECKING:
    from equieffort.data.inputs import DataSource
    from equieffort.results.provenance import Provenance


class OtherSolver(StrEnum):
    """Solvers that give a second opinion, and a grid, which needs none."""

    milp = "milp"
    branch_and_bound = "branch_and_bound"
    linear_exact = "linear_exact"
    linear_search = "linear_search"
    spatial_branch_and_bound = "spatial_branch_and_bound"
    search = "search"
    grid = "grid"


def verify(
    file: File,
    model: Annotated[Path, typer.Option("--model", help="The audited model; of a surrogate the file beside FILE.")],
    data: Annotated[Path, typer.Option("--data", help="The audited people: CSV or Parquet.")],
    sample: Annotated[
        int | None,
        typer.Option(help="Solve so many refused people again with another solver; 50 with --oracle, else 0.", min=0),
    ] = None,
    oracle: Annotated[
        OtherSolver | None, typer.Option(help="The other solver; by default the first that fits.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides who is in the sample.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    unsafe_load_pickle: UnsafePickle = False,
) -> None:
    """Check every action of a saved audit again: in plain numpy, with the model's own labels, without our solvers.

    Ends with 0 if all that was checked holds, 1 if something does not, 2 if it cannot be checked (another model, other
    data, a file that cannot be read).
    """
    from equieffort.data.inputs import read_table
    from equieffort.exports import plain
    from equieffort.models.files.loaders import read_model

    made = open_audit(file)
    source, features = _reading(made.provenance, data)
    people = read_table(source)
    _check_model(made.provenance, model)
    trusted = list(made.provenance.model.trusted) if made.provenance.model is not None else []
    classifier, _ = read_model(model, unsafe_load_pickle=unsafe_load_pickle, trusted=trusted)
    found = made.verify(
        classifier, people, model_features=features, sample=(0 if oracle is None else 50) if sample is None else sample,
        oracle=None if oracle is None else oracle.value, random_state=seed,
    )  # fmt: skip
    typer.echo(as_json_text(plain(found.to_dict())) if as_json else str(found))
    raise typer.Exit(EQUAL if found.holds else UNEQUAL)


def _reading(made: Provenance, data: Path) -> tuple[DataSource, tuple[str, ...] | None]:
    """How to read the table, and the model's columns: as the audit's spec says, if it came from one."""
    from equieffort.data.inputs import DataSource
    from equieffort.spec.read import parse_spec

    if not made.spec:
        return DataSource(data), None
    try:
        spec = parse_spec(made.spec)
    except EquieffortError:
        return DataSource(data), None
    return replace(spec.data, path=data), spec.model.features or None


def _check_model(made: Provenance, model: Path) -> None:
    """Refuse another file than the one that was audited, where that is known."""
    from equieffort.spec.learning import file_hash

    if made.model is None:
        return
    digest = file_hash(model)
    # Of a file that cannot be read whoever loads it says what is wrong.
    if digest and digest != made.model.sha256:
        raise ModelError(
            "VERIFY_OTHER_MODEL",
            f"{model.name!r} is not the model that was audited, {made.model.path!r}: its SHA-256 begins with "
            f"{digest[:12]}, that of the audited one with {made.model.sha256[:12]}.",
            fix="Give the very file that was audited; a model that was saved again is another file.",
        )
