"""`equieffort power`: how many people an audit needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from equieffort.cli.common import as_json_text, check_writable
from equieffort.cli.reading import Epsilon, Rule, Tau, changed, open_audit


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
    plot: Annotated[Path | None, typer.Option(help="Draw it too, as PNG, SVG or PDF (needs the extra plot).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How many people would decide it: from a saved audit, or from what you expect."""
    import equieffort as ee
    from equieffort.errors import ParameterError
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
        from equieffort.plots.power import draw_power

        draw_power(found).savefig(plot, dpi=150)
    if as_json:
        both = {"needed": records(found.table), "detectable": records(found.detectable), "basis": found.basis}
        typer.echo(as_json_text(plain(both)))
    else:
        typer.echo(str(found))
