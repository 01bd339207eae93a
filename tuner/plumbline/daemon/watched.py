"""Campaigns that the configuration means, what each needs to be measured here, and the files in
force for users: a generation of `plumbline apply`, else the files that the campaign has exported,
else nothing. Canaries start with these files as users do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from plumbline.applied import standing, targets
from plumbline.applied.generations import Generation, Source, Store, sha256
from plumbline.applied.targets import Place
from plumbline.campaign import proof
from plumbline.daemon.configuration import Applying, DaemonConfiguration
from plumbline.launch.starter import Starter
from plumbline.measure import tables
from plumbline.settings import Settings, campaign_file, default_campaign, starting
from plumbline.settings.identity import chosen, identifying, settings_of, to_start
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db import campaigns, machines, user_files, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign
from plumbline_db.statements import Statements
from plumbline_exporters import families, plumbline_sh

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


class InForce(msgspec.Struct, frozen=True):
    """`generation` of `plumbline apply` (0: none), whose files are in `folder`. `files`: checksums
    by path; `changed`: those that are not what was written. `parameters` are read by the library
    itself, whatever a launch is started with; `environment` is what else launches need to be as
    those of users are."""

    what: str
    generation: int = 0
    folder: str = ""
    files: dict[str, str] = {}
    changed: list[str] = []
    parameters: dict[str, str] = {}
    environment: dict[str, str] = {}
    sources: list[Source] = []

    def source(self, campaign: Campaign) -> Source | None:
        """Return what a generation has for the ranks of a campaign."""
        layout = campaign.nprocs, campaign.nodes, campaign.ppn
        return next((source for source in self.sources if source.layout == layout), None)

    @property
    def text(self) -> str:
        """Return what is in force as a text for the fingerprint."""
        if not self.files:
            return self.what
        sums = "".join(f"{name} {value}\n" for name, value in sorted(self.files.items()))
        changed = f", of which {', '.join(self.changed)} changed since" if self.changed else ""
        return f"{self.what}{changed} ({sha256(sums.encode())[:12]})"


def place_of(applying: Applying, toolchain: Toolchain) -> Place | None:
    """Return where the daemon applies; None: nowhere. Raises PlumblineError."""
    if not applying.scope:
        return None
    modules = Path(applying.modules) if applying.modules else None
    store = Path(applying.store) if applying.store else None
    return targets.place(applying.scope, toolchain.family, toolchain.installation, modules, store)


def applied(applying: Applying, toolchain: Toolchain) -> tuple[Store, Generation] | None:
    """The generation in force where the daemon applies; where it does not, one of this user or of
    the site for this library. Raises PlumblineError where our marks are damaged."""
    place = place_of(applying, toolchain)
    if place is not None:
        store = Store(place.root, place.name, shared=place.shared)
        states = [targets.state(where.path, place.name) for where in place.where]
        in_force = targets.applied(store, states)
        return None if in_force is None else (store, in_force)
    if toolchain.family.simulates:
        return None
    fingerprint = toolchain.installation.library.fingerprint
    for state in standing.standing(Path(toolchain.installation.library.prefix)):
        if state.applied.library.fingerprint == fingerprint:
            generation = state.applied
            return Store(state.root, generation.name, shared=state.scope != "user"), generation
    return None


def files_in_force(db: Statements, campaign: Campaign, here: Here, applying: Applying) -> InForce:
    """Raises PlumblineError where it cannot be read."""
    in_force_now = applied(applying, here.toolchain)
    if in_force_now is not None:
        return _of_generation(*in_force_now, here)
    return _exported(db, campaign, here.starter)


def _of_generation(store: Store, generation: Generation, here: Here) -> InForce:
    folder = store.path(generation.number)
    files, changed = _sums({folder / name: checksum for name, checksum in generation.files.items()})
    parameters = dict(_parameters(generation))
    environment = _environment(folder / plumbline_sh.FILE_NAME, here.starter)
    for name in here.toolchain.family.in_environment(dict.fromkeys(parameters, "")):
        environment.pop(name, None)
    what = f"generation {generation.number} of {generation.name}"
    return InForce(
        what,
        generation.number,
        str(folder),
        files,
        changed,
        parameters,
        environment,
        generation.sources,
    )


def _parameters(generation: Generation) -> Iterator[tuple[str, str]]:
    """Return what the library reads by itself, of our own."""
    parameter_file = families.of(generation.library).parameter_file
    for target in generation.targets if parameter_file is not None else []:
        if parameter_file is not None and target.kind == "lines":
            for line in parameter_file.read(target.text):
                yield line.name, line.value or ""


def _exported(db: Statements, campaign: Campaign, starter: Starter) -> InForce:
    checksums = {Path(export.path): export.sha256 for export in campaigns.exports(db, campaign.id)}
    script = next((path for path in checksums if path.name == plumbline_sh.FILE_NAME), None)
    if script is None:
        return InForce("the library as it is: nothing is exported or applied")
    files, changed = _sums(checksums)
    what = f"the exported files of {campaign.id}"
    environment = _environment(script, starter)
    return InForce(what, 0, str(script.parent), files, changed, {}, environment)


def _environment(script: Path, starter: Starter) -> dict[str, str]:
    """Return what a launch gets by sourcing it; nothing where it cannot be read."""
    if not os.access(script, os.R_OK):
        return {}
    return proof.environment_of(script, starter.clean_environment())


def _sums(checksums: dict[Path, str]) -> tuple[dict[str, str], list[str]]:
    """Checksums of what is there, and names of what is not as it was written."""
    checksums_now: dict[str, str] = {}
    changed: list[str] = []
    for path, checksum in checksums.items():
        try:
            now = sha256(user_files.read(path))
        except OSError:
            now = "gone"
        checksums_now[str(path)] = now
        if now != checksum:
            changed.append(path.name)
    return checksums_now, sorted(changed)
