"""The configuration of `plumbline watch`: all tables and keys (docs/daemon.md has each)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from shutil import which
from string import Template
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from plumbline.daemon.windows import OpenTimes, Window, times
from plumbline.system import toml
from plumbline.watch.chart import LEAST_LEARNING, DetectorDesign
from plumbline_db.errors import UsageError


def read(path: Path | None) -> DaemonConfiguration:
    """None: all defaults. Raises UsageError that names the file and the key."""
    if path is None:
        return DaemonConfiguration()
    document = toml.read(path, f"configuration {path}")
    configuration = document.convert(DaemonConfiguration)
    try:
        for problem in _problems(configuration):
            raise UsageError(problem)
    except UsageError as error:
        raise document.refused(str(error)) from error
    return _beside(path.absolute().parent, configuration)


def _beside(folder: Path, configuration: DaemonConfiguration) -> DaemonConfiguration:
    """Files that it names, relative to the folder of its own."""

    def whole(name: str) -> str:
        return str(folder / name) if name else ""

    backup = msgspec.structs.replace(
        configuration.backup, folder=whole(configuration.backup.folder)
    )
    file = whole(configuration.campaign_file)
    return msgspec.structs.replace(configuration, campaign_file=file, backup=backup)


def example() -> str:
    """A commented configuration with all keys."""
    return resources.files("plumbline.daemon").joinpath("example.toml").read_text("utf-8")


def _problems(configuration: DaemonConfiguration) -> Iterator[str]:
    """Return what cannot be, though each value may stand there. Parsers of texts raise
    UsageError."""
    if configuration.campaign_file and configuration.campaign:
        yield "campaign_file and campaign: name one of them"
    if configuration.canary.interval < timedelta(seconds=1):
        yield "canary.every must be at least one second"
    launches, rows = configuration.keep.ages
    if launches > rows:
        yield "keep.launches is longer than keep.rows: launches must be removed before their rows"
    if _is_never_open(configuration.schedule.times):
        yield "schedule: blackouts cover all windows, so that nothing would ever be measured"
    if (configuration.apply.scope == "modules") != bool(configuration.apply.modules):
        yield "apply: scope modules needs modules = DIR, and only that scope has it"
    if configuration.apply.auto and not configuration.apply.scope:
        yield "apply.auto needs a scope: user, site or modules"
    yield from _of_serve(configuration.serve)
    yield from _of_notify(configuration.notify)


def _of_serve(serve: Serve) -> Iterator[str]:
    if serve.listen:
        listened(serve.listen)
    elif serve.allow_hosts:
        yield "serve: allow_hosts needs listen"


def _of_notify(notify: Notify) -> Iterator[str]:
    if notify.command and not which(notify.command[0]):
        yield f"notify.command: the program {notify.command[0]!r} does not exist"
    texts = [("template", notify.template), *(("command", word) for word in notify.command)]
    for key, text in texts:
        template = Template(text)
        unknown = sorted(set(template.get_identifiers()) - set(TEMPLATE_NAMES))
        if unknown or not template.is_valid():
            yield (
                f"notify.{key}: {f'${unknown[0]} is none' if unknown else 'a $ names none'} of "
                f"{', '.join(f'${name}' for name in TEMPLATE_NAMES)}; a $ itself is $$"
            )
    if notify.webhook:
        parts = urlsplit(notify.webhook)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            yield "notify.webhook must be an http or https address"


def _is_never_open(times: OpenTimes) -> bool:
    """Return whether it is never open in a week without blackouts by date."""
    weekly = tuple(blackout for blackout in times.blackouts if isinstance(blackout, Window))
    plain = msgspec.structs.replace(times, blackouts=weekly)
    monday = datetime(2026, 1, 5, tzinfo=UTC)
    return all(plain.closed(monday + timedelta(minutes=5 * n)) for n in range(7 * 24 * 12))


_DURATION = re.compile(r"(\d{1,7})\s*(s|min|h|d)\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def listened(text: str) -> tuple[str, int]:
    """Return host and port of `serve.listen`; the path of a Unix socket is the host. Raises
    UsageError."""
    if text.startswith("/"):
        return text, 0
    host, _, port = text.rpartition(":")
    if not host or not _PORT.match(port) or not 1 <= int(port) <= 65535:
        raise UsageError(
            f"serve.listen: {text!r} is neither HOST:PORT, as in 127.0.0.1:9464, nor a path"
        )
    return host.strip("[]"), int(port)


def _duration(key: str, text: str) -> timedelta:
    """`90s`, `30min`, `1h`, `60d`. Raises UsageError."""
    match = _DURATION.match(text.strip())
    if match is None or int(match[1]) == 0:
        raise UsageError(f"{key}: {text!r} is not a duration such as 90s, 30min, 1h, 60d")
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


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
        return _duration("canary.every", self.every)


class MeasuringHours(Table, frozen=True):
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


class SearchPolicy(Table, frozen=True):
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


class Retention(Table, frozen=True):
    """How long things stay in the database."""

    launches: str = "60d"
    """Launches of canaries, with their samples."""
    rows: str = "400d"
    """What tells of canaries, alarms, searches and messages."""

    @property
    def ages(self) -> tuple[timedelta, timedelta]:
        return _duration("keep.launches", self.launches), _duration("keep.rows", self.rows)


class Backup(Table, frozen=True):
    """A copy of the database a day."""

    keep: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 7
    """So many stay; 0: none is made."""
    folder: str = ""
    """Of this database's alone, relative to this file; "": FILE.backups beside the database."""


class DaemonConfiguration(Table, frozen=True):
    """In this order in docs/daemon.md."""

    campaign_file: str = ""
    """Whose campaigns are watched; relative to this file."""
    campaign: str = ""
    """Or the id of one; neither: that which finished last and has winners."""
    mpi: str = ""
    """Prefix of the MPI installation, or module:NAME; "": as in the campaign file, or on PATH."""
    serve: Serve = Serve()
    canary: CanaryTable = CanaryTable()
    schedule: MeasuringHours = MeasuringHours()
    neighbour: Neighbour = Neighbour()
    search: SearchPolicy = SearchPolicy()
    apply: Applying = Applying()
    notify: Notify = Notify()
    keep: Retention = Retention()
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
    def design(self) -> DetectorDesign:
        canaries = max(1, timedelta(days=30) // self.canary.interval)
        return DetectorDesign(
            cells=self.canary.cells + self.canary.references,
            canaries=canaries,
            false_alarms=self.canary.false_alarms,
            learning=self.canary.learning,
            launches=self.canary.launches,
            launches_max=self.canary.launches_max,
        )
