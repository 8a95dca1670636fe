"""Every branch of the verdict by table, and certified verdicts against every completion of what is unknown."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import against, people

from equieffort.effort.criteria import Criteria, OneSided, TwoSided
from equieffort.effort.judging import with_readings
from equieffort.effort.measures import JUDGED, Pair, Sample
from equieffort.effort.metrics import Comparison
from equieffort.effort.verdict import REASONS, decide, judge
from equieffort.errors import ParameterError


def at(phi: float, n: int = 20, able: int | None = None, **more) -> Sample:
    """n refused people, `able` of whom have an action of the same cost."""
    able = n if able is None else able
    return people([phi] * able, infeasible=n - able, **more)


POINT = {"level": None, "min_people": 10}
"""The paper's way: the estimate itself is judged."""
PLAIN, ONE_SIDED = Criteria(**POINT), Criteria(rule=OneSided(), **POINT)
ESTIMATE = Criteria(certified=False, **POINT)
BOTH = ("ACR_WITHIN", "RD_WITHIN")
UNSURE = ("UNDEFINED",)

BRANCHES = {
    "alike": (PLAIN, at(2), at(2), "equal", BOTH),
    "a little dearer": (PLAIN, at(2.4), at(2), "equal", BOTH),
    "ratio equal to tau": (PLAIN, at(2.5), at(2), "equal", BOTH),
    # 3 * 0.1 / 0.24 is a hair above 1.25 in doubles.
    "ratio equal to tau, not exact": (PLAIN, people([0.1 + 0.2] * 20), people([0.24] * 20), "equal", BOTH),
    "ratio just above tau": (PLAIN, at(2.5 + 1e-9), at(2), "unequal", ("ACR_BEYOND",)),
    "ratio equal to 1 / tau": (PLAIN, at(2), at(2.5), "equal", BOTH),
    "ratio just below 1 / tau": (PLAIN, at(2), at(2.5 + 1e-9), "unequal", ("ACR_BEYOND",)),
    "ratio .3, two-sided": (PLAIN, at(0.3), at(1), "unequal", ("ACR_BEYOND",)),
    "ratio .3, as printed": (ONE_SIDED, at(0.3), at(1), "equal", BOTH),
    "ratio equal to tau, as printed": (ONE_SIDED, at(2.5), at(2), "equal", BOTH),
    "ratio above tau, as printed": (ONE_SIDED, at(2.6), at(2), "unequal", ("ACR_BEYOND",)),
    "effort zero, as printed": (ONE_SIDED, at(0), at(2), "inconclusive", ("UNDEFINED",)),
    "effort zero, two-sided": (PLAIN, at(0), at(2), "inconclusive", ("UNDEFINED",)),
    "tau of one": (Criteria(tau=1, **POINT), at(2), at(2), "equal", BOTH),
    "tau of one, missed": (Criteria(tau=1, **POINT), at(2.0001), at(2), "unequal", ("ACR_BEYOND",)),
    # These differences are a twentieth, though not in doubles.
    "difference equal to epsilon": (PLAIN, at(2, 20, 17), at(2, 10, 9), "unequal", ("RD_BEYOND",)),
    "difference equal to -epsilon": (PLAIN, at(2, 10, 9), at(2, 20, 17), "unequal", ("RD_BEYOND",)),
    "difference of 3/10 - 1/4": (PLAIN, at(2, 20, 5), at(2, 10, 3), "unequal", ("RD_BEYOND",)),
    "difference just below": (PLAIN, at(2, 1000, 901), at(2, 20, 19), "equal", BOTH),
    "epsilon of a third, missed": (Criteria(epsilon=0.34, **POINT), at(2, 30, 10), at(2, 30, 20), "equal", BOTH),
    "epsilon of one": (Criteria(epsilon=1, **POINT), at(2, 10, 0), at(2, 10, 10), "unequal", ("RD_BEYOND",)),
    "both": (PLAIN, at(4, 20, 10), at(2), "unequal", ("ACR_BEYOND", "RD_BEYOND")),
    "nobody refused": (PLAIN, people(fine=9), people(fine=9), "inconclusive", ("NOTHING",)),
    "nobody at all": (PLAIN, people(), people(), "inconclusive", ("NOTHING",)),
    "nobody refused in the group": (PLAIN, people(fine=9), at(2), "inconclusive", ("UNDEFINED",)),
    "nobody refused in the reference": (PLAIN, at(2), people(fine=9), "inconclusive", ("UNDEFINED",)),
    "too few": (PLAIN, at(9, 9), at(2), "inconclusive", ("TOO_FEW",)),
    "too few in the reference": (PLAIN, at(9), at(2, 9), "inconclusive", ("TOO_FEW",)),
    "just enough": (PLAIN, at(2, 10), at(2, 10), "equal", BOTH),
    "few are enough": (Criteria(min_people=1, level=None), at(9, 1), at(2, 1), "unequal", ("ACR_BEYOND",)),
    "no action in the group: RD decides": (PLAIN, at(2, 20, 0), at(2), "unequal", ("RD_BEYOND",)),
    "no action in the reference: RD decides": (PLAIN, at(2), at(2, 20, 0), "unequal", ("RD_BEYOND",)),
    "no action anywhere": (PLAIN, at(2, 20, 0), at(2, 20, 0), "inconclusive", ("UNDEFINED",)),
    "zero effort in the reference": (PLAIN, at(2), at(0), "inconclusive", ("UNDEFINED",)),
    "zero effort in both": (PLAIN, at(0), at(0), "inconclusive", ("UNDEFINED",)),
    "zero effort in the reference, RD decides": (PLAIN, at(2, 20, 10), at(0), "unequal", ("RD_BEYOND",)),
    "one unknown could overturn": (PLAIN, at(2, 19, unknown=[1.0]), at(2), "inconclusive", ("UNCERTIFIED",)),
    "a wide gap could overturn": (PLAIN, people(gapped=[(1, 2)] * 20), at(2), "inconclusive", ("UNCERTIFIED",)),
    "a narrow gap cannot": (PLAIN, people(gapped=[(1.9, 2)] * 20), at(2), "equal", BOTH),
    "a gap beyond tau anyway": (PLAIN, people(gapped=[(5, 9)] * 20), at(2), "unequal", ("ACR_BEYOND",)),
    "a gap in the reference": (PLAIN, at(9), people(gapped=[(1, 2)] * 20), "unequal", ("ACR_BEYOND",)),
    "unknown, yet the shares differ": (PLAIN, at(2, 19, 5, unknown=[1.0]), at(2), "unequal", ("RD_BEYOND",)),
    "unknown, yet all too dear": (PLAIN, at(9, 99, unknown=[8.0]), at(2, 100), "unequal", ("ACR_BEYOND",)),
    "estimate: unknown set aside": (ESTIMATE, at(2, 99, unknown=[1.0]), at(2), "equal", BOTH),
    "estimate: gap set aside": (ESTIMATE, people(gapped=[(0, 2)] * 20), at(2), "equal", BOTH),
    "estimate: beyond": (ESTIMATE, people(gapped=[(0, 9)] * 20), at(2), "unequal", ("ACR_BEYOND",)),
    "estimate: nobody known to act": (ESTIMATE, at(2, 0, unknown=[1.0] * 20), at(2), "unequal", ("RD_BEYOND",)),
    "estimate: undefined": (ESTIMATE, people(unknown=[1] * 20), people(unknown=[1] * 20), "inconclusive", UNSURE),
}  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_every_branch(name):
    criteria, mine, theirs, outcome, codes = BRANCHES[name]
    comparison = against(mine, theirs)
    finding = judge(comparison, criteria)
    assert (finding.outcome, finding.codes) == (outcome, codes)
    assert (finding.comparison.group, finding.comparison.pair) == (comparison.group, comparison.pair)
    verdict = decide((comparison,), criteria)
    assert verdict.outcome == outcome
    assert verdict.codes == codes
    assert verdict.reasons == tuple(REASONS[code] for code in codes)
    assert str(verdict).startswith(outcome.upper())


