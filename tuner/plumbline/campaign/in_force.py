"""The files of a finished campaign, put in force for an application and proven to be."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.campaign import proof
from plumbline.core.plan import Plan
from plumbline.launch.starter import PRELOAD, Starter
from plumbline.libraries.into_ranks import for_ranks
from plumbline.measure import tables
from plumbline.settings import Settings, default_campaign, ranks_asked, starting
from plumbline.settings.stored import settings_of
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system.words import counted
from plumbline_db import exports, machines, started, winners
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Check
from plumbline_db.records import EVERY_FUNCTION, Campaign, Winner
from plumbline_exporters import launchers, plumbline_sh

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
    takes = launchers.takes_all(binary.name) or (
        not launchers.hands_on(binary.name) and ranks_asked.calls_mpi(binary)
    )
    lists = for_ranks(in_force)
    if takes and PRELOAD in lists:
        environment |= {PRELOAD: lists[PRELOAD], proof.PROFILE: lists[proof.PROFILE]}
    return environment


def applying(found: Files, ranks: int | None) -> str:
    """How many of the winners an application of `ranks` ranks meets in MPI_COMM_WORLD; None: nobody
    knows how many it has."""
    numbers = sorted({winner.nprocs for winner in found.winners})
    theirs = "communicators of " + " or ".join(map(str, numbers)) + " ranks"
    every = counted(len(found.winners), "winner")
    of_the_campaign = f"of {found.campaign.id}"
    if not numbers:
        return f"{every} {of_the_campaign} in force"
    if ranks is None:
        return f"{every} {of_the_campaign} in force, for {theirs}"
    met = [
        winner
        for winner in found.winners
        if winner.nprocs == ranks or winner.function == EVERY_FUNCTION
    ]
    if len(met) == len(found.winners):
        return f"{every} {of_the_campaign} in force"
    return (
        f"{len(met)} of {every} {of_the_campaign} apply to {counted(ranks, 'rank')}: "
        f"they are for {theirs}"
    )


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


def proven(found: Files, in_force: Mapping[str, str]) -> list[str]:
    """How it is known that the files are in force. Raises PlumblineError when they are not."""
    ranks = starting.starter(found.toolchain, found.settings)
    # What an earlier command has left of its jobs proves nothing now.
    ranks.keep_apart(None)
    clean = ranks.clean_environment()
    extra = {name: value for name, value in in_force.items() if clean.get(name) != value}
    sizes = tables.sizes_of(found.toolchain.guidelines, found.settings)

    def try_out(
        name: str, number: int, plan: Plan, changed: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        return _try(ranks, name, number, plan, changed)

    plan = tables.plan(found.settings, [])
    with ranks.folder(f"{found.campaign.id}/proof") as folder:
        evidence = proof.prove(
            found.toolchain.family, try_out, plan, extra, found.winners, sizes, folder
        )
    if evidence.problems:
        raise PlumblineError("not in force: " + "; ".join(evidence.problems))
    return evidence.statements + [unproven.text for unproven in evidence.unproven]


def _try(
    ranks: Starter, name: str, number: int, plan: Plan, changed: Mapping[str, str]
) -> proof.Outcomes | proof.Failed:
    named = msgspec.structs.replace(plan, name=f"proof-{name}")
    run, records = ranks.start("run", f"proof-{name}", number, named.text(), dict(changed))
    # Nothing is kept: the next proof of the same files must be launches of its own.
    ranks.stored(run.id)
    if run.failure is not None:
        return proof.Failed(run.failure, run.stderr)
    return {
        (plan.cases[record.case].function, plan.cases[record.case].bytes): record.outcome
        for record in records
        if isinstance(record, Check)
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
