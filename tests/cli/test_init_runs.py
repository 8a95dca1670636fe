"""What `init` writes runs once nothing but FILL_IN was filled in, whatever the table looks like; all is listed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import loans

from equieffort.spec import read_spec

N = 120


def base() -> pd.DataFrame:
    return loans(N).drop(columns="applicant")


def missing(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(savings=table["savings"].where(np.arange(N) % 11 > 0), nothing=np.nan)
    return table.assign(job=table["job"].where(np.arange(N) % 13 > 0))


SHAPES = {
    "numbers": lambda t: t.assign(age=np.arange(N) % 40 + 20, rate=np.arange(N) / 7),
    "text": lambda t: t.assign(
        town=np.array(["a b", "NO", "x: y", "#1"])[np.arange(N) % 4], note=[f"n{k}" for k in range(N)],
    ),
    "dates": lambda t: t.assign(
        day=pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        month=[f"2024-{k % 12 + 1:02d}" for k in range(N)],
    ),
    "ids": lambda t: t.assign(person=[f"{k:06d}" for k in range(N)], row=np.arange(N)),
    "constants": lambda t: t.assign(country="here", zero=0),
    "many columns": lambda t: t.assign(**{f"flag{k}": (np.arange(N) // (k + 1)) % 2 for k in range(30)}),
    "booleans": lambda t: t.assign(owner=np.arange(N) % 3 == 0, told=np.where(np.arange(N) % 2, "yes", "no")),
    "missing": missing,
    "three decisions": lambda t: t.assign(
        decision=np.where(t["income"] + t["savings"] > 90, "approved", np.where(t["income"] > 40, "later", "refused"))
    ),
}  # fmt: skip


def filled(text: str) -> str:
    """Every FILL_IN answered as a person would who knows what the columns are, and nothing else touched."""
    text = text.replace("{column: FILL_IN, favourable: FILL_IN}", "{column: decision, favourable: approved}")
    text = text.replace(
        "{column: FILL_IN, protected: FILL_IN, reference: FILL_IN}", "{column: sex, protected: female, reference: male}"
    )
    lines = []
    for line in text.splitlines():
        name = line.split(":")[0].strip()
        role = {"income": "actionable", "decision": "unused", "sex": "unused"}.get(name, "immutable")
        lines.append(line.replace("role: FILL_IN", f"role: {role}").replace("missing: FILL_IN", "missing: drop"))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("shape", SHAPES)
def test_its_file_runs_once_it_is_filled_in(tmp_path, monkeypatch, call, shape):
    monkeypatch.chdir(tmp_path)
    SHAPES[shape](base()).to_csv("t.csv", index=False)
    assert call("init", "t.csv").exit_code == 0
    text = filled((tmp_path / "t.yaml").read_text(encoding="utf-8"))
    body = [line.split(" #")[0] for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert not any("FILL_IN" in line for line in body)
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    done = call("audit", "t.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 0, done.output


def test_all_candidates_are_listed(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    table = SHAPES["many columns"](base()).assign(**{f"code{k}": [f"{k}-{n}" for n in range(N)] for k in range(8)})
    table = table.assign(**{f"gap{k}": np.where(np.arange(N) % 10 == k, np.nan, 1.0 * np.arange(N)) for k in range(7)})
    table.to_csv("t.csv", index=False)
    assert call("init", "t.csv").exit_code == 0
    text = (tmp_path / "t.yaml").read_text(encoding="utf-8")
    for part in (text.split("outcome:")[1].split("sensitive:")[0], text.split("sensitive:")[1].split("graph:")[0]):
        assert all(f"#   flag{k}: 0, 1" in part for k in range(30))
    assert all(f"# id: code{k}" in text for k in range(8))
    assert all(f"#   gap{k}: 12 cells are empty" in text for k in range(7))


def test_columns_that_share_everybody_are_offered_as_a_category_that_runs_once_it_has_a_name(
    tmp_path, monkeypatch, call
):
    """By their names where these end alike; as a comment, to be named, where nothing but the cells says so."""
    monkeypatch.chdir(tmp_path)
    race, home = np.arange(N) % 3, np.arange(N) // 2 % 2
    table = base().assign(asian=1 * (race == 0), black=1 * (race == 1), white=1 * (race == 2))
    table = table.assign(own_home=1 * (home == 0), rented_home=1 * (home == 1))
    table.to_csv("t.csv", index=False)
    assert call("init", "t.csv").exit_code == 0
    text = (tmp_path / "t.yaml").read_text(encoding="utf-8")
    assert "\n  home: {own: own_home, rented: rented_home}\n" in text
    assert "\n#   NAME: [asian, black, white]\n" in text
    for name in ("black", "white"):
        text = "".join(line for line in text.splitlines(True) if not line.startswith(f"  {name}:"))
    text = filled(text).replace("#   NAME:", "  race:").replace("  asian: {", "  race: {")
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    done = call("audit", "t.yaml", "-o", "out")
    assert done.exit_code in (0, 1, 4), done.output
    spec = read_spec(tmp_path / "t.yaml")
    assert set(spec.schema.one_hot) == {"home", "race"}
    assert spec.schema.feature("race").role == spec.schema.feature("home").role == "immutable"


def dummies() -> pd.DataFrame:
    """As `pd.get_dummies(...).to_csv()` leaves them."""
    housing = pd.Series(np.array(["own", "rent", "free"])[np.arange(N) % 3], name="housing")
    return pd.get_dummies(base().assign(housing=housing, cosigner=np.arange(N) % 2 == 0), columns=["housing"])


def test_one_hot_columns_that_pandas_wrote_as_true_and_false_go_in(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    dummies().to_csv("t.csv", index=False)
    assert call("init", "t.csv").exit_code == 0
    text = (tmp_path / "t.yaml").read_text(encoding="utf-8")
    assert "\n  housing: {free: housing_free, own: housing_own, rent: housing_rent}\n" in text
    assert "  cosigner: {role: FILL_IN}  # binary: false, true\n" in text
    text = text.replace("cosigner: {role: FILL_IN}", "cosigner: {role: actionable, kind: binary, direction: up}")
    text = text.replace("housing: {role: FILL_IN}", "housing: {role: actionable}")
    (tmp_path / "t.yaml").write_text(filled(text), encoding="utf-8")
    done = call("audit", "t.yaml", "-o", "out")
    assert done.exit_code in (0, 1, 4), done.output
    found = pd.read_csv(tmp_path / "out.csv")
    assert set(found["do_housing"].dropna()) <= {"own", "rent", "free"}
    assert set(found["do_cosigner"].dropna()) <= {True}


@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("blanks", [True, False])
def test_groups_and_decisions_of_true_and_false_are_named_quoted_or_not(tmp_path, monkeypatch, call, quoted, blanks):
    monkeypatch.chdir(tmp_path)
    table = base().assign(cosigner=np.arange(N) % 2 == 0)
    table = table.assign(sex=table["sex"] == "female", decision=table["decision"] == "approved")
    if blanks:
        table["sex"] = table["sex"].astype(object).where(np.arange(N) % 20 > 0)
    table.to_csv("t.csv", index=False)
    yes, no = ('"True"', '"False"') if quoted else ("true", "false")
    (tmp_path / "t.yaml").write_text(
        f"""
data: {{path: t.csv, missing: drop}}
model: {{train: logistic}}
outcome: {{column: decision, favourable: {yes}}}
sensitive: {{column: sex, protected: {yes}, reference: {no}}}
graph: []
features: {{income: actionable, savings: actionable, cosigner: immutable}}
rules: ["if cosigner = {yes.replace('"', "'")} then income > 0"]
labels: {{groups: {{"True": women}}, levels: {{cosigner: {{"True": with a cosigner}}}}}}
subgroups: {{alone: "cosigner = {no.replace('"', "'")}"}}
""",
        encoding="utf-8",
    )
    done = call("audit", "t.yaml", "-o", "out")
    assert done.exit_code in (0, 1, 4), done.output
    assert "women" in done.output


def test_values_that_are_numbers_are_listed_by_their_size(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    base().assign(year=np.arange(N) % 11 + 1).to_csv("t.csv", index=False)
    assert call("init", "t.csv").exit_code == 0
    assert "#   year: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n" in (tmp_path / "t.yaml").read_text(encoding="utf-8")
