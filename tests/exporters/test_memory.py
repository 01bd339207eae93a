"""What many scrapes leave behind in `plumbline serve`: nothing, and no more threads than a few."""

from __future__ import annotations

import gc
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from plumbline.pages import routes
from plumbline_db.connection import Database
from plumbline_exporters import web
from plumbline_exporters.web import app
from tests.db import build
from tests.exporters.prometheus import served
from tests.exporters.test_web import fetch

SCRAPES = 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        build.finished(db)
    return tmp_path / "plumbline.db"


def test_no_object_stays_of_a_scrape(path: Path) -> None:
    """One that stayed would show SCRAPES times."""
    with TestClient(app(path, routes.all_pages(path))) as client:

        def objects(scrapes: int) -> int:
            for _ in range(scrapes):
                assert client.get("/metrics").status_code == 200
                assert client.get("/").status_code == 200
            gc.collect()
            return len(gc.get_objects())

        def grown() -> int:
            before = objects(1)
            return objects(SCRAPES) - before

        objects(5)  # caches
        # What other tests of this process have left may add some meanwhile, and not each time.
        assert min(grown() for _ in range(3)) < SCRAPES


def status(url: str) -> int:
    """On a busy machine a connection too many is at its end before its answer is read."""
    try:
        return fetch(url)[0]
    except ConnectionError:
        return 503


def test_a_crowd_gets_few_workers(path: Path, tmp_path: Path) -> None:
    """Each keeps memory for itself as long as the process lives."""
    log = tmp_path / "log"
    with served(path, {}, log=log) as (address, pid), ThreadPoolExecutor(32) as crowd:
        alone = len(list(Path(f"/proc/{pid}/task").iterdir()))
        url = f"http://{address}/metrics"
        try:
            answers = list(crowd.map(status, [url] * 96))
        except urllib.error.URLError:
            pytest.fail(log.read_text())
        assert set(answers) <= {200, 503}  # 503: more than web.CONNECTIONS
        assert 200 in answers, log.read_text()
        assert len(list(Path(f"/proc/{pid}/task").iterdir())) <= alone + web.WORKERS
