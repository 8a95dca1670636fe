"""Writes decisions.csv: the 1,000 people of the German credit data with the paper's four columns.

Run with `python examples/german/make.py`; the data come with the package.
"""

from __future__ import annotations

from pathlib import Path

import equieffort as ee


def table() -> str:
    """The file's text."""
    people, risk = ee.datasets.german_credit("paper")
    ids = [f"{k:04}" for k in range(1, len(people) + 1)]
    rows = people.assign(decision=risk).set_axis(ids, axis=0).rename_axis("applicant")
    return rows.to_csv(lineterminator="\n")


if __name__ == "__main__":
    (Path(__file__).parent / "decisions.csv").write_text(table(), encoding="utf-8", newline="")
