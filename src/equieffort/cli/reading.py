"""Commands that read saved audits: `check`, `report`, `subgroups`, `diff`; `power` can do without one."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.audit import as_text, text
from equieffort.cli.common import EQUAL, EXIT, UNEQUAL, Outputs, as_json_text, check_writable, command_line, write
from equieffort.errors import AuditFileError, ParameterError, warn

if TYPE_CHECKING:
    from equieffort.effort.criteria import Criteria
    from equieffort.results.audits import Audit

OTHER_FILES = {
    ".html": "the report", ".json": "the summary", ".md": "the model card", ".csv": "a table", ".parquet": "a table",
    ".yaml": "a spec", ".yml": "a spec", ".sarif": "for build servers", ".xml": "for build servers",
}  # fmt: skip
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
    one_sided = "one-sided"


Tau = Annotated[float | None, typer.Option(help="Largest ratio of efforts that counts as equal.")]
Epsilon = Annotated[float | None, typer.Option(help="Difference in possible recourse that counts.")]
Rule = Annotated[Sides | None, typer.Option(help="Whether very small ratios count too.")]


def check(
    file: File,
    tau: Tau = None,
    epsilon: Epsilon = None,
    rule: Rule = None,
    min_people: Annotated[int | None, typer.Option(help="Smallest number of people to judge.")] = None,
    level: Annotated[
        str | None, typer.Option(help="How sure the verdict must be, such as 0.95, or none for the point estimate.")
    ] = None,
    judged: Annotated[
        list[str] | None, typer.Option(help="A measure that the verdict rests on; can be given several times.")
    ] = None,
    shown: Annotated[Shown, typer.Option("--format", help="How to answer.")] = Shown.text,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the answer here instead.")] = None,
) -> None:
    """Judge a saved audit, with its own criteria or others; nothing is solved again.

    Ends with 0 if effort is equal within the thresholds, 1 if not, 4 if the data cannot tell.
    """
    if out is not None:
        check_writable(out)
    made = open_audit(file)
    named = tuple(judged) if judged else None
    criteria = changed(made.criteria, tau=tau, epsilon=epsilon, min_people=min_people, rule=rule, judged=named)
    made = replace(made, criteria=criteria if level is None else replace(criteria, level=_level(level)))
    answer = f"{text(made)}\n" if shown == Shown.text else as_text(made, file.name, shown.value)
    if out is not None:
        write(out, answer)
    else:
        typer.echo(answer, nl=False)
    raise typer.Exit(EXIT[made.verdict.outcome])


def changed(criteria: Criteria, **options: Any) -> Criteria:
    """Criteria with what was given at the command line."""
    from equieffort.effort.criteria import RULES

    given = {name: value for name, value in options.items() if value is not None}
    if "rule" in given:
        given["rule"] = RULES[given["rule"]]()
    return replace(criteria, **given)


def _level(text: str) -> float | None:
    """A level as it is typed."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            "CRITERIA_INVALID", f"--level {text} is no number.", fix="Give a share such as 0.95, or none."
        ) from None


def report(
    file: File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page; FILE.html by default.")] = None,
    suppress_below: Annotated[
        int | None, typer.Option(help="Hide cells that count fewer people than this.", min=0)
    ] = None,
) -> None:
    """Write the report of a saved audit: one HTML file."""
    from equieffort.report import render

    check_kind(file)
    page = Outputs(file if out is None else out, [".html"], inputs=[file])[".html"]
    made = open_audit(file)
    command = made.provenance.command or command_line()
    write(page, render(made, title=made.provenance.title, suppress_below=suppress_below, command=command))
    typer.echo(f"Wrote {page}")


class Searched(StrEnum):
    """Measures that subgroups are searched by."""

    acr = "acr"
    rd = "rd"
    restricted_effort = "restricted_effort"
    burden = "burden"
    impact_ratio = "impact_ratio"


class Adjusted(StrEnum):
    """How many subgroups asked about at once are allowed for."""

    holm = "holm"
    bh = "bh"


PICTURES = (".png", ".svg", ".pdf")


