"""The table of export formats, and the one place that writes their files.

A format is one module with a function under `@exporter(...)`, and one line in MODULES; or it stands
in the folder of a family, which imports it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Export
from plumbline_exporters import families, quoting
from plumbline_exporters.bundle import NO_SUM, SUM, Bundle

MODULES = (
    "profile",
    "run_script",
    "shells",
    "modulefile",
    "winners_json",
)

Files = Callable[[Bundle], dict[str, str]]


class Exporter(msgspec.Struct, frozen=True):
    """`files` is pure: file name -> text, empty when the winners give this format nothing to say.
    `needs` are formats whose files this one refers to; those of other families are left out.
    `family` is the one it is for, or empty. A text that starts with #! is a program."""

    name: str
    summary: str
    needs: tuple[str, ...]
    files: Files
    family: str


_registered: dict[str, Exporter] = {}


def exporter(
    name: str, summary: str, *, needs: tuple[str, ...] = (), family: str = ""
) -> Callable[[Files], Files]:
    """Register a format under a name of its own."""

    def register(files: Files) -> Files:
        if name in _registered:
            raise ValueError(f"two exporters are called {name}")
        _registered[name] = Exporter(name, summary, needs, files, family)
        return files

    return register


def exporters(family: str = "") -> dict[str, Exporter]:
    """All formats by name; or those for a family of libraries."""
    families.families()
    for module in MODULES:
        importlib.import_module(f"plumbline_exporters.{module}")
    return {
        name: exporter
        for name, exporter in _registered.items()
        if not (family and exporter.family) or exporter.family == family
    }


def write(
    bundle: Bundle,
    formats: Sequence[str],
    *,
    force: bool = False,
    elsewhere: Mapping[str, Path] | None = None,
) -> list[Export]:
    """Write the files of these formats, and of those they need, into `bundle.directory`; those
    whose name is in `elsewhere` under that path.

    All are made, and on disk, before the first takes its place by rename, so that a refusal leaves
    the folder as it was. A file that is not as Plumbline wrote it is refused, unless `force`."""
    if not bundle.directory.is_absolute():
        raise ValueError(f"{bundle.directory} is not absolute")
    made = [(format, name, text.encode()) for format, name, text in texts(bundle, formats)]
    targets = {name: bundle.directory / name for _, name, _ in made} | dict(elsewhere or {})
    try:
        for folder in {bundle.directory, *(path.parent for path in targets.values())}:
            folder.mkdir(parents=True, exist_ok=True)
        require_room([targets[name] for _, name, _ in made], force=force)
        with scratch.folder(bundle.directory) as part:
            for _, name, data in made:
                _write(part / name, data)
            for _, name, _ in made:
                (part / name).rename(targets[name])
    except OSError as error:
        raise PlumblineError(
            f"cannot write in {bundle.directory}: {error.strerror}; name another folder"
        ) from error
    return [
        Export(
            format=format,
            path=str(targets[name]),
            sha256=hashlib.sha256(data).hexdigest(),
            created=bundle.created,
        )
        for format, name, data in made
    ]


def is_written(bundle: Bundle, formats: Sequence[str]) -> bool:
    """Return whether the folder of a bundle contains just what `write` would write there."""
    made = {bundle.directory / name: text.encode() for _, name, text in texts(bundle, formats)}
    return all(
        not path.is_symlink() and path.is_file() and path.read_bytes() == data
        for path, data in made.items()
    )


def is_ours(path: Path) -> bool:
    """Return whether it is as Plumbline wrote it: a file with its own checksum in its head."""
    if path.is_symlink() or not path.is_file():
        return False
    data = path.read_bytes()
    checksum = _sum(b"[0-9a-f]{%d}" % len(NO_SUM)).search(data)
    if checksum is None:
        return False
    return _digest(_sum(checksum[2]).sub(rb"\g<1>" + NO_SUM.encode(), data)) == checksum[2]


def require_room(paths: Sequence[Path], *, force: bool) -> None:
    """Raises PlumblineError where a file there is not as Plumbline wrote it, unless `force`, or
    where a folder is."""
    folders = [str(path) for path in paths if path.is_dir() and not path.is_symlink()]
    if force and folders:
        raise PlumblineError(
            f"{', '.join(folders)}: a folder, which no file replaces: remove it, or name another "
            "folder for the files"
        )
    if force:
        return
    foreign_files = [str(path) for path in paths if os.path.lexists(path) and not is_ours(path)]
    if foreign_files:
        raise PlumblineError(
            f"{', '.join(foreign_files)}: this file exists and was not written by Plumbline, or "
            "was edited: name "
            "another "
            f"folder (`{command_name()} apply` puts winners into files of yours), or replace it by "
            f"`{command_name()} export --force`"
        )


def texts(bundle: Bundle, formats: Sequence[str]) -> list[tuple[str, str, str]]:
    """Format, file name and text of all that these formats, and those they need, have to say.
    Raises PlumblineError where a format cannot say it."""
    quoting.held(str(bundle.directory))
    quoting.held(str(bundle.preload_library or ""))
    own_family = bundle.library.family
    chosen = _with_needs(formats, own_family)
    for format in chosen:
        if format.family not in ("", own_family):
            raise UsageError(
                f"{format.name} is for {format.family}, this campaign for {bundle.library.id}: "
                f"there are {', '.join(sorted(exporters(own_family)))}"
            )
    return [
        (format.name, name, _with_sum(text))
        for format in chosen
        for name, text in format.files(bundle).items()
    ]


def _with_needs(formats: Sequence[str], family: str) -> list[Exporter]:
    every_exporter = exporters()
    ordered: dict[str, Exporter] = {}

    def add(name: str) -> None:
        if name not in every_exporter:
            raise UsageError(
                f"unknown export format {name}; choose one of: {', '.join(sorted(every_exporter))}"
            )
        for needed in every_exporter[name].needs:
            if needed not in every_exporter or every_exporter[needed].family in ("", family):
                add(needed)
        ordered.setdefault(name, every_exporter[name])

    for name in formats:
        add(name)
    return list(ordered.values())


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    if data.startswith(b"#!"):
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)
    scratch.sync(path)


def _with_sum(text: str) -> str:
    """Return the text with its checksum wherever the head leaves room for one."""
    data = text.encode()
    return _sum(NO_SUM.encode()).sub(rb"\g<1>" + _digest(data), data).decode()


def _sum(digits: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\b(" + SUM.encode() + rb"\W+)(" + digits + rb")\b")


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest()[: len(NO_SUM)].encode()
