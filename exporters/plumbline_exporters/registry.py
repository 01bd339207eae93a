"""The table of export formats, and the one place that writes their files.

A format is one module with a function under `@exporter(...)`, and one line in MODULES.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Export
from plumbline_exporters import quoting
from plumbline_exporters.bundle import Bundle

MODULES = (
    "ompi_rules",
    "ompi_han",
    "profile",
    "mca_params",
    "env",
    "impi_env",
    "simgrid_env",
    "mpich_selection",
    "mpich_env",
    "mvapich_env",
    "run_script",
    "csh",
    "fish",
    "modulefile",
    "winners_json",
)

Files = Callable[[Bundle], dict[str, str]]


class Exporter(Protocol):
    """`files` is pure: file name -> text, empty when the winners give this format nothing to say.
    `needs` are formats whose files this one refers to; those of other families are left out.
    `family` is the one it is for, or empty. A text that starts with #! is a program."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def files(self) -> Files: ...
    @property
    def family(self) -> str: ...


class _Registered(msgspec.Struct, frozen=True):
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
        _registered[name] = _Registered(name, summary, needs, files, family)
        return files

    return register


def exporters(family: str = "") -> dict[str, Exporter]:
    """All formats by name; or those for a family of libraries."""
    for module in MODULES:
        importlib.import_module(f"plumbline_exporters.{module}")
    return {
        name: one
        for name, one in _registered.items()
        if not (family and one.family) or one.family == family
    }


def write(bundle: Bundle, formats: Sequence[str]) -> list[Export]:
    """Write the files of these formats, and of those they need, into `bundle.directory`.

    All texts are made before the first is written, so that a refusal leaves the folder as it was;
    a file that refers to others is written after them, each by temporary name, fsync and rename."""
    if not bundle.directory.is_absolute():
        raise ValueError(f"{bundle.directory} is not absolute")
    made = texts(bundle, formats)
    try:
        bundle.directory.mkdir(parents=True, exist_ok=True)
        return [
            Export(
                format=format,
                path=str(bundle.directory / name),
                sha256=_replace(bundle.directory / name, text.encode()),
                created=bundle.created,
            )
            for format, name, text in made
        ]
    except OSError as error:
        raise PlumblineError(
            f"cannot write in {bundle.directory}: {error.strerror}; name another folder"
        ) from error


def texts(bundle: Bundle, formats: Sequence[str]) -> list[tuple[str, str, str]]:
    """Format, file name and text of all that these formats, and those they need, have to say.
    Raises PlumblineError where a format cannot say it."""
    quoting.held(str(bundle.directory))
    quoting.held(str(bundle.preload_library or ""))
    ours = bundle.library.family
    chosen = _with_needs(formats, ours)
    for format in chosen:
        if format.family not in ("", ours):
            raise UsageError(
                f"{format.name} is for {format.family}, this campaign for {bundle.library.id}: "
                f"there are {', '.join(sorted(exporters(ours)))}"
            )
    return [
        (format.name, name, text)
        for format in chosen
        for name, text in format.files(bundle).items()
    ]


def _with_needs(formats: Sequence[str], family: str) -> list[Exporter]:
    known = exporters()
    ordered: dict[str, Exporter] = {}

    def add(name: str) -> None:
        if name not in known:
            raise UsageError(f"no export format {name}; there are: {', '.join(sorted(known))}")
        for needed in known[name].needs:
            if needed not in known or known[needed].family in ("", family):
                add(needed)
        ordered.setdefault(name, known[name])

    for name in formats:
        add(name)
    return list(ordered.values())


def _replace(path: Path, data: bytes) -> str:
    """The file is the old one or the new one, whatever happens. Returns the SHA-256."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if data.startswith(b"#!"):
            mode = part.stat().st_mode
            part.chmod(mode | (mode & 0o444) >> 2)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return hashlib.sha256(data).hexdigest()
