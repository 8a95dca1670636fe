"""How results show themselves and what they hand on: echoed, in a notebook, as data, in a pipeline."""

from __future__ import annotations

import inspect
import json
import logging
import pickle
import re
import typing
import warnings
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.cli.audit import text
from equieffort.errors import EquieffortWarning, ParameterError, UnequalError
from equieffort.foundations.shown import Shown, Told, as_html, brief
from equieffort.models.fidelity import Surrogate
from equieffort.report import render
from equieffort.results.audits import Audit

NAMES = ["ash & <b>", "birch"]


def people(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    group = rng.choice(NAMES, n)
    x = rng.normal(size=n) - 1.2 * (group == NAMES[0])
    return pd.DataFrame({"s": group, "x": x, "z": rng.normal(size=n).round(1)}, index=[f"p{k}" for k in range(n)])


def made(frame: typing.Any = None, criteria: ee.Criteria | None = None, **more: typing.Any) -> ee.Audit:
    X = people() if frame is None else frame
    schema = ee.Schema(
        sensitive="s", protected=NAMES[0], favourable=True,
        features={"x": ee.Feature("actionable", lower=-9, max_increase=1.5), "z": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["s", "x", "z"]).fit(X)
    return ee.audit(
        ee.LinearScore({"x": 1.0, "z": 0.5}, threshold=0.5), X, schema=schema, scm=scm,
        criteria=criteria or ee.Criteria(tau=1.05), **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return made()


@pytest.fixture(scope="module")
def results(audit) -> dict[str, typing.Any]:
    found = audit.equality_of_effort("x")
    return {
        "audit": audit,
        "system": audit.system,
        "individual": audit.individual("p3", quantile=0.4),
        "verdict": audit.verdict,
        "recourse": audit.recourse,
        "explanation": audit.explain(position=int(np.flatnonzero(audit.recourse.has_action)[0])),
        "search": audit.search_subgroups(conditions=1, fewest=5, fewest_certified=5),
        "notions": audit.notions(only=["social_burden", "facts"]),
        "facts": audit.facts(),
        "routes": audit.group_routes(max_routes=2),
        "counterfactual": audit.counterfactual_fairness(),
        "twins": audit.fair_causal_recourse(most_people=20),
        "discrimination": audit.causal_discrimination(draws=200),
        "huang": found,
        "huang person": found.individual("p3", k=5),
        "repair": found.repair(0.5),
        "burden": audit.social_burden(np.arange(len(audit.recourse)) % 2 == 0),
        "power": ee.power(audit),
        "finding": audit.verdict.findings[0],
        "provenance": audit.provenance,
        "rewards": audit.effort_rewards(),
        "situation": audit.situation_testing(),
        "matched": audit.matched(),
        "comparison": ee.compare_audits(audit, made(criteria=ee.Criteria(tau=1.05))),
    }


# -- echoed and in a notebook ------------------------------------------------------------------------------------------


def test_an_audit_is_echoed_in_a_few_lines(audit):
    lines = repr(audit).split("\n")
    assert len(repr(audit)) < 1500
    assert len(lines) <= 6
    assert lines[0] == str(audit.verdict).split("\n")[0]
    refused = audit.by_group["n_unfavourable"]
    for line, group in zip(lines[1:3], NAMES, strict=True):
        assert line.startswith(f"s = {group}: {refused[group]} of {audit.by_group.loc[group, 'n']} refused")
    assert "audit.report()" in lines[-1]


def test_every_result_is_echoed_shortly_and_says_more_when_printed(results):
    for name, found in results.items():
        assert isinstance(found, Shown), name
        assert len(repr(found)) < 3000, name
        assert len(repr(found).split("\n")) <= 10, name
        assert "More: " in repr(found), name
        assert "array(" not in repr(found), name
        if name != "recourse":
            assert len(str(found)) > 20, name


class Page(HTMLParser):
    """What a browser would see, and that each element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.open, self.tags = "", [], set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in ("br", "hr", "meta", "path", "rect", "line", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_every_result_has_an_html_form_with_its_caveats(results):
    for name, found in results.items():
        html = found._repr_html_()
        page = Page(html)
        assert "b" not in page.tags, name  # the name of a group is no markup
        care = found._told().care
        assert care, name
        assert "Read with care" in page.text, name
        for sentence in care:
            assert sentence in page.text, (name, sentence)
    assert "<table" in results["verdict"]._repr_html_() or "<p>" in results["verdict"]._repr_html_()


def test_whatever_an_audit_returns_shows_itself():
    """Types of results are found from what methods say they return, so that none is forgotten."""
    from equieffort.plots import AuditPlots, Display
    from equieffort.results.verifying import Verification

    plain = (pd.DataFrame, bool, int, float, str, dict, tuple, type(None), AuditPlots, np.ndarray)
    shown = set()
    for name, member in inspect.getmembers(Audit):
        if name.startswith("_") or name in ("distance", "neighbours", "curve_of", "save", "load", "members", "samples"):
            continue
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if not inspect.isfunction(function):
            continue
        told = function.__annotations__["return"]
        kind = eval(told, {**function.__globals__, "AuditPlots": AuditPlots, "Verification": Verification})  # noqa: S307 (our own annotations)
        kinds = [one for one in typing.get_args(kind) or (kind,) if isinstance(one, type)]
        for one in kinds:
            if not issubclass(one, (*plain, Display)) and one.__module__.startswith("equieffort"):
                shown.add(one.__name__)
                assert hasattr(one, "_repr_html_") or one.__name__ == "Measure", (name, one)
    assert {"Assessment", "Verdict", "SubgroupSearch", "Found", "Notions", "Explanation", "GroupRoutes"} <= shown


def test_tables_of_an_audit_carry_their_caveats(audit):
    system = audit.system
    for frame in (
        audit.measures, audit.curve([0.5, 1.0]), audit.individuals(0.5), audit.effort_curve(), audit.by_group,
        audit.unsettled, system.by_group, system.measures, audit.individual("p3", quantile=0.4).by_group,
    ):  # fmt: skip
        html = frame._repr_html_()
        assert "Read with care" in html
        assert html.count("<li>") == len(frame.care) >= 2
        assert type(frame.head(2)) is pd.DataFrame, "whatever is made of it is a plain frame"
        assert type(frame[frame.columns[:2]]) is pd.DataFrame


def test_groups_fit_a_terminal_and_the_rest_can_be_asked_for(audit):
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        assert "..." not in repr(audit.by_group)
    assert audit.by_group.columns.tolist() == ["role", "n", "n_unfavourable", "n_unknown", "rho", "phi"]
    assert {"rho_low", "phi_high", "favourable_rate", "n_infeasible"} <= set(audit.to_frame("groups"))


def test_many_groups_are_one_table_in_print():
    """A row a group with its judged measures, not a paragraph and a table each; two groups keep their sentences."""
    names = ["ash", "birch", "cedar", "elm"]
    X = people().assign(s=np.array(names)[np.arange(240) % 4])
    schema = ee.Schema(
        sensitive="s", protected=names[:3], reference="elm", favourable=True,
        features={"x": ee.Feature("actionable", lower=-9, max_increase=1.5), "z": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["s", "x", "z"]).fit(X)
    found = ee.audit(ee.LinearScore({"x": 1.0, "z": 0.5}, threshold=0.5), X, schema=schema, scm=scm)
    measures = found.measures.set_index(["group", "measure"])
    for printed in (str(found), text(found)):
        assert "Each group against s = elm" in printed
        rows = [line for line in printed.splitlines() if line.startswith("s = ") and "(" in line]
        assert len(rows) == 3
        for name, line in zip(names, rows, strict=False):
            acr, refused = measures.loc[(name, "acr")], found.by_group["n_unfavourable"]
            assert f"{refused[name]} / {refused['elm']}" in line
            assert f"{acr['estimate']:.2f} ({acr['low']:.2f} to {acr['high']:.2f})" in line
            assert line.endswith(next(f.outcome for f in found.verdict.findings if f.comparison.group == name))
        assert "have a route to approval need" not in printed


def test_lines_are_shortened_and_counted():
    told = Told("T", [f"line {k}" for k in range(9)] + ["x" * 999], care=["a", "b"], more="m")
    lines = brief(told).split("\n")
    assert lines[0] == "T"
    assert lines[7:] == ["... and 4 more lines", "Read with care: a (and 1 more)", "More: m"]
    assert "line 8" in as_html(told)


# -- as data -----------------------------------------------------------------------------------------------------------


def test_an_audit_as_data(audit, tmp_path):
    found = json.loads(audit.to_json(tmp_path / "a.json"))
    assert found == json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert found == json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert found["verdict"]["outcome"] == audit.verdict.outcome
    assert [row["group"] for row in found["by_group"]] == NAMES
    assert audit.to_html(tmp_path / "a.html") == render(audit) == (tmp_path / "a.html").read_text(encoding="utf-8")


def test_the_report_shows_itself_and_is_saved(audit, tmp_path):
    report = audit.report(title="Loans")
    assert "<title>Loans" in report.html
    assert report.save(tmp_path / "r.html").read_text(encoding="utf-8") == report.html
    assert report.save(tmp_path / "card.md").read_text(encoding="utf-8").startswith("# ")
    assert report._repr_html_().startswith("<iframe ")
    assert "<script" not in report._repr_html_()
    assert len(repr(report)) < 200


def test_frames_by_name(audit):
    pd.testing.assert_frame_equal(audit.to_frame(), audit.measures)
    assert audit.to_frame("groups").index.tolist() == NAMES
    assert {"n_optimal", "phi_least", "rho_most"} <= set(audit.to_frame("groups").columns)
    assert len(audit.to_frame("people")) == len(audit.recourse)
    assert audit.to_frame("unsettled").empty
    assert audit.to_frame("warnings").columns.tolist() == ["code", "what", "why", "fix"]
    with pytest.raises(ParameterError, match="no table"):
        audit.to_frame("nonsense")


def test_polars_in_and_out_where_asked(audit):
    same = made(pl.from_pandas(people()))
    assert isinstance(same.measures, pd.DataFrame), "only where asked"
    for found, key in (
        (audit.to_frame(output="polars"), "measure"),
        (audit.to_frame("groups", output="polars"), "group"),
        (audit.recourse.frame(output="polars"), "id"),
        (audit.curve([0.5], output="polars"), "quantile"),
        (audit.individuals(0.5, output="polars"), "outcome"),
        (audit.effort_curve(output="polars"), "effort"),
        (audit.plot.rates().frame(output="polars"), "favourable_rate"),
        (audit.notions(only=["social_burden"]).frame(output="polars"), "notion"),
    ):
        assert isinstance(found, pl.DataFrame)
        assert key in found.columns
    table = audit.recourse.frame(output="polars")
    assert table["id"].to_list() == audit.recourse.index.tolist()
    costs = audit.recourse.frame()["cost"]
    assert table["cost"].null_count() == costs.isna().sum() > 0, "what is missing is null"
    np.testing.assert_array_equal(table["cost"].drop_nulls().to_numpy(), costs.dropna().to_numpy())
    assert isinstance(audit.to_frame(output="pyarrow"), pa.Table)
    with pytest.raises(ParameterError, match="output"):
        audit.to_frame(output="excel")


@pytest.mark.parametrize("name", [
    "facts", "counterfactual", "twins", "discrimination", "comparison", "matched", "power", "notions",
])  # fmt: skip
def test_every_result_with_rows_hands_them_to_polars_too(results, name):
    plain, asked = results[name].frame(), results[name].frame(output="polars")
    assert isinstance(plain, pd.DataFrame)
    assert isinstance(asked, pl.DataFrame)
    assert asked.columns == [str(column) for column in plain.columns]
    assert len(asked) == len(plain) > 0


# -- in a pipeline -----------------------------------------------------------------------------------------------------


def test_a_pipeline_stops_where_effort_is_unequal(audit):
    assert audit.verdict.outcome == "unequal"
    with pytest.raises(UnequalError) as caught:
        audit.raise_if_unequal()
    error = pickle.loads(pickle.dumps(caught.value))
    for one in (caught.value, error):
        assert one.code == "VERDICT_UNEQUAL"
        assert str(one.verdict) == str(audit.verdict)
        assert one.what == str(audit.verdict).split("\n")[0]


def test_what_is_open_passes_unless_it_is_asked_for():
    open_one = made(criteria=ee.Criteria(min_people=10_000))
    assert open_one.verdict.outcome == "inconclusive"
    assert open_one.raise_if_unequal() is open_one
    with pytest.raises(UnequalError) as caught:
        open_one.raise_if_unequal(inconclusive=True)
    assert caught.value.code == "VERDICT_INCONCLUSIVE"
    equal = made(criteria=ee.Criteria(tau=50, epsilon=0.9))
    assert equal.verdict.outcome == "equal"
    assert equal.raise_if_unequal(inconclusive=True) is equal


# -- warnings and the log ----------------------------------------------------------------------------------------------


def test_a_warning_is_one_line_about_the_callers_line_and_long_in_the_audit():
    X = people()
    X["y"] = X["x"] * 0.01 + np.random.default_rng(1).normal(size=len(X))
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        scm = ee.StructuralCausalModel([("x", "y")], nodes=["s", "z"]).fit(X)
        schema = ee.Schema(
            sensitive="s", protected=NAMES[0], favourable=True,
            features=unlimited({"x": "actionable", "y": "mutable", "z": "immutable"}),
        )  # fmt: skip
        found = ee.audit(ee.LinearScore({"x": 1.0, "y": 0.1}, threshold=0.5), X, schema=schema, scm=scm)
    ours = [one for one in issued if isinstance(one.message, EquieffortWarning)]
    assert {one.message.code for one in ours} >= {"SCM_POOR_FIT"}
    for one in ours:
        assert re.fullmatch(rf"[^\n]+ \({one.message.code}\)", str(one.message))
        assert one.filename == __file__
    kept = next(one for one in found.warnings if one.code == "SCM_POOR_FIT")
    assert f"  Why it matters: {kept.why}\n  How to fix it: {kept.fix}\n  Code: SCM_POOR_FIT" in str(found.warnings)


def test_the_log_names_solver_and_stages_and_is_silent_by_default(caplog, capsys):
    made()
    assert capsys.readouterr() == ("", "")
    with caplog.at_level(logging.INFO, logger="equieffort"):
        made().curve([1.0])
    text = caplog.text
    assert "LinearExact" in text
    for words in ("Reading the inputs: ", "Solving 240 people: ", "Comparing people with those like them"):
        assert re.search(rf"{words}.*\d s", text), words
    assert any(isinstance(one, logging.NullHandler) for one in logging.getLogger("equieffort").handlers)


def test_what_an_audit_is_made_from_is_echoed_in_a_line(audit):
    problem = audit.inputs.problem
    assert repr(audit.inputs) == f"AuditInputs(LinearScore, 240 of 240 people, {audit.inputs.choice.solver!r})"
    assert repr(problem).startswith("RecourseProblem(3 columns, actionable: x;")
    told = repr(audit.plot)
    assert "measures()" in told.split("\n")[0]
    assert "facts()" in told.split("\n")[1]
    assert "audit" not in dir(audit.plot)
    for name in dir(audit.plot):
        assert name.startswith("_") or f"{name}()" in told


# -- what readers call things, and what nobody can do ------------------------------------------------------------------


def loans(**limits) -> ee.Audit:
    """Loans from 5 on; whoever owes more than 2 is refused."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"s": np.array(["a", "b"])[np.arange(200) % 2], "loan": rng.integers(5, 60, 200).astype(float)})
    X["debt"] = rng.normal(10, 4, 200).clip(0).round(1)
    schema = ee.Schema(
        sensitive="s", protected="a", favourable=True,
        features={"loan": ee.Feature("actionable", max_decrease=40, **limits), "debt": "immutable"},
        labels={"groups": {"a": "women", "b": "men"}, "features": {"loan": "amount of the loan"}},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["loan", "debt"]).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ee.audit(ee.LinearScore({"loan": -1.0, "debt": -2.0}, threshold=-20.0), X, schema=schema, scm=scm)


def test_actions_below_zero_where_nobody_is_are_told_and_not_where_a_limit_was_declared(tmp_path):
    audit = loans()
    told = audit.recourse.frame()
    below = int((told["do_loan"] < 0).sum())
    assert below > 1, "so that there is something to tell"
    sentence = f"{below} actions set 'amount of the loan' below 0, where nobody is"
    audit.save(tmp_path / "a.audit")
    for one in (audit, ee.load(tmp_path / "a.audit")):
        assert any(sentence in line for line in one._told().care)
        assert sentence in unescape(re.sub("<[^>]*>", "", one.to_html()))
        assert sentence in text(one)
    for declared in ({"lower": 0}, {"lower": -float("inf")}, {"plausible": (0, 100)}):
        assert not any("below 0" in line for line in loans(**declared)._told().care)


def test_tables_in_notebooks_call_groups_and_features_as_readers_do():
    audit = loans(lower=0)
    person = audit.recourse.frame().query("status == 'optimal'").index[0]
    html = audit.explain(person)._repr_html_()
    assert "<td>amount of the loan</td>" in html
    assert "<td>loan</td>" not in html
    assert audit.explain(person).frame()["feature"].tolist() == ["loan"], "data keep their names"
    html = ee.compare_audits(audit, loans(lower=3))._repr_html_()
    assert "<td>women</td>" in html
    assert "<td>a</td>" not in html


def test_what_a_surrogate_is_worth_is_a_sentence_below_the_title_in_a_notebook():
    audit = loans(lower=0)
    poor = audit.with_provenance(surrogate=Surrogate("ridge", 0.7, {"a": 0.7, "b": 0.7}, 0.9))
    title, rest = re.search("<h3>(.*?)</h3>(.*)", poor._repr_html_(), re.DOTALL).groups()
    assert title == "INCONCLUSIVE: The surrogate model repeats too little of the decisions to say anything about them."
    assert rest.startswith("<p>This audits a ridge model trained on the decisions, not the system that made them")
    title_of_verdict, rest = re.search("<h3>(.*?)</h3>(.*)", poor.verdict._repr_html_(), re.DOTALL).groups()
    assert title_of_verdict == title
    assert rest.startswith("<p>This audits a ridge model trained on the decisions, not the system that made them")
    assert repr(poor.verdict).startswith("INCONCLUSIVE: This audits a ridge model")
