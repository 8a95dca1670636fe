"""The worlds against closed forms and against equations written out again, one person at a time."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, kstest, norm
from sklearn.linear_model import LogisticRegression
from tests.limits import unlimited

import equieffort as ee
from equieffort.datasets import World, fair_recourse, karimi_loan, karimi_three_variables, worlds
from equieffort.errors import CausalModelError, DataError, ParameterError

ALL = {world.name: world for world in worlds()}
MANY = 200_000


def sig(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def sgn(z: float) -> float:
    return float(np.sign(z))


def walk(equations, noise, do):
    """One person, one equation after the other: (name, f(values, noise)) in causal order."""
    values = {}
    for name, f in equations:
        values[name] = do[name] if name in do else f(values, noise[name])
    return values


ROOT = lambda v, u: u  # noqa: E731
A_X1_X2 = [("A", ROOT), ("X1", lambda v, u: 0.5 * v["A"] + u), ("X2", ROOT)]
WRITTEN = {
    "three variables, linear": [
        ("X1", ROOT),
        ("X2", lambda v, u: -v["X1"] + u),
        ("X3", lambda v, u: 0.05 * v["X1"] + 0.25 * v["X2"] + u),
    ],
    "three variables, additive": [
        ("X1", ROOT),
        ("X2", lambda v, u: 3 * sig(2 * v["X1"]) - 1 + u),
        ("X3", lambda v, u: -0.05 * v["X1"] - 0.25 * v["X2"] ** 2 + u),
    ],
    "three variables, non-additive": [
        ("X1", ROOT),
        ("X2", lambda v, u: 0.25 * sgn(u) * v["X1"] ** 2 * (1 + u**2)),
        ("X3", lambda v, u: -1 + 0.1 * sgn(u) * (v["X1"] ** 2 + v["X2"] ** 2) + u),
    ],
    "loan": [
        ("G", ROOT),
        ("A", ROOT),
        ("E", lambda v, u: -0.5 + sig(-1 + 0.5 * v["G"] + sig(0.1 * v["A"]) + u)),
        ("L", lambda v, u: 1 + 0.01 * (v["A"] - 5) * (5 - v["A"]) + v["G"] + u),
        ("D", lambda v, u: -1 + 0.1 * v["A"] + 2 * v["G"] + v["L"] + u),
        ("I", lambda v, u: -4 + 0.1 * (v["A"] + 35) + 2 * v["G"] + v["G"] * v["E"] + u),
        ("S", lambda v, u: -4 + 1.5 * max(v["I"], 0.0) + u),
    ],
    "IMF": [*A_X1_X2, ("X3", lambda v, u: 0.5 * v["A"] + u)],
    "CAU linear": [*A_X1_X2, ("X3", lambda v, u: 0.5 * (v["A"] + v["X1"] - v["X2"]) + u)],
    "CAU additive": [*A_X1_X2, ("X3", lambda v, u: 0.5 * v["A"] + 0.1 * (v["X1"] ** 3 - v["X2"] ** 3) + u)],
}


def written(world: World):
    return WRITTEN[world.name if world.name in WRITTEN else world.name.split(",")[0]]


@pytest.fixture(scope="module", params=list(ALL))
def world(request) -> World:
    return ALL[request.param]


def random_interventions(world: World, people: pd.DataFrame, rng: np.random.Generator, names):
    """For each person a random set of interventions; NaN where there is none."""
    do = {}
    for name in names:
        values = rng.permutation(people[name].to_numpy(dtype=float)) + rng.normal(size=len(people))
        do[name] = np.where(rng.random(len(people)) < 0.4, values, np.nan)
    return do


# --- what every world has in common


def test_there_are_ten():
    assert len(ALL) == len(worlds()) == 10


def test_people_labels_and_seeds(world):
    people, labels = world.sample(50, random_state=3)
    assert tuple(people.columns) == world.columns
    assert list(people.index) == list(range(50)) == list(labels.index)
    assert labels.name == "Y"
    assert set(labels) == {0, 1}
    again, labels_again = world.sample(50, random_state=np.random.default_rng(3))
    pd.testing.assert_frame_equal(people, again)
    pd.testing.assert_series_equal(labels, labels_again)
    assert not people.equals(world.sample(50, random_state=4)[0])


def test_the_graph_has_the_causes_that_the_equations_use(world):
    # A column is a cause exactly if moving it alone, the noise held, moves the effect.
    people, _ = world.sample(40, random_state=5)
    noise = world.noise(people)
    for cause in world.columns:
        for effect in world.columns:
            if effect == cause:
                continue
            others = {name: people[name] for name in world.columns if name not in (cause, effect)}
            after = world.counterfactual(noise, {cause: people[cause] + 1.0, **others})
            moved = not np.allclose(after[effect], people[effect])
            assert moved == ((cause, effect) in world.graph.edges), (cause, effect)


def test_people_come_back_from_their_noise(world):
    people, _ = world.sample(2000, random_state=6)
    noise = world.noise(people)
    back = world.counterfactual(noise)
    pd.testing.assert_frame_equal(back, people, rtol=1e-9, atol=1e-9)
    pd.testing.assert_frame_equal(world.noise(back), noise, rtol=1e-5, atol=1e-7, check_dtype=False)


def test_setting_everything_to_its_fact_changes_nothing(world):
    people, _ = world.sample(500, random_state=7)
    noise = world.noise(people)
    for name in world.columns:
        held = world.counterfactual(noise, {name: people[name]})
        pd.testing.assert_frame_equal(held, people, rtol=1e-9, atol=1e-9)


def test_counterfactuals_against_the_equations_written_out(world):
    people, _ = world.sample(60, random_state=8)
    rng = np.random.default_rng(8)
    noise = pd.DataFrame(world.draw(rng, 60))
    do = random_interventions(world, people, rng, world.columns)
    answers = world.counterfactual(noise, do)
    for row in range(60):
        own = {name: values[row] for name, values in do.items() if not np.isnan(values[row])}
        expected = walk(written(world), noise.iloc[row].to_dict(), own)
        assert answers.iloc[row].to_dict() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_noise_against_the_equations_written_out(world):
    drawn = pd.DataFrame(world.draw(np.random.default_rng(9), 60))
    people = pd.DataFrame([walk(written(world), drawn.iloc[row].to_dict(), {}) for row in range(60)])
    found = world.noise(people)
    pd.testing.assert_frame_equal(found, drawn.astype(float), rtol=1e-6, atol=1e-8, check_dtype=False)


def test_the_causal_model_says_the_same_of_every_action(world):
    if world.scm is None:
        assert world.name == "three variables, non-additive"
        return
    people, _ = world.sample(400, random_state=10)
    noise = world.noise(people)
    settable = [name for name in world.columns if world.name != "loan" or name not in ("G", "A")]
    assert set(world.actionable) <= set(settable)
    do = random_interventions(world, people, np.random.default_rng(10), settable)
    for chosen in (settable, settable[:1], settable[-1:], settable[::2]):
        settings = {name: np.where(np.isnan(do[name]), people[name], do[name]) for name in chosen}
        true = world.counterfactual(noise, settings)
        model = world.scm.counterfactual(people, settings)
        pd.testing.assert_frame_equal(model, true, rtol=1e-9, atol=1e-9, check_dtype=False)


def test_the_causal_model_travels(world):
    if world.scm is not None:
        people, _ = world.sample(20)
        copy = pickle.loads(pickle.dumps(world.scm.ready(people)))
        do = {world.actionable[0]: 1.0}
        pd.testing.assert_frame_equal(copy.counterfactual(people, do), world.scm.counterfactual(people, do))


def test_labels_are_drawn_with_their_probability(world):
    people, labels = world.sample(MANY, random_state=11)
    chance = world.probability(people)
    assert ((chance >= 0) & (chance <= 1)).all()
    for low in np.arange(0.0, 1.0, 0.1):
        inside = (chance >= low) & (chance < low + 0.1)
        # Six standard errors of a share.
        assert labels[inside].mean() == pytest.approx(chance[inside].mean(), abs=3 / math.sqrt(inside.sum()))


def test_index_and_whole_numbers_are_kept():
    world = karimi_loan()
    people, _ = world.sample(5)
    named = people.set_axis(list("abcde"))
    after = world.counterfactual(world.noise(named), {"E": [0.1, np.nan, 0.1, np.nan, 0.1]})
    assert list(after.index) == list("abcde")
    assert after["G"].dtype == people["G"].dtype == "int64"
    assert after["E"].tolist() == pytest.approx([0.1, people["E"][1], 0.1, people["E"][3], 0.1])


# --- each world against what can be derived by hand


def close(values, mean: float, variance: float) -> None:
    """Mean and variance of a large sample: within six standard errors (those of the variance from the sample)."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    assert values.mean() == pytest.approx(mean, abs=6 * math.sqrt(variance / n))
    fourth = float(np.mean((values - mean) ** 4))
    assert values.var() == pytest.approx(variance, abs=6 * math.sqrt((fourth - variance**2) / n))


