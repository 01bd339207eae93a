"""What it leaves to others."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from plumbline.daemon import neighbour
from plumbline.daemon.configuration import Configuration, Neighbour, Schedule
from plumbline.daemon.neighbour import Jobs, Seen
from plumbline.settings import campaign_file
from plumbline.system.toml import Document
from plumbline_db.errors import PlumblineError
from plumbline_db.watch_records import WatchDay

QUIET = Seen(closed="", load=0.1, jobs=None, today_seconds=0.0, week_seconds=0.0)
SLURM = msgspec.structs.replace(QUIET, load=None)
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("limits", "changes", "said"),
    [
        (Neighbour(), {}, ""),
        (Neighbour(), {"closed": "no window is open"}, "no window is open"),
        (Neighbour(load=0.5), {"load": 0.51}, "the load is 0.51 a processing unit, and 0.50"),
        (Neighbour(), {"today_seconds": 7200.0}, "7200 node-seconds were used today, of 7200"),
        (Neighbour(), {"week_seconds": 36000.5}, "in the last seven days, of 36000"),
        (Neighbour(), {"jobs": Jobs(1, 5, 0)}, "1 job of users wait"),
        (Neighbour(), {"jobs": Jobs(0, 5, 0)}, ""),
        (Neighbour(jobs="any"), {"jobs": Jobs(0, 5, 0)}, "5 jobs of users run"),
        (Neighbour(jobs="ignore"), {"jobs": Jobs(9, 9, 0)}, ""),
        (Neighbour(nodes_held_back=2), {"jobs": Jobs(0, 5, 3)}, "3 nodes idle, and 4 needed"),
        (Neighbour(nodes_held_back=2), {"jobs": Jobs(0, 5, 4)}, ""),
    ],
)
def test_why_not(limits: Neighbour, changes: dict[str, object], said: str) -> None:
    found = neighbour.why_not(limits, msgspec.structs.replace(QUIET, **changes), nodes=2)
    assert (said in found) if said else found == ""


def test_what_slurm_says_is_read() -> None:
    listed = "wrf|PENDING\nplumbline-x-1|PENDING\na|b|RUNNING\n\nplumbline-y|RUNNING\n"
    assert neighbour.read(listed, "3\n2\n") == Jobs(wait=1, run=1, idle=5)
    assert neighbour.read("", "") == Jobs(0, 0, 0)


def _cluster(folder: Path, monkeypatch: pytest.MonkeyPatch, **answers: str) -> None:
    for name, answer in answers.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n{answer}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_slurm_is_asked_about_the_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path, monkeypatch, squeue="echo 'wrf|PENDING'", sinfo="echo 4")
    values = {"nprocs": 4, "nodes": 2, "slurm": {"partition": "spot"}}
    settings = campaign_file.of(Document("test"), values, {})
    configuration = Configuration(neighbour=Neighbour(nodes_held_back=1))
    seen = neighbour.look(configuration, settings, [], NOW)
    assert seen.jobs == Jobs(1, 0, 4) and seen.load is None
    asked = (tmp_path / "asked").read_text()
    assert asked.count("--partition=spot") == 2
    assert "1 job of users wait" in neighbour.why_not(configuration.neighbour, seen, 2)


def test_a_slurm_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path, monkeypatch, squeue="echo down >&2; exit 1", sinfo="echo 4")
    settings = campaign_file.of(Document("test"), {"nprocs": 4, "slurm": {}}, {})
    with pytest.raises(PlumblineError, match="squeue fails: down"):
        neighbour.look(Configuration(), settings, [], NOW)


def test_days_and_windows_are_counted() -> None:
    settings = campaign_file.of(Document("test"), {"nprocs": 4}, {})
    days = [WatchDay("2026-11-17", 1.0), WatchDay("2026-11-18", 2.0), WatchDay("2026-11-24", 4.0)]
    configuration = Configuration(schedule=Schedule(windows=("22:00-06:00",)))
    seen = neighbour.look(configuration, settings, days, NOW)
    assert (seen.today_seconds, seen.week_seconds) == (4.0, 6.0)
    assert "no window is open" in seen.closed
    assert seen.load is not None and seen.load >= 0
