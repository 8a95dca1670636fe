"""A folder with a table of decisions and a spec, and a way to call the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from equieffort.cli import app

SPEC = """\
title: Loans <b>of</b> a town
data: {path: loans.csv, id: applicant}
model: {train: logistic}
outcome: {column: decision, favourable: approved}
sensitive: {column: sex, protected: female, reference: male}
graph: [[income, savings]]
features:
  income: {role: actionable, max_increase: 20, upper: 90}
  savings: {role: mutable}
  job: {role: immutable}
subgroups: {smiths: "job = 'smith'"}
criteria: {tau: 1.25, epsilon: 0.05, min_people: 5}
"""


def loans(n: int = 160, gap: float = 22.0) -> pd.DataFrame:
    """Decisions by a plain line, in which one group starts behind by `gap`; by default farther than chance explains."""
    rng = np.random.default_rng(5)
    sex = np.array(["female", "male"])[np.arange(n) % 2]
    income = rng.integers(26, 76, n) - gap * (sex == "female")
    savings = (0.5 * income + rng.normal(0, 6, n)).round(1)
    return pd.DataFrame(
        {
            "applicant": [f"{k:05d}" for k in range(n)],
            "sex": sex,
            "income": income.astype(int),
            "savings": savings,
            "job": rng.choice(["cook", "smith"], n),
            "decision": np.where(income + savings > 79, "approved", "refused"),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    loans().to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "loans.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def audited(tmp_path_factory) -> Path:
    """A folder in which `equieffort audit` ran: made.audit and its companions, and the same with other decisions."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "loans.yaml").write_text(SPEC, encoding="utf-8")
    for name, gap in (("later", 18.0), ("made", 22.0)):
        loans(gap=gap).to_csv(folder / "loans.csv", index=False)
        done = CliRunner().invoke(app, ["audit", str(folder / "loans.yaml"), "-o", str(folder / name), "--quiet"])
        assert done.exit_code in (0, 1), done.output
    return folder


@pytest.fixture
def call():
    """Call the command line as a user would: `call("audit", "loans.yaml", "-o", "out")`."""

    def run(*arguments: object) -> Result:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert "Traceback" not in done.output or "--debug" in arguments
        return done

    return run
