"""Recordings on the pages of `plumbline serve`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.detect.findings import HandMade
from plumbline.pages import routes
from plumbline_db import findings, integrity
from plumbline_db.connection import Database
from plumbline_exporters import web
from tests.tuner.detect import detected


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        detected.store(db)
    return path


@pytest.fixture
def client(path: Path) -> Iterator[TestClient]:
    with TestClient(web.app(path, routes.all_pages(path))) as client:
        yield client


def test_the_way_from_the_start_page(client: TestClient) -> None:
    assert '<a href="./recordings">' in client.get("/").text
    listing = client.get("/recordings").text
    assert 'href="./recordings/first"' in listing and "600 ms" in listing
    page = client.get("/recordings/first").text
    assert "1. MPI_Bcast, 8000 bytes, 6 ranks (0:1:6), root 0: 3 times" in page
    assert "collective saves 600 ms" in page.replace("&#39;", "'")
    assert "MPI_Bcast(BUFFER, COUNT, TYPE, 0, comm);" in page
    assert "Exchanges with the same neighbours" in page


def test_nothing_is_loaded_and_names_are_text(client: TestClient) -> None:
    for address in ("/recordings", "/recordings/first", "/recordings/old"):
        answer = client.get(address)
        assert (
            "<script>alert" not in answer.text and "49" not in answer.text.partition("{{ 7")[0][-1:]
        )
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "src=" not in answer.text
    assert "&lt;script&gt;alert(1)" in client.get("/recordings/first").text


def test_the_same_as_json(client: TestClient) -> None:
    answer = client.get("/recordings/first.json")
    told = msgspec.json.decode(answer.content, type=list[HandMade])
    assert told[0].function == "MPI_Bcast" and told[0].saving is not None


def test_what_is_not_there(client: TestClient) -> None:
    assert client.get("/recordings/nothing").status_code == 404
    assert client.get("/recordings/old").status_code == 404
    assert client.get("/recordings").text.count("<tr>") == 3


def test_a_recording_is_kept_once_and_is_looked_at(path: Path) -> None:
    with Database.open(path, write=True) as db:
        first = findings.get_detection(db, "first")
        assert first is not None
        findings.put_detection(
            db, msgspec.structs.replace(first, looked="2030-01-01", replayed=False)
        )
        assert [each.id for each in findings.detections(db)] == ["first", "old"]
        assert findings.get_detection(db, "first") != first
        assert integrity.problems(db) == []
