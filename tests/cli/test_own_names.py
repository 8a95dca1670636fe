"""Names and values of the user's own are shown as they were written, also where they read like words of ours."""

from __future__ import annotations

import json

import pytest

NAMES = ["the schema version", "y has no value for row", "order=[...]"]


def renamed(folder, old, new):
    for path in (folder / "loans.csv", folder / "loans.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace(old, f'"{new}"'), encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_an_error_shows_the_name_of_a_column_untouched(folder, call, name):
    renamed(folder, "savings", name)
    text = (folder / "loans.csv").read_text(encoding="utf-8").splitlines()
    cells = text[1].split(",")
    text[1] = ",".join([*cells[:3], "", *cells[4:]])
    (folder / "loans.csv").write_text("\n".join(text), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2
    assert f"Column '{name}' has" in done.output


def test_a_warning_shows_levels_untouched(folder, call):
    """Two spellings of one level are listed."""
    renamed(folder, "female", "order=[...]")
    path = folder / "loans.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("order=", "Order=", 1), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert "DATA_SIMILAR_LABELS" in done.output
    assert "'order=[...]'" in done.output
    assert "'Order=[...]'" in done.output


def test_warnings_show_the_names_of_columns_untouched(folder, call):
    """Columns that nothing uses are named at the terminal and in what is written."""
    head, *rows = (folder / "loans.csv").read_text(encoding="utf-8").splitlines()
    more = ",".join(f'"{name}"' for name in NAMES)
    rows = [f"{row},{k % 7},{k % 5},{k % 3}" for k, row in enumerate(rows)]
    (folder / "loans.csv").write_text("\n".join([f"{head},{more}", *rows]), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out")
    told = "Nothing uses these columns of the data: " + ", ".join(f"'{name}'" for name in NAMES)
    assert done.exit_code == 1
    assert told in done.output
    kept = json.loads((folder / "out.json").read_text(encoding="utf-8"))["warnings"]
    assert any(told in warning["what"] for warning in kept)
