"""Levels with causes: abducted, moved and refused; against scikit-learn, scipy and simulation."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from equieffort import CumulativeLogit, LeastSquares, Linear, Ordinal, Probabilities, StructuralCausalModel
from equieffort.errors import CausalModelError, DataError, EquieffortWarning, ParameterError

GRADES = ["low", "middle", "high"]  # not in the order of the alphabet


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def people(n=400, seed=0, cuts=(-1.0, 1.5)):
    """True latent scores: 0.8 a - 1.2 [sex=m] + logistic noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "a": rng.normal(1, 2, n)})
    latent = 0.8 * frame["a"] - 1.2 * (frame["sex"] == "m") + rng.logistic(size=n)
    frame["grade"] = np.array(GRADES, dtype=object)[np.searchsorted(cuts, latent)]
    frame["owns"] = rng.logistic(size=n) + 0.5 * frame["a"] > 0
    frame["x"] = 2.0 * (frame["grade"] == "high") + 3.0 * frame["owns"] + rng.normal(size=n)
    frame.index = [f"p{(37 * k) % n}" for k in range(n)]
    return frame


EDGES = [("sex", "grade"), ("a", "grade"), ("a", "owns"), ("grade", "x"), ("owns", "x")]


def learned():
    return StructuralCausalModel(EDGES, mechanisms={"grade": Ordinal(GRADES), "owns": Ordinal()})


def given():
    grade = CumulativeLogit({"a": 0.8, "sex": {"m": -1.2}}, [-1.0, 1.5], order=GRADES)
    return StructuralCausalModel(EDGES, mechanisms={"grade": grade, "owns": CumulativeLogit({"a": 0.5}, [0.0])})


def shares(causes):
    score = 0.8 * causes["a"] - 1.2 * (causes["sex"] == "m")
    low, middle = sigmoid(-1.0 - score), sigmoid(1.5 - score)
    return np.column_stack([low, middle - low, 1 - middle])


def owning(causes):
    return np.column_stack([sigmoid(-0.5 * causes["a"]), 1 - sigmoid(-0.5 * causes["a"])])


def by_probabilities():
    return StructuralCausalModel(
        EDGES, mechanisms={"grade": Probabilities(shares, order=GRADES), "owns": Probabilities(owning)}
    )


every_model = pytest.mark.parametrize("make", [learned, given, by_probabilities])


@every_model
def test_unchanged_causes_return_the_fact(make):
    frame = people()
    scm = make().fit(frame)
    pd.testing.assert_frame_equal(scm.counterfactual(frame, {"a": frame["a"]}), frame)
    back = scm.predict(scm.abduct(frame))
    assert back["grade"].tolist() == frame["grade"].tolist()
    assert back["owns"].tolist() == frame["owns"].tolist()


@every_model
def test_abduct_act_predict_is_the_counterfactual(make):
    frame = people()
    scm = make().fit(frame)
    rng = np.random.default_rng(1)
    actions = [
        {"a": 3.0},
        {"a": rng.normal(size=len(frame)), "sex": "f"},
        {"grade": "low"},
        {"owns": frame["owns"]},
        {},
    ]
    for do in actions:
        at_once, in_steps = scm.counterfactual(frame, do), scm.predict(scm.abduct(frame), do)
        for node in ("grade", "owns", "sex"):
            assert at_once[node].tolist() == in_steps[node].tolist()
        np.testing.assert_allclose(at_once["x"], in_steps["x"], rtol=1e-9, atol=1e-9)


