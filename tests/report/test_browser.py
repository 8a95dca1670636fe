"""The report in a real browser: no errors, no requests, everything can be read, opened and printed."""

from __future__ import annotations

import io
import shutil
import unicodedata
from functools import cache
from pathlib import Path

import pypdf
import pytest
from playwright import sync_api as api
from tests.report.test_report import SECTIONS
from tests.report.worlds import GROUPS, HOSTILE, LABELS, hostile, loans, two, world
from typer.testing import CliRunner

from equieffort.cli import app
from equieffort.report import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / ".cache" / "axe.min.js"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(hostile(), title="Loans <2026>"), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def loans_address(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans") / "loans.html"
    path.write_text(render(loans(), title="Loans"), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def tab(browser):
    """One page for all tests, what it logged and what it asked for: a page of its own is a process of its own."""
    page, said, asked = browser.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    yield page, said, asked
    page.close()


@pytest.fixture(scope="module")
def show(tab):
    """Load a page anew, in a window of that size."""

    def load(address, width=1300, height=900):
        page, said, asked = tab
        page.set_viewport_size({"width": width, "height": height})
        said.clear()
        asked.clear()
        page.goto(address)
        return page

    return load


@pytest.fixture
def opened(show, tab, address):
    show(address)
    return tab


def test_opens_in_silence(opened, address):
    page, said, asked = opened
    assert page.title() == "Loans <2026>"
    assert said == []
    assert asked == [address]


def test_every_section_is_there_and_can_be_reached(opened):
    page, _, _ = opened
    for name in SECTIONS:
        assert page.locator(f"section#{name} h2").is_visible()
        page.locator(f'nav a[href="#{name}"]').click()
        assert page.evaluate("location.hash") == f"#{name}"


def test_disclosures_open_by_key(opened):
    page, said, _ = opened
    for index in range(page.locator("details").count()):
        details = page.locator("details").nth(index)
        was = details.evaluate("element => element.open")
        details.locator("summary").focus()
        page.keyboard.press("Enter")
        assert details.evaluate("element => element.open") is not was
        if not was:
            assert details.locator("table, pre").first.is_visible()
    assert said == []


def test_hostile_names_show_as_text(opened):
    page, said, _ = opened
    shown = page.locator("main").inner_text()
    for name in (HOSTILE["script"], HOSTILE["fixed"], HOSTILE["hebrew"], *GROUPS):
        assert name in shown
    assert page.locator("script, img, main b, main i").count() == 0
    assert said == []


@pytest.mark.parametrize("width", [1300, 390])
def test_nothing_sticks_out(show, address, width):
    page = show(address, width, 800)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg text')].filter(text => {
            const box = text.getBoundingClientRect(), around = text.closest('svg').getBoundingClientRect();
            return box.left < around.left - 3 || box.right > around.right + 3
                || box.top < around.top - 3 || box.bottom > around.bottom + 3;
        }).map(text => text.textContent)"""
    )
    assert outside == []


def test_a_narrow_screen_says_where_to_scroll(show, address):
    for width, visible in ((390, True), (1300, False)):
        page = show(address, width, 800)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        hidden = page.evaluate(
            """() => [...document.querySelectorAll('.scroll:not(.wide)')]
                .filter(box => box.scrollWidth > box.clientWidth + 40)
                .filter(box => !(box.previousElementSibling?.matches('.hint')
                    && box.previousElementSibling.offsetHeight > 0))
                .map(box => box.getAttribute('aria-label'))"""
        )
        assert hidden == [] or not visible
        assert page.locator(".hint").first.is_visible() is visible


def test_a_wide_screen_is_used(show, address):
    page = show(address, 1400, 800)
    boxes = {
        name: page.locator(name).bounding_box() for name in ("nav ol", "main", "#chart-acr", "#chart-individual-acr")
    }
    contents, main, left, right = boxes.values()
    # The contents stand at the side, the page is centred and at most 1,080 px wide, pictures beside each other.
    assert contents["x"] + contents["width"] <= main["x"]
    assert 1000 <= main["width"] <= 1080
    around = contents["x"], 1400 - main["x"] - main["width"]
    assert abs(around[0] - around[1]) < 30
    assert left["x"] + left["width"] <= right["x"]
    assert right["x"] + right["width"] > main["x"] + 0.9 * main["width"]


@pytest.mark.parametrize("width", [360, 1300, 3840])
def test_a_picture_has_letters_of_the_size_of_the_text(show, address, width):
    page = show(address, width, 800)
    sizes = page.evaluate(
        """() => {
            const body = parseFloat(getComputedStyle(document.querySelector('main p')).fontSize);
            return [...document.querySelectorAll('svg text[font-size="13"]')].map(
                text => 13 * text.closest('svg').getBoundingClientRect().width
                    / text.closest('svg').viewBox.baseVal.width / body);
        }"""
    )
    assert len(sizes) > 10
    assert all(0.6 <= size <= 1.1 for size in sizes)
    if width > 1000:
        assert all(size >= 0.8 for size in sizes)


def test_labels_of_a_picture_do_not_overlap(opened):
    page, _, _ = opened
    overlapping = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
            const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
            return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) =>
                Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 &&
                Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 6).map(([b]) => a + ' / ' + b));
        })"""
    )
    assert overlapping == []


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not there; tools/fetch_axe.sh fetches it")
@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (390, "light"), (1300, "dark")])
def test_axe_finds_nothing_serious(browser, address, width, scheme):
    # The page forbids all scripts, so the inspector needs a door of its own.
    context = browser.new_context(bypass_csp=True, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("async () => (await axe.run()).violations.map(v => [v.impact, v.id, v.nodes[0].html])")
    context.close()
    assert [violation for violation in found if violation[0] in ("serious", "critical")] == []


def test_the_dark_is_dark(browser, address):
    shades = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(address)
        shades[scheme] = page.evaluate(
            """() => ['body', 'section', 'svg text', 'svg .zone', 'svg .grid'].map(name => {
                const style = getComputedStyle(document.querySelector(name));
                const colour = name.startsWith('svg .grid') ? style.stroke
                    : name.startsWith('svg') ? style.fill : style.backgroundColor;
                return colour.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3;
            })"""
        )
        page.close()
    back, card, ink, zone, grid = shades["dark"]
    assert max(back, card) < 50 < 200 < ink
    assert card < grid < 128
    assert card < zone < 128
    assert shades["light"][2] < 50 < 200 < min(shades["light"][:2])


# -- print ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def printed(show):
    """The text of each printed page; a page that several tests look at is printed once."""

    @cache
    def texts(address, before="", paper="A4") -> list[str]:
        page = show(address)
        if before:
            page.evaluate(before)
        reader = pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))
        # Letters that a font joins come apart, so that words can be found.
        found = [unicodedata.normalize("NFKC", part.extract_text()) for part in reader.pages]
        return [" ".join(text.split()) for text in found]

    return texts


