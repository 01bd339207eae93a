"""Pages of overlap campaigns: what they show, what is kept, and what they may load."""

from __future__ import annotations

import re
import xml.etree.ElementTree as tree
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.overlap.suite import suite_of
from plumbline.pages import routes
from plumbline.system import chart
from plumbline.system.lru import BoundedCache
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import Header, OverlapLatency
from plumbline_exporters import web
from tests.db import build
from tests.tuner.overlap import two_campaigns as made

SECOND = quote(made.SECOND)
ALL = ("/overlap", "/overlap/first", f"/overlap/{SECOND}", f"/overlap/first/with/{SECOND}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    made.store(path)
    return path


@pytest.fixture
def client(path: Path) -> Iterator[TestClient]:
    with TestClient(web.app(path, routes.all_pages(path))) as client:
        yield client


def test_the_way_from_the_start_page(client: TestClient) -> None:
    assert '<a href="./overlap">' in client.get("/").text
    listing = client.get("/overlap").text
    assert '<a href="overlap/first">first</a>' in listing and f'href="overlap/{SECOND}"' in listing
    assert "kernel memory" in listing and "sender, receiver" in listing
    page = client.get("/overlap/first").text
    assert 'href="first.json"' in page and f'href="first/with/{SECOND}"' in page
    other = client.get(f"/overlap/first/with/{SECOND}").text
    assert f'href="{SECOND}.json"' in other and f'href="../../{SECOND}/with/first"' in other


def test_nothing_is_loaded_and_names_are_text(client: TestClient) -> None:
    for one in ALL:
        answer = client.get(one)
        assert answer.status_code == 200, one
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
        assert "<script" not in answer.text and "src=" not in answer.text
        assert "url(http" not in answer.text


def test_maps_and_the_same_in_numbers(client: TestClient) -> None:
    page = client.get("/overlap/first").text
    assert '<figure role="img" aria-label="Heat maps' in page
    picture = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
    assert "sender" in "".join(tree.fromstring(picture).itertext())
    assert page.count("<svg") == 3  # two maps and their legend, which a narrow page puts below
    assert 'fill="white"' not in picture  # the ground of the page is theirs
    assert "<summary>receiver in numbers</summary>" in page
    assert '<th scope="row" class="number">400</th><td class="number">0.00</td>' in page
    found = client.get("/overlap/first.json").json()
    assert found["id"] == "first" and len(found["cells"]) == 8
    for cell in found["cells"]:
        assert cell["ratio"]["low"] <= cell["ratio"]["value"] <= cell["ratio"]["high"]


def test_the_difference_of_two(client: TestClient) -> None:
    page = client.get(f"/overlap/first/with/{SECOND}").text
    assert "measured at different times" in page and "Intervals of a single launch" not in page
    row = '<th scope="row">setting kernel</th><td>registers</td><td>memory</td>'
    assert row in re.sub(' data-head="[^"]*"', "", page)
    assert "A / B 1.83 at 1048576 bytes, 50 µs" in page
    found = client.get(f"/overlap/first/with/{SECOND}.json").json()
    assert len(found["lines"]) == 8 and found["totals"][0]["bench"] == "sender"


@pytest.mark.parametrize(
    "address", ["/overlap/third", "/overlap/third.json", "/overlap/first/with/third"]
)
def test_what_is_not_there_is_not_found(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404 and answer.text == "this campaign does not exist"


def test_a_database_that_is_gone_is_said(client: TestClient, path: Path) -> None:
    path.unlink()
    assert client.get("/overlap").status_code == 503


def test_pictures_are_drawn_again_only_when_something_was_stored(
    client: TestClient, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    real = chart.render
    monkeypatch.setattr(chart, "render", lambda spec: drawn.append(1) or real(spec))
    pages_ = [client.get("/overlap/first").text for _ in range(2)]
    assert pages_[0] == pages_[1] and len(drawn) == 3  # two maps and their legend
    with Database.open(path, write=True) as db:
        (campaign,) = [one for one in campaigns.every(db) if one.id == "first"]
        made.launch(db, campaign, "sender", made.LAUNCHES, share=4.0, overlaps=False)
    assert client.get("/overlap/first").text != pages_[0] and len(drawn) == 6


def test_what_is_kept_is_bounded_and_errors_are_not() -> None:
    kept: BoundedCache[int] = BoundedCache(2)
    made_: list[int] = []

    def make(number: int) -> int:
        made_.append(number)
        return number

    for number in (1, 2, 1, 3, 1, 2):  # 3 puts out 2, which was used least recently
        assert kept.get(number, lambda number=number: make(number)) == number
    assert made_ == [1, 2, 3, 2]
    with pytest.raises(ZeroDivisionError):
        kept.get(4, lambda: 1 // 0)
    assert kept.get(4, lambda: 4) == 4


def test_launches_that_cannot_be_joined_are_named_with_what_to_do(
    client: TestClient, path: Path
) -> None:
    with Database.open(path, write=True) as db:
        (campaign,) = [one for one in campaigns.every(db) if one.id == "first"]
        run = build.run(suite_of("receiver").name, made.LAUNCHES, campaign=campaign)
        header, *_, footer = build.records(run, [])
        assert isinstance(header, Header)
        other = msgspec.structs.replace(header, probe="0.0.1")
        runs.put(db, run, [other, OverlapLatency("start", [0] * 5), footer], suite_of("receiver"))
    answer = client.get("/overlap/first", headers={"Accept": "text/html"})
    assert answer.status_code == 409 and "These launches cannot be joined</h1>" in answer.text
    assert "probe: " in answer.text and "0.0.1" in answer.text
    assert "Measure afresh with --new" in answer.text and str(path.parent) not in answer.text