def test_three_linear():
    people, _ = karimi_three_variables("linear").sample(MANY, random_state=1)
    # X1: mean (-2 + 1)/2, variance (1.5 + 1)/2 + (3/2)^2. X3 = -.2 X1 + .25 U2 + U3.
    close(people["X1"], -0.5, 3.5)
    close(people["X2"], 0.5, 4.5)
    close(people["X3"], 0.1, 0.04 * 3.5 + 0.0625 + 1)
    assert np.cov(people["X1"], people["X2"])[0, 1] == pytest.approx(-3.5, abs=0.1)
    mixture = lambda x: 0.5 * norm.cdf(x, -2, math.sqrt(1.5)) + 0.5 * norm.cdf(x, 1, 1)  # noqa: E731
    assert kstest(people["X1"], mixture).pvalue > 1e-6


def test_three_additive():
    people, _ = karimi_three_variables("additive").sample(MANY, random_state=2)
    density = lambda x: 0.5 * norm.pdf(x, -2, math.sqrt(1.5)) + 0.5 * norm.pdf(x, 1, 1)  # noqa: E731
    moments = [quad(lambda x, k=k: density(x) * (3 * sig(2 * x) - 1) ** k, -15, 12, limit=200)[0] for k in (1, 2)]
    close(people["X2"], moments[0], moments[1] - moments[0] ** 2 + 0.1)
    close(people["X1"], -0.5, 3.5)
    # E X3 = -.05 E X1 - .25 E X2^2
    assert people["X3"].mean() == pytest.approx(0.025 - 0.25 * (moments[1] + 0.1), abs=0.02)
    close(people["X2"] - 3 / (1 + np.exp(-2 * people["X1"])) + 1, 0, 0.1)
    close(people["X3"] + 0.05 * people["X1"] + 0.25 * people["X2"] ** 2, 0, 1)