def test_the_first_page_can_be_printed_alone(printed, address):
    first, second, *_ = printed(address)
    for words in ("inconclusive", "Ratio of average efforts (ACR)", "not judged", "Refused", "Read with care", "next"):
        assert words.lower() in first.lower()
    assert second.startswith("Who was audited")
    assert "Who was audited" not in first


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = CliRunner().invoke(app, ["demo", "german", "--out", str(folder / "german")])
    assert done.exit_code == 0, done.output
    return (folder / "german.html").as_uri()


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_demo_with_its_notions_prints_on_six_pages(printed, demo, paper):
    assert len(printed(demo, paper=paper)) <= 6


def test_a_plain_audit_prints_on_six_pages(printed, tmp_path):
    path = tmp_path / "plain.html"
    path.write_text(render(world(), title="Loans"), encoding="utf-8")
    pages = printed(path.as_uri())
    assert len(pages) <= 6
    text = " ".join(pages)
    for words in ("Register of assumptions", "Cheapest actions by feature", "Evidence", "SHA-256", "Solver"):
        assert words in text


def test_what_each_notion_adds_is_on_the_screen_and_left_out_of_print(show, printed, tmp_path):
    path = tmp_path / "notions.html"
    audit = world(n=120).with_notions()
    path.write_text(render(audit, title="Loans"), encoding="utf-8")
    found = audit.provenance.notions
    adds = {found.notion(one.notion).adds for one in found.readings if found.notion(one.notion).adds}
    page = show(path.as_uri())
    shown = " ".join(page.locator("section#notions").inner_text().split())
    text = " ".join(printed(path.as_uri()))
    assert "Notions that compare groups" in text
    said = [words for words in adds if words in shown]
    assert len(said) > 5
    assert [words for words in said if words in text] == []


