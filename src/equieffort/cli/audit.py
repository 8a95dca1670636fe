"""`equieffort audit`: from a spec to the audit file and everything that is read from it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equieffort.cli.common import (
    EXIT,
    Debug,
    Outputs,
    Quiet,
    UnsafePickle,
    as_json_text,
    aside,
    command_line,
    tell,
    write,
)  # fmt: skip
from equieffort.cli.progress import reporter
from equieffort.errors import many

if TYPE_CHECKING:
    from equieffort.results.audits import Audit
    from equieffort.results.provenance import Provenance
    from equieffort.spec.runs import Estimate

ALWAYS = (".audit", ".html", ".json", ".csv", ".measures.csv", ".md")
MOST_EQUATIONS = 20


class Format(StrEnum):
    """Formats for build servers, and the recourse table as Parquet (needs the extra `parquet`)."""

    sarif = "sarif"
    junit = "junit"
    parquet = "parquet"


class Source(StrEnum):
    """Sources of chance beyond who was audited."""

    equations = "equations"
    procedure = "procedure"


SUFFIX = {Format.sarif: ".sarif", Format.junit: ".junit.xml", Format.parquet: ".parquet"}


def audit(
    spec: Annotated[Path, typer.Argument(help="The spec, a YAML file; `equieffort init` writes one.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Name of the outputs, without ending.")],
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, estimate the work, stop.")] = False,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="Write this too; can be given twice.")
    ] = None,
    resample: Annotated[
        Source | None,
        typer.Option(help="Judge under this chance too: equations learned again, or the model trained again as well."),
    ] = None,
    replicates: Annotated[int, typer.Option(help="How often that is done.")] = 100,
    notions: Annotated[
        bool, typer.Option("--notions", help="Read neighbouring notions too, also those that ask the model again.")
    ] = False,
    alternatives: Annotated[
        int, typer.Option(help="Keep so many ways of each refused person, which change different features.", min=1)
    ] = 1,
    unsafe_load_pickle: UnsafePickle = False,
    debug: Debug = False,
) -> None:
    """Audit the data that SPEC describes; writes OUT.audit, .html, .json, .csv, .measures.csv and .md.

    Ends with 0 if effort is equal within the thresholds, 1 if not, 4 if the data cannot tell.
    """
    from equieffort.exports import need_parquet
    from equieffort.results.audit_file import load
    from equieffort.spec import read_spec
    from equieffort.spec.runs import check_filled, estimate, prepare, resampling, run_prepared

    check_filled(spec)
    told = read_spec(spec)
    inputs = (spec, told.data.path, told.model.file)
    if Format.parquet in (formats or []):
        need_parquet()
    outputs = Outputs(out, (*ALWAYS, *(SUFFIX[name] for name in formats or [])), inputs=inputs)
    with reporter(quiet=quiet or as_json) as progress:
        ready = prepare(told, progress=progress, unsafe_load_pickle=unsafe_load_pickle)
        if dry_run:
            work = estimate(ready)
        else:
            again = resampling(ready, resample.value, replicates) if resample is not None else None
            made = run_prepared(ready, progress=progress, command=command_line())
            if again is not None:
                made = made.resample(again, progress=progress)
            if notions:
                progress("reading notions", 0, 1)
                made = made.with_notions(labels=ready.truth, causes=told.causes)
                progress("reading notions", 1, 1)
            if alternatives > 1:
                progress("finding alternatives", 0, 1)
                made = made.with_alternatives(alternatives)
                progress("finding alternatives", 1, 1)
            progress("writing", 0, 1)
            before = _stamp(outputs[".audit"])
            try:
                made.save(outputs[".audit"])
                # Everything else is read from the file: what it says is what was kept.
                made = load(outputs[".audit"])
                _write_all(made, outputs)
            except BaseException:
                if _stamp(outputs[".audit"]) != before:
                    tell(
                        f"{outputs['.audit']} is complete, and the other commands can read it; what else was to be "
                        "written is missing or older."
                    )
                raise
            progress("writing", 1, 1)
    if dry_run:
        _tell_estimate(work, as_json=as_json, quiet=quiet)
        return
    if as_json:
        typer.echo(outputs[".json"].read_text(encoding="utf-8"), nl=False)
    elif not quiet:
        typer.echo(text(made))
        typer.echo(f"\nWrote {', '.join(str(path) for path in outputs.paths.values())}")
    raise typer.Exit(EXIT[made.verdict.outcome])


def text(made: Audit) -> str:
    """The verdict, its measures, the limits that were assumed, the groups and the subgroups for a terminal."""
    from equieffort.exports import text_table
    from equieffort.models.fidelity import refusal_lines
    from equieffort.results.explanation import assumed_text
    from equieffort.words.shown import measure_lines, system_measures
    from equieffort.world.giveaways import first_text

    schema = made.recourse.source.schema
    parts = [
        first_text(made.warnings),
        str(made.verdict),
        measure_lines(system_measures(made.system, made.own_rows), made.verdict, made.own),
        assumed_text(schema.assumed, schema.zero_one),
        text_table(made.by_group.reset_index()),
    ]
    if (surrogate := made.verdict.surrogate) is not None:
        parts.append("\n".join(refusal_lines(surrogate)))
    if (decided := made.recorded) is not None:
        parts.append("Refused in the record and by the surrogate:\n" + _record(decided.by_group(made.recourse)))
    for name, rule in made.declared.items():
        parts.append(f"{name}: {made.subgroup(rule)}")
    parts.append(_basis(made.provenance))
    return "\n\n".join(part for part in parts if part)


def _basis(provenance: Provenance) -> str:
    """Which solver was used with which limits, and which equations."""
    from equieffort.spec.solving import solver_words

    solver, equations = provenance.solver, provenance.equations
    lines = [f"Solver: {solver_words(solver)}. {solver.reason}".rstrip()] if solver.name else []
    if equations:
        lines += ["Structural equations:", *(f"  {one.text}" for one in equations[:MOST_EQUATIONS])]
    if len(equations) > MOST_EQUATIONS:
        lines.append(f"  and {len(equations) - MOST_EQUATIONS:,} more, in the report")
    return "\n".join(lines)


def _record(by_group: dict[str, dict[str, int]]) -> str:
    return "\n".join(
        f"  {group}: {counts['refused_in_record']:,} in the record, "
        f"{counts['refused_by_surrogate']:,} by the surrogate; "
        f"it decides otherwise than the record about {many(counts['differ'], 'person', 'people')}"
        for group, counts in by_group.items()
    )


def as_text(made: Audit, name: str, wanted: str) -> str:
    """The audit in a format for other programs."""
    from equieffort.exports import junit, sarif, summary

    if wanted == "junit":
        return junit(made, name)
    return as_json_text(sarif(made, name) if wanted == "sarif" else summary(made)) + "\n"


def _stamp(path: Path) -> tuple[int, int] | None:
    """Tells a file from the one that takes its place."""
    return (found.st_ino, found.st_mtime_ns) if path.exists() and (found := path.stat()) else None


def _write_all(made: Audit, outputs: Outputs) -> None:
    from equieffort.exports import measures_csv, recourse_csv, recourse_parquet
    from equieffort.report import model_card, render

    name = outputs[".audit"].name
    texts = {
        ".html": render(made, title=made.provenance.title, command=made.provenance.command),
        ".json": as_text(made, name, "json"),
        ".csv": recourse_csv(made),
        ".measures.csv": measures_csv(made),
        ".md": model_card(made),
    }
    asked = {wanted: suffix for wanted, suffix in SUFFIX.items() if suffix in outputs}
    if suffix := asked.pop(Format.parquet, None):
        with aside(outputs[suffix]) as partial:
            recourse_parquet(made, partial)
    texts |= {suffix: as_text(made, name, wanted) for wanted, suffix in asked.items()}
    for suffix, content in texts.items():
        write(outputs[suffix], content)


def _tell_estimate(work: Estimate, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(as_json_text(work.to_dict()))
    elif not quiet:
        typer.echo(
            f"{work}\nData, model and spec fit together; nothing was solved or written. Not checked: who has an action "
            "at all, and the verdict."
        )