@every_model
def test_a_counterfactual_by_hand(make):
    """The middle of the interval of u, by plain arithmetic on the model's own probabilities."""
    frame = people(60)
    scm = make().fit(frame)
    if make is learned:
        equation = scm.mechanisms_["grade"]
        score = equation.coef["a"] * frame["a"] + equation.coef["sex"]["m"] * (frame["sex"] == "m")
        slope, cuts = equation.coef["a"], equation.cuts
    else:
        score, slope, cuts = 0.8 * frame["a"] - 1.2 * (frame["sex"] == "m"), 0.8, (-1.0, 1.5)
    done = scm.counterfactual(frame, {"a": frame["a"] + 2.0})
    for label, person in frame.iterrows():
        ends = [0.0, sigmoid(cuts[0] - score[label]), sigmoid(cuts[1] - score[label]), 1.0]
        rank = GRADES.index(person["grade"])
        u = (ends[rank] + ends[rank + 1]) / 2
        after = [sigmoid(cut - score[label] - 2.0 * slope) for cut in cuts]
        assert done.loc[label, "grade"] == GRADES[int(u > after[0]) + int(u > after[1])]
    assert (done["grade"] != frame["grade"]).any()


def test_a_push_never_lowers_a_level_and_reaches_the_ends():
    frame = people()
    scm = given().fit(frame)
    ranks = {grade: rank for rank, grade in enumerate(GRADES)}
    last = frame["grade"].map(ranks)
    for step in (0.1, 1.0, 5.0, 1000.0):
        now = scm.counterfactual(frame, {"a": frame["a"] + step})["grade"].map(ranks)
        assert (now >= last).all()
        last = now
    assert (last == 2).all()
    assert (scm.counterfactual(frame, {"a": -1000.0})["grade"] == "low").all()


def test_levels_are_taken_as_often_as_their_probability():
    """Noise drawn as the equation says gives the probabilities back."""
    frame = people(20_000, seed=3)
    scm = given().fit(frame)
    noise = scm.abduct(frame).assign(a=1.0, sex="f", grade=np.random.default_rng(0).logistic(size=len(frame)))
    drawn = scm.predict(noise)["grade"].value_counts(normalize=True)
    expected = dict(zip(GRADES, shares(pd.DataFrame({"a": [1.0], "sex": ["f"]}))[0], strict=True))
    for grade in GRADES:
        assert drawn[grade] == pytest.approx(expected[grade], abs=0.015)


def test_followers_of_levels_follow():
    frame = people()
    scm = given().fit(frame)
    done = scm.counterfactual(frame, {"a": 6.0})
    coef = scm.mechanisms_["x"].coef
    change = sum(
        value * ((done["grade"] == level).astype(float) - (frame["grade"] == level))
        for level, value in coef["grade"].items()
    )
    change += coef["owns"][True] * (done["owns"].astype(float) - frame["owns"])
    np.testing.assert_allclose(done["x"], frame["x"] + change, atol=1e-9)
    assert (done["x"] != frame["x"]).any()
    held = scm.counterfactual(frame, {"a": 6.0, "grade": frame["grade"], "owns": frame["owns"]})
    pd.testing.assert_frame_equal(held[["grade", "owns", "x"]], frame[["grade", "owns", "x"]])


def test_extreme_causes_lose_no_noise():
    """Far in either tail the middle still gives the fact back; a difference from 1 would be lost there."""
    frame = pd.DataFrame({"a": [-700.0, -60.0, 60.0, 700.0] * 2, "b": ["no"] * 4 + ["yes"] * 4})
    scm = StructuralCausalModel([("a", "b")], mechanisms={"b": CumulativeLogit({"a": 1.0}, [0.0])}).fit(frame)
    noise = scm.abduct(frame)["b"]
    assert np.isfinite(noise).all()
    assert scm.predict(scm.abduct(frame))["b"].tolist() == frame["b"].tolist()
    # A likely level says little of the noise, an unlikely one that it is as large as it had to be.
    done = scm.counterfactual(frame, {"a": 1.0})
    assert done["b"].tolist() == ["yes", "yes", "no", "no", "yes", "yes", "yes", "yes"]
    np.testing.assert_allclose(noise.iloc[[2, 5]], [-60.0 - np.log(2), 60.0 + np.log(2)])


@pytest.mark.parametrize("seed", range(3))
def test_two_levels_are_logistic_regression(seed):
    frame = people(300, seed)
    scm = StructuralCausalModel([("a", "owns"), ("sex", "owns")], mechanisms={"owns": Ordinal(penalty=1.0)}).fit(frame)
    design = np.column_stack([frame["a"], frame["sex"] == "m"]).astype(float)
    scale = design.std(axis=0)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(design / scale, frame["owns"])
    ours = scm.mechanisms_["owns"]
    np.testing.assert_allclose([ours.coef["a"], ours.coef["sex"]["m"]], theirs.coef_[0] / scale, rtol=1e-5)
    assert -ours.cuts[0] == pytest.approx(theirs.intercept_[0], rel=1e-5)


