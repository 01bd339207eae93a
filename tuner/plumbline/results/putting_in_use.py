"""How the winners of a campaign are put in use: for whom, and what to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from plumbline.libraries import ReadsParameterFiles, of_name
from plumbline.system.placement import Placement
from plumbline_db import exports, machines
from plumbline_db.connection import Database
from plumbline_db.errors import command_name, typed
from plumbline_db.layout import is_simulated
from plumbline_db.records import Campaign, Export, Library, Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.bundle import is_profile


class UseCommand(msgspec.Struct, frozen=True):
    """`whom`: `a user`, `a site`, or `a program`."""

    whom: str
    command: str


def commands(campaign: Campaign, library: Library, exported: Sequence[Export]) -> list[UseCommand]:
    """The nearest one first. On a simulated machine nothing is applied: its shell file is
    sourced."""
    if is_simulated(campaign):
        return [UseCommand("a program", line) for line in _sourced(campaign, exported)]
    run = f"{command_name()} run -- {_start(campaign, library)}"
    if campaign.imported_from:  # it is used where it is named, and its files are elsewhere
        run = typed("apply", "--user", "--campaign", campaign.id, "--dry-run")
    return [
        UseCommand("a user", run),
        UseCommand("a site", typed("apply", "--site", "--campaign", campaign.id, "--dry-run")),
    ]


def command(db: Database, campaign: Campaign, winners: Sequence[Winner]) -> str:
    """Return what a user types so that a program gets these winners. A parameter file of the
    library cannot start variants of ours: these need the preload library."""
    library = machines.library(db, campaign.library_fingerprint)
    if is_simulated(campaign):
        export = typed("export", "env", "--campaign", campaign.id)
        return next(iter(_sourced(campaign, exports.get(db, campaign.id))), export)
    by_parameters = isinstance(of_name(library.family), ReadsParameterFiles)
    if not (by_parameters and any(is_profile(winner) for winner in winners)):
        return typed("apply", "--user", "--campaign", campaign.id)
    start = _start(campaign, library)
    if campaign.imported_from:
        export = typed("export", "env", "--campaign", campaign.id, "--output", "winners")
        return f"{export} && . winners/{plumbline_sh.FILE_NAME} && {start}"
    return f"{typed('run', '--campaign', campaign.id)} -- {start}"


def _start(campaign: Campaign, library: Library) -> str:
    """The mpirun of a program. Some libraries start no more ranks than there are cores unless
    they are told to."""
    family = of_name(library.family)
    crowded = campaign.oversubscribed
    asked = Placement(nodes=campaign.nodes, ppn=campaign.ppn, oversubscribed=crowded).plain()
    words = [] if family is None or campaign.nodes > 1 else family.words(asked)
    ranks = " ".join(words) or f"-np {campaign.nprocs}"
    return f"mpirun {ranks} ./app"


def _sourced(campaign: Campaign, exported: Sequence[Export]) -> Iterator[str]:
    for each in exported:
        if Path(each.path).name == plumbline_sh.FILE_NAME:
            yield (
                f". {shlex.quote(each.path)} && smpirun $PLUMBLINE_SMPIRUN -np {campaign.nprocs} "
                "-platform FILE -hostfile FILE ./app"
            )
