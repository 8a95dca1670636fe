"""Streamed people are counted where they are solved: what travels, what stays in memory, and that all is the same."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.data.on_file import OnFile
from equieffort.effort.measures import Measure
from equieffort.errors import CostError, RuleError
from equieffort.foundations import dealing
from equieffort.results.streaming import counting_of

from .test_streaming import arguments, equal, model, people, written

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("quiet")
SUMS = ee.Criteria(budget=5.0, judged=("acr", "rd", "restricted_effort", "burden", "impact_ratio"))


class Weighing(Executor):
    """Workers of this process whose answers are weighed as they would travel."""

    def __init__(self) -> None:
        self._max_workers = 2
        self.answers: list[tuple[slice, int]] = []

    def submit(self, fn, /, token, payload, task, threads):
        future: Future = Future()
        found = fn(token, payload, task, threads)
        people = task.people
        self.answers.append((slice(people.start, people.start + people.rows), len(pickle.dumps(found.answer))))
        future.set_result(found)
        return future


@pytest.mark.parametrize("criteria", [SUMS, None])
def test_what_a_worker_sends_does_not_grow_with_people_unless_efforts_are_needed(tmp_path, monkeypatch, criteria):
    """Without a budget that is declared, by eight bytes of each refused person who has a way."""
    monkeypatch.setattr(dealing, "FIRST", 3000)
    X, workers = people(3000), Weighing()
    X.to_parquet(tmp_path / "people.parquet", index=False)
    source, streaming = ee.Parquet(tmp_path / "people.parquet"), ee.Streaming(tmp_path / "parts", memory="4GiB")
    made = ee.audit(model(X), source, streaming=streaming, executor=workers, criteria=criteria, **arguments(X))
    acting = np.asarray(made.recourse.has_action)
    rest = [weight - 8 * int(acting[span].sum()) * (criteria is None) for span, weight in workers.answers]
    rows = [span.stop - span.start for span, _ in workers.answers]
    assert max(rows) > 500
    assert min(rows) < 100
    # Counts and sums of more people have a few more digits.
    assert max(rest) - min(rest) < 300
    assert max(rest) < 3000


def columns(audit: ee.Audit) -> list[OnFile]:
    table = audit.recourse
    return [table.status, table.cost, table.bound, table.vanishing, table.groups.codes]


@pytest.mark.parametrize("criteria", [None, SUMS])
def test_nobody_is_in_memory_for_the_verdict_the_groups_and_their_measures(tmp_path, criteria):
    X = people()
    asked = arguments(X) | {"criteria": criteria}
    rules = asked.pop("subgroups")
    streaming = ee.Streaming(tmp_path / "parts", sample=1000)
    streamed, kept = ee.audit(model(X), written(X, tmp_path / "people"), streaming=streaming, **asked), None
    streamed.save(tmp_path / "kept.audit")
    for one in (streamed, ee.load(tmp_path / "kept.audit")):
        assert all(isinstance(column, OnFile) for column in columns(one))
        told = str(one), str(one.verdict), one.by_group.to_csv(), one.measures.to_csv(), one.effort_curve().to_csv()
        assert one.unsettled.empty
        # One person is read alone.
        told += (str(one.explain(17)),)
        assert not any(column.is_read for column in columns(one))
        kept = kept or ee.audit(model(X), X, **asked)
        assert told == (
            str(kept), str(kept.verdict), kept.by_group.to_csv(), kept.measures.to_csv(), kept.effort_curve().to_csv(),
            str(kept.explain(17)),
        )  # fmt: skip
        # Another budget, other measures to judge: from what was counted, or counted once more.
        other = ee.Criteria(budget=0.7, judged=["median_effort", "restricted_effort"])
        again, anew = replace(one, criteria=other), replace(kept, criteria=other)
        assert again.measures.to_csv() == anew.measures.to_csv()
        assert str(again.verdict) == str(anew.verdict)
        assert not any(column.is_read for column in columns(one))
        assert one.provenance.budget == kept.provenance.budget
        assert str(one.subgroup(rules["full"])) == str(kept.subgroup(rules["full"]))


def test_without_room_for_everybody_subgroups_are_counted_some_people_at_a_time(tmp_path):
    X = people()
    streaming = ee.Streaming(tmp_path / "parts", sample=1000)
    streamed = ee.audit(model(X), written(X, tmp_path / "people"), streaming=streaming, **arguments(X))
    table = streamed.recourse
    narrow = replace(streamed, recourse=replace(table, source=replace(table.source, room=-1)))
    kept = ee.audit(model(X), X, **arguments(X))
    assert narrow.measures.to_csv() == kept.measures.to_csv()
    assert not any(column.is_read for column in columns(narrow))
    assert set(narrow.measures["level"]) == {"system", "subgroup"}


RULES = {
    "years < 5 and job = 'full'": "",
    "job in ('none', 'prt')": "'prt' matches nobody. Did you mean 'part'?",
    "job = 'nine'": "'nine' matches nobody. Did you mean 'none'?",
    "sex = 'female' or income > 3.5": "",
    "job > 3": "job",
}
"""Rules, and what is said of them: as a warning, or since there is nothing to compare."""


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_asked_some_people_at_a_time_and_says_what_it_says_of_a_table(tmp_path, monkeypatch, rule):
    X = people(1200)
    # Nobody of the last part works part-time, and in no part is everything that rules name.
    X.loc[1000:, "job"] = "full"
    asked = arguments(X) | {"subgroups": None}
    streaming = ee.Streaming(tmp_path / "parts", sample=1000)
    streamed = ee.audit(model(X), written(X, tmp_path / "people", size=200), streaming=streaming, **asked)
    found = []
    for made in (ee.audit(model(X), X, **asked), streamed):
        with warnings.catch_warnings(record=True) as kept:
            warnings.simplefilter("always")
            try:
                told = str(made.subgroup(rule))
            except RuleError as error:
                told = str(error)
        found.append((told, [str(one.message) for one in kept]))
    assert found[0] == found[1]
    assert RULES[rule] in found[0][0] + "".join(found[0][1])


def test_groups_that_were_not_counted_are_read_anew(tmp_path):
    """Compared otherwise, or with other people in a group, sums of the groups that were counted say nothing."""
    X = people()
    streaming = ee.Streaming(tmp_path / "parts", sample=1000)
    streamed = ee.audit(model(X), written(X, tmp_path / "people"), streaming=streaming, **arguments(X))
    kept = ee.audit(model(X), X, **arguments(X))
    turned = [one.compare("sex", protected="male", reference="female") for one in (kept, streamed)]
    assert str(turned[0]) == str(turned[1])
    drawn = np.roll(np.asarray(kept.recourse.groups.codes), 1)
    moved = [
        replace(one, recourse=replace(one.recourse, groups=replace(one.recourse.groups, codes=drawn)))
        for one in (kept, streamed)
    ]
    assert moved[0].measures.to_csv() == moved[1].measures.to_csv() != kept.measures.to_csv()


SHORT = {
    ee.Status.UNKNOWN: ee.solvers.BranchAndBound(node_limit=14, time_limit=None),
    ee.Status.FEASIBLE: ee.solvers.Search(budget=40, time_limit=None),
}
"""What leaves people open: so little work that nothing is known of some, or no proof that an action is the cheapest."""


@pytest.fixture(scope="module", params=SHORT)
def unsettled(request, tmp_path_factory) -> tuple[ee.Audit, ee.Audit, Path]:
    X, folder = people(150, seed=3), tmp_path_factory.mktemp("unsettled")
    fitted, asked = model(X, "boosted"), arguments(X, "boosted") | {"subgroups": None}
    asked["solver"] = SHORT[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = ee.audit(fitted, X, **asked)
        source = written(X, folder / "people", size=40)
        streamed = ee.audit(fitted, source, streaming=ee.Streaming(folder / "parts"), **asked)
    assert kept.recourse.counts[request.param] > 9
    return kept, streamed, folder


def test_people_who_are_not_solved_to_the_end_bound_measures_likewise(unsettled):
    kept, streamed, folder = unsettled
    streamed.save(folder / "kept.audit")
    for one in (streamed, ee.load(folder / "kept.audit")):
        assert str(one) == str(kept)
        assert one.measures.to_csv() == kept.measures.to_csv()
        assert one.system.groups.to_csv() == kept.system.groups.to_csv()
        assert one.recourse.counts == kept.recourse.counts
        assert not any(column.is_read for column in columns(one)[1:])
        pd.testing.assert_frame_equal(one.unsettled, kept.unsettled, check_exact=True)
        equal(kept, one)
    assert (kept.measures["least"] < kept.measures["most"]).any()


def broken_off(source: ee.scale.Parquet, folder: Path, fitted, asked: dict) -> None:
    """A run that is interrupted when half of its people are solved."""

    def until(stage: str, done: int, total: int, note: str = "") -> None:
        if stage == "solving" and done >= total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ee.audit(fitted, source, streaming=ee.Streaming(folder), progress=until, **asked)
    assert list(folder.glob("_part-*.json"))


def test_people_whom_the_clock_ended_are_counted_and_named_also_of_a_run_that_went_on(tmp_path):
    """No search gets anywhere in a billionth of a second."""
    X = people(120)
    fitted, source = model(X), written(X, tmp_path / "people", size=25)
    asked = arguments(X) | {"solver": ee.Milp(time_limit=1e-9), "subgroups": None}
    kept = ee.audit(fitted, X, **asked)
    broken_off(source, tmp_path / "gone on", fitted, asked)
    resumed = ee.audit(fitted, source, streaming=ee.Streaming(tmp_path / "gone on", resume=True), **asked)
    shared = ee.audit(fitted, source, streaming=ee.Streaming(tmp_path / "shared"), executor=Weighing(), **asked)
    refused = np.flatnonzero(np.asarray(kept.recourse.is_unfavourable))
    for one in (resumed, shared):
        assert one.provenance.ended_by_clock == kept.provenance.ended_by_clock
        assert one.provenance.ended_by_clock.count == len(refused)
        assert one.provenance.ended_by_clock.first == tuple(map(str, refused[:20]))
        told = [[str(w) for w in made.warnings if w.code in ("RUN_CLOCK", "RECOURSE_UNKNOWN")] for made in (one, kept)]
        assert len(told[0]) == 2
        assert told[0] == told[1]
        assert str(one.verdict) == str(kept.verdict)
        assert one.measures.to_csv() == kept.measures.to_csv()


def test_pieces_that_are_gone_on_from_are_counted_again_to_the_same_bits(unsettled, tmp_path):
    kept, streamed, folder = unsettled
    X = people(150, seed=3)
    fitted, asked = model(X, "boosted"), arguments(X, "boosted") | {"subgroups": None}
    asked["solver"] = next(solver for solver in SHORT.values() if repr(solver) == kept.provenance.solver.name)
    source = ee.Parquet(folder / "people")
    broken_off(source, tmp_path / "parts", fitted, asked)
    resumed = ee.audit(fitted, source, streaming=ee.Streaming(tmp_path / "parts", resume=True), **asked)
    assert resumed.measures.to_csv() == streamed.measures.to_csv() == kept.measures.to_csv()
    one, other = (made.recourse.source.tally for made in (resumed, streamed))
    assert [part.stats for part in one.groups] == [part.stats for part in other.groups]
    assert [part.least().tobytes() for part in one.groups] == [part.least().tobytes() for part in other.groups]


def test_people_whose_group_is_not_known_are_placed_likewise(tmp_path):
    X = people(900)
    X.loc[X.index[::97], "sex"] = None
    fitted = arguments(people(900))
    kept = ee.audit(model(X), X, **fitted)
    streaming = ee.Streaming(tmp_path / "parts")
    streamed = ee.audit(model(X), written(X, tmp_path / "people"), streaming=streaming, **fitted)
    assert streamed.measures.to_csv() == kept.measures.to_csv()
    assert streamed.measures["assigned_least"].notna().any()
    assert str(streamed.verdict) == str(kept.verdict)
    equal(kept, streamed)


def test_efforts_that_sums_cannot_hold_are_refused_with_the_first_person(tmp_path):
    X = people(2000)
    far = ee.LinearScore({"income": 1e-120}, threshold=5.0)
    limits = ee.Feature("actionable", lower=-np.inf, upper=np.inf)
    schema = ee.Schema(sensitive="sex", protected="female", favourable=True, features={"income": limits})
    streaming = ee.Streaming(tmp_path / "parts", memory="4GiB")
    with pytest.raises(CostError, match=r"people is beyond 1e\+100\. The first: 0, ") as caught:
        ee.audit(far, written(X, tmp_path / "people", size=1500), streaming=streaming, schema=schema, scm=[])
    assert caught.value.code == "COST_SIZE"


class Furthest(Measure):
    """The largest effort over the other group's: of whom nothing can be said from sums that ours declare."""

    name = "furthest"
    title = "Largest effort"
    equation = "max / max"

    def estimate(self, pair) -> float:
        return float(pair.mine.finite.max() / pair.theirs.finite.max())


def test_efforts_are_asked_for_where_something_rests_on_them():
    """The default budget, a median, a measure of the caller's own."""
    assert not counting_of(2, SUMS, ()).keep
    assert counting_of(2, replace(SUMS, budget=None), ()).keep
    assert counting_of(2, replace(SUMS, judged=["acr", "median_effort"]), ()).keep
    assert counting_of(2, SUMS, (Furthest(),)).keep
