"""`equieffort audit --memory`: people who stay in Parquet files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from equieffort.models.files.skops_writer import skops_bytes

from .conftest import SPEC, loans

pytest.importorskip("pyarrow")
STREAMED = SPEC.replace("{path: loans.csv, id: applicant}", "people").replace("{train: logistic}", "model.skops")


@pytest.fixture
def spec(folder) -> Path:
    """A saved model and people in a folder of Parquet files."""
    pytest.importorskip("skops")
    table = loans(900).drop(columns="applicant")
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(table[["income", "savings"]], table["decision"])
    (folder / "model.skops").write_bytes(skops_bytes(model)[0])
    (folder / "people").mkdir()
    for k in range(3):
        table.iloc[300 * k : 300 * (k + 1)].to_parquet(
            folder / "people" / f"{k}.parquet", row_group_size=100, index=False
        )
    table.to_parquet(folder / "all.parquet", index=False)
    (folder / "streamed.yaml").write_text(STREAMED, encoding="utf-8")
    (folder / "whole.yaml").write_text(STREAMED.replace("data: people", "data: all.parquet"), encoding="utf-8")
    return folder / "streamed.yaml"


def test_the_numbers_are_those_of_a_table_in_memory(spec, folder, call):
    done = call("audit", spec, "-o", "out", "--memory", "2GiB")
    whole = call("audit", "whole.yaml", "-o", "whole")
    assert done.exit_code == whole.exit_code == 1, done.output
    assert (folder / "out.measures.csv").read_bytes() == (folder / "whole.measures.csv").read_bytes()
    one, other = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("out", "whole"))
    for part in ("verdict", "by_group", "measures"):
        assert one[part] == other[part]
    assert len(list((folder / "out.parts").glob("part-*.parquet"))) == 9
    rows = pd.read_parquet(folder / "out.parts")
    assert rows["cost"].notna().sum() == pd.read_csv(folder / "whole.csv")["cost"].notna().sum()
    # The file is small, leads to the parts, and says to every command what the audit of a table says.
    assert (folder / "out.audit").stat().st_size < 20_000
    assert "<svg" in (folder / "out.html").read_text(encoding="utf-8")
    refused = int(rows.index[rows["status"] == "optimal"][0]), int(rows.index[rows["status"] == "infeasible"][0])
    for words in (
        *(("explain", "{}.audit", "--row", row) for row in refused), ("check", "{}.audit"), ("notions", "{}.audit"),
        ("subgroups", "{}.audit"),
    ):  # fmt: skip
        mine, theirs = (call(*(str(word).format(name) for word in words)) for name in ("out", "whole"))
        assert mine.exit_code == theirs.exit_code, (words, mine.output)
        assert mine.stdout.replace("out.audit", "whole.audit") == theirs.stdout, words


def test_a_dry_run_tells_what_a_dry_run_of_the_table_tells(spec, folder, call):
    done = call("audit", spec, "-o", "out", "--memory", "2GiB", "--dry-run")
    whole = call("audit", "whole.yaml", "-o", "whole", "--dry-run")
    assert done.exit_code == whole.exit_code == 0, done.output
    mine, theirs = (
        [line for line in one.stdout.splitlines() if not line.startswith("A rough guess")] for one in (done, whole)
    )
    assert mine == theirs
    assert mine[0].startswith("900 people, ")
    assert not (folder / "out.parts").exists()
    table = pd.read_parquet(folder / "people" / "1.parquet")
    table.loc[table.index[7], "income"] = np.nan
    table.to_parquet(folder / "people" / "1.parquet", index=False)
    refused = call("audit", spec, "-o", "out", "--memory", "2GiB", "--dry-run")
    assert refused.exit_code == 2
    assert "'income' has 1 missing value, the first in row 307" in refused.stderr


def interrupted(spec, call, monkeypatch):
    """A run that is interrupted at its fourth part."""
    from equieffort.recourse import streamed

    solve = streamed.PieceSolver.do

    def until(self, piece):
        if piece.number == 4:
            raise KeyboardInterrupt
        return solve(self, piece)

    with monkeypatch.context() as patch:
        patch.setattr(streamed.PieceSolver, "do", until)
        done = call("audit", spec, "-o", "out", "--memory", "2GiB")
    assert done.exit_code == 130
    return done


def test_a_run_that_is_interrupted_goes_on_from_the_parts_it_finished(spec, folder, call, monkeypatch):
    from equieffort.recourse import streamed

    assert call("audit", spec, "-o", "whole", "--memory", "2GiB").exit_code == 1
    solve, solved = streamed.PieceSolver.do, []
    done = interrupted(spec, call, monkeypatch)
    assert "What is finished is kept in out.parts. To go on: equieffort" in done.stderr
    (folder / "out.parts" / "part-000002.parquet").write_bytes(b"damaged")
    monkeypatch.setattr("equieffort.results.streaming.forget_pieces", lambda folder: None)
    monkeypatch.setattr(
        streamed.PieceSolver, "do", lambda self, piece: (solved.append(piece.number), solve(self, piece))[1]
    )
    resumed = call("audit", spec, "-o", "out", "--memory", "2GiB", "--resume")
    assert resumed.exit_code == 1
    assert solved == [2, 4, 5, 6, 7, 8]
    assert (folder / "out.measures.csv").read_bytes() == (folder / "whole.measures.csv").read_bytes()
    mine, theirs = (sorted((folder / f"{name}.parts").glob("part-*")) for name in ("out", "whole"))
    assert [(path.name, path.read_bytes()) for path in mine] == [(path.name, path.read_bytes()) for path in theirs]
    assert "RUN_CHECKPOINT_DAMAGED" in resumed.stderr
    assert "'part-000002.parquet'" in resumed.stderr


@pytest.fixture
def half(spec, folder, call, monkeypatch) -> Path:
    """The parts of a run that was interrupted."""
    interrupted(spec, call, monkeypatch)
    return folder / "out.parts"


@pytest.mark.parametrize("changed", ["files", "model", "question"])
def test_parts_of_another_run_are_refused_by_hash_and_left_alone(half, spec, folder, call, changed):
    if changed == "files":
        table = pd.read_parquet(folder / "people" / "2.parquet")
        table.to_parquet(folder / "people" / "2.parquet", row_group_size=50, index=False)
    elif changed == "model":
        from sklearn.linear_model import LogisticRegression

        table = loans(900)
        model = LogisticRegression(C=0.01).fit(table[["income", "savings"]], table["decision"])
        (folder / "model.skops").write_bytes(skops_bytes(model)[0])
    else:
        spec.write_text(STREAMED.replace("upper: 90", "upper: 80"), encoding="utf-8")
    kept = {path.name: path.read_bytes() for path in half.iterdir()}
    done = call("audit", spec, "-o", "out", "--memory", "2GiB", "--resume")
    assert done.exit_code == 2
    assert "belongs to another run: by hash it differs in" in done.stderr
    assert f"'{changed}'" in done.stderr
    assert {path.name: path.read_bytes() for path in half.iterdir()} == kept


def test_what_files_hold_decides_and_not_when_they_were_written(half, spec, folder, call):
    path = folder / "people" / "0.parquet"
    os.utime(path)
    assert call("audit", spec, "-o", "out", "--memory", "2GiB", "--resume").exit_code == 1


def test_another_content_of_the_same_size_and_time_is_refused(half, spec, folder, call):
    path = folder / "people" / "0.parquet"
    kept = path.stat()
    content = path.read_bytes()
    # A name in what pandas says of itself, which nobody reads.
    assert content.count(b"pandas_version") == 1
    path.write_bytes(content.replace(b"pandas_version", b"pandas_Version"))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (kept.st_size, kept.st_mtime_ns)
    done = call("audit", spec, "-o", "out", "--memory", "2GiB", "--resume")
    assert done.exit_code == 2
    assert "by hash it differs in 'files'" in done.stderr


def test_the_hash_in_the_audit_is_that_of_the_file(spec, folder, call):
    words = STREAMED.replace("data: people", "data: all.parquet")
    spec.write_text(words, encoding="utf-8")
    assert call("audit", spec, "-o", "out", "--memory", "2GiB").exit_code == 1
    said = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert hashlib.sha256((folder / "all.parquet").read_bytes()).hexdigest() in json.dumps(said)


@pytest.mark.parametrize("path", ["people", "people/*.parquet"])
def test_a_folder_without_memory_says_the_way_out(spec, folder, call, path):
    spec.write_text(STREAMED.replace("data: people", f"data: {path}"), encoding="utf-8")
    done = call("audit", spec, "-o", "out")
    assert done.exit_code == 2
    assert "not a file" in done.stderr
    assert "--memory 2GiB" in done.stderr


def test_a_byte_that_turned_is_seen_wherever_it_is(half, spec, folder, call):
    for name in ("part-000001.parquet", "_part-000003.json"):
        content = bytearray((half / name).read_bytes())
        content[len(content) // 2] ^= 0x01
        (half / name).write_bytes(content)
    done = call("audit", spec, "-o", "out", "--memory", "2GiB", "--resume")
    assert done.exit_code == 1
    assert done.stderr.count("RUN_CHECKPOINT_DAMAGED") == 2
    assert call("audit", spec, "-o", "whole", "--memory", "2GiB").exit_code == 1
    mine, theirs = (sorted((folder / f"{name}.parts").iterdir()) for name in ("out", "whole"))
    assert [(path.name, path.read_bytes()) for path in mine] == [(path.name, path.read_bytes()) for path in theirs]


def test_going_on_from_a_run_that_was_finished_leaves_none_of_its_people(spec, folder, call):
    assert call("audit", spec, "-o", "out", "--memory", "2GiB").exit_code == 1
    (folder / "people" / "2.parquet").unlink()
    assert call("audit", spec, "-o", "out", "--memory", "2GiB", "--resume").exit_code in (0, 1, 4)
    assert len(pd.read_parquet(folder / "out.parts")) == 600


def test_parts_are_not_written_over_the_people(spec, folder, call):
    (folder / "out.parts").mkdir()
    for path in (folder / "people").iterdir():
        path.rename(folder / "out.parts" / f"part-00000{path.stem}.parquet")
    spec.write_text(STREAMED.replace("data: people", "data: out.parts"), encoding="utf-8")
    done = call("audit", spec, "-o", "out", "--memory", "2GiB")
    assert done.exit_code == 2
    assert "holds the people themselves" in done.stderr
    assert len(list((folder / "out.parts").iterdir())) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--memory", "much"), "memory is 'much'"),
        (("--memory", "10MB"), "too little"),
        (("--memory", "2GiB", "--notions"), "--memory does not go with --notions"),
        (("--memory", "2GiB", "--format", "parquet"), "the folder OUT.parts is everybody's recourse as Parquet"),
        (("--memory", "2GiB", "--resample", "equations"), "audit a sample of the people without --memory"),
        (("--memory", "2GiB", "--checkpoint", "kept"), "--memory does not go with --checkpoint"),
    ],
)
def test_what_does_not_go_with_it_is_refused(spec, call, words, said):
    done = call("audit", spec, "-o", "out", *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_surrogate_needs_everybody(folder, call):
    done = call("audit", "loans.yaml", "-o", "out", "--memory", "2GiB")
    assert done.exit_code == 2
    assert "model.train needs that" in done.stderr


def test_an_id_stands_in_the_parts_and_names_one_person(spec, folder, call):
    for path in sorted((folder / "people").iterdir()):
        table = pd.read_parquet(path)
        table["applicant"] = [f"{path.stem}{k:04d}" for k in range(len(table))]
        table.to_parquet(path, row_group_size=100, index=False)
    named = spec.read_text(encoding="utf-8").replace("data: people", "data: {path: people, id: applicant}")
    spec.write_text(named, encoding="utf-8")
    done = call("audit", spec, "-o", "out", "--memory", "2GiB")
    assert done.exit_code == 1, done.output
    rows = pd.read_parquet(folder / "out.parts")
    assert list(rows.columns[:2]) == ["row", "applicant"]
    assert rows["applicant"].tolist() == [f"{k // 300}{k % 300:04d}" for k in range(900)]
    row = int(rows.index[rows["status"] == "optimal"][0])
    named_so = call("explain", "out.audit", "--row", rows["applicant"][row])
    assert named_so.stdout.startswith(str(row)) or f" {row}" in named_so.stdout.splitlines()[0], named_so.output
    nobody = call("explain", "out.audit", "--row", "99999")
    assert nobody.exit_code == 2
    assert "Give an id as the column 'applicant' of the parts has it" in nobody.stderr
    last = folder / "people" / "2.parquet"
    table = pd.read_parquet(last)
    for value, code, says in (
        ("10007", "DATA_DUPLICATE_INDEX", "'10007' in column 'applicant' names two people, in rows 307 and 650"),
        (None, "DATA_MISSING_VALUES", "The id column 'applicant'"),
    ):
        table.assign(applicant=table["applicant"].where(table.index != 50, value)).to_parquet(last, row_group_size=100)
        done = call("audit", spec, "-o", "out", "--memory", "2GiB")
        assert done.exit_code == 2
        assert f"Code: {code}" in done.stderr
        assert says in done.stderr
    spec.write_text(named.replace("id: applicant", "id: group"), encoding="utf-8")
    for path in (folder / "people").iterdir():
        pd.read_parquet(path).rename(columns={"applicant": "group"}).to_parquet(path)
    assert "one that the parts have for something else" in call("audit", spec, "-o", "out", "--memory", "2GiB").stderr


@pytest.mark.parametrize("coin", [False, True])
def test_a_kept_surrogate_is_held_against_the_record(folder, call, coin):
    pytest.importorskip("skops")
    assert call("audit", "loans.yaml", "-o", "made").exit_code == 1
    table = loans(900).drop(columns="applicant")
    rng = np.random.default_rng(1)
    if coin:
        table["decision"] = np.where(rng.random(900) < 0.5, "approved", "refused")
    table.loc[rng.random(900) < 0.1, "decision"] = None
    (folder / "people").mkdir()
    for k in range(3):
        table[300 * k : 300 * (k + 1)].to_parquet(folder / "people" / f"{k}.parquet", row_group_size=100, index=False)
    table.to_parquet(folder / "all.parquet", index=False)
    kept = STREAMED.replace("model.skops", "made.surrogate.skops")
    (folder / "streamed.yaml").write_text(kept, encoding="utf-8")
    (folder / "whole.yaml").write_text(kept.replace("data: people", "data: all.parquet"), encoding="utf-8")
    done = call("audit", "streamed.yaml", "-o", "out", "--memory", "2GiB")
    whole = call("audit", "whole.yaml", "-o", "whole")
    assert done.exit_code == whole.exit_code == (4 if coin else 1), done.output
    assert ("(SURROGATE_AGREEMENT)" in done.stderr) is coin
    assert "Refused in the record and by the surrogate:" in done.stdout
    assert (folder / "out.measures.csv").read_bytes() == (folder / "whole.measures.csv").read_bytes()
    one, other = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("out", "whole"))
    for part in ("verdict", "surrogate"):
        assert one[part] == other[part]
    kept = kept.replace("column: decision", "column: decided")
    (folder / "streamed.yaml").write_text(kept, encoding="utf-8")
    done = call("audit", "streamed.yaml", "-o", "out", "--memory", "2GiB")
    assert done.exit_code == 2
    assert "streamed.yaml, line 4, column" in done.stderr
    assert "no column 'decided'" in done.stderr
