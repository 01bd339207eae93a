"""The pages in a real browser, Debian's Chromium without a window: the three steps to a picture,
zoom, hover, download, scales, addresses, the keyboard, the console, both widths, axe-core. Minutes:
`make test-pages`. PLUMBLINE_SCREENSHOTS names a folder that gets a picture of each page."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from plumbline.pages import frozen
from tests.exporters.test_web import serving
from tests.tuner.pages import addresses, site
from tests.tuner.pages.site import DESCRIBED, FIRST, SECOND, SUITES

playwright = pytest.importorskip("playwright.sync_api", reason="make test-pages installs it")
axe = pytest.importorskip("axe_playwright_python.base", reason="make test-pages installs it")

CURVES = f"run={FIRST}&run={SECOND}&" + "&".join(
    "curve=" + quote(name)
    for name in (
        f"{FIRST}:before|MPI_Bcast|default",
        f"{FIRST}:before|MPI_Bcast|allreduce_as_reduce_plus_bcast",
        f"{SECOND}:after|MPI_Alltoall|default",
    )
)
GATHER = f"run={SUITES}&" + "&".join(
    "curve=" + quote(f"{DESCRIBED[0]}|MPI_Gather|{name}")
    for name in ("default", "gather_naive_irecv")
)
WIDTHS = (1280, 390)
SERVED = """
from plumbline_exporters import web
from plumbline.pages import routes
_app = web.app
web.app = lambda path, more, *rest: _app(path, routes.all_pages(path), *rest)
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "plumbline.db"
    site.store(path)
    return path


@pytest.fixture(scope="module")
def url(database: Path) -> Iterator[str]:
    with serving(database, SERVED) as url:
        yield url


@pytest.fixture(scope="module")
def address(database: Path) -> dict[str, str]:
    return addresses.of(database)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


