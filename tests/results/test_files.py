"""Saved audits: they come back whole, are the same bytes each time, and broken files are refused, never run."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.effort.neighbours import Neighbourhood
from equieffort.errors import AuditFileError, EquieffortWarning
from equieffort.recourse import saved_table

N = 60
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" 'name' `too`",
    "🦊 emoji",
    "שלום עולם",
    "a\\b/c\nd",
    "=1+1",
    "%s {0}",
]


def world(
    *,
    names=("income", "savings", "job"),
    labels=("ash", "birch"),
    index=None,
    extra=None,
    types=None,
    reverse=False,
    **more,
) -> ee.Audit:
    """A small audit with a category, a follower, infeasible people and a column that nothing uses."""
    rng = np.random.default_rng(4)
    income, savings, job = names
    X = pd.DataFrame(
        {
            "group": rng.choice(labels, N),
            income: rng.integers(0, 10, N),
            savings: rng.normal(size=N).round(2),
            job: rng.choice(["cook", "smith"], N),
            "city": rng.choice(["Rom", "Köln"], N),
        }
    )
    X = X.assign(**extra(N)) if extra else X
    X = X.astype(types or {})
    X = X[X.columns[::-1]] if reverse else X
    X.index = pd.RangeIndex(N) if index is None else index
    schema = ee.Schema(
        sensitive="group",
        protected=labels[0],
        favourable=True,
        features=unlimited(
            {
                income: ee.Feature("actionable", max_increase=6, weight=(1.0, 2.0)),
                savings: ee.Feature("mutable", plausible=(-20.0, None)),
                job: "actionable",
            }
        ),
    )
    nodes = ["group", job]
    scm = ee.StructuralCausalModel(
        [(income, savings)], nodes=nodes, mechanisms={savings: ee.Linear({income: 0.5})}
    ).fit(X)
    model = ee.LinearScore({income: 1.0, savings: 2.0}, threshold=11.0)
    more.setdefault("neighbourhood", ee.Nearest(0.4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(model, X, schema=schema, scm=scm, **more)


def again(audit: ee.Audit, tmp_path) -> ee.Audit:
    audit.save(tmp_path / "again.audit")
    return ee.load(tmp_path / "again.audit")


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return world()


@pytest.fixture(scope="module")
def saved(audit, tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "x.audit"
    audit.save(path)
    return path.read_bytes()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def changed(content: bytes, **fields) -> bytes:
    parts = members(content)
    parts["audit.json"] = json.dumps(json.loads(parts["audit.json"]) | fields).encode()
    return zipped(parts)


def refused(content: bytes, tmp_path) -> AuditFileError:
    path = tmp_path / "broken.audit"
    path.write_bytes(content)
    with pytest.raises(AuditFileError) as caught:
        ee.load(path)
    assert caught.value.code == "AUDIT_FILE"
    assert "broken.audit" in str(caught.value)
    assert caught.value.fix
    return caught.value


# -- round trip --------------------------------------------------------------------------------------------------------


def assert_same(a: ee.Audit, b: ee.Audit) -> None:
    """Every reading of the audit is the same."""
    pd.testing.assert_frame_equal(b.recourse.frame(), a.recourse.frame())
    pd.testing.assert_frame_equal(b.by_group, a.by_group)
    pd.testing.assert_frame_equal(b.curve([0.2, 0.7, 1.0]), a.curve([0.2, 0.7, 1.0]))
    pd.testing.assert_frame_equal(
        b.recourse.counterfactuals()[a.recourse.data.columns], a.recourse.counterfactuals(), check_dtype=False
    )
    assert str(b) == str(a)
    assert str(b.verdict) == str(a.verdict)
    assert b._repr_html_() == a._repr_html_()
    assert (b.criteria, b.neighbourhood) == (a.criteria, a.neighbourhood)
    assert [w.args for w in b.warnings] == [w.args for w in a.warnings]
    assert b.provenance == a.provenance
    for position in range(0, N, 9):
        one, other = (x.explain(position=position) for x in (a, b))
        assert repr(other.steps) == repr(one.steps)
        assert str(other) == str(one)
    for position in (0, 7, N - 1):
        mine, theirs = (x.individual(position=position) for x in (a, b))
        pd.testing.assert_frame_equal(theirs.by_group, mine.by_group)
        assert str(theirs.verdict) == str(mine.verdict)
    pd.testing.assert_frame_equal(b.subgroup("city = 'Rom'").by_group, a.subgroup("city = 'Rom'").by_group)


def test_an_audit_comes_back_whole(audit, tmp_path):
    assert {"not_needed", "optimal", "infeasible"} <= set(audit.recourse.frame()["status"])
    assert "city" not in audit.recourse.source.encoding.names
    assert_same(audit, again(audit, tmp_path))
    assert ee.Audit.load(tmp_path / "again.audit").by_group.equals(audit.by_group)


@pytest.mark.parametrize(
    "more",
    [
        {"neighbourhood": ee.Everyone()},
        {"neighbourhood": ee.NearestK(9, ee.Euclidean(features=("income", "job"), scale=ee.Std()))},
        {"neighbourhood": ee.Nearest(0.3, ee.Manhattan(scale=ee.Range((0.1, 0.9)), include_protected=True))},
        {"neighbourhood": ee.Nearest(0.3, ee.Manhattan(features=["income"], scale=ee.MAD()))},
        {"criteria": ee.Criteria(2.0, 0.2, ee.OneSided(), 3, False)},
        {"cost": ee.WeightedL1(ee.Std())},
        {"cost": ee.Percentile()},
        {"margin": 0.5},
    ],
    ids=str,
)
def test_every_choice_comes_back(tmp_path, more):
    found = world(**more)
    assert_same(found, again(found, tmp_path))


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(5, 5 + 2 * N, 2),
        pd.Index(np.random.default_rng(0).permutation(N), name="person"),
        pd.Index([f"p{k}" for k in range(N)], name="who"),
        pd.Index(HOSTILE + [f"p{k}" for k in range(N - len(HOSTILE))]),
        pd.Index(np.arange(N, dtype=np.uint8)),
        pd.Index([-(2**62) - k for k in range(N)]),
    ],
    ids=["range", "int", "text", "hostile", "uint8", "large"],
)
def test_labels_come_back(tmp_path, index):
    found = world(index=index)
    loaded = again(found, tmp_path)
    pd.testing.assert_index_equal(loaded.recourse.index, found.recourse.index, exact="equiv")
    for label in (index[0], index[N - 1]):
        assert str(loaded.explain(label)) == str(found.explain(label))
        pd.testing.assert_frame_equal(loaded.individual(label).by_group, found.individual(label).by_group)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(np.arange(N) / 2),
        pd.date_range("2020-01-01", periods=N),
        pd.date_range("2020-01-01", periods=N).as_unit("s"),
        pd.timedelta_range("1h", periods=N),
        pd.CategoricalIndex([f"p{k}" for k in range(N)]),
        pd.Index(range(N), dtype="Int64"),
        pd.Index(range(N), dtype=object),
    ],
    ids=["float", "dates", "seconds", "durations", "categories", "nullable", "objects"],
)
def test_other_labels_come_back(tmp_path, index):
    found = world(index=index)
    loaded = again(found, tmp_path)
    assert loaded.recourse.index.tolist() == index.tolist()
    for k in (0, 1):
        assert str(loaded.explain(index[k])) == str(found.explain(index[k]))
    loaded.save(tmp_path / "thrice.audit")
    assert (tmp_path / "thrice.audit").read_bytes() == (tmp_path / "again.audit").read_bytes()


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex.from_product([range(6), list("abcdefghij")]),
        pd.Index([1, "1", *range(100, 98 + N)], dtype=object),
        pd.Index([None, *(f"p{k}" for k in range(1, N))], dtype=object),
        pd.date_range("2020-01-01", periods=N, tz="Europe/Rome"),
        pd.period_range("2020-01", periods=N, freq="M"),
    ],
    ids=["pairs", "mixed", "missing", "time zone", "months"],
)
def test_labels_that_would_come_back_as_others_are_refused(tmp_path, index):
    with pytest.raises(AuditFileError, match=r"X\.reset_index\(\)") as caught:
        world(index=index).save(tmp_path / "x.audit")
    assert caught.value.code == "AUDIT_FILE"
    assert os.listdir(tmp_path) == []


def test_a_duplicate_index_becomes_positions(tmp_path):
    found = world(index=pd.Index(["twice"] * N, name="who"))
    loaded = again(found, tmp_path)
    pd.testing.assert_index_equal(loaded.recourse.counterfactuals().index, found.recourse.counterfactuals().index)
    pd.testing.assert_frame_equal(loaded.recourse.frame(), found.recourse.frame())
    assert loaded.recourse.index.tolist() == list(range(N))
    assert str(loaded.explain(3)) == str(found.explain(3))


def test_labels_that_are_not_used_need_not_be_kept(tmp_path):
    found = world(index=pd.MultiIndex.from_product([[0], ["twice"] * N]))
    pd.testing.assert_frame_equal(again(found, tmp_path).recourse.frame(), found.recourse.frame())


def test_counterfactuals_keep_the_order_of_columns(tmp_path):
    found = world(reverse=True)
    loaded = again(found, tmp_path)
    assert loaded.recourse.counterfactuals().columns.tolist() == found.recourse.counterfactuals().columns.tolist()


@pytest.mark.parametrize(("income", "savings"), [("int8", "float32"), ("uint16", "float64"), ("float64", "float64")])
def test_columns_keep_their_types(tmp_path, income, savings):
    types = {"income": income, "savings": savings}
    found = world(types=types)
    assert {name: str(found.recourse.data[name].dtype) for name in types} == types
    pd.testing.assert_series_equal(again(found, tmp_path).recourse.data.dtypes, found.recourse.data.dtypes)


def test_columns_that_nothing_uses_come_back(tmp_path):
    extra = {
        "flag": np.arange(N) % 3 == 0,
        "count": np.arange(N),
        "share": np.linspace(0, 1, N),
        "gap": np.where(np.arange(N) % 2, np.nan, 1.5),
        "note": [None if k % 4 else f"n{k % 5}" for k in range(N)],
    }
    found = world(extra=lambda n: extra)
    loaded = again(found, tmp_path)
    for name in extra:
        before, after = found.recourse.data[name], loaded.recourse.data[name]
        assert before.isna().tolist() == after.isna().tolist()
        assert before.dropna().tolist() == after.dropna().tolist()
    for rule in ("flag = true", "count between 5 and 30", "share < 0.3", "gap = 1.5", "note in ('n0', 'n4')"):
        assert found.subgroup(rule).by_group["n"].sum() > 0
        pd.testing.assert_frame_equal(loaded.subgroup(rule).by_group, found.subgroup(rule).by_group)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2020-01-01", periods=N),
        [2**53 + k for k in range(N)],
        [2**70 + k for k in range(N)],
        np.arange(N, dtype=np.int8),
        pd.array([k % 7 for k in range(N)], dtype="Int64"),
        pd.Categorical([k % 3 for k in range(N)]),
        pd.Categorical(["a", "b"] * (N // 2), categories=["c", "b", "a"]),
    ],
    ids=["dates", "large ids", "huge ids", "int8", "nullable", "numbers as categories", "categories"],
)
def test_any_column_that_nothing_uses_can_be_saved(tmp_path, column):
    found = world(extra=lambda n: {"spare": column})
    assert again(found, tmp_path).recourse.data["spare"].tolist() == found.recourse.data["spare"].tolist()


@pytest.mark.parametrize(
    "column",
    [
        [[k] for k in range(N)],
        [{"a": k} for k in range(N)],
        pd.date_range("2020-01-01", periods=N, tz="Europe/Rome"),
        pd.interval_range(0, N),
        [1, "1"] * (N // 2),
        [True, 1] * (N // 2),
    ],
    ids=["lists", "dicts", "time zone", "intervals", "mixed", "flags and numbers"],
)
def test_what_json_cannot_hold_comes_back_as_text(tmp_path, column):
    found = world(extra=lambda n: {"spare": pd.Series(column, dtype=None if hasattr(column, "dtype") else object)})
    assert again(found, tmp_path).recourse.data["spare"].tolist() == [str(v) for v in found.recourse.data["spare"]]


@pytest.mark.parametrize("name", [*HOSTILE, "self"])
def test_hostile_names_of_features_and_groups_are_escaped_and_survive(tmp_path, name):
    found = world(names=(name, f"{name} 2", "job"), labels=(name, "birch"), extra=lambda n: {f"{name} 3": np.arange(n)})
    loaded = again(found, tmp_path)
    assert_same(found, loaded)
    assert f"do_{name}" in loaded.recourse.frame().columns
    assert f"{name} 3" in loaded.recourse.data.columns
    assert loaded.by_group.index.tolist() == found.by_group.index.tolist()
    assert name in found.by_group.index
    for html in (loaded._repr_html_(), loaded.explain(position=0)._repr_html_()):
        assert "<script" not in html


def test_warnings_are_escaped(tmp_path):
    name = "<script>alert(1)</script>"
    found = world(extra=lambda n: {name: 1.0})
    note = EquieffortWarning("DATA_EXTRA_COLUMNS", f"The column {name!r} is not used.")
    noted = ee.Audit(found.recourse, found.criteria, found.neighbourhood, (note,), found.provenance)
    html = again(noted, tmp_path)._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script" not in html


def test_half_a_character_survives(audit, tmp_path):
    noted = audit.with_provenance(notes={"note": "half a fox \ud83e"})
    assert again(noted, tmp_path).provenance.notes == {"note": "half a fox \ud83e"}


def apart(centres, everybody):
    return np.abs(centres["income"].to_numpy()[:, None] - everybody["income"].to_numpy())


@dataclasses.dataclass(frozen=True)
class Alone(Neighbourhood):
    def members(self, distances):
        return distances == 0


class Wider(ee.Nearest):
    def members(self, distances):
        return distances <= 2 * np.quantile(distances, self.quantile)


@pytest.mark.parametrize(
    "own",
    [ee.Nearest(0.2, ee.OwnDistance(apart)), ee.NearestK(9, ee.OwnDistance(apart)), Alone(), Wider(0.2)],
    ids=["quantile", "k", "own class", "extended class"],
)
def test_a_neighbourhood_that_cannot_be_saved_is_not_replaced_silently(tmp_path, own):
    found = world(neighbourhood=own)
    loaded = again(found, tmp_path)
    distance = getattr(own, "distance", ee.Manhattan())
    asked = [
        lambda: loaded.individual(0),
        lambda: loaded.individual(0, quantile=0.2),
        lambda: loaded.curve([0.2]),
        lambda: loaded.neighbourhood.members(np.zeros(N)),
    ]
    for ask in asked:
        with pytest.raises(ee.errors.ParameterError, match="not part of a saved file") as caught:
            ask()
        assert caught.value.code == "PARAMETER"
        assert type(own).__name__ in caught.value.what
    pd.testing.assert_frame_equal(loaded.by_group, found.by_group)
    pd.testing.assert_frame_equal(loaded.curve([0.2], distance=distance), found.curve([0.2]))
    restored = dataclasses.replace(loaded, neighbourhood=own)
    for assessment in (loaded.individual(0, neighbourhood=own), restored.individual(0)):
        pd.testing.assert_frame_equal(assessment.by_group, found.individual(0).by_group)
    loaded.save(tmp_path / "thrice.audit")
    assert (tmp_path / "thrice.audit").read_bytes() == (tmp_path / "again.audit").read_bytes()


class Halves(ee.Range):
    def of(self, name, values):
        return 0.5


class Strict(ee.TwoSided):
    def ends(self, tau):
        return 1.0, 1.0


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"neighbourhood": ee.Nearest(0.2, ee.Manhattan(scale=Halves()))}, "Halves"),
        ({"criteria": ee.Criteria(rule=Strict())}, "Strict"),
    ],
)
def test_a_scale_or_rule_of_ones_own_is_refused(tmp_path, more, name):
    found = world(**more)
    with pytest.raises(AuditFileError, match=name) as caught:
        found.save(tmp_path / "x.audit")
    assert caught.value.code == "AUDIT_FILE"
    assert os.listdir(tmp_path) == []
    # What the message advises.
    mended = dataclasses.replace(found, neighbourhood=ee.Everyone(), criteria=ee.Criteria())
    assert_same(mended, again(mended, tmp_path))


# -- bytes -------------------------------------------------------------------------------------------------------------


def test_the_same_audit_is_the_same_bytes(audit, saved, tmp_path):
    for name in ("one.audit", "two.audit"):
        audit.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == saved
    ee.load(tmp_path / "one.audit").save(tmp_path / "three.audit")
    assert (tmp_path / "three.audit").read_bytes() == saved
    world().save(tmp_path / "four.audit")
    assert (tmp_path / "four.audit").read_bytes() == saved


def test_people_a_few_at_a_time_are_the_same_bytes(audit, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_table, "CHUNK", 7)
    audit.save(tmp_path / "few.audit")
    assert (tmp_path / "few.audit").read_bytes() == saved
    assert_same(ee.load(tmp_path / "few.audit"), audit)


def test_a_file_does_not_tell_when_it_was_saved(saved):
    # Two saves in one test share their second, so equal bytes alone would not show this.
    with zipfile.ZipFile(io.BytesIO(saved)) as file:
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_file_holds_plain_data_only(saved):
    for name, content in members(saved).items():
        if name.endswith(".npy"):
            np.load(io.BytesIO(content), allow_pickle=False)
        else:
            assert name == "audit.json"
            assert json.loads(content)["format"] == "equieffort-audit"


@pytest.mark.parametrize("where", ["plain", "overwritten", "text path"])
def test_saving_leaves_one_file(audit, saved, tmp_path, where):
    target = tmp_path / "x.audit"
    if where == "overwritten":
        target.write_bytes(b"old")
    audit.save(str(target) if where == "text path" else target)
    assert target.read_bytes() == saved
    assert os.listdir(tmp_path) == ["x.audit"]


# -- broken files ------------------------------------------------------------------------------------------------------


def test_no_file(tmp_path):
    for path in (tmp_path / "absent.audit", tmp_path):
        with pytest.raises(AuditFileError, match="no audit file"):
            ee.load(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all", b"\0" * 4096, pickle.dumps({"a": 1})])
def test_not_a_zip(content, tmp_path):
    refused(content, tmp_path)


def test_a_zip_of_something_else(tmp_path):
    refused(zipped({"readme.txt": b"hello"}), tmp_path)
    refused(zipped({"audit.json": b"[]"}), tmp_path)
    refused(zipped({"audit.json": b"{}"}), tmp_path)
    refused(zipped({"audit.json": b"\xff\xfe{"}), tmp_path)


def test_truncated_anywhere(saved, tmp_path):
    for cut in sorted({*range(0, len(saved), 97), len(saved) - 1, len(saved) - 22}):
        refused(saved[:cut], tmp_path)


def damage(saved: bytes, tmp_path, positions) -> dict[str, int]:
    """Flip a bit at each position: how many are refused, harmless, changed, or fail otherwise."""
    path = tmp_path / "flipped.audit"
    counts: dict[str, int] = {}
    for position in positions:
        flipped = bytearray(saved)
        flipped[position] ^= 1 << (position % 8)
        path.write_bytes(flipped)
        try:
            ee.load(path).save(tmp_path / "rewritten.audit")
            kind = "harmless" if (tmp_path / "rewritten.audit").read_bytes() == saved else "changed"
        except AuditFileError:
            kind = "refused"
        except Exception as error:
            kind = type(error).__name__
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def test_flipped_bits_are_refused_or_harmless(saved, tmp_path):
    # Densely over the directory at the end, thinly before it.
    start = saved.index(b"PK\x01\x02")
    found = damage(saved, tmp_path, [*range(0, start, 17), *range(start, len(saved), 3)])
    assert found["refused"] > 100
    assert set(found) <= {"refused", "harmless"}


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 99, "6", None, [6]])
def test_another_version(saved, tmp_path, version):
    error = refused(changed(saved, version=version), tmp_path)
    assert f"version {version}" in str(error)


def test_another_format(saved, tmp_path):
    refused(changed(saved, format="other"), tmp_path)


EAGER = [
    "audit.json", "status.npy", "cost.npy", "bound.npy", "intervention_mask.npy", "delta.npy", "level.npy", "codes.npy",
    "vanishing.npy", "facts.npy", "rest0.npy", "index.npy",
]  # fmt: skip
LAZY = ["moved.npy", "outside.npy", "values.npy", "costs.npy"]


@pytest.mark.parametrize("name", [*EAGER, *LAZY])
def test_a_missing_member(saved, tmp_path, name):
    parts = members(saved)
    del parts[name]
    refused(zipped(parts), tmp_path)


def test_the_members_tested_above_are_all_there_are(saved):
    assert set(members(saved)) == {*EAGER, *LAZY}


@pytest.mark.parametrize("name", ["status.npy", "moved.npy", "index.npy"])
def test_a_member_of_another_length(saved, tmp_path, name):
    parts = members(saved)
    buffer = io.BytesIO()
    np.save(buffer, np.load(io.BytesIO(parts[name]))[:-1])
    refused(zipped(parts | {name: buffer.getvalue()}), tmp_path)


@pytest.mark.parametrize("name", sorted({*EAGER, *LAZY} - {"audit.json", "rest0.npy", "index.npy"}))
@pytest.mark.parametrize("change", ["kind", "shape"])
def test_a_member_of_another_kind_or_shape(saved, tmp_path, name, change):
    parts = members(saved)
    array = np.load(io.BytesIO(parts[name]))
    buffer = io.BytesIO()
    np.save(buffer, array.astype("U3") if change == "kind" else array[:, None])
    assert name[:-4] in str(refused(zipped(parts | {name: buffer.getvalue()}), tmp_path))


FIELDS = [
    "schema", "columns", "dtypes", "rest", "order", "groups", "index", "index_name", "reasons", "audience", "ceilings",
    "criteria", "own_measures", "neighbourhood", "warnings", "provenance", "data_sha256",
    "further_ways", "curve",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field(saved, tmp_path, field):
    parts = members(saved)
    manifest = json.loads(parts["audit.json"])
    assert set(manifest) == {"format", "version", *FIELDS}
    del manifest[field]
    refused(zipped(parts | {"audit.json": json.dumps(manifest).encode()}), tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": [{"name": "income"}]},
        {"criteria": ee.Criteria().to_dict() | {"tau": 0.5}},
        {"criteria": ee.Criteria().to_dict() | {"level": 95}},
        {"criteria": ee.Criteria().to_dict() | {"judged": ["needs_more"]}},
        {"criteria": ee.Criteria().to_dict() | {"adjust": "other"}},
        {"own_measures": [{"measure": "mine", "estimate": 1.0}]},
        {"neighbourhood": {"kind": "nearest", "quantile": 7, "distance": None}},
        {"warnings": [["NO_SUCH_CODE", "what", "fix"]]},
        {"groups": {"labels": ["ash", "birch"], "protected": [0]}},
        {"index": ["too", "short"]},
        {"order": ["income", "absent"]},
        {"reasons": []},
        {"reasons": {"first": "none"}},
        {"audience": "jury"},
        {"ceilings": {"0": "high"}},
        {"rest": [{"name": "city", "levels": []}]},
        {"neighbourhood": {"kind": "other"}},
    ],
)
def test_fields_that_make_no_sense(saved, tmp_path, fields):
    if fields.get("neighbourhood", {}).get("kind") == "nearest":
        fields["neighbourhood"]["distance"] = json.loads(members(saved)["audit.json"])["neighbourhood"]["distance"]
    refused(changed(saved, **fields), tmp_path)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("name", ["status.npy", "facts.npy", "further.npy"])
@pytest.mark.parametrize("wrapped", [True, False], ids=["array of objects", "bare pickle"])
def test_a_pickle_inside_is_refused_and_never_run(saved, tmp_path, name, wrapped):
    mark = tmp_path / "mark"
    buffer = io.BytesIO()
    if wrapped:
        np.save(buffer, np.array([Trap(mark)] * N, dtype=object), allow_pickle=True)
    else:
        pickle.dump(Trap(mark), buffer)
    refused(zipped(members(saved) | {name: buffer.getvalue()}), tmp_path)
    assert not mark.exists()
    # The trap itself works.
    pickle.loads(pickle.dumps(Trap(mark))).close()
    assert mark.exists()


# -- targets that cannot be written ------------------------------------------------------------------------------------


def test_no_folder(audit, tmp_path):
    with pytest.raises(AuditFileError, match="does not exist"):
        audit.save(tmp_path / "absent" / "x.audit")
    assert os.listdir(tmp_path) == []


def test_a_folder_in_the_way_leaves_nothing_behind(audit, tmp_path):
    (tmp_path / "x.audit").mkdir()
    with pytest.raises(AuditFileError, match="is a folder"):
        audit.save(tmp_path / "x.audit")
    assert os.listdir(tmp_path) == ["x.audit"]
    assert os.listdir(tmp_path / "x.audit") == []


@pytest.mark.parametrize("moment", ["writing", "renaming"])
def test_a_full_disk_keeps_the_old_file(audit, tmp_path, monkeypatch, moment):
    target = tmp_path / "x.audit"
    target.write_bytes(b"the last good one")
    calls = []

    def full(write, *args):
        calls.append(args)
        if moment == "renaming" or len(calls) == 3:
            raise OSError(28, "No space left on device")
        return write(*args)

    def opened(*args, **kwargs):
        member = open_member(*args, **kwargs)
        write, member.write = member.write, lambda *given: full(write, *given)
        return member

    open_member = zipfile.ZipFile.open
    if moment == "writing":
        monkeypatch.setattr(zipfile.ZipFile, "open", opened)
    else:
        monkeypatch.setattr(os, "replace", full)
    with pytest.raises((AuditFileError, OSError)):
        audit.save(target)
    assert calls
    assert target.read_bytes() == b"the last good one"
    assert os.listdir(tmp_path) == ["x.audit"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_read_only_folder(audit, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "x.audit").write_bytes(b"old")
    folder.chmod(0o500)
    try:
        with pytest.raises((AuditFileError, OSError)):
            audit.save(folder / "x.audit")
        assert (folder / "x.audit").read_bytes() == b"old"
        assert os.listdir(folder) == ["x.audit"]
    finally:
        folder.chmod(0o700)
