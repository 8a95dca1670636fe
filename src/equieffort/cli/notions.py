"""`equieffort notions`: neighbouring notions of a saved audit side by side, and what a table of them cannot hold."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.common import as_json_text, check_writable
from equieffort.cli.explain import row_label
from equieffort.cli.reading import File, open_audit
from equieffort.errors import AuditFileError, ParameterError

if TYPE_CHECKING:
    from equieffort.results.audits import Audit
    from equieffort.results.notion_details import NotionDetails

LISTED = 20
"""People who are printed of those treated unfairly; JSON has all."""


def notions(
    file: File,
    family: Annotated[
        list[str] | None, typer.Option(help="Only this family of notions; can be given several times.")
    ] = None,
    facts: Annotated[
        str | None,
        typer.Option(
            metavar="NOTION",
            help="Print FACTS' table of subgroups instead, each person with their own action: effectiveness, "
            "effectiveness_within_budget, cost_of_effectiveness, mean_recourse or trade_off; with --macro also choice.",
        ),
    ] = None,
    macro: Annotated[
        bool, typer.Option("--macro", help="With --facts: one action for everybody of a side (kept by --notions).")
    ] = False,
    fewest: Annotated[int, typer.Option(help="With --facts: refused people a side of a subgroup.")] = 10,
    unfair: Annotated[
        bool, typer.Option("--unfair", help="Print whom another group's attributes would have decided otherwise.")
    ] = False,
    routes: Annotated[
        bool, typer.Option("--routes", help="Print group routes: the fewest actions that turn most of a group.")
    ] = False,
    treatments: Annotated[
        bool,
        typer.Option(
            "--equality-of-effort",
            help="Print Huang's notion treatment by treatment: over everybody, in declared subgroups, and the repair.",
        ),
    ] = False,
    row: Annotated[
        str | None, typer.Option("--row", help="With --equality-of-effort: what this person needs of each treatment.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw it too, as PNG, SVG or PDF (needs the extra plot); with --unfair and --routes their own picture."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what neighbouring notions say of a saved audit, and where they disagree.

    Notions that ask the model are shown as `equieffort audit --notions` read them; a file holds no model.
    """
    doors = {"--facts": facts is not None, "--unfair": unfair, "--routes": routes, "--equality-of-effort": treatments}
    chosen = [door for door, is_asked in doors.items() if is_asked]
    _check_asked(chosen, family, plot, macro, row)
    if plot is not None:
        check_writable(plot)
    made = open_audit(file)
    if facts is not None:
        if macro:
            _check_fewest(fewest)
            _details(made, file, "facts")
        table = made.facts(facts, viewpoint="macro" if macro else "micro", min_people=fewest)
        _told(str(table), table.frame(), as_json)
    elif unfair:
        _details(made, file, "twins")
        _unfair(made, plot, as_json)
    elif routes:
        _details(made, file, "routes")
        found = made.group_routes()
        if plot is not None:
            made.plot.group_routes(found).save(plot)
        _told(str(found), {"front": found.front, "routes": found.routes}, as_json)
    elif treatments:
        kept = _details(made, file, "treatments")
        show = _treatments_json if as_json else _treatments
        show(made, kept, None if row is None else row_label(made, row, file.name))
    else:
        _side_by_side(made, family, plot, as_json)


def _check_asked(chosen: list[str], family: object, plot: Path | None, macro: bool, row: str | None) -> None:
    """Refuse what does not go together, before anything is read."""
    if len(chosen) > 1:
        raise ParameterError(
            "PARAMETER", f"{chosen[0]} and {chosen[1]} are both asked for.", fix="Ask for one of them."
        )
    door = chosen[0] if chosen else ""
    if door and (family or (plot is not None and door not in ("--unfair", "--routes"))):
        other = "--family" if family else "--plot"
        raise ParameterError("PARAMETER", f"{door} prints a table of its own.", fix=f"Leave {other} out, or {door}.")
    for option, is_given, needs in (("--macro", macro, "--facts"), ("--row", row is not None, "--equality-of-effort")):
        if is_given and door != needs:
            raise ParameterError("PARAMETER", f"{option} goes with {needs}.", fix=f"Give {needs} too.")


