"""`equieffort monitor`: count a batch of decisions, and say whether there is an alarm."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.common import EQUAL, UNEQUAL, Debug, Quiet, UnsafePickle, as_json_text, aside, check_writable
from equieffort.cli.progress import reporter
from equieffort.errors import ParameterError

if TYPE_CHECKING:
    from equieffort.foundations.progress import Progress
    from equieffort.monitor import MonitorState


class Measure(StrEnum):
    """What can be watched."""

    restricted_effort = "restricted_effort"
    burden = "burden"


def monitor(
    state: Annotated[Path, typer.Argument(help="The file that keeps the evidence; the first batch creates it.")],
    spec: Annotated[Path | None, typer.Option("--spec", help="The spec; its data are the reference.")] = None,
    batch: Annotated[Path | None, typer.Option("--batch", help="The new decisions, a table as in the spec.")] = None,
    date: Annotated[str | None, typer.Option("--date", help="Day of the batch, such as 2026-11-17; today.")] = None,
    unordered: Annotated[
        bool, typer.Option("--unordered", help="The rows are not in order of arrival: the batch is one block.")
    ] = False,
    tau: Annotated[float | None, typer.Option(help="First batch: largest ratio without alarm; the spec's.")] = None,
    level: Annotated[float | None, typer.Option(help="First batch: 0.95 means 5 % false alarms at most.")] = None,
    budget: Annotated[float | None, typer.Option(help="First batch: the effort at which everybody is capped.")] = None,
    measures: Annotated[
        list[Measure] | None, typer.Option("--measure", help="First batch: what to watch; both by default.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the evidence over time into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the state as JSON.")] = False,
    quiet: Quiet = False,
    unsafe_load_pickle: UnsafePickle = False,
    debug: Debug = False,
) -> None:
    """Count a batch of decisions and say whether efforts are unequal beyond tau; valid at every look.

    Without --batch it only shows the state. Ends with 1 if there is an alarm, from this batch or an earlier one, and
    with 0 if there is none.
    """
    from equieffort.exports import plain
    from equieffort.monitor import Monitor

    _check_paths(state, spec, batch, plot)
    asked = None if measures is None else [one.value for one in measures]
    fixed = {"tau": tau, "level": level, "budget": budget, "measures": asked}
    if spec is None or batch is None:
        about = {"--tau": tau, "--level": level, "--budget": budget, "--measure": measures, "--date": date}
        if given := [name for name, value in about.items() if value is not None]:
            raise ParameterError("PARAMETER", f"{given[0]} is about a batch.", fix="Give --batch, or leave it out.")
        now = Monitor.look(state)
    else:
        with reporter(quiet=quiet or as_json) as progress:
            now = _count(
                state, spec, batch, date, fixed, progress, ordered=not unordered, unsafe_load_pickle=unsafe_load_pickle
            )
    if plot is not None:
        with aside(plot) as partial:
            now.plot.evidence().save(partial, kind=plot.suffix)
    if as_json or not quiet:
        typer.echo(as_json_text(plain(now.to_dict())) if as_json else str(now))
    raise typer.Exit(EQUAL if now.alarm is None else UNEQUAL)


def _check_paths(state: Path, spec: Path | None, batch: Path | None, plot: Path | None) -> None:
    if (spec is None) != (batch is None):
        absent = "--spec" if spec is None else "--batch"
        raise ParameterError("PARAMETER", f"{absent} is missing.", fix="Give --spec and --batch, or neither to look.")
    if batch is not None:
        check_writable(state)
    if plot is not None:
        kinds = (".png", ".svg", ".pdf")
        if plot.suffix.lower() not in kinds:
            raise ParameterError(
                "OUTPUT", f"{plot.name!r} is no picture by its name.", fix=f"End it in one of {', '.join(kinds)}."
            )
        check_writable(plot)
    inputs = [path.resolve() for path in (spec, batch) if path is not None]
    for path in (state, plot):
        if path is not None and path.resolve() in inputs:
            raise ParameterError("OUTPUT", f"{str(path)!r} would overwrite an input.", fix="Give another name.")


def _count(
    state: Path, spec: Path, batch: Path, date: str | None, fixed: dict[str, Any], progress: Progress, *,
    ordered: bool, unsafe_load_pickle: bool,
) -> MonitorState:  # fmt: skip
    from dataclasses import replace

    from equieffort.monitor import Monitor
    from equieffort.monitor.specs import monitor_of, read_batch
    from equieffort.spec import read_spec
    from equieffort.spec.runs import check_filled, prepare
    from equieffort.words.problems import spec_words

    check_filled(spec)
    told = read_spec(spec)
    # What is damaged is found before any work.
    if state.exists():
        Monitor.look(state)
    people = read_batch(told, batch)
    ready = prepare(told, progress=progress, unsafe_load_pickle=unsafe_load_pickle)
    watching = monitor_of(ready, state, **fixed)
    with spec_words():
        now = watching.update(people, date=date, name=batch.name, ordered=ordered, progress=progress)
    if ready.surrogate is None:
        return now
    note = (
        f"This concerns the surrogate model only, which agrees with {100 * ready.surrogate.agreement:.3g} % of the "
        "recorded decisions."
    )
    return replace(now, notes=(note,))
