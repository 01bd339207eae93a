"""Campaign files (TOML), and options put over them.

A file that has lists asks for several campaigns: `libraries` are prefixes of MPI installations
(relative ones: to the file's folder; "" is the mpirun on PATH, "module:NAME" the one of an
environment module), or selectors where [simulate] says that the machine is simulated; `layouts` are
nodes x ranks a node, as in "32x16". Every pair of them is a campaign of its own, with all other
keys of the file; so each is continued by itself, and kept in the database like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from plumbline.core import profile_file
from plumbline.core.reach import named
from plumbline.launch import allocation
from plumbline.launch.simulation import known
from plumbline.system import modules, placement, toml
from plumbline_db.errors import UsageError

from . import Settings, of_keys
from .ranks import PLACES
from .sampling import SIMULATED

_LISTS = ("libraries", "layouts")


def load(path: Path | None, overrides: Mapping[str, Any]) -> Settings:
    """The settings of a campaign file (None: defaults) for one campaign, with command-line options
    put over them. Raises UsageError naming the file and the key."""
    values = {} if path is None else read(path)
    return of(where(path), values, overrides)


def where(path: Path | None) -> str:
    """How errors name a campaign file."""
    return f"campaign file {path}" if path else "campaign"


def read(path: Path) -> dict[str, Any]:
    """The file as it is, the files that it names (relative to it) by their whole paths. Raises
    UsageError where it cannot be read or is no TOML."""
    values = toml.read(path, where(path))

    def whole(name: Any) -> Any:
        return str(path.absolute().parent / name) if isinstance(name, str) and name else name

    for table, key in (("hosts", "file"), ("simulate", "platform")):
        if isinstance(values.get(table), dict) and key in values[table]:
            values[table][key] = whole(values[table][key])
    if isinstance(values.get("preload"), list):
        values["preload"] = [whole(name) for name in values["preload"]]
    if "profile" in values:
        values["profile"] = whole(values["profile"])
    return values


def of(name: str, values: Mapping[str, Any], overrides: Mapping[str, Any]) -> Settings:
    """`values` are keys of a campaign file; `name` is its name in errors."""
    values = dict(values)
    given = {key: value for key, value in overrides.items() if value is not None}
    selector = given.pop("simulate", None)
    if selector is not None:
        table = values.get("simulate")
        given["simulate"] = (table if isinstance(table, dict) else {}) | {
            "library": known(selector)
        }
    values |= given
    if "simulate" in values:
        values = SIMULATED | values
    if not values.keys() & set(PLACES):
        values |= _of_allocation(values)
    if "profile" in values:
        values = {"sizes": []} | values | {"profile": _profile(name, values["profile"])}
    try:
        settings = of_keys(values)
    except msgspec.ValidationError as error:
        # A key that is not given is left out: TOML has no null.
        raise UsageError(f"{name}: {error}".replace(" | null", "")) from error
    if settings.ranks.hosts is not None:
        settings = settings.but(hosts=named(settings.ranks.hosts))
    return settings.checked(name)


def _of_allocation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that put ranks on the hosts of the allocation around this process; none outside of one,
    and where it is this host."""
    around = allocation.found()
    return {} if around is None or around.is_here else around.keys(values)


def _profile(where: str, path: Any) -> Any:
    """What the file says, in place of its name: a campaign does not change with the file."""
    if not isinstance(path, str) or not path:
        raise UsageError(f"{where}: profile must name a file that `plumbline profile` has written")
    return msgspec.to_builtins(profile_file.read(Path(path)))


class Task(msgspec.Struct, frozen=True):
    """One campaign. `mpi_prefix` None is the mpirun on PATH."""

    settings: Settings
    mpi_prefix: Path | None = None

    @property
    def label(self) -> str:
        simulated = self.settings.ranks.simulate
        library = simulated.library if simulated else str(self.mpi_prefix or "the mpirun on PATH")
        return f"{library}, {self.settings.ranks.node_count}x{self.settings.ranks.ppn}"


def tasks(path: Path | None, overrides: Mapping[str, Any], mpi_prefix: Path | None) -> list[Task]:
    """The campaigns that a file asks for, options put over it: --mpi over `libraries`, --nprocs
    over `layouts`. Without a file, or without lists in it, there is one. Raises UsageError."""
    values = {} if path is None else read(path)
    name = where(path)
    lists = {key: _strings(name, key, values.pop(key)) for key in _LISTS if key in values}
    simulated = "simulate" in values
    libraries = lists.get("libraries", [""])
    layouts: list[str | None] = [*lists.get("layouts", [])] or [None]
    if mpi_prefix is not None or "simulate" in overrides:
        libraries = [""]
    if overrides.keys() & {"nprocs", "nodes"}:
        layouts = [None]
    elif "layouts" in lists and values.keys() & {"nprocs", "nodes"}:
        raise UsageError(
            f"{name}: layouts say how many ranks there are; leave nprocs and nodes out"
        )
    table = values.get("simulate")
    table = table if isinstance(table, dict) else {}
    if "libraries" in lists and "library" in table:
        raise UsageError(
            f"{name}: libraries are the selectors of the simulated machine; leave library out of "
            "the table simulate"
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
                own["simulate"] = {"library": library} | table
            elif library.startswith(modules.PREFIX):
                prefix = Path(library)
            elif library and path is not None:
                prefix = Path(os.path.normpath(path.absolute().parent / library))
            found.append(Task(of(name, own, overrides), prefix))
    return found


def _strings(where: str, key: str, value: Any) -> list[str]:
    fine = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if not fine or len(set(value)) < len(value):
        raise UsageError(f"{where}: {key} must be a list of different texts, with one at least")
    return list(value)
