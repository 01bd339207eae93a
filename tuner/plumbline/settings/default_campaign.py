"""Whose winners a command uses that names no campaign: those of the one that finished last and has
winners, for the library and the machine that are here. What was started later, is under way or has
searched nothing never takes that place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from plumbline import libraries
from plumbline.libraries.gate import installed
from plumbline.system.machine import this_machine
from plumbline.system.words import counted
from plumbline_db import campaigns, findings, machines
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.layout import SITE, asked
from plumbline_db.records import Campaign, Library


class CampaignChoice(msgspec.Struct, frozen=True):
    """`note` says which campaign was taken where others might have been meant; else empty."""

    campaign: Campaign
    note: str = ""


def choose(db: Database, named: str | None, mpi_prefix: Path | None = None) -> CampaignChoice:
    """The campaign `named`, or the one that speaks where none is named. Where no campaign has
    winners, the one that finished last, else the one that was started last: who asks for its
    winners says what is missing. An imported campaign speaks only where it is named, and its note
    says where it comes from. Raises PlumblineError where there is no campaign of this site."""
    if named is not None:
        campaign_chosen = campaigns.get(db, named)
        return CampaignChoice(
            campaign_chosen,
            f"campaign {campaign_chosen.named}" if campaign_chosen.imported_from else "",
        )
    with_winners = campaigns.with_winners(db)
    last = campaigns.get(db, None)
    own = campaigns.own(db)
    if not own:
        listed = ", ".join(campaign.named for campaign in campaigns.all_campaigns(db))
        raise PlumblineError(
            f"{db.path} contains no campaign that was measured here, only {listed}: name one with "
            f"--campaign, or run `{command_name()} campaign`"
        )
    if not with_winners:
        return CampaignChoice(finished_last(own) or last)
    fits = _library_here(mpi_prefix)
    campaign_chosen = preferred(
        with_winners, lambda campaign: fits(machines.library(db, campaign.library_fingerprint))
    )
    return CampaignChoice(campaign_chosen, _note(db, campaign_chosen, with_winners, last))


def finished_last(candidates: Sequence[Campaign]) -> Campaign | None:
    done = [campaign for campaign in candidates if campaign.state == "finished"]
    return max(done, key=lambda campaign: campaign.finished, default=None)


def preferred(candidates: Sequence[Campaign], fits: Callable[[Campaign], bool]) -> Campaign:
    """Return the last of `candidates`, which are in the order in which they were finished, whose
    library fits and that was made on this machine; else whose library fits; else the last one."""
    if len({campaign.library_fingerprint for campaign in candidates}) > 1:
        candidates = [campaign for campaign in candidates if fits(campaign)] or candidates
    if len({campaign.machine for campaign in candidates}) > 1:
        machine_here = this_machine().id
        candidates = [
            campaign for campaign in candidates if campaign.machine == machine_here
        ] or candidates
    return candidates[-1]


def described(db: Database, campaign: Campaign) -> str:
    """Return the campaign's id, when it finished, and how many winners it has for how many
    ranks."""
    count = counted(len(findings.get_winners(db, campaign.id)), "winner")
    ranks = counted(campaign.nprocs, "rank")
    ranks = f"up to {ranks}" if asked(campaign).command == SITE else ranks
    return f"{campaign.named}, finished {campaign.finished} ({count} for {ranks})"


def _note(
    db: Database, campaign_chosen: Campaign, with_winners: Sequence[Campaign], last: Campaign
) -> str:
    others = [campaign for campaign in reversed(with_winners) if campaign.id != campaign_chosen.id]
    ids = {campaign.id for campaign in with_winners}
    words = []
    if others:
        listed = ", ".join(described(db, campaign) for campaign in others)
        words.append(f"others with winners (--campaign ID): {listed}")
    if last.id not in ids:
        why = "has no winners" if last.state == "finished" else "is not finished"
        words.append(f"the one started last, {last.id}, {why}")
    return "; ".join([f"campaign {described(db, campaign_chosen)}", *words]) if words else ""


def _library_here(mpi_prefix: Path | None) -> Callable[[Library], bool]:
    """Return whether a library is the one under `mpi_prefix`; without one, the one on PATH."""
    fingerprint_asked: list[str] = []

    def fits(library: Library) -> bool:
        family = libraries.of_name(library.family)
        if family is not None and family.simulates:
            return _is_installed(library)
        if not fingerprint_asked:
            try:
                fingerprint_asked.append(libraries.find(mpi_prefix)[1].library.fingerprint)
            except PlumblineError:
                fingerprint_asked.append("")
        return library.fingerprint == fingerprint_asked[0]

    return fits


def _is_installed(library: Library) -> bool:
    try:
        installed(library)
    except PlumblineError:
        return False
    return True
