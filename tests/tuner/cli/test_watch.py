"""plumbline watch, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from plumbline.daemon import configuration
from plumbline.daemon.configuration import DaemonConfiguration
from plumbline_db import campaigns, lock, watching
from plumbline_db.connection import Database
from plumbline_db.watching import Watch
from tests.db import build
from tests.tuner.cli.command import plumbline


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.finished(db)
        done = msgspec.structs.replace(
            build.CAMPAIGN, state="finished", finished="2025-03-01T11:00:00+00:00"
        )
        campaigns.put(db, done)
    return path


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    said = plumbline("watch", "--example")
    assert said.status == 0
    (tmp_path / "watch.toml").write_text(said.out)
    assert configuration.read(tmp_path / "watch.toml") == DaemonConfiguration()


def test_check_says_what_would_be_done(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "watch.toml"
    file.write_text(f'campaign = "{build.CAMPAIGN.id}"\n[neighbour]\nload = 1000.0\n')
    said = plumbline("watch", "--check", "--db", str(database), str(file))
    assert said.status == 0, said.err
    assert f"{build.CAMPAIGN.id}: canary" in said.out and "24 canaries a day" in said.out
    told = plumbline("watch", "--check", "--json", "--db", str(database), str(file))
    document = json.loads(told.out)
    assert document["campaigns"][0]["step"] == "canary" and not document["auto_apply"]
    with Database.open(database) as db:
        assert watching.get(db) is None  # it writes nothing


def test_status_says_how_it_stands(database: Path) -> None:
    said = plumbline("watch", "--status", "--db", str(database))
    assert said.status == 0 and "nothing was ever watched here" in said.out
    watch = Watch(
        "d", "running", 7, "node1", "s", "t", "wait", "windows", "", "", "", "", "{}", "r"
    )
    with Database.open(database, write=True) as db:
        watching.put(db, watch)
    said = plumbline("watch", "--status", "--db", str(database))
    assert "process 7 on node1 ended without a word" in said.out and "waits: windows" in said.out
    document = json.loads(plumbline("watch", "--status", "--json", "--db", str(database)).out)
    assert document["watch"]["pid"] == 7 and document["holder"] is None


def test_nothing_is_watched_without_a_configuration(database: Path) -> None:
    before = sorted(database.parent.iterdir())
    said = plumbline("watch", "--db", str(database))
    assert said.status == 2 and "name a configuration" in said.err
    assert sorted(database.parent.iterdir()) == before  # no backup, no lock


def test_a_second_one_is_told_to_try_later(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "watch.toml"
    file.write_text(plumbline("watch", "--example").out)
    held = lock.to_watch(database)
    said = plumbline("watch", "--once", "--db", str(database), str(file))
    assert said.status == 75 and "is watched already: by process" in said.err
    held.release()


def test_a_wrong_configuration_names_its_file(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "watch.toml"
    file.write_text("every = 1")
    for option in ("--check", "--once"):
        said = plumbline("watch", option, "--db", str(database), str(file))
        assert said.status == 2 and str(file) in said.err and "`every`" in said.err
