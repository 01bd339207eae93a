"""Pictures of pages in Debian's Chromium (docs/pages.md). One:
`make screenshot ARGS="--db FILE --output PNG /curves?…"`; all pages that a database has something
for, at two widths: `make screenshot ARGS="--db FILE --output docs/gallery"`."""

from __future__ import annotations

import argparse
import base64
import itertools
import shutil
from pathlib import Path
from typing import Any

from tests.exporters.test_web import serving
from tests.tuner.pages import addresses, gallery
from tests.tuner.pages.in_browser import SERVED, Window, playwright

_QUALITIES = (100, 75, 55)  # of WebP; 100 loses nothing


class _Arguments(argparse.Namespace):
    address: str | None
    db: Path
    output: Path
    width: int
    height: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", help="path and query of the page; else all pages")
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="a file, or a folder for all")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1000)
    asked = parser.parse_args(namespace=_Arguments())
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("no chromium: make test-pages installs it")
    with serving(asked.db, SERVED) as url, playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if asked.address is None:
            _every(browser, url, asked.db, asked.output)
        else:
            size = {"width": asked.width, "height": asked.height}
            window = Window(browser, url, viewport=size)
            window.open(asked.address)
            window.page.screenshot(path=str(asked.output))
        browser.close()


def _every(browser: Any, url: str, database: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = addresses.of(database)
    for name in addresses.NAMES:
        if name not in found:
            print(f"{name}: the database has nothing for it")
            continue
        for width, scheme in gallery.taken(name):
            window = Window(
                browser,
                url,
                viewport={"width": width, "height": gallery.HEIGHT},
                color_scheme=scheme,
            )
            window.open(found[name])
            picture = _picture(window.page, width)
            path = folder / gallery.file(name, width, scheme)
            path.write_bytes(picture)
            print(f"{path}: {len(picture) / 1000:.0f} kB")
            window.page.context.close()


def _picture(page: Any, width: int) -> bytes:
    """The page from its top, as WebP, so much of it as fits into a small file."""
    long = page.evaluate("document.documentElement.scrollHeight")
    session = page.context.new_cdp_session(page)
    data = b""
    for height, quality in itertools.product(gallery.HEIGHTS, _QUALITIES):
        clip = {"x": 0, "y": 0, "width": width, "height": min(long, height), "scale": 1}
        how = {"format": "webp", "quality": quality, "clip": clip, "captureBeyondViewport": True}
        data = base64.b64decode(session.send("Page.captureScreenshot", how)["data"])
        if len(data) <= gallery.MOST_BYTES:
            break
    return data


if __name__ == "__main__":
    main()
