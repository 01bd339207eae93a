"""The files of a finished campaign, put in force for an application. That they are is shown by
as_started.py."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.campaign import proof
from plumbline.launch.starter import PRELOAD
from plumbline.libraries import gate
from plumbline.libraries.into_ranks import for_ranks
from plumbline.settings import Settings, default_campaign, ranks_asked
from plumbline.settings.identity import to_start
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db import campaigns, machines, started, user_files, winners
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name, typed
from plumbline_db.records import Campaign, Export, Winner
from plumbline_exporters import plumbline_sh, winners_json
from plumbline_exporters.bundle import load_bundle
from plumbline_exporters.registry import texts

# Options of mpirun, mpiexec and srun, and variables, that say where ranks may run.
_BINDS = re.compile(r"--?(bind-to|map-by|cpu-bind)\Z|I_MPI_PIN|MV2_ENABLE_AFFINITY\Z")


class ActiveFiles(msgspec.Struct, frozen=True):
    """`note` says which campaign was taken where others might have been meant; else empty.
    `placed`: how ranks were started (plumbline_db.started)."""

    campaign: Campaign
    settings: Settings
    winners: list[Winner]
    script: Path
    toolchain: Toolchain
    note: str = ""
    placed: list[str] = []


def files(database: Path, campaign_id: str | None, mpi_prefix: Path | None) -> ActiveFiles:
    """The exported files of a campaign, or of the one whose winners are used where none is named
    (default_campaign.py). Raises PlumblineError when the campaign is not finished, was made for
    another library, or its files are not what was confirmed."""
    with Database.open(database) as db:
        choice = default_campaign.choose(db, campaign_id, mpi_prefix)
        campaign = choice.campaign
        library = machines.library(db, campaign.library_fingerprint)
        if campaign.state != "finished":
            continued = campaigns.how_to_continue(db, campaign)
            raise PlumblineError(f"campaign {campaign.id} is not finished; {continued}")
        written = campaigns.exports(db, campaign.id)
        chosen = winners.get(db, campaign.id)
        placed = started.lines(db, campaign.id)
    settings = to_start(campaign)
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
    _require_confirmed(database, campaign, toolchain, written)
    paths = (Path(export.path) for export in written)
    script = next((path for path in paths if path.name == plumbline_sh.FILE_NAME), None)
    if script is None and not chosen:
        raise PlumblineError(
            f"campaign {campaign.id} has no winners, and no other one here has: there is nothing "
            f"to put in force; `{command_name()} campaign` searches"
            if campaign_id is None
            else f"campaign {campaign.id} has no winners: there is nothing to put in force"
        )
    if script is None:
        command = typed("apply", "--user", "--campaign", campaign.id)
        raise PlumblineError(
            f"campaign {campaign.named} has exported nothing to source: `{command}` puts its "
            f"winners in force, `{command_name()} export` writes them"
        )
    return ActiveFiles(campaign, settings, chosen, script, toolchain, choice.note, placed)


def environment(found: ActiveFiles) -> dict[str, str]:
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


def elsewhere(found: ActiveFiles, application: Sequence[str]) -> str:
    """Say that the application's ranks may be bound otherwise than those that winners were measured
    with: no way of theirs has the words about binding that its command line has. Else empty."""
    given = _about_binding(application)
    if not found.placed or any(_about_binding(way.split()) == given for way in found.placed):
        return ""
    return f"its ranks may be bound otherwise than those of the winners: {'; '.join(found.placed)}"


def _about_binding(words: Sequence[str]) -> set[tuple[str, str]]:
    """The options that bind ranks, with their values: `--bind-to core`, `--cpu-bind=cores` …"""
    pairs = [*(word.partition("=")[::2] for word in words), *pairwise(words)]
    return {(name.lstrip("-"), value) for name, value in pairs if value and _BINDS.match(name)}


def _require_confirmed(
    database: Path, campaign: Campaign, toolchain: Toolchain, written: Sequence[Export]
) -> None:
    """Raises PlumblineError where a file is another one than its winners would be written as today:
    a database can name any file, with its checksum, and what is sourced runs. Of documents, which
    nothing sources and in which facts about the machine may have changed, the checksum is right."""
    contents_by_name: dict[str, set[bytes]] = {}
    formats = sorted({export.format for export in written})
    with Database.open(database) as db:
        for folder in {Path(export.path).parent for export in written}:
            bundle = load_bundle(
                db,
                campaign.id,
                folder,
                lambda _: gate.of_space(toolchain.space),
                created=campaign.finished,
                preload_library=toolchain.preload,
            )
            for unsafe in (False, True):
                asked = msgspec.structs.replace(bundle, unsafe=unsafe)
                with contextlib.suppress(PlumblineError):
                    for _, name, text in texts(asked, formats):
                        contents_by_name.setdefault(str(folder / name), set()).add(text.encode())
    for export in written:
        path = Path(export.path)
        data = user_files.read(path) if path.is_file() else b""
        if path.name == winners_json.FILE_NAME:
            confirmed = hashlib.sha256(data).hexdigest() == export.sha256
        else:
            confirmed = data in contents_by_name.get(export.path, ())
        if not confirmed:
            command = ["export", export.format, "--output", str(path.parent)]
            command += ["--force"] if path.exists() else []
            raise PlumblineError(
                f"{path} is not the file that was confirmed; write it again with "
                f"`{typed(*command, '--campaign', campaign.id)}`"
            )
