"""The audit of streamed people on file: a small file beside the parts, which says what the audit of a table says."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import AuditFileError, ParameterError, RunError

from .test_streaming import arguments, equal, model, people, written

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture(scope="module")
def whole() -> ee.Audit:
    # Of columns that nothing uses a table in memory warns; from files they are not read.
    X = people(1500).drop(columns="unused")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ee.audit(model(X), X, **arguments(X))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """An audit file and its parts."""
    X, folder = people(1500), tmp_path_factory.mktemp("kept")
    source = written(X, folder / "people")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ee.audit(model(X), source, streaming=ee.Streaming(folder / "kept.parts"), **arguments(X))
    made.save(folder / "kept.audit")
    # Neither the people nor the model are needed any more.
    shutil.rmtree(folder / "people")
    return folder


@pytest.fixture
def loaded(folder) -> ee.Audit:
    return ee.Audit.load(folder / "kept.audit")


def test_what_is_loaded_says_what_the_audit_of_a_table_says(whole, loaded, folder):
    equal(whole, loaded)
    assert (folder / "kept.audit").stat().st_size < 10_000
    for rule in ("years < 5", "job = 'full' and income > 3"):
        assert str(whole.subgroup(rule)) == str(loaded.subgroup(rule))
    pd.testing.assert_frame_equal(whole.curve([0.1, 0.5]), loaded.curve([0.1, 0.5]), check_exact=True)
    assert str(whole.individual(17, quantile=0.2)) == str(loaded.individual(17, quantile=0.2))


def test_everybody_is_explained_alike_also_why_there_is_no_way(whole, loaded):
    for status in ee.Status:
        for row in np.flatnonzero(whole.recourse.status == status)[:4].tolist():
            assert str(whole.explain(row)) == str(loaded.explain(row))


def test_letters_are_the_same(whole, loaded, tmp_path):
    rows = [*np.flatnonzero(whole.recourse.status == ee.Status.OPTIMAL)[:3].tolist()]
    rows += np.flatnonzero(whole.recourse.status == ee.Status.INFEASIBLE)[:2].tolist()
    for made, name in ((whole, "one"), (loaded, "other")):
        made.letters(tmp_path / name, rows)
    one, other = (sorted((tmp_path / name).iterdir()) for name in ("one", "other"))
    assert [(path.name, path.read_bytes()) for path in one] == [(path.name, path.read_bytes()) for path in other]


def test_the_report_is_the_same_page_and_never_holds_everybody(whole, loaded, monkeypatch):
    """Columns are read one after the other: with room for few people the page is the same."""
    monkeypatch.setattr("equieffort.recourse.part_source.MOST_AT_ONCE", 1200)
    monkeypatch.setattr("equieffort.recourse.part_source.VALUE_BYTES", 2**40)
    monkeypatch.setattr("equieffort.report.evidence.CHUNK", 150)
    with pytest.raises(ParameterError, match="are not in memory"):
        loaded.recourse.source.facts(slice(None))
    assert loaded.report().html == whole.report().html


def test_actions_are_verified_from_the_parts(loaded):
    X = people(1500)
    assert loaded.verify(model(X), X).holds
    turned = ee.LinearScore({"income": 1.0, "savings": 0.5, "years": 0.05}, threshold=6.6)
    assert not loaded.verify(turned, X).holds


def test_the_file_and_its_parts_can_be_moved_together(whole, folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    equal(whole, ee.Audit.load(moved / "kept.audit"))
    loaded = ee.Audit.load(moved / "kept.audit")
    # Saved again in another folder it still leads to its parts.
    (tmp_path / "third").mkdir()
    loaded.save(tmp_path / "third" / "again.audit")
    equal(whole, ee.Audit.load(tmp_path / "third" / "again.audit"))


def test_a_part_that_is_missing_or_was_changed_is_refused_by_name(folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    part = moved / "kept.parts" / "part-000001.parquet"
    loaded = ee.Audit.load(moved / "kept.audit")
    kept = part.read_bytes()
    for k in (10, len(kept) // 2):
        turned = bytearray(kept)
        turned[k] ^= 1
        part.write_bytes(turned)
        with pytest.raises(AuditFileError, match=r"The part 'part-000001.parquet' .* its hash differs"):
            ee.Audit.load(moved / "kept.audit")
        # Also by an audit that is open already.
        with pytest.raises(RunError, match=r"The part 'part-000001.parquet' of this audit is not there any more"):
            loaded.explain(3)
    part.unlink()
    with pytest.raises(AuditFileError, match=r"The part 'part-000001.parquet' of this audit is not in the folder"):
        ee.Audit.load(moved / "kept.audit")
    part.write_bytes(kept)
    assert ee.Audit.load(moved / "kept.audit").explain(3)


def test_what_cannot_be_asked_says_the_way_out(loaded):
    with pytest.raises(ParameterError) as caught:
        loaded.with_alternatives(2)
    assert caught.value.fix
    with pytest.raises(ParameterError, match="are in the parts"):
        _ = loaded.recourse.delta[0]
