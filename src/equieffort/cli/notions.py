"""`equieffort notions`: neighbouring notions of a saved audit, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from equieffort.cli.common import as_json_text
from equieffort.cli.reading import File, open_audit


def notions(
    file: File,
    family: Annotated[
        list[str] | None, typer.Option(help="Only this family of notions; can be given several times.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what neighbouring notions say of a saved audit, and where they disagree.

    Notions that ask the model are shown as `equieffort audit --notions` read them; a file holds no model.
    """
    from equieffort.exports import plain, records
    from equieffort.words.notions import disagreements

    found = open_audit(file).notions(only=family)
    if as_json:
        missing = [{"notion": one.notion, "why": one.why} for one in found.missing]
        both = {"notions": records(found.frame()), "missing": missing, "disagreements": disagreements(found)}
        typer.echo(as_json_text(plain(both)))
    else:
        typer.echo(str(found))