def test_three_non_additive():
    people, _ = karimi_three_variables("non-additive").sample(MANY, random_state=3)
    X1, X2, X3 = (people[name].to_numpy() for name in people)
    close(X1, 0, 1 + 2.5**2)
    # E X1^4 = m^4 + 6 m^2 + 3 and E (1 + U2^2)^2 = 1 + 2/4 + 3/16.
    square = 0.0625 * (2.5**4 + 6 * 2.5**2 + 3) * (1 + 0.5 + 3 / 16)
    close(X2, 0, square)
    assert np.abs(X2).mean() == pytest.approx(0.25 * 7.25 * 1.25, rel=0.02)
    assert X3.mean() == pytest.approx(-1, abs=0.05)
    assert np.abs(X3 + 1).mean() == pytest.approx(0.1 * (7.25 + square) + 0.25 * math.sqrt(2 / math.pi), rel=0.02)
    assert (X2 > 0).mean() == pytest.approx(0.5, abs=0.01)
    assert (np.abs(X2) >= 0.25 * X1**2).all()


def test_a_noise_lost_in_rounding_keeps_its_sign():
    # Both equations jump where the noise changes its sign: the wrong sign is another person.
    world = karimi_three_variables("non-additive")
    signs = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)] * 50, dtype=float)
    X1 = np.random.default_rng(9).normal(0, 3, len(signs))
    people = world.counterfactual(pd.DataFrame({"X1": X1, "X2": 1e-12 * signs[:, 0], "X3": 1e-18 * signs[:, 1]}))
    noise = world.noise(people)
    assert np.sign(noise[["X2", "X3"]].to_numpy()).tolist() == signs.tolist()
    pd.testing.assert_frame_equal(world.counterfactual(noise), people, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("equations", ["linear", "additive", "non-additive"])
def test_the_label_is_scaled_by_the_mean_size_of_the_sum(equations):
    world = karimi_three_variables(equations)
    people, _ = world.sample(400_000, random_state=4)
    total = people.sum(axis=1)
    # log odds = s (X1 + X2 + X3), s = 2.5 / mean |X1 + X2 + X3|
    some = total[np.abs(total) < 2]
    odds = world.probability(people.loc[some.index])
    s = np.median(np.log(odds / (1 - odds)) / some)
    size = np.abs(total)
    assert 2.5 / s == pytest.approx(size.mean(), abs=6 * size.std() / math.sqrt(len(size)))


def test_the_scale_of_the_linear_world_in_closed_form():
    # X1 + X2 + X3 = -.2 X1 + 1.25 U2 + U3 is one of two normals; the mean of a folded normal is known.
    def folded(mean: float, variance: float) -> float:
        sd = math.sqrt(variance)
        tail = norm.cdf(-mean / sd)
        return sd * math.sqrt(2 / math.pi) * math.exp(-(mean**2) / (2 * variance)) + mean * (1 - 2 * tail)

    size = (folded(0.4, 0.04 * 1.5 + 1.25**2 + 1) + folded(-0.2, 0.04 + 1.25**2 + 1)) / 2
    chance = karimi_three_variables("linear").probability(pd.DataFrame({"X1": [0.5], "X2": [0.25], "X3": [0.25]}))
    assert chance[0] == pytest.approx(sig(2.5 / size), rel=1e-10)


def test_loan():
    people, _ = karimi_loan().sample(MANY, random_state=5)
    G, A, E, L, D, income, S = (people[name].to_numpy(dtype=float) for name in people)
    assert set(G) == {0, 1}
    assert G.mean() == pytest.approx(0.5, abs=3 / math.sqrt(MANY))
    close(A, 0, 10 * 3.5**2)
    assert kstest(A, gamma(10, loc=-35, scale=3.5).cdf).pvalue > 1e-6
    # (A - 5)^2 from the central moments of a Gamma: k t^2, 2 k t^3, (3 k^2 + 6 k) t^4.
    second, third, fourth = 122.5, 857.5, 360 * 3.5**4
    spread = fourth - second**2 + 100 * second - 20 * third
    close(L, 1 - 0.01 * (second + 25) + 0.5, 1e-4 * spread + 0.25 + 4)
    assert D.mean() == pytest.approx(-1 + 1 + 0.025, abs=0.06)
    # The conditional laws of the others, given their causes.
    close(np.log((0.5 + E) / (0.5 - E)) + 1 - 0.5 * G - 1 / (1 + np.exp(-0.1 * A)), 0, 0.25)
    close(D + 1 - 0.1 * A - 2 * G - L, 0, 9)
    close(income + 4 - 0.1 * (A + 35) - 2 * G - G * E, 0, 4)
    close(S + 4 - 1.5 * np.maximum(income, 0), 0, 25)
    # Means and standard deviations of a sample of theirs that Dominguez-Olmedo et al. (2022) publish with their code.
    theirs = {
        "E": (-0.0594, 0.1377),
        "L": (0.0139, 2.788),
        "D": (-0.001, 4.546),
        "I": (0.4871, 2.512),
        "S": (-2.076, 5.565),
    }
    for name, (mean, sd) in theirs.items():
        assert people[name].mean() == pytest.approx(mean, abs=0.05 * sd)
        assert people[name].std() == pytest.approx(sd, rel=0.03)
    chance = karimi_loan().probability(people.iloc[:3])
    for k in range(3):
        z = 0.3 * (-L[k] - D[k] + income[k] + S[k] + income[k] * S[k])
        assert chance[k] == pytest.approx(sig(z))


def test_the_noise_of_education_stands_inside_the_sigmoid():
    # An older person moves less along the flat end of the sigmoid: not additive, so equal steps are not equal changes.
    world = karimi_loan()
    people = pd.DataFrame({"G": [0, 0], "A": [0.0, 0.0], "E": [-0.4, 0.0], "L": 0.0, "D": 0.0, "I": 0.0, "S": 0.0})
    after = world.counterfactual(world.noise(people), {"G": 1})
    for row, fact in enumerate([-0.4, 0.0]):
        odds = math.log((0.5 + fact) / (0.5 - fact)) + 0.5
        assert after["E"][row] == pytest.approx(sig(odds) - 0.5)
    change = after["E"] - people["E"]
    assert change[1] > 2 * change[0]


@pytest.mark.parametrize("labels", ["linear", "radial"])
@pytest.mark.parametrize(
    ("equations", "shift", "variance"),
    [
        ("IMF", 0.5, 1.0),
        # .5 A + .25 A, and .25 + .25 + 1
        ("CAU linear", 0.75, 1.5),
        # E X1^3 = m^3 + 3 m with m = A/2; Var X1^3 = m^6 + 15 m^4 + 45 m^2 + 15 - (m^3 + 3 m)^2; Var X2^3 = 15.
        ("CAU additive", 0.5 + 0.1 * 1.625, 1 + 0.01 * (27.203125 - 1.625**2 + 15)),
    ],
)
def test_fair_recourse(equations, labels, shift, variance):
    world = fair_recourse(equations, labels=labels)
    people, _ = world.sample(MANY, random_state=6)
    assert set(people["A"]) == {-1, 1}
    assert people["A"].mean() == pytest.approx(0, abs=6 / math.sqrt(MANY))
    for group in (-1, 1):
        own = people[people["A"] == group]
        close(own["X1"], 0.5 * group, 1)
        close(own["X2"], 0, 1)
        close(own["X3"], shift * group, variance)
    some = people.iloc[:50]
    z = 2 * (some["X1"] - some["X2"] + some["X3"])
    if labels == "radial":
        z = (some["X1"] + 2 * some["X2"] + some["X3"]) ** 2 - 4
    assert world.probability(some) == pytest.approx([sig(value) for value in z], rel=1e-9)


def gaps(world: World, classifier: ee.LinearScore) -> np.ndarray:
    """For each refused person the effort of their twin, with the other A and all that follows from it, minus theirs."""
    people, _ = world.sample(300, random_state=7)
    twins = world.counterfactual(world.noise(people), {"A": -people["A"]})
    features = dict.fromkeys(world.actionable, "actionable")
    schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=unlimited(features))
    problem = ee.RecourseProblem.of(classifier, people, schema=schema, scm=world.scm)
    own, other = (ee.solve(problem, rows, solver=ee.LinearExact()) for rows in (people, twins))
    assert (own.status[own.is_unfavourable] == ee.Status.OPTIMAL).all()
    return np.nan_to_num(other.effort[own.is_unfavourable]) - own.effort[own.is_unfavourable]