class Window:
    """A page in the browser, with what its console has said."""

    def __init__(self, browser: Any, url: str, **settings: object) -> None:
        self.url = url
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page = browser.new_context(**settings).new_page()
        self.page.on("console", lambda message: self._hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self._hear("error", str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.said.append(f"{kind}: {text}")

    def open(self, address: str) -> None:
        self.page.goto(self.url + address)
        self.wait_for_pictures()

    def wait_for_pictures(self) -> None:
        """Wait for all that are seen: those within what is folded are drawn when it is unfolded."""
        for figure in self.page.query_selector_all("figure[data-picture]"):
            if not figure.evaluate("each => each.checkVisibility()"):
                continue
            self.page.wait_for_function("figure => figure.dataset.drawn === 'yes'", arg=figure)


@pytest.fixture
def window(browser: object, url: str) -> Iterator[Window]:
    opened = Window(browser, url, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield opened
    opened.page.context.close()
    assert opened.said == []
    assert all(address.startswith((url, "data:", "blob:")) for address in opened.asked)


def test_three_steps_lead_to_a_picture(window: Window) -> None:
    page = window.page
    window.open("/")
    page.click("nav >> text=Curves")
    for run in (FIRST, SECOND):
        page.check(f'input[name="run"][value="{run}"]')
    page.click("button:text('Choose')")
    for name in (f"{FIRST}:before|MPI_Bcast|default", f"{SECOND}:after|MPI_Alltoall|default"):
        box = page.locator(f'input[name="curve"][value="{name}"]')
        for details in box.locator("xpath=ancestor::details").all():  # the outermost first
            if details.get_attribute("open") is None:
                details.locator("xpath=./summary").click()
        box.check()
    page.click("button:text('Draw')")
    page.wait_for_selector('figure[data-drawn="yes"] svg')
    query = parse_qs(urlsplit(page.url).query)
    assert sorted(query["run"]) == [FIRST, SECOND] and len(query["curve"]) == 2
    legend = page.text_content("figure svg")
    assert "MPI_Bcast" in legend and "MPI_Alltoall" in legend


def test_suites_of_a_file_lead_to_pictures(window: Window) -> None:
    """From the run to all curves of a suite, then rank by rank, then other operations of another
    run beside them."""
    page = window.page
    window.open("/runs")
    page.click(f"a:text('{SUITES}')")
    page.click("a:text('gather')")
    page.wait_for_selector('figure[data-drawn="yes"] svg')
    assert len(page.query_selector_all('input[name="curve"]:checked')) == 2
    page.select_option('select[name="at"]', "4096")
    page.click("fieldset:has-text('Scales') button")
    page.wait_for_selector('figure[data-drawn="yes"] svg')
    assert "at=4096" in page.url and "rank" in page.text_content("figure svg")
    window.open(f"/curves?{GATHER}&run={FIRST}&curve=" + quote(f"{FIRST}:before|MPI_Bcast|default"))
    legend = page.text_content("figure svg")
    assert "MPI_Gather" in legend and "MPI_Bcast" in legend


def test_hovering_tells_why_a_point_was_added(window: Window) -> None:
    window.open(f"/curves?{GATHER}")
    told = []
    for number in range(8):
        window.page.hover(f"figure svg .mark-symbol.role-mark path >> nth={number}", force=True)
        window.page.wait_for_selector("#vg-tooltip-element.visible")
        told.append(window.page.inner_text("#vg-tooltip-element"))
    assert any("jump: MPI_Gather, between 4096" in text for text in told)
    assert any("it was asked for" in text for text in told)


def test_an_address_holds_the_choice(window: Window, browser: object, url: str) -> None:
    window.open(f"/curves?{CURVES}&x=linear&y=linear&show=ratios&base=2")
    other = Window(browser, url)
    other.open(window.page.url.removeprefix(url))
    for opened in (window, other):
        assert opened.page.input_value('select[name="x"]') == "linear"
        assert opened.page.input_value('select[name="show"]') == "ratios"
        assert opened.page.input_value('select[name="base"]') == "2"
        assert "over that of curve 2" in opened.page.text_content("figure svg")
    assert len(window.page.query_selector_all('input[name="curve"]:checked')) == 3
    other.page.context.close()


def test_scales_are_switched(window: Window) -> None:
    window.open(f"/curves?{CURVES}")
    before = window.page.text_content("figure svg")
    window.page.select_option('select[name="y"]', "linear")
    window.page.click("fieldset:has-text('Scales') button")
    window.page.wait_for_selector('figure[data-drawn="yes"]')
    assert "y=linear" in window.page.url and window.page.text_content("figure svg") != before


def test_the_wheel_zooms_and_a_button_resets_it(window: Window) -> None:
    window.open(f"/curves?{CURVES}")
    page = window.page
    before = page.inner_html("figure svg")
    box = page.locator("figure svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "text => document.querySelector('figure svg').innerHTML !== text", arg=before
    )
    page.click("text=Reset zoom")
    page.wait_for_function(
        "length => document.querySelector('figure svg').textContent.length === length",
        arg=len(page.evaluate("text => new DOMParser().parseFromString('<svg>' + text + '</svg>',"
                              " 'text/html').querySelector('svg').textContent", before)),
    )  # fmt: skip


def test_hovering_tells_launches_interval_and_factor(window: Window) -> None:
    window.open(f"/curves?{CURVES}")
    # A line is told as well; a point is what has words.
    window.page.hover("figure svg .mark-symbol.role-mark path >> nth=5", force=True)
    window.page.wait_for_selector("#vg-tooltip-element.visible")
    told = window.page.inner_text("#vg-tooltip-element")
    assert "launches (n)" in told and "95 % interval" in told and "times that of curve 1" in told


def test_downloads_hold_what_is_shown(window: Window, tmp_path: Path) -> None:
    window.open(f"/curves?{CURVES}")
    signs = {"SVG": b"<svg", "PNG": b"\x89PNG", "PDF": b"%PDF", "CSV": b"side,function",
             "JSON": b'{"curves"'}  # fmt: skip
    for name, sign in signs.items():
        with window.page.expect_download() as started:
            window.page.click(f"figcaption >> text={name}")
        path = tmp_path / name
        started.value.save_as(path)
        assert path.read_bytes().startswith(sign)
        assert started.value.suggested_filename == f"curves.{name.lower()}"
    assert len(json.loads((tmp_path / "JSON").read_bytes())["curves"]) == 3


def test_the_keyboard_is_enough(window: Window) -> None:
    """The first key leads past the links; each thing that can be used is reached, and is seen."""
    window.open(f"/curves?run={FIRST}")
    page = window.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(200):
        page.keyboard.press("Tab")
        tag, name, outlined = page.evaluate(
            "(() => { const e = document.activeElement; return [e.tagName, e.name || '',"
            " getComputedStyle(e).outlineStyle !== 'none']; })()"
        )
        assert outlined, (tag, name)
        if tag == "SUMMARY" and page.evaluate("!document.activeElement.parentElement.open"):
            page.keyboard.press("Enter")
        if name == "curve":
            page.keyboard.press("Space")
            break
    else:
        pytest.fail("no curve is reached")
    page.keyboard.press("Enter")  # as in any form
    page.wait_for_selector('figure[data-drawn="yes"]')


def test_without_scripts_there_is_the_same_picture(browser: object, url: str) -> None:
    plain = Window(browser, url, java_script_enabled=False)
    plain.page.goto(f"{url}/curves?{CURVES}")
    image = plain.page.locator("figure img")
    assert image.count() == 1 and image.bounding_box()["height"] > 200
    plain.page.context.close()
    assert plain.said == []


def test_a_report_opens_without_a_server(browser: object, tmp_path: Path) -> None:
    """By file://, with pictures that are drawn, and nothing that is asked for elsewhere."""
    site.store(tmp_path / "plumbline.db")
    # The browser has an event loop in this thread.
    with ThreadPoolExecutor(1) as apart:
        where = (tmp_path / "plumbline.db", [FIRST], tmp_path / "out")
        written = apart.submit(frozen.write, *where).result()
    opened = Window(browser, (tmp_path / "out").as_uri())
    opened.open("/index.html")
    assert opened.page.locator("figure svg").count() == 1
    for link in ("before", "Plumbline", "Guidelines", "Map"):
        opened.page.click(f"a:text-is('{link}')")
        assert opened.page.url.startswith("file:") and opened.page.locator("h1").count() == 1
    cell = sorted((tmp_path / "out" / "cell").rglob("*.html"))[0]
    opened.open(f"/{cell.relative_to(tmp_path / 'out')}")
    assert opened.page.locator("figure svg .mark-rule").count() > 0
    assert opened.said == [] and all(each.startswith(("file:", "data:")) for each in opened.asked)
    opened.page.context.close()
    frozen.print_page(written.first, tmp_path / "report.pdf")
    folder = os.environ.get("PLUMBLINE_SCREENSHOTS")
    if folder:
        shutil.copy(tmp_path / "report.pdf", Path(folder, "report.pdf"))
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", addresses.NAMES)
def test_each_page_fits_and_axe_finds_nothing_serious(
    browser: object, url: str, address: dict[str, str], name: str, width: int, scheme: str
) -> None:
    opened = Window(
        browser, url, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    opened.open(address[name])
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe.AXE_SCRIPT)
    found = page.evaluate("axe.run()")["violations"]
    serious = [
        (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    folder = os.environ.get("PLUMBLINE_SCREENSHOTS")
    if folder:
        path = Path(folder, f"{name}-{width}-{scheme}.png")
        page.screenshot(path=str(path))
    page.context.close()
    assert serious == [] and opened.said == []


# Bytes as they are sent, compressed. Vega's script comes once and is kept by the browser.
MOST_BYTES = {"text/html": 60_000, "text/css": 20_000, "script": 1_000_000, "picture": 400_000}
MOST_SHIFT = 0.1  # of layout, as Web Vitals call it good


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", addresses.NAMES)
def test_each_page_is_light_and_its_layout_stays(
    browser: object, url: str, address: dict[str, str], name: str, width: int
) -> None:
    """What Lighthouse looks at: weights of what is loaded, and how far elements move while it is.
    Bytes are counted, and no time."""
    opened = Window(browser, url, viewport={"width": width, "height": 900})
    opened.page.add_init_script(
        "window.shifts = []; new PerformanceObserver(list => list.getEntries().forEach("
        "each => window.shifts.push(each.value))).observe({type: 'layout-shift', buffered: true})"
    )
    weights = dict.fromkeys(MOST_BYTES, 0)

    def weigh(request: Any) -> None:
        kind = {"document": "text/html", "stylesheet": "text/css", "script": "script"}
        weights[kind.get(request.resource_type, "picture")] += request.sizes()["responseBodySize"]

    finished: list[Any] = []
    opened.page.on("requestfinished", lambda request: finished.append(request))
    opened.open(address[name])
    opened.page.wait_for_load_state("networkidle")
    shift = opened.page.evaluate("window.shifts.reduce((sum, each) => sum + each, 0)")
    for request in finished:
        weigh(request)
    opened.page.context.close()
    assert all(weights[kind] <= most for kind, most in MOST_BYTES.items()), weights
    assert weights["text/html"] and weights["text/css"]
    assert shift <= MOST_SHIFT


# In a page, what is cut: by the page itself, or within a picture.
_CUT = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (each) => each && each !== document.body &&
    (/auto|scroll/.test(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth
     || scrolls(each.parentElement));
  const about = (each) => (each.outerHTML.slice(0, 120) + ' ' + each.textContent.slice(0, 80));
  // Heads that a phone shows beside the cells are there for readers of the screen alone.
  const unseen = (each) => each.closest('thead')?.getBoundingClientRect().height <= 1;
  const shown = [...document.querySelectorAll('main *')]
    .filter(each => each.checkVisibility() && !unseen(each));
  const outside = shown.filter(each =>
    each.getBoundingClientRect().right > width + 1 && !scrolls(each.parentElement));
  const spilt = shown.filter(each =>
    each.matches('h1, h2, h3, p, li, dt, dd, figcaption, label, legend, summary, button')
    && each.scrollWidth > each.clientWidth + 1 && !scrolls(each));
  const texts = [...document.querySelectorAll('figure svg text')].filter(each => each.textContent);
  const cut = texts.filter(each => {
    const svg = each.ownerSVGElement.getBoundingClientRect();
    const own = each.getBoundingClientRect();
    return each.textContent.includes('…') || own.right > Math.min(svg.right, width) + 2
      || own.left < svg.left - 2;
  });
  return [...outside, ...spilt, ...cut].map(about);
}"""
# Grounds in a dark page that are white, with what is drawn on them.
_WHITE = """() => [...document.querySelectorAll('main *')]
  .filter(each => each.checkVisibility() &&
    (getComputedStyle(each).backgroundColor === 'rgb(255, 255, 255)'
     || each.matches('svg > path:first-child, svg > rect:first-child')
        && ['#fff', '#ffffff', 'white'].includes(each.getAttribute('fill'))))
  .map(each => each.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", addresses.NAMES)
def test_nothing_is_cut_and_no_ground_is_white_in_the_dark(
    browser: object, url: str, address: dict[str, str], name: str, width: int
) -> None:
    """All that is folded is unfolded. A table that is too wide has a region that scrolls."""
    opened = Window(
        browser, url, viewport={"width": width, "height": 900}, color_scheme="dark", bypass_csp=True
    )
    opened.open(address[name])
    opened.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    opened.wait_for_pictures()
    cut, white = opened.page.evaluate(_CUT), opened.page.evaluate(_WHITE)
    opened.page.context.close()
    assert (cut, white) == ([], [])
