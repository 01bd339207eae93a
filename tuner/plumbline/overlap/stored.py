"""Overlap campaigns that the database holds: which there are, how they were set, their cells.
Reads; measures nothing."""

from __future__ import annotations

import msgspec

from plumbline.measure import factors
from plumbline.overlap import suite
from plumbline.overlap.benches import OverlapSettings
from plumbline.overlap.suite import OverlapResult
from plumbline.results.sides import ComparedSide, Name
from plumbline_db import campaigns, machines, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError, command_name
from plumbline_db.records import Campaign, Library, Machine

# Settings that say how something was measured, not how much; knobs do too.
_HOW = ("kernel", "aid", "test_ns")


class Stored(msgspec.Struct, frozen=True):
    campaign: Campaign
    settings: OverlapSettings
    library: Library
    machine: Machine

    @property
    def name(self) -> str:
        """One line of a sheet: library, ranks and what is not as usual."""
        ranks = f"{self.campaign.nprocs} ranks"
        crowded = " (oversubscribed)" if self.campaign.oversubscribed else ""
        return ", ".join([self.library.id, ranks + crowded, *self.configuration()])

    @property
    def label(self) -> str:
        """The same with its id."""
        return f"{self.name} ({self.campaign.id})"

    def configuration(self) -> list[str]:
        """The settings that other campaigns may have otherwise."""
        usual = how(OverlapSettings(self.campaign.nprocs))
        values = how(self.settings).items()
        return [f"{name} {value}" for name, value in values if value != usual.get(name)]


def how(settings: OverlapSettings) -> dict[str, str]:
    """Each setting that is not about how much is measured, as text; a knob is one."""
    return {name: str(getattr(settings, name)) for name in _HOW} | settings.knobs.as_dict()


class _Asked(msgspec.Struct):
    command: str = ""


def every(db: Database) -> list[Stored]:
    """Return the overlap campaigns in the order in which they were started."""
    return [_stored(db, campaign) for campaign in campaigns.every(db) if _is_overlap(campaign)]


def one(db: Database, id: str) -> Stored:
    """Raises UsageError that lists what there is."""
    overlap_campaigns = {
        campaign.id: campaign for campaign in campaigns.every(db) if _is_overlap(campaign)
    }
    if id not in overlap_campaigns:
        listed = ", ".join(overlap_campaigns) or f"none (run `{command_name()} overlap` first)"
        raise UsageError(f"{db.path} contains no overlap campaign {id}; it contains: {listed}")
    return _stored(db, overlap_campaigns[id])


def _is_overlap(campaign: Campaign) -> bool:
    try:
        return msgspec.json.decode(campaign.settings, type=_Asked).command == "overlap"
    except msgspec.DecodeError:
        return False


def _stored(db: Database, campaign: Campaign) -> Stored:
    return Stored(
        campaign,
        msgspec.json.decode(campaign.settings, type=OverlapSettings),
        machines.library(db, campaign.library_fingerprint),
        machines.machine(db, campaign.machine),
    )


class MeasuredCampaign(msgspec.Struct, frozen=True):
    """A campaign with its cells so far, and its launches and their surroundings as a comparison has
    them."""

    stored: Stored
    side: ComparedSide
    cells: list[OverlapResult]


def measured(db: Database, stored: Stored) -> MeasuredCampaign:
    """Raises UsageError where nothing is measured yet; PlumblineError where its launches may not be
    joined, or as `suite.read`."""
    id = stored.campaign.id
    launches = runs.surroundings(db, id)
    if not launches:
        raise UsageError(f"overlap campaign {id} has no finished launch yet")
    factors.require_joinable(
        factors.named(launches), across_suites=True, otherwise="Measure afresh with --new"
    )
    side = ComparedSide(
        name=Name(id, None, id, "", "", ""),
        database=db.path,
        campaign=stored.campaign,
        machine=stored.machine,
        library=stored.library,
        suites=list(dict.fromkeys(launch.suite for launch in launches)),
        launches=launches,
        samples=[],
    )
    return MeasuredCampaign(stored, side, suite.read(db, stored.campaign, stored.settings))
