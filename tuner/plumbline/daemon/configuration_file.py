"""The configuration file of `plumbline watch`: TOML, read strictly."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec

from plumbline.daemon.configuration import Configuration
from plumbline.daemon.problems import problems
from plumbline.system import toml
from plumbline_db.errors import UsageError


def read(path: Path | None) -> Configuration:
    """None: all defaults. Raises UsageError that names the file and the key."""
    if path is None:
        return Configuration()
    document = toml.read(path, f"configuration {path}")
    found = document.convert(Configuration)
    try:
        for problem in problems(found):
            raise UsageError(problem)
    except UsageError as error:
        raise document.refused(str(error)) from error
    return _beside(path.absolute().parent, found)


def _beside(folder: Path, found: Configuration) -> Configuration:
    """Files that it names, relative to the folder of its own."""

    def whole(name: str) -> str:
        return str(folder / name) if name else ""

    serve = msgspec.structs.replace(found.serve, web_config=whole(found.serve.web_config))
    password = whole(found.notify.smtp_password_file)
    notify = msgspec.structs.replace(found.notify, smtp_password_file=password)
    backup = msgspec.structs.replace(found.backup, folder=whole(found.backup.folder))
    file = whole(found.campaign_file)
    return msgspec.structs.replace(
        found, campaign_file=file, serve=serve, notify=notify, backup=backup
    )


def example() -> str:
    """A commented configuration with all keys."""
    return resources.files("plumbline.daemon").joinpath("example.toml").read_text("utf-8")
