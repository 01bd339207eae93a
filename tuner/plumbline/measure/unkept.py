"""Launches whose results are shown and not kept: their store is in memory, and goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from plumbline.launch.starter import Starter
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.settings import identity
from plumbline.settings.toolchain import Toolchain
from plumbline_db import launch_records, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Suite


@contextmanager
def store_for(
    toolchain: Toolchain, starter: Starter, command: str, progress: Progress | None = None
) -> Iterator[LaunchStore]:
    """Make a store that lasts as long as the context; `command`: who asks."""
    settings = msgspec.json.encode({"command": command}).decode()
    with Database.in_memory() as db:
        asked = identity.Identity(settings, starter.placement, "u")
        row = identity.enter(db, toolchain, asked, new=True)
        yield LaunchStore(db, row.id, starter, progress)


def records(store: LaunchStore, suite: Suite | None = None) -> list[list[ProbeRecord]]:
    """Return what the probe wrote in each finished launch, of one suite (None: of all), in their
    order."""
    suites = None if suite is None else [suite.name]
    return [
        launch_records.of_run(store.db, run.id)
        for run in runs.listing(store.db, store.campaign, suites)
        if run.finished
    ]
