"""What an environment and a configuration keep secret is nowhere: not in the database, in logs, in
what is told, on pages, in metrics, in files that others read."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import blobs
from plumbline_db.connection import Database
from plumbline_db.records import Suite
from tests.faults.day import Day
from tests.tuner.daemon.test_notify import hook
from tests.tuner.pages import site

SECRET = "hunter2-correct-horse"
NAMES = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD", "MY_MPI_PASSWORD", "SSH_KEY")
_MOST_ALIKE = 2  # pages of one kind
_LINK = re.compile(r'(?:href|src)="([^"#]+)"')


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, SECRET)


def stored(database: Path) -> str:
    """All that is in it, as text."""
    with Database.open(database) as db:
        names = db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        rows = [row for (name,) in names for row in db.rows(f'SELECT * FROM "{name}"')]
    return "\n".join(_readable(value) for row in rows for value in row)


def _readable(value: object) -> str:
    if isinstance(value, bytes):
        with contextlib.suppress(ValueError):
            return blobs.text(value)
        return value.decode(errors="replace")
    return str(value)


def shown(client: TestClient) -> dict[str, str]:
    """Some pages of each kind that the first ones lead to. PNG and PDF are compressed: nobody would
    see a text in them; the SVG of the same picture is read."""
    found: dict[str, str] = {}
    alike = Counter[str]()
    left = ["/", "/metrics", "/environment", "/runs", "/healthz"]
    while left:
        path = left.pop(0)
        answer = client.get(path)
        found[path] = answer.text
        for link in _LINK.findall(answer.text):
            address = urlsplit(urljoin(path, link.replace("&amp;", "&")))
            if not address.netloc and (at := address.geturl()) not in found and at not in left:
                kind = address.path.split("/")[1]
                alike[kind] += 1
                if alike[kind] <= _MOST_ALIKE and not kind.endswith((".png", ".pdf")):
                    left.append(at)
    return found


@pytest.mark.slow
def test_a_day_of_watching_tells_none(finished: Path, open_folder: Path) -> None:
    """A change is found, searched, applied and told by a webhook whose address is secret."""
    bodies: list[str] = []
    with hook(bodies) as port:
        told = f'[notify]\nwebhook = "http://127.0.0.1:{port}/{SECRET}"\n'
        day = Day(open_folder / "day", finished, told)
        assert day.run() == 0, day.said()
    assert len(bodies) >= 2 and "retuning: kept, generation 1" in day.decided()
    database = day.folder / "plumbline.db"
    with site.client(database) as client:
        pages = shown(client)
    assert len(pages) > 20 and "plumbline_retunings" in pages["/metrics"]
    texts = {"log": day.said(), "database": stored(database), "told": "\n".join(bodies), **pages}
    for path in day.folder.rglob("*"):
        if path.is_file() and path != day.folder / "watch.toml":
            texts[str(path)] = path.read_bytes().decode(errors="replace")
    assert [where for where, text in texts.items() if SECRET in text] == []


@pytest.mark.mpi
def test_a_real_launch_stores_none(tmp_path: Path, mpirun: None) -> None:
    """What ranks are started with has the variables; what is kept of it has not."""
    settings = load(None, {"nprocs": 2, "sizes": [64, 1024], "guidelines": ["GL12"]})
    toolchain = find_toolchain(settings=settings, beside=tmp_path)
    starter = starting.starter(toolchain, settings)
    assert starter.clean_environment()[NAMES[0]] == SECRET == os.environ[NAMES[0]]
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        begun = identity.begin(db, toolchain, settings, new=False)
        plan = tables.plan(settings, [PlanCase("MPI_Bcast", 64)])
        plan = msgspec.structs.replace(plan, name="before-000", seed=1)
        outcome = LaunchStore(db, begun.id, starter).launch(Suite("before"), 0, plan, {})
        assert outcome.run.finished
    assert SECRET not in stored(database)