@pytest.mark.parametrize("name", BRANCHES)
def test_sentences_are_readable(name):
    criteria, mine, theirs, _, _ = BRANCHES[name]
    text = str(decide((against(mine, theirs),), criteria))
    assert "women" in text
    assert "men" in text.replace("women", "")
    for word in ("nan", "inf ", "None", "NaN", "np.", "Fraction", "{", "}", "'"):
        assert word not in text


SILENT = people([1.0] * 40, fine=60, budget=5.0)
EDGES = {
    "nobody refused": (people(fine=60, budget=5.0), people(fine=80, budget=5.0)),
    "nobody refused in the group": (people(fine=60, budget=5.0), SILENT),
    "one person": (people([2.0], budget=5.0), SILENT),
    "nobody with recourse": (people(infeasible=30, fine=9, budget=5.0), people(infeasible=40, fine=9, budget=5.0)),
    "nobody of the group with recourse": (people(infeasible=30, fine=9, budget=5.0), SILENT),
    "all efforts equal": (SILENT, SILENT),
    "no effort": (people([0.0] * 40, fine=60, budget=5.0), SILENT),
}
SPOKEN = ("nan", "inf ", "inf)", "None", "'", "{", "}", "  ", "..", "()", "( ")


@pytest.mark.parametrize("judged", [*JUDGED, "acr rd"])
@pytest.mark.parametrize("edge", EDGES)
def test_verdicts_about_any_measure_read_well_at_every_edge(edge, judged):
    criteria = Criteria(judged=tuple(judged.split()))
    compared = with_readings(Comparison("1", "0", "protected", Pair(*EDGES[edge]), columns=("sex",)), criteria)
    text = str(decide((compared,), criteria))
    assert not [word for word in SPOKEN if word in text]
    # Each group is named with its column, never by its code alone.
    assert "sex = 1" in text
    assert text.count("sex = 1") + text.count("sex = 0") == text.count("sex =")
    # A verdict says something of what is judged, and nothing of efforts that are not.
    if judged == "impact_ratio":
        assert "effort" not in text.lower()
        assert "approved" in text


