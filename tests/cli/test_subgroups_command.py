"""`equieffort subgroups`: what it prints, writes and refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import equieffort as ee


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    rng, n = np.random.default_rng(1), 3000
    people = pd.DataFrame({"S": rng.choice(["a", "b"], n), "x": rng.normal(0, 1, n), "age": rng.integers(18, 80, n)})
    people["job"] = rng.choice(["=cmd", "cook", "nurse"], n)
    people.loc[(people["S"] == "a") & (people["job"] == "=cmd"), "x"] -= 1.5
    x = ee.Feature("actionable", lower=-np.inf, upper=np.inf)
    schema = ee.Schema(sensitive="S", protected="a", favourable=True, features={"x": x})
    scm = ee.StructuralCausalModel([], nodes=["x"]).fit(people)
    with pytest.warns(ee.errors.EquieffortWarning):
        audit = ee.audit(ee.LinearScore({"x": 1.0}, threshold=0.5), people, schema=schema, scm=scm)
    path = tmp_path_factory.mktemp("subgroups") / "result.audit"
    audit.save(path)
    return path


def test_it_prints_the_worst(kept, call):
    done = call("subgroups", str(kept))
    assert done.exit_code == 0
    assert str(ee.load(kept).search_subgroups()) in done.stdout
    assert "flagged  job = '=cmd'" in done.stdout


def test_json_holds_what_python_says(kept, call):
    done = call(
        "subgroups", str(kept), "--measure", "rd", "--conditions", "2", "--levels", "3", "--adjust", "bh", "--json"
    )
    told = json.loads(done.stdout)
    found = ee.load(kept).search_subgroups("rd", conditions=2, levels=3, adjust="bh")
    assert (told["measure"], told["adjust"], told["counts"]) == ("rd", "bh", found.counts)
    assert [row["rule"] for row in told["subgroups"]] == found.frame()["rule"].tolist()


def test_smaller_subgroups_are_searched_on_request(kept, call):
    audit = ee.load(kept)
    for options, asked in (
        (["--fewest", "20", "--fewest-certified", "60"], {"fewest": 20, "fewest_certified": 60}),
        # What is searched from 400 people on has a bound from 400 on.
        (["--fewest", "400"], {"fewest": 400, "fewest_certified": 400}),
    ):
        done = call("subgroups", str(kept), *options, "--json")
        told, found = json.loads(done.stdout), audit.search_subgroups(**asked)
        assert told["counts"] == found.counts
        assert len(told["subgroups"]) == len(found.frame())
    none = call("subgroups", str(kept), "--fewest", "2000").stdout
    assert "Nothing could be searched: each of the " in none
    assert " 0 " not in none.split("Nothing could be searched")[1]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".png", ".svg"])
def test_it_writes_tables_and_pictures(kept, call, tmp_path, suffix):
    pytest.importorskip("matplotlib")
    out = tmp_path / f"subgroups{suffix}"
    done = call("subgroups", str(kept), "--cuts", "--feature", "job", "--feature", "age", "--rows", "4", "-o", str(out))
    assert done.exit_code == 0
    assert f"Wrote {out}" in done.stdout.replace("\n", "")
    if suffix == ".csv":
        table = pd.read_csv(out)
        assert len(table) == 4
        assert table["rule"][0].endswith("job = '=cmd'")
    elif suffix == ".json":
        assert len(json.loads(out.read_text(encoding="utf-8"))["subgroups"]) == 4
    else:
        assert out.stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--conditions", "4"], "from 1 to 3"),
        (["--feature", "S"], "forms the groups"),
        (["--group", "c"], "not compared"),
        (["-o", "x.doc"], "no table and no picture"),
        (["-o", "nowhere/x.csv"], "does not exist"),
        (["--tau", "0.5"], "1 or more"),
    ],
)
def test_bad_options_are_told_in_words(kept, call, options, told):
    done = call("subgroups", str(kept), *options)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
