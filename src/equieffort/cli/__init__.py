"""The command line. What a user does wrong is told in a few lines, never as a traceback.

A file a group of commands; everything heavy is imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from equieffort.cli.audit import audit
from equieffort.cli.common import SETTINGS, Debug, guarded
from equieffort.cli.demo import demo, paper
from equieffort.cli.explain import explain
from equieffort.cli.init import init, schema
from equieffort.cli.monitor import monitor
from equieffort.cli.notions import notions
from equieffort.cli.reading import check, diff, power, report, subgroups
from equieffort.cli.streams import run
from equieffort.cli.usage import Command
from equieffort.cli.verifying import verify
from equieffort.cli.warm_up import warm_up
from equieffort.foundations.memory import hold_little

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(asked: bool) -> None:
    if asked:
        from equieffort.foundations.version import __version__

        typer.echo(f"equieffort {__version__}")
        raise typer.Exit


@app.callback()
def equieffort(
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Must some groups of people work harder than others to turn a "no" into a "yes"?

    Exit codes: 0 effort is equal within the thresholds (or the command simply worked), 1 unequal effort found (or an
    alarm of a monitor, or an audit that does not hold), 2 bad input, 3 incomplete run, 4 inconclusive, 130 interrupted.
    """
    SETTINGS["debug"] = debug


for command in (
    init, audit, check, report, explain, verify, notions, subgroups, diff, monitor, power, demo, schema, paper, warm_up
):  # fmt: skip
    app.command(cls=Command)(guarded(command))


def main() -> None:
    """Entry point."""
    hold_little()
    run(app)
