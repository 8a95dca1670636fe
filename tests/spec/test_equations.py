"""Structural equations that a spec declares: the same model as in Python, and errors with their line and column."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import equieffort as ee
from equieffort.data.inputs import read_table
from equieffort.errors import EquieffortError
from equieffort.models.surrogate import train_surrogate
from equieffort.spec import Spec, parse_spec, read_spec
from equieffort.spec.causes import with_levels
from equieffort.spec.runs import causal_model, run_spec

pytestmark = pytest.mark.usefixtures("quiet")

EDGES = [("age", "income"), ("region", "income"), ("income", "savings"), ("income", "housing")]
SPEC = """\
data: {path: town.csv, id: who}
model: {train: logistic}
outcome: {column: decided, favourable: granted}
sensitive: {column: sex, protected: female, reference: male}
graph:
  edges: [[age, income], [region, income], [income, savings], [income, housing]]
  # here
features:
  age: immutable
  region: immutable
  income: {role: actionable, direction: up, max_increase: 30}
  savings: mutable
  housing: mutable
random_state: 3
"""
LEVELS = ["rents", "pays off", "owns"]


def town(n: int = 120) -> pd.DataFrame:
    """Savings bend with income, and housing follows it in steps."""
    rng = np.random.default_rng(4)
    age, region = rng.integers(20, 60, n), rng.choice(["north", "south"], n)
    sex = np.array(["female", "male"])[np.arange(n) % 2]
    income = (20 + 0.4 * age + 3 * (region == "south") + rng.normal(0, 6, n)).round(1)
    savings = (0.02 * income**2 + rng.normal(0, 3, n)).round(1)
    housing = np.array(LEVELS)[np.searchsorted([35, 45], income + rng.normal(0, 6, n))]
    decided = np.where(income + savings + 5 * (housing == "owns") > 78, "granted", "denied")
    who = [f"{k:04d}" for k in range(n)]
    columns = {"sex": sex, "age": age, "region": region, "income": income, "savings": savings, "housing": housing}
    return pd.DataFrame({"who": who, **columns, "decided": decided})


@pytest.fixture
def made(tmp_path):
    """The spec of the town with lines under graph."""

    def make(*lines: str, table: pd.DataFrame | None = None) -> Spec:
        (town() if table is None else table).to_csv(tmp_path / "town.csv", index=False)
        text = SPEC.replace("  # here\n", "".join(f"  {line}\n" for line in lines))
        (tmp_path / "town.yaml").write_text(text, encoding="utf-8")
        return read_spec(tmp_path / "town.yaml")

    return make


def model(spec: Spec) -> ee.StructuralCausalModel:
    return causal_model(spec, read_table(spec.data).drop(columns="decided"))[0]


def by_hand(mechanisms=None, default=None) -> ee.StructuralCausalModel:
    return ee.StructuralCausalModel(EDGES, mechanisms=mechanisms, default=default).fit(people())


def people() -> pd.DataFrame:
    return town().set_index("who").drop(columns="decided")


DECLARED = [
    ("default: linear", {}, ee.LeastSquares()),
    ("default: {kind: linear, intercept: false}", {}, ee.LeastSquares(intercept=False)),
    ("default: polynomial", {}, ee.Polynomial()),
    ("default: {kind: polynomial, degree: 3, interactions: true}", {}, ee.Polynomial(3, interactions=True)),
    ("default: spline", {}, ee.Spline()),
    ("default: {kind: spline, knots: 4, degree: 2, beyond: constant}", {}, ee.Spline(4, 2, "constant")),
    ("default: {kind: tree, max_depth: 3}", {}, ee.Regressor(DecisionTreeRegressor(max_depth=3, random_state=3))),
    (
        "default: {kind: forest, n_estimators: 5, min_samples_leaf: 4}",
        {},
        ee.Regressor(RandomForestRegressor(5, min_samples_leaf=4, random_state=3)),
    ),
    (
        "default: {kind: extra_trees, n_estimators: 4, max_depth: 2}",
        {},
        ee.Regressor(ExtraTreesRegressor(4, max_depth=2, random_state=3)),
    ),
    (
        "default: {kind: boosted, n_estimators: 6, learning_rate: 0.3, max_depth: 2}",
        {},
        ee.Regressor(GradientBoostingRegressor(n_estimators=6, learning_rate=0.3, max_depth=2, random_state=3)),
    ),
    (
        "default: {kind: hist_boosted, max_iter: 7, max_depth: 2}",
        {},
        ee.Regressor(HistGradientBoostingRegressor(max_iter=7, max_depth=2, random_state=3)),
    ),
    ("equations: {savings: spline}", {"savings": ee.Spline()}, None),
    (
        "equations: {savings: {kind: linear, coef: {income: 0.5}, intercept: -4}}",
        {"savings": ee.Linear({"income": 0.5}, -4)},
        None,
    ),
    (
        "equations: {income: {kind: linear, coef: {age: 0.5, region: {south: 3.5}}}}",
        {"income": ee.Linear({"age": 0.5, "region": {"south": 3.5}})},
        None,
    ),
    (
        "equations: {savings: {kind: terms, terms: [{coef: 0.02, powers: {income: 2}}], intercept: 1}}",
        {"savings": ee.Terms([(0.02, {"income": 2})], 1)},
        None,
    ),
    (
        "equations: {income: {kind: terms, about: {age: 40}, terms: "
        "[{coef: 2, levels: {region: south}}, {coef: 0.1, powers: {age: 2}, levels: {region: north}}]}}",
        {"income": ee.Terms([(2, {}, {"region": "south"}), (0.1, {"age": 2}, {"region": "north"})], about={"age": 40})},
        None,
    ),
    (
        "equations: {savings: {kind: ratio, numerator: {income: 2}, denominator: [income], scale: 9}}",
        {"savings": ee.Ratio({"income": 2.0}, "income", 9)},
        None,
    ),
    (
        "equations: {savings: {kind: product, causes: [income, income], scale: 0.1}}",
        {"savings": ee.Product(["income", "income"], 0.1)},
        None,
    ),
    ("equations: {housing: {kind: ordinal, order: [rents, pays off, owns]}}", {"housing": ee.Ordinal(LEVELS)}, None),
    (
        "equations: {housing: {kind: ordinal, order: [rents, pays off, owns], penalty: 1}}",
        {"housing": ee.Ordinal(LEVELS, penalty=1)},
        None,
    ),
    (
        "equations: {housing: {kind: cumulative_logit, coef: {income: 0.3}, cuts: [9, 12.5], "
        "order: [rents, pays off, owns]}}",
        {"housing": ee.CumulativeLogit({"income": 0.3}, [9, 12.5], LEVELS)},
        None,
    ),
]


@pytest.mark.parametrize(("line", "mechanisms", "default"), DECLARED, ids=[line for line, *_ in DECLARED])
def test_the_model_is_that_of_python(made, line, mechanisms, default):
    # Threads of several programs on one machine wait for each other for seconds.
    with threadpool_limits(1):
        found, expected = model(made(line)), by_hand(mechanisms, default)
    assert found.equations() == expected.equations()
    pd.testing.assert_frame_equal(found.diagnostics_, expected.diagnostics_)
    do = {"age": 35.0, "housing": "owns"} if expected.mechanisms_["housing"] is None else {"age": 35.0}
    ours, theirs = (scm.counterfactual(people().iloc[:40], do) for scm in (found, expected))
    pd.testing.assert_frame_equal(ours, theirs)
    other = by_hand().counterfactual(people().iloc[:40], {"age": 35.0, "housing": "owns"})
    if line != "default: linear":
        assert not ours.equals(other.assign(housing=ours["housing"])) or not ours["housing"].equals(other["housing"])


def test_left_out_it_is_as_it_was(made):
    spec = made()
    assert (spec.mechanisms, spec.default) == ({}, ee.LeastSquares())
    short = SPEC.replace("graph:\n  edges: ", "graph: ").replace("  # here\n", "")
    assert (parse_spec(short).mechanisms, parse_spec(short).default) == ({}, ee.LeastSquares())


def test_a_given_equation_moves_people_as_it_says(made):
    scm = model(made("equations: {savings: {kind: linear, coef: {income: 0.5}, intercept: -4}}"))
    facts = people().iloc[:20]
    moved = scm.counterfactual(facts, {"income": facts["income"] + 8, "housing": facts["housing"]})
    np.testing.assert_allclose(moved["savings"], facts["savings"] + 4)


@pytest.mark.parametrize(
    ("lines", "mechanisms", "default"),
    [
        (
            ["default: {kind: polynomial, degree: 2}", "equations:", "  housing:", "    kind: ordinal",
             "    order: [rents, pays off, owns]"],
            {"housing": ee.Ordinal(LEVELS)},
            ee.Polynomial(2),
        ),
        (
            ["equations: {savings: {kind: forest, n_estimators: 3, max_depth: 2}, housing: {kind: ordinal, "
             "order: [rents, pays off, owns]}}"],
            {"savings": RandomForestRegressor(3, max_depth=2, random_state=3), "housing": ee.Ordinal(LEVELS)},
            None,
        ),
    ],
)  # fmt: skip
def test_an_audit_through_declared_equations_is_that_of_python(made, lines, mechanisms, default):
    found = run_spec(made(*lines))
    table = town().set_index("who")
    surrogate = train_surrogate(
        "logistic", table.drop(columns="decided"), table["decided"],
        features=["age", "region", "income", "savings", "housing"], groups=table["sex"], random_state=3,
    )  # fmt: skip
    roles = {
        "age": "immutable", "region": "immutable", "savings": "mutable", "housing": "mutable",
        "income": ee.Feature("actionable", direction="up", max_increase=30),
    }  # fmt: skip
    schema = ee.Schema(sensitive="sex", protected="female", reference="male", favourable="granted", features=roles)
    expected, linear = (
        ee.audit(surrogate.classifier, people(), schema=schema, scm=scm)
        for scm in (by_hand(mechanisms, default), by_hand({"housing": ee.Ordinal(LEVELS)}))
    )
    ours = found.recourse.frame()
    pd.testing.assert_frame_equal(ours, expected.recourse.frame())
    assert {"optimal"} <= set(ours["status"])
    for key in ("equations", "learned_by", "fit"):
        assert getattr(found.provenance, key) == getattr(expected.provenance, key)
    other = linear.recourse.frame()
    assert not np.allclose(other["cost"].fillna(0), ours["cost"].fillna(0)), "otherwise the equations did nothing"


# -- levels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("levels", "key"), [([0, 1], "1"), ([0.5, 1.5], "1.5"), (["0", "01"], '"01"')])
def test_levels_are_named_as_they_stand_in_the_table(made, levels, key, tmp_path):
    """A key of YAML is always a name, a level may be a number."""
    table = town()
    table["region"] = np.array(levels, dtype=object)[(table["region"] == "south").astype(int)]
    spec = made(f"equations: {{income: {{kind: linear, coef: {{age: 0, region: {{{key}: 2}}}}}}}}", table=table)
    text = spec.text.replace("region: immutable", "region: {role: immutable, kind: categorical}")
    scm = model(parse_spec(text, folder=tmp_path))
    assert scm.mechanisms_["income"] == ee.Linear({"age": 0, "region": {levels[1]: 2}})
    assert type(next(iter(scm.mechanisms_["income"].coef["region"]))) is type(levels[1])


def test_levels_that_are_truth_values_are_found_too():
    known = with_levels({"income": ee.Linear({"works": {"true": 2.0}})}, pd.DataFrame({"works": [True, False]}))
    assert known["income"].coef == {"works": {True: 2.0}}
    assert type(next(iter(known["income"].coef["works"]))) is bool


def test_equations_of_a_graph_in_a_file(tmp_path):
    nodes = "".join(f'node [ id {k} label "{name}" ] ' for k, name in enumerate(["income", "savings", "debt"]))
    edges = "edge [ source 0 target 1 ] edge [ source 1 target 2 ]"
    (tmp_path / "town.gml").write_text(f"graph [ directed 1 {nodes}{edges} ]", encoding="utf-8")
    start, end = SPEC.index("  edges:"), SPEC.index("features:")
    lines = "  path: town.gml\n  default: spline\n  equations: {debt: &b {kind: polynomial, degree: 3}, savings: *b}\n"
    spec = parse_spec(SPEC[:start] + lines + SPEC[end:], folder=tmp_path)
    assert spec.default == ee.Spline()
    assert spec.mechanisms == {"debt": ee.Polynomial(3), "savings": ee.Polynomial(3)}
    with pytest.raises(EquieffortError, match="'income', which has no causes in the graph"):
        parse_spec(SPEC[:start] + lines.replace("debt: &", "income: &") + SPEC[end:], folder=tmp_path)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "at", "says"),
    [
        ("default: splin", "SPEC_VALUE", (7, 12), "graph.default is 'splin'. Did you mean 'spline'?"),
        ("default: 3", "SPEC_VALUE", (7, 12), "graph.default is the number 3, but must be"),
        ("default: ordinal", "SPEC_VALUE", (7, 12), "graph.default is 'ordinal'"),
        ("default: {degree: 3}", "SPEC_KEY", (7, 12), "graph.default lacks the key 'kind'."),
        ("default: {kind: spine}", "SPEC_VALUE", (7, 19), "graph.default.kind is 'spine'. Did you mean 'spline'?"),
        ("default: {kind: polynomial, degre: 3}", "SPEC_KEY", (7, 31), "Did you mean 'degree'?"),
        ("default: {kind: polynomial, degree: 12}", "SPEC_VALUE", (7, 39), "must be a whole number from 1 to 9."),
        ("default: {kind: polynomial, degree: 1.5}", "SPEC_VALUE", (7, 39), "must be a whole number from 1 to 9."),
        ("default: {kind: spline, degree: 4}", "SPEC_VALUE", (7, 35), "must be a whole number from 1 to 3."),
        ("default: {kind: spline, beyond: flat}", "SPEC_VALUE", (7, 35), "graph.default.beyond is 'flat'."),
        ("default: {kind: linear, degree: 2}", "SPEC_KEY", (7, 27), "it belongs to 'polynomial' and 'spline'."),
        ("default: {kind: linear, coef: {age: 1}}", "SPEC_KEY", (7, 27), "unknown key 'coef' in graph.default."),
        ("default: {kind: forest, n_estimators: 0}", "SPEC_VALUE", (7, 41), "a whole number, 1 or more."),
        ("defalt: spline", "SPEC_KEY", (7, 3), "Did you mean 'default'?"),
        ("equations: spline", "SPEC_VALUE", (7, 14), "must be a table of equations, one for each column."),
        ("equations: {savings: linar}", "SPEC_VALUE", (7, 24), "graph.equations.savings is 'linar'. Did you mean"),
        ("equations: {savngs: spline}", "SCM_MECHANISM", (7, 15), "'savngs', which is not in the graph. Did you mean"),
        ("equations: {age: spline}", "SCM_MECHANISM", (7, 15), "'age', which has no causes in the graph"),
        ("equations: {default: spline}", "SCM_MECHANISM", (7, 15), "'default', which is not in the graph."),
        ("equations: {savings: terms}", "SPEC_KEY", (7, 24), "graph.equations.savings lacks the key 'terms'."),
        (
            "equations: {savings: {kind: linear, coef: {incme: 2}}}", "SCM_MECHANISM", (7, 46),
            "graph.equations.savings.coef names 'incme', which the graph does not name among its causes. Did you mean",
        ),
        (
            "equations: {income: {kind: linear, coef: {age: 1}}}", "SCM_MECHANISM", (7, 44),
            "graph.equations.income.coef has no number for 'region', which the graph names among its causes.",
        ),
        (
            "equations: {savings: {kind: ratio, numerator: [income, age], denominator: income}}", "SCM_MECHANISM",
            (7, 58), "graph.equations.savings.numerator names 'age', which the graph does not name among its causes.",
        ),
        (
            "equations: {savings: {kind: ratio, numerator: income}}", "SPEC_KEY", (7, 24),
            "graph.equations.savings lacks the key 'denominator'.",
        ),
        (
            "equations: {savings: {kind: linear, coef: {income: x}}}", "SPEC_VALUE", (7, 54),
            "graph.equations.savings.coef.income is the text 'x'",
        ),
        ("equations: {savings: {kind: linear, intercept: yes}}", "SPEC_YAML", (7, 50), "a bare 'yes' as true"),
        (
            "equations: {savings: {kind: linear, intercept: 3}}", "SPEC_VALUE", (7, 50),
            "graph.equations.savings.intercept is a number, but the equation is learned",
        ),
        (
            "equations: {savings: {kind: linear, coef: {income: 1}, intercept: true}}", "SPEC_VALUE", (7, 69),
            "graph.equations.savings.intercept is true or false, but the equation is given",
        ),
        (
            "equations: {savings: {kind: terms, terms: [{coef: 1, powers: {age: 1}}]}}", "SCM_MECHANISM", (7, 65),
            "graph.equations.savings.terms names 'age', which the graph does not name among its causes",
        ),
        (
            "equations: {savings: {kind: terms, terms: [{coef: 1, powers: {income: 10}}]}}", "SPEC_VALUE", (7, 73),
            "graph.equations.savings.terms, item 1.powers.income is the number 10",
        ),
        (
            "equations: {savings: {kind: terms, terms: [{coef: 1, power: {income: 1}}]}}", "SPEC_KEY", (7, 56),
            "Did you mean 'powers'?",
        ),
        (
            "equations: {housing: {kind: cumulative_logit, coef: {income: 1}, cuts: [3, 1]}}", "SCM_MECHANISM",
            (7, 24), "graph.equations.housing: The cuts",
        ),
        (
            "equations: {housing: {kind: cumulative_logit, cuts: [3]}}", "SPEC_KEY", (7, 24),
            "graph.equations.housing lacks the key 'coef'.",
        ),
        (
            "equations: {housing: {kind: ordinal, order: [rents, rents]}}", "PARAMETER", (7, 24),
            "graph.equations.housing: order is",
        ),
        ("equations: {housing: {kind: ordinal, order: [rents]}}", "SPEC_VALUE", (7, 47), "must be a list of levels"),
        ("equations: {housing: {kind: ordinal, penalty: 0}}", "SPEC_VALUE", (7, 49), "must be a number above 0."),
        (
            "equations: {savings: {kind: function}}", "SPEC_VALUE", (7, 31),
            "graph.equations.savings.kind is 'function'.",
        ),
    ],
)  # fmt: skip
def test_wrong_equations_have_a_place(made, line, code, at, says):
    with pytest.raises(EquieffortError) as caught:
        made(line)
    error = caught.value
    assert error.code == code
    assert error.what.startswith(f"town.yaml, line {at[0]}, column {at[1]}: "), error.what
    assert says in error.what
    assert error.fix


def test_the_table_called_default_is_told_where_the_default_is(made):
    with pytest.raises(EquieffortError) as caught:
        made("equations: {default: spline}")
    assert "graph: {default: ...}" in caught.value.fix


@pytest.mark.parametrize(
    ("line", "code", "at", "says", "way"),
    [
        (
            "equations: {housing: spline}", "SCM_CANNOT_ABDUCT", (7, 24), "Cannot abduct 'housing': a category",
            "{kind: ordinal, order: [lowest, ..., highest]}",
        ),
        (
            "equations: {housing: ordinal}", "SCM_CANNOT_ABDUCT", (7, 24), "have no order",
            "{kind: ordinal, order: [lowest, ..., highest]}",
        ),
        (
            "equations: {housing: {kind: ordinal, order: [rents, owns]}}", "SCM_MECHANISM", (7, 24),
            "The order of 'housing' leaves out 'pays off'", "Name every level",
        ),
        ("equations: {savings: ordinal}", "SCM_MECHANISM", (7, 24), "'savings' has", "2 to 50"),
        (
            "equations: {income: {kind: linear, coef: {age: 0, region: {sout: 1}}}}", "SCM_MECHANISM", (7, 23),
            "names the level 'sout' of 'region', which does not occur. Did you mean 'south'?", "The levels are",
        ),
        (
            "equations: {savings: {kind: linear, coef: {income: {low: 1}}}}", "SCM_MECHANISM", (7, 24),
            "which is numeric", "kind: categorical",
        ),
        (
            "equations: {housing: {kind: cumulative_logit, coef: {income: 1}, cuts: [3], order: [rents, owns]}}",
            "SCM_MECHANISM", (7, 24), "leaves out 'pays off'", "Name every level",
        ),
        (
            "equations: {income: {kind: polynomial, degree: 9, interactions: true}}", "SCM_TOO_FEW_ROWS", (7, 23),
            "The equation of 'income' has", "{kind: linear, coef: {...}}",
        ),
    ],
)  # fmt: skip
def test_equations_that_do_not_fit_the_table_have_a_place(made, line, code, at, says, way):
    spec = made(line, table=town(18) if "degree: 9" in line else None)
    with pytest.raises(EquieffortError) as caught:
        model(spec)
    error = caught.value
    assert error.code == code
    assert error.what.startswith(f"town.yaml, line {at[0]}, column {at[1]}: graph.equations."), error.what
    assert says in error.what
    assert way in error.fix
    assert "Ordinal(" not in str(error)
    assert "StructuralCausalModel" not in str(error)


def test_an_equation_of_the_default_that_cannot_be_learned_is_told_there(made):
    with pytest.raises(EquieffortError) as caught:
        model(made("default: {kind: polynomial, degree: 9, interactions: true}", table=town(18)))
    assert caught.value.code == "SCM_TOO_FEW_ROWS"
    assert caught.value.what.startswith("town.yaml, line 7, column 12: graph.default: ")


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_examples_on_the_page_run(tmp_path, monkeypatch):
    page = (
        (Path(__file__).parents[2] / "docs" / "spec.md").read_text(encoding="utf-8").split("## Equations and solver")[1]
    )
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    table = town().rename(columns={"who": "applicant", "decided": "decision"})
    table.replace({"granted": "approved", "denied": "refused"}).to_csv("decisions.csv", index=False)
    Path("audit.yaml").write_text(example, encoding="utf-8")
    audit = run_spec(read_spec("audit.yaml"))
    curve, savings, housing = (one.text for one in audit.provenance.equations)
    assert curve.startswith("income = ")
    assert savings == "savings = 1 + 0.02*income^2"
    assert housing.startswith("housing = rents if ")
    assert audit.provenance.learned_by["income"] == "Spline(knots=4, degree=3, beyond='linear')"
    assert audit.provenance.solver.name == "SpatialBranchAndBound(gap=0.001, node_limit=50000, time_limit=60.0)"
    assert "optimal" in set(audit.recourse.frame()["status"])
    names: dict[str, object] = {}
    exec(compile(code, "spec.md", "exec"), names)
    found = ee.load("result.audit")
    assert found.provenance.equations[1].text == "savings = <lambda>(causes)"
    # A search finds no action that costs less than the cheapest, and the constant makes no difference.
    ours, exact = (one.recourse.frame()["cost"] for one in (found, audit))
    both = ours.notna() & exact.notna()
    assert both.any()
    assert (ours[both] >= exact[both] - 0.001).all()