@pytest.mark.parametrize("levels", [3, 5])
def test_proportional_odds_are_the_most_likely(levels):
    """scipy, from another start and without derivatives of ours, finds nothing better and the same place."""
    rng = np.random.default_rng(levels)
    design = rng.normal(size=(250, 2)) * [1.0, 3.0]
    latent = design @ [1.0, -0.4] + rng.logistic(size=250)
    ranks = np.searchsorted(np.linspace(-2, 2, levels - 1), latent)
    frame = pd.DataFrame({"a": design[:, 0], "b": design[:, 1], "g": ranks})
    scm = StructuralCausalModel(
        [("a", "g"), ("b", "g")], categorical=["g"], mechanisms={"g": Ordinal(penalty=0.5)}
    ).fit(frame)
    ours = scm.mechanisms_["g"]
    spread = design.std(axis=0)

    def loss(point):
        cuts = np.concatenate([[-np.inf], np.cumsum([point[0], *np.exp(point[1 : levels - 1])]), [np.inf]])
        slopes = point[levels - 1 :]
        score = design @ slopes
        share = sigmoid(cuts[ranks + 1] - score) - sigmoid(cuts[ranks] - score)
        return -np.log(share).sum() + 0.25 * ((slopes * spread) ** 2).sum()

    start = np.concatenate([[-1.0], np.zeros(levels - 2), [0.0, 0.0]])
    theirs = minimize(loss, start, method="BFGS", options={"gtol": 1e-4})
    cuts = np.cumsum([theirs.x[0], *np.exp(theirs.x[1 : levels - 1])])
    np.testing.assert_allclose(ours.cuts, cuts, atol=1e-4)
    np.testing.assert_allclose([ours.coef["a"], ours.coef["b"]], theirs.x[levels - 1 :], atol=1e-4)
    assert list(ours.order) == list(range(levels))


def test_the_truth_is_learned():
    scm = learned().fit(people(20_000))
    grade = scm.mechanisms_["grade"]
    np.testing.assert_allclose([grade.coef["a"], grade.coef["sex"]["m"]], [0.8, -1.2], atol=0.08)
    np.testing.assert_allclose(grade.cuts, [-1.0, 1.5], atol=0.1)


def test_causes_that_decide_alone_stay_finite():
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40)})
    frame["b"] = np.where(frame["a"] > 0, "yes", "no")
    scm = StructuralCausalModel([("a", "b")], mechanisms={"b": Ordinal()}).fit(frame)
    assert np.isfinite(scm.mechanisms_["b"].coef["a"])
    pd.testing.assert_frame_equal(scm.counterfactual(frame, {}), frame)
    assert (scm.counterfactual(frame, {"a": 5.0})["b"] == "yes").all()


# What counts as an order


def test_the_order_of_two_levels_does_not_matter():
    frame = people()
    names = ["no", "yes"]
    frame["owns"] = np.where(frame["owns"], "yes", "no")
    done = []
    for order in (None, names, names[::-1]):
        scm = StructuralCausalModel([("a", "owns")], mechanisms={"owns": Ordinal(order)}).fit(frame)
        done.append(scm.counterfactual(frame, {"a": frame["a"] + 4.0})["owns"].tolist())
    assert done[0] == done[1] == done[2]
    assert done[0] != frame["owns"].tolist()


