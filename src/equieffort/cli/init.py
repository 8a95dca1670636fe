"""`equieffort init` looks at a table and writes a spec to fill in; `equieffort schema` prints what a spec may hold."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.common import check_writable, write
from equieffort.errors import ParameterError, closest, listed

if TYPE_CHECKING:
    import pandas as pd

MOST_VALUES = 12
"""A list of values is written out up to so many."""
DELIMITERS = ",;\t|"
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_BARE = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}


@dataclass(frozen=True)
class Answers:
    """What the user already said on the command line; None is asked for in the spec."""

    id: str | None = None
    outcome: str | None = None
    favourable: str | None = None
    sensitive: str | None = None
    protected: str | None = None
    reference: str | None = None
    reading: dict[str, str] = field(default_factory=dict)
    """Encoding, delimiter and decimal mark."""


def init(
    data: Annotated[Path, typer.Argument(help="The table: CSV or Parquet.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The spec; DATA with .yaml by default.")] = None,
    person: Annotated[str | None, typer.Option("--id", help="Column that names the person.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Column with the decision.")] = None,
    favourable: Annotated[str | None, typer.Option(help="The decision people want.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Column with the groups.")] = None,
    protected: Annotated[str | None, typer.Option(help="The protected group.")] = None,
    reference: Annotated[str | None, typer.Option(help="The group it is compared with.")] = None,
    encoding: Annotated[str, typer.Option(help="How the text is encoded.")] = "utf-8",
    delimiter: Annotated[str | None, typer.Option(help="Between two cells; found in the header by default.")] = None,
    decimal: Annotated[str, typer.Option(help="The decimal mark.")] = ".",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the spec.")] = False,
) -> None:
    """Look at DATA and write a commented spec. Nothing sensitive is guessed: FILL_IN marks what you must say."""
    from equieffort.inputs import read_table
    from equieffort.runs import unfilled
    from equieffort.spec import DataSource

    target = data.with_suffix(".yaml") if out is None else out
    check_writable(target)
    if target.exists() and not force:
        raise ParameterError(
            "OUTPUT", f"{str(target)!r} exists already.", fix="Give another name with -o, or overwrite it with --force."
        )
    mark = _delimiter(data, encoding) if delimiter is None else delimiter
    source = DataSource(path=data, encoding=encoding, delimiter=mark, decimal=decimal)
    table = read_table(source)
    reading = {"encoding": encoding, "delimiter": mark, "decimal": decimal}
    answers = Answers(person, outcome, favourable, sensitive, protected, reference, reading)
    _check_names(table, answers)
    text = draft(table, os.path.relpath(data, target.parent), answers, target.name)
    write(target, text)
    typer.echo(f"Wrote {target}: {len(table):,} rows, {len(table.columns)} columns.")
    if left := unfilled(text):
        typer.echo(f"Fill in {len(left)} places marked FILL_IN, then: equieffort audit {target} -o OUT --dry-run")


def schema() -> None:
    """Print the JSON schema of the spec, for editors that check YAML."""
    from equieffort.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def draft(table: pd.DataFrame, path: str, answers: Answers, name: str) -> str:
    """The text of the spec."""
    told = {answers.id, answers.outcome, answers.sensitive}
    columns = [str(column) for column in table.columns]
    lines = [
        "# What is audited, and by which rules. Replace every FILL_IN; the comments say what is asked.",
        f"# Then: equieffort audit {word(name)} -o OUT --dry-run, and without --dry-run once it fits together.",
        f"title: {word(Path(path).stem)}",
        "",
        "data:",
        f"  path: {word(path)}",
        *_reading(answers),
        *_id(table, answers),
        f"  missing: error  # {_missing(table)}",
        "",
        "# A linear model trained here to imitate the decisions (logistic, ridge or linear_svc), or your own model:",
        "# model: {file: model.skops}",
        "model: {train: logistic}",
        "",
        "# The decision, and its value that people want.",
        f"outcome: {{column: {word(answers.outcome)}, favourable: {word(answers.favourable)}}}",
        *_candidates(table, answers.outcome, "Columns with two values"),
        "",
        "# Whose efforts are compared: the column with the groups, the protected group, and whom it is compared with.",
        f"sensitive: {{column: {word(answers.sensitive)}, protected: {word(answers.protected)}, "
        f"reference: {word(answers.reference)}}}",
        *_candidates(table, answers.sensitive, "Columns with few values", most=MOST_VALUES),
        "# Are there further columns that no action may change?",
        "# also_protected: [nationality]",
        "# May a model trained here see the sensitive column?",
        "use_sensitive: false",
        "",
        "# What causes what, as [cause, effect]: an action on a cause moves its effects too. Nothing is assumed.",
        "graph: []",
        "",
        "# actionable: people may change it (direction: up or down; lower, upper, max_increase, max_decrease, weight)",
        "# mutable: it only follows its causes; immutable: it must not move. plausible: [low, high] limits any value.",
        "# Delete the line of a column that is no feature.",
        "features:",
    ]
    lines += [f"  {word(c)}: {{role: FILL_IN}}  # {_about(table[c])}" for c in columns if c not in told]
    lines += [
        "",
        "cost: {kind: l1, scale: range}  # one unit of effort is the whole range of a feature",
        "criteria: {tau: 1.25, epsilon: 0.05, rule: two-sided, min_people: 10}",
        "report: {suppress_below: 0}  # hide counts below this in a report that is shared",
        "random_state: 0",
        "",
    ]
    return "\n".join(lines)


def word(value: Any) -> str:
    """A value as YAML that every program reads alike; what is not known is FILL_IN.

    >>> word("income"), word("NO"), word("a: b"), word(3), word(None)
    ('income', '"NO"', '"a: b"', '3', 'FILL_IN')
    """
    if value is None:
        return "FILL_IN"
    if not isinstance(value, str):
        return json.dumps(value)
    if _BARE.fullmatch(value) and value.lower() not in _NOT_BARE:
        return value
    # YAML knows more line ends than JSON does, and refuses what cannot be printed.
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(value, ensure_ascii=False))


def _reading(answers: Answers) -> list[str]:
    usual = {"encoding": "utf-8", "delimiter": ",", "decimal": "."}
    return [f"  {key}: {json.dumps(value)}" for key, value in answers.reading.items() if value != usual[key]]


def _id(table: pd.DataFrame, answers: Answers) -> list[str]:
    if answers.id is not None:
        return [f"  id: {word(answers.id)}"]
    unique = [str(c) for c in table.columns if table[c].is_unique and table[c].dtype.kind != "f"]
    return [f"  # id: {word(name)}  # different in every row: does it name the person?" for name in unique[:5]]


def _missing(table: pd.DataFrame) -> str:
    empty = {str(name): int(count) for name, count in table.isna().sum().items() if count}
    if not empty:
        return "no cell is empty; error, drop or model"
    shown = ", ".join(f"{word(name)}: {count:,}" for name, count in list(empty.items())[:5])
    return f"empty cells in {shown}; error refuses them, drop leaves these people out"


def _candidates(table: pd.DataFrame, told: str | None, title: str, *, most: int = 2) -> list[str]:
    if told is not None:
        return []
    few = [str(c) for c in table.columns if 2 <= table[c].nunique() <= most]
    lines = [f"#   {word(name)}: {_values(table[name])}" for name in few[:20]]
    return [f"# {title}:", *lines] if lines else []


def _about(column: pd.Series) -> str:
    from equieffort.frames import infer_kind, number

    kind = infer_kind(column)
    if kind in ("integer", "continuous"):
        return f"{kind}, {number(column.min())} to {number(column.max())}"
    return f"{kind}: {_values(column)}"


def _values(column: pd.Series) -> str:
    found = sorted(column.dropna().unique().tolist(), key=str)
    if len(found) <= MOST_VALUES:
        return ", ".join(map(word, found))
    return f"{', '.join(map(word, found[:3]))} and {len(found) - 3:,} more"


def _delimiter(data: Path, encoding: str) -> str:
    """The mark that the header holds most often; a comma if there is none or it cannot be read."""
    if data.suffix.lower() == ".parquet" or not data.is_file():
        return ","
    try:
        with data.open(encoding=encoding, errors="replace") as file:
            header = file.readline(1 << 16)
    except LookupError:
        return ","
    return max(DELIMITERS, key=header.count)


def _check_names(table: pd.DataFrame, answers: Answers) -> None:
    columns = [str(column) for column in table.columns]
    for option, name in (("id", answers.id), ("outcome", answers.outcome), ("sensitive", answers.sensitive)):
        if name is not None and name not in columns:
            raise ParameterError(
                "DATA_MISSING_COLUMN",
                f"--{option} names {name!r}, which is no column. {closest(name, columns)}".rstrip(),
                fix=f"The columns are {listed(columns)}.",
            )
