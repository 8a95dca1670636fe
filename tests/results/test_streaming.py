"""People who are never all in memory: the same numbers to the bit as of a table that is."""

from __future__ import annotations

import os
import shutil
import warnings
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equieffort as ee
from equieffort.data.parquet import ParquetTable, bytes_in
from equieffort.errors import DataError, EquieffortWarning, ParameterError, RunError
from equieffort.foundations import dealing

dataset = pytest.importorskip("pyarrow.dataset")
pytestmark = pytest.mark.usefixtures("quiet")
RULES = {"full": "job = 'full' and years > 9"}


def people(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < 0.4, "female", "male")
    income = rng.normal(3, 1, n) + (sex == "male")
    return pd.DataFrame(
        {
            "sex": sex, "income": income, "savings": rng.normal(0, 1, n) + income, "years": rng.integers(0, 30, n),
            "job": rng.choice(["none", "part", "full"], n), "unused": "x",
        }
    )  # fmt: skip


def written(X: pd.DataFrame, folder: Path, *, size: int = 700) -> ee.scale.Parquet:
    folder.mkdir()
    for k, start in enumerate(range(0, len(X), 1500)):
        X.iloc[start : start + 1500].to_parquet(folder / f"people-{k}.parquet", row_group_size=size, index=False)
    return ee.Parquet(folder)


def arguments(X: pd.DataFrame, kind: str = "linear") -> dict:
    features = {
        "income": ee.Feature("actionable", max_increase=1.0),
        "savings": ee.Feature("actionable", max_increase=0.8),
        "years": ee.Feature("actionable", max_increase=3),
        "job": "immutable" if kind == "linear" else "actionable",
    }
    scm = ee.StructuralCausalModel([("sex", "income"), ("income", "savings")]).fit(X)
    schema = ee.Schema(sensitive="sex", protected="female", favourable=True, features=features)
    return {"schema": schema, "scm": scm, "subgroups": RULES}