def test_declared_orders_are_taken():
    frame = people()
    base = learned().fit(frame).counterfactual(frame, {"a": 3.0})["grade"].tolist()
    edges, free = EDGES, {"grade": Ordinal(), "owns": Ordinal()}
    declared = frame.assign(grade=pd.Categorical(frame["grade"], categories=GRADES, ordered=True))
    assert (
        StructuralCausalModel(edges, mechanisms=free)
        .fit(declared)
        .counterfactual(declared, {"a": 3.0})["grade"]
        .tolist()
        == base
    )
    table = pl.DataFrame(frame).with_columns(pl.col("grade").cast(pl.Enum(GRADES)))
    scm = StructuralCausalModel(edges, mechanisms=free).fit(table)
    assert scm.counterfactual(table, {"a": 3.0})["grade"].tolist() == base
    # An order that is given wins over one that is declared.
    reverse = frame.assign(grade=pd.Categorical(frame["grade"], categories=GRADES[::-1], ordered=True))
    scm = learned().fit(reverse)
    assert scm.encoding_["grade"].levels == tuple(GRADES)
    assert scm.counterfactual(reverse, {"a": 3.0})["grade"].tolist() == base


def test_numbers_have_an_order():
    """As a category, or left a number: its values are its levels, and no other value comes out."""
    frame = people().assign(stage=lambda data: data["grade"].map({"low": 1, "middle": 2, "high": 10}))
    edges = [("a", "stage"), ("sex", "stage")]
    done = []
    for categorical in ([], ["stage"]):
        scm = StructuralCausalModel(edges, categorical=categorical, mechanisms={"stage": Ordinal()}).fit(frame)
        done.append(scm.counterfactual(frame, {"a": frame["a"] + 2.0})["stage"].tolist())
    assert done[0] == done[1]
    assert set(done[0]) <= {1, 2, 10}
    assert done[0] != frame["stage"].tolist()
    text = StructuralCausalModel([("a", "grade"), ("sex", "grade")], mechanisms={"grade": Ordinal(GRADES)}).fit(frame)
    ranks = text.counterfactual(frame, {"a": frame["a"] + 2.0})["grade"].map({"low": 1, "middle": 2, "high": 10})
    assert ranks.tolist() == done[0]
    with pytest.raises(DataError, match="'stage' holds 7") as caught:
        StructuralCausalModel(edges, mechanisms={"stage": Ordinal()}).fit(frame).abduct(frame.assign(stage=7))
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


def test_levels_without_an_order_are_refused():
    frame = people()
    for mechanism in (Ordinal(), CumulativeLogit({"a": 1.0}, [0.0, 1.0]), Probabilities(shares)):
        with pytest.raises(CausalModelError, match="no order") as caught:
            StructuralCausalModel(EDGES, mechanisms={"grade": mechanism}).fit(frame)
        assert caught.value.code == "SCM_CANNOT_ABDUCT"
        assert "Ordinal(order=" in caught.value.fix
    for mechanism in (LeastSquares(), Linear({"a": 1.0}), LogisticRegression()):
        with pytest.raises(CausalModelError, match="'grade'") as caught:
            StructuralCausalModel(EDGES, mechanisms={"grade": mechanism}).fit(frame)
        assert caught.value.code == "SCM_CANNOT_ABDUCT"
        assert "Ordinal(" in caught.value.fix


def test_undeclared_categories_keep_having_no_equation():
    frame = people()
    scm = StructuralCausalModel(EDGES).fit(frame)
    assert scm.mechanisms_["grade"] is None
    assert scm.mechanisms_["owns"] is None
    assert scm.equation("grade") is None
    with pytest.raises(CausalModelError, match="'grade'") as caught:
        scm.counterfactual(frame, {"a": 1.0})
    assert caught.value.code == "SCM_CANNOT_ABDUCT"
    assert "Ordinal(order=" in caught.value.fix


