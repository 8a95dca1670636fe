"""A surrogate is kept beside the result: whoever has the files can repeat the audit, number by number."""

from __future__ import annotations

import csv
import hashlib
import json
import zipfile

import numpy as np
import pytest
from tests.cli.conftest import SPEC, loans

from equieffort import load_model
from equieffort.errors import EquieffortWarning
from equieffort.models.files import skops_writer
from equieffort.models.files.kept import FACTS


def numbers(folder, name):
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
    return found["measures"], found["surrogate"], found["verdict"], rows


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


@pytest.mark.parametrize(("spec", "out", "path"), [
    ("loans.yaml", "gm", "gm.surrogate.skops"),
    ("loans.yaml", "out/gm", "out/gm.surrogate.skops"),
    ("specs/loans.yaml", "out/gm", "../out/gm.surrogate.skops"),
])  # fmt: skip
def test_what_is_printed_for_auditing_again_can_be_written_into_the_spec(folder, call, spec, out, path):
    """Paths in a spec start at its own folder, wherever the result is written."""
    for name in ("specs", "out"):
        (folder / name).mkdir()
    where = folder / spec
    table = "loans.csv" if where.parent == folder else "../loans.csv"
    where.write_text(SPEC.replace("loans.csv", table), encoding="utf-8")
    done = call("audit", spec, "-o", out)
    hint = f"model: {{path: '{path}'}}"
    assert hint in done.stdout, done.stdout
    again = SPEC.replace("loans.csv", table).replace("model: {train: logistic}", hint)
    where.write_text(again, encoding="utf-8")
    assert call("audit", spec, "-o", "again").exit_code == done.exit_code == 1


def test_without_skops_a_warning_says_that_it_was_not_kept(folder, call, monkeypatch):
    monkeypatch.setattr(skops_writer, "find_spec", lambda name: None)
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 0
    assert "(SURROGATE_NOT_KEPT)" in done.stderr
    done = call("audit", "loans.yaml", "-o", "out")
    assert "(SURROGATE_NOT_KEPT)" in done.stderr
    assert "The surrogate is kept" not in done.output
    assert (folder / "out.html").exists()
    assert not (folder / "out.surrogate.skops").exists()
    assert json.loads((folder / "out.json").read_text(encoding="utf-8"))["provenance"]["model"] is None
    # What is not kept is still no system: letters say it.
    call("explain", "out.audit", "--all", "-o", "letters")
    assert "Do not send these letters" in (folder / "letters" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("missing", ["model", "graph", "both"])
def test_tables_of_their_own_and_shorthands_give_the_same_numbers_where_they_hold_the_same(folder, call, missing):
    assert call("audit", "loans.yaml", "-o", "one").exit_code == 1
    loans().rename(columns={"decision": "decided"}).to_csv(folder / "past.csv", index=False, sep=";")
    source = "{path: past.csv, delimiter: ';'}"
    spec = SPEC.replace("{path: loans.csv, id: applicant}", "loans.csv")
    if missing != "graph":
        spec = spec.replace("{train: logistic}", f"{{train: logistic, data: {source}, label: decided}}")
        spec = spec.replace("{column: decision, favourable", "{favourable")
        loans().drop(columns="decision").to_csv(folder / "loans.csv", index=False)
    if missing != "model":
        spec = spec.replace("[[income, savings]]", f"{{edges: [[income, savings]], data: {source}}}")
    (folder / "two.yaml").write_text(spec, encoding="utf-8")
    done = call("audit", "two.yaml", "-o", "two")
    assert done.exit_code == 1, done.output
    one, two = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("one", "two"))
    recorded = [row for row in one["measures"] if row["measure"] != "impact_ratio_recorded"]
    assert [row for row in two["measures"] if row["measure"] != "impact_ratio_recorded"] == recorded
    assert two["surrogate"] == one["surrogate"]


KEPT_SPEC = SPEC.replace("{train: logistic}", "kept.skops")


def kept_in(audited, folder, spec=KEPT_SPEC):
    """The surrogate under a name that tells nothing, and a spec that names it."""
    (folder / "kept.skops").write_bytes((audited / "made.surrogate.skops").read_bytes())
    (folder / "again.yaml").write_text(spec, encoding="utf-8")


