"""Campaign files that ask for several campaigns: libraries times layouts.

`libraries` are prefixes of MPI installations (relative ones: to the file's folder; "" is the mpirun
on PATH, "module:NAME" the one of an environment module), or selectors where [simulate] says that
the machine is simulated. `layouts` are nodes x ranks a node, as in "32x16". Every pair of them is a
campaign of its own, with all other keys of the file; so each is continued by itself, and kept in
the database like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from plumbline import modules, placement
from plumbline import settings as settings_file
from plumbline.settings import PLACES, Settings
from plumbline_db.errors import UsageError

_LISTS = ("libraries", "layouts")


class Task(msgspec.Struct, frozen=True):
    """One campaign. `mpi_prefix` None is the mpirun on PATH."""

    settings: Settings
    mpi_prefix: Path | None = None

    @property
    def label(self) -> str:
        simulated = self.settings.simulation
        library = simulated.library if simulated else str(self.mpi_prefix or "the mpirun on PATH")
        return f"{library}, {self.settings.node_count}x{self.settings.ppn}"


def tasks(path: Path | None, overrides: Mapping[str, Any], mpi_prefix: Path | None) -> list[Task]:
    """The campaigns that a file asks for, options put over it: --mpi over `libraries`, --nprocs
    over `layouts`. Without a file, or without lists in it, there is one. Raises UsageError."""
    values = {} if path is None else settings_file.read(path)
    where = settings_file.where(path)
    lists = {key: _strings(where, key, values.pop(key)) for key in _LISTS if key in values}
    simulated = "simulate" in values
    libraries = lists.get("libraries", [""])
    layouts: list[str | None] = [*lists.get("layouts", [])] or [None]
    if mpi_prefix is not None or "simulate" in overrides:
        libraries = [""]
    if overrides.keys() & {"nprocs", "nodes"}:
        layouts = [None]
    elif "layouts" in lists and values.keys() & {"nprocs", "nodes"}:
        raise UsageError(
            f"{where}: layouts say how many ranks there are; leave nprocs and nodes out"
        )
    found = []
    for library in libraries:
        for layout in layouts:
            own = dict(values)
            if layout is not None:
                nodes, ppn = placement.parse(layout)
                own |= {"nprocs": nodes * ppn} | (
                    {"nodes": nodes} if nodes > 1 or values.keys() & set(PLACES) else {}
                )
            prefix = mpi_prefix
            if simulated and library:
                table = values["simulate"] if isinstance(values["simulate"], dict) else {}
                own["simulate"] = {"library": library} | table
            elif library.startswith(modules.PREFIX):
                prefix = Path(library)
            elif library and path is not None:
                prefix = Path(os.path.normpath(path.absolute().parent / library))
            found.append(Task(settings_file.of(where, own, overrides), prefix))
    return found


def _strings(where: str, key: str, value: Any) -> list[str]:
    fine = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
    if not fine or len(set(value)) < len(value):
        raise UsageError(f"{where}: {key} must be a list of different texts, with one at least")
    return list(value)
