"""The pages of some runs as files that open without a server: what `plumbline serve` answers, asked
for link by link."""

from __future__ import annotations

import asyncio
import hashlib
import html
import os
import os.path
import posixpath
import re
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urljoin, urlsplit

from starlette.applications import Starlette
from starlette.types import Message

from plumbline.pages import routes
from plumbline.system import process
from plumbline_db import findings, scratch
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Verdict
from plumbline_exporters import web

# A page as PDF, printed by the browser that is installed: Chromium or what is made from it. Text
# stays text, pictures stay drawings, and the page looks as it does in a browser.

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 120.0
_SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>", re.DOTALL)


def browser() -> str | None:
    return next((path for path in map(shutil.which, _PROGRAMS) if path), None)


def print_page(page: Path, target: Path) -> None:
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


# A page as a file: its links lead to other files, what needs a server is left out, and pictures
# carry what they are drawn by. Pure: a page in, a page out.
# The pages are ours: every element is well formed, and every value stands in double quotes.

_Find = Callable[[str], str | None]

_LINKS = {"a": "href", "link": "href", "script": "src", "img": "src"}
_PICTURE = "data-picture"
_MOST_NAME = 60
_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; "
    "img-src 'self' file: data:"
)


def file_of(address: str, kind: str) -> str:
    """The name of the file for what is at this address (path and query), relative to the folder of
    the report. Made of plain characters; where others or a query had to go, a hash tells names
    apart. `kind`: the ending."""
    parts = urlsplit(address)
    if parts.path == "/":
        return f"overview{kind}"
    words = [_plain(unquote(word)) for word in parts.path.strip("/").split("/")]
    stem, ending = os.path.splitext(words[-1])
    keeps = ending == kind
    name = "/".join([*words[:-1], stem if keeps else words[-1]])
    if parts.query or not all(_plain(word) == word for word in parts.path.strip("/").split("/")):
        name += "-" + hashlib.sha256(address.encode()).hexdigest()[:10]
    return name + kind


def _plain(word: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=+-]", "_", word).strip(".")[:_MOST_NAME] or "_"


