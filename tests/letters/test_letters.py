"""Letters: what they say holds when it is done, every kind of person gets an honest page, and nothing breaks out."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.letters import default_template
from equieffort.letters.files import file_names
from equieffort.letters.pages import markdown
from equieffort.models.fidelity import RecordedDecisions, Surrogate
from equieffort.recourse.status import Ending, Status, Termination
from equieffort.results.provenance import LetterTexts, Provenance
from equieffort.words.reasons import told
from equieffort.world.labels import Labels

SCRIPT = "<script>alert(1)</script>"
NAMES = ["A/1", "a 1", "../../etc", SCRIPT, "שלום"]
# income -> savings (half of it is saved); 10 points of income, savings and what is fixed are approved.
PEOPLE = pd.DataFrame(
    {
        "group": ["f", "m", "f", "m", "f"],
        "income": [2.0, 4.0, 30.0, 2.0, 2.0],
        "savings": [1.0, 2.0, 0.0, 1.0, 1.0],
        "fixed": [0.0, 0.0, 0.0, -90.0, 0.0],
        "job": ["cook", "smith", "cook", "smith", "cook"],
    },
    index=NAMES,
)


def audit(people=PEOPLE, labels=None, **features) -> ee.Audit:
    chosen = {
        "income": ee.Feature("actionable", max_increase=20),
        "savings": "mutable",
        "fixed": "immutable",
        "job": "mutable",
    } | features
    schema = ee.Schema(
        sensitive="group", protected="f", favourable=True, features=unlimited(chosen), labels=labels or {}
    )
    mechanisms = {"savings": ee.Linear({"income": 0.5})}
    nodes = ["group", "fixed", "job"]
    scm = ee.StructuralCausalModel([("income", "savings")], nodes=nodes, mechanisms=mechanisms).fit(people)
    model = ee.LinearScore({"income": 1.0, "savings": 1.0, "fixed": 1.0}, threshold=10.0)
    return ee.audit(model, people, schema=schema, scm=scm, cost=ee.WeightedL1(ee.Range((0.0, 1.0))))


@pytest.fixture(scope="module")
def plain() -> ee.Audit:
    return audit()


def letters(made, folder, **options) -> dict[str, str]:
    """By person the text of the letter."""
    found = made.letters(folder, **options)
    return {one.person: (folder / one.file).read_text(encoding="utf-8") for one in found.itertuples()}


def cells(page: str) -> list[list[str]]:
    """The rows of the first table of changes, without markup."""
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in rows]


def test_doing_what_a_letter_says_is_enough(plain, tmp_path):
    written = letters(plain, tmp_path / "out")
    assert len(written) == 4
    for person in ("A/1", "a 1"):
        ((name, before, after, moved),) = cells(written[person])
        fact = PEOPLE.loc[person]
        assert (name, float(before)) == ("income", fact["income"])
        assert float(after) - float(before) == pytest.approx(float(moved))
        score = 1.5 * (float(after) - fact["income"]) + fact["income"] + fact["savings"] + fact["fixed"]
        # Enough, and not more than a tenth of a unit too much.
        assert 10 <= score <= 10.15
        assert "would be an approval" in written[person]
        assert "<bdi>savings</bdi>: from" in written[person]
        assert "No other changes that count as possible take less effort" in written[person]


def test_what_stays_is_named_and_values_of_protected_columns_are_not_told(plain, tmp_path):
    page = letters(plain, tmp_path / "out")["A/1"]
    kept = re.sub("<.*?>", "", page.split("What stays as it is")[1].split("How to ask")[0])
    assert "job: cook." in kept
    # Not even the name of what is protected: nobody thought of asking that.
    assert "Nobody is asked to change: fixed." in kept
    assert "<bdi>group" not in page
    assert "savings" not in kept


def test_somebody_without_a_route_is_told_so_and_why(plain, tmp_path):
    page = letters(plain, tmp_path / "out")[SCRIPT]
    assert "<h1>No route to approval</h1>" in page
    assert "No change that counts as possible would turn it into an approval; that is proven." in page
    assert "income stops at 22 (largest increase 20)" in page
    assert "How to ask for a review" in page
    assert "<tbody>" not in page
    assert "replaces no notice of reasons" in page


def unproven(made: ee.Audit, row: int, status: Status, note: Termination) -> ee.Audit:
    """The same audit of which less is known about one person."""
    table = made.recourse
    states, masks, delta = table.status.copy(), table.intervention_mask.copy(), table.delta.copy()
    cost, bound = table.cost.copy(), table.bound.copy()
    states[row], bound[row] = status, 0.0
    if status == Status.UNKNOWN:
        masks[row], delta[row], cost[row] = False, 0.0, np.nan
    notes = {**table.notes, row: note}
    known = {"status": states, "intervention_mask": masks, "delta": delta, "cost": cost, "bound": bound}
    return replace(made, recourse=replace(table, notes=notes, **known))


def test_what_is_not_known_is_said_to_be_not_known(plain, tmp_path):
    note = Termination(Ending.WORK, bound=0.5, argument="node_limit", limit=1000, work=1000)
    page = letters(unproven(plain, 0, Status.UNKNOWN, note), tmp_path / "unknown")["A/1"]
    assert "No route to approval was found, and none was ruled out." in page
    assert "The computation reached its limit before it could tell." in page
    assert "proven" not in page
    assert "node_limit" not in page
    found = Termination(Ending.WORK, bound=0.0, argument="node_limit", limit=1000, work=1000, found=True)
    page = letters(unproven(plain, 0, Status.FEASIBLE, found), tmp_path / "feasible")["A/1"]
    assert "would be an approval" in page
    assert "Whether other changes would take less effort is not known." in page
    assert "proven" not in page


def test_a_missing_value_is_named_by_its_label():
    note = Termination(Ending.MISSING_CAUSE, subject="income")
    said = told(note, "letter", Labels(features={"income": "yearly income"}))
    assert said == "There is no value on record for yearly income, and an answer depends on it."


def test_further_routes(tmp_path):
    people = PEOPLE.drop(columns="job").assign(extra=[0.0, 1.0, 2.0, 0.0, 0.0])
    made = _two_ways(people)
    one = letters(made, tmp_path / "one")["A/1"]
    both = letters(made, tmp_path / "both", alternatives=3)["A/1"]
    assert "Another route" not in one
    assert "Another route (2)" in both
    assert both.count("<tbody>") >= 2
    # What stays is what no route changes: the second one changes extra.
    assert "extra: 0." in re.sub("<.*?>", "", one.split("What stays as it is")[1])
    assert "extra" not in both.split("Nobody is asked to change")[1]
    assert "What stays as it is" not in both or "extra" not in both.split("What stays as it is")[1]
    made.with_alternatives(3).save(tmp_path / "kept.audit")
    assert letters(ee.load(tmp_path / "kept.audit"), tmp_path / "kept")["A/1"] == both


def _two_ways(people: pd.DataFrame) -> ee.Audit:
    features = unlimited(
        {
            "income": ee.Feature("actionable", max_increase=40),
            "extra": ee.Feature("actionable", max_increase=40),
            "savings": "immutable",
            "fixed": "immutable",
        }
    )
    schema = ee.Schema(sensitive="group", protected="f", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=["group", "fixed", "income", "extra", "savings"]).fit(people)
    model = ee.LinearScore({"income": 1.0, "extra": 1.0, "savings": 1.0, "fixed": 1.0}, threshold=10.0)
    return ee.audit(model, people, schema=schema, scm=scm, cost=ee.WeightedL1(ee.Range((0.0, 1.0))))


def test_letters_about_a_surrogate_must_not_be_sent(plain, tmp_path):
    kept = RecordedDecisions(differs=(0,), unknown=())
    surrogate = Surrogate("logistic", 0.9, {"f": 0.9, "m": 0.9}, 0.9)
    made = plain.with_provenance(surrogate=surrogate, recorded=kept)
    written = letters(made, tmp_path / "out")
    for page in written.values():
        assert page.index("Do not send this page.") < page.index("<h1>")
        assert "must not be given as a reason for a decision" in page
        assert "The decision was a refusal" not in page
    assert "The recorded decision about this person is favourable" in written["A/1"]
    assert "The recorded decision about this person is a refusal too." in written["a 1"]
    assert "Do not send these letters." in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Do not send" not in letters(plain, tmp_path / "own")["A/1"]


def test_an_action_is_not_the_reason(plain, tmp_path):
    page = letters(plain, tmp_path / "out")["A/1"]
    assert "It is not the reason for the decision" in page
    assert "This is no promise." in page


@pytest.mark.parametrize("form", ["html", "md"])
def test_markup_in_names_stays_text(form, tmp_path):
    hostile = "<img src=x onerror=alert(2)> | *y*"
    labels = {"features": {"income": hostile}, "levels": {"job": {"cook": "</bdi><b>c{{ 7 * 7 }}"}}}
    made = audit(labels=labels).with_provenance(letters=LetterTexts("<i>us</i>", "<u>Ask</u>"), title="<s>t</s>")
    for text in [*letters(made, tmp_path / "out", format=form).values(), _index(tmp_path / "out", form)]:
        bare = re.sub(r"\\.", "", text)
        for mark in ("<script>", "<img", "<i>", "<u>", "<s>", "</bdi><b>", "49"):
            assert mark not in bare
        assert form == "html" or "*y*" not in bare
    page = letters(made, tmp_path / "again", format=form)["A/1"]
    assert ("&lt;img src=x onerror" if form == "html" else r"\<img src=x onerror=alert(2)\> \| \*y\*") in page


def _index(folder, form: str) -> str:
    return (folder / f"index.{form}").read_text(encoding="utf-8")


def test_markdown_keeps_numbers_readable_and_no_list_begins_by_itself():
    assert [markdown(text) for text in ("12.7", "-3", "+4.7", "(upper limit 12)")] == [
        "12.7", "-3", "+4.7", "(upper limit 12)",
    ]  # fmt: skip
    assert [markdown(text) for text in ("- x", "1. x", "---", "a\n# b")] == [r"\- x", r"1\. x", r"\---", r"a \# b"]


def test_files_have_safe_names_that_differ_in_any_case():
    labels = ["A/1", "a 1", "../../etc/passwd", "NUL", "index", "", "...", "x" * 500, "é" * 300, "\ud800", "ß", "SS"]
    found = file_names([*labels, *labels])
    assert len({name.casefold() for name in found}) == len(found)
    for name in found:
        assert re.fullmatch(r"[\w-]+", name)
        assert len(name.encode()) <= 150
        assert name.casefold() not in ("nul", "index")


def test_every_refused_person_has_one_file_that_the_index_leads_to(plain, tmp_path):
    found = plain.letters(tmp_path / "out")
    assert found["person"].tolist() == ["A/1", "a 1", SCRIPT, "שלום"]
    assert found["answer"].tolist() == ["route", "route", "none", "route"]
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {*found["file"], "index.html", "index.csv"}
    index = _index(tmp_path / "out", "html")
    assert "4 people were refused" in index
    assert "3 a route to approval, 1 no route to approval, 0 not known." in index
    from urllib.parse import unquote

    assert [unquote(one) for one in re.findall('href="(.*?)"', index)] == found["file"].tolist()


def test_nothing_is_overwritten_unless_asked(plain, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.html").write_text("kept")
    with pytest.raises(ee.errors.ParameterError, match="not empty") as caught:
        plain.letters(tmp_path / "out")
    assert "overwrite=True" in caught.value.fix
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["old.html"]
    with pytest.warns(ee.errors.EquieffortWarning, match="1 file that this run did not write"):
        plain.letters(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "old.html").read_text() == "kept"


@pytest.mark.parametrize(
    ("source", "line", "why"),
    [
        ("<p>\n{% if %}\n", 2, "Expected an expression"),
        ("<p>\n\n{{ letter.nothing }}\n", 3, "nothing"),
        ("{{ letter.__class__.__mro__ }}", 1, "unsafe"),
        ("\n{{ ''.__class__.__base__.__subclasses__() }}", 2, "unsafe"),
        ("{% include '/etc/passwd' %}", 1, "/etc/passwd"),
        ("\n\n{% for i in range(999999999) %}{% endfor %}", 3, "range"),
    ],
)
def test_a_template_that_fails_is_told_by_its_line_before_anything_is_written(plain, tmp_path, source, line, why):
    (tmp_path / "my.html").write_text(source)
    with pytest.raises(ee.errors.ParameterError) as caught:
        plain.letters(tmp_path / "out", template=tmp_path / "my.html")
    assert caught.value.code == "LETTER_TEMPLATE"
    assert caught.value.what.startswith(f"my.html, line {line}")
    assert why in caught.value.what
    assert not (tmp_path / "out").exists()


def test_a_template_of_ones_own(plain, tmp_path):
    own = '{% extends "letter.html" %}{% block review %}<p>Ring {{ letter.person }}.</p>{% endblock %}'
    (tmp_path / "my.html").write_text(own)
    page = letters(plain, tmp_path / "out", template=tmp_path / "my.html")[SCRIPT]
    assert "<p>Ring &lt;script&gt;alert(1)&lt;/script&gt;.</p>" in page
    assert "How to ask for a review" not in page
    assert "No route to approval" in page
    (tmp_path / "my.md").write_text("{{ letter.title }}: {{ letter.person }}")
    pages = letters(plain, tmp_path / "md", template=tmp_path / "my.md")
    assert pages[SCRIPT] == r"No route to approval: \<script\>alert(1)\</script\>"
    # The default is a template like any other.
    (tmp_path / "same.html").write_text(default_template("html"))
    same = letters(plain, tmp_path / "same", template=tmp_path / "same.html")
    assert same == letters(plain, tmp_path / "default")


def test_texts_of_the_organisation(plain, tmp_path):
    made = plain.with_provenance(letters=LetterTexts("Town bank\n1 Main Street", "Call us.\n\nOr write\nto us."))
    page = letters(made, tmp_path / "out")["A/1"]
    assert "<bdi>Town bank</bdi><br><bdi>1 Main Street</bdi>" in page
    assert "<p>Call us.</p>\n<p>Or write to us.</p>" in page
    assert "<p>Ring.</p>" in letters(made, tmp_path / "own", review="Ring.")["A/1"]
    saved = Provenance.from_dict(made.provenance.to_dict())
    assert saved.letters == made.provenance.letters
    assert "You can ask those who decided" in letters(plain, tmp_path / "default")["A/1"]


def test_some_people_only(plain, tmp_path):
    assert list(letters(plain, tmp_path / "out", people=["a 1"])) == ["a 1"]
    with pytest.raises(ee.errors.ParameterError, match=r"etc' was not refused"):
        plain.letters(tmp_path / "well", ["../../etc"])
    assert not (tmp_path / "well").exists()


def test_progress_is_told(plain, tmp_path):
    told = []
    plain.letters(tmp_path / "out", progress=lambda stage, done, total, note="": told.append((stage, done, total)))
    assert told == [("writing letters", n, 4) for n in (1, 2, 3, 4)]


def test_what_follows_is_rounded_to_the_change(tmp_path):
    """Savings have four decimals and rise by about 4.29: three digits of a change are what an estimate deserves."""
    people = PEOPLE.assign(savings=[1.1234, 2.5678, 0.0, 1.0, 1.0])
    page = letters(audit(people), tmp_path / "out")["A/1"]
    ((_, before, after, _),) = cells(page)
    follows = 1.1234 + 0.5 * (float(after) - float(before))
    assert f"from <bdi>1.1234</bdi> to <bdi>{follows:.2f}</bdi>" in page


def test_what_follows_by_less_than_can_be_shown_stays_as_it_is(tmp_path):
    """Grades from 1 to 5 hardly follow from hours: 0.001 an hour."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": np.array(["a", "b"])[np.arange(80) % 2], "hours": rng.integers(20, 60, 80).astype(float)})
    X["grade"] = rng.integers(1, 6, 80).astype(float)
    features = {"hours": ee.Feature("actionable", lower=0, upper=90), "grade": "mutable"}
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=features)
    scm = ee.StructuralCausalModel([("hours", "grade")], mechanisms={"grade": ee.Linear({"hours": 0.001}, 3.0)}).fit(X)
    audit = ee.audit(ee.LinearScore({"hours": 1.0}, threshold=45.0), X, schema=schema, scm=scm)
    person = audit.recourse.frame().query("status == 'optimal'").index[0]
    assert audit.explain(person).follows[0].feature == "grade", "data keep what follows, however little"
    assert "grade" not in str(audit.explain(person))
    audit.letters(tmp_path, format="md")
    letter = (tmp_path / f"{person}.md").read_text(encoding="utf-8")
    assert "expected to follow" not in letter
    assert f"grade: {X['grade'][person]:g}" in letter.split("## What stays as it is")[1]