def test_columns_of_a_letter_stand_below_each_other_and_no_head_is_cut(show, tmp_path):
    loans(200).with_alternatives(3).letters(tmp_path / "letters")
    (path,) = sorted((tmp_path / "letters").glob("*.html"), key=lambda one: one.read_text().count("<table"))[-1:]
    ends = """() => [...document.querySelectorAll('section table')].map(table => [...table.querySelectorAll('thead th')]
        .map(head => Math.round(head.getBoundingClientRect().right)))"""
    cut = """() => [...document.querySelectorAll('th, td')].filter(cell => cell.scrollWidth > cell.clientWidth)
        .map(cell => cell.textContent)"""
    for width in (400, 800, 1400):
        page = show(path.as_uri(), width)
        assert page.evaluate(cut) == []
        tables = page.evaluate(ends)
        assert len(tables) > 1
        assert width == 400 or len({tuple(table) for table in tables}) == 1


def test_a_surrogate_and_long_names_print_on_six_pages_the_first_of_them_alone(printed, loans_address):
    pages = printed(loans_address)
    assert len(pages) <= 6
    assert pages[1].startswith("Who was audited")
    for words in (
        "This audits a logistic model",
        "Black applicants or Hispanic applicants",
        "3 warnings",
        "Median (mean)",
    ):
        assert words in pages[0]


@pytest.mark.parametrize("width", [400, 800, 1400])
def test_long_names_stay_whole_and_within_their_pictures(show, loans_address, width):
    page = show(loans_address, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside, texts = page.evaluate(
        """() => [[...document.querySelectorAll('svg text')].filter(text => {
            const box = text.getBoundingClientRect(), around = text.closest('svg').getBoundingClientRect();
            return box.left < around.left - 3 || box.right > around.right + 3 || box.bottom > around.bottom + 3;
        }).map(text => text.textContent),
        [...document.querySelectorAll('svg')].map(one => [...one.querySelectorAll('text')].map(
            text => text.textContent).join(' '))]"""
    )
    assert outside == []
    for name in LABELS["features"].values():
        assert any(name in text for text in texts), name
    assert not any("…" in text for text in texts)


def test_names_of_wide_letters_end_within_their_pictures(show, tmp_path):
    path = tmp_path / "wide.html"
    schema = {"groups": {"ash": "women", "birch": "MMWW mmww"}}
    path.write_text(render(two(schema), title="Loans"), encoding="utf-8")
    page = show(path.as_uri(), 800)
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg text')].filter(text => {
            const box = text.getBoundingClientRect(), around = text.closest('svg').getBoundingClientRect();
            return box.left < around.left - 1 || box.right > around.right + 1;
        }).map(text => text.textContent)"""
    )
    assert outside == []
    assert page.locator("#chart-effort-curve text", has_text="women").count() == 1


def test_the_appendix_is_printed_only_where_it_is_open(printed, address):
    closed = " ".join(printed(address))
    assert "Structural equations" not in closed
    assert "Appendix" not in closed
    pages = printed(address, "document.querySelectorAll('#appendix details').forEach(d => { d.open = true })")
    start = next(k for k, text in enumerate(pages) if text.startswith("Appendix"))
    text = " ".join(pages[start:])
    for words in ("Structural equations", "title: <script>"):
        assert words in text
    assert "Evidence" in " ".join(pages[:start])
