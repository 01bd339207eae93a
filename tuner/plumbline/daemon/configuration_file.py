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
    configuration = document.convert(Configuration)
    try:
        for problem in _problems(configuration):
            raise UsageError(problem)
    except UsageError as error:
        raise document.refused(str(error)) from error
    return _beside(path.absolute().parent, configuration)


def _beside(folder: Path, configuration: Configuration) -> Configuration:
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


def _problems(configuration: Configuration) -> Iterator[str]:
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
