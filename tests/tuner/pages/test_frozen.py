"""Pages as files: all links lead somewhere, nothing needs a server, nothing leaves the folder."""

from __future__ import annotations

import itertools
import re
import stat
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.pages import frozen, routes, visit
from plumbline_db import findings
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from tests.tuner.cli.command import plumbline
from tests.tuner.pages.site import FIRST, HOSTILE, MARKUP, SECOND
from tests.tuner.pages.test_pages import Page

MARK = "<script>alert"


@pytest.fixture(autouse=True)
def pictures_that_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_bundle", lambda: b"// made by vl-convert")
    monkeypatch.setattr(visit.chart, "drawn", lambda spec, path: b"<svg/>")


def leads(page: Path) -> list[str]:
    """Where a page leads, and what it loads."""
    found = Page(page.read_text())
    names = {"a": "href", "link": "href", "script": "src", "img": "src"}
    values = [attributes.get(names[tag]) for tag, attributes in found.elements if tag in names]
    return [value for value in values if value is not None]


class Written(NamedTuple):
    """The folder of a frozen campaign, what was reported, and (file, files) as they were told."""

    folder: Path
    report: frozen.WrittenReport
    progress: list[tuple[int, int]]


@pytest.fixture(scope="module")
def first(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("frozen") / "out"
    progress: list[tuple[int, int]] = []
    report = frozen.write(stored, [FIRST], folder, lambda *files: progress.append(files))
    return Written(folder, report, progress)


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "MOST_FILES", 12)


def test_every_link_of_every_page_leads_to_a_file(first: Written) -> None:
    folder, report, progress = first
    pages = sorted(folder.rglob("*.html"))
    assert report.first == folder / "index.html"
    assert report.pages == len(pages) > 20 and report.left_out == 0
    assert progress[-1] == (report.files, report.files)
    seen = set()
    for page in pages:
        for link in leads(page):
            parts = urlsplit(link)
            assert not parts.scheme and not parts.netloc and not link.startswith("/"), link
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert file.is_relative_to(folder) and file.is_file(), (page, link)
            seen.add(file)
        text = page.read_text()
        assert "<form" not in text and "<button" not in text
        assert "Content-Security-Policy" in text
    assert {page for page in pages if page.name != "index.html"} <= seen


def test_it_has_the_pages_of_the_run_and_none_of_another(first: Written) -> None:
    names = {str(path.relative_to(first.folder)) for path in first.folder.rglob("*.html")}
    for name in ("overview", "runs", "map", "guidelines", f"run/{FIRST}", f"table/before/{FIRST}",
                 f"table/after/{FIRST}", f"winner/0/{FIRST}"):  # fmt: skip
        assert f"{name}.html" in names
    assert any(name.startswith("cell/MPI_Bcast/1/") for name in names)
    assert any(name.startswith("curves-") for name in names)
    assert any(name.startswith("guideline/GL1") for name in names)
    assert not any(SECOND in name for name in names)
    index = (first.folder / "index.html").read_text()
    assert 'type="application/json"' in index and 'data-picture="#"' in index


def test_each_function_has_the_page_of_its_worst_cell(
    stored: Path, first: Written, tmp_path: Path
) -> None:
    """All other cells have theirs where that is asked for."""
    every = frozen.write(stored, [FIRST], tmp_path / "every", all_cells=True)
    assert first.report.files < every.files
    with Database.open(stored) as db:
        table = findings.get_verdicts(db, FIRST, findings.stages(db, FIRST)[0])
    cells = {"few": _cells(first.folder), "every": _cells(tmp_path / "every")}
    functions = {verdict.function for verdict in table}
    assert cells["every"] == {(verdict.function, verdict.bytes) for verdict in table}
    assert {function for function, _ in cells["few"]} == functions
    assert len(cells["few"]) == len(functions) < len(cells["every"])
    for function, size in cells["few"]:
        mine = [verdict for verdict in table if verdict.function == function]
        violated = {verdict.bytes for verdict in mine if verdict.verdict == "violated"}
        assert not violated or size in violated


def _cells(folder: Path) -> set[tuple[str, int]]:
    return {(path.parts[-3], int(path.parts[-2])) for path in folder.glob("cell/*/*/*.html")}


def test_hostile_names_stay_text(stored: Path, tmp_path: Path) -> None:
    written = frozen.write(stored, [HOSTILE], tmp_path / "out")
    assert written.pages > 5
    for path in (tmp_path / "out").rglob("*"):
        assert path.resolve().is_relative_to(tmp_path / "out")
        if path.suffix == ".html":
            text = path.read_text()
            assert MARK not in text and MARKUP not in text, path


@given(st.text(min_size=1, max_size=80), st.text(max_size=40))
def test_names_of_files_are_plain_and_stay_below(path: str, query: str) -> None:
    name = frozen.file_of(f"/{path}?{query}", ".html")
    words = name.split("/")
    assert name.endswith(".html") and not name.startswith("/")
    assert all(word and word not in (".", "..") and len(word) < 100 for word in words)
    assert name.isascii() and not set(name) & set(' "<>?#%\\:*|')