def test_the_doubles_in_this_table_really_miss_their_thresholds():
    # Otherwise the exact cases above would prove nothing.
    assert 3 / 10 - 1 / 4 < 0.05
    assert (0.1 + 0.2) / 0.24 > 1.25


def test_sentences_hold_the_numbers():
    finding = judge(against(at(3.5, 20, 12), at(2, 25, 24)), PLAIN)
    for part in ("1.75 times", "3.5 against 2", "12 of 20", "60.0 %", "24 of 25", "96.0 %", "36.0 points"):
        assert part in finding.sentence
    assert "differ by 36 percentage points, threshold 5" in finding.sentence
    assert "above 1.25" in finding.sentence


def test_the_headline_names_who_must_work_harder():
    def headline(mine, theirs):
        return decide((against(mine, theirs),), PLAIN).headline

    c = against(at(3), at(2))
    assert headline(at(3), at(2)) == (
        f"Refused people in group {c.group} who have a route to approval need more effort than refused people in group "
        f"{c.against} who have one."
    )
    assert headline(at(2), at(3)) == (
        f"Refused people in group {c.against} who have a route to approval need more effort than refused people in "
        f"group {c.group} who have one."
    )
    assert "lies below 0.8" in judge(against(at(2), at(3)), PLAIN).sentence
    assert headline(at(2, 20, 5), at(2)) == (
        f"Refused people in group {c.group} more often have no route to approval than refused people in group "
        f"{c.against}."
    )
    assert headline(at(2), at(2)) == "Effort is equal within the thresholds."


@pytest.mark.parametrize(
    ("mine", "theirs", "part"),
    [
        (people(fine=3), people(fine=3), "No people in group women and no people in group men were refused"),
        (people(fine=3), at(2), "No people in group women were refused"),
        (at(2), people(fine=3), "No people in group men were refused"),
        (at(2, 4), at(2, 30), "each group needs at least 10 people with a route to approval"),
        (at(2, 20, 0), at(2), "No refused people in group women have a route"),
        (at(2), at(2, 20, 0), "No refused people in group men have a route"),
        (at(2.5), at(0), "2.5 for refused people in group women and 0 for refused people in group men"),
    ],
)
def test_sentences_name_who_is_missing(mine, theirs, part):
    assert part in judge(against(mine, theirs), PLAIN).sentence


def test_an_unknown_action_is_not_called_absent():
    for pair in ((people(unknown=[1.0] * 20), at(2)), (at(2), people(unknown=[1.0] * 20))):
        sentence = judge(against(*pair), PLAIN).sentence
        assert "Nobody" not in sentence
        assert "exists" not in sentence
        assert "is a route to approval known (20 unknown)" in sentence
        assert "0.0 % (20 unknown)" in sentence


def test_the_headline_says_what_the_verdict_rests_on():
    pair = (against(at(2), at(2)),)
    assert "Point estimate, chance not considered" in str(decide(pair, PLAIN)).splitlines()[0]
    assert "not certified" in str(decide(pair, ESTIMATE)).splitlines()[0]
    assert "tau = 1.5, epsilon = 0.1" in str(decide(pair, Criteria(tau=1.5, epsilon=0.1, level=None)))


# -- several groups ----------------------------------------------------------------------------------------------------

EQUAL, UNEQUAL, OPEN = against(at(2), at(2)), against(at(9), at(2)), against(at(2, 3), at(2))


