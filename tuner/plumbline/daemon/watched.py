"""Campaigns that the configuration means, and what each needs to be measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from plumbline.daemon.configuration import DaemonConfiguration
from plumbline.launch.starter import Starter
from plumbline.measure import tables
from plumbline.settings import Settings, campaign_file, default_campaign, starting
from plumbline.settings.identity import chosen, identifying, settings_of, to_start
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db import campaigns, machines, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign

# A function that finds the installation for settings, a prefix and the folder of the database.
Finder = Callable[[Settings, Path | None, Path], tuple[Toolchain, Starter]]


class WatchedTask(msgspec.Struct, frozen=True):
    """A campaign that is to be watched. `campaign` None: there is none that is finished, for these
    settings."""

    settings: Settings
    mpi_prefix: Path | None
    campaign: Campaign | None

    @property
    def name(self) -> str:
        return self.campaign.id if self.campaign else f"{self.settings.ranks.nprocs} ranks"


class Here(msgspec.Struct, frozen=True):
    """The installation for it here, and what starts its ranks."""

    toolchain: Toolchain
    starter: Starter

    def sizes(self, settings: Settings) -> dict[str, list[int]]:
        return tables.sizes_of(chosen(self.toolchain, settings), settings)


def find(settings: Settings, mpi_prefix: Path | None, beside: Path) -> tuple[Toolchain, Starter]:
    """Raises PlumblineError for what is missing."""
    toolchain = find_toolchain(mpi_prefix, settings=settings, beside=beside)
    settled = settings.on(toolchain.launcher.processing_units())
    return toolchain, starting.starter(toolchain, settled)


def asked(db: Database, configuration: DaemonConfiguration) -> list[WatchedTask]:
    """Return the campaigns to watch in the order of the campaign file. Raises PlumblineError where
    nothing can be watched."""
    prefix = Path(configuration.mpi) if configuration.mpi else None
    if not configuration.campaign_file:
        named = configuration.campaign or None
        watched_campaign = _watched(db, default_campaign.choose(db, named, prefix).campaign)
        if watched_campaign.state != "finished":
            raise PlumblineError(
                f"campaign {watched_campaign.id} is not finished: "
                f"{campaigns.how_to_continue(db, watched_campaign)}"
            )
        return [
            WatchedTask(
                to_start(watched_campaign),
                prefix or _prefix(db, watched_campaign),
                watched_campaign,
            )
        ]
    path = Path(configuration.campaign_file)
    tasks = campaign_file.tasks(path, {}, prefix)
    return [
        WatchedTask(
            settings_of(last_campaign.settings) if last_campaign else task.settings,
            task.mpi_prefix,
            last_campaign,
        )
        for task in tasks
        for last_campaign in [_last(db, task)]
    ]


def _watched(db: Database, campaign: Campaign) -> Campaign:
    """Return where it is a search that watching has opened, the campaign that was watched then."""
    opened = {row.search: row.campaign for _, row in watching.retunings(db)}
    return campaigns.get(db, opened[campaign.id]) if campaign.id in opened else campaign


def _prefix(db: Database, campaign: Campaign) -> Path | None:
    prefix = Path(machines.library(db, campaign.library_fingerprint).prefix)
    return prefix if prefix.is_absolute() and prefix.is_dir() else None


def _last(db: Database, task: campaign_file.Task) -> Campaign | None:
    """The one that finished last of those with the settings of a task: a site's rules, and what
    was installed then, make others of them, and are told of as changes."""
    with_these_settings = [
        campaign
        for campaign in campaigns.own(db)
        if campaign.state == "finished"
        and _asks(campaign, task.settings)
        and _is_of(db, campaign, task)
    ]
    return default_campaign.finished_last(with_these_settings)


def _asks(campaign: Campaign, settings: Settings) -> bool:
    """The way of use may have been filled in by what is here."""
    settings_of_campaign = identifying(settings_of(campaign.settings))
    own_settings = identifying(settings)
    for key in ("use", "sync"):
        if key not in own_settings:
            settings_of_campaign.pop(key, None)
    return settings_of_campaign == own_settings


def _is_of(db: Database, campaign: Campaign, task: campaign_file.Task) -> bool:
    """Return where the task names an installation, it was that one."""
    if task.mpi_prefix is None or str(task.mpi_prefix).startswith("module:"):
        return True
    return Path(machines.library(db, campaign.library_fingerprint).prefix) == task.mpi_prefix


def labels(configuration: DaemonConfiguration) -> Iterator[str]:
    """Return what is asked for, in words, without a database."""
    if configuration.campaign_file:
        prefix = Path(configuration.mpi) if configuration.mpi else None
        for task in campaign_file.tasks(Path(configuration.campaign_file), {}, prefix):
            yield task.label
    else:
        yield configuration.campaign or "the campaign that finished last and has winners"