@pytest.mark.parametrize("equations", ["IMF", "CAU linear"])
def test_a_classifier_that_sees_no_descendant_of_the_group_has_no_individual_gap(equations):
    world = fair_recourse(equations)
    blind = gaps(world, ee.LinearScore({"X2": -1.0}, threshold=0.3))
    assert len(blind) > 100
    assert (blind == 0).all()
    # One that sees the descendants asks more of one twin than of the other.
    assert np.median(np.abs(gaps(world, ee.LinearScore({"X1": 1.0, "X2": -1.0, "X3": 1.0}, threshold=0.3)))) > 0.1


@pytest.mark.parametrize("name", ["three variables, linear", "IMF, linear labels", "CAU linear, radial labels"])
def test_with_the_true_equations_every_recourse_is_valid_in_the_true_world(name):
    world = ALL[name]
    X, y = world.sample(600, random_state=8)
    classifier = LogisticRegression().fit(X, y)
    X = X.assign(half=np.arange(600) % 2)
    features = dict.fromkeys(world.actionable, "actionable")
    schema = ee.Schema(sensitive="half", protected=0, favourable=1, features=unlimited(features))
    table = ee.solve(ee.RecourseProblem.of(classifier, X, schema=schema, scm=world.scm), X)
    assert table.is_unfavourable.sum() > 100
    assert table.has_action[table.is_unfavourable].all()
    actions = table.frame()
    do = {column: actions[f"do_{column}"] for column in world.actionable}
    after = world.counterfactual(world.noise(X[list(world.columns)]), do)
    assert (classifier.predict(after) == 1).all()