class Frozen(HTMLParser):
    """`find`: the file for an address (None: it is not in the report); `specification`: what a
    picture at an address is drawn by, as JSON (None: it is left to its image)."""

    def __init__(self, address: str, own: str, find: _Find, specification: _Find) -> None:
        super().__init__(convert_charrefs=False)
        self._address, self._own = address, own
        self._find, self._specification = find, specification
        self._out: list[str] = []
        self._forms = 0

    def frozen(self, text: str) -> str:
        self.feed(text)
        self.close()
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "form":
            self._forms += 1
            self._say('<p class="quiet no-form">To choose something else: plumbline serve.</p>', 1)
            return
        self._say(self._element(tag, dict(attrs), ">"))
        if tag == "head":
            self._say(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">')

    def _element(self, tag: str, attributes: dict[str, str | None], end: str) -> str:
        after = ""
        if tag in _LINKS and attributes.get(_LINKS[tag]) is not None:
            self._lead(tag, attributes)
        if _PICTURE in attributes:
            specification = self._specification(self._joined(attributes.pop(_PICTURE) or ""))
            if specification is not None:
                attributes[_PICTURE] = "#"
                # `<` would end the element within a text.
                safe = specification.replace("<", "\\u003c")
                after = f'<script type="application/json">{safe}</script>'
        words = [
            name if value is None else f'{name}="{html.escape(value)}"'
            for name, value in attributes.items()
        ]
        return f"<{' '.join([tag, *words])}{end}{after}"

    def _lead(self, tag: str, attributes: dict[str, str | None]) -> None:
        """To a file; what is not in the report is no link."""
        name = _LINKS[tag]
        link = attributes.pop(name) or ""
        if link.startswith("#"):
            attributes[name] = link
            return
        address, _, fragment = self._joined(link).partition("#")
        file = self._find(address)
        if file is not None:
            folder = posixpath.dirname(self._own) or "."
            attributes[name] = posixpath.relpath(file, folder) + (
                f"#{fragment}" if fragment else ""
            )
        elif tag == "a":
            attributes.pop("download", None)
            attributes["class"] = "absent"

    def _joined(self, link: str) -> str:
        return urljoin(self._address, link)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._forms -= 1
            return
        self._say(f"</{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._say(self._element(tag, dict(attrs), "/>"))

    def handle_data(self, data: str) -> None:
        self._say(data)

    def handle_entityref(self, name: str) -> None:
        self._say(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._say(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._say(f"<!{decl}>")

    def _say(self, text: str, depth: int = 0) -> None:
        """Unless it stands deeper in forms than that."""
        if self._forms <= depth:
            self._out.append(text)


MOST_FILES = 10_000  # of a report
_SITE = ("/", "/runs", "/history", "/map", "/guidelines", "/overlap")
_OF_CELL = ("distribution", "samples", "repetitions")  # pictures
_OF_RUN = ("run", "report", "explained", "table", "cell", "winner")


class FrozenResponse(NamedTuple):
    status: int
    kind: str
    body: bytes


class WrittenReport(NamedTuple):
    """`first`: the page to begin with; `left_out`: files that were too many."""

    first: Path
    pages: int
    files: int
    bytes: int
    left_out: int


Tell = Callable[[int, int], None]


def write(
    database: Path,
    runs: Sequence[str],
    folder: Path,
    tell: Tell | None = None,
    *,
    all_cells: bool = False,
) -> WrittenReport:
    """The pages of these runs, and of the site, into `folder`, which is as it was until all are
    there; `tell`: how many files are written, and how many are known so far. `all_cells`: a page
    for each cell, else one for each function. Raises PlumblineError where they cannot be
    written."""
    target = folder.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch.folder(target.parent) as inside:
            frozen = _Frozen(database, runs, inside / "report", all_cells=all_cells)
            made = frozen.write(tell or (lambda _, __: None))
            _move(inside / "report", target)
    except OSError as error:
        raise PlumblineError(
            f"cannot write in {folder}: {error.strerror}; name a folder that may be written"
        ) from error
    return made._replace(first=folder / made.first.name)


def _move(made: Path, target: Path) -> None:
    """Move as a whole, where nothing is there; else file by file into what is there."""
    if not target.exists():
        made.rename(target)
        return
    for path in sorted(made.rglob("*")):
        at = target / path.relative_to(made)
        if path.is_dir():
            at.mkdir(exist_ok=True)
        else:
            path.replace(at)


class _Frozen:
    def __init__(
        self, database: Path, runs: Sequence[str], folder: Path, *, all_cells: bool
    ) -> None:
        self._app = web.app(database, routes.all_pages(database))
        self._runs = runs
        self._folder = folder
        self._stages = _stages(database, runs)
        self._cells = None if all_cells else _worst(database, runs)
        self._left: deque[str] = deque()
        self._files: dict[str, str] = {}
        self._left_out: set[str] = set()

    def write(self, tell: Tell) -> WrittenReport:
        first = f"/report/{quote(self._runs[0])}"
        self._files[first] = "index.html"
        self._left.append(first)
        for address in _SITE:
            self._find(address)
        size = pages = files = 0
        while self._left:
            address = self._left.popleft()
            answer = self._asked(address)
            if answer.status == 200:
                content = answer.body
                if answer.kind == "text/html":
                    pages += 1
                    content = self._frozen(address, content)
                path = self._folder / self._files[address]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                size, files = size + len(content), files + 1
                tell(files, len(self._files))
        first_file = self._folder / self._files[first]
        return WrittenReport(first_file, pages, files, size, len(self._left_out))

    def _asked(self, address: str) -> FrozenResponse:
        return asyncio.run(asked(self._app, address))

    def _frozen(self, address: str, content: bytes) -> bytes:
        page = Frozen(address, self._files[address], self._find, self._specification)
        return page.frozen(content.decode()).encode()

    def _specification(self, address: str) -> str | None:
        answer = self._asked(address)
        return answer.body.decode() if answer.status == 200 else None

    def _find(self, address: str) -> str | None:
        """The file for an address, which is written later where it is new."""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            return None
        kind = self._kind(parts.path, parse_qs(parts.query))
        if kind is None:
            return None
        if parts.path.startswith("/table/"):
            address = parts.path  # the whole table in place of a part
        file = self._files.get(address)
        if file is None:
            if len(self._files) >= MOST_FILES:
                self._left_out.add(address)
                return None
            file = self._files[address] = file_of(address, kind)
            self._left.append(address)
        return file

    def _kind(self, path: str, query: Mapping[str, list[str]]) -> str | None:
        """The ending of its file; None: it is not in the report."""
        words = path.strip("/").split("/")
        kind, _, ending = words[0].partition(".")
        if kind in ("static", "script"):
            return Path(path).suffix
        if kind == "curves":
            curves = query.get("curve", [])
            if "run" in query or not curves or not all(map(self._is_mine, curves)):
                return None
            return {"": ".html", "svg": ".svg", "csv": ".csv", "json": ".json"}.get(ending)
        if kind in ("cell", *_OF_CELL) and not self._has_page(words):
            return None
        if kind in ("report", "explained", *_OF_CELL) and ending:
            # Others than the image itself would be drawn one by one.
            return ".svg" if ending == "svg" and self._is_of_run(path) else None
        if kind in _OF_RUN:
            stage = unquote(words[1]) if kind == "table" else query.get("stage", [""])[0]
            shown = kind not in ("table", "cell") or not stage or stage in self._stages
            return ".html" if shown and self._is_of_run(path) else None
        if kind == "environment":
            chosen_runs = [run for key in ("a", "b") for run in query.get(key, [])]
            return (
                ".html" if chosen_runs and all(run in self._runs for run in chosen_runs) else None
            )
        if kind in ("guideline", "overlap") and len(words) == 2 and not ending:
            return ".html" if not path.endswith(".json") else None
        return ".html" if path in _SITE and not query else None

    def _has_page(self, words: Sequence[str]) -> bool:
        """Return whether a cell has a page: `cell/FUNCTION/BYTES/RUN`."""
        return self._cells is None or tuple(map(unquote, words[1:4])) in self._cells

    def _is_mine(self, curve: str) -> bool:
        return any(curve.startswith((f"{run}:", f"{run}/")) for run in self._runs)

    def _is_of_run(self, path: str) -> bool:
        return any(unquote(path).endswith(f"/{run}") for run in self._runs)


def _stages(database: Path, runs: Iterable[str]) -> set[str]:
    """The first and the last table of each; those between are left out, with their cells."""
    with Database.open(database) as db:
        every = [findings.stages(db, run) for run in runs]
    return {stage for stages in every for stage in (stages[:1] + stages[-1:])}


def _worst(database: Path, runs: Iterable[str]) -> set[tuple[str, ...]]:
    """Function, bytes and run of the cell of each function that is furthest from its guideline."""
    worst: dict[tuple[str, str], Verdict] = {}
    with Database.open(database) as db:
        for run in runs:
            stages = findings.stages(db, run)
            for verdict in findings.get_verdicts(db, run, stages[0]) if stages else []:
                worst_so_far = worst.get((run, verdict.function))
                if worst_so_far is None or _urgency(verdict) > _urgency(worst_so_far):
                    worst[run, verdict.function] = verdict
    return {(cell.function, str(cell.bytes), run) for (run, _), cell in worst.items()}


def _urgency(verdict: Verdict) -> tuple[bool, float]:
    return verdict.verdict == "violated", verdict.ratio or 0.0


async def asked(app: Starlette, address: str) -> FrozenResponse:
    """Ask the application as a server does."""
    parts = urlsplit(address)
    sent: list[Message] = []

    requests: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        """The request once; that the client goes away is waited for and never comes."""
        if not requests:
            await asyncio.Event().wait()
        return requests.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "headers": [(b"host", b"localhost")],
        "server": ("localhost", 80),
        "root_path": "",
    }
    await app(scope, receive, send)
    headers = {name.lower(): value for name, value in sent[0]["headers"]}
    kind = re.split(r"[;\s]", headers.get(b"content-type", b"").decode("latin-1"))[0]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return FrozenResponse(sent[0]["status"], kind, body)
