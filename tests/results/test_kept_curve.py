"""A curve around a sample of centres is kept in the audit's file, fits the people there, and is checked again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from tests.fuzz.worlds import Unwrapped

import equieffort as ee
from equieffort.effort.metrics import centres
from equieffort.errors import AuditFileError, EquieffortError
from equieffort.report import render
from equieffort.report.material import Material
from equieffort.results import audits
from equieffort.results.kept_curve import compute_if_drawn, shown_curve

N = 60
MODEL = ee.LinearScore({"income": 1.0, "savings": 2.0}, threshold=9.0)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "group": rng.choice(["ash", "birch", "elm"], N),
            "income": rng.integers(0, 10, N),
            "savings": rng.normal(size=N).round(2),
        }
    )


def made(reference: object = "birch", **more: object) -> ee.Audit:
    schema = ee.Schema(
        sensitive="group", protected=["ash", "elm"], reference=reference, favourable=True,
        features={"income": ee.Feature("actionable", max_increase=6), "savings": "mutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["group", "income", "savings"]).fit(people())
    return ee.audit(MODEL, people(), schema=schema, scm=scm, **more)


def draw_few(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(centres, "MOST_PAIRS", 100)
    patch.setattr(centres, "LEAST", 4)


@pytest.fixture
def few(monkeypatch):
    """Samples are drawn although there are few people."""
    draw_few(monkeypatch)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("kept") / "x.audit"
    with pytest.MonkeyPatch.context() as patch:
        draw_few(patch)
        audit = made()
        compute_if_drawn(audit)
    audit.save(path)
    return path.read_bytes()


@pytest.fixture
def saved(few, written) -> bytes:
    return written


def forbid(*args: object, **more: object) -> None:
    raise AssertionError("the curve was computed again")


@pytest.mark.parametrize("reference", ["birch", ee.Rest(), ee.AllPairs()], ids=["one", "rest", "all pairs"])
@pytest.mark.parametrize("near", [ee.Everyone(), ee.Nearest(0.33, ee.Euclidean())], ids=["everyone", "nearest"])
def test_a_sampled_curve_is_read_and_not_computed(few, tmp_path, monkeypatch, reference, near):
    audit = made(reference, neighbourhood=near)
    compute_if_drawn(audit)
    found = shown_curve(audit)
    assert 0 < len(found.sweep.centres) < int(audit.recourse.is_unfavourable.sum())
    audit.save(tmp_path / "x.audit")
    monkeypatch.setattr(audits, "curve", forbid)
    loaded = ee.load(tmp_path / "x.audit")
    again = shown_curve(loaded)
    for name in ("centres", "quantiles", "size", "acting", "cost"):
        assert getattr(again.sweep, name).tobytes() == getattr(found.sweep, name).tobytes(), name
    pd.testing.assert_frame_equal(again.frame(), found.frame(), check_exact=True)
    loaded.save(tmp_path / "again.audit")
    assert (tmp_path / "again.audit").read_bytes() == (tmp_path / "x.audit").read_bytes()
    assert render(loaded) == render(audit)


def test_who_watches_is_told_that_it_is_computed_and_of_a_quick_one_nothing(few, monkeypatch):
    told = []
    compute_if_drawn(made(), lambda stage, done, total, note="": told.append((stage, done, total)))
    assert told == [("comparing people with those like them", 0, 1), ("comparing people with those like them", 1, 1)]
    told.clear()
    monkeypatch.setattr(centres, "MOST_PAIRS", 2e8)
    compute_if_drawn(made(), lambda *said: told.append(said))
    assert told == []


def test_the_report_asks_for_the_curve_that_is_kept(few):
    audit = made(neighbourhood=ee.NearestK(7))
    assert Material.of(audit).near.found is shown_curve(audit)


def test_a_curve_around_everybody_is_not_kept(tmp_path):
    audit = made()
    audit.save(tmp_path / "before.audit")
    compute_if_drawn(audit)
    assert not audit._curves
    shown_curve(audit)
    audit.save(tmp_path / "after.audit")
    assert (tmp_path / "after.audit").read_bytes() == (tmp_path / "before.audit").read_bytes()


def test_where_no_curve_can_be_computed_the_audit_is_saved_all_the_same(few, tmp_path):
    wealth = ee.Nearest(0.5, ee.Manhattan(features=["wealth"]))
    audit = dataclasses.replace(made(), neighbourhood=wealth)
    compute_if_drawn(audit)
    audit.save(tmp_path / "x.audit")
    with pytest.raises(EquieffortError, match="wealth"):
        shown_curve(ee.load(tmp_path / "x.audit"))


def put(name: str, at: object, value: object):
    def forge(opened: Unwrapped) -> None:
        opened.arrays[f"curve_{name}"][at] = value

    return forge


def change(name: str, how):
    def forge(opened: Unwrapped) -> None:
        opened.arrays[f"curve_{name}"] = how(opened.arrays[f"curve_{name}"])

    return forge


def approved(opened: Unwrapped) -> None:
    opened.arrays["curve_centres"] = np.sort(np.append(opened.arrays["curve_centres"][1:], opened.rows(0)[0]))


def spread(**fields: object):
    def forge(opened: Unwrapped) -> None:
        opened.manifest["curve"]["spreads"][0].update(fields)

    return forge


FORGED = {
    "a centre beyond the people": put("centres", -1, N),
    "a negative centre": put("centres", 0, -1),
    "a centre twice": change("centres", lambda one: np.sort(np.append(one[1:], one[1]))),
    "a centre who was approved": approved,
    "no centres": lambda o: [change(name, lambda one: one[:0])(o) for name in ("centres", "size", "acting", "cost")],
    "a centre less": change("centres", lambda one: one[1:]),
    "a quantile less": change("size", lambda one: one[:, 1:]),
    "sizes as floats": change("size", lambda one: one.astype(float)),
    "costs in four bytes": change("cost", lambda one: one.astype("f4")),
    "more people with an action than there are": change("acting", lambda one: one + 1),
    "a neighbourhood that is smaller than a smaller one": put("size", (0, 5, 0), 0),
    "negative counts": change("acting", lambda one: one - 1),
    "infinite effort": put("cost", (0, -1, 0), np.inf),
    "no number for an effort": put("cost", (0, 0, 0), np.nan),
    "efforts above the most of the group": change("cost", lambda one: one * 100),
    "no effort": change("cost", lambda one: one * 0),
    "everybody's effort changed": change("cost", lambda one: one * 1.001),
    "an array less": lambda opened: opened.arrays.pop("curve_size"),
    "no curve but its arrays": lambda opened: opened.manifest.update(curve=None),
    "a share of people above one": lambda opened: opened.manifest["curve"]["quantiles"].__setitem__(0, 1.5),
    "a distance nobody knows": lambda opened: opened.manifest["curve"]["distance"].update(kind="cosine"),
    "a spread of a group that is not there": spread(group=7),
    "a spread against oneself": lambda o: o.manifest["curve"]["spreads"][0].update(
        against=o.manifest["curve"]["spreads"][0]["group"]
    ),
    "a spread of no line": spread(line="verdict"),
    "a spread of fewer quantiles": spread(variance=[1.0], nu=[1.0], correlation=[[1.0]], why=[""]),
    "a spread of odd parts": spread(nu=[1.0]),
    "a negative variance": lambda o: o.manifest["curve"]["spreads"][0].update(
        variance=[-1.0] * 13, nu=[3.0] * 13, why=[""] * 13
    ),
    "a correlation beyond one": lambda o: o.manifest["curve"]["spreads"][0].update(
        variance=[1.0] * 13, nu=[3.0] * 13, why=[""] * 13, correlation=[[2.0] * 13] * 13
    ),
}


def test_what_is_only_taken_apart_and_put_together_is_read(saved, tmp_path):
    (tmp_path / "same.audit").write_bytes(Unwrapped.of(saved).bytes())
    assert ee.load(tmp_path / "same.audit")._curves


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_curve_is_refused(saved, tmp_path, name):
    opened, path = Unwrapped.of(saved), tmp_path / "forged.audit"
    FORGED[name](opened)
    path.write_bytes(opened.bytes())
    with pytest.raises(AuditFileError) as caught:
        ee.load(path)
    assert caught.value.code == "AUDIT_FILE"


def test_verify_computes_a_kept_curve_again(saved, tmp_path):
    (tmp_path / "same.audit").write_bytes(saved)
    assert ee.load(tmp_path / "same.audit").verify(MODEL, people()).holds

    opened, path = Unwrapped.of(saved), tmp_path / "forged.audit"
    sizes, acting = opened.arrays["curve_size"], opened.arrays["curve_acting"]
    centre, at, group = np.argwhere((sizes[:, 1:] > sizes[:, :-1]) & (acting[:, :-1] < sizes[:, :-1] + 1))[0]
    # Still no more than the next neighbourhood holds.
    sizes[centre, at, group] += 1
    path.write_bytes(opened.bytes())
    found = ee.load(path).verify(MODEL, people())
    assert [(one.check, one.subject) for one in found.failures] == [("curve", "size")]
    assert found.failures[0].person == opened.arrays["curve_centres"][centre]
    assert "kept curve" in str(found)

    opened = Unwrapped.of(saved)
    told = next(one for one in opened.manifest["curve"]["spreads"] if one["line"] == "acr" and "" in one["why"])
    told["variance"][told["why"].index("")] *= 1.01
    path.write_bytes(opened.bytes())
    assert [one.subject for one in ee.load(path).verify(MODEL, people()).failures] == ["band of acr"]
