"""Why a solver was chosen and why others do not fit: facts that become sentences for callers and for authors."""

from __future__ import annotations

import json
import pickle

import pytest

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.recourse.solvers import Ground, Grounds, Refusal, Takes, Unfit, Why
from equieffort.results.provenance import Provenance, SolverUsed
from equieffort.words.choices import choice_text, refusal_text, refusals_text

EVERY_REFUSAL = [
    (
        Refusal(Unfit.MODEL, Why.CLOSED, detail="a KNN is not known", takes=Takes.SCORE),
        "The classifier has no linear score that could be used: a KNN is not known.",
    ),
    (
        Refusal(Unfit.MODEL, Why.CLOSED, detail="a KNN is not known", takes=Takes.TREES_OR_LAYERS),
        "The classifier has no trees or layers that could be read: a KNN is not known.",
    ),
    (
        Refusal(Unfit.MODEL, Why.CLOSED, detail="a KNN is not known", takes=Takes.PROGRAM),
        "The classifier cannot be written as a program: a KNN is not known.",
    ),
    (
        Refusal(Unfit.MODEL, Why.CLOSED, detail="a KNN is not known", takes=Takes.READABLE),
        "The classifier cannot be read: a KNN is not known.",
    ),
    (
        Refusal(Unfit.MODEL, Why.CLOSED, detail="a KNN is not known"),
        "The classifier cannot be read: a KNN is not known.",
    ),
    (
        Refusal(Unfit.MODEL, Why.OTHER_MODEL, "TreeView", takes=Takes.SCORE),
        "The classifier's decision is no single linear score.",
    ),
    (
        Refusal(Unfit.MODEL, Why.OTHER_MODEL, "LinearView", takes=Takes.TREES_OR_LAYERS),
        "The classifier is no sum of trees and no network.",
    ),
    (
        Refusal(Unfit.MODEL, Why.OTHER_MODEL, "MyView", takes=Takes.PROGRAM),
        "The classifier is no linear score, sum of trees or ReLU network.",
    ),
    (
        Refusal(Unfit.MODEL, Why.OTHER_MODEL, "MyView", takes=Takes.READABLE),
        "The classifier cannot be read: a MyView is not known.",
    ),
    (Refusal(Unfit.MODEL, Why.NOT_FINITE), "The classifier's numbers are not all finite."),
    (
        Refusal(Unfit.MODEL, Why.LABELS_ONLY, value=0.25),
        "A margin of 0.25 is asked for, but of this classifier only labels are known.",
    ),
    (Refusal(Unfit.COST, Why.COST_NOT_LINEAR), "The cost is not linear in each change."),
    (
        Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE),
        "The cost is neither linear nor piecewise linear in each change.",
    ),
    (
        Refusal(Unfit.COST, Why.COST_ENDS),
        "The cost does not grow beyond its last knot, so no budget limits an action.",
    ),
    (Refusal(Unfit.RULES, Why.RULES), "It does not reckon with rules between features."),
    (
        Refusal(Unfit.EQUATIONS, Why.BENT, "debt"),
        "It is not linear: the equation of 'debt' is not linear, and an action can move it.",
    ),
    (
        Refusal(Unfit.EQUATIONS, Why.SET_AND_FOLLOWS, "job"),
        "It is not linear: 'job' is a category that can be set and also follows an action by its equation.",
    ),
    (
        Refusal(Unfit.EQUATIONS, Why.NOT_ENCLOSED, "debt", "it is a function"),
        "Nothing can be proven: the equation of 'debt' cannot be enclosed: it is a function.",
    ),
    (
        Refusal(Unfit.ACTIONS, Why.MANY_WAYS, count=8192, among=14, most=4096),
        "There are 8,192 ways to combine interventions on 14 actionable features; at most 4,096 are tried.",
    ),
    (
        Refusal(Unfit.ACTIONS, Why.MANY_LEVELS, count=5000, among=1, most=4096),
        "There are 5,000 ways to combine levels of 1 actionable category; at most 4,096 are tried.",
    ),
    (Refusal(Unfit.ACTIONS, detail="No number can be changed."), "No number can be changed."),
]
GAP = Refusal(Unfit.SETTING, Why.GAP, argument="gap", value=0)
RECKONED = "The score is linear and so is every equation an action can reach."
EVERY_GROUND = [
    (Grounds(Ground.LINEAR), RECKONED),
    (
        Grounds(Ground.LINEAR_RULES),
        f"{RECKONED} There are rules between features, which a search over what is set and what follows reckons with.",
    ),
    (
        Grounds(Ground.LINEAR_WAYS, 2048),
        f"{RECKONED} There are 2,048 ways to set or leave what can be set: they are searched, not listed.",
    ),
    (
        Grounds(Ground.LINEAR_RANGES),
        f"{RECKONED} Several actions move a column that must stay in a range, which a search reckons with as a whole.",
    ),
    (
        Grounds(Ground.PROGRAM, refusals=(Refusal(Unfit.RULES, Why.RULES),)),
        "It does not reckon with rules between features. A mixed-integer program for each person reckons with all "
        "of it.",
    ),
    (Grounds(Ground.TREES, 1), "The model is a single tree, and every equation an action can reach is linear."),
    (
        Grounds(Ground.TREES, 1200),
        "The model is a sum of 1,200 trees, and every equation an action can reach is linear.",
    ),
    (
        Grounds(Ground.NETWORK, hidden=(8, 4)),
        "The model is a ReLU network with 8-4 hidden units, and every equation an action can reach is linear.",
    ),
    (
        Grounds(Ground.SCORES, 2),
        "The model compares 2 linear scores, and every equation an action can reach is linear.",
    ),
    (
        Grounds(Ground.ENCLOSED, value=1e-4, refusals=(Refusal(Unfit.EQUATIONS, Why.BENT, "b"),)),
        "It is not linear: the equation of 'b' is not linear, and an action can move it. All of it can be enclosed "
        "over boxes of actions, so answers are certified to 0.0001.",
    ),
    (
        Grounds(Ground.SEARCHED, refusals=(Refusal(Unfit.MODEL, Why.NOT_FINITE),), without=("gap", "time_limit")),
        "No solver that proves its answers fits, so actions are searched for. The classifier's numbers are not all "
        "finite. It has no gap and no time_limit, so that limits nothing.",
    ),
]


