"""A surrogate is kept beside the result: whoever has the files can repeat the audit, number by number."""

from __future__ import annotations

import csv
import hashlib
import json

import pytest
from tests.cli.conftest import SPEC

from equieffort.models.files import skops_writer


def numbers(folder, name):
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
    people = [{key: value for key, value in row.items() if key != "recorded"} for row in rows]
    # Of a model that is given no decisions are recorded beside.
    return [row for row in found["measures"] if row["measure"] != "impact_ratio_recorded"], people


def test_a_spec_that_names_the_kept_surrogate_repeats_the_audit(audited, folder, call):
    kept = (audited / "made.surrogate.skops").read_bytes()
    first = json.loads((audited / "made.json").read_text(encoding="utf-8"))
    file = first["provenance"]["model"]
    assert file == {"path": "made.surrogate.skops", "sha256": hashlib.sha256(kept).hexdigest(), "trusted": []}
    (folder / "made.surrogate.skops").write_bytes(kept)
    (folder / "loans.yaml").write_text(SPEC.replace("{train: logistic}", "made.surrogate.skops"), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "again")
    assert done.exit_code == 1, done.output
    assert numbers(folder, "again") == numbers(audited, "made")
    again = json.loads((folder / "again.json").read_text(encoding="utf-8"))
    assert again["provenance"]["model"]["sha256"] == file["sha256"]
    assert not (folder / "again.surrogate.skops").exists()
    page = (audited / "made.html").read_text(encoding="utf-8")
    assert file["sha256"] in page
    # The record comes before what the surrogate makes of it.
    assert 0 < page.index("Refused in the record") < page.index("Refused by the surrogate")


def test_without_skops_a_warning_says_that_it_was_not_kept(folder, call, monkeypatch):
    monkeypatch.setattr(skops_writer, "find_spec", lambda name: None)
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 0
    assert "(SURROGATE_NOT_KEPT)" in done.stderr


@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_the_same_model_gives_the_same_bytes(kind):
    import numpy as np
    import pandas as pd
    import skops.io

    from equieffort.models.surrogate import train_surrogate

    people = pd.DataFrame({"income": np.arange(40), "job": ["a", "b"] * 20})
    decided = np.where(people["income"] > 20, "yes", "no")
    one, other = (
        train_surrogate(kind, people, decided, features=["income", "job"], groups=people["job"]) for _ in range(2)
    )
    data, types = skops_writer.skops_bytes(one.classifier)
    assert data == skops_writer.skops_bytes(other.classifier)[0]
    again = skops.io.loads(data, trusted=types)
    assert (again.predict(people) == one.classifier.predict(people)).all()
