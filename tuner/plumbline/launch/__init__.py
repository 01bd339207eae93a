"""Ways to start ranks: one file each, registered by decorator with the table of a campaign file
that asks for it.

A launcher takes a job and brings back how it ended. How its library's own mpirun is spoken to is
the family's matter (libraries/)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from plumbline.libraries import Family, Installation
from plumbline.system import paths
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline_db.records import Machine

RECORDS = "records.ndjson"  # what the probe writes into the folder of its job


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`id` says which launch it is: one that is asked for again is the same job. `program` is the
    probe (or an application) with its arguments. `folder` is the job's own, for its files: those of
    the program, and those that the command names. `environment` is the whole of it, `extra` what
    this launch has beyond a clean one, `of_launch` the part that not every launch has."""

    id: str
    program: list[str]
    placement: Placement
    folder: Path
    environment: dict[str, str]
    extra: dict[str, str]
    of_launch: dict[str, str] = {}
    timeout_seconds: float


class Launcher(Protocol):
    name: str

    def machine(self, placement: Placement) -> Machine:
        """Who the database knows the machine by that these ranks run on."""
        ...

    def processing_units(self) -> int | None:
        """Return the processing units of a node, or None if others decide that or nothing is
        shared."""
        ...

    def folder(self, id: str) -> AbstractContextManager[Path]:
        """The folder of the job `id`; it is there as long as the job may need it."""
        ...

    def run(self, family: Family, installation: Installation, job: Job) -> Finished:
        """To the end of the job, whatever that is; nobody is left behind. Raises PlumblineError
        where it cannot be started at all."""
        ...

    def alone(self, installation: Installation, program: list[str], seconds: float) -> Finished:
        """The same for a program of one process that calls no MPI, here and now."""
        ...


_T = TypeVar("_T", bound=Callable[..., Any])
_LAUNCHERS: dict[str, Callable[..., Launcher]] = {}
_TABLES: dict[type, str] = {}


def launcher(name: str, table: type | None = None) -> Callable[[_T], _T]:
    """Registers a launcher. What is made of it takes the `table` of a campaign file that asks for
    it, and the folder of the database; without one it takes nothing."""

    def register(implementation: _T) -> _T:
        if name in _LAUNCHERS:
            raise ValueError(f"launcher {name} is registered twice")
        _LAUNCHERS[name] = implementation
        if table is not None:
            _TABLES[table] = name
        return implementation

    return register


def launchers() -> dict[str, Callable[..., Launcher]]:
    from . import allocation, hosts, local, simulated  # noqa: F401 - they register themselves

    return _LAUNCHERS


def launcher_for(place: Any, beside: Path | None = None) -> Launcher:
    """The launcher that `place`, a table of a campaign file, asks for; None: this machine. `beside`
    is the folder of the database, where files may lie that several hosts must see."""
    every_launcher = launchers()
    if place is None:
        return every_launcher["local"]()
    return every_launcher[_TABLES[type(place)]](place, beside or paths.default_database().parent)