def model(X: pd.DataFrame, kind: str = "linear"):
    if kind == "linear":
        return ee.LinearScore({"income": 1.0, "savings": 0.5, "years": 0.05}, threshold=6.5)
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoded = make_column_transformer((OneHotEncoder(sparse_output=False), ["job"]), remainder="passthrough")
    seen = X[["income", "savings", "years", "job"]]
    good = X["income"] + 0.5 * X["savings"] + 0.05 * X["years"] + (X["job"] == "full") > 6.5
    return make_pipeline(encoded, HistGradientBoostingClassifier(max_iter=8, max_depth=3)).fit(seen, good)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[ee.Audit, ee.Audit, Path]:
    """An audit in memory, and one of the same people in files of which a part is looked at."""
    X, folder = people(), tmp_path_factory.mktemp("streamed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source, asked = written(X, folder / "people"), arguments(X)
        streaming = ee.Streaming(folder / "parts", sample=1000)
        return ee.audit(model(X), X, **asked), ee.audit(model(X), source, streaming=streaming, **asked), folder


def equal(one: ee.Audit, other: ee.Audit) -> None:
    """Every number of the system and of subgroups, to the bit."""
    pd.testing.assert_frame_equal(one.by_group, other.by_group, check_exact=True)
    pd.testing.assert_frame_equal(one.measures, other.measures, check_exact=True)
    for name in ("status", "cost", "bound", "vanishing"):
        assert getattr(one.recourse, name).tobytes() == getattr(other.recourse, name).tobytes(), name
    assert one.budget == other.budget
    assert str(one.verdict) == str(other.verdict)


def test_system_and_subgroups_are_the_same_to_the_bit(both):
    equal(*both[:2])


def test_the_parts_hold_what_everybody_can_do(both):
    kept, _, folder = both
    parts = dataset.dataset(folder / "parts", format="parquet").to_table().to_pandas()
    frame = kept.recourse.frame()
    assert parts["row"].tolist() == list(range(len(frame)))
    assert len(list((folder / "parts").iterdir())) == 8
    for name in frame.columns.drop("reason"):
        one, other = parts[name].to_numpy(dtype=object), frame[name].to_numpy(dtype=object)
        assert ((one == other) | (pd.isna(one) & pd.isna(other))).all(), name


@pytest.mark.parametrize("rule", ["years < 5", "sex = 'male' and job = 'none'"])
def test_subgroups_are_read_from_the_columns_they_name(both, rule):
    kept, streamed, _ = both
    assert str(kept.subgroup(rule)) == str(streamed.subgroup(rule))


def test_a_person_is_explained_from_the_files(both):
    kept, streamed, _ = both
    for status in (ee.Status.OPTIMAL, ee.Status.INFEASIBLE, ee.Status.NOT_NEEDED):
        row = int(np.flatnonzero(kept.recourse.status == status)[-1])
        assert str(kept.explain(row)) == str(streamed.explain(row))


def test_individuals_and_the_curve_are_those_of_a_pass_over_everybody(both):
    kept, streamed, _ = both
    assert str(kept.individual(17, quantile=0.2)) == str(streamed.individual(17, quantile=0.2))
    near = ee.Nearest(0.1, ee.Euclidean())
    assert str(kept.individual(3, neighbourhood=near)) == str(streamed.individual(3, neighbourhood=near))
    for asked in ({"centres": ee.Centres(each=20), "bands": None}, {}):
        curves = [one.curve([0.1, 0.5], **asked) for one in (kept, streamed)]
        pd.testing.assert_frame_equal(*curves, check_exact=True)


@pytest.fixture
def narrow(both, monkeypatch) -> ee.Audit:
    """The streamed audit, where there is no room for columns of everybody."""
    streamed = both[1]
    table = replace(streamed.recourse, source=replace(streamed.recourse.source, room=0))
    return replace(streamed, recourse=table, _distances={})


def test_without_room_columns_are_read_once_a_block_of_centres(both, narrow, monkeypatch):
    read, column = [], ParquetTable.column
    monkeypatch.setattr(
        ParquetTable, "column", lambda self, name, size: (read.append(name), column(self, name, size))[1]
    )
    people = np.flatnonzero(both[0].recourse.is_unfavourable)[::7]
    for distance in (ee.Manhattan(), ee.Euclidean()):
        bound, inside = narrow.distance(distance), both[0].distance(distance)
        read.clear()
        found = bound.around(people)
        assert found.tobytes() == np.concatenate([inside.to_all(slice(k, k + 1)) for k in people]).tobytes()
        assert sorted(name.removeprefix("fact_") for name in read) == sorted(bound.names) == sorted(inside.names)
    # Of a curve: once for every block of so many centres as there is room for, here two for each of two groups.
    read.clear()
    bound = replace(narrow.distance(ee.Manhattan()), block_bytes=8 * 4000 * 30)
    narrow._distances[ee.Manhattan()] = bound
    centres = ee.Centres(each=45)
    curves = [one.curve([0.1, 0.5], centres=centres, bands=None) for one in (both[0], narrow)]
    pd.testing.assert_frame_equal(*curves, rtol=1e-9)
    assert len(read) == 4 * len(bound.names)


def test_without_room_a_curve_rests_on_a_few_centres_and_says_so(narrow, monkeypatch):
    monkeypatch.setattr("equieffort.effort.metrics.centres.MOST_PAIRS", 1000)
    with pytest.warns(EquieffortWarning, match="read around 50 people of each group, drawn at random") as kept:
        found = narrow.curve([0.1], bands=None)
    assert kept[0].message.code == "DATA_SAMPLED"
    assert set(found["n_centres"]) == {50}


def test_what_is_not_in_memory_is_refused_with_where_it_is(both, tmp_path):
    _, streamed, _ = both
    streamed.to_json(tmp_path / "small.json")
    assert (tmp_path / "small.json").stat().st_size < 60_000
    with pytest.raises(ParameterError, match="are not in memory"):
        streamed.to_frame("people")


def test_notions_of_the_table_are_read_and_those_that_ask_the_model_say_what_to_do(both):
    """Not that the audit came from a file, nor to do again what has just been done."""
    whole, streamed, _ = both
    read = streamed.notions(only=["facts", "counterfactual"])
    assert {row.notion for row in read.readings} == {row.notion for row in whole.notions(only=["facts"]).readings}
    assert {one.why for one in read.missing} == {
        "It asks the model and the equations, which an audit that was saved or streamed does not hold, and was not "
        "read before saving"
    }
    for call in (streamed.counterfactual_fairness, streamed.responsiveness, streamed.facts):
        with pytest.raises(ParameterError, match="or streamed") as caught:
            call()
        assert "people in memory (a sample of many)" in caught.value.fix


@pytest.mark.parametrize("how", ["threads", "processes"])
def test_workers_get_addresses_and_agree_to_the_bit(both, how, tmp_path):
    kept, _, folder = both
    X = people()
    with ThreadPoolExecutor(2) as threads:
        workers = {"executor": threads} if how == "threads" else {"n_jobs": 2}
        streaming = ee.Streaming(tmp_path / "parts", sample=1000, memory="4GiB")
        equal(kept, ee.audit(model(X), ee.Parquet(folder / "people"), streaming=streaming, **arguments(X), **workers))
    mine, theirs = (sorted(path.iterdir()) for path in (tmp_path / "parts", folder / "parts"))
    assert [path.read_bytes() for path in mine] == [path.read_bytes() for path in theirs]


class Here(Executor):
    """Workers of this process, of whom each dies of some of the people, or has too little memory for more than so many.

    Who was asked about is noted, as spans.
    """

    def __init__(self, deadly: frozenset[int] = frozenset(), most: int = 10**9) -> None:
        self.deadly, self.most, self._max_workers = deadly, most, 2
        self.asked: list[tuple[int, int]] = []

    def submit(self, fn, /, token, payload, task, threads):
        future: Future = Future()
        people = range(task.people.start, task.people.start + task.people.rows)
        self.asked.append((people.start, people.stop))
        if self.deadly.intersection(people):
            future.set_exception(type("KilledWorker", (Exception,), {})("killed"))
        elif len(people) > self.most:
            future.set_exception(MemoryError())
        else:
            future.set_result(fn(token, payload, task, threads))
        return future


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@dataclass(frozen=True)
class InOneRowGroup:
    """People as pandas writes them by default, and their audit by one process."""

    people: pd.DataFrame
    source: ee.scale.Parquet
    asked: dict
    whole: ee.Audit
    parts: dict[str, bytes]


PART_ROWS = "equieffort.results.streaming.PART_ROWS"


@pytest.fixture(scope="module")
def whole_group(tmp_path_factory) -> InOneRowGroup:
    X, folder = people(2000), tmp_path_factory.mktemp("group")
    X.to_parquet(folder / "people.parquet", index=False)
    source, asked = ee.Parquet(folder / "people.parquet"), arguments(X)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        patch.setattr(PART_ROWS, 700)
        whole = ee.audit(model(X), source, streaming=ee.Streaming(folder / "whole"), **asked)
    return InOneRowGroup(X, source, asked, whole, files_of(folder / "whole"))


@pytest.fixture
def group(whole_group, monkeypatch) -> InOneRowGroup:
    """Of whom parts have at most 700."""
    monkeypatch.setattr(PART_ROWS, 700)
    return whole_group


@pytest.mark.parametrize(("first", "most"), [(700, 700), (64, 300), (53, 53)])
def test_a_row_group_is_split_among_workers_and_parts_are_the_same_bytes(group, tmp_path, monkeypatch, first, most):
    monkeypatch.setattr(dealing, "FIRST", first)
    monkeypatch.setattr(dealing, "MOST", most)
    workers = Here()
    streaming = ee.Streaming(tmp_path / "split")
    split = ee.audit(model(group.people), group.source, streaming=streaming, executor=workers, **group.asked)
    equal(group.whole, split)
    assert len(workers.asked) >= 2000 / most
    assert max(stop - start for start, stop in workers.asked) <= most
    # Nobody is left out, nobody is asked about twice.
    assert [row for span in sorted(workers.asked) for row in range(*span)] == list(range(2000))
    assert files_of(tmp_path / "split") == group.parts
    assert list(group.parts) == [f"part-{k:06}.parquet" for k in range(3)]


def test_short_memory_means_smaller_pieces_of_parts(group, tmp_path):
    workers = Here(most=120)
    streaming = ee.Streaming(tmp_path / "split")
    split = ee.audit(model(group.people), group.source, streaming=streaming, executor=workers, **group.asked)
    assert max(stop - start for start, stop in workers.asked) > 120
    equal(group.whole, split)
    assert files_of(tmp_path / "split") == group.parts


def test_whom_no_worker_survives_is_one_person_and_all_others_are_kept(group, tmp_path):
    streaming = ee.Streaming(tmp_path / "parts")
    deadly = Here(frozenset({1234, 1901}))
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        with pytest.raises(RunError) as caught:
            ee.audit(model(group.people), group.source, streaming=streaming, executor=deadly, **group.asked)
    assert caught.value.code == "RUN_WORKERS"
    assert caught.value.what.startswith("2 people could not be solved")
    rows = ("row 1,234 (row group 0 of people.parquet)", "row 1,901 (row group 0 of people.parquet)")
    assert caught.value.what.endswith(f": {', '.join(rows)}.")
    (died,) = (str(one.message) for one in kept if getattr(one.message, "code", "") == "RUN_WORKER_DIED")
    counted = int(died.split("while ")[1].split(" ")[0])
    assert 1 < counted <= 700
    again = Here()
    resumed = ee.Streaming(tmp_path / "parts", resume=True)
    found = ee.audit(model(group.people), group.source, streaming=resumed, executor=again, **group.asked)
    equal(group.whole, found)
    assert sorted(again.asked) == [(1234, 1235), (1901, 1902)]
    assert files_of(tmp_path / "parts") == group.parts


@pytest.mark.parametrize("damage", ["rows", "facts", ""])
def test_pieces_of_a_part_are_gone_on_from(group, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(dealing, "FIRST", 100)
    monkeypatch.setattr(dealing, "MOST", 100)

    def meddle(stage, done, total, note=""):
        if stage == "solving" and done >= 1100:
            raise KeyboardInterrupt

    streaming = ee.Streaming(tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        ee.audit(model(group.people), group.source, streaming=streaming, progress=meddle, **group.asked)
    # The first part is whole, of the second one there are pieces.
    names = set(files_of(tmp_path / "parts"))
    assert {"part-000000.parquet", "_rows-000000000700-000000000800.arrow"} <= names
    assert "part-000001.parquet" not in names
    if damage:
        path = tmp_path / "parts" / f"_rows-000000000800-000000000900.{'arrow' if damage == 'rows' else 'json'}"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    again = Here()
    resumed = ee.Streaming(tmp_path / "parts", resume=True)
    found = ee.audit(model(group.people), group.source, streaming=resumed, executor=again, **group.asked)
    equal(group.whole, found)
    assert (800 in {start for start, _ in again.asked}) is bool(damage)
    assert min(start for start, _ in again.asked) >= 800
    assert files_of(tmp_path / "parts") == group.parts


@pytest.mark.parametrize("most", [65_536, 16])
def test_trees_and_categories_agree_to_the_bit(tmp_path, monkeypatch, most):
    """Also where pieces are so small that nobody in some of them is set to a category, or everybody."""
    monkeypatch.setattr(dealing, "FIRST", most)
    monkeypatch.setattr(dealing, "MOST", most)
    X = people(720, seed=3)
    source, fitted, asked = written(X, tmp_path / "people"), model(X, "boosted"), arguments(X, "boosted")
    asked["solver"] = ee.Auto(time_limit=None)
    streamed = ee.audit(fitted, source, streaming=ee.Streaming(tmp_path / "parts", sample=1000), **asked)
    kept = ee.audit(fitted, X, **asked)
    equal(kept, streamed)
    changed = np.flatnonzero((kept.recourse.level >= 0).any(axis=1))
    assert str(kept.explain(int(changed[0]))) == str(streamed.explain(int(changed[0])))


def one_hot_people() -> pd.DataFrame:
    X = people(3000)
    spread = pd.get_dummies(X["job"], prefix="job", dtype=np.int8)
    X = X.drop(columns=["job", "unused"]).join(spread)
    # A level that the sample of evenly spaced people does not meet.
    rare = ["job_full", "job_none", "job_part"]
    X["job_rare"] = np.int8(0)
    X.loc[2501, [*rare, "job_rare"]] = np.array([0, 0, 0, 1], dtype=np.int8)
    return X


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_one_hot_columns_are_joined_row_group_by_row_group(tmp_path, kind):
    X = one_hot_people()
    columns = ["income", "savings", "job_full", "job_none", "job_part", "job_rare"]
    decided = X["income"] + 0.5 * X["savings"] + 2.0 * X["job_full"] > 6.5
    clf = LogisticRegression(max_iter=1000) if kind == "linear" else DecisionTreeClassifier(max_depth=4, random_state=0)
    clf = clf.fit(X[columns], decided)
    features = {"income": ee.Feature("actionable", max_increase=1.0), "savings": "mutable", "job": "actionable"}
    scm = ee.StructuralCausalModel([("sex", "income"), ("income", "savings")]).fit(X)
    schema = ee.Schema(
        sensitive="sex", protected="female", favourable=True, features=features,
        one_hot={"job": {"full": "job_full", "none": "job_none", "part": "job_part", "rare": "job_rare"}},
    )  # fmt: skip
    asked = {"schema": schema, "scm": scm, "subgroups": {"full": "job = 'full'"}}
    kept = ee.audit(clf, X, **asked)
    streaming = ee.Streaming(tmp_path / "parts", sample=1000)
    streamed = ee.audit(clf, written(X, tmp_path / "people"), streaming=streaming, **asked)
    equal(kept, streamed)
    assert str(kept.subgroup("job = 'rare'")) == str(streamed.subgroup("job = 'rare'"))
    row = int(np.flatnonzero(kept.recourse.status == ee.Status.OPTIMAL)[-1])
    assert str(kept.explain(row)) == str(streamed.explain(row))
    parts = dataset.dataset(tmp_path / "parts", format="parquet").to_table().to_pandas()
    assert (parts["do_job"].fillna("") == kept.recourse.frame()["do_job"].fillna("").to_numpy()).all()
    assert (parts["do_job"].notna()).any()


def test_rows_and_columns_that_are_not_one_hot_are_told(tmp_path):
    X = one_hot_people()
    schema = ee.Schema(
        sensitive="sex", protected="female", favourable=True, features={"job": "actionable"},
        one_hot={"job": ["job_full", "job_none", "job_part", "job_rare"]},
    )  # fmt: skip
    clf = LogisticRegression().fit(X[["job_full", "job_none"]], X["income"] > 3)
    wrong = X.copy()
    wrong.loc[2222, ["job_full", "job_none"]] = 1
    for table, folder, says in ((wrong, "wrong", "row 2222"), (X.drop(columns="job_part"), "gone", "'job_part'")):
        with pytest.raises(DataError, match=says):
            ee.audit(
                clf, written(table, tmp_path / folder), schema=schema, scm=[],
                streaming=ee.Streaming(tmp_path / "parts"),
            )  # fmt: skip


def test_a_rare_value_is_known_although_nobody_of_the_sample_has_it(tmp_path):
    X = people(5000)
    X.loc[4321, ["job", "years", "savings"]] = ["rare", 77, 40.25]
    source, asked = written(X, tmp_path / "people"), arguments(X)
    streamed = ee.audit(model(X), source, streaming=ee.Streaming(tmp_path / "parts", sample=1000), **asked)
    equal(ee.audit(model(X), X, **asked), streamed)
    assert "rare" in streamed.recourse.source.encoding["job"].levels


def test_equations_learned_from_a_sample_say_so(tmp_path):
    X = people()
    source, asked = written(X, tmp_path / "people"), arguments(X) | {"scm": [("sex", "income")]}
    sampled = ee.audit(model(X), source, streaming=ee.Streaming(tmp_path / "a", sample=1000), **asked)
    (said,) = (one.what for one in sampled.warnings if one.code == "DATA_SAMPLED")
    assert said.startswith("Learned from 1,0")
    assert said.endswith("of 4,000 people, evenly spaced: equations.")
    whole = ee.audit(model(X), source, streaming=ee.Streaming(tmp_path / "b"), **asked)
    assert not any(one.code == "DATA_SAMPLED" for one in whole.warnings)
    equal(ee.audit(model(X), X, **asked), whole)


def test_one_file_and_a_pattern_are_read_as_a_folder_is(both, tmp_path):
    X, folder = people(), both[2]
    shutil.copytree(folder / "people", tmp_path / "people")
    (tmp_path / "people" / "notes.txt").write_text("no table", encoding="utf-8")
    found = ee.Parquet(tmp_path / "people" / "people-*.parquet").open()
    assert len(found) == len(X)
    assert len(ee.Parquet(tmp_path / "people" / "people-0.parquet").open()) == 1500
    assert found.column("years").tolist() == X["years"].tolist()


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_faults_of_the_files_are_told_where_they_are(tmp_path):
    X = people(3000)
    asked, streaming = arguments(X), ee.Streaming(tmp_path / "parts", sample=1000)

    def refusal(table: pd.DataFrame, name: str) -> str:
        with pytest.raises(DataError) as caught:
            ee.audit(model(X), written(table, tmp_path / name), streaming=streaming, **asked)
        return caught.value.what

    gone = X.copy()
    gone.loc[2222, "savings"] = np.nan
    assert "'savings' has 1 missing value, the first in row 2222" in refusal(gone, "gone")
    wild = X.copy()
    wild.loc[1801, "income"] = np.inf
    assert "row 1801" in refusal(wild, "wild")
    assert "no column 'years'" in refusal(X.drop(columns="years"), "short")
    source = written(X, tmp_path / "cut")
    path = tmp_path / "cut" / "people-1.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"'people-1.parquet' is not a complete Parquet file"):
        ee.audit(model(X), source, streaming=streaming, **asked)
    with pytest.raises(DataError, match="no Parquet file"):
        ee.Parquet(tmp_path / "nowhere").open()


def test_files_that_change_meanwhile_are_refused(tmp_path):
    X = people(3000)
    source, asked = written(X, tmp_path / "people"), arguments(X)
    path = tmp_path / "people" / "people-0.parquet"

    def meddle(stage, done, total, note=""):
        if stage == "solving":
            X.iloc[:1500].assign(years=1).to_parquet(path, row_group_size=700, index=False)

    streaming = ee.Streaming(tmp_path / "parts", sample=1000)
    with pytest.raises(RunError, match="changed while they were audited"):
        ee.audit(model(X), source, streaming=streaming, progress=meddle, **asked)


def test_files_that_are_touched_or_empty_are_the_same_people(tmp_path):
    X = people(3000)
    source, asked = written(X, tmp_path / "people"), arguments(X)
    X.iloc[:0].to_parquet(tmp_path / "people" / "people-9.parquet", index=False)

    def touch(stage, done, total, note=""):
        os.utime(tmp_path / "people" / "people-0.parquet")

    streamed = ee.audit(
        model(X), source, streaming=ee.Streaming(tmp_path / "parts", sample=1000), progress=touch, **asked
    )
    equal(ee.audit(model(X), X, **asked), streamed)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"missing": "drop"}, "take no missing"),
        ({"checkpoint": ee.Checkpoint("x")}, "checkpoint is"),
        ({"streaming": None}, "streaming is None"),
        ({"streaming": "2GiB"}, "streaming is the text '2GiB'"),
    ],
)
def test_what_does_not_go_with_streaming_is_refused(both, tmp_path, more, said):
    X, folder = people(), both[2]
    asked = arguments(X) | {"streaming": ee.Streaming(tmp_path / "parts")} | more
    with pytest.raises(ParameterError, match=said):
        ee.audit(model(X), ee.Parquet(folder / "people"), **asked)


def test_memory_that_cannot_do_is_refused_before_anybody_is_solved(both, tmp_path):
    X, folder = people(), both[2]
    with pytest.raises(ParameterError, match="100 MiB are too little") as caught:
        ee.audit(
            model(X), ee.Parquet(folder / "people"), streaming=ee.Streaming(tmp_path / "parts", memory="100 MiB"),
            **arguments(X),
        )  # fmt: skip
    assert caught.value.code == "PARAMETER"
    assert "Give at least 0." in caught.value.fix


@pytest.mark.parametrize("size", ["2 apples", "-1GiB", 0, True, "GiB"])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(ParameterError, match="memory is"):
        ee.Streaming("parts", memory=size)
    assert bytes_in("1.5 KiB") == 1536