def test_names_of_files_tell_addresses_apart() -> None:
    addresses = ["/cell/F/1/a", "/cell/F/1/a?stage=before", "/cell/F/1/a?stage=after",
                 "/run/a%2Fb", "/run/a_b", "/run/a%3Fb", "/"]  # fmt: skip
    assert len({frozen.file_of(address, ".html") for address in addresses}) == len(addresses)
    assert frozen.file_of("/static/style.css", ".css") == "static/style.css"


def test_a_page_is_changed_in_its_links_alone() -> None:
    text = (
        '<!doctype html>\n<html lang="en"><head><link rel="stylesheet" href="../static/s.css">'
        '</head><body><a href="../run/b?x=1&amp;y=2#top">B &amp; &lt;b&gt;</a>'
        '<a href="#here">h</a>'
        '<form action="x"><p>left out <input name="q"></p></form>'
        '<figure data-picture="../p.json"><img src="../p.svg" alt="&quot;"></figure>'
        '<svg viewBox="0 0 1 1"><path d="M0 0"/><path d="M1 1"/></svg></body></html>'
    )
    known = {"/static/s.css": "static/s.css", "/run/b?x=1&y=2": "run/b-1.html"}
    page = frozen.Frozen("/run/a", "run/a.html", known.get, {"/p.json": '{"a":"</b>"}'}.get)
    found = page.frozen(text)
    assert (
        'href="../static/s.css"' in found
        and '<a href="b-1.html#top">B &amp; &lt;b&gt;</a>' in found
    )
    assert '<a href="#here">' in found and "left out" not in found and "plumbline serve" in found
    assert '<script type="application/json">{"a":"\\u003c/b>"}</script>' in found
    assert found.count('"/>') == 2 and found.startswith("<!doctype html>")
    assert "<img" in found and "p.svg" not in found  # nobody knows it


def test_a_folder_that_is_there_keeps_what_else_is_in_it(
    stored: Path, tmp_path: Path, few_files: None
) -> None:
    out = tmp_path / "out"
    (out / "run").mkdir(parents=True)
    (out / "mine.txt").write_text("mine")
    (out / "index.html").write_text("old")
    frozen.write(stored, [FIRST], out)
    assert (out / "mine.txt").read_text() == "mine" and (out / "index.html").read_text() != "old"
    assert list(tmp_path.glob(".plumbline*")) == []


def test_a_file_in_its_place_is_said(stored: Path, tmp_path: Path, few_files: None) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(PlumblineError, match="cannot write in"):
        frozen.write(stored, [FIRST], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "a file"


def test_too_many_are_said(stored: Path, tmp_path: Path, few_files: None) -> None:
    written = frozen.write(stored, [FIRST], tmp_path / "out")
    assert written.files == 12 and written.left_out > 10


def fake_browser(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(frozen, "browser", lambda: str(program))


PRINTS = 'for word; do case $word in --print-to-pdf=*) echo "%PDF-1.4" > "${word#*=}";; esac; done'


def test_the_command_says_what_it_wrote(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_files: None
) -> None:
    fake_browser(tmp_path, monkeypatch, PRINTS)
    out = tmp_path / "out"
    said = plumbline("results", "--campaign", FIRST, "--report", out, "--db", stored)
    assert said.status == 0 and f"{out}/index.html" in said.out and f"{out}/report.pdf" in said.out
    assert (out / "report.pdf").read_bytes().startswith(b"%PDF")
    document = plumbline(
        "results", "--campaign", FIRST, "--report", out, "--db", stored, "--json"
    ).json
    assert document["campaigns"] == [FIRST] and document["pdf"] == f"{out}/report.pdf"


def test_in_a_pipe_it_tells_now_and_then_how_far_it_is(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_browser(tmp_path, monkeypatch, PRINTS)
    moments = itertools.count(0.0, 4.0)  # of each file
    monkeypatch.setattr("plumbline.cli.results.time.monotonic", lambda: next(moments))
    said = plumbline("results", "--report", tmp_path / "out", "--db", stored).err.splitlines()
    told = [line for line in said if re.search(r" \d+ of \d+ files$", line)]
    assert len(told) > 3 and said.index(told[-1]) < len(said) - 1
    assert said[said.index(told[-1]) + 1].endswith("printing report.pdf")


@pytest.mark.usefixtures("few_files")
@pytest.mark.parametrize(
    ("script", "words"),
    [(None, "apt install chromium"), ("echo broken >&2; exit 3", "broken"), ("true", "made none")],
)
def test_without_a_pdf_the_pages_are_there_and_it_is_said(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, words: str
) -> None:
    if script is None:
        monkeypatch.setattr(frozen, "browser", lambda: None)
    else:
        fake_browser(tmp_path, monkeypatch, script)
    out = tmp_path / "out"
    said = plumbline("results", "--campaign", FIRST, "--report", out, "--db", stored, "--json")
    assert said.status == 0 and words in said.err
    assert said.json["pdf"] is None and words in said.json["pdf_missing"]
    assert (out / "index.html").exists() and not (out / "report.pdf").exists()


def test_a_campaign_that_is_not_there(stored: Path, tmp_path: Path) -> None:
    said = plumbline(
        "results", "--campaign", "nothing", "--report", tmp_path / "out", "--db", stored
    )
    assert said.status == 1 and "contains no campaign nothing" in said.err
    assert not (tmp_path / "out").exists()
