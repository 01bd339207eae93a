"""The files of a finished campaign, put in force for an application. That they are is shown by
as_started.py."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.campaign import proof
from plumbline.launch.starter import PRELOAD
from plumbline.libraries.into_ranks import for_ranks
from plumbline.settings import Settings, default_campaign, ranks_asked
from plumbline.settings.stored import settings_of
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db import exports, machines, regular, started, winners
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign, Winner
from plumbline_exporters import plumbline_sh

# Options of mpirun, mpiexec and srun, and variables, that say where ranks may run.
_BINDS = re.compile(r"--?(bind-to|map-by|cpu-bind)\Z|I_MPI_PIN|MV2_ENABLE_AFFINITY\Z")


class Files(msgspec.Struct, frozen=True):
    """`note` says which campaign was taken where others might have been meant; else empty.
    `placed`: how ranks were started (plumbline_db.started)."""

    campaign: Campaign
    settings: Settings
    winners: list[Winner]
    script: Path
    toolchain: Toolchain
    note: str = ""
    placed: list[str] = []


def files(database: Path, campaign_id: str | None, mpi_prefix: Path | None) -> Files:
    """The exported files of a campaign, or of the one whose winners are used where none is named
    (default_campaign.py). Raises PlumblineError when the campaign is not finished, was made for
    another library, or its files are not what was confirmed."""
    with Database.open(database) as db:
        choice = default_campaign.choose(db, campaign_id, mpi_prefix)
        campaign = choice.campaign
        library = machines.library(db, campaign.library_fingerprint)
        written = exports.get(db, campaign.id)
        chosen = winners.get(db, campaign.id)
        placed = started.lines(db, campaign.id)
    if campaign.state != "finished":
        raise PlumblineError(
            f"campaign {campaign.id} is not finished; `plumbline campaign` goes on"
        )
    settings = settings_of(campaign.settings)
    real = settings.ranks.simulate is None
    toolchain = find_toolchain(
        mpi_prefix, settings=settings if real else None, beside=database.parent
    )
    here = toolchain.installation.library
    if here.fingerprint != library.fingerprint:
        raise PlumblineError(
            f"campaign {campaign.id} was made for {library.id} ({library.fingerprint}), this is "
            f"{here.id} ({here.fingerprint}): name the other one (--mpi), or run a campaign for it"
        )
    for export in written:
        path = Path(export.path)
        if not path.is_file() or _sha256(path) != export.sha256:
            force = " --force" if path.exists() else ""
            raise PlumblineError(
                f"{path} is not the file that was confirmed; write it again with "
                f"`plumbline export {export.format} --output {path.parent}{force}`"
            )
    paths = (Path(export.path) for export in written)
    script = next((path for path in paths if path.name == plumbline_sh.FILE_NAME), None)
    if script is None and not chosen:
        raise PlumblineError(
            f"campaign {campaign.id} has no winners, and no other one here has: there is nothing "
            "to put in force; `plumbline campaign` searches"
            if campaign_id is None
            else f"campaign {campaign.id} has no winners: there is nothing to put in force"
        )
    if script is None:
        raise PlumblineError(f"campaign {campaign.id} has exported nothing to source")
    return Files(campaign, settings, chosen, script, toolchain, choice.note, placed)


def environment(found: Files) -> dict[str, str]:
    """The user's own environment with the files in force, and with the variables under which they
    were found to be of use."""
    toolchain = found.toolchain
    needed = toolchain.installation.environment | toolchain.family.environment(
        toolchain.installation
    )
    own = os.environ | needed | found.settings.fixed.environment
    preloaded = found.settings.fixed.preload
    if preloaded:
        theirs = [name for name in own.get(PRELOAD, "").split(":") if name]
        own[PRELOAD] = ":".join(dict.fromkeys([*preloaded, *theirs]))
    return own | proof.environment_of(found.script, own)


def for_program(in_force: Mapping[str, str], binary: Path) -> dict[str, str]:
    """The environment `in_force` for a program: whose ranks take all of it, or which calls MPI
    itself, has the preload library in it; and rank 0 says at the end what was replaced."""
    environment = {proof.SAY: "replaced"} | dict(in_force)
    lists = for_ranks(in_force)
    if PRELOAD in lists and ranks_asked.takes_all(binary):
        environment |= {PRELOAD: lists[PRELOAD], proof.PROFILE: lists[proof.PROFILE]}
    return environment


def elsewhere(found: Files, application: Sequence[str]) -> str:
    """That the application's ranks may be bound otherwise than those that winners were measured
    with: no way of theirs has the words about binding that its command line has. Else empty."""
    given = _about_binding(application)
    if not found.placed or any(_about_binding(way.split()) == given for way in found.placed):
        return ""
    return f"its ranks may be bound otherwise than those of the winners: {'; '.join(found.placed)}"


def _about_binding(words: Sequence[str]) -> set[tuple[str, str]]:
    """The options that bind ranks, with their values: `--bind-to core`, `--cpu-bind=cores` …"""
    pairs = [*(word.partition("=")[::2] for word in words), *pairwise(words)]
    return {(name.lstrip("-"), value) for name, value in pairs if value and _BINDS.match(name)}


def _sha256(path: Path) -> str:
    return hashlib.sha256(regular.read(path)).hexdigest()