def _check_fewest(fewest: int) -> None:
    from equieffort.results.notion_details import FEWEST

    if fewest < FEWEST:
        raise ParameterError(
            "PARAMETER",
            f"Files keep macro tables of subgroups with at least {FEWEST} refused people a side.",
            fix=f"Give --fewest {FEWEST} or more; audit.facts(min_people={fewest}) in Python asks the model.",
        )


def _details(made: Audit, file: Path, part: str) -> NotionDetails:
    """What the file keeps of asking the model; refused where it keeps nothing of this part."""
    kept = made.provenance.details
    if kept is None:
        raise AuditFileError(
            "AUDIT_FILE",
            f"{file.name!r} was audited without --notions; this asks the model, which is not in the file.",
            fix="Run equieffort audit SPEC -o OUT --notions.",
        )
    if not getattr(kept, part):
        why = [kept.missing[part]] if part in kept.missing else list(kept.missing.values())[:1]
        raise AuditFileError(
            "AUDIT_FILE",
            " ".join([f"{file.name!r} does not have it.", *why]),
            fix="Mend what it says, and audit again with --notions.",
        )
    return kept


def _told(text: str, frames: Any, as_json: bool) -> None:
    """In words, or one or several tables as JSON."""
    from equieffort.exports import plain, records

    if not as_json:
        typer.echo(text)
        return
    found = {name: records(one) for name, one in frames.items()} if isinstance(frames, dict) else records(frames)
    typer.echo(as_json_text(plain(found)))


def _unfair(made: Audit, plot: Path | None, as_json: bool) -> None:
    found = made.counterfactual_fairness()
    if plot is not None:
        made.plot.counterfactual_fairness().save(plot)
    people = found.people
    # The refused first: theirs is what another group's attributes would have given them.
    people = people.sort_values("decision", ascending=False, kind="stable")
    names = people.assign(group=[found.groups.name(label) for label in people["group"]]).head(LISTED)
    shown = names.to_string(float_format=lambda value: f"{value:.4g}", na_rep="-") if len(people) else "Nobody."
    more = [f"{len(people) - LISTED:,} more with --json."] if len(people) > LISTED else []
    text = "\n".join([str(found), "", f"Decided otherwise at some level: {len(people):,} people", shown, *more])
    labelled = people.rename_axis("person").reset_index()
    _told(text, {"ratios": found.frame(), "efforts": found.efforts, "people": labelled}, as_json)


def _side_by_side(made: Audit, family: list[str] | None, plot: Path | None, as_json: bool) -> None:
    from equieffort.exports import plain, records
    from equieffort.words.notions import disagreements

    found = made.notions(only=family)
    if plot is not None:
        made.plot.notions(found).save(plot)
    if as_json:
        missing = [{"notion": one.notion, "why": one.why} for one in found.missing]
        both = {"notions": records(found.frame()), "missing": missing, "disagreements": disagreements(found)}
        typer.echo(as_json_text(plain(both)))
    else:
        typer.echo(str(found))


def _treatments(made: Audit, kept: NotionDetails, person: Any) -> None:
    """Huang's notion in words, or what one person needs of each treatment."""
    table = made.recourse
    if person is None:
        parts = [one.text(table) for one in kept.treatments]
        parts += [f"Not read, {name}: {why}" for name, why in kept.missing.items() if name.startswith("treatment")]
        typer.echo("\n\n".join(parts))
        return
    at = list(table.index).index(person)
    lines = [one.person_text(table, at) for one in kept.treatments if not one.about]
    typer.echo("\n".join([f"Person {person}, with one treatment set and all that follows from it following:", *lines]))


def _treatments_json(made: Audit, kept: NotionDetails, person: Any) -> None:
    from equieffort.exports import plain

    table = made.recourse
    if person is not None:
        at = list(table.index).index(person)
        found: Any = [one.person(table, at) for one in kept.treatments if not one.about]
    else:
        each = [{name: part for name, part in asdict(one).items() if name != "own"} for one in kept.treatments]
        found = {"treatments": each, "missing": dict(kept.missing)}
    typer.echo(as_json_text(plain(found)))
