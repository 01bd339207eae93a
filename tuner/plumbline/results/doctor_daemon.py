"""Checks of what works of `plumbline watch` here: its units, its configuration, and the daemon
itself."""

from __future__ import annotations

import configparser
import os
import pwd
import shlex
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from plumbline.daemon import configuration_file, status
from plumbline.daemon.moments import Clock, moment_of
from plumbline.results.doctor import Finding
from plumbline.system import process
from plumbline_db import regular
from plumbline_db.errors import PlumblineError, UsageError

UNITS = ("plumbline-watch.service", "plumbline-watch-once.service", "plumbline-watch-once.timer")
FOLDERS = ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
# Launches with these settings are not joined with launches of a campaign that a person started.
_CHANGES_RUN_TIMES = ("Nice", "CPUSchedulingPolicy", "CPUAffinity", "CPUQuota", "AllowedCPUs")
SILENT_FOR = timedelta(minutes=10)  # between two steps that measure nothing


def examine(database: Path, clock: Clock, folders: Sequence[str] = FOLDERS) -> Iterator[Finding]:
    """All findings, as they come."""
    units = installed(folders)
    if not units:
        text = "none is installed: packaging/systemd has them (docs/daemon.md)"
        yield Finding("units", "notes", text)
    for unit in units:
        yield from _unit(unit)
    yield from _daemon(database, clock())


def installed(folders: Sequence[str]) -> list[Path]:
    """The units of ours, those heard first where there are several."""
    first: dict[str, Path] = {}
    for folder in folders:
        for name in UNITS:
            path = Path(folder) / name
            if path.is_file():
                first.setdefault(name, path)
    return list(first.values())


def _unit(path: Path) -> Iterator[Finding]:
    subject = path.name
    verified = _verified(path)
    yield verified or Finding(subject, "fine", str(path))
    if path.suffix != ".service":
        return
    try:
        text = regular.text(path)
    except (OSError, ValueError) as error:
        yield Finding(subject, "fails", f"{path} cannot be read: {error}")
        return
    service = _section(text)
    user = service.get("User", "root")
    try:
        pwd.getpwnam(user)
    except KeyError:
        add = f"useradd --system --home-dir /var/lib/plumbline {user}"
        yield Finding(subject, "fails", f"the user {user} does not exist: {add}")
    for key in _CHANGES_RUN_TIMES:
        if key in service:
            yield Finding(
                subject,
                "warns",
                f"{key}={service[key]}: run times depend on it, and launches are not joined with "
                "those of a campaign that was started without it; take it out, or let the daemon "
                "measure the table itself (search.whole = true)",
            )
    yield from _configuration(subject, service.get("ExecStart", ""))


def _section(text: str) -> dict[str, str]:
    """Return the section of a service; the last value of each key."""
    reader = configparser.ConfigParser(
        strict=False, interpolation=None, comment_prefixes=("#", ";"), delimiters=("=",)
    )
    reader.optionxform = str  # type: ignore[assignment]
    try:
        reader.read_string(text)
    except configparser.Error:
        return {}
    return dict(reader["Service"]) if reader.has_section("Service") else {}


def _verified(path: Path) -> Finding | None:
    """None: systemd finds nothing wrong, or is not there."""
    if shutil.which("systemd-analyze") is None:
        text = f"{path}; not verified, because systemd-analyze is not installed"
        return Finding(path.name, "notes", text)
    done = process.run(["systemd-analyze", "verify", str(path)], timeout_seconds=60)
    complaints = [line for line in done.stderr.splitlines() if path.name in line]
    if done.status == 0 and not complaints:
        return None
    why = "; ".join(complaints[:3]) or f"status {done.status}"
    return Finding(path.name, "fails", f"systemd-analyze verify: {why}")


def _configuration(subject: str, started: str) -> Iterator[Finding]:
    try:
        words = shlex.split(started)
    except ValueError:
        words = []
    files = [word for word in words[1:] if word.endswith(".toml")]
    if "watch" not in words:
        yield Finding(subject, "fails", f"ExecStart={started!r} does not start plumbline watch")
        return
    if not os.access(words[0], os.X_OK):
        yield Finding(
            subject, "fails", f"{words[0]} is no program: put the path of plumbline there"
        )
    for name in files or [""]:
        try:
            configuration_file.read(Path(name) if name else None)
        except UsageError as error:
            yield Finding("configuration", "fails", str(error))
        else:
            yield Finding("configuration", "fine", name or "none is named: all defaults")


def _daemon(database: Path, now: datetime) -> Iterator[Finding]:
    try:
        daemon = status.read(database, now)
    except PlumblineError as error:
        yield Finding("daemon", "notes", str(error))
        return
    watch, holder = daemon.watch, daemon.holder
    if watch is None:
        yield Finding("daemon", "notes", f"nobody has ever watched {database}")
        return
    if holder is None:
        ended = "has stopped" if watch.state == "stopped" else "ended without a word"
        yield Finding("daemon", "notes", f"nobody watches now; the last one {ended}")
    else:
        stepped = moment_of(watch.stepped or watch.started)
        quiet = watch.step == "wait" and stepped is not None and now - stepped > SILENT_FOR
        text = f"{holder.named}; last step: {watch.step}, {watch.stepped or 'none yet'}"
        yield Finding("daemon", "warns" if quiet else "fine", text)
    for subject, text in (
        ("configuration", watch.refused and f"refused at {watch.refused_at}: {watch.refused}"),
        ("daemon", watch.error and f"last error, {watch.failed}: {watch.error}"),
    ):
        if text:
            yield Finding(subject, "warns", text)
    for campaign in daemon.campaigns:
        if campaign.stale:
            yield Finding("table", "warns", f"{campaign.campaign}: {campaign.stale}")
    missed = sum(day.missed for day in daemon.days)
    if missed:
        yield Finding("canaries", "warns", f"{missed} were missed in the last seven days")