@pytest.mark.parametrize(("fact", "said"), EVERY_REFUSAL, ids=lambda value: getattr(value, "kind", ""))
def test_a_refusal_reads_alike_for_callers_and_authors_of_specs(fact, said):
    assert refusal_text(fact) == refusal_text(fact, "spec") == said


def test_a_limit_of_a_solver_is_written_as_readers_write_it():
    after = (
        " cannot be proven for a network with hidden layers: its boundary is reached by ever smaller boxes, so a cost "
        "is certified to a gap above zero."
    )
    assert refusal_text(GAP) == f"gap=0{after}"
    assert refusal_text(GAP, "spec") == f"gap: 0{after}"
    searched = Grounds(Ground.SEARCHED, refusals=(GAP,))
    assert "gap=0 cannot" in choice_text(searched)
    assert "gap: 0 cannot" in choice_text(searched, "spec")


@pytest.mark.parametrize(("fact", "said"), EVERY_GROUND, ids=lambda value: getattr(value, "kind", ""))
def test_a_choice_is_explained(fact, said):
    assert choice_text(fact) == choice_text(fact, "spec") == said


def test_who_chose_is_told_in_their_words():
    assert choice_text(Grounds(Ground.CALLER)) == "Chosen by the caller."
    assert choice_text(Grounds(Ground.CALLER), "spec") == "Chosen in the spec."


def test_every_kind_has_words():
    assert {fact.kind for fact, _ in EVERY_REFUSAL} | {Why.GAP} == set(Why)
    assert {fact.kind for fact, _ in EVERY_GROUND} | {Ground.CALLER} == set(Ground)


def test_a_reason_that_several_solvers_give_is_told_once():
    bent = Refusal(Unfit.EQUATIONS, Why.BENT, "b")
    assert refusals_text([bent, Refusal(Unfit.RULES, Why.RULES), bent]).count("'b' is not linear") == 1


@pytest.mark.parametrize("fact", [GAP, *(fact for fact, _ in (*EVERY_REFUSAL, *EVERY_GROUND))], ids=lambda f: f.kind)
def test_facts_come_back_from_json_and_pickles(fact):
    saved = json.loads(json.dumps(fact.to_dict()))
    assert type(fact).from_dict(saved) == pickle.loads(pickle.dumps(fact)) == fact


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Refusal(Unfit.COST, "The cost is not linear."), "'kind' of Refusal takes one of closed"),
        (lambda: Refusal("elsewhere", Why.RULES), "'part' of Refusal takes one of model"),
        (lambda: Refusal(Unfit.COST), "'detail' of Refusal takes"),
        (lambda: Refusal(Unfit.MODEL, Why.CLOSED, detail="x", takes="all"), "'takes' of Refusal takes one of score"),
        (lambda: Refusal(Unfit.EQUATIONS, Why.BENT), "'subject' of Refusal takes what 'bent' tells"),
        (lambda: Refusal(Unfit.ACTIONS, Why.MANY_WAYS, count=3, among=2), "'most' of Refusal takes"),
        (
            lambda: Refusal(Unfit.ACTIONS, Why.MANY_WAYS, count="3", among=2, most=1),
            "'count' of Refusal takes a finite",
        ),
        (lambda: Grounds("because"), "'kind' of Grounds takes one of caller"),
        (lambda: Grounds(Ground.TREES), "'count' of Grounds takes what 'trees' tells"),
        (lambda: Grounds(Ground.NETWORK, hidden=(3, 0)), "'hidden' of Grounds takes a tuple of whole numbers above 0"),
        (lambda: Grounds(Ground.SEARCHED, refusals=("no",)), "'refusals' of Grounds takes a tuple of Refusal"),
        (lambda: Grounds(Ground.SEARCHED, without=(3,)), "'without' of Grounds takes a tuple of names"),
    ],
)
def test_what_no_sentence_could_be_made_of_is_refused(make, says):
    with pytest.raises(ParameterError) as caught:
        make()
    assert says in caught.value.what


def test_the_record_of_an_audit_keeps_the_grounds_and_not_their_words():
    used = SolverUsed.of(ee.Search(), Grounds(Ground.SEARCHED, refusals=(GAP,)), "spec")
    saved = json.loads(json.dumps(Provenance(solver=used).to_dict()))
    assert "No solver" not in json.dumps(saved)
    assert Provenance.from_dict(saved).solver == used
    assert "gap: 0 cannot be proven" in Provenance.from_dict(saved).solver.reason
    saved["solver"]["grounds"]["refusals"][0]["value"] = None
    with pytest.raises(ValueError, match="'value' of Refusal"):
        Provenance.from_dict(saved)
