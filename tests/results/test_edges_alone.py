"""`audit(..., scm=edges)`: linear equations are fitted to the people, and everybody who reads of it is told."""

from __future__ import annotations

from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.cli.audit import text
from equieffort.errors import EquieffortError
from equieffort.exports import summary
from equieffort.report import render

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    income = rng.normal(50, 12, 120) - 6 * (np.arange(120) % 2)
    savings = 0.4 * income + rng.normal(0, 3, 120)
    return pd.DataFrame({"sex": np.array(["m", "f"])[np.arange(120) % 2], "income": income, "savings": savings})


def audited(people, scm, **more):
    whole = people.dropna()
    model = LogisticRegression().fit(whole[["income", "savings"]], whole["income"] + whole["savings"] > 75)
    limits = ee.Feature("actionable", lower=-np.inf, upper=np.inf)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"income": limits, "savings": "mutable"}
    )
    return ee.audit(model, people, schema=schema, scm=scm, **more)


def test_it_is_the_audit_of_a_model_fitted_by_hand(people):
    edges = [("income", "savings")]
    short = audited(people, edges)
    long = audited(people, ee.StructuralCausalModel(edges).fit(people))
    assert short.recourse.effort.tolist() == pytest.approx(long.recourse.effort.tolist(), nan_ok=True)
    slope = np.polyfit(people["income"], people["savings"], 1)[0]
    assert short.provenance.equations[0].parts["coef"]["income"] == pytest.approx(slope)
    assert short.provenance.edges_only
    assert not long.provenance.edges_only
    codes = [[one["code"] for one in summary(audit)["caveats"]] for audit in (short, long)]
    assert "ASSUMED_LINEAR" in codes[0]
    assert "ASSUMED_LINEAR" not in codes[1]
    # It is the first thing to read with care, echoed and printed.
    assert codes[0][0] == "ASSUMED_LINEAR"
    said = "Only edges were given: linear equations for 'savings' were fitted to the people audited."
    for shown in (repr(short), str(short), text(short), short._repr_html_()):
        assert said in unescape(shown)
    assert said not in str(long)
    assert "assumed by default to be linear, learned from the data" in render(short)
    assert "to be linear" not in render(long)


def test_no_edges_and_a_graph_are_edges_too(people, tmp_path):
    none = audited(people, [])
    assert none.provenance.equations == ()
    assert "ASSUMED_LINEAR" not in [one["code"] for one in summary(none)["caveats"]]
    graph = audited(people, ee.CausalGraph.of([("income", "savings")]))
    graph.save(tmp_path / "a.audit")
    assert ee.Audit.load(tmp_path / "a.audit").provenance.guessed == ("savings",)


def test_people_with_missing_values_are_not_learned_from(people):
    holes = people.assign(savings=people["savings"].where(np.arange(120) % 10 > 0))
    whole = holes.dropna()
    found = audited(holes, [("income", "savings")], missing="drop").provenance.equations[0].parts["coef"]["income"]
    assert found == pytest.approx(np.polyfit(whole["income"], whole["savings"], 1)[0])


@pytest.mark.parametrize("scm", ["income -> savings", None, {"income": "savings"}])
def test_what_is_no_graph_is_refused(people, scm):
    with pytest.raises(EquieffortError, match="scm"):
        audited(people, scm)


def test_an_edge_to_nowhere_is_refused(people):
    with pytest.raises(EquieffortError) as caught:
        audited(people, [("income", "saving")])
    assert caught.value.code == "GRAPH_UNKNOWN_NODE"


def test_printed_audits_say_which_equations_are_weak(people):
    """Noise explains nothing of savings: who prints the audit is told, as who opens the report is."""
    noise = people.assign(savings=np.random.default_rng(0).normal(30, 3, len(people)))
    printed = str(audited(noise, ee.StructuralCausalModel([("income", "savings")]).fit(noise)))
    block = printed.split("Read with care:\n")[1].split("\n\n")[0]
    assert "Weak equations: those for 'savings' explain almost nothing" in block
