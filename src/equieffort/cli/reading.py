"""Commands that read saved audits: `check`, `report`, `explain`, `diff`."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.audit import as_text, text
from equieffort.cli.common import EQUAL, EXIT, UNEQUAL, Outputs, check_writable, command_line, write
from equieffort.errors import DataError, label

if TYPE_CHECKING:
    from equieffort._audit import Audit

File = Annotated[Path, typer.Argument(help="An audit file.")]


class Shown(StrEnum):
    """How `check` answers."""

    text = "text"
    json = "json"
    sarif = "sarif"
    junit = "junit"


class Sides(StrEnum):
    """Rules for the ratio of efforts."""

    two_sided = "two-sided"
    literal = "literal"


def check(
    file: File,
    tau: Annotated[float | None, typer.Option(help="Largest ratio of efforts that counts as equal.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Difference in possible recourse that counts.")] = None,
    rule: Annotated[Sides | None, typer.Option(help="Whether very small ratios count too.")] = None,
    min_people: Annotated[int | None, typer.Option(help="Smallest number of refused people to judge.")] = None,
    shown: Annotated[Shown, typer.Option("--format", help="How to answer.")] = Shown.text,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the answer here instead.")] = None,
) -> None:
    """Judge a saved audit, with its own criteria or others; nothing is solved again.

    Ends with 0 if effort is equal within the thresholds, 1 if not, 4 if the data cannot tell.
    """
    from dataclasses import replace

    from equieffort.files import load
    from equieffort.verdict import Literal, TwoSided

    if out is not None:
        check_writable(out)
    made = load(file)
    rules = {Sides.two_sided: TwoSided(), Sides.literal: Literal()}
    changed: dict[str, Any] = {"tau": tau, "epsilon": epsilon, "min_people": min_people}
    changed["rule"] = None if rule is None else rules[rule]
    criteria = replace(made.criteria, **{name: value for name, value in changed.items() if value is not None})
    made = replace(made, criteria=criteria)
    answer = f"{text(made)}\n" if shown == Shown.text else as_text(made, file.name, shown.value)
    if out is not None:
        write(out, answer)
    else:
        typer.echo(answer, nl=False)
    raise typer.Exit(EXIT[made.verdict.outcome])


def report(
    file: File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page; FILE.html by default.")] = None,
    suppress_below: Annotated[
        int | None, typer.Option(help="Hide cells that count fewer people than this.", min=0)
    ] = None,
) -> None:
    """Write the report of a saved audit: one HTML file."""
    from equieffort.files import load
    from equieffort.report import render

    page = Outputs(file if out is None else out, [".html"], inputs=[file])[".html"]
    made = load(file)
    least = made.about.get("suppress_below", 0) if suppress_below is None else suppress_below
    command = made.about.get("command") or command_line()
    write(page, render(made, title=made.about.get("title", ""), suppress_below=least, command=command))
    typer.echo(f"Wrote {page}")


def explain(
    file: File,
    row: Annotated[str, typer.Option("--row", help="The person's label (the id column, or the row's number).")],
) -> None:
    """Say what one person can do to turn the decision."""
    from equieffort.files import load

    made = load(file)
    typer.echo(str(made.explain(_label(made, row))))


def diff(
    before: Annotated[Path, typer.Argument(help="The first audit file.")],
    after: Annotated[Path, typer.Argument(help="The second audit file.")],
    rescale: Annotated[
        bool, typer.Option("--rescale", help="Recompute the second one's costs at the first one's prices.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what changed between two audits, for whom, and whether it is beyond noise.

    Ends with 1 if effort became unequal, or if that of a protected group moved away from equality beyond noise, to
    either side; otherwise with 0.
    """
    from equieffort.comparison import compare_audits
    from equieffort.exports import plain, text_table
    from equieffort.files import load

    found = compare_audits(load(before), load(after), rescale=rescale)
    if as_json:
        typer.echo(json.dumps(plain(found.to_dict()), indent=2, ensure_ascii=False))
    else:
        shown = ["group", "role"]
        for name in ("phi", "rho", "acr", "rd"):
            shown += [f"{name}_before", f"{name}_after"]
        typer.echo(f"{found}\n\n{text_table(found.by_group[shown])}")
    raise typer.Exit(UNEQUAL if found.is_worse else EQUAL)


def _label(made: Audit, row: str) -> Any:
    """The label as it is in the file: a number where labels are numbers."""
    index = made.recourse.index
    if index.dtype.kind not in "iu":
        return row
    try:
        return int(row)
    except ValueError as error:
        raise DataError(
            "DATA_UNKNOWN_ROW",
            f"{row!r} is no label of a person: the labels are whole numbers, the first is {label(index[0])}.",
            fix="Give a number with --row.",
        ) from error
