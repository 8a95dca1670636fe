"""The report in a real browser: no errors, no requests, everything can be read, opened and printed."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pypdf
import pytest
from playwright import sync_api as api
from tests.report.test_report import SECTIONS
from tests.report.worlds import GROUPS, HOSTILE, hostile

from equieffort.report import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / ".cache" / "axe.min.js"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

# One worker starts one browser for all tests of this file.
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


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


@pytest.fixture
def opened(browser, address):
    """The page, what it logged and what it asked for."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page, said, asked
    page.close()


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
def test_nothing_sticks_out(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(address)
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
    page.close()


def test_a_narrow_screen_says_where_to_scroll(browser, address):
    for width, visible in ((390, True), (1300, False)):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(address)
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
        page.close()


def test_a_wide_screen_is_used(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    right = page.evaluate("document.querySelector('#chart-acr').getBoundingClientRect().right")
    assert right > 0.65 * 1280
    page.close()


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
@pytest.mark.parametrize("width", [1300, 390])
def test_axe_finds_nothing_serious(browser, address, width):
    # The page forbids all scripts, so the inspector needs a door of its own.
    context = browser.new_context(bypass_csp=True, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("async () => (await axe.run()).violations.map(v => [v.impact, v.id, v.nodes[0].html])")
    context.close()
    assert [violation for violation in found if violation[0] in ("serious", "critical")] == []


def test_prints_with_everything_open(browser, address):
    page = browser.new_page()
    page.goto(address)
    printed = page.pdf(format="A4")
    page.close()
    reader = pypdf.PdfReader(io.BytesIO(printed))
    text = " ".join(" ".join(part.extract_text() for part in reader.pages).split())
    assert len(reader.pages) >= 4
    for words in (
        "Verdict",
        "Structural equations",
        "Cheapest actions by feature",
        "How to reproduce this",
        "title: <script>",
    ):
        assert words in text
