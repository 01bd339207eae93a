"""A finished campaign on the library that is here, whose winners nobody has searched: for what
comes after campaigns. Nothing is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from plumbline.campaign.exported import ExportedFiles
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.records import Winner
from tests.db import build

SETTINGS: dict[str, Any] = {"sizes": [1024, 16384], "guidelines": ["GL12"]}


def by_rules(function: str, algorithm: str, nprocs: int, **changes: object) -> Winner:
    knob = f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm"
    return _winner(function, nprocs, configuration={knob: algorithm}, **changes)


def by_knob(function: str, nprocs: int, knob: str, value: str) -> Winner:
    return _winner(function, nprocs, configuration={knob: value})


def by_profile(function: str, variant: str, nprocs: int, **changes: object) -> Winner:
    return _winner(function, nprocs, configuration={}, variant=variant, **changes)


def _winner(function: str, nprocs: int, **changes: object) -> Winner:
    where: dict[str, object] = {"nprocs": nprocs, "ppn": nprocs, "function": function}
    return build.winner(**{**where, "bytes_from": 1024, "bytes_to": 16384, **changes})


def site(folder: Path, found: Sequence[Winner], prefix: Path | None = None, **more: Any) -> Path:
    """The database; the files lie beside it."""
    settings = load(None, {**SETTINGS, "nprocs": found[0].nprocs, **more})
    toolchain = find_toolchain(prefix, settings=settings)
    settings = settings.on(toolchain.launcher.processing_units())
    path = folder / "plumbline.db"
    with Database.open(path, write=True) as db:
        begun = identity.begin(db, toolchain, settings, new=False)
        findings.put_winners(db, begun.id, found)
        files = ExportedFiles(
            LaunchStore(db, begun.id, starting.starter(toolchain, settings)),
            toolchain,
            begun,
            folder / "exports",
            tables.sizes_of(toolchain.guidelines, settings),
            None,
            unsafe=False,
            site_rules="",
        )
        ended = msgspec.structs.replace(begun, state="finished", finished=begun.started)
        campaigns.put(db, ended)
        files.finish(ended, found)  # as a campaign leaves them
    return path
