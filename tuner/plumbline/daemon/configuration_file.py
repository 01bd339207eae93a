"""The configuration file of `plumbline watch`: TOML, read strictly."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from shutil import which
from string import Template
from urllib.parse import urlsplit

import msgspec

from plumbline.daemon.configuration import TEMPLATE_NAMES, Configuration, Notify, Serve
from plumbline.daemon.texts import listened
from plumbline.daemon.windows import OpenTimes, Window
from plumbline.system import toml
from plumbline_db.errors import UsageError


def read(path: Path | None) -> Configuration:
    """None: all defaults. Raises UsageError that names the file and the key."""
    if path is None:
        return Configuration()
    document = toml.read(path, f"configuration {path}")
    found = document.convert(Configuration)
    try:
        for problem in _problems(found):
            raise UsageError(problem)
    except UsageError as error:
        raise document.refused(str(error)) from error
    return _beside(path.absolute().parent, found)


def _beside(folder: Path, found: Configuration) -> Configuration:
    """Files that it names, relative to the folder of its own."""

    def whole(name: str) -> str:
        return str(folder / name) if name else ""

    backup = msgspec.structs.replace(found.backup, folder=whole(found.backup.folder))
    file = whole(found.campaign_file)
    return msgspec.structs.replace(found, campaign_file=file, backup=backup)


def example() -> str:
    """A commented configuration with all keys."""
    return resources.files("plumbline.daemon").joinpath("example.toml").read_text("utf-8")


def _problems(found: Configuration) -> Iterator[str]:
    """Return what cannot be, though each value may stand there. Parsers of texts raise
    UsageError."""
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
    yield from _of_serve(found.serve)
    yield from _of_notify(found.notify)


def _of_serve(serve: Serve) -> Iterator[str]:
    if serve.listen:
        listened(serve.listen)
    elif serve.allow_hosts:
        yield "serve: allow_hosts goes with listen"


def _of_notify(notify: Notify) -> Iterator[str]:
    if notify.command and not which(notify.command[0]):
        yield f"notify.command: {notify.command[0]!r} is no program here"
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
    weekly = tuple(one for one in times.blackouts if isinstance(one, Window))
    plain = msgspec.structs.replace(times, blackouts=weekly)
    monday = datetime(2026, 1, 5, tzinfo=UTC)
    return all(plain.closed(monday + timedelta(minutes=5 * n)) for n in range(7 * 24 * 12))