@pytest.mark.parametrize(
    ("compared", "outcome"),
    [
        ((), "inconclusive"),
        ((EQUAL, EQUAL), "equal"),
        ((EQUAL, UNEQUAL), "unequal"),
        ((UNEQUAL, OPEN), "unequal"),
        ((EQUAL, OPEN), "inconclusive"),
        ((OPEN, OPEN), "inconclusive"),
    ],
)
def test_unequal_if_any_group_is_and_equal_only_if_all_are(compared, outcome):
    for order in itertools.permutations(compared):
        assert decide(order, PLAIN).outcome == outcome


def test_groups_that_are_not_protected_do_not_count_at_system_level():
    other = against(at(9), at(2), role="other", group="children")
    verdict = decide((EQUAL, other), PLAIN)
    assert verdict.outcome == "equal"
    assert "children" not in str(verdict)
    assert decide((EQUAL, other), PLAIN, individual=True).outcome == "unequal"


def test_codes_come_once_and_each_group_has_its_sentence():
    verdict = decide((EQUAL, EQUAL, OPEN), PLAIN)
    assert verdict.codes == (*BOTH, "TOO_FEW")
    assert len(verdict.findings) == 3
    assert len(str(verdict).splitlines()) == 4


def test_an_individual_needs_no_minimum():
    few = against(at(9, 1), at(2, 1))
    assert decide((few,), PLAIN).outcome == "inconclusive"
    assert decide((few,), PLAIN, individual=True).outcome == "unequal"


# -- certified means certain -------------------------------------------------------------------------------------------

TAU, EPSILON = Fraction(5, 4), Fraction(1, 20)
COST = st.integers(1, 9)
SIDE = st.tuples(
    st.lists(COST, max_size=2),
    st.lists(st.tuples(COST, COST).map(sorted), max_size=1),
    st.integers(0, 1),
    st.lists(COST | st.just(100), max_size=2),
)


def completions(side):
    """Every way a group can turn out, on a grid: (costs of those with an action, number of unfavourable people)."""
    optimal, gapped, infeasible, unknown = side
    choices = [[Fraction(b), Fraction(c)] for b, c in gapped]
    choices += [[None, Fraction(b), Fraction(b + 1), Fraction(b + 500)] for b in unknown]
    n = len(optimal) + len(gapped) + infeasible + len(unknown)
    for picked in itertools.product(*choices):
        yield [*map(Fraction, optimal), *(c for c in picked if c is not None)], n


def true_outcome(mine, theirs, least) -> str:
    """Algorithm 1 in fractions, for people of whom everything is known."""
    (a, n), (b, m) = mine, theirs
    if n == 0 or m == 0:
        return "inconclusive"
    acr = (sum(a) / len(a)) / (sum(b) / len(b)) if a and b else None
    if abs(Fraction(len(b), m) - Fraction(len(a), n)) >= EPSILON or (acr is not None and not least <= acr <= TAU):
        return "unequal"
    return "inconclusive" if acr is None else "equal"


def certain(mine, theirs, criteria):
    """What the package certifies, and every outcome that is still possible."""
    sides = [people(o, gapped=g, infeasible=i, unknown=u) for o, g, i, u in (mine, theirs)]
    least = Fraction(4, 5) if isinstance(criteria.rule, TwoSided) else Fraction(0)
    outcomes = {true_outcome(a, b, least) for a in completions(mine) for b in completions(theirs)}
    return judge(against(*sides), criteria).outcome, outcomes


@settings(deadline=None, max_examples=120)
@given(SIDE, SIDE, st.sampled_from([TwoSided(), OneSided()]))
def test_no_completion_overturns_a_certified_verdict(mine, theirs, rule):
    found, outcomes = certain(mine, theirs, Criteria(rule=rule, min_people=1, level=None))
    if found != "inconclusive":
        assert outcomes == {found}


@settings(deadline=None)
@given(SIDE, SIDE, st.sampled_from([TwoSided(), OneSided()]))
def test_what_is_fully_known_is_judged_as_the_algorithm_says(mine, theirs, rule):
    mine, theirs = (mine[0], [], mine[2], []), (theirs[0], [], theirs[2], [])
    found, outcomes = certain(mine, theirs, Criteria(rule=rule, min_people=1, level=None))
    assert outcomes == {found}


@pytest.mark.parametrize(
    ("mine", "theirs", "rule"),
    [
        # One unknown among a hundred: if it has no action, no ratio exists and the shares differ by 1/100 only.
        (([1], [], 99, []), ([], [], 99, [10]), TwoSided()),
        (([], [], 99, [10]), ([1], [], 99, []), TwoSided()),
        (([1], [], 99, []), ([], [], 99, [10]), OneSided()),
    ],
    ids=["unequal, reference unknown", "unequal, group unknown", "equal, reference unknown"],
)
def test_a_ratio_that_may_not_exist_certifies_nothing(mine, theirs, rule):
    found, outcomes = certain(mine, theirs, Criteria(rule=rule, level=None))
    assert len(outcomes) > 1
    assert found == "inconclusive"


