"""`explain`: what one person can do, or letters to everybody who was refused."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.common import Quiet, check_writable, write
from equieffort.cli.reading import File, open_audit
from equieffort.errors import DataError, ParameterError, closest, label, listed, many

if TYPE_CHECKING:
    from equieffort.results.audits import Audit


class Form(StrEnum):
    """What letters are written in."""

    html = "html"
    md = "md"


def explain(
    file: File,
    row: Annotated[
        str | None, typer.Option("--row", help="The person's label (the id column, or the row's number).")
    ] = None,
    everybody: Annotated[
        bool, typer.Option("--all", help="A letter to each person who was refused; needs -o.")
    ] = False,
    alternatives: Annotated[
        int | None,
        typer.Option(help="So many ways, which change different features; by default all that FILE keeps.", min=1),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write letters and an index to this folder.")] = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="Letters as html or md; by default as the template's name ends.")
    ] = None,
    template: Annotated[Path | None, typer.Option(help="Write letters with this template (jinja2).")] = None,
    write_template: Annotated[
        Path | None, typer.Option(help="Write the default template here, .html or .md, to start one from.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace letters that are in the folder.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what one person can do to turn the decision; or write a letter to everybody who was refused."""
    if write_template is not None:
        _write_template(write_template, overwrite=overwrite)
        return
    _check_asked(row, everybody, out, {"--format": form, "--template": template, "--overwrite": overwrite or None})
    made = open_audit(file)
    named = None if row is None else row_label(made, row, file.name)
    if out is None:
        typer.echo(str(made.explain(named, alternatives=alternatives)))
        return
    from equieffort.cli.progress import reporter
    from equieffort.letters.pages import form_of

    with reporter(quiet=quiet) as progress:
        found = made.letters(
            out, None if named is None else [named], format=None if form is None else form.value, template=template,
            alternatives=alternatives, overwrite=overwrite, progress=progress,
        )  # fmt: skip
    if not quiet:
        index = out / f"index.{form.value if form is not None else form_of(template)}"
        typer.echo(f"Wrote {many(len(found), 'letter', 'letters')} and {index}")


def _check_asked(row: str | None, everybody: bool, out: Path | None, letters: dict[str, Any]) -> None:
    """Refuse what does not go together, before anything is read."""
    if (row is None) == (not everybody):
        what = "Nobody is named." if row is None else "--row names one person and --all everybody."
        raise ParameterError("PARAMETER", what, fix="Give --row ID for one person, or --all -o FOLDER for letters.")
    if out is None and everybody:
        raise ParameterError(
            "OUTPUT",
            "--all writes a letter to each refused person, and no folder is named for them.",
            fix="Name a folder for them with -o.",
        )
    if out is None and (given := [name for name, value in letters.items() if value is not None]):
        raise ParameterError("PARAMETER", f"{given[0]} is about letters.", fix="Name a folder for them with -o.")


def _write_template(path: Path, *, overwrite: bool) -> None:
    from equieffort.letters import default_template
    from equieffort.letters.pages import form_of

    check_writable(path)
    if path.exists() and not overwrite:
        raise ParameterError(
            "OUTPUT", f"{str(path)!r} is there already.", fix="Give another name, or replace it with --overwrite."
        )
    write(path, default_template(form_of(path)))
    typer.echo(f"Wrote {path}")


def row_label(made: Audit, row: str, name: str) -> Any:
    """The label as it is in the file: a number where rows are counted. "00103" is a name, never the number 103.

    Of people in parts the number, found by their id where a column names them.
    """
    from equieffort.recourse.part_source import PartsSource

    index, source = made.recourse.index, made.recourse.source
    if isinstance(source, PartsSource) and source.id is not None:
        if (found := source.row_called(row)) is None:
            raise DataError(
                "DATA_UNKNOWN_ROW",
                f"Nobody in {name!r} has the id {row!r}.",
                fix=f"Give an id as the column {source.id!r} of the parts has it.",
            )
        return found
    if index.dtype.kind not in "iu":
        if row not in index:
            made.refuse_left(row)
            names = [str(one) for one in index]
            same = [one for one in names if one.lstrip("0") == row.lstrip("0")]
            hint = f"Did you mean {same[0]!r}?" if same else closest(row, names)
            raise DataError(
                "DATA_UNKNOWN_ROW",
                f"Nobody in {name!r} has the id {row!r}. {hint}".rstrip(),
                fix=f"Give an id as the id column has it; the first are {listed(names[:5])}. Rows are not counted.",
            )
        return row
    is_number = re.fullmatch(r"0|-?[1-9][0-9]*", row) is not None
    if not is_number or int(row) not in index:
        made.refuse_left(row)
    file = made.provenance.data
    if is_number and int(row) not in index and file is not None and 0 <= int(row) < file.rows:
        raise DataError(
            "DATA_UNKNOWN_ROW",
            f"Person {row} is in the data but not in {name!r}: they left the audit, since a value that it needs is "
            "missing.",
            fix="Fill in what is missing and audit again, or ask about somebody else.",
        )
    if not is_number or int(row) not in index:
        raise DataError(
            "DATA_UNKNOWN_ROW",
            f"{row!r} is nobody's number in {name!r}, where people are numbered from {label(index[0])} to "
            f"{label(index[-1])}.",
            fix="Give a number without leading zeros; or name the id column as data.id in the spec, audit again, and "
            "give an id.",
        )
    return int(row)
