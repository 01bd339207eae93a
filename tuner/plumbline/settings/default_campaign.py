"""Whose winners a command uses that names no campaign: those of the one that finished last and has
winners, for the library and the machine that are here. What was started later, is under way or has
searched nothing never takes that place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from plumbline import libraries
from plumbline.libraries.fits import installed
from plumbline.system.machine import this_machine
from plumbline.system.words import counted
from plumbline_db import campaigns, machines, winners
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.records import Campaign, Library


class Choice(msgspec.Struct, frozen=True):
    """`note` says which campaign was taken where others might have been meant; else empty."""

    campaign: Campaign
    note: str = ""


def choose(db: Database, named: str | None, mpi_prefix: Path | None = None) -> Choice:
    """The campaign `named`, or the one that speaks where none is named. Where no campaign has
    winners, the one that finished last, else the one that was started last: who asks for its
    winners says what is missing. An imported campaign speaks only where it is named, and its note
    says where it comes from. Raises PlumblineError where there is no campaign of this site."""
    if named is not None:
        found = campaigns.get(db, named)
        return Choice(found, f"campaign {found.named}" if found.imported_from else "")
    those = campaigns.with_winners(db)
    last = campaigns.get(db, None)
    own = campaigns.own(db)
    if not own:
        listed = ", ".join(campaign.named for campaign in campaigns.all_campaigns(db))
        raise PlumblineError(
            f"{db.path} holds no campaign that was measured here, only {listed}: name one with "
            f"--campaign, or run `{command_name()} campaign`"
        )
    if not those:
        return Choice(finished_last(own) or last)
    fits = _library_here(mpi_prefix)
    found = preferred(those, lambda one: fits(machines.library(db, one.library_fingerprint)))
    return Choice(found, _note(db, found, those, last))


def finished_last(those: Sequence[Campaign]) -> Campaign | None:
    done = [campaign for campaign in those if campaign.state == "finished"]
    return max(done, key=lambda campaign: campaign.finished, default=None)


def preferred(those: Sequence[Campaign], fits: Callable[[Campaign], bool]) -> Campaign:
    """Return of `those`, in the order in which they were finished, the last one whose library fits
    and that was made on this machine, else whose library fits, else the last one."""
    if len({campaign.library_fingerprint for campaign in those}) > 1:
        those = [campaign for campaign in those if fits(campaign)] or those
    if len({campaign.machine for campaign in those}) > 1:
        here = this_machine().id
        those = [campaign for campaign in those if campaign.machine == here] or those
    return those[-1]


def described(db: Database, campaign: Campaign) -> str:
    """Return its id, when it finished, and how many winners it has for how many ranks."""
    count = counted(len(winners.get(db, campaign.id)), "winner")
    return (
        f"{campaign.named}, finished {campaign.finished} ({count} for "
        f"{counted(campaign.nprocs, 'rank')})"
    )


def _note(db: Database, found: Campaign, those: Sequence[Campaign], last: Campaign) -> str:
    others = [campaign for campaign in reversed(those) if campaign.id != found.id]
    known = {campaign.id for campaign in those}
    words = []
    if others:
        listed = ", ".join(described(db, campaign) for campaign in others)
        words.append(f"others with winners (--campaign ID): {listed}")
    if last.id not in known:
        why = "has no winners" if last.state == "finished" else "is not finished"
        words.append(f"the one started last, {last.id}, {why}")
    return "; ".join([f"campaign {described(db, found)}", *words]) if words else ""


def _library_here(mpi_prefix: Path | None) -> Callable[[Library], bool]:
    """Return whether a library is the one under `mpi_prefix`; without one, the one on PATH."""
    asked: list[str] = []

    def fits(library: Library) -> bool:
        family = libraries.of_name(library.family)
        if family is not None and family.simulates:
            return _is_installed(library)
        if not asked:
            try:
                asked.append(libraries.find(mpi_prefix)[1].library.fingerprint)
            except PlumblineError:
                asked.append("")
        return library.fingerprint == asked[0]

    return fits


def _is_installed(library: Library) -> bool:
    try:
        installed(library)
    except PlumblineError:
        return False
    return True