@pytest.mark.parametrize(
    ("mechanism", "code"),
    [
        (lambda: Ordinal(["low", "high"]), "SCM_MECHANISM"),
        (lambda: Ordinal(["low", "midle", "high"]), "SCM_MECHANISM"),
        (lambda: Ordinal(["low", "low", "middle", "high"]), "PARAMETER"),
        (lambda: Ordinal("low"), "PARAMETER"),
        (lambda: Ordinal(GRADES, penalty=0.0), "PARAMETER"),
        (lambda: CumulativeLogit({"a": 1.0}, [0.0], GRADES), "SCM_MECHANISM"),
        (lambda: CumulativeLogit({"a": 1.0}, [1.0, 0.0], GRADES), "SCM_MECHANISM"),
        (lambda: CumulativeLogit({"a": 1.0}, [0.0, np.inf], GRADES), "SCM_MECHANISM"),
        (lambda: CumulativeLogit({"a": np.nan}, [0.0, 1.0], GRADES), "SCM_MECHANISM"),
        (lambda: CumulativeLogit({"wealth": 1.0}, [0.0, 1.0], GRADES), "SCM_MECHANISM"),
        (lambda: Probabilities(shares, GRADES[:2]), "SCM_MECHANISM"),
    ],
)
def test_orders_and_cuts_that_cannot_be(mechanism, code):
    with pytest.raises((CausalModelError, ParameterError)) as caught:
        StructuralCausalModel(EDGES, mechanisms={"grade": mechanism()}).fit(people())
    assert caught.value.code == code


def test_numbers_that_are_not_levels_are_refused():
    frame = people()
    with pytest.raises(CausalModelError, match="400 levels") as caught:
        StructuralCausalModel(EDGES, mechanisms={"x": Ordinal()}).fit(frame)
    assert caught.value.code == "SCM_MECHANISM"
    with pytest.raises(CausalModelError, match="does not say"):
        StructuralCausalModel(EDGES, mechanisms={"x": CumulativeLogit({"owns": 1.0}, [0.0])}).fit(frame)
    with pytest.raises(CausalModelError, match="default is Ordinal"):
        StructuralCausalModel(EDGES, default=Ordinal())


def test_a_constant_has_no_levels_to_learn():
    frame = people().assign(owns=True, grade="low")
    for node in ("owns", "grade"):
        with pytest.raises(CausalModelError, match=f"'{node}'") as caught:
            StructuralCausalModel([("a", node)], mechanisms={node: Ordinal()}).fit(frame)
        assert caught.value.code == "SCM_MECHANISM"


def test_levels_nobody_has():
    """Learned: left out. Given: kept, since the equation says how likely they are."""
    frame = people()
    order = ["none", *GRADES]
    scm = StructuralCausalModel(EDGES[:2], mechanisms={"grade": Ordinal(order)}).fit(frame)
    assert scm.encoding_["grade"].levels == tuple(GRADES)
    four = CumulativeLogit({"a": 0.8}, [-8.0, -1.0, 1.5], order=order)
    scm = StructuralCausalModel(EDGES[:2], mechanisms={"grade": four}).fit(frame)
    assert (scm.counterfactual(frame, {"a": -1000.0})["grade"] == "none").all()


@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.ones(len(c)),
        lambda c: np.full((len(c), 3), 0.5),
        lambda c: np.tile([1.5, -0.5, 0.0], (len(c), 1)),
        lambda c: np.full((len(c), 3), np.nan),
        lambda c: c["sex"],
    ],
    ids=["shape", "sum", "negative", "nan", "text"],
)
def test_probabilities_must_be_some(f):
    frame = people()
    scm = StructuralCausalModel(EDGES, mechanisms={"grade": Probabilities(f, GRADES)}).fit(frame)
    with pytest.raises(CausalModelError, match="'grade'") as caught:
        scm.counterfactual(frame, {"a": 1.0})
    assert caught.value.code == "SCM_MECHANISM"


def test_people_whom_the_probabilities_exclude():
    frame = people()
    never = Probabilities(lambda c: np.tile([0.5, 0.5, 0.0], (len(c), 1)), GRADES)
    scm = StructuralCausalModel(EDGES, mechanisms={"grade": never, "owns": Ordinal()}).fit(frame)
    count = int((frame["grade"] == "high").sum())
    with pytest.raises(CausalModelError, match=f"{count} people have") as caught:
        scm.counterfactual(frame, {"a": 1.0})
    assert caught.value.code == "SCM_CANNOT_ABDUCT"
    # Where no cause moves nothing is asked.
    pd.testing.assert_frame_equal(scm.counterfactual(frame, {"a": frame["a"]}), frame)


# What the rest of the model makes of them


