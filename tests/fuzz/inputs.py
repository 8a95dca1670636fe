"""Specs, tables and rules to begin with, and what is done to them."""

from __future__ import annotations

import random
from pathlib import Path

import yaml
from tests.cli.conftest import SPEC, loans
from tests.fuzz.mutate import WILD, change_bytes, change_json, change_text

RULES = (
    "age < 25 and (purpose in ('car', 'tv') or 2 <= `years at job`)", "income < 3", "not (income between 2 and 5)",
    "job = 'cook' or income >= 4 and savings != 0.5", "if job = 'smith' then income <= 8", "group not in ('ash')",
    "if income >= 3 then savings >= -9", "income >= savings", "true = job", "income = income",
    "job in ('cook', 'smith') and not city = 'Rom'",
)  # fmt: skip
WORDS = (
    "and", "or", "not", "in", "between", "if", "then", "(", ")", "=", "==", "!=", "<", "<=", ">", ">=", ",", "income",
    "savings", "job", "group", "city", "`", "'", '"', "'cook'", "3", "-1e999", "1e308", "0.1", "true", "FALSE", "NaN",
    "inf", "\0", "ü", "--", ";", "__import__('os')", "9" * 400, " " * 300, "(" * 90,
)  # fmt: skip
SPECS = (
    SPEC,
    SPEC + "cost: {kind: percentile}\nneighbourhood: {quantile: 0.3}\n",
    SPEC + "solver: {kind: search}\nreport: {suppress_below: 5}\n",
    SPEC.replace("graph: [[income, savings]]", "graph: {edges: [[income, savings]], default: polynomial}"),
)


def rule_text(draw: random.Random, folder: Path) -> tuple[str, bytes]:
    """Words of the grammar in any order, or a rule with some of them changed."""
    if draw.random() < 0.3:
        return ".txt", " ".join(draw.choice(WORDS) for _ in range(draw.randint(0, 12))).encode()
    words = draw.choice(RULES).split(" ")
    for _ in range(draw.randint(0, 3)):
        at = draw.randrange(len(words) + 1)
        words[at : at + draw.randint(0, 2)] = [draw.choice(WORDS) for _ in range(draw.randint(0, 2))]
    return ".txt", " ".join(words).encode()


def spec_text(draw: random.Random, folder: Path) -> tuple[str, bytes]:
    """A spec with places changed, as YAML or as text."""
    if not (folder / "loans.csv").exists():
        loans(60).to_csv(folder / "loans.csv", index=False)
    text = draw.choice(SPECS)
    kind = draw.random()
    if kind < 0.5:
        changed = change_json(yaml.safe_load(text), draw, 2)
        return ".yaml", yaml.safe_dump(changed, allow_unicode=True).encode("utf-8", "surrogatepass")
    if kind < 0.85:
        return ".yaml", change_text(text.encode(), draw)
    return ".yaml", change_bytes(text.encode(), draw)


def csv_text(draw: random.Random, folder: Path) -> tuple[str, bytes]:
    """A table with cells, lines or bytes changed."""
    table = loans(draw.choice([3, 20, 60]))
    kind = draw.random()
    if kind < 0.5:
        for _ in range(draw.randint(1, 4)):
            column = draw.choice(list(table.columns))
            table[column] = table[column].astype(object)
            table.loc[draw.randrange(len(table)), column] = str(
                draw.choice([*WILD, "+5", "12 %", "$5", "1,000", "\u22125", "", " ", "NA", "1e400", "0x1f", "=1+1"])
            )
    content = table.to_csv(index=False, sep=draw.choice([",", ",", ",", ";", "\t"])).encode("utf-8", "surrogatepass")
    if kind > 0.8:
        content = change_text(content, draw)
    elif kind > 0.5:
        content = change_bytes(content, draw)
    return ".csv", content