# --- learned equations: savings follow income along a bend, S = -4 + 1.5 max(I, 0) + noise


def saving_up(learner, margin: float = 0.0):
    """People of the loan world who need savings of 6 and can only change their income, under learned equations."""
    world = karimi_loan()
    people, _ = world.sample(3000, random_state=12)
    asked, _ = world.sample(150, random_state=13)
    scm = ee.StructuralCausalModel([("I", "S")], default=learner).fit(people)
    features = {"I": ee.Feature("actionable", lower=-8, upper=people["I"].max()), "S": "mutable"}
    schema = ee.Schema(sensitive="G", protected=0, favourable=True, features=unlimited(features))
    rule = ee.LinearScore({"S": 1.0}, threshold=6.0)
    X = asked[["G", "I", "S"]]
    table = ee.solve(ee.RecourseProblem.of(rule, X, schema=schema, scm=scm, margin=margin), X)
    after = world.counterfactual(world.noise(asked), {"I": table.frame()["do_I"]})
    acting = table.has_action
    assert acting.sum() > 40
    return people, asked[acting], after[acting], scm


def test_a_line_through_a_bend_asks_those_with_income_for_too_much_and_misleads_those_without():
    people, asked, after, _ = saving_up(ee.LeastSquares())
    slope = np.polyfit(people["I"], people["S"], 1)[0]
    assert slope < 1.2
    income, raised = asked["I"].to_numpy(), (after["I"] - asked["I"]).to_numpy()
    assert raised == pytest.approx((6 - asked["S"].to_numpy()) / slope)
    # With an income every unit truly brings 1.5: the action is valid, and longer than needed by 1.5 / slope.
    assert (income > 0).sum() > 20
    assert after["S"][income > 0].to_numpy() == pytest.approx((asked["S"] + 1.5 * raised)[income > 0].to_numpy())
    assert (after["S"][income > 0] > 6).all()
    # Without one the first part of the way brings nothing, and for some that decides.
    assert (after["S"][income < 0] < 6).any()


