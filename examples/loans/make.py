"""Writes loans.csv: 400 made-up applicants for a loan, and who was approved.

Income rises with years in the job and is lower for people without a region; debt follows income. A clerk approves by a
score of all three, with a little noise. Run with `python examples/loans/make.py`; the seed is fixed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

PEOPLE = 400
EMPLOYMENT = {"permanent": 6_000, "temporary": -2_000, "self-employed": 1_000}


def table() -> str:
    """The file's text."""
    rng = np.random.default_rng(7)
    # "None" is a group: people who are not registered in any region.
    region = rng.choice(["North", "South", "None"], PEOPLE, p=[0.45, 0.35, 0.2])
    employment = rng.choice([*EMPLOYMENT], PEOPLE, p=[0.6, 0.25, 0.15])
    years = rng.integers(0, 31, PEOPLE)
    bonus = pd.Series(employment).map(EMPLOYMENT).to_numpy()
    income = 26_000 + 700 * years + bonus - 5_000 * (region == "None") + rng.normal(0, 6_000, PEOPLE)
    income = np.maximum(np.round(income, -1), 9_000).astype(int)
    debt = np.maximum(np.round(0.3 * income + rng.normal(0, 4_000, PEOPLE), -1), 0).astype(int)
    score = income / 1_000 - 1.2 * debt / 1_000 + 0.3 * years + bonus / 3_000 + rng.normal(0, 0.8, PEOPLE)
    people = {
        "id": [f"{number:05}" for number in rng.choice(2_000, PEOPLE, replace=False) + 1],
        "region": region,
        "employment": employment,
        "income": income,
        "debt": debt,
        "years": years,
        "approved": np.where(score > 24, "yes", "no"),
    }
    return pd.DataFrame(people).to_csv(index=False, lineterminator="\n")


if __name__ == "__main__":
    (Path(__file__).parent / "loans.csv").write_text(table(), encoding="utf-8", newline="")
