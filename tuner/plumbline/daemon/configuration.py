"""The configuration of `plumbline watch`: TOML, read strictly (docs/daemon.md has each key)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from plumbline.daemon.windows import OpenTimes, Window, times
from plumbline.system import toml
from plumbline.watch.design import LEAST_LEARNING, Design
from plumbline_db.errors import UsageError

Some = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]

_DURATION = re.compile(r"(\d{1,7})\s*(s|min|h|d)\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_ADDRESS = re.compile(r"[^@\s<>,]+@[^@\s<>,]+\Z")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything here."""


class CanaryTable(Table, frozen=True):
    """What is measured between campaigns."""

    every: str = "1h"
    """Time from one canary to the next: s, min, h or d."""
    launches: Some = 3
    """Launches of a canary; more show smaller changes (docs/design/change-detection.md)."""
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
    jobs: Literal["ignore", "waiting", "any"] = "waiting"
    """Under Slurm, Plumbline waits while users have jobs that wait (any: jobs at all) there."""
    nodes_held_back: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """Under Slurm, so many nodes must be idle beside those that a launch takes."""
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

    mail_to: tuple[str, ...] = ()
    """Addresses."""
    mail_from: str = ""
    """An address."""
    smtp: str = "localhost:25"
    """Host and port of the mail server."""
    webhook: str = ""
    """An http or https address that gets a POST of JSON."""
    most_a_day: Some = 6
    """Messages in 24 hours; those beyond are held back, and counted in the next one."""
    template: str = ""
    """Of the text: $what, $table, $command, $host, $campaign; "": the usual one."""


class Keeping(Table, frozen=True):
    """How long things stay in the database."""

    launches: str = "60d"
    """Launches of canaries, with their samples."""
    rows: str = "400d"
    """What tells of canaries, alarms, searches and messages."""

    @property
    def ages(self) -> tuple[timedelta, timedelta]:
        return duration("keep.launches", self.launches), duration("keep.rows", self.rows)


class Configuration(Table, frozen=True):
    """In this order in docs/daemon.md."""

    campaign_file: str = ""
    """Whose campaigns are watched; relative to this file."""
    campaign: str = ""
    """Or the id of one; neither: that which finished last and has winners."""
    mpi: str = ""
    """Prefix of the MPI installation, or module:NAME; "": as in the campaign file, or on PATH."""
    listen: str = ""
    """Address and port of /metrics and the pages, as in 127.0.0.1:9464; "": none."""
    canary: CanaryTable = CanaryTable()
    schedule: Schedule = Schedule()
    neighbour: Neighbour = Neighbour()
    search: Searching = Searching()
    apply: Applying = Applying()
    notify: Notify = Notify()
    keep: Keeping = Keeping()

    @property
    def told(self) -> str:
        """As JSON, without what is nobody else's business: whatever follows the webhook's host."""
        url = urlsplit(self.notify.webhook)
        webhook = f"{url.scheme}://{url.hostname}/…" if url.hostname else ""
        notify = msgspec.structs.replace(self.notify, webhook=webhook)
        return msgspec.json.encode(msgspec.structs.replace(self, notify=notify)).decode()

    @property
    def design(self) -> Design:
        canaries = max(1, timedelta(days=30) // self.canary.interval)
        return Design(
            cells=self.canary.cells + self.canary.references,
            canaries=canaries,
            false_alarms=self.canary.false_alarms,
            learning=self.canary.learning,
        )


def read(path: Path | None) -> Configuration:
    """None: all defaults. Raises UsageError that names the file and the key."""
    if path is None:
        return Configuration()
    where = f"configuration {path}"
    values = toml.read(path, where)
    try:
        found = msgspec.convert(values, Configuration)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from error
    try:
        for problem in _problems(found):
            raise UsageError(problem)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if found.campaign_file:
        whole = path.absolute().parent / found.campaign_file
        found = msgspec.structs.replace(found, campaign_file=str(whole))
    return found


def _problems(found: Configuration) -> Iterator[str]:
    """The parsers of texts raise UsageError themselves."""
    if found.campaign_file and found.campaign:
        yield "campaign_file and campaign: name one of them"
    if found.canary.interval < timedelta(seconds=1):
        yield "canary.every must be a second at least"
    launches, rows = found.keep.ages
    if launches > rows:
        yield "keep.launches is longer than keep.rows: launches go before what tells of them"
    if _is_never_open(found.schedule.times):
        yield "schedule: blackouts cover all windows, so that nothing would ever be measured"
    if (found.apply.scope == "modules") != bool(found.apply.modules):
        yield "apply: scope modules goes with modules = DIR"
    if found.apply.auto and not found.apply.scope:
        yield "apply.auto needs a scope: user, site or modules"
    if found.listen:
        address(found.listen)
    yield from _notify_problems(found.notify)


def _notify_problems(notify: Notify) -> Iterator[str]:
    for each in (*notify.mail_to, *filter(None, [notify.mail_from])):
        if not _ADDRESS.match(each):
            yield f"notify: {each!r} is no mail address"
    if notify.mail_to and not notify.mail_from:
        yield "notify: mail_to needs mail_from"
    host_port("notify.smtp", notify.smtp)
    if notify.webhook:
        parts = urlsplit(notify.webhook)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            yield "notify.webhook must be an http or https address"


def _is_never_open(times: OpenTimes) -> bool:
    """In a week without blackouts by date."""
    weekly = tuple(one for one in times.blackouts if isinstance(one, Window))
    plain = msgspec.structs.replace(times, blackouts=weekly)
    monday = datetime(2026, 1, 5, tzinfo=UTC)
    return all(plain.closed(monday + timedelta(minutes=5 * n)) for n in range(7 * 24 * 12))


def address(text: str) -> tuple[str, int]:
    """Raises UsageError for what is no HOST:PORT."""
    return host_port("listen", text)


def host_port(key: str, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not _PORT.match(port) or not 1 <= int(port) <= 65535:
        raise UsageError(f"{key}: {text!r} is no host and port, as in localhost:25")
    return host.strip("[]"), int(port)


def duration(key: str, text: str) -> timedelta:
    """`90s`, `30min`, `1h`, `60d`. Raises UsageError."""
    found = _DURATION.match(text.strip())
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{key}: {text!r} is no length of time, as in 90s, 30min, 1h, 60d")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def example() -> str:
    """A commented configuration with all keys."""
    return resources.files("plumbline.daemon").joinpath("example.toml").read_text("utf-8")
