"""Sentences about facts: one for each audience, and numbers that promise no more than is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equieffort.errors import ParameterError
from equieffort.recourse.status import (
    Blocking,
    Ending,
    Fault,
    Infeasibility,
    LimitKind,
    Obstacle,
    Termination,
    fact_from_dict,
)  # fmt: skip
from equieffort.words.infeasibility import covered
from equieffort.words.reasons import rounded_down, told

SEEN = Obstacle("pay", LimitKind.OBSERVED, 1, 12.0, fact=8.0, stops_at=12.0)


def test_one_fact_has_a_sentence_for_each_audience():
    fact = Infeasibility((SEEN,), Blocking.EACH)
    first = "Without this limit there would be a route to approval: pay (largest observed value 12"
    assert told(fact) == f"{first}; declare upper to allow more; now 8)."
    assert told(fact, "spec") == f"{first}; write features.pay.upper in the spec to allow more; now 8)."
    assert told(fact, "report") == f"{first})."
    late = Termination(Ending.TIME, bound=0.98765, argument="time_limit", limit=10.0)
    known = "10 s of CPU passed, the limit; no action was found"
    assert told(late) == f"{known}, and no action costs less than 0.987; raise time_limit."
    assert (
        told(late, "spec")
        == f"{known}, and no action costs less than 0.987; raise time_limit under solver in the spec."
    )
    assert told(late, "report") == f"{known}."
    assert told(Termination(Ending.WALL_TIME, limit=100.0)).startswith(
        "100 s passed on the clock, the limit; no action"
    )


NAMES = st.text(max_size=4)
NUMBERS = st.none() | st.floats(-1e6, 1e6)
OBSTACLES = st.builds(
    Obstacle, st.text(min_size=1, max_size=4), st.sampled_from(LimitKind), st.sampled_from([-1, 0, 1]), NUMBERS,
    NAMES, NAMES, NAMES, NUMBERS, NUMBERS,
)  # fmt: skip
REASONS = st.builds(
    Infeasibility, st.lists(OBSTACLES, max_size=3).map(tuple), st.sampled_from(Blocking), NUMBERS, NUMBERS
)
ENDINGS = st.builds(
    lambda kind, fault, **more: Termination(kind, fault=fault if kind == Ending.NOT_REPLAYED else None, **more),
    st.sampled_from(Ending), st.sampled_from(Fault), found=st.booleans(), bound=st.none() | st.floats(0, 1e9),
    argument=NAMES, limit=NUMBERS, work=st.none() | st.integers(0, 10**6), subject=NAMES,
)  # fmt: skip


@given(REASONS | ENDINGS)
def test_every_fact_is_told_and_read_back(fact):
    for audience in ("python", "spec", "report"):
        sentence = told(fact, audience)
        assert sentence.endswith(".")
        assert sentence[0].isupper() or sentence[0].isdigit() or sentence[0] == "-"
    assert fact_from_dict(fact.to_dict()) == fact


@given(st.floats(1e-9, 1e9), st.floats(0, 1))
def test_what_is_not_enough_is_never_told_as_all(needed, share):
    said = covered(Infeasibility((), Blocking.CLOSEST, needed, share * needed))
    assert "100" not in said
    if said[0].isdigit():
        assert int(said.split()[0]) <= 100 * share + 1e-6


@given(st.floats(1e-300, 1e300))
def test_a_bound_is_rounded_down(bound):
    assert 0.989 * bound <= rounded_down(bound) <= bound


@pytest.mark.parametrize(
    ("bound", "told"),
    [(5e-324, 5e-324), (1.2349e-310, 1.23e-310), (0.3, 0.3), (0.49999999999999994, 0.499), (1.7976e308, 1.79e308)],
)
def test_a_bound_is_rounded_down_however_small_or_large(bound, told):
    assert rounded_down(bound) == told


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Obstacle("x", "law"), lambda: Obstacle("x", LimitKind.UPPER, 2), lambda: Obstacle("", LimitKind.UPPER),
        lambda: Obstacle("x", LimitKind.UPPER, 1, float("nan")), lambda: Obstacle(5, LimitKind.UPPER),
        lambda: Infeasibility([]), lambda: Infeasibility(("x",)), lambda: Infeasibility((), "some"),
        lambda: Termination("tired"), lambda: Termination(Ending.TIME, fault=Fault.COST),
        lambda: Termination(Ending.NOT_REPLAYED), lambda: Termination(Ending.TIME, "yes"),
        lambda: fact_from_dict({}), lambda: fact_from_dict("No."), lambda: Obstacle.from_dict({"feature": "x"}),
    ],
)  # fmt: skip
def test_what_is_no_fact_is_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