@pytest.mark.parametrize("learner", [ee.Spline(), ee.Spline(degree=1), ee.Polynomial(3)], ids=repr)
def test_a_margin_as_wide_as_the_errors_of_the_curve_makes_every_action_valid(learner):
    people, _, after, scm = saving_up(learner)
    assert (after["S"] < 6).any()
    grid = np.linspace(-8, people["I"].max(), 20_001)
    error = scm.equation("S")(grid[:, None]) - (-4 + 1.5 * np.maximum(grid, 0))
    # What an action does is a difference of two values of the curve, so it cannot fall short by more.
    largest = float(np.ptp(error))
    assert (6 - after["S"]).max() <= largest + 1e-3
    _, _, safe, _ = saving_up(learner, margin=largest + 1e-3)
    assert (safe["S"] >= 6).all()


# --- bad input


def test_people_who_cannot_be():
    people, _ = karimi_loan().sample(3)
    with pytest.raises(
        CausalModelError, match=r"No noise gives 'E' the value 0\.7 of row 1 in the world 'loan'"
    ) as caught:
        karimi_loan().noise(people.assign(E=[0.0, 0.7, 0.1]))
    assert caught.value.code == "SCM_CANNOT_ABDUCT"
    signed = karimi_three_variables("non-additive")
    for column, value in (("X2", 0.5), ("X2", 0.0), ("X3", -0.5), ("X3", -1.0)):
        person = pd.DataFrame({"X1": [2.0], "X2": [-1.5], "X3": [3.0]}).assign(**{column: value})
        with pytest.raises(CausalModelError, match=f"No noise gives '{column}'"):
            signed.noise(person)
    with pytest.raises(CausalModelError, match="No noise gives 'X2'"):
        signed.noise(pd.DataFrame({"X1": [0.0], "X2": [1.0], "X3": [3.0]}))


def test_bad_tables():
    world = karimi_three_variables()
    people, _ = world.sample(3)
    with pytest.raises(DataError, match="X2") as caught:
        world.noise(people.drop(columns="X2"))
    assert caught.value.code == "DATA_MISSING_COLUMN"
    with pytest.raises(DataError, match="missing value"):
        world.probability(people.assign(X1=np.nan))


@pytest.mark.parametrize("do", [{"X4": 1.0}, {"X1": [1.0, 2.0]}, {"X1": math.inf}])
def test_bad_interventions(do):
    world = karimi_three_variables()
    with pytest.raises(ParameterError, match="do ") as caught:
        world.counterfactual(world.noise(world.sample(3)[0]), do)
    assert caught.value.code == "SCM_DO"


def test_bad_choices():
    for make in (
        lambda: karimi_three_variables("cubic"),
        lambda: fair_recourse("CAU"),
        lambda: fair_recourse(labels="round"),
        lambda: karimi_loan().sample(0),
        lambda: karimi_loan().sample(3, random_state="x"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.code == "PARAMETER"


def test_a_function_of_the_factual_values_sets_a_column():
    world = karimi_three_variables()
    people, _ = world.sample(20, random_state=2)
    noise = world.noise(people)
    name = world.columns[0]
    after = world.counterfactual(noise, do={name: lambda v: v + 1})
    pd.testing.assert_frame_equal(after, world.counterfactual(noise, do={name: people[name] + 1}))
