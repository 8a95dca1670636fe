"""`equieffort init` looks at a table and writes a spec to fill in; `equieffort schema` prints what a spec may hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.common import as_json_text, check_writable, write
from equieffort.errors import ParameterError, closest, listed, many
from equieffort.words.problems import spec_words

if TYPE_CHECKING:
    import pandas as pd

    from equieffort.data.one_hot import OneHot
    from equieffort.world.giveaways import Giveaway

REMARKS = {
    "copy": "tells the decision: was it written down after it?",
    "end": "nearly tells the decision: was it written down after it?",
    "person": "different in every row: a name or number of the person?",
    "constant": "the same in every row",
    "sentinel": "the extreme value is far from all others: a code for what is not known?",
}
"""What a column gives away, beside its line in the spec."""
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
    favourable: Any = None
    sensitive: str | None = None
    protected: Any = None
    reference: Any = None
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
    decimal: Annotated[str | None, typer.Option(help="The decimal mark; found in the cells by default.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the spec.")] = False,
) -> None:
    """Look at DATA and write a commented spec. Nothing sensitive is guessed: FILL_IN marks what you must say."""
    from equieffort.data.inputs import read_table
    from equieffort.spec import DataSource
    from equieffort.spec.runs import FILL_IN, unfilled
    from equieffort.world.giveaways import giveaways

    if data.is_dir():
        raise ParameterError("DATA_FILE", f"{str(data)!r} is a folder, not a table.", fix="Give a CSV or Parquet file.")
    target = data.with_suffix(".yaml") if out is None else out
    check_writable(target)
    if target.exists() and not force:
        raise ParameterError(
            "OUTPUT", f"{str(target)!r} exists already.", fix="Give another name with -o, or overwrite it with --force."
        )
    mark = _delimiter(data, encoding) if delimiter is None else delimiter
    source = DataSource(path=data, encoding=encoding, delimiter=mark, decimal=decimal or ".")
    with spec_words("options"):
        table = read_table(source)
        if decimal is None and (commas := _comma_columns(table, mark)):
            table, decimal = read_table(replace(source, decimal=",")), ","
            typer.echo(f'Decimal commas in {listed(commas)}: they are read as numbers, and the spec says decimal: ",".')
    reading = {"encoding": encoding, "delimiter": mark, "decimal": decimal or "."}
    answers = Answers(person, outcome, favourable, sensitive, protected, reference, reading)
    _check_names(table, answers)
    if person is not None and not table[person].is_unique:
        with spec_words("options"):
            read_table(replace(source, id=person))
    answers = _check_values(table, answers)
    told = (answers.id, answers.outcome, answers.sensitive)
    found = giveaways(
        table, [name for name in table.columns if name not in told],
        None if answers.outcome is None else table[answers.outcome],
    )  # fmt: skip
    text = draft(table, os.path.relpath(data, target.parent), answers, target.name, found)
    write(target, text)
    for one in found:
        typer.echo(f"Check first: {one.what} ({one.code})")
    typer.echo(f"Wrote {target}: {len(table):,} rows, {len(table.columns)} columns.")
    for column in table.columns:
        if slip := _slip(table[column]):
            typer.echo(f"{column}: {slip}.")
    if lines := unfilled(text):
        places = sum(line.split(" #")[0].count(FILL_IN) for line in text.splitlines() if not line.startswith("#"))
        where = f"{many(places, 'place', 'places')} marked FILL_IN, in {many(len(lines), 'line', 'lines')}"
        typer.echo(f"Fill in {where}, then: equieffort audit {target} -o OUT --dry-run")


def schema() -> None:
    """Print the JSON schema of the spec, for editors that check YAML."""
    from equieffort.spec import json_schema

    typer.echo(as_json_text(json_schema()))


def draft(table: pd.DataFrame, path: str, answers: Answers, name: str, found: Sequence[Giveaway] = ()) -> str:
    """The text of the spec; a column that gives something away is left as a comment, a sentinel is only told.

    Columns of 0 and 1 that look like one category are taken for one.
    """
    from equieffort.data.one_hot import suggested

    remarks = {one.feature: REMARKS[one.kind] for one in found}
    told = {answers.id, answers.outcome, answers.sensitive}
    spread = suggested(table, told)
    table = spread.join(table)
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
        *_missing(table),
        "",
        "# A model trained to imitate the decisions (logistic, ridge, linear_svc, forest or boosted), or your own:",
        "# model: model.skops",
        "model: {train: logistic}",
        "",
        "# The decision, and its value that people want.",
        f"outcome: {{column: {word(answers.outcome)}, favourable: {word(answers.favourable)}}}",
        *_candidates(table, answers.outcome, "Columns with few values; of several decisions, those not named refuse"),
        "",
        "# Whose efforts are compared: the column with the groups, the protected group, and whom it is compared with.",
        f"sensitive: {{column: {word(answers.sensitive)}, protected: {word(answers.protected)}, "
        f"reference: {word(answers.reference)}}}",
        *_candidates(table, answers.sensitive, "Columns with few values"),
        "# Are there further columns that no action may change?",
        "# also_protected: [nationality]",
        "# May a model trained here see the sensitive column? With false it cannot repeat decisions that depended on",
        "# the group itself: that inequality is missed, and the agreement falls. Try both, and say which was used.",
        "use_sensitive: false",
        "",
        "# What causes what, as [cause, effect]: an action on a cause moves its effects too. Nothing is assumed.",
        "# Effects follow learned linear equations; a column of 0 and 1 stays 0 or 1 with an equation of levels:",
        "# graph: {edges: [[age, owner]], equations: {owner: {kind: ordinal}}}",
        "graph: []",
        "",
        *_one_hot(spread, table, told),
        "# actionable: people may change it (direction: up or down; lower, upper, max_increase, max_decrease, weight)",
        "# mutable: it only follows its causes; immutable: it must not move; unused: it is no feature, such as the",
        "# decision, a name or a date. plausible: [low, high] limits any value, however it came about.",
        "# Without limits, actions set numbers within the values of the table (.inf: none). A category has a direction",
        "# once its levels have an order, and may cost by steps: order: [none, school], direction: up, steps: true",
        "features:",
    ]
    for column in (c for c in columns if c not in told):
        remark = remarks.get(column, "")
        if table[column].nunique() < 2:
            remark = REMARKS["constant"] if table[column].notna().any() else "every cell is empty"
        if remark and remark != REMARKS["sentinel"]:
            lines.append(f"  {word(column)}: {{role: unused}}  # {remark}")
        else:
            told_of = f"; {remark}" if remark else ""
            lines.append(f"  {word(column)}: {{role: FILL_IN}}  # {_about(table[column])}{told_of}")
    lines += [
        "",
        "# What must hold after every action, such as changes of a category that nobody can make, as [from, to]:",
        "# rules: [{feature: degree, forbidden: [[master, none]]}]",
        "# Parts of the people to look at on their own; a name with spaces stands in back-quotes: `years at job` < 2",
        '# subgroups: {young: "age < 25"}',
        "# Compare each person with those most like them; left out, with everybody:",
        "# neighbourhood: {quantile: 0.2}",
        "# What readers are told instead of codes, in every sentence, table and picture:",
        '# labels: {groups: {"0": women}, features: {ltv: loan-to-value ratio}, levels: {job: {A171: unskilled}}}',
        "# How many of the recorded decisions a trained model must repeat, and how many of the refusals it must find,",
        "# over everybody and in each group compared; below that the audit is inconclusive:",
        "# surrogate: {min_agreement: 0.9, min_refusal_recall: 0.5}",
        "cost: {kind: l1, scale: range}  # one unit of effort is the whole range of a feature",
        "criteria: {tau: 1.25, epsilon: 0.05, rule: two-sided, level: 0.95}",
        "report: {suppress_below: 0}  # hide counts below this in a report that is shared",
        "random_state: 0",
        "",
    ]
    return "\n".join(lines)


def _one_hot(spread: OneHot, table: pd.DataFrame, told: set[str | None]) -> list[str]:
    """Columns of 0 and 1 that look like one category each; as comments those whose names do not say so."""
    from equieffort.data.one_hot import neighbours_that_share

    nameless = neighbours_that_share(table.drop(columns=[name for name in told if name is not None]))
    lines = [
        "# Columns of 0 and 1 of which never two are 1: taken as one category each, level: column. A level without a",
        "# column (null) is that of people with none of them: give it its name. Delete what is no category.",
        "one_hot:",
    ] * bool(spread)
    for name, levels in spread.categories.items():
        pairs = (f"{word(level)}: {'null' if column is None else word(column)}" for level, column in levels.items())
        lines.append(f"  {word(name)}: {{{', '.join(pairs)}}}")
    if nameless:
        lines += [
            "# Of these columns exactly one is 1 in every row. If they are one category, name it instead of NAME, and",
            "# under features in the place of its columns:",
            *(["# one_hot:"] if not spread else []),
            *(f"#   NAME: [{', '.join(map(word, names))}]" for names in nameless),
        ]
    return [*lines, ""] if lines else []


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
    unique = [str(c) for c in table.columns if _may_name_people(table[c])]
    return [f"  # id: {word(name)}  # different in every row: does it name the person?" for name in unique]


def _missing(table: pd.DataFrame) -> list[str]:
    """What to do about empty cells, which only a person can say where there are any."""
    empty = {str(name): int(count) for name, count in table.isna().sum().items() if count}
    if not empty:
        return ["  missing: error  # no cell is empty; error or drop (with a saved model also: model)"]
    rows = int(table.isna().any(axis=1).sum())
    lines = [f"  #   {word(name)}: {many(count, 'cell is', 'cells are')} empty" for name, count in empty.items()]
    return [
        f"  # {many(rows, 'row has', 'rows have')} an empty cell. drop leaves out whoever lacks what the audit uses,",
        "  # but not whoever lacks the sensitive column alone: they stay, as a group called unknown;",
        "  # model lets a saved model decide on them; error refuses the table until the cells are filled.",
        *lines,
        "  missing: FILL_IN",
    ]


def _candidates(table: pd.DataFrame, told: str | None, title: str) -> list[str]:
    if told is not None:
        return []
    counts = {str(c): int(table[c].nunique()) for c in table.columns}
    # Two values come first: most decisions and many groups are of this kind. All are listed, however many.
    few = sorted((name for name, n in counts.items() if 2 <= n <= MOST_VALUES), key=lambda name: counts[name])
    lines = [f"#   {word(name)}: {_values(table[name])}" for name in few]
    return [f"# {title}:", *lines] if lines else []


def _about(column: pd.Series) -> str:
    from equieffort.data.frames import infer_kind, is_ordered, number

    kind = infer_kind(column)
    if kind in ("integer", "continuous"):
        return f"{kind}, {number(column.min())} to {number(column.max())}"
    if is_ordered(column):
        return f"{kind}, in the order {_values(column)}: direction and steps are possible"
    slip = _slip(column)
    return f"{kind}: {_values(column)}" + (f"; {slip}" if slip else "")


def _slip(column: pd.Series) -> str:
    """What keeps a column from being numbers, if almost all of it is."""
    from equieffort.data.cells import number_like, numbers_in
    from equieffort.data.frames import infer_kind

    if infer_kind(column) != "categorical" or not (said := number_like(column)):
        return ""
    n, others = numbers_in(column)
    if not others:
        return f"{said}: write plain numbers, or kind: categorical"
    filled = int(column.notna().sum())
    return f"{n:,} of {filled:,} cells are numbers, not {', '.join(map(word, others[:3]))}: empty what is not known"


def _may_name_people(column: pd.Series) -> bool:
    """Whether a column is different in every row, so that it could name people."""
    return column.is_unique and column.dtype.kind != "f"


def _comma_columns(table: pd.DataFrame, mark: str) -> list[str]:
    """Columns of text that hold numbers with decimal commas."""
    from equieffort.data.cells import has_commas
    from equieffort.data.frames import infer_kind

    if mark == ",":
        return []
    return [str(name) for name in table.columns if infer_kind(table[name]) == "categorical" and has_commas(table[name])]


def _values(column: pd.Series) -> str:
    from equieffort.data.frames import find_levels, is_ordered

    met = column.dropna().unique().tolist()
    found = (
        [level for level in find_levels(column) if level in met] if is_ordered(column) else sorted(met, key=_as_read)
    )
    if len(found) <= MOST_VALUES:
        return ", ".join(map(word, found))
    return f"{', '.join(map(word, found[:3]))} and {len(found) - 3:,} more"


def _as_read(value: Any) -> tuple[bool, float, str]:
    """Numbers by their size, then text.

    >>> sorted([10, "b", 9, "a"], key=_as_read)
    [9, 10, 'a', 'b']
    """
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if is_number else 0.0, str(value)


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


def _check_values(table: pd.DataFrame, answers: Answers) -> Answers:
    """The answers with values as the columns have them; what no row holds is refused."""
    asked = [("favourable", answers.outcome), ("protected", answers.sensitive), ("reference", answers.sensitive)]
    found: dict[str, Any] = {}
    for option, column in asked:
        given = getattr(answers, option)
        if given is None or column is None:
            continue
        values = table[column].dropna().unique().tolist()
        same = [value for value in values if str(value) == given]
        if not same:
            raise ParameterError(
                "SPEC_VALUE",
                f"--{option} is {given!r}, which no row of {column!r} holds. {closest(given, values)}".rstrip(),
                fix=f"The values are {listed(sorted(map(str, values)), 20)}.",
            )
        found[option] = same[0]
    return replace(answers, **found)