def subgroups(
    file: File,
    measure: Annotated[Searched, typer.Option(help="What is compared in each subgroup.")] = Searched.acr,
    conditions: Annotated[int, typer.Option(help="Most conditions of a subgroup, 1 to 3.")] = 3,
    levels: Annotated[int, typer.Option(help="Levels that numbers are cut into, and texts kept.")] = 5,
    adjust: Annotated[
        Adjusted, typer.Option(help="holm: any single flag must hold; bh: at most 5 % of the flags wrong on average.")
    ] = Adjusted.holm,
    features: Annotated[
        list[str] | None, typer.Option("--feature", help="A column to search; can be given several times.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="One group against the reference; by default each.")] = None,
    cuts: Annotated[bool, typer.Option("--cuts", help='Also "at most" and "above" each cut of a number.')] = False,
    tau: Annotated[float, typer.Option(help="Ratios up to this are no inequality; 1: any is.")] = 1.0,
    epsilon: Annotated[float, typer.Option(help="Gaps of rd up to this are no inequality.")] = 0.0,
    fewest: Annotated[
        int, typer.Option(help="People a side from which on a subgroup is searched; fewer say less.", min=2)
    ] = 50,
    fewest_certified: Annotated[
        int, typer.Option(help="People a side from which on a subgroup has a bound.", min=2)
    ] = 200,
    rows: Annotated[int | None, typer.Option(help="At most so many subgroups in --json and files.", min=0)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a table (.csv, .json) or a picture (.png, .svg, .pdf).")
    ] = None,
) -> None:
    """Search every subgroup of up to three conditions: where effort is unequal, and how bad any can be."""
    from equieffort.exports import csv_text, plain

    if out is not None:
        if out.suffix.lower() not in (".csv", ".json", *PICTURES):
            raise ParameterError(
                "OUTPUT", f"{out.name!r} is no table and no picture.", fix="End it in .csv, .json, .png, .svg or .pdf."
            )
        check_writable(out)
    found = open_audit(file).search_subgroups(
        measure.value, conditions=conditions, levels=levels, features=features or None, group=group, cuts=cuts, tau=tau,
        epsilon=epsilon, adjust=adjust.value, fewest=fewest, fewest_certified=max(fewest, fewest_certified),
    )  # fmt: skip
    if out is not None:
        if out.suffix.lower() in PICTURES:
            found.plot().save(out)
        elif out.suffix.lower() == ".csv":
            write(out, csv_text(found.frame(rows)))
        else:
            write(out, as_json_text(plain(found.to_dict(rows))))
    typer.echo(as_json_text(plain(found.to_dict(rows))) if as_json else str(found))
    if out is not None and not as_json:
        typer.echo(f"Wrote {out}")


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
    from equieffort.exports import plain, text_table
    from equieffort.results.comparison import compare_audits

    found = compare_audits(open_audit(before), open_audit(after), rescale=rescale)
    if not found.matched:
        warn(
            "AUDIT_LABELS",
            "NOBODY IS IN BOTH AUDITS, so nothing is said about single people, and chance is judged as if other people "
            "had been audited.",
            fix="If they are the same people, name their id column as data.id in both specs and audit again.",
        )
    if as_json:
        typer.echo(as_json_text(plain(found.to_dict())))
    else:
        groups = found.groups
        kept = [f"{name}_{when}" for name in ("phi", "rho", "acr", "rd") for when in ("before", "after")]
        typer.echo(f"{found}\n\n{text_table(groups[['group', 'role', *(key for key in kept if key in groups)]])}")
        if not found.same_units:
            typer.echo("With --rescale the second audit's actions are charged at the first one's prices.")
    raise typer.Exit(UNEQUAL if found.is_worse else EQUAL)


def power(
    file: Annotated[Path | None, typer.Argument(help="A saved audit, whose spreads are used.")] = None,
    acr: Annotated[float | None, typer.Option(help="A true ratio of efforts to plan for.")] = None,
    rd: Annotated[float | None, typer.Option(help="A true gap in possible recourse to plan for, such as 0.1.")] = None,
    people: Annotated[int | None, typer.Option(help="A number of people: what would they show?")] = None,
    tau: Tau = None,
    epsilon: Epsilon = None,
    level: Annotated[float | None, typer.Option(help="How sure the verdict must be.")] = None,
    rule: Rule = None,
    chance: Annotated[float, typer.Option("--power", help="The chance to decide that is asked for.")] = 0.8,
    group: Annotated[str | None, typer.Option(help="The group of the audit to plan for.")] = None,
    share: Annotated[float | None, typer.Option(help="Without an audit: the group's share of all people.")] = None,
    refused: Annotated[float | None, typer.Option(help="Without an audit: the share refused, in both groups.")] = None,
    recourse: Annotated[
        float | None, typer.Option(help="Without an audit: the share of the refused with a route to approval.")
    ] = None,
    variation: Annotated[
        float | None, typer.Option(help="Without an audit: standard deviation over mean of their efforts.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it too: .svg; .png and .pdf need the extra plot.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How many people would decide it: from a saved audit, or from what you expect."""
    import equieffort as ee
    from equieffort.exports import plain, records

    if plot is not None:
        check_writable(plot)
    expected = {"share": share, "refused": refused, "recourse": recourse, "variation": variation}
    told = {name: value for name, value in expected.items() if value is not None}
    if file is not None and told:
        raise ParameterError(
            "PARAMETER",
            f"--{next(iter(told))} says what to expect, but there is an audit that shows it.",
            fix="Leave out either the audit or what is expected.",
        )
    told |= {f"{name}_against": value for name, value in told.items() if name != "share"}
    given: Any = open_audit(file) if file is not None else ee.Assumed(**told)
    criteria = given.criteria if file is not None else ee.Criteria()
    criteria = changed(criteria, tau=tau, epsilon=epsilon, level=level, rule=rule)
    found = ee.power(given, acr=acr, rd=rd, people=people, criteria=criteria, power=chance, group=group)
    if plot is not None:
        found.plot().save(plot)
    if as_json:
        both = {"needed": records(found.table), "detectable": records(found.detectable), "basis": found.basis}
        typer.echo(as_json_text(plain(both)))
    else:
        typer.echo(str(found))


def check_kind(file: Path) -> None:
    """Refuse what is another file by its name, which is not a broken audit file."""
    if (kind := OTHER_FILES.get(file.suffix.lower())) is not None:
        beside = file.with_suffix(".audit")
        fix = "Give the file that ends in .audit; `equieffort audit SPEC -o OUT` writes it."
        raise AuditFileError(
            "AUDIT_FILE",
            f"{file.name!r} is {kind}, not an audit file.",
            fix=f"Give {str(beside)!r}." if beside.is_file() else fix,
        )


def open_audit(file: Path) -> Audit:
    """Read an audit file."""
    from equieffort.results.audit_file import load

    check_kind(file)
    return load(file)
