"""`equieffort audit`: from a spec to the audit file and everything that is read from it."""

from __future__ import annotations

import hashlib
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
    from equieffort.spec.estimates import Estimate
    from equieffort.world.labels import Labels

ALWAYS = (".audit", ".html", ".json", ".csv", ".measures.csv", ".md")
KEPT = ".surrogate.skops"
"""What a surrogate is kept in, so that the audit can be repeated and verified."""
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
    from equieffort.models.files.skops_writer import skops_bytes
    from equieffort.results.audit_file import load
    from equieffort.results.provenance import ModelFile
    from equieffort.spec import read_spec
    from equieffort.spec.estimates import estimate
    from equieffort.spec.runs import check_filled, check_truth, prepare, resampling, run_prepared

    check_filled(spec)
    told = read_spec(spec)
    inputs = (spec, told.data.path, told.model.path)
    if Format.parquet in (formats or []):
        need_parquet()
    own = () if told.model.train is None else _kept()
    outputs = Outputs(out, (*ALWAYS, *(SUFFIX[name] for name in formats or []), *own), inputs=inputs)
    with reporter(quiet=quiet or as_json) as progress:
        ready = prepare(told, progress=progress, unsafe_load_pickle=unsafe_load_pickle)
        again = resampling(ready, resample.value, replicates) if resample is not None else None
        if again is not None:
            again.check(ready.classifier)
        if dry_run:
            work = estimate(ready, again=again, notions=notions)
        else:
            if notions:
                check_truth(ready)
            made = run_prepared(ready, progress=progress, command=command_line())
            if again is not None:
                made = made.resample(again, progress=progress)
            if notions:
                progress("reading notions", 0, 1)
                made = made.with_notions(labels=ready.truth_of(made.recourse.index), causes=told.causes)
                progress("reading notions", 1, 1)
            if alternatives > 1:
                progress("finding alternatives", 0, 1)
                made = made.with_alternatives(alternatives)
                progress("finding alternatives", 1, 1)
            progress("writing", 0, 1)
            surrogate = b""
            if KEPT in outputs:
                surrogate, types = skops_bytes(ready.classifier)
                file = ModelFile(outputs[KEPT].name, hashlib.sha256(surrogate).hexdigest(), tuple(types))
                made = made.with_provenance(model=file)
            before = _stamp(outputs[".audit"])
            try:
                made.save(outputs[".audit"])
                # Everything else is read from the file: what it says is what was kept.
                made = load(outputs[".audit"])
                _write_all(made, outputs, surrogate)
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
    from equieffort.results.faces import named_groups
    from equieffort.words.shown import measure_lines, system_measures
    from equieffort.world.giveaways import first_text

    schema = made.recourse.source.schema
    parts = [first_text(made.warnings), str(made.verdict)]
    if (decided := made.recorded) is not None:
        counts = _record(decided.by_group(made.recourse), schema.names)
        parts.append(f"Refused in the record and by the surrogate:\n{counts}")
    parts += [
        measure_lines(system_measures(made.system, made.own_rows), made.verdict, made.own),
        assumed_text(schema.assumed, schema.zero_one, schema.names),
        text_table(named_groups(made).reset_index()),
    ]
    if (surrogate := made.verdict.surrogate) is not None:
        parts.append("\n".join(refusal_lines(surrogate)))
    for name, rule in made.declared.items():
        parts.append(f"{name}: {made.subgroup(rule)}")
    parts += [_basis(made.provenance), _again(made)]
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


def _again(made: Audit) -> str:
    """How to audit a surrogate again that was kept: the keys of the spec that change."""
    from equieffort.words.repeating import kept_model

    file = made.provenance.model
    if file is None or made.provenance.surrogate is None:
        return ""
    keys = kept_model(file.path, file.trusted, made.recourse.source.schema.favourable)
    return f"The surrogate is kept in {file.path}. To audit it again, write in the spec: {keys}"


def _record(by_group: dict[str, dict[str, int]], names: Labels) -> str:
    return "\n".join(
        f"  {names.group(group) or group}: {counts['refused_in_record']:,} in the record, "
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


def _kept() -> tuple[str, ...]:
    """The ending of the file in which a surrogate is kept; none without skops, which is said."""
    from equieffort.errors import warn
    from equieffort.models.files.skops_writer import can_write

    if can_write():
        return (KEPT,)
    warn(
        "SURROGATE_NOT_KEPT",
        "The surrogate cannot be kept, since skops is not installed: nobody can ask it again or verify this audit.",
        fix="Run pip install 'equieffort[skops]' and audit again.",
    )
    return ()


def _write_all(made: Audit, outputs: Outputs, surrogate: bytes) -> None:
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
    if KEPT in outputs:
        with aside(outputs[KEPT]) as partial:
            partial.write_bytes(surrogate)


def _tell_estimate(work: Estimate, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(as_json_text(work.to_dict()))
    elif not quiet:
        typer.echo(
            f"{work}\nData, model and spec fit together; nothing was written. Not checked: who has an action at all, "
            "and the verdict."
        )