def changed(path, change):
    """Write other facts into the file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    said = json.loads(parts[FACTS])
    change(said)
    parts[FACTS] = json.dumps(said).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_everything_made_from_a_kept_surrogate_says_that_it_is_one(audited, folder, call):
    kept_in(audited, folder)
    done = call("audit", "again.yaml", "-o", "again")
    assert done.exit_code == 1, done.output
    first = json.loads((audited / "made.json").read_text(encoding="utf-8"))["surrogate"]
    assert json.loads((folder / "again.json").read_text(encoding="utf-8"))["surrogate"] == first
    assert "This audits a logistic model trained on the decisions" in done.output
    assert "not the system that made them" in (folder / "again.html").read_text(encoding="utf-8")
    person = next(row["applicant"] for row in numbers(folder, "again")[-1] if row["status"] == "optimal")
    told = call("explain", "again.audit", "--row", person)
    assert "This is about a logistic model trained on the decisions" in told.output
    call("explain", "again.audit", "--all", "-o", "letters")
    assert "Do not send these letters" in (folder / "letters" / "index.html").read_text(encoding="utf-8")
    page = next(one for one in (folder / "letters").glob("*.html") if one.name != "index.html")
    assert "Do not send this page" in page.read_text(encoding="utf-8")
    assert "agreement" in call("audit", "again.yaml", "-o", "dry", "--dry-run").output


def test_what_is_asked_of_it_is_for_the_new_spec_to_say(audited, folder, call):
    kept_in(audited, folder, KEPT_SPEC + "surrogate: {min_agreement: 1}\n")
    done = call("audit", "again.yaml", "-o", "again")
    assert done.exit_code == 4
    assert "repeats less than the 100.0 % of decisions asked for" in done.output


def test_without_recorded_decisions_the_measured_agreement_still_stands(audited, folder, call):
    kept_in(audited, folder, KEPT_SPEC.replace("{column: decision, favourable", "{favourable"))
    loans().drop(columns="decision").to_csv(folder / "loans.csv", index=False)
    done = call("audit", "again.yaml", "-o", "again")
    assert "This audits a logistic model trained on the decisions" in done.output
    found = json.loads((folder / "again.json").read_text(encoding="utf-8"))["surrogate"]
    assert found == json.loads((audited / "made.json").read_text(encoding="utf-8"))["surrogate"]


def test_a_claim_that_the_record_refutes_is_not_believed(audited, folder, call):
    # The file says 97 % or so; half of the decisions here are drawn by a coin.
    table = loans()
    coin = np.random.default_rng(1).random(len(table)) < 0.5
    table.loc[coin, "decision"] = np.where(np.arange(len(table)) % 3 == 0, "approved", "refused")[coin]
    table.to_csv(folder / "loans.csv", index=False)
    kept_in(audited, folder)
    done = call("audit", "again.yaml", "-o", "again")
    assert done.exit_code == 4, done.output
    assert "(SURROGATE_AGREEMENT)" in done.stderr
    rows = numbers(folder, "again")[-1]
    approved = [row["status"] == "not_needed" for row in rows]
    alike = np.array(approved) == (table["decision"] == "approved").to_numpy()
    found = json.loads((folder / "again.json").read_text(encoding="utf-8"))["surrogate"]
    assert found["everybody"]["agreement"] == pytest.approx(np.mean(alike))


def test_other_groups_than_those_it_was_measured_in_are_said(audited, folder, call):
    spec = KEPT_SPEC.replace(
        "column: sex, protected: female, reference: male", "column: job, protected: smith, reference: cook"
    )
    kept_in(audited, folder, spec.replace("  job: {role: immutable}\n", ""))
    done = call("audit", "again.yaml", "-o", "again")
    assert "was measured in other groups" in " ".join(done.stderr.split())
    found = json.loads((folder / "again.json").read_text(encoding="utf-8"))["surrogate"]
    assert {"cook", "smith"} == set(found["by_group"])


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(model="0" * 64),
        lambda said: said.update(version=1),
        lambda said: said["facts"].pop("measured"),
        lambda said: said["facts"]["measured"].update(agreement=2),
        lambda said: said["facts"].update(wanted=[]),
        lambda said: said["facts"].update(favourable={"a": 1}),
    ],
)
def test_facts_that_are_damaged_or_about_another_model_are_refused(audited, folder, call, change):
    kept_in(audited, folder)
    changed(folder / "kept.skops", change)
    done = call("audit", "again.yaml", "-o", "again", "--dry-run")
    assert done.exit_code == 2
    assert "MODEL_FILE" in done.stderr
    assert "says that it is a surrogate" in " ".join(done.stderr.split())


def test_people_who_stay_in_files_are_told_of_too(audited, folder, call):
    table = loans().drop(columns="applicant")
    table.to_parquet(folder / "loans.parquet")
    spec = KEPT_SPEC.replace("{path: loans.csv, id: applicant}", "loans.parquet")
    kept_in(audited, folder, spec.replace("subgroups: {smiths: \"job = 'smith'\"}\n", ""))
    done = call("audit", "again.yaml", "-o", "again", "--memory", "1GiB")
    assert done.exit_code == 1, done.output
    assert "This audits a logistic model trained on the decisions" in done.output


def test_python_is_told_that_the_model_is_a_surrogate(audited):
    with pytest.warns(EquieffortWarning, match="SURROGATE_LOADED"):
        load_model(audited / "made.surrogate.skops")


def test_several_wanted_decisions_are_compared_in_the_words_of_the_record(folder, call):
    table = loans()
    table.loc[(table["decision"] == "approved") & (table.index % 4 == 0), "decision"] = "approved with conditions"
    table.to_csv(folder / "loans.csv", index=False)
    several = SPEC.replace("favourable: approved", "favourable: [approved, approved with conditions]")
    (folder / "loans.yaml").write_text(several, encoding="utf-8")
    first = call("audit", "loans.yaml", "-o", "kept")
    assert first.exit_code in (0, 1, 4), first.output
    (folder / "again.yaml").write_text(several.replace("{train: logistic}", "kept.surrogate.skops"), encoding="utf-8")
    assert call("audit", "again.yaml", "-o", "again").exit_code == first.exit_code
    assert numbers(folder, "again") == numbers(folder, "kept")


DROPPED = SPEC.replace("id: applicant", "id: applicant, missing: drop")


@pytest.mark.parametrize("own_table", [False, True])
def test_whoever_lacks_a_decision_leaves_the_repeat_as_the_first_audit_or_neither(folder, call, own_table):
    table = loans()
    table.loc[[1, 5, 9, 40], "decision"] = None
    table.to_csv(folder / "loans.csv", index=False)
    spec = DROPPED
    if own_table:
        loans().to_csv(folder / "past.csv", index=False)
        spec = spec.replace("{train: logistic}", "{train: logistic, data: past.csv}")
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "first").exit_code == 1
    (folder / "again.yaml").write_text(DROPPED.replace("{train: logistic}", "first.surrogate.skops"), encoding="utf-8")
    done = call("audit", "again.yaml", "-o", "again")
    assert done.exit_code == 1, done.output
    assert ("4 people without a recorded decision left" in done.stderr) is not own_table
    assert len(numbers(folder, "first")[-1]) == (160 if own_table else 156)
    assert numbers(folder, "again") == numbers(folder, "first")


def test_a_kept_surrogate_is_asked_about_people_none_of_whom_is_decided(audited, folder, call):
    kept_in(audited, folder, DROPPED.replace("{train: logistic}", "kept.skops"))
    loans().assign(decision=None).to_csv(folder / "loans.csv", index=False)
    assert call("audit", "again.yaml", "-o", "again").exit_code == 1
    assert len(numbers(folder, "again")[-1]) == 160


@pytest.mark.parametrize("why", ["no skops", "another model"])
def test_the_surrogate_of_an_earlier_audit_of_this_name_does_not_stay(audited, folder, call, monkeypatch, why):
    (folder / "out.surrogate.skops").write_bytes((audited / "made.surrogate.skops").read_bytes())
    if why == "no skops":
        monkeypatch.setattr(skops_writer, "find_spec", lambda name: None)
        spec = "loans.yaml"
    else:
        kept_in(audited, folder)
        spec = "again.yaml"
    dry = call("audit", spec, "-o", "out", "--dry-run")
    assert dry.exit_code == 0
    assert (folder / "out.surrogate.skops").exists(), "a dry run writes nothing"
    done = call("audit", spec, "-o", "out")
    assert done.exit_code == 1, done.output
    assert "Removed out.surrogate.skops" in done.stderr
    assert not (folder / "out.surrogate.skops").exists()


def test_a_surrogate_that_is_audited_again_under_its_own_name_stays(audited, folder, call):
    (folder / "made.surrogate.skops").write_bytes((audited / "made.surrogate.skops").read_bytes())
    spec = SPEC.replace("{train: logistic}", "./made.surrogate.skops")
    (folder / "again.yaml").write_text(spec, encoding="utf-8")
    done = call("audit", "again.yaml", "-o", "made")
    assert done.exit_code == 1, done.output
    assert "Removed" not in done.stderr
    assert (folder / "made.surrogate.skops").exists()


@pytest.mark.parametrize("key", ["model", "graph"])
def test_no_output_writes_over_a_table_that_is_learned_from(folder, call, key):
    loans().to_csv(folder / "out.csv", index=False)
    spec = {
        "model": SPEC.replace("{train: logistic}", "{train: logistic, data: out.csv}"),
        "graph": SPEC.replace("[[income, savings]]", "{edges: [[income, savings]], data: out.csv}"),
    }[key]
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    before = (folder / "out.csv").read_bytes()
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2, done.output
    assert "would overwrite an input" in done.stderr
    assert (folder / "out.csv").read_bytes() == before


@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_the_same_model_gives_the_same_bytes(kind):
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
