"""Writes docs/errors.md from the codes in the source: `python tools/error_codes.py`."""

from __future__ import annotations

from pathlib import Path

from equieffort.errors import CODES

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"


def page() -> str:
    """The page's text."""
    rows = "\n".join(f"| `{code}` | {why} |" for code, why in CODES.items())
    return f"""# Error and warning codes

Every error raised on purpose is an `equieffort.errors.EquieffortError` with `code`, `what`, `why` and `fix`; every
warning an `EquieffortWarning` with the same. Codes do not change between releases. `audit.warnings` keeps
what was warned about. In Python `what` and `fix` speak of arguments; at the command line the same error speaks of the
spec and of options (`equieffort.words.settings` has both).

| code | why it matters |
| --- | --- |
{rows}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
