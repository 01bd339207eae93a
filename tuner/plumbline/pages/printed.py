"""A page as PDF, printed by the browser that is installed: Chromium or what is made from it. Text
stays text, pictures stay drawings, and the page looks as it does in a browser."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plumbline.system import process
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 120.0
_SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>", re.DOTALL)


def browser() -> str | None:
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


def write(page: Path, target: Path) -> None:
    """`page`: a file that opens without a server. Raises PlumblineError where there is no browser,
    or where it makes no PDF."""
    program = browser()
    if program is None:
        raise PlumblineError(
            "no PDF: there is no Chromium here (apt install chromium); any browser prints "
            f"{page} to a PDF"
        )
    with (
        scratch.replacing(target.absolute()) as new,
        scratch.folder() as profile,
        _without_scripts(page) as still,
    ):
        argv = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={new}",
            still.absolute().as_uri(),
        ]
        if os.geteuid() == 0:
            argv.insert(1, "--no-sandbox")  # it does not start as root with one
        ended = process.run(argv, timeout_seconds=_SECONDS)
        if ended.status != 0 or not new.exists() or not new.read_bytes().startswith(b"%PDF"):
            why = "its time was up" if ended.timed_out else f"it ended with {ended.status}"
            raise PlumblineError(
                f"no PDF: {program} made none ({why}): {ended.stderr.strip()[-300:]}; any browser "
                f"prints {page} to a PDF"
            )


@contextmanager
def _without_scripts(page: Path) -> Iterator[Path]:
    """The same beside it: printed is the image that the page carries, and not what a script is
    about to draw in its place."""
    still = page.with_name(f".{page.name}")
    still.write_text(_SCRIPT.sub("", page.read_text("utf-8")), "utf-8")
    try:
        yield still
    finally:
        still.unlink(missing_ok=True)