@pytest.mark.filterwarnings("ignore:The equation of 'member' explains")
@pytest.mark.parametrize("form", ["html", "md"])
def test_fractions_of_a_yes_or_no_are_averages(form, tmp_path):
    """An hour more of work makes a membership 0.04 likelier; nobody is 0.04 of a member, and it counts all the same."""
    X = pd.DataFrame({"s": ["a", "b"] * 40, "hours": np.arange(80.0), "member": [0, 0, 1, 1] * 20})
    features = {"hours": ee.Feature("actionable", lower=0, upper=90), "member": "mutable"}
    schema = ee.Schema(
        sensitive="s", protected="a", favourable=True, features=features, labels={"features": {"member": "union"}}
    )
    edges = [("hours", "member")]
    model = ee.LinearScore({"hours": 1.0, "member": 25.0}, threshold=45.0)
    scm = ee.StructuralCausalModel(edges, mechanisms={"member": ee.Linear({"hours": 0.04}, 0.0)}).fit(X)
    audit = ee.audit(model, X, schema=schema, scm=scm)
    # Person 41 has 41 hours: (45 - 41) / (1 + 0.04 * 25) = 2 more, and with them 0.08 of a membership.
    assert "-> union then follows from 0 to 0.08 on average (+0.08)" in str(audit.explain(41))
    page = re.sub("<.*?>", "", letters(audit, tmp_path, format=form)["41"])
    assert "union: from 0 to 0.08 on average" in page
    said = "Fractions: the equations of union, where people have 0 or 1, lead in between"
    assert said in str(audit)
    ordinal = ee.StructuralCausalModel(edges, mechanisms={"member": ee.Ordinal()}).fit(X)
    kept = ee.audit(model, X, schema=schema, scm=ordinal)
    assert "on average" not in str(kept.explain(41))
    assert said not in str(kept)
