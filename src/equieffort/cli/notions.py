"""`equieffort notions`: neighbouring notions of a saved audit, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equieffort.cli.common import as_json_text, check_writable
from equieffort.cli.reading import File, open_audit


def notions(
    file: File,
    family: Annotated[
        list[str] | None, typer.Option(help="Only this family of notions; can be given several times.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it too, as PNG, SVG or PDF (needs the extra plot).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what neighbouring notions say of a saved audit, and where they disagree.

    Notions that ask the model are shown as `equieffort audit --notions` read them; a file holds no model.
    """
    from equieffort.exports import plain, records
    from equieffort.words.notions import disagreements

    if plot is not None:
        check_writable(plot)
    made = open_audit(file)
    found = made.notions(only=family)
    if plot is not None:
        made.plot.notions(found).save(plot)
    if as_json:
        missing = [{"notion": one.notion, "why": one.why} for one in found.missing]
        both = {"notions": records(found.frame()), "missing": missing, "disagreements": disagreements(found)}
        typer.echo(as_json_text(plain(both)))
    else:
        typer.echo(str(found))