@pytest.mark.parametrize("rule", [TwoSided(), OneSided()])
def test_a_reference_whose_effort_may_vanish_certifies_nothing(rule):
    # Every action of the reference may turn out to be free, and nothing can be divided by zero.
    mine, theirs = at(1), people(gapped=[(0.0, 0.1)] * 20)
    assert judge(against(mine, theirs), Criteria(rule=rule, level=None)).codes == ("UNCERTIFIED",)
    assert judge(against(mine, theirs), Criteria(rule=rule, certified=False, level=None)).codes == ("ACR_BEYOND",)
    # The other way round the ratio exists, and is at most 0.1.
    assert judge(against(theirs, mine), Criteria(rule=TwoSided(), level=None)).codes == ("ACR_BEYOND",)


# -- criteria ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"tau": 0.99}, {"tau": math.nan}, {"tau": math.inf}, {"tau": -2},
        {"epsilon": 0}, {"epsilon": 1.01}, {"epsilon": math.nan}, {"epsilon": -0.05}, {"min_people": 0},
        {"level": 1}, {"level": 0.5}, {"level": math.nan}, {"level": "95 %"}, {"budget": 0}, {"budget": math.inf},
        {"judged": ()}, {"judged": ["acr", "acr"]}, {"judged": ["needs_more"]}, {"judged": "phi"}, {"adjust": "holm"},
    ],
)  # fmt: skip
def test_thresholds_outside_their_range_are_refused(given):
    with pytest.raises(ParameterError) as caught:
        Criteria(**given)
    assert caught.value.code == "CRITERIA_INVALID"


def test_numbers_of_numpy_are_numbers():
    given = Criteria(np.float64(1.5), np.float64(0.1), min_people=np.int64(5), level=None)
    assert given == Criteria(1.5, 0.1, min_people=5, level=None)
    assert judge(against(at(2), at(2)), given).outcome == "equal"
    with pytest.raises(ParameterError):
        Criteria(min_people=np.bool_(True))


@pytest.mark.parametrize("criteria", [PLAIN, ONE_SIDED, ESTIMATE, Criteria(2.0, 0.125, OneSided(), 3, False)])
def test_criteria_survive_as_plain_data(criteria):
    assert Criteria.from_dict(criteria.to_dict()) == criteria


# -- with error rates --------------------------------------------------------------------------------------------------


def test_a_burden_that_a_single_refused_person_carries_is_not_judged():
    criteria = Criteria(judged=("burden",))
    few = against(
        people([1.0, 2.0], fine=98, budget=5.0), people([1.0 + k / 9 for k in range(30)], fine=70, budget=5.0),
        criteria=criteria,
    )  # fmt: skip
    assert judge(few, criteria).codes == ("TOO_FEW",)
    one = against(people([1.0], fine=99, budget=5.0), people([1.0, 2.0], fine=98, budget=5.0), criteria=criteria)
    assert math.isnan(one.reading("burden").low)


def test_a_headline_says_that_efforts_differ_only_where_that_is_open():
    rng = np.random.default_rng(0)
    criteria = Criteria(rule=OneSided())
    cheap = people(rng.uniform(0.5, 0.6, 40), infeasible=3)
    c = against(cheap, people(rng.uniform(1.0, 1.1, 40), infeasible=4), criteria=criteria)
    verdict = decide((c,), criteria)
    assert verdict.codes == ("NOISE",)
    assert "differ" not in verdict.headline


def test_with_tau_one_no_number_of_people_shows_equality():
    rng = np.random.default_rng(1)
    criteria = Criteria(tau=1.0)
    c = against(people(rng.uniform(1, 2, 30)), people(rng.uniform(1, 2, 30)), criteria=criteria)
    assert "truly equal" not in judge(c, criteria).sentence


def test_costs_of_any_size_compare():
    for size in (1e-100, 1e100):
        c = against(people([size, 2 * size, 3 * size]), people([size, 4 * size, 2 * size]))
        assert c.reading("acr").estimate == pytest.approx(6 / 7)
        assert c.reading("acr").low == pytest.approx(against(people([1, 2, 3]), people([1, 4, 2])).reading("acr").low)
        assert not math.isnan(c.reading("difference").low)
