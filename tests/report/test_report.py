"""The report says what the audit says, keeps hostile names as text, and keeps small groups to itself."""

from __future__ import annotations

import html
import re
import warnings
from copy import deepcopy
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.limits import unlimited
from tests.report import worlds
from tests.report.worlds import GROUPS, HOSTILE, hostile, two, world
from tests.samples import compared

import equieffort as ee
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.recourse.status import Blocking, Infeasibility, LimitKind, Obstacle
from equieffort.report import model_card, render, svg
from equieffort.report.balance import Shift, balance_chart
from equieffort.report.blocked import binding_limits
from equieffort.report.blocks import Chart, Section
from equieffort.report.evidence import reproduction
from equieffort.report.forest import Panel, Point, forest_chart
from equieffort.report.material import Material
from equieffort.report.page import outline
from equieffort.report.plots import bar_chart, step_chart
from equieffort.report.words import Guard, plain
from equieffort.results.provenance import CostRecord, DataFile, Provenance, SolverUsed

SECTIONS = [
    "verdict", "people", "measures", "levels", "curve", "costs", "no-recourse", "actions", "assumptions", "evidence",
    "appendix",
]  # fmt: skip


class Page(HTMLParser):
    """What a browser would see: tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.ids: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value)

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self.text += data


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return worlds.plain()


@pytest.fixture(scope="module")
def decided(audit) -> ee.Audit:
    return replace(audit, criteria=ee.Criteria(tau=1.05))


@pytest.fixture(scope="module")
def page(audit) -> Page:
    return Page(render(audit, title="Loans", command="equieffort audit loans.yaml"))


@pytest.fixture(scope="module")
def hostile_audit() -> ee.Audit:
    return hostile()


KEPT: dict[tuple[int, int | None], tuple[ee.Audit, list[Section]]] = {}


def laid_out(audit: ee.Audit, k: int | None = None) -> list[Section]:
    """The outline of an audit that several tests look at, made once."""
    if (id(audit), k) not in KEPT:
        KEPT[id(audit), k] = audit, outline(audit, k)
    return KEPT[id(audit), k][1]


SHOWN: dict[tuple[int, int | None], tuple[ee.Audit, str]] = {}


def page_of(audit: ee.Audit, k: int | None = None) -> str:
    """The report of an audit that several tests look at, made once."""
    if (id(audit), k) not in SHOWN:
        SHOWN[id(audit), k] = audit, render(audit, suppress_below=k)
    return SHOWN[id(audit), k][1]


def charts_of(section):
    """Pictures, that of the first page and those beside words included."""
    return [block for block in section.walk() if isinstance(block, Chart)]


def tables_of(section):
    """All tables, those behind pictures and disclosures included; a table that two pictures share comes once."""
    found = [getattr(block, "table", block) for block in section.walk()]
    return list({id(table): table for table in found if hasattr(table, "rows")}.values())


def cells(sections, name, caption):
    """The rows of a table as text, found by the start of its caption."""
    section = next(s for s in sections if s.name == name)
    tables = tables_of(section)
    table = next(t for t in tables if hasattr(t, "rows") and plain(t.caption).startswith(caption))
    return [[plain(cell) for cell in row] for row in table.rows]


def test_sections_in_order_and_verdict_first(page):
    assert [i for i in page.ids if i in SECTIONS] == SECTIONS
    assert page.text.index("inconclusive") < page.text.index("people were audited")


def test_the_verdict_is_said_in_its_own_words(decided):
    assert decided.verdict.outcome == "unequal"
    text = Page(render(decided)).text
    assert text.index("unequal") < text.index(decided.verdict.headline) < text.index("people were audited")
    assert decided.verdict.basis in text


def test_numbers_are_those_of_the_audit(audit, page):
    row = compared(audit).loc["ash"]
    said = (
        f"The {row['n_optimal']} of {row['n_unfavourable']} refused people with group = ash who have a route to "
        "approval need "
    )
    assert f"{said}{row['acr']:.2f} times" in page.text
    assert f"(95 % interval {row['acr_low']:.2f} to {row['acr_high']:.2f};" in page.text
    found = {row[0]: row for row in cells(laid_out(audit), "people", "Everybody")}
    rates = audit.system.groups["favourable_rate"]
    assert found["ash"][4] == f"{100 * rates['ash']:.1f} %"
    assert found["ash"][5] == f"{rates['ash'] / rates['birch']:.3g}"
    assert found["birch"][5] == "1"
    subgroup = audit.subgroup("job = 'cook'").comparisons[0]
    levels = cells(laid_out(audit), "levels", "Everybody and subgroups")
    assert [row[:3] for row in levels] == [
        ["everybody", "ash", "birch"], ["cooks: People with job = 'cook'", "ash", "birch"]
    ]  # fmt: skip
    acr, rd = (subgroup.reading(name) for name in ("acr", "rd"))
    assert levels[1][5:7] == [
        f"{acr.estimate:.2f} ({acr.low:.2f} to {acr.high:.2f})",
        f"{rd.estimate * 100:.1f} points ({rd.low * 100:.1f} to {rd.high * 100:.1f})",
    ]
    others = cells(laid_out(audit), "levels", "Groups that are not judged")
    assert [row[1] for row in others] == ["cedar", "cedar"]


def test_curve_table_is_the_curve(audit):
    rows = cells(laid_out(audit), "curve", "Ratio of mean efforts")
    curve = audit.curve()
    assert len(rows) == len(curve)
    for row, record in zip(rows, curve.to_dict("records"), strict=True):
        assert row[:2] == [record["group"], record["against"]]
        assert row[3] == ("–" if np.isnan(record["acr"]) else f"{round(record['acr'], 3):g}")
        assert int(row[6]) == record["n_undefined"]
        limits = f"{round(record['acr_low'], 3):g} to {round(record['acr_high'], 3):g}"
        assert row[4] == ("–" if np.isnan(record["acr_low"]) else limits)


def test_individuals_are_those_of_the_audit(audit):
    rows = cells(laid_out(audit), "appendix", "The 10 highest")
    assert len(rows) == 10
    ratios = [float(row[3]) for row in rows]
    assert ratios == sorted(ratios, reverse=True)
    for row in rows:
        found = audit.individual(int(row[0]))
        compared = next(c for c in found.comparisons if c.against == row[2])
        assert row[3] == f"{round(compared.acr, 3):g}"
        # Only groups that are judged, with enough people of either around a person who is worse off than the others.
        assert {row[1], row[2]} == {"ash", "birch"}
        assert min(compared.mine.n_unfavourable, compared.theirs.n_unfavourable) >= audit.criteria.min_people
        assert row[6] == "no route" or audit.explain(int(row[0])).cost > compared.theirs.phi


def test_k_nearest_are_the_neighbours_of_the_audit(audit):
    near = ee.Audit(audit.recourse, audit.criteria, ee.NearestK(70), audit.warnings, audit.provenance)
    for row in cells(outline(near), "appendix", "The 10 highest"):
        found = near.individual(int(row[0]))
        assert row[3] == f"{round(next(c.acr for c in found.comparisons if c.against == row[2]), 3):g}"


def test_nobody_is_listed_where_too_few_are_nearby(audit):
    strict = ee.Audit(audit.recourse, ee.Criteria(min_people=200), audit.neighbourhood, (), audit.provenance)
    section = next(s for s in outline(strict) if s.name == "appendix")
    told = next(block for block in section.blocks if getattr(block, "title", "").startswith("Where the ratio"))
    assert [plain(block.words) for block in told.blocks][1:] == ["This holds for nobody."]


def test_half_of_the_refused_is_counted_not_read_off_a_thinned_curve():
    """Of efforts 0.001, 0.002, ..., 1 half are at most 0.5, wherever the steps of the picture are."""
    X = pd.DataFrame({"sex": np.repeat(["f", "m"], 1001), "pay": np.tile(np.arange(1001.0), 2)})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"pay": ee.Feature("actionable", upper=1000)}
    )
    scm = ee.StructuralCausalModel([], nodes=["pay"]).fit(X)
    audit = ee.audit(ee.LinearScore({"pay": 1.0}, threshold=1000.0), X, schema=schema, scm=scm)
    (chart,) = charts_of(next(s for s in laid_out(audit) if s.name == "costs"))
    assert re.findall(r"\d\.\d+", plain(chart.title)) == ["0.5", "0.5"]


def test_limits_are_counted_from_the_reasons(audit):
    rows = {row[0]: row[1:] for row in cells(laid_out(audit), "no-recourse", "Refused people without")}
    frame = audit.recourse.frame()
    stuck = frame[frame["status"] == "infeasible"]
    order = ["ash", "cedar", "birch"]
    assert rows["all without a route"] == [str((stuck["group"] == group).sum()) for group in order]
    reached = stuck[stuck["reason"].str.contains("fox .*upper limit 2")]
    assert rows["fox: upper limit 2"] == [str((reached["group"] == group).sum()) for group in order]


def test_a_limit_is_told_whatever_the_names_hold():
    reason = Infeasibility(
        (
            Obstacle(HOSTILE["script"], LimitKind.MAX_INCREASE, 1, 1.0, fact=2.0, stops_at=3.0),
            Obstacle(HOSTILE["long"], LimitKind.FIXED, 1, column=HOSTILE["fixed"], fact=9.0, stops_at=9.0),
        ),
        Blocking.CLOSEST, needed=1.0, reachable=0.5,
    )  # fmt: skip
    assert [plain(limit) for limit in binding_limits(reason)] == [
        f"{HOSTILE['script']}: largest increase 1",
        f"{HOSTILE['long']}: '{HOSTILE['fixed']}' must not move",
    ]


def test_limits_that_stop_people_before_trees_are_named_too():
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "pay": np.arange(40.0), "rent": np.arange(40.0)[::-1]})
    clf = DecisionTreeClassifier(random_state=0).fit(frame[["pay"]], frame["pay"] > 29)
    features = {"pay": ee.Feature("actionable", upper=25), "rent": "actionable"}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(features))
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        audit = ee.audit(clf, frame, schema=schema, scm=scm)
    behind = cells(laid_out(audit), "no-recourse", "Refused people")
    assert behind == [["all without a route", "15", "15"], ["pay: upper limit 25", "15", "15"]]


FOX = Obstacle("fox", LimitKind.UPPER, 1, 2.0, fact=1.0, stops_at=2.0)


@pytest.mark.parametrize(
    ("reason", "limits"),
    [
        (
            Infeasibility((FOX, Obstacle("", LimitKind.FIXED, column="marks")), Blocking.TOGETHER),
            ["fox: upper limit 2", "'marks' must not move"],
        ),
        (
            Infeasibility((FOX, Obstacle("", LimitKind.RULE, rule="fox <= script")), Blocking.ALL),
            ["fox: upper limit 2", "the rule that fox <= script"],
        ),
        (Infeasibility(blocking=Blocking.BEYOND), ["no limit: nothing they could set turns the decision"]),
        # Two people at different values are stopped by the same limit.
        (Infeasibility((FOX, replace(FOX, fact=0.0)), Blocking.EACH), ["fox: upper limit 2"]),
        (Infeasibility((), Blocking.CLOSEST, 1.0, 0.0), ["no action moves the score"]),
        (Infeasibility(), ["no single limit"]),
    ],
)
def test_limits_are_read_from_every_kind_of_reason(reason, limits):
    assert [plain(limit) for limit in binding_limits(reason)] == limits


def test_actions_and_effort_add_up(audit):
    sections = laid_out(audit)
    frame = audit.recourse.frame()
    acting = frame[frame["status"] == "optimal"]
    changed = acting[acting["delta_fox"].fillna(0) != 0]
    mix = {(row[0], row[1]): row for row in cells(sections, "actions", "Cheapest")}
    mine = changed[changed["group"] == "ash"]
    assert mix["fox", "ash"][2] == str(len(mine))
    assert mix["fox", "ash"][4] == f"{mine['delta_fox'].median():+,.3g}"
    assert mix["fox", "ash"][5] == f"{mine['delta_fox'].mean():+,.3g}"
    shares = [float(row[8].removesuffix("%")) for row in mix.values() if row[1] == "ash"]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    efforts = [float(row[7]) for row in mix.values() if row[1] == "ash"]
    assert sum(efforts) == pytest.approx(audit.by_group.loc["ash", "phi"], rel=1e-3)


def test_weak_equations_and_leaving_the_data_are_said(audit):
    weak = audit.with_provenance(fit=tuple(replace(one, r2=0.01) for one in audit.provenance.fit))
    rows = cells(outline(weak), "appendix", "Structural equations")
    assert all(row[2].startswith("weak") for row in rows)
    assert len(rows) == 4
    leaving = {row[0]: int(row[2]) for row in cells(laid_out(audit), "appendix", "Actions that leave")}
    moved = audit.recourse.counterfactuals()["long"]
    data = audit.recourse.data["long"]
    assert leaving["long"] == ((moved > data.max()) | (moved < data.min())).sum() > 0


def test_a_surrogate_is_said_first(hostile_audit):
    text = Page(page_of(hostile_audit)).text
    assert "not the system that made them; it repeats 93.0 % of decisions it has not seen" in text
    assert text.index("This audits a logistic model") < text.index(hostile_audit.verdict.headline)


def test_recourse_actions_are_not_reasons(page):
    assert "It is not the reason for the decision" in page.text
    assert "no letter of reasons should be drafted from it" in page.text


def test_never_called_fair(audit, hostile_audit):
    equal = ee.Audit(audit.recourse, ee.Criteria(tau=100.0, epsilon=1.0), audit.neighbourhood, (), audit.provenance)
    text = render(equal)
    assert "Effort is equal within the thresholds." in text
    for made in (text, page_of(hostile_audit), model_card(equal)):
        assert not re.search(r"\b(un)?fair|unbiased|\bbias", made, re.IGNORECASE)


def test_one_file_that_reaches_for_nothing(audit, hostile_audit):
    for made in (page_of(audit), page_of(hostile_audit)):
        page = Page(made)
        assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(page.tags)
        assert not [a for a in page.attributes if a[1].startswith("on")]
        links = [value for _, name, value in page.attributes if name in ("href", "src", "xlink:href", "srcset")]
        assert links
        assert all(link.startswith("#") for link in links)
        assert not re.search(r"@import|url\((?!#)", made)
        assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in made
        assert len(page.ids) == len(set(page.ids))


def test_hostile_names_are_text(hostile_audit):
    page = Page(render(hostile_audit, title="<h1>x</h1>", command="<script>"))
    for name in (*HOSTILE.values(), *GROUPS):
        assert name.replace("\x07", "\ufffd") in page.text
    assert "<h1>x</h1>" in page.text
    assert page.tags.count("h1") == 1
    assert not {"b", "i", "u"} & set(page.tags)


def test_unwritable_characters_are_replaced():
    odd = world(groups=("a\x1b", "b\x07", "c\u202e"), n=200)
    for made in (render(odd, title="\ud800"), model_card(odd)):
        assert "a\ufffd" in made
        assert not re.search("[\x07\x1b]", made)
        made.encode("utf-8")


def test_names_from_right_to_left_do_not_turn_an_equation(hostile_audit):
    made = page_of(hostile_audit)
    assert re.search('<bdi>שלום עולם</bdi><bdi dir="ltr"[^>]*> = ', made)


def test_a_distance_that_no_file_holds(audit, tmp_path):
    own = ee.OwnDistance(lambda people, others: np.abs(people[:, None, 0] - others[None, :, 0]))
    near = ee.Audit(audit.recourse, audit.criteria, ee.Nearest(0.3, own), audit.warnings, audit.provenance)
    near.save(tmp_path / "own.audit")
    text = render(ee.load(tmp_path / "own.audit"))
    assert "Around individuals nothing can be computed" in text
    assert "a distance that was not saved with the audit" in text


def test_pictures_are_xml_with_words_for_those_who_cannot_see(hostile_audit):
    pictures = re.findall(r"<svg.*?</svg>", page_of(hostile_audit), re.DOTALL)
    assert len(pictures) == 9
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        assert root.find("title").text
        assert root.find("desc").text.strip(". ")
        width = float(root.get("viewBox").split()[2])
        for element in root.iter():
            for name in ("x", "x1", "x2", "cx"):
                value = element.get(name)
                assert value is None or -1 <= float(value) <= width + 1


def test_each_picture_has_its_table(page):
    assert page.tags.count("figure") == page.tags.count("svg") == 9
    # Four pictures have their numbers behind them, the others beside them; one disclosure has the comparisons that
    # are not judged, five are the appendix.
    assert page.tags.count("details") == 4 + 1 + 5


def test_loaded_and_live_audits_give_the_same_report(hostile_audit, tmp_path):
    hostile_audit.save(tmp_path / "x.audit")
    loaded = ee.load(tmp_path / "x.audit")
    for k in (0, 10):
        assert render(loaded, suppress_below=k) == page_of(hostile_audit, k)
    assert model_card(loaded) == model_card(hostile_audit)
    assert render(hostile_audit) == page_of(hostile_audit)


def test_reading_an_audit_warns_of_nothing_and_changes_nothing(audit):
    before = deepcopy(audit.provenance)
    odd = ee.Audit(
        audit.recourse, audit.criteria, ee.Everyone(), (), replace(before, subgroups={"none": "job = 'king'"})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = render(odd)
    assert "RULE_UNMATCHED" in text
    assert "RULE_UNMATCHED" not in render(audit)
    assert audit.provenance == before


# -- suppression ------------------------------------------------------------------------------------------------------


def small_numbers(audit, k):
    """Counts of the audit that must not show."""
    counts = audit.system.groups
    names = ["n", "n_unfavourable", "n_optimal", "n_infeasible"]
    return {g: {n for n in names if 0 < counts.loc[g, n] < k} for g in counts.index}


@pytest.mark.parametrize("k", [10, 30])
def test_small_counts_and_what_gives_them_away_are_kept_back(audit, k):
    small = small_numbers(audit, k)
    assert any(small.values())
    sections = laid_out(audit, k)
    assert [s.name for s in sections] == SECTIONS
    assert "Where the ratio around a person is highest" not in page_of(audit, k)
    stats = audit.system.groups
    for row in cells(sections, "people", "Everybody"):
        group = row[0]
        if small[group] & {"n"}:
            assert row[2] == f"<{k}"
            assert row[4:6] == ["hidden", "hidden"]
        if small[group] & {"n_optimal", "n_infeasible"}:
            assert {row[6], row[7]} <= {f"<{k}", "hidden"}
        favourable = stats.loc[group, "n"] - stats.loc[group, "n_unfavourable"]
        if 0 < favourable < k:
            assert row[4] == "hidden"
            assert row[3] in ("hidden", f"<{k}")


def test_no_small_count_is_left_in_any_table(audit):
    k = 30
    for section in laid_out(audit, k):
        if section.name in ("assumptions", "appendix"):
            continue
        for table in tables_of(section):
            for column, name in enumerate(table.head):
                if plain(name).split(",")[0] in ("people", "refused", "with a route", "without", "not known"):
                    for row in table.rows:
                        text = plain(row[column])
                        assert text in ("0", "hidden", f"<{k}") or int(text.replace(",", "")) >= k


def test_group_below_the_minimum_has_no_numbers_at_all(audit):
    k = 30
    assert audit.by_group.loc["cedar", "n"] < k
    captions = (
        ("appendix", "Every measure of groups"), ("costs", "Effort"), ("actions", "Cheapest")
    )  # fmt: skip
    for name, caption in captions:
        for row in cells(laid_out(audit, k), name, caption):
            # The people of the reference group may be counted.
            if name == "appendix" or "cedar" in row[:2]:
                shown = row[:-1] if name == "appendix" else row
                assert not re.search(r"[1-9]", " ".join(shown).replace(f"<{k}", ""))
    text = Page(page_of(audit, k)).text
    assert f"{len(audit.recourse)} people were audited" not in text
    assert "too small to be shown" in text or "cedar" not in [f.comparison.group for f in audit.verdict.findings]
    for name, caption in (("curve", "Ratio around"), ("levels", "Groups that are not judged")):
        for row in cells(laid_out(audit, k), name, caption):
            if "cedar" in row[:3]:
                # The other group's own counts are large enough to be shown.
                assert not re.search(r"\d\.\d", " ".join(row))


def test_spec_says_what_is_kept_back(audit):
    asked = audit.with_provenance(suppress_below=30, title="Loans *2026*", data=DataFile("x.csv", "ab", 400))
    page = render(asked)
    assert page == render(asked, suppress_below=30) != render(asked, suppress_below=0)
    card = model_card(asked)
    assert card == model_card(asked, suppress_below=30) != model_card(asked, suppress_below=0)
    assert card.startswith("# Loans \\*2026\\*: equality of effort\n\nCounts from 1 to 29 are kept back")
    assert "hold everything" in Page(page).text
    # One group's size could be worked out from how many rows the data have.
    for text in (Page(page).text, card):
        assert "400" not in text
        assert "x.csv" in text.replace("\\", "")


def test_hidden_count_is_hidden_in_every_table(audit):
    k, stats = 10, audit.by_group.loc["cedar"]
    assert 0 < stats["n"] - stats["n_unfavourable"] < k <= stats["n_unfavourable"]
    for section in laid_out(audit, k):
        for table in tables_of(section):
            for row in table.rows:
                if plain(row[0]) == "cedar":
                    assert str(stats["n_unfavourable"]) not in [plain(cell) for cell in row]


def test_rest_of_a_subgroup_does_not_give_a_small_count_away(audit):
    n = len(audit.recourse)
    stats = audit.system.groups
    ash = np.flatnonzero((audit.recourse.frame()["group"] == "ash") & audit.recourse.is_unfavourable)
    mask = np.ones(n, dtype=bool)
    mask[ash[:3]] = False
    nearly = audit.subgroup(mask).comparisons[0]
    assert nearly.mine.n_unfavourable == stats.loc["ash", "n_unfavourable"] - 3
    whole = audit.system.comparisons[0].mine
    assert Guard(10).seen(nearly.mine).rate
    assert not Guard(10).seen(nearly.mine, whole).rate


def test_warnings_under_suppression_name_nobody(hostile_audit):
    assert "33 people" in page_of(hostile_audit)
    assert "33 people" not in page_of(hostile_audit, 5)
    assert "SCHEMA_OUT_OF_LIMITS" in page_of(hostile_audit, 5)


@pytest.mark.parametrize("k", [-1, 2.5, True, "5"])
def test_what_is_no_count_is_refused(audit, k):
    with pytest.raises(ParameterError, match="suppress_below"):
        render(audit, suppress_below=k)


# -- model card -------------------------------------------------------------------------------------------------------


def test_model_card(audit, decided, hostile_audit):
    card = model_card(audit)
    assert card.startswith("# Equality of effort\n")
    assert "**Inconclusive.**" in card
    assert "**Unequal.**" in model_card(decided)
    assert "Chance is not considered" not in card
    assert "chance is not considered" in model_card(replace(audit, criteria=ee.Criteria(level=None)))
    acr = compared(audit).iloc[0]
    row = next(line for line in card.splitlines() if line.startswith("| Ratio of average efforts"))
    assert f"| {acr['acr']:.2f} | {acr['acr_low']:.2f} to {acr['acr_high']:.2f} | 142 | 124 |" in row
    for heading in ("Read with care", "What was measured", "What it rests on", "What it does not say", "Reproduce"):
        assert f"## {heading}" in card
    nasty = model_card(hostile_audit)
    assert "<script>" not in nasty
    assert "<b>" not in nasty
    tables = [part.splitlines() for part in nasty.split("\n\n") if part.startswith("|")]
    assert len(tables) > 5
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert html.unescape(nasty).count("שלום עולם") >= 2


def test_model_card_keeps_small_groups_back(audit):
    assert re.search(r"\| cedar \| other \| &lt;30 \| &lt;30 \| hidden", model_card(audit, suppress_below=30))


# -- plain words ------------------------------------------------------------------------------------------------------


def test_unit_of_effort_is_said_before_it_is_used_in_a_table(audit, page):
    prices = audit.provenance.cost.prices
    said = f"An effort of 1 is a change of script by {1 / prices['script'][0]:.4g}"
    assert said in page.text
    assert "or any other value of job" in page.text
    assert page.text.index(said) < page.text.index("All measures", page.text.index("Read with care"))
    rows = {row[0]: row[1:] for row in cells(laid_out(audit), "appendix", "The change that costs")}
    assert rows["job"][0] == "any other value is an effort of 1"
    assert rows["long"] == ["9", "9"]


def test_ranks_within_groups_are_said_in_words(audit):
    curve = [list(range(100)), [(k + 1) / 100 for k in range(100)]]
    said = {"columns": ["tree"], "by_group": {"ash": {"percentiles": {"long": curve}}}}
    made = audit.with_provenance(cost=CostRecord.of("Percentile", said))
    assert "A change costs the share of people of one's own group it overtakes" in Page(render(made)).text
    assert cells(outline(made), "appendix", "A change costs")[0] == ["long", "tree = ash", "9", "49", "89"]


@pytest.mark.parametrize("kind", ["Percentile", "Separable", "Own"])
def test_other_costs_are_said_in_words(audit, kind):
    cost = {
        "Percentile": {"percentiles": {"long": [list(range(100)), [(k + 1) / 100 for k in range(100)]]}},
        "Separable": {"separable": {"long": [0.0, 123456.0]}},
        "Own": {"own": True, "prices": {"long": [2.0, 2.0]}},
    }[kind]
    made = audit.with_provenance(cost=CostRecord.of("WeightedL1" if kind == "Own" else kind, cost))
    text = Page(render(made)).text
    assert {
        "Percentile": "A change costs the share of people it overtakes: to pass half of them costs 0.5.",
        "Separable": "A change costs what the given functions say.",
        "Own": "a change of long by 0.5 times its own value",
    }[kind] in text
    assert "123456" not in text
    if kind == "Percentile":
        assert cells(outline(made), "appendix", "A change costs")[0] == ["long", "9", "49", "89"]


def test_limits_that_people_start_outside_are_named(audit):
    rows = cells(laid_out(audit), "assumptions", "People who start outside")
    data = audit.recourse.frame()[["group"]].join(audit.recourse.data[["fox", "hebrew"]])
    expected = [
        ["hebrew", "plausible minimum -3", data["hebrew"] < -3],
        ["hebrew", "plausible maximum 3", data["hebrew"] > 3],
        ["fox", "upper limit 2", data["fox"] > 2],
    ]
    counted = {
        (name, limit): [str(int((who & (data["group"] == g)).sum())) for g in ("ash", "cedar", "birch")]
        for name, limit, who in expected
        if who.any()
    }
    assert {(row[0], row[1]): row[2:] for row in rows} == counted
    warned = next(w.what for w in audit.warnings if w.code == "SCHEMA_OUT_OF_LIMITS")
    assert f"'fox': {(data['fox'] > 2).sum()} beyond the upper limit 2" in warned


def test_names_of_measures_are_explained(page):
    for words in (
        "ratio of efforts (ACR)",
        "gap (RD)",
        "95 % interval at each point",
        "moves away from 1 towards the left",
    ):
        # Lines of a picture are broken.
        assert words in " ".join(page.text.split())
    assert "is not considered" not in page.text


def test_pictures_of_many_groups_show_those_that_are_judged():
    rng = np.random.default_rng(3)
    n, groups = 420, [f"group {k}" for k in range(7)]
    X = pd.DataFrame({"group": np.array(groups)[np.arange(n) % 7], "income": rng.normal(20, 5, n).round(1)})
    schema = ee.Schema(
        sensitive="group", protected="group 3", reference="group 0", favourable=True,
        features=unlimited({"income": ee.Feature("actionable", max_increase=6)}),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = ee.StructuralCausalModel([], nodes=["group", "income"]).fit(X)
        made = ee.audit(ee.LinearScore({"income": 1.0}, threshold=22.0), X, schema=schema, scm=scm)
    sections = outline(made)
    charts = {block.name: block for s in sections for block in charts_of(s)}
    # One direction, the group against the reference; the table behind it has both.
    assert [line.label for line in charts["acr"].given["lines"]] == ["group = group 3"]
    assert [line.label for line in charts["individual-acr"].given["lines"]] == ["group = group 3"]
    assert ["group 0", "group 3"] in [row[:2] for row in cells(sections, "curve", "Ratio of mean")]
    assert [line.label for line in charts["effort-curve"].given["lines"]] == ["group = group 3", "group = group 0"]
    assert [line.look.role for line in charts["effort-curve"].given["lines"]] == ["group", "reference"]
    assert all(len(panel.points) == 1 for panel in charts["measures"].given["panels"])
    for name in ("mix", "effort", "limits"):
        assert all(len(bars) == 2 for _, bars in charts[name].given["blocks"])
    # The tables leave nobody out.
    assert len(cells(sections, "costs", "Effort of those")) == 7
    assert len(cells(sections, "levels", "Everybody and subgroups")) == 1
    assert len(cells(sections, "levels", "Groups that are not judged")) == 5
    assert "The picture shows the groups that are judged" in Page(render(made)).text


@pytest.mark.parametrize(
    ("solver", "seed", "words"),
    [
        (SolverUsed("LinearExact()"), None, "the solver draws nothing at random"),
        (SolverUsed("Mine()", random_state=7), None, "7, that of the solver"),
        # A name that happens to hold the word is no seed.
        (SolverUsed("Mine(random_state_of=None)"), None, "the solver draws nothing at random"),
        (SolverUsed("LinearExact()"), 3, "3"),
    ],
)
def test_the_seed_is_told_wherever_it_is(audit, solver, seed, words):
    made = audit.with_provenance(solver=solver, random_state=seed)
    pairs = dict(reproduction(Material.of(made)))
    assert words in plain(pairs["Seed"])


def test_remarks_of_the_caller_stand_with_the_evidence(audit):
    said = dict(reproduction(Material.of(audit)))
    assert said["Date"].startswith("not recorded")
    noted = audit.with_provenance(notes={"date": "2026-03-31", "approved by": "<b>the board</b>"})
    pairs = dict(reproduction(Material.of(noted)))
    assert (plain(pairs["Date"]), plain(pairs["Approved by"])) == ("2026-03-31", "<b>the board</b>")
    assert "<b>the board</b>" not in render(noted)


def test_an_audit_that_says_nothing_of_itself_has_a_report(audit):
    page = Page(render(replace(audit, provenance=Provenance())))
    assert "not recorded" in page.text


def test_names_in_pictures_are_broken_into_lines_and_never_cut():
    long = "share of the monthly income that goes to debts of all kinds, in percent"
    word = "a_really_long_feature_name_without_any_space_in_it_at_all_and_then_some"
    for name in (long, word):
        bars = [(f"{name}: largest decrease 15", [svg.Bar(name, 1.0, "1")])]
        lines = [svg.Line(name, [0.0, 1.0], [0.2, 0.4]), svg.Line(f"{name} 2", [0.0, 1.0], [0.2, 0.4])]
        point = Point(name, 1.2, 0.9, 1.4, "1.20 (0.90 to 1.40)")
        pictures = [
            bar_chart("b", "t", "d", bars),
            step_chart("s", "t", "d", lines, x_label="x", y_label="y", steps=True, equal=(0.8, 1.25), key=""),
            forest_chart("f", "t", "d", [Panel(name, "not judged", [point, point], 1.0)], interval="95 %"),
        ]
        pictures.append(balance_chart("m", "t", "d", [Shift(name, 0.4, 0.1), Shift("x", 0.1, 0.0)], 0.1))
        for picture in pictures:
            texts = re.findall(r"<text[^>]*>([^<]*)</text>", str(picture))
            assert name.replace(" ", "") in "".join(texts).replace(" ", "")
            assert "…" not in "".join(texts)
            assert max(svg.width_of(text) for text in texts) <= svg.WIDTH * 1.1
    assert svg.lines_of("x", 1.0) == ["x"]


@pytest.mark.parametrize(
    ("labels", "says"),
    [({"groups": {"ash": "women"}}, "women are worse off."), ({}, "people with group = ash are worse off.")],
)
def test_the_picture_of_the_first_page_says_who_is_worse_off_as_a_reader_would(labels, says):
    words = re.sub("<[^>]+>", " ", two(labels).plot.measures().svg)
    assert f"Right of the dotted line {says}" in " ".join(words.split())
