"""A picture of a page in Debian's Chromium (docs/hamlet.md):
`make screenshot ARGS="--db FILE --output PNG /curves?…"`."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tests.exporters.test_web import serving
from tests.tuner.pages.in_browser import SERVED, Window, playwright


class _Arguments(argparse.Namespace):
    address: str
    db: Path
    output: Path
    width: int
    height: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="path and query of the page")
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1000)
    asked = parser.parse_args(namespace=_Arguments())
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("no chromium: make test-pages installs it")
    with serving(asked.db, SERVED) as url, playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        size = {"width": asked.width, "height": asked.height}
        window = Window(browser, url, viewport=size)
        window.open(asked.address)
        window.page.screenshot(path=str(asked.output))
        browser.close()


if __name__ == "__main__":
    main()
