"""Campaigns from their beginning to their end."""

from __future__ import annotations

from pathlib import Path

from plumbline.campaign import loop
from plumbline.launch.starter import Starter
from plumbline.measure.launches import LaunchStore
from plumbline.measure.other_work import OtherWork
from plumbline.settings import Settings, identity, starting
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db.connection import Database
from plumbline_db.records import Campaign
from tests.tuner import simulated


def campaign(
    db: Database,
    starter: Starter,
    settings: Settings,
    folder: Path,
    there: Toolchain | None = None,
    other_work: OtherWork | None = None,
    *,
    new: bool = False,
) -> Campaign:
    """At its end; on the simulated library where no other is named. Its files lie in `folder`."""
    toolchain = there or simulated.toolchain()
    begun = identity.begin(db, toolchain, settings, new=new)
    store = LaunchStore(db, begun.id, starter, None, other_work)
    return loop.CampaignLoop(store, toolchain, begun, settings, folder).run()


def here(settings: Settings, beside: Path | None = None) -> tuple[Toolchain, Settings, Starter]:
    """The library on PATH, the settings as its machine has them, and what starts its ranks."""
    toolchain = find_toolchain(settings=settings, beside=beside)
    settings = settings.on(toolchain.launcher.processing_units())
    return toolchain, settings, starting.starter(toolchain, settings)
