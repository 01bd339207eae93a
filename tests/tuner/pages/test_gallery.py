"""docs/gallery: a picture of each page at both widths, small, and none of what is no page."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from starlette.applications import Starlette
from starlette.routing import Match, Mount, Route
from starlette.testclient import TestClient

from tests.tuner.pages import addresses, gallery

# Addresses for programs, and files.
_NO_PAGES = re.compile(r"/(metrics|healthz|readyz)\Z|.*\.({format}|json|js)(/|\Z)")
PAGE = gallery.FOLDER.with_name("pages.md")


def test_each_page_has_a_name(client: TestClient, stored: Path) -> None:
    found = addresses.of(stored)
    assert tuple(found) == addresses.NAMES
    assert isinstance(client.app, Starlette)
    routes = [each for each in client.app.routes if not isinstance(each, Mount)]
    shown = set()
    for address in found.values():
        path = unquote(urlsplit(address).path)
        scope = {"type": "http", "method": "GET", "path": path, "root_path": ""}
        first = next(each for each in routes if each.matches(scope)[0] is Match.FULL)
        assert isinstance(first, Route)
        shown.add(first.path)
        assert client.get(address).status_code == 200, address
    pages = {each.path for each in routes if isinstance(each, Route)}
    pages = {path for path in pages if not _NO_PAGES.match(path)}
    assert pages - shown == set(), "without a name in tests/tuner/pages/addresses.py"
    assert len(pages) > 15


def test_each_name_has_its_pictures() -> None:
    wanted = {
        gallery.file(name, width, scheme)
        for name in addresses.NAMES
        for width, scheme in gallery.taken(name)
    }
    there = {path.name: path.stat().st_size for path in gallery.FOLDER.iterdir()}
    assert wanted - set(there) == set(), "make screenshot takes them (docs/pages.md)"
    assert set(there) - wanted == set()
    assert max(there.values()) <= gallery.MOST_BYTES
    assert sum(there.values()) <= gallery.MOST_BYTES_IN_ALL
    for name in there:
        head = (gallery.FOLDER / name).read_bytes()[:12]
        assert head[:4] == b"RIFF" and head[8:] == b"WEBP", name


def test_the_page_of_the_documentation_shows_them() -> None:
    shown = re.findall(r"\]\(gallery/([^)]+)\)", PAGE.read_text())
    assert sorted(shown) == sorted(path.name for path in gallery.FOLDER.iterdir())