@every_model
def test_pickling_and_words(make):
    frame = people()
    scm = make().fit(frame)
    again = pickle.loads(pickle.dumps(scm))
    do = {"a": 2.0, "sex": "f"}
    pd.testing.assert_frame_equal(again.counterfactual(frame, do), scm.counterfactual(frame, do), check_exact=True)
    assert again.equations() == scm.equations()
    assert {line.split(" = ")[0] for line in scm.equations()} == {"grade", "owns", "x"}


def test_the_equation_in_words():
    words = CumulativeLogit({"a": 0.8, "sex": {"m": -1.2}}, [-1.0, 1.5], order=GRADES).equation("grade")
    assert words == ("grade = low if 0 + 0.8*a - 1.2*[sex=m] + logistic noise <= -1, middle if <= 1.5, else high")


def test_given_levels_need_no_fit_but_noise_does():
    frame = people()
    scm = StructuralCausalModel(EDGES[:3], mechanisms=given().mechanisms)
    done = scm.counterfactual(frame, {"a": 3.0})
    pd.testing.assert_frame_equal(done, given().fit(frame).counterfactual(frame, {"a": 3.0}).assign(x=frame["x"]))
    with pytest.raises(CausalModelError) as caught:
        scm.predict(scm.abduct(frame))
    assert caught.value.code == "SCM_NOT_FITTED"


def test_the_diagnostics_speak_of_ranks():
    frame = people(2000)
    report = learned().fit(frame).diagnostics_.set_index("node")
    scm = given().fit(frame)
    ranks = frame["grade"].map({grade: rank for rank, grade in enumerate(GRADES)})
    expected = shares(frame) @ [0, 1, 2]
    assert report.loc["grade", "r2"] == pytest.approx(1 - ((ranks - expected) ** 2).mean() / ranks.var(), abs=0.01)
    assert set(scm.diagnostics_["node"]) == {"x"}
    blind = frame.assign(a=np.random.default_rng(5).normal(size=2000))
    with pytest.warns(EquieffortWarning, match="explains"):
        StructuralCausalModel([("a", "grade")], mechanisms={"grade": Ordinal(GRADES)}).fit(blind)
    with pytest.raises(CausalModelError) as caught:
        learned().fit(frame.iloc[:4])
    assert caught.value.code == "SCM_TOO_FEW_ROWS"


@pytest.mark.parametrize("seed", range(3))
def test_reachable_levels_cover_what_is_reached(seed):
    frame = people(80, seed)
    scm = given().fit(frame)
    f, rng = scm.equation("grade"), np.random.default_rng(seed)
    assert f.is_bounded
    facts = scm.encoding_.encode(frame)
    own = facts[:, scm.encoding_.position("grade")]
    before = facts[:, [scm.encoding_.position(name) for name in scm.causes("grade").names]]
    noise = f.abduct(own, before)
    k = scm.causes("grade").position("a")
    low, high = before.copy(), before.copy()
    low[:, k] -= 5 * rng.random(80) ** 2
    high[:, k] += 5 * rng.random(80) ** 2
    lowest, highest = f.reach(noise, low, high)
    reached = []
    for share in np.linspace(0, 1, 300):
        after = low + share * (high - low)
        levels = f.counterfactual(own, before, after)
        assert ((lowest <= levels) & (levels <= highest)).all()
        reached.append(levels)
    # Nothing is named that a fine grid does not reach.
    np.testing.assert_array_equal(lowest, np.min(reached, axis=0))
    np.testing.assert_array_equal(highest, np.max(reached, axis=0))
    one, other = f.reach(noise, before, before)
    np.testing.assert_array_equal(one, own)
    np.testing.assert_array_equal(other, own)


def test_levels_by_probabilities_are_not_bounded():
    frame = people()
    scm = by_probabilities().fit(frame)
    f = scm.equation("grade")
    assert not f.is_bounded
    assert "not known" in f.why_unbounded
    box = np.zeros((5, 2))
    lowest, highest = f.reach(np.full(5, 0.5), box, box)
    assert (lowest == 0).all()
    assert (highest == 2).all()
