"""The configuration of `plumbline watch`: all tables and keys (docs/daemon.md has each)."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from plumbline.daemon.texts import duration
from plumbline.daemon.windows import OpenTimes, times
from plumbline.watch.design import LEAST_LEARNING, Design

Some = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]


# The placeholders of notify.template.
TEMPLATE_NAMES = ("what", "table", "command", "host", "campaign")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything here."""


class Serve(Table, frozen=True):
    """Pages and metrics, as `plumbline serve` has them."""

    listen: str = ""
    """Address and port, as in 127.0.0.1:9464, or the path of a Unix socket; "": none."""
    allow_hosts: tuple[str, ...] = ()
    """Further names by which clients call it."""
    max_series: Annotated[int, msgspec.Meta(ge=100, le=10_000_000)] = 5000
    """Of more metrics than this, those of the oldest places are left out."""


class CanaryTable(Table, frozen=True):
    """What is measured between campaigns."""

    every: str = "1h"
    """Time from one canary to the next: s, min, h or d."""
    launches: Some = 2
    """Launches of a canary that each cell is in; more show smaller changes."""
    launches_max: Some = 12
    """Most launches of a canary that noisy cells are in (docs/design/daemon.md)."""
    samples: Some = 64
    """Calls of each case in a launch, at least; their lower quartile speaks for the launch."""
    cells: Some = 40
    """Cells at most: winners first, then violations that remain, then those of an application."""
    references: Annotated[int, msgspec.Meta(ge=10, le=1000)] = 16
    """Reference cases, which no exported file changes: they tell busy machines from slow cells."""
    learning: Annotated[int, msgspec.Meta(ge=LEAST_LEARNING, le=10_000)] = 72
    """Canaries before a cell is watched: three days of hourly ones."""
    false_alarms: Positive = 1.0
    """False alarms in 30 days at most, on average, over all cells."""
    recheck_launches: Annotated[int, msgspec.Meta(ge=6, le=1000)] = 12
    """Launches by which alarms are confirmed or refuted."""

    @property
    def interval(self) -> timedelta:
        return duration("canary.every", self.every)


class Schedule(Table, frozen=True):
    """When it may measure; no windows: always."""

    time_zone: str = "UTC"
    """Of all times below, as in Europe/Vienna."""
    windows: tuple[str, ...] = ()
    """As in "Mon-Fri 22:00-06:00", "Sat,Sun"."""
    blackouts: tuple[str, ...] = ()
    """The same, or dates: "2026-12-24..2026-12-27"."""

    @property
    def times(self) -> OpenTimes:
        return times(self.time_zone, self.windows, self.blackouts)


class Neighbour(Table, frozen=True):
    """What it leaves to others."""

    load: Positive = 0.5
    """Most load a processing unit before it starts anything (average over a minute)."""
    node_seconds_a_day: Positive = 7200.0
    """Of all launches together; 7200: two node-hours."""
    node_seconds_a_week: Positive = 36000.0
    """Likewise."""


class Searching(Table, frozen=True):
    """What follows from a change that was confirmed."""

    open: bool = True
    """Search the cells concerned; else it is only told."""
    budget_seconds: Positive = 600.0
    """Of a search, as in campaign files."""
    whole: bool = False
    """Run the whole campaign where its table is missing, or is not of what is installed now."""


class Applying(Table, frozen=True):
    """What becomes of new winners."""

    auto: bool = False
    """Put them in force, and take them out again where the confirmation fails."""
    scope: Literal["", "user", "site", "modules"] = ""
    """For whom, as in `plumbline apply`; "": nothing is applied, and exported files are watched."""
    modules: str = ""
    """The tree of modulefiles, of scope modules."""
    store: str = ""
    """The folder of generations, where it is another one."""


class Notify(Table, frozen=True):
    """Who is told of a change besides Prometheus."""

    command: tuple[str, ...] = ()
    """A program and its arguments, without a shell; it reads the text from its standard input."""
    webhook: str = ""
    """An http or https address that gets a POST of JSON."""
    most_a_day: Some = 6
    """Messages in 24 hours; those beyond are held back, and counted in the next one."""
    template: str = ""
    """Of the text: $what, $table, $command, $host, $campaign; "": the usual one. The arguments of
    `command` may have the same names."""


class Keeping(Table, frozen=True):
    """How long things stay in the database."""

    launches: str = "60d"
    """Launches of canaries, with their samples."""
    rows: str = "400d"
    """What tells of canaries, alarms, searches and messages."""

    @property
    def ages(self) -> tuple[timedelta, timedelta]:
        return duration("keep.launches", self.launches), duration("keep.rows", self.rows)


class Backup(Table, frozen=True):
    """A copy of the database a day."""

    keep: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 7
    """So many stay; 0: none is made."""
    folder: str = ""
    """Of this database's alone, relative to this file; "": FILE.backups beside the database."""


class Configuration(Table, frozen=True):
    """In this order in docs/daemon.md."""

    campaign_file: str = ""
    """Whose campaigns are watched; relative to this file."""
    campaign: str = ""
    """Or the id of one; neither: that which finished last and has winners."""
    mpi: str = ""
    """Prefix of the MPI installation, or module:NAME; "": as in the campaign file, or on PATH."""
    serve: Serve = Serve()
    canary: CanaryTable = CanaryTable()
    schedule: Schedule = Schedule()
    neighbour: Neighbour = Neighbour()
    search: Searching = Searching()
    apply: Applying = Applying()
    notify: Notify = Notify()
    keep: Keeping = Keeping()
    backup: Backup = Backup()

    @property
    def told(self) -> str:
        """JSON without secrets: no path of the webhook, and no arguments of the command."""
        url = urlsplit(self.notify.webhook)
        webhook = f"{url.scheme}://{url.hostname}/…" if url.hostname else ""
        notify = msgspec.structs.replace(
            self.notify, webhook=webhook, command=self.notify.command[:1]
        )
        return msgspec.json.encode(msgspec.structs.replace(self, notify=notify)).decode()

    @property
    def design(self) -> Design:
        canaries = max(1, timedelta(days=30) // self.canary.interval)
        return Design(
            cells=self.canary.cells + self.canary.references,
            canaries=canaries,
            false_alarms=self.canary.false_alarms,
            learning=self.canary.learning,
            launches=self.canary.launches,
            launches_max=self.canary.launches_max,
        )
