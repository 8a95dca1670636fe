"""Writes the table of keys in docs/spec.md and docs/spec.schema.json: `python tools/spec_keys.py`."""

from __future__ import annotations

import json
from pathlib import Path

from equieffort.spec import json_schema
from equieffort.spec.docs_table import rows

DOCS = Path(__file__).parents[1] / "docs"
PAGE, SCHEMA = DOCS / "spec.md", DOCS / "spec.schema.json"
START, END = "<!-- keys: written by tools/spec_keys.py -->\n", "<!-- end of keys -->\n"


def keys() -> str:
    """The table of keys."""
    lines = [f"| `{row.path}` | {row.kind} | {row.default} | {row.about} |" for row in rows()]
    return "\n".join(["| key | value | if left out | what it decides |", "| --- | --- | --- | --- |", *lines]) + "\n"


def page(text: str) -> str:
    """The page with the table renewed."""
    before, rest = text.split(START)
    return f"{before}{START}{keys()}{END}{rest.split(END)[1]}"


def schema() -> str:
    """The JSON schema as it is written."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
