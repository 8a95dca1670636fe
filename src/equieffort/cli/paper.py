"""`equieffort paper`: the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equieffort.cli.progress import reporter


def paper(
    out: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("paper"),
    figure: Annotated[str | None, typer.Option(help="Only this figure, by its label in the paper.")] = None,
    seed: Annotated[int, typer.Option(help="First seed of the synthetic draws.", min=0)] = 0,
    n: Annotated[int, typer.Option(help="People in each synthetic draw.", min=20)] = 1000,
    preset: Annotated[str, typer.Option(help="published, corrected or both.")] = "both",
) -> None:
    """Compute the paper's figures and lay them beside the published ones."""
    from equieffort.paper import Size, reproduce

    _need_pictures()
    with reporter() as progress:
        made = reproduce(out, figure=figure, preset=preset, size=Size(n=n, seed=seed), progress=progress)
    for name, part in made.comparison.groupby("preset", sort=False):
        counts = part["judgement"].value_counts()
        typer.echo(f"{name}: " + ", ".join(f"{count} {judgement}" for judgement, count in counts.items()))
    typer.echo(f"Wrote {made.page} and {out / 'comparison.csv'}")


def _need_pictures() -> None:
    """Figures are drawn at the end: find out first whether they can be."""
    from importlib.util import find_spec

    from equieffort.errors import ParameterError

    if find_spec("matplotlib") is None:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY",
            "The paper's figures need the package matplotlib.",
            fix="pip install '.[plot]' in the folder of equieffort.",
        )
