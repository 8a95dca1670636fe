"""`equieffort audit`: from a spec to the audit file and everything that is read from it."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.common import (
    EXIT,
    KEPT,
    Debug,
    Outputs,
    Quiet,
    UnsafePickle,
    as_json_text,
    aside,
    check_folder,
    command_line,
    tell,
    write,
)  # fmt: skip
from equieffort.cli.progress import reporter
from equieffort.errors import ParameterError

if TYPE_CHECKING:
    from equieffort.foundations.progress import Progress
    from equieffort.recourse.checkpoints import Checkpoint
    from equieffort.results.audits import Audit
    from equieffort.results.resampling import Resampling
    from equieffort.spec import Spec
    from equieffort.spec.estimates import Estimate
    from equieffort.spec.runs import Prepared
    from equieffort.world.groups import Groups

ALWAYS = (".audit", ".html", ".json", ".csv", ".measures.csv", ".md")
STREAMED = (".audit", ".html", ".json", ".measures.csv", ".md", ".txt")
"""What is written beside the folder of parts where people stay in files."""
BESIDE_MEMORY = {
    "resample": "It learns or trains again from everybody: audit a sample of the people without --memory.",
    "notions": "They ask the model about everybody again: audit a sample of the people without --memory. What is read "
    "from who was refused and what they can do is there afterwards: equieffort notions OUT.audit.",
    "alternatives": "Audit a sample of the people without --memory.",
    "checkpoint": "Leave --checkpoint out: finished parts are kept in OUT.parts, and --resume goes on from them.",
    "format parquet": "Leave the format out: the folder OUT.parts is everybody's recourse as Parquet.",
}
"""The way out where people stay in files."""
MODEL_KEPT = ".surrogate.skops"
"""What a surrogate is kept in, so that the audit can be repeated and verified."""
MOST_EQUATIONS = 20
KEEP_AFTER = 10.0
"""Seconds of solving from which finished parts are kept although nobody asked for it."""


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
        int | None,
        typer.Option(help="Keep so many ways of each refused person, which change different features.", min=1),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="So many processes on this machine solve people; -1 is one a processor.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="A Dask cluster solves them: tcp://host:8786, or local:2 for two processes here.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep finished parts in this folder; by default in OUT.checkpoint, from ten seconds on."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the finished parts of a run that was broken off.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="Never hold all people: stream Parquet files within so much memory, such as 2GiB."),
    ] = None,
    unsafe_load_pickle: UnsafePickle = False,
    debug: Debug = False,
) -> None:
    """Audit the data that SPEC describes; writes OUT.audit, .html, .json, .csv, .measures.csv and .md.

    Ends with 0 if effort is equal within the thresholds, 1 if not, 4 if the data cannot tell.
    """
    from equieffort.exports import need_parquet
    from equieffort.spec import read_spec
    from equieffort.spec.runs import check_filled

    check_filled(spec)
    told = read_spec(spec)
    if alternatives is not None and memory is None:
        told = replace(told, alternatives=alternatives)
    learned = (source.path for source in (told.model.data, told.equations_data) if source is not None)
    inputs = (spec, told.data.path, told.model.path, *learned)
    asked = Asked(told, out, inputs, quiet, as_json, jobs, dask, resume, unsafe_load_pickle)
    if memory is not None:
        _refuse_beside_memory({
            "resample": resample, "notions": notions, "alternatives": (alternatives or 1) > 1,
            "checkpoint": checkpoint, "format parquet": Format.parquet in (formats or []),
        })  # fmt: skip
        _stream(asked, memory, formats or [], dry_run=dry_run)
        return
    if Format.parquet in (formats or []):
        need_parquet()
    own = () if told.model.train is None else _kept()
    outputs = Outputs(out, (*ALWAYS, *(SUFFIX[name] for name in formats or []), *own), inputs=inputs, look=dry_run)
    asked.check_workers()
    kept = _checkpoint(outputs, checkpoint, resume)
    extras = Extras(resample, replicates, notions)
    if dry_run:
        _dry_run(asked, extras)
        return
    made = _run(asked, extras, outputs, kept)
    asked.tell(outputs, lambda: text(made, _from_spec(spec, outputs)))
    raise typer.Exit(EXIT[made.verdict.outcome])


@dataclass(frozen=True)
class Asked:
    """What is asked for, whichever way it goes."""

    told: Spec
    out: Path
    inputs: tuple[Path | None, ...]
    """Files whose place no output may take."""
    quiet: bool
    as_json: bool
    jobs: int | None
    dask: str | None
    resume: bool
    unsafe_load_pickle: bool

    def check_workers(self) -> None:
        """Refuse, before anything is read, what nobody could work with."""
        _check_workers(self.jobs, self.dask or (self.told.dask if self.jobs is None else None))

    def workers(self) -> AbstractContextManager[dict[str, Any]]:
        """Who solves people, as arguments of `ee.audit`."""
        from equieffort.spec.runs import working

        return working(self.told, self.jobs, self.dask)

    def reporter(self) -> AbstractContextManager[Progress]:
        """Where progress is shown, if anywhere."""
        return reporter(quiet=self.quiet or self.as_json)

    def tell(self, outputs: Outputs, summary: Callable[[], str], also: str = "") -> None:
        """Print the summary, and where the outputs are."""
        if self.as_json:
            typer.echo(outputs[".json"].read_text(encoding="utf-8"), nl=False)
        elif not self.quiet:
            typer.echo(summary())
            typer.echo(f"\nWrote {', '.join(str(path) for path in outputs.paths.values())}{also}")


@dataclass(frozen=True)
class Extras:
    """What is done beside solving people."""

    resample: Source | None
    replicates: int
    notions: bool


def _ready(asked: Asked, extras: Extras, progress: Progress) -> tuple[Prepared, Resampling | None]:
    """Everything read and checked, and how replicates are made if they are asked for."""
    from equieffort.spec.runs import prepare, resampling

    ready = prepare(asked.told, progress=progress, unsafe_load_pickle=asked.unsafe_load_pickle)
    again = resampling(ready, extras.resample.value, extras.replicates) if extras.resample is not None else None
    if again is not None:
        again.check(ready.classifier)
    return ready, again


def _dry_run(asked: Asked, extras: Extras) -> None:
    """Everything but the work, which is estimated."""
    from equieffort.spec.estimates import estimate

    with asked.reporter() as progress:
        ready, again = _ready(asked, extras, progress)
        work = estimate(ready, again=again, notions=extras.notions)
    _tell_estimate(work, as_json=asked.as_json, quiet=asked.quiet)


def _run(asked: Asked, extras: Extras, outputs: Outputs, kept: Checkpoint) -> Audit:
    """Audit and write all outputs; returns the audit as its file has it."""
    from equieffort.foundations.memory import give_back
    from equieffort.results.audit_file import load
    from equieffort.results.kept_curve import compute_if_drawn

    with asked.reporter() as progress:
        before = _stamp(outputs[".audit"])
        try:
            # What the audit was made from is let go as soon as nothing asks for it: it takes as much memory.
            made, surrogate = _made(asked, extras, outputs, kept, progress)
            compute_if_drawn(made, progress)
            with _stage(progress, "saving the audit"):
                made.save(outputs[".audit"])
                # Everything else is read from the file: what it says is what was kept.
                del made
                # Parts of an audit know each other, so that only the collector lets go of it.
                gc.collect()
                made = load(outputs[".audit"])
            give_back()
            _write_all(made, outputs, surrogate, progress)
        except BaseException:
            if _stamp(outputs[".audit"]) != before:
                tell(
                    f"{outputs['.audit']} is complete, and the other commands can read it; what else was to be "
                    "written is missing or older."
                )
            raise
        kept.remove()
        _remove_older(outputs, asked.inputs)
    return made


def _made(asked: Asked, extras: Extras, outputs: Outputs, kept: Checkpoint, progress: Progress) -> tuple[Audit, bytes]:
    """The audit with everything that asks the model, and the surrogate if one is to be kept."""
    from equieffort.models.files.skops_writer import skops_bytes
    from equieffort.results.provenance import ModelFile
    from equieffort.spec.notions import check_treatments, check_truth
    from equieffort.spec.runs import run_prepared

    told = asked.told
    ready, again = _ready(asked, extras, progress)
    if extras.notions:
        check_truth(ready)
        check_treatments(ready)
    kept = replace(kept, about=ready.hashes)
    KEPT["folder"] = Path(kept.folder)
    with asked.workers() as workers:
        made = run_prepared(ready, progress=progress, command=command_line(), checkpoint=kept, **workers)
    if again is not None or extras.notions:
        # Whatever is asked besides may be refused or broken off: by then nobody who was solved is lost.
        with _stage(progress, "saving the audit"):
            made.save(outputs[".audit"])
    if again is not None:
        made = made.resample(again, progress=progress)
    if extras.notions:
        with _stage(progress, "reading notions"):
            truth = ready.truth_of(made.recourse.index)
            made = made.with_notions(labels=truth, causes=told.causes, treatments=told.treatments)
    if MODEL_KEPT not in outputs:
        return made, b""
    surrogate, types = skops_bytes(ready.classifier, ready.to_keep)
    file = ModelFile(outputs[MODEL_KEPT].name, hashlib.sha256(surrogate).hexdigest(), tuple(types))
    return made.with_provenance(model=file), surrogate


def _refuse_beside_memory(options: Mapping[str, object]) -> None:
    """Refuse what needs everybody in memory."""
    for option, given in options.items():
        if given:
            raise ParameterError("PARAMETER", f"--memory does not go with --{option}.", fix=BESIDE_MEMORY[option])


def _stream(asked: Asked, memory: str, formats: list[Format], *, dry_run: bool) -> None:
    """People who stay in files: their recourse as Parquet parts, the audit file and what is read from it beside."""
    from equieffort.exports import measures_csv, need_parquet
    from equieffort.report import model_card, render
    from equieffort.results.audit_file import load
    from equieffort.results.kept_curve import compute_if_drawn
    from equieffort.results.streaming import Streaming
    from equieffort.spec.streamed import check_streamed, estimate_streamed, run_streamed

    need_parquet()
    check_streamed(asked.told)
    outputs = Outputs(asked.out, (*STREAMED, *(SUFFIX[name] for name in formats)), inputs=asked.inputs)
    parts = outputs[".json"].with_suffix(".parts")
    streaming = Streaming(parts, memory=memory, resume=asked.resume, id=asked.told.data.id)
    asked.check_workers()
    if dry_run:
        with asked.reporter() as progress, asked.workers() as workers:
            work = estimate_streamed(
                asked.told, streaming, progress=progress, unsafe_load_pickle=asked.unsafe_load_pickle, **workers
            )
        _tell_estimate(work, as_json=asked.as_json, quiet=asked.quiet)
        return
    KEPT["folder"] = parts
    with asked.reporter() as progress, asked.workers() as workers:
        made = run_streamed(
            asked.told, streaming, progress=progress, command=command_line(),
            unsafe_load_pickle=asked.unsafe_load_pickle, **workers,
        )  # fmt: skip
        compute_if_drawn(made, progress)
        with _stage(progress, "saving the audit"):
            made.save(outputs[".audit"])
            # Everything else is read from the file and the parts: what they say is what was kept.
            del made
            made = load(outputs[".audit"])
        with _stage(progress, "making the report"):
            said, name = text(made), outputs[".audit"].name
            texts = {
                ".html": render(made, title=made.provenance.title, command=made.provenance.command),
                ".json": as_text(made, name, "json"),
                ".measures.csv": measures_csv(made),
                ".md": model_card(made),
                ".txt": said + "\n",
            } | {SUFFIX[wanted]: as_text(made, name, wanted) for wanted in formats}
        with _stage(progress, "writing"):
            for suffix, content in texts.items():
                write(outputs[suffix], content)
    asked.tell(outputs, lambda: said, f" and the folder {parts}")
    raise typer.Exit(EXIT[made.verdict.outcome])


def _check_workers(jobs: int | None, dask: str | None) -> None:
    """Refuse, before anything is read, what nobody could work with."""
    if jobs is not None and dask is not None:
        raise ParameterError("PARAMETER", "--jobs and --dask each say who does the work.", fix="Leave one of them out.")
    if jobs is not None and (jobs == 0 or jobs < -1):
        raise ParameterError(
            "PARAMETER", f"--jobs is {jobs}.", fix="Give a number of processes, or -1 for one a processor."
        )
    if dask is not None:
        from equieffort.foundations.cluster import check_cluster

        check_cluster(dask)


def _checkpoint(outputs: Outputs, folder: Path | None, resume: bool) -> Checkpoint:
    """Where finished parts go: as asked, or beside the outputs once the run is long enough to be worth it."""
    from equieffort.recourse.checkpoints import Checkpoint

    if folder is None:
        beside = outputs[".audit"].with_suffix(".checkpoint")
        check_folder(beside, make=True)
        return Checkpoint(beside, resume, after=KEEP_AFTER)
    check_folder(folder)
    return Checkpoint(folder, resume)


def text(made: Audit, kept: str = "") -> str:
    """The verdict, its measures, the limits that were assumed, the groups and the subgroups for a terminal.

    `kept` is the path of a surrogate that was kept, as the spec would say it.
    """
    from equieffort.exports import text_table
    from equieffort.models.fidelity import refusal_lines
    from equieffort.results.explanation import assumed_text
    from equieffort.results.faces import care_text, named_groups
    from equieffort.words.shown import comparison_parts, system_measures
    from equieffort.world.giveaways import first_lines

    schema = made.recourse.source.schema
    verdict, *measures = comparison_parts(system_measures(made.system, made.own_rows), made.verdict, made.own)
    parts = ["\n".join(first_lines(made.warnings)), verdict]
    if (decided := made.recorded) is not None:
        counts = _record(decided.by_group(made.recourse), made.recourse.groups)
        parts.append(f"Refused in the record and by the surrogate:\n{counts}")
    parts += [
        *measures,
        care_text(made),
        assumed_text(schema.assumed, schema.zero_one, schema.names),
        text_table(named_groups(made).reset_index()),
    ]
    if (surrogate := made.verdict.surrogate) is not None:
        parts.append("\n".join(refusal_lines(surrogate)))
    for name, rule in made.declared.items():
        parts.append(f"{name}: {made.subgroup(rule)}")
    parts += [_basis(made), _again(made, kept)]
    return "\n\n".join(part for part in parts if part)


def _basis(made: Audit) -> str:
    """Which solver was used with which limits, and which equations."""
    from equieffort.spec.solving import solver_words
    from equieffort.words.equations import one_line

    solver, equations = made.provenance.solver, made.provenance.equations
    names = made.recourse.source.schema.names
    lines = [f"Solver: {solver_words(solver)}. {solver.reason}".rstrip()] if solver.name else []
    if equations:
        lines += ["Structural equations:", *(f"  {one_line(one, names)}" for one in equations[:MOST_EQUATIONS])]
    if len(equations) > MOST_EQUATIONS:
        lines.append(f"  and {len(equations) - MOST_EQUATIONS:,} more, in the report")
    return "\n".join(lines)


def _again(made: Audit, kept: str) -> str:
    """How to audit a surrogate again that was kept: the keys of the spec that change."""
    from equieffort.words.repeating import kept_model

    file = made.provenance.model
    if file is None or made.provenance.surrogate is None:
        return ""
    told = f"The surrogate is kept in {file.path}, beside the result."
    keys = kept_model(kept, file.trusted, made.recourse.source.schema.favourable)
    return f"{told} To audit it again, write in the spec: {keys}" if kept else told


def _from_spec(spec: Path, outputs: Outputs) -> str:
    """The path of a surrogate that is kept, from the folder of the spec, where paths in a spec start; empty of none."""
    if MODEL_KEPT not in outputs:
        return ""
    kept = outputs[MODEL_KEPT].resolve()
    try:
        return Path(os.path.relpath(kept, spec.resolve().parent)).as_posix()
    except ValueError:  # another drive
        return kept.as_posix()


def _record(by_group: dict[str, dict[str, int]], groups: Groups) -> str:
    from equieffort.foundations.shown import aligned
    from equieffort.words.shown import numbers

    keys = ("refused_in_record", "refused_by_surrogate", "differ")
    rows = [[groups.name(group), *numbers(*(counts[key] for key in keys))] for group, counts in by_group.items()]
    return aligned([["", "in the record", "by the surrogate", "decided otherwise"], *rows])


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
        return (MODEL_KEPT,)
    warn(
        "SURROGATE_NOT_KEPT",
        "The surrogate cannot be kept, since skops is not installed: nobody can ask it again or verify this audit.",
        fix="Run pip install 'equieffort[skops]' and audit again.",
    )
    return ()


def _remove_older(outputs: Outputs, inputs: Iterable[Path | None]) -> None:
    """Take away the surrogate that an earlier run kept under this name: it would pass for that of this audit."""
    older = outputs[".audit"].with_suffix(MODEL_KEPT)
    is_input = any(path is not None and path.resolve() == older.resolve() for path in inputs)
    if MODEL_KEPT not in outputs and older.is_file() and not is_input:
        older.unlink()
        tell(f"Removed {older}, the surrogate of an earlier audit of this name: this audit has another model.")


@contextmanager
def _stage(progress: Progress, name: str) -> Iterator[None]:
    """A stage that is told when it begins and ends."""
    progress(name, 0, 1)
    yield
    progress(name, 1, 1)


def _write_all(made: Audit, outputs: Outputs, surrogate: bytes, progress: Progress) -> None:
    from equieffort.exports import measures_csv, recourse_parquet, write_recourse_csv
    from equieffort.report import model_card, render

    name = outputs[".audit"].name
    with _stage(progress, "making the report"):
        texts = {
            ".html": render(made, title=made.provenance.title, command=made.provenance.command),
            ".json": as_text(made, name, "json"),
            ".measures.csv": measures_csv(made),
            ".md": model_card(made),
        }
    with _stage(progress, "writing"):
        asked = {wanted: suffix for wanted, suffix in SUFFIX.items() if suffix in outputs}
        if suffix := asked.pop(Format.parquet, None):
            with aside(outputs[suffix]) as partial:
                recourse_parquet(made, partial)
        texts |= {suffix: as_text(made, name, wanted) for wanted, suffix in asked.items()}
        for suffix, content in texts.items():
            write(outputs[suffix], content)
        with aside(outputs[".csv"]) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            write_recourse_csv(made, file)
        if MODEL_KEPT in outputs:
            with aside(outputs[MODEL_KEPT]) as partial:
                partial.write_bytes(surrogate)


def _tell_estimate(work: Estimate, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(as_json_text(work.to_dict()))
    elif not quiet:
        typer.echo(
            f"{work}\nData, model and spec fit together; nothing was written. Not checked: who has an action at all, "
            "and the verdict."
        )
