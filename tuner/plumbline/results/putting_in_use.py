"""Commands that put the winners of a campaign in use: for whom, and what to type.

What is printed works on this machine: `plumbline apply` itself is asked, by a dry run."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from plumbline.applied import apply, targets
from plumbline.applied.generations import Source
from plumbline.libraries import Family, ReadsParameterFiles, gate, of_name
from plumbline.system.lru import BoundedCache
from plumbline.system.placement import Placement
from plumbline_db import campaigns, machines
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name, typed
from plumbline_db.layout import is_simulated
from plumbline_db.records import Campaign, Export, Library, Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.bundle import is_profile, load_bundle

_MODULES = "modules"  # a tree of modulefiles in the current folder, as README has it

# Asking an installed library for its version takes about 0.2 s, too long for each page request.
_KEPT_SECONDS = 60


class Use(msgspec.Struct, frozen=True):
    """`command`: what a user types so that a program gets winners; empty: nothing works on this
    machine, for the reason that is `refused`."""

    command: str
    refused: str = ""


_uses: BoundedCache[Use] = BoundedCache(64)


def lines(db: Database, campaign: Campaign) -> list[str]:
    """Return for whom winners can be used, and the command. On a simulated machine nothing is
    applied: its shell file is sourced. Where nothing can be applied the line has the reason."""
    if is_simulated(campaign):
        sourced = _sourced(campaign, campaigns.exports(db, campaign.id))
        return [f"for a program:  {line}" for line in sourced]
    try:
        wished = wish(db, campaign)
        return [f"for a user:  {_of_user(db, wished)}", _of_site(wished)]
    except PlumblineError as error:
        return [str(error)]


def wish(
    db: Database,
    campaign: Campaign,
    mpi_prefix: Path | None = None,
    *,
    unsafe: bool = False,
    force: bool = False,
) -> apply.Wish:
    """Return the request to apply the winners of a campaign. Raises PlumblineError if there are
    none, or if its library is not installed here."""
    if campaign.state != "finished":
        raise PlumblineError(
            f"campaign {campaign.id} is not finished, so it has no winners to apply; "
            f"{campaigns.how_to_continue(db, campaign)}"
        )
    loaded = load_bundle(db, campaign.id, Path(), gate.of_library, created="")
    if not loaded.winners:
        raise PlumblineError(f"campaign {campaign.id} found nothing better than the default")
    try:
        family, installation = gate.installed(loaded.library, mpi_prefix)
    except PlumblineError as error:
        raise PlumblineError(f"campaign {campaign.id} is not applied: {error}") from error
    return apply.Wish(
        source=Source(campaign, loaded.winners, loaded.site_rules, loaded.started),
        machine=loaded.machine,
        family=family,
        installation=installation,
        environment=dict(os.environ),
        unsafe=unsafe,
        force=force,
        instead=_by_start(db, campaign),
    )


def _of_user(db: Database, wished: apply.Wish) -> str:
    """Return the command by which a user gets the winners: files of imported campaigns are
    elsewhere, so that `run` does not find them."""
    campaign = wished.source.campaign
    if not campaign.imported_from:
        library = machines.library(db, campaign.library_fingerprint)
        return f"{command_name()} run -- {_start(campaign, library)}"
    return _command(wished, wished.source.winners)


def _of_site(wished: apply.Wish) -> str:
    """Return the line of the first way that works here. A site's parameter file comes last if it
    would leave winners out."""
    ways: list[tuple[targets.Scope, list[str]]] = [
        ("site", ["--site"]),
        ("modules", ["--modules", _MODULES]),
    ]
    if _need_a_start(wished.family, wished.source.winners):
        ways.reverse()
    refusals = []
    for scope, words in ways:
        refusal = _refusal(wished, scope)
        if not refusal:
            id = wished.source.campaign.id
            return f"for a site:  {typed('apply', *words, '--campaign', id, '--dry-run')}"
        refusals.append(refusal)
    return f"nothing can be applied for a site: {refusals[0]}"


def _refusal(wished: apply.Wish, scope: targets.Scope) -> str:
    """Return why `plumbline apply` would refuse; empty where it works."""
    modules = Path(_MODULES) if scope == "modules" else None
    try:
        place = targets.place(scope, wished.family, wished.installation, modules)
        apply.apply(place, wished, now="", dry_run=True)
    except (PlumblineError, OSError) as error:
        return str(error)
    return ""


def _need_a_start(family: Family, winners: Sequence[Winner]) -> bool:
    """A parameter file of the library cannot start variants of ours: these need the preload
    library."""
    by_parameters = isinstance(family, ReadsParameterFiles)
    return by_parameters and any(is_profile(winner) for winner in winners)


def use(db: Database, campaign: Campaign, winners: Sequence[Winner]) -> Use:
    """Return how a user gets these winners of a campaign. An answer is kept for a minute, as long
    as the campaign and its winners stay the same."""
    moment = int(time.monotonic() / _KEPT_SECONDS)
    key = (str(db.path), campaign, msgspec.json.encode(winners), moment)
    return _uses.get(key, lambda: _use(db, campaign, winners))


def _use(db: Database, campaign: Campaign, winners: Sequence[Winner]) -> Use:
    if is_simulated(campaign):
        export = typed("export", "env", "--campaign", campaign.id)
        return Use(next(iter(_sourced(campaign, campaigns.exports(db, campaign.id))), export))
    try:
        return Use(_command(wish(db, campaign), winners))
    except PlumblineError as error:
        return Use("", str(error))


def _command(wished: apply.Wish, winners: Sequence[Winner]) -> str:
    if _need_a_start(wished.family, winners) or _refusal(wished, "user"):
        return wished.instead
    return typed("apply", "--user", "--campaign", wished.source.campaign.id)


def _by_start(db: Database, campaign: Campaign) -> str:
    """Return the command that starts a program with all winners, whatever they are."""
    start = _start(campaign, machines.library(db, campaign.library_fingerprint))
    if campaign.imported_from:
        export = typed("export", "env", "--campaign", campaign.id, "--output", "winners")
        return f"{export} && . winners/{plumbline_sh.FILE_NAME} && {start}"
    return f"{typed('run', '--campaign', campaign.id)} -- {start}"


def _start(campaign: Campaign, library: Library) -> str:
    """The mpirun of a program. Some libraries start no more ranks than there are cores unless
    they are told to."""
    family = of_name(library.family)
    crowded = campaign.oversubscribed
    placement = Placement(nodes=campaign.nodes, ppn=campaign.ppn, oversubscribed=crowded).plain()
    words = [] if family is None or campaign.nodes > 1 else family.words(placement)
    ranks = " ".join(words) or f"-np {campaign.nprocs}"
    return f"mpirun {ranks} ./app"


def _sourced(campaign: Campaign, exported: Sequence[Export]) -> Iterator[str]:
    for export in exported:
        if Path(export.path).name == plumbline_sh.FILE_NAME:
            yield (
                f". {shlex.quote(export.path)} && smpirun $PLUMBLINE_SMPIRUN -np {campaign.nprocs} "
                "-platform FILE -hostfile FILE ./app"
            )
